/*
** path_text.c - the text of edges, and the exact text of paths (see fold.h).
**
** Long paths are shown without their middle. So a million steps take linear time, and a row with a
** path takes at most a few KB.
*/
#include "fold.h"
#include "graph/graph.h"

enum { MAX_PIECES = 40, MAX_HOLDER_STEPS = 40 };

static bool is_specific(const lh_snapshot *snapshot, lh_id id) {
  const lh_class_entry *entry = snapshot->classes ? lh_class_entry_of(snapshot, id) : NULL;
  return entry && entry->specific;
}

static bool is_globals_module(const lh_snapshot *snapshot, const lh_edge *edge) {
  const lh_classes *classes = snapshot->classes;
  return classes && edge->source == classes->loaded && edge->target == classes->globals;
}

lh_form lh_form_of(const lh_snapshot *snapshot, const lh_edge *edge) {
  switch (edge->kind) {
    case LH_EDGE_VALUE: return is_globals_module(snapshot, edge) ? LH_FORM_BASE : LH_FORM_BEHIND;
    case LH_EDGE_CONTENT: return LH_FORM_NOTHING;
    case LH_EDGE_EPHEMERON: return LH_FORM_AROUND;
    case LH_EDGE_KEY:
    case LH_EDGE_METATABLE:
    case LH_EDGE_USER_VALUE: return LH_FORM_FRONT;
    case LH_EDGE_UPVALUE:
      return lh_is_made_inside(snapshot, edge->source) ? LH_FORM_FRONT : LH_FORM_BASE;
    case LH_EDGE_C_UPVALUE:
      return is_specific(snapshot, edge->source) ? LH_FORM_BASE : LH_FORM_FRONT;
    default: return LH_FORM_BASE;
  }
}

/* The length of a weak table's path; 0: it is too long, or leads through another weak table. */
static uint32_t holder_path(const lh_snapshot *snapshot, lh_id holder,
                            lh_edge steps[MAX_HOLDER_STEPS]) {
  uint32_t n = 0;
  lh_id at = holder;
  bool plain = snapshot->distance && snapshot->distance[holder] <= MAX_HOLDER_STEPS;
  for (; plain && at != LH_ROOT && n <= MAX_HOLDER_STEPS; n++) at = lh_naming_parent(snapshot, at);
  plain = plain && n <= MAX_HOLDER_STEPS;
  at = holder;
  for (uint32_t i = n; plain && i > 0; i--) {
    steps[i - 1] = lh_best_edge(snapshot, lh_naming_parent(snapshot, at), at);
    at = lh_naming_parent(snapshot, at);
    if (steps[i - 1].kind == LH_EDGE_EPHEMERON) plain = false;
  }
  return plain ? n : 0;
}

void lh_add_holder(lh_text *text, const lh_snapshot *snapshot, lh_id holder) {
  lh_edge steps[MAX_HOLDER_STEPS];
  lh_path path = {holder_path(snapshot, holder, steps), steps};
  char *told =
      path.n_steps > 0 ? lh_path_text(snapshot, &path, false) : lh_object_text(snapshot, holder);
  if (told)
    lh_text_string(text, told);
  else
    text->failed = true;
  lh_free(told);
}

static void add_thread_name(lh_text *text, const lh_snapshot *snapshot, lh_id thread, bool folded) {
  lh_object object;
  lh_add_class(text, snapshot, thread);
  lh_object_at(snapshot, thread, &object);
  if (!folded && !object.as.thread.is_main)
    lh_text_format(text, " (0x%llx)", (unsigned long long)object.address);
}

static void add_base(lh_text *text, const lh_snapshot *snapshot, const lh_edge *edge, bool folded) {
  switch (edge->kind) {
    case LH_EDGE_ROOT: lh_add_root(text, snapshot, edge); return;
    case LH_EDGE_VALUE: lh_text_string(text, "_G"); return;
    case LH_EDGE_PROTO:
    case LH_EDGE_CONSTANT:
    case LH_EDGE_SOURCE:
    case LH_EDGE_DEBUG_NAME:
    case LH_EDGE_UPVALUE:
    case LH_EDGE_C_UPVALUE:
      if (edge->kind == LH_EDGE_SOURCE)
        lh_text_string(text, "name of the source");
      else
        lh_add_edge(text, snapshot, edge);
      lh_text_string(text, " of ");
      lh_add_class(text, snapshot, edge->source);
      return;
    case LH_EDGE_NESTED:
      lh_add_class(text, snapshot, edge->target);
      lh_text_string(text, " in ");
      lh_add_class(text, snapshot, edge->source);
      return;
    case LH_EDGE_OPEN_UPVALUE:
      lh_text_string(text, "open ");
      lh_add_class(text, snapshot, edge->target);
      break;
    case LH_EDGE_FUNCTION:
      lh_add_slot(text, snapshot, edge);
      lh_text_string(text, " on the stack");
      break;
    default: lh_add_slot(text, snapshot, edge); break;
  }
  lh_text_string(text, " of ");
  add_thread_name(text, snapshot, edge->source, folded);
}

