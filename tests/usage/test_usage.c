/*
** test_usage.c - what is told about a profile when it has counts alone, calls, or stacks of any
** depth, and when memory runs out. What events add up to is tested in tests/report/usage_spec.lua.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "forged_profile.h"
#include "name/text.h"
#include "rooms/all.h"
#include "usage/answers.h"
#include "usage/usage.h"

static const lh_profile_info facts = {.program = "lua5.4 app.lua",
                                      .release = "5.4.4",
                                      .process_id = 4711,
                                      .start_bytes = 100000,
                                      .has_stacks = true};

static const lh_site site_main = {
    .source = "@app.lua", .function = "", .line = 31, .maker = LH_MADE_CALL};
static const lh_site site_f = {
    .source = "@app.lua", .function = "f", .first_line = 10, .line = 12, .maker = LH_MADE_TABLE};
static const lh_site site_g = {
    .source = "@app.lua", .function = "g", .first_line = 20, .line = 22, .maker = LH_MADE_GROWTH};

static lh_profile *open_ended_profile(forged_profile *f) {
  lh_profile *profile;
  lh_error error;
  forge_end_profile(f, 2000, 0);
  assert_int_equal(lh_profile_open_memory(f->data, f->size, "f", &profile, &error), LH_OK);
  return profile;
}

static lh_usage *count_usage(lh_profile *profile, const lh_usage_query *query) {
  lh_usage *usage;
  lh_error error;
  int code = lh_usage_new(&usage, profile, query, &error);
  if (code != LH_OK) print_error("%s\n", error.message);
  assert_int_equal(code, LH_OK);
  return usage;
}

static void drop(lh_usage *usage, lh_profile *profile, forged_profile *f) {
  lh_usage_free(usage);
  lh_profile_close(profile);
  forge_drop_profile(f);
}

/* ==== Aggregates ===================================================================== */

/* A table of 56 bytes a time; those of f die young, the part that g made is resized by main. */
static void forge_aggregate(forged_profile *f) {
  lh_profile_info info = facts;
  info.is_aggregate = true;
  forge_profile(f, &info);
  lh_stack_id main = forge_stack(f, 0, site_main), in_f = forge_stack(f, main, site_f);
  lh_stack_id in_g = forge_stack(f, in_f, site_g);
  lh_table_begin(&f->to, LH_BLOCK_COUNTS);
  forge_count(
      f, &(lh_profile_count){.stack = 0, .type = LH_EVENT_PART, .freed = 5, .freed_bytes = 777});
  forge_count(f, &(lh_profile_count){.stack = main,
                                     .type = LH_EVENT_PART,
                                     .resized = 1,
                                     .resized_bytes = 2000,
                                     .samples = 1,
                                     .live_bytes_at_peak = 1500});
  forge_count(f, &(lh_profile_count){.stack = in_f,
                                     .type = LH_TYPE_TABLE,
                                     .made = 100,
                                     .made_bytes = 5600,
                                     .freed = 90,
                                     .freed_bytes = 5040,
                                     .samples = 100,
                                     .live_bytes_at_peak = 1120,
                                     .deaths = {[0] = 60, [3] = 30},
                                     .death_bytes = {[0] = 3360, [3] = 1680}});
  forge_count(f, &(lh_profile_count){.stack = in_g,
                                     .type = LH_EVENT_PART,
                                     .made = 1,
                                     .made_bytes = 1000,
                                     .replaced = 1,
                                     .replaced_bytes = 1000,
                                     .samples = 1});
  lh_table_end(&f->to);
}

static const lh_usage_group *group_at(const lh_usage_group *groups, size_t n, lh_stack_id stack) {
  for (size_t i = 0; i < n; i++)
    if (groups[i].stack == stack) return &groups[i];
  return NULL;
}

static void counts_of_an_aggregate_are_told(void **state) {
  forged_profile f;
  (void)state;
  forge_aggregate(&f);
  lh_profile *profile = open_ended_profile(&f);
  lh_usage *usage = count_usage(profile, &(lh_usage_query){.peak = true});
  lh_usage_group *groups;
  size_t n;
  assert_int_equal(lh_usage_groups(usage, LH_BY_SITE, LH_MOST_ALLOCATED, &groups, &n, NULL), LH_OK);
  assert_int_equal(n, 3);
  const lh_usage_group *in_f = group_at(groups, n, 2), *in_g = group_at(groups, n, 3);
  assert_int_equal(in_f->allocated_bytes, 5600);
  assert_int_equal(in_f->live_bytes, 560);
  assert_int_equal(in_f->live, 10);
  assert_int_equal(in_f->objects, 100);
  assert_int_equal(in_f->peak_bytes, 1120);
  assert_int_equal(in_f->most_age_bytes, 4096 << 3);
  assert_int_equal(in_f->soon_bytes, 5040);
  assert_int_equal(in_f->mean_age_bytes, (60 * 2048 + 30 * 24576) / 90); /* of the middle of each */
  assert_int_equal(in_g->live_bytes, 0);
  assert_int_equal(in_g->allocated_bytes, 1000);
  assert_int_equal(group_at(groups, n, 1)->live_bytes, 2000);
  const lh_usage_totals *totals = lh_usage_total(usage);
  assert_int_equal(totals->heap_bytes, 100000 + 2560);
  assert_int_equal(totals->peak_bytes, 100000 + 2620);
  lh_free(groups);
  drop(usage, profile, &f);
}

