/*
** test_matched.c - where a mark would stand in a snapshot that lacks it, held against where it does
** stand: programs that leave their marks in the heap are compared as if they had not.
**
** What must hold of each comparison: no object that is older than the mark is called younger. That
** no more are younger of those that are called older than is told is measured, and not proved: with
** a hundred other seeds it was so in all of 455,712. Addresses are the system's, so here it may be
** otherwise in one of a hundred.
*/
#include <lauxlib.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compare/answers.h"
#include "compare/compare.h"
#include "forged_file.h"
#include "rooms/all.h"

/* Each returns a function that does k of what the program does. */
typedef struct workload {
  const char *name, *text;
} workload;

static const workload loads[] = {
    {"leak",
     "list = {} local n = 0\n"
     "return function(k) for i = 1, k do\n"
     "  n = n + 1 list[n] = {id = n, name = 'object' .. n}\n"
     "  for j = 1, 20 do local t = {j, tostring(n * j)} end\n"
     "end end"},
    {"queue",
     "queue = {} local first, last = 1, 3000\n"
     "for i = 1, 3000 do queue[i] = {i} end\n"
     "return function(k) for i = 1, k do\n"
     "  last = last + 1 queue[last] = {id = last, data = ('x'):rep(last % 50)}\n"
     "  queue[first] = nil first = first + 1\n"
     "end end"},
    {"cache",
     "cache = {} local n = 0\n"
     "return function(k) for i = 1, 3 * k do\n"
     "  n = n + 1\n"
     "  cache[math.random(3000)] = {id = n, value = 'v' .. n % 700, sub = {n % 7}}\n"
     "end end"},
    {"strings",
     "pool = {} local n = 0\n"
     "return function(k) for i = 1, 4 * k do\n"
     "  n = n + 1 pool[math.random(2000)] = 'string number ' .. n % 5000\n"
     "  local s = ('a'):rep(n % 90) .. n\n"
     "end end"},
    {"closures",
     "subscribed = {} local n = 0\n"
     "return function(k) for i = 1, 2 * k do\n"
     "  n = n + 1 local v, w = n, {n}\n"
     "  subscribed[math.random(1500)] = function() v = v + 1 return v, w end\n"
     "end end"},
    {"garbage",
     "local n = 0\n"
     "return function(k) for i = 1, 10 * k do\n"
     "  n = n + 1 local t = {id = n, {n}, tostring(n)} last = {t, n}\n"
     "end end"},
    {"server",
     "sessions = {} local n = 0\n"
     "return function(k) for r = 1, k // 4 do\n"
     "  n = n + 1\n"
     "  local request = {path = '/', headers = {host = 'h', accept = 'a'}, n = n}\n"
     "  local response = {status = 200, body = 'body' .. n % 3}\n"
     "  sessions[n % 40] = {request, response, user = {name = 'user' .. n % 40}}\n"
     "  current = {request}\n"
     "end end"},
    {"rebuilt",
     "return function(k) for r = 1, k // 100 + 1 do\n"
     "  data = {} for i = 1, 500 do data[i] = {i, {i}} end\n"
     "  for i = 1, 400 do local t = {i} end\n"
     "end end"},
    {"reloaded",
     "return function(k) for r = 1, k // 500 + 1 do\n"
     "  config = nil collectgarbage() config = {}\n"
     "  for i = 1, 100 do\n"
     "    config[i] = {host = 'h' .. i, ports = {i, i + 1}, more = {a = {}, b = {}}}\n"
     "  end\n"
     "end end"},
    {"texts",
     "return function(k) for r = 1, k // 200 + 1 do\n"
     "  texts = {} for i = 1, 300 do texts[i] = ('long'):rep(20) .. i end\n"
     "  names = {} for i = 1, 300 do names[i] = 'name ' .. i end\n"
     "  for i = 1, r % 7 do local t = {i} end\n"
     "end end"},
    {"functions",
     "local text = 'local M = {} local function a(x) return function() return x end end '\n"
     "  .. 'function M.f() return a(1) end M.t = {a(1), a(2), {}} return M'\n"
     "return function(k) for r = 1, k // 100 + 1 do\n"
     "  modules = {}\n"
     "  for i = 1, 20 do modules[i] = load(text, '=m' .. i)() end\n"
     "end end"},
    {"finalizers",
     "pool, revived = {}, {} local n, meta = 0, {}\n"
     "meta.__gc = function(o) if o[1] % 3 == 0 then revived[#revived % 99 + 1] = o end "
     "end\n"
     "return function(k) for i = 1, k do\n"
     "  n = n + 1 pool[math.random(500)] = n % 4 == 0 and {n} or\n"
     "                                     setmetatable({n}, meta)\n"
     "  local late = pool[math.random(500)]\n"
     "  if late then setmetatable(late, meta) end\n"
     "end end"},
    {"coroutines",
     "threads = {} local n = 0\n"
     "return function(k) for i = 1, k // 2 do\n"
     "  n = n + 1 local mine = {n}\n"
     "  local c = coroutine.create(function(a) coroutine.yield({a}) return mine end)\n"
     "  coroutine.resume(c, n) threads[math.random(300)] = c\n"
     "end end"},
};

