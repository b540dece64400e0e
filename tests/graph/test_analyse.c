/*
** test_analyse.c - reachability, paths, referrers and rankings of real heaps, and of any allocation
** that fails on the way to them.
**
** A case is a small Lua program with its graph drawn above it. Objects are named by where they are:
** "x.y" is the value under "y" in the table under "x" in _G.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>

#include "forged_file.h"
#include "graph/graph.h"
#include "rooms/all.h"

/* ==== heaps ========================================================================= */

typedef struct heap {
  forge_bytes file;
  lh_snapshot *snapshot;
} heap;

/* The opened snapshot of a state that ran the program, before anything is analysed. */
static heap heap_after(const char *program) {
  heap h = {0};
  lh_error error;
  lh_taken taken;
  lua_State *L = luaL_newstate();
  assert_non_null(L);
  luaL_openlibs(L);
  assert_int_equal(lh_attach(L, &error), LH_OK);
  if (luaL_dostring(L, program)) fail_msg("%s", lua_tostring(L, -1));
  assert_int_equal(lh_stream_snapshot(L, "test", forge_write, &h.file, NULL, &taken, &error),
                   LH_OK);
  lua_close(L);
  if (lh_open_memory(&h.snapshot, h.file.data, h.file.size, "test", &error))
    fail_msg("%s", error.message);
  return h;
}

static heap analysed(const char *program) {
  heap h = heap_after(program);
  assert_int_equal(lh_analyse(h.snapshot, NULL), LH_OK);
  assert_int_equal(lh_analyse(h.snapshot, NULL), LH_OK); /* harmless again */
  return h;
}

static void drop(heap *h) {
  lh_close(h->snapshot);
  free(h->file.data);
}

static bool is_string(const lh_snapshot *s, lh_value value, const char *bytes, size_t n) {
  lh_object object;
  if (value.kind != LH_VALUE_OBJECT || lh_type_of(s, value.as.object) != LH_TYPE_STRING)
    return false;
  lh_object_at(s, value.as.object, &object);
  return object.as.string.length == n && memcmp(object.as.string.bytes, bytes, n) == 0;
}

static lh_id root_of(const lh_snapshot *s, lh_root_kind kind) {
  for (size_t i = 0; i < s->n_roots; i++)
    if (s->roots[i].kind == kind) return s->roots[i].target;
  fail_msg("no root of kind %d", (int)kind);
  return LH_NO_OBJECT;
}

static lh_id object_at(const lh_snapshot *s, const char *path) {
  lh_id at = root_of(s, LH_ROOT_GLOBALS);
  for (const char *end; *path; path = *end ? end + 1 : end) {
    lh_edges it;
    lh_value key, value;
    lh_id next = LH_NO_OBJECT;
    end = path + strcspn(path, ".");
    for (lh_entries_begin(s, at, &it); lh_entries_next(&it, &key, &value);)
      if (value.kind == LH_VALUE_OBJECT && is_string(s, key, path, (size_t)(end - path)))
        next = value.as.object;
    if (next == LH_NO_OBJECT) fail_msg("nothing at %s", path);
    at = next;
  }
  return at;
}

/* ==== the graph ===================================================================== */

/* All kinds of edges, live ephemerons and dead ones. */
static const char everything[] =
    "local shared = {}\n"
    "list = setmetatable({1, 'two', {3}, [shared] = true}, {__name = 'List'})\n"
    "for i = 1, 50 do list[#list + 1] = {id = i, name = 'n' .. i, next = list[#list]} end\n"
    "co = coroutine.create(function(...) local x, y = {}, ... coroutine.yield(x, {y}) end)\n"
    "coroutine.resume(co, {}, {})\n"
    "function up() return list, shared, co end\n"
    "keys = {{}, {}, {}}\n"
    "eph = setmetatable({[keys[1]] = keys[2], [keys[2]] = {deep = {}}, [{}] = {}},\n"
    "                   {__mode = 'k'})\n"
    "values = setmetatable({keys[3], {}}, {__mode = 'v'})\n"
    "both = setmetatable({[keys[1]] = keys[3]}, {__mode = 'kv'})\n"
    "file = io.stdout debug.setuservalue(file, {}, 1)\n";

