/*
** suspects_spread.c - classes of which much is spread over many holders, so that no single object
** dominates it: sessions that stand in two indexes, or a few objects in each of many modules.
**
** One sweep over the tree of dominators in preorder adds up what the objects of each class retain,
** passing over the subtrees that were told already, and objects below another one of their class.
** The class with most is told, its subtrees too, and the sweep is made again until no class has
** enough: ten sweeps at most, since each class has a tenth of all.
**
** Who holds them: the objects that refer to them, by the folded paths to those. What the instances
** refer to each other with does not count, nor what is inside of them.
*/
#include "analyses.h"

#include <stdlib.h>
#include <string.h>

typedef struct sweep {
  const lh_tree *tree;
  const lh_snapshot *snapshot;
  uint8_t *told;
  lh_accumulated *sums; /* of each class */
  uint32_t *covered;    /* of each class: where the subtree of the last one counted ends */
  uint32_t n_classes;
} sweep;

/* Names in the program's text, and innards of functions, are spread in every program.
** What has a suspect inside would be told with it twice. */
static bool is_counted(const sweep *s, lh_id id) {
  const lh_snapshot *snapshot = s->snapshot;
  lh_type type = lh_type_of(snapshot, id);
  if (type == LH_TYPE_PROTO || type == LH_TYPE_UPVALUE || lh_is_own(snapshot, id)) return false;
  if (s->told[id] & LH_ABOVE_TOLD) return false;
  return type != LH_TYPE_STRING || !lh_is_plumbing(snapshot, snapshot->parent[id]);
}

static void sum_classes(sweep *s) {
  const lh_tree *tree = s->tree;
  for (uint32_t i = 0; i < s->n_classes; i++) {
    s->covered[i] = 0;
    s->sums[i] = (lh_accumulated){.class_index = i, .example = LH_NO_OBJECT};
  }
  for (uint32_t p = 1; p < tree->n; p++) {
    lh_id id = tree->order[p];
    if (s->told[id] & LH_TOLD) {
      p = tree->end[p] - 1;
      continue;
    }
    uint32_t class_index = lh_class_of(s->snapshot, id);
    if (class_index == UINT32_MAX || !is_counted(s, id)) continue;
    lh_accumulated *sum = &s->sums[class_index];
    sum->objects++;
    if (p < s->covered[class_index]) continue;
    s->covered[class_index] = tree->end[p];
    uint64_t bytes = lh_retained_bytes(s->snapshot, id);
    if (sum->example == LH_NO_OBJECT || bytes > lh_retained_bytes(s->snapshot, sum->example))
      sum->example = id;
    sum->bytes += bytes;
  }
}

/* The one with most bytes; with `few`, of those that say more. */
static const lh_accumulated *biggest_class(const sweep *s, uint64_t least_bytes,
                                           const lh_accumulated *few) {
  const lh_accumulated *best = NULL;
  for (uint32_t i = 0; i < s->n_classes; i++) {
    const lh_accumulated *sum = &s->sums[i];
    if (sum->bytes < least_bytes || sum->objects < LH_LEAST_SPREAD) continue;
    if (few != NULL && !lh_tells_more(s->snapshot, sum, few)) continue;
    if (best == NULL || sum->bytes > best->bytes) best = sum;
  }
  return best;
}

static const lh_accumulated *class_to_tell(const sweep *s, uint64_t least_bytes) {
  const lh_accumulated *best = NULL, *more = biggest_class(s, least_bytes, NULL);
  for (; more != NULL; more = biggest_class(s, least_bytes, best)) best = more;
  return best;
}

/* {=== Who holds them ================================================================= */

typedef struct holding {
  const lh_tree *tree;
  const lh_snapshot *snapshot;
  lh_places places; /* of the holders */
  uint32_t *n_held; /* of each object: to how many of the instances it refers */
  lh_id *holders;
  size_t n_holders, holder_capacity;
} holding;

/* wanted[id]: the object is one of them. */
static bool list_holders(holding *h, const uint8_t *inside, const uint8_t *wanted) {
  const lh_graph graph = lh_graph_of(h->snapshot);
  for (uint32_t p = 1; p < h->tree->n; p++) {
    lh_id id = h->tree->order[p];
    if (inside[id] || lh_is_own(h->snapshot, id)) continue;
    for (uint32_t e = graph.first_edge[id]; e < graph.first_edge[id + 1]; e++)
      h->n_held[id] += wanted[graph.edge[e]] && !(h->snapshot->label[e] & LH_LABEL_ASIDE);
    if (h->n_held[id] == 0) continue;
    if (!lh_grow(&h->holders, h->n_holders, &h->holder_capacity, sizeof *h->holders)) return false;
    h->holders[h->n_holders++] = id;
  }
  return true;
}

