/*
** test_stacks.c - sites and stacks, held against a walk of the whole stack at each allocation,
** which knows no marks, no fold table and no cache; names and lines as they are expected; memory
** that runs out.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <lauxlib.h>

#include "rooms/all.h"
#include "tracked_state.h"

/* ==== A walk of the whole stack ===================================================== */

enum { MOST_FRAMES = 1000 };

/* Is the site where Lua itself says that the frame stands? */
static void check_site(const tracked *t, const raw_call *call, lh_site_id id) {
  lua_Debug ar;
  size_t n;
  ar.i_ci = (struct CallInfo *)(uintptr_t)call;
  assert_true(lua_getinfo(t->running, "Sl", &ar));
  const lh_site_definition *site = &t->r.stacks->definitions.sites[id - 1];
  const lh_function_definition *f = &t->r.stacks->definitions.functions[site->function - 1];
  const char *source = tracked_name(t, f->source, &n);
  size_t expected = strlen(ar.source);
  if (expected > LH_MOST_SITE_NAME_BYTES) expected = LH_MOST_SITE_NAME_BYTES;
  assert_int_equal(n, expected);
  assert_memory_equal(source, ar.source, n);
  assert_int_equal(f->first_line, ar.linedefined);
  bool has_begun = tracked_position(t, call) == call->saved_pc - 1; /* else Lua has no line yet */
  if (has_begun) assert_int_equal(site->line, ar.currentline > 0 ? ar.currentline : 0);
}

/* The site of a frame below which `above` was called; NULL: it is the innermost one. */
static lh_site_id site_of(const tracked *t, const raw_call *call, const raw_call *above,
                          const raw_call *top) {
  lh_lookup *lookup = &t->r.stacks->lookup;
  const lh_layout *layout = &t->r.layout;
  const raw_call *c = above ? above : top;
  const void *function = NULL;
  bool hooked = raw_call_is(layout, above ? call : top, RAW_CALL_HOOKED);
  if (c->status & RAW_CALL_IS_C) {
    function = lh_frame_c_function(lookup, (lh_call_frame){t->running, c});
    if (!above && hooked) function = &lh_hook_function;
  } else if (hooked) {
    function = &lh_hook_function;
  }
  const lh_key *key =
      lh_lookup_key(lookup, (lh_call_frame){t->running, call}, tracked_position(t, call), function);
  assert_non_null(key);
  return key->site;
}

/* From the innermost frame outwards; the number of them, or MOST_FRAMES. */
static size_t walk_sites(const tracked *t, const raw_call *call, lh_site_id *sites) {
  const raw_call *top = RAW_FIELD(t->running, RAW_THREAD_CALL, const raw_call *);
  const raw_call *above = NULL;
  size_t n = 0;
  while (call && n < MOST_FRAMES) {
    if (!(call->status & RAW_CALL_IS_C)) {
      sites[n] = site_of(t, call, above, top);
      check_site(t, call, sites[n++]);
    }
    above = call;
    call = call->previous;
    if (call && raw_call_is(&t->r.layout, call, RAW_CALL_FINALIZES)) break;
  }
  return n;
}

/* Folds what is from the innermost outwards; the outermost is the first afterwards. */
static size_t fold(const lh_site_id *sites, size_t n, lh_site_id *folded) {
  size_t n_folded = 0;
  while (n-- > 0) {
    size_t i = 0;
    while (i < n_folded && folded[i] != sites[n]) i++;
    folded[i] = sites[n];
    n_folded = i + 1;
  }
  return n_folded;
}

static uint64_t n_checked, n_deep;

