/*
** inject.c - makes a stopped process execute one system call: clone() or wait4().
**
** clone() makes a frozen copy of the process; wait4() later reaps it. A few instructions are put
** into the zeros behind the last instruction of an executable mapping, the vdso if possible. A held
** thread makes the call there and gets its registers back; then the zeros are restored, before any
** thread runs. No stack is touched.
**
** If this process is killed at any instant, the instructions restore the thread's registers and
** jump back. A copy that nobody holds ends by the instruction behind clone(), and the thread waits
** for that: so no copy runs the program's code.
**
** The copy shares open files with the process, so a file that the program closes is closed. It has
** no exit signal: its parent could see it only by wait4(__WALL), and after its end only when this
** process has waited for it; then all threads are held. Cost: 0.1 ms, and the fork: 23 ms for 1 GB.
**
** Security: the instructions have the target's rights and no value of this process. Another process
** may change them, or the result. So a result is never an address here, and the copy's id is the
** kernel's (PTRACE_EVENT_CLONE). If the target's user kills the copy, the attempt fails.
*/
#include <linux/sched.h>
#include <sys/wait.h>

#include "stop.h"

#if defined __x86_64__

/* ==== The instructions ============================================================== */

/* They change no flags. At the start rax and rdi have their values for clone(). */
static const uint8_t instructions[] = {
    0x0f, 0x05,                         /*      syscall               clone(rdi, rsi = 0) */
    0x48, 0x91,                         /*      xchg %rax, %rcx */
    0xe3, 0x74,                         /*      jrcxz copy */
    0x48, 0x89, 0xc8,                   /*      mov %rcx, %rax */
    0x48, 0x99,                         /*      cqto                  rdx = -1 if it failed */
    0x48, 0x8d, 0x4a, 0x01,             /*      lea 1(%rdx), %rcx */
    0xe3, 0x15,                         /*      jrcxz back */
    0x48, 0x89, 0xc7,                   /*      mov %rax, %rdi */
    0xba, 0x00, 0x00, 0x00, 0x40,       /*      mov $__WALL, %edx */
    0x41, 0xba, 0x00, 0x00, 0x00, 0x00, /*      mov $0, %r10d */
    0xb8, 0x3d, 0x00, 0x00, 0x00,       /*      mov $SYS_wait4, %eax */
    0x0f, 0x05,                         /*wait: syscall               wait4(rdi, rsi, rdx, r10) */
    0x48, 0xb8, 0,    0,    0,    0,    0, 0, 0, 0, /*back: mov $_, %rax */
    0x48, 0xb9, 0,    0,    0,    0,    0, 0, 0, 0, /*      mov $_, %rcx */
    0x48, 0xba, 0,    0,    0,    0,    0, 0, 0, 0, /*      mov $_, %rdx */
    0x48, 0xbe, 0,    0,    0,    0,    0, 0, 0, 0, /*      mov $_, %rsi */
    0x48, 0xbf, 0,    0,    0,    0,    0, 0, 0, 0, /*      mov $_, %rdi */
    0x49, 0xba, 0,    0,    0,    0,    0, 0, 0, 0, /*      mov $_, %r10 */
    0x49, 0xbb, 0,    0,    0,    0,    0, 0, 0, 0, /*      mov $_, %r11 */
    0xff, 0x25, 0,    0,    0,    0,                /*      jmp *next */
    0,    0,    0,    0,    0,    0,    0, 0,       /*next: _ */
    0xb8, 0x3c, 0x00, 0x00, 0x00,                   /*copy: mov $SYS_exit, %eax */
    0x0f, 0x05                                      /*      syscall */
};
enum {
  AT_WAIT = 36,
  AT_BACK = 38,
  AT_JUMP = 108,
  AT_NEXT = 114,
  ROOM = (sizeof instructions + 7) / 8 * 8
};

static void put_value(uint8_t *code, size_t at, uint64_t value) {
  memcpy(code + at, &value, sizeof value);
}

