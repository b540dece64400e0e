/*
** leaks_rows.c - the rows of leak candidates, from all evidence in one snapshot.
**
** Sources: places of objects from the middle of the program's life (lh_diff_history); collections
** and their keys, also of numbers, which have no age (lh_find_growing); big objects
** (lh_find_suspects). lib/graph/verdict.c decides whether a row grows. Rows with one cause are
** merged.
*/
#include "report/leaks.h"

#include "thresholds.h"

/* ==== Judging ======================================================================== */

static uint64_t sum_of_ages(const uint64_t *ages) {
  uint64_t sum = 0;
  for (int i = 0; i < LH_SPANS; i++) sum += ages[i];
  return sum;
}

static bool is_judged(const lh_cause *leak) {
  return leak->collection && leak->collection->id == leak->example;
}

/* No search at the example: the collection knows its limit; anything may refer to a string. */
static bool has_own_limit(const lh_cause *leak) {
  return is_judged(leak) || leak->type == LH_TYPE_STRING;
}

static int find_limits(lh_causes *found, lh_snapshot *snapshot, lh_error *error) {
  size_t n = 0;
  lh_id *ids = lh_alloc(found->n_leaks, sizeof *ids);
  uint64_t *counts = lh_alloc(found->n_leaks, sizeof *counts);
  lh_bound *bounds = lh_alloc(found->n_leaks, sizeof *bounds);
  int code = ids && counts && bounds ? LH_OK : lh_fail_memory(error, "looking for limits");
  for (size_t i = 0; i < found->n_leaks && !code; i++) {
    if (has_own_limit(&found->leaks[i])) continue;
    ids[n] = found->leaks[i].example;
    counts[n++] = sum_of_ages(found->leaks[i].judged_ages);
  }
  if (!code && n > 0) code = lh_find_bounds(snapshot, ids, counts, n, bounds, error);
  for (size_t i = found->n_leaks; i-- > 0 && !code;)
    if (!has_own_limit(&found->leaks[i])) found->leaks[i].bound = bounds[--n];
  LH_FREE_ALL(ids, counts, bounds);
  return code;
}

/* Is the row about the elements of its collection? */
static bool are_elements(const lh_snapshot *snapshot, const lh_cause *leak) {
  return leak->collection &&
         lh_place_container(lh_places_of(snapshot), leak->at) == leak->collection->at;
}

/* A full ring has a bound; a cache with few keys is full one day. */
static void judge_elements(const lh_snapshot *snapshot, lh_cause *leak) {
  if (leak->prospect != LH_GROWS || !are_elements(snapshot, leak)) return;
  if (leak->collection->is_ring) leak->prospect = LH_BOUNDED;
  if (leak->collection->has_few_keys) leak->prospect = LH_MAY_GROW;
}

static int judge(lh_causes *found, lh_snapshot *snapshot, lh_error *error) {
  int code = find_limits(found, snapshot, error);
  for (size_t i = 0; i < found->n_leaks && !code; i++) {
    lh_cause *leak = &found->leaks[i];
    if (is_judged(leak)) continue;
    lh_id holder = leak->holder = lh_nearest_holder(snapshot, leak->example);
    if (leak->type == LH_TYPE_STRING) /* for a string, search from its holder */
      code = lh_find_bound(snapshot, holder, sum_of_ages(leak->judged_ages), &leak->bound, error);
    if (code) break;
    leak->prospect = lh_prospect_of_place(snapshot, &found->history, leak->judged_ages, holder,
                                          leak->type == LH_TYPE_STRING, &leak->bound);
    judge_elements(snapshot, leak);
    leak->has_young_holder =
        leak->prospect == LH_MAY_GROW &&
        lh_holder_is_too_young(snapshot, &found->history, leak->judged_ages, holder);
  }
  return code;
}

/* ==== Rows =========================================================================== */

