/*
** changes.c - Compares classes by name, also across processes. In other builds of a program a
** function may stand on another line.
*/
#include "compare.h"
#include "read/decode.h"

typedef struct rows {
  lh_class_change *list;
  size_t n;
  uint32_t *of[3]; /* row of each class of a, b, c */
} rows;

static bool know_all(rows *r, const lh_snapshot *const at[3], lh_known_classes *known) {
  for (int i = 0; i < 3; i++) {
    if (!at[i]) continue;
    r->of[i] = lh_alloc(lh_class_count(at[i]), sizeof **r->of);
    if (!r->of[i] || !lh_register_classes(known, at[i], r->of[i])) return false;
  }
  return true;
}

static void add_up_classes(rows *r, const lh_snapshot *const at[3], const lh_known_classes *known,
                           const uint32_t *row_of) {
  for (int which = 0; which < 3; which++) {
    for (uint32_t i = 0; at[which] && i < lh_class_count(at[which]); i++) {
      const lh_class *class = lh_class_at(at[which], i);
      const lh_known_class *same = &known->list[r->of[which][i]];
      lh_class_change *row = &r->list[row_of[r->of[which][i]]];
      row->name = lh_name_with(known, same, row->name);
      row->type = class->type;
      row->objects[which] += class->objects;
      row->shallow_bytes[which] += class->shallow_bytes;
      r->of[which][i] = row_of[r->of[which][i]];
    }
  }
}

static bool make_change_rows(rows *r, const lh_snapshot *const at[3], lh_whole_diff *whole) {
  lh_known_classes known = {.texts = &whole->names};
  uint32_t *row_of = NULL;
  bool ok = know_all(r, at, &known);
  if (ok) {
    row_of = lh_alloc(known.n, sizeof *row_of);
    r->list = lh_alloc_zeroed(known.n, sizeof *r->list);
  }
  ok =
      ok && row_of && r->list && lh_label_classes(&known, whole->visible.same_state, row_of, &r->n);
  if (ok) add_up_classes(r, at, &known, row_of);
  lh_known_classes_free(&known);
  lh_free(row_of);
  return ok;
}

static void count_appeared(rows *r, const lh_window *w) {
  for (lh_id id = 1; id <= w->c->n; id++) {
    if (!lh_is_reachable(w->c, id) || lh_is_own(w->c, id) || !lh_is_new(w, id)) continue;
    r->list[r->of[2][lh_class_of(w->c, id)]].appeared++;
  }
}

/* Counts objects that are reachable in a, and garbage or absent in c. */
static void count_freed(rows *r, const lh_window *w, lh_diff *diff) {
  lh_id call[2];
  lh_find_call(w->a, call);
  for (lh_id id = 1; id <= w->a->n; id++) {
    if (!lh_is_reachable(w->a, id) || lh_is_own(w->a, id)) continue;
    if (id == call[0] || id == call[1]) continue;
    lh_id later =
        lh_find_in_later(w->a, lh_address_of(w->a, id), lh_type_of(w->a, id), w->c, w->since);
    if (later != LH_NO_OBJECT && lh_is_reachable(w->c, later)) continue;
    r->list[r->of[0][lh_class_of(w->a, id)]].gone++;
    diff->gone_objects++;
    diff->gone_bytes += lh_shallow_bytes(w->a, id);
  }
}

static int compare_changes(const void *left, const void *right) {
  const lh_class_change *a = left, *b = right;
  int64_t x = (int64_t)(a->shallow_bytes[2] - a->shallow_bytes[0]);
  int64_t y = (int64_t)(b->shallow_bytes[2] - b->shallow_bytes[0]);
  return LH_MORE(x, y) ?: strcmp(a->name, b->name) ?: LH_LESS(a->type, b->type) ?:
         LH_MORE(a->shallow_bytes[2], b->shallow_bytes[2]) ?: LH_MORE(a->objects[2], b->objects[2]);
}

/* Drops classes that had only garbage. */
static void drop_empty(rows *r) {
  size_t kept = 0;
  for (size_t i = 0; i < r->n; i++) {
    const uint64_t *objects = r->list[i].objects;
    if (objects[0] || objects[1] || objects[2]) r->list[kept++] = r->list[i];
  }
  r->n = kept;
}

int lh_diff_changes(const lh_window *window, lh_whole_diff *whole, lh_error *error) {
  const lh_snapshot *const at[3] = {window->a, window->b, window->c};
  lh_diff *diff = &whole->visible;
  rows r = {0};
  bool ok = make_change_rows(&r, at, whole);
  if (ok && diff->same_state) {
    lh_window appeared = *window;
    lh_find_call(window->c, appeared.call);
    count_appeared(&r, &appeared);
    count_freed(&r, window, diff);
  }
  if (ok) {
    drop_empty(&r);
    if (r.n > 1) qsort(r.list, r.n, sizeof *r.list, compare_changes);
  }
  diff->classes = r.list;
  diff->n_classes = r.n;
  for (int i = 0; i < 3; i++) lh_free(r.of[i]);
  return ok ? 0 : lh_fail_memory(error, "comparing classes");
}
