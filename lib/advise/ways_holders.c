/*
** ways_holders.c - by which paths the members of a tree of paths (ways_places.c) are held: those
** that read the same are one, and where a text begins at an upvalue, who holds the function.
*/
#include "advise.h"

#include <string.h>

/* Members with one path. */
typedef struct held {
  uint64_t objects;
  uint32_t through; /* the place by which most of them come before the text begins; 0: none */
  uint32_t through_objects;
} held;

void lh_place_piece(lh_text *text, const lh_snapshot *snapshot, const lh_places *places,
                    const lh_place *place) {
  bool any = place->key.kind != LH_VALUE_NIL;
  if (any && !place->keys_vary)
    lh_add_key(text, snapshot, place->key, false);
  else
    lh_text_string(text, places->folder.pieces.texts[place->piece]);
}

char *lh_place_path(const lh_snapshot *snapshot, const lh_places *places, uint32_t at) {
  const lh_place *list = places->list;
  lh_telling telling = {0};
  uint32_t *chain = lh_alloc((size_t)list[at].level + 1, sizeof *chain);
  if (!chain) return NULL;
  uint32_t n = 0;
  for (uint32_t i = at;; i = list[i].above) {
    chain[n++] = i;
    if (list[i].form == LH_FORM_BASE) break;
  }
  while (n-- > 0) {
    const lh_place *place = &list[chain[n]];
    lh_text piece = {0};
    lh_place_piece(&piece, snapshot, places, place);
    if (piece.failed) telling.text.failed = true;
    lh_tell(&telling, (lh_form)place->form, piece.bytes, piece.n, place->phrase);
    lh_text_free(&piece);
  }
  lh_free(chain);
  return lh_text_finish(&telling.text);
}

/* As lh_path_through: the place before the first new beginning that does not say who holds it. What
** is one or two below the root is _G, a root, or a variable of the main thread. */
static uint32_t through_of(const lh_places *t, uint32_t at) {
  uint32_t first = 0;
  while (t->list[at].form != LH_FORM_BASE) at = t->list[at].above;
  for (; t->list[at].depth > 2; at = t->list[at].above)
    if (t->list[at].form == LH_FORM_BASE) first = t->list[at].above;
  return first;
}

/* `known`: path and the place that it is through -> objects. False: out of memory. */
static bool add(held *list, uint32_t path, uint32_t objects, uint32_t through, lh_map *known) {
  uint32_t *sum = lh_map_at(known, (uint64_t)path << 32 | through);
  if (!sum) return false;
  *sum = *sum == LH_NO_NUMBER ? objects : *sum + objects;
  list[path].objects += objects;
  if (*sum > list[path].through_objects) {
    list[path].through = through;
    list[path].through_objects = *sum;
  }
  return true;
}

/* Those that most members have. */
static bool keep(const lh_snapshot *snapshot, const lh_places *places, const lh_strings *paths,
                 held *list, lh_ways *ways) {
  while (ways->n_holders < LH_MOST_HOLDERS) {
    size_t best = paths->n;
    for (size_t i = 0; i < paths->n; i++) {
      if (list[i].objects == 0) continue;
      if (best == paths->n || list[i].objects > list[best].objects ||
          (list[i].objects == list[best].objects &&
           strcmp(paths->texts[i], paths->texts[best]) < 0))
        best = i;
    }
    if (best == paths->n) break;
    held *most = &list[best];
    lh_holder *holder = &ways->holders[ways->n_holders++];
    *holder = (lh_holder){.path = lh_copy_text(paths->texts[best]), .objects = most->objects};
    if (most->through) holder->through = lh_place_path(snapshot, places, most->through);
    if (most->through) holder->through_objects = most->through_objects;
    if (!holder->path || (most->through && !holder->through)) return false;
    most->objects = 0;
  }
  return true;
}

/* Different places may have the same path. */
bool lh_count_holders(const lh_snapshot *snapshot, const lh_places *t, uint64_t most_bytes,
                      lh_ways *ways) {
  lh_strings paths = {.most_bytes = most_bytes};
  lh_map known = {0};
  held *list = lh_alloc_zeroed(t->n, sizeof *list);
  uint64_t n_untold = 0;
  bool ok = list != NULL;
  for (uint32_t i = 0; ok && i < t->n; i++) {
    if (t->list[i].here == 0) continue;
    char *path = paths.full ? NULL : lh_place_path(snapshot, t, i);
    uint32_t number = path ? lh_strings_add(&paths, path, strlen(path)) : LH_NO_NUMBER;
    lh_free(path);
    if (number != LH_NO_NUMBER)
      ok = add(list, number, t->list[i].here, through_of(t, i), &known);
    else
      ok = paths.full;
    n_untold += number == LH_NO_NUMBER;
  }
  ways->total_holders = paths.n + n_untold;
  ok = ok && keep(snapshot, t, &paths, list, ways);
  lh_strings_free(&paths);
  lh_map_free(&known);
  lh_free(list);
  return ok;
}

void lh_drop_holder(lh_holder *holder) {
  lh_free((char *)holder->path);
  lh_free((char *)holder->through);
}
