/*
** stats.c - the state of the collector, and a count of all objects by type and by epoch, without a
** snapshot.
**
** The count is one pass over the collector's lists that reads each object's header and what its
** size depends on, mostly in the same cache line. So it costs the misses on the objects, some 30 to
** 200 ns each: 0.15 to 0.45 times a full collection. Leaving the sizes out saves nothing.
**
** Marks need no look into userdata: they are a chain (chain.c), the youngest first, as they stand
** on both lists. So the pass waits for one address.
*/
#include "state.h"

/* ==== The pass ======================================================================= */

/* Where a list has come to in time. */
typedef struct position {
  lh_chain marks;
  lh_list list;
  const raw_userdata *awaited; /* the youngest mark's half that is older than what was passed */
  uint32_t older;              /* how many marks are: the epoch of the objects here */
} position;

/* A half that Lua has finalized, or is about to, as it does while a state is closed, is on its list
** no more. */
static void await_mark(position *p) {
  for (; lh_chain_next(&p->marks); p->older--) {
    p->awaited = p->marks.halves[p->list];
    bool on_finobj = (p->awaited->marked & RAW_FINALIZED) != 0;
    if (on_finobj == (p->list == LH_LIST_FINOBJ)) return;
  }
  p->awaited = NULL;
}

static const uint8_t types[RAW_BASIC_TYPE + 1] = {
    [RAW_SHORT_STRING] = LH_TYPE_STRING, [RAW_TABLE] = LH_TYPE_TABLE,
    [RAW_LUA_CLOSURE] = LH_TYPE_CLOSURE, [RAW_USERDATA] = LH_TYPE_USERDATA,
    [RAW_THREAD] = LH_TYPE_THREAD,       [RAW_UPVALUE] = LH_TYPE_UPVALUE,
    [RAW_PROTO] = LH_TYPE_PROTO};

typedef struct pass {
  const lh_layout *layout;
  const void *main_thread;
  uint8_t dead_white;
  lh_counts *counts;
  lh_epoch_count *epochs;
  uint32_t merged; /* so many of the oldest epochs are in epochs[0] */
} pass;

static void add_object(lh_count *count, uint64_t bytes) {
  count->objects++;
  count->bytes += bytes;
}

static void add_to_epoch(const pass *p, uint32_t older, lh_count *count) {
  lh_count *epoch = &p->epochs[older > p->merged ? older - p->merged : 0].allocated;
  epoch->objects += count->objects;
  epoch->bytes += count->bytes;
  *count = (lh_count){0};
}

/* Where a half is awaited in vain, so are all older ones: then what is left is older than the
** marks, as for the reader. */
static void count_list(pass *p, const raw_object *o, position *at) {
  lh_count passed = {0};
  for (; o; o = o->next) {
    uint64_t bytes = lh_walk_shallow_bytes(p->layout, p->main_thread, o);
    if (o == (const raw_object *)at->awaited) {
      add_to_epoch(p, at->older--, &passed);
      await_mark(at);
    }
    add_object(&passed, bytes);
    add_object(&p->counts->all, bytes);
    add_object(&p->counts->by_type[types[o->type & RAW_BASIC_TYPE]], bytes);
    if (o->marked & p->dead_white) add_object(&p->counts->dead, bytes);
  }
  add_to_epoch(p, at->awaited ? 0 : at->older, &passed);
}

static void count_lists(pass *p, const lh_state *state, const char *global, uint32_t n_marks) {
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FIXEDGC; list++) {
    position at = {.marks = lh_chain_begin(state), .list = list};
    if (list <= LH_LIST_FINOBJ) {
      at.older = n_marks;
      await_mark(&at);
    }
    count_list(p, raw_list(global, list), &at);
  }
}

