/*
** suspects.c - what leaks, from one snapshot: what dominates a large share of the reachable bytes,
** and the place where it accumulates.
**
** The idea, and the 0.7, are those of the leak suspects of the Eclipse Memory Analyzer. From the
** root the way leads down the tree of dominators, clusters (clusters.c) taken as one, into all that
** retains a tenth. Where the biggest of what a place dominates has less than 0.7 of it, many
** small things hang: they are told by class, without those that are big enough to be looked at by
** themselves. Where these many are few (the 16 shards of a map), or but collections, the many are
** looked for below them: what hangs there instead, eight times as many, with 0.7 of the bytes.
**
** Each object is met at most a few times: once as a child, and once or twice in a row. 2.2 million
** objects in one list: 0.12 s.
*/
#include "analyses.h"

#include <stdlib.h>
#include <string.h>

enum { MANY_MORE = 8, FEW = 64, MOST_LEVELS = 4 };

/* told[id]: the object and all that it dominates is told; its own bytes are, or it dominates an
** object of which either holds. */
enum { TOLD = 1, ABOVE_TOLD = 2 };

/* Are `many` to be told instead of the `few` (at most FEW, or but collections) that hold them? */
static bool tells_more(const lh_snapshot *snapshot, const lh_accumulated *many,
                       const lh_accumulated *few) {
  const lh_class_entry *list = snapshot->classes->list;
  if (list[many->class_index].visible.type == LH_TYPE_STRING) return false;
  return (few->objects <= FEW || !list[few->class_index].specific) &&
         many->objects >= MANY_MORE * few->objects &&
         (double)many->bytes >= LH_GOES_ON * (double)few->bytes;
}

/* `how` much of the object is told. */
static void mark_told(const lh_snapshot *snapshot, uint8_t *told, lh_id id, uint8_t how) {
  told[id] |= how;
  while (id != LH_ROOT && !(told[snapshot->idom[id]] & ABOVE_TOLD)) {
    id = snapshot->idom[id];
    told[id] |= ABOVE_TOLD;
  }
}

/* {=== Spread ========================================================================= */

/* Classes of which much is spread over many holders, so that no single object
** dominates it: sessions that stand in two indexes, or a few objects in each of many modules.
**
** One sweep over the tree of dominators in preorder adds up what the objects of each class retain,
** passing over the subtrees that were told already, and objects below another one of their class.
** The class with most is told, its subtrees too, and the sweep is made again until no class has
** enough: ten sweeps at most, since each class has a tenth of all.
**
** Who holds them: the objects that refer to them, by the folded paths to those. What the instances
** refer to each other with does not count, nor what is inside of them. */

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
  if (s->told[id] & ABOVE_TOLD) return false;
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
    if (s->told[id] & TOLD) {
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
    if (few != NULL && !tells_more(s->snapshot, sum, few)) continue;
    if (best == NULL || sum->bytes > best->bytes) best = sum;
  }
  return best;
}

