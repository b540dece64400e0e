/*
** stats.c - collector statistics, and counts of objects by type and by epoch, without a snapshot.
**
** Counting is one pass over the collector's lists. It reads each object's header and the fields
** that its size depends on, mostly in the same cache line: 30 to 200 ns an object, 0.15 to 0.45
** times a full collection. Counting without sizes is no faster. The marks come from their chain
** (chain.c), in list order, so the pass waits for one address at a time.
*/
#include "state.h"

typedef struct position {
  lh_chain marks;
  lh_list list;
  const raw_userdata *awaited; /* half of the youngest mark that the pass has not reached */
  uint32_t older;              /* marks older than the objects here: their epoch */
} position;

/* Finds the next mark's half on this list. A half that Lua has finalized, or is about to finalize
** as the state closes, has left its list and is skipped. */
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
  uint32_t merged; /* number of old epochs that are added to epochs[0] */
} pass;

static void add_to_object_count(lh_count *count, uint64_t bytes) {
  count->objects++;
  count->bytes += bytes;
}

static void add_to_epoch(const pass *p, uint32_t older, lh_count *count) {
  lh_count *epoch = &p->epochs[older > p->merged ? older - p->merged : 0].allocated;
  epoch->objects += count->objects;
  epoch->bytes += count->bytes;
  *count = (lh_count){0};
}

/* If the awaited half never comes, the rest counts as older than all marks, as in the reader. */
static void count_list(pass *p, const raw_object *o, position *at) {
  lh_count passed = {0};
  for (; o; o = o->next) {
    uint64_t bytes = lh_walk_shallow_bytes(p->layout, p->main_thread, o);
    if (o == (const raw_object *)at->awaited) {
      add_to_epoch(p, at->older--, &passed);
      await_mark(at);
    }
    add_to_object_count(&passed, bytes);
    p->counts->external_bytes += raw_external_bytes(p->layout, o);
    add_to_object_count(&p->counts->all, bytes);
    add_to_object_count(&p->counts->by_type[types[o->type & RAW_BASIC_TYPE]], bytes);
    if (raw_is_dead(o, p->dead_white)) add_to_object_count(&p->counts->dead, bytes);
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

/* Copies the name of a periodic mark, which may be dropped while the caller uses it. */
static void name_epochs(const pass *p, const lh_state *state, uint32_t n_marks) {
  lh_chain c = lh_chain_begin(state);
  for (uint32_t i = n_marks; i > p->merged && lh_chain_next(&c); i--) {
    lh_epoch_count *epoch = &p->epochs[i - p->merged];
    epoch->name = (const char *)(c.content + 1);
    epoch->name_length = c.content->name_length;
    if (c.content->periodic && epoch->name_length <= sizeof epoch->periodic_name)
      epoch->name = memcpy(epoch->periodic_name, epoch->name, epoch->name_length);
    epoch->time_ns = c.content->time_ns;
    epoch->is_snapshot = c.content->kind == LH_MARK_BY_SNAPSHOT;
  }
}

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
            .main_thread = raw_main_thread(&state->layout, global),
            .dead_white = raw_dead_white(&state->layout, global),
            .epochs = n_epochs ? epochs : &all};
  if (n_epochs <= n_marks) p.merged = n_marks - (n_epochs ? (uint32_t)n_epochs - 1 : 0);
  for (uint32_t i = p.merged; i <= n_marks; i++) p.epochs[i - p.merged] = (lh_epoch_count){0};
  name_epochs(&p, state, n_marks);
  count_lists(&p, state, global, n_marks);
  return LH_OK;
}

static uint64_t used_slots(const lh_layout *layout, const raw_table *t) {
  uint64_t used = 0, array_slots = raw_array_slots(layout, t), hash_slots = raw_hash_slots(t);
  for (uint64_t i = 0; i < array_slots; i++) used += !raw_is_empty(raw_array_type(t->array, i));
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

/* In a finalizer lua_gc returns -1 since 5.4.4; a bit tells whether the user stopped it. */
static bool is_stopped(lua_State *L, const lh_layout *layout, const char *global) {
  enum { BY_USER = 1 };
  int running = lua_gc(L, LUA_GCISRUNNING, 0);
  return running < 0 ? raw_gc_byte(layout, global, RAW_GLOBAL_STOP) & BY_USER : !running;
}

int lh_stats(lua_State *L, lh_gc_stats *stats, lh_error *error) {
  const lh_state *state = lh_find_state(L, error);
  if (!state) return LH_EARGUMENT;
  const char *global = lh_global_state(L);
  *stats =
      (lh_gc_stats){.bytes = lh_gc_bytes(global),
                    .debt_bytes = -raw_credit(global),
                    .table_strings = (uint64_t)RAW_FIELD(global, RAW_GLOBAL_STRINGS_USED, int32_t),
                    .table_slots = (uint64_t)RAW_FIELD(global, RAW_GLOBAL_STRINGS_SIZE, int32_t),
                    .marks = lh_chain_marks(state),
                    .newest_mark = state->last_serial,
                    .gc_state = raw_gc_byte(&state->layout, global, RAW_GLOBAL_GC_STATE),
                    .gc_generational = raw_gc_byte(&state->layout, global, RAW_GLOBAL_GC_KIND) != 0,
                    .gc_stopped = is_stopped(L, &state->layout, global)};
  return LH_OK;
}
