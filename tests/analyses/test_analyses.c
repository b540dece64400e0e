/*
** test_analyses.c - the advice about one snapshot against oracles on random heaps, and with any
** allocation failing.
**
** An oracle is the definition written down, with the tree of dominators climbed object by object. A
** failure prints the seed of its heap: run the program with it as its argument to see only that
** one.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>

#include "analyses/analyses.h"
#include "analyses/answers.h"
#include "forged_file.h"
#include "soak.h"
#include "steps.h"

/* ==== random heaps ================================================================== */

/* Tables in a random tree with some more links, each with a string of up to 4,000 bytes. KIND: each
** has a class of its own ("own"), or one of three that are held from everywhere ("few"). */
static const char random_heap[] =
    "math.randomseed(SEED)\n"
    "local n, all = math.random(5, 120), {}\n"
    "local function class(i)\n"
    "  return {__name = KIND == 'own' and 'Own' .. i or 'Few' .. math.random(3)}\n"
    "end\n"
    "for i = 1, n do\n"
    "  local o = setmetatable({('x'):rep(math.random(0, 4000)) .. i}, class(i))\n"
    "  local from = all[math.random(math.max(1, i - 1))]\n"
    "  if i == 1 then top = o elseif math.random(8) == 1 then _G['g' .. i] = o else from[o] = 1 "
    "end\n"
    "  all[i] = o\n"
    "end\n"
    "for i = 1, n // 6 do all[math.random(n)][i] = all[math.random(n)] end\n";

static program heap_of_seed(unsigned long seed, const char *text, const char *kind) {
  program p = program_of_seed(seed);
  lua_pushstring(p.L, kind);
  lua_setglobal(p.L, "KIND");
  (void)program_step(&p, text);
  return p;
}

static unsigned long only_seed;

/* Calls `test` for some hundreds of heaps, or for the one whose seed was given. */
static void with_heaps(unsigned long n, const char *kind, void (*test)(lh_snapshot *s)) {
  for (unsigned long seed = 1; seed <= soak_times((unsigned)n); seed++) {
    if (only_seed && seed != only_seed) continue;
    program h = heap_of_seed(seed, random_heap, kind);
    test(h.snapshots[0]);
    program_end(&h);
  }
}

static bool climbs_to(const lh_snapshot *s, lh_id id, lh_id above) {
  while (id != above && id != LH_ROOT) id = lh_immediate_dominator(s, id);
  return id == above;
}

/* ==== the tree ====================================================================== */

static void check_tree(lh_snapshot *s) {
  const lh_tree *tree = lh_dominator_tree(s);
  assert_non_null(tree);
  for (lh_id a = 0; a <= s->n; a++)
    for (lh_id b = 0; b <= s->n; b += 7)
      if (lh_is_reachable(s, a) && lh_is_reachable(s, b))
        check(lh_dominates(tree, a, b) == climbs_to(s, b, a));
}

static void a_subtree_is_an_interval(void **state) {
  (void)state;
  with_heaps(30, "own", check_tree);
}

/* ==== suspects ====================================================================== */

typedef struct place {
  lh_id id;
  uint64_t bytes;
} place;

/* What the definition says of an object that retains enough: no object is in a cluster, since each
** has a class of its own. */
static bool is_place(const lh_snapshot *s, lh_id id, uint64_t least, uint64_t *bytes) {
  uint64_t biggest = 0, in_big = 0;
  for (lh_id child = 1; child <= s->n; child++) {
    if (lh_immediate_dominator(s, child) != id || lh_is_own(s, child)) continue;
    uint64_t retained = lh_retained_bytes(s, child);
    if (retained > biggest) biggest = retained;
    if (retained >= least) in_big += retained;
  }
  *bytes = lh_retained_bytes(s, id) - in_big;
  if (lh_is_runtime_object(s, id)) {
    *bytes = lh_shallow_bytes(s, id);
    biggest = 0;
  }
  return !lh_is_own(s, id) && *bytes >= least &&
         (double)biggest < 0.7 * (double)lh_retained_bytes(s, id);
}

