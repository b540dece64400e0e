/*
** timeline.c - memory over time, by allocating line.
**
** One replay finds the lines that held most at any time, a second one records their bytes. Each
** interval keeps the instant at which the heap was biggest: no peak is too short.
*/
#include "usage.h"

typedef struct line_sums {
  lh_sum live;
  uint64_t most;
  uint32_t slot; /* its row in the answer */
} line_sums;

typedef struct counter {
  lh_line_keys keys;
  line_sums *of; /* by line */
  uint64_t last_ns;
  lh_sum *slots; /* live bytes of each row */
  lh_sum old, heap;
  uint64_t reached_bytes; /* maximum in this interval */
  size_t at;              /* index of this interval */
  lh_timeline *out;
} counter;

static bool see_most(const lh_event *event, void *data) {
  counter *c = data;
  c->last_ns = event->time_ns > c->last_ns ? event->time_ns : c->last_ns;
  if (event->kind != LH_EVENT_NEW && event->old_stack != 0)
    lh_sum_subtract(&c->of[c->keys.of_stack[event->old_stack]].live, event->old_bytes,
                    event->weight);
  if (event->kind == LH_EVENT_FREE) return true;
  line_sums *at = &c->of[c->keys.of_stack[event->stack]];
  lh_sum_add(&at->live, event->bytes, event->weight);
  uint64_t live = lh_sum_of(&at->live);
  if (live > at->most) at->most = live;
  return true;
}

static int by_most(const void *a, const void *b, void *data) {
  const counter *c = data;
  uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
  return LH_MORE(c->of[one].most, c->of[other].most)
             ?: lh_compare_lines(&c->keys.lines[one], &c->keys.lines[other]);
}

static bool choose_lines(counter *c, size_t most_sites) {
  lh_timeline *out = c->out;
  uint32_t *order = lh_alloc(c->keys.n_lines, sizeof *order);
  if (!order) return false;
  size_t n = 0;
  for (uint32_t i = 0; i < c->keys.n_lines; i++)
    if (c->of[i].most > 0) order[n++] = i;
  if (n > 1) qsort_r(order, n, sizeof *order, by_most, c);
  size_t shown = n > most_sites ? most_sites : n;
  out->sites = lh_alloc_zeroed(shown + 1, sizeof *out->sites);
  c->slots = lh_alloc_zeroed(shown + 1, sizeof *c->slots);
  out->n_sites = out->sites ? shown + (n > shown) : 0;
  for (size_t i = 0; out->sites && i < n; i++) {
    c->of[order[i]].slot = (uint32_t)(i < shown ? i : shown);
    if (i < shown) out->sites[i].site = c->keys.lines[order[i]].site;
  }
  if (out->sites && n > shown) out->sites[shown].n_others = n - shown;
  lh_free(order);
  return out->sites && c->slots;
}

static void note_moment(counter *c) {
  lh_timeline *out = c->out;
  c->reached_bytes = lh_sum_of(&c->heap);
  out->heap_bytes[c->at] = c->reached_bytes;
  out->old_bytes[c->at] = lh_sum_of(&c->old);
  for (size_t i = 0; i < out->n_sites; i++) out->sites[i].bytes[c->at] = lh_sum_of(&c->slots[i]);
}

/* An interval starts with the state at its beginning. */
static void pass_time(counter *c, uint64_t time_ns) {
  const lh_timeline *out = c->out;
  uint64_t at = out->interval_ns > 0 ? time_ns / out->interval_ns : 0;
  if (at >= out->n_moments) at = out->n_moments - 1;
  while (c->at < at) {
    c->at++;
    note_moment(c);
  }
}

static void note_peak(counter *c, uint64_t time_ns) {
  lh_timeline *out = c->out;
  out->peak_bytes = lh_sum_of(&c->heap);
  out->peak_ns = time_ns;
  for (size_t i = 0; i < out->n_sites; i++) out->sites[i].peak_bytes = lh_sum_of(&c->slots[i]);
}

