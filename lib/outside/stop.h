/*
** stop.h - holds threads; for stop.c, restart.c, calls.c, inject.c, guard.c and freeze_process.c.
*/
#pragma once

#include "outside.h"
#include "registers.h"

/* Waits 1 or 2 ms at most for a child or a traced thread to change. All signals must be blocked. */
void lh_nap(void);

/* Blocks all signals, and returns the former mask in *before. */
void lh_hold_signals(sigset_t *before);
void lh_release_signals(const sigset_t *before);

/* Blocks only the signals that lh_nap waits for. */
void lh_hold_child_signals(sigset_t *before);

/* While the process is stopped and no request is made: unblocks signals as before, except those
** that would stop this process and leave the target stopped. */
void lh_allow_signals(const sigset_t *before);

/* Would a blocked signal end this process once unblocked? Then the caller must finish soon.
** `before` NULL: none is blocked. */
bool lh_is_told_to_end(const sigset_t *before);

/* ==== stop.c ====================================================================== */

typedef enum lh_held {
  LH_HELD_FREE,   /* traced, not asked to stop */
  LH_HELD_NOT,    /* asked to stop, or runs on to its next system call */
  LH_HELD,        /* stopped: can be inspected and continued */
  LH_HELD_KERNEL, /* sleeps in the kernel, and stops before it returns to the program */
  LH_HELD_GONE    /* has ended */
} lh_held;

/* restart.c: the steps by which an interrupted system call is restarted. */
typedef enum lh_restart_step { LH_STEP_NONE, LH_STEP_TO_CALL, LH_STEP_BEHIND_CALL } lh_restart_step;

typedef struct lh_thread {
  pid_t id;
  lh_held held;
  lh_restart_step step;
  int event;        /* if held: PTRACE_EVENT_... or LH_EVENT_... */
  uint64_t held_ns; /* when it was first held */
  bool is_stopped;  /* stopped by SIGSTOP before: must not run */
  bool is_child;    /* of this process, which reaps it elsewhere */
} lh_thread;

enum { LH_EVENT_CALL = 0, LH_EVENT_STOP = 128, LH_EVENT_SIGNAL = -1 };

/* The wait status of a traced thread (man 2 ptrace): a signal, a call, an event above a signal. */
enum { LH_EVENT_SHIFT = 8, LH_AT_CALL = SIGTRAP | 0x80 };

/* Calls `visit` until it returns false. Returns the number of threads; 0: `visit` returned false,
** or no thread was found (see errno). */
size_t lh_visit_threads(pid_t process, bool (*visit)(void *payload, pid_t thread), void *payload);

/* All threads of a process, traced by the calling thread. */
typedef struct lh_stop {
  pid_t process;
  bool is_child;          /* of this process */
  const sigset_t *before; /* signal mask before ours */
  lh_thread *threads;
  size_t n, capacity;
  timer_t timer; /* while a thread is being traced */
} lh_stop;

/* Traces all threads, which go on. Borrows `before`. On failure none is traced. LH_EIO: the process
** has ended, or must not be traced. */
int lh_stop_trace(lh_stop *stop, pid_t process, const sigset_t *before, lh_error *error);

/* Asks a running thread to stop before it returns to the program. */
void lh_thread_ask(lh_thread *thread);

/* Stops all threads that are not held. On failure the process goes on. LH_EIO: it has ended, or
** must not be traced. LH_EBUSY: a thread did not stop. */
int lh_stop_all(lh_stop *stop, lh_error *error);

/* lh_stop_trace, then lh_stop_all. */
int lh_stop_begin(lh_stop *stop, pid_t process, const sigset_t *before, lh_error *error);

/* Continues all threads as if nothing had happened. Returns for how many ns the first was held. */
uint64_t lh_stop_end(lh_stop *stop);

typedef enum lh_course {
  LH_COURSE_STOP,    /* stops before it returns to the program */
  LH_COURSE_CALL,    /* stops before its next system call, and after it */
  LH_COURSE_INJECTED /* the same, but must not handle a signal: is held at LH_EVENT_SIGNAL */
} lh_course;

