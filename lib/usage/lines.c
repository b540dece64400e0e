/*
** lines.c - events by line, like LuaJIT's memprof.
**
** A block's bytes belong to the line that made or last resized it. (memprof takes the bytes of a
** resized block from the resizing line, but gives them to the making line: its HEAP SUMMARY is
** wrong for tables that grew.) The collector frees at no line.
*/
#include "usage.h"

typedef struct row {
  lh_sum events, allocated_bytes, freed_bytes;
} row;

typedef struct holder {
  lh_sum bytes, allocations, frees;
  bool is_known; /* it is in `holding` */
} holder;

typedef struct line_sums {
  row of[3]; /* by kind */
  holder held;
} line_sums;

typedef struct override {
  uint64_t key; /* kind, line of the event, earlier line of the blocks */
  lh_sum blocks;
} override;

enum { LINE_BITS = 28 }; /* at most 2^24 sites */

typedef struct counter {
  lh_line_keys keys;
  line_sums *of;     /* by line */
  uint32_t *holding; /* the lines that ever held bytes */
  size_t n_holding, holding_capacity;
  override *overrides;
  size_t n_overrides, overrides_capacity;
  lh_map override_of;
  uint64_t every_ns, next_ns;
  bool has_changed;
  lh_line_tally *out;
  size_t moments_capacity;
  int code; /* first failure */
  lh_error *error;
} counter;

/* ==== Moments ======================================================================= */

static int by_held_bytes(const void *a, const void *b, void *data) {
  const lh_line_held *one = a, *other = b;
  const lh_line *lines = data;
  return LH_MORE(one->bytes, other->bytes)
             ?: lh_compare_lines(&lines[one->line], &lines[other->line]);
}

/* Adds to a sorted list of n that has room for `most`; the last one may go for it. */
static size_t insert(lh_line_held *list, size_t n, size_t most, const lh_line_held *held,
                     lh_line *lines) {
  size_t at;
  if (n == most && (n == 0 || by_held_bytes(&list[n - 1], held, lines) < 0)) return n;
  LH_LOWER_BOUND(at, n, by_held_bytes(&list[at], held, lines) < 0);
  if (n < most) n++;
  memmove(&list[at + 1], &list[at], (n - at - 1) * sizeof *list);
  list[at] = *held;
  return n;
}

/* Adds the `most` lines that hold most bytes now. Between many moments there may be many lines, so
** only the end sorts all. */
static bool add_moment(counter *c, uint64_t time_ns, size_t most) {
  lh_line_tally *out = c->out;
  size_t room = most < c->n_holding ? most : c->n_holding, n = 0, kept = 0;
  if (!lh_grow(&out->moments, out->n_moments, &c->moments_capacity, sizeof *out->moments))
    return false;
  lh_line_held *list = lh_alloc(room + 1, sizeof *list);
  if (!list) return false;
  for (size_t i = 0; i < c->n_holding; i++) {
    const holder *h = &c->of[c->holding[i]].held;
    lh_line_held held = {.line = c->holding[i], .bytes = lh_sum_of(&h->bytes)};
    if (held.bytes == 0) continue;
    n++;
    held.allocations = lh_sum_of(&h->allocations);
    held.frees = lh_sum_of(&h->frees);
    if (most == SIZE_MAX)
      list[kept++] = held;
    else
      kept = insert(list, kept, room, &held, c->keys.lines);
  }
  if (most == SIZE_MAX) qsort_r(list, kept, sizeof *list, by_held_bytes, c->keys.lines);
  out->moments[out->n_moments++] = (lh_line_moment){time_ns, list, kept, n - kept};
  return true;
}

