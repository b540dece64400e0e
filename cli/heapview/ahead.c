/*
** ahead.c - what pages ask first. The first opening of a picture takes a pass over the heap, of
** which an index is kept: so the server asks for these itself while nobody else asks.
**
** What the first page tells comes first, then indexes, each of which serves those after it: who
** asks meanwhile waits for one step, of ten million objects 0.6 s at most but for what leaks and
** for places.
*/
#include <string.h>

#include "heapview.h"

static const char *const pictures[] = {"treemap",          /* lists, what dominates what */
                                       "timeline",         /* when objects were made */
                                       "treemap?by=place", /* and the flame graph */
                                       "map",
                                       "treemap?by=class",
                                       "treemap?by=module"};

/* Whatever is asked about, the index is of all: so the first object will do. */
static char *referrers_key(const view *v) {
  char *key = NULL;
  size_t size;
  const lh_snapshot *last = v->snapshots[v->n - 1];
  if (lh_object_count(last) == 0) return NULL;
  FILE *out = cli_open_text(&key, &size);
  fprintf(out, "referrers?at=%s&limit=1", lh_address_text(last, 1).text);
  cli_close_text(out);
  return key;
}

char *view_ahead(const view *v, size_t i) {
  const size_t n = v->n > 0 ? sizeof pictures / sizeof *pictures : 0;
  for (const char *const *key = view_verdict(v); *key != NULL; key++)
    if (i-- == 0) return cli_must(strdup(*key));
  if (i < n) return cli_must(strdup(pictures[i]));
  return n > 0 && i == n ? referrers_key(v) : NULL;
}
