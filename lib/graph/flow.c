/*
** flow.c - references that paths have taken, each of them once: a maximum flow, one augmenting path
** after the other (L. R. Ford and D. R. Fulkerson, "Maximal Flow Through a Network", 1956). As many
** paths as it finds share no reference, and as many references have to be cut to part the two ends:
** K. Menger's theorem.
**
** What people cut at once is one unit, though it may be two references: an entry of a table with
** its key, which come from one table, and a captured variable (variable.c), whose two references
** lead to one object. Only one member of a unit is taken. So a search may go on from v
**
**     to the target of each reference of v that is free, as is all its unit;
**     back to the source of a taken reference to v, which it gives up then,
**     or to the target of another member of that one's unit, which is taken instead;
**     and from v's member of a unit of which another is taken to the source of that, likewise.
**
** Units are looked for when a reference is taken first, so it costs the edges of the objects on the
** paths; all else is the search's. A member takes 40 bytes.
*/
#include "graph.h"

#include <assert.h>

#include "name/map.h"

enum { NONE = UINT32_MAX };

typedef struct member {
  uint32_t at; /* in snapshot->edge */
  lh_id source, target;
  uint32_t other;          /* the other member of its unit; NONE */
  uint32_t next_of_source; /* members of one source, or target: chains */
  uint32_t next_of_target;
  bool is_taken;
} member;

struct lh_flow {
  const lh_snapshot *snapshot;
  uint8_t *touched; /* vertices that members come from or lead to */
  member *members;
  size_t n_members, capacity;
  unsigned n_variables;        /* that were looked for */
  lh_map by_at;                /* edge -> member */
  lh_map of_source, of_target; /* vertex -> first of its chain */
  lh_id *targets;              /* of lh_flow_targets */
  size_t n_targets, target_capacity;
};

lh_flow *lh_flow_new(const lh_snapshot *snapshot) {
  lh_flow *flow = lh_alloc_zeroed(1, sizeof *flow);
  if (!flow) return NULL;
  flow->snapshot = snapshot;
  flow->touched = lh_alloc_zeroed((size_t)snapshot->n + 1, 1);
  if (flow->touched) return flow;
  lh_flow_free(flow);
  return NULL;
}

void lh_flow_free(lh_flow *flow) {
  if (!flow) return;
  lh_free(flow->touched);
  lh_free(flow->members);
  lh_free(flow->targets);
  lh_map_free(&flow->by_at);
  lh_map_free(&flow->of_source);
  lh_map_free(&flow->of_target);
  lh_free(flow);
}

/* {=== Units ========================================================================== */

/* Edge number `at` of the graph; and of a table's entry the other one, if both keep alive. */
static lh_edge edge_at(const lh_snapshot *s, lh_id source, uint32_t at, uint32_t *other_at) {
  lh_edges it;
  lh_edge edge = {0}, before = {0}, after;
  uint32_t e = s->first_edge[source];
  *other_at = NONE;
  lh_edges_begin(s, source, &it);
  while (lh_edges_next(&it, &edge)) {
    if (edge.weak) continue;
    if (e++ == at) break;
    before = edge;
  }
  if (edge.kind == LH_EDGE_VALUE && before.kind == LH_EDGE_KEY && before.source == source &&
      edge.key.kind == LH_VALUE_OBJECT && edge.key.as.object == before.target)
    *other_at = at - 1;
  else if (edge.kind == LH_EDGE_KEY && lh_edges_next(&it, &after) && !after.weak &&
           after.kind == LH_EDGE_VALUE && after.key.kind == LH_VALUE_OBJECT &&
           after.key.as.object == edge.target)
    *other_at = at + 1;
  return edge;
}

static uint32_t find_edge(const lh_snapshot *s, const lh_edge *edge) {
  lh_edges it;
  lh_edge found;
  uint32_t e = s->first_edge[edge->source];
  for (lh_edges_begin(s, edge->source, &it); lh_edges_next(&it, &found);) {
    if (found.weak) continue;
    if (found.kind == edge->kind && found.target == edge->target &&
        found.ordinal == edge->ordinal && found.index == edge->index)
      return e;
    e++;
  }
  return NONE;
}

