/*
** map.h - hash tables from 64-bit words to 32-bit numbers, and from strings to numbers 0, 1, 2 ...
**
** Private to the library. Any key is legal, because most come from a file. Each table
** of more than 32 keys has a new random seed, so that nobody can prepare a file whose keys collide.
** No result depends on it.
*/
#pragma once

#include "base.h"

#define LH_NO_NUMBER UINT32_MAX

/* All zero is empty. Keys are in order of insertion; `slots` is an open-addressing table of their
** numbers, at most half full. 20 to 40 bytes for a key of one word. */
typedef struct lh_map {
  uint64_t *keys; /* one word each, or the same number of words each */
  uint32_t *values;
  uint32_t *slots; /* number of the key, from 1 on; 0: empty */
  size_t n, n_slots, key_room, value_room;
  uint64_t seed, factor;
} lh_map;

uint32_t lh_map_get(const lh_map *map, uint64_t key);

/* A new key has LH_NO_NUMBER. The pointer is valid until the next call. */
uint32_t *lh_map_at(lh_map *map, uint64_t key);

/* Fetches the slot of a key that will be looked up soon. */
void lh_map_prefetch(const lh_map *map, uint64_t key);

/* Adds 1; a new key starts at 0. */
bool lh_map_count(lh_map *map, uint64_t key);

/* Numbers the keys of a map 0, 1, 2 ... LH_NO_NUMBER: out of memory. */
uint32_t lh_map_number(lh_map *map, uint64_t key);
uint32_t lh_map_number_words(lh_map *map, const uint64_t *words, size_t n_words);

/* Gives a new key this value. NULL: out of memory. */
uint32_t *lh_map_first(lh_map *map, uint64_t key, uint32_t value);

/* For keys of several words: as many for all keys of a map. */
uint32_t lh_map_get_words(const lh_map *map, const uint64_t *words, size_t n_words);
uint32_t *lh_map_at_words(lh_map *map, const uint64_t *words, size_t n_words);

void lh_map_free(lh_map *map);

void lh_free_maps(lh_map *const *maps, size_t n);
#define LH_FREE_MAPS(...) \
  lh_free_maps((lh_map *[]){__VA_ARGS__}, sizeof((lh_map *[]){__VA_ARGS__}) / sizeof(lh_map *))

typedef uint32_t lh_text_id; /* of a string in a set; LH_NO_NUMBER: none */

/* All zero is empty. A text may have any bytes, ends with a NUL and never moves. */
typedef struct lh_strings {
  char **texts;
  size_t n, capacity;
  uint64_t bytes, most_bytes; /* of all texts; limit for `bytes`, 0: no limit */
  bool full;                  /* a string was refused because of most_bytes */
  uint64_t seed;
  lh_map by_key;
} lh_strings;

/* Adds the string if it is new. LH_NO_NUMBER: out of memory, or full. */
uint32_t lh_strings_add(lh_strings *strings, const char *bytes, size_t n);

void lh_strings_free(lh_strings *strings);

/* All zero is empty. For long names that many share: each address is read only once, because 16
** million sites may share a name of 4 KB. */
typedef struct lh_shared_names {
  lh_map by_address;
  lh_strings strings;
} lh_shared_names;

/* Numbers start at 1; equal names have equal numbers. NULL has 0. */
uint32_t lh_shared_name(lh_shared_names *names, const char *name);

void lh_shared_names_free(lh_shared_names *names);
