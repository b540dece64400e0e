/*
** retained_sets.c - the exact retained size of sets, such as all instances of a class.
**
** The lower bound is the union of what the members dominate. The upper bound is the union of their
** subtrees in the tree of shortest paths: every other object has a path without a member. Both
** bounds are one sweep over a tree in preorder, for all sets at once. For most classes they agree.
**
** Otherwise lh_exact_union looks at the candidates, which are in upper but not in lower. A
** candidate stays if a staying object refers to it, first an object outside of upper. While sets
** are few, all objects outside of upper are searched for such references, until the bytes left are
** those of lower. After as many edges as the heap has, an index of sources is cheaper. A candidate
** is freed if and only if its immediate dominator is, unless a member is between the two on its
** shortest path. Only these exceptions, the joints, need their referrers. Then the cost is the
** set's part of upper and the edges into the candidates: usually little, at worst the whole heap. A
** file can be made in which a hundred thousand nested sets each cost the whole heap; after a limit,
** lower is used.
**
** A dominator of v is on all paths to v, so a sweep in preorder meets it before v: no second tree
** is needed. Memory: 20 n; 4 for each member of a set whose bounds differ, for each edge to a
** joint, and for each candidate of a set or object outside of it.
*/
#include "graph.h"

/* The size of an object too big for the column: its retained size less that of its children. */
static uint64_t shallow_of_big(const lh_unions *u, lh_id v) {
  const lh_tree *tree = u->dominators;
  uint64_t bytes = u->snapshot->retained[v];
  for (uint32_t p = lh_first_child(tree, v); p < lh_end_of(tree, v); p = tree->end[p])
    bytes -= u->snapshot->retained[tree->order[p]];
  return bytes;
}

static inline uint64_t shallow_of(const lh_unions *u, lh_id v) {
  return __builtin_expect(u->snapshot->shallow[v] < UINT32_MAX, 1) ? u->snapshot->shallow[v]
                                                                   : shallow_of_big(u, v);
}

/* Adds up, for each set, the subtrees of its topmost members: by `before`, the bytes before each
** position, or if NULL by retained sizes. *is_many: the set has several topmost members. */
static bool sum_subtrees(const lh_unions *u, const lh_tree *tree, const uint64_t *before,
                         uint64_t *sum, uint8_t *is_many) {
  const uint32_t *set_of = u->set_of, *end = tree->end;
  const lh_id *order = tree->order;
  uint32_t n_sets = u->n_sets, *covered = lh_alloc_zeroed(n_sets, sizeof *covered);
  if (!covered) return false;
  const uint64_t *retained = u->snapshot->retained;
  for (uint32_t p = 0, n = tree->n; p < n; p++) {
    uint32_t set = set_of[order[p]];
    if (set >= n_sets || p < covered[set]) continue;
    is_many[set] = covered[set] > 0;
    covered[set] = end[p];
    sum[set] += before ? before[end[p]] - before[p] : retained[order[p]];
  }
  lh_free(covered);
  return true;
}

static bool bound_above(lh_unions *u, uint8_t *is_many) {
  const lh_tree *paths = &u->paths;
  uint64_t *before = lh_alloc((size_t)paths->n + 1, sizeof *before);
  if (!before) return false;
  before[0] = 0;
  for (uint32_t p = 0; p < paths->n; p++)
    before[p + 1] = before[p] + shallow_of(u, paths->order[p]);
  bool ok = sum_subtrees(u, paths, before, u->upper, is_many);
  lh_free(before);
  return ok;
}

bool lh_bound_sets(lh_unions *u, lh_snapshot *snapshot, const uint32_t *set_of, size_t n_sets) {
  *u = (lh_unions){.snapshot = snapshot, .set_of = set_of, .n_sets = (uint32_t)n_sets};
  uint32_t n_sorted;
  lh_id *sorted = lh_sort_by_distance(snapshot->n, snapshot->distance, &n_sorted);
  u->dominators = sorted ? lh_dominator_tree_of(snapshot, sorted, n_sorted) : NULL;
  uint8_t *is_many = lh_alloc_zeroed(n_sets, 1);
  u->lower = lh_alloc_zeroed(n_sets, sizeof *u->lower);
  u->upper = lh_alloc_zeroed(n_sets, sizeof *u->upper);
  bool ok = u->dominators && is_many && u->lower && u->upper &&
            lh_make_tree(&u->paths, snapshot->n, sorted, n_sorted, snapshot->parent);
  LH_FREE_ALL(sorted, u->paths.position); /* the position is not needed */
  u->paths.position = NULL;
  ok = ok && bound_above(u, is_many) && sum_subtrees(u, u->dominators, NULL, u->lower, is_many);
  for (uint32_t set = 0; ok && set < n_sets; set++)
    if (!is_many[set]) u->upper[set] = u->lower[set]; /* one member dominates all others */
  lh_free(is_many);
  return ok;
}

/* ==== exact ========================================================================= */

static inline bool is_joint(const uint64_t *joints, lh_id v) {
  return joints[v / 64] >> v % 64 & 1;
}