static bool chain(lh_map *map, lh_id vertex, uint32_t i, uint32_t *next) {
  uint32_t *first = lh_map_at(map, vertex);
  if (!first) return false;
  *next = *first;
  *first = i;
  return true;
}

/* NONE when out of memory. */
static uint32_t add_member(lh_flow *flow, lh_id source, uint32_t at) {
  if (!lh_grow(&flow->members, flow->n_members, &flow->capacity, sizeof *flow->members))
    return NONE;
  uint32_t i = (uint32_t)flow->n_members;
  member *m = &flow->members[i];
  *m = (member){.at = at, .source = source, .target = flow->snapshot->edge[at], .other = NONE};
  uint32_t *by_at = lh_map_at(&flow->by_at, at);
  if (!by_at) return NONE;
  *by_at = i;
  if (!chain(&flow->of_source, m->source, i, &m->next_of_source) ||
      !chain(&flow->of_target, m->target, i, &m->next_of_target))
    return NONE;
  flow->touched[m->source] = flow->touched[m->target] = 1;
  flow->n_members++;
  return i;
}

/* The member for an edge of the graph, with its unit; NONE when out of memory. */
static uint32_t member_of(lh_flow *flow, lh_id source, uint32_t at) {
  uint32_t known = lh_map_get(&flow->by_at, at), other_at;
  if (known != NONE) return known;
  lh_edge edge = edge_at(flow->snapshot, source, at, &other_at), other = {.source = source};
  if (lh_may_be_variable(flow->snapshot, &edge) && flow->n_variables++ < LH_MOST_VARIABLES &&
      lh_same_variable(flow->snapshot, &edge, &other))
    other_at = find_edge(flow->snapshot, &other);
  known = add_member(flow, source, at);
  if (known == NONE || other_at == NONE) return known;
  if (lh_map_get(&flow->by_at, other_at) != NONE) return known; /* of two variables of one name */
  uint32_t second = add_member(flow, other.source, other_at);
  if (second == NONE) return NONE;
  flow->members[known].other = second;
  flow->members[second].other = known;
  return known;
}

/* The member of its unit that is taken, or NONE. */
static uint32_t taken_of(const lh_flow *flow, uint32_t i) {
  uint32_t other = flow->members[i].other;
  if (flow->members[i].is_taken) return i;
  return other != NONE && flow->members[other].is_taken ? other : NONE;
}

/* }=================================================================================== */

/* {=== Where a search may go ========================================================== */

bool lh_flow_touches(const lh_flow *flow, lh_id vertex) {
  return flow->touched[vertex];
}

static bool add_target(lh_flow *flow, lh_id target) {
  if (!lh_grow(&flow->targets, flow->n_targets, &flow->target_capacity, sizeof *flow->targets))
    return false;
  flow->targets[flow->n_targets++] = target;
  return true;
}

const lh_id *lh_flow_targets(lh_flow *flow, lh_id vertex, size_t *n) {
  const lh_snapshot *s = flow->snapshot;
  bool ok = true;
  flow->n_targets = 0;
  for (uint32_t e = s->first_edge[vertex]; ok && e < s->first_edge[vertex + 1]; e++) {
    uint32_t i = lh_map_get(&flow->by_at, e), taken = i == NONE ? NONE : taken_of(flow, i);
    if (taken == NONE)
      ok = add_target(flow, s->edge[e]);
    else if (taken != i)
      ok = add_target(flow, flow->members[taken].source);
  }
  uint32_t i = lh_map_get(&flow->of_target, vertex);
  for (; ok && i != NONE; i = flow->members[i].next_of_target) {
    const member *m = &flow->members[i];
    if (!m->is_taken) continue;
    ok = add_target(flow, m->source);
    if (ok && m->other != NONE) ok = add_target(flow, flow->members[m->other].target);
  }
  if (ok && !flow->targets) ok = add_target(flow, vertex); /* never NULL */
  *n = flow->n_targets;
  return ok ? flow->targets : NULL;
}

