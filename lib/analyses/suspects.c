/*
** suspects.c - Finds what dominates a large share of the memory, and where it accumulates.
** The idea and the 0.7 are from the leak suspects of the Eclipse Memory Analyzer. The search goes
** down the dominator tree, with clusters (clusters.c) as one vertex, into all big objects. If the
** biggest child of a place has less than 0.7 of it, the small children are summed up by class. Few
** children (16 shards of a map), or mere collections, are replaced by the objects below, if those
** are 8 times as many and have 0.7 of the bytes. 2.2 million objects in one list: 0.12 s.
*/
#include "analyses.h"

enum { MANY_MORE = 8, FEW = 64, MOST_LEVELS = 4 };

typedef struct search {
  const lh_snapshot *snapshot;
  const lh_tree *tree;
  const lh_id *top;
  uint8_t *heads; /* by object: a cluster begins there */
  lh_gathering here, below;
  uint8_t *luaheap; /* by object: belongs to luaheap's modules */
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

static size_t keep_first_class(const search *s, const lh_gathering *g, lh_id *ids, size_t n) {
  size_t n_kept = 0;
  for (size_t i = 0; i < n; i++)
    if (lh_class_of(s->snapshot, ids[i]) == g->rows[0].class_index) ids[n_kept++] = ids[i];
  return n_kept;
}

/* True if the objects below may be reported instead. */
static bool are_few(const lh_snapshot *snapshot, const lh_accumulated *few) {
  return few->objects <= FEW || !snapshot->classes->list[few->class_index].specific;
}

static bool says_more(const lh_snapshot *snapshot, const lh_accumulated *many,
                      const lh_accumulated *few) {
  return snapshot->classes->list[many->class_index].visible.type != LH_TYPE_STRING &&
         many->objects >= MANY_MORE * few->objects &&
         (double)many->bytes >= LH_GOES_ON * (double)few->bytes;
}

/* Sums up s->here.ids by class; goes down while a few objects hold many. */
static bool gather(search *s, lh_suspect *suspect) {
  lh_gathering *here = &s->here, *below = &s->below;
  lh_gather(here, here->ids, here->n_ids);
  keep_classes(suspect, here);
  for (unsigned level = 0; here->n_rows > 0 && level < MOST_LEVELS; level++) {
    if (!are_few(s->snapshot, &suspect->accumulated[0])) break;
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
    if (says_more(s->snapshot, &here->rows[0], &suspect->accumulated[0]))
      keep_classes(suspect, here);
  }
  return true;
}

static bool add_suspect(search *s, const lh_suspect *suspect) {
  lh_suspects *all = s->suspects;
  if (!lh_grow(&all->list, all->n, &s->capacity, sizeof *all->list)) return false;
  all->list[all->n++] = *suspect;
  return true;
}

/* `rest`: bytes of the place itself and of its small children, which are s->here.ids. */
static bool judge_suspect(search *s, lh_id id, const lh_extent *extent, uint64_t rest) {
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

/* Looks at a place that retains enough: pushes its big children, reports the place, or both. */
static bool look_at_object(search *s, lh_id id) {
  uint64_t least = s->suspects->least_bytes, rest = retained(s, id), biggest = 0;
  bool plumbing = lh_is_runtime_object(s->snapshot, id);
  if (s->luaheap[id]) return true;
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
  if (plumbing) rest = extent.shallow_bytes; /* a table that is so big itself is a suspect */
  if (rest < least || id == LH_ROOT || lh_is_own(s->snapshot, id) ||
      (!plumbing && (double)biggest >= LH_GOES_ON * (double)retained(s, id)))
    return true;
  return judge_suspect(s, id, &extent, rest);
}

static bool find_heads(search *s) {
  uint32_t n = s->snapshot->n;
  s->heads = lh_alloc_zeroed((size_t)n + 1, 1);
  for (lh_id id = 0; s->heads && id <= n; id++)
    if (s->top[id] != id) s->heads[s->top[id]] = 1;
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
  return LH_MORE(a->bytes, b->bytes) ?: LH_LESS(a->id, b->id);
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
            (s.luaheap = lh_alloc_zeroed((size_t)snapshot->n + 1, 1)) &&
            lh_mark_luaheap(snapshot, s.luaheap, 1) && walk_down(&s);
  if (ok && out->n > 1) qsort(out->list, out->n, sizeof *out->list, compare_suspects);
  lh_gathering_free(&s.here);
  lh_gathering_free(&s.below);
  LH_FREE_ALL(s.heads, s.luaheap, s.stack);
  if (ok) return LH_OK;
  lh_suspects_free(out);
  return lh_fail_memory(error, "looking for suspects");
}

void lh_suspects_free(lh_suspects *suspects) {
  lh_free(suspects->list);
  *suspects = (lh_suspects){0};
}
