/*
** test_work_profiles.c - does the work of each question about a profile grow as the file does? For
** each family of profiles (families_profiles.h), and each question that heapprof asks. Work is
** counted as in test_work.c, and so is how much more of it four times the file may take. What a
** stack says may have as many names as are told of it at most, so little work is never too much.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ask_profile.h"
#include "families_profiles.h"
#include "rooms/usage.h"
#include "usage/answers.h"
#include "work.h"

/* ==== The questions ================================================================= */

typedef struct run {
  lh_profile *profile;
  lh_usage *usage;
} run;

static void ask_usage(run *r) {
  const lh_usage_query query = {.peak = true};
  assert_int_equal(lh_usage_new(&r->usage, r->profile, &query, NULL), LH_OK);
}

static void ask_of(const run *r, const char *question, lh_usage_by by, lh_usage_order order) {
  const lh_usage *usages[] = {r->usage, r->usage};
  lh_request request = {.limit = 20,
                        .usages = usages,
                        .n_usages = strcmp(question, "allocation_changes") == 0 ? 2 : 1,
                        .names = (const char *[]){"a", "b"},
                        .n_names = 2,
                        .by = by,
                        .order = order};
  work_ask(question, NULL, &request);
}

static void ask_sites(run *r) {
  ask_of(r, "allocations", LH_BY_SITE, LH_MOST_ALLOCATED);
}

static void ask_functions(run *r) {
  ask_of(r, "allocations", LH_BY_FUNCTION, LH_MOST_LIVE);
}

static void ask_files(run *r) {
  ask_of(r, "allocations", LH_BY_FILE, LH_MOST_AT_PEAK);
}

static void ask_types(run *r) {
  ask_of(r, "allocations", LH_BY_TYPE, LH_MOST_SOON_DEAD);
}

static void ask_stacks(run *r) {
  ask_of(r, "allocations", LH_BY_STACK, LH_MOST_ALLOCATED);
}

static void ask_changes(run *r) {
  ask_of(r, "allocation_changes", LH_BY_SITE, LH_MOST_ALLOCATED);
}

static void ask_rest(const run *r, const char *question) {
  ask_of(r, question, LH_BY_SITE, LH_MOST_ALLOCATED);
}

static void ask_overview(run *r) {
  ask_rest(r, "profile");
  ask_rest(r, "findings");
}

static void ask_calls(run *r) {
  ask_rest(r, "calls");
}

static void ask_advice(run *r) {
  ask_rest(r, "advice");
}

static void ask_flame(run *r) {
  ask_rest(r, "stacks");
}

#define EVERY_NS ((UINT64_C(1) << 50) / 900)

/* Of what has events. */
static void ask_tallies(run *r) {
  lh_line_tally lines;
  lh_type_tally types;
  lh_timeline timeline;
  if (lh_profile_about(r->profile)->is_aggregate) return;
  ask_rest(r, "memory");
  ask_rest(r, "sizes");
  assert_int_equal(lh_tally_types(r->profile, &types, NULL), LH_OK);
  assert_int_equal(lh_tally_timeline(r->profile, 200, 8, &timeline, NULL), LH_OK);
  lh_timeline_free(&timeline);
  assert_int_equal(lh_tally_lines(r->profile, EVERY_NS, &lines, NULL), LH_OK);
  lh_line_tally_free(&lines);
}

static const struct {
  const char *name;
  void (*ask)(run *r);
} questions[] = {{"usage", ask_usage},     {"sites", ask_sites},       {"functions", ask_functions},
                 {"files", ask_files},     {"types", ask_types},       {"stacks", ask_stacks},
                 {"changes", ask_changes}, {"overview", ask_overview}, {"calls", ask_calls},
                 {"advice", ask_advice},   {"flame", ask_flame},       {"tallies", ask_tallies}};
enum { QUESTIONS = sizeof questions / sizeof *questions };

/* ==================================================================================== */

/* Fills in the work of each question, and in the last place that of opening the file. */
static void ask_all_of(const profile_family *family, size_t bytes, uint64_t *figures) {
  run r;
  forged_profile f;
  profile_family_make(&f, family, profile_family_scale(family, bytes));
  uint64_t before = work_done;
  assert_int_equal(lh_profile_open_memory(f.data, f.size, "p", &r.profile, NULL), LH_OK);
  figures[QUESTIONS] = work_done - before;
  assert_true(figures[QUESTIONS] > 0); /* it is counted */
  for (int i = 0; i < QUESTIONS; i++) {
    before = work_done;
    questions[i].ask(&r);
    figures[i] = work_done - before;
  }
  lh_usage_free(r.usage);
  lh_profile_close(r.profile);
  forge_drop_profile(&f);
}

