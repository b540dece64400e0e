/*
** merged_paths.c - Shows why many objects are alive: the tree of their paths as rows.
** Steps in sequence without a branch or member are one row. A limit keeps the biggest rows of the
** whole tree; no row is bigger than the one above it, so the rows stay connected. One more row sums
** up the hidden rows of a level.
*/
#include "analyses.h"

/* ==== Holders ======================================================================== */

/* If the text of a path begins at an upvalue, `through` shows the holder of the function. */

typedef struct held {
  uint32_t through; /* the step above the text of most members; 0: none */
  uint32_t through_objects;
} held;

static void put_piece(lh_text *text, const lh_snapshot *snapshot, const lh_step_tree *tree,
                      const lh_merged_step *step) {
  bool any = step->key.kind != LH_VALUE_NIL;
  if (any && !step->keys_vary)
    lh_add_key(text, snapshot, step->key, false);
  else
    lh_text_string(text, lh_step_label(tree->folds->folder.tree, step->step));
}

static char *step_path(const lh_snapshot *snapshot, const lh_step_tree *tree, uint32_t at) {
  const lh_merged_step *list = tree->list;
  lh_step_printer printer = {0};
  uint32_t *chain = lh_alloc((size_t)list[at].level + 1, sizeof *chain);
  if (!chain) return NULL;
  uint32_t n = 0;
  for (uint32_t i = at;; i = list[i].above) {
    chain[n++] = i;
    if (list[i].form == LH_FORM_BASE) break;
  }
  while (n-- > 0) {
    const lh_merged_step *step = &list[chain[n]];
    lh_text piece = {0};
    put_piece(&piece, snapshot, tree, step);
    if (piece.failed) printer.text.failed = true;
    lh_print_step(&printer, (lh_form)step->form, piece.bytes, piece.n,
                  tree->folds->folder.tree->steps[step->step].phrase);
    lh_text_free(&piece);
  }
  lh_free(chain);
  return lh_text_finish(&printer.text);
}

/* Returns the step above the topmost start that does not name its holder, as lh_path_through.
** Starts at depth 1 or 2 are _G, a root, or a variable of the main thread. */
static uint32_t through_of(const lh_step_tree *t, uint32_t at) {
  uint32_t first = 0;
  while (t->list[at].form != LH_FORM_BASE) at = t->list[at].above;
  for (; t->list[at].depth > 2; at = t->list[at].above)
    if (t->list[at].form == LH_FORM_BASE) first = t->list[at].above;
  return first;
}

typedef struct counting {
  lh_strings paths;
  uint64_t *objects; /* by path */
  held *held;        /* by path */
  lh_map through;    /* path and step above its text -> objects */
} counting;

static bool add_members(counting *c, uint32_t path, uint32_t objects, uint32_t through) {
  uint32_t *sum = lh_map_at(&c->through, (uint64_t)path << 32 | through);
  if (!sum) return false;
  *sum = *sum == LH_NO_NUMBER ? objects : *sum + objects;
  c->objects[path] += objects;
  if (*sum > c->held[path].through_objects) c->held[path] = (held){through, *sum};
  return true;
}

static void drop_holder(lh_holder *holder) {
  LH_FREE_ALL((char *)holder->path, (char *)holder->through);
}

static bool keep_most_held(const lh_snapshot *snapshot, const lh_step_tree *tree, counting *c,
                           lh_merged_paths *merged) {
  while (merged->n_holders < LH_MOST_HOLDERS) {
    size_t best = lh_most_of(&c->paths, c->objects);
    if (best == c->paths.n) break;
    const held *most = &c->held[best];
    lh_holder *holder = &merged->holders[merged->n_holders++];
    *holder = (lh_holder){.path = lh_copy_text(c->paths.texts[best]), .objects = c->objects[best]};
    if (most->through) holder->through = step_path(snapshot, tree, most->through);
    if (most->through) holder->through_objects = most->through_objects;
    if (!holder->path || (most->through && !holder->through)) return false;
    c->objects[best] = 0;
  }
  return true;
}