static void rows_are_the_edges(void **state) {
  (void)state;
  heap h = analysed(everything);
  const lh_snapshot *s = h.snapshot;
  size_t n_ephemerons = 0;
  for (lh_id id = 0; id <= s->n; id++) {
    lh_edges it;
    lh_edge edge;
    uint32_t e = s->first_edge[id];
    for (lh_edges_begin(s, id, &it); lh_edges_next(&it, &edge);) {
      while (lh_label_kind(s->label[e]) == LH_EDGE_EPHEMERON && s->label[e] & LH_LABEL_ASIDE) e++;
      assert_true(e < s->first_edge[id + 1]);
      assert_int_equal(s->edge[e++], edge.weak ? id : edge.target);
      n_ephemerons += edge.kind == LH_EDGE_EPHEMERON;
    }
    for (; e < s->first_edge[id + 1]; e++) assert_int_equal(s->edge[e], id);
  }
  assert_int_equal(n_ephemerons, 2); /* keys[1] and keys[2] of eph */
  drop(&h);
}

static void totals_add_up(void **state) {
  (void)state;
  heap h = analysed(everything);
  const lh_snapshot *s = h.snapshot;
  lh_reach reach;
  lh_reach_totals(s, &reach);
  uint64_t own_bytes = 0;
  assert_int_equal(reach.reachable_objects + reach.garbage_objects, s->n);
  assert_int_equal(reach.reachable_bytes + reach.garbage_bytes, lh_snapshot_info(s)->object_bytes);
  assert_int_equal(lh_retained_bytes(s, LH_ROOT), reach.reachable_bytes);
  assert_int_equal(lh_immediate_dominator(s, LH_ROOT), LH_NO_OBJECT);
  assert_int_equal(lh_distance(s, LH_ROOT), 0);
  for (lh_id id = 1; id <= s->n; id++) {
    if (lh_is_own(s, id) && lh_is_reachable(s, id)) own_bytes += lh_shallow_bytes(s, id);
    if (lh_is_reachable(s, id)) {
      assert_true(lh_retained_bytes(s, id) >= lh_shallow_bytes(s, id));
      assert_true(lh_distance(s, lh_immediate_dominator(s, id)) < lh_distance(s, id));
    } else {
      assert_int_equal(lh_retained_bytes(s, id), 0);
      assert_int_equal(lh_immediate_dominator(s, id), LH_NO_OBJECT);
      assert_int_equal(lh_distance(s, id), UINT32_MAX);
    }
  }
  assert_true(own_bytes > 0);
  assert_int_equal(reach.own_bytes, own_bytes);
  drop(&h);
}

/* ==== paths ========================================================================= */

static lh_path path_to(heap *h, lh_id id) {
  lh_path path;
  lh_error error;
  if (lh_shortest_path(h->snapshot, id, &path, &error)) fail_msg("%s", error.message);
  assert_int_equal(path.n_steps, lh_distance(h->snapshot, id));
  for (size_t i = 0; i < path.n_steps; i++) {
    assert_int_equal(path.steps[i].source, i ? path.steps[i - 1].target : LH_ROOT);
    assert_false(path.steps[i].weak);
  }
  assert_int_equal(path.steps[path.n_steps - 1].target, id);
  return path;
}

/* _G --a--> {} --b--> {} --c--> string */
static void a_path_through_tables(void **state) {
  (void)state;
  heap h = analysed("a = {b = {c = ('x'):rep(1000)}}");
  lh_path path = path_to(&h, object_at(h.snapshot, "a.b.c"));
  assert_int_equal(path.n_steps, 4);
  assert_int_equal(path.steps[0].kind, LH_EDGE_ROOT);
  assert_int_equal(path.steps[0].index, LH_ROOT_GLOBALS);
  for (size_t i = 1; i < 4; i++) {
    assert_int_equal(path.steps[i].kind, LH_EDGE_VALUE);
    assert_true(is_string(h.snapshot, path.steps[i].key, &"abc"[i - 1], 1));
  }
  lh_paths_free(&path, 1);
  drop(&h);
}

