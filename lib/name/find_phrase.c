/*
** find_phrase.c - finds objects by the phrases that paths use.
**
** "metatable of ...", "upvalue bus of function f @app.lua:1", "local x in function f @app.lua:1 of
** main thread" (without the thread: in any), "value of ... in weak table ...". The first part is
** compared with the text printed for an edge, so the two cannot disagree.
*/
#include "find.h"

typedef bool (*describe)(lh_text *text, const lh_snapshot *snapshot, const lh_edge *edge);

/* An upvalue stands for its content. */
static lh_id content(const lh_snapshot *snapshot, lh_id id) {
  lh_id content = lh_content_of_upvalue(snapshot, id);
  return content != LH_NO_OBJECT ? content : id;
}

static bool describe_slot(lh_text *text, const lh_snapshot *snapshot, const lh_edge *edge) {
  switch (edge->kind) {
    case LH_EDGE_OPEN_UPVALUE:
      lh_text_string(text, "open ");
      lh_add_class(text, snapshot, edge->target);
      return true;
    case LH_EDGE_FUNCTION:
      lh_add_slot(text, snapshot, edge);
      lh_text_string(text, " on the stack");
      return true;
    case LH_EDGE_LOCAL:
    case LH_EDGE_TEMPORARY:
    case LH_EDGE_VARARG:
    case LH_EDGE_ARGUMENT: lh_add_slot(text, snapshot, edge); return true;
    default: return false;
  }
}

static bool describe_part(lh_text *text, const lh_snapshot *snapshot, const lh_edge *edge) {
  switch (edge->kind) {
    case LH_EDGE_UPVALUE:
    case LH_EDGE_C_UPVALUE:
    case LH_EDGE_USER_VALUE:
    case LH_EDGE_METATABLE:
    case LH_EDGE_PROTO: lh_add_edge(text, snapshot, edge); return true;
    default: return false;
  }
}

static bool describe_key(lh_text *text, const lh_snapshot *snapshot, const lh_edge *edge) {
  if (edge->kind != LH_EDGE_KEY) return false;
  lh_text_string(text, "key ");
  lh_add_key(text, snapshot, edge->key, true);
  return true;
}

/* The value under the key has the same text, so that it is cut with the key. */
static bool describe_entry(lh_text *text, const lh_snapshot *snapshot, const lh_edge *edge) {
  lh_edge key = *edge;
  if (edge->kind == LH_EDGE_VALUE && edge->key.kind == LH_VALUE_OBJECT) key.kind = LH_EDGE_KEY;
  return describe_key(text, snapshot, &key);
}

static bool is_described(const lh_text *text, lh_range like) {
  if (text->n == lh_range_length(like) && memcmp(text->bytes, like.at, text->n) == 0) return true;
  return lh_range_has_star(like) && lh_range_fits(like, text->bytes, text->n);
}

static int add_described(lh_finder *finder, const lh_set *sources, lh_range like, describe how,
                         lh_set *out) {
  lh_text text = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < sources->n; i++) {
    lh_edges it;
    lh_edge edge;
    lh_edges_begin(finder->snapshot, sources->ids[i], &it);
    while (ok && lh_edges_next(&it, &edge)) {
      lh_text_clear(&text);
      if (!how(&text, finder->snapshot, &edge)) continue;
      ok = !text.failed;
      if (ok && is_described(&text, like))
        ok = lh_follow_edge(finder, &edge) &&
             lh_set_add(finder, out, content(finder->snapshot, edge.target));
    }
  }
  lh_text_free(&text);
  return lh_set_end(finder, out, ok);
}

static int add_all_keys(lh_finder *finder, const lh_set *sources, lh_set *out) {
  bool ok = true;
  for (size_t i = 0; ok && i < sources->n; i++) {
    lh_edges it;
    lh_edge edge;
    lh_edges_begin(finder->snapshot, sources->ids[i], &it);
    while (ok && lh_edges_next(&it, &edge))
      if (edge.kind == LH_EDGE_KEY)
        ok = lh_follow_edge(finder, &edge) && lh_set_add(finder, out, edge.target);
      else if (edge.kind == LH_EDGE_VALUE && edge.key.kind == LH_VALUE_OBJECT)
        ok = lh_follow_edge(finder, &edge);
  }
  return lh_set_end(finder, out, ok);
}

