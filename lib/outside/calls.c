/*
** calls.c - runs the threads of a stopped process on to their next system call.
**
** There Lua does not change the heap, except in the calls of an allocator. Servers under load reach
** a call in 0.01 to 1.4 ms; a program that only computes may make none for long.
**
** No thread is held until each running thread has come to a call once (lh_stop_seek_calls). The
** last one stays there, and all are stopped. A thread that runs by then goes on to its next call
** while the others are held, for 2 ms at most (lh_stop_run_on).
*/
#include <linux/futex.h>

#include "stop.h"

enum { MOST_NS = 200000000, MOST_WHILE_OTHERS_ARE_HELD_NS = 2000000, MOST_TO_STOP_NS = 1000000000 };

/* An allocator locks by FUTEX_WAIT; a wait for work is FUTEX_WAIT_BITSET. Allocators make the
** listed calls; the last one ends a signal handler, which may interrupt anything. */
bool lh_call_is_quiet(lh_call call) {
  static const long loud[] = {SYS_mmap,     SYS_munmap,  SYS_mremap,      SYS_brk,
                              SYS_mprotect, SYS_madvise, SYS_sched_yield, SYS_rt_sigreturn};
  for (size_t i = 0; i < sizeof loud / sizeof *loud; i++) {
    if (call.number == loud[i]) return false;
  }
  uint64_t command = call.second_argument & (uint64_t)(unsigned)FUTEX_CMD_MASK;
  return call.number >= 0 && (call.number != SYS_futex || command == FUTEX_WAIT_BITSET);
}

bool lh_call_of_sleeper(pid_t process, pid_t thread, lh_call *call) {
  char name[64], text[256], *end;
  (void)snprintf(name, sizeof name, "task/%d/syscall", (int)thread);
  if (lh_process_text(process, name, text, sizeof text) <= 0) return false;
  call->number = strtol(text, &end, 10);
  if (end == text) return false; /* "running" */
  (void)strtoull(end, &end, 16);
  call->second_argument = strtoull(end, NULL, 16);
  return true;
}

static bool is_at_quiet_call(const lh_thread *thread) {
  lh_registers r;
  return lh_registers_get(thread->id, &r) && lh_registers_is_in_front(&r) &&
         lh_call_is_quiet(lh_registers_call(&r));
}

static bool is_call(pid_t process, uint64_t address) {
  uint8_t code[LH_CALL_BYTES];
  return lh_process_read(process, address, code, sizeof code) && lh_registers_is_call(code);
}

static bool is_behind_call(pid_t process, const lh_registers *r) {
  return is_call(process, lh_registers_call_address(r));
}

static bool is_at_call(pid_t process, const lh_registers *r) {
  return is_behind_call(process, r) ||
         (LH_GOES_BACK && is_call(process, lh_registers_call_address(r) + LH_CALL_BYTES));
}

/* May a held thread stay where it is? Yes in or just behind a quiet call, asleep in the kernel, or
** waiting for a lock, which it would not get while others are held; or if its user stopped it. */
static bool may_stay(const lh_stop *stop, const lh_thread *thread, bool *is_quiet) {
  lh_call call = {-1, 0};
  lh_registers r;
  if (thread->held == LH_HELD_KERNEL) {
    (void)lh_call_of_sleeper(stop->process, thread->id, &call);
  } else if (lh_registers_get(thread->id, &r) && is_at_call(stop->process, &r)) {
    call = lh_registers_call(&r);
  }
  *is_quiet = lh_call_is_quiet(call);
  return *is_quiet || thread->held == LH_HELD_KERNEL || thread->is_stopped ||
         call.number == SYS_futex;
}

static size_t look_at_runners(lh_stop *stop) {
  size_t n_running = 0;
  for (size_t i = 0; i < stop->n; i++) {
    lh_thread *thread = &stop->threads[i];
    if (thread->held != LH_HELD_NOT) continue;
    bool is_held = lh_thread_look(thread, LH_COURSE_CALL);
    if (is_held && thread->held == LH_HELD && thread->event == LH_EVENT_CALL &&
        !is_at_quiet_call(thread)) {
      lh_thread_go_on(thread, LH_COURSE_CALL, 0);
      is_held = false;
    }
    n_running += !is_held;
  }
  return n_running;
}