/* Both have length 2: registry --zz--> t <--t-- _G. And of the two edges from t, the one with a
** name: t --[1]--> x <--x-- t */
static void the_path_that_names_globals(void **state) {
  (void)state;
  heap h = analysed(
      "debug.getregistry().zz = {} t = debug.getregistry().zz\n"
      "local x = {} t[1] = x t[x] = x t.x = x");
  lh_path path = path_to(&h, object_at(h.snapshot, "t.x"));
  assert_int_equal(path.n_steps, 3);
  assert_int_equal(path.steps[0].index, LH_ROOT_GLOBALS);
  assert_true(is_string(h.snapshot, path.steps[1].key, "t", 1));
  assert_true(is_string(h.snapshot, path.steps[2].key, "x", 1));
  lh_paths_free(&path, 1);
  drop(&h);
}

/* All of length 3: the thread holds x in a local, the function in a constant (x is a string), a
** table under a name. _G --co--> thread --local--> x, _G --f--> closure -> proto --constant--> x */
static void the_path_without_stacks(void **state) {
  (void)state;
  heap h = analysed(
      "co = coroutine.create(function(x) coroutine.yield() end)\n"
      "shown = {} coroutine.resume(co, shown) holder = {deep = shown}\n"
      "other = coroutine.create(function() end) shown = nil");
  lh_path path = path_to(&h, object_at(h.snapshot, "holder.deep"));
  assert_int_equal(path.n_steps, 3);
  assert_int_equal(path.steps[2].kind, LH_EDGE_VALUE);
  lh_paths_free(&path, 1);
  drop(&h);
}

/* _G --weak--> {k} ==ephemeron==> {}: the value is held by key and table. */
static void a_path_through_an_ephemeron(void **state) {
  (void)state;
  heap h = analysed("key = {} weak = setmetatable({[key] = {mine = {}}}, {__mode = 'k'})");
  lh_snapshot *s = h.snapshot;
  assert_int_equal(s->n_ephemerons, 1);
  lh_id value = s->ephemerons[0].value;
  lh_path path = path_to(&h, value);
  assert_int_equal(path.n_steps, 3);
  assert_int_equal(path.steps[2].kind, LH_EDGE_EPHEMERON);
  assert_int_equal(path.steps[2].source, object_at(s, "key"));
  assert_int_equal(path.steps[2].holder, object_at(s, "weak"));
  assert_int_equal(lh_immediate_dominator(s, value), object_at(s, "key"));
  lh_paths_free(&path, 1);
  drop(&h);
}

static void nothing_keeps_garbage_alive(void **state) {
  (void)state;
  heap h = analysed("collectgarbage 'stop' weak = setmetatable({x = {}}, {__mode = 'v'})");
  lh_snapshot *s = h.snapshot;
  lh_id garbage = object_at(s, "weak.x");
  lh_path path, *paths;
  size_t n_paths;
  lh_error error;
  assert_false(lh_is_reachable(s, garbage));
  assert_int_equal(lh_shortest_path(s, garbage, &path, &error), LH_ENOTFOUND);
  assert_int_equal(lh_shortest_paths(s, garbage, 3, &paths, &n_paths, &error), LH_ENOTFOUND);
  assert_int_equal(lh_shortest_path(s, LH_ROOT, &path, &error), LH_EARGUMENT);
  assert_int_equal(lh_shortest_path(s, s->n + 1, &path, &error), LH_EARGUMENT);
  assert_int_equal(lh_shortest_paths(s, 1, 0, &paths, &n_paths, &error), LH_EARGUMENT);
  drop(&h);
}