enum { CUTS = 16, GENERATIONAL = 1, COLLECTED = 2, MODES = 4 };

typedef struct run {
  lua_State *L;
  forge_bytes files[CUTS];
  lh_snapshot *at[CUTS];
} run;

/* Its marks are in the heap, and as if they were not. */
static lh_snapshot *open_unmarked(const forge_bytes *file) {
  lh_snapshot *s;
  lh_error error = {0};
  if (lh_open_memory(&s, file->data, file->size, "s", &error)) fail_msg("%s", error.message);
  s->placed = lh_alloc_zeroed(s->n_marks, sizeof *s->placed);
  assert_non_null(s->placed);
  for (uint32_t i = 0; i < s->n_marks; i++) s->placed[i].is_placed = true;
  return s;
}

/* Some snapshots keep no string, some a few bytes, some all. */
static run run_load(const workload *load, unsigned mode) {
  static const uint64_t kept[] = {LH_DEFAULT_STRING_BYTES, 256, 4, 0, 0, 4, 1 << 20};
  run r = {.L = luaL_newstate()};
  unsigned random = 1 + mode;
  luaL_openlibs(r.L);
  assert_int_equal(lh_attach(r.L, NULL), LH_OK);
  if (mode & GENERATIONAL) (void)lua_gc(r.L, LUA_GCGEN, 0, 0);
  if (luaL_dostring(r.L, "math.randomseed(42)") || luaL_dostring(r.L, load->text))
    fail_msg("%s", lua_tostring(r.L, -1));
  for (unsigned i = 0; i < CUTS; i++) {
    lh_take_options options = {.string_bytes = kept[i % (sizeof kept / sizeof *kept)]};
    random = random * 1103515245 + 12345;
    lua_pushvalue(r.L, -1);
    lua_pushinteger(r.L, 50 + (random >> 16) % (i % 5 == 0 ? 1500 : 300));
    lua_call(r.L, 1, 0);
    if (mode & COLLECTED) (void)lua_gc(r.L, LUA_GCCOLLECT, 0);
    assert_int_equal(lh_stream_snapshot(r.L, "s", forge_write, &r.files[i], &options, NULL, NULL),
                     LH_OK);
    r.at[i] = open_unmarked(&r.files[i]);
  }
  return r;
}

static void end_run(run *r) {
  for (int i = 0; i < CUTS; i++) {
    lh_close(r->at[i]);
    free(r->files[i].data);
  }
  lua_close(r->L);
}

typedef struct figures {
  unsigned n, n_passed, n_over;
  uint64_t passed, told, most;
} figures;

/* How many objects from this one on, and before the next, are the program's. */
static uint32_t count_between(const lh_snapshot *s, lh_id from, lh_id to) {
  uint32_t n = 0;
  for (; from < to; from++) n += !lh_is_own(s, from);
  return n;
}

/* Mark i of the earlier one. */
static void check_place(const lh_snapshot *earlier, const lh_snapshot *later, uint32_t i,
                        const lh_matched_place *place, const char *name, figures *sum) {
  uint32_t mark;
  for (mark = 0; later->marks[mark].serial != earlier->marks[i].serial; mark++) continue;
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++) {
    lh_id truth = later->mark_ids[mark][list];
    if (place->ids[list] > truth && count_between(later, truth, place->ids[list]) > 0)
      fail_msg("%s: an old object is called new", name);
    uint32_t passed = count_between(later, place->ids[list], truth);
    sum->n++;
    sum->n_passed += passed > 0;
    sum->n_over += passed > place->passed[list];
    sum->passed += passed;
    sum->told += place->passed[list];
    if (passed > sum->most) sum->most = passed;
  }
}