/* A moment is at a multiple of every_ns and shows the state before it. */
static bool pass_time(counter *c, uint64_t time_ns) {
  if (c->every_ns == 0 || time_ns < c->next_ns) return true;
  if (c->has_changed) {
    if (c->out->n_moments == LH_MOST_MOMENTS) {
      c->code = lh_fail(c->error, LH_ELIMIT,
                        "it would have more than %d moments: ask for fewer, by a longer time",
                        LH_MOST_MOMENTS);
      return false;
    }
    if (!add_moment(c, c->next_ns, LH_MOMENT_LINES)) return false;
  }
  uint64_t last = time_ns - time_ns % c->every_ns;
  c->next_ns = last > UINT64_MAX - c->every_ns ? UINT64_MAX : last + c->every_ns;
  c->has_changed = false;
  return true;
}

/* ==== Events ======================================================================== */

static holder *holder_of(counter *c, uint32_t line) {
  holder *h = &c->of[line].held;
  if (h->is_known) return h;
  if (!lh_grow(&c->holding, c->n_holding, &c->holding_capacity, sizeof *c->holding)) return NULL;
  c->holding[c->n_holding++] = line;
  h->is_known = true;
  return h;
}

static bool hold(counter *c, uint32_t line, const lh_event *event) {
  holder *h = holder_of(c, line);
  if (!h) return false;
  lh_sum_add(&h->bytes, event->bytes, event->weight);
  lh_sum_add(&h->allocations, 1, event->weight);
  return true;
}

static bool let_go(counter *c, uint32_t line, const lh_event *event) {
  uint64_t key = ((uint64_t)(event->kind == LH_EVENT_FREE) << 2 * LINE_BITS) | line;
  if (event->kind == LH_EVENT_RESIZE) key |= (uint64_t)c->keys.of_stack[event->stack] << LINE_BITS;
  uint32_t at = lh_map_number(&c->override_of, key);
  if (at == LH_NO_NUMBER ||
      !lh_grow(&c->overrides, c->n_overrides, &c->overrides_capacity, sizeof *c->overrides))
    return false;
  if (at == c->n_overrides) c->overrides[c->n_overrides++] = (override){.key = key};
  lh_sum_add(&c->overrides[at].blocks, 1, event->weight);
  holder *h = holder_of(c, line);
  if (!h) return false;
  lh_sum_subtract(&h->bytes, event->old_bytes, event->weight);
  lh_sum_add(&h->frees, 1, event->weight);
  return true;
}

static bool see(const lh_event *event, void *data) {
  counter *c = data;
  uint32_t line = c->keys.of_stack[event->kind == LH_EVENT_FREE ? 0 : event->stack];
  row *r = &c->of[line].of[event->kind];
  if (!pass_time(c, event->time_ns)) goto failed;
  c->has_changed = true;
  lh_sum_add(&r->events, 1, event->weight);
  if (event->kind != LH_EVENT_FREE) lh_sum_add(&r->allocated_bytes, event->bytes, event->weight);
  if (event->kind != LH_EVENT_NEW) lh_sum_add(&r->freed_bytes, event->old_bytes, event->weight);
  if (event->kind != LH_EVENT_NEW && event->old_stack != 0 &&
      !let_go(c, c->keys.of_stack[event->old_stack], event))
    goto failed;
  if (event->kind == LH_EVENT_FREE || hold(c, line, event)) return true;
failed:
  if (c->code == 0) c->code = lh_fail_memory(c->error, "counting events");
  return false;
}

/* ==== The tally ===================================================================== */

static int by_key(const void *a, const void *b, void *data) {
  const override *one = a, *other = b;
  const lh_line *lines = data;
  uint64_t from = one->key >> LINE_BITS, other_from = other->key >> LINE_BITS;
  uint32_t mask = (1u << LINE_BITS) - 1;
  return LH_LESS(from, other_from)
             ?: lh_compare_lines(&lines[one->key & mask], &lines[other->key & mask]);
}

static int by_events(const void *a, const void *b, void *data) {
  const lh_line_events *one = a, *other = b;
  const lh_line *lines = data;
  return LH_MORE(one->events, other->events)
             ?: lh_compare_lines(&lines[one->line], &lines[other->line]);
}

