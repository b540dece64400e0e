/*
** answer_cache.c - an array in the order of use. Comparing a thousand keys takes some microseconds.
*/
#include "answer_cache.h"

#include <stdlib.h>
#include <string.h>

enum { LARGE = CACHED_BYTES / 4 };

static size_t answer_bytes(const cached_answer *a) {
  return strlen(a->key) + a->n + sizeof *a;
}

static void put_first(answer_cache *r, size_t i) {
  cached_answer a = r->list[i];
  memmove(r->list + 1, r->list, i * sizeof *r->list);
  r->list[0] = a;
}

static void drop_last(answer_cache *r) {
  cached_answer *a = &r->list[--r->n];
  r->bytes -= answer_bytes(a);
  free(a->key);
  free(a->text);
}

const cached_answer *answer_cache_find(answer_cache *r, const char *key) {
  size_t i = 0;
  while (i < r->n && strcmp(r->list[i].key, key) != 0) i++;
  if (i == r->n) return NULL;
  put_first(r, i);
  return &r->list[0];
}

void answer_cache_keep(answer_cache *r, const char *key, const char *text, size_t n) {
  cached_answer a = {n <= LARGE ? strdup(key) : NULL, n <= LARGE ? malloc(n + 1) : NULL, n};
  if (a.key == NULL || a.text == NULL) { /* not kept: it is made anew when asked again */
    free(a.key);
    free(a.text);
    return;
  }
  memcpy(a.text, text, n);
  if (r->n == CACHED_MOST) drop_last(r);
  r->list[r->n++] = a;
  r->bytes += answer_bytes(&a);
  put_first(r, r->n - 1);
  while (r->bytes > CACHED_BYTES) drop_last(r);
}

void answer_cache_clear(answer_cache *r) {
  while (r->n > 0) drop_last(r);
}
