/*
** thresholds.h - the limits of answers that a user can notice.
** graph/verdict.c decides when something counts as growing.
*/
#pragma once

#include <stdint.h>

enum {
  LH_LEAST_ELEMENTS = 16, /* of a table or of linked objects that are reported as a collection */
  LH_LEAST_CLUSTER = 8,   /* objects of one class that are reported as a list or a tree */
  LH_MOST_LEAKS = 5,      /* leaks that are reported before classes and objects */
  LH_LEAST_PART = 100,    /* a tree of owners shows changes of at least 1/100 of the greatest */
  LH_MOST_SHARES = 10,    /* and no share of a whole that changed by 1/10 of the part or less */
  LH_LEAST_UNTOLD = 16384 /* bytes of growth that an answer must explain */
};

/* A number counts as near a limit from half of the limit on. If the code also counts the
** collection's elements, a sixteenth is enough, since code that counts compares with the limit. A
** tenth over the limit is still within: code often adds an element before it removes one. An
** upvalue beside the collection may be the limit of other things: the collection must be nearly
** full. */
#define LH_NEAR_LIMIT 0.5
#define LH_NEAR_UPVALUE_LIMIT 0.9
#define LH_NEAR_COUNTED_LIMIT 0.0625
#define LH_OVER_LIMIT 1.1

/* A dominator whose largest part has this share continues in that part. Where no part has, many
** small objects begin. */
#define LH_GOES_ON 0.7

static inline uint64_t lh_least_of(double share, uint64_t reachable_bytes, uint64_t least) {
  uint64_t bytes = (uint64_t)(share * (double)reachable_bytes);
  return bytes > least ? bytes : least;
}

/* A group of new objects that is smaller, and that only one of two intervals brought, is noise. */
static inline uint64_t lh_least_group(uint64_t reachable_bytes) {
  enum { THOUSAND = 1000, MOST = 4096 };
  uint64_t share = reachable_bytes / THOUSAND;
  return share < MOST ? share : MOST;
}

/* The least bytes of a leak or a collection, and of a suspect. */
static inline uint64_t lh_least_leak(uint64_t reachable_bytes) {
  return lh_least_of(0.001, reachable_bytes, 1024);
}

/* The least bytes of a string that one snapshot names because it may have replaced shorter ones. */
static inline uint64_t lh_least_young_string(uint64_t reachable_bytes) {
  return lh_least_of(0.01, reachable_bytes, 4096);
}

static inline uint64_t lh_least_suspect(uint64_t reachable_bytes) {
  return lh_least_of(0.1, reachable_bytes, 16384);
}
