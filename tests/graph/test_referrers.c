/*
** test_referrers.c - what refers to an object, by the index of references the other way round,
** against the edges of all objects one after the other; of random heaps with weak tables, whole and
** with edges and objects left out; and in pages.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random_heap.h"
#include "rooms/all.h"

enum { HEAPS = 400, MOST_EDGES = 4096 };

typedef struct edge_list {
  lh_edge edge[MOST_EDGES];
  size_t n;
} edge_list;

/* By insertion behind all that are as near, or nearer: sources come in ascending order. */
static void insert(const lh_snapshot *s, edge_list *list, const lh_edge *edge) {
  size_t at = list->n++;
  assert_true(list->n <= MOST_EDGES);
  while (at > 0 && lh_distance(s, list->edge[at - 1].source) > lh_distance(s, edge->source)) {
    list->edge[at] = list->edge[at - 1];
    at--;
  }
  list->edge[at] = *edge;
}

/* From the definition: all edges that end there. */
static void walk(const lh_snapshot *s, lh_id target, edge_list *list) {
  list->n = 0;
  for (lh_id id = LH_ROOT; id <= lh_object_count(s); id++) {
    lh_edges it;
    lh_edge edge;
    if (lh_is_own(s, id)) continue;
    for (lh_edges_begin(s, id, &it); lh_edges_next(&it, &edge);)
      if (edge.target == target) insert(s, list, &edge);
  }
}

static bool is_same(const lh_edge *a, const lh_edge *b) {
  return a->source == b->source && a->target == b->target && a->kind == b->kind &&
         a->weak == b->weak && a->ignored == b->ignored && a->index == b->index &&
         a->ordinal == b->ordinal && a->holder == b->holder && a->key.kind == b->key.kind &&
         a->key.as.integer == b->key.as.integer;
}

static void check_slice(lh_snapshot *s, lh_id id, const edge_list *right, size_t from,
                        size_t limit) {
  lh_edge *edges;
  size_t n, wanted = from < right->n ? right->n - from : 0;
  uint64_t total;
  if (limit != 0 && limit < wanted) wanted = limit;
  assert_int_equal(lh_some_referrers(s, id, from, limit, &edges, &n, &total, NULL), LH_OK);
  assert_int_equal(total, right->n);
  assert_int_equal(n, wanted);
  for (size_t i = 0; i < n; i++) assert_true(is_same(&edges[i], &right->edge[from + i]));
  lh_free(edges);
}

static void check_all(lh_snapshot *s, edge_list *right) {
  for (lh_id id = 1; id <= lh_object_count(s); id++) {
    lh_edge *edges;
    size_t n;
    walk(s, id, right);
    assert_int_equal(lh_referrers(s, id, &edges, &n, NULL), LH_OK);
    assert_int_equal(n, right->n);
    for (size_t i = 0; i < n; i++) assert_true(is_same(&edges[i], &right->edge[i]));
    lh_free(edges);
    for (size_t from = 0; from <= right->n + 1; from++)
      for (size_t limit = 0; limit <= 3; limit++) check_slice(s, id, right, from, limit);
  }
}

static void index_is_the_walk(void **state) {
  edge_list *right = malloc(sizeof *right);
  (void)state;
  for (uint64_t seed = 1; seed <= HEAPS; seed++) {
    random_heap h = random_heap_make(seed);
    forge file;
    lh_snapshot *s = random_heap_open(&h, &file);
    assert_int_equal(lh_analyse(s, NULL), LH_OK);
    check_all(s, right);
    lh_close(s);
    forge_free(&file);
  }
  free(right);
}

/* Some of the edges, and an object, and then again none. */
static void leave_out(lh_snapshot *s, uint64_t *random, edge_list *right) {
  lh_without without = {.edges = right->edge};
  lh_id gone = 2 + random_below(random, lh_object_count(s) - 1);
  size_t n = 0;
  walk(s, 2 + random_below(random, lh_object_count(s) - 1), right);
  for (size_t i = 0; i < right->n; i++)
    if (random_below(random, 2)) right->edge[n++] = right->edge[i];
  without.n_edges = n;
  without.objects = &gone;
  without.n_objects = random_below(random, 2);
  assert_int_equal(lh_analyse_without(s, &without, 1, NULL), LH_OK);
  check_all(s, right);
  assert_int_equal(lh_analyse_without(s, NULL, 0, NULL), LH_OK);
  check_all(s, right);
}

static void what_is_left_out_is_told(void **state) {
  edge_list *right = malloc(sizeof *right);
  (void)state;
  for (uint64_t seed = 1; seed <= HEAPS; seed++) {
    uint64_t random = seed;
    random_heap h = random_heap_make(seed);
    forge file;
    lh_snapshot *s = random_heap_open(&h, &file);
    assert_int_equal(lh_analyse(s, NULL), LH_OK);
    leave_out(s, &random, right);
    lh_close(s);
    forge_free(&file);
  }
  free(right);
}

enum { CHAIN = 300, FIRST = 0x1000, STEP = 0x100, SHARED = 0x800 };

static void put_entry(forge *f, int64_t key, uint64_t value) {
  forge_tags(f, LH_VAL_INTEGER, LH_VAL_OBJECT);
  forge_svarint(f, key);
  forge_reference(f, value);
}

/* So many refer to one object that they are sorted by their digits: each of a chain of tables, of
** which the file has the last first. */
static void many_are_in_order(void **state) {
  forge f;
  lh_snapshot *s;
  edge_list *right = malloc(sizeof *right);
  (void)state;
  forge_begin(&f);
  f.footer.serial = 1;
  forge_mark(&f, 0x100, LH_MARK_BY_SNAPSHOT, 1, "s");
  for (unsigned i = 0; i < CHAIN; i++) {
    forge_table(&f, FIRST + STEP * i, 0, 0, 2);
    put_entry(&f, 1, SHARED);
    put_entry(&f, 2, i > 0 ? FIRST + STEP * (i - 1) : SHARED);
  }
  forge_table(&f, SHARED, 0, 0, 0);
  forge_root(&f, LH_ROOT_REGISTRY, 0, FIRST + STEP * (CHAIN - 1));
  forge_finish(&f);
  assert_int_equal(lh_open_memory(&s, f.data, f.size, "s", NULL), LH_OK);
  assert_int_equal(lh_analyse(s, NULL), LH_OK);
  check_all(s, right);
  lh_close(s);
  forge_free(&f);
  free(right);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(index_is_the_walk),
                                     cmocka_unit_test(what_is_left_out_is_told),
                                     cmocka_unit_test(many_are_in_order)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
