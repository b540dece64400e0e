/*
** marks.c - links marks into the mirror of a heap that has none.
**
** Objects have an age because marks lie among them on the collector's lists. From outside they are
** linked into the mirror, not into the program: userdata like those of luaheap inside a process
** (take/state.h), so the walk, the file and its readers need no change. The collector's count grows
** by their bytes.
**
**     registry   state userdata --> own mark, finobj half --> allgc half --> carried marks ...
**                                                 ... --> newest mark of the program's own luaheap
**
** If the program has loaded luaheap, its state userdata is used, and its marks are already there.
*/
#include "mirrored.h"

/* ==== luaheap's own objects ========================================================= */

/* luaheap's userdata in a registry slot: its content has the key as its tag. */
static raw_userdata *registered_userdata(const lh_layout *layout, const raw_slot *slot) {
  if (slot->key_type != RAW_LIGHT_USERDATA ||
      slot->value_type != (RAW_USERDATA | RAW_COLLECTABLE)) {
    return NULL;
  }
  raw_userdata *u = (raw_userdata *)(uintptr_t)slot->value.object;
  const lh_own_content *content = lh_walk_own_content(layout, u);
  bool ours = content && content->kind == LH_MARK_STATE && content->tag == slot->key.pointer;
  return ours && u->n_user_values > 0 ? u : NULL;
}

static const void *user_value(const lh_layout *layout, const raw_userdata *u, unsigned i,
                              uint8_t type) {
  const raw_value *v = &raw_user_values(layout, u)[i];
  return i < u->n_user_values && v->type == (type | RAW_COLLECTABLE) ? v->as.object : NULL;
}

void lh_find_own(lh_mirrored_state *state) {
  const raw_value *registry = &RAW_FIELD(state->global, RAW_GLOBAL_REGISTRY, raw_value);
  const raw_table *t = (const raw_table *)registry->as.object;
  uint64_t slots = raw_hash_slots(t);
  for (uint64_t i = 0; i < slots; i++) {
    raw_userdata *u = registered_userdata(&state->layout, &t->slots[i]);
    if (!u) continue;
    if (lh_walk_own_content(&state->layout, u)->state_id == 0) { /* a watcher's or a recorder's */
      const void *thread = user_value(&state->layout, u, 0, RAW_THREAD);
      if (thread) state->own_thread = thread;
    } else if (u->n_user_values == LH_STATE_USER_VALUES) {
      state->ours = u;
      state->metatable = user_value(&state->layout, u, LH_STATE_METATABLE - 1, RAW_TABLE);
    }
  }
}

/* A state of this luaheap's version also knows the serials of removed marks. */
uint32_t lh_newest_serial(const lh_mirrored_state *state) {
  const lh_own_content *content = lh_mirrored_content(state);
  if (!content) return 0;
  lh_chain chain = {.layout = &state->layout, .last = state->ours};
  uint32_t newest = lh_chain_next(&chain) ? chain.content->serial : 0;
  if (state->ours->length != sizeof(lh_state)) return newest;
  uint32_t last = ((const lh_state *)(const void *)content)->last_serial;
  return last > newest ? last : newest;
}

/* ==== New userdata ================================================================== */

static uint64_t userdata_bytes(const lh_layout *layout, unsigned n_user_values,
                               uint64_t content_bytes) {
  return layout->user_values + n_user_values * sizeof(raw_value) + content_bytes;
}

static void *writable(const void *p) {
  return (void *)(uintptr_t)p;
}

static void refer(const lh_mirrored_state *state, raw_userdata *from, const raw_userdata *to) {
  raw_value *v = (raw_value *)writable(raw_user_values(&state->layout, from));
  *v = (raw_value){.as.object = (const raw_object *)to,
                   .type = to ? RAW_USERDATA | RAW_COLLECTABLE : RAW_NIL};
}

/* A white userdata on no list; its bytes are counted. NULL: out of memory. */
static raw_userdata *make_userdata(lh_mirrored_state *state, unsigned n_user_values,
                                   const lh_own_content *content, const char *name) {
  uint64_t content_bytes = sizeof *content + content->name_length;
  uint64_t bytes = userdata_bytes(&state->layout, n_user_values, content_bytes);
  if (!lh_grow(&state->made, state->n_made, &state->made_capacity, sizeof(raw_userdata *)))
    return NULL;
  raw_userdata *u = lh_alloc_zeroed(1, bytes);
  if (!u) return NULL;
  state->made[state->n_made++] = u;
  u->type = RAW_USERDATA;
  u->marked = raw_gc_byte(&state->layout, state->global, RAW_GLOBAL_WHITE) & RAW_WHITES;
  u->n_user_values = (uint16_t)n_user_values;
  u->length = content_bytes;
  char *at = (char *)u + raw_content_offset(&state->layout, u);
  memcpy(at, content, sizeof *content);
  if (content->name_length > 0) memcpy(at + sizeof *content, name, content->name_length);
  *(int64_t *)(void *)(state->global + RAW_GLOBAL_TOTAL_BYTES) += (int64_t)bytes;
  return u;
}

