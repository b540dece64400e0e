/*
** sandbox.c - gives the child of continue_copy.c the program's code, and removes all of the tool's.
**
** The target's code is an attacker's, and may execute any instruction. So before the first one, the
** parent makes the child execute these system calls from a page of its own (the stub):
**
**     close_range        no descriptor is left
**     rseq, set_robust_list, set_tid_address
**                        the kernel no longer writes to an address of the tool
**     munmap             only the target's regions and the stub stay mapped: no code, heap, stack,
**                        environment, vdso of the tool. The list of mappings is read again
**     setgroups, setresgid, setresuid
**                        all ids are the target's
**     capset, prctl      no capability, no new privileges; if the tool is root, no other process
**                        of the target's user may read or trace the child (not dumpable)
**     seccomp            a system call kills the child, but one that protects its own pages, which
**                        watched_words.c needs
**
** If a call fails, the child ends and the program does not run on. Limits bound the child's
** processor time; continue_copy.c bounds its pages and its time. The kernel kills it with its
** tracer. A tool that is not root has the target's user, who may read the target and the tool
** anyway; its security label stays, but is of no use without system calls.
*/
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "continue_copy.h"
#include "memory.h"

/* ==== Code ========================================================================== */

/* To run on, a program also needs its code and constants: the mappings of the files that it
** executes (2 MB for a plain interpreter, 100 MB for a big game), and the pages of their variables
** that it has not written, which are zero in the mirror. They are copied while the program is
** stopped, 1 ms for 5 MB. Pages that are still on a file are read before, because the file server
** may not answer.
**
** All other mappings exist in the child but fault: shared memory, files mapped to be read, the
** kernel's. So the program never finds memory of this process there. If this process has a mapping
** of its own there, the program does not run on. */
static const uint64_t MOST_BYTES = (uint64_t)128 << 20, KERNELS = (uint64_t)1 << 63;

typedef struct piece {
  uint64_t start, bytes;
  int access; /* PROT_... in the child */
} piece;

struct lh_copied_code {
  piece *pieces;
  size_t n, capacity;
  char *copy; /* of all pieces, one after the other */
  uint64_t bytes;
};

static bool is_of_file(const lh_memory_region *r) {
  return r->path[0] == '/' && !(r->access & LH_REGION_SHARED);
}

static bool touches(const lh_memory_region *below, const lh_memory_region *above) {
  return is_of_file(below) && is_of_file(above) && below->end == above->start &&
         strcmp(below->path, above->path) == 0;
}

/* Mappings of a program or library adjoin others of the file. A file mapped to be read has one. */
static bool is_of_program(const lh_memory *memory, size_t i) {
  const lh_memory_region *r = &memory->regions[i];
  if (!(r->access & LH_REGION_READ) || r->access & LH_REGION_SHARED) return false;
  if (r->start >= KERNELS) return false;
  if (r->access & LH_REGION_EXECUTE) return !(r->access & LH_REGION_WRITE) && r->path[0] != '[';
  return (i > 0 && touches(r - 1, r)) || (i + 1 < memory->n && touches(r, r + 1));
}

static int access_of(const lh_memory_region *r) {
  if (r->access & LH_REGION_WRITE) return PROT_READ | PROT_WRITE;
  return r->access & LH_REGION_EXECUTE ? PROT_READ | PROT_EXEC : PROT_READ;
}

/* False: too much memory, or a file is mapped writable, and its unwritten pages are unknown. */
static bool list_pieces(lh_copied_code *code, const lh_memory *memory) {
  for (size_t i = 0; i < memory->n; i++) {
    const lh_memory_region *r = &memory->regions[i];
    uint64_t bytes = r->end - r->start;
    if (!is_of_program(memory, i)) {
      if (lh_region_is_mirrored(r) && is_of_file(r)) return false;
      continue;
    }
    if (bytes > MOST_BYTES - code->bytes) return false;
    if (!lh_grow(&code->pieces, code->n, &code->capacity, sizeof *code->pieces)) return false;
    code->pieces[code->n++] = (piece){r->start, bytes, access_of(r)};
    code->bytes += bytes;
  }
  return code->n > 0;
}