static void make_code(uint8_t code[ROOM], const lh_registers *back) {
  const uint64_t values[] = {back->rax, back->rcx, back->rdx, back->rsi,
                             back->rdi, back->r10, back->r11};
  memset(code, 0, ROOM);
  memcpy(code, instructions, sizeof instructions);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    put_value(code, AT_BACK + 10 * i + 2, values[i]);
  put_value(code, AT_NEXT, back->rip);
}

static void make_code_like(uint8_t code[ROOM], const uint8_t made[ROOM]) {
  memset(code, 0, ROOM);
  memcpy(code, instructions, sizeof instructions);
  for (size_t at = AT_BACK + 2; at < AT_JUMP; at += 10) memcpy(code + at, made + at, 8);
  memcpy(code + AT_NEXT, made + AT_NEXT, 8);
}

static bool put_word(pid_t thread, uint64_t address, const uint8_t *code) {
  long word;
  memcpy(&word, code, sizeof word);
  return ptrace(PTRACE_POKEDATA, thread, address, word) == 0;
}

/* Writes into read-only memory, as debuggers do: the process gets a page of its own. If we are
** killed meanwhile, the beginning of the instructions stays, with zeros behind it. */
static bool put_code(pid_t thread, uint64_t room, const uint8_t code[ROOM]) {
  for (size_t at = 0; at < ROOM; at += 8) {
    if (!put_word(thread, room + at, code + at)) return false;
  }
  return true;
}

static void clear_code(pid_t thread, uint64_t room) {
  static const uint8_t zeros[8];
  for (size_t at = ROOM; at > 0; at -= 8) (void)put_word(thread, room + at - 8, zeros);
}

/* Contents of a room: zeros, or instructions that a killed process has left; else it is no room. */
typedef enum room_kind { ROOM_NONE, ROOM_FREE, ROOM_LEFT } room_kind;

static room_kind look_at_room(pid_t process, uint64_t room) {
  uint8_t code[ROOM], as_made[ROOM];
  static const uint8_t zeros[ROOM];
  if (!lh_process_read(process, room, code, sizeof code)) return ROOM_NONE;
  if (memcmp(code, zeros, sizeof code) == 0) return ROOM_FREE;
  size_t begun = ROOM;
  while (memcmp(code + begun - 8, zeros, 8) == 0) begun -= 8;
  make_code_like(as_made, code);
  return memcmp(code, as_made, begun) == 0 ? ROOM_LEFT : ROOM_NONE;
}

/* Instructions that were left may still be bringing a thread back. */
static bool may_use_room(const lh_stop *stop, uint64_t room) {
  room_kind kind = look_at_room(stop->process, room);
  for (size_t i = 0; kind == ROOM_LEFT && i < stop->n; i++) {
    lh_registers r;
    const lh_thread *thread = &stop->threads[i];
    if (thread->held == LH_HELD_GONE) continue;
    if (thread->held != LH_HELD || !lh_registers_get(thread->id, &r)) return false;
    if (r.rip - room < ROOM) return false;
  }
  return kind != ROOM_NONE;
}

uint64_t lh_inject_find_room(const lh_target *target) {
  uint64_t found = 0;
  const unsigned kind = LH_REGION_READ | LH_REGION_EXECUTE;
  for (size_t i = 0; i < target->memory.n; i++) {
    const lh_memory_region *region = &target->memory.regions[i];
    bool is_vdso = strcmp(region->path, "[vdso]") == 0;
    uint64_t room = region->end - ROOM;
    if (region->access != kind) continue;
    if ((found && !is_vdso) || look_at_room((pid_t)target->process_id, room) == ROOM_NONE) continue;
    found = room;
  }
  return found;
}

/* ==== A thread that can make the call =============================================== */

/* The registers to return with: by the kernel, which restarts a call, or by instructions. */
typedef struct way_back {
  lh_registers exact, by_code;
} way_back;

