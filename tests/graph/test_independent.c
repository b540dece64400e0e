/*
** test_independent.c - independent paths, against all ways to cut: on thousands of random heaps
** they share nothing from where they part on, and as many cuts as there are paths can part the
** object from there. Where one path is left, each reference of it below the junction frees the
** object if it is cut, and none between the junction and where its paths part. A failure prints the
** seed of its heap: run the program with it as its argument to see only that one.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "random_heap.h"
#include "read/snapshot.h"

static unsigned long only_seed;
static unsigned n_junctions; /* that were found */

enum { LIMIT = 4, MOST_UNITS = 200 };

/* What is cut at once: a reference, or a table's entry with its key. */
typedef struct unit {
  lh_edge edges[2];
  int n_edges;
  bool is_cut, is_fixed; /* of the root's, nobody cuts what does not lead to the object itself */
} unit;

typedef struct units {
  unit list[MOST_UNITS];
  size_t n;
} units;

static bool is_keyed(const lh_edge *edge) {
  return (edge->kind == LH_EDGE_VALUE || edge->kind == LH_EDGE_KEY) &&
         edge->key.kind == LH_VALUE_OBJECT;
}

static void list_units(const lh_snapshot *s, units *all) {
  all->n = 0;
  for (lh_id id = 0; id <= s->n; id++) {
    lh_edges it;
    lh_edge edge;
    size_t first = all->n;
    for (lh_edges_begin(s, id, &it); lh_edges_next(&it, &edge);) {
      if (edge.weak) continue;
      size_t i = first;
      while (i < all->n && !(is_keyed(&edge) && is_keyed(&all->list[i].edges[0]) &&
                             all->list[i].edges[0].key.as.object == edge.key.as.object))
        i++;
      assert_true(i < MOST_UNITS);
      if (i == all->n) all->list[all->n++] = (unit){.n_edges = 0};
      all->list[i].edges[all->list[i].n_edges++] = edge;
    }
  }
}

static bool reaches(const units *all, lh_id from, lh_id to) {
  bool seen[RANDOM_MOST_OBJECTS + 1] = {false};
  seen[from] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < all->n; i++) {
      const unit *u = &all->list[i];
      for (int k = 0; k < u->n_edges; k++) {
        lh_id target = u->edges[k].target;
        if (u->is_cut || !seen[u->edges[k].source] || seen[target]) continue;
        seen[target] = changed = true;
      }
    }
  }
  return seen[to];
}

/* Can `n` cuts part them? All sets are tried. */
static bool can_part(units *all, lh_id from, lh_id to, size_t n, size_t first) {
  if (n == 0) return !reaches(all, from, to);
  for (size_t i = first; i < all->n; i++) {
    if (all->list[i].is_fixed) continue;
    all->list[i].is_cut = true;
    bool parted = can_part(all, from, to, n - 1, i + 1);
    all->list[i].is_cut = false;
    if (parted) return true;
  }
  return false;
}

static bool is_same(const lh_edge *a, const lh_edge *b) {
  bool by_key = a->kind == LH_EDGE_VALUE || a->kind == LH_EDGE_KEY;
  return a->source == b->source && a->target == b->target && a->kind == b->kind &&
         a->ordinal == b->ordinal && a->holder == b->holder &&
         (!by_key || (a->key.kind == b->key.kind && a->key.as.integer == b->key.as.integer));
}

/* Cuts the reference's unit: false if it was before, or if there is none. */
static bool cut(units *all, const lh_edge *edge) {
  for (size_t i = 0; i < all->n; i++) {
    unit *u = &all->list[i];
    for (int k = 0; k < u->n_edges; k++) {
      if (!is_same(&u->edges[k], edge)) continue;
      bool was_cut = u->is_cut;
      u->is_cut = !u->is_fixed;
      return !was_cut;
    }
  }
  return false;
}

/* From LH_ROOT to the object, by `from`; behind it each unit is used once. */
static bool are_independent(const lh_independent *found, units *all, lh_id to) {
  bool ok = true;
  for (size_t i = 0; ok && i < found->n; i++) {
    const lh_path *path = &found->paths[i];
    bool behind = false;
    for (size_t k = 0; ok && k < path->n_steps; k++) {
      const lh_edge *edge = &path->steps[k];
      ok = edge->source == (k ? path->steps[k - 1].target : LH_ROOT) && !edge->weak;
      behind |= edge->source == found->from;
      if (behind) ok = ok && cut(all, edge);
    }
    ok = ok && behind && path->steps[path->n_steps - 1].target == to;
    ok = ok && (i == 0 || found->paths[i - 1].n_steps <= path->n_steps);
  }
  for (size_t i = 0; i < all->n; i++) all->list[i].is_cut = false;
  return ok;
}

