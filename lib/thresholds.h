/*
** thresholds.h - from which size on something is told: limits of answers that a user can notice.
** When something counts as growing stands in graph/verdict.c.
*/
#ifndef LUAHEAP_THRESHOLDS_H
#define LUAHEAP_THRESHOLDS_H

#include <stdint.h>

enum {
  LH_LEAST_ELEMENTS = 16, /* of a table, or of linked objects, that are told as a collection */
  LH_LEAST_CLUSTER = 8,   /* objects of one class that are told as a list or a tree */
  LH_MOST_LEAKS = 5,      /* leaks that are told before classes and objects */
};

/* The largest part of its dominator that goes on: the place where less does is where many small
** things hang. */
#define LH_GOES_ON 0.7

static inline uint64_t lh_least_of(double share, uint64_t reachable_bytes, uint64_t least) {
  uint64_t bytes = (uint64_t)(share * (double)reachable_bytes);
  return bytes > least ? bytes : least;
}

/* The least bytes of a leak and of a collection; and of a suspect. */
static inline uint64_t lh_least_leak(uint64_t reachable_bytes) {
  return lh_least_of(0.001, reachable_bytes, 1024);
}

static inline uint64_t lh_least_suspect(uint64_t reachable_bytes) {
  return lh_least_of(0.1, reachable_bytes, 16384);
}

#endif
