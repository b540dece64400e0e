/*
** grown.c - Finds containers that grew: leaks without new objects, such as an array of numbers.
** Strings that grow in them: grown_strings.c.
*/
#include "compare.h"
#include "graph/graph.h"
#include "read/decode.h"

/* A table whose keys change may get more bytes with equal entries: that is no growth. */
static bool has_grown(const lh_grown *g, lh_type type) {
  const uint64_t *bytes = g->shallow_bytes, *entries = g->entries;
  if (type != LH_TYPE_TABLE) return bytes[0] < bytes[1] && bytes[1] < bytes[2];
  return entries[0] < entries[1] && entries[1] < entries[2] && bytes[0] <= bytes[2];
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

static int compare_ids(const void *left, const void *right) {
  const lh_grown *a = left, *b = right;
  return LH_LESS(a->id, b->id);
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
  grown->at = grown->told_at = lh_folded_place(m->folds, grown->id);
  lh_place_text(tree, grown->at, &text);
  grown->place = lh_text_finish(&text);
  bool ok = grown->place && lh_fingerprint(class, c->classes->texts.texts[class->stable],
                                           tree->list[grown->at].identity, grown->fingerprint);
  grown->held_by = ok ? container_path(m, grown->id, grown->place) : NULL;
  return grown->held_by != NULL;
}

/* Keeps what is reachable and has grown by entries that last; a string if its holder names it. */
static void drop_others(const lh_snapshot *c, lh_diff *diff) {
  size_t n = 0;
  for (size_t i = 0; i < diff->n_grown; i++) {
    lh_grown *grown = &diff->grown[i];
    lh_type type = lh_type_of(c, grown->id);
    if (!lh_is_reachable(c, grown->id) || lh_is_own(c, grown->id)) continue;
    if (type == LH_TYPE_STRING && lh_naming_parent(c, grown->id) != grown->holder) continue;
    if (type == LH_TYPE_TABLE) grown->entries[2] = lh_lasting_entries(c, grown->id);
    grown->class_index = lh_class_of(c, grown->id);
    if (has_grown(grown, type)) diff->grown[n++] = *grown;
  }
  diff->n_grown = n;
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

bool lh_describe_grown(const lh_snapshot *c, lh_diff *diff) {
  chart m = {.snapshot = c, .steps_left = STEPS_OF_FEW + MOST_STEPS * (uint64_t)c->n};
  drop_others(c, diff);
  if (diff->n_grown == 0) return true;
  m.folds = lh_folds_of(c);
  m.index = lh_alloc_zeroed((size_t)c->n + 1, sizeof *m.index);
  bool ok = m.folds && m.index;
  for (size_t i = 0; ok && i < diff->n_grown; i++) ok = describe_container(&m, &diff->grown[i]);
  LH_FREE_ALL(m.index, m.edges);
  ok = ok && drop_small_strings(c, diff);
  if (ok) qsort(diff->grown, diff->n_grown, sizeof *diff->grown, compare_grown);
  return ok;
}

bool lh_find_grown(const lh_snapshot *b, const lh_snapshot *c, uint32_t b_in_c, lh_diff *diff) {
  const lh_counted *counted = b->counted;
  size_t capacity = counted->n_rising;
  diff->grown = lh_alloc(capacity, sizeof *diff->grown);
  for (size_t i = 0; diff->grown && i < counted->n_rising; i++) {
    const lh_rising *r = &counted->rising[i];
    lh_id id = lh_find_in_later(b, r->address, r->type, c, b_in_c);
    if (id == LH_NO_OBJECT || lh_shallow_bytes(c, id) < r->shallow_bytes[1]) continue;
    lh_grown grown = {
        .id = id,
        .shallow_bytes = {r->shallow_bytes[0], r->shallow_bytes[1], lh_shallow_bytes(c, id)},
        .entries = {r->entries[0], r->all_entries, lh_recorded_entries(c, id)}};
    bool is_one = has_grown(&grown, r->type);
    grown.entries[1] = r->entries[1];
    if (is_one) diff->grown[diff->n_grown++] = grown;
  }
  bool ok = diff->grown && lh_add_grown_strings(b, c, b_in_c, diff, &capacity);
  if (ok && diff->n_grown > 1) qsort(diff->grown, diff->n_grown, sizeof *diff->grown, compare_ids);
  return ok;
}