/* }=================================================================================== */

/* {=== Taking paths =================================================================== */

/* A step along a free reference, or from a member of a unit back to the taken one's source. */
static bool take_forward(lh_flow *flow, lh_id from, lh_id to, bool *done) {
  const lh_snapshot *s = flow->snapshot;
  uint32_t back = NONE;
  *done = true;
  for (uint32_t e = s->first_edge[from]; e < s->first_edge[from + 1]; e++) {
    uint32_t i = lh_map_get(&flow->by_at, e), taken = i == NONE ? NONE : taken_of(flow, i);
    if (taken == NONE && s->edge[e] == to) {
      i = member_of(flow, from, e);
      if (i == NONE) return false;
      flow->members[i].is_taken = true;
      return true;
    }
    if (taken != NONE && taken != i && flow->members[taken].source == to) back = i;
  }
  *done = back != NONE;
  if (*done) {
    flow->members[flow->members[back].other].is_taken = false;
    flow->members[back].is_taken = true;
  }
  return true;
}

/* A step that gives up a taken reference to `from`, or takes the other member of its unit. */
static void take_back(lh_flow *flow, lh_id from, lh_id to) {
  uint32_t other = NONE;
  uint32_t i = lh_map_get(&flow->of_target, from);
  for (; i != NONE; i = flow->members[i].next_of_target) {
    member *m = &flow->members[i];
    if (!m->is_taken) continue;
    if (m->source == to) {
      m->is_taken = false;
      return;
    }
    if (m->other != NONE && flow->members[m->other].target == to) other = i;
  }
  if (other == NONE) return;
  flow->members[other].is_taken = false;
  flow->members[flow->members[other].other].is_taken = true;
}

bool lh_flow_take(lh_flow *flow, const lh_id *vertices, size_t n) {
  bool done;
  for (size_t i = 1; i < n; i++) {
    if (!take_forward(flow, vertices[i - 1], vertices[i], &done)) return false;
    if (!done) take_back(flow, vertices[i - 1], vertices[i]);
  }
  return true;
}

/* The taken members from `from` to `to`, as a list of their numbers. */
static uint32_t next_taken(const lh_flow *flow, lh_id vertex) {
  uint32_t i = lh_map_get(&flow->of_source, vertex);
  while (i != NONE && !flow->members[i].is_taken) i = flow->members[i].next_of_source;
  return i;
}

bool lh_flow_next(lh_flow *flow, lh_id from, lh_id to, uint32_t *place, lh_path *path) {
  uint32_t *list = NULL;
  size_t n = 0, capacity = 0;
  bool ok = true;
  lh_id at = from;
  place[from] = 0;
  while (ok && at != to) {
    uint32_t i = next_taken(flow, at);
    assert(i != NONE);
    ok = lh_grow(&list, n, &capacity, sizeof *list);
    if (!ok) break;
    flow->members[i].is_taken = false;
    list[n++] = i;
    at = flow->members[i].target;
    if (place[at] != UINT32_MAX) { /* a loop */
      size_t kept = place[at];
      while (n > kept) {
        lh_id target = flow->members[list[--n]].target;
        if (target != at) place[target] = UINT32_MAX;
      }
    }
    place[at] = (uint32_t)n;
  }
  place[from] = UINT32_MAX;
  for (size_t i = 0; i < n; i++) place[flow->members[list[i]].target] = UINT32_MAX;
  *path = (lh_path){.n_steps = n, .steps = lh_alloc(n, sizeof *path->steps)};
  ok = ok && path->steps;
  for (size_t i = 0; ok && i < n; i++) {
    const member *m = &flow->members[list[i]];
    uint32_t other_at;
    path->steps[i] = edge_at(flow->snapshot, m->source, m->at, &other_at);
  }
  if (!ok) lh_free(path->steps);
  lh_free(list);
  return ok;
}

/* }=================================================================================== */
