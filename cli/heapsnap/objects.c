/*
** objects.c - the tables objects and strings. Each row is one object, and its rowid is its id.
*/
#include <stdlib.h>
#include <string.h>

#include "heapsnap.h"

/* {=== objects ======================================================================== */

static int begin_class(hs_cursor *cursor, lh_error *error) {
  hs_file *file = cursor->file;
  int code = hs_index_classes(file, error);
  if (code != LH_OK) return code;
  cursor->list = file->by_class.item;
  cursor->at = 0;
  cursor->end = file->by_class.first[lh_class_count(file->snapshot)];
  if (hs_looks_up(cursor, HS_BY_CLASS))
    hs_find_class(file, cursor->text, &cursor->at, &cursor->end);
  return LH_OK;
}

static int begin_dominated(hs_cursor *cursor, lh_error *error) {
  hs_index *index = &cursor->file->by_dominator;
  int code = hs_index_dominators(cursor->file, error);
  if (code != LH_OK) return code;
  cursor->list = index->item;
  cursor->at = index->first[cursor->object];
  cursor->end = index->first[cursor->object + 1];
  return LH_OK;
}

/* '0x55d0c0a3f2e0' or 'table: 0x55d0c0a3f2e0'; and without quotes, where SQLite makes a number of
** it, and text of that. */
static void begin_address(hs_cursor *cursor) {
  char *end = cursor->text;
  const char *colon = strstr(cursor->text, ": 0x"), *text = colon ? colon + 2 : cursor->text;
  bool is_number = text[0] >= '0' && text[0] <= '9';
  uint64_t address = is_number ? strtoull(text, &end, text[1] == 'x' ? 16 : 10) : 0;
  bool is_address = is_number && *end == '\0';
  lh_id id = is_address ? lh_find_address(cursor->file->snapshot, address) : LH_NO_OBJECT;
  cursor->at = id;
  cursor->end = id != LH_NO_OBJECT ? id + 1 : id;
}

static int begin_objects(hs_cursor *cursor, lh_error *error) {
  (void)hs_begin_objects(cursor, error);
  if (hs_looks_up(cursor, HS_BY_CLASS) || cursor->by_class) return begin_class(cursor, error);
  if (hs_looks_up(cursor, HS_FEW_IDS)) return begin_dominated(cursor, error);
  if (hs_looks_up(cursor, HS_ADDRESS)) begin_address(cursor);
  return LH_OK;
}

static int next_object(hs_cursor *cursor, lh_error *error) {
  const lh_snapshot *snapshot = cursor->file->snapshot;
  (void)error;
  while ((cursor->id = hs_next_object(cursor)) != LH_NO_OBJECT) {
    if (cursor->id == LH_ROOT) continue;
    if (hs_looks_up(cursor, HS_BY_TYPE) &&
        strcmp(lh_type_name(lh_type_of(snapshot, cursor->id)), cursor->text) != 0)
      continue;
    cursor->row = cursor->id;
    return 1;
  }
  return 0;
}

static void tell_type(hs_cursor *cursor, sqlite3_context *context) {
  hs_result_static(context, lh_type_name(lh_type_of(cursor->file->snapshot, cursor->id)));
}

static void tell_address(hs_cursor *cursor, sqlite3_context *context) {
  hs_result_hex(context, lh_pointer_of(cursor->file->snapshot, cursor->id));
}

static void tell_dominator(hs_cursor *cursor, sqlite3_context *context) {
  hs_result_id(context, cursor->file, lh_immediate_dominator(cursor->file->snapshot, cursor->id));
}

static void tell_distance(hs_cursor *cursor, sqlite3_context *context) {
  if (lh_is_reachable(cursor->file->snapshot, cursor->id))
    sqlite3_result_int64(context, lh_distance(cursor->file->snapshot, cursor->id));
}