static bool stop_runners(lh_stop *stop) {
  bool all = true;
  uint64_t until_ns = lh_now_ns() + MOST_TO_STOP_NS;
  for (size_t i = 0; i < stop->n; i++) {
    if (stop->threads[i].held == LH_HELD_NOT)
      (void)ptrace(PTRACE_INTERRUPT, stop->threads[i].id, 0, 0);
  }
  for (size_t i = 0; i < stop->n; i++) {
    lh_thread *thread = &stop->threads[i];
    if (thread->held == LH_HELD_NOT) all &= lh_thread_wait(thread, LH_COURSE_STOP, until_ns);
  }
  return all;
}

/* A thread that continued before a call would be interrupted in it: so it makes the call again. */
static bool step_back(const lh_stop *stop, lh_thread *thread) {
  lh_registers r;
  uint64_t held_ns = thread->held_ns;
  if (thread->held != LH_HELD || thread->event != LH_EVENT_CALL ||
      !lh_registers_get(thread->id, &r) || !lh_registers_is_in_front(&r) ||
      !is_behind_call(stop->process, &r))
    return true;
  lh_call_interrupt(thread);
  bool is_held = lh_thread_wait(thread, LH_COURSE_STOP, lh_now_ns() + MOST_TO_STOP_NS);
  thread->held_ns = held_ns;
  return is_held;
}

static bool runs(pid_t process, const lh_thread *thread) {
  lh_call call;
  return lh_thread_state(thread->id) == 'R' && !lh_call_of_sleeper(process, thread->id, &call);
}

/* False: the thread may stay where it is, or has not stopped. */
static bool send_to_call(const lh_stop *stop, lh_thread *thread, uint64_t until_ns) {
  bool is_quiet;
  if (!lh_thread_wait(thread, LH_COURSE_STOP, until_ns) || thread->held != LH_HELD ||
      may_stay(stop, thread, &is_quiet))
    return false;
  lh_thread_go_on(thread, LH_COURSE_CALL, 0);
  return true;
}

static size_t send_runners(lh_stop *stop, uint64_t until_ns) {
  size_t n_running = 0;
  for (size_t i = 0; i < stop->n; i++) {
    lh_thread *thread = &stop->threads[i];
    if (thread->held == LH_HELD_FREE && runs(stop->process, thread)) lh_thread_ask(thread);
  }
  for (size_t i = 0; i < stop->n; i++) {
    lh_thread *thread = &stop->threads[i];
    if (thread->held == LH_HELD_NOT) n_running += send_to_call(stop, thread, until_ns);
  }
  return n_running;
}

/* Continues the threads that have come to a call, except the last of all. */
static void free_early(lh_stop *stop) {
  for (size_t i = 0; i < stop->n; i++) {
    lh_thread *thread = &stop->threads[i];
    if (thread->held == LH_HELD && !thread->is_stopped) lh_thread_free(thread);
  }
}

void lh_stop_seek_calls(lh_stop *stop) {
  if (!LH_CAN_CONTINUE) return;
  uint64_t until_ns = lh_now_ns() + MOST_NS;
  size_t n_running = send_runners(stop, until_ns);
  while (n_running > 0 && lh_now_ns() < until_ns) {
    free_early(stop);
    lh_nap();
    n_running = look_at_runners(stop);
  }
  for (size_t i = 0; i < stop->n; i++) {
    if (stop->threads[i].held == LH_HELD_NOT) lh_thread_ask(&stop->threads[i]);
  }
}

bool lh_stop_run_on(lh_stop *stop, bool *all_quiet) {
  size_t n_running = 0;
  bool is_quiet;
  *all_quiet = LH_CAN_CONTINUE;
  if (!LH_CAN_CONTINUE) return true;
  for (size_t i = 0; i < stop->n; i++) {
    lh_thread *thread = &stop->threads[i];
    if (thread->held == LH_HELD_GONE) continue;
    if (may_stay(stop, thread, &is_quiet)) {
      *all_quiet &= is_quiet;
    } else {
      n_running++;
      lh_thread_go_on(thread, LH_COURSE_CALL, 0);
    }
  }
  uint64_t until_ns = lh_now_ns() + MOST_WHILE_OTHERS_ARE_HELD_NS;
  while (n_running > 0 && lh_now_ns() < until_ns) {
    n_running = look_at_runners(stop);
    if (n_running > 0) lh_nap();
  }
  *all_quiet &= n_running == 0;
  bool all_held = stop_runners(stop);
  for (size_t i = 0; i < stop->n; i++) all_held &= step_back(stop, &stop->threads[i]);
  return all_held;
}
