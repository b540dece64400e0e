/*
** test_ways.c - the merged paths of many objects against their definition on random heaps, and with
** any allocation failing.
**
** The oracle folds the shortest path of each object by itself: objects are at one place if the
** texts are the same. The bytes of a place are searched for: what goes with the set, but is not
** reached, without another object of the set in between, from one that is somewhere else. A failure
** prints the seed of its heap: run the program with it as its argument to see only that one.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "advise/advise.h"
#include "random_heap.h"

static unsigned long only_seed;

typedef struct trial {
  unsigned long seed;
  random_heap heap;
  forge file;
  lh_snapshot *s;
  lh_id ids[2 * RANDOM_MOST_OBJECTS];
  size_t n_ids;
  bool chosen[RANDOM_MOST_OBJECTS + 2];
} trial;

#define check(t, condition)                                            \
  do {                                                                 \
    if (!(condition)) fail_msg("seed %lu: %s", (t)->seed, #condition); \
  } while (0)

/* A heap, and some of its objects, some of them twice. */
static trial begin(unsigned long seed) {
  trial t = {.seed = seed};
  uint64_t random = seed;
  t.heap = random_heap_make(seed);
  t.s = random_heap_open(&t.heap, &t.file);
  assert_non_null(t.s);
  assert_int_equal(lh_analyse(t.s, NULL), LH_OK);
  assert_int_equal(lh_classify(t.s, NULL), LH_OK);
  uint32_t rarity = 1 + random_below(&random, 6);
  for (lh_id id = 1; id <= t.s->n; id++) {
    if (random_below(&random, rarity)) continue;
    t.ids[t.n_ids++] = id;
    t.chosen[id] = !lh_is_own(t.s, id);
    if (random_below(&random, 8) == 0) t.ids[t.n_ids++] = id;
  }
  return t;
}

static void end(trial *t) {
  lh_close(t->s);
  forge_free(&t->file);
}

static bool is_member(const trial *t, lh_id id) {
  return t->chosen[id] && lh_is_reachable(t->s, id);
}

/* {=== Places ========================================================================= */

static char *folded_path(const trial *t, lh_id id) {
  lh_path path;
  assert_int_equal(lh_shortest_path(t->s, id, &path, NULL), LH_OK);
  char *text = lh_path_text(t->s, &path, true);
  lh_paths_free(&path, 1);
  assert_non_null(text);
  return text;
}

/* In a heap of tables a new beginning is a root only, so a text is all of a path. */
static void check_places(const trial *t, const lh_merged_paths *places) {
  char *text[RANDOM_MOST_OBJECTS + 2] = {NULL};
  for (lh_id id = 1; id <= t->s->n; id++)
    if (places->of[id]) text[id] = folded_path(t, id);
  for (lh_id a = 1; a <= t->s->n; a++) {
    check(t, !is_member(t, a) || text[a]);
    for (lh_id b = 1; text[a] && b < a; b++)
      if (text[b]) check(t, (places->of[a] == places->of[b]) == (strcmp(text[a], text[b]) == 0));
  }
  for (lh_id id = 1; id <= t->s->n; id++) lh_free(text[id]);
}

static bool is_below(const lh_merged_paths *places, uint32_t at, uint32_t above) {
  while (at > above) at = places->list[at].above;
  return at == above;
}

static void check_place(const trial *t, const lh_merged_paths *places, uint32_t at) {
  uint64_t objects = 0, here = 0, through = 0, bytes = 0;
  bool other[RANDOM_MOST_OBJECTS + 2] = {true}; /* reached from elsewhere */
  for (lh_id id = 1; id <= t->s->n; id++) {
    bool below = places->of[id] && is_below(places, places->of[id], at);
    here += is_member(t, id) && places->of[id] == at;
    through += places->of[id] == at && at > 0;
    objects += is_member(t, id) && below;
    other[id] = is_member(t, id) && !below;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (lh_id v = 0; v <= t->s->n; v++)
      for (uint32_t e = t->s->first_edge[v]; other[v] && e < t->s->first_edge[v + 1]; e++) {
        lh_id target = t->s->edge[e];
        if (other[target] || is_member(t, target)) continue;
        other[target] = changed = true;
      }
  }
  for (lh_id id = 1; id <= t->s->n; id++)
    if (lh_is_reachable(t->s, id) && !other[id]) bytes += lh_shallow_bytes(t->s, id);
  const lh_merged_step *place = &places->list[at];
  check(t, place->objects == objects && place->here == here && place->through == through);
  check(t, place->bytes == bytes);
  check(t, at == 0 || place->above < at);
}