static const lh_accumulated *class_to_tell(const sweep *s, uint64_t least_bytes) {
  const lh_accumulated *best = NULL, *more = biggest_class(s, least_bytes, NULL);
  for (; more != NULL; more = biggest_class(s, least_bytes, best)) best = more;
  return best;
}

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
    if (s->told[id] & TOLD) {
      p = tree->end[p] - 1;
      continue;
    }
    bool is_one = lh_class_of(s->snapshot, id) == class->class_index && is_counted(s, id);
    wanted[id] = is_one;
    if (is_one && p >= covered) {
      covered = tree->end[p];
      last = p;
      if (first == 0) first = p;
      mark_told(s->snapshot, s->told, id, TOLD);
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

/* Appends the classes of which at least `least_bytes` are spread over many holders, apart from what
** is told, and marks them as told. */
static bool find_spread(const lh_tree *tree, uint64_t least_bytes, uint8_t *told,
                        lh_suspects *suspects, size_t *capacity) {
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

/* }=================================================================================== */

typedef struct search {
  const lh_snapshot *snapshot;
  const lh_tree *tree;
  const lh_id *top;
  uint8_t *heads; /* of each object: a cluster begins there */
  lh_gathering here, below;
  uint8_t *told;
  lh_id *stack;
  size_t n_stack, stack_capacity;
  lh_suspects *suspects;
  size_t capacity;
} search;

static bool push_object(search *s, lh_id id) {
  if (!lh_grow(&s->stack, s->n_stack, &s->stack_capacity, sizeof *s->stack)) return false;
  s->stack[s->n_stack++] = id;
  return true;
}

static uint64_t retained(const search *s, lh_id id) {
  return lh_retained_bytes(s->snapshot, id);
}

/* {=== What has accumulated =========================================================== */

static void keep_classes(lh_suspect *suspect, const lh_gathering *g) {
  suspect->n_classes = g->n_rows;
  suspect->objects = 0;
  suspect->around_bytes = suspect->bytes;
  for (uint32_t i = 0; i < g->n_rows; i++) {
    suspect->objects += g->rows[i].objects;
    suspect->around_bytes -= g->rows[i].bytes;
  }
  suspect->n_accumulated = g->n_rows < LH_MOST_ACCUMULATED ? g->n_rows : LH_MOST_ACCUMULATED;
  for (uint32_t i = 0; i < suspect->n_accumulated; i++) suspect->accumulated[i] = g->rows[i];
}

/* Of ids, those of the class that has accumulated most; returns how many. */
static size_t keep_first_class(const search *s, const lh_gathering *g, lh_id *ids, size_t n) {
  size_t n_kept = 0;
  for (size_t i = 0; i < n; i++)
    if (lh_class_of(s->snapshot, ids[i]) == g->rows[0].class_index) ids[n_kept++] = ids[i];
  return n_kept;
}

/* s->here.ids are what hangs there. Follows a class of few that hold many. */
static bool gather(search *s, lh_suspect *suspect) {
  lh_gathering *here = &s->here, *below = &s->below;
  lh_gather(here, here->ids, here->n_ids);
  keep_classes(suspect, here);
  for (unsigned level = 0; here->n_rows > 0 && level < MOST_LEVELS; level++) {
    lh_accumulated few = here->rows[0];
    size_t n = keep_first_class(s, here, here->ids, here->n_ids);
    below->n_ids = 0;
    for (size_t i = 0; i < n; i++)
      if (!lh_list_below(below, here->ids[i])) return false;
    lh_gather(below, below->ids, below->n_ids);
    lh_gathering swap = *here;
    *here = *below;
    *below = swap;
    if (here->n_rows == 0 || (double)here->rows[0].bytes < LH_GOES_ON * (double)few.bytes) break;
    if (tells_more(s->snapshot, &here->rows[0], &suspect->accumulated[0]))
      keep_classes(suspect, here);
  }
  return true;
}

/* }=================================================================================== */

static bool add_suspect(search *s, const lh_suspect *suspect) {
  lh_suspects *all = s->suspects;
  if (!lh_grow(&all->list, all->n, &s->capacity, sizeof *all->list)) return false;
  all->list[all->n++] = *suspect;
  /* Of _G it is its own bytes alone that were told, not what hangs there. */
  bool plumbing = lh_is_plumbing(s->snapshot, suspect->id);
  mark_told(s->snapshot, s->told, suspect->id, plumbing ? ABOVE_TOLD : TOLD);
  return true;
}

/* `rest`: what hangs there in small things, which are s->here.ids, and the place's own bytes. */
static bool tell_suspect(search *s, lh_id id, const lh_extent *extent, uint64_t rest) {
  lh_suspect suspect = {.kind = LH_SUSPECT_ITSELF, .id = id, .bytes = rest};
  if (extent->members >= LH_LEAST_CLUSTER) {
    suspect.kind = extent->branches ? LH_SUSPECT_TREE : LH_SUSPECT_LIST;
    suspect.accumulated[0] =
        (lh_accumulated){lh_class_of(s->snapshot, id), extent->members, rest, id};
    suspect.n_accumulated = suspect.n_classes = 1;
    suspect.objects = extent->members;
    return add_suspect(s, &suspect);
  }
  if (!gather(s, &suspect)) return false;
  if (rest > 2 * extent->shallow_bytes)
    suspect.kind = LH_SUSPECT_HOLDER;
  else
    suspect.n_accumulated = suspect.n_classes = 0, suspect.objects = suspect.around_bytes = 0;
  return add_suspect(s, &suspect);
}

/* Looks at a place that retains enough: goes on from there, tells it, or both. */
static bool look_at_object(search *s, lh_id id) {
  uint64_t least = s->suspects->least_bytes, rest = retained(s, id), biggest = 0;
  bool plumbing = lh_is_plumbing(s->snapshot, id);
  if (s->told[id] & TOLD) return true; /* luaheap's */
  lh_extent extent = lh_extent_of(&s->here, id);
  size_t n_small = 0;
  s->here.n_ids = 0;
  if (!lh_list_below(&s->here, id)) return false;
  for (size_t i = 0; i < s->here.n_ids; i++) {
    lh_id child = s->here.ids[i];
    uint64_t bytes = retained(s, child);
    if (bytes > biggest) biggest = bytes;
    if (bytes < least) {
      s->here.ids[n_small++] = child;
      continue;
    }
    rest -= bytes;
    if (!push_object(s, child)) return false;
  }
  s->here.n_ids = plumbing ? 0 : n_small;
  if (plumbing) rest = extent.shallow_bytes; /* a table that big is no one's plumbing */
  if (rest < least || id == LH_ROOT || lh_is_own(s->snapshot, id) ||
      (!plumbing && (double)biggest >= LH_GOES_ON * (double)retained(s, id)))
    return true;
  return tell_suspect(s, id, &extent, rest);
}

static bool find_heads(search *s) {
  uint32_t n = s->snapshot->n;
  s->heads = lh_alloc_zeroed((size_t)n + 1, 1);
  for (lh_id id = 0; s->heads && id <= n; id++) s->heads[s->top[id]] |= s->top[id] != id;
  s->here.heads = s->below.heads = s->heads;
  return s->heads != NULL;
}

static bool walk_down(search *s) {
  bool ok = find_heads(s) && push_object(s, LH_ROOT);
  while (ok && s->n_stack > 0) ok = look_at_object(s, s->stack[--s->n_stack]);
  return ok;
}

static int compare_suspects(const void *left, const void *right) {
  const lh_suspect *a = left, *b = right;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return (a->id > b->id) - (a->id < b->id);
}

int lh_find_suspects(lh_snapshot *snapshot, lh_suspects *out, lh_error *error) {
  *out = (lh_suspects){0};
  if (!snapshot->retained || !snapshot->classes)
    return lh_fail(error, LH_EARGUMENT, "the snapshot has not been classified");
  search s = {.snapshot = snapshot, .suspects = out};
  out->least_bytes = lh_least_suspect(snapshot->reach.reachable_bytes);
  bool ok = (s.tree = lh_dominator_tree(snapshot)) && (s.top = lh_kept_clusters(snapshot)) &&
            lh_gathering_make(&s.here, s.tree, s.top) &&
            lh_gathering_make(&s.below, s.tree, s.top) &&
            (s.told = lh_alloc_zeroed((size_t)snapshot->n + 1, 1)) &&
            lh_mark_luaheap(snapshot, s.told, TOLD) && walk_down(&s) &&
            find_spread(s.tree, out->least_bytes, s.told, out, &s.capacity);
  if (ok && out->n > 1) qsort(out->list, out->n, sizeof *out->list, compare_suspects);
  lh_gathering_free(&s.here);
  lh_gathering_free(&s.below);
  lh_free(s.heads);
  lh_free(s.told);
  lh_free(s.stack);
  if (ok) return LH_OK;
  lh_suspects_free(out);
  return lh_fail_memory(error, "looking for suspects");
}

void lh_suspects_free(lh_suspects *suspects) {
  for (size_t i = 0; i < suspects->n; i++)
    for (uint32_t j = 0; j < suspects->list[i].n_holders; j++)
      lh_free((void *)suspects->list[i].holders[j].path);
  lh_free(suspects->list);
  *suspects = (lh_suspects){0};
}
