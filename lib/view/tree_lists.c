/*
** tree_lists.c - which objects are linked lists and trees, each of which a picture shows as one
** thing: a chain of a million elements would be a million levels. 100 bytes for each list.
*/
#include "tree.h"

static lh_linked *list_with(lh_lists *lists, const lh_snapshot *snapshot, lh_id top) {
  uint32_t *at = lh_map_at(&lists->by_top, top);
  if (!at) return NULL;
  if (*at != LH_NO_NUMBER) return &lists->list[*at];
  if (!lh_grow(&lists->list, lists->n, &lists->capacity, sizeof *lists->list)) return NULL;
  *at = (uint32_t)lists->n;
  lh_linked *linked = &lists->list[lists->n++];
  *linked = (lh_linked){
      .top = top, .last = top, .objects = 1, .shallow_bytes = lh_shallow_bytes(snapshot, top)};
  lh_add_position(snapshot, top, &linked->positions, &linked->n_positions);
  return linked;
}

/* In preorder: in a chain each element is below the one before. */
static bool count_elements(lh_lists *lists, const lh_tree *tree) {
  const lh_snapshot *snapshot = tree->snapshot;
  for (uint32_t p = 1; p < tree->n; p++) {
    lh_id id = tree->order[p], top = lists->top[id];
    if (top == id) continue;
    lh_linked *linked = list_with(lists, snapshot, top);
    if (!linked) return false;
    if (!lh_dominates(tree, linked->last, id)) linked->branches = true;
    linked->last = id;
    linked->shallow_bytes += lh_shallow_bytes(snapshot, id);
    if (lh_class_of(snapshot, id) != lh_class_of(snapshot, top)) continue;
    linked->objects++;
    lh_add_position(snapshot, id, &linked->positions, &linked->n_positions);
  }
  return true;
}

bool lh_lists_make(lh_lists *lists, lh_snapshot *snapshot) {
  *lists = (lh_lists){.top = lh_kept_clusters(snapshot)};
  const lh_tree *tree = lh_dominator_tree(snapshot);
  return lists->top && tree && count_elements(lists, tree);
}

void lh_lists_free(lh_lists *lists) {
  lh_free(lists->list);
  lh_map_free(&lists->by_top);
}

const lh_linked *lh_list_at(const lh_lists *lists, lh_id id) {
  uint32_t at = lh_map_get(&lists->by_top, id);
  return at == LH_NO_NUMBER ? NULL : &lists->list[at];
}
