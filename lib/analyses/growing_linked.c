/*
** growing_linked.c - objects of one class that refer to each other: lists that are linked both
** ways, rings, queues, trees with links to their parents. Nobody in them dominates the others, so
** that clusters.c, which starts from what it finds, sees none of them.
**
** A union-find over the edges between two objects of one class, where the class says what they are
** for. The one nearest to the root represents its set. Objects that all refer to one, which refers
** to none, are no such set, and neither are the elements of a table that was found already. Near to
** O(n + m); 13 bytes an object.
*/
#include "analyses.h"

#include <string.h>

static void join_sets(lh_id *set, const uint32_t *distance, lh_id a, lh_id b) {
  a = lh_find_first(set, a);
  b = lh_find_first(set, b);
  bool a_is_nearer = distance[a] != distance[b] ? distance[a] < distance[b] : a < b;
  set[a_is_nearer ? b : a] = a_is_nearer ? a : b;
}

/* Does the class of an object say what it is for, and may there be links between objects of it? */
static bool can_be_linked(const lh_snapshot *snapshot, lh_id id) {
  unsigned type = snapshot->kind[id] & 15;
  uint32_t class_index = snapshot->classes->of[id];
  return (type == LH_TYPE_TABLE || type == LH_TYPE_USERDATA) && class_index != UINT32_MAX &&
         snapshot->classes->list[class_index].specific && lh_is_reachable(snapshot, id);
}

/* A union-find in which the member nearest to the root represents each set. held[id]: another one of
** its class refers to it. NULL: out of memory. */
static lh_id *make_sets(lh_snapshot *snapshot, uint8_t *held) {
  const lh_graph graph = lh_graph_of(snapshot);
  const uint32_t *of = snapshot->classes->of;
  size_t n = (size_t)snapshot->n + 1;
  const lh_id *clusters = lh_kept_clusters(snapshot);
  lh_id *set = clusters ? lh_alloc(n, sizeof *set) : NULL;
  if (!set) return NULL;
  memcpy(set, clusters, n * sizeof *set);
  for (lh_id id = 1; id <= snapshot->n; id++) {
    if (!can_be_linked(snapshot, id)) continue;
    for (uint32_t e = graph.first_edge[id]; e < graph.first_edge[id + 1]; e++) {
      lh_id target = graph.edge[e];
      if (of[target] != of[id] || target == id) continue;
      held[target] = 1;
      join_sets(set, snapshot->distance, id, target);
    }
  }
  return set;
}

/* Those of the class of the nearest one, by set, of sets that are big enough; *n: how many. Most
** objects are in no set. first[] is for all objects, cleared. NULL: out of memory. */
static lh_id *sort_members(const lh_snapshot *snapshot, lh_id *set, uint32_t *first, uint32_t *n) {
  const uint32_t *of = snapshot->classes->of;
  *n = 0;
  for (lh_id id = 1; id <= snapshot->n; id++) {
    if (set[id] == id) continue;
    set[id] = lh_find_first(set, id);
    first[set[id]] += of[id] == of[set[id]];
  }
  for (lh_id id = 0; id <= snapshot->n; id++) {
    bool is_big = first[id] + 1 >= LH_LEAST_ELEMENTS;
    uint32_t n_members = is_big ? first[id] + 1 : 0;
    first[id] = is_big ? *n : LH_NO_NUMBER;
    *n += n_members;
  }
  lh_id *members = lh_alloc(*n, sizeof *members);
  for (lh_id id = 1; members && *n > 0 && id <= snapshot->n; id++)
    if (first[set[id]] != LH_NO_NUMBER && of[id] == of[set[id]]) members[first[set[id]]++] = id;
  return members;
}

/* Adds a set of n members. */
static bool tell_set(lh_grower *grower, const lh_id *set, const uint8_t *held, const lh_id *members,
                     uint32_t n) {
  const lh_snapshot *snapshot = grower->snapshot;
  lh_ages *ages = &grower->ages;
  lh_id nearest = set[members[0]], oldest = 0;
  const lh_class_entry *class = lh_class_entry_of(snapshot, nearest);
  uint32_t n_elsewhere = 0, n_held = 0;
  bool ok = true;
  if (!class) return true;
  lh_growing g = {.is_list = true,
                  .tables = 1,
                  .entries = n,
                  .id = nearest,
                  .elements = n,
                  .element = class->visible.name,
                  .element_class = lh_class_of(snapshot, nearest),
                  .type = class->visible.type,
                  .alike = n,
                  .alike_entries = n,
                  .example_key = LH_NO_OBJECT};
  lh_youth youth = lh_ages_begin(ages);
  lh_begin_tops(grower);
  for (uint32_t i = 0; ok && i < n; i++) {
    lh_id id = members[i], above = snapshot->idom[id];
    bool inner = above != LH_ROOT && set[above] == nearest;
    n_elsewhere += ages->counted[id] != 0;
    n_held += held[id] || inner;
    if (id > oldest && lh_list_of(snapshot, id) == LH_LIST_ALLGC) oldest = id;
    lh_age_element(ages, &g, &youth, id, inner);
    ok = inner || lh_add_top(grower, id);
  }
  lh_ages_end(ages, &g, &youth, oldest);
  if (!ok) return false;
  if (2 * n_elsewhere >= n || !lh_are_most(n_held + 1, n)) return true;
  return lh_add_growing(grower, &g);
}

bool lh_find_linked(lh_grower *grower) {
  size_t n = (size_t)grower->snapshot->n + 1;
  uint32_t n_members = 0;
  uint8_t *held = lh_alloc_zeroed(n, 1);
  uint32_t *first = lh_alloc_zeroed(n, sizeof *first);
  lh_id *set = held && first ? make_sets(grower->snapshot, held) : NULL;
  lh_id *members = set ? sort_members(grower->snapshot, set, first, &n_members) : NULL;
  bool ok = members != NULL;
  for (uint32_t i = 0, end; ok && i < n_members; i = end) {
    for (end = i + 1; end < n_members && set[members[end]] == set[members[i]];) end++;
    ok = tell_set(grower, set, held, members + i, end - i);
  }
  lh_free(held);
  lh_free(first);
  lh_free(members);
  lh_free(set);
  return ok;
}