/* x is in _G, in a, in a.b and in itself (which is no way to it). */
static void the_shortest_paths(void **state) {
  (void)state;
  heap h = analysed("x = {} x.x = x a = {x = x, b = {x = x}} x.back = a");
  lh_snapshot *s = h.snapshot;
  lh_id x = object_at(s, "x"), last[3] = {object_at(s, ""), object_at(s, "a"), object_at(s, "a.b")};
  lh_path *paths;
  size_t n_paths;
  for (size_t k = 1; k < 9; k++) {
    assert_int_equal(lh_shortest_paths(s, x, k, &paths, &n_paths, NULL), LH_OK);
    assert_int_equal(n_paths, k < 3 ? k : 3);
    for (size_t i = 0; i < n_paths; i++) {
      assert_int_equal(paths[i].n_steps, i + 2);
      assert_int_equal(paths[i].steps[i + 1].source, last[i]);
      assert_int_equal(paths[i].steps[i + 1].target, x);
      for (size_t j = 0; j <= i; j++) assert_int_not_equal(paths[i].steps[j].target, x);
    }
    lh_paths_free(paths, n_paths);
    lh_free(paths);
  }
  drop(&h);
}

/* ==== referrers and sets ============================================================ */

/* x is in _G, twice in a, in the weak table w and under the key k of the ephemeron table e. */
static void all_referrers(void **state) {
  (void)state;
  heap h = analysed(
      "x = {} a = {{p = x, q = x}} k = {}\n"
      "w = setmetatable({x}, {__mode = 'v'}) e = setmetatable({[k] = x}, {__mode = 'k'})");
  lh_snapshot *s = h.snapshot;
  lh_edge *edges;
  size_t n_edges, n_weak = 0, n_ephemerons = 0;
  assert_int_equal(lh_referrers(s, object_at(s, "x"), &edges, &n_edges, NULL), LH_OK);
  assert_int_equal(n_edges, 6);
  assert_int_equal(edges[0].source, object_at(s, ""));
  for (size_t i = 0; i < n_edges; i++) {
    assert_int_equal(edges[i].target, object_at(s, "x"));
    assert_true(i == 0 || lh_distance(s, edges[i - 1].source) <= lh_distance(s, edges[i].source));
    n_weak += edges[i].weak;
    n_ephemerons += edges[i].kind == LH_EDGE_EPHEMERON;
  }
  assert_int_equal(n_weak, 2); /* in w, and as the value in e */
  assert_int_equal(n_ephemerons, 1);
  assert_int_equal(edges[5].source, edges[4].source); /* p and q, of a[1] */
  lh_free(edges);
  drop(&h);
}

/* b and c share the table d: together they retain it, alone they don't. The string "d" is in _G,
** too. */
static void a_set_retains_more_than_its_members(void **state) {
  (void)state;
  heap h = analysed("b = {} c = {} b.d = {1, 2, 3} c.d = b.d d = 1");
  lh_snapshot *s = h.snapshot;
  lh_id ids[] = {object_at(s, "b"), object_at(s, "c"), object_at(s, "b")};
  uint64_t bytes, objects, b = lh_shallow_bytes(s, ids[0]), c = lh_shallow_bytes(s, ids[1]);
  assert_int_equal(lh_retained_bytes(s, ids[0]), b);
  assert_int_equal(lh_retained_together(s, ids, 1, &bytes, &objects, NULL), LH_OK);
  assert_int_equal(bytes, b);
  assert_int_equal(objects, 1);
  assert_int_equal(lh_retained_together(s, ids, 3, &bytes, &objects, NULL), LH_OK);
  assert_int_equal(bytes, b + c + lh_shallow_bytes(s, object_at(s, "b.d")));
  assert_int_equal(objects, 3);
  assert_int_equal(lh_retained_together(s, ids, 0, &bytes, NULL, NULL), LH_OK);
  assert_int_equal(bytes, 0);
  ids[0] = LH_ROOT;
  assert_int_equal(lh_retained_together(s, ids, 1, &bytes, NULL, NULL), LH_EARGUMENT);
  drop(&h);
}

/* ==== rankings ====================================================================== */

