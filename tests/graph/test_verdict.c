/*
** test_verdict.c - whether a collection grows, by the ages of its objects, where the whole heap has
** nothing of some intervals; and whether it was filled once. The histories and ages are given, and
** the holders are of a real heap.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/answers.h"
#include "graph/graph.h"
#include "name/names.h"
#include "rooms/all.h"
#include "steps.h"

enum { MARKS = 6 };

typedef struct ages_case {
  unsigned n;           /* spans */
  uint64_t heap[MARKS]; /* objects of the whole heap: before the first mark, from each interval */
  double seconds[MARKS];
  uint64_t ages[MARKS];
  const char *holder;
  lh_prospect right;
} ages_case;

static const ages_case ages_cases[] = {
    /* A ring, or a queue: all that was made before is gone. */
    {4, {300, 0, 0, 400}, {0, 2, 2, 2}, {0, 0, 0, 150}, "_G.old", LH_BOUNDED},
    {4, {300, 0, 400, 400}, {0, 2, 2, 2}, {0, 0, 50, 100}, "_G.old", LH_BOUNDED},
    {4, {300, 0, 0, 400}, {0, 0.5, 2, 1}, {0, 0, 0, 150}, "_G.old", LH_MAY_GROW},
    {4, {300, 0, 0, 400}, {0, 0.75, 2, 1}, {0, 0, 0, 150}, "_G.old", LH_BOUNDED},
    /* The time is unknown. */
    {4, {300, 0, 0, 400}, {0, 0, 0, 0}, {0, 0, 0, 150}, "_G.old", LH_MAY_GROW},
    /* The holder is no older than what it holds, or is one of every program. */
    {4, {300, 0, 0, 400}, {0, 2, 2, 2}, {0, 0, 0, 150}, "_G.new", LH_MAY_GROW},
    {4, {300, 0, 0, 400}, {0, 2, 2, 2}, {0, 0, 0, 150}, "_G", LH_MAY_GROW},
    /* Something older stays, which a ring would have dropped. */
    {4, {300, 0, 0, 400}, {0, 2, 2, 2}, {20, 0, 0, 150}, "_G.old", LH_MAY_GROW},
    /* Too few. */
    {4, {300, 0, 0, 400}, {0, 2, 2, 2}, {0, 0, 0, 15}, "_G.old", LH_MAY_GROW},
    /* A leak, also of a program that was idle first. */
    {4, {300, 400, 400, 400}, {0, 2, 2, 2}, {100, 100, 100, 100}, "_G.old", LH_GROWS},
    {4, {300, 0, 400, 400}, {0, 9, 2, 2}, {100, 0, 100, 100}, "_G.old", LH_GROWS},
    /* A ring with what three intervals made looks like a leak. */
    {6, {300, 0, 0, 90, 90, 90}, {0, 2, 2, 2, 2, 2}, {0, 0, 0, 50, 50, 50}, "_G.old", LH_MAY_GROW},
    {6, {300, 9, 9, 90, 90, 90}, {0, 2, 2, 2, 2, 2}, {0, 0, 0, 50, 50, 50}, "_G.old", LH_BOUNDED},
    {6, {300, 0, 0, 90, 90, 90}, {0, 1, 0, 2, 2, 2}, {0, 0, 0, 50, 50, 50}, "_G.old", LH_GROWS},
    {6, {300, 0, 0, 90, 90, 90}, {0, 2, 2, 2, 2, 2}, {9, 0, 0, 50, 50, 50}, "_G.old", LH_GROWS},
    {6, {300, 0, 0, 90, 90, 90}, {0, 2, 2, 2, 2, 2}, {0, 0, 0, 50, 50, 50}, "_G.new", LH_GROWS},
    /* A cache that fills up, and is most of the heap; a program that does less and less; one that
       does not. */
    {5, {90, 1243, 279, 24, 71}, {0, 2, 2, 2, 2}, {381, 413, 93, 8, 5}, "_G.old", LH_BOUNDED},
    {5, {90, 1243, 279, 24, 15}, {0, 2, 2, 2, 2}, {381, 413, 93, 8, 5}, "_G.old", LH_MAY_GROW},
    {5, {90, 1243, 279, 24, 71}, {0, 2, 2, 2, 2}, {381, 413, 93, 5, 8}, "_G.old", LH_MAY_GROW},
    {5, {90, 1243, 279, 24, 71}, {0, 2, 2, 2, 2}, {0, 413, 93, 8, 5}, "_G.old", LH_MAY_GROW},
    {4, {90, 1243, 24, 71}, {0, 2, 2, 2}, {381, 413, 8, 6}, "_G.old", LH_MAY_GROW},
    /* A leak before the program was idle. */
    {4, {300, 400, 0, 0}, {0, 2, 2, 2}, {0, 150, 0, 0}, "_G.old", LH_MAY_GROW},
};

static lh_prospect judge(const lh_snapshot *s, const ages_case *c) {
  lh_history history = {.by_marks = true, .n = c->n};
  uint64_t ages[LH_SPANS] = {0};
  lh_found holder;
  for (unsigned i = 0; i < history.n; i++) {
    history.objects[i] = c->heap[i];
    history.seconds[i] = c->seconds[i];
    ages[i] = c->ages[i];
  }
  assert_int_equal(lh_find((lh_snapshot *)s, c->holder, &holder, NULL), LH_OK);
  return lh_prospect_of_ages(s, &history, ages, holder.id);
}

static void ages_tell_whether_it_grows(void **state) {
  (void)state;
  program p = program_begin();
  (void)program_step(&p, "old = {}");
  for (int i = 0; i < MARKS - 2; i++) (void)program_step(&p, "");
  lh_snapshot *s = program_step(&p, "new = {}");
  assert_int_equal(lh_mark_count(s), MARKS);
  for (size_t i = 0; i < sizeof ages_cases / sizeof *ages_cases; i++) {
    lh_prospect prospect = judge(s, &ages_cases[i]);
    if (prospect != ages_cases[i].right) fail_msg("case %zu: %d", i, (int)prospect);
  }
  program_end(&p);
}

static void what_nothing_was_added_to_was_filled_once(void **state) {
  (void)state;
  const lh_snapshot s = {0};
  const lh_filling old = {.elements = 18, .aged = 18, .by_marks = true};
  lh_filling other = old;
  assert_true(lh_was_filled_once(&s, &old));
  other.since_first_mark = 1;
  assert_false(lh_was_filled_once(&s, &other));
  other = old, other.by_marks = false;
  assert_false(lh_was_filled_once(&s, &other));
  other = old, other.elements = 2 * old.aged;
  assert_true(lh_was_filled_once(&s, &other));
  other.elements++; /* most are references to the same objects */
  assert_false(lh_was_filled_once(&s, &other));
  other.heap_since_first_mark = 0.5; /* chance would have added some */
  assert_true(lh_was_filled_once(&s, &other));
  other.aged = 0; /* numbers */
  assert_false(lh_was_filled_once(&s, &other));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ages_tell_whether_it_grows),
      cmocka_unit_test(what_nothing_was_added_to_was_filled_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
