/*
** changes.c - how each class changed between snapshots: by name, so across processes too. Those may
** run different builds of a program: a function is then the same in spite of another line.
*/
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "name/names.h"
#include "read/decode.h"

/* Rows of a snapshot's classes: those that another one had before are found again. */
typedef struct rows {
  lh_class_change *list;
  size_t n, capacity;
  uint32_t *of[3];  /* row of each class of a, b, c */
  bool same_state;  /* false: */
  lh_map by_stable; /* the class without lines -> row */
  lh_strings texts; /* of these */
} rows;

/* The stable name of a class; freed by lh_free. */
static char *stable_name(const lh_class *class) {
  lh_text text = {0};
  lh_stable_text(&text, class->name);
  return lh_text_finish(&text);
}

/* Where the row of a class of another process is kept; NULL: out of memory. */
static uint32_t *row_by_stable(rows *r, const lh_classes *classes, uint32_t class_index) {
  const lh_class_entry *entry = &classes->list[class_index];
  char *name = stable_name(&entry->visible);
  lh_text_id stable = name ? lh_strings_add(&r->texts, name, strlen(name)) : LH_NO_NUMBER;
  lh_text_id fields = entry->fields;
  lh_free(name);
  if (fields != LH_NO_NUMBER) {
    const char *text = classes->texts.texts[fields];
    fields = lh_strings_add(&r->texts, text, strlen(text));
    if (fields == LH_NO_NUMBER) return NULL;
  }
  if (stable == LH_NO_NUMBER) return NULL;
  lh_class_key key = lh_key_of_class(stable, fields, entry->visible.type);
  return lh_map_at_words(&r->by_stable, key.words, LH_CLASS_WORDS);
}

/* The row of a class that another snapshot has, too; else LH_NO_NUMBER. */
static bool find_row(rows *r, const lh_snapshot *const at[3], int which, uint32_t class_index,
                     uint32_t *row) {
  *row = LH_NO_NUMBER;
  if (!r->same_state) {
    uint32_t *known = row_by_stable(r, at[which]->classes, class_index);
    if (!known) return false;
    *row = *known;
    if (*known == LH_NO_NUMBER) *known = (uint32_t)r->n;
    return true;
  }
  for (int j = 0; j < which && *row == LH_NO_NUMBER; j++) {
    uint32_t same = at[j] ? lh_class_counterpart(at[which], class_index, at[j]) : LH_NO_NUMBER;
    if (same != LH_NO_NUMBER) *row = r->of[j][same];
  }
  return true;
}

/* A row that is called differently in two builds is told by what both call it. */
static bool rename_row(lh_class_change *row, const lh_class *class) {
  if (strcmp(row->name, class->name) == 0) return true;
  char *name = stable_name(class);
  if (!name) return false;
  lh_free((void *)row->name);
  row->name = name;
  return true;
}

static bool add_classes(rows *r, const lh_snapshot *const at[3], int which) {
  const lh_snapshot *s = at[which];
  uint32_t n = lh_class_count(s);
  r->of[which] = lh_alloc(n, sizeof **r->of);
  if (!r->of[which]) return false;
  for (uint32_t i = 0; i < n; i++) {
    const lh_class *class = lh_class_at(s, i);
    uint32_t row;
    if (!find_row(r, at, which, i, &row)) return false;
    if (row != LH_NO_NUMBER && !r->same_state && !rename_row(&r->list[row], class)) return false;
    if (row == LH_NO_NUMBER) {
      if (!lh_grow(&r->list, r->n, &r->capacity, sizeof *r->list)) return false;
      row = (uint32_t)r->n++;
      char *name = lh_copy_text(class->name);
      r->list[row] = (lh_class_change){.name = name, .type = class->type};
      if (!name) return false;
    }
    r->of[which][i] = row;
    r->list[row].objects[which] += class->objects;
    r->list[row].shallow_bytes[which] += class->shallow_bytes;
  }
  return true;
}

