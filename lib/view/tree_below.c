/*
** tree_below.c - what is directly below a vertex, the best of it first. A table may have ten
** million objects below it, of which a picture shows some hundred: they are passed once, in the
** order of memory, and the best kept; nothing is sorted but these.
*/
#include "tree.h"

typedef struct taking {
  const lh_asked_tree *tree;
  lh_below_vertex *below;
} taking;

static bool take(const taking *t, uint32_t vertex) {
  uint64_t bytes = lh_vertex_bytes(t->tree, vertex);
  lh_ranking *best = &t->below->best;
  t->below->n++;
  t->below->bytes += bytes;
  if (t->tree->new_bytes) t->below->new_bytes += t->tree->new_bytes[vertex];
  if (best->limit > 0 && best->n == best->limit && bytes < best->list[0].key) return true;
  return lh_rank(best, (lh_ranked){bytes, vertex, vertex});
}

/* Is `id` in the list of which `top` is the first? */
static bool is_element(const lh_asked_tree *tree, lh_id id, lh_id top) {
  return tree->trees->lists.top[id] == top && id != top;
}

static bool push(lh_below_vertex *below, size_t *n, lh_id id) {
  if (!lh_grow(&below->members, *n, &below->member_capacity, sizeof id)) return false;
  below->members[(*n)++] = id;
  return true;
}

/* Of an object that is in no list. */
static bool take_children(const taking *t, lh_id id) {
  const lh_tree *tree = t->tree->dominators;
  bool ok = true;
  for (uint32_t p = lh_first_child(tree, id); ok && p < lh_end_of(tree, id); p = tree->end[p])
    ok = take(t, tree->order[p]);
  return ok;
}

/* Of a list what hangs at any of its elements; of one in the middle those behind it. */
static bool take_objects(const taking *t, lh_id id) {
  const lh_asked_tree *tree = t->tree;
  const lh_tree *dominators = tree->dominators;
  lh_id top = tree->trees->lists.top[id];
  size_t n = 0;
  if (!lh_list_at(&tree->trees->lists, top)) return take_children(t, id);
  bool ok = push(t->below, &n, id);
  while (ok && n > 0) {
    lh_id at = t->below->members[--n];
    uint32_t end = lh_end_of(dominators, at);
    for (uint32_t p = lh_first_child(dominators, at); ok && p < end; p = dominators->end[p]) {
      lh_id child = dominators->order[p];
      ok = is_element(tree, child, top) ? push(t->below, &n, child) : take(t, child);
    }
  }
  return ok;
}

static bool take_groups(const taking *t, uint32_t vertex) {
  const lh_group_tree *groups = t->tree->groups;
  bool ok = true;
  for (uint32_t i = groups->first[vertex]; ok && i < groups->first[vertex + 1]; i++)
    ok = take(t, groups->below[i]);
  return ok;
}

static bool take_modules(const taking *t) {
  const lh_modules *modules = &t->tree->trees->modules;
  bool ok = true;
  for (size_t i = 0; ok && i < modules->n; i++) ok = take(t, modules->list[i].id);
  return ok;
}

bool lh_find_below_vertex(const lh_asked_tree *tree, uint32_t vertex, lh_below_vertex *below) {
  taking t = {tree, below};
  below->n = below->bytes = below->new_bytes = 0;
  below->best.n = 0;
  bool ok = tree->groups                            ? take_groups(&t, vertex)
            : tree->of_modules && vertex == LH_ROOT ? take_modules(&t)
                                                    : take_objects(&t, vertex);
  if (ok) lh_sort_ranking(&below->best);
  return ok;
}

bool lh_has_below(const lh_asked_tree *tree, uint32_t vertex) {
  const lh_tree *dominators = tree->dominators;
  if (tree->groups) return tree->groups->first[vertex + 1] > tree->groups->first[vertex];
  uint32_t first = lh_first_child(dominators, vertex), end = lh_end_of(dominators, vertex);
  if (first == end) return false;
  if (dominators->end[first] != end || vertex == LH_ROOT) return true;
  lh_id child = dominators->order[first];
  const lh_linked *linked = lh_list_at(&tree->trees->lists, tree->trees->lists.top[vertex]);
  if (!linked || !is_element(tree, child, linked->top)) return true;
  /* A list without anything but itself has nothing below. */
  return linked->top != vertex || lh_retained_bytes(tree->snapshot, vertex) > linked->shallow_bytes;
}
