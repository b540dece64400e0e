/*
** fold.c - folding paths so that all objects of one place share one text (see fold.h).
**
** Numbers and objects as keys become [*], and so do string keys of tables that are used as maps. A
** link that leads from a class back to the same class stands for any number of such links: .next*,
** (.children[*])*. Two such links in turn are .*, as in a binary tree; but where one goes by a name
** and the other by any key each is told, since the name says which branch it is. A step to
** what is in front, with a key behind it, that follows itself has a star, too: a chain of defaults,
** each in the metatable of the next, is (metatable.__index)*. Behind 40 pieces all is one "...".
*/
#include "fold.h"

#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 40, LOOK_BACK = 4, MANY_ALIKE = 8 };

/* {=== Maps and records ============================================================== */

lh_key_sense lh_key_sense_of(const lh_snapshot *snapshot, lh_id table) {
  const lh_classes *classes = snapshot->classes;
  const lh_class_entry *entry = classes ? lh_class_entry_of(snapshot, table) : NULL;
  if (!entry || lh_is_for_good(snapshot, table)) return LH_KEYS_MEAN;
  if (!entry->specific && strncmp(entry->visible.name, "map", 3) == 0) return LH_KEYS_VARY;
  return LH_KEYS_DEPEND;
}

bool lh_keys_vary(const lh_snapshot *snapshot, uint32_t class_index, uint32_t n_alike,
                  uint32_t n_values) {
  if (class_index == UINT32_MAX) return false;
  const lh_class_entry *entry = &snapshot->classes->list[class_index];
  if (!entry->specific) return n_alike >= MANY_ALIKE && n_alike == n_values;
  return n_alike >= (entry->fields != LH_NO_NUMBER ? MANY_ALIKE : LH_LEAST_ALIKE);
}

bool lh_is_keyed_object(const lh_snapshot *snapshot, const lh_edge *edge) {
  if (edge->kind != LH_EDGE_VALUE || edge->key.kind != LH_VALUE_OBJECT) return false;
  if (!lh_is_string(snapshot, edge->key.as.object)) return false;
  lh_type type = lh_type_of(snapshot, edge->target);
  return type == LH_TYPE_TABLE || type == LH_TYPE_USERDATA || type == LH_TYPE_THREAD ||
         type == LH_TYPE_CLOSURE;
}

/* }=================================================================================== */

/* {=== States ======================================================================== */

static uint32_t intern(lh_folder *folder, lh_fold_state state) {
  if (state.parent == LH_NO_NUMBER || state.piece == LH_NO_NUMBER) return LH_NO_NUMBER;
  uint64_t words[3] = {(uint64_t)state.parent << 32 | state.piece,
                       (uint64_t)state.class_index << 8 | state.form,
                       (uint64_t)state.starred << 1 | state.phrase};
  uint32_t *index = lh_map_at_words(&folder->interned, words, 3);
  if (!index || *index != LH_NO_NUMBER) return index ? *index : LH_NO_NUMBER;
  if (!lh_grow(&folder->states, folder->n_states, &folder->capacity, sizeof state))
    return LH_NO_NUMBER;
  folder->states[folder->n_states] = state;
  return *index = (uint32_t)folder->n_states++;
}

int lh_folder_init(lh_folder *folder, const lh_snapshot *snapshot, lh_error *error) {
  *folder = (lh_folder){.snapshot = snapshot};
  lh_fold_state start = {.piece = lh_strings_add(&folder->pieces, "root", 4),
                         .class_index = UINT32_MAX,
                         .form = LH_FORM_BASE,
                         .phrase = true};
  if (intern(folder, start) == LH_FOLD_START) return 0;
  lh_folder_free(folder);
  return lh_fail_memory(error, "folding paths");
}

void lh_folder_settle(lh_folder *folder) {
  lh_map_free(&folder->interned);
  lh_map_free(&folder->memo);
  lh_map_free(&folder->holders);
}

void lh_folder_free(lh_folder *folder) {
  lh_folder_settle(folder);
  lh_strings_free(&folder->pieces);
  lh_free(folder->states);
  *folder = (lh_folder){0};
}

