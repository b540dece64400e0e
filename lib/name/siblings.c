/*
** siblings.c - Finds rows whose places differ in the key of one step only.
** A leak that is spread over `_G.shards.eu.entries[*]` and four more is told as one row at
** `_G.shards.{africa, asia, eu and 2 more}.entries[*]`. Families are joined again if they differ in
** the key of another step.
**
** A culprit among its siblings must not be hidden: only rows that grow alike are joined. Those that
** grow by less than a quarter of the greatest stay alone, and so does the greatest then.
*/
#include "place_steps.h"

#include <stdlib.h>
#include <string.h>

/* More rows, or steps, are not compared: O(rows^2 * steps). */
enum { MOST_ROWS = 256, MOST_STEPS = 16, QUARTER = 4, LEAST_ROWS = 3, MOST_NAMES = 3 };

/* A row, or the rows that were joined. */
typedef struct family {
  uint32_t first; /* row */
  uint32_t n_rows;
  uint32_t steps[MOST_STEPS], n;
  uint32_t differing; /* bits of the steps whose keys differ; LH_NO_NUMBER is in their stead */
  uint64_t weight;    /* of all rows */
} family;

typedef struct search {
  lh_place_tree *tree;
  lh_sibling *rows;
  size_t n_rows;
  family list[MOST_ROWS];
  size_t n; /* joined ones stay, with n_rows 0 */
} search;

static void add_row(search *s, uint32_t row) {
  const lh_place_tree *tree = s->tree;
  uint32_t place = s->rows[row].place;
  family *f = &s->list[s->n];
  if (place >= LH_NO_PLACE || tree->list[place].depth >= MOST_STEPS) return;
  *f = (family){.first = row, .n_rows = 1, .weight = s->rows[row].weight};
  f->n = tree->list[place].depth + 1;
  for (uint32_t i = f->n; i-- > 0; place = tree->list[place].parent)
    f->steps[i] = tree->list[place].step;
  s->n++;
}

/* ==== Joining ======================================================================== */

static bool has_string_key(const lh_place_tree *tree, uint32_t step) {
  return step != LH_NO_NUMBER && tree->steps[step].kind == LH_EDGE_VALUE;
}

/* Do only the keys of one step differ? */
static bool are_siblings(const search *s, const family *a, const family *b, uint32_t at) {
  if (a->n != b->n || s->rows[a->first].kind != s->rows[b->first].kind) return false;
  for (uint32_t i = 0; i < a->n; i++)
    if (i != at && a->steps[i] != b->steps[i]) return false;
  return a->steps[at] != b->steps[at] && has_string_key(s->tree, a->steps[at]) &&
         has_string_key(s->tree, b->steps[at]);
}

static double growth_of(const family *f) {
  return (double)f->weight / f->n_rows;
}

static void join(search *s, family *f, family *other, uint32_t at) {
  for (size_t i = 0; i < s->n_rows; i++)
    if (s->rows[i].first == other->first) s->rows[i].first = f->first;
  f->n_rows += other->n_rows;
  f->weight += other->weight;
  f->differing |= UINT32_C(1) << at;
  other->n_rows = 0;
}

/* Joins the siblings of a family that grow as it does. The first family has the first row. */
static bool join_siblings(search *s, size_t first, uint32_t at) {
  family *f = &s->list[first], *alike[MOST_ROWS];
  size_t n = 0, n_rows = 0;
  double most = growth_of(f);
  for (size_t i = first; i < s->n; i++) {
    family *other = &s->list[i];
    if (other->n_rows == 0 || (i > first && !are_siblings(s, f, other, at))) continue;
    if (growth_of(other) > most) most = growth_of(other);
    alike[n++] = other;
  }
  size_t n_alike = 0;
  for (size_t i = 0; i < n; i++) {
    if (growth_of(alike[i]) * QUARTER < most) continue;
    n_rows += alike[i]->n_rows;
    alike[n_alike++] = alike[i];
  }
  if (n_alike < 2 || n_rows < LEAST_ROWS) return false;
  for (size_t i = 1; i < n_alike; i++) join(s, alike[0], alike[i], at);
  alike[0]->steps[at] = LH_NO_NUMBER;
  return true;
}

