/*
** layout.h - which Lua this is compiled for, and what differs between its releases.
**
** LH_LUA is the minor release, as lua.h counts: 504 or 505. Its releases differ in the offsets of a
** table, lh_layout, of which lh_layout_probe finds the right one.
*/
#pragma once

#include "base.h"

#ifndef LH_LUA
#include "weak_lua.h"
#define LH_LUA LUA_VERSION_NUM
#endif
#if LH_LUA == 504
#define LH_LUA_NAME "5.4"
#define LH_LUA_RELEASES "5.4.0 to 5.4.8"
#else
#define LH_LUA_NAME "5.5"
#define LH_LUA_RELEASES "5.5.0 or 5.5.1"
#endif
_Static_assert(LH_LUA == 504 || LH_LUA == 505, "luaheap knows Lua 5.4 and 5.5");

/* Fields that differ by release: offsets in bytes, from the thread and from the global state. */
typedef struct lh_layout {
  const char *releases;
  uint16_t stack_last, stack, open_upvalues, base_call;                    /* lua_State */
  uint16_t main_thread, memory_message, metamethod_names, type_metatables; /* global_State */
  size_t thread_bytes;      /* a thread's block (LX), unless the build chose: measure.c */
  size_t main_thread_bytes; /* main thread and global state in one block, likewise */
  int32_t global_from_main; /* distance of the two inside the block; in 5.5 below 0, and the build
                               may choose it (lh_layout_probe) */
  uint16_t hook_count;      /* lua_State: instructions left until its hook is called */
  uint32_t call_hooked;     /* bit of raw_call.status: a debug hook runs; see raw_call_bit */
  uint16_t user_values;     /* Udata: where its user values are; 5.5.1 aligns them: see state.c */
  uint16_t gc_settings;     /* global_State: first of the bytes that raw_collector reads */
  bool size_flag_in_mark; /* a table's "limit is not the size" is bit 7 of `marked`, not `flags` */
  bool may_dangle;        /* an object may outlive its targets: generational mode, finalizers */
  bool shares;            /* skynet's Lua: states share objects (RAW_SHARED), and strings and */
  uint8_t string_body;    /*   the collector's bytes in the global state have moved */
  uint8_t gc_moved;
} lh_layout;

/* The public API's view of a host, which lh_layout_probe compares with memory. */
typedef struct lh_host {
  const void *thread;      /* the caller's lua_State */
  const void *main_thread; /* registry[1]; NULL when that is no thread */
  const void *registry;    /* lua_topointer */
  void *alloc;             /* lua_getallocf */
  void *alloc_data;
  const void *string_metatable; /* of the basic type string, or NULL */
  const void *top_pointer;      /* a light userdata on top of the thread's stack */
  int64_t gc_bytes;             /* collectgarbage("count") * 1024; -1: the API does not tell */
  const char *ident;            /* lua_ident, or NULL where the host hides it */
} lh_host;

/* Chooses the layout that fits the host in every field. LH_EHOST: none fits; the message says why.
** No memory outside the block of the main thread and the global state is read before that is
** confirmed. */
int lh_layout_probe(const lh_host *host, lh_layout *layout, lh_error *error);

/* All layouts; the entry behind the last has no `releases`. lh_layout_is_other tells apart 5.4.1
** and 5.4.2, whose offsets are almost equal: is the state of the other release? `main_thread` may
** be a copy of the block; `release` is "5.4" if unknown. */
extern const lh_layout lh_layouts[];
bool lh_layout_is_other(const lh_layout *layout, const void *main_thread, const char *release);

/* Why no layout fits: the first failed check of the layout that passed most checks. */
typedef struct lh_misfit {
  int n, furthest; /* numbers of checks */
  const char *why;
} lh_misfit;

/* One check in a function that returns whether a layout fits; it starts with m->n = 0. */
#define LH_CHECK(m, holds, misfit)  \
  do {                              \
    bool is_ok_ = (holds);          \
    if (++(m)->n > (m)->furthest) { \
      (m)->furthest = (m)->n;       \
      (m)->why = (misfit);          \
    }                               \
    if (!is_ok_) return false;      \
  } while (false)

/* Copies the release out of lua_ident ("5.4.4"), or "5.4" if unknown. `out` has 16 bytes. */
void lh_layout_release(const char *ident, char *out);