static void check_walk(tracked *t, const raw_call *call, lh_stack_id found) {
  static lh_site_id sites[MOST_FRAMES], folded[MOST_FRAMES];
  lua_Debug ar;
  bool is_deep = lua_getstack(t->running, 150, &ar);
  /* While a stack is reallocated some releases have no slots to look at. */
  bool is_moved = raw_base_call(&t->r.layout, t->running)->function == NULL;
  if (is_moved || (is_deep && n_deep++ % 64 != 0)) return;
  size_t n = walk_sites(t, call, sites);
  if (n == MOST_FRAMES) return;
  size_t n_folded = fold(sites, n, folded);
  n_checked++;
  for (lh_stack_id stack = found; n_folded > 0; n_folded--) {
    assert_int_not_equal(stack, 0);
    const lh_stack *s = &t->r.stacks->definitions.stacks[stack - 1];
    assert_int_equal(s->site, folded[n_folded - 1]);
    assert_true(s->parent < stack);
    stack = s->parent;
    if (n_folded == 1) assert_int_equal(stack, 0);
  }
}

/* ==================================================================================== */

/* Runs the program "@t", and stops tracking. */
static tracked *track(bool has_stacks, const char *program) {
  tracked *t = tracked_new(has_stacks);
  assert_true(tracked_begin(t));
  t->check = has_stacks ? check_walk : NULL;
  tracked_run(t, "@t", program);
  t->on = false;
  return t;
}

static void tells_what_made_it(void **state) {
  tracked *t = track(true,
                     "local t, n = {}, ...\n"
                     "t[1] = {}\n"
                     "local f = function() return t, n end\n"
                     "local s = 'x' .. #t .. 'y'\n"
                     "t.a = 1\n"
                     "local r = ('x'):rep(100)\n"
                     "print_to = function(...) return select('#', ...) end\n"
                     "print_to(table.unpack({}, 1, 200))\n"
                     "local k <const> = 5\n"
                     "local c = table.concat({s, s})\n");
  (void)state;
  tracked_assert(t, "1 table in main");
  tracked_assert(t, "2 table in main");
  tracked_assert(t, "2 growth in main");
  tracked_assert(t, "3 closure in main");
  tracked_assert(t, "4 concat in main");
  tracked_assert(t, "5 growth in main");
  tracked_assert(t, "6 C/string.rep in main");
  tracked_assert(t, "8 C/table.unpack in main");
  tracked_assert(t, "10 C/table.concat in main");
  tracked_assert(t, "host");
  tracked_free(t);
}

static void names_functions_as_the_code_around_them_does(void **state) {
  tracked *t = track(true,
                     "local Bus = {inner = {}}\n"
                     "function Bus:on() return {} end\n"
                     "function Bus.off() return {} end\n"
                     "function Bus.inner.deep() return {} end\n"
                     "local function alone() return {} end\n"
                     "function everywhere() return {} end\n"
                     "local t = {field = function() return {} end}\n"
                     "Lib = {}\n"
                     "function Lib:act() return {} end\n"
                     "local function outer() function Bus:late() return {} end end\n"
                     "outer()\n"
                     "Bus:on() Bus.off() Bus.inner.deep() alone() everywhere() t.field()\n"
                     "Lib:act() Bus:late()\n"
                     "local made = {(function() return {} end)()}\n");
  (void)state;
  tracked_assert(t, "2 table in Bus:on, 12 call in main");
  tracked_assert(t, "3 table in Bus.off, 12 call in main");
  tracked_assert(t, "4 table in inner.deep, 12 call in main");
  tracked_assert(t, "5 table in alone, 12 call in main");
  tracked_assert(t, "6 table in everywhere, 12 call in main");
  tracked_assert(t, "7 table in field, 12 call in main");
  tracked_assert(t, "9 table in Lib:act, 13 call in main");
  tracked_assert(t, "10 table in Bus:late, 13 call in main");
  tracked_assert(t, "14 table in ?, 14 call in main");
  tracked_free(t);
}