/* As many sites may share a name of 4 KB: told by a name that changes behind the groups' back. */
static void a_name_of_many_sites_is_looked_at_once(void **state) {
  forged_profile f;
  lh_site_numbers numbers = {0};
  (void)state;
  forge_aggregate(&f);
  lh_profile *profile = open_ended_profile(&f);
  const lh_sites *sites = lh_profile_sites(profile);
  char *source = (char *)lh_site_of_stack(sites, 1)->source;
  uint32_t *before = lh_number_sites(&numbers, sites, LH_ALIKE_FILE);
  source[0] = '=';
  uint32_t *after = lh_number_sites(&numbers, sites, LH_ALIKE_FILE);
  assert_int_equal(after[1], before[1]);
  lh_free(before);
  lh_free(after);
  lh_site_numbers_free(&numbers);
  drop(NULL, profile, &f);
}

static void an_aggregate_knows_no_moments(void **state) {
  const lh_usage_query queries[] = {{.since = {LH_MOMENT_TIME, 1}},
                                    {.until = {LH_MOMENT_SHARE, 1}}};
  forged_profile f;
  lh_usage *usage;
  lh_error error;
  (void)state;
  forge_aggregate(&f);
  lh_profile *profile = open_ended_profile(&f);
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(lh_usage_new(&usage, profile, &queries[i], &error), LH_EARGUMENT);
    assert_non_null(strstr(error.message, "aggregate"));
    assert_null(usage);
  }
  drop(NULL, profile, &f);
}

/* ==== Calls ========================================================================== */

static const lh_calls_query all_calls = {0};

static const lh_function_usage *function_of(const lh_usage_calls *calls, const lh_sites *sites,
                                            const char *name) {
  for (size_t i = 0; i < calls->n_functions; i++) {
    const lh_stack *stack = lh_stack_of(sites, calls->functions[i].stack);
    if (strcmp(lh_site_of(sites, stack->site)->function, name) == 0) return &calls->functions[i];
  }
  return NULL;
}

/* main calls f 7 times, twice by a tail call, and g, which allocates nothing, 3 times. */
static void calls_are_those_of_the_hook(void **state) {
  forged_profile f;
  lh_usage_calls calls;
  lh_profile_info info = facts;
  (void)state;
  info.has_calls = true;
  forge_profile(&f, &info);
  lh_stack_id main = forge_stack(&f, 0, site_main), in_f = forge_stack(&f, main, site_f);
  lh_stack_id in_g = forge_stack(&f, main, site_g);
  forge_made(&f, LH_TYPE_TABLE, in_f, 700);
  lh_table_begin(&f.to, LH_BLOCK_CALLS);
  forge_call(&f, &(lh_profile_call){
                     .stack = in_f, .calls = 7, .tail_calls = 2, .self_ns = 50, .total_ns = 60});
  forge_call(&f, &(lh_profile_call){
                     .stack = in_g, .calls = 3, .self_ns = 5, .total_ns = 5, .is_constant = true});
  lh_table_end(&f.to);
  lh_profile *profile = open_ended_profile(&f);
  lh_usage *usage = count_usage(profile, &(lh_usage_query){.peak = false});
  const lh_sites *sites = lh_profile_sites(profile);
  assert_int_equal(lh_usage_calls_find(usage, &all_calls, &calls, NULL), LH_OK);
  assert_int_equal(calls.n_functions, 3);
  const lh_function_usage *of_f = function_of(&calls, sites, "f");
  const lh_function_usage *of_g = function_of(&calls, sites, "g");
  const lh_function_usage *of_main = function_of(&calls, sites, "");
  assert_int_equal(of_f->calls, 7);
  assert_int_equal(of_f->tail_calls, 2);
  assert_int_equal(of_f->self_ns, 50);
  assert_int_equal(of_f->total_ns, 60);
  assert_false(of_f->is_constant);
  assert_true(of_g->is_constant);
  assert_int_equal(of_g->total_bytes, 0);
  assert_int_equal(of_main->total_bytes, 700);
  assert_int_equal(of_main->n_called, 2);
  assert_int_equal(of_main->called[0].calls, 7);
  assert_int_equal(of_main->called[0].tail_calls, 2);
  assert_int_equal(of_main->called[0].self_bytes, 700);
  assert_int_equal(of_main->called[1].calls, 3);
  lh_usage_calls_free(&calls);
  drop(usage, profile, &f);
}

