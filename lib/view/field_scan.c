/*
** field_scan.c - the fields of an object one after the other, scalars too, as far as a snapshot has
** them: of the frames of a coroutine, and of constants, it has objects only.
*/
#include "fields.h"
#include "read/decode.h"

/* What follows upon a metatable. Edges have the ephemerons at their end. */
enum { AT_EDGES, AT_ENTRIES, AT_VALUES, AT_CONTENT, AT_EPHEMERONS, AT_END };

static unsigned part_of(const lh_snapshot *snapshot, lh_id id) {
  if (lh_is_dead(snapshot, id)) return AT_END;
  switch (lh_type_of(snapshot, id)) {
    case LH_TYPE_TABLE: return AT_ENTRIES;
    case LH_TYPE_USERDATA: return AT_VALUES;
    case LH_TYPE_UPVALUE: return AT_CONTENT;
    case LH_TYPE_CLOSURE: return lh_is_c_closure(snapshot, id) ? AT_VALUES : AT_EDGES;
    default: return AT_EDGES;
  }
}

/* Those with the object as key stand together: where they begin. */
static size_t first_ephemeron(const lh_snapshot *s, lh_id key) {
  size_t first;
  LH_LOWER_BOUND(first, s->n_ephemerons, s->ephemerons[first].key < key);
  return first;
}

void lh_field_scan_begin(const lh_snapshot *snapshot, lh_id id, lh_field_scan *scan) {
  *scan = (lh_field_scan){.snapshot = snapshot,
                          .id = id,
                          .part = part_of(snapshot, id),
                          .weak = lh_weak_sides_of(snapshot, id),
                          .metatable = lh_metatable_of(snapshot, id)};
  if (scan->part == AT_ENTRIES) lh_entries_begin(snapshot, id, &scan->it);
  if (scan->part == AT_VALUES) lh_values_begin(snapshot, id, &scan->it);
  if (scan->part == AT_EDGES) lh_edges_begin(snapshot, id, &scan->it);
  if (scan->part != AT_EDGES) scan->ephemeron = first_ephemeron(snapshot, id);
}

static lh_value object_value(lh_id id) {
  lh_value value = {.kind = LH_VALUE_OBJECT, .as.pointer = 0};
  value.as.object = id;
  return value;
}

static bool is_lost_by(bool weak, const lh_snapshot *s, lh_value value) {
  return weak && value.kind == LH_VALUE_OBJECT && lh_type_of(s, value.as.object) != LH_TYPE_STRING;
}

static bool next_entry(lh_field_scan *c, lh_object_field *f) {
  f->edge.kind = LH_EDGE_VALUE;
  if (!lh_entries_next(&c->it, &f->edge.key, &f->value)) return false;
  f->edge.weak = is_lost_by(c->weak.keys, c->snapshot, f->edge.key) ||
                 is_lost_by(c->weak.values, c->snapshot, f->value);
  return true;
}

static bool next_value(lh_field_scan *c, lh_object_field *f) {
  bool is_userdata = lh_type_of(c->snapshot, c->id) == LH_TYPE_USERDATA;
  f->edge.kind = is_userdata ? LH_EDGE_USER_VALUE : LH_EDGE_C_UPVALUE;
  return lh_values_next(&c->it, &f->edge.ordinal, &f->value);
}

/* An upvalue holds one value, and functions look through it. */
static void look_into_upvalue(const lh_snapshot *s, lh_object_field *f) {
  lh_object upvalue;
  if (lh_type_of(s, f->edge.target) != LH_TYPE_UPVALUE || lh_is_dead(s, f->edge.target)) return;
  lh_object_at(s, f->edge.target, &upvalue);
  f->upvalue = f->edge.target;
  f->value = upvalue.as.upvalue.value;
}

static bool next_edge(lh_field_scan *c, lh_object_field *f) {
  if (!lh_edges_next(&c->it, &f->edge)) return false;
  f->value = object_value(f->edge.target);
  if (f->edge.kind == LH_EDGE_UPVALUE) look_into_upvalue(c->snapshot, f);
  return true;
}

static bool next_content(lh_field_scan *c, lh_object_field *f) {
  lh_object upvalue;
  lh_object_at(c->snapshot, c->id, &upvalue);
  f->edge.kind = LH_EDGE_CONTENT;
  f->value = upvalue.as.upvalue.value;
  c->part = AT_EPHEMERONS;
  return true;
}

static bool next_ephemeron(lh_field_scan *c, lh_object_field *f) {
  const lh_snapshot *s = c->snapshot;
  if (c->ephemeron >= s->n_ephemerons || s->ephemerons[c->ephemeron].key != c->id) return false;
  const lh_ephemeron *e = &s->ephemerons[c->ephemeron++];
  f->edge.kind = LH_EDGE_EPHEMERON;
  f->edge.holder = e->table;
  f->edge.key = object_value(e->key);
  f->value = object_value(e->value);
  return true;
}

static bool next_of_part(lh_field_scan *c, lh_object_field *f) {
  switch (c->part) {
    case AT_EDGES: return next_edge(c, f);
    case AT_ENTRIES: return next_entry(c, f);
    case AT_VALUES: return next_value(c, f);
    case AT_CONTENT: return next_content(c, f);
    case AT_EPHEMERONS: return next_ephemeron(c, f);
    default: return false;
  }
}

static bool next_field(lh_field_scan *c, lh_object_field *f) {
  if (c->metatable != LH_NO_OBJECT) {
    f->edge.kind = LH_EDGE_METATABLE;
    f->value = object_value(c->metatable);
    c->metatable = LH_NO_OBJECT;
    return true;
  }
  while (!next_of_part(c, f)) {
    if (c->part == AT_END) return false;
    c->part = c->part == AT_EDGES || c->part == AT_EPHEMERONS ? AT_END : AT_EPHEMERONS;
  }
  return true;
}

bool lh_field_scan_next(lh_field_scan *scan, lh_object_field *field) {
  *field =
      (lh_object_field){.number = scan->number,
                        .edge = {.source = scan->id, .name = LH_NO_OBJECT, .holder = LH_NO_OBJECT},
                        .upvalue = LH_NO_OBJECT};
  if (!next_field(scan, field)) return false;
  scan->number++;
  if (field->upvalue == LH_NO_OBJECT)
    field->edge.target =
        field->value.kind == LH_VALUE_OBJECT ? field->value.as.object : LH_NO_OBJECT;
  return true;
}

void lh_field_scan_skip(lh_field_scan *scan, uint64_t n) {
  lh_object_field field;
  while (n > 0 && lh_field_scan_next(scan, &field)) n--;
}

uint64_t lh_count_object_fields(const lh_snapshot *snapshot, lh_id id) {
  lh_object object;
  lh_field_scan scan;
  uint64_t n = 0;
  lh_object_at(snapshot, id, &object);
  lh_field_scan_begin(snapshot, id, &scan);
  if (scan.part == AT_ENTRIES) {
    n = (scan.metatable != LH_NO_OBJECT) + object.as.table.array_used + object.as.table.hash_used;
    scan.metatable = LH_NO_OBJECT;
    scan.part = AT_EPHEMERONS;
  }
  lh_field_scan_skip(&scan, UINT64_MAX);
  return n + scan.number;
}