/* Only an exact path has the key itself. Returns the length of "key". */
static size_t add_key_in_front(lh_text *text, const lh_snapshot *snapshot, const lh_edge *edge,
                               bool folded) {
  lh_text_string(text, "key ");
  size_t start = text->n;
  if (!folded) {
    lh_add_key(text, snapshot, edge->key, true);
    if (text->failed) return 0;
    memmove(text->bytes + start, text->bytes + start + 1, text->n - start - 1);
    text->n--; /* without the brackets */
    text->bytes[text->n - 1] = ' ';
  }
  lh_text_string(text, "of ");
  return start - 1;
}

/* "metatable of ", "upvalue bus of function on_tick @app.lua:31 in ". */
static size_t add_front(lh_text *text, const lh_snapshot *snapshot, const lh_edge *edge,
                        bool folded) {
  if (edge->kind == LH_EDGE_KEY) return add_key_in_front(text, snapshot, edge, folded);
  lh_add_edge(text, snapshot, edge);
  size_t n_own = text->n;
  lh_text_string(text, " of ");
  if (edge->kind != LH_EDGE_UPVALUE) return n_own;
  lh_add_class(text, snapshot, edge->source);
  lh_text_string(text, " in ");
  return n_own;
}

/* Returns, for a step in front, the length of its own words. `folded`: as a step of a place. */
static size_t add_piece(lh_text *text, const lh_snapshot *snapshot, const lh_edge *edge,
                        lh_form form, bool folded) {
  switch (form) {
    case LH_FORM_BASE: add_base(text, snapshot, edge, folded); break;
    case LH_FORM_BEHIND: lh_add_edge(text, snapshot, edge); break;
    case LH_FORM_AROUND: lh_add_holder(text, snapshot, edge->holder); break;
    case LH_FORM_NOTHING: break;
    case LH_FORM_FRONT: return add_front(text, snapshot, edge, folded);
  }
  return 0;
}

/* Does .x need parentheses in front, because the text is no word of Lua? */
static bool is_phrase(const lh_edge *edge) {
  return edge->kind != LH_EDGE_VALUE &&
         (edge->kind != LH_EDGE_ROOT || edge->index > LH_ROOT_LOADED);
}

static uint8_t kind_of_step(const lh_edge *edge, lh_form form) {
  if (form != LH_FORM_BASE) return (uint8_t)edge->kind;
  if (edge->kind == LH_EDGE_VALUE) return LH_STEP_GLOBALS;
  if (edge->kind == LH_EDGE_ROOT && edge->index == LH_ROOT_GLOBALS) return LH_STEP_GLOBALS;
  if (edge->kind == LH_EDGE_ROOT && edge->index == LH_ROOT_LOADED) return LH_STEP_LOADED;
  return (uint8_t)edge->kind;
}

static uint32_t place_of_path(lh_place_tree *tree, const lh_snapshot *snapshot,
                              const lh_path *path);

static uint32_t make_step_around(lh_place_tree *tree, const lh_snapshot *snapshot, lh_id holder,
                                 lh_place_step step) {
  lh_edge steps[MAX_HOLDER_STEPS];
  lh_path path = {holder_path(snapshot, holder, steps), steps};
  lh_text label = {0}, stable = {0};
  if (path.n_steps == 0) {
    label.marks = true;
    lh_add_value(&label, snapshot, (lh_value){.kind = LH_VALUE_OBJECT, .as.object = holder});
    return lh_intern_step(tree, step, &label, NULL);
  }
  step.holder = place_of_path(tree, snapshot, &path);
  if (step.holder == LH_NO_NUMBER) return LH_NO_NUMBER;
  uint32_t same = lh_place_copy(tree, tree, step.holder, LH_COPY_STABLE);
  if (same == LH_NO_NUMBER) return LH_NO_NUMBER;
  lh_place_text(tree, step.holder, &label);
  lh_place_text(tree, same, &stable);
  return lh_intern_step(tree, step, &label, &stable);
}

/* The tree remembers the step, because many paths may lead through one weak table, whose own path
** is folded for it. */
static uint32_t step_around(lh_place_tree *tree, const lh_snapshot *snapshot, lh_id holder,
                            lh_place_step step) {
  uint64_t key = (uint64_t)holder << 32 | (uint64_t)step.kind << 1 | step.phrase;
  uint32_t known = lh_map_get(&tree->around, key);
  if (known != LH_NO_NUMBER) return known;
  uint32_t made = make_step_around(tree, snapshot, holder, step);
  uint32_t *slot = made != LH_NO_NUMBER ? lh_map_at(&tree->around, key) : NULL;
  if (!slot) return LH_NO_NUMBER;
  return *slot = made;
}

