/*
** merged_steps.c - Merges the paths of many objects into one tree of steps.
** Paths with equal folded texts share a step: _G.list[1] and _G.list[2] are one. In fold.c a path
** starts anew at "_G" or "upvalue bus of function f". Here such a start stands below the step
** before it; other steps stand below the step that their text continues. So .next* is one step, and
** so is an upvalue that leads to itself, as in a list of closures. 68 bytes a step.
*/
#include "analyses.h"

/* A path deeper than this ends in one common step. */
enum { MAX_DEPTH = 256 };

typedef struct merging {
  const lh_snapshot *snapshot;
  lh_step_tree *merged;
  lh_map below; /* merged step, step -> the merged step below it */
} merging;

static uint32_t add_step_below(merging *m, uint32_t above, const lh_place_vertex *place,
                               lh_id entry) {
  lh_step_tree *t = m->merged;
  if (!lh_grow(&t->list, t->n, &t->capacity, sizeof *t->list)) return LH_NO_NUMBER;
  t->list[t->n] = (lh_merged_step){.above = above,
                                   .step = place->step,
                                   .form = t->folds->folder.tree->steps[place->step].form,
                                   .any_key = place->step == t->folds->folder.any_key,
                                   .level = place->depth,
                                   .depth = t->list[above].depth + 1,
                                   .entry = entry,
                                   .example = LH_NO_OBJECT,
                                   .class_index = UINT32_MAX};
  return (uint32_t)t->n++;
}

static uint32_t find_beginning_above(const lh_step_tree *t, uint32_t at,
                                     const lh_place_vertex *place) {
  for (; at != 0; at = t->list[at].above)
    if (t->list[at].step == place->step) return at;
  return LH_NO_NUMBER;
}

/* Returns the step for an edge from `at`; LH_NO_NUMBER: out of memory. */
static uint32_t step_below(merging *m, uint32_t at, const lh_place_vertex *place, lh_id entry) {
  lh_step_tree *t = m->merged;
  bool begins = t->folds->folder.tree->steps[place->step].form == LH_FORM_BASE;
  while (!begins && t->list[at].level >= place->depth) at = t->list[at].above;
  uint32_t *below = lh_map_at(&m->below, (uint64_t)at << 32 | place->step);
  if (!below || *below != LH_NO_NUMBER) return below ? *below : LH_NO_NUMBER;
  uint32_t found = begins ? find_beginning_above(t, at, place) : LH_NO_NUMBER;
  if (found == at) t->list[at].again = true;
  if (found == LH_NO_NUMBER && t->list[at].depth == MAX_DEPTH) found = at;
  if (found == LH_NO_NUMBER) found = add_step_below(m, at, place, entry);
  *below = found;
  return found;
}

/* Finding a key may walk through the record, so it stops at the first key that differs. */
static void note_step_key(const lh_snapshot *s, lh_merged_step *step, const lh_edge *edge) {
  if (!step->any_key || edge->kind != LH_EDGE_VALUE || step->keys_vary) return;
  lh_value key = lh_edge_at(s, edge->source, s->parent_edge[edge->target]).key;
  if (step->entry == edge->target) step->key = key;
  if (!lh_same_key(step->key, key)) step->keys_vary = true;
}

/* An upvalue before its content is no object for a reader, unless it is a member. */
static void note_object(const merging *m, lh_merged_step *step, lh_id id) {
  uint32_t class_index = lh_class_of(m->snapshot, id);
  if (lh_type_of(m->snapshot, id) == LH_TYPE_UPVALUE && !m->merged->is_member[id]) return;
  if (step->through++ == 0) step->class_index = class_index;
  if (step->class_index != class_index) step->class_index = UINT32_MAX;
  bool better = step->example == LH_NO_OBJECT ||
                m->merged->is_member[id] > m->merged->is_member[step->example];
  if (!better && m->merged->is_member[id] == m->merged->is_member[step->example])
    better = lh_retained_bytes(m->snapshot, id) > lh_retained_bytes(m->snapshot, step->example);
  if (better) step->example = id;
  step->here += m->merged->is_member[id];
}

/* The edge that names an object, without its key. */
static lh_edge naming_edge(const lh_snapshot *s, lh_id id) {
  lh_id source = lh_naming_parent(s, id);
  lh_edge_kind kind = lh_label_kind(s->label[s->parent_edge[id]]);
  if (kind == LH_EDGE_EPHEMERON) return lh_edge_at(s, source, s->parent_edge[id]);
  return (lh_edge){.source = source, .target = id, .kind = kind};
}

static bool add_to_step(merging *m, lh_id id) {
  const lh_snapshot *s = m->snapshot;
  lh_step_tree *t = m->merged;
  lh_edge edge = naming_edge(s, id);
  uint32_t at = t->of[edge.source];
  if (lh_form_of(s, &edge) != LH_FORM_NOTHING)
    at = step_below(m, at, &t->folds->folder.tree->list[lh_folded_place(t->folds, id)], id);
  if (at == LH_NO_NUMBER) return false;
  t->of[id] = at;
  note_step_key(s, &t->list[at], &edge);
  note_object(m, &t->list[at], id);
  return true;
}

