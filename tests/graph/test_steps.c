/*
** test_steps.c - the step to an object is the best edge of its source that leads there, and is told
** by its number as by its record, whether memory lasts for the index of big records or not.
**
** The heap has all kinds of edges from objects with hundreds of them, and objects that several
** edges of different rank lead to. The oracle is the definition: the first of the best edges.
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "forged_file.h"
#include "graph/graph.h"
#include "rooms/all.h"

static const char program[] =
    "local weak = {__mode = 'k'}\n"
    "big, other, keys, sets = {}, {}, {}, setmetatable({}, weak)\n"
    "for i = 1, 300 do\n"
    "  local o = {}\n"
    "  if i % 3 == 0 then big[i] = o end\n"
    "  if i % 5 == 0 then big['name' .. i] = o end\n"
    "  if i % 4 == 0 then big['other' .. i] = o end\n"
    "  if i % 7 == 0 then big[o], big[{}] = true, i end\n"
    "  if i % 2 == 0 then big[i + 0.5] = {o} end\n"
    "  other[i], keys[i] = {o}, o\n"
    "  sets[o] = {i}\n"
    "end\n"
    "one = {}\n"
    "for i = 1, 200 do other['set' .. i] = setmetatable({[one] = {i}}, weak) end\n"
    "local function many(n, ...) if n == 0 then coroutine.yield(...) end many(n - 1, {n}, ...) "
    "end\n"
    "stack = coroutine.wrap(many) stack(150)\n"
    "local text = {'local '}\n"
    "for i = 1, 150 do text[#text + 1] = 'v' .. i .. (i < 150 and ',' or ' = ... return function() "
    "return ') end\n"
    "for i = 1, 150 do text[#text + 1] = 'v' .. i .. (i < 150 and ',' or ' end') end\n"
    "upvalues = load(table.concat(text))(table.unpack(other, 1, 150))\n";

static forge_bytes file;

static int write_snapshot(void **state) {
  (void)state;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  bool ok = luaL_dostring(L, program) == LUA_OK && lh_attach(L, NULL) == LH_OK &&
            lh_stream_snapshot(L, "s", forge_write, &file, NULL, NULL, NULL) == LH_OK;
  lua_close(L);
  return ok ? 0 : -1;
}

static int free_snapshot(void **state) {
  (void)state;
  free(file.data);
  return 0;
}

static lh_edge first_of_the_best(const lh_snapshot *snapshot, lh_id source, lh_id target) {
  lh_edges it;
  lh_edge edge, best = {0};
  bool found = false;
  for (lh_edges_begin(snapshot, source, &it); lh_edges_next(&it, &edge);) {
    if (edge.target != target || edge.weak) continue;
    if (!found || lh_compare_edges(snapshot, &edge, &best) < 0) best = edge;
    found = true;
  }
  assert_true(found);
  return best;
}

static void same_edge(const lh_edge *a, const lh_edge *b) {
  assert_int_equal(a->source, b->source);
  assert_int_equal(a->target, b->target);
  assert_int_equal(a->kind, b->kind);
  assert_int_equal(a->index, b->index);
  assert_int_equal(a->ordinal, b->ordinal);
  assert_int_equal(a->line, b->line);
  assert_int_equal(a->name, b->name);
  assert_int_equal(a->holder, b->holder);
  assert_int_equal(a->key.kind, b->key.kind);
  if (a->key.kind == LH_VALUE_OBJECT) assert_int_equal(a->key.as.object, b->key.as.object);
  if (a->key.kind == LH_VALUE_INTEGER) assert_int_equal(a->key.as.integer, b->key.as.integer);
}

/* Of all steps of all paths; returns how many kinds of edges were met. */
static unsigned check_all(const lh_snapshot *snapshot) {
  unsigned kinds = 0;
  for (lh_id id = 1; id <= snapshot->n; id++) {
    if (!lh_is_reachable(snapshot, id)) continue;
    lh_id from = snapshot->parent[id];
    lh_edge step = lh_best_edge(snapshot, from, id), expected;
    expected = first_of_the_best(snapshot, from, id);
    same_edge(&step, &expected);
    kinds |= 1u << step.kind;
  }
  return kinds;
}

/* The nth allocation of the index fails; 0: none. Returns how many there were. */
static uint64_t check_with(uint64_t nth) {
  lh_snapshot *snapshot;
  assert_int_equal(lh_open_memory(&snapshot, file.data, file.size, "s", NULL), LH_OK);
  assert_int_equal(lh_analyse(snapshot, NULL), LH_OK);
  (void)lh_test_fail_allocation(nth);
  unsigned kinds = check_all(snapshot);
  unsigned again = check_all(snapshot);
  uint64_t n_allocations = lh_test_fail_allocation(0);
  assert_int_equal(kinds, again);
  static const lh_edge_kind met[] = {LH_EDGE_VALUE, LH_EDGE_KEY, LH_EDGE_EPHEMERON, LH_EDGE_UPVALUE,
                                     LH_EDGE_VARARG};
  for (size_t i = 0; i < sizeof met / sizeof met[0]; i++) assert_true(kinds >> met[i] & 1);
  lh_close(snapshot);
  return n_allocations;
}

static void steps_are_the_best_edges(void **state) {
  (void)state;
  uint64_t n = check_with(0);
  assert_true(n > 1); /* there was an index */
  for (uint64_t nth = 1; nth <= n; nth++) (void)check_with(nth);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(steps_are_the_best_edges)};
  return cmocka_run_group_tests(tests, write_snapshot, free_snapshot);
}
