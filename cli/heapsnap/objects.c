/*
** objects.c - the tables objects and strings. Each row is one object, and its rowid is its id.
*/
#include <stdlib.h>
#include <string.h>

#include "heapsnap.h"

/* {=== objects ======================================================================== */

enum {
  ID = 1,
  TYPE,
  CLASS,
  ADDRESS,
  SHALLOW,
  RETAINED,
  DOMINATOR,
  DISTANCE,
  EPOCH,
  REACHABLE,
  PATH,
  HELD_BY,
  LIST,
  METATABLE,
  ARRAY_SLOTS,
  ARRAY_USED,
  HASH_SLOTS,
  HASH_USED,
  WEAK_MODE,
  USER_BYTES,
  PROTO,
  FILE_NAME,
  LINE
};

static const hs_column object_columns[] = {
    {"snapshot", HS_TEXT, HS_NONE, false},
    [ID] = {"id", HS_INTEGER, HS_ONE_ID, false},
    [TYPE] = {"type", HS_TEXT, HS_BY_TYPE, false},
    [CLASS] = {"class", HS_TEXT, HS_BY_CLASS, false},
    [ADDRESS] = {"address", HS_TEXT, HS_ADDRESS, false},
    [SHALLOW] = {"shallow_bytes", HS_INTEGER, HS_NONE, false},
    [RETAINED] = {"retained_bytes", HS_INTEGER, HS_NONE, false},
    [DOMINATOR] = {"immediate_dominator", HS_INTEGER, HS_FEW_IDS, false},
    [DISTANCE] = {"distance", HS_INTEGER, HS_NONE, false},
    [EPOCH] = {"epoch", HS_INTEGER, HS_NONE, false},
    [REACHABLE] = {"reachable", HS_INTEGER, HS_NONE, false},
    [PATH] = {"path", HS_TEXT, HS_NONE, true},
    [HELD_BY] = {"held_by", HS_TEXT, HS_NONE, true},
    [LIST] = {"list", HS_TEXT, HS_NONE, true},
    [METATABLE] = {"metatable", HS_INTEGER, HS_NONE, true},
    [ARRAY_SLOTS] = {"array_slots", HS_INTEGER, HS_NONE, true},
    [ARRAY_USED] = {"array_used", HS_INTEGER, HS_NONE, true},
    [HASH_SLOTS] = {"hash_slots", HS_INTEGER, HS_NONE, true},
    [HASH_USED] = {"hash_used", HS_INTEGER, HS_NONE, true},
    [WEAK_MODE] = {"weak_mode", HS_TEXT, HS_NONE, true},
    [USER_BYTES] = {"user_bytes", HS_INTEGER, HS_NONE, true},
    [PROTO] = {"proto", HS_INTEGER, HS_NONE, true},
    [FILE_NAME] = {"file", HS_TEXT, HS_NONE, true},
    [LINE] = {"line", HS_INTEGER, HS_NONE, true},
};

static int begin_class(hs_cursor *cursor, lh_error *error) {
  hs_file *file = cursor->file;
  int code = hs_index_classes(file, error);
  if (code != LH_OK) return code;
  cursor->list = file->by_class.item;
  cursor->at = 0;
  cursor->end = file->by_class.first[lh_class_count(file->snapshot)];
  if (cursor->lookup == CLASS) hs_find_class(file, cursor->text, &cursor->at, &cursor->end);
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

/* '0x55d0c0a3f2e0' or 'table: 0x55d0c0a3f2e0'; and without quotes, where SQLite makes a number of it,
** and text of that. */
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
  hs_begin_objects(cursor);
  if (cursor->lookup == CLASS || cursor->by_class) return begin_class(cursor, error);
  if (cursor->lookup == DOMINATOR) return begin_dominated(cursor, error);
  if (cursor->lookup == ADDRESS) begin_address(cursor);
  return LH_OK;
}

