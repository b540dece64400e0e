/*
** summary.c - the short tables: classes, modules (package.loaded), marks and info, which has one
** row a snapshot.
*/
#include <string.h>

#include "heapsnap.h"

/* {=== classes ======================================================================== */

enum { CLASS = 1, TYPE, OBJECTS, SHALLOW, RETAINED, GARBAGE_OBJECTS, GARBAGE_BYTES };

static const hs_column class_columns[] = {
    {"snapshot", HS_TEXT, HS_NONE, false},
    [CLASS] = {"class", HS_TEXT, HS_NONE, false},
    [TYPE] = {"type", HS_TEXT, HS_NONE, false},
    [OBJECTS] = {"objects", HS_INTEGER, HS_NONE, false},
    [SHALLOW] = {"shallow_bytes", HS_INTEGER, HS_NONE, false},
    [RETAINED] = {"retained_bytes", HS_INTEGER, HS_NONE, false},
    [GARBAGE_OBJECTS] = {"garbage_objects", HS_INTEGER, HS_NONE, false},
    [GARBAGE_BYTES] = {"garbage_bytes", HS_INTEGER, HS_NONE, false},
};

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

static int class_column(hs_cursor *cursor, sqlite3_context *context, int column, lh_error *error) {
  const lh_class *class = lh_class_at(cursor->file->snapshot, cursor->row - 1);
  int code = LH_OK;
  switch (column) {
    case CLASS: hs_result_static(context, class->name); break;
    case TYPE: hs_result_static(context, lh_type_name(class->type)); break;
    case OBJECTS: hs_result_bytes(context, class->objects); break;
    case SHALLOW: hs_result_bytes(context, class->shallow_bytes); break;
    case RETAINED:
      code = need_retained(cursor->file, error);
      if (code == LH_OK) hs_result_bytes(context, cursor->file->class_retained[cursor->row - 1]);
      break;
    case GARBAGE_OBJECTS: hs_result_bytes(context, class->garbage_objects); break;
    default: hs_result_bytes(context, class->garbage_bytes); break;
  }
  return code;
}

const hs_kind hs_classes = {.name = "classes",
                            .columns = class_columns,
                            .n_columns = GARBAGE_BYTES + 1,
                            .rows_per_object = 0.01,
                            .begin = begin_classes,
                            .next = next_class,
                            .column = class_column};

/* }=================================================================================== */

/* {=== modules ======================================================================== */

enum { MODULE_NAME = 1, MODULE_ID, MODULE_CLASS, MODULE_SHALLOW, MODULE_RETAINED };

static const hs_column module_columns[] = {
    {"snapshot", HS_TEXT, HS_NONE, false},
    [MODULE_NAME] = {"name", HS_ANY, HS_NONE, false},
    [MODULE_ID] = {"id", HS_INTEGER, HS_NONE, false},
    [MODULE_CLASS] = {"class", HS_TEXT, HS_NONE, false},
    [MODULE_SHALLOW] = {"shallow_bytes", HS_INTEGER, HS_NONE, false},
    [MODULE_RETAINED] = {"retained_bytes", HS_INTEGER, HS_NONE, false},
};

/* package.loaded is a root; without it there are no rows. */
static int begin_modules(hs_cursor *cursor, lh_error *error) {
  lh_edges roots;
  lh_edge edge;
  (void)error;
  cursor->at = cursor->end = 0;
  lh_edges_begin(cursor->file->snapshot, LH_ROOT, &roots);
  while (lh_edges_next(&roots, &edge)) {
    if (edge.index != LH_ROOT_LOADED) continue;
    lh_entries_begin(cursor->file->snapshot, edge.target, &cursor->iterator);
    cursor->end = 1;
  }
  return LH_OK;
}

static lh_id module_id(const hs_cursor *cursor) {
  return cursor->value.kind == LH_VALUE_OBJECT ? cursor->value.as.object : LH_NO_OBJECT;
}

static int next_module(hs_cursor *cursor, lh_error *error) {
  (void)error;
  while (cursor->end > 0 && lh_entries_next(&cursor->iterator, &cursor->key, &cursor->value)) {
    lh_id id = module_id(cursor);
    cursor->row++;
    if (id == LH_NO_OBJECT || !lh_is_own(cursor->file->snapshot, id)) return 1;
  }
  return 0;
}

