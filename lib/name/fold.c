/*
** fold.c - folds paths, so that all objects of one place have one text (see fold.h).
**
** Numbers and objects as keys become [*], and so do string keys of maps. A link from a class to the
** same class stands for any number of links: .next*, (.children[*])*. Two links in turn are .*, as
** in a binary tree; but a link by name and a link by any key both stay. A closure that holds a
** closure of its class as an upvalue is a link, too: (upvalue previous)*. A step in front with a
** key behind also gets a star if the two repeat: a chain of defaults in metatables is
** (metatable.__index)*. After 40 pieces the rest is one "...".
*/
#include "fold.h"
#include "read/decode.h"

#include <string.h>

enum { MAX_DEPTH = 40, LOOK_BACK = 4 };

/* ==== States ======================================================================== */

static uint32_t step_at(const lh_folder *folder, const lh_fold_state *state) {
  return folder->tree->list[state->place].step;
}

static uint32_t depth_of(const lh_folder *folder, const lh_fold_state *state) {
  return folder->tree->list[state->place].depth;
}

static bool is_starred(const lh_folder *folder, const lh_fold_state *state) {
  return lh_is_starred(lh_last_step(folder->tree, state->place));
}

static lh_form form_of(const lh_folder *folder, const lh_fold_state *state) {
  return (lh_form)lh_last_step(folder->tree, state->place)->form;
}

static uint32_t *state_number(lh_folder *folder, const lh_fold_state *state, uint32_t step) {
  uint64_t words[2] = {(uint64_t)state->parent << 32 | step, state->class_index};
  return lh_map_at_words(&folder->interned, words, 2);
}

/* Needed after lh_folder_settle. */
static bool number_states(lh_folder *folder) {
  for (size_t i = 0; i < folder->n_states; i++) {
    const lh_fold_state *state = &folder->states[i];
    uint32_t *number = state_number(folder, state, step_at(folder, state));
    if (!number) {
      lh_map_free(&folder->interned);
      return false;
    }
    *number = (uint32_t)i;
  }
  return true;
}

static uint32_t intern(lh_folder *folder, lh_fold_state state, uint32_t step) {
  if (state.parent == LH_NO_NUMBER || step == LH_NO_NUMBER) return LH_NO_NUMBER;
  if (folder->interned.n == 0 && !number_states(folder)) return LH_NO_NUMBER;
  uint32_t *index = state_number(folder, &state, step);
  if (!index || *index != LH_NO_NUMBER) return index ? *index : LH_NO_NUMBER;
  uint32_t before = folder->n_states > 0 ? folder->states[state.parent].place : 0;
  state.place = lh_place_behind(folder->tree, before, step);
  if (state.place == LH_NO_NUMBER ||
      !lh_grow(&folder->states, folder->n_states, &folder->capacity, sizeof state))
    return LH_NO_NUMBER;
  folder->states[folder->n_states] = state;
  return *index = (uint32_t)folder->n_states++;
}

bool lh_folder_begin(lh_folder *folder, const lh_snapshot *snapshot, lh_place_tree *tree) {
  lh_text root = {0};
  *folder = (lh_folder){.snapshot = snapshot, .tree = tree};
  lh_text_string(&root, "root");
  uint32_t place = lh_place_of_text(tree, &root);
  folder->any_key = lh_any_key(tree);
  if (place == LH_NO_NUMBER || folder->any_key == LH_NO_NUMBER) return false;
  lh_fold_state start = {.class_index = UINT32_MAX};
  if (intern(folder, start, tree->list[place].step) == LH_FOLD_START) return true;
  lh_folder_free(folder);
  return false;
}

static void free_maps(lh_folder *folder) {
  LH_FREE_MAPS(&folder->interned, &folder->memo, &folder->known_steps);
}

void lh_folder_settle(lh_folder *folder) {
  free_maps(folder);
  (void)lh_fit(&folder->states, folder->n_states, &folder->capacity, sizeof *folder->states);
}

void lh_folder_free(lh_folder *folder) {
  free_maps(folder);
  lh_free(folder->states);
  *folder = (lh_folder){0};
}