uint32_t lh_step_of_edge(lh_place_tree *tree, const lh_snapshot *snapshot, const lh_edge *edge) {
  lh_form form = lh_form_of(snapshot, edge);
  lh_text label = {.marks = true};
  lh_place_step step = {.kind = kind_of_step(edge, form),
                        .form = (uint8_t)form,
                        .phrase = form != LH_FORM_BEHIND && is_phrase(edge),
                        .holder = LH_NO_PLACE};
  if (form == LH_FORM_AROUND) return step_around(tree, snapshot, edge->holder, step);
  step.n_own = (uint32_t)add_piece(&label, snapshot, edge, form, true);
  return lh_intern_step(tree, step, &label, NULL);
}

/* ==== Exact paths =================================================================== */

static void print_edge(lh_step_printer *printer, const lh_snapshot *snapshot, const lh_edge *edge) {
  lh_text piece = {0};
  lh_form form = lh_form_of(snapshot, edge);
  (void)add_piece(&piece, snapshot, edge, form, false);
  if (piece.failed) printer->text.failed = true;
  lh_print_step(printer, form, piece.bytes, piece.n, is_phrase(edge));
  lh_text_free(&piece);
}

static bool are_same_piece(const lh_edge *a, const lh_edge *b) {
  return a->kind == b->kind && a->kind == LH_EDGE_VALUE && a->key.kind == LH_VALUE_OBJECT &&
         b->key.kind == LH_VALUE_OBJECT && a->key.as.object == b->key.as.object;
}

static void print_middle(lh_step_printer *printer, const lh_snapshot *snapshot,
                         const lh_edge *steps, size_t first, size_t last) {
  lh_text piece = {0};
  bool alike = true;
  for (size_t i = first + 1; i <= last && alike; i++)
    alike = are_same_piece(&steps[first], &steps[i]);
  lh_text_string(&piece, " ... ");
  lh_text_count(&piece, last - first + 1);
  if (alike) {
    lh_text_string(&piece, " more ");
    lh_add_edge(&piece, snapshot, &steps[first]);
    lh_text_string(&piece, " ... ");
  } else {
    lh_text_string(&piece, " more steps ... ");
  }
  if (piece.failed) printer->text.failed = true;
  lh_print_step(printer, LH_FORM_BEHIND, piece.bytes, piece.n, false);
  lh_text_free(&piece);
}

/* Shows `shown` steps at each end, and nothing between if there are more. False: too long. */
static bool print_ends(lh_step_printer *printer, const lh_snapshot *snapshot, const lh_edge *steps,
                       size_t n, size_t shown) {
  lh_text_clear(&printer->text);
  for (size_t i = 0; i < n; i++) {
    if (i == shown && 2 * shown < n) {
      size_t last = n - shown - 1;
      print_middle(printer, snapshot, steps, i, last);
      i = last;
    } else {
      print_edge(printer, snapshot, &steps[i]);
    }
    if (printer->text.n > LH_PATH_BYTES && shown > 1) return false;
  }
  return true;
}

static char *exact_path_text(const lh_snapshot *snapshot, const lh_path *path) {
  lh_step_printer printer = {0};
  size_t first = path->n_steps;
  while (first > 0 && lh_form_of(snapshot, &path->steps[first - 1]) != LH_FORM_BASE) first--;
  if (first > 0) first--; /* the step of the last new beginning */
  size_t n = path->n_steps - first, shown = n > MAX_PIECES ? LH_SHOWN_AT_ENDS : n;
  while (!print_ends(&printer, snapshot, path->steps + first, n, shown)) shown = lh_fewer(shown);
  return lh_text_finish(&printer.text);
}

/* One pass for all classes of a table's values: there may be as many classes as values. */
static bool note_varying(const lh_snapshot *s, lh_id table) {
  lh_map *varying = &s->classes->varying, n_alike = {0};
  uint32_t n_values = 0, first = s->first_edge[table], end = s->first_edge[table + 1];
  bool ok = true;
  for (uint32_t e = first; ok && e < end; e++) {
    if (!lh_is_keyed_object(s, e)) continue;
    ok = lh_map_count(&n_alike, lh_class_of(s, lh_true_target(s, e)));
    n_values++;
  }
  for (uint32_t e = first; ok && e < end; e++) {
    if (!lh_is_keyed_object(s, e)) continue;
    uint32_t class_index = lh_class_of(s, lh_true_target(s, e));
    uint32_t *known = lh_map_at(varying, (uint64_t)table << 32 | class_index);
    ok = known != NULL;
    if (ok && *known == LH_NO_NUMBER)
      *known = lh_keys_vary(s, class_index, lh_map_get(&n_alike, class_index), n_values);
  }
  lh_map_free(&n_alike);
  return ok;
}