static void places_are_those_of_the_definition(void **state) {
  (void)state;
  size_t n_places = 0;
  for (unsigned long seed = 1; seed <= 3000; seed++) {
    if (only_seed && seed != only_seed) continue;
    trial t = begin(seed);
    lh_merged_paths places = {0};
    lh_id members[RANDOM_MOST_OBJECTS];
    size_t n = 0;
    for (lh_id id = 1; id <= t.s->n; id++)
      if (is_member(&t, id)) members[n++] = id;
    assert_true(lh_merge_steps(&places, t.s, members, n));
    assert_true(lh_divide_retained(&places, t.s));
    check_places(&t, &places);
    for (uint32_t at = 0; at < places.n; at++) check_place(&t, &places, at);
    n_places += places.n;
    lh_merged_free(&places);
    end(&t);
  }
  assert_true(only_seed || n_places > 10000);
}

/* }=================================================================================== */

/* {=== Rows =========================================================================== */

/* A row has all objects that the rows below it have, and its own; and no less bytes. */
static void check_row(const trial *t, const lh_ways *ways, size_t i) {
  const lh_way *way = &ways->rows[i];
  uint64_t objects = way->here, bytes = 0;
  size_t n_below = 0, last = i;
  bool hidden = false;
  for (size_t k = i + 1; k < ways->n_rows && ways->rows[k].depth > way->depth; k++) {
    const lh_way *below = &ways->rows[k];
    if (below->depth > way->depth + 1) continue;
    objects += below->objects;
    bytes += below->bytes;
    check(t, !hidden); /* is the last */
    hidden = below->hidden > 0;
    if (!hidden && n_below++ > 0) check(t, ways->rows[last].bytes >= below->bytes);
    if (!hidden) last = k;
  }
  if (way->hidden > 0) {
    check(t, !way->steps && !way->path && way->id == LH_NO_OBJECT);
    return;
  }
  check(t, objects == way->objects && bytes <= way->bytes);
  check(t, *way->steps && (i == 0 || *way->path));
  check(t, way->here <= way->through);
  check(t, i == 0 || way->here > 0 || n_below != 1 || hidden); /* else they were one row */
  if (i > 0) check(t, !way->here || is_member(t, way->id));
}

static uint64_t hidden_rows(const lh_ways *ways) {
  uint64_t n = 0;
  for (size_t i = 0; i < ways->n_rows; i++) n += ways->rows[i].hidden;
  return n;
}

/* Members that are reached though the last reference of each one's shortest path is gone. */
static uint64_t count_elsewhere(const trial *t) {
  bool seen[RANDOM_MOST_OBJECTS + 1] = {true};
  lh_id last[RANDOM_MOST_OBJECTS + 1] = {0};
  uint64_t n = 0;
  for (lh_id id = 1; id <= t->s->n; id++) {
    lh_path path;
    last[id] = LH_NO_OBJECT;
    if (!is_member(t, id)) continue;
    assert_int_equal(lh_shortest_path(t->s, id, &path, NULL), LH_OK);
    last[id] = path.steps[path.n_steps - 1].source;
    lh_paths_free(&path, 1);
  }
  for (bool more = true; more;) {
    more = false;
    for (lh_id id = 0; id <= t->s->n; id++) {
      lh_edges it;
      lh_edge edge;
      if (!seen[id]) continue;
      for (lh_edges_begin(t->s, id, &it); lh_edges_next(&it, &edge);) {
        if (edge.weak || seen[edge.target] || last[edge.target] == id) continue;
        seen[edge.target] = more = true;
      }
    }
  }
  for (lh_id id = 1; id <= t->s->n; id++) n += seen[id] && is_member(t, id);
  return n;
}

