/*
** shelf.c - holds the snapshots of a connection, open until it closes, since tables and queries
** point to them. The first query that needs an analysis runs it (two million objects: a second).
*/
#include <stdlib.h>
#include <string.h>

#include "heapsnap.h"

int hs_no_memory(lh_error *error, const char *doing) {
  *error = (lh_error){.code = LH_EMEMORY};
  sqlite3_snprintf((int)sizeof error->message, error->message, "out of memory while %s", doing);
  return LH_EMEMORY;
}

static void free_index(hs_index *index) {
  sqlite3_free(index->first);
  sqlite3_free(index->item);
}

static void free_file(hs_file *file) {
  if (file == NULL) return;
  free_index(&file->by_class);
  free_index(&file->by_dominator);
  sqlite3_free(file->class_at);
  sqlite3_free(file->class_retained);
  lh_modules_free(&file->modules);
  lh_report_free(&file->report);
  sqlite3_free(file->site_counts);
  sqlite3_free(file->schema);
  if (!file->borrowed) lh_close(file->snapshot);
  sqlite3_free(file);
}

int hs_shelf_add(hs_shelf *shelf, const char *path, lh_snapshot *open, const char *schema,
                 lh_error *error) {
  hs_file **files = sqlite3_realloc64(shelf->files, (shelf->n_files + 1) * sizeof *files);
  hs_file *file = NULL;
  int code = LH_OK;
  if (files == NULL) return hs_no_memory(error, "opening a snapshot");
  shelf->files = files;
  file = sqlite3_malloc64(sizeof *file);
  if (file == NULL) return hs_no_memory(error, "opening a snapshot");
  *file = (hs_file){.schema = sqlite3_mprintf("%s", schema),
                    .base = shelf->n_files * HS_ID_STEP,
                    .for_terminal = shelf->for_terminal,
                    .snapshot = open,
                    .borrowed = open != NULL};
  if (file->schema == NULL)
    code = hs_no_memory(error, "opening a snapshot");
  else if (open == NULL)
    code = lh_open(&file->snapshot, path, error);
  if (code != LH_OK) {
    free_file(file);
    return code;
  }
  const lh_tracking *tracking = lh_snapshot_tracking(file->snapshot);
  file->report.snapshot = file->snapshot;
  file->fact.info = *lh_snapshot_info(file->snapshot);
  file->fact.is_tracked = tracking != NULL;
  if (tracking != NULL) file->fact.tracking = *tracking;
  files[shelf->n_files++] = file;
  return LH_OK;
}

void hs_shelf_remove_last(hs_shelf *shelf) {
  free_file(shelf->files[--shelf->n_files]);
}

void hs_shelf_free(void *pointer) {
  hs_shelf *shelf = pointer;
  while (shelf->n_files > 0) hs_shelf_remove_last(shelf);
  sqlite3_free(shelf->files);
  sqlite3_free(shelf);
}

void hs_shelf_for_terminal(hs_shelf *shelf) {
  shelf->for_terminal = true;
  for (unsigned i = 0; i < shelf->n_files; i++) shelf->files[i]->for_terminal = true;
}

hs_file *hs_shelf_find(const hs_shelf *shelf, const char *schema) {
  for (unsigned i = 0; i < shelf->n_files; i++)
    if (sqlite3_stricmp(shelf->files[i]->schema, schema) == 0) return shelf->files[i];
  return NULL;
}

hs_file *hs_shelf_resolve(const hs_shelf *shelf, int64_t id,
                          uint32_t (*last)(const lh_snapshot *snapshot), uint32_t *number) {
  int64_t of_file = id / HS_ID_STEP;
  if (id < 0 || of_file >= shelf->n_files) return NULL;
  hs_file *file = shelf->files[of_file];
  if (id % HS_ID_STEP > last(file->snapshot)) return NULL;
  *number = (uint32_t)(id % HS_ID_STEP);
  return file;
}

static int find_class_sizes(hs_file *file, lh_error *error) {
  lh_top_query query = {.sort = LH_SORT_SHALLOW};
  lh_class_row *rows;
  size_t n_rows, size = (lh_class_count(file->snapshot) + (size_t)1) * sizeof(uint64_t);
  int code = lh_top_classes(file->snapshot, &query, &rows, &n_rows, error);
  if (code != LH_OK) return code;
  file->class_retained = sqlite3_malloc64(size);
  if (file->class_retained != NULL) {
    memset(file->class_retained, 0, size);
    for (size_t i = 0; i < n_rows; i++)
      file->class_retained[rows[i].class_index] = rows[i].retained_bytes;
  } else {
    code = hs_no_memory(error, "ranking classes");
  }
  lh_free(rows);
  return code;
}

static int find_next(hs_file *file, lh_error *error) {
  int code;
  switch (file->has) {
    case LH_NEEDS_NOTHING:
      code = lh_analyse(file->snapshot, error);
      if (code == LH_OK) lh_reach_totals(file->snapshot, &file->fact.reach);
      return code;
    case LH_NEEDS_ANALYSIS: return lh_classify(file->snapshot, error);
    default: return find_class_sizes(file, error);
  }
}

int hs_need(hs_file *file, lh_needs needs, lh_error *error) {
  int code = LH_OK;
  while (file->has < needs && code == LH_OK) {
    code = find_next(file, error);
    if (code == LH_OK) file->has++;
  }
  return code;
}

/* Objects by class and by dominator, with a counting sort: 4 bytes an object, some hundredths of a
** second for a million. */

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
