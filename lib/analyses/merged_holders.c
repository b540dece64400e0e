/*
** merged_holders.c - by which paths the members of a tree of paths (merged_steps.c) are held: those
** that read the same are one, and where a text begins at an upvalue, who holds the function.
*/
#include "analyses.h"

#include <string.h>

/* Members with one path. */
typedef struct held {
  uint32_t through; /* the step by which most of them come before the text begins; 0: none */
  uint32_t through_objects;
} held;

void lh_step_piece(lh_text *text, const lh_snapshot *snapshot, const lh_step_tree *tree,
                   const lh_merged_step *step) {
  bool any = step->key.kind != LH_VALUE_NIL;
  if (any && !step->keys_vary)
    lh_add_key(text, snapshot, step->key, false);
  else
    lh_text_string(text, lh_step_label(tree->folds->folder.tree, step->step));
}

char *lh_step_path(const lh_snapshot *snapshot, const lh_step_tree *tree, uint32_t at) {
  const lh_merged_step *list = tree->list;
  lh_telling telling = {0};
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
    lh_step_piece(&piece, snapshot, tree, step);
    if (piece.failed) telling.text.failed = true;
    lh_tell(&telling, (lh_form)step->form, piece.bytes, piece.n,
            tree->folds->folder.tree->steps[step->step].phrase);
    lh_text_free(&piece);
  }
  lh_free(chain);
  return lh_text_finish(&telling.text);
}

/* As lh_path_through: the step before the first new beginning that does not say who holds it. What
** is one or two below the root is _G, a root, or a variable of the main thread. */
static uint32_t through_of(const lh_step_tree *t, uint32_t at) {
  uint32_t first = 0;
  while (t->list[at].form != LH_FORM_BASE) at = t->list[at].above;
  for (; t->list[at].depth > 2; at = t->list[at].above)
    if (t->list[at].form == LH_FORM_BASE) first = t->list[at].above;
  return first;
}

/* The paths by which members are held, and what is known of each. */
typedef struct counting {
  lh_strings paths;
  uint64_t *objects; /* of each path */
  held *held;        /* of each path */
  lh_map through;    /* path and the step that it is through -> objects */
} counting;

/* False: out of memory. */
static bool add_members(counting *c, uint32_t path, uint32_t objects, uint32_t through) {
  uint32_t *sum = lh_map_at(&c->through, (uint64_t)path << 32 | through);
  if (!sum) return false;
  *sum = *sum == LH_NO_NUMBER ? objects : *sum + objects;
  c->objects[path] += objects;
  if (*sum > c->held[path].through_objects) c->held[path] = (held){through, *sum};
  return true;
}

/* Those that most members have. */
static bool keep_most_held(const lh_snapshot *snapshot, const lh_step_tree *tree, counting *c,
                           lh_merged_paths *merged) {
  while (merged->n_holders < LH_MOST_HOLDERS) {
    size_t best = lh_most_of(&c->paths, c->objects);
    if (best == c->paths.n) break;
    const held *most = &c->held[best];
    lh_holder *holder = &merged->holders[merged->n_holders++];
    *holder = (lh_holder){.path = lh_copy_text(c->paths.texts[best]), .objects = c->objects[best]};
    if (most->through) holder->through = lh_step_path(snapshot, tree, most->through);
    if (most->through) holder->through_objects = most->through_objects;
    if (!holder->path || (most->through && !holder->through)) return false;
    c->objects[best] = 0;
  }
  return true;
}

/* Different steps may have the same path. */
bool lh_count_holders(const lh_snapshot *snapshot, const lh_step_tree *t, uint64_t most_bytes,
                      lh_merged_paths *merged) {
  counting c = {.paths.most_bytes = most_bytes};
  uint64_t n_untold = 0;
  c.objects = lh_alloc_zeroed(t->n, sizeof *c.objects);
  c.held = lh_alloc_zeroed(t->n, sizeof *c.held);
  bool ok = c.objects && c.held;
  for (uint32_t i = 0; ok && i < t->n; i++) {
    if (t->list[i].here == 0) continue;
    char *path = c.paths.full ? NULL : lh_step_path(snapshot, t, i);
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
  lh_free(c.objects);
  lh_free(c.held);
  return ok;
}

void lh_drop_holder(lh_holder *holder) {
  lh_free((char *)holder->path);
  lh_free((char *)holder->through);
}