/* What came: reachable in c, and not there at a. */
static void count_appeared(rows *r, const lh_window *w) {
  for (lh_id id = 1; id <= w->c->n; id++) {
    if (!lh_is_reachable(w->c, id) || lh_is_own(w->c, id) || !lh_is_new(w, id)) continue;
    r->list[r->of[2][lh_class_of(w->c, id)]].appeared++;
  }
}

static lh_id later_self(const lh_window *w, lh_id id) {
  lh_id found = lh_find_header(w->c, lh_address_of(w->a, id));
  if (found == LH_NO_OBJECT) return found;
  return lh_earlier_self(w->c, found, w->a, w->since) == id ? found : LH_NO_OBJECT;
}

/* What went: reachable at a, and in c garbage or no longer there. */
static void count_gone(rows *r, const lh_window *w, lh_diff *diff) {
  lh_id call[2];
  lh_find_call(w->a, call);
  for (lh_id id = 1; id <= w->a->n; id++) {
    if (!lh_is_reachable(w->a, id) || lh_is_own(w->a, id)) continue;
    if (id == call[0] || id == call[1]) continue;
    lh_id later = later_self(w, id);
    if (later != LH_NO_OBJECT && lh_is_reachable(w->c, later)) continue;
    r->list[r->of[0][lh_class_of(w->a, id)]].gone++;
    if (w->b) continue;
    diff->gone_objects++;
    diff->gone_bytes += lh_shallow_bytes(w->a, id);
  }
}

static int compare_changes(const void *left, const void *right) {
  const lh_class_change *a = left, *b = right;
  int64_t x = (int64_t)(a->shallow_bytes[2] - a->shallow_bytes[0]);
  int64_t y = (int64_t)(b->shallow_bytes[2] - b->shallow_bytes[0]);
  if (x != y) return x > y ? -1 : 1;
  int order = strcmp(a->name, b->name);
  if (order) return order;
  if (a->type != b->type) return a->type < b->type ? -1 : 1;
  if (a->shallow_bytes[2] != b->shallow_bytes[2])
    return a->shallow_bytes[2] > b->shallow_bytes[2] ? -1 : 1;
  return (a->objects[2] < b->objects[2]) - (a->objects[2] > b->objects[2]);
}

/* Classes of garbage only say nothing about what changed. */
static void drop_empty(rows *r) {
  size_t kept = 0;
  for (size_t i = 0; i < r->n; i++) {
    const uint64_t *objects = r->list[i].objects;
    if (objects[0] || objects[1] || objects[2])
      r->list[kept++] = r->list[i];
    else
      lh_free((void *)r->list[i].name);
  }
  r->n = kept;
}

int lh_diff_changes(const lh_snapshot *a, const lh_snapshot *b, const lh_snapshot *c,
                    uint32_t a_in_c, lh_diff *diff, lh_error *error) {
  const lh_snapshot *const at[3] = {a, b, c};
  rows r = {.same_state = diff->same_state};
  bool ok = true;
  for (int i = 0; i < 3 && ok; i++)
    if (at[i]) ok = add_classes(&r, at, i);
  if (ok && diff->same_state) {
    lh_window appeared = {.a = a, .c = c, .since = a_in_c, .until = lh_mark_count(c)};
    lh_window gone = appeared;
    gone.b = b;
    lh_find_call(c, appeared.call);
    count_appeared(&r, &appeared);
    count_gone(&r, &gone, diff);
  }
  if (ok) {
    drop_empty(&r);
    if (r.n > 1) qsort(r.list, r.n, sizeof *r.list, compare_changes);
  }
  diff->classes = r.list;
  diff->n_classes = r.n;
  lh_map_free(&r.by_stable);
  lh_strings_free(&r.texts);
  for (int i = 0; i < 3; i++) lh_free(r.of[i]);
  return ok ? 0 : lh_fail_memory(error, "comparing classes");
}