static bool copy_pieces(lh_copied_code *code, const lh_memory *memory) {
  enum { ACCESS = PROT_READ | PROT_WRITE, KIND = MAP_PRIVATE | MAP_ANONYMOUS };
  code->copy = mmap(NULL, code->bytes, ACCESS, KIND, -1, 0);
  if (code->copy == MAP_FAILED) return false;
  char *to = code->copy;
  bool is_read = true;
  for (size_t i = 0; i < code->n && is_read; to += code->pieces[i++].bytes)
    is_read = memory->read(memory, code->pieces[i].start, to, code->pieces[i].bytes);
  return is_read;
}

/* Reads a byte of each page. lh_code_copy finds errors again. */
void lh_code_prepare(const lh_memory *memory) {
  enum { PAGE = 4096 };
  lh_copied_code code = {0};
  bool is_read = list_pieces(&code, memory);
  for (size_t i = 0; i < code.n && is_read; i++) {
    const piece *p = &code.pieces[i];
    char byte;
    for (uint64_t at = 0; at < p->bytes && is_read; at += PAGE)
      is_read = memory->read(memory, p->start + at, &byte, 1);
  }
  lh_free(code.pieces);
}

lh_copied_code *lh_code_copy(const lh_memory *memory) {
  lh_copied_code *code = lh_alloc_zeroed(1, sizeof *code);
  if (!code) return NULL;
  code->copy = MAP_FAILED;
  if (list_pieces(code, memory) && copy_pieces(code, memory)) return code;
  lh_code_free(code);
  return NULL;
}

void lh_code_free(lh_copied_code *code) {
  if (!code) return;
  if (code->copy != MAP_FAILED) (void)munmap(code->copy, code->bytes);
  lh_free(code->pieces);
  lh_free(code);
}

/* False: this process has a mapping there, or no room. The kernel's page above all is left out. */
static bool map_rest(const lh_memory *memory, const lh_mirror *mirror) {
  enum { KIND = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE };
  for (size_t i = 0; i < memory->n; i++) {
    const lh_memory_region *r = &memory->regions[i];
    if (lh_region_is_mirrored(r) && lh_mirror_has(mirror, r->start, r->end - r->start)) continue;
    if (r->start >= KERNELS) continue;
    void *mapped = mmap(lh_pointer(r->start), r->end - r->start, PROT_NONE, KIND, -1, 0);
    if (mapped != lh_pointer(r->start)) return false;
  }
  return true;
}

bool lh_code_place(const lh_copied_code *code, const lh_memory *memory, const lh_mirror *mirror) {
  const char *from = code->copy;
  lh_mirror_drop_gaps(mirror);
  if (!map_rest(memory, mirror)) return false;
  for (size_t i = 0; i < code->n; from += code->pieces[i++].bytes) {
    const piece *p = &code->pieces[i];
    if (mprotect(lh_pointer(p->start), p->bytes, PROT_READ | PROT_WRITE) < 0) return false;
    memcpy(lh_pointer(p->start), from, p->bytes);
    if (mprotect(lh_pointer(p->start), p->bytes, p->access) < 0) return false;
  }
  return true;
}

#if defined __x86_64__

/* Reads a line of /proc/PID/status, such as "Uid: 1000 1000 ...". Returns how many numbers; -1:
** more than `most`, no such line, or a cut line. */
static int read_numbers(const char *text, const char *label, uint32_t *numbers, int most) {
  const char *at = strstr(text, label);
  int n = 0;
  if (!at || !strchr(at + 1, '\n')) return -1;
  for (at += strlen(label); *(at += strspn(at, " \t")) != '\n'; n++) {
    char *end;
    unsigned long number = strtoul(at, &end, 10);
    if (end == at || n == most || number >= UINT32_MAX) return -1;
    numbers[n] = (uint32_t)number;
    at = end;
  }
  return n;
}

bool lh_identity_of(pid_t process, lh_identity *identity) {
  char text[16384];
  uint32_t *users = identity->users, *groups = identity->groups;
  *identity = (lh_identity){0};
  if (lh_process_text(process, "status", text, sizeof text) <= 0) return false;
  identity->n_others = read_numbers(text, "\nGroups:\t", identity->others, LH_MOST_OTHER_GROUPS);
  return read_numbers(text, "\nUid:\t", users, 4) == 4 &&
         read_numbers(text, "\nGid:\t", groups, 4) == 4 && identity->n_others >= 0;
}

static bool has_groups_of(const lh_identity *a, const lh_identity *b) {
  return a->n_others == b->n_others &&
         memcmp(a->others, b->others, (size_t)a->n_others * sizeof *a->others) == 0;
}

enum { N_RULES = 6 };