static bool count_holders(const lh_snapshot *snapshot, const lh_step_tree *t, uint64_t most_bytes,
                          lh_merged_paths *merged) {
  counting c = {.paths.most_bytes = most_bytes};
  uint64_t n_untold = 0;
  c.objects = lh_alloc_zeroed(t->n, sizeof *c.objects);
  c.held = lh_alloc_zeroed(t->n, sizeof *c.held);
  bool ok = c.objects && c.held;
  for (uint32_t i = 0; ok && i < t->n; i++) {
    if (t->list[i].here == 0) continue;
    char *path = c.paths.full ? NULL : step_path(snapshot, t, i);
    uint32_t number = path ? lh_strings_add(&c.paths, path, strlen(path)) : LH_NO_NUMBER;
    lh_free(path);
    if (number != LH_NO_NUMBER)
      ok = add_members(&c, number, t->list[i].here, through_of(t, i));
    else
      ok = c.paths.full;
    n_untold += number == LH_NO_NUMBER;
  }
  merged->total_holders = c.paths.n + n_untold;
  ok = ok && keep_most_held(snapshot, t, &c, merged);
  lh_strings_free(&c.paths);
  lh_map_free(&c.through);
  LH_FREE_ALL(c.objects, c.held);
  return ok;
}

/* ==== Elsewhere ====================================================================== */

/* Finds the members that stay alive if the last reference of each path in the tree is cut, by a
** second search without these references. Members held only by other members do not count. 2.2
** million objects, half of them members: 0.2 s. There is no search if nothing that stays without
** the members refers to one by another reference. */

/* Nobody can cut between an upvalue and its content, so the function's reference is cut. */
static lh_id last_target(const lh_snapshot *snapshot, lh_id id) {
  lh_id parent = lh_naming_parent(snapshot, id);
  return parent != LH_ROOT && lh_type_of(snapshot, parent) == LH_TYPE_UPVALUE ? parent : id;
}

static uint8_t *find_last(const lh_snapshot *snapshot, const uint8_t *is_member) {
  uint8_t *is_last = lh_alloc_zeroed((size_t)snapshot->n + 1, 1);
  for (lh_id id = 1; is_last && id <= snapshot->n; id++)
    if (is_member[id]) is_last[last_target(snapshot, id)] = 1;
  return is_last;
}

/* Is the source an upvalue whose reference is cut instead of the one to its content? */
static bool is_cut_upvalue(const lh_snapshot *s, const uint8_t *is_last, lh_id id) {
  return is_last[id] && lh_type_of(s, id) == LH_TYPE_UPVALUE;
}

static bool may_be_elsewhere(const lh_snapshot *s, const lh_step_tree *of, const uint8_t *is_last) {
  for (lh_id id = 0; id <= s->n; id++) {
    if (of->is_freed[id] || !lh_is_reachable(s, id)) continue;
    for (uint32_t e = s->first_edge[id], end = s->first_edge[id + 1]; e < end; e++) {
      lh_id target = s->edge[e];
      if (is_last[target] ? lh_naming_parent(s, target) != id
                          : of->is_member[target] && !is_cut_upvalue(s, is_last, id))
        return true;
    }
  }
  return false;
}

/* `snapshot` has paths of its own but shares its classes with the original, whose folds are put
** aside meanwhile. */
static bool set_elsewhere(const lh_snapshot *snapshot, const lh_id *ids, size_t n,
                          lh_merged_paths *merged) {
  lh_step_tree tree = {0};
  lh_merged_paths found = {0};
  lh_folds *folds = snapshot->classes->folds;
  snapshot->classes->folds = NULL;
  uint8_t *marks = lh_mark_paths(snapshot, ids, n);
  bool ok = marks && lh_fold_marked(snapshot, marks) &&
            lh_make_step_tree(&tree, snapshot, ids, n) &&
            count_holders(snapshot, &tree, (uint64_t)snapshot->size, &found);
  if (ok && found.n_holders > 0) {
    merged->elsewhere = found.holders[0];
    found.holders[0] = (lh_holder){0};
    merged->objects_elsewhere = n;
  }
  for (uint32_t i = 0; i < found.n_holders; i++) drop_holder(&found.holders[i]);
  lh_free_step_tree(&tree);
  lh_free(marks);
  lh_drop_folds(snapshot->classes);
  snapshot->classes->folds = folds;
  return ok;
}

