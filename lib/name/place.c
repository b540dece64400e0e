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

static uint32_t place_at(lh_places *places, uint32_t class_index, uint32_t state, lh_text_id path) {
  if (path == LH_NO_NUMBER) return LH_NO_NUMBER;
  uint32_t *place = lh_map_at(&places->by_text, (uint64_t)class_index << 32 | path);
  if (!place || *place != LH_NO_NUMBER) return place ? *place : LH_NO_NUMBER;
  if (!lh_grow(&places->list, places->n, &places->capacity, sizeof *places->list))
    return LH_NO_NUMBER;
  places->list[places->n] =
      (lh_place){.class_index = class_index, .state = state, .path = path, .module = LH_NO_NUMBER};
  return *place = (uint32_t)places->n++;
}

/* Finds or makes the place of a class and a state, and remembers it. */
static uint32_t place_of_state(lh_places *places, uint32_t class_index, uint32_t state) {
  uint32_t *place = lh_map_at(&places->by_state, (uint64_t)class_index << 32 | state);
  if (!place || *place != LH_NO_NUMBER) return place ? *place : LH_NO_NUMBER;
  lh_text text = {0};
  lh_fold_text(&places->paths.folder, state, true, &text);
  return *place = place_at(places, class_index, state, take_text(places, &text));
}

bool lh_places_make(lh_places *places, const lh_snapshot *snapshot, const lh_id *ids,
                    size_t n_ids) {
  return lh_places_make_some(places, snapshot, ids, n_ids, n_ids);
}

bool lh_places_make_some(lh_places *places, const lh_snapshot *snapshot, const lh_id *ids,
                         size_t n_ids, size_t n_placed) {
  *places = (lh_places){.texts.most_bytes = MOST_TEXT * (uint64_t)snapshot->size + (1u << 20)};
  bool ok = lh_strings_add(&places->texts, "...", 3) != LH_NO_NUMBER &&
            lh_fold_paths(&places->paths, snapshot, ids, n_ids, NULL, NULL);
  for (size_t i = 0; ok && i < n_placed; i++)
    ok = place_of_state(places, lh_class_of(snapshot, ids[i]), places->paths.state[ids[i]]) !=
         LH_NO_NUMBER;
  return ok;
}

uint32_t lh_place_called(lh_places *places, lh_text *text) {
  return place_at(places, UINT32_MAX, LH_FOLD_START, take_text(places, text));
}

/* {=== Joining ======================================================================== */

static const lh_class_entry *class_at(const lh_places *places, uint32_t class_index) {
  return &places->paths.folder.snapshot->classes->list[class_index];
}

/* What places have in common that may be one: type and path, and the path with * for its numbers,
** or for the whole keys that have these; UINT64_MAX: has none. */
typedef struct likeness {
  uint64_t exact, folded;
  lh_text_id told; /* the path, of which only those numbers get a * that differ */
} likeness;

/* Writes `path` anew with [*] for the keys that were told because they are the only ones of their
** class, if it has no number then: a thousand things, each of a class of its own, are under any
** key. Is that so? */
static bool leave_out_keys(const lh_places *places, const lh_place *place, lh_text *path) {
  lh_text keyless = {0}, folded = {0};
  lh_fold_text(&places->paths.folder, place->state, false, &keyless);
  char *text = lh_text_finish(&keyless);
  path->failed |= !text;
  bool is_left = text && !lh_fold_numbers(&folded, text);
  if (is_left) {
    lh_text_clear(path);
    lh_text_string(path, text);
  }
  lh_text_free(&folded);
  lh_free(text);
  return is_left;
}

/* False: out of memory. */
static bool liken(lh_places *places, lh_place *place, likeness *out) {
  lh_text path = {0}, module = {0};
  out->exact = out->folded = UINT64_MAX;
  if (place->class_index == UINT32_MAX) return true;
  const lh_class_entry *class = class_at(places, place->class_index);
  uint64_t type = (uint64_t) class->visible.type << 32;
  out->exact = type | place->path;
  if (!lh_fold_numbers(&path, places->texts.texts[place->path])) return true;
  bool is_left = leave_out_keys(places, place, &path);
  bool is_module = lh_fold_module(&module, class);
  lh_text_id folded = take_text(places, &path);
  out->told = is_left ? folded : place->path;
  if (is_module) place->module = take_text(places, &module);
  if (folded != 0) out->folded = type | folded;
  return folded != LH_NO_NUMBER && (!is_module || place->module != LH_NO_NUMBER);
}

