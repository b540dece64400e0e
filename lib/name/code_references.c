/*
** code_references.c - finds the functions that have a string as a constant or a variable.
**
** Variables count because modules often begin with `local sessions = server.sessions`. The answer
** helps to find the line that stores or removes an object. Made on first use, as sorted pairs of
** string and prototype: 8 bytes each, 20,000 for a server of 1,600 functions.
*/
#include "names.h"

static int compare(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

static void sort(lh_naming *naming) {
  size_t n = 0;
  if (naming->n > 1) qsort(naming->pairs, naming->n, sizeof *naming->pairs, compare);
  for (size_t i = 0; i < naming->n; i++)
    if (n == 0 || naming->pairs[i] != naming->pairs[n - 1]) naming->pairs[n++] = naming->pairs[i];
  naming->n = n;
}

static bool collect(const lh_snapshot *snapshot, lh_naming *naming) {
  size_t capacity = 0;
  for (lh_id id = 1; id <= snapshot->n; id++) {
    lh_edges it;
    lh_edge edge;
    if (lh_type_of(snapshot, id) != LH_TYPE_PROTO || !lh_is_reachable(snapshot, id) ||
        lh_is_own(snapshot, id))
      continue;
    for (lh_edges_begin(snapshot, id, &it); lh_edges_next(&it, &edge);) {
      if (edge.kind != LH_EDGE_CONSTANT && edge.kind != LH_EDGE_DEBUG_NAME) continue;
      if (!lh_grow(&naming->pairs, naming->n, &capacity, sizeof *naming->pairs)) return false;
      naming->pairs[naming->n++] = (uint64_t)edge.target << 32 | id;
    }
  }
  sort(naming);
  return true;
}

static size_t find(const lh_naming *naming, uint64_t pair) {
  size_t first;
  LH_LOWER_BOUND(first, naming->n, naming->pairs[first] < pair);
  return first;
}

int lh_find_naming(lh_snapshot *snapshot, lh_id string, lh_id *protos, size_t most, size_t *n,
                   lh_error *error) {
  if (!snapshot->classes) return lh_fail(error, LH_EARGUMENT, "names need classes (lh_classify)");
  lh_naming *naming = &snapshot->classes->naming;
  if (!naming->is_made && !collect(snapshot, naming)) {
    lh_free_naming(naming);
    return lh_fail_memory(error, "looking for code");
  }
  naming->is_made = true;
  size_t first = find(naming, (uint64_t)string << 32);
  *n = find(naming, ((uint64_t)string + 1) << 32) - first;
  for (size_t i = 0; i < *n && i < most; i++) protos[i] = (lh_id)naming->pairs[first + i];
  return LH_OK;
}

void lh_free_naming(lh_naming *naming) {
  lh_free(naming->pairs);
  *naming = (lh_naming){0};
}