static lh_sum *sum_of_stack(counter *c, lh_stack_id stack) {
  return &c->slots[c->of[c->keys.of_stack[stack]].slot];
}

static bool see_moments(const lh_event *event, void *data) {
  counter *c = data;
  pass_time(c, event->time_ns);
  if (event->kind != LH_EVENT_NEW) {
    lh_sum *from = event->old_stack != 0 ? sum_of_stack(c, event->old_stack) : &c->old;
    lh_sum_subtract(from, event->old_bytes, event->weight);
    lh_sum_subtract(&c->heap, event->old_bytes, event->weight);
  }
  if (event->kind != LH_EVENT_FREE) {
    lh_sum_add(sum_of_stack(c, event->stack), event->bytes, event->weight);
    lh_sum_add(&c->heap, event->bytes, event->weight);
  }
  uint64_t heap = lh_sum_of(&c->heap);
  if (heap > c->reached_bytes) note_moment(c);
  if (heap > c->out->peak_bytes) note_peak(c, event->time_ns);
  return true;
}

static bool make_room_for_moments(lh_timeline *out, size_t n_moments) {
  out->n_moments = n_moments;
  out->heap_bytes = lh_alloc_zeroed(n_moments, sizeof *out->heap_bytes);
  out->old_bytes = lh_alloc_zeroed(n_moments, sizeof *out->old_bytes);
  bool fine = out->heap_bytes && out->old_bytes;
  for (size_t i = 0; fine && i < out->n_sites; i++) {
    out->sites[i].bytes = lh_alloc_zeroed(n_moments, sizeof(uint64_t));
    fine = out->sites[i].bytes != NULL;
  }
  return fine;
}

static int fill(counter *c, lh_profile *profile, size_t n_moments, lh_error *error) {
  const lh_profile_info *info = lh_profile_about(profile);
  lh_timeline *out = c->out;
  uint64_t end_ns = info->duration_ns > c->last_ns ? info->duration_ns : c->last_ns;
  if (end_ns < n_moments) n_moments = end_ns > 0 ? (size_t)end_ns : 1;
  if (!make_room_for_moments(out, n_moments)) return lh_fail_memory(error, "counting over time");
  out->interval_ns = end_ns / n_moments + (end_ns % n_moments > 0);
  c->old.whole = c->heap.whole = info->start_bytes;
  note_moment(c);
  note_peak(c, 0);
  int code = lh_profile_replay(profile, see_moments, c, error);
  pass_time(c, end_ns);
  for (size_t i = 0; i < out->n_sites; i++) out->sites[i].end_bytes = lh_sum_of(&c->slots[i]);
  out->end_bytes = lh_sum_of(&c->heap);
  return code;
}

int lh_tally_timeline(lh_profile *profile, size_t n_moments, size_t n_sites, lh_timeline *out,
                      lh_error *error) {
  counter c = {.out = out};
  *out = (lh_timeline){0};
  int code = lh_line_keys_make(lh_profile_sites(profile), &c.keys, error);
  if (code == 0) c.of = lh_alloc_zeroed(c.keys.n_lines, sizeof *c.of);
  if (code == 0 && !c.of) code = lh_fail_memory(error, "counting over time");
  if (code == 0) code = lh_tally_events(profile, "plot", see_most, &c, error);
  if (code == 0 && !choose_lines(&c, n_sites)) code = lh_fail_memory(error, "counting over time");
  if (code == 0) code = fill(&c, profile, n_moments, error);
  LH_FREE_ALL(c.of, c.slots);
  lh_line_keys_free(&c.keys);
  if (code < 0) lh_timeline_free(out);
  return code;
}

void lh_timeline_free(lh_timeline *timeline) {
  for (size_t i = 0; i < timeline->n_sites; i++) lh_free(timeline->sites[i].bytes);
  LH_FREE_ALL(timeline->sites, timeline->heap_bytes, timeline->old_bytes);
  *timeline = (lh_timeline){0};
}