static void names_by_keys_that_are_no_identifiers(void **state) {
  tracked *t = track(true,
                     "local on = {}\n"
                     "on['('] = function() return {} end\n"
                     "on['end'] = function(self) return {} end\n"
                     "on['a\\\\b\"'] = function() return {} end\n"
                     "_ENV['2nd'] = function() return {} end\n"
                     "on['('](on['end'](), on['a\\\\b\"'](), _ENV['2nd']())\n"
                     "on[' '] = load(string.dump(on['('], true))\n"
                     "on[' ']()\n");
  (void)state;
  tracked_assert(t, "2 table in on[\"(\"], 6 call in main");
  tracked_assert(t, "3 table in on[\"end\"], 6 call in main");
  tracked_assert(t, "4 table in on[\"a\\\\b\\\"\"], 6 call in main");
  tracked_assert(t, "5 table in [\"2nd\"], 6 call in main");
  tracked_assert(t, "0 table in [\" \"], 8 call in main");
  tracked_free(t);
}

/* Names that no function around gives: those of stripped code, and of what is passed along. */
/* In 5.5 a check that the variable is nil stands between the function and its assignment. */
static void names_declared_globals(void **state) {
  (void)state;
  if (LUA_VERSION_NUM == 504) skip();
  tracked *t = track(true,
                     "global *\n"
                     "global function f() return {} end\n"
                     "global g = function(...t) return #t end\n"
                     "f() g()\n");
  tracked_assert(t, "2 table in f, 4 call in main");
  tracked_assert(t, "3 table in g, 4 call in main");
  tracked_free(t);
}

static void names_functions_as_they_are_called(void **state) {
  tracked *t = track(true,
                     "local function call(callback) return {callback()} end\n"
                     "call(function() return {} end)\n"
                     "local code = load(string.dump(load('local f = ... return {f}'), true))\n"
                     "local object = {method = code, one = {two = code}}\n"
                     "code()\n"
                     "object:method()\n"
                     "object.one.two()\n"
                     "global = load(string.dump(function() return {} end, true))\n"
                     "global()\n");
  (void)state;
  tracked_assert(t, "2 table in callback, 1 call in call, 2 call in main");
  tracked_assert(t, "0 table in main, 5 call in main");
  tracked_assert(t, "0 table in main, 6 call in main");
  tracked_assert(t, "0 table in global, 9 call in main");
  tracked_free(t);
}

/* A site is told of all closures that share the code, so no call of one of them names it. */
static void names_no_closures_that_share_their_code(void **state) {
  tracked *t = track(true,
                     "local function memoize() return function() return {} end end\n"
                     "local tiny, leaky, named = memoize(), memoize(), {}\n"
                     "tiny() leaky()\n"
                     "for i = 1, 2 do named[i] = function() return {} end end\n"
                     "local first, second = named[1], named[2]\n"
                     "first() second()\n"
                     "repeat local step = #named + 1\n"
                     "  named[step] = function() return {} end\n"
                     "until step == 4\n"
                     "local third = named[3]\n"
                     "third()\n"
                     "named[1] = function() return {} end\n"
                     "local only = named[1]\n"
                     "only()\n");
  (void)state;
  tracked_assert(t, "1 table in ?, 3 call in main");
  tracked_assert(t, "4 table in ?, 6 call in main");
  tracked_assert(t, "8 table in ?, 11 call in main");
  tracked_assert(t, "12 table in only, 14 call in main");
  tracked_free(t);
}

/* The chunk is gone before a function in it is met, so nobody knows of its loop. */
static void names_no_closure_whose_chunk_is_lost(void **state) {
  tracked *t = tracked_new(true);
  (void)state;
  assert_true(tracked_begin(t));
  tracked_run(t, "@old", "made = {}\nfor i = 1, 2 do made[i] = function() return {} end end\n");
  lua_gc(t->L, LUA_GCCOLLECT);
  tracked_run(t, "@t", "local first, second = made[1], made[2]\nfirst() second()\n");
  tracked_assert(t, "2 table in ?, 2 call in main");
  tracked_free(t);
}