static bool find_elsewhere(const lh_snapshot *snapshot, const lh_step_tree *of,
                           lh_merged_paths *merged) {
  size_t n = (size_t)snapshot->n + 1, n_ids = 0;
  lh_search search;
  lh_snapshot without = *snapshot;
  uint8_t *is_last = find_last(snapshot, of->is_member);
  if (is_last && !may_be_elsewhere(snapshot, of, is_last)) {
    lh_free(is_last);
    return true;
  }
  without.distance = lh_alloc(n, sizeof *without.distance);
  without.parent = lh_alloc(n, sizeof *without.parent);
  without.parent_edge = lh_alloc(n, sizeof *without.parent_edge);
  without.named_by = NULL;
  lh_id *cut_from = snapshot->named_by ? lh_alloc(n, sizeof *cut_from) : snapshot->parent;
  lh_id *ids = lh_alloc(merged->objects + 1, sizeof *ids);
  bool ok = lh_steps_new(&without.steps) && is_last && without.distance && without.parent &&
            without.parent_edge && ids && cut_from;
  if (!ok) goto out;
  lh_search_begin(&without, &search, without.distance, without.parent);
  search.snapshot = &without;
  search.parent_edge = without.parent_edge;
  search.is_cut = is_last;
  search.cut_from = cut_from;
  search.named_by = &without.named_by;
  for (lh_id id = 0; snapshot->named_by && id <= snapshot->n; id++)
    cut_from[id] = lh_naming_parent(snapshot, id);
  ok = lh_search_paths(&search);
  for (lh_id id = 1; ok && id <= snapshot->n; id++)
    if (of->is_member[id] && without.distance[id] != LH_UNREACHED) ids[n_ids++] = id;
  ok = ok && (n_ids == 0 || set_elsewhere(&without, ids, n_ids, merged));
out:
  lh_steps_free(without.steps);
  LH_FREE_ALL(is_last, without.distance, without.parent, without.parent_edge, without.named_by,
              snapshot->named_by ? cut_from : NULL, ids);
  return ok;
}

/* A longer row shows some steps at both ends, and leaves out the middle. */
enum { LONG_ROW = 24, SHOWN_AT_ENDS = 5 };

/* All texts together may take 16 times the bytes of the file, as class names may. */
enum { MOST_TEXT = 16 };

/* A row before its text is made: the steps from `first` at the top down to `last`. */
typedef struct draft {
  uint32_t first, last;
  uint32_t depth;
  uint32_t above;    /* index of the row above */
  uint32_t n_below;  /* rows directly below */
  uint32_t n_hidden; /* rows directly below that are not shown */
  bool shown;
} draft;

typedef struct writing {
  const lh_snapshot *snapshot;
  lh_step_tree tree;
  uint32_t *first_below; /* by step: index in `below` of the steps below it, biggest first */
  uint32_t *below;
  draft *drafts; /* in preorder */
  size_t n_drafts, draft_capacity;
  uint64_t text_bytes; /* bytes left for texts */
  lh_merged_paths *merged;
  size_t row_capacity;
} writing;

/* ==== Rows =========================================================================== */

static int compare_steps(const void *left, const void *right, void *payload) {
  const lh_step_tree *t = payload;
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  const lh_merged_step *x = &t->list[a], *y = &t->list[b];
  const lh_place_tree *tree = t->folds->folder.tree;
  return LH_MORE(x->bytes, y->bytes) ?: LH_MORE(x->objects, y->objects) ?:
         strcmp(lh_step_label(tree, x->step), lh_step_label(tree, y->step)) ?:
         LH_LESS(a, b);
}