static int next_object(hs_cursor *cursor, lh_error *error) {
  const lh_snapshot *snapshot = cursor->file->snapshot;
  (void)error;
  while ((cursor->id = hs_next_object(cursor)) != LH_NO_OBJECT) {
    if (cursor->id == LH_ROOT) continue;
    if (cursor->lookup == TYPE &&
        strcmp(lh_type_name(lh_type_of(snapshot, cursor->id)), cursor->text) != 0)
      continue;
    cursor->row = cursor->id;
    return 1;
  }
  return 0;
}

/* What the analysis says of the object. */
static int analysed_column(hs_cursor *cursor, sqlite3_context *context, int column,
                           lh_error *error) {
  hs_file *file = cursor->file;
  lh_id id = cursor->id;
  int code = hs_need_analysis(file, error);
  if (code != LH_OK) return code;
  switch (column) {
    case RETAINED: hs_result_bytes(context, lh_retained_bytes(file->snapshot, id)); break;
    case DOMINATOR: hs_result_id(context, file, lh_immediate_dominator(file->snapshot, id)); break;
    case DISTANCE:
      if (lh_is_reachable(file->snapshot, id))
        sqlite3_result_int64(context, lh_distance(file->snapshot, id));
      break;
    default: sqlite3_result_int(context, lh_is_reachable(file->snapshot, id)); break;
  }
  return LH_OK;
}

static void table_column(sqlite3_context *context, const lh_object *object, int column) {
  static const char *const weak[] = {NULL, "k", "v", "kv"};
  switch (column) {
    case ARRAY_SLOTS: hs_result_bytes(context, object->as.table.array_slots); break;
    case ARRAY_USED: hs_result_bytes(context, object->as.table.array_used); break;
    case HASH_SLOTS: hs_result_bytes(context, object->as.table.hash_slots); break;
    case HASH_USED: hs_result_bytes(context, object->as.table.hash_used); break;
    case WEAK_MODE:
      hs_result_static(context,
                       weak[object->as.table.weak_keys + 2 * object->as.table.weak_values]);
      break;
  }
}

/* Of a function's code, the place where it is written. */
static void place_column(hs_cursor *cursor, sqlite3_context *context, lh_id proto, int column) {
  lh_object object;
  if (proto == LH_NO_OBJECT) return;
  lh_object_at(cursor->file->snapshot, proto, &object);
  if (object.type != LH_TYPE_PROTO || object.dead) return;
  if (column == LINE)
    sqlite3_result_int64(context, object.as.proto.line);
  else if (object.as.proto.source != LH_NO_OBJECT)
    hs_result_value(context, cursor->file,
                    (lh_value){LH_VALUE_OBJECT, {.object = object.as.proto.source}});
}

/* What only objects of one type have; NULL for the others. */
static void detail_column(hs_cursor *cursor, sqlite3_context *context, int column) {
  const lh_object *object = hs_decoded(cursor, cursor->id);
  bool is_userdata = object->type == LH_TYPE_USERDATA;
  if (object->dead) return;
  if (column == METATABLE) {
    if (is_userdata) hs_result_id(context, cursor->file, object->as.userdata.metatable);
    if (object->type == LH_TYPE_TABLE)
      hs_result_id(context, cursor->file, object->as.table.metatable);
  } else if (column == USER_BYTES) {
    if (is_userdata) hs_result_bytes(context, object->as.userdata.bytes);
  } else if (column == PROTO) {
    if (object->type == LH_TYPE_CLOSURE)
      hs_result_id(context, cursor->file, object->as.closure.proto);
  } else if (column == FILE_NAME || column == LINE) {
    place_column(cursor, context,
                 object->type == LH_TYPE_PROTO     ? cursor->id
                 : object->type == LH_TYPE_CLOSURE ? object->as.closure.proto
                                                   : LH_NO_OBJECT,
                 column);
  } else if (object->type == LH_TYPE_TABLE) {
    table_column(context, object, column);
  }
}