static inline bool is_bounded(const lh_unions *u, uint32_t set) {
  return set < u->n_sets && u->lower[set] < u->upper[set];
}

/* Counts the members of sets whose bounds differ, and finds the joints. In preorder, the last
** vertex at each distance is on the path to the current one. */
static bool find_joints(lh_unions *u) {
  uint32_t *nearest =
      lh_alloc((size_t)u->snapshot->n + 1, sizeof *nearest); /* member, by distance */
  uint32_t *count = u->first_member = lh_alloc_zeroed((size_t)u->n_sets + 2, sizeof *count);
  u->joints = lh_alloc_zeroed((size_t)u->snapshot->n / 64 + 1, sizeof *u->joints);
  bool ok = nearest && count && u->joints;
  if (ok) nearest[0] = 0;
  for (uint32_t p = 1; ok && p < u->paths.n; p++) {
    lh_id v = u->paths.order[p];
    uint32_t distance = u->snapshot->distance[v], before = nearest[distance - 1],
             set = u->set_of[v];
    bool counts = is_bounded(u, set);
    nearest[distance] = counts ? distance : before;
    if (counts) count[set + 2]++;
    if (before > u->snapshot->distance[u->snapshot->idom[v]])
      u->joints[v / 64] |= UINT64_C(1) << v % 64;
  }
  lh_free(nearest);
  return ok;
}

static bool list_members(lh_unions *u) {
  uint32_t *first = u->first_member;
  for (uint32_t set = 0; set < u->n_sets; set++) first[set + 2] += first[set + 1];
  u->member = lh_alloc(first[u->n_sets + 1], sizeof *u->member);
  for (uint32_t p = 1; u->member && p < u->paths.n; p++) {
    uint32_t set = u->set_of[u->paths.order[p]];
    if (is_bounded(u, set)) u->member[first[set + 1]++] = p;
  }
  return u->member != NULL;
}

/* The sources of the edges to each joint, also garbage. */
static bool index_sources(lh_unions *u) {
  const uint32_t *first_edge = u->snapshot->first_edge;
  const lh_id *edge = u->snapshot->edge;
  const uint64_t *joints = u->joints;
  uint32_t n = u->snapshot->n, n_edges = first_edge[n + 1];
  uint32_t *first = u->first_source = lh_alloc_zeroed((size_t)n + 3, sizeof *first), *to = NULL;
  size_t n_to = 0, capacity = 0; /* edges to joints */
  bool ok = first != NULL;
  for (uint32_t e = 0; ok; e++) {
    while (e < n_edges && !is_joint(joints, edge[e])) e++;
    if (e >= n_edges) break;
    ok = n_to < capacity || lh_grow(&to, n_to, &capacity, sizeof *to);
    if (!ok) break;
    to[n_to++] = e;
    first[edge[e] + 2]++;
  }
  for (lh_id v = 0; ok && v <= n; v++) first[v + 2] += first[v + 1];
  u->source = ok ? lh_alloc(first[n + 2], sizeof *u->source) : NULL;
  lh_id source = 0;
  for (size_t i = 0; u->source && i < n_to; i++) {
    while (first_edge[source + 1] <= to[i]) source++;
    u->source[first[edge[to[i]] + 1]++] = source;
  }
  lh_free(to);
  return u->source != NULL;
}

static bool prepare_exact(lh_unions *u) {
  return u->source || (find_joints(u) && list_members(u) && index_sources(u));
}

static inline bool add_candidate(lh_unions *u, size_t n, lh_id v) {
  if (n == u->candidate_capacity &&
      !lh_grow(&u->candidate, n, &u->candidate_capacity, sizeof *u->candidate))
    return false;
  u->candidate[n] = v;
  return true;
}

/* Does the vertex dominate its whole subtree of shortest paths, of n vertices? */
static inline bool dominates_paths(const lh_unions *u, lh_id v, uint32_t n) {
  const lh_tree *tree = u->dominators;
  return n == 1 || tree->end[tree->position[v]] - tree->position[v] == n;
}

/* Stamps the subtree of shortest paths at p, whose first vertex is a member. Each round has two
** stamps: even for candidates, odd for freed objects. A smaller stamp stays. Without `all`, what
** lies below a freed vertex that dominates its whole subtree may keep an old stamp. */
static bool stamp_subtree(lh_unions *u, uint32_t set, uint32_t p, bool all, size_t *n_candidates) {
  uint32_t maybe = 2 * u->round, end = u->paths.end[p];
  const lh_id *order = u->paths.order;
  uint32_t *stamp = u->stamp;
  u->work += end - p;
  while (p < end) {
    lh_id v = order[p];
    uint32_t n = u->paths.end[p] - p;
    if (u->set_of[v] == set || stamp[u->snapshot->idom[v]] == maybe + 1) {
      stamp[v] = maybe + 1;
      if (!dominates_paths(u, v, n)) n = 1;
      for (uint32_t i = 1; all && i < n; i++) stamp[order[p + i]] = maybe + 1;
      p += n;
      continue;
    }
    stamp[v] = maybe;
    if (all && is_joint(u->joints, v) && !add_candidate(u, (*n_candidates)++, v)) return false;
    p++;
  }
  return true;
}