static void tell_epoch(hs_cursor *cursor, sqlite3_context *context) {
  sqlite3_result_int64(context, lh_epoch(cursor->file->snapshot, cursor->id));
}

static void tell_reachable(hs_cursor *cursor, sqlite3_context *context) {
  sqlite3_result_int(context, lh_is_reachable(cursor->file->snapshot, cursor->id));
}

static void tell_path(hs_cursor *cursor, sqlite3_context *context) {
  hs_result_path(context, cursor->file, cursor->id, false);
}

static void tell_held_by(hs_cursor *cursor, sqlite3_context *context) {
  hs_result_path(context, cursor->file, cursor->id, true);
}

static void tell_stack(hs_cursor *cursor, sqlite3_context *context) {
  lh_stack_id stack = lh_object_stack(cursor->file->snapshot, cursor->id);
  if (stack != 0) hs_result_id(context, cursor->file, stack);
}

static void tell_site(hs_cursor *cursor, sqlite3_context *context) {
  const lh_snapshot *snapshot = cursor->file->snapshot;
  lh_stack_id stack = lh_object_stack(snapshot, cursor->id);
  if (stack != 0) hs_result_text(context, lh_stack_text(lh_snapshot_sites(snapshot), stack, 0));
}

static void tell_list(hs_cursor *cursor, sqlite3_context *context) {
  hs_result_static(context, lh_list_name(lh_list_of(cursor->file->snapshot, cursor->id)));
}

/* Of a table or a userdata. */
static void tell_metatable(hs_cursor *cursor, sqlite3_context *context) {
  lh_object object;
  lh_object_at(cursor->file->snapshot, cursor->id, &object);
  if (object.dead) return;
  if (object.type == LH_TYPE_TABLE) hs_result_id(context, cursor->file, object.as.table.metatable);
  if (object.type == LH_TYPE_USERDATA)
    hs_result_id(context, cursor->file, object.as.userdata.metatable);
}

static void tell_weak_mode(hs_cursor *cursor, sqlite3_context *context) {
  hs_result_static(context, lh_weak_mode_name(&cursor->decoded));
}

/* The code of a function, or the code that the object is; false: it is neither. */
static bool get_code(const hs_cursor *cursor, lh_object *code) {
  lh_object_at(cursor->file->snapshot, cursor->id, code);
  if (code->type == LH_TYPE_CLOSURE && !code->dead && code->as.closure.proto != LH_NO_OBJECT)
    lh_object_at(cursor->file->snapshot, code->as.closure.proto, code);
  return code->type == LH_TYPE_PROTO && !code->dead;
}

static void tell_file(hs_cursor *cursor, sqlite3_context *context) {
  lh_object code;
  if (get_code(cursor, &code) && code.as.proto.source != LH_NO_OBJECT)
    hs_result_value(context, cursor->file,
                    (lh_value){LH_VALUE_OBJECT, {.object = code.as.proto.source}});
}

static void tell_line(hs_cursor *cursor, sqlite3_context *context) {
  lh_object code;
  if (get_code(cursor, &code)) sqlite3_result_int64(context, code.as.proto.line);
}

