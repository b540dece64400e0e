/*
** metatables.c - finds the name of the instances of a metatable.
**
** Its __name; else its key in _G, package.loaded or a module; a field that class libraries set
** (_name, __cname ...: penlight, middleclass, 30log) in it or in its __index; another key or a
** variable; a meaningless name like mt with its module or file: mt (util.queue).
*/
#include "names.h"

static lh_meta empty_meta(lh_id id) {
  return (lh_meta){.id = id,
                   .index = LH_NO_OBJECT,
                   .name = LH_NO_NUMBER,
                   .strong = LH_NO_NUMBER,
                   .weak = LH_NO_NUMBER,
                   .basic = LH_NO_NUMBER,
                   .result = LH_NO_NUMBER,
                   .class_index = UINT32_MAX};
}

uint32_t lh_add_meta(lh_namer *namer, lh_id id) {
  uint32_t *index = lh_map_at(&namer->meta_of, id);
  if (lh_namer_fails(namer, !index || !lh_grow(&namer->metas, namer->n_metas, &namer->meta_capacity,
                                               sizeof *namer->metas)))
    return LH_NO_NUMBER;
  if (*index == LH_NO_NUMBER) {
    namer->metas[namer->n_metas] = empty_meta(id);
    *index = (uint32_t)namer->n_metas++;
    namer->flags[id] |= LH_WANTED;
  }
  return *index;
}

static bool is_edge_key(const lh_edge *edge, const char *bytes, size_t n, const char *name) {
  return edge->kind == LH_EDGE_VALUE && strlen(name) == n && memcmp(bytes, name, n) == 0;
}

static void read_field(lh_namer *namer, lh_meta *meta, const lh_edge *edge) {
  static const char *const strong[] = {"_NAME", "_name", "__cname", "className", "classname"};
  const lh_snapshot *snapshot = namer->snapshot;
  const char *key, *value;
  size_t n, n_value;
  if (edge->kind != LH_EDGE_VALUE || edge->key.kind != LH_VALUE_OBJECT ||
      !lh_string_whole(snapshot, edge->key.as.object, &key, &n))
    return;
  if (is_edge_key(edge, key, n, "__index") && lh_type_of(snapshot, edge->target) == LH_TYPE_TABLE)
    meta->index = edge->target;
  if (!lh_string_whole(snapshot, edge->target, &value, &n_value) || n_value == 0) return;
  lh_text_id *field = NULL;
  if (is_edge_key(edge, key, n, "__name")) field = &meta->name;
  for (size_t i = 0; i < sizeof strong / sizeof *strong; i++)
    if (is_edge_key(edge, key, n, strong[i])) field = &meta->strong;
  /* A field `name` is the name of a class only if it looks like one. */
  if (is_edge_key(edge, key, n, "name") && value[0] >= 'A' && value[0] <= 'Z' && n_value <= 80)
    field = &meta->weak;
  if (!field) return;
  lh_text text = {0};
  lh_text_escaped(&text, value, n_value, false);
  *field = lh_namer_text(namer, &text);
}

static void read_fields(lh_namer *namer, lh_meta *meta) {
  lh_edges it;
  lh_edge edge;
  lh_edges_begin(namer->snapshot, meta->id, &it);
  while (!namer->failed && lh_edges_next(&it, &edge)) read_field(namer, meta, &edge);
}

static lh_text_id given_name(const lh_meta *meta) {
  return meta->strong != LH_NO_NUMBER ? meta->strong : meta->weak;
}

static lh_text_id found_name(const lh_namer *namer, lh_id id, uint32_t from, uint32_t to) {
  const lh_candidate *c = lh_candidate_of(namer, id);
  return c && c->rank >= from && c->rank <= to ? c->text : LH_NO_NUMBER;
}

static lh_text_id generic_name(lh_namer *namer, lh_id id) {
  const lh_candidate *c = lh_candidate_of(namer, id);
  if (!c || c->rank != LH_NAME_GENERIC || c->qualifier == LH_NO_NUMBER) return LH_NO_NUMBER;
  lh_text text = {0};
  lh_text_format(&text, "%s (%s)", lh_namer_chars(namer, c->text),
                 lh_namer_chars(namer, c->qualifier));
  return lh_namer_text(namer, &text);
}