/* What made them, and their chunk, may be gone when tracking begins. */
static void names_the_only_closure_that_was_there_before(void **state) {
  tracked *t = tracked_new(true);
  (void)state;
  tracked_run(t, "@old",
              "local function make() return function() return {} end end\n"
              "one, other = make(), make()\n"
              "local function make() return function() return {} end end\n"
              "only = make()\n");
  lua_gc(t->L, LUA_GCCOLLECT);
  assert_true(tracked_begin(t));
  tracked_run(t, "@t", "one() other() only()\n");
  tracked_assert(t, "1 table in ?, 1 call in main");
  tracked_assert(t, "3 table in only, 1 call in main");
  tracked_free(t);
}

static void knows_functions_that_were_there_before(void **state) {
  tracked *t = tracked_new(true);
  (void)state;
  tracked_run(t, "@old", "local M = {}\nfunction M.make() return {} end\nreturn_it = M.make\n");
  assert_true(tracked_begin(t));
  tracked_run(t, "@t", "local x = return_it\nx()\n");
  tracked_assert(t, "2 table in M.make, 2 call in main");
  tracked_free(t);
}

static void names_c_functions(void **state) {
  tracked *t = track(true,
                     "local ok = pcall(string.rep, 'x', 50)\n"
                     "local t = {3, 1, 2}\n"
                     "table.sort(t, function(a, b) local u = {a, b} return u[1] < u[2] end)\n"
                     "pcall(function() return {} end)\n"
                     "for w in ('a b'):gmatch('%a') do ok = w .. w .. #w end\n"
                     "tostring(1.5)\n"
                     "local f = io.tmpfile()\n"
                     "f:write('some', ' text') f:seek('set')\n"
                     "local got = f:read('a')\n"
                     "f:close()\n"
                     "local s = coroutine.wrap(function() coroutine.yield() end)\n"
                     "s()\n");
  (void)state;
  tracked_assert(t, "1 C/string.rep in main");
  tracked_assert(t, "3 table in ?, 3 C/table.sort in main");
  tracked_assert(t, "4 table in ?, 4 C/pcall in main");
  tracked_assert(t, "5 C/string.gmatch in main");
  tracked_assert(t, "6 C/tostring in main");
  tracked_assert(t, "9 C/FILE*:read in main");
  tracked_assert(t, "11 C/coroutine.wrap in main");
  tracked_free(t);
}

static void folds_recursions(void **state) {
  tracked *t = track(true,
                     "local function down(n)\n"
                     "  local t = {n}\n"
                     "  if n > 0 then\n"
                     "    t[1] = down(n - 1)\n"
                     "  end\n"
                     "  return t\n"
                     "end\n"
                     "local even\n"
                     "local function odd(n) local t = {n} t[2] = n > 0 and\n"
                     "  even(n - 1) return t end\n"
                     "even = function(n) local t = {n} t[2] = n > 0 and\n"
                     "  odd(n - 1) return t end\n"
                     "down(100)\n"
                     "even(100)\n");
  (void)state;
  tracked_assert(t, "2 table in down, 13 call in main");
  tracked_assert(t, "2 table in down, 4 call in down, 13 call in main");
  tracked_assert(t, "11 table in even, 10 call in odd, 12 call in even, 14 call in main");
  tracked_assert(t, "9 table in odd, 12 call in even, 14 call in main");
  assert_true(t->r.stacks->definitions.n_stacks < 40);
  tracked_free(t);
}