static void check_places(lh_snapshot *s) {
  lh_suspects suspects;
  lh_error error;
  size_t n_expected = 0;
  check(lh_find_suspects(s, &suspects, &error) == LH_OK);
  for (lh_id id = 1; id <= s->n; id++) {
    uint64_t bytes = 0, told = 0;
    bool expected = lh_retained_bytes(s, id) >= suspects.least_bytes &&
                    is_place(s, id, suspects.least_bytes, &bytes);
    for (size_t i = 0; i < suspects.n; i++)
      if (suspects.list[i].id == id) told = suspects.list[i].bytes;
    n_expected += expected;
    check(told == (expected ? bytes : 0));
  }
  for (size_t i = 1; i < suspects.n; i++)
    check(suspects.list[i].bytes <= suspects.list[i - 1].bytes);
  check(suspects.n == n_expected);
  lh_suspects_free(&suspects);
}

static void places_are_those_of_the_definition(void **state) {
  (void)state;
  with_heaps(400, "own", check_places);
}

static void check_sum(lh_snapshot *s) {
  lh_suspects suspects;
  uint64_t sum = 0;
  lh_reach reach;
  lh_reach_totals(s, &reach);
  assert_int_equal(lh_find_suspects(s, &suspects, NULL), LH_OK);
  for (size_t i = 0; i < suspects.n; i++) sum += suspects.list[i].bytes;
  check(sum <= reach.reachable_bytes);
  lh_suspects_free(&suspects);
}

static void no_byte_is_told_twice(void **state) {
  (void)state;
  with_heaps(100, "few", check_sum);
}

/* ==== under an object =============================================================== */

/* The bytes that are directly below the row at `i`, and itself. */
static uint64_t sum_of_row(const lh_branch *rows, size_t n, size_t i) {
  uint64_t bytes = rows[i].shallow_bytes;
  for (size_t k = i + 1; k < n && rows[k].depth > rows[i].depth; k++)
    if (rows[k].depth == rows[i].depth + 1) bytes += rows[k].retained_bytes;
  return bytes;
}

static void check_branches(lh_snapshot *s, lh_id id, const lh_branch *rows, size_t n) {
  check(rows[0].depth == 0 && rows[0].id == id);
  for (size_t i = 0; i < n; i++) {
    bool expanded = i + 1 < n && rows[i + 1].depth > rows[i].depth;
    if (expanded) check(sum_of_row(rows, n, i) == rows[i].retained_bytes);
    if (rows[i].kind == LH_BRANCH_REST) continue;
    check(climbs_to(s, rows[i].id, id));
    if (rows[i].kind != LH_BRANCH_OBJECT) continue;
    check(rows[i].retained_bytes == lh_retained_bytes(s, rows[i].id));
    if (!rows[i].has_edge) continue;
    check(rows[i].edge.target == rows[i].id && !rows[i].edge.weak);
    check(lh_immediate_dominator(s, rows[i].id) == rows[i].edge.source);
  }
}

/* Objects of luaheap are in no row: what is above them does not add up. */
static bool has_own_below(const lh_snapshot *s, lh_id id) {
  for (lh_id other = 1; other <= s->n; other++)
    if (lh_is_reachable(s, other) && lh_is_own(s, other) && climbs_to(s, other, id)) return true;
  return false;
}

static void check_under(lh_snapshot *s) {
  for (lh_id id = 1; id <= s->n; id += 3) {
    lh_under_query query = {.depth = id % 5, .limit = id % 7 * 2, .least_bytes = id % 2 * 100};
    lh_branch *rows;
    lh_error error;
    size_t n;
    int code = lh_under(s, id, &query, &rows, &n, &error);
    check(code == (lh_is_reachable(s, id) ? LH_OK : LH_ENOTFOUND));
    if (code != LH_OK) continue;
    if (!has_own_below(s, id)) check_branches(s, id, rows, n);
    lh_free(rows);
  }
}