/* f and g call each other 100,000 times: a chain without end for who goes down by recursion. */
static void stacks_of_any_depth_are_told(void **state) {
  enum { DEPTH = 100000 };
  forged_profile f;
  lh_usage_calls calls;
  lh_stack_id at = 0;
  (void)state;
  forge_profile(&f, &facts);
  for (int i = 0; i < DEPTH; i++) {
    at = forge_stack(&f, at, i % 2 ? site_f : site_g);
    forge_made(&f, LH_TYPE_TABLE, at, 1);
  }
  lh_profile *profile = open_ended_profile(&f);
  lh_usage *usage = count_usage(profile, &(lh_usage_query){.peak = true});
  const lh_sites *sites = lh_profile_sites(profile);
  assert_int_equal(lh_usage_calls_find(usage, &all_calls, &calls, NULL), LH_OK);
  assert_int_equal(calls.n_functions, 2);
  assert_int_equal(function_of(&calls, sites, "g")->total_bytes, DEPTH);
  assert_int_equal(function_of(&calls, sites, "f")->total_bytes, DEPTH - 1);
  assert_int_equal(function_of(&calls, sites, "f")->callers[0].total_bytes, DEPTH - 1);
  assert_int_equal(function_of(&calls, sites, "f")->called[0].total_bytes, DEPTH - 2);
  lh_usage_calls_free(&calls);
  drop(usage, profile, &f);
}

/* ==== Memory ========================================================================= */

#ifdef LH_TEST_ALLOC

/* Tables that grow, strings put together, many tables for a moment, at several stacks. */
static void forge_busy(forged_profile *f) {
  lh_site concatenation = site_f;
  concatenation.maker = LH_MADE_CONCATENATION;
  forge_profile(f, &facts);
  lh_stack_id main = forge_stack(f, 0, site_main), in_f = forge_stack(f, main, site_f);
  lh_stack_id in_g = forge_stack(f, in_f, site_g), joins = forge_stack(f, main, concatenation);
  for (int i = 0; i < 12; i++) forge_made(f, LH_EVENT_PART, in_g, UINT64_C(24) << i);
  for (unsigned i = 1; i < 200; i++) forge_made(f, LH_TYPE_STRING, joins, 100 * i);
  for (int i = 0; i < 1000; i++) {
    forge_made(f, LH_TYPE_TABLE, in_f, 5600);
    forge_freed(f, LH_TYPE_TABLE, in_f, 5600, 4096);
  }
}

/* All that is told, as text; false where memory ran out. */
static bool tell_all(const lh_usage *const *usages) {
  static const char *const names[] = {"profile", "findings", "allocations",
                                      "calls",   "advice",   "stacks",
                                      "memory",  "sizes",    "allocation_changes"};
  bool fine = true;
  for (size_t i = 0; fine && i < sizeof names / sizeof *names; i++) {
    lh_request asked = {
        .usages = usages, .n_usages = 1, .n_names = 2, .names = (const char *[]){"a", "b"}};
    if (i == 8) asked.n_usages = 2;
    lh_report report;
    lh_error error = {0};
    int code = lh_ask(&report, lh_find_question(names[i]), NULL, &asked, &error);
    if (code != LH_OK) assert_int_equal(error.code, LH_EMEMORY);
    fine = code == LH_OK;
    if (!fine) break;
    char *text = lh_report_text(&report, "p");
    fine = text != NULL;
    if (fine) assert_true(strlen(text) > 50);
    lh_free(text);
    lh_report_free(&report);
  }
  return fine;
}

static void memory_runs_out_for_usage(void **state) {
  forged_profile f;
  bool fine = false;
  uint64_t n = 1;
  (void)state;
  forge_busy(&f);
  lh_profile *profile = open_ended_profile(&f);
  for (; !fine; n++) {
    lh_usage *usage;
    lh_error error = {0};
    (void)lh_test_fail_allocation(n);
    int code = lh_usage_new(&usage, profile, &(lh_usage_query){.peak = true}, &error);
    if (code == LH_OK) {
      fine = tell_all((const lh_usage *[]){usage, usage});
    } else {
      assert_int_equal(error.code, LH_EMEMORY);
      assert_null(usage);
    }
    lh_usage_free(usage);
  }
  (void)lh_test_fail_allocation(0);
  print_message("usage: each of %llu allocations failed in turn\n", (unsigned long long)n);
  assert_in_range(n, 50, 100000);
  drop(NULL, profile, &f);
}

#endif

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_of_an_aggregate_are_told),
      cmocka_unit_test(a_name_of_many_sites_is_looked_at_once),
      cmocka_unit_test(an_aggregate_knows_no_moments),
      cmocka_unit_test(calls_are_those_of_the_hook),
      cmocka_unit_test(stacks_of_any_depth_are_told),
#ifdef LH_TEST_ALLOC
      cmocka_unit_test(memory_runs_out_for_usage),
#endif
  };
  return cmocka_run_group_tests_name("usage", tests, NULL, NULL);
}
