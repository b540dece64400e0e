/*
** compare.c - what changed: two or three snapshots, or the marks in one; and growth over any
** number of snapshots, which are opened one after another.
*/
#include "handles.h"

/* {=== Two or three snapshots ========================================================= */

static void free_diff(void *content) {
  lh_diff_free(*(lh_diff **)content);
}

void hr_push_group(lua_State *L, const lh_snapshot *c, const lh_diff_group *g) {
  const lh_class *class = lh_class_at(c, g->class_index);
  lua_createtable(L, 0, 10);
  hr_set_string(L, "fingerprint", g->fingerprint);
  hr_set_string(L, "class", g->class_name);
  hr_set_string(L, "type", lh_type_name(class->type));
  hr_set_string(L, "held_by", g->held_by);
  hr_set_integer(L, "objects", g->objects);
  hr_set_integer(L, "shallow_bytes", g->shallow_bytes);
  hr_set_integer(L, "retained_bytes", g->retained_bytes);
  hr_set_integer(L, "new_objects", g->new_objects);
  hr_set_integer(L, "new_bytes", g->new_bytes);
}

static void set_grown(lua_State *L, int index, const lh_snapshot *c, const lh_diff *d) {
  hr_push_list(L, "heap.grown", d->n_grown);
  for (size_t i = 0; i < d->n_grown; i++) {
    const lh_grown *g = &d->grown[i];
    lua_createtable(L, 0, 7);
    hr_set_string(L, "fingerprint", g->fingerprint);
    hr_set_string(L, "class", lh_class_name_of(c, g->id));
    hr_set_string(L, "held_by", g->held_by);
    hr_set_string(L, "place", g->place);
    hr_set_object(L, "object", index, g->id);
    hr_set_integers(L, "shallow_bytes", g->shallow_bytes, 3);
    hr_set_integers(L, "entries", g->entries, 3);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "grown");
}

/* At two or three times: without the middle one there are but two. */
static void set_times(lua_State *L, const char *key, const uint64_t values[3], bool has_middle) {
  const uint64_t ends[] = {values[0], values[2]};
  hr_set_integers(L, key, has_middle ? values : ends, has_middle ? 3 : 2);
}

