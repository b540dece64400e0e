/*
** test_track.c - tracking in all the ways in which lives are kept: in the pool, behind the host's
** blocks, in a hash, and sampled.
**
** The host's allocation function is a strict one: it knows how big each of its blocks is, and that
** it must be told so; it fails when it shall. At the end of each test all memory is back.
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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "any_lua.h"
#include "rooms/all.h"
#include "sites.h"
#include "track/allocate.h"
#include "track/pool.h"

/* ==== A strict host ================================================================= */

typedef struct head {
  uint64_t bytes, magic;
} head;

typedef struct host {
  lua_State *L;
  uint64_t live_blocks, n_growths, fail_at; /* 0: never */
  uint64_t n_wrong;                         /* sizes that it was told */
} host;

enum { MAGIC = 0x5717C7 };

static void *allocate_with_head(void *data, void *block, size_t old_bytes, size_t bytes) {
  host *h = data;
  head *old = block ? (head *)block - 1 : NULL;
  if (old) h->n_wrong += old->magic != MAGIC || old->bytes != old_bytes;
  if (bytes == 0) {
    h->live_blocks -= old != NULL;
    if (old) old->magic = 0;
    free(old);
    return NULL;
  }
  bool grows = !old || bytes > old_bytes;
  if (grows && ++h->n_growths == h->fail_at) return NULL;
  head *made = realloc(old, sizeof *made + bytes);
  if (!made) return NULL;
  h->live_blocks += old == NULL;
  *made = (head){bytes, MAGIC};
  return made + 1;
}

/* ==== The ways ====================================================================== */

typedef struct way {
  const char *name;
  lh_track_options options;
  lua_Alloc function;
} way;

static const way ways[] = {
    {"pool", {.pool = LH_POOL_ALWAYS}, lh_allocate_in_pool},
    {"pool, stacks", {.pool = LH_POOL_ALWAYS, .stacks = true}, lh_allocate_in_pool},
    {"trailers", {.pool = LH_POOL_NEVER, .stacks = true}, lh_allocate_with_trailer},
    {"sampled", {.sample_bytes = 1 << 10}, lh_allocate_by_host},
    {"each is a sample", {.sample_bytes = 1}, lh_allocate_by_host},
    {"sampled in the pool", {.pool = LH_POOL_ALWAYS, .sample_bytes = 1 << 10}, lh_allocate_in_pool},
    {"exact", {.pool = LH_POOL_ALWAYS, .exact_bytes = 1 << 14}, lh_allocate_in_pool}};
enum { N_WAYS = sizeof ways / sizeof *ways };

static void begin_host(host *h) {
  lh_error error;
  *h = (host){0};
  h->L = any_newstate(allocate_with_head, h);
  assert_non_null(h->L);
  luaL_openlibs(h->L);
  if (lh_attach(h->L, &error) < 0) fail_msg("%s", error.message);
}

static const lh_recorder *begin_tracked(host *h, const way *w) {
  lh_error error;
  begin_host(h);
  if (lh_track(h->L, &w->options, &error) < 0) fail_msg("%s: %s", w->name, error.message);
  const lh_recorder *r = lh_recorder_of(h->L);
  assert_non_null(r);
  assert_ptr_equal(r->function, w->function);
  return r;
}

static void run_program(lua_State *L, const char *program) {
  if (luaL_dostring(L, program)) fail_msg("%s", lua_tostring(L, -1));
  lua_settop(L, 0);
}

/* All objects and the string table are what the collector counts. */
static void check_sum(lua_State *L) {
  lh_gc_stats gc;
  lh_counts counts;
  assert_int_equal(lh_stats(L, &gc, NULL), LH_OK);
  assert_int_equal(lh_count_objects(L, &counts, NULL, 0, NULL), LH_OK);
  assert_int_equal(counts.all.bytes + 8 * gc.table_slots, gc.bytes);
}

static void end_host(host *h) {
  check_sum(h->L);
  lua_close(h->L);
  assert_int_equal(h->live_blocks, 0);
  assert_int_equal(h->n_wrong, 0);
}

/* ==================================================================================== */

