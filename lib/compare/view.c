/*
** view.c - the ladder's tree with each vertex told by its path alone (see compare.h).
*/
#include "compare.h"

static lh_text_id text_of(const lh_ladder *ladder, const lh_kind *kind) {
  return lh_ladder_same_state(ladder) ? kind->path : kind->stable_path;
}

/* How many texts are the same but for their numbers. */
static bool count_alike(const lh_ladder *ladder, lh_map *n_alike) {
  lh_map texts = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < ladder->n_kinds; i++) {
    const lh_kind *kind = &ladder->kinds[i];
    if (kind->numbers == LH_NO_NUMBER) continue;
    uint32_t *known = lh_map_at(&texts, text_of(ladder, kind));
    uint32_t *count = lh_map_at(n_alike, kind->numbers);
    ok = known && count;
    if (!ok || *known != LH_NO_NUMBER) continue;
    *known = kind->numbers;
    *count = *count == LH_NO_NUMBER ? 1 : *count + 1;
  }
  lh_map_free(&texts);
  return ok;
}

static lh_text_id row_text(const lh_ladder *ladder, const lh_kind *kind, const lh_map *n_alike) {
  bool many =
      kind->numbers != LH_NO_NUMBER && lh_map_get(n_alike, kind->numbers) >= LH_MANY_NUMBERS;
  return many ? kind->numbers : text_of(ladder, kind);
}

/* The first kind of a row names it, and the others that are called differently unname it. */
static void name_row(const lh_kind *kind, lh_text_id text, lh_view *view, uint32_t row) {
  if (view->names[row] == LH_NO_NUMBER) {
    view->paths[row] = text;
    view->has_numbers[row] = text == kind->numbers;
    view->names[row] = kind->name;
  } else if (view->names[row] != kind->name) {
    view->names[row] = view->paths[row];
  }
}

static bool label_kinds(const lh_ladder *ladder, lh_view *view) {
  lh_map rows = {0}, n_alike = {0};
  view->row_of = lh_alloc(ladder->n_kinds, sizeof *view->row_of);
  view->paths = lh_alloc(ladder->n_kinds, sizeof *view->paths);
  view->names = lh_alloc(ladder->n_kinds, sizeof *view->names);
  view->has_numbers = lh_alloc(ladder->n_kinds, sizeof *view->has_numbers);
  if (!view->row_of || !view->paths || !view->names || !view->has_numbers) return false;
  bool ok = count_alike(ladder, &n_alike);
  for (size_t i = 0; ok && i < ladder->n_kinds; i++) {
    lh_text_id text = row_text(ladder, &ladder->kinds[i], &n_alike);
    uint32_t *row = lh_map_at(&rows, text);
    ok = row != NULL;
    if (!ok) break;
    if (*row == LH_NO_NUMBER) {
      view->names[view->n_rows] = LH_NO_NUMBER;
      *row = (uint32_t)view->n_rows++;
    }
    view->row_of[i] = *row;
    name_row(&ladder->kinds[i], text, view, *row);
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
    uint32_t kind = from->vertices[v].label, at = view->vertex_of[from->vertices[v].above];
    if (apart && ladder->kinds[kind].shared) /* a label that is nowhere else */
      at = lh_trie_step(&view->trie, at, (uint32_t)view->n_rows + at);
    if (at != LH_NO_NUMBER) at = lh_trie_step(&view->trie, at, view->row_of[kind]);
    if (at == LH_NO_NUMBER) return false;
    view->vertex_of[v] = at;
  }
  return true;
}

static bool add_up(const lh_ladder *ladder, lh_view *view) {
  size_t n = view->trie.n;
  view->counts = lh_alloc_zeroed(n, ladder->n_rungs * sizeof *view->counts);
  if (!view->counts) return false;
  for (size_t k = 0; k < ladder->n_rungs; k++) {
    const lh_rung *rung = &ladder->rungs[k];
    for (size_t v = 0; v < rung->n_vertices; v++) {
      lh_tally *to = &view->counts[k * n + view->vertex_of[v]];
      to->objects += rung->of_vertex[v].objects;
      to->bytes += rung->of_vertex[v].bytes;
      to->entries += rung->of_vertex[v].entries;
    }
  }
  return true;
}

bool lh_view_make(const lh_ladder *ladder, bool apart, lh_view *view) {
  *view = (lh_view){0};
  if (label_kinds(ladder, view) && plant(ladder, apart, view) && add_up(ladder, view)) return true;
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

lh_class_entry lh_view_class(const lh_ladder *ladder, const lh_view *view, uint32_t row,
                             uint32_t class_row) {
  const lh_known_class *class = &ladder->known.list[class_row];
  lh_class_entry entry = class->entry;
  if (view->has_numbers[row] && class->numbers != LH_NO_NUMBER)
    entry.visible.name = ladder->texts.texts[class->numbers];
  return entry;
}