static void join_all(search *s) {
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < s->n; i++)
      for (uint32_t at = 1; s->list[i].n_rows > 0 && at < s->list[i].n; at++)
        again |= has_string_key(s->tree, s->list[i].steps[at]) && join_siblings(s, i, at);
  }
}

/* ==== Names ========================================================================== */

static uint32_t step_of_row(const search *s, uint32_t row, uint32_t at) {
  const lh_place_tree *tree = s->tree;
  uint32_t place = s->rows[row].place;
  while (tree->list[place].depth > at) place = tree->list[place].parent;
  return tree->list[place].step;
}

static int compare_names(const void *left, const void *right) {
  return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The labels of a step of all rows of a family, sorted, each once. */
static size_t list_labels(const search *s, const family *f, uint32_t at, const char **labels) {
  size_t n = 0, n_left = 0;
  for (uint32_t i = 0; i < s->n_rows; i++)
    if (s->rows[i].first == f->first && n < MOST_ROWS)
      labels[n++] = lh_step_label(s->tree, step_of_row(s, i, at));
  qsort(labels, n, sizeof *labels, compare_names);
  for (size_t i = 0; i < n; i++)
    if (i == 0 || strcmp(labels[i], labels[n_left - 1]) != 0) labels[n_left++] = labels[i];
  return n_left;
}

/* .{eu, us}, or [{"a b", "c d"}]. */
static uint32_t step_of_family(search *s, const family *f, uint32_t at) {
  const char *labels[MOST_ROWS];
  lh_place_step step = {.kind = LH_EDGE_VALUE, .form = LH_FORM_BEHIND, .holder = LH_NO_PLACE};
  lh_text label = {0}, stable = {0};
  size_t n = list_labels(s, f, at, labels), told = n > MOST_NAMES + 1 ? MOST_NAMES : n;
  bool in_brackets = *labels[0] == '[';
  lh_text_string(&label, in_brackets ? "[{" : ".{");
  for (size_t i = 0; i < told; i++) {
    size_t length = strlen(labels[i]), is_bracket = *labels[i] == '[';
    lh_text_string(&label, i > 0 ? ", " : "");
    lh_text_add(&label, labels[i] + 1, length - 1 - is_bracket);
  }
  if (told < n) lh_text_format(&label, " and %zu more", n - told);
  lh_text_string(&label, in_brackets ? "}]" : "}");
  lh_text_string(&stable, "[*]");
  return lh_intern_step(s->tree, step, &label, &stable);
}

static bool name_family(search *s, const family *f) {
  uint32_t place = 0;
  for (uint32_t i = 0; i < f->n; i++) {
    bool differs = f->differing >> i & 1;
    place = lh_place_behind(s->tree, place, differs ? step_of_family(s, f, i) : f->steps[i]);
  }
  s->rows[f->first].all = place;
  return place != LH_NO_NUMBER;
}

bool lh_find_siblings(lh_place_tree *tree, lh_sibling *rows, size_t n) {
  search *s = lh_alloc_zeroed(1, sizeof *s);
  if (!s) return false;
  *s = (search){.tree = tree, .rows = rows, .n_rows = n};
  for (uint32_t i = 0; i < n; i++) {
    rows[i].first = i;
    rows[i].all = rows[i].place;
    if (rows[i].weight > 0 && s->n < MOST_ROWS) add_row(s, i);
  }
  join_all(s);
  bool ok = true;
  for (size_t i = 0; ok && i < s->n; i++)
    if (s->list[i].n_rows > 1) ok = name_family(s, &s->list[i]);
  lh_free(s);
  return ok;
}
