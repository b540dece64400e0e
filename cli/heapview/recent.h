/*
** recent.h - the answers that were given last, by their questions' keys: who goes back and forth
** between pages has them at once, also where one took a pass over the heap. At most a thousand, and
** 8 MB of text; those that were not asked for longest go first.
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
  recent_answer list[RECENT_MOST]; /* what was asked for last comes first */
  size_t n, bytes;
} recent;

/* NULL: it is not there. Belongs to `r` until the next call. */
const recent_answer *recent_find(recent *r, const char *key);

/* Keeps copies, of what recent_find does not find. An answer that would drive out most others is
** not kept. */
void recent_keep(recent *r, const char *key, const char *text, size_t n);

void recent_forget(recent *r);

#endif
