/*
** map.c - hash tables (see map.h).
*/
#include "map.h"

#include <string.h>

static size_t find_slot(const lh_map *map, uint64_t key) {
  size_t at = (size_t)(lh_mix(key) * 0x9E3779B97F4A7C15u >> 20) & (map->slots - 1);
  while (map->keys[at] != UINT64_MAX && map->keys[at] != key) at = (at + 1) & (map->slots - 1);
  return at;
}

uint32_t lh_map_get(const lh_map *map, uint64_t key) {
  if (map->slots == 0) return LH_NO_NUMBER;
  size_t at = find_slot(map, key);
  return map->keys[at] == key ? map->values[at] : LH_NO_NUMBER;
}

static bool rehash(lh_map *map) {
  lh_map bigger = {.n = map->n, .slots = map->slots ? map->slots * 2 : 16};
  bigger.keys = lh_alloc(bigger.slots, sizeof *bigger.keys);
  bigger.values = lh_alloc(bigger.slots, sizeof *bigger.values);
  if (!bigger.keys || !bigger.values) {
    lh_map_free(&bigger);
    return false;
  }
  memset(bigger.keys, 0xFF, bigger.slots * sizeof *bigger.keys);
  for (size_t i = 0; i < map->slots; i++) {
    if (map->keys[i] == UINT64_MAX) continue;
    size_t at = find_slot(&bigger, map->keys[i]);
    bigger.keys[at] = map->keys[i];
    bigger.values[at] = map->values[i];
  }
  lh_map_free(map);
  *map = bigger;
  return true;
}

uint32_t *lh_map_at(lh_map *map, uint64_t key) {
  if (map->n * 2 >= map->slots && !rehash(map)) return NULL;
  size_t at = find_slot(map, key);
  if (map->keys[at] != key) {
    map->keys[at] = key;
    map->values[at] = LH_NO_NUMBER;
    map->n++;
  }
  return &map->values[at];
}

void lh_map_free(lh_map *map) {
  lh_free(map->keys);
  lh_free(map->values);
  *map = (lh_map){0};
}

/* The second of two strings with one hash takes the next hash that is free. */
uint32_t lh_strings_add(lh_strings *strings, const char *bytes, size_t n) {
  uint64_t hash = lh_hash(bytes, n, 0) >> 1; /* never UINT64_MAX */
  for (;; hash++) {
    uint32_t i = lh_map_get(&strings->by_hash, hash);
    if (i == LH_NO_NUMBER) break;
    if (strlen(strings->texts[i]) == n && memcmp(strings->texts[i], bytes, n) == 0) return i;
  }
  strings->full |= strings->most_bytes > 0 && strings->bytes + n > strings->most_bytes;
  char *copy = strings->full ? NULL : lh_alloc(n + 1, 1);
  if (!copy || !lh_grow(&strings->texts, strings->n, &strings->capacity, sizeof *strings->texts)) {
    lh_free(copy);
    return LH_NO_NUMBER;
  }
  if (n) memcpy(copy, bytes, n);
  copy[n] = '\0';
  uint32_t *number = lh_map_at(&strings->by_hash, hash);
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
  lh_map_free(&strings->by_hash);
  *strings = (lh_strings){0};
}
