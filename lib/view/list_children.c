/*
** list_children.c - the objects below the elements of a list, for pictures of its elements.
**
** A picture of an element shows the biggest objects below all elements behind it, so pictures of
** many elements would walk the list again and again. What is below the list is sorted once, by
** preorder for sums and by size: below an element is a range of the preorder. 28 bytes for each
** object below a list.
*/
#include "ranking.h"
#include "tree.h"

struct lh_list_children {
  size_t n;
  uint32_t *position;     /* in the dominator tree, ascending */
  uint64_t *bytes_before; /* of position i: retained by those before it */
  uint64_t *new_before;   /* new bytes of these */
  bool has_new;
  lh_interval since; /* what is new */
  uint64_t *by_size; /* ascending: bytes << 32, and UINT32_MAX - id */
  bool has_big;      /* some retain 4 GB or more: by_size has no order */
};

void lh_list_children_free(lh_list_children *children) {
  if (!children) return;
  LH_FREE_ALL(children->position, children->bytes_before, children->new_before, children->by_size,
              children);
}

/* All elements are below elements, so nothing below another object is looked at. */
static bool list_positions(lh_list_children *c, const lh_tree *tree, const lh_id *top_of,
                           lh_id top) {
  size_t capacity = 0;
  for (uint32_t p = tree->position[top] + 1, end = lh_end_of(tree, top); p < end;) {
    if (top_of[tree->order[p]] == top) {
      p++;
      continue;
    }
    if (!lh_grow(&c->position, c->n, &capacity, sizeof *c->position)) return false;
    c->position[c->n++] = p;
    p = tree->end[p];
  }
  return true;
}

static lh_list_children *make_children(const lh_tree *tree, const lh_id *top_of, lh_id top,
                                       const uint64_t *new_bytes) {
  lh_list_children *c = lh_alloc_zeroed(1, sizeof *c);
  const uint64_t *retained = tree->snapshot->retained;
  bool ok = c && list_positions(c, tree, top_of, top);
  if (ok) c->bytes_before = lh_alloc_zeroed(c->n + 1, sizeof *c->bytes_before);
  if (ok) c->new_before = lh_alloc_zeroed(c->n + 1, sizeof *c->new_before);
  if (ok) c->by_size = lh_alloc(c->n, sizeof *c->by_size);
  ok = ok && c->bytes_before && c->new_before && c->by_size;
  for (size_t i = 0; ok && i < c->n; i++) {
    lh_id id = tree->order[c->position[i]];
    c->bytes_before[i + 1] = c->bytes_before[i] + retained[id];
    c->new_before[i + 1] = c->new_before[i] + (new_bytes ? new_bytes[id] : 0);
    c->has_big |= retained[id] > UINT32_MAX;
    c->by_size[i] = retained[id] << 32 | (UINT32_MAX - id);
  }
  if (ok && lh_sort_words(&c->by_size, c->n)) return c;
  lh_list_children_free(c);
  return NULL;
}

static bool rank_child(lh_ranking *best, const lh_snapshot *s, lh_id id) {
  return lh_rank(best, (lh_ranked){s->retained[id], id, id});
}

/* The best of those at position[from] to position[end - 1]. */
static bool rank_children(const lh_list_children *c, const lh_tree *tree, size_t from, size_t end,
                          lh_ranking *best) {
  enum { FEW = 4 };
  bool ok = true, are_few = best->limit == 0 || (end - from) / FEW < best->limit;
  bool takes_all = are_few || c->has_big;
  for (size_t i = from; ok && takes_all && i < end; i++)
    ok = rank_child(best, tree->snapshot, tree->order[c->position[i]]);
  for (size_t i = c->n; ok && !takes_all && i-- > 0 && best->n < best->limit;) {
    lh_id id = UINT32_MAX - (uint32_t)c->by_size[i];
    if (tree->position[id] >= c->position[from] && tree->position[id] <= c->position[end - 1])
      ok = rank_child(best, tree->snapshot, id);
  }
  return ok;
}

static bool is_of(const lh_list_children *c, const lh_sums *since, bool has_new) {
  return c && c->has_new == has_new &&
         (!has_new ||
          (c->since.since == since->interval.since && c->since.until == since->interval.until));
}

bool lh_take_list(lh_linked *linked, const lh_tree *tree, const lh_trees *trees, lh_id id,
                  const uint64_t *new_bytes, lh_children *out) {
  lh_list_children *c = linked->children;
  if (!is_of(c, &trees->since, new_bytes != NULL)) {
    lh_list_children_free(c);
    c = linked->children = make_children(tree, trees->lists.top, linked->top, new_bytes);
    if (!c) return false;
    c->has_new = new_bytes != NULL;
    c->since = trees->since.interval;
  }
  size_t from, end;
  LH_LOWER_BOUND(from, c->n, c->position[from] < lh_first_child(tree, id));
  LH_LOWER_BOUND(end, c->n, c->position[end] < lh_end_of(tree, id));
  out->n = end - from;
  out->bytes = c->bytes_before[end] - c->bytes_before[from];
  out->new_bytes = c->new_before[end] - c->new_before[from];
  return from == end || rank_children(c, tree, from, end, &out->best);
}
