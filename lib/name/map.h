/*
** map.h - two hash tables that names and comparisons need: from keys of one or more 64-bit words to
** 32-bit numbers, and from strings to numbers 0, 1, 2 ... (each string is kept once). Private to
** the library.
**
** Any key is legal, and keys are compared, whatever they hash to: most of them come from a file.
** The hash has a seed that is new for each table, so that nobody can prepare a file whose keys meet
** in one place. No result depends on it.
*/
#ifndef LUAHEAP_MAP_H
#define LUAHEAP_MAP_H

#include "base.h"

#define LH_NO_NUMBER UINT32_MAX

/* All zero is an empty map. The keys stand in the order of their arrival, and the slots hold their
** numbers, at most half of them: open addressing. 20 to 40 bytes a key of one word. */
typedef struct lh_map {
  uint64_t *keys; /* of one word each, or of as many as all have */
  uint32_t *values;
  uint32_t *slots; /* the number of a key, counted from 1; 0: empty */
  size_t n, n_slots;
  uint64_t seed, factor;
} lh_map;

/* The number under a key, or LH_NO_NUMBER. */
uint32_t lh_map_get(const lh_map *map, uint64_t key);

/* Where the number under a key is kept (LH_NO_NUMBER at first), until the next call; NULL when out
** of memory. */
uint32_t *lh_map_at(lh_map *map, uint64_t key);

/* Adds 1 to the number under a key, 0 at first. False: out of memory. */
bool lh_map_count(lh_map *map, uint64_t key);

/* As the first two, for keys of several words, of as many in all calls for one map. */
uint32_t lh_map_get_words(const lh_map *map, const uint64_t *words, size_t n_words);
uint32_t *lh_map_at_words(lh_map *map, const uint64_t *words, size_t n_words);

void lh_map_free(lh_map *map);

/* lh_map_free of each of several. */
void lh_free_maps(lh_map *const *maps, size_t n);
#define LH_FREE_MAPS(...) \
  lh_free_maps((lh_map *[]){__VA_ARGS__}, sizeof((lh_map *[]){__VA_ARGS__}) / sizeof(lh_map *))

typedef uint32_t lh_text_id; /* of a string in a set; LH_NO_NUMBER: none */

/* All zero is an empty set of strings, of any bytes. `texts` have a NUL behind them and stay where
** they are. */
typedef struct lh_strings {
  char **texts;
  size_t n, capacity;
  uint64_t bytes, most_bytes; /* of all; 0: as many as there may be */
  bool full;                  /* one was refused because of most_bytes */
  uint64_t seed;
  lh_map by_key;
} lh_strings;

/* The number of a string, which is added if it is new; LH_NO_NUMBER when out of memory or full. */
uint32_t lh_strings_add(lh_strings *strings, const char *bytes, size_t n);

void lh_strings_free(lh_strings *strings);

/* All zero is none. Names that many refer to and that stay as they are: each address is looked at
** once, since 16 million sites may share a name of 4 KB. */
typedef struct lh_shared_names {
  lh_map by_address;
  lh_strings strings;
} lh_shared_names;

/* The number of a name, the same for equal names, counted from 1; 0 of NULL; LH_NO_NUMBER when out
** of memory. */
uint32_t lh_shared_name(lh_shared_names *names, const char *name);

void lh_shared_names_free(lh_shared_names *names);

#endif