/* Is it in a restartable sequence (rseq), whose interruption the kernel must handle? */
static bool is_in_sequence(pid_t process, pid_t thread) {
  enum { GET_RSEQ_CONFIGURATION = 0x420f, AT_CURRENT = 8 }; /* no name in older headers */
  struct {
    uint64_t address;
    uint32_t bytes, signature, flags, none;
  } rseq;
  uint64_t current;
  if (ptrace((enum __ptrace_request)GET_RSEQ_CONFIGURATION, thread, sizeof rseq, &rseq) < 0)
    return true;
  if (!rseq.address) return false;
  return !lh_process_read(process, rseq.address + AT_CURRENT, &current, sizeof current) ||
         current != 0;
}

static bool find_way_back(const lh_stop *stop, const lh_thread *thread, way_back *back) {
  enum { CODE_OF_64_BITS = 0x33 };
  lh_registers *r = &back->exact;
  uint8_t code[2];
  bool is_at_call = thread->event == LH_EVENT_CALL;
  if (thread->held != LH_HELD || (!is_at_call && thread->event != LH_EVENT_STOP)) return false;
  if (!lh_registers_get(thread->id, r) || r->cs != CODE_OF_64_BITS) return false;
  if (is_at_call && lh_registers_is_in_front(r)) return false; /* a 32-bit call, left by calls.c */
  if (lh_registers_is_interrupted(r)) {
    back->by_code = *r;
    lh_registers_step_back(&back->by_code);
    return lh_process_read(stop->process, back->by_code.rip, code, sizeof code) &&
           lh_registers_is_call(code);
  }
  if ((long)r->orig_rax < 0 && is_in_sequence(stop->process, thread->id)) return false;
  r->orig_rax = (unsigned long long)-1;
  back->by_code = *r;
  return true;
}

/* `may_be_stopped`: also a thread that a signal has stopped, which the kernel keeps stopped. */
static lh_thread *find_thread(lh_stop *stop, bool may_be_stopped, way_back *back) {
  for (size_t i = 0; i < stop->n; i++) {
    lh_thread *thread = &stop->threads[i];
    if (find_way_back(stop, thread, back) && (may_be_stopped || !thread->is_stopped)) return thread;
  }
  return NULL;
}

/* ==== A call ======================================================================== */

static const uint64_t MOST_TO_CALL_NS = 10000000000; /* a fork of a huge process */

/* Runs a thread until it is behind the `syscall`. False: something else happened first. */
static bool run_call(lh_thread *thread, uint64_t behind, pid_t *forked) {
  uint64_t until_ns = lh_now_ns() + MOST_TO_CALL_NS;
  for (bool was_in_front = false;;) {
    lh_registers r;
    unsigned long id;
    lh_thread_go_on(thread, LH_COURSE_INJECTED, 0);
    if (!lh_thread_wait(thread, LH_COURSE_INJECTED, until_ns)) return false;
    if (thread->held != LH_HELD) return false;
    if (forked && thread->event == PTRACE_EVENT_CLONE) {
      if (ptrace(PTRACE_GETEVENTMSG, thread->id, 0, &id) == 0) *forked = (pid_t)id;
    } else {
      if (thread->event != LH_EVENT_CALL || !lh_registers_get(thread->id, &r)) return false;
      if (was_in_front && r.rip == behind) return true;
      was_in_front = r.rip == behind;
    }
  }
}

/* Makes one call at room + at, and restores the registers. -EINTR: not made, or result unknown. */
static long inject(const lh_stop *stop, lh_thread *thread, const way_back *back, uint64_t room,
                   uint64_t at, lh_registers *call, pid_t *forked) {
  uint8_t code[ROOM];
  uint64_t held_ns = thread->held_ns;
  lh_registers r;
  long result = -EINTR;
  make_code(code, &back->by_code);
  call->rip = room + at;
  call->orig_rax = (unsigned long long)-1;
  if (!may_use_room(stop, room)) return result;
  if (put_code(thread->id, room, code) && lh_registers_set(thread->id, call)) {
    if (run_call(thread, call->rip + 2, forked) && lh_registers_get(thread->id, &r))
      result = (long)r.rax;
    (void)ptrace(PTRACE_INTERRUPT, thread->id, 0, 0); /* so that its call is restarted */
    (void)lh_registers_set(thread->id, &back->exact);
  }
  clear_code(thread->id, room);
  if (result == -EINTR && thread->held == LH_HELD) { /* passes a signal or another stop */
    if (thread->event != LH_EVENT_SIGNAL) lh_thread_go_on(thread, LH_COURSE_STOP, 0);
    (void)lh_thread_wait(thread, LH_COURSE_STOP, lh_now_ns() + MOST_TO_CALL_NS);
  }
  thread->held_ns = held_ns;
  return result;
}

