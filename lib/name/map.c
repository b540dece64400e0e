/* map.c - hash tables (see map.h). */
#include "map.h"

enum { FIRST_SLOTS = 16, FIRST_RANDOM_SLOTS = 128 };

/* Without the seed, from which the factor is made, nobody finds two keys that collide. */
static inline uint64_t hash_of(const lh_map *map, const uint64_t *words, size_t n_words) {
  uint64_t hash = map->seed;
  for (size_t i = 0; i < n_words; i++) {
    unsigned __int128 product = (unsigned __int128)(hash ^ words[i]) * map->factor;
    hash = (uint64_t)product ^ (uint64_t)(product >> 64);
  }
  return hash;
}

static inline bool equals_key(const lh_map *map, uint32_t number, const uint64_t *words,
                              size_t n_words) {
  const uint64_t *key = map->keys + (number - 1) * n_words;
  for (size_t i = 0; i < n_words; i++)
    if (key[i] != words[i]) return false;
  return true;
}

static inline uint32_t *find_slot(const lh_map *map, const uint64_t *words, size_t n_words) {
  size_t at = (size_t)hash_of(map, words, n_words) & (map->n_slots - 1);
  while (map->slots[at] != 0 && !equals_key(map, map->slots[at], words, n_words))
    at = (at + 1) & (map->n_slots - 1);
  return &map->slots[at];
}

/* A map of few keys has a known seed: 32 keys that collide cost little, and a random seed costs
** more than they do. */
static void choose_seed(lh_map *map, size_t n_slots) {
  if (n_slots != FIRST_SLOTS && n_slots != FIRST_RANDOM_SLOTS) return;
  map->seed = n_slots == FIRST_SLOTS ? 0 : lh_random_seed();
  map->factor = lh_hash(&map->seed, sizeof map->seed, 0) | 1;
}

/* Doubles the slots, of which keys take at most half. On failure the map is unchanged. */
static bool grow_slots(lh_map *map, size_t n_words) {
  size_t n_slots = map->n_slots ? map->n_slots * 2 : FIRST_SLOTS;
  if (n_slots > UINT32_MAX) return false;
  uint32_t *slots = lh_alloc_zeroed(n_slots, sizeof *slots);
  if (!slots) return false;
  choose_seed(map, n_slots);
  lh_free(map->slots);
  map->slots = slots;
  map->n_slots = n_slots;
  for (uint32_t i = 0; i < map->n; i++) *find_slot(map, map->keys + i * n_words, n_words) = i + 1;
  return true;
}

/* Keys and values grow by half, slots by the double: a big map has less unused room. */
static bool make_room(lh_map *map, size_t n_words) {
  return (map->n * 2 < map->n_slots || grow_slots(map, n_words)) &&
         lh_grow(&map->keys, map->n, &map->key_room, n_words * sizeof *map->keys) &&
         lh_grow(&map->values, map->n, &map->value_room, sizeof *map->values);
}

static inline uint32_t number_under(const lh_map *map, const uint64_t *words, size_t n_words) {
  if (map->n_slots == 0) return LH_NO_NUMBER;
  uint32_t number = *find_slot(map, words, n_words);
  return number ? map->values[number - 1] : LH_NO_NUMBER;
}

static inline uint32_t *value_under(lh_map *map, const uint64_t *words, size_t n_words) {
  bool has_room = map->n * 2 < map->n_slots && map->n < map->value_room;
  if (!has_room && !make_room(map, n_words)) return NULL;
  uint32_t *slot = find_slot(map, words, n_words);
  if (*slot == 0) {
    memcpy(map->keys + map->n * n_words, words, n_words * sizeof *words);
    map->values[map->n] = LH_NO_NUMBER;
    *slot = (uint32_t)++map->n;
  }
  return &map->values[*slot - 1];
}

/* Most keys have one word, so these functions are compiled separately. */
uint32_t lh_map_get(const lh_map *map, uint64_t key) {
  return number_under(map, &key, 1);
}

uint32_t *lh_map_at(lh_map *map, uint64_t key) {
  return value_under(map, &key, 1);
}

