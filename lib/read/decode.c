/*
** decode.c - iterates over the edges of an object, with their labels.
**
** The rows (rows.c) have the target and the kind of each edge. Everything else, for example a
** numeric key or a line, is read from the record of the source during the iteration.
*/
#include "decode.h"

#include "scan.h"

_Static_assert(sizeof(scan) <= sizeof((lh_edges *)0)->state, "a scan fits into the iterator");

void lh_edges_begin(const lh_snapshot *s, lh_id id, lh_edges *it) {
  scan c = {.section = AT_END};
  if (has_pairs_alone(s, id))
    c = (scan){.section = AT_PAIRS, .source = id, .row = s->first_edge[id]};
  else if (id <= s->n)
    begin_record(s, id, &c);
  it->snapshot = s;
  memcpy(it->state, &c, sizeof c);
}

/* NULL: the prototype has no upvalue names. */
static const lh_upvalue_names *names_of_upvalues(const lh_snapshot *s, lh_id proto) {
  size_t at, n = s->n_upvalue_names;
  LH_LOWER_BOUND(at, n, s->upvalue_names[at].proto < proto);
  return at < n && s->upvalue_names[at].proto == proto ? &s->upvalue_names[at] : NULL;
}

bool lh_read_upvalue_label(const lh_snapshot *s, uint32_t e, lh_edge *edge) {
  const lh_upvalue_names *names = names_of_upvalues(s, lh_proto_of(s, edge->source));
  uint32_t first = s->first_edge[edge->source], last = s->first_edge[edge->source + 1] - 1;
  if (!names || names->n != last - first || lh_label_kind(s->label[last]) != LH_EDGE_UPVALUE)
    return false;
  edge->ordinal = e - first;
  edge->name = s->names[names->first + edge->ordinal - 1];
  return true;
}

/* An upvalue's number is its place behind the prototype. Only the last upvalues can be missing,
** while the closure is being made. */
lh_id lh_name_of_upvalue(const lh_snapshot *s, lh_id closure, uint32_t e) {
  const lh_upvalue_names *names = names_of_upvalues(s, lh_proto_of(s, closure));
  uint32_t ordinal = e - s->first_edge[closure];
  return names && ordinal <= names->n ? s->names[names->first + ordinal - 1] : LH_NO_OBJECT;
}

bool lh_has_upvalue_named(const lh_snapshot *s, lh_id proto, lh_id name) {
  enum { MOST_UPVALUES = 255 };
  const lh_upvalue_names *names = names_of_upvalues(s, proto);
  for (size_t i = 0; names && i < names->n && i < MOST_UPVALUES; i++)
    if (s->names[names->first + i] == name) return true;
  return false;
}

/* A key that is an object is an edge itself, just before the value. */
static lh_value last_key(const lh_snapshot *s, const scan *c) {
  if (c->key_tag == LH_VAL_OBJECT) return lh_object_value(c->key);
  return lh_raw_value(s, (lh_raw){c->key_bits, c->key_tag});
}

static void label_slot(const lh_snapshot *s, const scan *c, lh_edge *edge) {
  edge->index = c->frame - 1;
  edge->line = c->line;
  if (c->key_tag == LH_VAL_OBJECT)
    edge->holder = c->key;
  else
    edge->key = last_key(s, c);
}

lh_edge lh_ephemeron_edge(const lh_ephemeron *ephemeron) {
  return (lh_edge){.source = ephemeron->key,
                   .target = ephemeron->value,
                   .kind = LH_EDGE_EPHEMERON,
                   .name = LH_NO_OBJECT,
                   .holder = ephemeron->table,
                   .key = {.kind = LH_VALUE_OBJECT, .as.object = ephemeron->key}};
}

/* The live ephemerons whose key is this object. Their edges are at the end of the row. */
static bool next_ephemeron(scan *c, const lh_snapshot *s, lh_edge *edge) {
  for (uint32_t end = s->first_edge[c->source + 1]; c->row < end;) {
    const lh_ephemeron *ephemeron = lh_ephemeron_of(s, c->row++);
    if (!ephemeron->is_alive) continue;
    *edge = lh_ephemeron_edge(ephemeron);
    return true;
  }
  return false;
}

static bool next_root(scan *c, const lh_snapshot *s, lh_edge *edge) {
  if (c->left == 0) return false;
  const lh_root *root = &s->roots[c->done++];
  c->left--;
  c->row++;
  *edge = (lh_edge){.source = LH_ROOT,
                    .target = root->target,
                    .kind = LH_EDGE_ROOT,
                    .index = root->kind,
                    .ordinal = root->index,
                    .name = LH_NO_OBJECT,
                    .holder = LH_NO_OBJECT};
  return true;
}

