/*
** stop.h - the threads of a process that are held, and what is done to them: stop.c, restart.c,
** calls.c, inject.c, guard.c and still.c share it.
*/
#ifndef LUAHEAP_OUTSIDE_STOP_H
#define LUAHEAP_OUTSIDE_STOP_H

#include "outside.h"
#include "registers.h"

/* Waits for a child or a traced thread to change, a millisecond or two at most. All signals are
** blocked meanwhile. */
void lh_nap(void);

/* Blocks them, and gives back what was blocked before. */
void lh_hold_signals(sigset_t *before);
void lh_release_signals(const sigset_t *before);

/* Blocks those alone that lh_nap waits for. */
void lh_hold_child_signals(sigset_t *before);

/* While a process stands still and nothing is asked of it: signals come as before they were held,
** but for those that would stop this process, and leave the other one as it is. */
void lh_let_signals(const sigset_t *before);

/* Does a signal that is held end this process once it is released? Then whoever holds it is to come
** to an end. `before`: NULL if none is held. */
bool lh_is_told_to_end(const sigset_t *before);

/* ==== stop.c ====================================================================== */

typedef enum lh_held {
  LH_HELD_FREE,   /* it is traced, and nothing was asked of it */
  LH_HELD_NOT,    /* it was asked to stop, or runs on to its next system call */
  LH_HELD,        /* it is stopped: it can be looked at, and go on */
  LH_HELD_KERNEL, /* it sleeps in the kernel, and stops before it goes on in the program */
  LH_HELD_GONE    /* it has ended */
} lh_held;

/* restart.c: what a thread is let do so that its call is restarted. */
typedef enum lh_step { LH_STEP_NONE, LH_STEP_TO_CALL, LH_STEP_BEHIND_CALL } lh_step;

typedef struct lh_thread {
  pid_t id;
  lh_held held;
  lh_step step;
  int event;        /* of those that are held: PTRACE_EVENT_..., or one of LH_EVENT_... */
  uint64_t held_ns; /* since when */
  bool is_stopped;  /* by a signal (SIGSTOP), before it was held: it is not to run */
  bool is_child;    /* of this process, which wants to know of its end by itself */
} lh_thread;

enum { LH_EVENT_CALL = 0, LH_EVENT_STOP = 128, LH_EVENT_SIGNAL = -1 };

/* How the kernel tells why a thread has stopped (man 2 ptrace): a signal, or at a call, or an event
** and a signal. */
enum { LH_EVENT_SHIFT = 8, LH_AT_CALL = SIGTRAP | 0x80 };

/* Calls `visit` for each thread until it is false of one. How many there are; 0: it was false, or
** there is none, and errno tells why. */
size_t lh_visit_threads(pid_t process, bool (*visit)(void *payload, pid_t thread), void *payload);

/* All threads of a process, traced by this thread. */
typedef struct lh_stop {
  pid_t process;
  bool is_child;          /* of this one */
  const sigset_t *before; /* signals that were blocked before they were held */
  lh_thread *threads;
  size_t n, capacity;
} lh_stop;

/* Traces all threads, which go on. `before` is borrowed. On failure none is traced. LH_EIO: it has
** ended, or must not be traced. */
int lh_stop_trace(lh_stop *stop, pid_t process, const sigset_t *before, lh_error *error);

/* Of a thread that goes on: it stops before it goes on in the program. */
void lh_thread_ask(lh_thread *thread);

/* Stops all threads that are not held yet. On failure the process goes on. LH_EIO: it has ended, or
** must not be traced. LH_EBUSY: a thread did not stop. */
int lh_stop_all(lh_stop *stop, lh_error *error);

/* The two together. */
int lh_stop_begin(lh_stop *stop, pid_t process, const sigset_t *before, lh_error *error);

/* Lets them go on as if nothing had been. How long the first of them was held. */
uint64_t lh_stop_end(lh_stop *stop);

/* How a thread goes on. */
typedef enum lh_course {
  LH_COURSE_STOP,    /* it stops before it goes on in the program */
  LH_COURSE_CALL,    /* it stops in front of its next system call, and behind it */
  LH_COURSE_INJECTED /* the same, and is not ready to handle a signal: held at LH_EVENT_SIGNAL */
} lh_course;