static bool sort_steps(writing *w) {
  const lh_step_tree *t = &w->tree;
  w->first_below = lh_alloc_zeroed(t->n + 2, sizeof *w->first_below);
  w->below = lh_alloc(t->n, sizeof *w->below);
  if (!w->first_below || !w->below) return false;
  uint32_t *first = w->first_below;
  for (size_t i = 0; i + 1 < t->n; i++) first[i + 2] = first[i + 1] + t->list[i].n_below;
  for (uint32_t i = 1; i < t->n; i++) w->below[first[t->list[i].above + 1]++] = i;
  for (size_t i = 0; i < t->n; i++)
    if (first[i + 1] - first[i] > 1)
      qsort_r(w->below + first[i], first[i + 1] - first[i], sizeof *w->below, compare_steps,
              (void *)t);
  return true;
}

static bool make_drafts(writing *w) {
  const lh_step_tree *t = &w->tree;
  draft *stack = NULL, at = {.above = 0};
  size_t n_stack = 0, capacity = 0;
  bool ok = false;
  for (bool more = true; more;) {
    while (at.first > 0 && t->list[at.last].here == 0 && t->list[at.last].n_below == 1)
      at.last = w->below[w->first_below[at.last]];
    at.n_below = t->list[at.last].n_below;
    if (!lh_grow(&w->drafts, w->n_drafts, &w->draft_capacity, sizeof at)) goto out;
    w->drafts[w->n_drafts++] = at;
    for (uint32_t i = at.n_below; i-- > 0;) {
      uint32_t step = w->below[w->first_below[at.last] + i];
      if (!lh_grow(&stack, n_stack, &capacity, sizeof at)) goto out;
      stack[n_stack++] = (draft){
          .first = step, .last = step, .depth = at.depth + 1, .above = (uint32_t)w->n_drafts - 1};
    }
    more = n_stack > 0;
    if (more) at = stack[--n_stack];
  }
  ok = true;
out:
  lh_free(stack);
  return ok;
}

static int compare_drafts(const void *left, const void *right, void *payload) {
  const writing *w = payload;
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  const lh_merged_step *x = &w->tree.list[w->drafts[a].first];
  const lh_merged_step *y = &w->tree.list[w->drafts[b].first];
  return LH_MORE(x->bytes, y->bytes) ?: LH_MORE(x->objects, y->objects) ?: LH_LESS(a, b);
}

/* How many lines the row adds, with the line for hidden rows. */
static size_t rows_more(const writing *w, const draft *d) {
  return (d->n_below > 0) + (size_t)(w->drafts[d->above].n_hidden != 1);
}

static void show_draft(writing *w, draft *d) {
  d->shown = true;
  d->n_hidden = d->n_below;
  if (d->first > 0) w->drafts[d->above].n_hidden--;
}

/* Shows a hidden leaf that is alone: "1 more" would take as much room. */
static void show_single(writing *w) {
  for (uint32_t i = 1; i < w->n_drafts; i++) {
    draft *d = &w->drafts[i];
    if (!d->shown && d->n_below == 0 && w->drafts[d->above].shown &&
        w->drafts[d->above].n_hidden == 1)
      show_draft(w, d);
  }
}

/* Chooses the biggest rows. `limit` includes the lines for hidden rows; 0: no limit. */
static bool choose_rows(writing *w, size_t limit) {
  uint32_t *order = lh_alloc(w->n_drafts, sizeof *order);
  if (!order) return false;
  for (uint32_t i = 0; i < w->n_drafts; i++) order[i] = i;
  qsort_r(order, w->n_drafts, sizeof *order, compare_drafts, w);
  size_t n = rows_more(w, &w->drafts[0]);
  show_draft(w, &w->drafts[0]);
  for (size_t i = 1; i < w->n_drafts; i++) {
    draft *d = &w->drafts[order[i]];
    n += rows_more(w, d);
    if (limit > 0 && n > limit) break;
    show_draft(w, d);
  }
  show_single(w);
  lh_free(order);
  return true;
}

/* ==== Texts ========================================================================== */

