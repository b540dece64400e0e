/*
** spans.c - lists of spans of addresses.
*/
#include "spans.h"

bool lh_spans_add(lh_spans *spans, uint64_t start, uint64_t end, uint64_t gap) {
  lh_span *last = spans->n ? &spans->all[spans->n - 1] : NULL;
  if (last && start <= last->end + gap) {
    if (last->end < end) last->end = end;
    return true;
  }
  if (!lh_grow(&spans->all, spans->n, &spans->capacity, sizeof *spans->all)) return false;
  spans->all[spans->n++] = (lh_span){start, end};
  return true;
}

uint64_t lh_spans_bytes(const lh_spans *spans) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < spans->n; i++) bytes += spans->all[i].end - spans->all[i].start;
  return bytes;
}

bool lh_spans_have(const lh_spans *spans, uint64_t address, uint64_t n) {
  size_t at;
  LH_LOWER_BOUND(at, spans->n, spans->all[at].end <= address);
  const lh_span *span = &spans->all[at];
  return at < spans->n && span->start <= address && n <= span->end - address;
}

bool lh_spans_next_missing(const lh_spans *spans, const lh_spans *others, lh_spans_cursor *cursor,
                           lh_span *missing) {
  for (; cursor->span < spans->n; cursor->span++) {
    const lh_span *span = &spans->all[cursor->span], *other;
    if (cursor->from < span->start) cursor->from = span->start;
    while (cursor->from < span->end) {
      while (cursor->other < others->n && others->all[cursor->other].end <= cursor->from)
        cursor->other++;
      other = cursor->other < others->n ? &others->all[cursor->other] : NULL;
      if (other && other->start <= cursor->from) {
        cursor->from = other->end;
        continue;
      }
      *missing =
          (lh_span){cursor->from, other && other->start < span->end ? other->start : span->end};
      cursor->from = missing->end;
      return true;
    }
  }
  return false;
}

void lh_spans_free(lh_spans *spans) {
  lh_free(spans->all);
  *spans = (lh_spans){0};
}