static bool keep_holders(const holding *h, lh_suspect *suspect) {
  const lh_strings *texts = &h->places.texts;
  uint64_t *n_held = lh_alloc_zeroed(texts->n, sizeof *n_held); /* of each path */
  bool ok = n_held != NULL;
  for (size_t i = 0; ok && i < h->n_holders; i++) {
    uint64_t *sum = &n_held[lh_path_of(&h->places, h->holders[i])];
    suspect->total_holders += *sum == 0;
    *sum += h->n_held[h->holders[i]];
  }
  while (ok && suspect->n_holders < LH_MOST_HOLDERS) {
    size_t best = lh_most_of(texts, n_held);
    if (best == texts->n) break;
    lh_holder *holder = &suspect->holders[suspect->n_holders++];
    *holder = (lh_holder){.path = lh_copy_text(texts->texts[best]), .objects = n_held[best]};
    ok = holder->path != NULL;
    n_held[best] = 0;
  }
  lh_free(n_held);
  return ok;
}

static bool name_holders(const lh_tree *tree, const uint8_t *inside, const uint8_t *wanted,
                         lh_suspect *suspect) {
  const lh_snapshot *snapshot = tree->snapshot;
  holding h = {.tree = tree, .snapshot = snapshot};
  h.n_held = lh_alloc_zeroed((size_t)snapshot->n + 1, sizeof *h.n_held);
  bool ok = h.n_held && list_holders(&h, inside, wanted) &&
            lh_places_make(&h.places, snapshot, h.holders, h.n_holders) &&
            keep_holders(&h, suspect);
  lh_free(h.n_held);
  lh_free(h.holders);
  lh_places_free(&h.places);
  return ok;
}

/* }=================================================================================== */

/* The nearest object that dominates positions `first` to `last`. */
static lh_id common_dominator(const lh_tree *tree, uint32_t first, uint32_t last) {
  lh_id id = tree->snapshot->idom[tree->order[first]];
  while (tree->end[tree->position[id]] <= last) id = tree->snapshot->idom[id];
  return id;
}

/* Marks the class's objects as told, and what they dominate as inside. */
static bool tell_spread_class(sweep *s, const lh_accumulated *class, lh_suspect *suspect) {
  const lh_tree *tree = s->tree;
  size_t n = (size_t)s->snapshot->n + 1;
  uint32_t first = 0, last = 0, covered = 0;
  uint8_t *inside = lh_alloc_zeroed(n, 1), *wanted = lh_alloc_zeroed(n, 1);
  bool ok = inside && wanted;
  for (uint32_t p = 1; ok && p < tree->n; p++) {
    lh_id id = tree->order[p];
    if (s->told[id] & LH_TOLD) {
      p = tree->end[p] - 1;
      continue;
    }
    bool is_one = lh_class_of(s->snapshot, id) == class->class_index && is_counted(s, id);
    wanted[id] = is_one;
    if (is_one && p >= covered) {
      covered = tree->end[p];
      last = p;
      if (first == 0) first = p;
      lh_mark_told(s->snapshot, s->told, id, LH_TOLD);
    }
    inside[id] = p < covered;
  }
  *suspect = (lh_suspect){.kind = LH_SUSPECT_SPREAD,
                          .id = first > 0 ? common_dominator(tree, first, last) : LH_ROOT,
                          .bytes = class->bytes,
                          .accumulated = {*class},
                          .n_accumulated = 1,
                          .n_classes = 1,
                          .objects = class->objects};
  ok = ok && name_holders(tree, inside, wanted, suspect);
  lh_free(inside);
  lh_free(wanted);
  return ok;
}

bool lh_find_spread(const lh_tree *tree, uint64_t least_bytes, uint8_t *told, lh_suspects *suspects,
                    size_t *capacity) {
  sweep s = {.tree = tree, .snapshot = tree->snapshot, .told = told};
  s.n_classes = lh_class_count(tree->snapshot);
  s.sums = lh_alloc(s.n_classes, sizeof *s.sums);
  s.covered = lh_alloc(s.n_classes, sizeof *s.covered);
  bool ok = s.sums && s.covered;
  while (ok) {
    sum_classes(&s);
    const lh_accumulated *class = class_to_tell(&s, least_bytes);
    if (class == NULL) break;
    ok = lh_grow(&suspects->list, suspects->n, capacity, sizeof *suspects->list);
    if (ok) ok = tell_spread_class(&s, class, &suspects->list[suspects->n++]);
  }
  lh_free(s.sums);
  lh_free(s.covered);
  return ok;
}
