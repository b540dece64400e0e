/*
** recent.c - an array in the order of use. Comparing a thousand keys takes some microseconds.
*/
#include "recent.h"

#include <stdlib.h>
#include <string.h>

enum { LARGE = RECENT_BYTES / 4 };

static size_t bytes_of(const recent_answer *a) {
  return strlen(a->key) + a->n + sizeof *a;
}

static void put_first(recent *r, size_t i) {
  recent_answer a = r->list[i];
  memmove(r->list + 1, r->list, i * sizeof *r->list);
  r->list[0] = a;
}

static void drop_last(recent *r) {
  recent_answer *a = &r->list[--r->n];
  r->bytes -= bytes_of(a);
  free(a->key);
  free(a->text);
}

const recent_answer *recent_find(recent *r, const char *key) {
  size_t i = 0;
  while (i < r->n && strcmp(r->list[i].key, key) != 0) i++;
  if (i == r->n) return NULL;
  put_first(r, i);
  return &r->list[0];
}

void recent_keep(recent *r, const char *key, const char *text, size_t n) {
  recent_answer a = {n <= LARGE ? strdup(key) : NULL, n <= LARGE ? malloc(n + 1) : NULL, n};
  if (a.key == NULL || a.text == NULL) { /* not kept: it is made anew when asked again */
    free(a.key);
    free(a.text);
    return;
  }
  memcpy(a.text, text, n);
  if (r->n == RECENT_MOST) drop_last(r);
  r->list[r->n++] = a;
  r->bytes += bytes_of(&a);
  put_first(r, r->n - 1);
  while (r->bytes > RECENT_BYTES) drop_last(r);
}

void recent_forget(recent *r) {
  while (r->n > 0) drop_last(r);
}
