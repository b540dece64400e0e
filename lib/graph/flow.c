/*
** flow.c - a maximum flow: paths of which no two share a reference.
**
** One augmenting path after the other (L. R. Ford and D. R. Fulkerson, "Maximal Flow Through a
** Network", 1956). The number of paths is the number of references to cut (Menger's theorem).
**
** A unit is a set of references that people cut at once; a path takes at most one member. Units are
** a table entry with its key, and a captured local variable in scope, which has a reference from
** the thread's stack and one from the open upvalue. A search can move on from v
**
**     to the target of each reference of v whose unit is free;
**     back to the source of a taken reference to v, which becomes free;
**     to the target of another member of that reference's unit, which is taken instead;
**     from v's member of a unit to the source of the taken member, likewise.
**
** A snapshot does not say which slot an open upvalue is. But the thread lists its open upvalues,
** functions name theirs, and both references have one target. The functions are searched each time:
** 0.01 s for 2.2 million objects. Memory: 28 bytes for each reference on a path, and at most 100 to
** find it again.
*/
#include "graph.h"
#include "read/decode.h"

enum { NONE = UINT32_MAX };

typedef struct member {
  uint32_t at; /* index in snapshot->edge */
  lh_id source, target;
  uint32_t other;          /* the other member of the unit, or NONE */
  uint32_t next_of_source; /* chains of members with one source, or one target */
  uint32_t next_of_target;
  bool is_taken;
} member;

/* A hash table from edges or vertices to members. */
typedef struct lookup {
  struct slot {
    uint32_t key;
    uint32_t number; /* of the member, from 1 on; 0: an empty slot */
  } * slots;
  uint32_t n, n_slots; /* at most half of the slots are used; their number is a power of 2 */
} lookup;

struct lh_flow {
  const lh_snapshot *snapshot;
  lh_id to;
  member *members;
  size_t n_members, capacity;
  unsigned n_variables;        /* looked up so far */
  lookup by_at;                /* an edge's member */
  lookup of_source, of_target; /* a vertex's first member */
  lh_id *targets;              /* result of lh_flow_targets */
  size_t n_targets, target_capacity;
};

static uint32_t slot_of(const lookup *l, uint32_t key) {
  uint32_t at = key * 0x9E3779B1u;
  at = (at ^ at >> 15) & (l->n_slots - 1);
  while (l->slots[at].number && l->slots[at].key != key) at = (at + 1) & (l->n_slots - 1);
  return at;
}

/* NONE: the key has no member. */
static uint32_t find_member(const lookup *l, uint32_t key) {
  return l->slots[slot_of(l, key)].number - 1;
}

static bool make_lookup(lookup *l, uint32_t n_slots) {
  const lookup old = *l;
  l->slots = lh_alloc_zeroed(n_slots, sizeof *l->slots);
  l->n_slots = n_slots;
  for (uint32_t i = 0; l->slots && i < old.n_slots; i++)
    if (old.slots[i].number) l->slots[slot_of(l, old.slots[i].key)] = old.slots[i];
  lh_free(old.slots);
  return l->slots != NULL;
}

static bool put_member(lookup *l, uint32_t key, uint32_t number) {
  if (2 * l->n >= l->n_slots && !make_lookup(l, 2 * l->n_slots)) return false;
  uint32_t at = slot_of(l, key);
  l->n += l->slots[at].number == 0;
  l->slots[at].key = key;
  l->slots[at].number = number + 1;
  return true;
}

lh_flow *lh_flow_new(const lh_snapshot *snapshot, lh_id to) {
  enum { FIRST_SLOTS = 64 };
  lh_flow *flow = lh_alloc_zeroed(1, sizeof *flow);
  if (!flow) return NULL;
  flow->snapshot = snapshot;
  flow->to = to;
  if (make_lookup(&flow->by_at, FIRST_SLOTS) && make_lookup(&flow->of_source, FIRST_SLOTS) &&
      make_lookup(&flow->of_target, FIRST_SLOTS))
    return flow;
  lh_flow_free(flow);
  return NULL;
}

