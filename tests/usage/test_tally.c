/*
** test_tally.c - what events add up to, by line and type, and over time: small programs whose
** figures are derived beside them, random times, and memory that runs out. The profiles are made
** here, as a list of events: how a file is read is the business of others.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base.h"
#include "rooms/usage.h"
#include "usage/answers.h"

/* ==== Profiles ====================================================================== */

enum { MOST_SITES = 32, MOST_STACKS = 64, MOST_EVENTS = 4096 };

static struct {
  lh_site sites[MOST_SITES];
  lh_stack stacks[MOST_STACKS];
  lh_event events[MOST_EVENTS];
  lh_profile_info info;
  uint32_t n_sites, n_stacks;
  size_t n_events;
} made;

uint32_t lh_n_sites(const lh_sites *sites) {
  (void)sites;
  return made.n_sites;
}

uint32_t lh_n_stacks(const lh_sites *sites) {
  (void)sites;
  return made.n_stacks;
}

const lh_site *lh_site_of(const lh_sites *sites, lh_site_id id) {
  (void)sites;
  return &made.sites[id - 1];
}

const lh_stack *lh_stack_of(const lh_sites *sites, lh_stack_id id) {
  (void)sites;
  return &made.stacks[id - 1];
}

const lh_profile_info *lh_profile_about(const lh_profile *profile) {
  (void)profile;
  return &made.info;
}

const lh_sites *lh_profile_sites(const lh_profile *profile) {
  (void)profile;
  return NULL;
}

int lh_profile_replay(lh_profile *profile, bool (*see)(const lh_event *event, void *data),
                      void *data, lh_error *error) {
  (void)profile;
  (void)error;
  for (size_t i = 0; i < made.n_events && see(&made.events[i], data); i++) continue;
  return 0;
}

static int begin_group(void **state) {
  (void)state;
  memset(&made, 0, sizeof made);
  made.info.has_stacks = true;
  return 0;
}

static lh_stack_id on(lh_stack_id parent, lh_site site) {
  made.sites[made.n_sites++] = site;
  made.stacks[made.n_stacks++] = (lh_stack){parent, made.n_sites};
  return made.n_stacks;
}

static lh_stack_id line(lh_stack_id parent, const char *function, uint32_t first, uint32_t at) {
  return on(parent, (lh_site){"@a.lua", function, NULL, first, at, LH_MADE_TABLE});
}

static lh_event *event(lh_event e, uint64_t time_ns) {
  e.time_ns = time_ns;
  e.weight = e.weight > 0 ? e.weight : 1;
  made.events[made.n_events] = e;
  return &made.events[made.n_events++];
}

static void alloc(uint64_t time_ns, lh_stack_id stack, uint8_t type, uint64_t bytes) {
  event((lh_event){.kind = LH_EVENT_NEW, .stack = stack, .type = type, .bytes = bytes}, time_ns);
}

static void resize(uint64_t time_ns, lh_stack_id stack, lh_stack_id old, uint64_t from,
                   uint64_t to) {
  event((lh_event){.kind = LH_EVENT_RESIZE,
                   .type = LH_EVENT_PART,
                   .stack = stack,
                   .old_stack = old,
                   .old_bytes = from,
                   .bytes = to},
        time_ns);
}

static void release(uint64_t time_ns, lh_stack_id old, uint64_t bytes) {
  event((lh_event){.kind = LH_EVENT_FREE, .old_stack = old, .old_bytes = bytes}, time_ns);
}

/* ==== By line ======================================================================= */

#define SECOND UINT64_C(1000000000)

/*
** line 3 makes a table of 56 bytes and its array of 16; line 5 grows that to 32, and again to 64;
** line 7 makes a string of 30, which is freed.
*/
static void a_grown_array(void) {
  lh_stack_id table = line(0, "", 0, 3), grows = line(0, "", 0, 5), string = line(0, "f", 6, 7);
  alloc(0, table, LH_TYPE_TABLE, 56);
  alloc(0, table, LH_EVENT_PART, 16);
  resize(2 * SECOND, grows, table, 16, 32);
  resize(2 * SECOND + 1, grows, grows, 32, 64);
  alloc(2 * SECOND + 2, string, LH_TYPE_STRING, 30);
  release(5 * SECOND, string, 30);
  release(5 * SECOND, 0, 1000);
  made.info.duration_ns = 6 * SECOND;
}

