/* view.c - Views the ladder's tree by path alone: the class of each path, growth by owner. */
#include "compare.h"

static uint32_t path_of_place(const lh_ladder *ladder, const lh_known_place *place) {
  return lh_ladder_same_state(ladder) ? place->path : place->stable_path;
}

static uint32_t place_of_row(const lh_ladder *ladder, const lh_known_place *place,
                             const lh_map *n_alike) {
  bool many =
      place->numbers != LH_NO_PLACE && lh_map_get(n_alike, place->numbers) >= LH_MANY_NUMBERS;
  return many ? place->numbers : path_of_place(ladder, place);
}

/* A row has the name of its places if they agree, else its path; numbers that differ become *. */
static void name_row(const lh_ladder *ladder, const lh_known_place *place, uint32_t at,
                     lh_view_row *row) {
  if (row->name == LH_NO_PLACE) {
    row->path = at;
    row->has_numbers = at == place->numbers;
    row->name = row->has_numbers ? lh_map_get(&ladder->differing, at) : place->name;
  } else if (row->name != place->name && !row->has_numbers) {
    row->name = row->path;
  }
}

static lh_type type_of(const lh_ladder *ladder, const lh_known_place *place) {
  return ladder->known.list[place->class_row].entry.visible.type;
}

/* Stores a type of each path: of its values, if it has any, not of the upvalues there. */
static bool find_types_of_values(const lh_ladder *ladder, const uint32_t *at, lh_map *type_at) {
  bool ok = true;
  for (size_t i = 0; ok && i < ladder->n_places; i++) {
    lh_type type = type_of(ladder, &ladder->places[i]);
    ok = type == LH_TYPE_UPVALUE || lh_map_first(type_at, at[i], type);
  }
  return ok;
}

static bool find_paths(const lh_ladder *ladder, uint32_t *at) {
  lh_map seen = {0}, n_alike = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < ladder->n_places; i++) {
    const lh_known_place *place = &ladder->places[i];
    ok = place->numbers == LH_NO_PLACE ||
         lh_count_alike(&seen, &n_alike, path_of_place(ladder, place), place->numbers);
  }
  for (size_t i = 0; ok && i < ladder->n_places; i++)
    at[i] = place_of_row(ladder, &ladder->places[i], &n_alike);
  LH_FREE_MAPS(&seen, &n_alike);
  return ok;
}

static lh_type type_of_row(const lh_ladder *ladder, const lh_known_place *place, uint32_t at,
                           const lh_map *type_at) {
  lh_type type = type_of(ladder, place);
  uint32_t of_value = type == LH_TYPE_UPVALUE ? lh_map_get(type_at, at) : LH_NO_NUMBER;
  return of_value == LH_NO_NUMBER ? type : (lh_type)of_value;
}

static uint32_t last_of(uint32_t *into, uint32_t row) {
  while (into[row] != row) row = into[row] = into[into[row]];
  return row;
}

static bool names_list(const lh_ladder *ladder, const lh_view_row *row, const lh_view_row *other) {
  uint32_t own = lh_length_of_place(&ladder->tree, row->path);
  uint32_t others = lh_length_of_place(&ladder->tree, other->path);
  if (own != others) return own < others;
  return strcmp(lh_ladder_text(ladder, row->name), lh_ladder_text(ladder, other->name)) < 0;
}

/* Parts of a list that is linked both ways, and held at several elements, are one row. */
static bool join_lists(const lh_ladder *ladder, lh_view *view) {
  uint32_t *into = lh_alloc(view->n_rows, sizeof *into);
  if (!into) return false;
  for (uint32_t row = 0; row < view->n_rows; row++) into[row] = row;
  for (size_t i = 0; i < ladder->links.n; i++) {
    uint32_t from = (uint32_t)(ladder->links.keys[i] >> 32), to = (uint32_t)ladder->links.keys[i];
    uint32_t a = last_of(into, view->row_of[from]), b = last_of(into, view->row_of[to]);
    if (a == b || lh_map_get(&ladder->links, (uint64_t)to << 32 | from) == LH_NO_NUMBER) continue;
    bool is_head = names_list(ladder, &view->rows[a], &view->rows[b]);
    into[is_head ? b : a] = is_head ? a : b;
  }
  for (size_t i = 0; i < ladder->n_places; i++) view->row_of[i] = last_of(into, view->row_of[i]);
  lh_free(into);
  return true;
}

static bool label_places(const lh_ladder *ladder, bool by_type, lh_view *view) {
  lh_map rows = {0}, type_at = {0};
  uint32_t *at = lh_alloc(ladder->n_places, sizeof *at);
  view->row_of = lh_alloc(ladder->n_places, sizeof *view->row_of);
  view->rows = lh_alloc(ladder->n_places, sizeof *view->rows);
  bool ok = at && view->row_of && view->rows && find_paths(ladder, at) &&
            find_types_of_values(ladder, at, &type_at);
  for (size_t i = 0; ok && i < ladder->n_places; i++) {
    const lh_known_place *place = &ladder->places[i];
    lh_type type = type_of_row(ladder, place, at[i], &type_at);
    uint32_t row = lh_map_number(&rows, (uint64_t)at[i] << 32 | (by_type ? type : 0));
    ok = row != LH_NO_NUMBER;
    if (!ok) break;
    view->row_of[i] = row;
    if (row == view->n_rows)
      view->rows[view->n_rows++] = (lh_view_row){.name = LH_NO_PLACE, .type = type};
    name_row(ladder, place, at[i], &view->rows[row]);
  }
  LH_FREE_MAPS(&rows, &type_at);
  lh_free(at);
  return ok && (!by_type || join_lists(ladder, view));
}

