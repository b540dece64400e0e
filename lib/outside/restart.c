/*
** restart.c - restarts calls that would fail with EINTR only because their thread was stopped.
**
** These are epoll_wait, sigtimedwait, semtimedop, recv with a timeout: twelve of the 41 kinds in
** tests/outside/test_interrupted.c. The kernel is made to restart them, unless a handler runs.
**
** On x86-64 that is one register, while the thread is stopped in the call. On aarch64 the kernel
** has already overwritten the call's first argument. So the call is made again:
**
**     it has failed       ask for its first argument, and send the thread back to the call
**     in front of it      ask for a stop, with which the call returns at once
**     behind it           the kernel has not decided yet: set the result that it restarts
**
** If this process is killed between two steps, the call is made, or fails with EINTR, no worse. A
** call that has just failed because a handler ran is made again, too: until the thread's next
** instruction the two cases look the same.
**
** Security: a thread repeats, with its own rights, a call that it could make anyway. Nothing from
** the thread is an address or a size here.
*/
#include "stop.h"

#if defined __aarch64__

static bool set_number(pid_t thread, int number) {
  struct iovec all = {&number, sizeof number};
  return ptrace(PTRACE_SETREGSET, thread, NT_ARM_SYSTEM_CALL, &all) == 0;
}

/* The kernel shows the argument only for a thread in a call, so the thread is made to look like
** one. That changes nothing: the kernel restarts only other results. */
static bool find_first_argument(pid_t thread, int number, uint64_t *argument) {
  enum { IN_NO_CALL = -1 };
  char text[256] = "", *end;
  if (!set_number(thread, number)) return false;
  bool is_told = lh_process_text(thread, "syscall", text, sizeof text) > 0;
  bool is_as_before = set_number(thread, IN_NO_CALL);
  is_told = is_told && strtol(text, &end, 10) == number && end != text;
  if (is_told) *argument = strtoull(end, NULL, 16);
  return is_told && is_as_before;
}

/* The kernel restarts all other calls itself: if they have failed, a handler ran. */
static bool fails_for_a_stop(long call) {
  enum { EPOLL_PWAIT2 = 441 }; /* Linux 5.11 */
  static const long such[] = {SYS_epoll_pwait, EPOLL_PWAIT2, SYS_rt_sigtimedwait, SYS_semtimedop,
                              SYS_semop,       SYS_read,     SYS_readv,           SYS_recvfrom,
                              SYS_recvmsg,     SYS_recvmmsg, SYS_write,           SYS_writev,
                              SYS_sendto,      SYS_sendmsg,  SYS_sendmmsg,        SYS_accept,
                              SYS_accept4,     SYS_connect,  SYS_io_getevents};
  for (size_t i = 0; i < sizeof such / sizeof *such; i++) {
    if (call == such[i]) return true;
  }
  return false;
}

static bool has_failed(pid_t thread, const lh_registers *r) {
  uint8_t code[LH_CALL_BYTES];
  return lh_registers_has_failed(r) && fails_for_a_stop(lh_registers_call(r).number) &&
         lh_process_read(thread, lh_registers_call_address(r), code, sizeof code) &&
         lh_registers_is_call(code);
}

static bool go_back(pid_t thread) {
  lh_registers r;
  uint64_t argument;
  if (!lh_registers_get(thread, &r) || !has_failed(thread, &r) ||
      !find_first_argument(thread, (int)lh_registers_call(&r).number, &argument))
    return false;
  r.regs[0] = argument;
  r.pc -= LH_CALL_BYTES;
  return lh_registers_set(thread, &r);
}

static void fail_again(pid_t thread) {
  lh_registers r;
  if (!lh_registers_get(thread, &r)) return;
  r.regs[0] = (uint64_t)-EINTR;
  r.pc += LH_CALL_BYTES;
  (void)lh_registers_set(thread, &r);
}

static void mend_result(pid_t thread) {
  lh_registers r;
  if (!lh_registers_get(thread, &r) || !lh_registers_has_failed(&r) ||
      !fails_for_a_stop(lh_registers_call(&r).number))
    return;
  r.regs[0] = (uint64_t)-LH_RESTART_UNLESS_HANDLED;
  (void)lh_registers_set(thread, &r);
}

static bool is_handled(pid_t thread, int signal_number) {
  lh_process_status status;
  return !lh_process_status_of(thread, &status) || status.handled >> (signal_number - 1) & 1;
}

static void go_on_to_call(lh_thread *thread, int signal_number) {
  thread->held = LH_HELD_NOT;
  (void)ptrace(PTRACE_SYSCALL, thread->id, 0, signal_number);
}

void lh_call_interrupt(lh_thread *thread) {
  thread->step = LH_STEP_BEHIND_CALL;
  (void)ptrace(PTRACE_INTERRUPT, thread->id, 0, 0);
  go_on_to_call(thread, 0);
}

/* True: our own stop, or a signal that has no handler. */
static bool may_go_on(pid_t thread, int status) {
  if (status >> LH_EVENT_SHIFT == 0) return status != LH_AT_CALL && !is_handled(thread, status);
  return status == (LH_EVENT_STOP << LH_EVENT_SHIFT | SIGTRAP);
}

bool lh_call_mend(lh_thread *thread, int status, lh_course course) {
  bool is_signal = status >> LH_EVENT_SHIFT == 0 && status != LH_AT_CALL;
  lh_restart_step step = thread->step;
  thread->step = LH_STEP_NONE;
  if (step == LH_STEP_BEHIND_CALL) {
    if (status != LH_AT_CALL) return false;
    mend_result(thread->id);
    lh_thread_go_on(thread, course, 0);
    return true;
  }
  if (step == LH_STEP_TO_CALL && status == LH_AT_CALL) {
    lh_call_interrupt(thread);
    return true;
  }
  if (!may_go_on(thread->id, status)) {
    if (step == LH_STEP_TO_CALL) fail_again(thread->id);
    return false;
  }
  if (step == LH_STEP_NONE && !go_back(thread->id)) return false;
  thread->step = LH_STEP_TO_CALL;
  go_on_to_call(thread, is_signal ? status : 0);
  return true;
}

#else

void lh_call_interrupt(lh_thread *thread) {
  lh_registers r;
  if (!lh_registers_get(thread->id, &r)) return;
  lh_registers_step_back(&r);
  (void)lh_registers_set(thread->id, &r);
  lh_thread_go_on(thread, LH_COURSE_STOP, 0);
}

bool lh_call_mend(lh_thread *thread, int status, lh_course course) {
  lh_registers r;
  int event = status >> LH_EVENT_SHIFT;
  (void)course;
  if (status != LH_AT_CALL && (event == 0 || event == LH_EVENT_STOP) &&
      lh_registers_get(thread->id, &r) && lh_registers_mend(&r))
    (void)lh_registers_set(thread->id, &r);
  return false;
}

#endif