static void free_places(lh_place_tree *places) {
  lh_place_tree_free(places);
  lh_free(places);
}

lh_place_tree *lh_places_of(const lh_snapshot *snapshot) {
  lh_classes *classes = snapshot->classes;
  if (!classes->places) classes->places = lh_alloc_zeroed(1, sizeof *classes->places);
  classes->free_places = free_places;
  return classes->places;
}

static uint32_t with_class(lh_folder *folder, uint32_t state, uint32_t class_index) {
  lh_fold_state s = folder->states[state];
  s.class_index = class_index;
  s.is_link = false;
  return intern(folder, s, step_at(folder, &s));
}

static uint32_t append(lh_folder *folder, uint32_t parent, uint32_t step, uint32_t class_index) {
  return intern(folder, (lh_fold_state){.parent = parent, .class_index = class_index}, step);
}

/* ==== Steps ========================================================================= */

static uint32_t special_step(lh_folder *folder, uint8_t kind, const char *text) {
  lh_place_step step = {.kind = kind, .form = LH_FORM_BEHIND, .holder = LH_NO_PLACE};
  lh_text label = {0};
  lh_text_string(&label, text);
  return lh_intern_step(folder->tree, step, &label, NULL);
}

static uint32_t star(lh_folder *folder, uint32_t from, uint32_t to, uint32_t step) {
  uint32_t body[LOOK_BACK + 1];
  size_t n = LOOK_BACK + 1;
  body[--n] = step;
  for (uint32_t s = to; s != from; s = folder->states[s].parent)
    body[--n] = step_at(folder, &folder->states[s]);
  return lh_intern_repeat(folder->tree, body + n, LOOK_BACK + 1 - n);
}

/* The state, not far back, that reached an object of this class, or LH_NO_NUMBER. */
static uint32_t same_class_before(const lh_folder *folder, uint32_t state, uint32_t class_index) {
  if (class_index == UINT32_MAX) return LH_NO_NUMBER;
  for (int i = 0; i < LOOK_BACK; i++) {
    const lh_fold_state *s = &folder->states[state];
    if (s->class_index == class_index) return state;
    if (form_of(folder, s) != LH_FORM_BEHIND || is_starred(folder, s)) break;
    state = s->parent;
  }
  return LH_NO_NUMBER;
}

/* Sets *to, or LH_NO_NUMBER if a step in front and `step` do not repeat. "metatable of " and
** ".__index" become "(metatable.__index)*"; "upvalue next of function run @app.lua:31 in " and
** ".run" become "(upvalue next.run)*". */
static bool repeat_in_front(lh_folder *folder, uint32_t state, uint32_t step, uint32_t class_index,
                            uint32_t *to) {
  *to = LH_NO_NUMBER;
  const lh_fold_state front = folder->states[state];
  if (form_of(folder, &front) != LH_FORM_FRONT) return true;
  const lh_fold_state last = folder->states[front.parent];
  const lh_fold_state first = folder->states[last.parent];
  if (form_of(folder, &last) != LH_FORM_BEHIND) return true;
  uint32_t front_step = step_at(folder, &front), last_step = step_at(folder, &last);
  bool again = last_step == step && step_at(folder, &first) == front_step;
  if (!again && !is_starred(folder, &last)) return true;
  const uint32_t body[2] = {front_step, step};
  uint32_t starred = lh_intern_repeat(folder->tree, body, 2);
  if (starred == LH_NO_NUMBER) return false;
  if (last_step == starred)
    *to = with_class(folder, front.parent, class_index);
  else if (again)
    *to = append(folder, first.parent, starred, class_index);
  else
    return true;
  return *to != LH_NO_NUMBER;
}