static void compare_places(const lh_snapshot *earlier, const lh_snapshot *later, const char *name,
                           figures *sum) {
  lh_matched_place *places = lh_alloc(earlier->n_marks, sizeof *places);
  assert_non_null(places);
  lh_match(earlier, later, places);
  for (uint32_t i = 0; i < earlier->n_marks; i++)
    check_place(earlier, later, i, &places[i], name,
                i + 1 == earlier->n_marks ? sum : &(figures){0});
  lh_free(places);
}

static void no_old_object_is_called_new(void **state) {
  static const int gaps[] = {1, 2, 5, 9};
  (void)state;
  for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
    figures sum = {0};
    for (unsigned mode = 0; mode < MODES; mode++) {
      run r = run_load(&loads[i], mode);
      for (size_t gap = 0; gap < sizeof gaps / sizeof *gaps; gap++)
        for (int at = 0; at + gaps[gap] < CUTS; at++)
          compare_places(r.at[at], r.at[at + gaps[gap]], loads[i].name, &sum);
      end_run(&r);
    }
    assert_true(sum.n_over <= sum.n / 100);
    printf(
        "%-10s %u lists compared, new objects pass as old on %u of them, %llu at most, on "
        "average %.2f of %.1f that are told\n",
        loads[i].name, sum.n, sum.n_passed, (unsigned long long)sum.most,
        (double)sum.passed / sum.n, (double)sum.told / sum.n);
  }
}

/* ==== Snapshots that lack marks ====================================================== */

/* As if its heap had not the mark of `earlier`. */
static void forget_mark(lh_snapshot *s, const lh_snapshot *earlier) {
  uint32_t mark;
  assert_true(lh_find_own_mark(earlier, s, &mark));
  size_t behind = --s->n_marks - mark;
  memmove(&s->marks[mark], &s->marks[mark + 1], behind * sizeof *s->marks);
  memmove(&s->mark_ids[mark], &s->mark_ids[mark + 1], behind * sizeof *s->mark_ids);
}

enum { A, B, C, N };

/* Three snapshots of a program that leaks, replaces and has finalizers. */
typedef struct three {
  lua_State *L;
  forge_bytes files[N];
  lh_snapshot *at[N];
} three;

static void open_three(three *t) {
  lh_error error = {0};
  for (int i = 0; i < N; i++) {
    lh_close(t->at[i]);
    if (lh_open_memory(&t->at[i], t->files[i].data, t->files[i].size, "s", &error))
      fail_msg("%s", error.message);
  }
}

static three take_three(void) {
  static const char *const names[] = {"a", "b", "c"};
  static const char text[] =
      "list = list or {} for i = 1, 100 do list[#list + 1] = {id = i, name = 'n' .. #list} end\n"
      "cache = {} for i = 1, 300 do cache[i] = {i} end\n"
      "files = files or {} for i = 1, 9 do\n"
      "  files[#files + 1] = setmetatable({}, {__gc = function() end}) end\n";
  three t = {.L = luaL_newstate()};
  luaL_openlibs(t.L);
  assert_int_equal(lh_attach(t.L, NULL), LH_OK);
  for (int i = 0; i < N; i++) {
    assert_int_equal(luaL_dostring(t.L, text), LUA_OK);
    (void)lua_gc(t.L, LUA_GCCOLLECT, 0);
    assert_int_equal(lh_stream_snapshot(t.L, names[i], forge_write, &t.files[i], NULL, NULL, NULL),
                     LH_OK);
  }
  open_three(&t);
  return t;
}

static void end_three(three *t) {
  for (int i = 0; i < N; i++) {
    lh_close(t->at[i]);
    free(t->files[i].data);
  }
  lua_close(t->L);
}

static lh_diff *diff_of(const three *t) {
  lh_diff *diff;
  lh_error error = {0};
  if (lh_diff_snapshots(t->at[A], t->at[B], t->at[C], &diff, &error)) fail_msg("%s", error.message);
  return diff;
}