static bool find_varying(const lh_snapshot *snapshot, const lh_edge *edge, bool *vary) {
  lh_key_sense sense = lh_key_sense_of(snapshot, edge->source);
  *vary = sense == LH_KEYS_VARY;
  if (sense != LH_KEYS_DEPEND || edge->key.kind != LH_VALUE_OBJECT ||
      !lh_counts_for_keys(snapshot, edge->key.as.object, edge->target))
    return true;
  uint64_t key = (uint64_t)edge->source << 32 | lh_class_of(snapshot, edge->target);
  uint32_t known = lh_map_get(&snapshot->classes->varying, key);
  if (known == LH_NO_NUMBER) {
    if (!note_varying(snapshot, edge->source)) return false;
    known = lh_map_get(&snapshot->classes->varying, key);
  }
  *vary = known == 1;
  return true;
}

uint32_t lh_fold_edge(lh_folder *folder, uint32_t state, const lh_edge *edge) {
  bool any_key = false;
  if (edge->kind == LH_EDGE_VALUE && !find_varying(folder->snapshot, edge, &any_key))
    return LH_NO_NUMBER;
  return lh_fold_step(folder, state, edge, any_key);
}

/* Folds a path. *last: the last step of the places after its last n edges, the last edge first. */
static uint32_t fold_path(lh_place_tree *tree, const lh_snapshot *snapshot, const lh_edge *path,
                          size_t n_path, uint32_t *last, size_t n) {
  lh_folder folder;
  if (!lh_folder_begin(&folder, snapshot, tree)) return LH_NO_NUMBER;
  uint32_t state = LH_FOLD_START;
  for (size_t i = 0; i < n_path && state != LH_NO_NUMBER; i++) {
    state = lh_fold_edge(&folder, state, &path[i]);
    size_t from_end = n_path - 1 - i;
    if (from_end < n && state != LH_NO_NUMBER)
      last[from_end] = tree->list[folder.states[state].place].step;
  }
  uint32_t place = state != LH_NO_NUMBER ? folder.states[state].place : LH_NO_NUMBER;
  lh_folder_free(&folder);
  return place;
}

static uint32_t place_of_path(lh_place_tree *tree, const lh_snapshot *snapshot,
                              const lh_path *path) {
  return fold_path(tree, snapshot, path->steps, path->n_steps, NULL, 0);
}

bool lh_last_steps(const lh_snapshot *snapshot, const lh_edge *path, size_t n_path, uint32_t *steps,
                   size_t n) {
  lh_place_tree *tree = lh_places_of(snapshot);
  return tree && fold_path(tree, snapshot, path, n_path, steps, n) != LH_NO_NUMBER;
}

static char *folded_path_text(const lh_snapshot *snapshot, const lh_path *path) {
  lh_place_tree own = {0}, *tree = snapshot->classes ? lh_places_of(snapshot) : &own;
  lh_text text = {0};
  uint32_t place = tree ? place_of_path(tree, snapshot, path) : LH_NO_NUMBER;
  if (place != LH_NO_NUMBER) lh_place_text(tree, place, &text);
  lh_place_tree_free(&own);
  return place != LH_NO_NUMBER ? lh_text_finish(&text) : NULL;
}

char *lh_path_text(const lh_snapshot *snapshot, const lh_path *path, bool folded) {
  return folded ? folded_path_text(snapshot, path) : exact_path_text(snapshot, path);
}

/* The holder of _G, the main thread and the like is not interesting. */
static bool hides_holder(const lh_snapshot *snapshot, const lh_edge *edge) {
  return edge->kind != LH_EDGE_ROOT && edge->kind != LH_EDGE_VALUE &&
         lh_form_of(snapshot, edge) == LH_FORM_BASE && snapshot->distance[edge->source] > 1;
}

int lh_path_through(const lh_snapshot *snapshot, const lh_path *path, bool folded, char **out,
                    lh_error *error) {
  lh_path before = {0, path->steps};
  size_t last = path->n_steps;
  *out = NULL;
  while (last > 0 && lh_form_of(snapshot, &path->steps[last - 1]) != LH_FORM_BASE) last--;
  if (last == 0 || !hides_holder(snapshot, &path->steps[last - 1])) return LH_OK;
  while (!hides_holder(snapshot, &path->steps[before.n_steps])) before.n_steps++;
  *out = lh_path_text(snapshot, &before, folded);
  return *out ? LH_OK : lh_fail_memory(error, "telling a path");
}