static bool check_paths_to(lh_snapshot *s, units *all, lh_id id) {
  lh_independent found;
  for (size_t i = 0; i < all->n; i++)
    all->list[i].is_fixed =
        all->list[i].edges[0].source == LH_ROOT && all->list[i].edges[0].target != id;
  assert_int_equal(lh_find_independent(s, id, LIMIT, &found, NULL), LH_OK);
  bool ok = found.n > 0 && found.n <= LIMIT && found.from == lh_immediate_dominator(s, id) &&
            found.is_limited == (found.n == LIMIT) && are_independent(&found, all, id) &&
            (found.is_limited || can_part(all, found.from, id, found.n, 0));
  lh_independent_free(&found);
  return ok;
}

static unit *unit_of(units *all, const lh_edge *edge) {
  for (size_t i = 0; i < all->n; i++)
    for (int k = 0; k < all->list[i].n_edges; k++)
      if (is_same(&all->list[i].edges[k], edge)) return &all->list[i];
  return NULL;
}

/* Does each single cut from step `first` to step `end` of the path free the object? */
static bool each_cut_frees(units *all, const lh_path *path, size_t first, size_t end, lh_id id,
                           bool frees) {
  bool ok = true;
  for (size_t i = first; ok && i < end; i++) {
    unit *u = unit_of(all, &path->steps[i]);
    if (u->is_fixed) continue;
    u->is_cut = true;
    ok = reaches(all, LH_ROOT, id) != frees;
    u->is_cut = false;
  }
  return ok;
}

/* Where both the key and the value of an entry lead to the object, the cut of the entry frees it,
** but none of those behind it need do so. */
static bool has_entry(units *all, const lh_path *path) {
  bool has = false;
  for (size_t i = 0; i < path->n_steps; i++) has |= unit_of(all, &path->steps[i])->n_edges > 1;
  return has;
}

/* The number of steps that lead to `id`. */
static size_t steps_to(const lh_path *path, lh_id id) {
  size_t n = 0;
  while (id != LH_ROOT && path->steps[n].target != id) n++;
  return id == LH_ROOT ? 0 : n + 1;
}

static bool check_junction(lh_snapshot *s, units *all, lh_id id) {
  lh_independent found;
  lh_path path;
  lh_id common_holder = LH_ROOT;
  assert_int_equal(lh_find_independent(s, id, LIMIT, &found, NULL), LH_OK);
  size_t n = found.n;
  lh_independent_free(&found);
  if (n > 1) return true;
  assert_int_equal(lh_shortest_path(s, id, &path, NULL), LH_OK);
  int code = lh_find_common_holder(s, id, LIMIT, &common_holder, &found, NULL);
  assert_true(code == LH_OK || code == LH_ENOTFOUND);
  size_t below = steps_to(&path, common_holder);
  bool ok = has_entry(all, &path) || each_cut_frees(all, &path, below, path.n_steps, id, true);
  if (code == LH_OK) {
    ok = ok && found.n > 1;
    ok = ok && each_cut_frees(all, &path, steps_to(&path, found.from), below, id, false);
    lh_independent_free(&found);
    n_junctions++;
  }
  lh_paths_free(&path, 1);
  return ok;
}

static void as_many_as_cuts_are_needed(void **state) {
  (void)state;
  for (unsigned long seed = 1; seed <= 6000; seed++) {
    if (only_seed && seed != only_seed) continue;
    random_heap h = random_heap_make(seed);
    if (h.n > 16) continue;
    forge file;
    units all;
    lh_snapshot *s = random_heap_open(&h, &file);
    assert_non_null(s);
    assert_int_equal(lh_analyse(s, NULL), LH_OK);
    list_units(s, &all);
    for (lh_id id = 1; id <= s->n; id++)
      if (lh_is_reachable(s, id) && !(check_paths_to(s, &all, id) && check_junction(s, &all, id)))
        fail_msg("seed %lu, object %u", seed, id);
    lh_close(s);
    forge_free(&file);
  }
  assert_true(only_seed || n_junctions > 100);
}

/* ==== With the index of referrers ====================================================== */

/* What is found of each object, and where its ways come together. */
typedef struct answers {
  int codes[RANDOM_MOST_OBJECTS + 1][2];
  lh_independent found[RANDOM_MOST_OBJECTS + 1][2];
  lh_id common_holder[RANDOM_MOST_OBJECTS + 1];
} answers;