static void check_ways(const trial *t, const lh_ways *ways) {
  uint64_t bytes = 0, objects = 0, garbage = 0, garbage_bytes = 0, held = 0;
  lh_id members[RANDOM_MOST_OBJECTS];
  for (lh_id id = 1; id <= t->s->n; id++) {
    if (is_member(t, id)) members[objects++] = id;
    if (!t->chosen[id] || is_member(t, id)) continue;
    garbage++;
    garbage_bytes += lh_shallow_bytes(t->s, id);
  }
  check(t, ways->objects == objects && ways->garbage_objects == garbage);
  check(t, ways->garbage_bytes == garbage_bytes);
  check(t, (ways->n_rows > 0) == (objects > 0));
  if (objects == 0) return;
  assert_int_equal(lh_retained_together(t->s, members, objects, &bytes, NULL, NULL), LH_OK);
  check(t, ways->bytes == bytes);
  check(t, ways->rows[0].depth == 0 && ways->rows[0].id == LH_ROOT);
  check(t, ways->rows[0].objects == objects && ways->rows[0].bytes == ways->bytes);
  for (size_t i = 0; i < ways->n_rows; i++) {
    check(t, i == 0 ||
                 (ways->rows[i].depth > 0 && ways->rows[i].depth <= ways->rows[i - 1].depth + 1));
    check_row(t, ways, i);
  }
  for (uint32_t i = 0; i < ways->n_holders; i++) {
    held += ways->holders[i].objects;
    check(t, i == 0 || ways->holders[i].objects <= ways->holders[i - 1].objects);
  }
  check(t, ways->total_holders > LH_MOST_HOLDERS ? held < objects : held == objects);
  check(t, ways->objects_elsewhere == count_elsewhere(t));
  check(t, (ways->objects_elsewhere > 0) == (ways->elsewhere.path != NULL));
  check(t, ways->elsewhere.objects <= ways->objects_elsewhere);
}

static void rows_add_up(void **state) {
  (void)state;
  for (unsigned long seed = 1; seed <= 2000; seed++) {
    if (only_seed && seed != only_seed) continue;
    trial t = begin(seed);
    lh_ways *all, *some;
    lh_error error;
    size_t limit = seed % 12 + 2;
    assert_int_equal(lh_merge_paths(t.s, t.ids, t.n_ids, 0, &all, &error), LH_OK);
    check_ways(&t, all);
    check(&t, hidden_rows(all) == 0);
    assert_int_equal(lh_merge_paths(t.s, t.ids, t.n_ids, limit, &some, &error), LH_OK);
    check_ways(&t, some);
    check(&t, some->n_rows <= limit);
    check(&t, all->n_rows > limit ? hidden_rows(some) > 0 : some->n_rows == all->n_rows);
    lh_ways_free(all);
    lh_ways_free(some);
    end(&t);
  }
}

/* }=================================================================================== */

/* {=== Failures ======================================================================= */

static void each_allocation_fails(void **state) {
  (void)state;
  unsigned n_failed = 0;
  for (unsigned long seed = 1; seed <= 5; seed++) {
    trial t = begin(seed);
    lh_ways *ways;
    lh_error error = {0};
    int code = LH_EMEMORY;
    for (uint64_t nth = 1; code != LH_OK; nth++) {
      (void)lh_test_fail_allocation(nth);
      code = lh_merge_paths(t.s, t.ids, t.n_ids, 10, &ways, &error);
      (void)lh_test_fail_allocation(0);
      assert_true(code == LH_OK || (code == LH_EMEMORY && !ways && error.code == code));
      n_failed += code != LH_OK;
      assert_true(nth < 2000);
    }
    check_ways(&t, ways);
    lh_ways_free(ways);
    end(&t);
  }
  printf("faults: allocations of merged paths: %u cases, %u survived\n", n_failed, n_failed);
}

static void nothing_before_its_time(void **state) {
  (void)state;
  random_heap h = random_heap_make(3);
  forge file;
  lh_snapshot *s = random_heap_open(&h, &file);
  lh_ways *ways;
  lh_error error;
  lh_id id = 2, wrong[] = {LH_ROOT, s->n + 1, LH_NO_OBJECT};
  assert_int_equal(lh_merge_paths(s, &id, 1, 0, &ways, &error), LH_EARGUMENT);
  assert_int_equal(lh_analyse(s, &error), LH_OK);
  assert_int_equal(lh_merge_paths(s, &id, 1, 0, &ways, &error), LH_EARGUMENT);
  assert_int_equal(lh_classify(s, &error), LH_OK);
  for (int i = 0; i < 3; i++)
    assert_int_equal(lh_merge_paths(s, &wrong[i], 1, 0, &ways, &error), LH_EARGUMENT);
  assert_int_equal(lh_merge_paths(s, NULL, 0, 0, &ways, &error), LH_OK);
  assert_true(ways->objects == 0 && ways->n_rows == 0);
  lh_ways_free(ways);
  lh_ways_free(NULL);
  lh_close(s);
  forge_free(&file);
}

/* }=================================================================================== */

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(places_are_those_of_the_definition),
      cmocka_unit_test(rows_add_up),
      cmocka_unit_test(each_allocation_fails),
      cmocka_unit_test(nothing_before_its_time),
  };
  if (argc > 1) only_seed = strtoul(argv[1], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