/* A tail call takes the frame over; a coroutine has its own frames; a finalizer nobody's. */
static void tells_who_called(void **state) {
  tracked *t = track(true,
                     "local function last() return {} end\n"
                     "local function middle() return last() end\n"
                     "middle()\n"
                     "local function body() coroutine.yield({}) last() end\n"
                     "local co = coroutine.wrap(body)\n"
                     "co()\n"
                     "co()\n"
                     "local function final() local _ = {} end\n"
                     "setmetatable({}, {__gc = final})\n"
                     "collectgarbage()\n"
                     "local m = setmetatable({}, {__add = function() return {} end})\n"
                     "local sum = m + 1\n"
                     "debug.sethook(function() local _ = {} end, 'l')\n"
                     "sum = 1\n"
                     "debug.sethook()\n");
  (void)state;
  tracked_assert(t, "1 table in last, 3 call in main");
  tracked_assert(t, "4 table in body");
  tracked_assert(t, "1 table in last, 4 call in body");
  tracked_assert(t, "8 table in final");
  tracked_assert(t, "11 table in __add, 12 otherwise in main");
  tracked_assert(t, "13 table in ?, 14 C/(hook) in main");
  tracked_free(t);
}

static void is_its_site_alone_without_callers(void **state) {
  tracked *t = track(false,
                     "local function last() return {} end\n"
                     "local function middle() local t = {last()} return t end\n"
                     "middle() last()\n");
  (void)state;
  tracked_assert(t, "1 table in last");
  tracked_assert(t, "2 table in middle");
  assert_int_equal(tracked_made(t, "1 table in last, 3 call in main"), 0);
  const lh_definitions *d = &t->r.stacks->definitions;
  for (uint32_t i = 0; i < d->n_stacks; i++) assert_int_equal(d->stacks[i].parent, 0);
  tracked_free(t);
}

static lh_stack_id not_told, unknown_thread, no_function;

static void ask_what_is_not_known(tracked *t, const raw_call *call, lh_stack_id found) {
  (void)found;
  not_told = lh_stacks_find(t->r.stacks, t->running, call, NULL);
  unknown_thread = lh_stacks_find(t->r.stacks, NULL, NULL, NULL);
  no_function = lh_stacks_find(t->r.stacks, t->running, NULL, NULL);
}

static void tells_what_it_does_not_know(void **state) {
  tracked *t = tracked_new(true);
  (void)state;
  assert_true(tracked_begin(t));
  t->check = ask_what_is_not_known;
  tracked_run(t, "@t", "local function f()\n  local t = {}\nend\nf()\n");
  t->on = false;
  t->r.made[not_told].objects = 77;
  assert_int_equal(tracked_made(t, "0 table in f, 4 call in main"), 77);
  assert_int_equal(unknown_thread, LH_STACK_UNATTRIBUTED);
  assert_int_equal(no_function, LH_STACK_HOST);
  tracked_free(t);
}

/* A text that was loaded is its own source; see check_site. */
static void cuts_long_names(void **state) {
  tracked *t = track(true,
                     "load(('-- '):rep(2000) .. '\\nlocal t = {} return {t}')()\n"
                     "load(('-- '):rep(2000) .. ' more\\nlocal t = {} return {t}')()\n");
  (void)state;
  assert_int_equal(tracked_made(t, "2 table in main, 1 call in main"), 3);
  assert_int_equal(tracked_made(t, "2 table in main, 2 call in main"), 3);
  tracked_free(t);
}

/* Code is loaded again and again, at the addresses of code that is gone, each time one line lower.
*/
static void forgets_code_that_is_freed(void **state) {
  tracked *t = track(true,
                     "for i = 1, 50 do\n"
                     "  local code = ('\\n'):rep(i) .. 'local t = {...} return {t}'\n"
                     "  load(code, '=loaded')()\n"
                     "  collectgarbage()\n"
                     "end\n");
  char expected[100];
  (void)state;
  for (int i = 1; i <= 50; i++) {
    (void)snprintf(expected, sizeof expected, "%d table in main, 3 call in main", i + 1);
    tracked_assert(t, expected);
    assert_int_equal(tracked_made(t, expected), 3); /* two tables, and what one has in it */
  }
  assert_true(t->r.stacks->lookup.key_index.n_handed_out < 100);
  assert_true(t->r.stacks->lookup.protos.index.n_handed_out < 100);
  tracked_free(t);
}