static void lines_have_events_and_what_they_override(void **state) {
  lh_line_tally t;
  (void)state;
  a_grown_array();
  assert_int_equal(lh_tally_lines(NULL, 0, &t, NULL), 0);
  assert_int_equal(t.n_lines, 4);

  assert_int_equal(t.of[LH_EVENT_NEW].n, 2);
  assert_int_equal(t.lines[t.of[LH_EVENT_NEW].list[0].line].line, 3);
  assert_int_equal(t.of[LH_EVENT_NEW].list[0].events, 2);
  assert_int_equal(t.of[LH_EVENT_NEW].list[0].allocated_bytes, 72);
  assert_int_equal(t.of[LH_EVENT_NEW].list[0].n_overrides, 0);
  assert_int_equal(t.lines[t.of[LH_EVENT_NEW].list[1].line].line, 7);

  const lh_line_events *grows = t.of[LH_EVENT_RESIZE].list;
  assert_int_equal(t.of[LH_EVENT_RESIZE].n, 1);
  assert_int_equal(t.lines[grows->line].line, 5);
  assert_int_equal(grows->events, 2);
  assert_int_equal(grows->allocated_bytes, 32 + 64);
  assert_int_equal(grows->freed_bytes, 16 + 32);
  assert_int_equal(grows->n_overrides, 2);
  assert_int_equal(t.lines[grows->overrides[0].line].line, 3);
  assert_int_equal(t.lines[grows->overrides[1].line].line, 5);

  const lh_line_events *freed = t.of[LH_EVENT_FREE].list;
  assert_int_equal(t.of[LH_EVENT_FREE].n, 1);
  assert_null(t.lines[freed->line].source);
  assert_int_equal(freed->events, 2);
  assert_int_equal(freed->freed_bytes, 1030);
  assert_int_equal(freed->n_overrides, 1); /* what was there before is of no line */
  assert_int_equal(t.lines[freed->overrides[0].line].line, 7);
  lh_line_tally_free(&t);
}

static void a_line_holds_what_it_made_or_resized_last(void **state) {
  lh_line_tally t;
  (void)state;
  a_grown_array();
  assert_int_equal(lh_tally_lines(NULL, 0, &t, NULL), 0);
  assert_int_equal(t.n_moments, 1);
  assert_int_equal(t.moments[0].time_ns, 6 * SECOND);
  assert_int_equal(t.moments[0].n_held, 2); /* the string is gone */
  const lh_line_held *held = t.moments[0].held;
  assert_int_equal(t.lines[held[0].line].line, 5);
  assert_int_equal(held[0].bytes, 64);
  assert_int_equal(held[0].allocations, 2);
  assert_int_equal(held[0].frees, 1);
  assert_int_equal(t.lines[held[1].line].line, 3);
  assert_int_equal(held[1].bytes, 56);
  lh_line_tally_free(&t);
}

/* At 1 s, 3 s and 6 s something is new; at 2 s, 4 s and 5 s nothing is. */
static void moments_are_where_something_changed(void **state) {
  lh_line_tally t;
  (void)state;
  a_grown_array();
  assert_int_equal(lh_tally_lines(NULL, SECOND, &t, NULL), 0);
  assert_int_equal(t.n_moments, 3);
  assert_int_equal(t.moments[0].time_ns, SECOND);
  assert_int_equal(t.moments[0].n_held, 1);
  assert_int_equal(t.moments[0].held[0].bytes, 72);
  assert_int_equal(t.moments[1].time_ns, 3 * SECOND);
  assert_int_equal(t.moments[1].n_held, 3);
  lh_line_tally_free(&t);

  for (uint64_t i = 1; i <= LH_MOST_MOMENTS + 1; i++) alloc(6 * SECOND + i, 1, LH_TYPE_TABLE, 56);
  lh_error error;
  assert_int_equal(lh_tally_lines(NULL, 1, &t, &error), LH_ELIMIT);
  assert_string_equal(error.message,
                      "it would have more than 1000 moments: ask for fewer, by a longer time");
}

/* Code that was loaded twice has the same names at other addresses. */
static void a_line_is_one_whatever_allocates_there(void **state) {
  lh_line_tally t;
  char again[] = "@a.lua";
  (void)state;
  alloc(0, line(0, "f", 1, 3), LH_TYPE_TABLE, 56);
  alloc(0, on(0, (lh_site){again, "g", "string.rep", 2, 3, LH_MADE_BY_C}), LH_TYPE_STRING, 30);
  assert_int_equal(lh_tally_lines(NULL, 0, &t, NULL), 0);
  assert_int_equal(t.of[LH_EVENT_NEW].n, 1);
  assert_int_equal(t.of[LH_EVENT_NEW].list[0].allocated_bytes, 86);
  lh_line_tally_free(&t);
}

/* ==== By type, and over time ======================================================== */