void lh_flow_free(lh_flow *flow) {
  if (!flow) return;
  LH_FREE_ALL(flow->members, flow->targets, flow->by_at.slots, flow->of_source.slots,
              flow->of_target.slots, flow);
}

/* ==== Units ========================================================================== */

/* The other reference of the entry, a key's for a value and a value's for a key. NONE: there is
** none that keeps its target alive. */
static uint32_t other_of_entry(const lh_snapshot *s, lh_id source, uint32_t at) {
  bool is_value = s->label[at] & LH_LABEL_KEYED;
  uint32_t other = is_value ? at - 1 : at + 1;
  if (!is_value && (lh_label_kind(s->label[at]) != LH_EDGE_KEY ||
                    other == s->first_edge[source + 1] || !(s->label[other] & LH_LABEL_KEYED)))
    return NONE;
  return s->label[other] & LH_LABEL_ASIDE ? NONE : other;
}

static uint32_t number_of_edge(const lh_snapshot *s, const lh_edge *edge) {
  lh_edges it;
  lh_edge found;
  for (lh_edges_begin(s, edge->source, &it); lh_edges_next(&it, &found);)
    if (!found.weak && found.kind == edge->kind && found.target == edge->target &&
        found.ordinal == edge->ordinal && found.index == edge->index)
      return lh_edges_number(&it);
  return NONE;
}

/* NONE: out of memory. */
static uint32_t add_member(lh_flow *flow, lh_id source, uint32_t at) {
  if (!lh_grow(&flow->members, flow->n_members, &flow->capacity, sizeof *flow->members))
    return NONE;
  uint32_t i = (uint32_t)flow->n_members++;
  lh_id target = flow->snapshot->edge[at];
  flow->members[i] = (member){.at = at,
                              .source = source,
                              .target = target,
                              .other = NONE,
                              .next_of_source = find_member(&flow->of_source, source),
                              .next_of_target = find_member(&flow->of_target, target)};
  bool ok = put_member(&flow->by_at, at, i) && put_member(&flow->of_source, source, i) &&
            put_member(&flow->of_target, target, i);
  return ok ? i : NONE;
}

/* No path continues from a string. */
static bool is_way(const lh_flow *flow, uint32_t at) {
  const lh_snapshot *s = flow->snapshot;
  return lh_type_of(s, s->edge[at]) != LH_TYPE_STRING || s->edge[at] == flow->to;
}

/* The edge that is cut together with this one, and in *source its source; or NONE. */
static uint32_t find_other(lh_flow *flow, lh_id *source, uint32_t at) {
  const lh_snapshot *s = flow->snapshot;
  lh_type type = lh_type_of(s, *source);
  lh_edge edge, other;
  if (type == LH_TYPE_TABLE) {
    uint32_t other_at = other_of_entry(s, *source, at);
    return other_at != NONE && is_way(flow, other_at) ? other_at : NONE;
  }
  if (type != LH_TYPE_UPVALUE && type != LH_TYPE_THREAD) return NONE;
  edge = lh_edge_at(s, *source, at);
  if (!lh_may_be_variable(s, &edge) || flow->n_variables++ >= LH_MOST_VARIABLES ||
      !lh_same_variable(s, &edge, &other))
    return NONE;
  *source = other.source;
  return number_of_edge(s, &other);
}

/* The member for an edge, made with its unit if needed. NONE: out of memory. */
static uint32_t member_of(lh_flow *flow, lh_id source, uint32_t at) {
  uint32_t known = find_member(&flow->by_at, at);
  if (known != NONE) return known;
  known = add_member(flow, source, at);
  uint32_t other_at = known == NONE ? NONE : find_other(flow, &source, at);
  if (other_at == NONE) return known;
  if (find_member(&flow->by_at, other_at) != NONE) return known; /* two variables have one name */
  uint32_t second = add_member(flow, source, other_at);
  if (second == NONE) return NONE;
  flow->members[known].other = second;
  flow->members[second].other = known;
  return known;
}

