/*
** grown.c - Finds containers that grew: leaks without new objects, such as an array of numbers.
** Strings that grow in them: grown_strings.c.
*/
#include "compare.h"
#include "graph/graph.h"
#include "read/decode.h"

static uint64_t count_entries(const lh_snapshot *snapshot, lh_id id, bool *weak) {
  lh_object object;
  if (lh_type_of(snapshot, id) != LH_TYPE_TABLE) return 0;
  lh_object_at(snapshot, id, &object);
  *weak = *weak || object.as.table.weak_keys || object.as.table.weak_values;
  return object.as.table.array_used + object.as.table.hash_used;
}

/* A table whose keys change may get more bytes with equal entries: that is no growth. */
static bool has_grown(const lh_grown *g, lh_type type) {
  const uint64_t *bytes = g->shallow_bytes, *entries = g->entries;
  if (type != LH_TYPE_TABLE) return bytes[0] < bytes[1] && bytes[1] < bytes[2];
  return entries[0] < entries[1] && entries[1] < entries[2] && bytes[0] <= bytes[2];
}

/* Recounts weak tables without the entries that the collector will remove. That needs an analysis,
** made only if a weak table seems to grow. */
static int count_lasting(const lh_three *t, const lh_id ids[3], lh_grown *g, lh_error *error) {
  lh_snapshot *const at[3] = {t->a, t->b, t->c};
  for (int i = 0; i < 3; i++) {
    int code = lh_find_paths(at[i], error);
    if (code) return code;
    g->entries[i] = lh_lasting_entries(at[i], ids[i]);
  }
  return LH_OK;
}

static int measure_container(lh_three *t, lh_id id, lh_grown *out, bool *grown, lh_error *error) {
  lh_type type = lh_type_of(t->c, id);
  *grown = false;
  if (type != LH_TYPE_TABLE && type != LH_TYPE_THREAD) return LH_OK;
  if (!lh_is_reachable(t->c, id) || lh_is_own(t->c, id)) return LH_OK;
  lh_id in_b = lh_find_in_earlier(t->c, id, t->b, t->b_in_c, &t->from_b_to_c);
  if (in_b == LH_NO_OBJECT || lh_shallow_bytes(t->b, in_b) > lh_shallow_bytes(t->c, id))
    return LH_OK;
  if (lh_has_same_fields(t->b, in_b, t->c, id))
    return LH_OK; /* fast exit: most containers are
                                                                 unchanged */
  lh_id in_a = lh_find_in_earlier(t->b, in_b, t->a, t->a_in_b, &t->from_a_to_b);
  if (in_a == LH_NO_OBJECT) return LH_OK;
  const lh_snapshot *const at[3] = {t->a, t->b, t->c};
  const lh_id ids[3] = {in_a, in_b, id};
  bool weak = false;
  *out = (lh_grown){.id = id, .class_index = lh_class_of(t->c, id)};
  for (int i = 0; i < 3; i++) {
    out->shallow_bytes[i] = lh_shallow_bytes(at[i], ids[i]);
    out->entries[i] = count_entries(at[i], ids[i], &weak);
  }
  *grown = has_grown(out, type);
  if (!*grown || !weak) return LH_OK;
  int code = count_lasting(t, ids, out, error);
  *grown = has_grown(out, type);
  return code;
}

uint64_t lh_grown_by(const uint64_t at[3]) {
  return at[2] > at[0] ? at[2] - at[0] : 0;
}

static int compare_grown(const void *left, const void *right) {
  const lh_grown *a = left, *b = right;
  return LH_MORE(lh_grown_by(a->shallow_bytes), lh_grown_by(b->shallow_bytes)) ?:
         LH_MORE(lh_grown_by(a->entries), lh_grown_by(b->entries)) ?:
         strcmp(a->held_by, b->held_by) ?: LH_LESS(a->id, b->id);
}

/* Long chains of containers would cost the square of their number: then paths are folded. */
enum { MOST_STEPS = 64, STEPS_OF_FEW = 1000000 }; /* for each object, and for a small heap */

typedef struct chart {
  const lh_snapshot *snapshot;
  const lh_folds *folds;
  uint32_t *index; /* by object: 1 + index of the edge to it; 0: not looked up yet */
  lh_edge *edges;
  size_t n, capacity;
  uint64_t steps_left; /* for all exact paths */
} chart;

static const lh_edge *edge_to(chart *m, lh_id id) {
  const lh_snapshot *c = m->snapshot;
  if (m->index[id] == 0) {
    if (!lh_grow(&m->edges, m->n, &m->capacity, sizeof *m->edges)) return NULL;
    m->edges[m->n++] = lh_edge_at(c, lh_naming_parent(c, id), c->parent_edge[id]);
    m->index[id] = (uint32_t)m->n;
  }
  return &m->edges[m->index[id] - 1];
}

