/*
** test_sandbox.c - a process that continues as a copy of the target has nothing of the tool.
**
** The sandbox is built around a page of code, and the kernel is asked what that process still has;
** then the code makes a system call. And a whole attach looks at a program that copies the tool's
** memory into its own Lua state: the secret is in no snapshot.
*/
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach.h"
#include "folder.h"
#include "host_program.h"
#include "outside/continue_copy.h"
#include "outside/outside.h"

#if defined __x86_64__

static char secret[] = "LUAHEAP_TEST_SECRET=9d1f6c1b7f3e4a52";

/* ==== A process in the sandbox ====================================================== */

enum { PAGE = 4096 };
static const uint8_t system_call[] = {0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xfe}; /* getpid() */
static const uint8_t endless[] = {0xeb, 0xfe};

typedef struct boxed {
  pid_t child;
  uint64_t stub, code;
  lh_memory_region region;
  lh_memory memory;
  lh_identity identity;
} boxed;

static void place_code(boxed *b, const uint8_t *code, size_t n) {
  void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(page != MAP_FAILED);
  memcpy(page, code, n);
  assert_int_equal(mprotect(page, PAGE, PROT_READ | PROT_EXEC), 0);
  b->code = (uintptr_t)page;
  b->region = (lh_memory_region){.start = b->code, .end = b->code + PAGE, .path = "", .file = -1};
  b->memory = (lh_memory){.regions = &b->region, .n = 1, .fd = -1};
}

/* Another user's, where this process may become that. */
static void choose_identity(lh_identity *identity) {
  assert_true(lh_identity_of(getpid(), identity));
  for (int i = 0; geteuid() == 0 && i < 4; i++) {
    identity->users[i] = 12345;
    identity->groups[i] = 23456;
    identity->others[0] = 34567;
    identity->n_others = 1;
  }
}

static _Noreturn void wait_in_child(const boxed *b, int out) {
  uint64_t stub = lh_sandbox_begin(&b->identity);
  if (write(out, &stub, sizeof stub) != sizeof stub) _exit(1);
  for (;;) (void)pause();
}

static void hold(pid_t child) {
  int status;
  assert_int_equal(ptrace(PTRACE_SEIZE, child, 0, PTRACE_O_EXITKILL), 0);
  assert_int_equal(ptrace(PTRACE_INTERRUPT, child, 0, 0), 0);
  assert_int_equal(waitpid(child, &status, __WALL), child);
  assert_true(WIFSTOPPED(status));
}

static boxed *begin_box(const uint8_t *code, size_t n) {
  boxed *b = calloc(1, sizeof *b);
  int ends[2];
  assert_non_null(b);
  place_code(b, code, n);
  choose_identity(&b->identity);
  assert_int_equal(setenv("LUAHEAP_TEST", secret, 1), 0);
  assert_int_equal(pipe(ends), 0);
  b->child = fork();
  assert_true(b->child >= 0);
  if (b->child == 0) wait_in_child(b, ends[1]);
  assert_int_equal(read(ends[0], &b->stub, sizeof b->stub), sizeof b->stub);
  (void)close(ends[0]);
  (void)close(ends[1]);
  assert_true(b->stub != 0);
  hold(b->child);
  return b;
}

static bool close_box(boxed *b) {
  sigset_t signals;
  lh_hold_signals(&signals);
  bool is_closed = lh_sandbox_close(&b->child, b->stub, &b->memory, &b->identity);
  lh_release_signals(&signals);
  return is_closed;
}

static void end_box(boxed *b) {
  int status;
  if (b->child > 0) {
    (void)kill(b->child, SIGKILL);
    while (waitpid(b->child, &status, __WALL) == b->child && WIFSTOPPED(status)) {}
  }
  (void)munmap((void *)(uintptr_t)b->code, PAGE);
  free(b);
}

/* ==== What it has =================================================================== */

static void assert_mapped(const boxed *b) {
  char path[64], line[4352];
  unsigned long long start, end;
  (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)b->child);
  FILE *maps = fopen(path, "re");
  assert_non_null(maps);
  int n = 0;
  while (fgets(line, sizeof line, maps)) {
    assert_int_equal(sscanf(line, "%llx-%llx ", &start, &end), 2);
    if (start >> 63) continue; /* vsyscall */
    assert_true(start == b->code || start == b->stub || end == b->stub + PAGE);
    assert_true(end - start <= 2 * PAGE);
    n++;
  }
  (void)fclose(maps);
  assert_true(n == 1 || n == 2);
}

static void assert_nothing_in(const boxed *b, const char *name) {
  char text[4096];
  assert_true(lh_process_text(b->child, name, text, sizeof text) <= 0);
}

static void assert_status(const boxed *b) {
  char text[16384];
  lh_identity has;
  assert_true(lh_identity_of(b->child, &has));
  assert_memory_equal(has.users, b->identity.users, sizeof has.users);
  assert_memory_equal(has.groups, b->identity.groups, sizeof has.groups);
  assert_int_equal(has.n_others, b->identity.n_others);
  assert_memory_equal(has.others, b->identity.others, (size_t)has.n_others * sizeof *has.others);
  assert_true(lh_process_text(b->child, "status", text, sizeof text) > 0);
  static const char *const lines[] = {"\nCapInh:\t0000000000000000\n",
                                      "\nCapPrm:\t0000000000000000\n",
                                      "\nCapEff:\t0000000000000000\n",
                                      "\nCapAmb:\t0000000000000000\n",
                                      "\nNoNewPrivs:\t1\n",
                                      "\nSeccomp:\t2\n"};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    if (!strstr(text, lines[i])) fail_msg("no %s in %s", lines[i], text);
  }
}