/* The taken member of i's unit, or NONE. */
static uint32_t taken_of(const lh_flow *flow, uint32_t i) {
  uint32_t other = flow->members[i].other;
  if (flow->members[i].is_taken) return i;
  return other != NONE && flow->members[other].is_taken ? other : NONE;
}

/* ==== Where a search may continue ==================================================== */

bool lh_flow_touches(const lh_flow *flow, lh_id vertex) {
  return find_member(&flow->of_source, vertex) != NONE ||
         find_member(&flow->of_target, vertex) != NONE;
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
    uint32_t i = find_member(&flow->by_at, e), taken = i == NONE ? NONE : taken_of(flow, i);
    if (taken == NONE)
      ok = add_target(flow, s->edge[e]);
    else if (taken != i)
      ok = add_target(flow, flow->members[taken].source);
  }
  uint32_t i = find_member(&flow->of_target, vertex);
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

/* The number of references between two vertices whose unit is taken. */
static size_t count_taken(const lh_flow *flow, lh_id source, lh_id target) {
  size_t n = 0;
  uint32_t i = find_member(&flow->of_source, source);
  for (; i != NONE; i = flow->members[i].next_of_source)
    n += flow->members[i].target == target && taken_of(flow, i) != NONE;
  return n;
}

static bool add_free_sources(lh_flow *flow, lh_id vertex) {
  const lh_snapshot *s = flow->snapshot;
  size_t n, end;
  const uint32_t *edges = lh_edges_to(s, vertex, &n);
  for (size_t i = 0; i < n; i = end) {
    lh_id source = lh_source_of_edge(s, edges[i]);
    for (end = i + 1; end < n && edges[end] < s->first_edge[source + 1];) end++;
    bool is_free =
        s->distance[source] != LH_UNREACHED && end - i > count_taken(flow, source, vertex);
    if (is_free && !add_target(flow, source)) return false;
  }
  return true;
}

const lh_id *lh_flow_sources(lh_flow *flow, lh_id vertex, size_t *n) {
  flow->n_targets = 0;
  bool ok = add_free_sources(flow, vertex);
  uint32_t i = find_member(&flow->of_source, vertex);
  for (; ok && i != NONE; i = flow->members[i].next_of_source) {
    const member *m = &flow->members[i];
    if (!m->is_taken) continue;
    ok = add_target(flow, m->target);
    if (ok && m->other != NONE) ok = add_target(flow, flow->members[m->other].source);
  }
  for (i = find_member(&flow->of_target, vertex); ok && i != NONE;
       i = flow->members[i].next_of_target) {
    uint32_t other = flow->members[i].other;
    if (other != NONE && flow->members[other].is_taken)
      ok = add_target(flow, flow->members[other].target);
  }
  if (ok && !flow->targets) ok = add_target(flow, vertex); /* never NULL */
  *n = flow->n_targets;
  return ok ? flow->targets : NULL;
}

/* ==== Taking paths =================================================================== */

