/*
** spans.h - lists of spans of addresses, ascending, which do not touch.
*/
#ifndef LUAHEAP_OUTSIDE_SPANS_H
#define LUAHEAP_OUTSIDE_SPANS_H

#include "base.h"

typedef struct lh_span {
  uint64_t start, end;
} lh_span;

typedef struct lh_spans {
  lh_span *all;
  size_t n, capacity;
} lh_spans;

/* Adds one that starts behind the start of the last; with at most `gap` bytes between, they become
** one. False: out of memory. */
bool lh_spans_add(lh_spans *spans, uint64_t start, uint64_t end, uint64_t gap);

uint64_t lh_spans_bytes(const lh_spans *spans);

/* Is [address, address + n) in one of them? O(log n). */
bool lh_spans_have(const lh_spans *spans, uint64_t address, uint64_t n);

/* What `spans` has and `others` have not: a part at each call, the cursor being zero at first. */
typedef struct lh_spans_cursor {
  size_t span, other;
  uint64_t from;
} lh_spans_cursor;
bool lh_spans_next_missing(const lh_spans *spans, const lh_spans *others, lh_spans_cursor *cursor,
                           lh_span *missing);

void lh_spans_free(lh_spans *spans);

#endif