enum { SMALL_BYTES = 64000, TIMES = 4, LITTLE = 8000000, ATTEMPTS = 3 };
#define MOST_TIMES 7.0

/* The seeds of hash tables are others each time, so only what is too much each time is. */
static size_t count_too_much(const profile_family *family) {
  bool too_much[QUESTIONS + 1];
  size_t n = 1;
  memset(too_much, true, sizeof too_much);
  for (int attempt = 0; n > 0 && attempt < ATTEMPTS; attempt++) {
    uint64_t small[QUESTIONS + 1], great[QUESTIONS + 1];
    ask_all_of(family, SMALL_BYTES, small);
    ask_all_of(family, TIMES * SMALL_BYTES, great);
    n = 0;
    for (int i = 0; i <= QUESTIONS; i++) {
      double times = (double)great[i] / (double)(small[i] + 1);
      too_much[i] = too_much[i] && times > MOST_TIMES && great[i] > LITTLE;
      n += too_much[i];
      if (too_much[i])
        printf("%s, %s: %llu, then %llu: %.1f times\n", family->name,
               i < QUESTIONS ? questions[i].name : "open", (unsigned long long)small[i],
               (unsigned long long)great[i], times);
    }
  }
  return n;
}

static void work_grows_as_the_file_does(void **state) {
  size_t n_too_much = 0, n_cases = profile_family_count() * (QUESTIONS + 1);
  (void)state;
  for (size_t i = 0; i < profile_family_count(); i++)
    n_too_much += count_too_much(profile_family_number(i));
  assert_int_equal(n_too_much, 0);
  printf("faults: four times the profile, its work at most %.0f times: %zu cases, %zu survived\n",
         MOST_TIMES, n_cases, n_cases);
}

static uint64_t n_compared;

int __real_lh_compare_lines(const lh_line *a, const lh_line *b);
int __wrap_lh_compare_lines(const lh_line *a, const lh_line *b);

int __wrap_lh_compare_lines(const lh_line *a, const lh_line *b) {
  n_compared++;
  return __real_lh_compare_lines(a, b);
}

/* Of thousands of lines each of 900 moments tells 20, so it sorts no more. */
static void a_moment_sorts_few_lines(void **state) {
  enum { MOMENTS = 900, MOST = 4 };
  forged_profile f;
  lh_profile *profile;
  lh_line_tally lines;
  uint64_t n_seen = 0;
  (void)state;
  const profile_family *family = profile_family_number(0);
  for (size_t i = 0; strcmp(family->name, "moments") != 0;) family = profile_family_number(++i);
  profile_family_make(&f, family, profile_family_scale(family, TIMES * SMALL_BYTES));
  assert_int_equal(lh_profile_open_memory(f.data, f.size, "p", &profile, NULL), LH_OK);
  n_compared = 0;
  assert_int_equal(lh_tally_lines(profile, EVERY_NS, &lines, NULL), LH_OK);
  assert_in_range(lines.n_moments, MOMENTS / 2, 2 * MOMENTS);
  for (size_t i = 0; i < lines.n_moments; i++)
    n_seen += lines.moments[i].n_held + lines.moments[i].n_more;
  assert_true(n_seen > 1000000);
  assert_in_range(n_compared, 1, MOST * n_seen);
  lh_line_tally_free(&lines);
  lh_profile_close(profile);
  forge_drop_profile(&f);
}

static void each_survives_all_questions(void **state) {
  enum { BYTES = 20000 };
  (void)state;
  for (size_t i = 0; i < profile_family_count(); i++) {
    forged_profile f;
    const profile_family *family = profile_family_number(i);
    profile_family_make(&f, family, profile_family_scale(family, BYTES));
    ask_profile(f.data, f.size);
    forge_drop_profile(&f);
  }
  printf("faults: profiles of many shapes, all questions: %zu cases, %zu survived\n",
         profile_family_count(), profile_family_count());
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(work_grows_as_the_file_does),
                                     cmocka_unit_test(a_moment_sorts_few_lines),
                                     cmocka_unit_test(each_survives_all_questions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