#define ROW hs_cursor
#define OF_TABLE HS_OF(LH_TYPE_TABLE), HS_HIDDEN
static const hs_column object_columns[] = {
    HS_SNAPSHOT,
    HS_ID("id", id, HS_LOOKUP(HS_ONE_ID)),
    HS_COMPUTED("type", HS_TEXT, tell_type, HS_LOOKUP(HS_BY_TYPE)),
    HS_COMPUTED("class", HS_TEXT, hs_tell_class, HS_LOOKUP(HS_BY_CLASS)),
    HS_COMPUTED("address", HS_TEXT, tell_address, HS_LOOKUP(HS_ADDRESS)),
    HS_COMPUTED("shallow_bytes", HS_INTEGER, hs_tell_shallow),
    HS_COMPUTED("retained_bytes", HS_INTEGER, hs_tell_retained, HS_NEEDS(HS_ANALYSED)),
    HS_COMPUTED("immediate_dominator", HS_INTEGER, tell_dominator, HS_LOOKUP(HS_FEW_IDS),
                HS_NEEDS(HS_ANALYSED)),
    HS_COMPUTED("distance", HS_INTEGER, tell_distance, HS_NEEDS(HS_ANALYSED)),
    HS_COMPUTED("epoch", HS_INTEGER, tell_epoch),
    HS_COMPUTED("reachable", HS_INTEGER, tell_reachable, HS_NEEDS(HS_ANALYSED)),
    HS_COMPUTED("path", HS_TEXT, tell_path, HS_HIDDEN),
    HS_COMPUTED("held_by", HS_TEXT, tell_held_by, HS_HIDDEN),
    HS_COMPUTED("site", HS_TEXT, tell_site, HS_HIDDEN),
    HS_COMPUTED("stack", HS_INTEGER, tell_stack, HS_HIDDEN),
    HS_COMPUTED("list", HS_TEXT, tell_list, HS_HIDDEN),
    HS_COMPUTED("metatable", HS_INTEGER, tell_metatable, HS_HIDDEN),
    HS_COUNT("array_slots", decoded.as.table.array_slots, OF_TABLE),
    HS_COUNT("array_used", decoded.as.table.array_used, OF_TABLE),
    HS_COUNT("hash_slots", decoded.as.table.hash_slots, OF_TABLE),
    HS_COUNT("hash_used", decoded.as.table.hash_used, OF_TABLE),
    HS_COMPUTED("weak_mode", HS_TEXT, tell_weak_mode, OF_TABLE),
    HS_COUNT("user_bytes", decoded.as.userdata.bytes, HS_OF(LH_TYPE_USERDATA), HS_HIDDEN),
    HS_ID("proto", decoded.as.closure.proto, HS_OF(LH_TYPE_CLOSURE), HS_HIDDEN),
    HS_COMPUTED("file", HS_TEXT, tell_file, HS_HIDDEN),
    HS_COMPUTED("line", HS_INTEGER, tell_line, HS_HIDDEN)};
#undef ROW

const hs_kind hs_objects = {.name = "objects",
                            HS_COLUMNS(object_columns),
                            .key = "id",
                            .rows_per_object = 1,
                            .begin = begin_objects,
                            .next = next_object};

/* }=================================================================================== */

/* {=== strings ======================================================================== */

static void tell_hash(hs_cursor *cursor, sqlite3_context *context) {
  const lh_object *object = &cursor->decoded;
  if (object->as.string.kept < object->as.string.length)
    hs_result_hex(context, object->as.string.hash);
}

static void tell_text(hs_cursor *cursor, sqlite3_context *context) {
  hs_result_string(context, cursor->file, cursor->id);
}

#define ROW hs_cursor
#define OF_STRING HS_OF(LH_TYPE_STRING)
static const hs_column string_columns[] = {
    HS_SNAPSHOT,
    HS_ID("id", id, HS_LOOKUP(HS_ONE_ID)),
    HS_COUNT("length_bytes", decoded.as.string.length, OF_STRING),
    HS_COUNT("kept_bytes", decoded.as.string.kept, OF_STRING),
    HS_COMPUTED("hash", HS_TEXT, tell_hash, OF_STRING, HS_HIDDEN),
    HS_COMPUTED("text", HS_TEXT, tell_text)};
#undef ROW

static int next_string(hs_cursor *cursor, lh_error *error) {
  (void)error;
  return hs_next_of_type(cursor, LH_TYPE_STRING);
}

const hs_kind hs_strings = {.name = "strings",
                            HS_COLUMNS(string_columns),
                            .key = "id",
                            .rows_per_object = 0.5,
                            .begin = hs_begin_objects,
                            .next = next_string};

/* }=================================================================================== */
