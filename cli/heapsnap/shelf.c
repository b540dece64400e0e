/*
** shelf.c - the snapshots that one connection has open. They stay until it closes: tables,
** functions and queries that run all point to them. What lh_analyse and lh_classify find is asked
** for here, by the first query that needs it (two million objects: a second), and never again.
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
  hs_targets_free(&file->by_target);
  sqlite3_free(file->class_at);
  sqlite3_free(file->class_retained);
  lh_modules_free(&file->modules);
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
  file->info = *lh_snapshot_info(file->snapshot);
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

int hs_need_analysis(hs_file *file, lh_error *error) {
  if (file->analysed) return LH_OK;
  int code = lh_analyse(file->snapshot, error);
  file->analysed = code == LH_OK;
  if (file->analysed) lh_reach_totals(file->snapshot, &file->reach);
  return code;
}

int hs_need_classes(hs_file *file, lh_error *error) {
  int code = LH_OK;
  if (file->named) return LH_OK;
  code = hs_need_analysis(file, error);
  if (code == LH_OK) code = lh_classify(file->snapshot, error);
  if (code == LH_OK) file->named = true;
  return code;
}
