/*
** insides.c - what is inside: what the instances of a class are like, and what memory holds without
** need. The keys are those of heaptop --json.
*/
#include "handles.h"

/* {=== What the instances of a class are like ========================================= */

typedef struct described {
  bool is_filled;
  lh_description description;
} described;

static void free_described(void *content) {
  described *d = content;
  if (d->is_filled) lh_description_free(&d->description);
}

static void set_spreads(lua_State *L, const lh_description *d) {
  lua_createtable(L, 0, (int)d->n_spreads);
  for (uint32_t i = 0; i < d->n_spreads; i++) {
    const lh_spread *s = &d->spreads[i];
    lua_createtable(L, 0, 6);
    hr_set_integer(L, "objects", s->objects);
    hr_set_integer(L, "least", s->least);
    hr_set_integer(L, "median", s->median);
    hr_set_integer(L, "ninth_tenth", s->ninth_tenth);
    hr_set_integer(L, "most", s->most);
    hr_set_integer(L, "sum", s->sum);
    lua_setfield(L, -2, lh_measure_name(s->measure));
  }
  lua_setfield(L, -2, "spreads");
}

static void set_fields(lua_State *L, const lh_description *d) {
  hr_push_list(L, "heap.fields", d->n_fields);
  for (size_t i = 0; i < d->n_fields; i++) {
    const lh_field *f = &d->fields[i];
    lua_createtable(L, 0, 6);
    hr_set_string(L, "field", f->name);
    hr_set_integer(L, "instances", f->instances);
    hr_set_integer(L, "values", f->values);
    hr_set_integer(L, "retained_bytes", f->bytes);
    hr_set_integer(L, "total_kinds", f->total_kinds);
    lua_createtable(L, (int)f->n_kinds, 0);
    for (uint32_t k = 0; k < f->n_kinds; k++) {
      lua_createtable(L, 0, 2);
      hr_set_string(L, "class", f->kinds[k].name);
      hr_set_integer(L, "values", f->kinds[k].values);
      lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    lua_setfield(L, -2, "kinds");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "fields");
}

static void set_referrers(lua_State *L, const lh_snapshot *snapshot, const lh_description *d) {
  hr_push_list(L, "heap.class_referrers", d->n_referrers);
  for (size_t i = 0; i < d->n_referrers; i++) {
    const lh_referring *r = &d->referrers[i];
    lua_createtable(L, 0, 6);
    if (r->class_index != UINT32_MAX) hr_set_class(L, snapshot, r->class_index);
    hr_set_string(L, "label", r->label);
    hr_set_boolean(L, "weak", r->weak);
    hr_set_integer(L, "referrers", r->sources);
    hr_set_integer(L, "references", r->references);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "referrers");
}

static void set_epochs(lua_State *L, const lh_snapshot *snapshot, const lh_description *d) {
  lua_createtable(L, (int)d->n_epochs, 0);
  for (uint32_t i = 0; i < d->n_epochs; i++) {
    lua_createtable(L, 0, 2);
    if (i > 0) {
      const lh_mark_info *mark = lh_mark_at(snapshot, i - 1);
      lua_pushlstring(L, mark->name, mark->name_length);
      lua_setfield(L, -2, "mark");
    }
    hr_set_integer(L, "objects", d->epochs[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "epochs");
}

static uint64_t median_alone(const lh_description *d) {
  for (uint32_t i = 0; i < d->n_spreads; i++)
    if (d->spreads[i].measure == LH_MEASURE_ALONE) return d->spreads[i].median;
  return 0;
}

static void push_description(lua_State *L, const lh_snapshot *snapshot, const lh_description *d) {
  hr_push_list(L, "heap.description", 0);
  hr_set_class(L, snapshot, d->class_index);
  hr_set_integer(L, "objects", d->objects);
  hr_set_integer(L, "garbage_objects", d->garbage_objects);
  hr_set_integer(L, "garbage_bytes", d->garbage_bytes);
  hr_set_integer(L, "shallow_bytes", d->shallow_bytes);
  hr_set_integer(L, "retained_bytes", d->retained_bytes);
  hr_set_integer(L, "average_bytes", d->objects > 0 ? d->retained_bytes / d->objects : 0);
  hr_set_integer(L, "one_more_bytes", median_alone(d));
  hr_set_integer(L, "contents", d->contents);
  hr_set_integer(L, "repeated_bytes", d->repeated_bytes);
  if (d->objects > 0) hr_set_object(L, "biggest", 1, d->biggest);
  set_spreads(L, d);
  set_fields(L, d);
  set_referrers(L, snapshot, d);
  set_epochs(L, snapshot, d);
  hr_set_reachable(L, snapshot);
}

/* class(name) --> what its instances are like | nil, message, code */
int hr_class(lua_State *L) {
  lh_snapshot *snapshot = hr_analysed(L, hr_check_snapshot(L, 1));
  const char *name = luaL_checkstring(L, 2);
  described *d = hr_hold(L, 1, sizeof *d, free_described);
  int hold = lua_gettop(L);
  lh_error error;
  int code = lh_describe_class(snapshot, name, &d->description, &error);
  if (code == LH_ENOTFOUND) return hr_fail(L, &error);
  hr_check(L, code, &error);
  d->is_filled = true;
  push_description(L, snapshot, &d->description);
  hr_let_go(L, hold);
  return 1;
}

/* }=================================================================================== */

/* {=== Waste ========================================================================== */

static void free_waste(void *content) {
  lh_waste *waste = *(lh_waste **)content;
  if (waste) lh_waste_free(waste);
}

static void push_waste_row(lua_State *L, const lh_snapshot *snapshot, lh_waste_kind kind,
                           const lh_waste_row *row) {
  bool has_slots = kind == LH_WASTE_EMPTIED || kind == LH_WASTE_SLOTS;
  lua_createtable(L, 0, 9);
  hr_set_integer(L, "bytes", row->bytes);
  hr_set_integer(L, "objects", row->objects);
  hr_set_string(L, kind == LH_WASTE_DEBUG ? "source" : "held_by", row->held_by);
  hr_set_object(L, "example", 1, row->example);
  if (kind != LH_WASTE_DEBUG) hr_set_string(L, "class", lh_class_name_of(snapshot, row->example));
  if (has_slots) hr_set_integer(L, "slots", row->slots);
  if (has_slots) hr_set_integer(L, "used", row->used);
  if (kind == LH_WASTE_STRINGS) hr_set_integer(L, "by_hash", row->by_hash);
  if (row->original != LH_NO_OBJECT) hr_set_object(L, "original", 1, row->original);
}

static void push_waste_kind(lua_State *L, const lh_snapshot *snapshot, lh_waste_kind kind,
                            const lh_waste_sum *sum) {
  lua_createtable(L, 0, 6);
  hr_set_string(L, "kind", lh_waste_kind_name(kind));
  hr_set_integer(L, "bytes", sum->bytes);
  hr_set_integer(L, "objects", sum->objects);
  hr_set_integer(L, "originals", sum->originals);
  hr_set_integer(L, "by_hash", sum->by_hash);
  hr_push_list(L, "heap.waste_places", sum->n_rows);
  for (size_t i = 0; i < sum->n_rows; i++) {
    push_waste_row(L, snapshot, kind, &sum->rows[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "places");
}

/* waste(): a row for each kind, those with most bytes first. */
int hr_waste(lua_State *L) {
  lh_snapshot *snapshot = hr_analysed(L, hr_check_snapshot(L, 1));
  lh_waste **waste = hr_hold(L, 1, sizeof *waste, free_waste);
  int hold = lua_gettop(L);
  lh_error error;
  hr_check(L, hr_filled(L, hold, lh_find_waste(snapshot, waste, &error)), &error);
  hr_push_list(L, "heap.waste", LH_WASTE_KINDS);
  for (lh_waste_kind kind = 0; kind < LH_WASTE_KINDS; kind++) {
    lua_Integer place = 1; /* how many come first, and this one */
    for (lh_waste_kind k = 0; k < LH_WASTE_KINDS; k++) {
      uint64_t other = (*waste)->kinds[k].bytes, own = (*waste)->kinds[kind].bytes;
      place += other > own || (other == own && k < kind);
    }
    push_waste_kind(L, snapshot, kind, &(*waste)->kinds[kind]);
    lua_rawseti(L, -2, place);
  }
  hr_set_integer(L, "waste_bytes", (*waste)->bytes);
  hr_set_integer(L, "string_table_waste_bytes", (*waste)->string_table_bytes);
  hr_set_integer(L, "userdata_block_bytes", (*waste)->block_bytes);
  hr_set_reachable(L, snapshot);
  hr_let_go(L, hold);
  return 1;
}

/* }=================================================================================== */
