/*
** thread_set.h - a set of threads of one Lua state, by address; also used for C functions.
**
** The API does not tell which coroutine runs. The collector's lists must not be walked in a signal
** handler or for each allocation (10 million objects take a second). But Lua tells its allocation
** function when a block is for a thread, and frees it with a thread's size. So a set of addresses
** is enough: an open hash table, 8 bytes a slot, at most three quarters used, graves included.
**
** A signal handler may interrupt any change in the same OS thread. So each change stores one
** pointer, and a bigger table is filled before it is published. The older table is kept until the
** next growth, because another OS thread may be reading it.
*/
#pragma once

#include <stdatomic.h>

#include "base.h"
#include "weak_lua.h"

typedef struct lh_thread_slots lh_thread_slots;

typedef struct lh_thread_set {
  _Atomic(lh_thread_slots *) slots;
  lh_thread_slots *older;
  _Atomic uintptr_t lowest, highest; /* range of all addresses ever added */
} lh_thread_set;

/* Empty, with room for 48. False: no memory. An all-0 set is empty too: only read or free it. */
bool lh_thread_set_init(lh_thread_set *set);
void lh_thread_set_free(lh_thread_set *set);

/* Adds a thread that is not in the set. False: no memory, not added. */
bool lh_thread_set_add(lh_thread_set *set, lua_State *thread);
/* Adds all threads of a state. False: no memory for some. */
bool lh_thread_set_add_all(lh_thread_set *set, const char *global);
/* Fills a set anew that may have threads which are freed. O(objects). False: no memory for some. */
bool lh_thread_set_renew(lh_thread_set *set, const char *global);

bool lh_thread_set_remove(lh_thread_set *set, const void *thread); /* was it in? */

bool lh_thread_set_has(const lh_thread_set *set, const void *thread);

/* The next thread; *slot starts at 0. NULL at the end. Async-signal-safe. */
lua_State *lh_thread_set_next(const lh_thread_set *set, size_t *slot);
size_t lh_thread_set_slots(const lh_thread_set *set);
