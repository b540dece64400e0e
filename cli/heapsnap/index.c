/*
** index.c - indices in the form of two flat arrays, filled by counting: how many of each key, where
** each key begins, then the items in their places. Objects by class and by dominator take 4 bytes
** an object and are made in some hundredths of a second a million; edges by target take 8 bytes an
** edge and two sweeps over all of them, a second for two million objects.
*/
#include <stdlib.h>
#include <string.h>

#include "heapsnap.h"

static uint32_t *new_array(uint64_t n) {
  uint32_t *array = sqlite3_malloc64((n + 1) * sizeof *array);
  if (array != NULL) memset(array, 0, (n + 1) * sizeof *array);
  return array;
}

/* first[k + 1] holds how many there are of key k: afterwards where its items begin, so that putting
** each in its place makes it where they end, which is where those of k + 1 begin. */
static void counts_to_starts(uint32_t *first, uint32_t n_keys) {
  uint32_t before = 0;
  for (uint32_t k = 0; k < n_keys; k++) {
    uint32_t count = first[k + 1];
    first[k + 1] = before;
    before += count;
  }
}

/* {=== Objects ======================================================================== */

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

/* The first class in the order of names that does not come before `name`; `after`: that comes
** behind it. */
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

/* }=================================================================================== */

/* {=== Edges ========================================================================== */

/* From so many edges on an object has checkpoints, one behind every so many edges: an edge of an
** array of a million is found in as many steps, not in half a million. */
enum { CHECKPOINT_EDGES = 64 };

static int add_checkpoint(hs_targets *made, size_t *capacity, lh_id source, uint32_t position,
                          const lh_edges *iterator) {
  if (made->n_checkpoints == *capacity) {
    size_t more = *capacity + *capacity / 2 + 64;
    hs_checkpoint *grown = sqlite3_realloc64(made->checkpoints, more * sizeof *grown);
    if (grown == NULL) return LH_EMEMORY;
    made->checkpoints = grown;
    *capacity = more;
  }
  made->checkpoints[made->n_checkpoints++] = (hs_checkpoint){source, position, *iterator};
  return LH_OK;
}

/* One sweep over all edges counts those of each target and leaves the checkpoints. */
static int count_targets(const lh_snapshot *snapshot, hs_targets *made) {
  size_t capacity = 0;
  for (lh_id source = 0; source <= lh_object_count(snapshot); source++) {
    lh_edges iterator;
    lh_edge edge;
    if (lh_is_own(snapshot, source)) continue;
    lh_edges_begin(snapshot, source, &iterator);
    for (uint32_t position = 1; lh_edges_next(&iterator, &edge); position++) {
      made->first[edge.target + 1]++;
      if (position % CHECKPOINT_EDGES == 0 &&
          add_checkpoint(made, &capacity, source, position, &iterator) != LH_OK)
        return LH_EMEMORY;
    }
  }
  return LH_OK;
}

/* The other puts each edge in its place. */
static void put_edges(const lh_snapshot *snapshot, hs_targets *made) {
  for (lh_id source = 0; source <= lh_object_count(snapshot); source++) {
    lh_edges iterator;
    lh_edge edge;
    if (lh_is_own(snapshot, source)) continue;
    lh_edges_begin(snapshot, source, &iterator);
    for (uint32_t position = 1; lh_edges_next(&iterator, &edge); position++)
      made->item[made->first[edge.target + 1]++] = (hs_edge_id){source, position};
  }
}

void hs_targets_free(hs_targets *targets) {
  sqlite3_free(targets->first);
  sqlite3_free(targets->item);
  sqlite3_free(targets->checkpoints);
  *targets = (hs_targets){0};
}

int hs_index_targets(hs_file *file, lh_error *error) {
  lh_snapshot *snapshot = file->snapshot;
  uint32_t n = lh_object_count(snapshot);
  hs_targets made = {0};
  uint64_t n_edges = 0;
  int code = hs_need(file, LH_NEEDS_ANALYSIS, error);
  if (code != LH_OK || file->by_target.first != NULL) return code;
  made.first = new_array((uint64_t)n + 2);
  if (made.first == NULL || count_targets(snapshot, &made) != LH_OK) goto out;
  for (lh_id id = 0; id <= n; id++) n_edges += made.first[id + 1];
  made.item = sqlite3_malloc64((n_edges + 1) * sizeof *made.item);
  if (made.item == NULL) goto out;
  counts_to_starts(made.first, n + 1);
  put_edges(snapshot, &made);
  file->by_target = made;
  return LH_OK;
out:
  hs_targets_free(&made);
  return hs_no_memory(error, "indexing references");
}

/* The last checkpoint of the source before the edge at `position`, or NULL. */
static const hs_checkpoint *checkpoint_before(const hs_targets *targets, hs_edge_id id) {
  size_t low = 0, high = targets->n_checkpoints;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const hs_checkpoint *at = &targets->checkpoints[middle];
    if (at->source < id.source || (at->source == id.source && at->position < id.position))
      low = middle + 1;
    else
      high = middle;
  }
  bool found = low > 0 && targets->checkpoints[low - 1].source == id.source;
  return found ? &targets->checkpoints[low - 1] : NULL;
}

void hs_edge_at(const hs_file *file, hs_edge_id id, lh_edge *edge) {
  const hs_checkpoint *checkpoint = checkpoint_before(&file->by_target, id);
  uint32_t position = checkpoint != NULL ? checkpoint->position : 0;
  lh_edges iterator;
  if (checkpoint != NULL)
    iterator = checkpoint->iterator;
  else
    lh_edges_begin(file->snapshot, id.source, &iterator);
  while (position < id.position && lh_edges_next(&iterator, edge)) position++;
}

/* }=================================================================================== */
