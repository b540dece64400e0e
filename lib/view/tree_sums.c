/*
** tree_sums.c - what was allocated in an interval, summed up the tree. 8 bytes an object (of
** groups a group), and one pass over the objects in the interval and up the tree: 2.2 million
** objects take 0.05 s. The sums of the last interval are kept, as a page asks for those again and
** again.
*/
#include <string.h>

#include "tree.h"

void lh_sums_free(lh_sums *sums) {
  lh_free(sums->of_object);
  lh_free(sums->of_group[0]);
  lh_free(sums->of_group[1]);
  *sums = (lh_sums){0};
}

/* Adds the own bytes of what is in the interval, by object or by group. */
static void add_own(uint64_t *bytes, const lh_snapshot *snapshot, const lh_group_tree *groups,
                    lh_interval interval) {
  lh_id_range ranges[2];
  lh_objects_in(snapshot, interval, ranges);
  for (unsigned i = 0; i < 2; i++)
    for (lh_id id = ranges[i].first; id < ranges[i].end; id++)
      if (lh_is_reachable(snapshot, id))
        bytes[groups ? groups->of[id] : id] += lh_shallow_bytes(snapshot, id);
}

static uint64_t *sum_objects(const lh_snapshot *snapshot, const lh_tree *dominators,
                             lh_interval interval) {
  uint64_t *bytes = lh_alloc_zeroed((size_t)snapshot->n + 1, sizeof *bytes);
  if (!bytes) return NULL;
  add_own(bytes, snapshot, NULL, interval);
  lh_sum_retained(dominators->order, dominators->n, snapshot->idom, bytes);
  return bytes;
}

static uint64_t *sum_groups(const lh_snapshot *snapshot, const lh_group_tree *groups,
                            lh_interval interval) {
  uint64_t *bytes = lh_alloc_zeroed(groups->n, sizeof *bytes);
  if (!bytes) return NULL;
  add_own(bytes, snapshot, groups, interval);
  for (size_t i = groups->n; i-- > 1;) bytes[groups->list[i].above] += bytes[i];
  return bytes;
}

const uint64_t *lh_sums_of(lh_sums *sums, const lh_asked_tree *tree, lh_interval interval) {
  const lh_group_tree *groups = tree->groups;
  if (sums->interval.since != interval.since || sums->interval.until != interval.until)
    lh_sums_free(sums);
  sums->interval = interval;
  uint64_t **kept = groups ? &sums->of_group[groups->of_places] : &sums->of_object;
  if (!*kept)
    *kept = groups ? sum_groups(tree->snapshot, groups, interval)
                   : sum_objects(tree->snapshot, tree->dominators, interval);
  return *kept;
}