/* A step comes after its parent in the list. */
static void sum_up(lh_step_tree *t) {
  for (size_t i = t->n; i-- > 0;) {
    lh_merged_step *step = &t->list[i];
    step->objects += step->here;
    if (i == 0) break;
    t->list[step->above].objects += step->objects;
    t->list[step->above].n_below++;
  }
}

bool lh_make_step_tree(lh_step_tree *t, const lh_snapshot *snapshot, const lh_id *ids,
                       size_t n_ids) {
  merging m = {.snapshot = snapshot, .merged = t};
  size_t n = (size_t)snapshot->n + 1;
  t->of = lh_alloc_zeroed(n, sizeof *t->of);
  t->is_member = lh_alloc_zeroed(n, 1);
  t->folds = lh_folds_of(snapshot);
  uint8_t *marks = lh_mark_paths(snapshot, ids, n_ids);
  bool ok = t->of && t->is_member && t->folds && marks &&
            lh_grow(&t->list, 0, &t->capacity, sizeof *t->list);
  for (size_t i = 0; ok && i < n_ids; i++) t->is_member[ids[i]] = 1;
  if (ok)
    t->list[t->n++] = (lh_merged_step){
        .form = LH_FORM_BASE, .entry = LH_ROOT, .example = LH_NO_OBJECT, .class_index = UINT32_MAX};
  for (size_t i = 1; ok && i < t->folds->n; i++)
    if (marks[t->folds->order[i]]) ok = add_to_step(&m, t->folds->order[i]);
  if (ok) {
    sum_up(t);
    (void)lh_fit(&t->list, t->n, &t->capacity, sizeof *t->list);
  }
  lh_free(marks);
  lh_map_free(&m.below);
  return ok;
}

void lh_free_step_tree(lh_step_tree *t) {
  LH_FREE_ALL(t->list, t->of, t->is_member, t->is_freed);
}

/* Divides the bytes that all members retain together among the steps; no byte counts twice. An
** object belongs to the lowest step that has the last member of each path to the object below
** itself.
** A pass forward from the members finds that step. An object gets the step of its first
** referrer. When it is met from another step, it gets the lowest common step, and its references
** are followed again: rarely, and at most once for each level (256). 1 byte an object, 8 for
** each retained one. */

enum { NO_STEP = UINT32_MAX, WAITS = 2 /* is_freed[id]: in the queue */ };

typedef struct dividing {
  const lh_snapshot *snapshot;
  lh_step_tree *tree;
  lh_freed_set freed;
  lh_id *queue; /* a ring; an object is in it once at most */
  size_t first, n;
} dividing;

static void put_in_queue(dividing *d, lh_id id) {
  if (d->freed.is_freed[id] == WAITS) return;
  d->freed.is_freed[id] = WAITS;
  d->queue[(d->first + d->n++) % d->freed.n] = id;
}

static lh_id take_from_queue(dividing *d) {
  lh_id id = d->queue[d->first];
  d->first = (d->first + 1) % d->freed.n;
  d->n--;
  d->freed.is_freed[id] = 1;
  return id;
}

/* A step comes after its parent in the list. */
static uint32_t meeting_of(const lh_step_tree *t, uint32_t a, uint32_t b) {
  while (a != b) {
    if (a > b)
      a = t->list[a].above;
    else
      b = t->list[b].above;
  }
  return a;
}

static void meet(dividing *d, uint32_t step, lh_id id) {
  lh_step_tree *t = d->tree;
  uint32_t before = t->of[id];
  if (!d->freed.is_freed[id] || t->is_member[id] || before == step || before == 0) return;
  t->of[id] = before == NO_STEP ? step : meeting_of(t, before, step);
  if (t->of[id] != before) put_in_queue(d, id);
}

static void meet_all(dividing *d) {
  const lh_snapshot *s = d->snapshot;
  for (size_t i = 0; i < d->freed.n; i++) {
    if (i >= d->freed.n_members)
      d->tree->of[d->freed.list[i]] = NO_STEP;
    else
      put_in_queue(d, d->freed.list[i]);
  }
  while (d->n > 0) {
    lh_id id = take_from_queue(d);
    for (uint32_t e = s->first_edge[id]; e < s->first_edge[id + 1]; e++)
      meet(d, d->tree->of[id], s->edge[e]);
  }
}

static void sum_up_bytes(dividing *d) {
  lh_merged_step *list = d->tree->list;
  for (size_t i = 0; i < d->freed.n; i++)
    list[d->tree->of[d->freed.list[i]]].bytes += lh_shallow_bytes(d->snapshot, d->freed.list[i]);
  for (size_t i = d->tree->n; i-- > 1;) list[list[i].above].bytes += list[i].bytes;
}

bool lh_divide_retained(lh_step_tree *t, const lh_snapshot *snapshot, const lh_id *ids,
                        size_t n_ids) {
  dividing d = {.snapshot = snapshot, .tree = t};
  bool ok = lh_find_freed(&d.freed, snapshot, ids, n_ids);
  if (ok) d.queue = lh_alloc(d.freed.n, sizeof *d.queue);
  ok = ok && d.queue;
  if (ok) meet_all(&d);
  if (ok) sum_up_bytes(&d);
  t->is_freed = d.freed.is_freed;
  d.freed.is_freed = NULL;
  lh_free(d.queue);
  lh_freed_set_free(&d.freed);
  return ok;
}
