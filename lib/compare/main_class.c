/*
** main_class.c - of what class the objects of a path are: of that which most of them have, in the
** last snapshot in which there are any.
*/
#include <string.h>

#include "compare.h"

typedef struct poll {
  uint64_t *objects; /* of each pair of a row and a class */
  size_t n, capacity;
  lh_map pairs;
} poll;

static bool count_pair(poll *t, uint32_t row, uint32_t class_row, uint64_t objects, uint64_t *sum) {
  uint32_t *index = lh_map_at(&t->pairs, (uint64_t)row << 32 | class_row);
  if (!index) return false;
  if (*index == LH_NO_NUMBER) {
    if (!lh_grow(&t->objects, t->n, &t->capacity, sizeof *t->objects)) return false;
    t->objects[t->n] = 0;
    *index = (uint32_t)t->n++;
  }
  *sum = t->objects[*index] += objects;
  return true;
}

/* Fills in the rows that have objects in this snapshot and no class yet. */
static bool look_at_snapshot(const lh_ladder *ladder, const lh_view *view,
                             const lh_snapshot_counts *counts, uint64_t *most, uint32_t *main_class,
                             const uint8_t *done) {
  poll t = {0};
  bool ok = true;
  for (size_t v = 1; ok && v < counts->n_vertices; v++) {
    uint32_t place = ladder->trie.vertices[v].label, row = view->row_of[place];
    uint32_t class_row = ladder->places[place].class_row;
    uint64_t sum = 0;
    if (done[row] || counts->of_vertex[v].objects == 0) continue;
    ok = count_pair(&t, row, class_row, counts->of_vertex[v].objects, &sum);
    if (sum < most[row] || (sum == most[row] && class_row > main_class[row])) continue;
    most[row] = sum;
    main_class[row] = class_row;
  }
  lh_free(t.objects);
  lh_map_free(&t.pairs);
  return ok;
}

bool lh_find_main_classes(const lh_ladder *ladder, const lh_view *view, uint32_t *main_class) {
  uint64_t *most = lh_alloc_zeroed(view->n_rows, sizeof *most);
  uint8_t *done = lh_alloc_zeroed(view->n_rows, 1);
  bool ok = most && done;
  size_t n_left = view->n_rows;
  memset(main_class, 0, view->n_rows * sizeof *main_class);
  for (size_t k = ladder->n_snapshots; ok && n_left > 0 && k-- > 0;) {
    ok = look_at_snapshot(ladder, view, &ladder->snapshots[k], most, main_class, done);
    for (size_t row = 0; row < view->n_rows; row++) {
      n_left -= !done[row] && most[row] > 0;
      done[row] = most[row] > 0;
    }
  }
  lh_free(most);
  lh_free(done);
  return ok;
}