/* Each class's retained bytes are what its instances retain together, whatever the limit and
** order. */
static void top_classes_are_exact(void **state) {
  (void)state;
  heap h = analysed(everything);
  lh_snapshot *s = h.snapshot;
  lh_class_row *rows;
  size_t n_rows, n_all = 0;
  lh_id *ids = malloc((s->n + 1) * sizeof *ids);
  assert_non_null(ids);
  assert_int_equal(lh_classify(s, NULL), LH_OK);
  for (size_t limit = 0; limit < 12; limit++) {
    lh_top_query query = {.sort = (lh_sort)(limit % 3), .limit = limit};
    assert_int_equal(lh_top_classes(s, &query, &rows, &n_rows, NULL), LH_OK);
    if (limit == 0) n_all = n_rows;
    assert_true(n_all > 12 && (limit == 0 || n_rows == limit));
    for (size_t i = 0; i < n_rows; i++) {
      size_t n_ids = 0;
      uint64_t bytes;
      for (lh_id id = 1; id <= s->n; id++)
        if (lh_class_of(s, id) == rows[i].class_index && lh_is_reachable(s, id)) ids[n_ids++] = id;
      assert_int_equal(rows[i].objects, n_ids);
      assert_int_equal(lh_retained_together(s, ids, n_ids, &bytes, NULL, NULL), LH_OK);
      assert_int_equal(rows[i].retained_bytes, bytes);
      if (i == 0) continue;
      lh_class_row before = rows[i - 1], row = rows[i];
      uint64_t keys[] = {before.retained_bytes, before.shallow_bytes, before.objects,
                         row.retained_bytes,    row.shallow_bytes,    row.objects};
      assert_true(keys[query.sort] >= keys[query.sort + 3]);
      if (keys[query.sort] == keys[query.sort + 3])
        assert_true(strcmp(lh_class_at(s, before.class_index)->name,
                           lh_class_at(s, row.class_index)->name) <= 0);
    }
    lh_free(rows);
  }
  free(ids);
  drop(&h);
}

static int top_objects(lh_snapshot *s, const lh_top_query *query, lh_id **ids, size_t *n,
                       lh_error *error) {
  size_t n_left_out;
  uint64_t total;
  return lh_rank_objects(s, query, true, ids, n, &n_left_out, &total, error);
}

static void top_objects_are_sorted(void **state) {
  (void)state;
  heap h = analysed(
      "collectgarbage 'stop' t = {} for i = 1, 99 do t[i] = {i} end\n"
      "for i = 1, 99 do local garbage = {i} end");
  lh_snapshot *s = h.snapshot;
  lh_id *ids, *best;
  size_t n_ids, n_best;
  lh_top_query query = {.type_mask = 1u << LH_TYPE_TABLE};
  assert_int_equal(top_objects(s, &query, &ids, &n_ids, NULL), LH_OK);
  assert_true(n_ids > 100);
  for (size_t i = 0; i < n_ids; i++) {
    assert_int_equal(lh_type_of(s, ids[i]), LH_TYPE_TABLE);
    assert_true(lh_is_reachable(s, ids[i]) && !lh_is_own(s, ids[i]));
    if (i == 0) continue;
    uint64_t before = lh_retained_bytes(s, ids[i - 1]), bytes = lh_retained_bytes(s, ids[i]);
    assert_true(before > bytes ||
                (before == bytes && lh_address_of(s, ids[i - 1]) < lh_address_of(s, ids[i])));
  }
  for (query.limit = 1; query.limit < 60; query.limit += 7) {
    assert_int_equal(top_objects(s, &query, &best, &n_best, NULL), LH_OK);
    assert_int_equal(n_best, query.limit);
    assert_memory_equal(best, ids, n_best * sizeof *best);
    lh_free(best);
  }
  lh_free(ids);
  query = (lh_top_query){.garbage = true, .type_mask = 1u << LH_TYPE_TABLE};
  assert_int_equal(top_objects(s, &query, &ids, &n_ids, NULL), LH_OK);
  assert_true(n_ids >= 99);
  for (size_t i = 0; i < n_ids; i++) assert_false(lh_is_reachable(s, ids[i]));
  lh_free(ids);
  drop(&h);
}

