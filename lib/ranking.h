/* ranking.h - keeps the best few of many candidates, or takes the best one each time; sorts. */
#pragma once

#include "base.h"

/* A greater key is better; among equal keys a smaller tie is. */
typedef struct lh_ranked {
  uint64_t key, tie;
  uint32_t what;
} lh_ranked;

/* An empty ranking is all zero but for the limit. */
typedef struct lh_ranking {
  lh_ranked *list;
  size_t n, limit, capacity; /* limit 0: keep all */
} lh_ranking;

/* Keeps the best `limit` candidates. With a limit list[0] is the worst of them until
** lh_sort_ranking sorts them, the best first. False: out of memory. O(log limit). */
bool lh_rank(lh_ranking *ranking, lh_ranked candidate);

static inline bool lh_is_better(const lh_ranked *a, const lh_ranked *b) {
  return a->key != b->key ? a->key > b->key : a->tie < b->tie;
}

void lh_sort_ranking(lh_ranking *ranking);

/* A priority queue, in a ranking that only these two functions use. lh_rank_take removes and
** returns the best; the queue must not be empty. */
bool lh_rank_put(lh_ranking *ranking, lh_ranked candidate);
lh_ranked lh_rank_take(lh_ranking *ranking);

void lh_ranking_free(lh_ranking *ranking);

/* Sorts, the smallest first. *words may be replaced by another block. False: out of memory. O(n),
** and a second block. */
bool lh_sort_words(uint64_t **words, size_t n);