/* The child executes and reads this before the target's first instruction. */
typedef struct stub {
  uint8_t code[8];
  struct __user_cap_header_struct capabilities_of;
  struct __user_cap_data_struct capabilities[2];
  struct sock_filter rules[N_RULES];
  struct sock_fprog filter;
  uint32_t groups[LH_MOST_OTHER_GROUPS];
} stub;

enum { STUB_BYTES = LH_CHILD_PAGE };
_Static_assert(sizeof(stub) <= STUB_BYTES, "the stub is one page");

static void reset_signals(void) {
  sigset_t none;
  (void)sigemptyset(&none);
  for (int i = 1; i < NSIG; i++) (void)signal(i, SIG_DFL);
  (void)sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
  (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
}

static bool limit_resources(void) {
  enum { SECONDS = 10 }; /* the parent ends it much earlier */
  return setrlimit(RLIMIT_CPU, &(struct rlimit){SECONDS, SECONDS}) == 0 &&
         setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}) == 0 &&
         setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0}) == 0;
}

uint64_t lh_sandbox_begin(const lh_identity *identity) {
  static const uint8_t code[] = {0x0f, 0x05, 0xcc}; /* syscall; int3 */
  static const struct sock_filter rules[N_RULES] = {
      /* in 32 bits a number is another call's */
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  reset_signals();
  if (!limit_resources()) return 0;
  stub *s = mmap(NULL, STUB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (s == MAP_FAILED) return 0;
  memcpy(s->code, code, sizeof code);
  s->capabilities_of.version = _LINUX_CAPABILITY_VERSION_3;
  memcpy(s->rules, rules, sizeof rules);
  s->filter = (struct sock_fprog){N_RULES, s->rules};
  memcpy(s->groups, identity->others, (size_t)identity->n_others * sizeof *s->groups);
  return mprotect(s, STUB_BYTES, PROT_READ | PROT_EXEC) == 0 ? (uintptr_t)s : 0;
}

/* ==== The parent ==================================================================== */

bool lh_sandbox_wait(pid_t *child, int *status, uint64_t until_ns) {
  for (;;) {
    pid_t found = waitpid(*child, status, WNOHANG | __WALL);
    if (found == *child && !WIFSTOPPED(*status)) *child = 0;
    if (found > 0) return *child != 0;
    if ((found < 0 && errno != EINTR) || lh_now_ns() > until_ns) return false;
    lh_nap();
  }
}

typedef struct sandbox {
  pid_t *child;
  uint64_t stub;
  const lh_memory *memory;
} sandbox;

#define STUB_HAS(box, field) ((box)->stub + offsetof(stub, field))

/* Makes the child execute a system call. False: it failed. */
static bool call(const sandbox *box, long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  const uint64_t MOST_NS = 10000000000;
  lh_registers r;
  int status;
  if (!lh_registers_get(*box->child, &r)) return false;
  r.rax = (unsigned long long)number;
  r.orig_rax = (unsigned long long)-1;
  r.rip = STUB_HAS(box, code);
  r.rdi = a, r.rsi = b, r.rdx = c, r.r10 = d, r.r8 = r.r9 = 0;
  return lh_registers_set(*box->child, &r) && ptrace(PTRACE_CONT, *box->child, 0, 0) == 0 &&
         lh_sandbox_wait(box->child, &status, lh_now_ns() + MOST_NS) &&
         WSTOPSIG(status) == SIGTRAP && status >> 16 == 0 && lh_registers_get(*box->child, &r) &&
         r.rip == STUB_HAS(box, code) + 3 && (long)r.rax >= 0;
}

/* The child may be anywhere in the target's code: its registers are as before. */
bool lh_sandbox_protect(pid_t *child, uint64_t stub_address, uint64_t page, int access) {
  const sandbox box = {child, stub_address, NULL};
  lh_registers before;
  return lh_registers_get(*child, &before) &&
         call(&box, SYS_mprotect, page, LH_CHILD_PAGE, (uint64_t)access, 0) &&
         lh_registers_set(*child, &before);
}

/* Not before Linux 5.13. Then the child faults where the kernel writes, which is harmless. */
static bool end_restartable_sequences(const sandbox *box) {
  enum { GET_CONFIGURATION = 0x420f, UNREGISTER = 1, CALL = 334 };
  struct {
    uint64_t address;
    uint32_t bytes, signature, flags, unused;
  } rseq = {0};
  if (syscall(SYS_ptrace, GET_CONFIGURATION, *box->child, sizeof rseq, &rseq) < 0 || !rseq.address)
    return true;
  return call(box, CALL, rseq.address, rseq.bytes, UNREGISTER, rseq.signature);
}

static bool leave_descriptors_and_thread(const sandbox *box) {
  enum { CLOSE_RANGE = 436, ROBUST_LIST_BYTES = 24 };
  return call(box, CLOSE_RANGE, 0, UINT32_MAX, 0, 0) && end_restartable_sequences(box) &&
         call(box, SYS_set_robust_list, 0, ROBUST_LIST_BYTES, 0, 0) &&
         call(box, SYS_set_tid_address, 0, 0, 0, 0);
}

/* End of user memory. Above is the kernel's, with one page that all may read. */
static const uint64_t TOP = 0x7ffffffff000;

static bool unmap_but_stub(const sandbox *box, uint64_t start, uint64_t end) {
  uint64_t stub_end = box->stub + STUB_BYTES;
  if (start < box->stub && end > stub_end)
    return call(box, SYS_munmap, start, box->stub - start, 0, 0) &&
           call(box, SYS_munmap, stub_end, end - stub_end, 0, 0);
  if (start == box->stub) start = stub_end;
  if (end == stub_end) end = box->stub;
  return start >= end || call(box, SYS_munmap, start, end - start, 0, 0);
}

static bool unmap_all_else(const sandbox *box) {
  uint64_t start = 0;
  for (size_t i = 0; i < box->memory->n; i++) {
    const lh_memory_region *r = &box->memory->regions[i];
    if (r->start >= TOP) break;
    if (r->start > start && !unmap_but_stub(box, start, r->start)) return false;
    start = r->end;
  }
  return start >= TOP || unmap_but_stub(box, start, TOP);
}

static bool is_the_targets(const sandbox *box, uint64_t at, uint64_t end) {
  while (at < end && at < TOP) {
    const lh_memory_region *r = lh_region_at(box->memory, at);
    if (!r && at != box->stub) return false;
    at = r ? r->end : at + STUB_BYTES;
  }
  return true;
}

static bool has_only_the_targets(const sandbox *box) {
  char path[64], line[4352];
  unsigned long long start, end;
  bool is_so = true, has_any = false;
  (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)*box->child);
  FILE *maps = fopen(path, "re");
  while (maps && is_so && fgets(line, sizeof line, maps)) {
    is_so = sscanf(line, "%llx-%llx ", &start, &end) == 2 && is_the_targets(box, start, end);
    has_any = true;
  }
  if (maps) (void)fclose(maps);
  return is_so && has_any;
}

/* The result is checked, because -1 would leave an id unchanged. */
static bool take_identity(const sandbox *box, const lh_identity *identity) {
  enum { REAL_EFFECTIVE_SAVED = 3 * sizeof(uint32_t) };
  const uint32_t *users = identity->users, *groups = identity->groups;
  lh_identity own;
  return lh_identity_of(*box->child, &own) &&
         (has_groups_of(&own, identity) ||
          call(box, SYS_setgroups, (uint64_t)identity->n_others, STUB_HAS(box, groups), 0, 0)) &&
         call(box, SYS_setresgid, groups[0], groups[1], groups[2], 0) &&
         call(box, SYS_setresuid, users[0], users[1], users[2], 0) &&
         lh_identity_of(*box->child, &own) && has_groups_of(&own, identity) &&
         memcmp(own.users, users, REAL_EFFECTIVE_SAVED) == 0 &&
         memcmp(own.groups, groups, REAL_EFFECTIVE_SAVED) == 0;
}

static bool drop_rights(const sandbox *box) {
  bool is_root = geteuid() == 0;
  return call(box, SYS_capset, STUB_HAS(box, capabilities_of), STUB_HAS(box, capabilities), 0, 0) &&
         call(box, SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0) &&
         call(box, SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0) &&
         (!is_root || call(box, SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0)) &&
         call(box, SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, STUB_HAS(box, filter), 0);
}

bool lh_sandbox_close(pid_t *child, uint64_t stub_address, const lh_memory *memory,
                      const lh_identity *identity) {
  const sandbox box = {child, stub_address, memory};
  return leave_descriptors_and_thread(&box) && unmap_all_else(&box) && has_only_the_targets(&box) &&
         take_identity(&box, identity) && drop_rights(&box);
}

#endif