/* Each message is loaded as code. Code that was met before keeps its sites, whatever comes. */
static void takes_later_sources_together(void **state) {
  tracked *t = tracked_new(true);
  (void)state;
  assert_true(tracked_begin(t));
  tracked_run(t, "=test",
              "local function f() load('local t = {} return t', '@first')() end\n"
              "f()\n"
              "for i = 1, 2000 do load('return {' .. i .. '}')() end\n"
              "for i = 1, 17000 do load('local s = ... .. 1', '@' .. i)(i) end\n"
              "f()\n");
  const lh_definitions *d = &t->r.stacks->definitions;
  assert_int_equal(t->r.stacks->lookup.n_texts, LH_MOST_TEXT_SOURCES);
  assert_int_equal(t->r.stacks->lookup.n_named, LH_MOST_NAMED_SOURCES);
  assert_true(d->n_stacks < LH_MOST_TEXT_SOURCES + LH_MOST_NAMED_SOURCES + 50);
  assert_int_equal(tracked_made(t, "1 table in main, 1 call in f, 2 call in main"), 1);
  assert_int_equal(tracked_made(t, "1 table in main, 1 call in f, 5 call in main"), 1);
  tracked_assert(t, "1 table in main, 3 call in main"); /* of all later texts, too */
  tracked_free(t);
}

/* Each return is followed by an allocation. If callers were looked up from the top each time that
** would be 10^10 steps. (Before 5.4.2 a depth of some 200 is all that there is.) */
static void looks_up_deep_callers_once(void **state) {
  tracked *t = tracked_new(true);
  (void)state;
  assert_true(tracked_begin(t));
  tracked_run(t, "@t",
              "local function down(n)\n"
              "  if n > 0 then down(n - 1) end\n"
              "  local t = {}\n"
              "end\n"
              "local function may(n) if n > 0 then may(n - 1) end end\n"
              "depth = 150000\n"
              "while not pcall(may, depth) do depth = depth // 10 end\n"
              "down(depth)\n");
  t->on = false;
  lua_getglobal(t->L, "depth");
  lua_Integer depth = lua_tointeger(t->L, -1);
  assert_true(depth >= 150);
  assert_int_equal(tracked_made(t, "3 table in down, 2 call in down, 8 call in main"), depth);
  assert_int_equal(tracked_made(t, "3 table in down, 8 call in main"), 1);
  if (depth > LH_MOST_MARKED) assert_int_equal(t->r.stacks->marked_mask, LH_MOST_MARKED - 1);
  tracked_free(t);
}

static void agrees_with_a_walk(void **state) {
  enum { ROUNDS = 1 };
  tracked *t = tracked_new(true);
  (void)state;
  assert_true(tracked_begin(t));
  t->check = check_walk;
  assert_int_equal(luaL_loadfile(t->L, "tests/track/corpus.lua"), LUA_OK);
  lua_pushinteger(t->L, ROUNDS);
  if (lua_pcall(t->L, 1, 0, 0) != LUA_OK) fail_msg("%s", lua_tostring(t->L, -1));
  t->on = false;
  assert_true(n_checked > 20000);
  tracked_free(t);
}

/* Our i-th allocation fails, and all after it. Nothing of the program changes. */
static void survives_without_memory(void **state) {
  uint64_t n_made = UINT64_MAX, n_attributed = 0;
  (void)state;
  for (uint64_t i = 1; i <= n_made; i += 1 + i / 20) {
    tracked *t = tracked_new(true);
    (void)lh_test_fail_allocation(i);
    if (tracked_begin(t)) {
      tracked_run(
          t, "@t",
          "local function f(n)\n"
          "  local t = {n}\n"
          "  return n > 0 and f(n - 1) or t\n"
          "end\n"
          "for i = 1, 200 do local code = load('local t = {} return {t}', '=' .. i) code() end\n"
          "f(1000)\n"
          "local s = ('x'):rep(100)\n");
      n_attributed = tracked_made(t, "7 C/string.rep in main");
    }
    t->on = false;
    uint64_t n = lh_test_fail_allocation(0);
    if (n < i) n_made = n; /* none failed */
    tracked_free(t);
  }
  assert_int_equal(n_attributed, 1);
}

