/*
** measure.c - measures what this build of Lua allocates for a thread and for a state.
**
** A build may choose two sizes without moving a field: the extra space in front of each thread
** (LUA_EXTRASPACE), and the string cache at the end of the global state (STRCACHE_N and _M). A
** second state shows both: Lua asks its allocation function for the main thread first, with the
** type as the old size, and likewise for each thread. Then its objects must add up to its
** collector's count, else the build differs elsewhere too. The program's own state is not touched.
** Cost: some 20 microseconds.
*/
#include "state.h"

typedef struct meter {
  size_t n_threads, bytes[2]; /* bytes: of the main thread and of the next thread */
} meter;

static void *allocate_measured(void *data, void *block, size_t old_bytes, size_t bytes) {
  meter *m = data;
  if (bytes == 0) {
    lh_free(block);
    return NULL;
  }
  if (!block && old_bytes == LUA_TTHREAD && m->n_threads < 2) m->bytes[m->n_threads++] = bytes;
  return lh_realloc(block, bytes, 1);
}

static int make_thread(lua_State *L) {
  (void)lua_newthread(L);
  return 0;
}

static uint64_t sum_of_objects(const lh_layout *layout, const void *main_thread) {
  const char *global = raw_global(main_thread);
  uint64_t sum = sizeof(void *) * (uint64_t)RAW_FIELD(global, RAW_GLOBAL_STRINGS_SIZE, int32_t);
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FIXEDGC; list++) {
    for (const raw_object *o = raw_list(global, list); o; o = o->next)
      sum += lh_walk_shallow_bytes(layout, main_thread, o);
  }
  return sum;
}

int lh_measure_layout(lh_layout *layout, lh_error *error) {
  meter m = {0};
  /* A host may hide these functions: then the usual sizes are assumed. */
  if (!lua_newstate || !lua_newthread || !lua_close) return LH_OK;
  lua_State *L = lh_new_state(allocate_measured, &m);
  if (!L) return lh_fail_memory(error, "attaching to the Lua state");
  lua_pushcfunction(L, make_thread);
  if (lua_pcall(L, 0, 0, 0) != LUA_OK) {
    lua_close(L);
    return lh_fail_memory(error, "attaching to the Lua state");
  }
  layout->main_thread_bytes = m.bytes[0];
  layout->thread_bytes = m.bytes[1];
  uint64_t counted = lh_gc_bytes(lh_global_state(L)), sum = sum_of_objects(layout, L);
  lua_close(L);
  if (m.n_threads == 2 && (int64_t)m.bytes[1] >= layout->global_from_main && sum == counted)
    return LH_OK;
  return lh_fail(error, LH_EHOST,
                 "luaheap needs an unmodified PUC Lua " LH_LUA_RELEASES
                 ": the objects of a new state "
                 "of this one have %llu bytes, and it counts %llu",
                 (unsigned long long)sum, (unsigned long long)counted);
}
