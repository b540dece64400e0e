/* place.c - groups objects by place (see place.h). */
#include "place.h"

/* Limit for all texts, in sizes of the file. Only a file made for an attack has more. */
enum { MOST_TEXT = 16 };

void lh_places_free(lh_places *places) {
  lh_strings_free(&places->texts);
  LH_FREE_ALL(places->seen_keys.list, places->list, places->of_spot);
  lh_map_free(&places->by_at);
}

/* The text of a place; 0: no room is left. */
static lh_text_id path_text_of(lh_places *places, uint32_t at) {
  lh_text text = {0};
  lh_place_text(lh_tree_of(places), at, &text);
  bool failed = text.failed;
  lh_text_id id = lh_strings_take(&places->texts, &text);
  return id == LH_NO_NUMBER && places->texts.full && !failed ? 0 : id;
}

static uint32_t add_place(lh_places *places, uint32_t class_index, uint32_t state, uint32_t at,
                          lh_text_id path) {
  if (path == LH_NO_NUMBER ||
      !lh_grow(&places->list, places->n, &places->capacity, sizeof *places->list))
    return LH_NO_NUMBER;
  places->list[places->n] = (lh_place){
      .class_index = class_index, .state = state, .at = at, .path = path, .module = LH_NO_NUMBER};
  return (uint32_t)places->n++;
}

/* One place for all objects of a class for whose text no room is left. */
static uint32_t place_without_room(lh_places *places, uint32_t class_index, uint32_t state) {
  uint32_t *place = lh_map_at(&places->by_at, (uint64_t)class_index << 32 | LH_NO_PLACE);
  lh_text dots = {0};
  if (!place || *place != LH_NO_NUMBER) return place ? *place : LH_NO_NUMBER;
  lh_text_string(&dots, "...");
  uint32_t at = lh_place_of_text(lh_tree_of(places), &dots);
  return *place = at == LH_NO_NUMBER ? at : add_place(places, class_index, state, at, 0);
}

static uint32_t place_at(lh_places *places, uint32_t class_index, uint32_t state, uint32_t at) {
  if (at == LH_NO_NUMBER) return LH_NO_NUMBER;
  uint64_t key = (uint64_t)class_index << 32 | at;
  uint32_t known = lh_map_get(&places->by_at, key);
  if (known != LH_NO_NUMBER) return known;
  lh_text_id path = path_text_of(places, at);
  if (path == 0) return place_without_room(places, class_index, state);
  uint32_t *place = lh_map_at(&places->by_at, key);
  return place ? *place = add_place(places, class_index, state, at, path) : LH_NO_NUMBER;
}

static bool place_spot(lh_places *places, uint32_t spot) {
  if (places->of_spot[spot] != LH_NO_NUMBER) return true;
  lh_spot s = places->folds->spots[spot];
  uint32_t at = lh_place_with_keys(&places->folds->folder, &places->seen_keys, s.state);
  places->of_spot[spot] = place_at(places, s.class_index, s.state, at);
  return places->of_spot[spot] != LH_NO_NUMBER;
}

static bool begin_places(lh_places *places, const lh_snapshot *snapshot, const lh_id *ids,
                         size_t n_ids) {
  places->folds = lh_folds_of(snapshot);
  if (!places->folds) return false;
  places->n_spots = places->folds->n_spots;
  places->of_spot = lh_numbers_of_spots(places->folds, 1);
  return places->of_spot && lh_note_keys(&places->seen_keys, places->folds, ids, n_ids) &&
         lh_strings_add(&places->texts, "...", 3) != LH_NO_NUMBER;
}

bool lh_places_make(lh_places *places, const lh_snapshot *snapshot, const lh_id *ids, size_t n_ids,
                    size_t n_placed) {
  *places = (lh_places){.texts.most_bytes = MOST_TEXT * (uint64_t)snapshot->size + (1u << 20)};
  bool ok = begin_places(places, snapshot, ids, n_ids);
  for (size_t i = 0; ok && i < n_placed; i++) ok = place_spot(places, places->folds->spot[ids[i]]);
  return ok;
}

uint32_t lh_place_called(lh_places *places, lh_text *text) {
  return place_at(places, UINT32_MAX, LH_FOLD_START, lh_place_of_text(lh_tree_of(places), text));
}

/* ==== Joining ======================================================================== */

static const lh_class_entry *class_at(const lh_places *places, uint32_t class_index) {
  return &places->folds->folder.snapshot->classes->list[class_index];
}

/* UINT64_MAX: none. folded: with * for numbers, or for whole keys with numbers. */
typedef struct likeness {
  uint64_t exact, folded;
  uint32_t told; /* the place, in which only differing numbers get a * */
} likeness;

static bool set_module(lh_places *places, lh_place *place) {
  lh_text module = {0};
  if (!lh_fold_module(&module, class_at(places, place->class_index))) return true;
  bool failed = module.failed;
  place->module = lh_strings_take(&places->texts, &module);
  return place->module != LH_NO_NUMBER || (places->texts.full && !failed);
}

