/*
** owners.c - growth by owner: the folded tree of dominators of the first and the last snapshot of a
** ladder, one beside the other. What a part has with all below it is what it retains, so the parts
** below the root add up to the whole, and those below a part to that, to the byte.
*/
#include "compare.h"

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
    parts[v].held_by = lh_ladder_text(ladder, view->names[row]);
    parts[v].path = lh_ladder_text(ladder, view->paths[row]);
    parts[v].at = view->names[row];
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
  size_t n = view->trie.n;
  const size_t snapshots[2] = {0, ladder->n_snapshots - 1};
  for (int i = 0; i < 2; i++) {
    for (size_t v = 0; v < n; v++) {
      const lh_census_count *own = &view->counts[snapshots[i] * n + v];
      parts[v].own_objects[i] = parts[v].objects[i] = own->objects;
      parts[v].own_bytes[i] = parts[v].bytes[i] = own->bytes;
    }
  }
  for (size_t v = n - 1; v > 0; v--) add_part(&parts[parts[v].above], &parts[v]);
}

int lh_ladder_owners(const lh_ladder *ladder, lh_part **parts, size_t *n_parts, lh_error *error) {
  lh_view view;
  *parts = NULL;
  if (ladder->n_snapshots < 2)
    return lh_fail(error, LH_EARGUMENT, "growth needs at least two snapshots");
  if (!lh_view_make(ladder, true, &view)) return lh_fail_memory(error, "looking for owners");
  lh_part *list = lh_alloc_zeroed(view.trie.n, sizeof *list);
  uint32_t *main_class = lh_alloc(view.n_rows, sizeof *main_class);
  bool ok = list && main_class && lh_find_main_classes(ladder, &view, main_class);
  if (ok) {
    name_parts(ladder, &view, main_class, list);
    fill_parts(ladder, &view, list);
    *parts = list;
    *n_parts = view.trie.n;
    list = NULL;
  }
  lh_free(list);
  lh_free(main_class);
  lh_view_free(&view);
  return ok ? 0 : lh_fail_memory(error, "looking for owners");
}
