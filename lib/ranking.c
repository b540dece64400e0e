/*
** ranking.c - keeps the best few of many candidates (see ranking.h).
** A heap has the worst kept candidate on top, so a candidate that is no better is rejected at once.
** lh_rank_put and lh_rank_take use the same heap with the order reversed. lh_sort_words is a radix
** sort: most words are small, so two or three rounds do.
*/
#include "ranking.h"

static int compare_ranked(const void *a, const void *b) {
  return lh_is_better(a, b) ? -1 : lh_is_better(b, a);
}

static void sift_down(lh_ranked *heap, size_t n) {
  size_t at = 0;
  lh_ranked moved = heap[0];
  for (size_t below; (below = 2 * at + 1) < n; at = below) {
    if (below + 1 < n && lh_is_better(&heap[below], &heap[below + 1])) below++;
    if (!lh_is_better(&moved, &heap[below])) break;
    heap[at] = heap[below];
  }
  heap[at] = moved;
}

static void sift_up(lh_ranked *heap, size_t at) {
  lh_ranked moved = heap[at];
  for (size_t above; at > 0; at = above) {
    above = (at - 1) / 2;
    if (!lh_is_better(&heap[above], &moved)) break;
    heap[at] = heap[above];
  }
  heap[at] = moved;
}

static bool append(lh_ranking *r, lh_ranked candidate) {
  if (!lh_grow(&r->list, r->n, &r->capacity, sizeof *r->list)) return false;
  r->list[r->n++] = candidate;
  return true;
}

bool lh_rank(lh_ranking *r, lh_ranked candidate) {
  if (r->limit > 0 && r->n == r->limit) {
    if (!lh_is_better(&candidate, &r->list[0])) return true;
    r->list[0] = candidate;
    sift_down(r->list, r->n);
    return true;
  }
  if (!append(r, candidate)) return false;
  if (r->limit > 0) sift_up(r->list, r->n - 1);
  return true;
}

void lh_sort_ranking(lh_ranking *r) {
  if (r->n > 1) qsort(r->list, r->n, sizeof *r->list, compare_ranked);
}

static lh_ranked turned(lh_ranked entry) {
  return (lh_ranked){UINT64_MAX - entry.key, UINT64_MAX - entry.tie, entry.what};
}

bool lh_rank_put(lh_ranking *r, lh_ranked candidate) {
  if (!append(r, turned(candidate))) return false;
  sift_up(r->list, r->n - 1);
  return true;
}

lh_ranked lh_rank_take(lh_ranking *r) {
  lh_ranked best = turned(r->list[0]);
  r->list[0] = r->list[--r->n];
  if (r->n > 0) sift_down(r->list, r->n);
  return best;
}

void lh_ranking_free(lh_ranking *r) {
  lh_free(r->list);
  *r = (lh_ranking){0};
}

/* One round of a stable radix sort. False: all digits are equal, `to` is unused. */
static bool sort_round(const uint64_t *from, uint64_t *to, size_t n, unsigned shift) {
  size_t counts[256] = {0}, before = 0;
  for (size_t i = 0; i < n; i++) counts[from[i] >> shift & 0xFF]++;
  if (counts[from[0] >> shift & 0xFF] == n) return false;
  for (size_t i = 0; i < 256; i++) {
    size_t here = counts[i];
    counts[i] = before;
    before += here;
  }
  for (size_t i = 0; i < n; i++) to[counts[from[i] >> shift & 0xFF]++] = from[i];
  return true;
}

static void sort_few(uint64_t *words, size_t n) {
  for (size_t i = 1; i < n; i++) {
    uint64_t word = words[i];
    size_t k = i;
    for (; k > 0 && words[k - 1] > word; k--) words[k] = words[k - 1];
    words[k] = word;
  }
}

bool lh_sort_words(uint64_t **words, size_t n) {
  enum { FEW = 64 };
  if (n <= FEW) {
    sort_few(*words, n);
    return true;
  }
  uint64_t *other = lh_alloc(n, sizeof *other), *sorted = *words, bits = 0;
  if (!other) return false;
  for (size_t i = 0; i < n; i++) bits |= sorted[i];
  for (unsigned shift = 0; shift < 64 && bits >> shift; shift += 8) {
    if (!sort_round(sorted, other, n, shift)) continue;
    uint64_t *swap = sorted;
    sorted = other;
    other = swap;
  }
  *words = sorted;
  lh_free(other);
  return true;
}
