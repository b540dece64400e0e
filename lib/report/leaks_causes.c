/*
** leaks_causes.c - which rows are about one cause. The keys and the values of one table
** are: the ones with more bytes tell of both. So are parts of a row's objects, such as their names,
** where others share these; but not what grows in what does not. And the elements of one linked
** list, from wherever in it their paths begin.
*/
#include "report/leaks.h"

#include <stdlib.h>
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

/* {=== Linked lists =================================================================== */

static bool is_linked(const lh_cause *leak) {
  size_t n = strlen(leak->held_by);
  return n > 0 && strcmp(leak->held_by + n - 1, "]") != 0 && leak->type != LH_TYPE_STRING;
}

/* A row, among those of its class. */
typedef struct link {
  uint32_t class_index;
  const char *class_name;
  size_t row;
} link;

static int compare_links(const void *left, const void *right) {
  const link *a = left, *b = right;
  if (a->class_index != b->class_index) return a->class_index < b->class_index ? -1 : 1;
  int order = strcmp(a->class_name, b->class_name);
  if (order != 0) return order;
  return a->row < b->row ? -1 : a->row > b->row;
}

static bool are_of_one_class(const link *a, const link *b) {
  return a->class_index == b->class_index && strcmp(a->class_name, b->class_name) == 0;
}

/* Who has seen an object: the first link of its class that leads to it, counted from 1. */
typedef struct walk {
  lh_snapshot *snapshot;
  uint32_t *seen_by;
  uint32_t first, now; /* link of the class */
  lh_id *stack;
  size_t n, capacity;
} walk;

static bool push(walk *w, lh_id id) {
  if (w->seen_by[id] >= w->first) return true;
  if (!lh_grow(&w->stack, w->n, &w->capacity, sizeof *w->stack)) return false;
  w->seen_by[id] = w->now;
  w->stack[w->n++] = id;
  return true;
}

/* Sees all of its class that the object leads to, and that no link before has seen. */
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

/* Of the links of one class, each goes into the first one that leads to it. */
static bool unite_class(walk *w, lh_causes *found, const link *links, size_t from, size_t to) {
  bool ok = true;
  w->first = (uint32_t)from + 1;
  for (size_t i = from; ok && to - from > 1 && i < to; i++) {
    lh_cause *row = &found->leaks[links[i].row];
    uint32_t by = w->seen_by[row->example];
    w->now = (uint32_t)i + 1;
    if (by < w->first) {
      ok = see_linked(w, row->example);
    } else {
      add_row(&found->leaks[links[by - 1].row], row);
      row->class_name = NULL;
    }
  }
  return ok;
}

static size_t list_links(const lh_snapshot *snapshot, const lh_causes *found, link *links) {
  size_t n = 0;
  for (size_t i = 0; i < found->n_leaks; i++) {
    const lh_cause *row = &found->leaks[i];
    if (is_linked(row))
      links[n++] = (link){lh_class_of(snapshot, row->example), row->class_name, i};
  }
  if (n > 1) qsort(links, n, sizeof *links, compare_links);
  return n;
}

/* The rows that contain the place of a part; the first of them. */
static size_t find_whole(const lh_row_places *places, const char *text) {
  enum { MOST_STARTS = 16 };
  size_t first = SIZE_MAX;
  const char *start = text;
  for (int i = 0; start && i < MOST_STARTS; i++) {
    const char *next = NULL;
    for (const char *end = lh_next_end(start); end; end = lh_next_end(end)) {
      const lh_place_of_rows *whole = lh_place_at(places, start, (size_t)(end - start));
      if (whole && whole->first[0] < first) first = whole->first[0];
      if (!next && *end == ' ') next = end + 1;
    }
    start = *start == '(' ? start + 1 : next;
  }
  return first;
}

static void keep_first(const lh_row_places *places, const char *text, size_t n, size_t row) {
  lh_place_of_rows *place = lh_place_at(places, text, n);
  if (place && row < place->first[0]) place->first[0] = row;
}

