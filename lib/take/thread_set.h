/*
** thread_set.h - a set of threads of one Lua state, by address; and of C functions.
**
** The API has no way to ask which coroutine runs, and the collector's lists must not be walked from
** a signal handler or for each allocation (10 million objects would take a second). But Lua tells
** its allocation function when a new block is for a thread, and a thread's block is freed with its
** own size. So a set of addresses is enough: an open hash table, 8 bytes for each of its slots, at
** most three quarters of which are used, graves included.
**
** A handler may interrupt any change, in the same OS thread: each is one store of one pointer, and
** a bigger table is filled before it is published. The older one is kept until the next: somebody
** in another OS thread may be looking into it.
*/
#ifndef LUAHEAP_THREAD_SET_H
#define LUAHEAP_THREAD_SET_H

#include <stdatomic.h>

#include "base.h"
#include "weak_lua.h"

typedef struct lh_thread_slots lh_thread_slots;

typedef struct lh_thread_set {
  _Atomic(lh_thread_slots *) slots;
  lh_thread_slots *older;
  _Atomic uintptr_t lowest, highest; /* addresses that ever were in it */
} lh_thread_set;

/* Empty, and with room for 48. False: no memory. A set that is all 0 is empty, too; it may be read
** and freed. */
bool lh_thread_set_init(lh_thread_set *set);
void lh_thread_set_free(lh_thread_set *set);

/* False: no memory, and it is not in. It was not in before. */
bool lh_thread_set_add(lh_thread_set *set, lua_State *thread);
bool lh_thread_set_remove(lh_thread_set *set, const void *thread); /* was it in? */

bool lh_thread_set_has(const lh_thread_set *set, const void *thread);

/* The next thread; *slot starts at 0. NULL at the end. Async-signal-safe. */
lua_State *lh_thread_set_next(const lh_thread_set *set, size_t *slot);

/* How many there may be before the set grows. */
size_t lh_thread_set_room(const lh_thread_set *set);

#endif