static void set_changes(lua_State *L, const lh_diff *d, bool has_middle) {
  hr_push_list(L, "heap.changes", d->n_classes);
  for (size_t i = 0; i < d->n_classes; i++) {
    const lh_class_change *change = &d->classes[i];
    lua_createtable(L, 0, 6);
    hr_set_string(L, "class", change->name);
    hr_set_string(L, "type", lh_type_name(change->type));
    set_times(L, "objects", change->objects, has_middle);
    set_times(L, "shallow_bytes", change->shallow_bytes, has_middle);
    if (d->same_state) {
      hr_set_integer(L, "appeared", change->appeared);
      hr_set_integer(L, "gone", change->gone);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "classes");
}

/* The rows of a diff whose objects are in the snapshot at `index`. */
static void push_diff(lua_State *L, int index, const lh_diff *d, bool has_middle) {
  const lh_snapshot *c = hr_check_snapshot(L, index)->snapshot;
  hr_push_list(L, "heap.diff", d->n_groups);
  for (size_t i = 0; i < d->n_groups; i++) {
    hr_push_group(L, c, &d->groups[i]);
    hr_set_object(L, "example", index, d->groups[i].example);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  hr_set_boolean(L, "same_state", d->same_state);
  hr_set_integer(L, "objects", d->objects);
  hr_set_integer(L, "shallow_bytes", d->shallow_bytes);
  hr_set_integer(L, "retained_bytes", d->retained_bytes);
  hr_set_integer(L, "gone_objects", d->gone_objects);
  hr_set_integer(L, "gone_bytes", d->gone_bytes);
  set_grown(L, index, c, d);
  set_changes(L, d, has_middle);
}

/* since(mark [, until]) --> rows | nil, message, code: there is no such mark. */
int hr_since(lua_State *L) {
  hr_snapshot *of = hr_check_snapshot(L, 1);
  lh_snapshot *snapshot = hr_analysed(L, of);
  const char *since = luaL_checkstring(L, 2), *until = luaL_optstring(L, 3, NULL);
  lh_error error;
  lua_settop(L, 3);
  lh_diff **d = hr_hold(L, 1, sizeof(lh_diff *), free_diff);
  int code = lh_diff_marks(snapshot, since, until, d, &error);
  if (hr_filled(L, 4, code) == LH_ENOTFOUND) return hr_fail(L, &error);
  hr_check(L, code, &error);
  push_diff(L, 1, *d, false);
  lua_pushvalue(L, 2);
  lua_setfield(L, -2, "since");
  lua_pushvalue(L, 3);
  lua_setfield(L, -2, "until");
  hr_let_go(L, 4);
  return 1;
}

static bool is_before(const hr_snapshot *a, const hr_snapshot *b) {
  const lh_info *x = lh_snapshot_info(a->snapshot), *y = lh_snapshot_info(b->snapshot);
  if (x->state_id == y->state_id) return x->serial < y->serial;
  return x->time_ns < y->time_ns;
}

/* Brings the n snapshots at index 1 and behind into the order of their time. */
static void sort_by_time(lua_State *L, int n) {
  for (int i = 2; i <= n; i++) {
    for (int k = i; k > 1; k--) {
      if (!is_before(hr_check_snapshot(L, k), hr_check_snapshot(L, k - 1))) break;
      lua_pushvalue(L, k);
      lua_copy(L, k - 1, k);
      lua_replace(L, k - 1);
    }
  }
}

/* What they are called: `snapshots`, a list of the names of their files. */
static void set_names(lua_State *L, int n) {
  lua_createtable(L, n, 0);
  for (int i = 1; i <= n; i++) {
    if (lua_getiuservalue(L, i, 1) == LUA_TNIL) {
      lua_pop(L, 1);
      lua_pushstring(L, lh_snapshot_info(hr_check_snapshot(L, i)->snapshot)->name);
    }
    lua_rawseti(L, -2, i);
  }
  lua_setfield(L, -2, "snapshots");
}

static bool is_of_state(const hr_snapshot *a, const hr_snapshot *b) {
  return lh_snapshot_info(a->snapshot)->state_id == lh_snapshot_info(b->snapshot)->state_id;
}

/* diff(other [, another]) --> rows: what was allocated between the two oldest of them, and is
** still alive in the youngest. Of two: what appeared and what went. Of the one in the middle, if it
** is of the same state, no analysis is needed: only which objects are there, and their entries. */
int hr_diff(lua_State *L) {
  lh_snapshot *s[3] = {NULL};
  lh_error error;
  int n = lua_isnoneornil(L, 3) ? 2 : 3;
  lua_settop(L, n);
  for (int i = 1; i <= n; i++) (void)hr_check_snapshot(L, i);
  sort_by_time(L, n);
  for (int i = 1; i <= n; i++) (void)hr_hold(L, i, 0, NULL);
  lh_diff **d = hr_hold(L, 0, sizeof(lh_diff *), free_diff);
  for (int i = 1; i <= n; i++) {
    hr_snapshot *of = hr_check_snapshot(L, i);
    bool is_middle = i == 2 && n == 3 && is_of_state(of, hr_check_snapshot(L, 3));
    s[i - 1] = is_middle ? hr_opened(L, of) : hr_analysed(L, of);
  }
  int code = lh_diff_snapshots(s[0], n == 3 ? s[1] : NULL, s[n - 1], d, &error);
  hr_check(L, hr_filled(L, -1, code), &error);
  push_diff(L, n, *d, n == 3);
  set_names(L, n);
  for (int i = 0; i <= n; i++) hr_let_go(L, n + 1 + i);
  return 1;
}

/* strings(other) --> rows: strings of which the younger has more, by content. */
int hr_strings(lua_State *L) {
  lua_settop(L, 2);
  (void)hr_check_snapshot(L, 1);
  (void)hr_check_snapshot(L, 2);
  sort_by_time(L, 2);
  for (int i = 1; i <= 2; i++) (void)hr_hold(L, i, 0, NULL);
  lh_string_change **rows = hr_hold(L, 0, sizeof *rows, hr_free_pointer);
  lh_snapshot *a = hr_analysed(L, hr_check_snapshot(L, 1));
  lh_snapshot *c = hr_analysed(L, hr_check_snapshot(L, 2));
  lh_string_changes changes;
  lh_error error;
  hr_check(L, lh_compare_strings(a, c, &changes, &error), &error);
  *rows = changes.rows;
  hr_push_list(L, "heap.strings", changes.n_rows);
  for (size_t i = 0; i < changes.n_rows; i++) {
    lua_createtable(L, 0, 3);
    hr_set_object(L, "example", 2, changes.rows[i].example);
    hr_set_integers(L, "objects", changes.rows[i].objects, 2);
    hr_set_integers(L, "bytes", changes.rows[i].bytes, 2);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  hr_set_integer(L, "new_strings", changes.new_contents);
  hr_set_integer(L, "more_strings", changes.more_contents);
  hr_set_integer(L, "more_bytes", changes.more_bytes);
  set_names(L, 2);
  for (int i = 3; i <= 5; i++) hr_let_go(L, i);
  return 1;
}

/* }=================================================================================== */

/* {=== Any number of snapshots ======================================================== */

static void free_ladder(void *content) {
  lh_ladder_free(*(lh_ladder **)content);
}

static void free_growth(void *content) {
  lh_growth_free(*(lh_growth **)content);
}

/* The ladder of a call is at index 3, behind its arguments, and `snapshots` at 4. */
enum { LADDER = 3, NAMES = 4 };

static lh_ladder **push_ladder(lua_State *L) {
  lh_error error;
  lua_settop(L, 2);
  lh_ladder **ladder = hr_hold(L, 0, sizeof(lh_ladder *), free_ladder);
  hr_check(L, hr_filled(L, LADDER, lh_ladder_new(ladder, &error)), &error);
  lua_newtable(L);
  return ladder;
}

/* Adds what is on the top, a snapshot or the name of a file, and pops it. What was opened for it
** is closed again. */
static int add_step(lua_State *L, lh_ladder *ladder, lh_error *error) {
  int at = lua_gettop(L), code = LH_OK;
  bool is_file = lua_type(L, at) == LUA_TSTRING;
  if (!is_file && !hr_test(L, at, hr_snapshot_kind))
    luaL_error(L, "a list of snapshots, or of names of files, is needed");
  if (is_file) code = hr_open_file(L, at, error);
  if (code == LH_OK) {
    (void)hr_hold(L, lua_gettop(L), 0, NULL);
    code = lh_ladder_add(ladder, hr_analysed(L, hr_check_snapshot(L, -2)), error);
    hr_let_go(L, -1);
    lua_pop(L, 1);
  }
  (void)lua_getiuservalue(L, -1, 1);
  lua_rawseti(L, NAMES, (lua_Integer)lua_rawlen(L, NAMES) + 1);
  if (is_file) {
    (void)lua_getfield(L, -1, "close");
    lua_pushvalue(L, -2);
    lua_call(L, 1, 0);
  }
  lua_settop(L, at - 1);
  return code;
}

/* Adds all of the list at `index`. */
static int add_steps(lua_State *L, int index, lh_ladder *ladder, lh_error *error) {
  int code = LH_OK;
  luaL_checktype(L, index, LUA_TTABLE);
  for (lua_Integer i = 1; code == LH_OK; i++) {
    if (lua_geti(L, index, i) == LUA_TNIL) break;
    code = add_step(L, ladder, error);
  }
  return code;
}

static void set_series(lua_State *L, const lh_figures *at, size_t n) {
  static const char *const keys[] = {"objects", "entries", "bytes", "all_objects"};
  for (size_t k = 0; k < 4; k++) {
    lua_createtable(L, (int)n, 0);
    for (size_t i = 0; i < n; i++) {
      const uint64_t values[] = {at[i].objects, at[i].entries, at[i].bytes, at[i].all_objects};
      lua_pushinteger(L, (lua_Integer)values[k]);
      lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, keys[k]);
  }
}

static void push_growth_row(lua_State *L, const lh_growth *g, const lh_growth_row *row) {
  const uint64_t bytes[] = {(uint64_t)row->grew_bytes[0], (uint64_t)row->grew_bytes[1]};
  const uint64_t objects[] = {(uint64_t)row->grew_objects[0], (uint64_t)row->grew_objects[1]};
  lua_createtable(L, 0, 13);
  set_series(L, row->at, g->n_snapshots);
  hr_set_string(L, "verdict", lh_verdict_name(row->verdict));
  hr_set_string(L, "class", row->class_name);
  hr_set_string(L, "type", lh_type_name(row->type));
  hr_set_integers(L, "grew_bytes", bytes, 2);
  hr_set_integers(L, "grew_objects", objects, 2);
  hr_set_number(L, "bytes_per_step", row->bytes_per_step);
  if (g->seconds > 0) hr_set_number(L, "bytes_per_second", row->bytes_per_second);
  hr_set_string(L, "held_by", row->held_by);
  if (row->held_by) hr_set_string(L, "fingerprint", row->fingerprint);
}

static void push_growth(lua_State *L, const lh_growth *g) {
  const lh_growth_row *const rows[] = {g->paths, g->classes};
  const size_t n[] = {g->n_paths, g->n_classes};
  for (int k = 0; k < 2; k++) {
    hr_push_list(L, k == 0 ? "heap.growth" : "heap.growth_by_class", n[k]);
    for (size_t i = 0; i < n[k]; i++) {
      push_growth_row(L, g, &rows[k][i]);
      lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
  }
  if (g->seconds > 0) hr_set_number(L, "seconds", g->seconds);
  lua_setfield(L, -2, "classes");
  if (g->seconds > 0) hr_set_number(L, "seconds", g->seconds);
  hr_set_boolean(L, "same_state", g->same_state);
  lua_newtable(L);
  set_series(L, g->whole, g->n_snapshots);
  lua_setfield(L, -2, "whole");
  lua_newtable(L);
  set_series(L, g->level, g->n_snapshots);
  lua_setfield(L, -2, "level");
  lua_pushvalue(L, NAMES);
  lua_setfield(L, -2, "snapshots");
}

/* growth(list) --> rows by path; | nil, message, code: one of them cannot be read. */
int hr_growth(lua_State *L) {
  lh_ladder **ladder = push_ladder(L);
  lh_error error;
  if (add_steps(L, 1, *ladder, &error) != LH_OK) return hr_fail(L, &error);
  lh_growth **growth = hr_hold(L, 0, sizeof(lh_growth *), free_growth);
  hr_check(L, hr_filled(L, -1, lh_ladder_growth(*ladder, growth, &error)), &error);
  push_growth(L, *growth);
  hr_let_go(L, -2);
  hr_let_go(L, LADDER);
  return 1;
}

/* compare(before, after): lists of one or two each --> rows by path, and whether it is fixed. */
int hr_compare(lua_State *L) {
  lh_ladder **ladder = push_ladder(L);
  lh_error error;
  lh_answer answer;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_Unsigned n = lua_rawlen(L, 1);
  luaL_argcheck(L, n == lua_rawlen(L, 2) && (n == 1 || n == 2), 2,
                "one snapshot before and one after, or two of each");
  int code = add_steps(L, 1, *ladder, &error);
  if (code == LH_OK) code = add_steps(L, 2, *ladder, &error);
  if (code != LH_OK) return hr_fail(L, &error);
  lh_growth **growth = hr_hold(L, 0, sizeof(lh_growth *), free_growth);
  hr_check(L, hr_filled(L, -1, lh_ladder_halves(*ladder, growth, &error)), &error);
  lh_answer_of(*growth, &answer);
  push_growth(L, *growth);
  hr_set_boolean(L, "fixed", answer.is_fixed);
  if (answer.no_longer) hr_set_string(L, "no_longer_grows", answer.no_longer->held_by);
  if (answer.still) hr_set_string(L, "still_grows", answer.still->held_by);
  if (answer.now) hr_set_string(L, "grows_now", answer.now->held_by);
  hr_let_go(L, -2);
  hr_let_go(L, LADDER);
  return 1;
}

static void push_part(lua_State *L, const lh_part *p, bool is_whole) {
  lua_createtable(L, 0, 10);
  hr_set_string(L, "held_by", p->held_by);
  hr_set_string(L, "class", p->class_name);
  hr_set_boolean(L, "shared", p->shared);
  if (!is_whole) hr_set_integer(L, "above", p->above + 1);
  hr_set_integers(L, "bytes", p->bytes, 2);
  hr_set_integers(L, "objects", p->objects, 2);
  hr_set_integers(L, "own_bytes", p->own_bytes, 2);
  hr_set_integers(L, "own_objects", p->own_objects, 2);
}

typedef struct parts {
  lh_part *list;
  size_t n;
} parts;

/* owners(list) --> the parts of the heap, the whole first: what each had in the first, and what it
** has in the last. */
int hr_owners(lua_State *L) {
  lh_ladder **ladder = push_ladder(L);
  lh_error error;
  if (add_steps(L, 1, *ladder, &error) != LH_OK) return hr_fail(L, &error);
  parts *p = hr_hold(L, 0, sizeof *p, hr_free_pointer);
  hr_check(L, hr_filled(L, -1, lh_ladder_owners(*ladder, &p->list, &p->n, &error)), &error);
  hr_push_list(L, "heap.owners", p->n);
  for (size_t i = 0; i < p->n; i++) {
    push_part(L, &p->list[i], i == 0);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  hr_set_boolean(L, "same_state", lh_ladder_same_state(*ladder));
  lua_pushvalue(L, NAMES);
  lua_setfield(L, -2, "snapshots");
  hr_let_go(L, -2);
  hr_let_go(L, LADDER);
  return 1;
}

/* }=================================================================================== */
