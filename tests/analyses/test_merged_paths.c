/*
** test_merged_paths.c - the merged paths of many objects against their definition on random heaps,
** and with any allocation failing.
**
** The oracle folds the shortest path of each object by itself: objects are at one step if the
** texts are the same. The bytes of a step are searched for: what goes with the set, but is not
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

#include "analyses/analyses.h"
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
static trial begin_trial(unsigned long seed) {
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

static void end_trial(trial *t) {
  lh_close(t->s);
  forge_free(&t->file);
}

static bool is_member(const trial *t, lh_id id) {
  return t->chosen[id] && lh_is_reachable(t->s, id);
}

/* ==== Places ========================================================================= */

static char *folded_path(const trial *t, lh_id id) {
  lh_path path;
  assert_int_equal(lh_shortest_path(t->s, id, &path, NULL), LH_OK);
  char *text = lh_path_text(t->s, &path, true);
  lh_paths_free(&path, 1);
  assert_non_null(text);
  return text;
}

/* In a heap of tables a new beginning is a root only, so a text is all of a path. */
static void check_steps(const trial *t, const lh_step_tree *tree) {
  char *text[RANDOM_MOST_OBJECTS + 2] = {NULL};
  for (lh_id id = 1; id <= t->s->n; id++)
    if (tree->of[id]) text[id] = folded_path(t, id);
  for (lh_id a = 1; a <= t->s->n; a++) {
    check(t, !is_member(t, a) || text[a]);
    for (lh_id b = 1; text[a] && b < a; b++)
      if (text[b]) check(t, (tree->of[a] == tree->of[b]) == (strcmp(text[a], text[b]) == 0));
  }
  for (lh_id id = 1; id <= t->s->n; id++) lh_free(text[id]);
}

static bool is_below(const lh_step_tree *tree, uint32_t at, uint32_t above) {
  while (at > above) at = tree->list[at].above;
  return at == above;
}