/* As Lua prints it. Only of userdata is that another address than the collector's. */
static uint64_t pointer_of(hs_cursor *cursor, lh_id id) {
  const lh_snapshot *snapshot = cursor->file->snapshot;
  return lh_type_of(snapshot, id) == LH_TYPE_USERDATA ? hs_decoded(cursor, id)->pointer
                                                      : lh_address_of(snapshot, id);
}

static int object_column(hs_cursor *cursor, sqlite3_context *context, int column, lh_error *error) {
  hs_file *file = cursor->file;
  lh_id id = cursor->id;
  switch (column) {
    case ID: hs_result_id(context, file, id); break;
    case TYPE: hs_result_static(context, lh_type_name(lh_type_of(file->snapshot, id))); break;
    case CLASS: return hs_result_class(context, file, id, error);
    case ADDRESS: hs_result_hex(context, pointer_of(cursor, id)); break;
    case SHALLOW: hs_result_bytes(context, lh_shallow_bytes(file->snapshot, id)); break;
    case RETAINED:
    case DOMINATOR:
    case DISTANCE:
    case REACHABLE: return analysed_column(cursor, context, column, error);
    case EPOCH: sqlite3_result_int64(context, lh_epoch(file->snapshot, id)); break;
    case PATH:
    case HELD_BY: return hs_result_path(context, file, id, column == HELD_BY, error);
    case LIST: hs_result_static(context, lh_list_name(lh_list_of(file->snapshot, id))); break;
    default: detail_column(cursor, context, column); break;
  }
  return LH_OK;
}

const hs_kind hs_objects = {.name = "objects",
                            .columns = object_columns,
                            .n_columns = LINE + 1,
                            .key = "id",
                            .rows_per_object = 1,
                            .begin = begin_objects,
                            .next = next_object,
                            .column = object_column};

/* }=================================================================================== */

/* {=== strings ======================================================================== */

enum { STRING_LENGTH = 2, STRING_KEPT, STRING_HASH, STRING_TEXT };

static const hs_column string_columns[] = {
    {"snapshot", HS_TEXT, HS_NONE, false},
    [ID] = {"id", HS_INTEGER, HS_ONE_ID, false},
    [STRING_LENGTH] = {"length_bytes", HS_INTEGER, HS_NONE, false},
    [STRING_KEPT] = {"kept_bytes", HS_INTEGER, HS_NONE, false},
    [STRING_HASH] = {"hash", HS_TEXT, HS_NONE, true},
    [STRING_TEXT] = {"text", HS_TEXT, HS_NONE, false},
};

static int begin_strings(hs_cursor *cursor, lh_error *error) {
  (void)error;
  hs_begin_objects(cursor);
  return LH_OK;
}

static int next_string(hs_cursor *cursor, lh_error *error) {
  const lh_snapshot *snapshot = cursor->file->snapshot;
  (void)error;
  while ((cursor->id = hs_next_object(cursor)) != LH_NO_OBJECT) {
    if (lh_type_of(snapshot, cursor->id) != LH_TYPE_STRING || lh_is_dead(snapshot, cursor->id))
      continue;
    cursor->row = cursor->id;
    return 1;
  }
  return 0;
}

static int string_column(hs_cursor *cursor, sqlite3_context *context, int column, lh_error *error) {
  const lh_object *object = hs_decoded(cursor, cursor->id);
  (void)error;
  switch (column) {
    case ID: hs_result_id(context, cursor->file, cursor->id); break;
    case STRING_LENGTH: hs_result_bytes(context, object->as.string.length); break;
    case STRING_KEPT: hs_result_bytes(context, object->as.string.kept); break;
    case STRING_HASH:
      if (object->as.string.kept < object->as.string.length)
        hs_result_hex(context, object->as.string.hash);
      break;
    default: hs_result_string(context, cursor->file, cursor->id); break;
  }
  return LH_OK;
}

const hs_kind hs_strings = {.name = "strings",
                            .columns = string_columns,
                            .n_columns = STRING_TEXT + 1,
                            .key = "id",
                            .rows_per_object = 0.5,
                            .begin = begin_strings,
                            .next = next_string,
                            .column = string_column};

/* }=================================================================================== */
