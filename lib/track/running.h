/*
** running.h - which coroutine runs, asked while Lua waits for memory.
**
** Lua does not keep it: an allocation function is told a block and two sizes. But the thread that
** ran a moment ago nearly always runs still, and shows it: one whose innermost frame is a Lua
** function, that has not yielded and whose hook is not at work, is the one that runs; who resumes
** another has a C function on top. So the last answer is kept, and tested by two loads. Where the
** test fails (running.c):
**
** 1. From the kept thread and from the main thread along coroutine.resume, close and wrap, whose
**    frames tell whom they run. On top of the one that runs is a Lua function, or a C function of
**    the standard library that is known never to run another thread.
** 2. Each thread that runs, or waits for one that it has resumed, has its address on the C stack,
**    in the frames of those who run it. Of the threads with a call that are found there the one
**    whose protected call (errorJmp) lies deepest was resumed last. The words are compared with the
**    range of all threads, and then looked up in a hash set.
** 3. Off the stack of the operating system's thread (a C library that switches stacks) no order is
**    known: then it is told only if no more than one thread is in a call.
**
** What none of them can tell is NULL, and counted as such by who asks. Known to be wrong: a warning
** function, or an allocation function, that itself resumes a coroutine, with the Lua function on
** top that caused the warning; a host that leaves running Lua code by a longjmp of its own; and C
** functions of others (up to 0.3 % of what they allocate, in a program that does nothing else)
** after an error has left a thread that was called and never resumed, since the threads between it
** and the main thread are left as they stood.
**
** The set of threads is exact: Lua names the type of a block that it asks for, and a thread's block
** is freed with its size.
*/
#ifndef LUAHEAP_RUNNING_H
#define LUAHEAP_RUNNING_H

#include <pthread.h>

#include "take/thread_set.h"
#include "track/recorder.h"

struct lh_running {
  const char *thread;              /* the last answer, or the main thread: never NULL */
  const char *own;                 /* a thread of luaheap's that allocates now; NULL: none does */
  uint16_t not_lua;                /* bits of raw_call.status: a C function, or a hook is at work */
  _Atomic uintptr_t owner;         /* the operating system's thread that runs the state */
  uintptr_t stack_low, stack_high; /* of its stack, which grows down; 0: unknown */

  const lh_layout *layout;
  const char *global, *main_thread;
  const void *last_plain; /* C function with which the last answer was found; see below */
  size_t extra_bytes;     /* in a thread's block before the thread */
  lh_thread_set threads;
  bool misses_some;                     /* there was no memory to note one */
  lh_thread_set plain;                  /* the standard library's C functions */
  const void *resume, *close, *wrapped; /* of them, those that run another; NULL: unknown */
  const void *exit, *warn;              /* and those that may */
};

/* Learns the standard library's functions from a state of its own (150 us), and
** notes the threads that are there. NULL: out of memory. Of the recorder's layout, global and
** main_thread; L is the thread that runs. */
lh_running *lh_running_new(lh_recorder *r, lua_State *L);
void lh_running_free(lh_running *running); /* NULL is fine */

/* A block that is about to become a thread: one that Lua asked for with the tag RAW_THREAD. Its
** first bytes are cleared, so that it is none before Lua has filled it in. */
void lh_running_born(lh_running *running, void *block);

/* A block goes, also one that was no thread's. */
void lh_running_died(lh_running *running, const void *block);

/* In a function that calls __builtin_unwind_init, registers are saved so many words below its frame
** address, or above it. */
#ifdef __aarch64__
enum { LH_SAVED_WORDS = 20 };
#else
enum { LH_SAVED_WORDS = 8 };
#endif

/* What lh_running_thread does where the last answer does not hold. */
const void *lh_running_find(lh_running *running);

/* The operating system's thread, cheaply. */
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

/* Another OS thread asks than the one that ran the state last, and no thread of the state is at
** work on its C stack: so another state asks, to which our allocation function was handed on, or a
** host outside of all calls. A state that has moved is recognised, and then the OS thread is its
** own. */
bool lh_running_moved(lh_running *running);
static inline bool lh_running_is_foreign(lh_running *running) {
  return lh_os_thread() != atomic_load_explicit(&running->owner, memory_order_relaxed) &&
         !lh_running_moved(running);
}

/* The thread that runs; NULL: it cannot be told. It may have no Lua function in it: then the host's
** own C code allocates. One or two nanoseconds where the thread is the one of last time. */
static inline const void *lh_running_thread(lh_running *running) {
  const char *thread = running->thread;
  const raw_call *call = RAW_FIELD(thread, RAW_THREAD_CALL, const raw_call *);
  bool runs =
      RAW_FIELD(thread, RAW_THREAD_STATUS, uint8_t) == 0 && !(call->status & running->not_lua);
  return __builtin_expect(runs, 1) ? thread : lh_running_find(running);
}

/* From now on luaheap itself allocates, by a thread of its own in which no function runs; and with
** NULL the program does again, in the thread that the first call returned: `before`. */
static inline const char *lh_running_set_own(lh_running *running, const char *own,
                                             const char *before) {
  const char *thread = running->thread;
  running->own = own;
  running->thread = own ? own : before;
  return thread;
}

/* Its innermost frame of a Lua function; NULL: it has none. */
static inline const raw_call *lh_running_call(const void *thread) {
  const raw_call *call = RAW_FIELD(thread, RAW_THREAD_CALL, const raw_call *);
  while (call && (call->status & RAW_CALL_IS_C)) call = call->previous;
  return call;
}

#endif