/* Nobody of the target's user may look at it: its files in /proc are root's. */
static void assert_hidden(const boxed *b) {
  char path[64];
  struct stat st;
  (void)snprintf(path, sizeof path, "/proc/%d/environ", (int)b->child);
  assert_int_equal(stat(path, &st), 0);
  if (geteuid() == 0) assert_int_equal(st.st_uid, 0);
}

static void assert_no_descriptor(const boxed *b) {
  char path[64];
  struct stat st;
  for (int fd = 0; fd < 64; fd++) {
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)b->child, fd);
    assert_int_equal(lstat(path, &st), -1);
  }
}

static void test_has_nothing(void **unused) {
  (void)unused;
  boxed *b = begin_box(endless, sizeof endless);
  assert_true(close_box(b));
  assert_mapped(b);
  assert_status(b);
  assert_hidden(b);
  assert_no_descriptor(b);
  assert_nothing_in(b, "environ");
  assert_nothing_in(b, "cmdline");
  end_box(b);
}

/* ==== What it may do ================================================================ */

static void jump_to(const boxed *b, uint64_t address) {
  lh_registers r;
  assert_true(lh_registers_get(b->child, &r));
  r.rip = address;
  r.orig_rax = (unsigned long long)-1;
  assert_true(lh_registers_set(b->child, &r));
  assert_int_equal(ptrace(PTRACE_CONT, b->child, 0, 0), 0);
}

static void test_no_system_call(void **unused) {
  (void)unused;
  int status;
  boxed *b = begin_box(system_call, sizeof system_call);
  assert_true(close_box(b));
  jump_to(b, b->code);
  assert_int_equal(waitpid(b->child, &status, __WALL), b->child);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGSYS);
  b->child = 0;
  end_box(b);
}

/* Where the tool has its code and data is nothing. */
static void test_no_memory_of_the_tool(void **unused) {
  (void)unused;
  const uintptr_t places[] = {(uintptr_t)test_no_system_call, (uintptr_t)secret, (uintptr_t)getenv,
                              (uintptr_t)__builtin_frame_address(0)};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    int status;
    boxed *b = begin_box(endless, sizeof endless);
    assert_true(close_box(b));
    jump_to(b, places[i]);
    assert_int_equal(waitpid(b->child, &status, __WALL), b->child);
    assert_true(WIFSTOPPED(status));
    assert_int_equal(WSTOPSIG(status), SIGSEGV);
    end_box(b);
  }
}

/* What cannot be had is not gone without. */
static void test_refused(void **unused) {
  (void)unused;
  boxed *b = begin_box(endless, sizeof endless);
  if (geteuid() == 0)
    b->identity.users[0] = UINT32_MAX - 1, b->identity.users[1] = UINT32_MAX; /* keeps root's */
  else
    b->identity.users[0] = 0;
  bool is_closed = close_box(b);
  end_box(b);
  assert_false(is_closed);
}

/* ==== A spy ========================================================================= */

static pid_t start_spy(void) {
  char address[32];
  (void)snprintf(address, sizeof address, "%llx", (unsigned long long)(uintptr_t)secret);
  return host_start("spy_host", address);
}

static bool has_secret(const char *path) {
  lh_snapshot *s;
  lh_error error;
  bool is_found = false;
  if (lh_open(&s, path, &error) < 0) fail_msg("%s", error.message);
  for (lh_id id = 1; id <= lh_snapshot_info(s)->objects; id++) {
    lh_object o;
    lh_object_at(s, id, &o);
    if (o.type != LH_TYPE_STRING || o.as.string.kept < sizeof secret) continue;
    is_found |= memcmp(o.as.string.bytes, secret, sizeof secret) == 0;
  }
  lh_close(s);
  return is_found;
}

static void test_spy(void **unused) {
  (void)unused;
  enum { TIMES = 4 };
  lh_error error = {0};
  lh_target *target;
  const lh_found_state *states;
  size_t n;
  pid_t pid = start_spy();
  if (lh_open_process(pid, NULL, &target, &error) < 0) fail_msg("%s", error.message);
  if (lh_find_states(target, &states, &n, &error) < 0) fail_msg("%s", error.message);
  assert_int_equal(n, 1);
  for (int i = 0; i < TIMES; i++) {
    lh_outside_request request = {.state = states[0].address, .path = "spied"};
    lh_outside_options options = {.string_bytes = 1000, .never_fork = i % 2};
    int rc = lh_take_outside(target, &request, 1, &options, NULL, &error);
    if (rc < 0 && rc != LH_EBUSY) fail_msg("%s", error.message);
    if (rc == LH_OK) assert_false(has_secret("spied"));
    (void)unlink("spied");
  }
  lh_target_free(target);
  host_program_end(pid);
}

/* ==================================================================================== */

int main(int argc, char **arguments) {
  (void)argc;
  lh_reexec_elsewhere(arguments);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_has_nothing),
                                     cmocka_unit_test(test_no_system_call),
                                     cmocka_unit_test(test_no_memory_of_the_tool),
                                     cmocka_unit_test(test_refused), cmocka_unit_test(test_spy)};
  return folder_run(tests);
}

#else

int main(void) {
  return 0; /* nothing runs on elsewhere */
}

#endif