/* The text needs only the edges from the last one that starts a path anew. */
static char *container_path(chart *m, lh_id id, const char *place) {
  const lh_snapshot *c = m->snapshot;
  size_t n = 0;
  lh_path path = {0, NULL};
  for (lh_id at = id; at != LH_ROOT && path.n_steps <= m->steps_left;) {
    const lh_edge *edge = edge_to(m, at);
    if (!edge) return NULL;
    path.n_steps++;
    if (lh_form_of(c, edge) == LH_FORM_BASE) break;
    at = edge->source;
  }
  if (path.n_steps > m->steps_left) {
    m->steps_left = 0;
    return lh_copy_text(place);
  }
  m->steps_left -= path.n_steps;
  path.steps = lh_alloc(path.n_steps, sizeof *path.steps);
  if (!path.steps) return NULL;
  for (lh_id at = id; n < path.n_steps; n++) {
    path.steps[path.n_steps - 1 - n] = *edge_to(m, at);
    at = path.steps[path.n_steps - 1 - n].source;
  }
  char *text = lh_path_text(c, &path, false);
  lh_paths_free(&path, 1);
  return text;
}

static bool describe_container(chart *m, lh_grown *grown) {
  const lh_snapshot *c = m->snapshot;
  const lh_place_tree *tree = m->folds->folder.tree;
  const lh_class_entry *class = lh_class_entry_of(c, grown->id);
  lh_text text = {0};
  grown->at = lh_folded_place(m->folds, grown->id);
  lh_place_text(tree, grown->at, &text);
  grown->place = lh_text_finish(&text);
  bool ok = grown->place && lh_fingerprint(class, c->classes->texts.texts[class->stable],
                                           tree->list[grown->at].identity, grown->fingerprint);
  grown->held_by = ok ? container_path(m, grown->id, grown->place) : NULL;
  return grown->held_by != NULL;
}

static bool describe_grown(const lh_snapshot *c, lh_diff *diff) {
  chart m = {.snapshot = c, .steps_left = STEPS_OF_FEW + MOST_STEPS * (uint64_t)c->n};
  if (diff->n_grown == 0) return true;
  m.folds = lh_folds_of(c);
  m.index = lh_alloc_zeroed((size_t)c->n + 1, sizeof *m.index);
  bool ok = m.folds && m.index;
  for (size_t i = 0; ok && i < diff->n_grown; i++) ok = describe_container(&m, &diff->grown[i]);
  LH_FREE_ALL(m.index, m.edges);
  return ok;
}

/* Drops strings whose place grew by less than a thousandth of the heap. */
static bool drop_small_strings(const lh_snapshot *c, lh_diff *diff) {
  enum { THOUSANDTH = 1000 };
  lh_map number_of = {0};
  size_t n = diff->n_grown;
  uint64_t *grew = lh_alloc_zeroed(n + 1, sizeof *grew); /* by number of the place */
  lh_reach reach;
  bool ok = grew != NULL;
  lh_reach_totals(c, &reach);
  for (size_t i = 0; ok && i < n; i++) {
    uint32_t number = lh_map_number(&number_of, diff->grown[i].at);
    ok = number != LH_NO_NUMBER;
    if (ok) grew[number] += lh_grown_by(diff->grown[i].shallow_bytes);
  }
  if (ok) diff->n_grown = 0;
  for (size_t i = 0; ok && i < n; i++) {
    lh_grown grown = diff->grown[i];
    bool is_small = grew[lh_map_get(&number_of, grown.at)] < reach.reachable_bytes / THOUSANDTH;
    if (is_small && lh_type_of(c, grown.id) == LH_TYPE_STRING) {
      lh_free((void *)grown.held_by);
      lh_free((void *)grown.place);
      continue;
    }
    diff->grown[diff->n_grown++] = grown;
  }
  lh_map_free(&number_of);
  lh_free(grew);
  return ok;
}

int lh_diff_grown(lh_three *three, lh_diff *diff, lh_error *error) {
  size_t capacity = 0;
  lh_grown grown;
  bool is_one;
  for (lh_id id = 1; id <= three->c->n; id++) {
    int code = measure_container(three, id, &grown, &is_one, error);
    if (code) return code;
    if (!is_one) continue;
    if (!lh_grow(&diff->grown, diff->n_grown, &capacity, sizeof grown))
      return lh_fail_memory(error, "listing containers");
    diff->grown[diff->n_grown++] = grown;
  }
  if (!lh_add_grown_strings(three, diff, &capacity))
    return lh_fail_memory(error, "looking for strings that grow");
  if (!describe_grown(three->c, diff) || !drop_small_strings(three->c, diff))
    return lh_fail_memory(error, "telling who holds the containers");
  if (diff->n_grown > 1) qsort(diff->grown, diff->n_grown, sizeof grown, compare_grown);
  return 0;
}
