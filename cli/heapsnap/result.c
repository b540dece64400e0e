/*
** result.c - what a column or a function hands to SQLite. Bytes from the heap are TEXT where they
** are UTF-8 without a zero byte, else BLOB, and point into the file in memory; what the library
** made for people is TEXT. The sqlite3 shell prints what it gets, so for a terminal the controls in
** a heap's strings are made visible here.
*/
#include <string.h>

#include "heapsnap.h"

void hs_result_id(sqlite3_context *context, const hs_file *file, lh_id id) {
  if (id != LH_NO_OBJECT) sqlite3_result_int64(context, file->base + id);
}

void hs_result_static(sqlite3_context *context, const char *text) {
  sqlite3_result_text(context, text, -1, SQLITE_STATIC);
}

static void result_hex(sqlite3_context *context, uint64_t n) {
  sqlite3_result_text(context, lh_hex_text(n).text, -1, SQLITE_TRANSIENT);
}

/* Without the zone, as SQLite's functions of dates take it. */
static void result_time(sqlite3_context *context, uint64_t time_ns) {
  lh_number time = lh_time_text(time_ns);
  sqlite3_result_text(context, time.text, (int)strlen("2026-11-21 17:40:05"), SQLITE_TRANSIENT);
}

void hs_result_error(sqlite3_context *context, const lh_error *error) {
  sqlite3_result_error(context, error->message, -1);
  if (error->code == LH_EMEMORY) sqlite3_result_error_nomem(context);
}

/* {=== Text of the heap =============================================================== */

/* The UTF-8 character at p: its bytes, of which no more than `left` are there; 0: none. With `cut`,
** more than left where its end is missing. */
static size_t read_character(const unsigned char *p, size_t left, bool cut, uint32_t *character) {
  static const uint32_t least[] = {0, 1, 0x80, 0x800, 0x10000};
  size_t n = *p < 0x80 ? 1 : *p >= 0xF0 && *p < 0xF8 ? 4 : *p >= 0xE0 ? 3 : *p >= 0xC0 ? 2 : 0;
  *character = n == 1 ? *p : n == 0 ? 0 : *p & (0x7Fu >> n);
  if (*p >= 0xF8 || n == 0) return 0;
  for (size_t i = 1; i < n; i++) {
    if (i == left) return cut ? n : 0;
    if ((p[i] & 0xC0) != 0x80) return 0;
    *character = *character << 6 | (p[i] & 0x3Fu);
  }
  bool valid = *character >= least[n] && *character <= 0x10FFFF &&
               (*character < 0xD800 || *character > 0xDFFF);
  return valid ? n : 0;
}

/* Controls, and marks that turn the direction of text. */
static bool is_control(uint32_t character) {
  return character < 0x20 || (character >= 0x7F && character < 0xA0) ||
         (character >= 0x2028 && character <= 0x202E) ||
         (character >= 0x2066 && character <= 0x2069);
}

/* What cannot be shown becomes \x1B. */
static void result_escaped(sqlite3_context *context, const char *bytes, size_t n) {
  sqlite3_str *text = sqlite3_str_new(sqlite3_context_db_handle(context));
  for (size_t at = 0; at < n;) {
    uint32_t character;
    size_t width = read_character((const unsigned char *)bytes + at, n - at, false, &character);
    if (width == 0 || is_control(character))
      sqlite3_str_appendf(text, "\\x%02X", (unsigned char)bytes[at++]);
    else
      sqlite3_str_append(text, bytes + at, (int)width);
    at += width == 0 || is_control(character) ? 0 : width;
  }
  int length = sqlite3_str_length(text);
  char *visible = sqlite3_str_finish(text);
  if (visible != NULL)
    sqlite3_result_text(context, visible, length, sqlite3_free);
  else
    sqlite3_result_error_nomem(context);
}

/* One string may be the value of each of a million rows: what was found is kept for the next
** row. */
static const hs_looked *look_up_text(hs_file *file, const char *bytes, size_t n, bool cut) {
  hs_looked *found = &file->looked;
  if (found->bytes == bytes && found->n == n) return found;
  *found = (hs_looked){.bytes = bytes, .n = n, .is_text = true, .shows = true};
  while (found->whole < n) {
    uint32_t character;
    const unsigned char *at = (const unsigned char *)bytes + found->whole;
    size_t width = read_character(at, n - found->whole, cut, &character);
    if (width > n - found->whole) break;
    found->is_text = width > 0;
    if (width == 0) break;
    found->shows = found->shows && !is_control(character);
    found->whole += width;
  }
  return found;
}

/* Bytes as the program had them, which live as long as the snapshot; `cut`: it has no more of
** them. */
static void result_heap_text(sqlite3_context *context, hs_file *file, const char *bytes, size_t n,
                             bool cut) {
  const hs_looked *found = look_up_text(file, bytes, n, cut);
  size_t shown = found->is_text ? found->whole : n;
  if (file->for_terminal && !(found->is_text && found->shows))
    result_escaped(context, bytes, shown);
  else if (found->is_text)
    sqlite3_result_text64(context, bytes, shown, SQLITE_STATIC, SQLITE_UTF8);
  else
    sqlite3_result_blob64(context, bytes, n, SQLITE_STATIC);
}

/* }=================================================================================== */

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
    code = lh_told_path(file->snapshot, id, &text, &error);
  if (code != LH_OK)
    hs_result_error(context, &error);
  else if (text != NULL)
    sqlite3_result_text(context, text, -1, lh_free);
}

/* A class may be the value of each of a million rows: its length is kept for the next row. */
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
      if (file->report.n_made > 0) /* it goes with the next cell */
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