bool lh_is_beside(const lh_ladder *ladder, const lh_view *view, uint32_t place) {
  lh_type type = type_of(ladder, &ladder->places[place]);
  return type == LH_TYPE_UPVALUE && view->rows[view->row_of[place]].type != type;
}

static bool plant(const lh_ladder *ladder, bool apart, lh_view *view) {
  const lh_trie *from = &ladder->trie;
  view->vertex_of = lh_alloc(from->n, sizeof *view->vertex_of);
  if (!view->vertex_of || !lh_trie_begin(&view->trie)) return false;
  view->vertex_of[0] = 0;
  for (size_t v = 1; v < from->n; v++) {
    uint32_t place = from->vertices[v].label, at = view->vertex_of[from->vertices[v].above];
    if (apart && ladder->places[place].shared) /* a label that is nowhere else */
      at = lh_trie_step(&view->trie, at, (uint32_t)view->n_rows + at);
    if (at != LH_NO_NUMBER) at = lh_trie_step(&view->trie, at, view->row_of[place]);
    if (at == LH_NO_NUMBER) return false;
    view->vertex_of[v] = at;
  }
  return true;
}

bool lh_view_make(const lh_ladder *ladder, bool apart, lh_view *view) {
  *view = (lh_view){0};
  if (label_places(ladder, !apart, view) && plant(ladder, apart, view)) return true;
  lh_view_free(view);
  return false;
}

void lh_view_free(lh_view *view) {
  LH_FREE_ALL(view->row_of, view->rows, view->vertex_of);
  lh_trie_free(&view->trie);
  *view = (lh_view){0};
}

const char *lh_view_name(const lh_ladder *ladder, const lh_view *view, uint32_t row,
                         uint32_t class_row, bool is_stable) {
  const lh_known_class *class = &ladder->known.list[class_row];
  bool has_numbers = view->rows[row].has_numbers && class->numbers != LH_NO_NUMBER;
  return ladder->texts.texts[has_numbers ? class->numbers
                             : is_stable ? class->entry.stable
                                         : class->entry.name];
}

const char *lh_view_class_name(const lh_ladder *ladder, const lh_view *view, uint32_t row,
                               uint32_t class_row) {
  const lh_known_class *class = &ladder->known.list[class_row];
  if (!view->rows[row].has_numbers || class->numbers == LH_NO_NUMBER)
    return class->entry.visible.name;
  return ladder->texts.texts[lh_map_get(&ladder->known.differing, class->numbers)];
}

/* ==== Classes ======================================================================= */

/* The class of a row is that of most of its objects, or of most entries if only these change, in
** the last snapshot that has any. An upvalue is at the place of its value, whose class counts. */

typedef struct class_sum {
  uint32_t row, class_row;
  lh_census_count count;
} class_sum;

typedef struct class_sums {
  class_sum *list;
  size_t n, capacity;
  lh_map at; /* row, class -> sum */
} class_sums;

static class_sum *sum_at(class_sums *sums, uint32_t row, uint32_t class_row) {
  uint32_t *at = lh_map_at(&sums->at, (uint64_t)row << 32 | class_row);
  if (!at) return NULL;
  if (*at != LH_NO_NUMBER) return &sums->list[*at];
  if (!lh_grow(&sums->list, sums->n, &sums->capacity, sizeof *sums->list)) return NULL;
  *at = (uint32_t)sums->n++;
  sums->list[*at] = (class_sum){.row = row, .class_row = class_row};
  return &sums->list[*at];
}

static bool is_upvalue(const lh_ladder *ladder, uint32_t class_row) {
  return ladder->known.list[class_row].entry.visible.type == LH_TYPE_UPVALUE;
}

static bool is_main(const lh_ladder *ladder, const class_sum *x, const class_sum *y,
                    bool by_entries) {
  bool is_second = is_upvalue(ladder, x->class_row), second = is_upvalue(ladder, y->class_row);
  if (is_second != second) return second;
  const lh_census_count *a = &x->count, *b = &y->count;
  uint64_t more = by_entries ? a->entries : a->objects, less = by_entries ? b->entries : b->objects;
  if (more != less) return more > less;
  return a->bytes != b->bytes ? a->bytes > b->bytes : x->class_row < y->class_row;
}

