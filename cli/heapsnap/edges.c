/*
** edges.c - the tables edges (what refers to what) and entries (all that is in tables, numbers and
** booleans too). A row is found by its source; by its target, through an index of sources.
*/
#include "heapsnap.h"

/* {=== edges ========================================================================== */

static int begin_edges(hs_cursor *cursor, lh_error *error) {
  int code = hs_need_analysis(cursor->file, error); /* it finds the ephemerons */
  (void)hs_begin_objects(cursor, error);
  if (code != LH_OK || !hs_looks_up(cursor, HS_FEW_IDS)) return code;
  code = hs_index_targets(cursor->file, error);
  if (code != LH_OK) return code;
  cursor->at = cursor->file->by_target.first[cursor->object];
  cursor->end = cursor->file->by_target.first[cursor->object + 1];
  return LH_OK;
}

/* The next that ends in the object asked for. */
static int next_to_target(hs_cursor *cursor) {
  if (cursor->at == cursor->end || lh_is_own(cursor->file->snapshot, cursor->object)) return 0;
  hs_edge_id id = cursor->file->by_target.item[cursor->at++];
  hs_edge_at(cursor->file, id, &cursor->edge);
  cursor->position = id.position;
  return 1;
}

static int next_edge(hs_cursor *cursor, lh_error *error) {
  const lh_snapshot *snapshot = cursor->file->snapshot;
  (void)error;
  if (hs_looks_up(cursor, HS_FEW_IDS)) return next_to_target(cursor);
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

static void tell_kind(hs_cursor *cursor, sqlite3_context *context) {
  hs_result_static(context, lh_edge_kind_name(cursor->edge.kind));
}

static void tell_label(hs_cursor *cursor, sqlite3_context *context) {
  hs_result_text(context, lh_edge_text(cursor->file->snapshot, &cursor->edge));
}

static void tell_key(hs_cursor *cursor, sqlite3_context *context) {
  if (has_key(&cursor->edge)) hs_result_value(context, cursor->file, cursor->edge.key);
}

static void tell_key_id(hs_cursor *cursor, sqlite3_context *context) {
  if (has_key(&cursor->edge) && cursor->edge.key.kind == LH_VALUE_OBJECT)
    hs_result_id(context, cursor->file, cursor->edge.key.as.object);
}

#define ROW hs_cursor
static const hs_column edge_columns[] = {
    HS_SNAPSHOT,
    HS_ID("source", edge.source, HS_LOOKUP(HS_ONE_ID)),
    HS_ID("target", edge.target, HS_LOOKUP(HS_FEW_IDS)),
    HS_COMPUTED("kind", HS_TEXT, tell_kind),
    HS_COMPUTED("label", HS_TEXT, tell_label, HS_NEEDS(HS_CLASSIFIED)), /* it names functions */
    HS_FLAG("weak", edge.weak),
    HS_COMPUTED("key", HS_ANY, tell_key),
    HS_COMPUTED("key_id", HS_INTEGER, tell_key_id, HS_HIDDEN),
    HS_COUNT("position", position, HS_HIDDEN),
    HS_LINE("line", edge.line, HS_HIDDEN),
    HS_ID("holder", edge.holder, HS_HIDDEN)};
#undef ROW

const hs_kind hs_edges = {.name = "edges",
                          HS_COLUMNS(edge_columns),
                          .key = "source, position",
                          .rows_per_object = 3,
                          .begin = begin_edges,
                          .next = next_edge};

/* }=================================================================================== */

/* {=== entries ======================================================================== */

#define ROW hs_cursor
static const hs_column entry_columns[] = {HS_SNAPSHOT,
                                          HS_ID("id", id, HS_LOOKUP(HS_ONE_ID)),
                                          HS_VALUE("key", key),
                                          HS_VALUE("value", value),
                                          HS_OBJECT("key_id", key),
                                          HS_OBJECT("value_id", value),
                                          HS_COUNT("position", position, HS_HIDDEN)};
#undef ROW

static bool read_entry(hs_cursor *cursor) {
  return lh_entries_next(&cursor->iterator, &cursor->key, &cursor->value);
}

static int next_entry(hs_cursor *cursor, lh_error *error) {
  (void)error;
  return hs_next_inside(cursor, LH_TYPE_TABLE, lh_entries_begin, read_entry);
}

const hs_kind hs_entries = {.name = "entries",
                            HS_COLUMNS(entry_columns),
                            .key = "id, position",
                            .rows_per_object = 3,
                            .begin = hs_begin_objects,
                            .next = next_entry};

/* }=================================================================================== */