/* Sorts the overrides by kind and line: each row points to its range. */
static bool put_overrides(counter *c) {
  lh_line_override *list = lh_alloc(c->n_overrides + 1, sizeof *list);
  if (!list) return false;
  if (c->n_overrides > 1)
    qsort_r(c->overrides, c->n_overrides, sizeof *c->overrides, by_key, c->keys.lines);
  for (size_t i = 0; i < c->n_overrides; i++)
    list[i] = (lh_line_override){(uint32_t)(c->overrides[i].key & ((1u << LINE_BITS) - 1)),
                                 lh_sum_of(&c->overrides[i].blocks)};
  c->out->overrides = list;
  return true;
}

/* The rows of one kind. *at: the first override not used by earlier rows. */
static bool put_rows(counter *c, lh_event_kind kind, size_t *at) {
  size_t n = 0, capacity = 0;
  lh_line_events *list = NULL;
  for (uint32_t line = 0; line < c->keys.n_lines; line++) {
    const row *r = &c->of[line].of[kind];
    uint64_t key = (uint64_t)(kind == LH_EVENT_FREE) << LINE_BITS | line, events;
    if ((events = lh_sum_of(&r->events)) == 0) continue;
    size_t first = *at;
    if (kind != LH_EVENT_NEW)
      while (*at < c->n_overrides && c->overrides[*at].key >> LINE_BITS == key) ++*at;
    if (!lh_grow(&list, n, &capacity, sizeof *list)) goto failed;
    list[n++] = (lh_line_events){line,
                                 events,
                                 lh_sum_of(&r->allocated_bytes),
                                 lh_sum_of(&r->freed_bytes),
                                 c->out->overrides + first,
                                 *at - first};
  }
  if (n > 0) qsort_r(list, n, sizeof *list, by_events, c->keys.lines);
  c->out->of[kind].list = list;
  c->out->of[kind].n = n;
  return true;
failed:
  lh_free(list);
  return false;
}

static bool put_events(counter *c) {
  size_t at = 0;
  bool fine = put_overrides(c);
  for (unsigned kind = LH_EVENT_NEW; fine && kind <= LH_EVENT_FREE; kind++)
    fine = put_rows(c, (lh_event_kind)kind, &at);
  return fine;
}

int lh_tally_lines(lh_profile *profile, uint64_t every_ns, lh_line_tally *out, lh_error *error) {
  counter c = {.every_ns = every_ns, .next_ns = every_ns, .out = out, .error = error};
  *out = (lh_line_tally){0};
  int code = lh_line_keys_make(lh_profile_sites(profile), &c.keys, error);
  if (code < 0) return code;
  out->lines = c.keys.lines;
  out->n_lines = c.keys.n_lines;
  c.of = lh_alloc_zeroed(c.keys.n_lines, sizeof *c.of);
  if (!c.of) code = lh_fail_memory(error, "counting by line");
  if (code == 0) code = lh_tally_events(profile, "report by line", see, &c, error);
  if (code == 0) code = c.code;
  if (code == 0 &&
      (!put_events(&c) || !add_moment(&c, lh_profile_about(profile)->duration_ns, SIZE_MAX)))
    code = lh_fail_memory(error, "counting by line");
  lh_map_free(&c.override_of);
  LH_FREE_ALL(c.of, c.holding, c.overrides, c.keys.of_stack);
  if (code < 0) lh_line_tally_free(out);
  return code;
}

void lh_line_tally_free(lh_line_tally *tally) {
  for (unsigned i = 0; i < 3; i++) lh_free(tally->of[i].list);
  for (size_t i = 0; i < tally->n_moments; i++) lh_free(tally->moments[i].held);
  LH_FREE_ALL(tally->moments, tally->overrides, tally->lines);
  *tally = (lh_line_tally){0};
}