/* An exact path has: key "x" of ...; a folded path: key of ... */
static int add_keys(lh_finder *finder, const lh_set *sources, lh_range which, lh_set *out) {
  lh_text like = {0};
  if (lh_range_length(which) == 0) return add_all_keys(finder, sources, out);
  lh_text_format(&like, "key [%.*s]", (int)lh_range_length(which), which.at);
  describe how = finder->is_last ? describe_entry : describe_key;
  int code = like.failed ? lh_find_fail_memory(finder)
                         : add_described(finder, sources,
                                         (lh_range){like.bytes, like.bytes + like.n}, how, out);
  lh_text_free(&like);
  return code;
}

int lh_find_in_front(lh_finder *finder, const lh_set *sources, lh_range what, lh_set *out) {
  lh_range any = {what.at, what.at};
  if (lh_range_is(what, "key")) return add_keys(finder, sources, any, out);
  return add_described(finder, sources, what, describe_part, out);
}

static int add_ephemerons(lh_finder *finder, lh_range left, lh_range right, lh_set *out) {
  lh_set keys = {0}, tables = {0};
  int code = lh_find_set(finder, left, &keys);
  if (!code) code = lh_find_set(finder, right, &tables);
  bool ok = true;
  finder->is_last = lh_find_is_outermost(finder);
  lh_set_mark(finder, &tables, true);
  for (size_t i = 0; ok && !code && i < keys.n; i++) {
    lh_edges it;
    lh_edge edge;
    lh_edges_begin(finder->snapshot, keys.ids[i], &it);
    while (ok && lh_edges_next(&it, &edge))
      if (edge.kind == LH_EDGE_EPHEMERON && lh_is_marked(finder, edge.holder))
        ok = lh_follow_edge(finder, &edge) && lh_set_add(finder, out, edge.target);
  }
  lh_set_mark(finder, &tables, false);
  LH_FREE_ALL(keys.ids, tables.ids);
  int end = lh_set_end(finder, out, ok);
  return ok ? code : end;
}

static int add_roots(lh_finder *finder, lh_range range, lh_set *out) {
  lh_text text = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < finder->snapshot->n_roots; i++) {
    lh_edge edge = lh_edge_of_root(&finder->snapshot->roots[i]);
    lh_text_clear(&text);
    lh_add_root(&text, finder->snapshot, &edge);
    ok = !text.failed;
    if (ok && text.n == lh_range_length(range) && memcmp(text.bytes, range.at, text.n) == 0)
      ok = lh_set_add(finder, out, edge.target);
  }
  lh_text_free(&text);
  return lh_set_end(finder, out, ok);
}

static bool starts_with(lh_range range, const char *prefix) {
  return lh_range_skip(&range, prefix);
}

static bool is_slot(lh_range left) {
  lh_range before, after;
  return starts_with(left, "local ") || starts_with(left, "temporary in ") ||
         starts_with(left, "vararg ") || starts_with(left, "argument ") ||
         starts_with(left, "open upvalue") ||
         (lh_range_split(left, " on the stack", true, &before, &after) &&
          lh_range_length(after) == 0);
}

static int add_slots_of_all(lh_finder *finder, lh_range range, lh_set *out) {
  const lh_snapshot *snapshot = finder->snapshot;
  lh_set threads = {0};
  bool ok = true;
  for (lh_id id = 1; ok && id <= snapshot->n; id++)
    if (lh_type_of(snapshot, id) == LH_TYPE_THREAD && lh_is_reachable(snapshot, id))
      ok = lh_set_add(finder, &threads, id);
  int code = lh_set_end(finder, &threads, ok);
  if (!code) code = add_described(finder, &threads, range, describe_slot, out);
  lh_free(threads.ids);
  return code;
}

/* Splits at the " of " before an owner, else at the last or first: names may have " of ", too. */
static bool split_of(lh_range range, const char *const owners[2], bool last, lh_range *left,
                     lh_range *right) {
  for (int i = 0; i < 2; i++) {
    if (!lh_range_split(range, owners[i], false, left, right)) continue;
    right->at = left->end + strlen(" of ");
    return true;
  }
  return lh_range_split(range, " of ", last, left, right);
}