/* Looks at the rows that have objects here and no class from a later snapshot. */
static bool look_at_snapshot(const lh_ladder *ladder, const lh_view *view,
                             const lh_snapshot_counts *counts, const bool *by_entries,
                             uint32_t *main_class) {
  class_sums sums = {0};
  lh_map best = {0}; /* row -> sum */
  bool ok = true;
  for (size_t v = 1; ok && v < counts->n_vertices; v++) {
    uint32_t place = ladder->trie.vertices[v].label, row = view->row_of[place];
    const lh_census_count *of = &counts->of_vertex[v];
    if (main_class[row] != LH_NO_NUMBER || of->objects == 0) continue;
    class_sum *sum = sum_at(&sums, row, ladder->places[place].class_row);
    ok = sum != NULL;
    if (ok) lh_add_count(&sum->count, of);
  }
  for (size_t i = 0; ok && i < sums.n; i++) {
    const class_sum *sum = &sums.list[i];
    uint32_t *first = lh_map_first(&best, sum->row, (uint32_t)i);
    ok = first != NULL;
    if (ok && is_main(ladder, sum, &sums.list[*first], by_entries && by_entries[sum->row]))
      *first = (uint32_t)i;
  }
  for (size_t i = 0; ok && i < best.n; i++) {
    const class_sum *sum = &sums.list[best.values[i]];
    main_class[sum->row] = sum->class_row;
  }
  LH_FREE_MAPS(&sums.at, &best);
  lh_free(sums.list);
  return ok;
}

bool lh_find_main_classes(const lh_ladder *ladder, const lh_view *view, const bool *by_entries,
                          uint32_t *main_class) {
  bool ok = true;
  for (size_t row = 0; row < view->n_rows; row++) main_class[row] = LH_NO_NUMBER;
  for (size_t k = ladder->n_snapshots; ok && k-- > 0;)
    ok = look_at_snapshot(ladder, view, &ladder->snapshots[k], by_entries, main_class);
  for (size_t row = 0; row < view->n_rows; row++)
    if (main_class[row] == LH_NO_NUMBER) main_class[row] = 0;
  return ok;
}

/* ==== Owners ======================================================================== */

/* The figures of a part include all parts below, so they add up exactly. */

static void add_part(lh_part *to, const lh_part *from) {
  for (int i = 0; i < 2; i++) {
    to->objects[i] += from->objects[i];
    to->bytes[i] += from->bytes[i];
  }
}

static void name_parts(const lh_ladder *ladder, const lh_view *view, const uint32_t *main_class,
                       lh_part *parts) {
  parts[0].held_by = parts[0].path = "";
  for (size_t v = 1; v < view->trie.n; v++) {
    uint32_t row = view->trie.vertices[v].label;
    parts[v].above = view->trie.vertices[v].above;
    parts[v].shared = row >= view->n_rows;
    parts[v].held_by = parts[v].path = "";
    if (parts[v].shared) continue;
    parts[v].held_by = lh_ladder_text(ladder, view->rows[row].name);
    parts[v].path = lh_ladder_text(ladder, view->rows[row].path);
    parts[v].at = view->rows[row].name;
    parts[v].class_name = lh_view_class_name(ladder, view, row, main_class[row]);
    parts[v].type = ladder->known.list[main_class[row]].entry.visible.type;
  }
}

char *lh_part_steps(const lh_ladder *ladder, const lh_part *part, const lh_part *above) {
  lh_text text = {0};
  if (!part->shared && *part->held_by)
    lh_place_text_below(&ladder->tree, part->at, *above->held_by ? above->at : LH_NO_PLACE, &text);
  return lh_text_finish(&text);
}

static void fill_parts(const lh_ladder *ladder, const lh_view *view, lh_part *parts) {
  const size_t snapshots[2] = {0, ladder->n_snapshots - 1};
  for (int i = 0; i < 2; i++) {
    const lh_snapshot_counts *counts = &ladder->snapshots[snapshots[i]];
    for (size_t v = 0; v < counts->n_vertices; v++) {
      lh_part *part = &parts[view->vertex_of[v]];
      part->own_objects[i] = part->objects[i] += counts->of_vertex[v].objects;
      part->own_bytes[i] = part->bytes[i] += counts->of_vertex[v].bytes;
    }
  }
  for (size_t v = view->trie.n - 1; v > 0; v--) add_part(&parts[parts[v].above], &parts[v]);
}

int lh_ladder_owners(const lh_ladder *ladder, lh_part **parts, size_t *n_parts, lh_error *error) {
  lh_view view;
  *parts = NULL;
  if (ladder->n_snapshots < 2)
    return lh_fail(error, LH_EARGUMENT, "growth needs at least two snapshots");
  if (!lh_view_make(ladder, true, &view)) return lh_fail_memory(error, "looking for owners");
  lh_part *list = lh_alloc_zeroed(view.trie.n, sizeof *list);
  uint32_t *main_class = lh_alloc(view.n_rows, sizeof *main_class);
  bool ok = list && main_class && lh_find_main_classes(ladder, &view, NULL, main_class);
  if (ok) {
    name_parts(ladder, &view, main_class, list);
    fill_parts(ladder, &view, list);
    *parts = list;
    *n_parts = view.trie.n;
    list = NULL;
  }
  LH_FREE_ALL(list, main_class);
  lh_view_free(&view);
  return ok ? 0 : lh_fail_memory(error, "looking for owners");
}
