/*
** edges.c - the tables edges (what refers to what) and entries (all that is in tables, numbers and
** booleans too). A row is found by its source; by its target, through an index of sources.
*/
#include "heapsnap.h"

/* {=== edges ========================================================================== */

enum { SOURCE = 1, TARGET, KIND, LABEL, WEAK, KEY, KEY_ID, POSITION, LINE, HOLDER };

static const hs_column edge_columns[] = {
    {"snapshot", HS_TEXT, HS_NONE, false},
    [SOURCE] = {"source", HS_INTEGER, HS_ONE_ID, false},
    [TARGET] = {"target", HS_INTEGER, HS_FEW_IDS, false},
    [KIND] = {"kind", HS_TEXT, HS_NONE, false},
    [LABEL] = {"label", HS_TEXT, HS_NONE, false},
    [WEAK] = {"weak", HS_INTEGER, HS_NONE, false},
    [KEY] = {"key", HS_ANY, HS_NONE, false},
    [KEY_ID] = {"key_id", HS_INTEGER, HS_NONE, true},
    [POSITION] = {"position", HS_INTEGER, HS_NONE, true},
    [LINE] = {"line", HS_INTEGER, HS_NONE, true},
    [HOLDER] = {"holder", HS_INTEGER, HS_NONE, true},
};

static int begin_edges(hs_cursor *cursor, lh_error *error) {
  int code = hs_need_analysis(cursor->file, error); /* it finds the ephemerons */
  cursor->position = 0;
  hs_begin_objects(cursor);
  if (code != LH_OK || cursor->lookup != TARGET) return code;
  code = hs_index_targets(cursor->file, error);
  if (code != LH_OK) return code;
  cursor->at = cursor->file->by_target.first[cursor->object];
  cursor->end = cursor->file->by_target.first[cursor->object + 1];
  return LH_OK;
}

/* The next that ends in the object asked for. */
static int next_to_target(hs_cursor *cursor) {
  if (cursor->at == cursor->end || lh_is_own(cursor->file->snapshot, cursor->object)) return 0;
  hs_place place = cursor->file->by_target.place[cursor->at++];
  hs_edge_at(cursor->file, place, &cursor->edge);
  cursor->position = place.position;
  return 1;
}

static int next_edge(hs_cursor *cursor, lh_error *error) {
  const lh_snapshot *snapshot = cursor->file->snapshot;
  (void)error;
  if (cursor->lookup == TARGET) return next_to_target(cursor);
  for (;;) {
    if (cursor->position == 0) {
      lh_id source = hs_next_object(cursor);
      if (source == LH_NO_OBJECT) return 0;
      lh_edges_begin(snapshot, source, &cursor->iterator);
    }
    if (lh_edges_next(&cursor->iterator, &cursor->edge)) {
      cursor->position++;
      if (!lh_is_own(snapshot, cursor->edge.target)) return 1;
    } else {
      cursor->position = 0;
    }
  }
}

static bool has_key(const lh_edge *edge) {
  return edge->kind == LH_EDGE_VALUE || edge->kind == LH_EDGE_KEY ||
         edge->kind == LH_EDGE_EPHEMERON;
}

static int edge_column(hs_cursor *cursor, sqlite3_context *context, int column, lh_error *error) {
  hs_file *file = cursor->file;
  const lh_edge *edge = &cursor->edge;
  int code;
  switch (column) {
    case SOURCE: hs_result_id(context, file, edge->source); break;
    case TARGET: hs_result_id(context, file, edge->target); break;
    case KIND: hs_result_static(context, lh_edge_kind_name(edge->kind)); break;
    case LABEL:
      code = hs_need_classes(file, error); /* it names the functions */
      if (code != LH_OK) return code;
      hs_result_text(context, lh_edge_text(file->snapshot, edge));
      break;
    case WEAK: sqlite3_result_int(context, edge->weak); break;
    case KEY:
      if (has_key(edge)) hs_result_value(context, file, edge->key);
      break;
    case KEY_ID:
      if (has_key(edge) && edge->key.kind == LH_VALUE_OBJECT)
        hs_result_id(context, file, edge->key.as.object);
      break;
    case POSITION: sqlite3_result_int64(context, cursor->position); break;
    case LINE:
      if (edge->line != 0) sqlite3_result_int64(context, edge->line);
      break;
    default: hs_result_id(context, file, edge->holder); break;
  }
  return LH_OK;
}

const hs_kind hs_edges = {.name = "edges",
                          .columns = edge_columns,
                          .n_columns = HOLDER + 1,
                          .key = "source, position",
                          .rows_per_object = 3,
                          .begin = begin_edges,
                          .next = next_edge,
                          .column = edge_column};

/* }=================================================================================== */

/* {=== entries ======================================================================== */

enum { ENTRY_ID = 1, ENTRY_KEY, ENTRY_VALUE, ENTRY_KEY_ID, ENTRY_VALUE_ID, ENTRY_POSITION };

static const hs_column entry_columns[] = {
    {"snapshot", HS_TEXT, HS_NONE, false},
    [ENTRY_ID] = {"id", HS_INTEGER, HS_ONE_ID, false},
    [ENTRY_KEY] = {"key", HS_ANY, HS_NONE, false},
    [ENTRY_VALUE] = {"value", HS_ANY, HS_NONE, false},
    [ENTRY_KEY_ID] = {"key_id", HS_INTEGER, HS_NONE, false},
    [ENTRY_VALUE_ID] = {"value_id", HS_INTEGER, HS_NONE, false},
    [ENTRY_POSITION] = {"position", HS_INTEGER, HS_NONE, true},
};

static int begin_entries(hs_cursor *cursor, lh_error *error) {
  (void)error;
  cursor->position = 0;
  hs_begin_objects(cursor);
  return LH_OK;
}

static int next_entry(hs_cursor *cursor, lh_error *error) {
  const lh_snapshot *snapshot = cursor->file->snapshot;
  (void)error;
  for (;;) {
    if (cursor->position == 0) {
      do {
        cursor->id = hs_next_object(cursor);
        if (cursor->id == LH_NO_OBJECT) return 0;
      } while (lh_type_of(snapshot, cursor->id) != LH_TYPE_TABLE);
      lh_entries_begin(snapshot, cursor->id, &cursor->iterator);
    }
    if (lh_entries_next(&cursor->iterator, &cursor->key, &cursor->value)) {
      cursor->position++;
      return 1;
    }
    cursor->position = 0;
  }
}

static int entry_column(hs_cursor *cursor, sqlite3_context *context, int column, lh_error *error) {
  hs_file *file = cursor->file;
  (void)error;
  switch (column) {
    case ENTRY_ID: hs_result_id(context, file, cursor->id); break;
    case ENTRY_KEY: hs_result_value(context, file, cursor->key); break;
    case ENTRY_VALUE: hs_result_value(context, file, cursor->value); break;
    case ENTRY_KEY_ID:
      if (cursor->key.kind == LH_VALUE_OBJECT) hs_result_id(context, file, cursor->key.as.object);
      break;
    case ENTRY_VALUE_ID:
      if (cursor->value.kind == LH_VALUE_OBJECT)
        hs_result_id(context, file, cursor->value.as.object);
      break;
    default: sqlite3_result_int64(context, cursor->position); break;
  }
  return LH_OK;
}

const hs_kind hs_entries = {.name = "entries",
                            .columns = entry_columns,
                            .n_columns = ENTRY_POSITION + 1,
                            .key = "id, position",
                            .rows_per_object = 3,
                            .begin = begin_entries,
                            .next = next_entry,
                            .column = entry_column};

/* }=================================================================================== */