/* `starred` links the object reached at `seen` to another object of its class. */
static uint32_t step_along(lh_folder *folder, uint32_t seen, uint32_t starred,
                           uint32_t class_index) {
  const lh_fold_state s = folder->states[seen];
  uint32_t seen_step = step_at(folder, &s);
  if (seen_step == starred) return seen;
  const lh_place_step *steps = folder->tree->steps;
  bool is_same = steps[starred].has_any_key == steps[seen_step].has_any_key;
  if (is_starred(folder, &s) && (is_same || is_starred(folder, &folder->states[s.parent]))) {
    uint32_t any =
        special_step(folder, LH_STEP_ANY_LINK, ".*"); /* .left and .right, in any order */
    return append(folder, s.parent, any, class_index);
  }
  size_t n_before = folder->n_states;
  uint32_t to = append(folder, seen, starred, class_index);
  if (to != LH_NO_NUMBER && folder->n_states > n_before) folder->states[to].is_link = true;
  return to;
}

static uint32_t step_behind(lh_folder *folder, uint32_t state, uint32_t step,
                            uint32_t class_index) {
  uint32_t repeated;
  if (!repeat_in_front(folder, state, step, class_index, &repeated)) return LH_NO_NUMBER;
  if (repeated != LH_NO_NUMBER) return repeated;
  const lh_fold_state before = folder->states[state];
  uint32_t last = step_at(folder, &before);
  if (depth_of(folder, &before) >= MAX_DEPTH) {
    uint32_t dots = special_step(folder, LH_STEP_MORE, " ...");
    if (last == dots) return state;
    return append(folder, state, dots, UINT32_MAX);
  }
  uint32_t seen = same_class_before(folder, state, class_index);
  if (seen != LH_NO_NUMBER) {
    uint32_t starred = star(folder, seen, state, step);
    return starred != LH_NO_NUMBER ? step_along(folder, seen, starred, class_index) : LH_NO_NUMBER;
  }
  bool again = last == step, is_index = step == folder->any_key;
  if (again && is_index) /* [*][*] is a matrix */
    again = step_at(folder, &folder->states[before.parent]) == step;
  uint32_t starred = star(folder, state, state, step);
  if (starred == LH_NO_NUMBER) return LH_NO_NUMBER;
  if (last == starred) return with_class(folder, state, class_index);
  if (!again) return append(folder, state, step, class_index);
  uint32_t from = is_index ? folder->states[before.parent].parent : before.parent;
  return append(folder, from, starred, class_index);
}

static uint32_t class_for_folding(const lh_snapshot *snapshot, lh_id id) {
  const lh_class_entry *entry = snapshot->classes ? lh_class_entry_of(snapshot, id) : NULL;
  return entry && entry->specific ? snapshot->classes->of[id] : UINT32_MAX;
}

static bool is_any(const lh_snapshot *snapshot, const lh_edge *edge, bool any_key) {
  if (edge->key.kind != LH_VALUE_OBJECT) return edge->key.kind != LH_VALUE_BOOLEAN;
  return any_key || !lh_is_string(snapshot, edge->key.as.object);
}

/* Most steps are from a table to a value and were seen before, so they are memoized. */
static uint32_t step_to_value(lh_folder *folder, uint32_t state, const lh_edge *edge, bool any,
                              uint32_t class_index) {
  uint64_t key = any                                 ? UINT64_MAX
                 : edge->key.kind == LH_VALUE_OBJECT ? edge->key.as.object
                                                     : UINT64_MAX - 1 - edge->key.as.boolean;
  uint64_t words[3] = {
      key, (uint64_t)state << 32 | class_index,
      edge->source == (folder->snapshot->classes ? folder->snapshot->classes->loaded : LH_ROOT)};
  uint32_t next = lh_map_get_words(&folder->memo, words, 3);
  if (next != LH_NO_NUMBER) return next;
  uint32_t step = any ? folder->any_key : lh_step_of_edge(folder->tree, folder->snapshot, edge);
  if (step == LH_NO_NUMBER) return LH_NO_NUMBER;
  next = step_behind(folder, state, step, class_index);
  uint32_t *slot = lh_map_at_words(&folder->memo, words, 3);
  if (!slot) return LH_NO_NUMBER;
  *slot = next;
  return next;
}

static bool is_slot(lh_edge_kind kind) {
  return kind >= LH_EDGE_LOCAL && kind <= LH_EDGE_ARGUMENT;
}

