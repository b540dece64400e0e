/*
** insides.c - what the instances of a class are like. The keys are those of heaptop --json.
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