/* All that allocates, grows, shrinks and dies, in coroutines and finalizers, too. */
static const char busy[] =
    "local keep = {}\n"
    "local function leaf(n) return {n, name = 'n' .. n, f = function() return n end} end\n"
    "for i = 1, 300 do\n"
    "  keep[i % 50 + 1] = leaf(i)\n"
    "  local co = coroutine.wrap(function(...)\n"
    "    local t = table.pack(...) coroutine.yield(t) return ('x'):rep(i * 20)\n"
    "  end)\n"
    "  keep[i % 50 + 51] = {co(i, i + 1), co()}\n"
    "  setmetatable(keep[i % 50 + 1], {__gc = function(o) keep.last = {o} end})\n"
    "  if i % 60 == 0 then collectgarbage() end\n"
    "  if i % 70 == 0 then keep[i % 50 + 1] = load('local a = ... return {a, {a}}')(i) end\n"
    "end\n"
    "local long = {}\n"
    "for i = 1, 3000 do long[i] = i end\n"
    "for i = 1, 3000 do long[i] = nil end\n"
    "keep.s = table.concat({('ab'):rep(600), ('c'):rep(5000)})\n"
    "collectgarbage('generational') collectgarbage() collectgarbage('incremental')\n";

static void all_memory_is_back(void **state) {
  host h;
  (void)state;
  for (int i = 0; i < N_WAYS; i++) {
    (void)begin_tracked(&h, &ways[i]);
    run_program(h.L, busy);
    check_sum(h.L);
    run_program(h.L, busy);
    end_host(&h);
  }
}

/* ==== Where things were allocated =================================================== */

typedef struct definitions {
  uint8_t *data;
  size_t n;
} definitions;

static void put_definition(const void *data, uint64_t n, void *payload) {
  enum { READABLE_BEHIND = 16 }; /* see lh_cursor */
  definitions *d = payload;
  d->data = realloc(d->data, d->n + n + READABLE_BEHIND);
  assert_non_null(d->data);
  memcpy(d->data + d->n, data, n);
  d->n += n;
  memset(d->data + d->n, 0, READABLE_BEHIND);
}

static lh_sites *read_sites(const lh_recorder *r) {
  definitions d = {0};
  lh_sites *sites = lh_sites_new();
  assert_non_null(sites);
  lh_definitions_write(&r->stacks->definitions, &(lh_defined){0}, put_definition, &d);
  assert_true(d.n <= lh_definitions_longest(&r->stacks->definitions));
  lh_cursor c = {.at = d.data, .end = d.data + d.n};
  while (c.at < c.end) {
    assert_true(lh_sites_define(sites, &c));
    if (c.fault) fail_msg("%s", c.fault);
  }
  assert_int_equal(lh_n_stacks(sites), r->stacks->definitions.n_stacks);
  free(d.data);
  return sites;
}

/* The line on which the global table was made; 0: it has no site. */
static uint32_t line_of(const host *h, const lh_recorder *r, const char *global) {
  lua_getglobal(h->L, global);
  const void *table = lua_topointer(h->L, -1);
  lua_pop(h->L, 1);
  lh_stack_id stack = lh_recorder_stack(r, table, sizeof(raw_table));
  if (stack == 0) return 0;
  lh_sites *sites = read_sites(r);
  uint32_t line = lh_site_of(sites, lh_stack_of(sites, stack)->site)->line;
  lh_sites_free(sites);
  return line;
}

static void tables_know_their_lines(void **state) {
  host h;
  (void)state;
  for (int i = 0; i < N_WAYS; i++) {
    if (ways[i].options.sample_bytes > 1) continue;
    begin_host(&h);
    run_program(h.L, "before = {}");
    assert_int_equal(lh_track(h.L, &ways[i].options, NULL), LH_OK);
    const lh_recorder *r = lh_recorder_of(h.L);
    run_program(h.L,
                "a = {}\nb = {1, 2}\n\nlocal function f() c = {x = 1} end\nf()\n"
                "coroutine.wrap(function() d = {}\nend)()\ne = table.pack(1)");
    assert_int_equal(line_of(&h, r, "before"), 0);
    assert_int_equal(line_of(&h, r, "a"), 1);
    assert_int_equal(line_of(&h, r, "b"), 2);
    assert_int_equal(line_of(&h, r, "c"), 4);
    assert_int_equal(line_of(&h, r, "d"), 6);
    assert_int_equal(line_of(&h, r, "e"), 8);
    end_host(&h);
  }
}

