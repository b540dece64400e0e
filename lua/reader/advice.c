/*
** advice.c - what leaks, and who owns what, from one snapshot: the reports of heaptop as rows.
*/
#include "handles.h"

/* A list has what its rows are measured by. */
void hr_set_reachable(lua_State *L, const lh_snapshot *snapshot) {
  lh_reach reach;
  lh_reach_totals(snapshot, &reach);
  hr_set_integer(L, "reachable_bytes", reach.reachable_bytes);
}

void hr_set_class(lua_State *L, const lh_snapshot *snapshot, uint32_t class_index) {
  const lh_class *class = lh_class_at(snapshot, class_index);
  hr_set_string(L, "class", class->name);
  hr_set_string(L, "type", lh_type_name(class->type));
}

void hr_set_what(lua_State *L, const lh_snapshot *snapshot, const char *key, lh_id id) {
  if (id == LH_NO_OBJECT || id == LH_ROOT) return;
  hr_set_object(L, key, 1, id);
  hr_set_string(L, "class", lh_class_name_of(snapshot, id));
  hr_set_string(L, "type", lh_type_name(lh_type_of(snapshot, id)));
}

/* {=== Trees of dominators ============================================================ */

typedef struct branches {
  lh_branch *rows;
  size_t n;
} branches;

static void push_branch(lua_State *L, const lh_snapshot *snapshot, const lh_branch *b) {
  lua_createtable(L, 0, 9);
  hr_set_string(L, "kind", lh_branch_kind_name(b->kind));
  hr_set_integer(L, "depth", b->depth);
  if (b->kind != LH_BRANCH_REST) hr_set_what(L, snapshot, "object", b->id);
  if (b->class_index != UINT32_MAX) hr_set_class(L, snapshot, b->class_index);
  hr_set_integer(L, "objects", b->objects);
  hr_set_integer(L, "shallow_bytes", b->shallow_bytes);
  hr_set_integer(L, "retained_bytes", b->retained_bytes);
  if (!b->has_edge) return;
  hr_push_edge(L, 1, &b->edge);
  lua_setfield(L, -2, "edge");
}

/* Four levels of ten rows, each of them a hundredth of all at least, unless more is asked for. */
enum { USUAL_DEPTH = 4, USUAL_ROWS = 10, USUAL_PART = 100 };

static lh_under_query check_under(lua_State *L, const lh_snapshot *snapshot, lh_id id) {
  static const char *const names[] = {"depth", "n", "least_bytes", NULL};
  lh_under_query query = {0};
  lua_Integer part = (lua_Integer)(lh_retained_bytes(snapshot, id) / USUAL_PART), depth;
  lua_settop(L, 3);
  hr_check_options(L, 3, names);
  if (hr_option(L, 3, "n")) part = 0;
  lua_pop(L, 1);
  depth = hr_integer_option(L, 3, "depth", USUAL_DEPTH);
  query.depth = depth < UINT32_MAX ? (uint32_t)depth : UINT32_MAX;
  query.limit = (size_t)hr_integer_option(L, 3, "n", USUAL_ROWS);
  query.least_bytes = (uint64_t)hr_integer_option(L, 3, "least_bytes", part);
  return query;
}

/* object:under([options]) --> rows, the object itself first | nil, message, code: it is garbage. */
int hr_under(lua_State *L) {
  hr_snapshot *of;
  lh_id id = hr_subject(L, &of);
  lh_snapshot *snapshot = hr_analysed(L, of);
  lh_under_query query = check_under(L, snapshot, id);
  branches *b = hr_hold(L, 1, sizeof *b, hr_free_pointer);
  int hold = lua_gettop(L), code;
  lh_error error;
  code = lh_under(snapshot, id, &query, &b->rows, &b->n, &error);
  if (hr_filled(L, hold, code) == LH_ENOTFOUND) return hr_fail(L, &error);
  hr_check(L, code, &error);
  hr_push_list(L, "heap.tree", b->n);
  for (size_t i = 0; i < b->n; i++) {
    push_branch(L, snapshot, &b->rows[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  hr_set_reachable(L, snapshot);
  hr_let_go(L, hold);
  return 1;
}

/* }=================================================================================== */

/* {=== Threads ======================================================================== */

/* The frames of a thread, innermost first, without the host's own, which calls no function. */
static void push_frames(lua_State *L, hr_snapshot *of, lh_id thread) {
  const lh_snapshot *snapshot = of->snapshot;
  lh_edges it;
  lh_frame frame;
  lua_Integer n = 0;
  for (lh_frames_begin(snapshot, thread, &it); lh_frames_next(&it, &frame);)
    n += frame.function.kind != LH_VALUE_NIL;
  hr_push_list(L, "heap.texts", (size_t)n);
  for (lh_frames_begin(snapshot, thread, &it); lh_frames_next(&it, &frame);) {
    if (frame.function.kind == LH_VALUE_NIL) continue;
    hr_push_text(L, of, lh_frame_text(snapshot, &frame));
    lua_rawseti(L, -2, n--);
  }
}

/* object:frames(): of a thread, a line of text for each. */
int hr_frames(lua_State *L) {
  hr_snapshot *of;
  lh_id id = hr_subject(L, &of);
  lh_snapshot *snapshot = hr_analysed(L, of);
  if (lh_type_of(snapshot, id) != LH_TYPE_THREAD)
    return luaL_error(L, "only threads have frames, and this is a %s",
                      lh_type_name(lh_type_of(snapshot, id)));
  (void)hr_hold(L, 1, 0, NULL);
  push_frames(L, of, id);
  hr_let_go(L, -2);
  return 1;
}

/* }=================================================================================== */