/* A step that is no key is printed as its edge. `joins`: the next step needs no comma. */
static void add_step(lh_text *text, const writing *w, const lh_merged_step *step, bool *joins) {
  if (step->form == LH_FORM_BEHIND) {
    if (text->n > 0 && !*joins) lh_text_string(text, ", ");
    put_piece(text, w->snapshot, &w->tree, step);
    *joins = true;
    return;
  }
  lh_edge edge = lh_best_edge(w->snapshot, lh_naming_parent(w->snapshot, step->entry), step->entry);
  char *told = lh_edge_text(w->snapshot, &edge);
  if (text->n > 0 && text->bytes[text->n - 1] != ' ') lh_text_string(text, ", ");
  if (told)
    lh_text_string(text, told);
  else
    text->failed = true;
  if (step->again) lh_text_string(text, "*");
  *joins = !w->tree.folds->folder.tree->steps[step->step].phrase;
  lh_free(told);
}

static char *steps_of(const writing *w, const draft *d) {
  const lh_merged_step *list = w->tree.list;
  uint32_t n = list[d->last].depth - list[d->first].depth + 1;
  uint32_t *chain = lh_alloc(n, sizeof *chain);
  lh_text text = {0};
  bool joins = false;
  if (!chain) return NULL;
  uint32_t at = d->last;
  for (uint32_t i = n; i-- > 0; at = list[at].above) chain[i] = at;
  for (uint32_t i = 0; i < n; i++) {
    if (n > LONG_ROW && i == SHOWN_AT_ENDS) {
      lh_text_string(&text, " ... ");
      lh_text_count(&text, n - 2 * SHOWN_AT_ENDS);
      lh_text_string(&text, " more steps ... ");
      i = n - SHOWN_AT_ENDS;
      joins = true;
    }
    add_step(&text, w, &list[chain[i]], &joins);
  }
  lh_free(chain);
  return lh_text_finish(&text);
}

/* ==== The result ===================================================================== */

/* Only a crafted file exceeds the budget for texts. A grown text wastes a third of its block. */
static char *taken(writing *w, char *text) {
  enum { BLOCK_BYTES = 32 };
  uint64_t used = text ? strlen(text) * 3 / 2 + BLOCK_BYTES : 0;
  w->text_bytes -= used < w->text_bytes ? used : w->text_bytes;
  return text;
}

static bool add_shown_row(writing *w, const draft *d) {
  lh_merged_paths *merged = w->merged;
  const lh_merged_step *step = &w->tree.list[d->last];
  bool is_root = d->first == 0, untold = w->text_bytes == 0;
  if (!lh_grow(&merged->rows, merged->n_rows, &w->row_capacity, sizeof *merged->rows)) return false;
  lh_merged_row *row = &merged->rows[merged->n_rows++];
  *row = (lh_merged_row){.depth = d->depth,
                         .id = is_root ? LH_ROOT : step->example,
                         .class_index = is_root ? UINT32_MAX : step->class_index,
                         .through = step->through,
                         .here = step->here,
                         .objects = step->objects,
                         .bytes = step->bytes};
  const char *text = is_root ? "root" : "...", *path = is_root ? "" : "...";
  row->steps = is_root || untold ? lh_copy_text(text) : taken(w, steps_of(w, d));
  row->path =
      is_root || untold ? lh_copy_text(path) : taken(w, step_path(w->snapshot, &w->tree, d->last));
  return row->steps && row->path;
}

static bool add_hidden_row(writing *w, const draft *d, const draft *above) {
  lh_merged_paths *merged = w->merged;
  const lh_merged_step *list = w->tree.list;
  lh_merged_row rest = {
      .depth = d->depth, .hidden = above->n_hidden, .id = LH_NO_OBJECT, .class_index = UINT32_MAX};
  uint32_t end = w->first_below[above->last] + above->n_below;
  for (uint32_t i = end - above->n_hidden; i < end; i++) {
    rest.objects += list[w->below[i]].objects;
    rest.bytes += list[w->below[i]].bytes;
  }
  if (!lh_grow(&merged->rows, merged->n_rows, &w->row_capacity, sizeof rest)) return false;
  merged->rows[merged->n_rows++] = rest;
  return true;
}