static bool has_source_that_stays(lh_unions *u, lh_id v, uint32_t maybe) {
  u->work += u->first_source[v + 1] - u->first_source[v];
  for (uint32_t i = u->first_source[v]; i < u->first_source[v + 1]; i++)
    if (u->stamp[u->source[i]] < maybe && u->snapshot->distance[u->source[i]] <= u->snapshot->n)
      return true;
  return false;
}

static uint64_t most_work(const lh_unions *u) {
  return 4000000u + 64 * ((uint64_t)u->snapshot->n + u->snapshot->first_edge[u->snapshot->n + 1]);
}

/* Appends the candidates among the targets of a vertex that stays: they stay, too. */
static inline bool keep_targets(lh_unions *u, lh_id v, size_t *n_stay, uint64_t *bytes) {
  const lh_id *edge = u->snapshot->edge;
  uint32_t maybe = 2 * u->round, end = u->snapshot->first_edge[v + 1], *stamp = u->stamp;
  for (uint32_t e = u->snapshot->first_edge[v]; e < end; e++) {
    if (__builtin_expect(stamp[edge[e]] != maybe, 1)) continue;
    stamp[edge[e]] = 0;
    *bytes -= shallow_of(u, edge[e]);
    if (!add_candidate(u, (*n_stay)++, edge[e])) return false;
  }
  return true;
}

/* Stamps the candidates, and lists the vertices outside of upper that have edges. */
static bool list_outside(lh_unions *u, uint32_t set, size_t *n_outside) {
  const uint32_t *first_edge = u->snapshot->first_edge, *set_of = u->set_of;
  const lh_id *order = u->paths.order;
  uint32_t n = u->paths.n;
  for (uint32_t p = 0; p < n;) {
    lh_id v = order[p];
    if (set_of[v] == set) {
      if (!stamp_subtree(u, set, p, false, n_outside)) return false;
      p = u->paths.end[p];
      continue;
    }
    p++;
    if (first_edge[v] == first_edge[v + 1]) continue;
    u->searched += first_edge[v + 1] - first_edge[v];
    if (!add_candidate(u, (*n_outside)++, v)) return false;
  }
  return true;
}

static bool search_sources(lh_unions *u, uint32_t set, size_t *n_stay, uint64_t *bytes) {
  uint32_t covered = 0;
  size_t n_candidates = 0;
  if (!prepare_exact(u)) return false;
  for (uint32_t i = u->first_member[set]; i < u->first_member[set + 1]; i++) {
    if (u->member[i] < covered) continue;
    covered = u->paths.end[u->member[i]];
    if (!stamp_subtree(u, set, u->member[i], true, &n_candidates)) return false;
  }
  for (size_t i = 0; i < n_candidates; i++) {
    lh_id v = u->candidate[i];
    if (!has_source_that_stays(u, v, 2 * u->round)) continue;
    u->stamp[v] = 0;
    *bytes -= shallow_of(u, v);
    u->candidate[(*n_stay)++] = v;
  }
  return true;
}

/* While sets are few, a look at all that is outside of upper is cheaper than the sources. */
static bool find_exact(lh_unions *u, uint32_t set) {
  size_t n_stay = 0; /* in `candidate`; their edges are not yet followed */
  uint64_t bytes = u->upper[set];
  u->round++;
  bool is_cheap = u->searched <= u->snapshot->first_edge[u->snapshot->n + 1];
  bool ok = is_cheap ? list_outside(u, set, &n_stay) : search_sources(u, set, &n_stay, &bytes);
  while (ok && n_stay && bytes > u->lower[set])
    ok = keep_targets(u, u->candidate[--n_stay], &n_stay, &bytes);
  u->lower[set] = u->upper[set] = bytes;
  return ok;
}

bool lh_exact_union(lh_unions *u, uint32_t set) {
  if (u->work > most_work(u)) u->upper[set] = u->lower[set];
  if (u->lower[set] == u->upper[set]) return true;
  if (!u->stamp) u->stamp = lh_alloc_zeroed((size_t)u->snapshot->n + 1, sizeof *u->stamp);
  return u->stamp && find_exact(u, set);
}

bool lh_retained_by_sets(lh_snapshot *snapshot, const uint32_t *set_of, size_t n_sets,
                         uint64_t *retained, size_t stride) {
  lh_unions u;
  bool ok = lh_bound_sets(&u, snapshot, set_of, n_sets);
  for (uint32_t set = 0; ok && set < n_sets; set++) {
    ok = lh_exact_union(&u, set);
    *(uint64_t *)((char *)retained + set * stride) = u.upper[set];
  }
  lh_free_unions(&u);
  return ok;
}

void lh_free_unions(lh_unions *u) {
  lh_free_tree(&u->paths);
  LH_FREE_ALL(u->lower, u->upper, u->joints, u->first_member, u->member, u->first_source, u->source,
              u->stamp, u->candidate);
}