void lh_map_prefetch(const lh_map *map, uint64_t key) {
  if (map->n_slots > 0) __builtin_prefetch(&map->slots[hash_of(map, &key, 1) & (map->n_slots - 1)]);
}

bool lh_map_count(lh_map *map, uint64_t key) {
  uint32_t *count = lh_map_at(map, key);
  if (count) *count = *count == LH_NO_NUMBER ? 1 : *count + 1;
  return count != NULL;
}

static uint32_t numbered(const lh_map *map, uint32_t *value) {
  return value ? *value = (uint32_t)(value - map->values) : LH_NO_NUMBER;
}

uint32_t lh_map_number(lh_map *map, uint64_t key) {
  return numbered(map, lh_map_at(map, key));
}

uint32_t lh_map_number_words(lh_map *map, const uint64_t *words, size_t n_words) {
  return numbered(map, lh_map_at_words(map, words, n_words));
}

uint32_t *lh_map_first(lh_map *map, uint64_t key, uint32_t value) {
  uint32_t *first = lh_map_at(map, key);
  if (first && *first == LH_NO_NUMBER) *first = value;
  return first;
}

uint32_t lh_map_get_words(const lh_map *map, const uint64_t *words, size_t n_words) {
  return number_under(map, words, n_words);
}

uint32_t *lh_map_at_words(lh_map *map, const uint64_t *words, size_t n_words) {
  return value_under(map, words, n_words);
}

void lh_map_free(lh_map *map) {
  LH_FREE_ALL(map->keys, map->values, map->slots);
  *map = (lh_map){0};
}

void lh_free_maps(lh_map *const *maps, size_t n) {
  for (size_t i = 0; i < n; i++) lh_map_free(maps[i]);
}

enum { KEY_WORDS = 2 };

/* LH_NO_NUMBER and a free key if the string is new. The key is length and hash; if another string
** has the hash, the next free one. */
static uint32_t find_string(const lh_strings *strings, const char *bytes, size_t n,
                            uint64_t key[KEY_WORDS]) {
  key[0] = n;
  for (key[1] = lh_hash(bytes, n, strings->seed);; key[1]++) {
    uint32_t i = lh_map_get_words(&strings->by_key, key, KEY_WORDS);
    if (i == LH_NO_NUMBER || n == 0 || memcmp(strings->texts[i], bytes, n) == 0) return i;
  }
}

uint32_t lh_strings_add(lh_strings *strings, const char *bytes, size_t n) {
  uint64_t key[KEY_WORDS];
  if (strings->n == 0) strings->seed = lh_random_seed();
  uint32_t known = find_string(strings, bytes, n, key);
  if (known != LH_NO_NUMBER) return known;
  strings->full |= strings->most_bytes > 0 && strings->bytes + n > strings->most_bytes;
  char *copy = strings->full ? NULL : lh_alloc(n + 1, 1);
  if (!copy || !lh_grow(&strings->texts, strings->n, &strings->capacity, sizeof *strings->texts)) {
    lh_free(copy);
    return LH_NO_NUMBER;
  }
  if (n) memcpy(copy, bytes, n);
  copy[n] = '\0';
  uint32_t *number = lh_map_at_words(&strings->by_key, key, KEY_WORDS);
  if (!number) {
    lh_free(copy);
    return LH_NO_NUMBER;
  }
  strings->bytes += n;
  strings->texts[strings->n] = copy;
  *number = (uint32_t)strings->n++;
  return *number;
}

void lh_strings_free(lh_strings *strings) {
  for (size_t i = 0; i < strings->n; i++) lh_free(strings->texts[i]);
  lh_free(strings->texts);
  lh_map_free(&strings->by_key);
  *strings = (lh_strings){0};
}

uint32_t lh_shared_name(lh_shared_names *names, const char *name) {
  if (!name) return 0;
  uint32_t *known = lh_map_at(&names->by_address, (uintptr_t)name);
  if (known && *known == LH_NO_NUMBER) *known = lh_strings_add(&names->strings, name, strlen(name));
  return known && *known != LH_NO_NUMBER ? *known + 1 : LH_NO_NUMBER;
}

void lh_shared_names_free(lh_shared_names *names) {
  lh_map_free(&names->by_address);
  lh_strings_free(&names->strings);
}
