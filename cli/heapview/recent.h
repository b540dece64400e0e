/*
** recent.h - a cache of answers by their questions' keys, so that going back to a page is instant.
** At most 1000 answers and 8 MB of text; the least recently used are dropped.
*/
#ifndef LUAHEAP_HEAPVIEW_RECENT_H
#define LUAHEAP_HEAPVIEW_RECENT_H

#include <stddef.h>

typedef struct recent_answer {
  char *key, *text;
  size_t n;
} recent_answer;

enum { RECENT_MOST = 1000, RECENT_BYTES = 8 << 20 };

typedef struct recent {
  recent_answer list[RECENT_MOST]; /* last used first */
  size_t n, bytes;
} recent;

/* NULL: not there. Valid until the next call. */
const recent_answer *recent_find(recent *r, const char *key);

/* Copies an answer that is not in the cache. An answer above a quarter of the limit is not kept. */
void recent_keep(recent *r, const char *key, const char *text, size_t n);

void recent_forget(recent *r);

#endif
