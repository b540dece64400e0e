/*
** view.c - the ladder's tree with each vertex told by its path alone (see compare.h).
*/
#include "compare.h"

static uint32_t path_of_place(const lh_ladder *ladder, const lh_known_place *place) {
  return lh_ladder_same_state(ladder) ? place->path : place->stable_path;
}

/* How many places are the same but for their numbers. */
static bool count_alike(const lh_ladder *ladder, lh_map *n_alike) {
  lh_map seen = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < ladder->n_places; i++) {
    const lh_known_place *place = &ladder->places[i];
    if (place->numbers == LH_NO_PLACE) continue;
    uint32_t *known = lh_map_at(&seen, path_of_place(ladder, place));
    ok = known != NULL;
    if (!ok || *known != LH_NO_NUMBER) continue;
    *known = place->numbers;
    ok = lh_map_count(n_alike, place->numbers);
  }
  lh_map_free(&seen);
  return ok;
}

static uint32_t place_of_row(const lh_ladder *ladder, const lh_known_place *place,
                             const lh_map *n_alike) {
  bool many =
      place->numbers != LH_NO_PLACE && lh_map_get(n_alike, place->numbers) >= LH_MANY_NUMBERS;
  return many ? place->numbers : path_of_place(ladder, place);
}

/* The first place of a row names it, and the others that are called differently unname it. Where a
** row differs in numbers these alone are * in its name. */
static void name_row(const lh_ladder *ladder, const lh_known_place *place, uint32_t at,
                     lh_view *view, uint32_t row) {
  if (view->names[row] == LH_NO_PLACE) {
    view->paths[row] = at;
    view->has_numbers[row] = at == place->numbers;
    view->names[row] = view->has_numbers[row] ? lh_map_get(&ladder->differing, at) : place->name;
  } else if (view->names[row] != place->name && !view->has_numbers[row]) {
    view->names[row] = view->paths[row];
  }
}

static bool label_places(const lh_ladder *ladder, lh_view *view) {
  lh_map rows = {0}, n_alike = {0};
  view->row_of = lh_alloc(ladder->n_places, sizeof *view->row_of);
  view->paths = lh_alloc(ladder->n_places, sizeof *view->paths);
  view->names = lh_alloc(ladder->n_places, sizeof *view->names);
  view->has_numbers = lh_alloc(ladder->n_places, sizeof *view->has_numbers);
  if (!view->row_of || !view->paths || !view->names || !view->has_numbers) return false;
  bool ok = count_alike(ladder, &n_alike);
  for (size_t i = 0; ok && i < ladder->n_places; i++) {
    uint32_t at = place_of_row(ladder, &ladder->places[i], &n_alike);
    uint32_t *row = lh_map_at(&rows, at);
    ok = row != NULL;
    if (!ok) break;
    if (*row == LH_NO_NUMBER) {
      view->names[view->n_rows] = LH_NO_PLACE;
      *row = (uint32_t)view->n_rows++;
    }
    view->row_of[i] = *row;
    name_row(ladder, &ladder->places[i], at, view, *row);
  }
  lh_map_free(&n_alike);
  lh_map_free(&rows);
  return ok;
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

static bool add_up_counts(const lh_ladder *ladder, lh_view *view) {
  size_t n = view->trie.n;
  view->counts = lh_alloc_zeroed(n, ladder->n_snapshots * sizeof *view->counts);
  if (!view->counts) return false;
  for (size_t k = 0; k < ladder->n_snapshots; k++) {
    const lh_snapshot_counts *counts = &ladder->snapshots[k];
    for (size_t v = 0; v < counts->n_vertices; v++) {
      lh_census_count *to = &view->counts[k * n + view->vertex_of[v]];
      to->objects += counts->of_vertex[v].objects;
      to->bytes += counts->of_vertex[v].bytes;
      to->entries += counts->of_vertex[v].entries;
    }
  }
  return true;
}

bool lh_view_make(const lh_ladder *ladder, bool apart, lh_view *view) {
  *view = (lh_view){0};
  if (label_places(ladder, view) && plant(ladder, apart, view) && add_up_counts(ladder, view))
    return true;
  lh_view_free(view);
  return false;
}

void lh_view_free(lh_view *view) {
  lh_free(view->row_of);
  lh_free(view->paths);
  lh_free(view->names);
  lh_free(view->has_numbers);
  lh_trie_free(&view->trie);
  lh_free(view->vertex_of);
  lh_free(view->counts);
  *view = (lh_view){0};
}

const char *lh_view_stable_name(const lh_ladder *ladder, const lh_view *view, uint32_t row,
                                uint32_t class_row) {
  const lh_known_class *class = &ladder->known.list[class_row];
  bool has_numbers = view->has_numbers[row] && class->numbers != LH_NO_NUMBER;
  return ladder->texts.texts[has_numbers ? class->numbers : class->entry.stable];
}

const char *lh_view_printed_name(const lh_ladder *ladder, const lh_view *view, uint32_t row,
                                 uint32_t class_row) {
  const lh_known_class *class = &ladder->known.list[class_row];
  bool has_numbers = view->has_numbers[row] && class->numbers != LH_NO_NUMBER;
  return ladder->texts.texts[has_numbers ? class->numbers : class->entry.name];
}

const char *lh_view_class_name(const lh_ladder *ladder, const lh_view *view, uint32_t row,
                               uint32_t class_row) {
  const lh_known_class *class = &ladder->known.list[class_row];
  if (!view->has_numbers[row] || class->numbers == LH_NO_NUMBER) return class->entry.visible.name;
  return ladder->texts.texts[lh_map_get(&ladder->known.differing, class->numbers)];
}