static void ask_all(lh_snapshot *s, size_t limit, answers *a) {
  for (lh_id id = 1; id <= s->n; id++) {
    a->common_holder[id] = LH_ROOT;
    a->codes[id][0] = lh_find_independent(s, id, limit, &a->found[id][0], NULL);
    a->codes[id][1] =
        lh_find_common_holder(s, id, limit + 1, &a->common_holder[id], &a->found[id][1], NULL);
  }
}

static bool are_same_paths(const lh_independent *a, const lh_independent *b) {
  if (a->n != b->n || a->from != b->from || a->is_limited != b->is_limited) return false;
  for (size_t i = 0; i < a->n; i++) {
    if (a->paths[i].n_steps != b->paths[i].n_steps) return false;
    for (size_t k = 0; k < a->paths[i].n_steps; k++)
      if (!is_same(&a->paths[i].steps[k], &b->paths[i].steps[k])) return false;
  }
  return true;
}

/* Frees both. */
static bool are_same_answers(const lh_snapshot *s, answers *a, answers *b) {
  bool ok = true;
  for (lh_id id = 1; id <= s->n; id++) {
    ok = ok && (a->codes[id][1] != LH_OK || a->common_holder[id] == b->common_holder[id]);
    for (int k = 0; k < 2; k++) {
      ok = ok && a->codes[id][k] == b->codes[id][k];
      ok = ok && (a->codes[id][k] != LH_OK || are_same_paths(&a->found[id][k], &b->found[id][k]));
      if (a->codes[id][k] == LH_OK) lh_independent_free(&a->found[id][k]);
      if (b->codes[id][k] == LH_OK) lh_independent_free(&b->found[id][k]);
    }
  }
  return ok;
}

/* With the index the search goes back first: the paths are the same. */
static void the_index_finds_the_same(void **state) {
  static answers without, with;
  (void)state;
  for (unsigned long seed = 1; seed <= 3000; seed++) {
    if (only_seed && seed != only_seed) continue;
    random_heap h = random_heap_make(seed);
    forge file;
    lh_edge *edges;
    size_t n;
    lh_snapshot *s = random_heap_open(&h, &file);
    assert_int_equal(lh_analyse(s, NULL), LH_OK);
    ask_all(s, 1 + seed % 4, &without);
    assert_int_equal(lh_referrers(s, 1, &edges, &n, NULL), LH_OK);
    lh_free(edges);
    ask_all(s, 1 + seed % 4, &with);
    if (!are_same_answers(s, &without, &with)) fail_msg("seed %lu", seed);
    lh_close(s);
    forge_free(&file);
  }
}

/* ==================================================================================== */

static void each_allocation_of_a_flow_fails(void **state) {
  (void)state;
  random_heap h = random_heap_make(7);
  forge file;
  lh_independent found;
  lh_id common_holder;
  lh_error error;
  lh_snapshot *s = random_heap_open(&h, &file);
  assert_non_null(s);
  assert_int_equal(lh_find_independent(s, h.root[0], 3, &found, &error), LH_EARGUMENT);
  assert_int_equal(lh_analyse(s, NULL), LH_OK);
  assert_int_equal(lh_find_independent(s, h.root[0], 0, &found, &error), LH_EARGUMENT);
  for (lh_id id = 2; id <= h.n; id++) {
    int code = LH_EMEMORY;
    for (uint64_t nth = 1; code == LH_EMEMORY; nth++) {
      (void)lh_test_fail_allocation(nth);
      code = lh_find_independent(s, id, 3, &found, &error);
      (void)lh_test_fail_allocation(0);
      assert_true(nth < 1000);
    }
    assert_int_equal(code, lh_is_reachable(s, id) ? LH_OK : LH_ENOTFOUND);
    if (code == LH_OK) lh_independent_free(&found);
    code = LH_EMEMORY;
    for (uint64_t nth = 1; code == LH_EMEMORY; nth++) {
      (void)lh_test_fail_allocation(nth);
      code = lh_find_common_holder(s, id, 3, &common_holder, &found, &error);
      (void)lh_test_fail_allocation(0);
    }
    assert_true(code == LH_OK || code == LH_ENOTFOUND);
    if (code == LH_OK) lh_independent_free(&found);
  }
  lh_close(s);
  forge_free(&file);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(as_many_as_cuts_are_needed),
      cmocka_unit_test(the_index_finds_the_same),
      cmocka_unit_test(each_allocation_of_a_flow_fails),
  };
  if (argc > 1) only_seed = strtoul(argv[1], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
