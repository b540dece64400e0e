/*
** code_references.c - finds the functions that have a string as a constant or a variable, and those
** that use one local variable.
**
** Variables count because modules often begin with `local sessions = server.sessions`. The answer
** helps to find the line that stores or removes an object. Made on first use, as sorted pairs of
** string and prototype: 8 bytes each, 20,000 for a server of 1,600 functions.
*/
#include "names.h"
#include "read/decode.h"

static int compare_pairs(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

static void sort(lh_code_references *references) {
  size_t n = 0;
  if (references->n > 1)
    qsort(references->pairs, references->n, sizeof *references->pairs, compare_pairs);
  for (size_t i = 0; i < references->n; i++)
    if (n == 0 || references->pairs[i] != references->pairs[n - 1])
      references->pairs[n++] = references->pairs[i];
  references->n = n;
}

static bool is_living_code(const lh_snapshot *snapshot, lh_id id) {
  return lh_type_of(snapshot, id) == LH_TYPE_PROTO && lh_is_reachable(snapshot, id) &&
         !lh_is_own(snapshot, id);
}

static bool collect(const lh_snapshot *snapshot, lh_code_references *references) {
  size_t capacity = 0;
  for (lh_id id = 1; id <= snapshot->n; id++) {
    lh_edges it;
    lh_edge edge;
    if (!is_living_code(snapshot, id)) continue;
    for (lh_edges_begin(snapshot, id, &it); lh_edges_next(&it, &edge);) {
      if (edge.kind != LH_EDGE_CONSTANT && edge.kind != LH_EDGE_DEBUG_NAME) continue;
      if (!lh_grow(&references->pairs, references->n, &capacity, sizeof *references->pairs))
        return false;
      references->pairs[references->n++] = (uint64_t)edge.target << 32 | id;
    }
  }
  sort(references);
  return true;
}

static size_t first_at_least(const lh_code_references *references, uint64_t pair) {
  size_t first;
  LH_LOWER_BOUND(first, references->n, references->pairs[first] < pair);
  return first;
}

int lh_find_code_references(lh_snapshot *snapshot, lh_id string, lh_id *protos, size_t most,
                            size_t *n, lh_error *error) {
  if (!snapshot->classes) return lh_fail(error, LH_EARGUMENT, "names need classes (lh_classify)");
  lh_code_references *references = &snapshot->classes->code_references;
  if (!references->is_made && !collect(snapshot, references)) {
    lh_free_code_references(references);
    return lh_fail_memory(error, "looking for code");
  }
  references->is_made = true;
  size_t first = first_at_least(references, (uint64_t)string << 32);
  *n = first_at_least(references, ((uint64_t)string + 1) << 32) - first;
  for (size_t i = 0; i < *n && i < most; i++) protos[i] = (lh_id)references->pairs[first + i];
  return LH_OK;
}

static bool has_both(const lh_snapshot *snapshot, lh_id proto, const char *name,
                     const char *const *words) {
  bool has_name = false, has_word = false;
  lh_edges it;
  lh_edge edge;
  for (lh_edges_begin(snapshot, proto, &it); lh_edges_next(&it, &edge);) {
    if (edge.kind != LH_EDGE_CONSTANT) continue;
    has_name |= lh_string_is(snapshot, edge.target, name);
    for (size_t i = 0; words[i]; i++) has_word |= lh_string_is(snapshot, edge.target, words[i]);
  }
  return has_name && has_word;
}

size_t lh_find_calls_with(const lh_snapshot *snapshot, const char *name, const char *const *words,
                          lh_id *protos, size_t most) {
  size_t n = 0;
  for (lh_id id = snapshot->n; id > 0 && n < most; id--)
    if (is_living_code(snapshot, id) && has_both(snapshot, id, name, words)) protos[n++] = id;
  return n;
}

static bool has_id(const lh_id *ids, size_t n, lh_id id) {
  for (size_t i = 0; i < n; i++)
    if (ids[i] == id) return true;
  return false;
}

/* A function that uses a variable of one around it has an upvalue, and so has each function between
** them. A function that has a variable of its own with that name has none. */
size_t lh_find_local_users(const lh_snapshot *snapshot, const lh_edge *local, lh_id *protos,
                           size_t most) {
  bool is_closure =
      local->holder != LH_NO_OBJECT && lh_type_of(snapshot, local->holder) == LH_TYPE_CLOSURE;
  lh_id own = is_closure ? lh_proto_of(snapshot, local->holder) : LH_NO_OBJECT;
  size_t n = 0;
  if (own == LH_NO_OBJECT || local->name == LH_NO_OBJECT || most == 0) return 0;
  protos[n++] = own;
  for (size_t i = 0; i < n; i++) {
    lh_edges it;
    lh_edge edge;
    lh_edges_begin(snapshot, protos[i], &it);
    while (n < most && lh_edges_next(&it, &edge))
      if (edge.kind == LH_EDGE_NESTED && !has_id(protos, n, edge.target) &&
          lh_has_upvalue_named(snapshot, edge.target, local->name))
        protos[n++] = edge.target;
  }
  return n;
}

void lh_free_code_references(lh_code_references *references) {
  lh_free(references->pairs);
  *references = (lh_code_references){0};
}