static bool add_rows(writing *w) {
  bool ok = true;
  for (size_t i = 0; ok && i < w->n_drafts; i++) {
    draft *d = &w->drafts[i], *above = &w->drafts[d->above];
    if (d->shown) {
      ok = add_shown_row(w, d);
    } else if (above->shown && above->n_hidden > 0) {
      ok = add_hidden_row(w, d, above);
      above->n_hidden = 0;
    }
  }
  return ok;
}

/* Keeps the reachable objects, each once, and counts garbage. */
static int sort_out(const lh_snapshot *snapshot, const lh_id *ids, size_t n_ids, lh_id *reachable,
                    lh_merged_paths *merged, lh_error *error) {
  uint8_t *seen = lh_alloc_zeroed((size_t)snapshot->n + 1, 1);
  int code = seen ? 0 : lh_fail_memory(error, "merging paths");
  for (size_t i = 0; code == 0 && i < n_ids; i++) {
    lh_id id = ids[i];
    code = lh_check_id(snapshot, id, error);
    if (code || seen[id] || lh_is_own(snapshot, id)) continue;
    seen[id] = 1;
    if (!lh_is_reachable(snapshot, id)) {
      merged->garbage_objects++;
      merged->garbage_bytes += lh_shallow_bytes(snapshot, id);
      continue;
    }
    uint32_t class_index = lh_class_of(snapshot, id);
    if (merged->objects++ == 0) merged->class_index = class_index;
    if (merged->class_index != class_index) merged->class_index = UINT32_MAX;
    reachable[merged->objects - 1] = id;
  }
  lh_free(seen);
  return code;
}

static bool merge_all(writing *w, const lh_id *ids, size_t limit) {
  w->text_bytes = MOST_TEXT * (uint64_t)w->snapshot->size + (1u << 20);
  bool ok = lh_make_step_tree(&w->tree, w->snapshot, ids, w->merged->objects) &&
            lh_divide_retained(&w->tree, w->snapshot, ids, w->merged->objects) && sort_steps(w) &&
            make_drafts(w) && count_holders(w->snapshot, &w->tree, w->text_bytes, w->merged) &&
            choose_rows(w, limit) && add_rows(w) &&
            find_elsewhere(w->snapshot, &w->tree, w->merged);
  if (ok) w->merged->bytes = w->tree.list[0].bytes;
  return ok;
}

int lh_merge_paths(lh_snapshot *snapshot, const lh_id *ids, size_t n_ids, size_t limit,
                   lh_merged_paths *out, lh_error *error) {
  *out = (lh_merged_paths){.class_index = UINT32_MAX};
  if (!snapshot->classes)
    return lh_fail(error, LH_EARGUMENT, "merging paths needs the classes of a snapshot");
  writing w = {.snapshot = snapshot, .merged = out};
  lh_id *reachable = lh_alloc(n_ids, sizeof *reachable);
  int code = reachable ? 0 : lh_fail_memory(error, "merging paths");
  if (!code) code = sort_out(snapshot, ids, n_ids, reachable, out, error);
  if (!code && out->objects > 0 && !merge_all(&w, reachable, limit))
    code = lh_fail_memory(error, "merging paths");
  lh_free_step_tree(&w.tree);
  LH_FREE_ALL(w.first_below, w.below, w.drafts, reachable);
  if (code) lh_merged_paths_free(out);
  return code;
}

void lh_merged_paths_free(lh_merged_paths *merged) {
  for (size_t i = 0; i < merged->n_rows; i++)
    LH_FREE_ALL((char *)merged->rows[i].steps, (char *)merged->rows[i].path);
  for (uint32_t i = 0; i < merged->n_holders; i++) drop_holder(&merged->holders[i]);
  drop_holder(&merged->elsewhere);
  lh_free(merged->rows);
  *merged = (lh_merged_paths){.class_index = UINT32_MAX};
}
