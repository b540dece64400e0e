/*
** result.c - hands values to SQLite. Heap bytes are TEXT if they are UTF-8 without a zero byte,
** else BLOB, and point into the file in memory. Texts of the library are TEXT. The sqlite3 shell
** prints values raw, so for a terminal control characters in heap strings are escaped here.
*/
#include <string.h>

#include "heapsnap.h"

void hs_result_id(sqlite3_context *context, const hs_file *file, lh_id id) {
  if (id != LH_NO_OBJECT) sqlite3_result_int64(context, file->base + id);
}

void hs_result_static(sqlite3_context *context, const char *text) {
  sqlite3_result_text(context, text, -1, SQLITE_STATIC);
}

/* A text of the library; NULL: out of memory. */
static void result_text(sqlite3_context *context, char *text) {
  if (text == NULL)
    sqlite3_result_error_nomem(context);
  else
    sqlite3_result_text(context, text, -1, lh_free);
}

static void result_hex(sqlite3_context *context, uint64_t n) {
  sqlite3_result_text(context, lh_hex_text(n).text, -1, SQLITE_TRANSIENT);
}

/* Without the time zone, as SQLite's date functions expect. */
static void result_time(sqlite3_context *context, uint64_t time_ns) {
  lh_number time = lh_time_text(time_ns);
  sqlite3_result_text(context, time.text, (int)strlen("2026-11-21 17:40:05"), SQLITE_TRANSIENT);
}

void hs_result_error(sqlite3_context *context, const lh_error *error) {
  sqlite3_result_error(context, error->message, -1);
  if (error->code == LH_EMEMORY) sqlite3_result_error_nomem(context);
}

/* Bytes of the program, valid as long as the snapshot; `cut`: the snapshot lacks the rest. A
** million rows may have the same string, so the last check is cached. */
static void result_heap_text(sqlite3_context *context, hs_file *file, const char *bytes, size_t n,
                             bool cut) {
  hs_looked *found = &file->looked;
  if (found->bytes != bytes || found->n != n)
    *found = (hs_looked){bytes, n, lh_utf8_bytes(bytes, n, cut)};
  bool is_text = found->whole != SIZE_MAX;
  if (file->for_terminal)
    result_text(context, lh_escaped(bytes, is_text ? found->whole : n));
  else if (is_text)
    sqlite3_result_text64(context, bytes, found->whole, SQLITE_STATIC, SQLITE_UTF8);
  else
    sqlite3_result_blob64(context, bytes, n, SQLITE_STATIC);
}

static void result_string(sqlite3_context *context, hs_file *file, lh_id id) {
  lh_object object;
  lh_object_at(file->snapshot, id, &object);
  if (!object.dead)
    result_heap_text(context, file, object.as.string.bytes, object.as.string.kept,
                     object.as.string.kept < object.as.string.length);
}

static void result_value(sqlite3_context *context, hs_file *file, lh_value value) {
  switch (value.kind) {
    case LH_VALUE_NIL: break;
    case LH_VALUE_BOOLEAN: sqlite3_result_int(context, value.as.boolean); break;
    case LH_VALUE_INTEGER: sqlite3_result_int64(context, value.as.integer); break;
    case LH_VALUE_FLOAT: sqlite3_result_double(context, value.as.number); break;
    case LH_VALUE_POINTER:
    case LH_VALUE_CFUNCTION: result_hex(context, value.as.pointer); break;
    case LH_VALUE_OBJECT:
      if (lh_type_of(file->snapshot, value.as.object) == LH_TYPE_STRING)
        result_string(context, file, value.as.object);
      break;
    case LH_VALUE_ABSENT: break;
  }
}

void hs_result_class(sqlite3_context *context, hs_file *file, lh_id id) {
  lh_error error;
  if (hs_need(file, LH_NEEDS_CLASSES, &error) != LH_OK)
    hs_result_error(context, &error);
  else
    hs_result_static(context, lh_class_name_of(file->snapshot, id));
}

void hs_result_path(sqlite3_context *context, hs_file *file, lh_id id) {
  char *text = NULL;
  lh_error error;
  int code = hs_need(file, LH_NEEDS_CLASSES, &error);
  if (code == LH_OK && id != LH_ROOT && lh_is_reachable(file->snapshot, id))
    code = lh_readable_path(file->snapshot, id, &text, &error);
  if (code != LH_OK)
    hs_result_error(context, &error);
  else if (text != NULL)
    result_text(context, text);
}

/* A million rows may have the same class, so its length is cached. */
static void result_word(sqlite3_context *context, hs_file *file, const char *word) {
  if (word != file->word) file->word_bytes = (int)strlen(word);
  file->word = word;
  sqlite3_result_text(context, word, file->word_bytes, SQLITE_STATIC);
}

void hs_result_cell(sqlite3_context *context, hs_file *file, const lh_cell *cell) {
  if (file->report.failed) {
    file->report.failed = false;
    sqlite3_result_error_nomem(context);
  }
  if (cell->is_null) return;
  switch (cell->kind) {
    case LH_COLUMN_FLAG: sqlite3_result_int(context, cell->as.flag); break;
    case LH_COLUMN_TEXT:
      if (file->report.n_made > 0) /* freed with the next cell */
        sqlite3_result_text(context, cell->as.text, -1, SQLITE_TRANSIENT);
      else
        result_word(context, file, cell->as.text);
      break;
    case LH_COLUMN_NAME:
      result_heap_text(context, file, cell->as.name.bytes, cell->as.name.n, false);
      break;
    case LH_COLUMN_HEX: result_hex(context, cell->as.n); break;
    case LH_COLUMN_TIME: result_time(context, cell->as.n); break;
    case LH_COLUMN_VALUE: result_value(context, file, cell->as.value); break;
    case LH_COLUMN_STRING: result_string(context, file, cell->as.object); break;
    case LH_COLUMN_EXAMPLE:
    case LH_COLUMN_ID: hs_result_id(context, file, cell->as.object); break;
    default: sqlite3_result_int64(context, (sqlite3_int64)cell->as.n); break;
  }
}
