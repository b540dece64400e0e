/*
** junction.c - where on the way to an object several independent ways come together.
**
** An object that one reference holds may still outlive most cuts: what refers to it may be held in
** several ways. All paths to it run through its dominators. Going up from one to the next, the
** first that more than one reference enters, from outside of what it dominates, is where ways come
** together; below it all is one chain. Two that enter may still be one (an entry and its key), so
** independent.c has the last word, for a few of them at most. Which references enter is known by
** the index of referrers where that was made, or else by one pass over all edges; 5 bytes an
** object.
*/
#include "graph.h"

#include <string.h>

/* So often two references were one: who asks of a longer chain of such is not told. */
enum { MOST_TRIES = 8 };

/* The dominators of `id`, itself the first. */
typedef struct chain {
  const lh_snapshot *snapshot;
  uint32_t length;
  uint32_t *entering; /* of each: how many references enter it from outside */
  uint32_t *number; /* of each object the nearest in the chain that dominates it, from 1 on, behind
                         the last the root; 0: that was not asked yet */
  uint8_t *is_on;   /* of each object */
} chain;

static void free_chain(chain *c) {
  lh_free(c->entering);
  lh_free(c->number);
  lh_free(c->is_on);
}

/* False: out of memory. */
static bool number_chain(chain *c, lh_id id) {
  const lh_snapshot *s = c->snapshot;
  c->number = lh_alloc_zeroed((size_t)s->n + 1, sizeof *c->number);
  c->is_on = lh_alloc_zeroed((size_t)s->n + 1, 1);
  if (!c->number || !c->is_on) return false;
  for (lh_id at = id; at != LH_ROOT; at = s->idom[at]) {
    c->number[at] = ++c->length;
    c->is_on[at] = 1;
  }
  c->number[LH_ROOT] = c->length + 1;
  c->entering = lh_alloc_zeroed((size_t)c->length + 1, sizeof *c->entering);
  return c->entering != NULL;
}

/* Keeps what it finds for all on the way up. */
static uint32_t number_of(chain *c, lh_id id) {
  const lh_id *idom = c->snapshot->idom;
  lh_id at = id;
  while (c->number[at] == 0) at = idom[at];
  uint32_t found = c->number[at];
  for (at = id; c->number[at] == 0; at = idom[at]) c->number[at] = found;
  return found;
}

static void count_edge(chain *c, lh_id source, lh_id target) {
  uint32_t number = c->number[target];
  if (c->snapshot->distance[source] != LH_UNREACHED && number_of(c, source) > number)
    c->entering[number]++;
}

/* By the index of referrers if there is one, or else by all edges. */
static void count_entering(chain *c, lh_id id) {
  const lh_snapshot *s = c->snapshot;
  if (lh_has_edges_to(s)) {
    for (lh_id at = id; at != LH_ROOT; at = s->idom[at]) {
      size_t n;
      const uint32_t *edges = lh_edges_to(s, at, &n);
      for (size_t i = 0; i < n; i++) count_edge(c, lh_source_of_edge(s, edges[i]), at);
    }
    return;
  }
  for (lh_id source = 0; source <= s->n; source++)
    for (uint32_t e = s->first_edge[source]; e < s->first_edge[source + 1]; e++)
      if (c->is_on[s->edge[e]]) count_edge(c, source, s->edge[e]);
}

int lh_find_junction(lh_snapshot *snapshot, lh_id id, size_t limit, lh_id *junction,
                     lh_independent *out, lh_error *error) {
  int code = lh_check_id(snapshot, id, error);
  if (code != LH_OK) return code;
  if (limit < 2) return lh_fail(error, LH_EARGUMENT, "the number of paths must be at least 2");
  if (!lh_is_reachable(snapshot, id))
    return lh_fail(error, LH_ENOTFOUND, "nothing keeps the object alive");
  uint32_t tries = 0, i = 2;
  chain c = {.snapshot = snapshot};
  bool ok = number_chain(&c, id);
  if (ok) count_entering(&c, id);
  code = ok ? LH_ENOTFOUND : lh_fail_memory(error, "looking for independent paths");
  for (lh_id at = snapshot->idom[id]; at != LH_ROOT && tries < MOST_TRIES && code == LH_ENOTFOUND;
       at = snapshot->idom[at], i++) {
    if (c.entering[i] < 2 || snapshot->distance[at] == 1)
      continue; /* nobody cuts _G from the root */
    tries++;
    code = lh_find_independent(snapshot, at, limit, out, error);
    if (code == LH_OK && out->n < 2) {
      lh_independent_free(out);
      code = LH_ENOTFOUND;
    }
    *junction = at;
  }
  free_chain(&c);
  if (code == LH_ENOTFOUND) return lh_fail(error, code, "each cut of the chain frees the object");
  return code;
}