static void tallies_are_what_was_made(void **state) {
  host h;
  lua_Integer n = 0;
  (void)state;
  for (int i = 0; i < N_WAYS; i++) {
    const lh_recorder *r = begin_tracked(&h, &ways[i]);
    run_program(h.L,
                "collectgarbage('stop') keep = {}\n"
                "for i = 1, 20000 do local t = {}\nif i % 4 == 0 then keep[#keep + 1] = t end end\n"
                "collectgarbage() collectgarbage('restart') one = keep[1]");
    lua_getglobal(h.L, "keep");
    n = (lua_Integer)lua_rawlen(h.L, -1);
    lua_settop(h.L, 0);
    assert_int_equal(n, 5000);
    lh_stack_counts most = {0};
    for (lh_stack_id id = 1; id <= r->stacks->definitions.n_stacks; id++) {
      lh_stack_counts counts = lh_recorder_counts(r, id);
      if (counts.made_objects > most.made_objects) most = counts;
    }
    double slack = ways[i].options.sample_bytes > 1 ? 0.15 : 0.001;
    assert_in_range(most.made_objects, 20000 * (1 - slack), 20000 * (1 + slack));
    assert_in_range(most.made_bytes, sizeof(raw_table) * 20000 * (1 - slack),
                    sizeof(raw_table) * 20000 * (1 + slack));
    assert_in_range(most.freed_objects, 15000 * (1 - slack), 15000 * (1 + slack));
    end_host(&h);
  }
}

/* ==== Start and stop ================================================================ */

static void starts_and_stops(void **state) {
  host h;
  lh_error error;
  (void)state;
  for (int i = 0; i < N_WAYS; i++) {
    const lh_recorder *r = begin_tracked(&h, &ways[i]);
    assert_int_equal(lh_track(h.L, &ways[i].options, &error), LH_EARGUMENT);
    run_program(h.L, busy);
    run_program(h.L, "kept = {}");
    assert_int_equal(lh_untrack(h.L, NULL), LH_OK);
    assert_int_equal(lh_untrack(h.L, NULL), LH_OK);
    run_program(h.L, "later = {}");
    if (ways[i].options.sample_bytes <= 1) {
      assert_ptr_equal(lh_recorder_of(h.L), r);
      assert_int_not_equal(line_of(&h, r, "kept"), 0);
      assert_int_equal(line_of(&h, r, "later"), 0);
    }
    run_program(h.L, busy);
    for (int k = 0; k < N_WAYS; k++) { /* in whatever way it was */
      if (lh_track(h.L, &ways[k].options, &error) < 0) fail_msg("%s", error.message);
      run_program(h.L, busy);
      assert_int_equal(lh_untrack(h.L, NULL), LH_OK);
      check_sum(h.L);
    }
    end_host(&h);
  }
}

/* Nothing was allocated meanwhile that lives: our function goes, and another one may come. */
static void leaves_when_it_may(void **state) {
  host h;
  void *data;
  (void)state;
  for (int i = 0; i < N_WAYS; i++) {
    (void)begin_tracked(&h, &ways[i]);
    lua_gc(h.L, LUA_GCCOLLECT, 0);
    assert_int_equal(lh_untrack(h.L, NULL), LH_OK);
    if (lua_getallocf(h.L, &data) == allocate_with_head) {
      assert_ptr_equal(data, &h);
      assert_null(lh_recorder_of(h.L));
    }
    assert_int_equal(lh_track(h.L, &ways[(i + 1) % N_WAYS].options, NULL), LH_OK);
    run_program(h.L, busy);
    end_host(&h);
  }
}

static int start_here(lua_State *L) {
  const way *w = lua_touserdata(L, lua_upvalueindex(1));
  lua_pushboolean(L, lh_track(L, &w->options, NULL) == LH_OK);
  return 1;
}

static int stop_here(lua_State *L) {
  lua_pushboolean(L, lh_untrack(L, NULL) == LH_OK);
  return 1;
}

/* In coroutines, finalizers, while a function is compiled, and in a sort. */
static void at_odd_moments(void **state) {
  host h;
  (void)state;
  for (int i = 0; i < N_WAYS; i++) {
    begin_host(&h);
    lua_pushlightuserdata(h.L, (void *)(uintptr_t)&ways[i]);
    lua_pushcclosure(h.L, start_here, 1);
    lua_setglobal(h.L, "start");
    lua_register(h.L, "stop", stop_here);
    run_program(h.L,
                "coroutine.wrap(function() assert(start()) local t = {{}} end)() assert(stop())");
    run_program(h.L,
                "local n, parts = 0, {'return {', '1, 2, ', 'function() return {} end', '}'}\n"
                "local f = load(function() n = n + 1 if n == 2 then assert(start()) end\n"
                "  return parts[n] end)\n"
                "assert(#f() == 3 and stop())");
    run_program(h.L,
                "local on, t = false, {} for i = 1, 50 do t[i] = (i * 7) % 50 end\n"
                "table.sort(t, function(a, b) if not on then on = start() end\n"
                "  local x = {a} return x[1] < b end) assert(on and stop())");
    run_program(h.L,
                "setmetatable({}, {__gc = function() done = start() end}) collectgarbage()\n"
                "assert(done and {{}} and stop())");
    run_program(h.L,
                "local s = ('a'):rep(2000):gsub('a', function() start() stop() return 'bb' end)\n"
                "assert(#s == 4000)");
    run_program(h.L, busy);
    end_host(&h);
  }
}

