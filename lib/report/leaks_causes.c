/*
** leaks_causes.c - which rows are about one cause. The keys and the values of one table
** are: the ones with more bytes tell of both. So are parts of a row's objects, such as their names,
** where others share these; but not what grows in what does not. And the elements of one linked
** list, from wherever in it their paths begin.
*/
#include "report/leaks.h"

#include <stdlib.h>

/* {=== Linked lists =================================================================== */

static bool is_linked(const lh_place_tree *tree, const lh_cause *leak) {
  return lh_last_step(tree, leak->at)->kind != LH_STEP_ANY_KEY && leak->type != LH_TYPE_STRING;
}

/* A row, among those of its class. */
typedef struct link {
  uint32_t class_index, row_class; /* of the example, and of the row */
  size_t row;
} link;

static int compare_links(const void *left, const void *right) {
  const link *a = left, *b = right;
  return LH_LESS(a->class_index, b->class_index) ?: LH_LESS(a->row_class, b->row_class) ?:
         LH_LESS(a->row, b->row);
}

static bool are_of_one_class(const link *a, const link *b) {
  return a->class_index == b->class_index && a->row_class == b->row_class;
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
  const lh_place_tree *tree = lh_places_of(snapshot);
  size_t n = 0;
  for (size_t i = 0; i < found->n_leaks; i++) {
    const lh_cause *row = &found->leaks[i];
    if (is_linked(tree, row))
      links[n++] = (link){lh_class_of(snapshot, row->example), row->class_index, i};
  }
  if (n > 1) qsort(links, n, sizeof *links, compare_links);
  return n;
}

/* The first row at each place. */
typedef struct places {
  const lh_place_tree *tree;
  lh_map rows, tables; /* the place, or the table of which it is the keys or values -> row */
} places;

static void take_first(const lh_map *map, uint32_t place, uint32_t *first) {
  uint32_t row = place == LH_NO_PLACE ? LH_NO_NUMBER : lh_map_get(map, place);
  if (row < *first) *first = row;
}

/* The first of the rows that the place of a part is inside of; LH_NO_NUMBER: of none. */
static uint32_t find_whole(const places *p, uint32_t part) {
  uint32_t first = LH_NO_NUMBER;
  for (uint32_t at = part; at != LH_NO_PLACE; at = lh_place_before(p->tree, at)) {
    uint32_t holder = lh_place_of_holder(p->tree, at);
    take_first(&p->rows, at, &first);
    for (; holder != LH_NO_PLACE; holder = lh_place_before(p->tree, holder))
      take_first(&p->rows, holder, &first);
  }
  return first;
}

static bool keep_first(lh_map *map, uint32_t place, size_t row) {
  uint32_t *known = place == LH_NO_PLACE ? NULL : lh_map_at(map, place);
  if (known && *known == LH_NO_NUMBER) *known = (uint32_t)row;
  return known || place == LH_NO_PLACE;
}

static bool unite_row(places *p, lh_causes *found, size_t i) {
  lh_cause *row = &found->leaks[i];
  uint32_t table = lh_place_container(p->tree, row->at), same = LH_NO_NUMBER;
  uint32_t whole = find_whole(p, row->at);
  take_first(&p->tables, table, &same);
  if (same == LH_NO_NUMBER && whole == LH_NO_NUMBER) {
    bool ok = keep_first(&p->rows, row->at, i) && keep_first(&p->tables, table, i);
    for (size_t k = 0; ok && k < LH_ALSO_AT; k++) ok = keep_first(&p->rows, row->also_at[k], i);
    return ok;
  }
  if (same <= whole) {
    lh_cause *other = &found->leaks[same];
    other->bytes += row->bytes;
    if (!other->collection) other->collection = row->collection;
  }
  row->class_name = NULL;
  return true;
}

/* The row with most objects at each place of what has a limit. False: out of memory. */
static bool note_bounded(lh_map *bounded, const lh_causes *found, size_t i) {
  const lh_cause *row = &found->leaks[i];
  if (row->prospect != LH_BOUNDED || !(row->bound.limit > 0)) return true;
  uint32_t *most = lh_map_at(bounded, row->at);
  if (most && (*most == LH_NO_NUMBER || row->objects >= found->leaks[*most].objects))
    *most = (uint32_t)i;
  return most != NULL;
}

static bool is_bounded_at(const lh_map *bounded, const lh_causes *found, uint32_t place,
                          const lh_cause *part) {
  uint32_t whole = lh_map_get(bounded, place);
  return whole != LH_NO_NUMBER && part->objects <= found->leaks[whole].objects;
}

/* One thing of each element, such as its name: its path goes on from theirs by keys that mean
** something. */
static bool is_one_of_each(const lh_place_tree *tree, const lh_map *bounded, const lh_causes *found,
                           const lh_cause *part) {
  uint32_t at = part->at;
  while (!is_bounded_at(bounded, found, at, part)) {
    uint8_t kind = lh_last_step(tree, at)->kind;
    at = lh_place_before(tree, at);
    if (kind == LH_STEP_ANY_KEY) return is_bounded_at(bounded, found, at, part);
    if (kind != LH_EDGE_VALUE) return false;
  }
  return true;
}

bool lh_bound_parts(const lh_place_tree *tree, lh_causes *found) {
  lh_map bounded = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < found->n_leaks; i++) ok = note_bounded(&bounded, found, i);
  for (size_t i = 0; ok && i < found->n_leaks; i++) {
    if (!is_one_of_each(tree, &bounded, found, &found->leaks[i])) continue;
    found->leaks[i].prospect = LH_BOUNDED;
    ok = note_bounded(&bounded, found, i);
  }
  lh_map_free(&bounded);
  return ok;
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

bool lh_unite_parts(const lh_place_tree *tree, lh_causes *found) {
  places p = {.tree = tree};
  bool ok = true;
  for (size_t i = 0; ok && i < found->n_leaks; i++) ok = unite_row(&p, found, i);
  if (ok) drop_united(found);
  lh_map_free(&p.rows);
  lh_map_free(&p.tables);
  return ok;
}
