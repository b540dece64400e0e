/*
** shelf.c - holds the snapshots of a connection, open until it closes, since tables and queries
** point to them. The first query that needs an analysis runs it (two million objects: a second).
*/
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

hs_file *hs_shelf_resolve_to(const hs_shelf *shelf, int64_t id,
                             uint32_t (*last)(const lh_snapshot *snapshot), uint32_t *number) {
  int64_t of_file = id / HS_ID_STEP;
  if (id < 0 || of_file >= shelf->n_files) return NULL;
  hs_file *file = shelf->files[of_file];
  if (id % HS_ID_STEP > last(file->snapshot)) return NULL;
  *number = (uint32_t)(id % HS_ID_STEP);
  return file;
}

hs_file *hs_shelf_resolve(const hs_shelf *shelf, int64_t id, lh_id *object) {
  return hs_shelf_resolve_to(shelf, id, lh_object_count, object);
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