static lh_text_id name_of_container(lh_namer *namer, lh_id container) {
  uint32_t *known = lh_map_at(&namer->given, container);
  if (lh_namer_fails(namer, !known)) return LH_NO_NUMBER;
  if (*known == LH_NO_NUMBER) {
    lh_meta meta = empty_meta(container);
    read_fields(namer, &meta);
    *known = given_name(&meta) + 1;
  }
  return *known - 1;
}

/* middleclass keeps the metatable of instances as __instanceDict of the class. */
static lh_text_id container_name(lh_namer *namer, lh_id id) {
  const lh_candidate *c = lh_candidate_of(namer, id);
  if (!c || c->rank != LH_NAME_DUNDER || c->container == LH_NO_OBJECT || c->container == id)
    return LH_NO_NUMBER;
  lh_text_id module = lh_map_get(&namer->classes->modules, c->container);
  lh_text_id given = name_of_container(namer, c->container);
  return given != LH_NO_NUMBER ? given : module;
}

/* The metatable of strings, and those that debug.setmetatable set for other basic types. */
static void name_basic_types(lh_namer *namer) {
  const lh_snapshot *snapshot = namer->snapshot;
  for (size_t i = 0; i < snapshot->n_roots && !namer->failed; i++) {
    const lh_root *root = &snapshot->roots[i];
    if (root->kind != LH_ROOT_TYPE_METATABLE || root->target == LH_NO_OBJECT) continue;
    lh_edge edge = lh_edge_of_root(root);
    lh_text text = {0};
    lh_add_root(&text, snapshot, &edge);
    lh_text_id name = lh_namer_text(namer, &text);
    uint32_t added = namer->failed ? LH_NO_NUMBER : lh_add_meta(namer, root->target);
    if (added != LH_NO_NUMBER) namer->metas[added].basic = name;
  }
}

static lh_text_id name_instances(lh_namer *namer, const lh_meta *meta) {
  bool has_index = meta->index != LH_NO_OBJECT && meta->index != meta->id &&
                   meta->index != namer->classes->globals;
  uint32_t i = has_index ? lh_map_get(&namer->meta_of, meta->index) : LH_NO_NUMBER;
  const lh_meta *index = i == LH_NO_NUMBER ? NULL : &namer->metas[i];
  lh_text_id name = meta->name;
  if (name == LH_NO_NUMBER)
    name = found_name(namer, meta->id, LH_NAME_GLOBAL, LH_NAME_MODULE_FIELD);
  if (name == LH_NO_NUMBER && index) name = index->name;
  if (name == LH_NO_NUMBER && meta->index != LH_NO_OBJECT) name = given_name(meta);
  if (name == LH_NO_NUMBER && index) name = given_name(index);
  if (name == LH_NO_NUMBER)
    name = found_name(namer, meta->id, LH_NAME_CAPITAL_KEY, LH_NAME_VARIABLE);
  if (name == LH_NO_NUMBER && index)
    name = found_name(namer, index->id, LH_NAME_GLOBAL, LH_NAME_VARIABLE);
  if (name == LH_NO_NUMBER) name = container_name(namer, meta->id);
  if (name == LH_NO_NUMBER) name = generic_name(namer, meta->id);
  if (name == LH_NO_NUMBER && index) name = generic_name(namer, index->id);
  return name;
}

void lh_name_metatables(lh_namer *namer) {
  name_basic_types(namer);
  size_t n = namer->n_metas; /* metatables of instances come first, then their __index tables */
  for (size_t i = 0; i < n && !namer->failed; i++) {
    namer->metas[i].is_metatable = true;
    read_fields(namer, &namer->metas[i]);
    lh_id index = namer->metas[i].index;
    if (index == LH_NO_OBJECT || namer->failed) continue;
    size_t n_before = namer->n_metas; /* an __index table of several metatables is read once */
    uint32_t added = lh_add_meta(namer, index);
    if (added != LH_NO_NUMBER && added >= n_before) read_fields(namer, &namer->metas[added]);
  }
  if (namer->failed) return;
  lh_find_candidates(namer);
  for (size_t i = 0; i < n && !namer->failed; i++)
    namer->metas[i].result = name_instances(namer, &namer->metas[i]);
}