static const raw_object **head_of(const lh_mirrored_state *state, lh_list list) {
  size_t at = list == LH_LIST_ALLGC ? RAW_GLOBAL_ALLGC : RAW_GLOBAL_FINOBJ;
  return (const raw_object **)(void *)(state->global + at);
}

/* Inserts before the object at `link`. Returns the link behind it. */
static const raw_object **insert(raw_userdata *u, const raw_object **link) {
  u->next = *link;
  *link = (const raw_object *)u;
  return &u->next;
}

/* The halves are not linked yet, but the one on finobj refers to the other, as in any program. */
static bool make_halves(lh_mirrored_state *state, const lh_own_content *content, const char *name,
                        raw_userdata *halves[2]) {
  for (int i = 0; i < 2; i++) {
    halves[i] = make_userdata(state, 1, content, name);
    if (!halves[i]) return false;
  }
  halves[LH_LIST_FINOBJ]->marked |= RAW_FINALIZED;
  refer(state, halves[LH_LIST_FINOBJ], halves[LH_LIST_ALLGC]);
  return true;
}

static const raw_userdata *newest_mark(const lh_mirrored_state *state) {
  return user_value(&state->layout, state->ours, LH_STATE_NEWEST_MARK - 1, RAW_USERDATA);
}

int lh_link_own_mark(lh_mirrored_state *state, lh_own_content content, const char *name,
                     lh_error *error) {
  raw_userdata *halves[2];
  content.magic = LH_OWN_MAGIC;
  if (!state->ours) {
    lh_own_content own = {
        .magic = LH_OWN_MAGIC, .kind = LH_MARK_STATE, .state_id = content.state_id};
    state->ours = make_userdata(state, LH_STATE_USER_VALUES, &own, NULL);
    if (!state->ours) return lh_fail_memory(error, "linking a mark");
    (void)insert(state->ours, head_of(state, LH_LIST_ALLGC));
  }
  if (!make_halves(state, &content, name, halves)) return lh_fail_memory(error, "linking a mark");
  refer(state, halves[LH_LIST_ALLGC], newest_mark(state));
  refer(state, state->ours, halves[LH_LIST_FINOBJ]);
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++) {
    (void)insert(halves[list], head_of(state, list));
  }
  return LH_OK;
}

/* ==== Marks of an older snapshot ==================================================== */

/* Names come from a file, and may be too long. */
static uint16_t length_of_name(const lh_carried_mark *mark) {
  return (uint16_t)(mark->name_length < LH_MARK_NAME_BYTES ? mark->name_length
                                                           : LH_MARK_NAME_BYTES);
}

/* The link to object `older` (0: the end of the list). NULL: not on the list from `link` on. */
static const raw_object **find_place(const raw_object **link, uint64_t older) {
  while (*link && (uintptr_t)*link != older) link = (const raw_object **)writable(&(*link)->next);
  return *link || older == 0 ? link : NULL;
}

/* The program's own marks come last, whatever their age: the chain only keeps them alive. */
static void chain_behind(const lh_mirrored_state *state, raw_userdata *newer,
                         raw_userdata *const halves[2]) {
  refer(state, halves[LH_LIST_ALLGC], user_value(&state->layout, newer, 0, RAW_USERDATA));
  refer(state, newer, halves[LH_LIST_FINOBJ]);
}

int lh_link_carried_marks(lh_mirrored_state *state, uint64_t state_id, const lh_carried_mark *marks,
                          size_t n, lh_error *error) {
  const raw_object **links[2] = {head_of(state, LH_LIST_ALLGC), head_of(state, LH_LIST_FINOBJ)};
  raw_userdata *newer = writable(user_value(&state->layout, newest_mark(state), 0, RAW_USERDATA));
  while (n-- > 0) { /* youngest first, as on the lists */
    const lh_carried_mark *mark = &marks[n];
    lh_own_content content = {.magic = LH_OWN_MAGIC,
                              .state_id = state_id,
                              .time_ns = mark->time_ns,
                              .serial = mark->serial,
                              .kind = mark->is_snapshot ? LH_MARK_BY_SNAPSHOT : LH_MARK_BY_MARK,
                              .name_length = length_of_name(mark)};
    raw_userdata *halves[2];
    if (!make_halves(state, &content, mark->name, halves)) {
      return lh_fail_memory(error, "linking a mark");
    }
    for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++) {
      const raw_object **link = find_place(links[list], mark->older[list]);
      if (!link) return lh_fail(error, LH_EBUSY, "a mark has lost its place among the objects");
      links[list] = insert(halves[list], link);
    }
    chain_behind(state, newer, halves);
    newer = halves[LH_LIST_ALLGC];
  }
  return LH_OK;
}