static void check_step(const trial *t, const lh_step_tree *tree, uint32_t at) {
  uint64_t objects = 0, here = 0, through = 0, bytes = 0;
  bool other[RANDOM_MOST_OBJECTS + 2] = {true}; /* reached from elsewhere */
  for (lh_id id = 1; id <= t->s->n; id++) {
    bool below = tree->of[id] && is_below(tree, tree->of[id], at);
    here += is_member(t, id) && tree->of[id] == at;
    through += tree->of[id] == at && at > 0;
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
  const lh_merged_step *step = &tree->list[at];
  check(t, step->objects == objects && step->here == here && step->through == through);
  check(t, step->bytes == bytes);
  check(t, at == 0 || step->above < at);
}

static void steps_are_those_of_the_definition(void **state) {
  (void)state;
  size_t n_steps = 0;
  for (unsigned long seed = 1; seed <= 3000; seed++) {
    if (only_seed && seed != only_seed) continue;
    trial t = begin_trial(seed);
    lh_step_tree tree = {0};
    lh_id members[RANDOM_MOST_OBJECTS];
    size_t n = 0;
    for (lh_id id = 1; id <= t.s->n; id++)
      if (is_member(&t, id)) members[n++] = id;
    assert_true(lh_make_step_tree(&tree, t.s, members, n));
    uint32_t of[RANDOM_MOST_OBJECTS + 1]; /* which is used for the division, too */
    memcpy(of, tree.of, (t.s->n + 1) * sizeof *of);
    assert_true(lh_divide_retained(&tree, t.s, members, n));
    memcpy(tree.of, of, (t.s->n + 1) * sizeof *of);
    check_steps(&t, &tree);
    for (uint32_t at = 0; at < tree.n; at++) check_step(&t, &tree, at);
    n_steps += tree.n;
    lh_free_step_tree(&tree);
    end_trial(&t);
  }
  assert_true(only_seed || n_steps > 10000);
}

/* ==== Rows =========================================================================== */

/* A row has all objects that the rows below it have, and its own; and no less bytes. */
static void check_row(const trial *t, const lh_merged_paths *merged, size_t i) {
  const lh_merged_row *row = &merged->rows[i];
  uint64_t objects = row->here, bytes = 0;
  size_t n_below = 0, last = i;
  bool hidden = false;
  for (size_t k = i + 1; k < merged->n_rows && merged->rows[k].depth > row->depth; k++) {
    const lh_merged_row *below = &merged->rows[k];
    if (below->depth > row->depth + 1) continue;
    objects += below->objects;
    bytes += below->bytes;
    check(t, !hidden); /* is the last */
    hidden = below->hidden > 0;
    if (!hidden && n_below++ > 0) check(t, merged->rows[last].bytes >= below->bytes);
    if (!hidden) last = k;
  }
  if (row->hidden > 0) {
    check(t, !row->steps && !row->path && row->id == LH_NO_OBJECT);
    return;
  }
  check(t, objects == row->objects && bytes <= row->bytes);
  check(t, *row->steps && (i == 0 || *row->path));
  check(t, row->here <= row->through);
  check(t, i == 0 || row->here > 0 || n_below != 1 || hidden); /* else they were one row */
  if (i > 0) check(t, !row->here || is_member(t, row->id));
}

static uint64_t hidden_rows(const lh_merged_paths *merged) {
  uint64_t n = 0;
  for (size_t i = 0; i < merged->n_rows; i++) n += merged->rows[i].hidden;
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

static void check_merged(const trial *t, const lh_merged_paths *merged) {
  uint64_t bytes = 0, objects = 0, garbage = 0, garbage_bytes = 0, held = 0;
  lh_id members[RANDOM_MOST_OBJECTS];
  for (lh_id id = 1; id <= t->s->n; id++) {
    if (is_member(t, id)) members[objects++] = id;
    if (!t->chosen[id] || is_member(t, id)) continue;
    garbage++;
    garbage_bytes += lh_shallow_bytes(t->s, id);
  }
  check(t, merged->objects == objects && merged->garbage_objects == garbage);
  check(t, merged->garbage_bytes == garbage_bytes);
  check(t, (merged->n_rows > 0) == (objects > 0));
  if (objects == 0) return;
  assert_int_equal(lh_retained_together(t->s, members, objects, &bytes, NULL, NULL), LH_OK);
  check(t, merged->bytes == bytes);
  check(t, merged->rows[0].depth == 0 && merged->rows[0].id == LH_ROOT);
  check(t, merged->rows[0].objects == objects && merged->rows[0].bytes == merged->bytes);
  for (size_t i = 0; i < merged->n_rows; i++) {
    check(t, i == 0 || (merged->rows[i].depth > 0 &&
                        merged->rows[i].depth <= merged->rows[i - 1].depth + 1));
    check_row(t, merged, i);
  }
  for (uint32_t i = 0; i < merged->n_holders; i++) {
    held += merged->holders[i].objects;
    check(t, i == 0 || merged->holders[i].objects <= merged->holders[i - 1].objects);
  }
  check(t, merged->total_holders > LH_MOST_HOLDERS ? held < objects : held == objects);
  check(t, merged->objects_elsewhere == count_elsewhere(t));
  check(t, (merged->objects_elsewhere > 0) == (merged->elsewhere.path != NULL));
  check(t, merged->elsewhere.objects <= merged->objects_elsewhere);
}

static void rows_add_up(void **state) {
  (void)state;
  for (unsigned long seed = 1; seed <= 2000; seed++) {
    if (only_seed && seed != only_seed) continue;
    trial t = begin_trial(seed);
    lh_merged_paths all, some;
    lh_error error;
    size_t limit = seed % 12 + 2;
    assert_int_equal(lh_merge_paths(t.s, t.ids, t.n_ids, 0, &all, &error), LH_OK);
    check_merged(&t, &all);
    check(&t, hidden_rows(&all) == 0);
    assert_int_equal(lh_merge_paths(t.s, t.ids, t.n_ids, limit, &some, &error), LH_OK);
    check_merged(&t, &some);
    check(&t, some.n_rows <= limit);
    check(&t, all.n_rows > limit ? hidden_rows(&some) > 0 : some.n_rows == all.n_rows);
    lh_merged_paths_free(&all);
    lh_merged_paths_free(&some);
    end_trial(&t);
  }
}

/* ==== Failures ======================================================================= */

static void each_allocation_of_paths_fails(void **state) {
  (void)state;
  unsigned n_failed = 0;
  for (unsigned long seed = 1; seed <= 5; seed++) {
    trial t = begin_trial(seed);
    lh_merged_paths merged;
    lh_error error = {0};
    int code = LH_EMEMORY;
    for (uint64_t nth = 1; code != LH_OK; nth++) {
      (void)lh_test_fail_allocation(nth);
      code = lh_merge_paths(t.s, t.ids, t.n_ids, 10, &merged, &error);
      (void)lh_test_fail_allocation(0);
      assert_true(code == LH_OK || (code == LH_EMEMORY && !merged.rows && error.code == code));
      n_failed += code != LH_OK;
      assert_true(nth < 2000);
    }
    check_merged(&t, &merged);
    lh_merged_paths_free(&merged);
    end_trial(&t);
  }
  printf("faults: allocations of merged paths: %u cases, %u survived\n", n_failed, n_failed);
}

static void no_paths_before_their_time(void **state) {
  (void)state;
  random_heap h = random_heap_make(3);
  forge file;
  lh_snapshot *s = random_heap_open(&h, &file);
  lh_merged_paths merged;
  lh_error error;
  lh_id id = 2, wrong[] = {LH_ROOT, s->n + 1, LH_NO_OBJECT};
  assert_int_equal(lh_merge_paths(s, &id, 1, 0, &merged, &error), LH_EARGUMENT);
  assert_int_equal(lh_analyse(s, &error), LH_OK);
  assert_int_equal(lh_merge_paths(s, &id, 1, 0, &merged, &error), LH_EARGUMENT);
  assert_int_equal(lh_classify(s, &error), LH_OK);
  for (int i = 0; i < 3; i++)
    assert_int_equal(lh_merge_paths(s, &wrong[i], 1, 0, &merged, &error), LH_EARGUMENT);
  assert_int_equal(lh_merge_paths(s, NULL, 0, 0, &merged, &error), LH_OK);
  assert_true(merged.objects == 0 && merged.n_rows == 0);
  lh_merged_paths_free(&merged);
  lh_close(s);
  forge_free(&file);
}

/* ==================================================================================== */

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_are_those_of_the_definition),
      cmocka_unit_test(rows_add_up),
      cmocka_unit_test(each_allocation_of_paths_fails),
      cmocka_unit_test(no_paths_before_their_time),
  };
  if (argc > 1) only_seed = strtoul(argv[1], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
