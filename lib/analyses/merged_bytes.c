/*
** merged_bytes.c - the bytes that go when all members of a set go, divided among the steps of their
** tree, with no byte twice.
**
** Whatever goes with the members is reached through members only. Where the last members on all
** paths to it are below one step, it belongs to that step, and to none that is not above or below
** it. So the bytes of a step are those of the steps below it, of its own members, and what
** several of these hold together.
**
** That step is where the ways up from the steps of those last members meet. It is found by going
** forward from the members through what goes with them: an object that is met first belongs to the
** step of what refers to it, and one that is met again from another step to where the two meet, and
** then what it refers to is met again. Few are met so more than once, and each at most as often as
** there are steps above one another (256). A byte an object, and 8 for each that goes.
*/
#include "analyses.h"

enum { NO_STEP = UINT32_MAX, WAITS = 2 /* goes[v]: it stands in the queue */ };

typedef struct dividing {
  const lh_snapshot *snapshot;
  lh_step_tree *tree;
  lh_going going;
  lh_id *queue; /* a ring: each is in it once at most */
  size_t first, n;
} dividing;

static void put_in_queue(dividing *d, lh_id id) {
  if (d->going.goes[id] == WAITS) return;
  d->going.goes[id] = WAITS;
  d->queue[(d->first + d->n++) % d->going.n] = id;
}

static lh_id take_from_queue(dividing *d) {
  lh_id id = d->queue[d->first];
  d->first = (d->first + 1) % d->going.n;
  d->n--;
  d->going.goes[id] = 1;
  return id;
}

/* A step stands behind those above it. */
static uint32_t meeting_of(const lh_step_tree *t, uint32_t a, uint32_t b) {
  while (a != b) {
    if (a > b)
      a = t->list[a].above;
    else
      b = t->list[b].above;
  }
  return a;
}

/* Takes a reference from what belongs to `step`. */
static void meet(dividing *d, uint32_t step, lh_id id) {
  lh_step_tree *t = d->tree;
  uint32_t before = t->of[id];
  if (!d->going.goes[id] || t->is_member[id] || before == step || before == 0) return;
  t->of[id] = before == NO_STEP ? step : meeting_of(t, before, step);
  if (t->of[id] != before) put_in_queue(d, id);
}

static void meet_all(dividing *d) {
  const lh_snapshot *s = d->snapshot;
  for (size_t i = 0; i < d->going.n; i++) {
    if (i >= d->going.n_members)
      d->tree->of[d->going.list[i]] = NO_STEP;
    else
      put_in_queue(d, d->going.list[i]);
  }
  while (d->n > 0) {
    lh_id id = take_from_queue(d);
    for (uint32_t e = s->first_edge[id]; e < s->first_edge[id + 1]; e++)
      meet(d, d->tree->of[id], s->edge[e]);
  }
}

static void sum_up(dividing *d) {
  lh_merged_step *list = d->tree->list;
  for (size_t i = 0; i < d->going.n; i++)
    list[d->tree->of[d->going.list[i]]].bytes += lh_shallow_bytes(d->snapshot, d->going.list[i]);
  for (size_t i = d->tree->n; i-- > 1;) list[list[i].above].bytes += list[i].bytes;
}

bool lh_divide_retained(lh_step_tree *t, const lh_snapshot *snapshot, const lh_id *ids,
                        size_t n_ids) {
  dividing d = {.snapshot = snapshot, .tree = t};
  bool ok = lh_find_going(&d.going, snapshot, ids, n_ids);
  if (ok) d.queue = lh_alloc(d.going.n, sizeof *d.queue);
  ok = ok && d.queue;
  if (ok) meet_all(&d);
  if (ok) sum_up(&d);
  lh_free(d.queue);
  lh_going_free(&d.going);
  return ok;
}
