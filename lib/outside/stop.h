/*
** stop.h - the threads of a process that are held: stop.c, calls.c, inject.c and still.c share it.
*/
#ifndef LUAHEAP_OUTSIDE_STOP_H
#define LUAHEAP_OUTSIDE_STOP_H

#include <sys/types.h>

#include "outside.h"
#include "registers.h"

typedef enum lh_held {
  LH_HELD_NOT,     /* it was asked to stop, or runs on to its next system call */
  LH_HELD_STOPPED, /* before it goes on in the program, or is restarted in a system call */
  LH_HELD_ENTERED, /* in front of a system call */
  LH_HELD_KERNEL,  /* it sleeps in the kernel, and stops before it goes on in the program */
  LH_HELD_GONE     /* it has ended */
} lh_held;

typedef struct lh_thread {
  pid_t id;
  lh_held held;
  uint64_t held_ns; /* when it stopped */
} lh_thread;

/* All threads of a process, traced by this thread. */
typedef struct lh_stop {
  pid_t process;
  lh_thread *threads;
  size_t n, capacity;
} lh_stop;

uint64_t lh_now_ns(void);

/* Waits for a child or a traced thread to change, so many ns at most; signals are blocked. */
void lh_nap(uint64_t most_ns);

/* Stops all threads. On failure the process goes on. LH_EIO: it has ended, or must not be traced.
** LH_EBUSY: a thread did not stop. */
int lh_stop_begin(lh_stop *stop, pid_t process, lh_error *error);

/* Lets them go on as if nothing had been. How long the first of them was held. */
uint64_t lh_stop_end(lh_stop *stop);

/* What a thread has come to; false: nothing yet. Signals that it is about to get it gets, and goes
** on by `request`, PTRACE_CONT or PTRACE_SYSCALL. */
bool lh_thread_look(lh_thread *thread, int request);

/* Waits until the thread has stopped, or has ended, or cannot go on in the program. */
bool lh_thread_wait(const lh_stop *stop, lh_thread *thread, int request, uint64_t until_ns);

/* calls.c: runs threads on to a system call at which Lua is amid no change, 200 ms at the most.
** Is each of them at one? */
bool lh_stop_run_on(lh_stop *stop);

/* calls.c: is Lua amid no change while a thread is in this system call? Of futex the second
** argument tells. */
bool lh_call_is_quiet(long call, uint64_t second_argument);

#endif