/* ==== No memory ===================================================================== */

static int run_small(lua_State *L) {
  return luaL_dostring(
             L,
             "local t = {} for i = 1, 40 do t[i] = {i, 'x' .. i, function() return t end}\n"
             "t[-i] = coroutine.wrap(function(a) coroutine.yield({a}) end) t[-i](i) end\n"
             "local s = load('return {...}')(('y'):rep(3000), table.concat({1, 2, 3}))\n"
             "collectgarbage()\n")
             ? lua_error(L)
             : 0;
}

static int try_small(host *h) {
  lua_pushcfunction(h->L, run_small);
  int status = lua_pcall(h->L, 0, 0, 0);
  if (status != LUA_OK) assert_non_null(strstr(lua_tostring(h->L, -1), "not enough memory"));
  lua_settop(h->L, 0);
  return status;
}

/* The host fails once: Lua collects and asks again, so that the program notices nothing. */
static void host_fails(void **state) {
  host h;
  (void)state;
  for (int i = 0; i < N_WAYS; i++) {
    uint64_t last = 0;
    for (uint64_t n = 1; n == 1 || n <= last; n++) {
      (void)begin_tracked(&h, &ways[i]);
      h.n_growths = 0;
      h.fail_at = n;
      (void)try_small(&h);
      last = h.n_growths;
      h.fail_at = 0;
      end_host(&h);
    }
  }
}

/* Our own memory fails, from some allocation on: what is not known is not told, and all goes on. */
static void own_memory_fails(void **state) {
  host h;
  lh_error error;
  (void)state;
  for (int i = 0; i < N_WAYS; i++) {
    bool reached_end = false;
    for (uint64_t n = 1; !reached_end; n++) {
      begin_host(&h);
      (void)lh_test_fail_allocation(n);
      int rc = lh_track(h.L, &ways[i].options, &error);
      if (rc < 0)
        assert_int_equal(rc, LH_EMEMORY);
      else
        assert_int_equal(try_small(&h), LUA_OK);
      reached_end = lh_test_fail_allocation(0) < n;
      check_sum(h.L);
      (void)lh_untrack(h.L, NULL);
      end_host(&h);
    }
  }
}

/* ==== Others with our function ====================================================== */

static void run_other_state(lua_State *from) {
  void *data;
  lua_Alloc alloc = lua_getallocf(from, &data);
  lua_State *other = any_newstate(alloc, data);
  assert_non_null(other);
  luaL_openlibs(other);
  run_program(other, busy);
  lua_close(other);
}

/* Its blocks are the host's: it may even live longer than the tracked one. */
static void another_state_is_passed_on(void **state) {
  host h;
  void *data;
  (void)state;
  for (int i = 0; i < N_WAYS; i++) {
    const lh_recorder *r = begin_tracked(&h, &ways[i]);
    run_other_state(h.L);
    lua_Alloc alloc = lua_getallocf(h.L, &data);
    lua_State *other = any_newstate(alloc, data);
    assert_non_null(other);
    assert_true(lua_getallocf(other, &data) == allocate_with_head);
    assert_null(lh_recorder_of(other));
    luaL_openlibs(other);
    uint64_t clock = lh_clock_bytes(r);
    run_program(other, busy);
    assert_int_equal(lh_clock_bytes(r), clock);
    check_sum(h.L);
    lua_close(h.L);
    run_program(other, busy);
    lua_close(other);
    assert_int_equal(h.live_blocks, 0);
    assert_int_equal(h.n_wrong, 0);
  }
}

/* A function of the program's, in front of another one. */
typedef struct wrapper {
  lua_Alloc alloc;
  void *data;
  uint64_t n;
} wrapper;

static void *pass_on(void *data, void *block, size_t old_bytes, size_t bytes) {
  wrapper *w = data;
  w->n++;
  return w->alloc(w->data, block, old_bytes, bytes);
}

static void wrap(lua_State *L, wrapper *w) {
  w->n = 0;
  w->alloc = lua_getallocf(L, &w->data);
  lua_setallocf(L, pass_on, w);
}

