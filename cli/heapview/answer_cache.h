/*
** answer_cache.h - a cache of answers by their questions' keys, so that going back to a page is
** instant. At most 1000 answers and 8 MB of text; the least recently used are dropped.
*/
#pragma once

#include <stddef.h>

typedef struct cached_answer {
  char *key, *text;
  size_t n;
} cached_answer;

enum { CACHED_MOST = 1000, CACHED_BYTES = 8 << 20 };

typedef struct answer_cache {
  cached_answer list[CACHED_MOST]; /* last used first */
  size_t n, bytes;
} answer_cache;

/* NULL: not there. Valid until the next call. */
const cached_answer *answer_cache_find(answer_cache *r, const char *key);

/* Copies an answer that is not in the cache. An answer above a quarter of the limit is not kept. */
void answer_cache_keep(answer_cache *r, const char *key, const char *text, size_t n);

void answer_cache_clear(answer_cache *r);
