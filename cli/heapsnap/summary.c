/*
** summary.c - the short tables: classes, modules and globals, marks and info, which has one
** row a snapshot.
*/
#include <string.h>

#include "heapsnap.h"

/* {=== classes ======================================================================== */

static int begin_classes(hs_cursor *cursor, lh_error *error) {
  int code = hs_need_classes(cursor->file, error);
  cursor->at = 0;
  cursor->end = lh_class_count(cursor->file->snapshot);
  return code;
}

/* Numbers 0 to end - 1; the row is the number + 1. */
static int next_number(hs_cursor *cursor, lh_error *error) {
  (void)error;
  if (cursor->at == cursor->end) return 0;
  cursor->row = ++cursor->at;
  return 1;
}

/* Classes that were joined into others have no objects. */
static int next_class(hs_cursor *cursor, lh_error *error) {
  while (next_number(cursor, error)) {
    const lh_class *class = lh_class_at(cursor->file->snapshot, cursor->row - 1);
    if (class->objects + class->garbage_objects > 0) return 1;
  }
  return 0;
}

/* Bytes that go with all instances of each class: asked for once. */
static int need_retained(hs_file *file, lh_error *error) {
  lh_top_query query = {.sort = LH_SORT_SHALLOW};
  lh_class_row *rows;
  size_t n_rows, size = (lh_class_count(file->snapshot) + (size_t)1) * sizeof(uint64_t);
  int code;
  if (file->class_retained != NULL) return LH_OK;
  code = lh_top_classes(file->snapshot, &query, &rows, &n_rows, error);
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

static const void *class_row(const hs_cursor *cursor) {
  return lh_class_at(cursor->file->snapshot, cursor->row - 1);
}

static void tell_type(hs_cursor *cursor, sqlite3_context *context) {
  hs_result_static(context, lh_type_name(((const lh_class *)class_row(cursor))->type));
}

static void tell_retained(hs_cursor *cursor, sqlite3_context *context) {
  lh_error error;
  if (need_retained(cursor->file, &error) == LH_OK)
    hs_result_bytes(context, cursor->file->class_retained[cursor->row - 1]);
  else
    hs_result_error(context, &error);
}

#define ROW lh_class
static const hs_column class_columns[] = {HS_SNAPSHOT,
                                          HS_WORD("class", name),
                                          HS_COMPUTED("type", HS_TEXT, tell_type),
                                          HS_COUNT("objects", objects),
                                          HS_COUNT("shallow_bytes", shallow_bytes),
                                          HS_COMPUTED("retained_bytes", HS_INTEGER, tell_retained),
                                          HS_COUNT("garbage_objects", garbage_objects),
                                          HS_COUNT("garbage_bytes", garbage_bytes)};
#undef ROW

const hs_kind hs_classes = {.name = "classes",
                            HS_COLUMNS(class_columns),
                            .row = class_row,
                            .rows_per_object = 0.01,
                            .begin = begin_classes,
                            .next = next_class};

/* }=================================================================================== */

/* {=== modules ======================================================================== */

/* The rows of heaptop --modules. */
static int begin_modules(hs_cursor *cursor, lh_error *error) {
  hs_file *file = cursor->file;
  int code = hs_need_classes(file, error);
  if (code == LH_OK && !file->modules.list)
    code = lh_list_modules(file->snapshot, &file->modules, error);
  cursor->at = 0;
  cursor->end = (uint32_t)file->modules.n;
  return code;
}

static const void *module_row(const hs_cursor *cursor) {
  return &cursor->file->modules.list[cursor->row - 1];
}

static int next_module(hs_cursor *cursor, lh_error *error) {
  if (!next_number(cursor, error)) return 0;
  cursor->id = ((const lh_module *)module_row(cursor))->id;
  return 1;
}

#define ROW lh_module
static const hs_column module_columns[] = {
    HS_SNAPSHOT,
    HS_VALUE("name", key),
    HS_ID("id", id),
    HS_COMPUTED("class", HS_TEXT, hs_tell_class),
    HS_COMPUTED("shallow_bytes", HS_INTEGER, hs_tell_shallow),
    HS_COUNT("retained_bytes", retained_bytes),
    HS_NAME("path", name, HS_HIDDEN)};
#undef ROW

const hs_kind hs_modules = {.name = "modules",
                            HS_COLUMNS(module_columns),
                            .row = module_row,
                            .rows_per_object = 0.001,
                            .begin = begin_modules,
                            .next = next_module};

/* }=================================================================================== */

/* {=== marks ========================================================================== */

static int begin_marks(hs_cursor *cursor, lh_error *error) {
  (void)error;
  cursor->at = 0;
  cursor->end = lh_mark_count(cursor->file->snapshot);
  return LH_OK;
}

static const void *mark_row(const hs_cursor *cursor) {
  return lh_mark_at(cursor->file->snapshot, cursor->row - 1);
}

static void tell_epoch(hs_cursor *cursor, sqlite3_context *context) {
  sqlite3_result_int64(context, cursor->row);
}

static void tell_name(hs_cursor *cursor, sqlite3_context *context) {
  const lh_mark_info *mark = mark_row(cursor);
  hs_result_heap_text(context, cursor->file, mark->name, mark->name_length, false);
}

static void tell_kind(hs_cursor *cursor, sqlite3_context *context) {
  const lh_mark_info *mark = mark_row(cursor);
  hs_result_static(context, mark->is_snapshot ? "snapshot" : "mark");
}

#define ROW lh_mark_info
static const hs_column mark_columns[] = {HS_SNAPSHOT,
                                         HS_COMPUTED("epoch", HS_INTEGER, tell_epoch),
                                         HS_COMPUTED("name", HS_TEXT, tell_name),
                                         HS_COMPUTED("kind", HS_TEXT, tell_kind),
                                         HS_COUNT("serial", serial),
                                         HS_TIME("time", time_ns),
                                         HS_COUNT("time_ns", time_ns, HS_HIDDEN)};
#undef ROW

const hs_kind hs_marks = {.name = "marks",
                          HS_COLUMNS(mark_columns),
                          .row = mark_row,
                          .begin = begin_marks,
                          .next = next_number};

/* }=================================================================================== */

/* {=== info =========================================================================== */

/* Counts luaheap's own objects, which are in no other table. */
static int begin_info(hs_cursor *cursor, lh_error *error) {
  const lh_snapshot *snapshot = cursor->file->snapshot;
  lh_count own = {0};
  (void)error;
  for (lh_id id = 1; id <= lh_object_count(snapshot); id++) {
    if (!lh_is_own(snapshot, id)) continue;
    own.objects++;
    own.bytes += lh_shallow_bytes(snapshot, id);
  }
  cursor->file->own = own;
  cursor->at = 0;
  cursor->end = 1;
  return LH_OK;
}

static const void *info_row(const hs_cursor *cursor) {
  return cursor->file;
}

/* Of a program that was not tracked there is none of these. */
static void tell_made(hs_cursor *cursor, sqlite3_context *context) {
  const lh_tracking *tracking = lh_snapshot_tracking(cursor->file->snapshot);
  if (tracking != NULL) hs_result_bytes(context, tracking->made);
}

static void tell_unattributed(hs_cursor *cursor, sqlite3_context *context) {
  const lh_tracking *tracking = lh_snapshot_tracking(cursor->file->snapshot);
  if (tracking != NULL) hs_result_bytes(context, tracking->unattributed);
}

static void tell_sample(hs_cursor *cursor, sqlite3_context *context) {
  const lh_tracking *tracking = lh_snapshot_tracking(cursor->file->snapshot);
  if (tracking != NULL) hs_result_bytes(context, tracking->sample_bytes);
}

#define ROW hs_file
#define REACH HS_NEEDS(HS_ANALYSED)
static const hs_column info_columns[] = {
    HS_SNAPSHOT,
    HS_NAME("name", info.name),
    HS_NAME("program", info.program),
    HS_WORD("lua_release", info.lua_release),
    HS_COUNT("process_id", info.process_id),
    HS_HEX("state_id", info.state_id),
    HS_COUNT("serial", info.serial),
    HS_TIME("time", info.time_ns),
    HS_COUNT("time_ns", info.time_ns, HS_HIDDEN),
    HS_COUNT("format_version", info.format_version, HS_HIDDEN),
    HS_COUNT("file_bytes", info.file_bytes),
    HS_COUNT("string_limit_bytes", info.string_limit, HS_HIDDEN),
    HS_COUNT("objects", info.objects),
    HS_COUNT("object_bytes", info.object_bytes),
    HS_COUNT("string_table_bytes", info.string_table_bytes),
    HS_COUNT("unaccounted_bytes", info.unaccounted_bytes),
    HS_COUNT("gc_bytes", info.gc_bytes),
    HS_COUNT("reachable_objects", reach.reachable_objects, REACH),
    HS_COUNT("reachable_bytes", reach.reachable_bytes, REACH),
    HS_COUNT("garbage_objects", reach.garbage_objects, REACH),
    HS_COUNT("garbage_bytes", reach.garbage_bytes, REACH),
    HS_COUNT("own_objects", own.objects),
    HS_COUNT("own_bytes", own.bytes),
    HS_COMPUTED("tracked_allocations", HS_INTEGER, tell_made, HS_HIDDEN),
    HS_COMPUTED("unattributed_allocations", HS_INTEGER, tell_unattributed, HS_HIDDEN),
    HS_COMPUTED("sample_bytes", HS_INTEGER, tell_sample, HS_HIDDEN)};
#undef ROW

const hs_kind hs_info = {.name = "info",
                         HS_COLUMNS(info_columns),
                         .row = info_row,
                         .begin = begin_info,
                         .next = next_number};

/* }=================================================================================== */