/* Is it held, or has it ended, by now? A signal that it is about to get it gets. */
bool lh_thread_look(lh_thread *thread, lh_course course);

/* Waits until that is so, or it sleeps in the kernel. False: neither until then. */
bool lh_thread_wait(lh_thread *thread, lh_course course, uint64_t until_ns);

void lh_thread_go_on(lh_thread *thread, lh_course course, int signal_number); /* 0: none */

/* Lets a thread that is held go on, still traced. */
void lh_thread_free(lh_thread *thread);

/* 'R', 'S', 'D', ... of a thread; 'X': there is none. */
char lh_thread_state(pid_t thread);

/* ==== restart.c =================================================================== */

/* Of a thread that has stopped, with this status: a call that would fail with EINTR since it was
** stopped is made to be restarted. True: it goes on for that, to be stopped again. */
bool lh_call_mend(lh_thread *thread, int status, lh_course course);

/* A thread that is held in front of a call goes on to where it is made again, and stops there; a
** call that does not sleep may be made at once. If it were let go where it is the call would fail
** with EINTR. */
void lh_call_interrupt(lh_thread *thread);

/* ==== calls.c ===================================================================== */

/* Of threads that are traced: waits until each that runs has come to a system call at which Lua is
** amid no change, 200 ms at the most, and holds the last one there. All others go on meanwhile. */
void lh_stop_seek_calls(lh_stop *stop);

/* Of a process that is stopped: runs threads on to such a call, if they are at none. Is each of
** them at one? False: one does not stop any more. */
bool lh_stop_run_on(lh_stop *stop, bool *all_quiet);

/* Is Lua amid no change while a thread is in this system call? */
bool lh_call_is_quiet(lh_call call);

/* What /proc/PID/task/TID/syscall tells of a thread that does not run. False: it runs. */
bool lh_call_of_sleeper(pid_t process, pid_t thread, lh_call *call);

/* cgroups.c. LH_EIO: its cgroup is frozen, or one around that; the message says what thaws it. */
int lh_refuse_frozen(pid_t process, lh_error *error);

/* ==== inject.c ==================================================================== */

/* A copy of a process, which has not run since it was forked. */
typedef struct lh_frozen {
  pid_t id, own_id; /* for this process, and for the one that was copied; 0: it ended meanwhile */
} lh_frozen;

/* Where a few instructions of ours have room in the target, as it is mapped by now; 0: nowhere. */
uint64_t lh_inject_find_room(const lh_target *target);

/* Lets a held thread that has no filter for system calls fork a copy of the process. Why it could
** not, and frozen->id is 0; else NULL. */
const char *lh_inject_fork(lh_stop *stop, uint64_t room, lh_frozen *frozen);

/* Waits until it is frozen. False: it is not, and is to be killed. */
bool lh_frozen_settle(const lh_frozen *frozen);

/* Kills a frozen copy, and waits until nothing is left but its number. */
void lh_frozen_kill(const lh_frozen *frozen);

/* Lets a held thread take away what is left of a copy that was killed. False: not now. */
bool lh_inject_reap(lh_stop *stop, uint64_t room, const lh_frozen *frozen);

#ifndef __x86_64__ /* instructions of other machines are not known */
#define lh_inject_find_room(target) 0
#define lh_inject_fork(stop, room, frozen) "only x86-64 is known"
#define lh_frozen_settle(frozen) false
#define lh_frozen_kill(frozen) ((void)(frozen))
#define lh_inject_reap(stop, room, frozen) ((void)(frozen), false)
#endif

/* ==== guard.c ===================================================================== */

/* What is taken away if this process is killed. */
typedef struct lh_guarded {
  pid_t process;
  uint64_t room;
  lh_frozen frozen; /* id 0: nothing */
} lh_guarded;

/* Of a process that may be made to fork; before much memory is had, for it has that, too. NULL: it
** cannot be had. */
typedef struct lh_guard {
  pid_t id;
  int pipe; /* the end of this process */
  lh_guarded *guarded;
} lh_guard;
lh_guard *lh_guard_begin(pid_t process);
void lh_guard_leave(
    const lh_guard *guard);         /* in a child, which may outlive this process; or NULL */
void lh_guard_end(lh_guard *guard); /* may be NULL */

#endif