/* True if the thread is held or has ended. Delivers a signal that arrives meanwhile. */
bool lh_thread_look(lh_thread *thread, lh_course course);

/* Waits until the thread is held, has ended or sleeps in the kernel. False: time is over. */
bool lh_thread_wait(lh_thread *thread, lh_course course, uint64_t until_ns);

void lh_thread_go_on(lh_thread *thread, lh_course course, int signal_number); /* 0: none */

/* Continues a held thread; it stays traced. */
void lh_thread_free(lh_thread *thread);

/* State letter of a thread: 'R', 'S', 'D', ...; 'X': it does not exist. */
char lh_thread_state(pid_t thread);

/* ==== restart.c =================================================================== */

/* If the stop would make the thread's call fail with EINTR, prepares its restart. `status`: the
** wait status. True: the thread runs on for this, and must be stopped again. */
bool lh_call_mend(lh_thread *thread, int status, lh_course course);

/* Moves a thread held before a call back to the instruction, and stops it there; without this the
** call would fail with EINTR. A call that does not sleep may be made at once. */
void lh_call_interrupt(lh_thread *thread);

/* ==== calls.c ===================================================================== */

/* Waits, at most 200 ms, until each running thread has reached a quiet call (lh_call_is_quiet), and
** holds the last one there. All others go on meanwhile. Threads must be traced. */
void lh_stop_seek_calls(lh_stop *stop);

/* For a stopped process: runs threads on to quiet calls. *all_quiet: all threads are in one. False:
** a thread does not stop any more. */
bool lh_stop_run_on(lh_stop *stop, bool *all_quiet);

/* True if Lua does not change its heap while a thread is in this system call. */
bool lh_call_is_quiet(lh_call call);

/* Reads /proc/PID/task/TID/syscall. False: the thread runs. */
bool lh_call_of_sleeper(pid_t process, pid_t thread, lh_call *call);

/* cgroups.c. LH_EIO: its cgroup, or one above, is frozen; the message says how to thaw it. */
int lh_refuse_frozen(pid_t process, lh_error *error);

/* ==== inject.c ==================================================================== */

/* A copy of a process that has not run since its fork. */
typedef struct lh_frozen {
  pid_t id, own_id; /* in our namespace, and in that of the copied process; 0: it has ended */
} lh_frozen;

/* An address in the target where a few instructions fit, from its current mappings; 0: none. */
uint64_t lh_inject_find_room(const lh_target *target);

/* Makes a held thread without a seccomp filter fork. NULL, or why it failed, with frozen->id 0. */
const char *lh_inject_fork(lh_stop *stop, uint64_t room, lh_frozen *frozen);

/* Waits until the copy is frozen. False: it is not, and the caller must kill it. */
bool lh_frozen_settle(const lh_frozen *frozen);

/* Kills a frozen copy, and waits until it is a zombie. */
void lh_frozen_kill(const lh_frozen *frozen);

/* Makes a held thread reap a killed copy. False: not possible now, try again. */
bool lh_inject_reap(lh_stop *stop, uint64_t room, const lh_frozen *frozen);

#ifndef __x86_64__ /* only x86-64 instructions are implemented */
#define lh_inject_find_room(target) 0
#define lh_inject_fork(stop, room, frozen) "only x86-64 is known"
#define lh_frozen_settle(frozen) false
#define lh_frozen_kill(frozen) ((void)(frozen))
#define lh_inject_reap(stop, room, frozen) ((void)(frozen), false)
#endif

/* ==== guard.c ===================================================================== */

/* The guard cleans this up if this process is killed. */
typedef struct lh_guarded {
  pid_t process;
  uint64_t room;
  lh_frozen frozen; /* id 0: nothing */
} lh_guarded;

/* For a process that may be made to fork. The guard shares this process's memory: start it before
** allocating much. NULL: failed. */
typedef struct lh_guard {
  pid_t id;
  int pipe; /* this process's end */
  lh_guarded *guarded;
} lh_guard;
lh_guard *lh_guard_begin(pid_t process);
void lh_guard_leave(
    const lh_guard *guard);         /* in a child, which may outlive this process; or NULL */
void lh_guard_end(lh_guard *guard); /* may be NULL */