static void branches_add_up(void **state) {
  (void)state;
  with_heaps(30, "own", check_under);
  with_heaps(30, "few", check_under);
}

/* ==== modules ======================================================================= */

/* What a search from the object meets that passes through none of the four. */
static uint64_t naive_module(const lh_snapshot *s, lh_id from) {
  uint64_t bytes = 0;
  uint8_t *in = calloc((size_t)s->n + 1, 1);
  in[from] = 1;
  for (size_t i = 0; i < s->n_roots; i++)
    if (s->roots[i].kind <= LH_ROOT_MAIN_THREAD) in[s->roots[i].target] = 2;
  for (bool changed = true; changed;) {
    changed = false;
    for (lh_id v = 1; v <= s->n; v++)
      for (uint32_t e = s->first_edge[v]; in[v] == 1 && e < s->first_edge[v + 1]; e++) {
        changed |= in[s->edge[e]] == 0;
        if (in[s->edge[e]] == 0) in[s->edge[e]] = 1;
      }
  }
  for (lh_id v = 1; v <= s->n; v++) bytes += in[v] == 1 ? lh_shallow_bytes(s, v) : 0;
  free(in);
  return bytes;
}

static void check_modules(lh_snapshot *s) {
  lh_modules m;
  uint64_t sum = 0;
  assert_int_equal(lh_find_modules(s, program_seed % 2 * 10, &m, NULL), LH_OK);
  check(m.n == (program_seed % 2 ? 10 : m.total));
  for (size_t i = 0; i < m.n; i++) {
    const lh_module *row = &m.list[i];
    lh_found found;
    check(row->retained_bytes == lh_retained_bytes(s, row->id));
    check(row->reached_bytes == naive_module(s, row->id));
    check(row->reached_bytes >= row->retained_bytes);
    check(lh_find(s, row->name, &found, NULL) == LH_OK && found.id == row->id);
    sum += row->retained_bytes;
  }
  check(program_seed % 2 ? sum <= m.retained_bytes : sum == m.retained_bytes);
  check(m.retained_bytes <= m.reached_bytes);
  lh_modules_free(&m);
}

static void modules_reach_what_a_search_meets(void **state) {
  (void)state;
  with_heaps(40, "own", check_modules);
}

enum { GLOBALS = 0x2000, MODULE = 0x3000, THREAD = 0x4000, NAME = 0x5000 };

/* root -globals-> {m} -.m-> {m} -.m-> main thread <-main thread- root */
static void forge_module(forge *f) {
  forge_begin(f);
  forge_mark(f, 0x1000, LH_MARK_BY_SNAPSHOT, 1, "a");
  for (uint64_t table = GLOBALS; table <= MODULE; table += MODULE - GLOBALS) {
    forge_table(f, table, 0, 0, 1);
    forge_tags(f, LH_VAL_OBJECT, LH_VAL_OBJECT);
    forge_reference(f, NAME);
    forge_reference(f, table == GLOBALS ? MODULE : THREAD);
  }
  forge_record(f, LH_REC_THREAD | LH_FLAG_MAIN, THREAD, 1000);
  for (int i = 0; i < 4; i++) forge_u8(f, 0);
  forge_string(f, NAME, "m");
  forge_root(f, LH_ROOT_GLOBALS, 0, GLOBALS);
  forge_root(f, LH_ROOT_MAIN_THREAD, 0, THREAD);
  forge_finish(f);
}