/* ==== out of memory ================================================================= */

/* Fails the n-th allocation of a call, for all n, and expects that it says so and leaves all as it
** was. */
#define FAIL_EACH(call)                                                 \
  do {                                                                  \
    int outcome = LH_EMEMORY;                                           \
    for (uint64_t nth = 1; outcome != LH_OK; nth++) {                   \
      (void)lh_test_fail_allocation(nth);                               \
      outcome = (call);                                                 \
      (void)lh_test_fail_allocation(0);                                 \
      assert_true(outcome == LH_OK || outcome == LH_EMEMORY);           \
      assert_int_equal(outcome, outcome == LH_OK ? LH_OK : error.code); \
      assert_true(nth < 1000);                                          \
    }                                                                   \
  } while (0)

static void each_allocation_of_a_graph_fails(void **state) {
  (void)state;
  heap h = heap_after(everything);
  lh_snapshot *s = h.snapshot;
  lh_error error = {0};
  lh_path path, *paths;
  lh_edge *edges;
  lh_id *ids;
  lh_class_row *rows;
  size_t n;
  uint64_t bytes;
  lh_top_query query = {.limit = 20};
  FAIL_EACH(lh_analyse(s, &error));
  lh_id target = object_at(s, "list");
  FAIL_EACH(lh_shortest_path(s, target, &path, &error));
  lh_paths_free(&path, 1);
  FAIL_EACH(lh_shortest_paths(s, target, 5, &paths, &n, &error));
  lh_paths_free(paths, n);
  lh_free(paths);
  FAIL_EACH(lh_referrers(s, target, &edges, &n, &error));
  lh_free(edges);
  FAIL_EACH(lh_retained_together(s, &target, 1, &bytes, NULL, &error));
  FAIL_EACH(top_objects(s, &query, &ids, &n, &error));
  lh_free(ids);
  assert_int_equal(lh_classify(s, NULL), LH_OK);
  FAIL_EACH(lh_top_classes(s, &query, &rows, &n, &error));
  lh_free(rows);
  drop(&h);
}

static void no_graph_before_its_time(void **state) {
  (void)state;
  heap h = heap_after("");
  lh_error error;
  lh_path path;
  lh_id *ids, id = 1;
  lh_class_row *rows;
  lh_edge *edges;
  size_t n;
  uint64_t bytes;
  lh_top_query query = {0};
  assert_int_equal(lh_shortest_path(h.snapshot, 1, &path, &error), LH_EARGUMENT);
  assert_int_equal(lh_referrers(h.snapshot, 1, &edges, &n, &error), LH_EARGUMENT);
  assert_int_equal(top_objects(h.snapshot, &query, &ids, &n, &error), LH_EARGUMENT);
  assert_int_equal(lh_retained_together(h.snapshot, &id, 1, &bytes, NULL, &error), LH_EARGUMENT);
  assert_int_equal(lh_analyse(h.snapshot, &error), LH_OK);
  assert_int_equal(lh_top_classes(h.snapshot, &query, &rows, &n, &error), LH_EARGUMENT);
  drop(&h);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_the_edges),
      cmocka_unit_test(totals_add_up),
      cmocka_unit_test(a_path_through_tables),
      cmocka_unit_test(the_path_that_names_globals),
      cmocka_unit_test(the_path_without_stacks),
      cmocka_unit_test(a_path_through_an_ephemeron),
      cmocka_unit_test(nothing_keeps_garbage_alive),
      cmocka_unit_test(the_shortest_paths),
      cmocka_unit_test(all_referrers),
      cmocka_unit_test(a_set_retains_more_than_its_members),
      cmocka_unit_test(top_classes_are_exact),
      cmocka_unit_test(top_objects_are_sorted),
      cmocka_unit_test(each_allocation_of_a_graph_fails),
      cmocka_unit_test(no_graph_before_its_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