static bool split_slot(lh_range range, lh_range *left, lh_range *right) {
  static const char *const threads[2] = {" of thread ", " of main thread"};
  return split_of(range, threads, true, left, right) && is_slot(*left);
}

static bool split_part(lh_range range, lh_range *left, lh_range *right) {
  static const char *const functions[2] = {" of function ", " of main chunk "};
  if (starts_with(range, "upvalue ")) return split_of(range, functions, false, left, right);
  return (starts_with(range, "metatable of ") || starts_with(range, "proto of ") ||
          starts_with(range, "user value ")) &&
         lh_range_split(range, " of ", false, left, right);
}

/* *left: the key in quotes, which may have " of " inside, or nothing. */
static bool split_key(lh_range range, lh_range *left, lh_range *right) {
  lh_range rest = range;
  if (!lh_range_skip(&rest, "key ")) return false;
  *left = rest;
  if (lh_range_skip(&rest, "\"")) {
    while (rest.at < rest.end && *rest.at != '"') rest.at += *rest.at == '\\' ? 2 : 1;
    if (rest.at >= rest.end) return false;
    rest.at++;
    left->end = rest.at;
    *right = rest;
    return lh_range_skip(right, " of ");
  }
  if (lh_range_skip(&rest, "of ")) {
    left->end = left->at;
    *right = rest;
    return true;
  }
  return lh_range_split(*left, " of ", false, left, right);
}

/* "function on_tick @app.lua:31 in _G.bus[*]". Names may have " in " inside, so the split must
** follow the name of a class. */
static bool split_in(const lh_finder *finder, lh_range range, lh_range *left, lh_range *right) {
  static const char word[] = " in ";
  lh_range rest = range, skipped;
  while (lh_range_split(rest, word, false, &skipped, right)) {
    *left = (lh_range){range.at, skipped.end};
    for (uint32_t i = 0; i < lh_class_count(finder->snapshot); i++)
      if (lh_is_class(finder->snapshot, i, *left, false)) return true;
    rest = *right;
  }
  return false;
}

static int add_of_class(lh_finder *finder, const lh_set *objects, lh_range class, lh_set *out) {
  bool ok = true;
  for (size_t i = 0; ok && i < objects->n; i++) {
    uint32_t class_index = lh_class_of(finder->snapshot, objects->ids[i]);
    if (class_index != UINT32_MAX && lh_is_class(finder->snapshot, class_index, class, false))
      ok = lh_set_add(finder, out, objects->ids[i]);
  }
  return lh_set_end(finder, out, ok);
}

int lh_find_phrase(lh_finder *finder, lh_range range, lh_set *out, bool *found) {
  lh_range left, right;
  lh_set sources = {0};
  int code;
  *found = true;
  code = add_roots(finder, range, out);
  finder->is_last = lh_find_is_outermost(finder);
  if (!code && out->n == 0 && is_slot(range)) code = add_slots_of_all(finder, range, out);
  finder->is_last = false;
  if (code || out->n) return code;
  lh_range rest = range;
  describe how = NULL;
  bool keys = false, of_class = false;
  if (lh_range_skip(&rest, "value of ") &&
      lh_range_split(rest, " in weak table ", true, &left, &right))
    code = add_ephemerons(finder, left, right, out);
  else if (split_slot(range, &left, &right))
    how = describe_slot;
  else if (split_part(range, &left, &right))
    how = describe_part;
  else if (split_key(range, &left, &right))
    keys = true;
  else if (split_in(finder, range, &left, &right))
    of_class = true;
  else
    *found = is_slot(range);
  if (how || keys || of_class) code = lh_find_set(finder, right, &sources);
  finder->is_last = lh_find_is_outermost(finder);
  if (how && !code) code = add_described(finder, &sources, left, how, out);
  if (keys && !code) code = add_keys(finder, &sources, left, out);
  if (of_class && !code) code = add_of_class(finder, &sources, left, out);
  finder->is_last = false;
  lh_free(sources.ids);
  if (!code && *found && out->n == 0)
    code = lh_find_fail(finder, LH_ENOTFOUND, "the snapshot has no '%s'", range);
  return code;
}
