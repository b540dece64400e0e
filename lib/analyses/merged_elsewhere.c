/*
** merged_elsewhere.c - members of a set that would stay if the paths that are told of them were
** cut: by the next path of those, each one's shortest without the last reference of its path in the
** tree.
**
** A search over the same graph, but for these references: what it still reaches is held elsewhere,
** too. It counts for all members at once: what hangs on others of them only goes with those. 2.2
** million objects, half of them members: 0.2 s.
*/
#include "analyses.h"

/* Nobody cuts between an upvalue and its content: the last reference is the function's. */
static lh_id last_target(const lh_snapshot *snapshot, lh_id id) {
  lh_id parent = lh_naming_parent(snapshot, id);
  return parent != LH_ROOT && lh_type_of(snapshot, parent) == LH_TYPE_UPVALUE ? parent : id;
}

/* The objects to which a last reference leads, that from its parent. NULL: out of memory. */
static uint8_t *find_last(const lh_snapshot *snapshot, const uint8_t *is_member) {
  uint8_t *is_last = lh_alloc_zeroed((size_t)snapshot->n + 1, 1);
  for (lh_id id = 1; is_last && id <= snapshot->n; id++)
    if (is_member[id]) is_last[last_target(snapshot, id)] = 1;
  return is_last;
}

/* The paths of those that were reached. The snapshot is a copy with paths of its own, which has its
** classes together with the whole one: the folds that are there are put aside, and back again. */
static bool tell_elsewhere(const lh_snapshot *snapshot, const lh_id *ids, size_t n,
                           lh_merged_paths *merged) {
  lh_step_tree tree = {0};
  lh_merged_paths found = {0};
  lh_folds *folds = snapshot->classes->folds;
  snapshot->classes->folds = NULL;
  uint8_t *marks = lh_mark_paths(snapshot, ids, n);
  bool ok = marks && lh_fold_marked(snapshot, marks) &&
            lh_make_step_tree(&tree, snapshot, ids, n) &&
            lh_count_holders(snapshot, &tree, (uint64_t)snapshot->size, &found);
  if (ok && found.n_holders > 0) {
    merged->elsewhere = found.holders[0];
    found.holders[0] = (lh_holder){0};
    merged->objects_elsewhere = n;
  }
  for (uint32_t i = 0; i < found.n_holders; i++) lh_drop_holder(&found.holders[i]);
  lh_free_step_tree(&tree);
  lh_free(marks);
  lh_drop_folds(snapshot->classes);
  snapshot->classes->folds = folds;
  return ok;
}

bool lh_find_elsewhere(const lh_snapshot *snapshot, const lh_step_tree *of,
                       lh_merged_paths *merged) {
  size_t n = (size_t)snapshot->n + 1, n_ids = 0;
  lh_search search;
  lh_snapshot without = *snapshot;
  uint8_t *is_last = find_last(snapshot, of->is_member);
  without.distance = lh_alloc(n, sizeof *without.distance);
  without.parent = lh_alloc(n, sizeof *without.parent);
  without.parent_edge = lh_alloc(n, sizeof *without.parent_edge);
  without.named_by = NULL;
  lh_id *cut_from = snapshot->named_by ? lh_alloc(n, sizeof *cut_from) : snapshot->parent;
  lh_id *ids = lh_alloc(merged->objects + 1, sizeof *ids);
  bool ok = lh_steps_new(&without.steps) && is_last && without.distance && without.parent &&
            without.parent_edge && ids && cut_from;
  if (!ok) goto out;
  lh_search_begin(&without, &search, without.distance, without.parent);
  search.snapshot = &without;
  search.parent_edge = without.parent_edge;
  search.is_cut = is_last;
  search.cut_from = cut_from;
  search.named_by = &without.named_by;
  for (lh_id id = 0; snapshot->named_by && id <= snapshot->n; id++)
    cut_from[id] = lh_naming_parent(snapshot, id);
  ok = lh_search_paths(&search);
  for (lh_id id = 1; ok && id <= snapshot->n; id++)
    if (of->is_member[id] && without.distance[id] != LH_UNREACHED) ids[n_ids++] = id;
  ok = ok && (n_ids == 0 || tell_elsewhere(&without, ids, n_ids, merged));
out:
  lh_steps_free(without.steps);
  lh_free(is_last);
  lh_free(without.distance);
  lh_free(without.parent);
  lh_free(without.parent_edge);
  lh_free(without.named_by);
  if (snapshot->named_by) lh_free(cut_from);
  lh_free(ids);
  return ok;
}