/* A step along a free reference, or from a member of a unit to the source of the taken member. */
static bool take_forward(lh_flow *flow, lh_id from, lh_id to, bool *done) {
  const lh_snapshot *s = flow->snapshot;
  uint32_t back = NONE;
  *done = true;
  for (uint32_t e = s->first_edge[from]; e < s->first_edge[from + 1]; e++) {
    uint32_t i = find_member(&flow->by_at, e), taken = i == NONE ? NONE : taken_of(flow, i);
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

/* A step that frees a taken reference to `from`, or takes the other member of its unit. */
static void take_back(lh_flow *flow, lh_id from, lh_id to) {
  uint32_t other = NONE;
  uint32_t i = find_member(&flow->of_target, from);
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

/* The oldest taken member of a vertex, or NONE. */
static uint32_t next_taken(const lh_flow *flow, lh_id vertex) {
  uint32_t first = NONE;
  uint32_t i = find_member(&flow->of_source, vertex);
  for (; i != NONE; i = flow->members[i].next_of_source)
    if (flow->members[i].is_taken) first = i; /* the oldest is last in the chain */
  return first;
}

lh_id lh_flow_start(const lh_flow *flow, lh_id from) {
  for (size_t i = 0; i < flow->n_members; i++) {
    lh_id source = flow->members[i].source;
    if (!flow->members[i].is_taken) continue;
    if (source == from || (from == LH_ROOT && flow->snapshot->distance[source] == 1)) return source;
  }
  return LH_NO_OBJECT;
}

/* Removes the loop since the first visit of the vertex. */
static size_t drop_loop(const lh_flow *flow, const uint32_t *list, size_t n, lh_id vertex,
                        uint32_t *place) {
  size_t kept = place[vertex];
  while (n > kept) {
    lh_id target = flow->members[list[--n]].target;
    if (target != vertex) place[target] = UINT32_MAX;
  }
  return n;
}

static bool list_edges(const lh_flow *flow, const uint32_t *list, size_t n, const lh_path *way,
                       lh_path *path) {
  path->n_steps = way->n_steps + n;
  path->steps = lh_alloc(path->n_steps, sizeof *path->steps);
  for (size_t i = 0; path->steps && i < path->n_steps; i++) {
    if (i < way->n_steps) {
      path->steps[i] = way->steps[i];
    } else {
      const member *m = &flow->members[list[i - way->n_steps]];
      path->steps[i] = lh_edge_at(flow->snapshot, m->source, m->at);
    }
  }
  return path->steps;
}

bool lh_flow_next(lh_flow *flow, lh_id start, const lh_path *way, uint32_t *place, lh_path *path) {
  uint32_t *list = NULL;
  size_t n = 0, capacity = 0;
  bool ok = true;
  lh_id at = start;
  place[start] = 0;
  while (ok && at != flow->to) {
    uint32_t i = next_taken(flow, at);
    ok = i != NONE && lh_grow(&list, n, &capacity, sizeof *list);
    if (!ok) break;
    flow->members[i].is_taken = false;
    list[n++] = i;
    at = flow->members[i].target;
    if (place[at] != UINT32_MAX) n = drop_loop(flow, list, n, at, place);
    place[at] = (uint32_t)n;
  }
  place[start] = UINT32_MAX;
  for (size_t i = 0; i < n; i++) place[flow->members[list[i]].target] = UINT32_MAX;
  ok = ok && list_edges(flow, list, n, way, path);
  lh_free(list);
  return ok;
}

/* ==== Variables ====================================================================== */

/* The most captured variables with the same value that are tried in a thread. */
enum { MOST_OF_ONE_VALUE = 8 };

static bool refers_to(const lh_snapshot *s, lh_id source, lh_id target) {
  for (uint32_t e = s->first_edge[source]; e < s->first_edge[source + 1]; e++)
    if (s->edge[e] == target) return true;
  return false;
}

/* The first edge of this kind and target; if `name` is given, with this name. */
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

/* The name that some function gives to the upvalue. */
static lh_id upvalue_name_of(const lh_snapshot *s, lh_id upvalue) {
  lh_edge edge;
  for (lh_id id = 1; id <= s->n; id++)
    if (lh_type_of(s, id) == LH_TYPE_CLOSURE &&
        find_edge(s, id, LH_EDGE_UPVALUE, upvalue, LH_NO_OBJECT, &edge))
      return edge.name;
  return LH_NO_OBJECT;
}

static bool find_local(const lh_snapshot *s, lh_id upvalue, lh_id value, lh_edge *local) {
  lh_edge open;
  lh_id name = upvalue_name_of(s, upvalue);
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
    if (upvalue_name_of(s, open.target) == local->name) return true;
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