static void stands_in_a_chain(void **state) {
  host h;
  wrapper below, above;
  (void)state;
  for (int i = 0; i < N_WAYS; i++) {
    begin_host(&h);
    wrap(h.L, &below);
    assert_int_equal(lh_track(h.L, &ways[i].options, NULL), LH_OK);
    const lh_recorder *r = lh_recorder_of(h.L);
    wrap(h.L, &above);
    assert_ptr_equal(lh_recorder_of(h.L), r);
    run_program(h.L, busy);
    assert_true(above.n > 1000 && below.n > 0);
    assert_int_equal(lh_untrack(h.L, NULL), LH_OK);
    run_program(h.L, busy);
    assert_int_equal(lh_track(h.L, &ways[i].options, NULL), LH_OK);
    assert_ptr_equal(lh_recorder_of(h.L), r);
    run_program(h.L, busy);
    end_host(&h);
  }
}

static void stands_behind_a_watcher(void **state) {
  host h;
  lh_watch_options options = {.at_bytes = (uint64_t)1 << 50, .out_of_memory = true};
  (void)state;
  for (int i = 0; i < N_WAYS * 2; i++) {
    const way *w = &ways[i / 2];
    begin_host(&h);
    if (i % 2) assert_int_equal(lh_watch(h.L, &options, NULL), LH_OK);
    assert_int_equal(lh_track(h.L, &w->options, NULL), LH_OK);
    assert_ptr_equal(lh_recorder_of(h.L)->function, w->function);
    if (i % 2 == 0) assert_int_equal(lh_watch(h.L, &options, NULL), LH_OK);
    run_program(h.L, busy);
    if (w->options.sample_bytes <= 1) {
      run_program(h.L, "a = {}");
      assert_int_equal(line_of(&h, lh_recorder_of(h.L), "a"), 1);
    }
    assert_int_equal(lh_untrack(h.L, NULL), LH_OK);
    lh_unwatch(h.L);
    run_program(h.L, busy);
    end_host(&h);
  }
}

/* The program takes away all that its debug library can. */
static void registry_is_emptied(void **state) {
  host h;
  (void)state;
  for (int i = 0; i < N_WAYS; i++) {
    const lh_recorder *r = begin_tracked(&h, &ways[i]);
    run_program(h.L,
                "local r = debug.getregistry()\n"
                "for k in pairs(r) do if type(k) == 'userdata' then r[k] = nil end end\n"
                "collectgarbage() collectgarbage()");
    run_program(h.L, busy);
    assert_ptr_equal(lh_recorder_of(h.L), r);
    lua_close(h.L);
    assert_int_equal(h.live_blocks, 0);
    assert_int_equal(h.n_wrong, 0);
  }
}

/* ==================================================================================== */

static void child_goes_on(void **state) {
  host h;
  (void)state;
  for (int i = 0; i < N_WAYS; i++) {
    (void)begin_tracked(&h, &ways[i]);
    run_program(h.L, busy);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      bool good = luaL_dostring(h.L, busy) == LUA_OK;
      lua_close(h.L);
      _exit(good && h.live_blocks == 0 && h.n_wrong == 0 ? 0 : 1);
    }
    run_program(h.L, busy);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    end_host(&h);
  }
}

/* A short soak: what the recorder has does not grow with what is allocated. */
static void does_not_grow(void **state) {
  host h;
  (void)state;
  for (int i = 0; i < N_WAYS; i++) {
    const lh_recorder *r = begin_tracked(&h, &ways[i]);
    uint64_t peak = 0;
    size_t slabs = 0;
    for (int round = 0; round < 12; round++) {
      run_program(h.L,
                  "for i = 1, 20000 do local t = {i, {i}, 's' .. i, function() return i end} end\n"
                  "collectgarbage()");
      if (round == 3) {
        (void)lh_test_peak_bytes();
        peak = lh_test_peak_bytes();
        slabs = r->pool ? r->pool->n_slabs : 0;
      }
    }
    assert_true(lh_test_peak_bytes() <= peak + peak / 4);
    if (r->pool) assert_true(r->pool->n_slabs <= slabs + slabs / 4);
    end_host(&h);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_memory_is_back),
                                     cmocka_unit_test(tables_know_their_lines),
                                     cmocka_unit_test(tallies_are_what_was_made),
                                     cmocka_unit_test(starts_and_stops),
                                     cmocka_unit_test(leaves_when_it_may),
                                     cmocka_unit_test(at_odd_moments),
                                     cmocka_unit_test(host_fails),
                                     cmocka_unit_test(own_memory_fails),
                                     cmocka_unit_test(another_state_is_passed_on),
                                     cmocka_unit_test(stands_in_a_chain),
                                     cmocka_unit_test(stands_behind_a_watcher),
                                     cmocka_unit_test(registry_is_emptied),
                                     cmocka_unit_test(child_goes_on),
                                     cmocka_unit_test(does_not_grow)};
  return cmocka_run_group_tests_name("track", tests, NULL, NULL);
}
