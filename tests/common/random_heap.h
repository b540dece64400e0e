/*
** random_heap.h - small random heaps of tables (weak ones, too) and strings, as files in memory.
**
** What is asked of a snapshot as though edges were gone can so be asked of one that never had them:
** random_heap_cut takes edges, random_heap_remove an object out of the description.
*/
#pragma once

#include "forged_file.h"

enum { RANDOM_MOST_OBJECTS = 40, RANDOM_MOST_ENTRIES = 5, RANDOM_MOST_ROOTS = 4 };

/* Objects are told by their ids in the snapshot; 0: none, and a number stands there. */
typedef struct random_heap {
  uint32_t n; /* ids 2 to n; 1 is a mark */
  struct {
    bool is_string;
    unsigned flags; /* LH_FLAG_WEAK_* */
    lh_id metatable;
    uint32_t n_entries;
    struct {
      lh_id key, value;
    } entry[RANDOM_MOST_ENTRIES]; /* a key that is a number is its place, from 1 on */
  } object[RANDOM_MOST_OBJECTS + 1];
  lh_id root[RANDOM_MOST_ROOTS];
  uint32_t n_stacks; /* of a program that was tracked (forge_track); 0: it was not */
} random_heap;

uint32_t random_below(uint64_t *random, uint32_t n); /* splitmix64 */

random_heap random_heap_make(uint64_t seed);
void random_heap_cut(random_heap *h, const lh_edge *edges, size_t n);
void random_heap_remove(random_heap *h, lh_id id);

/* The snapshot, to be closed before `file` is freed by forge_free. */
lh_snapshot *random_heap_open(const random_heap *h, forge *file);
