/*
** gather.c - many objects as a few classes: what hangs below a place in the tree of dominators,
** clusters taken as one. The arrays are made once and used again, so that gathering costs what is
** gathered.
*/
#include "analyses.h"

#include <stdlib.h>
#include <string.h>

bool lh_gathering_make(lh_gathering *g, const lh_tree *tree, const lh_id *top) {
  uint32_t n_classes = lh_class_count(tree->snapshot);
  *g = (lh_gathering){.tree = tree, .top = top};
  g->row_of = lh_alloc(n_classes, sizeof *g->row_of);
  g->rows = lh_alloc(n_classes, sizeof *g->rows);
  if (g->row_of) memset(g->row_of, 0xFF, n_classes * sizeof *g->row_of);
  return g->row_of && g->rows;
}

void lh_gathering_free(lh_gathering *g) {
  lh_free(g->row_of);
  lh_free(g->rows);
  lh_free(g->ids);
}

static bool append_cluster(lh_gathering *g, lh_id id) {
  if (!lh_grow(&g->ids, g->n_ids, &g->id_capacity, sizeof *g->ids)) return false;
  g->ids[g->n_ids++] = id;
  return true;
}

bool lh_list_below(lh_gathering *g, lh_id top) {
  const lh_tree *tree = g->tree;
  for (uint32_t p = tree->position[top], end = tree->end[p]; p < end;) {
    lh_id id = tree->order[p];
    bool member = g->top[id] == top;
    if (!member && !lh_is_own(tree->snapshot, id) && !append_cluster(g, id)) return false;
    p = member ? p + 1 : tree->end[p];
  }
  return true;
}

/* In a chain each member is below the one before. */
lh_extent lh_extent_of(const lh_gathering *g, lh_id top) {
  const lh_tree *tree = g->tree;
  const lh_snapshot *snapshot = tree->snapshot;
  const uint32_t *of = snapshot->classes->of;
  if (g->heads && !g->heads[top])
    return (lh_extent){.members = 1, .shallow_bytes = lh_shallow_bytes(snapshot, top)};
  lh_extent extent = {0};
  lh_id last = top;
  for (uint32_t p = tree->position[top], end = tree->end[p]; p < end;) {
    lh_id id = tree->order[p];
    if (g->top[id] != top) {
      p = tree->end[p];
      continue;
    }
    if (!lh_dominates(tree, last, id)) extent.branches = true;
    last = id;
    extent.members += of[id] == of[top];
    extent.shallow_bytes += lh_shallow_bytes(snapshot, id);
    p++;
  }
  return extent;
}

static int compare_gathered(const void *left, const void *right, void *payload) {
  const lh_accumulated *a = left, *b = right;
  const lh_snapshot *snapshot = payload;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  int order = strcmp(lh_class_at(snapshot, a->class_index)->name,
                     lh_class_at(snapshot, b->class_index)->name);
  return order ? order : (a->class_index > b->class_index) - (a->class_index < b->class_index);
}

void lh_gather(lh_gathering *g, const lh_id *tops, size_t n_tops) {
  const lh_snapshot *snapshot = g->tree->snapshot;
  g->n_rows = 0;
  for (size_t i = 0; i < n_tops; i++) {
    uint32_t class_index = snapshot->classes->of[tops[i]];
    if (class_index == UINT32_MAX) continue;
    uint32_t *row = &g->row_of[class_index];
    if (*row == LH_NO_NUMBER) {
      *row = g->n_rows++;
      g->rows[*row] = (lh_accumulated){.class_index = class_index, .example = tops[i]};
    }
    lh_accumulated *to = &g->rows[*row];
    uint64_t retained = lh_retained_bytes(snapshot, tops[i]);
    if (retained > lh_retained_bytes(snapshot, to->example)) to->example = tops[i];
    to->objects += lh_extent_of(g, tops[i]).members;
    to->bytes += retained;
  }
  for (uint32_t i = 0; i < g->n_rows; i++) g->row_of[g->rows[i].class_index] = LH_NO_NUMBER;
  if (g->n_rows > 1)
    qsort_r(g->rows, g->n_rows, sizeof *g->rows, compare_gathered, (void *)snapshot);
}
