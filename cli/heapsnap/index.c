/*
** index.c - indexes objects by class and by dominator with a counting sort: 4 bytes an object, some
** hundredths of a second for a million.
*/
#include <stdlib.h>
#include <string.h>

#include "heapsnap.h"

static uint32_t *new_array(uint64_t n) {
  uint32_t *array = sqlite3_malloc64((n + 1) * sizeof *array);
  if (array != NULL) memset(array, 0, (n + 1) * sizeof *array);
  return array;
}

/* Before: first[k + 1] is the number of items of key k. After: the start of key k. Placing the
** items advances it to their end, which is the start of key k + 1. */
static void counts_to_starts(uint32_t *first, uint32_t n_keys) {
  uint32_t before = 0;
  for (uint32_t k = 0; k < n_keys; k++) {
    uint32_t count = first[k + 1];
    first[k + 1] = before;
    before += count;
  }
}

static int index_objects(hs_file *file, hs_index *index, uint32_t n_keys, const uint32_t *key_of,
                         lh_error *error) {
  uint32_t n = lh_object_count(file->snapshot);
  hs_index made = {new_array((uint64_t)n_keys + 1), new_array(n)};
  if (made.first == NULL || made.item == NULL) {
    sqlite3_free(made.first);
    sqlite3_free(made.item);
    return hs_no_memory(error, "indexing objects");
  }
  for (lh_id id = 1; id <= n; id++)
    if (key_of[id] != UINT32_MAX) made.first[key_of[id] + 1]++;
  counts_to_starts(made.first, n_keys);
  for (lh_id id = 1; id <= n; id++)
    if (key_of[id] != UINT32_MAX) made.item[made.first[key_of[id] + 1]++] = id;
  *index = made;
  return LH_OK;
}

static int compare_names(const void *a, const void *b, void *snapshot) {
  uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
  int order = strcmp(lh_class_at(snapshot, left)->name, lh_class_at(snapshot, right)->name);
  return order != 0 ? order : left < right ? -1 : 1;
}

int hs_index_classes(hs_file *file, lh_error *error) {
  lh_snapshot *snapshot = file->snapshot;
  int code = hs_need(file, LH_NEEDS_CLASSES, error);
  if (code != LH_OK || file->by_class.first != NULL) return code;
  uint32_t n = lh_object_count(snapshot), n_classes = lh_class_count(snapshot);
  uint32_t *class_at = new_array(n_classes), *rank = new_array(n_classes), *key = new_array(n);
  if (class_at == NULL || rank == NULL || key == NULL) {
    code = hs_no_memory(error, "indexing classes");
    goto out;
  }
  for (uint32_t i = 0; i < n_classes; i++) class_at[i] = i;
  qsort_r(class_at, n_classes, sizeof *class_at, compare_names, snapshot);
  for (uint32_t i = 0; i < n_classes; i++) rank[class_at[i]] = i;
  for (lh_id id = 1; id <= n; id++) {
    uint32_t class_index = lh_class_of(snapshot, id);
    key[id] = class_index == UINT32_MAX ? UINT32_MAX : rank[class_index];
  }
  code = index_objects(file, &file->by_class, n_classes, key, error);
  if (code == LH_OK) {
    file->class_at = class_at;
    class_at = NULL;
  }
out:
  sqlite3_free(class_at);
  sqlite3_free(rank);
  sqlite3_free(key);
  return code;
}

/* The first class, by name, not before `name`; with `after`, the first behind `name`. */
static uint32_t first_class(const hs_file *file, const char *name, bool after) {
  uint32_t low = 0, high = lh_class_count(file->snapshot);
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    int order = strcmp(lh_class_at(file->snapshot, file->class_at[middle])->name, name);
    if (order < 0 || (after && order == 0))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void hs_find_class(const hs_file *file, const char *name, uint32_t *first, uint32_t *end) {
  *first = file->by_class.first[first_class(file, name, false)];
  *end = file->by_class.first[first_class(file, name, true)];
}

int hs_index_dominators(hs_file *file, lh_error *error) {
  lh_snapshot *snapshot = file->snapshot;
  int code = hs_need(file, LH_NEEDS_ANALYSIS, error);
  if (code != LH_OK || file->by_dominator.first != NULL) return code;
  uint32_t n = lh_object_count(snapshot), *key = new_array(n);
  if (key == NULL) return hs_no_memory(error, "indexing dominators");
  for (lh_id id = 1; id <= n; id++)
    key[id] = lh_is_own(snapshot, id) ? UINT32_MAX : lh_immediate_dominator(snapshot, id);
  code = index_objects(file, &file->by_dominator, n + 1, key, error);
  sqlite3_free(key);
  return code;
}