/* ==== The copy ====================================================================== */

static const uint64_t MOST_TO_DIE_NS = 30000000000;

static const char *reason_of(long result) {
  if (result == -EAGAIN) return "it may have no more processes";
  if (result == -ENOMEM) return "not enough memory";
  return "a signal came";
}

/* Interruptions are over at the next try. */
enum { MOST_TRIES = 8 };

static const char *try_to_fork(lh_stop *stop, uint64_t room, lh_frozen *frozen, long *result) {
  way_back back;
  lh_process_status status;
  lh_thread *thread = find_thread(stop, false, &back);
  if (!thread) return "none of its threads could";
  if (lh_process_status_of(thread->id, &status) && status.system_filter != 0)
    return "a seccomp filter";
  lh_registers call = back.exact;
  call.rax = SYS_clone;
  call.rdi = CLONE_FILES;
  call.rsi = 0; /* the same stack */
  (void)ptrace(PTRACE_SETOPTIONS, thread->id, 0, PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD);
  *result = inject(stop, thread, &back, room, 0, &call, &frozen->id);
  (void)ptrace(PTRACE_SETOPTIONS, thread->id, 0, PTRACE_O_TRACESYSGOOD);
  if (frozen->id == 0) return reason_of(*result);
  frozen->own_id = *result > 0 ? (pid_t)*result : 0;
  return NULL;
}

const char *lh_inject_fork(lh_stop *stop, uint64_t room, lh_frozen *frozen) {
  const char *reason = NULL;
  long result = -EINTR;
  *frozen = (lh_frozen){0};
  for (int i = 0; i < MOST_TRIES && frozen->id == 0 && result == -EINTR; i++)
    reason = try_to_fork(stop, room, frozen, &result);
  return reason;
}

/* If memory runs out, the kernel must kill the copy, which shares pages, and not the process. */
bool lh_frozen_settle(const lh_frozen *frozen) {
  lh_thread copy = {.id = frozen->id};
  uint64_t until_ns = lh_now_ns() + MOST_TO_CALL_NS;
  if (!lh_thread_wait(&copy, LH_COURSE_STOP, until_ns) || copy.held != LH_HELD) return false;
  lh_process_be_victim(frozen->id, "1000");
  return ptrace(PTRACE_SETOPTIONS, frozen->id, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD) == 0;
}

void lh_frozen_kill(const lh_frozen *frozen) {
  uint64_t until_ns = lh_now_ns() + MOST_TO_DIE_NS;
  siginfo_t info = {0};
  (void)kill(frozen->id, SIGKILL);
  while (waitid(P_PID, (id_t)frozen->id, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 &&
         info.si_pid == 0 && lh_now_ns() < until_ns)
    lh_nap();
}

/* After our wait other threads of the parent could see the copy: none runs before it is reaped. */
bool lh_inject_reap(lh_stop *stop, uint64_t room, const lh_frozen *frozen) {
  way_back back;
  long result = -EINTR;
  for (int i = 0; i < MOST_TRIES && result == -EINTR; i++) {
    siginfo_t info;
    lh_thread *thread = find_thread(stop, true, &back);
    if (!thread || !may_use_room(stop, room)) return false;
    (void)waitid(P_PID, (id_t)frozen->id, &info, WEXITED | WNOHANG | __WALL);
    lh_registers call = back.exact;
    call.rax = SYS_wait4;
    call.rdi = (unsigned long long)frozen->own_id;
    call.rsi = 0;
    call.rdx = (unsigned long long)(__WALL | WNOHANG);
    call.r10 = 0;
    result = inject(stop, thread, &back, room, AT_WAIT, &call, NULL);
  }
  return result == frozen->own_id || result == -ECHILD;
}

#endif