/* What is written is read back by the other side. */
static void put_definition(const void *data, uint64_t n, void *payload) {
  uint8_t **at = payload;
  memcpy(*at, data, n);
  *at += n;
}

static void writes_what_it_has_found(void **state) {
  tracked *t = track(true,
                     "local function f() return ('x'):rep(100) end\n"
                     "f()\n");
  lh_stacks *s = t->r.stacks;
  uint8_t *bytes = malloc(lh_definitions_longest(&s->definitions) + 16), *end = bytes;
  lh_defined defined = {0};
  (void)state;
  assert_non_null(bytes);
  lh_definitions_write(&s->definitions, &defined, put_definition, &end);
  assert_true((uint64_t)(end - bytes) <= lh_definitions_longest(&s->definitions));
  lh_sites *sites = lh_sites_new();
  lh_cursor c = {.at = bytes, .end = end};
  while (c.at < c.end) assert_true(lh_sites_define(sites, &c) && !c.fault);
  assert_int_equal(lh_n_stacks(sites), s->definitions.n_stacks);
  const lh_site *unknown = lh_site_of(sites, lh_stack_of(sites, LH_STACK_UNATTRIBUTED)->site);
  assert_int_equal(unknown->maker, LH_MADE_UNKNOWN);
  const lh_site *host = lh_site_of(sites, lh_stack_of(sites, LH_STACK_HOST)->site);
  assert_int_equal(host->maker, LH_MADE_BY_HOST);
  bool is_there = false;
  for (lh_stack_id i = 1; i <= lh_n_stacks(sites); i++) {
    const lh_site *site = lh_site_of(sites, lh_stack_of(sites, i)->site);
    if (site->maker != LH_MADE_BY_C || strcmp(site->c_function, "string.rep") != 0) continue;
    is_there = strcmp(site->source, "@t") == 0 && strcmp(site->function, "f") == 0 &&
               site->line == 1 && site->first_line == 1;
  }
  assert_true(is_there);
  uint8_t *again = end;
  lh_definitions_write(&s->definitions, &defined, put_definition, &again);
  assert_ptr_equal(again, end); /* all of it is written */
  lh_sites_free(sites);
  free(bytes);
  tracked_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tells_what_made_it),
      cmocka_unit_test(names_functions_as_the_code_around_them_does),
      cmocka_unit_test(names_by_keys_that_are_no_identifiers),
      cmocka_unit_test(names_declared_globals),
      cmocka_unit_test(names_functions_as_they_are_called),
      cmocka_unit_test(names_no_closures_that_share_their_code),
      cmocka_unit_test(names_no_closure_whose_chunk_is_lost),
      cmocka_unit_test(names_the_only_closure_that_was_there_before),
      cmocka_unit_test(knows_functions_that_were_there_before),
      cmocka_unit_test(names_c_functions),
      cmocka_unit_test(folds_recursions),
      cmocka_unit_test(tells_who_called),
      cmocka_unit_test(is_its_site_alone_without_callers),
      cmocka_unit_test(tells_what_it_does_not_know),
      cmocka_unit_test(cuts_long_names),
      cmocka_unit_test(forgets_code_that_is_freed),
      cmocka_unit_test(takes_later_sources_together),
      cmocka_unit_test(looks_up_deep_callers_once),
      cmocka_unit_test(agrees_with_a_walk),
      cmocka_unit_test(survives_without_memory),
      cmocka_unit_test(writes_what_it_has_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