/* So many sites, each with its line, and an object of about half of them. */
static void random_sites(unsigned seed) {
  srand(seed);
  for (unsigned i = 0; i < 24; i++) {
    lh_stack_id at = line(0, "f", 1, i + 1);
    if (rand() % 2) alloc(i, at, LH_TYPE_TABLE, 1 + (uint64_t)(rand() % 100));
  }
}

/* Lives: 56, 72, 88 (the peak, with an array of 32), 32. What was there before is of no type. */
static void types_have_counts_and_a_peak(void **state) {
  lh_type_tally t;
  (void)state;
  lh_stack_id f = line(0, "f", 1, 2);
  alloc(0, f, LH_TYPE_TABLE, 56);
  alloc(0, f, LH_EVENT_PART, 16);
  resize(0, f, f, 16, 32);
  resize(0, f, 0, 100, 300);
  release(0, f, 56);
  release(0, 0, 300);
  assert_int_equal(lh_tally_types(NULL, &t, NULL), 0);
  assert_int_equal(t.made, 2);
  assert_int_equal(t.made_bytes, 72);
  assert_int_equal(t.resized, 1);
  assert_int_equal(t.resized_bytes, 16);
  assert_int_equal(t.freed, 1);
  assert_int_equal(t.freed_bytes, 56);
  assert_int_equal(t.made_of[LH_TYPE_TABLE], 1);
  assert_int_equal(t.made_parts, 1);
  assert_int_equal(t.peak_bytes, 88);
}

/*
** 1,000 bytes are there before. Line 2 holds 500 for a nanosecond in the second of four intervals;
** line 3 holds 10 from then on, and line 4 holds 5.
*/
static void a_peak_is_seen_however_short(void **state) {
  static const uint64_t heap[] = {1000, 1510, 1015, 915};
  lh_timeline t;
  (void)state;
  made.info.start_bytes = 1000;
  made.info.duration_ns = 400;
  alloc(150, line(0, "f", 1, 2), LH_TYPE_TABLE, 500);
  alloc(150, line(0, "f", 1, 3), LH_TYPE_TABLE, 10);
  release(151, 1, 500);
  alloc(152, line(0, "f", 1, 4), LH_TYPE_TABLE, 5);
  release(299, 0, 100);
  assert_int_equal(lh_tally_timeline(NULL, 4, 2, &t, NULL), 0);
  assert_int_equal(t.interval_ns, 100);
  assert_int_equal(t.n_moments, 4);
  for (size_t i = 0; i < 4; i++) assert_int_equal(t.heap_bytes[i], heap[i]);
  assert_int_equal(t.peak_bytes, 1510);
  assert_int_equal(t.peak_ns, 150);
  assert_int_equal(t.end_bytes, 915);
  assert_int_equal(t.old_bytes[3], 900);
  assert_int_equal(t.n_sites, 3);
  assert_int_equal(t.sites[0].site.line, 2);
  assert_int_equal(t.sites[0].bytes[1], 500);
  assert_int_equal(t.sites[0].bytes[2], 0);
  assert_int_equal(t.sites[0].peak_bytes, 500);
  assert_int_equal(t.sites[1].bytes[1], 10);
  assert_null(t.sites[2].site.source);
  assert_int_equal(t.sites[2].n_others, 1);
  assert_int_equal(t.sites[2].end_bytes, 5);
  lh_timeline_free(&t);
}

/* On line 2 a chunk makes a function, which makes a table there; on line 3 a function allocates by
** itself, and by a C function. */
static void a_line_has_what_its_sites_have_in_common(void **state) {
  lh_timeline t;
  (void)state;
  alloc(1, line(0, "f", 1, 2), LH_TYPE_TABLE, 500);
  alloc(2, line(0, "", 0, 2), LH_TYPE_CLOSURE, 100);
  alloc(3, line(0, "g", 3, 3), LH_TYPE_TABLE, 50);
  alloc(4, on(0, (lh_site){"@a.lua", "g", "string.rep", 3, 3, LH_MADE_BY_C}), LH_TYPE_STRING, 25);
  assert_int_equal(lh_tally_timeline(NULL, 1, 9, &t, NULL), 0);
  assert_int_equal(t.n_sites, 2);
  assert_int_equal(t.sites[0].site.line, 2);
  assert_null(t.sites[0].site.function);
  assert_string_equal(t.sites[1].site.function, "g");
  assert_null(t.sites[1].site.c_function);
  lh_timeline_free(&t);
}

