/*
** running.h - finds the running coroutine while Lua waits for memory.
**
** Lua does not keep it. The last answer nearly always still holds. Two loads test it: its innermost
** frame is a Lua function, it has not yielded and its hook is not at work. (A thread that resumes
** another has a C function on top.) If the test fails (running.c):
**
** 1. From the last answer, and from the main thread, follow coroutine.resume, close and wrap, whose
**    frames show the thread that they run. The running thread has on top a Lua function, or a C
**    function of the standard library that never runs another thread.
** 2. The C stack has the address of each thread that runs or waits for one that it has resumed. Of
**    the threads in a call that are found there, the one with the deepest protected call (errorJmp)
**    was resumed last.
** 3. Off the OS thread's stack (a C library switches stacks) no order is known. The running thread
**    is known only if no more than one thread is in a call.
**
** NULL means that no step gives an answer. Known to be wrong: a warning function, or an allocation
** function, that itself resumes a coroutine; a host that leaves running Lua code by a longjmp of
** its own; and C functions of others (up to 0.3 % of their allocations, in a program that does
** nothing else) after an error has left a thread that was called and never resumed.
**
** The set of threads is exact: Lua names the type of a block that it requests, and frees the block
** of a thread with its size.
*/
#pragma once

#include <pthread.h>

#include "take/thread_set.h"
#include "track/recorder.h"

struct lh_running {
  const char *thread;              /* the last answer, or the main thread; never NULL */
  const char *own;                 /* luaheap's own thread while it allocates; else NULL */
  uint32_t not_lua;                /* bits of raw_call.status: a C function, or a hook is at work */
  _Atomic uintptr_t owner;         /* the OS thread that runs the state */
  uintptr_t stack_low, stack_high; /* of its stack, which grows down; 0: unknown */

  const lh_layout *layout;
  const char *global, *main_thread;
  const void *last_plain; /* plain C function on top at the last answer; or NULL */
  size_t extra_bytes;     /* in a thread's block before the thread */
  lh_thread_set threads;
  bool misses_some;                     /* a thread was not noted: no memory */
  lh_thread_set plain;                  /* the standard library's C functions */
  const void *resume, *close, *wrapped; /* of these, those that run another thread; NULL: unknown */
  const void *exit, *warn;              /* and those that may */
};

/* Learns the standard library's functions from a state of its own (150 us), and notes all threads.
** Needs r's layout, global and main_thread; L is the running thread. NULL: no memory. */
lh_running *lh_running_new(lh_recorder *r, lua_State *L);
void lh_running_free(lh_running *running); /* NULL is fine */

/* A new block that Lua requested with the tag RAW_THREAD. Clears its first bytes, so that it is no
** valid thread before Lua has filled it in. */
void lh_running_born(lh_running *running, void *block);

/* A block is freed, which may be no thread. */
void lh_running_died(lh_running *running, const void *block);

/* The registers that __builtin_unwind_init saves begin at most this many words below the frame. */
#ifdef __aarch64__
enum { LH_SAVED_WORDS = 20 };
#else
enum { LH_SAVED_WORDS = 8 };
#endif

const void *lh_running_find(lh_running *running);

static inline uintptr_t lh_os_thread(void) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_thread_pointer)
#define LH_HAS_THREAD_POINTER
#endif
#endif
#ifdef LH_HAS_THREAD_POINTER
  return (uintptr_t)__builtin_thread_pointer();
#else
  return (uintptr_t)pthread_self();
#endif
}

/* Foreign: another OS thread than the last one asks, and no thread of the state is at work on its C
** stack. So another state asks, which has got our allocation function, or a host outside of all
** calls. If the state has moved to this OS thread, lh_running_moved notes that. */
bool lh_running_moved(lh_running *running);
static inline bool lh_running_is_foreign(lh_running *running) {
  return lh_os_thread() != atomic_load_explicit(&running->owner, memory_order_relaxed) &&
         !lh_running_moved(running);
}

/* The running thread; NULL: unknown. It may have no Lua function: then the host's own C code
** allocates. One or two nanoseconds if the last answer holds. */
static inline const void *lh_running_thread(lh_running *running) {
  const char *thread = running->thread;
  const raw_call *call = RAW_FIELD(thread, RAW_THREAD_CALL, const raw_call *);
  bool runs =
      RAW_FIELD(thread, RAW_THREAD_STATUS, uint8_t) == 0 && !(call->status & running->not_lua);
  return __builtin_expect(runs, 1) ? thread : lh_running_find(running);
}

/* The thread's innermost frame of a Lua function; NULL: none. */
static inline const raw_call *lh_running_call(const void *thread) {
  const raw_call *call = RAW_FIELD(thread, RAW_THREAD_CALL, const raw_call *);
  while (call && (call->status & RAW_CALL_IS_C)) call = call->previous;
  return call;
}
