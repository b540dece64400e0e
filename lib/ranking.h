/*
** ranking.h - the best few of many, or each time the best of those that are left.
*/
#ifndef LUAHEAP_RANKING_H
#define LUAHEAP_RANKING_H

#include "base.h"

/* Great keys are better, and among equal ones small ties. */
typedef struct lh_ranked {
  uint64_t key, tie;
  uint32_t what;
} lh_ranked;

/* All zero but for the limit is an empty one. */
typedef struct lh_ranking {
  lh_ranked *list;
  size_t n, limit, capacity; /* limit 0: all */
} lh_ranking;

/* Keeps the best `limit` of all that it is given: with a limit list[0] is the worst of them, until
** they are sorted, the best first. False: out of memory. O(log limit). */
bool lh_rank(lh_ranking *ranking, lh_ranked candidate);

static inline bool lh_is_better(const lh_ranked *a, const lh_ranked *b) {
  return a->key != b->key ? a->key > b->key : a->tie < b->tie;
}

/* Would it be kept? O(1). */
static inline bool lh_is_better_ranked(const lh_ranking *r, const lh_ranked *candidate) {
  return r->limit == 0 || r->n < r->limit || lh_is_better(candidate, &r->list[0]);
}

void lh_sort_ranking(lh_ranking *ranking);

/* In a ranking that is used by these two alone: takes the best out of it, of which there is one. */
bool lh_rank_put(lh_ranking *ranking, lh_ranked candidate);
lh_ranked lh_rank_take(lh_ranking *ranking);

void lh_ranking_free(lh_ranking *ranking);

#endif