/* How many paths are alike but for their numbers. */
static bool count_alike(const lh_places *places, const likeness *like, lh_map *n_alike) {
  lh_map seen = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < places->n; i++) {
    if (like[i].folded == UINT64_MAX) continue;
    uint32_t *known = lh_map_at(&seen, like[i].exact);
    ok = known != NULL;
    if (ok && *known == LH_NO_NUMBER) ok = lh_map_count(n_alike, like[i].folded);
    if (ok) *known = 1;
  }
  lh_map_free(&seen);
  return ok;
}

static void add_class(lh_place *place, const lh_place *other) {
  bool same_modules = place->module != LH_NO_NUMBER && place->module == other->module;
  place->several |= other->class_index != place->class_index && !same_modules;
}

/* Tells what joined places differ in by a * in the path of the first: by `folded`, if that is more
** than numbers. */
static bool tell_difference(lh_places *places, lh_place *first, lh_text_id told,
                            lh_text_id folded) {
  const char *const *texts = (const char *const *)places->texts.texts;
  lh_text text = {0};
  bool only_numbers = lh_fold_differing(&text, texts[first->path], texts[told]);
  first->path = only_numbers ? take_text(places, &text) : folded;
  return first->path != LH_NO_NUMBER;
}

/* Those that are alike become the first of them. */
static bool join_alike(lh_places *places, const likeness *like, uint32_t *to) {
  lh_map n_alike = {0}, first = {0};
  bool ok = count_alike(places, like, &n_alike);
  for (uint32_t i = 0; ok && i < places->n; i++) {
    lh_place *place = &places->list[i];
    to[i] = i;
    if (like[i].exact == UINT64_MAX) continue;
    place->joined =
        like[i].folded != UINT64_MAX && lh_map_get(&n_alike, like[i].folded) >= LH_MANY_NUMBERS;
    uint64_t key = place->joined ? like[i].folded : like[i].exact;
    uint32_t *known = lh_map_at(&first, key);
    ok = known != NULL;
    if (!ok) break;
    if (place->joined) place->path = like[i].told;
    if (*known == LH_NO_NUMBER) *known = i;
    to[i] = *known;
    add_class(&places->list[to[i]], place);
    if (place->joined)
      ok = tell_difference(places, &places->list[to[i]], like[i].told, (lh_text_id)key);
  }
  lh_map_free(&n_alike);
  lh_map_free(&first);
  return ok;
}

bool lh_join_places(lh_places *places) {
  likeness *like = lh_alloc(places->n, sizeof *like);
  uint32_t *to = lh_alloc(places->n, sizeof *to);
  bool ok = like && to;
  for (size_t i = 0; ok && i < places->n; i++) ok = liken(places, &places->list[i], &like[i]);
  ok = ok && join_alike(places, like, to);
  for (size_t i = 0; ok && i < places->by_state.n; i++)
    places->by_state.values[i] = to[places->by_state.values[i]];
  lh_free(like);
  lh_free(to);
  return ok;
}

/* }=================================================================================== */

static void take_least(lh_print least, const lh_print other) {
  if (*other && (!*least || strcmp(other, least) < 0)) memcpy(least, other, sizeof(lh_print));
}

static void add_prints(const lh_place *place, const lh_prints *prints, lh_print own, lh_print any) {
  bool folded = place->joined && *prints->folded;
  const char *least_any = folded ? prints->any_folded : prints->any;
  take_least(any, least_any);
  take_least(own, place->several ? least_any : folded ? prints->folded : prints->exact);
}

bool lh_print_places(const lh_places *places, lh_print *own, lh_print *any) {
  if (places->n > 0) memset(own, 0, places->n * sizeof *own);
  if (places->n > 0) memset(any, 0, places->n * sizeof *any);
  for (size_t i = 0; i < places->by_state.n; i++) {
    uint64_t key = places->by_state.keys[i];
    uint32_t at = places->by_state.values[i];
    const lh_place *place = &places->list[at];
    lh_prints prints;
    if (place->class_index == UINT32_MAX) continue;
    if (!lh_fingerprints(&places->paths.folder, (uint32_t)key,
                         class_at(places, (uint32_t)(key >> 32)), &prints))
      return false;
    add_prints(place, &prints, own[at], any[at]);
  }
  return true;
}

unsigned lh_types_at(const lh_places *places) {
  unsigned types = 0;
  for (size_t i = 0; i < places->n; i++) {
    uint32_t class_index = places->list[i].class_index;
    if (class_index != UINT32_MAX) types |= 1u << class_at(places, class_index)->visible.type;
  }
  return types;
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
