/*
** variable.c - a local variable that a function has captured while it is in scope is one variable,
** but two references: from its thread's stack, and from the open upvalue that stands for the slot.
**
** A snapshot does not say which slot that is. But the thread tells its open upvalues, functions
** tell what they call theirs, and the two references have the same target. Who asks has few such
** references, so the functions are looked for each time: 0.01 s for 2.2 million objects.
*/
#include "graph.h"

/* So many captured variables of one thread that have the same value are looked at. */
enum { MOST_OF_ONE_VALUE = 8 };

static bool refers_to(const lh_snapshot *s, lh_id source, lh_id target) {
  for (uint32_t e = s->first_edge[source]; e < s->first_edge[source + 1]; e++)
    if (s->edge[e] == target) return true;
  return false;
}

/* The first edge of this kind and target; with a name, of that name only. */
static bool find_edge(const lh_snapshot *s, lh_id source, lh_edge_kind kind, lh_id target,
                      lh_id name, lh_edge *edge) {
  lh_edges it;
  if (!refers_to(s, source, target)) return false;
  for (lh_edges_begin(s, source, &it); lh_edges_next(&it, edge);)
    if (edge->kind == kind && edge->target == target && !edge->weak &&
        (name == LH_NO_OBJECT || edge->name == name))
      return true;
  return false;
}

/* What any function calls the upvalue. */
static lh_id name_of(const lh_snapshot *s, lh_id upvalue) {
  lh_edge edge;
  for (lh_id id = 1; id <= s->n; id++)
    if (lh_type_of(s, id) == LH_TYPE_CLOSURE &&
        find_edge(s, id, LH_EDGE_UPVALUE, upvalue, LH_NO_OBJECT, &edge))
      return edge.name;
  return LH_NO_OBJECT;
}

static bool find_local(const lh_snapshot *s, lh_id upvalue, lh_id value, lh_edge *local) {
  lh_edge open;
  lh_id name = name_of(s, upvalue);
  if (name == LH_NO_OBJECT) return false;
  for (lh_id id = 1; id <= s->n; id++)
    if (lh_type_of(s, id) == LH_TYPE_THREAD &&
        find_edge(s, id, LH_EDGE_OPEN_UPVALUE, upvalue, LH_NO_OBJECT, &open))
      return find_edge(s, id, LH_EDGE_LOCAL, value, name, local);
  return false;
}

static bool find_content(const lh_snapshot *s, const lh_edge *local, lh_edge *content) {
  lh_edges it;
  lh_edge open;
  unsigned n_tried = 0;
  lh_edges_begin(s, local->source, &it);
  while (n_tried < MOST_OF_ONE_VALUE && lh_edges_next(&it, &open)) {
    if (open.kind != LH_EDGE_OPEN_UPVALUE || lh_type_of(s, open.target) != LH_TYPE_UPVALUE ||
        !find_edge(s, open.target, LH_EDGE_CONTENT, local->target, LH_NO_OBJECT, content))
      continue;
    if (name_of(s, open.target) == local->name) return true;
    n_tried++;
  }
  return false;
}

bool lh_may_be_variable(const lh_snapshot *snapshot, const lh_edge *edge) {
  lh_object upvalue;
  if (edge->weak) return false;
  if (edge->kind == LH_EDGE_LOCAL) return edge->name != LH_NO_OBJECT;
  if (edge->kind != LH_EDGE_CONTENT || lh_type_of(snapshot, edge->source) != LH_TYPE_UPVALUE)
    return false;
  lh_object_at(snapshot, edge->source, &upvalue);
  return upvalue.as.upvalue.open;
}

bool lh_same_variable(const lh_snapshot *snapshot, const lh_edge *edge, lh_edge *other) {
  return edge->kind == LH_EDGE_LOCAL ? find_content(snapshot, edge, other)
                                     : find_local(snapshot, edge->source, edge->target, other);
}