/* Fewer objects are not a collection; they may still be big. */
static void add_group(lh_causes *found, const lh_snapshot *snapshot, const lh_diff_group *group) {
  lh_cause leak = {.class_name = group->class_name,
                   .type = lh_class_at(snapshot, group->class_index)->type,
                   .class_index = group->class_index,
                   .held_by = group->held_by,
                   .also_held_by = group->also_held_by,
                   .at = group->held_at,
                   .objects = sum_of_ages(group->ages),
                   .bytes = group->bytes_of_all > group->retained_bytes ? group->bytes_of_all
                                                                        : group->retained_bytes,
                   .example = group->example,
                   .allocated = group->allocated,
                   .bound = {.name = LH_NO_OBJECT}};
  if (sum_of_ages(group->type_ages) < LH_LEAST_AGED) return;
  memcpy(leak.ages, group->ages, sizeof leak.ages);
  memcpy(leak.judged_ages, group->type_ages, sizeof leak.judged_ages);
  memcpy(leak.also_at, group->also_at, sizeof leak.also_at);
  found->leaks[found->n_leaks++] = leak;
}

static void add_collection(lh_causes *found, const lh_growing *g) {
  lh_cause leak = {.prospect = g->prospect,
                   .class_name = g->element,
                   .type = g->type,
                   .class_index = g->element_class,
                   .held_by = g->held_by,
                   .at = g->at,
                   .also_at = {LH_NO_PLACE, LH_NO_PLACE},
                   .objects = g->alike_entries,
                   .bytes = g->bytes,
                   .example = g->id,
                   .holder = g->oldest_holder,
                   .has_young_holder = g->has_young_holder,
                   .bound = g->bound,
                   .collection = g};
  memcpy(leak.ages, g->ages, sizeof leak.ages);
  memcpy(leak.judged_ages, g->ages, sizeof leak.judged_ages);
  found->leaks[found->n_leaks++] = leak;
}

/* The first collection that is a table, by place: of any type, of strings. */
typedef struct collections {
  const lh_place_tree *tree;
  const lh_growings *growings;
  lh_map first[2];
  lh_map met[2];  /* places with a row: of any type, of strings */
  lh_map classes; /* classes of rows */
} collections;

static bool list_collections(collections *c) {
  bool ok = true;
  for (size_t i = c->growings->n; ok && i-- > 0;) {
    const lh_growing *g = &c->growings->list[i];
    for (int k = 0; ok && !g->is_list && k < 1 + (g->type == LH_TYPE_STRING); k++) {
      uint32_t *first = lh_map_at(&c->first[k], g->at);
      ok = first != NULL;
      if (ok) *first = (uint32_t)i;
    }
  }
  return ok;
}

/* Links a row to the collection of its table, which knows about the keys. */
static bool meet(collections *c, uint32_t table, lh_cause *leak) {
  bool is_string = leak->type == LH_TYPE_STRING;
  uint32_t first = lh_map_get(&c->first[is_string], table);
  const lh_growing *g = first == LH_NO_NUMBER ? NULL : &c->growings->list[first];
  if (g && (!leak->collection || g < leak->collection)) leak->collection = g;
  return lh_map_count(&c->met[is_string], table);
}

/* Meets all tables on the path of a place that hold the next step under any key, or as a key. */
static bool meet_tables(collections *c, uint32_t place, lh_cause *leak) {
  bool ok = place == LH_NO_PLACE || meet(c, place, leak);
  for (uint32_t at = place; ok && at != LH_NO_PLACE; at = lh_place_before(c->tree, at)) {
    uint32_t table = lh_place_container(c->tree, at);
    if (table != LH_NO_PLACE) ok = meet(c, table, leak);
  }
  return ok;
}