/* The same text, but another object reached. */
static uint32_t with_class(lh_folder *folder, uint32_t state, uint32_t class_index) {
  lh_fold_state s = folder->states[state];
  s.class_index = class_index;
  s.once = false;
  return intern(folder, s);
}

static uint32_t append(lh_folder *folder, uint32_t parent, lh_text_id piece, uint32_t class_index,
                       bool starred) {
  lh_fold_state s = {.parent = parent,
                     .piece = piece,
                     .class_index = class_index,
                     .depth = folder->states[parent].depth + 1,
                     .form = LH_FORM_BEHIND,
                     .starred = starred};
  return intern(folder, s);
}

/* }=================================================================================== */

/* {=== Steps ========================================================================= */

/* "body*" for the pieces behind `from` up to `to`, and then `piece`. */
static lh_text_id star(lh_folder *folder, uint32_t from, uint32_t to, lh_text_id piece) {
  lh_text_id chain[LOOK_BACK + 1];
  size_t n = 0;
  chain[n++] = piece;
  for (uint32_t s = to; s != from; s = folder->states[s].parent)
    chain[n++] = folder->states[s].piece;
  lh_text text = {0};
  if (n > 1) lh_text_add(&text, "(", 1);
  while (n-- > 0) lh_text_string(&text, folder->pieces.texts[chain[n]]);
  lh_text_string(&text, from == to ? "*" : ")*");
  return lh_strings_take(&folder->pieces, &text);
}

/* The state, not far back along the same expression, where an object of this class was reached. */
static uint32_t same_class_before(const lh_folder *folder, uint32_t state, uint32_t class_index) {
  if (class_index == UINT32_MAX) return LH_NO_NUMBER;
  for (int i = 0; i < LOOK_BACK; i++) {
    const lh_fold_state *s = &folder->states[state];
    if (s->class_index == class_index) return state;
    if (s->form != LH_FORM_BEHIND || s->starred) break;
    state = s->parent;
  }
  return LH_NO_NUMBER;
}

/* "(metatable.__index)*" for "metatable of " and ".__index"; "(upvalue next.run)*" for "upvalue
** next of function run @app.lua:31 in " and ".run". */
static lh_text_id star_in_front(lh_folder *folder, lh_text_id front, lh_text_id behind) {
  const char *before = folder->pieces.texts[front];
  lh_text text = {0};
  lh_text_add(&text, "(", 1);
  lh_text_add(&text, before, (size_t)(strstr(before, " of ") - before));
  lh_text_string(&text, folder->pieces.texts[behind]);
  lh_text_string(&text, ")*");
  return lh_strings_take(&folder->pieces, &text);
}

/* The state after a piece in front and then `piece`, if the two follow themselves. False when out
** of memory; *to is LH_NO_NUMBER if they do not. */
static bool repeat_in_front(lh_folder *folder, uint32_t state, lh_text_id piece,
                            uint32_t class_index, uint32_t *to) {
  *to = LH_NO_NUMBER;
  const lh_fold_state front = folder->states[state];
  if (front.form != LH_FORM_FRONT) return true;
  const lh_fold_state last = folder->states[front.parent];
  const lh_fold_state first = folder->states[last.parent];
  if (last.form != LH_FORM_BEHIND) return true;
  bool again = last.piece == piece && first.form == LH_FORM_FRONT && first.piece == front.piece;
  if (!again && !last.starred) return true;
  lh_text_id starred = star_in_front(folder, front.piece, piece);
  if (starred == LH_NO_NUMBER) return false;
  if (last.piece == starred)
    *to = with_class(folder, front.parent, class_index);
  else if (again)
    *to = append(folder, first.parent, starred, class_index, true);
  else
    return true;
  return *to != LH_NO_NUMBER;
}

