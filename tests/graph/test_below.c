/*
** test_below.c - what is below an object, as far as fits a picture, against its definition: the
** objects at most so many levels down, each with its references to those that retain most. On
** thousands of random heaps; a failure prints the seed.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "random_heap.h"
#include "read/snapshot.h"

static bool is_shown(const lh_edge *edge) {
  return !edge->weak && edge->kind != LH_EDGE_KEY;
}

static size_t count_shown(const lh_snapshot *s, lh_id id) {
  lh_edges it;
  lh_edge edge;
  size_t n = 0;
  for (lh_edges_begin(s, id, &it); lh_edges_next(&it, &edge);) n += is_shown(&edge);
  return n;
}

/* How many references of an object retain more than so many bytes. */
static size_t count_bigger(const lh_snapshot *s, lh_id id, uint64_t bytes) {
  lh_edges it;
  lh_edge edge;
  size_t n = 0;
  for (lh_edges_begin(s, id, &it); lh_edges_next(&it, &edge);) {
    n += is_shown(&edge) && lh_retained_bytes(s, edge.target) > bytes;
  }
  return n;
}

/* The level of each object, by the references that are told; UINT32_MAX: it is not there. */
static void find_levels(const lh_snapshot *s, const lh_below *below, uint32_t *level) {
  for (lh_id id = 0; id <= s->n; id++) level[id] = UINT32_MAX;
  level[below->id] = 0;
  for (size_t i = 0; i < below->n_paths; i++) {
    const lh_edge *edge = below->paths[i].steps;
    if (level[edge->source] == UINT32_MAX)
      fail_msg("%u comes before what leads to it", edge->source);
    if (level[edge->target] == UINT32_MAX) level[edge->target] = level[edge->source] + 1;
  }
}

static size_t rest_of(const lh_below *below, lh_id id) {
  size_t n = 0;
  for (size_t i = 0; i < below->n_rests; i++) {
    if (below->rests[i].id == id) n += below->rests[i].references;
  }
  return n;
}

/* All references of the object that are told are among its biggest, and none is told twice. */
static bool is_told(const lh_snapshot *s, const lh_below *below, lh_id id, uint32_t width) {
  size_t n = 0, all = count_shown(s, id);
  for (size_t i = 0; i < below->n_paths; i++) {
    const lh_edge *edge = below->paths[i].steps;
    if (edge->source != id) continue;
    if (!is_shown(edge) || count_bigger(s, id, lh_retained_bytes(s, edge->target)) >= width) {
      return false;
    }
    n++;
  }
  return n == (all < width ? all : width) && rest_of(below, id) == all - n;
}

static void is_as_defined(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 4000; seed++) {
    uint64_t random = seed;
    forge file;
    uint32_t level[RANDOM_MOST_OBJECTS + 2];
    random_heap h = random_heap_make(seed);
    lh_snapshot *s = random_heap_open(&h, &file);
    lh_below below;
    const lh_below_query query = {.depth = random_below(&random, 5),
                                  .width = 1 + random_below(&random, 6)};
    assert_int_equal(lh_analyse(s, NULL), LH_OK);
    lh_id id = 2 + random_below(&random, s->n - 1);
    assert_int_equal(lh_find_below(s, id, &query, &below, NULL), LH_OK);
    assert_true(s->n <= RANDOM_MOST_OBJECTS + 1);
    find_levels(s, &below, level);
    for (lh_id o = 1; o <= s->n; o++) {
      bool expanded = level[o] < query.depth;
      if (expanded ? !is_told(s, &below, o, query.width) : rest_of(&below, o) > 0) {
        fail_msg("seed %llu: object %u", (unsigned long long)seed, o);
      }
    }
    lh_below_free(&below);
    lh_close(s);
    forge_free(&file);
  }
}

static void refuses_no_width(void **state) {
  (void)state;
  forge file;
  random_heap h = random_heap_make(1);
  lh_snapshot *s = random_heap_open(&h, &file);
  lh_below below;
  lh_error error;
  static const uint32_t wrong[] = {0, LH_MOST_WIDTH + 1, UINT32_MAX};
  assert_int_equal(lh_analyse(s, NULL), LH_OK);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const lh_below_query query = {.depth = 1, .width = wrong[i]};
    assert_int_equal(lh_find_below(s, 2, &query, &below, &error), LH_EARGUMENT);
    assert_string_equal(error.message, "the width of a picture is 1 to 1000");
  }
  lh_close(s);
  forge_free(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(is_as_defined),
                                     cmocka_unit_test(refuses_no_width)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