/* A second object whose class is in the text of the step; LH_ROOT: none. */
static lh_id also_named(const lh_edge *edge) {
  switch (edge->kind) {
    case LH_EDGE_NESTED:
    case LH_EDGE_FUNCTION:
    case LH_EDGE_OPEN_UPVALUE: return edge->target;
    default: return is_slot(edge->kind) && edge->holder != LH_NO_OBJECT ? edge->holder : LH_ROOT;
  }
}

static bool is_numbered(lh_edge_kind kind) {
  return kind == LH_EDGE_UPVALUE || kind == LH_EDGE_C_UPVALUE || kind == LH_EDGE_USER_VALUE ||
         kind == LH_EDGE_LOCAL || kind == LH_EDGE_VARARG || kind == LH_EDGE_ARGUMENT;
}

/* The memo of a step whose text depends only on its kind, its name or number, and the classes of
** source and function. NULL: out of memory, or *is_one is false. */
static uint32_t *common_step(lh_folder *folder, const lh_edge *edge, bool *is_one) {
  const lh_snapshot *s = folder->snapshot;
  lh_id other = also_named(edge);
  uint32_t source = lh_class_of(s, edge->source);
  uint32_t other_class = other != LH_ROOT ? lh_class_of(s, other) : 0;
  bool has_name = edge->kind == LH_EDGE_UPVALUE || edge->kind == LH_EDGE_LOCAL;
  *is_one = source != UINT32_MAX && other_class != UINT32_MAX && edge->kind >= LH_EDGE_KEY;
  if (!*is_one) return NULL;
  bool is_light = is_slot(edge->kind) && edge->key.kind == LH_VALUE_CFUNCTION;
  uint64_t words[4] = {
      (uint64_t)source << 32 | other_class,
      (uint64_t)(has_name ? edge->name : 0) << 32 | (is_numbered(edge->kind) ? edge->ordinal : 0),
      (uint64_t)edge->kind << 3 | (uint64_t)(other != LH_ROOT) << 2 | (uint64_t)is_light << 1 |
          lh_is_made_inside(s, edge->source),
      is_light ? edge->key.as.pointer : 0};
  return lh_map_at_words(&folder->known_steps, words, 4);
}

/* The tree remembers the steps into weak tables. */
static uint32_t step_of(lh_folder *folder, const lh_edge *edge) {
  bool is_one = false;
  uint32_t *known = edge->kind == LH_EDGE_EPHEMERON ? NULL : common_step(folder, edge, &is_one);
  if (!is_one) return lh_step_of_edge(folder->tree, folder->snapshot, edge);
  if (!known) return LH_NO_NUMBER;
  if (*known == LH_NO_NUMBER) *known = lh_step_of_edge(folder->tree, folder->snapshot, edge);
  return *known;
}

/* Does an upvalue of the closure hold a closure of the same class? Handlers that call the previous
** one are a chain as tables with .next are. */
static bool is_chain_of_closures(const lh_folder *folder, const lh_edge *edge) {
  const lh_snapshot *s = folder->snapshot;
  lh_id content = lh_content_of_upvalue(s, edge->target);
  return edge->kind == LH_EDGE_UPVALUE && content != LH_NO_OBJECT &&
         class_for_folding(s, content) == class_for_folding(s, edge->source) &&
         class_for_folding(s, content) != UINT32_MAX;
}

/* The step in front becomes one behind that has a star: "_G.handler(upvalue previous)*". */
static uint32_t repeat_upvalue(lh_folder *folder, uint32_t state, uint32_t step,
                               uint32_t class_index) {
  uint32_t starred = step == LH_NO_NUMBER ? step : lh_intern_repeat(folder->tree, &step, 1);
  if (starred == step_at(folder, &folder->states[state]))
    return with_class(folder, state, class_index);
  return append(folder, state, starred, class_index);
}