static int module_column(hs_cursor *cursor, sqlite3_context *context, int column, lh_error *error) {
  hs_file *file = cursor->file;
  lh_id id = module_id(cursor);
  if (column == MODULE_NAME) hs_result_value(context, file, cursor->key);
  if (column == MODULE_NAME || id == LH_NO_OBJECT) return LH_OK;
  switch (column) {
    case MODULE_ID: hs_result_id(context, file, id); break;
    case MODULE_CLASS: return hs_result_class(context, file, id, error);
    case MODULE_SHALLOW: hs_result_bytes(context, lh_shallow_bytes(file->snapshot, id)); break;
    default: return hs_result_retained(context, file, id, error);
  }
  return LH_OK;
}

const hs_kind hs_modules = {.name = "modules",
                            .columns = module_columns,
                            .n_columns = MODULE_RETAINED + 1,
                            .rows_per_object = 0.001,
                            .begin = begin_modules,
                            .next = next_module,
                            .column = module_column};

/* }=================================================================================== */

/* {=== marks ========================================================================== */

enum { MARK_EPOCH = 1, MARK_NAME, MARK_KIND, MARK_SERIAL, MARK_TIME, MARK_TIME_NS };

static const hs_column mark_columns[] = {
    {"snapshot", HS_TEXT, HS_NONE, false},
    [MARK_EPOCH] = {"epoch", HS_INTEGER, HS_NONE, false},
    [MARK_NAME] = {"name", HS_TEXT, HS_NONE, false},
    [MARK_KIND] = {"kind", HS_TEXT, HS_NONE, false},
    [MARK_SERIAL] = {"serial", HS_INTEGER, HS_NONE, false},
    [MARK_TIME] = {"time", HS_TEXT, HS_NONE, false},
    [MARK_TIME_NS] = {"time_ns", HS_INTEGER, HS_NONE, true},
};

static int begin_marks(hs_cursor *cursor, lh_error *error) {
  (void)error;
  cursor->at = 0;
  cursor->end = lh_mark_count(cursor->file->snapshot);
  return LH_OK;
}

static int mark_column(hs_cursor *cursor, sqlite3_context *context, int column, lh_error *error) {
  const lh_mark_info *mark = lh_mark_at(cursor->file->snapshot, cursor->row - 1);
  (void)error;
  switch (column) {
    case MARK_EPOCH: sqlite3_result_int64(context, cursor->row); break;
    case MARK_NAME:
      hs_result_heap_text(context, cursor->file, mark->name, mark->name_length, false);
      break;
    case MARK_KIND: hs_result_static(context, mark->is_snapshot ? "snapshot" : "mark"); break;
    case MARK_SERIAL: sqlite3_result_int64(context, mark->serial); break;
    case MARK_TIME: hs_result_time(context, mark->time_ns); break;
    default: hs_result_bytes(context, mark->time_ns); break;
  }
  return LH_OK;
}

const hs_kind hs_marks = {.name = "marks",
                          .columns = mark_columns,
                          .n_columns = MARK_TIME_NS + 1,
                          .begin = begin_marks,
                          .next = next_number,
                          .column = mark_column};

/* }=================================================================================== */

/* {=== info =========================================================================== */

enum {
  NAME = 1,
  PROGRAM,
  LUA_RELEASE,
  PROCESS_ID,
  STATE_ID,
  SERIAL,
  TIME,
  TIME_NS,
  FORMAT_VERSION,
  FILE_BYTES,
  STRING_LIMIT,
  COUNT,
  OBJECT_BYTES,
  STRING_TABLE_BYTES,
  UNACCOUNTED,
  GC_BYTES,
  REACHABLE_OBJECTS,
  REACHABLE_BYTES,
  INFO_GARBAGE_OBJECTS,
  INFO_GARBAGE_BYTES,
  OWN_OBJECTS,
  OWN_BYTES
};