/* Where the root's own way to one of the four is left out, it is a module that keeps it alive. */
static void modules_reach_what_the_root_no_longer_does(void **state) {
  (void)state;
  forge f;
  lh_snapshot *s;
  lh_modules m;
  lh_edges it;
  lh_edge edge;
  forge_module(&f);
  assert_int_equal(lh_open_memory(&s, f.data, f.size, "s", NULL), LH_OK);
  lh_edges_begin(s, LH_ROOT, &it);
  do assert_true(lh_edges_next(&it, &edge));
  while (edge.index != LH_ROOT_MAIN_THREAD);
  lh_without cut = {.edges = &edge, .n_edges = 1};
  for (int gone = 0; gone < 2; gone++) {
    assert_int_equal(lh_analyse_without(s, &cut, (size_t)gone, NULL), LH_OK);
    assert_int_equal(lh_classify(s, NULL), LH_OK);
    assert_int_equal(lh_find_modules(s, 0, &m, NULL), LH_OK);
    assert_int_equal(m.n, 1);
    uint64_t bytes = lh_shallow_bytes(s, lh_find_address(s, MODULE)) + (gone ? 1000 : 0);
    assert_int_equal(m.list[0].retained_bytes, bytes);
    assert_int_equal(m.list[0].reached_bytes,
                     bytes + lh_shallow_bytes(s, lh_find_address(s, NAME)));
    lh_modules_free(&m);
  }
  lh_close(s);
  forge_free(&f);
}

/* ==== threads ======================================================================= */

/* Coroutines at three places, some of which share a table; one is not started, one returned. */
static const char coroutines[] =
    "math.randomseed(SEED)\n"
    "local shared, yield = {}, coroutine.yield\n"
    "local function a(x) yield(x) end\n"
    "local function b(x) local y = {x}\n yield(y) end\n"
    "local function c(x) a(x) end\n"
    "all = {coroutine.create(a), coroutine.create(function() end)}\n"
    "coroutine.resume(all[2])\n"
    "for i = 3, 40 do\n"
    "  all[i] = coroutine.create(({a, b, c})[math.random(3)])\n"
    "  coroutine.resume(all[i], math.random(2) == 1 and shared or {('x'):rep(i) .. i})\n"
    "end\n";

static void threads_at_one_place_are_one(void **state) {
  (void)state;
  for (unsigned long seed = 1; seed <= 20; seed++) {
    program h = heap_of_seed(seed, coroutines, "");
    lh_snapshot *s = h.snapshots[0];
    lh_thread_groups found;
    uint64_t sum = 0, n_main = 0;
    assert_int_equal(lh_group_threads(s, &found, NULL), LH_OK);
    const lh_thread_group *list = found.list;
    size_t n = found.n;
    check(n == 6 && found.n_threads == 41);
    for (size_t i = 0; i < n; i++) {
      lh_id ids[41];
      size_t n_ids = 0;
      uint64_t bytes;
      lh_object example, object;
      lh_object_at(s, list[i].example, &example);
      sum += list[i].threads;
      n_main += list[i].is_main;
      for (lh_id id = 1; id <= s->n; id++) {
        if (lh_type_of(s, id) != LH_TYPE_THREAD || lh_class_of(s, id) != lh_class_of(s, example.id))
          continue;
        lh_object_at(s, id, &object);
        if (object.as.thread.status == example.as.thread.status) ids[n_ids++] = id;
      }
      check(n_ids == list[i].threads);
      assert_int_equal(lh_retained_together(s, ids, n_ids, &bytes, NULL, NULL), LH_OK);
      check(bytes == list[i].retained_bytes);
      check(list[i].is_main == (i == n - 1));
      check(i == 0 || list[i].is_main || list[i - 1].retained_bytes >= list[i].retained_bytes);
    }
    check(sum == found.n_threads && n_main == 1);
    lh_thread_groups_free(&found);
    program_end(&h);
  }
}

/* ==== failures ====================================================================== */

/* A list, a place, and a class that two indexes hold. */
static const char all_kinds[] =
    "for i = 1, 500 do list = {value = i, next = list} end\n"
    "sessions, by_id, by_name = {}, {}, {}\n"
    "for i = 1, 300 do sessions[i] = {id = i, text = ('x'):rep(100) .. i} end\n"
    "for i = 1, 300 do\n"
    "  local user = {user = i, text = ('y'):rep(100) .. i}\n"
    "  by_id[i], by_name['u' .. i] = user, user\n"
    "end\n"
    "task = coroutine.create(function() string.gsub('x', '.', coroutine.yield) end)\n";

