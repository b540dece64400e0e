/*
** waste_debug.c - the debug information of loaded code, by source: what a program that was stripped
** (luac -s, string.dump with true) has not. That is the lines and the lists of variables of each
** prototype, which are told by the file, and the strings to which only debug information refers:
** names of variables, and of the source.
**
** A string is needed if anything but debug information refers to it; one byte for each object.
*/
#include "graph/graph.h"
#include "waste.h"

enum { NEEDED = 1, COUNTED = 2 };

/* What prototypes refer to is told by kind, which costs more than to follow the graph. */
static void mark_needed(const lh_snapshot *snapshot, uint8_t *state) {
  lh_edges it;
  lh_edge edge;
  for (lh_id id = 0; id <= snapshot->n; id++) {
    if (!lh_is_reachable(snapshot, id)) continue;
    if (lh_type_of(snapshot, id) != LH_TYPE_PROTO) {
      for (uint32_t e = snapshot->first_edge[id]; e < snapshot->first_edge[id + 1]; e++)
        state[snapshot->edge[e]] |= NEEDED;
      continue;
    }
    for (lh_edges_begin(snapshot, id, &it); lh_edges_next(&it, &edge);)
      if (edge.kind != LH_EDGE_SOURCE && edge.kind != LH_EDGE_DEBUG_NAME)
        state[edge.target] |= NEEDED;
  }
}

/* The bytes of the strings that go with the debug information of a prototype. */
static uint64_t take_names(const lh_wasted *w, lh_id proto, uint8_t *state) {
  uint64_t bytes = 0;
  lh_edges it;
  lh_edge edge;
  for (lh_edges_begin(w->snapshot, proto, &it); lh_edges_next(&it, &edge);) {
    bool is_name = lh_type_of(w->snapshot, edge.target) == LH_TYPE_STRING &&
                   !lh_is_own(w->snapshot, edge.target);
    if (!is_name || state[edge.target] || w->kinds[edge.target] & 1u << LH_WASTE_STRINGS) continue;
    state[edge.target] = COUNTED;
    bytes += lh_shallow_bytes(w->snapshot, edge.target);
  }
  return bytes;
}

static uint32_t place_of_source(lh_waste_rows *rows, const lh_snapshot *snapshot, lh_id source) {
  lh_text text = {0};
  lh_add_source(&text, snapshot, source);
  return lh_place_called(rows->places, &text);
}

/* `places`: of each source. */
static bool add_proto(const lh_wasted *w, lh_waste_rows *rows, lh_id id, uint8_t *state,
                      lh_map *places) {
  lh_object proto;
  lh_object_at(w->snapshot, id, &proto);
  lh_waste_part part = {.id = id,
                        .original = LH_NO_OBJECT,
                        .bytes = proto.as.proto.debug_bytes + take_names(w, id, state)};
  if (part.bytes == 0) return true;
  uint32_t *place = lh_map_at(places, proto.as.proto.source);
  if (place && *place == LH_NO_NUMBER)
    *place = place_of_source(rows, w->snapshot, proto.as.proto.source);
  return place && *place != LH_NO_NUMBER && lh_add_waste(rows, *place, &part);
}

bool lh_find_debug_waste(const lh_wasted *w, lh_waste_rows *rows) {
  const lh_snapshot *snapshot = w->snapshot;
  uint8_t *state = lh_alloc_zeroed((size_t)snapshot->n + 1, 1);
  lh_map places = {0};
  bool ok = state != NULL;
  if (ok) mark_needed(snapshot, state);
  for (lh_id id = 1; ok && id <= snapshot->n; id++)
    if (lh_type_of(snapshot, id) == LH_TYPE_PROTO && lh_may_be_waste(snapshot, id))
      ok = add_proto(w, rows, id, state, &places);
  lh_map_free(&places);
  lh_free(state);
  return ok;
}