/* The state after the link `starred`, which leads from the object reached at `seen` to another one
** of its class. */
static uint32_t step_along(lh_folder *folder, uint32_t seen, lh_text_id starred,
                           uint32_t class_index) {
  const lh_fold_state s = folder->states[seen];
  if (s.starred && s.piece == starred) {
    folder->states[seen].once = false;
    return seen;
  }
  bool is_any = strstr(folder->pieces.texts[starred], "[*]") != NULL;
  bool was_any = strstr(folder->pieces.texts[s.piece], "[*]") != NULL;
  if (s.starred && (is_any == was_any || folder->states[s.parent].starred)) {
    lh_text_id any = lh_strings_add(&folder->pieces, ".*", 2); /* .left and .right, in any order */
    return append(folder, s.parent, any, class_index, true);
  }
  size_t n_before = folder->n_states;
  uint32_t to = append(folder, seen, starred, class_index, true);
  if (to != LH_NO_NUMBER && folder->n_states > n_before) folder->states[to].once = true;
  return to;
}

static uint32_t step_behind(lh_folder *folder, uint32_t state, lh_text_id piece,
                            uint32_t class_index) {
  uint32_t repeated;
  if (!repeat_in_front(folder, state, piece, class_index, &repeated)) return LH_NO_NUMBER;
  if (repeated != LH_NO_NUMBER) return repeated;
  const lh_fold_state before = folder->states[state];
  if (before.depth >= MAX_DEPTH) {
    lh_text_id dots = lh_strings_add(&folder->pieces, " ...", 4);
    if (before.piece == dots) return state;
    return append(folder, state, dots, UINT32_MAX, true);
  }
  uint32_t seen = same_class_before(folder, state, class_index);
  if (seen != LH_NO_NUMBER) {
    lh_text_id starred = star(folder, seen, state, piece);
    return starred != LH_NO_NUMBER ? step_along(folder, seen, starred, class_index) : LH_NO_NUMBER;
  }
  bool again = before.form == LH_FORM_BEHIND && before.piece == piece;
  bool is_index = strcmp(folder->pieces.texts[piece], "[*]") == 0;
  if (again && is_index)
    again = folder->states[before.parent].piece == piece; /* [*][*] is a matrix */
  lh_text_id starred = star(folder, state, state, piece);
  if (starred == LH_NO_NUMBER) return LH_NO_NUMBER;
  if (before.starred && before.piece == starred) return with_class(folder, state, class_index);
  if (!again) return append(folder, state, piece, class_index, false);
  uint32_t from = is_index ? folder->states[before.parent].parent : before.parent;
  return append(folder, from, starred, class_index, true);
}

static uint32_t class_for_folding(const lh_snapshot *snapshot, lh_id id) {
  const lh_class_entry *entry = snapshot->classes ? lh_class_entry_of(snapshot, id) : NULL;
  return entry && entry->specific ? snapshot->classes->of[id] : UINT32_MAX;
}

static bool is_any(const lh_snapshot *snapshot, const lh_edge *edge, bool any_key) {
  if (edge->key.kind != LH_VALUE_OBJECT) return edge->key.kind != LH_VALUE_BOOLEAN;
  return any_key || !lh_is_string(snapshot, edge->key.as.object);
}

/* Most steps are from a table to a value, and seen before. */
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
  lh_text text = {0};
  bool phrase;
  if (any)
    lh_text_string(&text, "[*]");
  else
    lh_add_piece(&text, folder->snapshot, edge, true, &phrase);
  lh_text_id piece = lh_strings_take(&folder->pieces, &text);
  if (piece == LH_NO_NUMBER) return LH_NO_NUMBER;
  next = step_behind(folder, state, piece, class_index);
  uint32_t *slot = lh_map_at_words(&folder->memo, words, 3);
  if (!slot) return LH_NO_NUMBER;
  *slot = next;
  return next;
}

/* Remembers which string key a [*] stands for, as long as it is one. */
static void note_key(lh_fold_state *state, const lh_snapshot *snapshot, const lh_edge *edge) {
  bool named = edge->key.kind == LH_VALUE_OBJECT && lh_is_string(snapshot, edge->key.as.object);
  lh_id key = named ? edge->key.as.object : LH_NO_OBJECT;
  if (state->key == LH_ROOT) state->key = key;
  if (state->key != key) state->key = LH_NO_OBJECT;
}

static lh_text_id piece_of(lh_folder *folder, const lh_edge *edge, bool *phrase) {
  lh_text text = {0};
  lh_add_piece(&text, folder->snapshot, edge, true, phrase);
  return lh_strings_take(&folder->pieces, &text);
}

