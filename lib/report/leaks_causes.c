/*
** leaks_causes.c - which rows are about one cause. The keys and the values of one table
** are: the ones with more bytes tell of both. So are parts of a row's objects, such as their names,
** where others share these; but not what grows in what does not. And the elements of one linked
** list, from wherever in it their paths begin.
*/
#include "report/leaks.h"

#include <string.h>

/* The path of the table of which a row has the keys or the values; empty: of none. Its length. */
static size_t table_of(const char *held_by, const char **table) {
  static const char key_of[] = "key of ";
  size_t n = strlen(held_by);
  bool is_key = strncmp(held_by, key_of, sizeof key_of - 1) == 0;
  *table = is_key ? held_by + sizeof key_of - 1 : held_by;
  if (is_key) return n - (sizeof key_of - 1);
  if (n < 3 || strcmp(held_by + n - 3, "[*]") != 0) return 0;
  n -= 3;
  if (n > 2 && held_by[0] == '(' && held_by[n - 1] == ')') return *table = held_by + 1, n - 2;
  return n;
}

static bool is_same_table(const lh_cause *row, const lh_cause *other) {
  const char *a, *b;
  size_t n = table_of(row->held_by, &a), m = table_of(other->held_by, &b);
  return n > 0 && n == m && memcmp(a, b, n) == 0;
}

static bool is_part_of(const lh_cause *part, const lh_cause *whole) {
  return strstr(part->held_by, whole->held_by) ||
         (whole->also_held_by && strstr(part->held_by, whole->also_held_by));
}

/* {=== Linked lists =================================================================== */

static bool is_linked(const lh_cause *leak) {
  size_t n = strlen(leak->held_by);
  return n > 0 && strcmp(leak->held_by + n - 1, "]") != 0 && leak->type != LH_TYPE_STRING;
}

typedef struct walk {
  lh_snapshot *snapshot;
  uint8_t *seen;
  lh_id *stack;
  size_t n, capacity;
} walk;

static bool push(walk *w, lh_id id) {
  if (w->seen[id]) return true;
  if (!lh_grow(&w->stack, w->n, &w->capacity, sizeof *w->stack)) return false;
  w->seen[id] = 1;
  w->stack[w->n++] = id;
  return true;
}

/* Sees all of its class that the object leads to. */
static bool see_linked(walk *w, lh_id first) {
  uint32_t class_index = lh_class_of(w->snapshot, first);
  bool ok = push(w, first);
  while (ok && w->n > 0) {
    lh_edges it;
    lh_edge edge;
    for (lh_edges_begin(w->snapshot, w->stack[--w->n], &it); ok && lh_edges_next(&it, &edge);)
      if (!edge.weak && lh_class_of(w->snapshot, edge.target) == class_index)
        ok = push(w, edge.target);
  }
  return ok;
}

/* }=================================================================================== */

static void add_row(lh_cause *row, const lh_cause *other) {
  for (int i = 0; i < LH_SPANS; i++) row->ages[i] += other->ages[i];
  row->objects += other->objects;
  row->bytes += other->bytes;
}

/* Rows behind row i of the same list go into it. */
static bool unite_list(lh_snapshot *snapshot, lh_causes *found, size_t i) {
  lh_cause *row = &found->leaks[i];
  walk w = {.snapshot = snapshot};
  bool ok = true;
  for (size_t k = i + 1; ok && k < found->n_leaks; k++) {
    lh_cause *other = &found->leaks[k];
    if (!other->class_name || !is_linked(other)) continue;
    if (strcmp(other->class_name, row->class_name) != 0) continue;
    if (!w.seen)
      ok = (w.seen = lh_alloc_zeroed((size_t)lh_object_count(snapshot) + 1, 1)) &&
           see_linked(&w, row->example);
    if (!ok || !w.seen[other->example]) continue;
    add_row(row, other);
    other->class_name = NULL;
  }
  lh_free(w.seen);
  lh_free(w.stack);
  return ok;
}

/* A row goes into one before it, which has as certain a prospect. Keys and values go into those
** with most bytes. */
static void unite_parts(lh_causes *found, size_t i) {
  lh_cause *row = &found->leaks[i];
  for (size_t k = i + 1; k < found->n_leaks; k++) {
    lh_cause *other = &found->leaks[k];
    if (!other->class_name) continue;
    bool same = is_same_table(row, other);
    if (!same && !is_part_of(other, row)) continue;
    if (same) row->bytes += other->bytes;
    if (same && !row->collection) row->collection = other->collection;
    other->class_name = NULL;
  }
}

/* One thing of each element, such as its name: its path goes on from theirs without another *. */
static bool is_one_of_each(const lh_cause *part, const lh_cause *whole) {
  size_t n = strlen(whole->held_by);
  if (strncmp(part->held_by, whole->held_by, n) != 0) return false;
  const char *rest = part->held_by + n;
  if (strncmp(rest, "[*]", 3) == 0) rest += 3;
  return (*rest == '.' || *rest == '\0') && !strchr(rest, '*') && part->objects <= whole->objects;
}

void lh_bound_parts(lh_causes *found) {
  for (size_t i = 0; i < found->n_leaks; i++)
    for (size_t k = 0; k < found->n_leaks; k++)
      if (found->leaks[k].prospect == LH_BOUNDED && found->leaks[k].bound.limit > 0 &&
          is_one_of_each(&found->leaks[i], &found->leaks[k]))
        found->leaks[i].prospect = LH_BOUNDED;
}

static void drop_united(lh_causes *found) {
  size_t n = found->n_leaks;
  found->n_leaks = 0;
  for (size_t i = 0; i < n; i++)
    if (found->leaks[i].class_name) found->leaks[found->n_leaks++] = found->leaks[i];
}

bool lh_unite_lists(lh_snapshot *snapshot, lh_causes *found) {
  bool ok = true;
  for (size_t i = 0; ok && i < found->n_leaks; i++) {
    const lh_cause *row = &found->leaks[i];
    if (row->class_name && is_linked(row)) ok = unite_list(snapshot, found, i);
  }
  drop_united(found);
  return ok;
}

void lh_unite_parts(lh_causes *found) {
  for (size_t i = 0; i < found->n_leaks; i++)
    if (found->leaks[i].class_name) unite_parts(found, i);
  drop_united(found);
}
