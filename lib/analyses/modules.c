/*
** modules.c - Finds the retained and reached bytes of each module and each global.
** All modules reach each other through _G (an upvalue of nearly every function), package.loaded,
** the registry and the main thread, so the search avoids these. The reached bytes include the
** retained ones: a path through these four would be a path without the module.
*/
#include "analyses.h"

typedef struct finder {
  const lh_snapshot *snapshot;
  uint8_t *avoided;
  lh_map row_of;
  lh_modules *out;
  size_t capacity;
} finder;

static bool avoid(finder *f) {
  const lh_snapshot *snapshot = f->snapshot;
  f->avoided = lh_alloc_zeroed((size_t)snapshot->n + 1, 1);
  if (!f->avoided) return false;
  for (size_t i = 0; i < snapshot->n_roots; i++) {
    lh_root_kind kind = snapshot->roots[i].kind;
    bool leads_to_all = kind == LH_ROOT_REGISTRY || kind == LH_ROOT_GLOBALS ||
                        kind == LH_ROOT_LOADED || kind == LH_ROOT_MAIN_THREAD;
    if (leads_to_all && snapshot->distance[snapshot->roots[i].target] == 1)
      f->avoided[snapshot->roots[i].target] = 1;
  }
  return true;
}

static char *module_name(const lh_snapshot *snapshot, const char *table, const lh_edge *edge,
                         bool brackets) {
  lh_text text = {0};
  lh_text_string(&text, table);
  lh_add_key(&text, snapshot, edge->key, brackets);
  return lh_text_finish(&text);
}

/* Of two names in one table the shorter one wins. */
static bool is_better_name(const char *name, const char *than) {
  size_t n = strlen(name), m = strlen(than);
  return n != m ? n < m : strcmp(name, than) < 0;
}

static bool add_module(finder *f, const lh_edge *edge, char *name, size_t n_before) {
  lh_modules *out = f->out;
  lh_id id = edge->target;
  uint32_t *row = lh_map_at(&f->row_of, id);
  if (!row) goto failed;
  if (*row != LH_NO_NUMBER) {
    lh_module *known = &out->list[*row];
    bool better = *row >= n_before && is_better_name(name, known->name);
    lh_free(better ? (void *)known->name : name);
    if (better) known->name = name, known->key = edge->key;
    return true;
  }
  if (!lh_grow(&out->list, out->n, &f->capacity, sizeof *out->list)) goto failed;
  *row = (uint32_t)out->n;
  out->list[out->n++] = (lh_module){.name = name,
                                    .key = edge->key,
                                    .id = id,
                                    .retained_bytes = lh_retained_bytes(f->snapshot, id)};
  return true;
failed:
  lh_free(name);
  return false;
}

static bool add_module_table(finder *f, lh_id table, const char *name, bool brackets) {
  const lh_snapshot *snapshot = f->snapshot;
  size_t n_before = f->out->n;
  lh_edges it;
  lh_edge edge;
  if (table == LH_NO_OBJECT) return true;
  for (lh_edges_begin(snapshot, table, &it); lh_edges_next(&it, &edge);) {
    if (edge.kind != LH_EDGE_VALUE || edge.weak || f->avoided[edge.target] ||
        lh_is_own(snapshot, edge.target))
      continue;
    char *text = module_name(snapshot, name, &edge, brackets);
    if (!text || !add_module(f, &edge, text, n_before)) return false;
  }
  return true;
}

static int compare_modules(const void *left, const void *right) {
  const lh_module *a = left, *b = right;
  return LH_MORE(a->retained_bytes, b->retained_bytes) ?: strcmp(a->name, b->name);
}

static bool reach(finder *f, size_t limit) {
  const lh_snapshot *snapshot = f->snapshot;
  lh_modules *out = f->out;
  lh_graph graph = lh_graph_of(snapshot);
  uint32_t n_asked = (uint32_t)(limit == 0 || limit > out->n ? out->n : limit);
  lh_reached together;
  uint64_t *weight = lh_alloc((size_t)snapshot->n + 1, sizeof *weight);
  lh_id *sources = lh_alloc(out->n, sizeof *sources);
  lh_reached *sums = lh_alloc(out->n, sizeof *sums);
  bool ok = weight && sources && sums;
  for (lh_id id = 0; ok && id <= snapshot->n; id++) weight[id] = lh_shallow_bytes(snapshot, id);
  for (size_t i = 0; ok && i < out->n; i++) sources[i] = out->list[i].id;
  ok = ok && lh_reach_each(&graph, f->avoided, weight, sources, (uint32_t)out->n, n_asked, sums,
                           &together);
  for (uint32_t i = 0; ok && i < n_asked; i++) {
    out->list[i].reached_objects = sums[i].objects;
    out->list[i].reached_bytes = sums[i].bytes;
    out->list[i].shared_bytes = sums[i].bytes - out->list[i].retained_bytes;
  }
  if (ok) out->reached_bytes = together.bytes;
  LH_FREE_ALL(weight, sources, sums);
  return ok;
}

static void finish_modules(lh_modules *out, size_t limit) {
  out->total = out->n;
  for (size_t i = 0; i < out->n; i++) out->retained_bytes += out->list[i].retained_bytes;
  while (limit > 0 && out->n > limit) lh_free((void *)out->list[--out->n].name);
}

static int find_modules(lh_snapshot *snapshot, bool reaches, size_t limit, lh_modules *out,
                        lh_error *error) {
  finder f = {.snapshot = snapshot, .out = out};
  *out = (lh_modules){0};
  if (!snapshot->retained || !snapshot->classes)
    return lh_fail(error, LH_EARGUMENT, "the snapshot has not been classified");
  bool ok = avoid(&f) && add_module_table(&f, snapshot->classes->loaded, "package.loaded", true) &&
            add_module_table(&f, snapshot->classes->globals, "_G", false);
  if (ok && out->n > 1) qsort(out->list, out->n, sizeof *out->list, compare_modules);
  ok = ok && (!reaches || reach(&f, limit));
  lh_free(f.avoided);
  lh_map_free(&f.row_of);
  if (ok) return LH_OK;
  lh_modules_free(out);
  return lh_fail_memory(error, "finding modules");
}

int lh_list_modules(lh_snapshot *snapshot, lh_modules *out, lh_error *error) {
  return find_modules(snapshot, false, 0, out, error);
}

int lh_find_modules(lh_snapshot *snapshot, size_t limit, lh_modules *out, lh_error *error) {
  int code = find_modules(snapshot, true, limit, out, error);
  if (code == LH_OK) finish_modules(out, limit);
  return code;
}

void lh_modules_free(lh_modules *modules) {
  for (size_t i = 0; i < modules->n; i++) lh_free((void *)modules->list[i].name);
  lh_free(modules->list);
  *modules = (lh_modules){0};
}
