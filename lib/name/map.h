/*
** map.h - two hash tables: from 64-bit words to 32-bit numbers, and from strings to numbers.
** Private to the library.
**
** Keys may have one or more words. Strings get the numbers 0, 1, 2 ... Any key is legal, because
** most come from a file. Each table has a new random seed, so that nobody can prepare a file whose
** keys collide. No result depends on the seed.
*/
#ifndef LUAHEAP_MAP_H
#define LUAHEAP_MAP_H

#include "base.h"

#define LH_NO_NUMBER UINT32_MAX

/* All zero is an empty map. Keys are in order of insertion. The slots are an open-addressing table
** of key numbers, at most half full. 20 to 40 bytes for a key of one word. */
typedef struct lh_map {
  uint64_t *keys; /* one word each, or the same number of words each */
  uint32_t *values;
  uint32_t *slots; /* number of the key, from 1 on; 0: empty */
  size_t n, n_slots;
  uint64_t seed, factor;
} lh_map;

uint32_t lh_map_get(const lh_map *map, uint64_t key);

/* The place of the number under a key, valid until the next call. A new key has LH_NO_NUMBER. NULL:
** out of memory. */
uint32_t *lh_map_at(lh_map *map, uint64_t key);

/* Adds 1 to the number under a key; a new key has 0. False: out of memory. */
bool lh_map_count(lh_map *map, uint64_t key);

/* The same for keys of several words; all keys of a map must have the same number of words. */
uint32_t lh_map_get_words(const lh_map *map, const uint64_t *words, size_t n_words);
uint32_t *lh_map_at_words(lh_map *map, const uint64_t *words, size_t n_words);

void lh_map_free(lh_map *map);

void lh_free_maps(lh_map *const *maps, size_t n);
#define LH_FREE_MAPS(...) \
  lh_free_maps((lh_map *[]){__VA_ARGS__}, sizeof((lh_map *[]){__VA_ARGS__}) / sizeof(lh_map *))

typedef uint32_t lh_text_id; /* of a string in a set; LH_NO_NUMBER: none */

/* All zero is an empty set of strings of any bytes. Each text ends with a NUL and never moves. */
typedef struct lh_strings {
  char **texts;
  size_t n, capacity;
  uint64_t bytes, most_bytes; /* of all texts; limit for `bytes`, 0: no limit */
  bool full;                  /* a string was refused because of most_bytes */
  uint64_t seed;
  lh_map by_key;
} lh_strings;

/* The number of a string; adds a new string. LH_NO_NUMBER: out of memory, or full. */
uint32_t lh_strings_add(lh_strings *strings, const char *bytes, size_t n);

void lh_strings_free(lh_strings *strings);

/* All zero is empty. For long names that many objects share: each address is read only once,
** because 16 million sites may share a name of 4 KB. */
typedef struct lh_shared_names {
  lh_map by_address;
  lh_strings strings;
} lh_shared_names;

/* The number of a name, from 1 on; equal names have equal numbers. 0 for NULL. LH_NO_NUMBER: out of
** memory. */
uint32_t lh_shared_name(lh_shared_names *names, const char *name);

void lh_shared_names_free(lh_shared_names *names);

#endif