/* Does a row already cover the contents of the collection? */
static bool row_tells_of_collection(const collections *c, const lh_growing *g) {
  bool is_met = lh_map_get(&c->met[0], g->at) != LH_NO_NUMBER ||
                lh_map_get(&c->met[0], g->folded_at) != LH_NO_NUMBER;
  bool is_met_as_string = lh_map_get(&c->met[1], g->at) != LH_NO_NUMBER ||
                          lh_map_get(&c->met[1], g->folded_at) != LH_NO_NUMBER;
  return is_met || (is_met_as_string && g->type == LH_TYPE_STRING) ||
         (g->is_list && lh_map_get(&c->classes, g->element_class) != LH_NO_NUMBER);
}

static bool add_collections(lh_causes *found, const lh_place_tree *tree) {
  const lh_growings *growings = &found->growings;
  collections c = {.tree = tree, .growings = growings};
  bool ok = list_collections(&c);
  for (size_t i = 0; ok && i < found->n_leaks; i++) {
    lh_cause *leak = &found->leaks[i];
    ok = lh_map_count(&c.classes, leak->class_index) && meet_tables(&c, leak->at, leak);
    for (size_t k = 0; ok && k < LH_ALSO_AT; k++) ok = meet_tables(&c, leak->also_at[k], leak);
  }
  for (size_t i = 0; ok && i < growings->n; i++) {
    const lh_growing *g = &growings->list[i];
    if (!row_tells_of_collection(&c, g) && g->prospect != LH_FILLED_ONCE && g->same_as == i)
      add_collection(found, g);
  }
  for (int k = 0; k < 2; k++) {
    lh_map_free(&c.first[k]);
    lh_map_free(&c.met[k]);
  }
  lh_map_free(&c.classes);
  return ok;
}

/* Strings that are names of globals or modules, and no generated keys: the program's own text. */
static bool are_plain_names(const lh_place_tree *tree, const lh_cause *leak) {
  uint32_t table = lh_place_container(tree, leak->at);
  if (leak->type != LH_TYPE_STRING || leak->collection || table == LH_NO_PLACE) return false;
  uint8_t kind = lh_last_step(tree, table)->kind;
  return kind == LH_STEP_GLOBALS || kind == LH_STEP_LOADED;
}

static void drop_plain_names(lh_causes *found, const lh_place_tree *tree) {
  size_t n = found->n_leaks;
  found->n_leaks = 0;
  for (size_t i = 0; i < n; i++)
    if (!are_plain_names(tree, &found->leaks[i])) found->leaks[found->n_leaks++] = found->leaks[i];
}

static int make_leak_rows(lh_causes *found, lh_snapshot *snapshot, lh_error *error) {
  const lh_diff *stayed = found->stayed;
  const lh_growings *growings = &found->growings;
  found->leaks = lh_alloc(stayed->n_groups + growings->n, sizeof *found->leaks);
  if (!found->leaks) return lh_fail_memory(error, "looking for what leaks");
  for (size_t i = 0; i < stayed->n_groups; i++) add_group(found, snapshot, &stayed->groups[i]);
  const lh_place_tree *tree = lh_places_of(snapshot);
  if (!tree || !add_collections(found, tree))
    return lh_fail_memory(error, "looking for what leaks");
  drop_plain_names(found, tree);
  return LH_OK;
}

static int compare_leaks(const void *left, const void *right) {
  const lh_cause *a = left, *b = right;
  return LH_MORE(a->prospect, b->prospect) ?: LH_MORE(a->bytes, b->bytes) ?:
         strcmp(a->held_by, b->held_by) ?: strcmp(a->class_name, b->class_name);
}

static void sort_rows(lh_causes *found) {
  if (found->n_leaks > 1) qsort(found->leaks, found->n_leaks, sizeof *found->leaks, compare_leaks);
}

/* ==== Merging rows =================================================================== */

/* One cause: the keys and values of one table (the row with more bytes stays); parts of another
** row's objects, such as shared names, unless the part grows and the whole does not; elements of
** one linked list, wherever their paths begin. */

