/*
** test_place.c - places against their definition on random heaps, with some objects asked for
** twice, and with any allocation failing: objects are at one place if, and only if, their class and
** the text of their folded path are the same.
**
** The oracle folds the shortest path of each object by itself. A [*] that stands for one key only
** is that key in the text of a place, so of paths with a star it is not asked. A failure prints the
** seed of its heap: run the program with it as its argument to see only that one.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "name/place.h"
#include "random_heap.h"

static unsigned long only_seed;

#define check(seed, condition)                                      \
  do {                                                              \
    if (!(condition)) fail_msg("seed %lu: %s", (seed), #condition); \
  } while (0)

typedef struct trial {
  random_heap heap;
  forge file;
  lh_snapshot *s;
  lh_id ids[2 * RANDOM_MOST_OBJECTS];
  size_t n_ids;
} trial;

static void begin_trial(trial *t, unsigned long seed) {
  uint64_t random = seed;
  *t = (trial){.heap = random_heap_make(seed)};
  t->s = random_heap_open(&t->heap, &t->file);
  assert_non_null(t->s);
  assert_int_equal(lh_analyse(t->s, NULL), LH_OK);
  assert_int_equal(lh_classify(t->s, NULL), LH_OK);
  for (lh_id id = 1; id <= t->s->n; id++) {
    if (!lh_is_reachable(t->s, id) || lh_is_own(t->s, id)) continue;
    for (uint32_t times = random_below(&random, 3); times > 0; times--) t->ids[t->n_ids++] = id;
  }
}

static void end_trial(trial *t) {
  lh_close(t->s);
  forge_free(&t->file);
}

static char *folded_path(const trial *t, lh_id id) {
  char *text = NULL;
  assert_int_equal(lh_held_by(t->s, id, &text, NULL), LH_OK);
  return text;
}

static void places_are_those_of_the_definition(void **state) {
  (void)state;
  size_t n_shared = 0;
  for (unsigned long seed = 1; seed <= 2000; seed++) {
    if (only_seed && seed != only_seed) continue;
    trial t;
    lh_places places;
    char *path[2 * RANDOM_MOST_OBJECTS];
    begin_trial(&t, seed);
    assert_true(lh_places_make(&places, t.s, t.ids, t.n_ids, t.n_ids));
    for (size_t i = 0; i < t.n_ids; i++) path[i] = folded_path(&t, t.ids[i]);
    for (size_t i = 0; i < t.n_ids; i++) {
      uint32_t here = lh_place_of(&places, t.ids[i]);
      const lh_place *place = &places.list[here];
      check(seed, here < places.n && place->class_index == lh_class_of(t.s, t.ids[i]));
      check(seed, strchr(path[i], '*') || strcmp(places.texts.texts[place->path], path[i]) == 0);
      for (size_t k = 0; k < i; k++) {
        uint32_t there = lh_place_of(&places, t.ids[k]);
        bool same = lh_class_of(t.s, t.ids[k]) == place->class_index && !strcmp(path[k], path[i]);
        check(seed, there != here || places.list[there].class_index == place->class_index);
        if (strchr(path[i], '*') || strchr(path[k], '*')) continue;
        check(seed, same == (there == here));
        n_shared += same && t.ids[k] != t.ids[i];
      }
    }
    for (size_t i = 0; i < t.n_ids; i++) lh_free(path[i]);
    lh_places_free(&places);
    end_trial(&t);
  }
  assert_true(only_seed || n_shared > 200);
}

static void any_allocation_may_fail(void **state) {
  (void)state;
  trial t;
  lh_places places;
  bool ok = false;
  unsigned n = 0;
  begin_trial(&t, 7);
  while (!ok) {
    end_trial(&t); /* the places of a snapshot stay as long as that */
    begin_trial(&t, 7);
    (void)lh_test_fail_allocation(++n);
    ok = lh_places_make(&places, t.s, t.ids, t.n_ids, t.n_ids) && lh_join_places(&places);
    lh_print *prints = ok ? lh_alloc(2 * places.n, sizeof *prints) : NULL;
    ok = prints && lh_print_places(&places, prints, prints + places.n);
    lh_free(prints);
    lh_places_free(&places);
    (void)lh_test_fail_allocation(0);
  }
  end_trial(&t);
  assert_true(n > 20);
  printf("faults: allocations of places: %u cases, %u survived\n", n - 1, n - 1);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(places_are_those_of_the_definition),
      cmocka_unit_test(any_allocation_may_fail),
  };
  if (argc > 1) only_seed = strtoul(argv[1], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