static void expect_same(const lh_diff *x, const lh_diff *y) {
  assert_int_equal(x->objects, y->objects);
  assert_int_equal(x->shallow_bytes, y->shallow_bytes);
  assert_int_equal(x->retained_bytes, y->retained_bytes);
  assert_int_equal(x->n_groups, y->n_groups);
  for (size_t i = 0; i < x->n_groups; i++) {
    assert_string_equal(x->groups[i].fingerprint, y->groups[i].fingerprint);
    assert_int_equal(x->groups[i].objects, y->groups[i].objects);
  }
  assert_int_equal(x->n_grown, y->n_grown);
  for (size_t i = 0; i < x->n_grown; i++) assert_int_equal(x->grown[i].id, y->grown[i].id);
}

/* Whichever marks are lacking: b alone may be from outside, or a, or both. */
static void a_diff_needs_no_marks(void **state) {
  three t = take_three();
  lh_diff *whole = diff_of(&t);
  (void)state;
  assert_int_equal(whole->possibly_newer[0].objects + whole->possibly_newer[1].objects, 0);
  for (unsigned lacks = 1; lacks < 8; lacks++) {
    open_three(&t);
    uint32_t n_marks = t.at[C]->n_marks;
    if (lacks & 1) forget_mark(t.at[B], t.at[A]);
    if (lacks & 2) forget_mark(t.at[C], t.at[A]);
    if (lacks & 4) forget_mark(t.at[C], t.at[B]);
    lh_diff *diff = diff_of(&t);
    expect_same(whole, diff);
    assert_int_equal(t.at[C]->n_marks, n_marks);
    assert_int_equal(lh_verify(t.at[C], NULL, NULL), LH_OK);
    assert_true(lacks & 2 || diff->possibly_newer[0].objects == 0);
    assert_true(lacks & 4 || diff->possibly_newer[1].objects == 0);
    lh_diff_free(diff);
  }
  lh_diff_free(whole);
  end_three(&t);
}

/* Once the mark has its place. */
static void objects_are_found_again(void **state) {
  three t = take_three();
  lh_id old = 1;
  (void)state;
  while (lh_type_of(t.at[A], old) != LH_TYPE_THREAD) old++;
  forget_mark(t.at[C], t.at[A]);
  assert_int_equal(lh_same_object(t.at[A], old, t.at[C]), LH_NO_OBJECT);
  assert_int_equal(lh_place_marks(t.at, N, NULL), LH_OK);
  lh_id now = lh_same_object(t.at[A], old, t.at[C]);
  assert_int_equal(lh_address_of(t.at[C], now), lh_address_of(t.at[A], old));
  assert_int_equal(lh_same_object(t.at[C], now, t.at[A]), old);
  end_three(&t);
}

/* Marks that both have divide the objects of both: nothing behind the youngest of them may pass. */
static void marks_in_both_are_kept_to(void **state) {
  three t = take_three();
  lh_matched_place *places = lh_alloc(t.at[B]->n_marks, sizeof *places);
  uint32_t a_in_c;
  (void)state;
  forget_mark(t.at[C], t.at[B]);
  assert_true(lh_find_own_mark(t.at[A], t.at[C], &a_in_c));
  lh_match(t.at[B], t.at[C], places);
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++) {
    const lh_matched_place *place = &places[t.at[B]->n_marks - 1];
    assert_true(place->ids[list] + place->passed[list] <= t.at[C]->mark_ids[a_in_c][list] + 1);
  }
  lh_free(places);
  end_three(&t);
}

/* Each allocation fails in turn: the marks are then as they were, or placed. */
static void without_memory(void **state) {
  three t = take_three();
  lh_error error = {0};
  size_t n = 0;
  (void)state;
  for (int code = LH_EMEMORY; code == LH_EMEMORY; n++) {
    open_three(&t);
    forget_mark(t.at[C], t.at[A]);
    uint32_t n_marks = t.at[C]->n_marks;
    (void)lh_test_fail_allocation(n + 1);
    code = lh_place_marks(t.at, N, &error);
    (void)lh_test_fail_allocation(0);
    assert_int_equal(t.at[C]->n_marks, code ? n_marks : n_marks + 1);
  }
  printf("faults: allocations while marks are placed: %zu cases, %zu survived\n", n, n);
  end_three(&t);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_diff_needs_no_marks),       cmocka_unit_test(objects_are_found_again),
      cmocka_unit_test(marks_in_both_are_kept_to),   cmocka_unit_test(without_memory),
      cmocka_unit_test(no_old_object_is_called_new),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
