/*
** waste_rows.c - what is waste, by place: a million small tables are some rows.
*/
#include <stdlib.h>
#include <string.h>

#include "waste.h"

/* Places that are new have a row without objects. */
static bool make_room_for_place(lh_waste_rows *rows, uint32_t place) {
  lh_waste_sum *sum = rows->sum;
  while (sum->n_rows <= place) {
    if (!lh_grow(&sum->rows, sum->n_rows, &rows->capacity, sizeof *sum->rows) ||
        !lh_grow(&rows->most, sum->n_rows, &rows->most_capacity, sizeof *rows->most))
      return false;
    sum->rows[sum->n_rows] = (lh_waste_row){.example = LH_NO_OBJECT};
    rows->most[sum->n_rows++] = 0;
  }
  return true;
}

bool lh_add_waste(lh_waste_rows *rows, uint32_t place, const lh_waste_part *part) {
  if (!make_room_for_place(rows, place)) return false;
  lh_waste_row *to = &rows->sum->rows[place];
  if (to->example == LH_NO_OBJECT || part->bytes > rows->most[place]) {
    to->example = part->id;
    to->original = part->original;
    rows->most[place] = part->bytes;
  }
  to->objects++;
  to->bytes += part->bytes;
  to->slots += part->slots;
  to->used += part->used;
  to->by_hash += part->by_hash;
  rows->sum->objects++;
  rows->sum->bytes += part->bytes;
  rows->sum->by_hash += part->by_hash;
  return true;
}

static int compare_waste(const void *left, const void *right, void *payload) {
  const lh_waste_row *a = left, *b = right;
  const lh_snapshot *snapshot = payload;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  int order = strcmp(a->held_by, b->held_by);
  if (!order && a->class_index != UINT32_MAX)
    order = strcmp(lh_class_at(snapshot, a->class_index)->name,
                   lh_class_at(snapshot, b->class_index)->name);
  return order ? order : (a->class_index > b->class_index) - (a->class_index < b->class_index);
}

void lh_end_waste_rows(lh_waste_rows *rows, const lh_snapshot *snapshot) {
  lh_waste_sum *sum = rows->sum;
  size_t n = 0;
  for (size_t i = 0; i < sum->n_rows; i++) {
    const lh_place *place = &rows->places->list[i];
    if (sum->rows[i].objects == 0) continue;
    sum->rows[n] = sum->rows[i];
    sum->rows[n].class_index = place->class_index;
    sum->rows[n++].held_by = rows->places->texts.texts[place->path];
  }
  sum->n_rows = n;
  if (n > 1) qsort_r(sum->rows, n, sizeof *sum->rows, compare_waste, (void *)snapshot);
  lh_free(rows->most);
}