/* A weak table is told by its own path, which is long work for each of its entries. */
static lh_text_id holder_piece(lh_folder *folder, const lh_edge *edge, bool *phrase) {
  uint32_t *known = lh_map_at(&folder->holders, edge->holder);
  if (!known) return LH_NO_NUMBER;
  if (*known == LH_NO_NUMBER) *known = piece_of(folder, edge, phrase);
  *phrase = true;
  return *known;
}

uint32_t lh_fold_step(lh_folder *folder, uint32_t state, const lh_edge *edge, bool any_key) {
  const lh_snapshot *snapshot = folder->snapshot;
  lh_form form = lh_form_of(snapshot, edge);
  uint32_t class_index = class_for_folding(snapshot, edge->target);
  if (form == LH_FORM_NOTHING) return with_class(folder, state, class_index);
  if (form == LH_FORM_BEHIND) {
    bool any = is_any(snapshot, edge, any_key);
    uint32_t to = step_to_value(folder, state, edge, any, class_index);
    if (any && to != LH_NO_NUMBER) note_key(&folder->states[to], snapshot, edge);
    return to;
  }
  const lh_fold_state before = folder->states[state];
  lh_fold_state next = {.class_index = class_index, .form = (uint8_t)form};
  next.piece = form == LH_FORM_AROUND ? holder_piece(folder, edge, &next.phrase)
                                      : piece_of(folder, edge, &next.phrase);
  if (form != LH_FORM_BASE) {
    bool again = before.form == next.form && before.piece == next.piece;
    if (again || before.depth >= MAX_DEPTH) return with_class(folder, state, class_index);
    next.parent = state;
    next.depth = before.depth + 1;
  }
  return intern(folder, next);
}

/* }=================================================================================== */

static void tell_state(lh_telling *telling, const lh_folder *folder, const lh_fold_state *s,
                       bool keys) {
  const char *piece = folder->pieces.texts[s->piece];
  lh_text key = {0};
  if (keys && s->once) {
    bool is_chain = *piece == '('; /* "(.children[*])*", ".next*" */
    lh_tell(telling, (lh_form)s->form, piece + is_chain, strlen(piece) - (is_chain ? 3 : 1),
            s->phrase);
  } else if (keys && strcmp(piece, "[*]") == 0 && s->key != LH_ROOT && s->key != LH_NO_OBJECT) {
    lh_value name = {.kind = LH_VALUE_OBJECT, .as.object = s->key};
    lh_add_key(&key, folder->snapshot, name, false);
    lh_tell(telling, (lh_form)s->form, key.bytes, key.n, s->phrase);
    if (key.failed) telling->text.failed = true;
  } else {
    lh_tell(telling, (lh_form)s->form, piece, strlen(piece), s->phrase);
  }
  lh_text_free(&key);
}

/* As tell_ends in path_text.c; the chain stands from its end on. */
static bool tell_chain(lh_telling *telling, const lh_folder *folder, const uint32_t *chain,
                       size_t n, bool keys, size_t shown) {
  lh_text_clear(&telling->text);
  for (size_t i = 0; i < n; i++) {
    if (i == shown && 2 * shown < n) {
      char middle[48];
      int length = snprintf(middle, sizeof middle, " ... %zu more steps ... ", n - 2 * shown);
      lh_tell(telling, LH_FORM_BEHIND, middle, (size_t)length, false);
      i = n - shown - 1;
    } else {
      tell_state(telling, folder, &folder->states[chain[n - 1 - i]], keys);
    }
    if (telling->text.n > LH_PATH_BYTES && shown > 1) return false;
  }
  return true;
}

void lh_fold_text(const lh_folder *folder, uint32_t state, bool keys, lh_text *text) {
  uint32_t chain[MAX_DEPTH + 2];
  lh_telling telling = {0};
  size_t n = 0, shown;
  for (;; state = folder->states[state].parent) {
    chain[n++] = state;
    if (folder->states[state].form == LH_FORM_BASE) break;
  }
  for (shown = n; !tell_chain(&telling, folder, chain, n, keys, shown);) shown = lh_fewer(shown);
  if (telling.text.failed) text->failed = true;
  lh_text_add(text, telling.text.bytes, telling.text.n);
  lh_text_free(&telling.text);
}
