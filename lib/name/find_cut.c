/*
** find_cut.c - what an expression takes away: the references that the last step of a path or phrase
** follows, as though they were set to nil in Lua; or the objects themselves, where they are told by
** address, place or class.
**
** The ways of find.c lead there, and note on the last step what they follow. An entry of a table
** goes with its key. An upvalue is a variable: what goes is what it refers to, for all functions
** that share it, and for its thread if it is in scope there.
*/
#include "find.h"
#include "graph/graph.h"

static bool note_one(lh_edge_list *list, const lh_edge *edge) {
  if (!lh_grow(&list->edges, list->n, &list->capacity, sizeof *list->edges)) return false;
  list->edges[list->n++] = *edge;
  return true;
}

static bool note_edge(lh_finder *finder, const lh_edge *edge) {
  lh_edge_list *list = finder->followed;
  lh_edge other;
  if (!note_one(list, edge)) return false;
  return !lh_may_be_variable(finder->snapshot, edge) || list->n_variables++ >= LH_MOST_VARIABLES ||
         !lh_same_variable(finder->snapshot, edge, &other) || note_one(list, &other);
}

bool lh_follow_edge(lh_finder *finder, const lh_edge *edge) {
  lh_edges it;
  lh_edge content;
  if (!finder->is_last) return true;
  if (edge->kind != LH_EDGE_UPVALUE) return note_edge(finder, edge);
  uint32_t *noted = lh_map_at(&finder->followed->upvalues, edge->target);
  if (!noted || *noted == edge->target) return noted;
  *noted = edge->target;
  for (lh_edges_begin(finder->snapshot, edge->target, &it); lh_edges_next(&it, &content);)
    if (!note_edge(finder, &content)) return false;
  return true;
}

bool lh_follow_entry(lh_finder *finder, lh_id table, lh_value key, lh_value value) {
  lh_edge edge = {.source = table, .name = LH_NO_OBJECT, .holder = LH_NO_OBJECT, .key = key};
  if (!finder->is_last) return true;
  if (key.kind == LH_VALUE_OBJECT) {
    edge.kind = LH_EDGE_KEY;
    edge.target = key.as.object;
    if (!note_edge(finder, &edge)) return false;
  }
  if (value.kind != LH_VALUE_OBJECT) return true;
  edge.kind = LH_EDGE_VALUE;
  edge.target = value.as.object;
  return note_edge(finder, &edge);
}

int lh_find_cut(lh_snapshot *snapshot, const char *expression, lh_without *out, lh_error *error) {
  lh_edge_list followed = {0};
  lh_finder finder = {
      .snapshot = snapshot, .error = error, .start = expression, .followed = &followed};
  lh_set set = {0};
  int code = lh_find_matches(&finder, &set);
  *out = (lh_without){0};
  if (!code && followed.n) {
    out->edges = followed.edges;
    out->n_edges = followed.n;
    followed.edges = NULL;
  } else if (!code) {
    out->objects = set.ids;
    out->n_objects = set.n;
    set.ids = NULL;
  }
  lh_free(followed.edges);
  lh_map_free(&followed.upvalues);
  lh_free(set.ids);
  lh_free(finder.seen);
  return code;
}