/* A thousand objects, each of its own class, may be under any key of one table. Each key is then
** kept, as the only key of its class. These keys count as numbers if nothing else in the place has
** one. */
static bool liken(lh_places *places, lh_place *place, likeness *out) {
  lh_place_tree *tree = lh_tree_of(places);
  out->exact = out->folded = UINT64_MAX;
  if (place->class_index == UINT32_MAX) return true;
  uint64_t type = (uint64_t)class_at(places, place->class_index)->visible.type << 32;
  out->exact = type | place->at;
  uint32_t folded = lh_place_without_numbers(tree, place->at);
  if (folded == LH_NO_PLACE) return true;
  uint32_t keyless = lh_folded_at(places, place);
  bool is_left = keyless != place->at && lh_place_without_numbers(tree, keyless) == LH_NO_PLACE;
  out->told = is_left ? keyless : place->at;
  if (is_left) folded = keyless;
  out->folded = type | folded;
  return folded != LH_NO_NUMBER && set_module(places, place);
}

bool lh_count_alike(lh_map *seen, lh_map *n_alike, uint64_t exact, uint64_t folded) {
  uint32_t *known = lh_map_at(seen, exact);
  if (!known || *known != LH_NO_NUMBER) return known != NULL;
  *known = 1;
  return lh_map_count(n_alike, folded);
}

static void add_class(lh_place *place, const lh_place *other) {
  bool same_modules = place->module != LH_NO_NUMBER && place->module == other->module;
  place->several |= other->class_index != place->class_index && !same_modules;
  place->keyless |= other->keyless;
}

/* Gives `first` a * where joined places differ: `folded`, if more than numbers differ. */
static bool star_difference(lh_places *places, lh_place *first, uint32_t told, uint32_t folded) {
  uint32_t both = lh_place_of_both(lh_tree_of(places), first->at, told);
  first->at = both == LH_NO_PLACE ? folded : both;
  return both != LH_NO_NUMBER;
}

static bool join_alike(lh_places *places, const likeness *like, uint32_t *to) {
  lh_map seen = {0}, n_alike = {0}, first = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < places->n; i++)
    ok = like[i].folded == UINT64_MAX ||
         lh_count_alike(&seen, &n_alike, like[i].exact, like[i].folded);
  for (uint32_t i = 0; ok && i < places->n; i++) {
    lh_place *place = &places->list[i];
    to[i] = i;
    if (like[i].exact == UINT64_MAX) continue;
    place->joined =
        like[i].folded != UINT64_MAX && lh_map_get(&n_alike, like[i].folded) >= LH_MANY_NUMBERS;
    uint64_t key = place->joined ? like[i].folded : like[i].exact;
    uint32_t *known = lh_map_first(&first, key, i);
    ok = known != NULL;
    if (!ok) break;
    if (place->joined) place->at = like[i].told;
    to[i] = *known;
    add_class(&places->list[to[i]], place);
    if (place->joined)
      ok = star_difference(places, &places->list[to[i]], like[i].told, (uint32_t)key);
  }
  LH_FREE_MAPS(&seen, &n_alike, &first);
  return ok;
}

static uint64_t keyless_of(const lh_places *places, const lh_place *place) {
  uint32_t keyless = lh_folded_at(places, place);
  if (place->class_index == UINT32_MAX || keyless == place->at) return UINT64_MAX;
  return (uint64_t)place->class_index << 32 | keyless;
}

static bool drop_many_keys(lh_places *places) {
  lh_map n_alike = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < places->n; i++) {
    uint64_t keyless = keyless_of(places, &places->list[i]);
    ok = keyless == UINT64_MAX || lh_map_count(&n_alike, keyless);
  }
  for (size_t i = 0; ok && i < places->n; i++) {
    lh_place *place = &places->list[i];
    uint64_t keyless = keyless_of(places, place);
    if (keyless == UINT64_MAX || lh_map_get(&n_alike, keyless) < LH_MANY_NUMBERS) continue;
    place->keyless = true;
    place->at = (uint32_t)keyless;
    place->path = path_text_of(places, place->at);
    ok = place->path != LH_NO_NUMBER;
  }
  lh_map_free(&n_alike);
  return ok;
}

bool lh_join_places(lh_places *places) {
  if (!drop_many_keys(places)) return false;
  likeness *like = lh_alloc(places->n, sizeof *like);
  uint32_t *to = lh_alloc(places->n, sizeof *to);
  bool ok = like && to;
  for (size_t i = 0; ok && i < places->n; i++) ok = liken(places, &places->list[i], &like[i]);
  ok = ok && join_alike(places, like, to);
  for (size_t i = 0; ok && i < places->n; i++) {
    lh_place *place = &places->list[i];
    if (place->joined && to[i] == i) place->path = path_text_of(places, place->at);
    ok = place->path != LH_NO_NUMBER;
  }
  for (size_t i = 0; ok && i < places->n_spots; i++)
    if (places->of_spot[i] != LH_NO_NUMBER) places->of_spot[i] = to[places->of_spot[i]];
  LH_FREE_ALL(like, to);
  return ok;
}

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
  for (size_t i = 0; i < places->n_spots; i++) {
    uint32_t at = places->of_spot[i];
    lh_spot spot = places->folds->spots[i];
    lh_prints prints;
    if (at == LH_NO_NUMBER || places->list[at].class_index == UINT32_MAX) continue;
    if (!lh_fingerprints(&places->folds->folder, spot.state, class_at(places, spot.class_index),
                         &prints))
      return false;
    add_prints(&places->list[at], &prints, own[at], any[at]);
  }
  return true;
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