static const hs_column info_columns[] = {
    {"snapshot", HS_TEXT, HS_NONE, false},
    [NAME] = {"name", HS_TEXT, HS_NONE, false},
    [PROGRAM] = {"program", HS_TEXT, HS_NONE, false},
    [LUA_RELEASE] = {"lua_release", HS_TEXT, HS_NONE, false},
    [PROCESS_ID] = {"process_id", HS_INTEGER, HS_NONE, false},
    [STATE_ID] = {"state_id", HS_TEXT, HS_NONE, false},
    [SERIAL] = {"serial", HS_INTEGER, HS_NONE, false},
    [TIME] = {"time", HS_TEXT, HS_NONE, false},
    [TIME_NS] = {"time_ns", HS_INTEGER, HS_NONE, true},
    [FORMAT_VERSION] = {"format_version", HS_INTEGER, HS_NONE, true},
    [FILE_BYTES] = {"file_bytes", HS_INTEGER, HS_NONE, false},
    [STRING_LIMIT] = {"string_limit_bytes", HS_INTEGER, HS_NONE, true},
    [COUNT] = {"objects", HS_INTEGER, HS_NONE, false},
    [OBJECT_BYTES] = {"object_bytes", HS_INTEGER, HS_NONE, false},
    [STRING_TABLE_BYTES] = {"string_table_bytes", HS_INTEGER, HS_NONE, false},
    [UNACCOUNTED] = {"unaccounted_bytes", HS_INTEGER, HS_NONE, false},
    [GC_BYTES] = {"gc_bytes", HS_INTEGER, HS_NONE, false},
    [REACHABLE_OBJECTS] = {"reachable_objects", HS_INTEGER, HS_NONE, false},
    [REACHABLE_BYTES] = {"reachable_bytes", HS_INTEGER, HS_NONE, false},
    [INFO_GARBAGE_OBJECTS] = {"garbage_objects", HS_INTEGER, HS_NONE, false},
    [INFO_GARBAGE_BYTES] = {"garbage_bytes", HS_INTEGER, HS_NONE, false},
    [OWN_OBJECTS] = {"own_objects", HS_INTEGER, HS_NONE, false},
    [OWN_BYTES] = {"own_bytes", HS_INTEGER, HS_NONE, false},
};

static int begin_info(hs_cursor *cursor, lh_error *error) {
  (void)error;
  cursor->at = 0;
  cursor->end = 1;
  return LH_OK;
}

static int reach_column(hs_cursor *cursor, sqlite3_context *context, int column, lh_error *error) {
  lh_reach reach;
  int code = hs_need_analysis(cursor->file, error);
  if (code != LH_OK) return code;
  lh_reach_totals(cursor->file->snapshot, &reach);
  switch (column) {
    case REACHABLE_OBJECTS: hs_result_bytes(context, reach.reachable_objects); break;
    case REACHABLE_BYTES: hs_result_bytes(context, reach.reachable_bytes); break;
    case INFO_GARBAGE_OBJECTS: hs_result_bytes(context, reach.garbage_objects); break;
    default: hs_result_bytes(context, reach.garbage_bytes); break;
  }
  return LH_OK;
}

/* luaheap's own objects, which are in no other table. */
static void own_column(hs_cursor *cursor, sqlite3_context *context, int column) {
  const lh_snapshot *snapshot = cursor->file->snapshot;
  uint64_t objects = 0, bytes = 0;
  for (lh_id id = 1; id <= lh_object_count(snapshot); id++) {
    if (!lh_is_own(snapshot, id)) continue;
    objects++;
    bytes += lh_shallow_bytes(snapshot, id);
  }
  hs_result_bytes(context, column == OWN_OBJECTS ? objects : bytes);
}

static void result_words(sqlite3_context *context, hs_file *file, const char *words) {
  hs_result_heap_text(context, file, words, strlen(words), false);
}

static int info_column(hs_cursor *cursor, sqlite3_context *context, int column, lh_error *error) {
  hs_file *file = cursor->file;
  const lh_info *info = lh_snapshot_info(cursor->file->snapshot);
  switch (column) {
    case NAME: result_words(context, file, info->name); break;
    case PROGRAM: result_words(context, file, info->program); break;
    case LUA_RELEASE: hs_result_static(context, info->lua_release); break;
    case PROCESS_ID: hs_result_bytes(context, info->process_id); break;
    case STATE_ID: hs_result_hex(context, info->state_id); break;
    case SERIAL: sqlite3_result_int64(context, info->serial); break;
    case TIME: hs_result_time(context, info->time_ns); break;
    case TIME_NS: hs_result_bytes(context, info->time_ns); break;
    case FORMAT_VERSION: sqlite3_result_int64(context, info->format_version); break;
    case FILE_BYTES: hs_result_bytes(context, info->file_bytes); break;
    case STRING_LIMIT: hs_result_bytes(context, info->string_limit); break;
    case COUNT: hs_result_bytes(context, info->objects); break;
    case OBJECT_BYTES: hs_result_bytes(context, info->object_bytes); break;
    case STRING_TABLE_BYTES: hs_result_bytes(context, info->string_table_bytes); break;
    case UNACCOUNTED: sqlite3_result_int64(context, info->unaccounted_bytes); break;
    case GC_BYTES: hs_result_bytes(context, info->gc_bytes); break;
    case OWN_OBJECTS:
    case OWN_BYTES: own_column(cursor, context, column); break;
    default: return reach_column(cursor, context, column, error);
  }
  return LH_OK;
}

const hs_kind hs_info = {.name = "info",
                         .columns = info_columns,
                         .n_columns = OWN_BYTES + 1,
                         .begin = begin_info,
                         .next = next_number,
                         .column = info_column};

/* }=================================================================================== */