static bool is_linked(const lh_place_tree *tree, const lh_cause *leak) {
  return lh_last_step(tree, leak->at)->kind != LH_STEP_ANY_KEY && leak->type != LH_TYPE_STRING;
}

typedef struct link {
  uint32_t class_index, row_class; /* of the example; of the row */
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

/* seen_by: 1 + index of the first link of the class that leads to the object. */
typedef struct walk {
  lh_snapshot *snapshot;
  uint32_t *seen_by;
  uint32_t first, now; /* first link of this class, current link; both plus 1 */
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

/* Visits the objects of its class that it leads to, unless an earlier link saw them. */
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

static void merge_row(lh_cause *row, const lh_cause *other) {
  for (int i = 0; i < LH_SPANS; i++) row->ages[i] += other->ages[i];
  for (int i = 0; i < LH_SPANS; i++) row->judged_ages[i] += other->judged_ages[i];
  row->objects += other->objects;
  row->bytes += other->bytes;
}

/* Merges each link of a class into the first one that reaches it. */
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
      merge_row(&found->leaks[links[by - 1].row], row);
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

typedef struct places {
  const lh_place_tree *tree;
  lh_map rows, tables; /* place -> row; table of keys or values -> row */
} places;

static void take_first(const lh_map *map, uint32_t place, uint32_t *first) {
  uint32_t row = place == LH_NO_PLACE ? LH_NO_NUMBER : lh_map_get(map, place);
  if (row < *first) *first = row;
}

/* The first row whose place contains the part's; LH_NO_NUMBER: none. */
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
  return place == LH_NO_PLACE || lh_map_first(map, place, (uint32_t)row);
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

/* Which places have no more objects than now: bounded rows (place -> row), and collections that
** were filled once (place -> the one with most entries). */
typedef struct bounds {
  const lh_place_tree *tree;
  const lh_causes *found;
  lh_map rows, filled;
} bounds;

/* Keeps the bounded row with most objects at each place. False: out of memory. */
static bool note_bounded(bounds *b, size_t i) {
  const lh_cause *leaks = b->found->leaks, *row = &leaks[i];
  if (row->prospect != LH_BOUNDED) return true;
  uint32_t *most = lh_map_at(&b->rows, row->at);
  if (most && (*most == LH_NO_NUMBER || row->objects >= leaks[*most].objects)) *most = (uint32_t)i;
  return most != NULL;
}

static bool note_filled(bounds *b, size_t i) {
  const lh_growing *list = b->found->growings.list;
  if (list[i].prospect != LH_FILLED_ONCE || list[i].is_list) return true;
  uint32_t *most = lh_map_at(&b->filled, list[i].folded_at);
  if (most && (*most == LH_NO_NUMBER || list[i].entries > list[*most].entries)) *most = (uint32_t)i;
  return most != NULL;
}

static bool is_bounded_at(const bounds *b, uint32_t place, uint64_t objects) {
  uint32_t row = lh_map_get(&b->rows, place);
  return row != LH_NO_NUMBER && objects <= b->found->leaks[row].objects;
}

static bool is_filled_at(const bounds *b, uint32_t place, uint64_t objects) {
  uint32_t i = place == LH_NO_PLACE ? LH_NO_NUMBER : lh_map_get(&b->filled, place);
  return i != LH_NO_NUMBER && objects <= b->found->growings.list[i].entries;
}

/* One object of each element: its key, or a part such as its name, under fixed keys only. */
static bool is_one_of_each(const bounds *b, const lh_cause *part) {
  uint32_t at = part->at;
  bool is_part = false;
  while (!is_bounded_at(b, at, part->objects)) {
    uint8_t kind = lh_last_step(b->tree, at)->kind;
    uint32_t table = lh_place_container(b->tree, at);
    if (table != LH_NO_PLACE)
      return is_bounded_at(b, table, part->objects) ||
             (is_part && is_filled_at(b, table, part->objects));
    if (kind != LH_EDGE_VALUE) return false;
    at = lh_place_before(b->tree, at);
    is_part = true;
  }
  return true;
}

static bool bound_parts(const lh_place_tree *tree, lh_causes *found) {
  bounds b = {.tree = tree, .found = found};
  bool ok = true;
  for (size_t i = 0; ok && i < found->growings.n; i++) ok = note_filled(&b, i);
  for (size_t i = 0; ok && i < found->n_leaks; i++) ok = note_bounded(&b, i);
  for (size_t i = 0; ok && i < found->n_leaks; i++) {
    if (!is_one_of_each(&b, &found->leaks[i])) continue;
    found->leaks[i].prospect = LH_BOUNDED;
    ok = note_bounded(&b, i);
  }
  lh_map_free(&b.rows);
  lh_map_free(&b.filled);
  return ok;
}

static void drop_united(lh_causes *found) {
  size_t n = found->n_leaks;
  found->n_leaks = 0;
  for (size_t i = 0; i < n; i++)
    if (found->leaks[i].class_name) found->leaks[found->n_leaks++] = found->leaks[i];
}

static bool unite_lists(lh_snapshot *snapshot, lh_causes *found) {
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
  LH_FREE_ALL(links, w.seen_by, w.stack);
  return ok;
}

static bool unite_parts(const lh_place_tree *tree, lh_causes *found) {
  places p = {.tree = tree};
  bool ok = true;
  for (size_t i = 0; ok && i < found->n_leaks; i++) ok = unite_row(&p, found, i);
  if (ok) drop_united(found);
  lh_map_free(&p.rows);
  lh_map_free(&p.tables);
  return ok;
}

static int unite_rows(lh_causes *found, lh_snapshot *snapshot, lh_error *error) {
  sort_rows(found);
  if (!unite_lists(snapshot, found)) return lh_fail_memory(error, "looking for what leaks");
  int code = judge(found, snapshot, error);
  if (code) return code;
  lh_place_tree *tree = lh_places_of(snapshot);
  if (!bound_parts(tree, found)) return lh_fail_memory(error, "looking for what leaks");
  sort_rows(found);
  if (!unite_parts(tree, found) || !lh_join_sibling_causes(found, snapshot, tree))
    return lh_fail_memory(error, "looking for what leaks");
  sort_rows(found);
  return LH_OK;
}

/* All of it is from the last interval, and so is what holds it: there was nothing to keep. */
static bool is_all_new(const lh_causes *found, const lh_snapshot *snapshot, const lh_cause *leak) {
  uint64_t new = leak->judged_ages[found->history.n - 1];
  return leak->has_young_holder && lh_epoch(snapshot, leak->holder) > 0 &&
         new == sum_of_ages(leak->judged_ages);
}

static void keep_big_rows(lh_causes *found, const lh_snapshot *snapshot, uint64_t least) {
  size_t n = found->n_leaks;
  found->n_leaks = 0;
  for (size_t i = 0; i < n; i++) {
    const lh_cause *leak = &found->leaks[i];
    if (leak->bytes < least || is_all_new(found, snapshot, leak)) continue;
    found->n_certain += leak->prospect == LH_GROWS;
    found->n_likely += leak->prospect == LH_MAY_GROW;
    found->leaks[found->n_leaks++] = *leak;
  }
}

/* ==== Big objects ==================================================================== */

static void mark_reported(const lh_snapshot *snapshot, lh_id id, uint8_t *told) {
  for (; !told[id]; id = lh_immediate_dominator(snapshot, id)) {
    told[id] = 1;
    if (id == LH_ROOT) break;
  }
}

/* Notes the places that a row's path leads through. */
static bool note_path(lh_map *paths, const lh_place_tree *tree, uint32_t at) {
  for (; at != LH_NO_PLACE && lh_map_get(paths, at) == LH_NO_NUMBER; at = lh_place_before(tree, at))
    if (!lh_map_first(paths, at, 0)) return false;
  return true;
}

/* A string that is older than the first mark, or a collection that was filled once. */
static bool stays_as_big(const lh_causes *found, const lh_snapshot *snapshot, lh_id id) {
  if (lh_type_of(snapshot, id) == LH_TYPE_STRING)
    return found->history.by_marks && lh_epoch(snapshot, id) == 0;
  for (size_t i = found->growings.n - found->growings.n_filled_once; i < found->growings.n; i++)
    if (found->growings.list[i].id == id) return true;
  return false;
}

static void find_unsure(lh_causes *found, const lh_snapshot *snapshot) {
  for (size_t i = found->n_big; i-- > 0;)
    if (!stays_as_big(found, snapshot, found->big[i].id)) found->unsure = &found->big[i];
}

/* Of the young strings those that are no suspects. */
static bool add_young_strings(lh_causes *found, lh_snapshot *snapshot, const uint8_t *told) {
  lh_suspect list[LH_MOST_YOUNG];
  size_t n, n_big = found->n_big;
  if (!lh_find_young_strings(found, snapshot, told, list, &n)) return false;
  for (size_t i = 0; i < n; i++) {
    bool is_known = false;
    for (size_t k = 0; k < n_big; k++) is_known |= found->big[k].id == list[i].id;
    if (!is_known) found->big[found->n_big++] = list[i];
  }
  return true;
}

/* Suspects that are not an example, dominate none, and are on no row's path: another table of the
** row's place has its own part of the row. */
static bool find_big(lh_causes *found, lh_snapshot *snapshot) {
  const lh_suspects *suspects = &found->suspects;
  const lh_place_tree *tree = lh_places_of(snapshot);
  uint8_t *told = lh_alloc_zeroed((size_t)lh_object_count(snapshot) + 1, 1);
  lh_map paths = {0};
  found->big = lh_alloc(suspects->n + LH_MOST_YOUNG, sizeof *found->big);
  bool ok = told && found->big && tree;
  for (size_t i = 0; ok && i < found->n_leaks; i++) {
    mark_reported(snapshot, found->leaks[i].example, told);
    ok = note_path(&paths, tree, found->leaks[i].at);
  }
  for (size_t i = 0; ok && i < suspects->n; i++) {
    lh_id id = suspects->list[i].id;
    if (told[id]) continue;
    uint32_t at = lh_place_of_object(snapshot, id);
    ok = at != LH_NO_NUMBER;
    if (ok && lh_map_get(&paths, at) == LH_NO_NUMBER)
      found->big[found->n_big++] = suspects->list[i];
  }
  ok = ok && add_young_strings(found, snapshot, told);
  if (ok) find_unsure(found, snapshot);
  lh_map_free(&paths);
  lh_free(told);
  return ok;
}

int lh_find_causes(lh_snapshot *snapshot, lh_causes *out, lh_error *error) {
  lh_reach reach;
  lh_reach_totals(snapshot, &reach);
  lh_find_garbage_cause(snapshot, &out->garbage);
  int code = lh_find_history(snapshot, &out->history, error);
  if (!code) code = lh_diff_history(snapshot, &out->history, &out->stayed, error);
  if (!code) code = lh_kept_growings(snapshot, &out->history, &out->growings, error);
  if (!code) code = lh_find_suspects(snapshot, &out->suspects, error);
  if (!code) code = make_leak_rows(out, snapshot, error);
  if (!code) code = unite_rows(out, snapshot, error);
  if (!code) {
    keep_big_rows(out, snapshot, lh_least_leak(reach.reachable_bytes));
    if (!find_big(out, snapshot)) code = lh_fail_memory(error, "looking for what is big");
  }
  return code;
}

void lh_causes_free(lh_causes *found) {
  lh_history_free(&found->history);
  lh_diff_free(found->stayed);
  lh_suspects_free(&found->suspects);
  lh_strings_free(&found->texts);
  lh_free(found->leaks);
  lh_free(found->big);
}