/* For a table whose row has all of its entries. */
static bool next_in_row(scan *c, const lh_snapshot *s, lh_edge *edge) {
  uint32_t e = c->row;
  if (e == s->first_edge[c->source + 1]) return false;
  lh_edge_kind kind = lh_label_kind(s->label[e]);
  if (kind == LH_EDGE_EPHEMERON) return false;
  *edge = (lh_edge){.source = c->source,
                    .target = lh_true_target(s, e),
                    .kind = kind,
                    .ordinal = kind == LH_EDGE_METATABLE,
                    .name = LH_NO_OBJECT,
                    .holder = LH_NO_OBJECT,
                    .weak = s->label[e] & LH_LABEL_ASIDE};
  if (kind == LH_EDGE_KEY) c->key = edge->target;
  if (kind != LH_EDGE_METATABLE) edge->key = lh_object_value(c->key);
  c->row++;
  return true;
}

static void begin_edge(const lh_snapshot *s, scan *c, const found *reference, lh_id target,
                       lh_edge *edge) {
  *edge = (lh_edge){.source = c->source,
                    .target = target,
                    .kind = (lh_edge_kind)reference->kind,
                    .ordinal = reference->ordinal,
                    .name = lh_find_word_or_none(s, reference->name_word),
                    .holder = LH_NO_OBJECT};
  if (reference->kind == LH_EDGE_KEY || reference->kind == LH_EDGE_FUNCTION) c->key = target;
}

static void end_edge(const lh_snapshot *s, const scan *c, lh_edge *edge) {
  if (edge->kind == LH_EDGE_VALUE || edge->kind == LH_EDGE_KEY) edge->key = last_key(s, c);
  if (c->section == AT_SLOTS) label_slot(s, c, edge);
}

static bool decode_next_edge(scan *c, const lh_snapshot *s, lh_edge *edge) {
  found reference;
  do {
    if (!step(c, &reference)) return false;
    begin_edge(s, c, &reference, find_next(s, c, reference.word), edge);
  } while (edge->target == LH_NO_OBJECT);
  edge->weak = s->label[c->row - 1] & LH_LABEL_ASIDE;
  if (reference.kind == LH_EDGE_UPVALUE)
    edge->name = lh_name_of_upvalue(s, c->source, s->first_edge[c->source] + reference.ordinal);
  end_edge(s, c, edge);
  return true;
}

void lh_recorded_begin(const lh_snapshot *s, lh_id id, lh_edges *it) {
  scan c;
  begin_record_alone(s, id, &c);
  it->snapshot = s;
  memcpy(it->state, &c, sizeof c);
}

bool lh_recorded_next(lh_edges *it, lh_edge *edge) {
  const lh_snapshot *s = it->snapshot;
  found reference;
  scan c;
  bool more;
  memcpy(&c, it->state, sizeof c);
  do {
    more = step(&c, &reference);
    if (more) begin_edge(s, &c, &reference, lh_find_word_or_none(s, reference.word), edge);
  } while (more && edge->target == LH_NO_OBJECT);
  if (more) end_edge(s, &c, edge);
  memcpy(it->state, &c, sizeof c);
  return more;
}

void lh_prefetch_edges(const lh_snapshot *s, lh_id id) {
  enum { MOST = 8 };
  uint32_t first = s->first_edge[id], end = s->first_edge[id + 1];
  if (id != LH_ROOT) __builtin_prefetch(lh_record(s, id));
  for (uint32_t e = first; e < end && e < first + MOST; e++)
    __builtin_prefetch(&s->address[s->edge[e]]);
}

void lh_prefetch_record(const lh_snapshot *s, lh_id id) {
  enum { HALF_A_LINE = 32 };
  __builtin_prefetch(lh_record(s, id));
  __builtin_prefetch(lh_record(s, id) + HALF_A_LINE);
}

bool lh_edges_next(lh_edges *it, lh_edge *edge) {
  const lh_snapshot *s = it->snapshot;
  scan c;
  memcpy(&c, it->state, sizeof c);
  bool more = c.section == AT_ROOTS        ? next_root(&c, s, edge)
              : c.section == AT_EPHEMERONS ? next_ephemeron(&c, s, edge)
              : c.section == AT_PAIRS      ? next_in_row(&c, s, edge)
                                           : decode_next_edge(&c, s, edge);
  if (!more && c.section != AT_ROOTS && c.section != AT_EPHEMERONS) {
    c.section = AT_EPHEMERONS;
    more = next_ephemeron(&c, s, edge);
  }
  memcpy(it->state, &c, sizeof c);
  if (s->ignored && more && lh_is_edge_ignored(s, s->ignored, edge))
    edge->ignored = edge->weak = true;
  return more;
}

uint32_t lh_edges_number(const lh_edges *it) {
  scan c;
  memcpy(&c, it->state, sizeof c);
  return c.row - 1;
}
