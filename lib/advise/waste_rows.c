/*
** waste_rows.c - what is waste, by class and place: a million small tables are some rows.
**
** Rows are told apart by a key that is quick to have (class and folded state), and under one class
** and text there is one row whatever its keys.
*/
#include <stdlib.h>
#include <string.h>

#include "waste.h"

static lh_text_id text_number(lh_waste_rows *rows, lh_text *text) {
  lh_text_id id = text->failed ? LH_NO_NUMBER : lh_strings_add(rows->texts, text->bytes, text->n);
  if (id == LH_NO_NUMBER && rows->texts->full)
    id = lh_strings_add(rows->texts, LH_UNTOLD, strlen(LH_UNTOLD));
  lh_text_free(text);
  return id;
}

static uint32_t append(lh_waste_rows *rows, uint32_t class_index, lh_text_id text) {
  lh_waste_sum *sum = rows->sum;
  if (!lh_grow(&sum->rows, sum->n_rows, &rows->capacity, sizeof *sum->rows) ||
      !lh_grow(&rows->most, sum->n_rows, &rows->most_capacity, sizeof *rows->most))
    return LH_NO_NUMBER;
  sum->rows[sum->n_rows] = (lh_waste_row){
      .class_index = class_index, .held_by = rows->texts->texts[text], .example = LH_NO_OBJECT};
  rows->most[sum->n_rows] = 0;
  return (uint32_t)sum->n_rows++;
}

uint32_t lh_make_waste_row(lh_waste_rows *rows, uint64_t key, uint32_t class_index, lh_text *text) {
  lh_text_id id = text_number(rows, text);
  if (id == LH_NO_NUMBER) return LH_NO_NUMBER;
  uint32_t *row = lh_map_at(&rows->by_text, (uint64_t)class_index << 32 | id);
  if (!row) return LH_NO_NUMBER;
  if (*row == LH_NO_NUMBER) *row = append(rows, class_index, id);
  if (*row == LH_NO_NUMBER) return LH_NO_NUMBER;
  uint32_t *known = lh_map_at(&rows->by_key, key);
  if (!known) return LH_NO_NUMBER;
  return *known = *row;
}

void lh_add_waste(lh_waste_rows *rows, uint32_t row, const lh_waste_part *part) {
  lh_waste_row *to = &rows->sum->rows[row];
  if (to->example == LH_NO_OBJECT || part->bytes > rows->most[row]) {
    to->example = part->id;
    to->original = part->original;
    rows->most[row] = part->bytes;
  }
  to->objects++;
  to->bytes += part->bytes;
  to->slots += part->slots;
  to->used += part->used;
  to->by_hash += part->by_hash;
  rows->sum->objects++;
  rows->sum->bytes += part->bytes;
  rows->sum->by_hash += part->by_hash;
}

static int compare_rows(const void *left, const void *right, void *payload) {
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
  if (sum->n_rows > 1)
    qsort_r(sum->rows, sum->n_rows, sizeof *sum->rows, compare_rows, (void *)snapshot);
  lh_map_free(&rows->by_key);
  lh_map_free(&rows->by_text);
  lh_free(rows->most);
}