static void unite_row(lh_row_places *places, lh_row_places *tables, lh_causes *found, size_t i) {
  lh_cause *row = &found->leaks[i];
  const char *text;
  size_t n = table_of(row->held_by, &text), whole = find_whole(places, row->held_by);
  const lh_place_of_rows *table = n > 0 ? lh_place_at(tables, text, n) : NULL;
  size_t same = table ? table->first[0] : SIZE_MAX;
  if (same == SIZE_MAX && whole == SIZE_MAX) {
    keep_first(places, row->held_by, strlen(row->held_by), i);
    if (row->also_held_by) keep_first(places, row->also_held_by, strlen(row->also_held_by), i);
    if (n > 0) keep_first(tables, text, n, i);
    return;
  }
  if (same <= whole) {
    lh_cause *other = &found->leaks[same];
    other->bytes += row->bytes;
    if (!other->collection) other->collection = row->collection;
  }
  row->class_name = NULL;
}

static void add_places(const lh_causes *found, lh_row_places *places, lh_row_places *tables) {
  for (size_t i = 0; i < found->n_leaks; i++) {
    const lh_cause *row = &found->leaks[i];
    const char *text;
    size_t n = table_of(row->held_by, &text);
    lh_add_place(places, row->held_by, strlen(row->held_by));
    if (row->also_held_by) lh_add_place(places, row->also_held_by, strlen(row->also_held_by));
    if (tables && n > 0) lh_add_place(tables, text, n);
  }
  lh_sort_places(places);
  if (tables) lh_sort_places(tables);
}

static void note_bounded(const lh_row_places *places, const lh_cause *row) {
  if (row->prospect != LH_BOUNDED || !(row->bound.limit > 0)) return;
  lh_place_of_rows *place = lh_place_at(places, row->held_by, strlen(row->held_by));
  if (row->objects >= place->most) place->most = row->objects;
  place->is_met[0] = true;
}

/* One thing of each element, such as its name: its path goes on from theirs without another *. */
static bool is_one_of_each(const lh_row_places *places, const lh_cause *part) {
  for (const char *end = lh_next_end(part->held_by); end; end = lh_next_end(end)) {
    const char *rest = strncmp(end, "[*]", 3) == 0 ? end + 3 : end;
    if ((*rest != '.' && *rest != '\0') || strchr(rest, '*')) continue;
    const lh_place_of_rows *whole =
        lh_place_at(places, part->held_by, (size_t)(end - part->held_by));
    if (whole && whole->is_met[0] && part->objects <= whole->most) return true;
  }
  return false;
}

bool lh_bound_parts(lh_causes *found) {
  lh_row_places places;
  if (!lh_row_places_new(&places, 2 * found->n_leaks)) return false;
  add_places(found, &places, NULL);
  for (size_t i = 0; i < found->n_leaks; i++) note_bounded(&places, &found->leaks[i]);
  for (size_t i = 0; i < found->n_leaks; i++) {
    if (!is_one_of_each(&places, &found->leaks[i])) continue;
    found->leaks[i].prospect = LH_BOUNDED;
    note_bounded(&places, &found->leaks[i]);
  }
  lh_free(places.list);
  return true;
}

static void drop_united(lh_causes *found) {
  size_t n = found->n_leaks;
  found->n_leaks = 0;
  for (size_t i = 0; i < n; i++)
    if (found->leaks[i].class_name) found->leaks[found->n_leaks++] = found->leaks[i];
}

bool lh_unite_lists(lh_snapshot *snapshot, lh_causes *found) {
  walk w = {.snapshot = snapshot};
  link *links = lh_alloc(found->n_leaks, sizeof *links);
  w.seen_by = lh_alloc_zeroed((size_t)lh_object_count(snapshot) + 1, sizeof *w.seen_by);
  bool ok = links && w.seen_by;
  size_t n = ok ? list_links(snapshot, found, links) : 0;
  for (size_t i = 0, to = 0; ok && i < n; i = to) {
    for (to = i + 1; to < n && are_of_one_class(&links[i], &links[to]);) to++;
    ok = unite_class(&w, found, links, i, to);
  }
  if (ok) drop_united(found);
  lh_free(links);
  lh_free(w.seen_by);
  lh_free(w.stack);
  return ok;
}

bool lh_unite_parts(lh_causes *found) {
  lh_row_places places, tables;
  bool ok = lh_row_places_new(&places, 2 * found->n_leaks);
  if (!ok) return false;
  ok = lh_row_places_new(&tables, found->n_leaks);
  if (ok) add_places(found, &places, &tables);
  for (size_t i = 0; ok && i < found->n_leaks; i++) unite_row(&places, &tables, found, i);
  if (ok) drop_united(found);
  lh_free(places.list);
  lh_free(tables.list);
  return ok;
}
