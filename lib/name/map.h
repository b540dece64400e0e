/*
** map.h - two small hash tables that names and comparisons need: from 64-bit keys to 32-bit
** numbers, and from strings to numbers 0, 1, 2 ... (each string is kept once). Open addressing, a
** power of two of slots, at most half full. Private to the library.
*/
#ifndef LUAHEAP_MAP_H
#define LUAHEAP_MAP_H

#include "base.h"

#define LH_NO_NUMBER UINT32_MAX

/* All zero is an empty map. Keys are any but UINT64_MAX. */
typedef struct lh_map {
  uint64_t *keys;
  uint32_t *values;
  size_t n, slots;
} lh_map;

/* The number under a key, or LH_NO_NUMBER. */
uint32_t lh_map_get(const lh_map *map, uint64_t key);

/* Where the number under a key is kept (LH_NO_NUMBER at first), until the next call; NULL when out
** of memory. */
uint32_t *lh_map_at(lh_map *map, uint64_t key);

void lh_map_free(lh_map *map);

/* All zero is an empty set of strings. `texts` are NUL-terminated and stay where they are. */
typedef struct lh_strings {
  char **texts;
  size_t n, capacity;
  uint64_t bytes, most_bytes; /* of all; 0: as many as there may be */
  bool full;                  /* one was refused because of most_bytes */
  lh_map by_hash;
} lh_strings;

/* The number of a string, which is added if it is new; LH_NO_NUMBER when out of memory or full. */
uint32_t lh_strings_add(lh_strings *strings, const char *bytes, size_t n);

void lh_strings_free(lh_strings *strings);

static inline uint64_t lh_mix(uint64_t key) {
  key *= 0x9E3779B97F4A7C15u;
  return key ^ key >> 29;
}

#endif