/* A periodic mark may be dropped while the caller uses its name; the others stay. */
static void name_epochs(const pass *p, const lh_state *state, uint32_t n_marks) {
  lh_chain c = lh_chain_begin(state);
  for (uint32_t i = n_marks; i > p->merged && lh_chain_next(&c); i--) {
    lh_epoch_count *epoch = &p->epochs[i - p->merged];
    epoch->name = (const char *)(c.content + 1);
    epoch->name_length = c.content->name_length;
    if (c.content->periodic && epoch->name_length <= sizeof epoch->periodic_name) {
      epoch->name = memcpy(epoch->periodic_name, epoch->name, epoch->name_length);
    }
    epoch->time_ns = c.content->time_ns;
    epoch->is_snapshot = c.content->kind == LH_MARK_BY_SNAPSHOT;
  }
}

/* ==================================================================================== */

int lh_count_objects(lua_State *L, lh_counts *counts, lh_epoch_count *epochs, size_t n_epochs,
                     lh_error *error) {
  lh_epoch_count all;
  const lh_state *state = lh_find_state(L, error);
  if (!state) return LH_EARGUMENT;
  const char *global = lh_global_state(L);
  uint32_t n_marks = lh_chain_marks(state);
  *counts = (lh_counts){0};
  pass p = {.layout = &state->layout,
            .counts = counts,
            .main_thread = RAW_FIELD(global, state->layout.main_thread, const void *),
            .dead_white = raw_dead_white(global),
            .epochs = n_epochs ? epochs : &all};
  if (n_epochs <= n_marks) p.merged = n_marks - (n_epochs ? (uint32_t)n_epochs - 1 : 0);
  for (uint32_t i = p.merged; i <= n_marks; i++) p.epochs[i - p.merged] = (lh_epoch_count){0};
  name_epochs(&p, state, n_marks);
  count_lists(&p, state, global, n_marks);
  return LH_OK;
}

static uint64_t used_slots(const lh_layout *layout, const raw_table *t) {
  uint64_t used = 0, array_slots = raw_array_slots(layout, t), hash_slots = raw_hash_slots(t);
  for (uint64_t i = 0; i < array_slots; i++) used += !raw_is_empty(t->array[i].type);
  for (uint64_t i = 0; i < hash_slots; i++) used += !raw_is_empty(t->slots[i].value_type);
  return used;
}

int lh_count_entries(lua_State *L, uint64_t *entries, lh_error *error) {
  const lh_state *state = lh_find_state(L, error);
  if (!state) return LH_EARGUMENT;
  const char *global = lh_global_state(L);
  *entries = 0;
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FIXEDGC; list++) {
    for (const raw_object *o = raw_list(global, list); o; o = o->next)
      if (o->type == RAW_TABLE) *entries += used_slots(&state->layout, (const raw_table *)o);
  }
  return LH_OK;
}

/* Inside of a finalizer lua_gc tells nothing from 5.4.4 on, where the reasons for a stop are bits
** of one byte. */
static bool is_stopped(lua_State *L, const char *global) {
  enum { BY_USER = 1 };
  int running = lua_gc(L, LUA_GCISRUNNING, 0);
  return running < 0 ? RAW_FIELD(global, RAW_GLOBAL_STOP, uint8_t) & BY_USER : !running;
}

int lh_stats(lua_State *L, lh_gc_stats *stats, lh_error *error) {
  const lh_state *state = lh_find_state(L, error);
  if (!state) return LH_EARGUMENT;
  const char *global = lh_global_state(L);
  *stats =
      (lh_gc_stats){.bytes = lh_gc_bytes(global),
                    .debt_bytes = RAW_FIELD(global, RAW_GLOBAL_DEBT, int64_t),
                    .table_strings = (uint64_t)RAW_FIELD(global, RAW_GLOBAL_STRINGS_USED, int32_t),
                    .table_slots = (uint64_t)RAW_FIELD(global, RAW_GLOBAL_STRINGS_SIZE, int32_t),
                    .marks = lh_chain_marks(state),
                    .newest_mark = state->last_serial,
                    .gc_state = RAW_FIELD(global, RAW_GLOBAL_GC_STATE, uint8_t),
                    .gc_generational = RAW_FIELD(global, RAW_GLOBAL_GC_KIND, uint8_t) != 0,
                    .gc_stopped = is_stopped(L, global)};
  return LH_OK;
}