/* Whatever the times are, what is shown at a moment adds up. */
static void moments_add_up(void **state) {
  for (unsigned seed = 1; seed <= 100; seed++) {
    lh_timeline t;
    begin_group(state);
    random_sites(seed);
    made.info.start_bytes = seed;
    for (size_t i = 0; i < made.n_events; i++)
      made.events[i].time_ns = rand() % 4 ? i * 100 : UINT64_MAX - i;
    assert_int_equal(lh_tally_timeline(NULL, 1 + seed % 9, 1 + seed % 5, &t, NULL), 0);
    for (size_t i = 0; i < t.n_moments; i++) {
      uint64_t sum = t.old_bytes[i];
      for (size_t k = 0; k < t.n_sites; k++) sum += t.sites[k].bytes[i];
      assert_int_equal(sum, t.heap_bytes[i]);
    }
    lh_timeline_free(&t);
  }
}

static void samples_stand_for_many(void **state) {
  lh_type_tally t;
  (void)state;
  lh_stack_id f = line(0, "f", 1, 2);
  event((lh_event){.stack = f, .type = LH_TYPE_TABLE, .bytes = 100, .weight = 2.5}, 0);
  event((lh_event){.stack = f, .type = LH_TYPE_TABLE, .bytes = 4, .weight = 0.25}, 0);
  event((lh_event){.stack = f, .type = LH_TYPE_TABLE, .bytes = (uint64_t)1 << 60}, 0);
  assert_int_equal(lh_tally_types(NULL, &t, NULL), 0);
  assert_int_equal(t.made_bytes, ((uint64_t)1 << 60) + 251);
  assert_int_equal(t.made_of[LH_TYPE_TABLE], 4);
}

static void an_aggregate_has_no_order(void **state) {
  lh_line_tally lines;
  lh_error error;
  (void)state;
  made.info.is_aggregate = true;
  assert_int_equal(lh_tally_lines(NULL, 0, &lines, &error), LH_EARGUMENT);
  assert_string_equal(error.message,
                      "it was recorded as an aggregate, which has no order of events: there is no "
                      "report by line of it");
}

static void nothing_happened(void **state) {
  lh_line_tally lines;
  lh_timeline timeline;
  (void)state;
  assert_int_equal(lh_tally_lines(NULL, SECOND, &lines, NULL), 0);
  assert_int_equal(lines.n_moments, 1);
  assert_int_equal(lines.moments[0].n_held, 0);
  lh_line_tally_free(&lines);
  assert_int_equal(lh_tally_timeline(NULL, 80, 5, &timeline, NULL), 0);
  assert_int_equal(timeline.n_moments, 1);
  assert_int_equal(timeline.n_sites, 0);
  lh_timeline_free(&timeline);
}

/* ==================================================================================== */

static int tally_all(lh_error *error) {
  lh_line_tally lines;
  lh_timeline timeline;
  int code = lh_tally_lines(NULL, SECOND, &lines, error);
  if (code == 0) lh_line_tally_free(&lines);
  if (code == 0) code = lh_tally_timeline(NULL, 10, 2, &timeline, error);
  if (code == 0) lh_timeline_free(&timeline);
  return code;
}

static void memory_runs_out_for_tallies(void **state) {
  (void)state;
  random_sites(7);
  a_grown_array();
  lh_test_fail_allocation(0);
  assert_int_equal(tally_all(NULL), 0);
  uint64_t n = lh_test_fail_allocation(0);
  assert_true(n > 30);
  for (uint64_t i = 1; i <= n; i++) {
    lh_error error = {0};
    lh_test_fail_allocation(i);
    int code = tally_all(&error);
    if (code == 0) continue; /* what was asked for in vain was not needed */
    assert_int_equal(code, LH_EMEMORY);
    assert_true(strlen(error.message) > 0);
  }
  lh_test_fail_allocation(0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(lines_have_events_and_what_they_override, begin_group),
      cmocka_unit_test_setup(a_line_holds_what_it_made_or_resized_last, begin_group),
      cmocka_unit_test_setup(moments_are_where_something_changed, begin_group),
      cmocka_unit_test_setup(a_line_is_one_whatever_allocates_there, begin_group),
      cmocka_unit_test_setup(samples_stand_for_many, begin_group),
      cmocka_unit_test_setup(an_aggregate_has_no_order, begin_group),
      cmocka_unit_test_setup(types_have_counts_and_a_peak, begin_group),
      cmocka_unit_test_setup(a_peak_is_seen_however_short, begin_group),
      cmocka_unit_test_setup(a_line_has_what_its_sites_have_in_common, begin_group),
      cmocka_unit_test_setup(moments_add_up, begin_group),
      cmocka_unit_test_setup(nothing_happened, begin_group),
      cmocka_unit_test_setup(memory_runs_out_for_tallies, begin_group),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