static void each_allocation_of_analyses_fails(void **state) {
  (void)state;
  program h = heap_of_seed(0, all_kinds, "");
  lh_error error = {0};
  lh_suspects suspects;
  unsigned n_cases = 0;
  FAIL_EACH(lh_find_suspects(h.snapshots[0], &suspects, &error));
  assert_int_equal(suspects.n, 2);
  lh_suspects_free(&suspects);
  lh_under_query query = {.depth = 5};
  lh_branch *rows;
  size_t n_rows;
  lh_modules modules;
  lh_report leaks;
  const lh_question *question = lh_find_question("leaks");
  FAIL_EACH(lh_ask(&leaks, question, h.snapshots[0], &(lh_request){0}, &error));
  lh_report_free(&leaks);
  FAIL_EACH(lh_find_modules(h.snapshots[0], 0, &modules, &error));
  lh_modules_free(&modules);
  lh_thread_groups found;
  FAIL_EACH(lh_group_threads(h.snapshots[0], &found, &error));
  assert_int_equal(found.n, 2);
  lh_edges it;
  lh_frame frame;
  lh_frames_begin(h.snapshots[0], found.list[0].example, &it);
  while (lh_frames_next(&it, &frame)) {
    char *text = NULL;
    FAIL_EACH((text = lh_frame_text(h.snapshots[0], &frame)) ? LH_OK : (error.code = LH_EMEMORY));
    lh_free(text);
  }
  lh_thread_groups_free(&found);
  FAIL_EACH(lh_under(h.snapshots[0], LH_ROOT, &query, &rows, &n_rows, &error));
  lh_free(rows);
  printf("faults: allocations of the advice: %u cases, %u survived\n", n_cases, n_cases);
  program_end(&h);
}

static void no_analysis_before_its_time(void **state) {
  (void)state;
  program h = heap_of_seed(0, "", "");
  lh_suspects suspects;
  lh_snapshot *s;
  lh_error error;
  assert_int_equal(lh_open_memory(&s, h.files[0].data, h.files[0].size, "test", &error), LH_OK);
  assert_int_equal(lh_find_suspects(s, &suspects, &error), LH_EARGUMENT);
  lh_under_query query = {.depth = 1};
  lh_branch *rows;
  size_t n;
  lh_modules modules;
  lh_thread_groups found;
  assert_int_equal(lh_under(s, 1, &query, &rows, &n, &error), LH_EARGUMENT);
  assert_int_equal(lh_find_modules(s, 0, &modules, &error), LH_EARGUMENT);
  assert_int_equal(lh_group_threads(s, &found, &error), LH_EARGUMENT);
  assert_int_equal(lh_analyse(s, &error), LH_OK);
  assert_int_equal(lh_find_suspects(s, &suspects, &error), LH_EARGUMENT);
  assert_int_equal(lh_classify(s, &error), LH_OK);
  assert_int_equal(lh_under(s, s->n + 1, &query, &rows, &n, &error), LH_EARGUMENT);
  lh_close(s);
  program_end(&h);
}

/* ==================================================================================== */

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_subtree_is_an_interval),
      cmocka_unit_test(places_are_those_of_the_definition),
      cmocka_unit_test(no_byte_is_told_twice),
      cmocka_unit_test(branches_add_up),
      cmocka_unit_test(modules_reach_what_a_search_meets),
      cmocka_unit_test(modules_reach_what_the_root_no_longer_does),
      cmocka_unit_test(threads_at_one_place_are_one),
      cmocka_unit_test(each_allocation_of_analyses_fails),
      cmocka_unit_test(no_analysis_before_its_time),
  };
  if (argc > 1) only_seed = strtoul(argv[1], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
