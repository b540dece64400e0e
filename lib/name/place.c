/*
** place.c - places (see place.h): which objects hang alike.
*/
#include "place.h"

#include <string.h>

/* The texts may take so many times the bytes of the file, as the names of its classes may. Only a
** file that was made for that has more. */
enum { MOST_TEXT = 16 };

void lh_places_free(lh_places *places) {
  lh_free_folded(&places->paths);
  lh_strings_free(&places->texts);
  lh_free(places->list);
  lh_map_free(&places->by_state);
  lh_map_free(&places->by_text);
}

/* The text's number, 0 where there is no room; LH_NO_NUMBER: out of memory. Frees the text. */
static lh_text_id take_text(lh_places *places, lh_text *text) {
  bool failed = text->failed;
  lh_text_id id = lh_strings_take(&places->texts, text);
  return id == LH_NO_NUMBER && places->texts.full && !failed ? 0 : id;
}

static uint32_t place_at(lh_places *places, uint32_t class_index, lh_text_id path) {
  if (path == LH_NO_NUMBER) return LH_NO_NUMBER;
  uint32_t *place = lh_map_at(&places->by_text, (uint64_t)class_index << 32 | path);
  if (!place || *place != LH_NO_NUMBER) return place ? *place : LH_NO_NUMBER;
  if (!lh_grow(&places->list, places->n, &places->capacity, sizeof *places->list))
    return LH_NO_NUMBER;
  places->list[places->n] =
      (lh_place){.class_index = class_index, .path = path, .module = LH_NO_NUMBER};
  return *place = (uint32_t)places->n++;
}

/* Finds or makes the place of an object, and remembers it by its state. False: out of memory. */
static bool place_object(lh_places *places, lh_id id) {
  uint32_t *place = lh_map_at(&places->by_state, lh_state_key(places, id));
  if (!place || *place != LH_NO_NUMBER) return place != NULL;
  const lh_folder *folder = &places->paths.folder;
  lh_text text = {0};
  lh_fold_text(folder, places->paths.state[id], true, &text);
  *place = place_at(places, lh_class_of(folder->snapshot, id), take_text(places, &text));
  return *place != LH_NO_NUMBER;
}

bool lh_places_make(lh_places *places, const lh_snapshot *snapshot, const lh_id *ids,
                    size_t n_ids) {
  *places = (lh_places){.texts.most_bytes = MOST_TEXT * (uint64_t)snapshot->size + (1u << 20)};
  bool ok = lh_strings_add(&places->texts, "...", 3) != LH_NO_NUMBER &&
            lh_fold_paths(&places->paths, snapshot, ids, n_ids, NULL, NULL);
  for (size_t i = 0; ok && i < n_ids; i++) ok = place_object(places, ids[i]);
  return ok;
}

uint32_t lh_place_called(lh_places *places, lh_text *text) {
  return place_at(places, UINT32_MAX, take_text(places, text));
}

/* {=== Numbers ======================================================================== */

static const lh_class_entry *class_at(const lh_places *places, uint32_t class_index) {
  return &places->paths.folder.snapshot->classes->list[class_index];
}

/* With * for numbers: its class, or what modules are called so, and its path. *key is UINT64_MAX if
** the path has none. False: out of memory. */
static bool key_without_numbers(lh_places *places, lh_place *place, uint64_t *key) {
  lh_text path = {0}, module = {0};
  const char *exact = places->texts.texts[place->path];
  *key = UINT64_MAX;
  if (place->class_index == UINT32_MAX || !lh_fold_numbers(&path, exact)) {
    lh_text_free(&path);
    return true;
  }
  uint32_t class = place->class_index;
  bool is_module = lh_fold_module(&module, class_at(places, class));
  lh_text_id folded = take_text(places, &path);
  if (is_module) {
    place->module = take_text(places, &module);
    class = 1u << 31 | place->module;
  }
  lh_text_free(&module);
  if (folded != 0) *key = (uint64_t) class << 32 | folded;
  return folded != LH_NO_NUMBER && (!is_module || place->module != LH_NO_NUMBER);
}

/* The places with one key become the first of them, if they are many. */
static bool join_alike(lh_places *places, const uint64_t *keys, uint32_t *to) {
  lh_map n_alike = {0}, first = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < places->n; i++)
    if (keys[i] != UINT64_MAX) ok = lh_map_count(&n_alike, keys[i]);
  for (uint32_t i = 0; ok && i < places->n; i++) {
    lh_place *place = &places->list[i];
    to[i] = i;
    place->joined = keys[i] != UINT64_MAX && lh_map_get(&n_alike, keys[i]) >= LH_MANY_NUMBERS;
    if (!place->joined) continue;
    uint32_t *known = lh_map_at(&first, keys[i]);
    ok = known != NULL;
    if (ok && *known == LH_NO_NUMBER) *known = i;
    if (ok) to[i] = *known;
    place->path = (lh_text_id)keys[i];
  }
  lh_map_free(&n_alike);
  lh_map_free(&first);
  return ok;
}

bool lh_join_places(lh_places *places) {
  uint64_t *keys = lh_alloc(places->n, sizeof *keys);
  uint32_t *to = lh_alloc(places->n, sizeof *to);
  bool ok = keys && to;
  for (size_t i = 0; ok && i < places->n; i++)
    ok = key_without_numbers(places, &places->list[i], &keys[i]);
  ok = ok && join_alike(places, keys, to);
  for (size_t i = 0; ok && i < places->by_state.n; i++)
    places->by_state.values[i] = to[places->by_state.values[i]];
  lh_free(keys);
  lh_free(to);
  return ok;
}

/* }=================================================================================== */

static void take_least(lh_print least, const lh_print other) {
  if (*other && (!*least || strcmp(other, least) < 0)) memcpy(least, other, sizeof(lh_print));
}

lh_print *lh_fingerprint_places(const lh_places *places) {
  lh_print *all = lh_alloc_zeroed(places->n, sizeof *all);
  for (size_t i = 0; all && i < places->by_state.n; i++) {
    uint64_t key = places->by_state.keys[i];
    uint32_t place = places->by_state.values[i];
    lh_prints prints;
    if (!lh_fingerprints(&places->paths.folder, (uint32_t)key,
                         class_at(places, (uint32_t)(key >> 32)), &prints)) {
      lh_free(all);
      return NULL;
    }
    take_least(all[place], places->list[place].joined ? prints.folded : prints.exact);
  }
  return all;
}

size_t lh_most_of(const lh_strings *texts, const uint64_t *objects) {
  size_t best = texts->n;
  for (size_t i = 0; i < texts->n; i++) {
    if (objects[i] == 0) continue;
    if (best == texts->n || objects[i] > objects[best] ||
        (objects[i] == objects[best] && strcmp(texts->texts[i], texts->texts[best]) < 0))
      best = i;
  }
  return best;
}