uint32_t lh_fold_step(lh_folder *folder, uint32_t state, const lh_edge *edge, bool any_key) {
  const lh_snapshot *snapshot = folder->snapshot;
  lh_form form = lh_form_of(snapshot, edge);
  uint32_t class_index = class_for_folding(snapshot, edge->target);
  if (form == LH_FORM_NOTHING) return with_class(folder, state, class_index);
  if (form == LH_FORM_BEHIND) {
    bool any = is_any(snapshot, edge, any_key);
    return step_to_value(folder, state, edge, any, class_index);
  }
  const lh_fold_state before = folder->states[state];
  lh_fold_state next = {.class_index = class_index};
  uint32_t step = step_of(folder, edge);
  if (form == LH_FORM_FRONT && is_chain_of_closures(folder, edge))
    return repeat_upvalue(folder, state, step, class_index);
  if (form != LH_FORM_BASE) {
    if (step_at(folder, &before) == step || depth_of(folder, &before) >= MAX_DEPTH)
      return with_class(folder, state, class_index);
    next.parent = state;
  }
  return intern(folder, next, step);
}

/* ==================================================================================== */

/* Is `other` on the path of the state, not far back? */
static bool leads_through(const lh_folder *folder, uint32_t state, uint32_t other) {
  for (int i = 0; i < LOOK_BACK && state != other; i++) state = folder->states[state].parent;
  return state == other;
}

static bool make_room_for_state(lh_seen_keys *seen_keys, size_t n_states) {
  size_t n = n_states > 2 * seen_keys->n ? n_states : 2 * seen_keys->n;
  lh_seen_key *list = lh_realloc(seen_keys->list, n, sizeof *list);
  if (!list) return false;
  memset(list + seen_keys->n, 0, (n - seen_keys->n) * sizeof *list);
  seen_keys->list = list;
  seen_keys->n = n;
  return true;
}

bool lh_is_open(const lh_folder *folder, uint32_t state) {
  const lh_fold_state *s = &folder->states[state];
  return s->is_link || step_at(folder, s) == folder->any_key;
}

bool lh_note_key(lh_seen_keys *seen_keys, const lh_folder *folder, uint32_t from, uint32_t to,
                 uint32_t e) {
  if (!lh_is_open(folder, to)) return true;
  if (to >= seen_keys->n && !make_room_for_state(seen_keys, folder->n_states)) return false;
  lh_seen_key *known = &seen_keys->list[to];
  if (folder->states[to].is_link) {
    known->repeats = known->repeats || leads_through(folder, from, to);
    return true;
  }
  lh_id key = lh_key_of_row(folder->snapshot, e);
  known->is_named = known->is_named || key != LH_NO_OBJECT;
  if (known->key == LH_ROOT) known->key = key;
  if (known->key != key) known->key = LH_NO_OBJECT;
  return true;
}

/* Appends the steps that a state's last step stood for. */
static uint32_t add_seen_steps(lh_folder *folder, const lh_seen_keys *seen_keys, uint32_t place,
                               uint32_t state) {
  lh_place_tree *tree = folder->tree;
  const lh_fold_state *s = &folder->states[state];
  lh_seen_key what = state < seen_keys->n ? seen_keys->list[state] : (lh_seen_key){0};
  uint32_t own = step_at(folder, s);
  const lh_place_step step = tree->steps[own];
  if (s->is_link && !what.repeats && !seen_keys->keeps_links && step.n_body > 0) {
    for (uint32_t i = 0; i < step.n_body; i++)
      place = lh_place_behind(tree, place, tree->bodies[step.body + i]);
    return place;
  }
  if (own != folder->any_key || what.key == LH_ROOT || what.key == LH_NO_OBJECT)
    return lh_place_behind(tree, place,
                           what.is_named && seen_keys->several ? seen_keys->several : own);
  lh_edge edge = {.kind = LH_EDGE_VALUE, .key = lh_object_value(what.key)};
  return lh_place_behind(tree, place, lh_step_of_edge(tree, folder->snapshot, &edge));
}

uint32_t lh_place_with_keys(lh_folder *folder, const lh_seen_keys *seen_keys, uint32_t state) {
  uint32_t chain[MAX_DEPTH + 2], place = 0;
  size_t n = 0;
  for (;; state = folder->states[state].parent) {
    chain[n++] = state;
    if (form_of(folder, &folder->states[state]) == LH_FORM_BASE) break;
  }
  while (n > 0) place = add_seen_steps(folder, seen_keys, place, chain[--n]);
  return place;
}
