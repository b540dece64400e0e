/*
** test_running.c - what a Lua that knows the truth (truth_spec.lua) cannot tell: the set of
** threads, states in other OS threads, forged threads that resume each other, and memory that runs
** out.
*/
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "any_lua.h"
#include "track/running.h"

/* A state with an allocation function that does no more than tell births and deaths. */
typedef struct watched {
  lua_State *L;
  lh_recorder recorder;
  lh_running *running;
  void (*asks)(struct watched *w); /* before each block that is made */
  uint64_t n, n_foreign, n_wrong;
} watched;

static void *allocate_watched(void *data, void *block, size_t old_bytes, size_t bytes) {
  watched *w = data;
  bool is_thread = w->running && old_bytes == LUA_TTHREAD && !block;
  if (bytes == 0) {
    if (w->running && old_bytes == w->recorder.layout.thread_bytes) {
      lh_running_died(w->running, block);
    }
    free(block);
    return NULL;
  }
  if (w->asks) w->asks(w);
  void *made = realloc(block, bytes);
  if (is_thread && made && bytes == w->recorder.layout.thread_bytes) {
    lh_running_born(w->running, made);
  }
  return made;
}

static void open_watched(watched *w) {
  memset(w, 0, sizeof *w);
  w->L = any_newstate(allocate_watched, w);
  assert_non_null(w->L);
  luaL_openlibs(w->L);
  assert_int_equal(lh_attach(w->L, NULL), LH_OK);
  w->recorder.layout = lh_find_state(w->L, NULL)->layout;
  w->recorder.global = lh_global_state(w->L);
  w->recorder.main_thread = w->L;
  w->running = lh_running_new(&w->recorder, w->L);
  assert_non_null(w->running);
}

static void close_watched(watched *w) {
  lh_running *running = w->running;
  w->asks = NULL;
  lua_close(w->L);
  lh_running_free(running);
}

static void run_watched(watched *w, const char *program) {
  if (luaL_dostring(w->L, program) != LUA_OK) fail_msg("%s", lua_tostring(w->L, -1));
}

/* ==== The set ======================================================================== */

static size_t assert_exact_set(const watched *w) {
  size_t in_set = 0, on_list = 0, place = 0;
  while (lh_thread_set_next(&w->running->threads, &place)) in_set++;
  for (const raw_object *o = raw_list(w->recorder.global, LH_LIST_ALLGC); o; o = o->next) {
    if (o->type != RAW_THREAD) continue;
    on_list++;
    assert_true(lh_thread_set_has(&w->running->threads, o));
  }
  assert_int_equal(in_set, on_list);
  return in_set;
}

static void knows_the_threads_that_live(void **state) {
  (void)state;
  watched w;
  open_watched(&w);
  assert_int_equal(assert_exact_set(&w), 1);
  run_watched(&w, "kept = {} for i = 1, 1000 do kept[i % 100] = coroutine.create(print) end");
  assert_true(assert_exact_set(&w) > 100);
  run_watched(&w, "collectgarbage()");
  assert_int_equal(assert_exact_set(&w), 101);
  run_watched(
      &w, "for i = 1, 5000 do coroutine.wrap(function() end)() end kept = nil collectgarbage()");
  assert_int_equal(assert_exact_set(&w), 1);
  close_watched(&w);
}

static void knows_the_standard_library(void **state) {
  (void)state;
  watched w;
  open_watched(&w);
  const lh_thread_set *plain = &w.running->plain;
  size_t place = 0, n = 0;
  assert_non_null(w.running->resume);
  assert_non_null(w.running->close);
  assert_non_null(w.running->wrapped);
  while (lh_thread_set_next(plain, &place)) n++;
  assert_true(n > 130);
  run_watched(
      &w,
      "return string.gsub, pairs{}, string.gmatch('', ''), io.stdout.write, coroutine.wrap(print)");
  static const bool is_wrapped[] = {false, false, false, false, true};
  for (int i = 0; i < lua_gettop(w.L) && i < 5; i++) {
    lua_CFunction f = lua_tocfunction(w.L, i + 1);
    const void *address;
    memcpy(&address, &f, sizeof address);
    assert_true(lh_thread_set_has(plain, address));
    assert_int_equal(address == w.running->wrapped, is_wrapped[i]);
  }
  assert_false(lh_thread_set_has(plain, &w));
  close_watched(&w);
}

/* ==== OS threads ===================================================================== */

static void ask_running(watched *w) {
  if (!w->running) return;
  w->n++;
  if (lh_running_is_foreign(w->running)) {
    w->n_foreign++;
  } else if (!lh_running_thread(w->running)) {
    w->n_wrong++;
  }
}

static void *run_elsewhere(void *data) {
  lua_State *L = data;
  int rc = luaL_dostring(L,
                         "for i = 1, 100 do local t = {i, function() return i end} end "
                         "coroutine.wrap(function() for i = 1, 100 do local t = {i} end end)()");
  return rc == LUA_OK ? L : NULL;
}

static void run_in_thread(lua_State *L) {
  pthread_t thread;
  void *result;
  assert_int_equal(pthread_create(&thread, NULL, run_elsewhere, L), 0);
  assert_int_equal(pthread_join(thread, &result), 0);
  assert_ptr_equal(result, L);
}

/* As servers do that hand a state from one worker to the next. */
static void moves_with_the_state(void **state) {
  (void)state;
  watched w;
  open_watched(&w);
  w.asks = ask_running;
  for (int i = 0; i < 4; i++) run_in_thread(w.L);
  run_watched(&w, "local t = {{}, {}}");
  assert_true(w.n > 800);
  assert_int_equal(w.n_foreign, 0);
  assert_int_equal(w.n_wrong, 0);
  close_watched(&w);
}

/* A state that was given our allocation function runs in a thread of its own, while ours is at work
** in another. */
static int run_other_in_thread(lua_State *L) {
  watched *w = lua_touserdata(L, 1);
  w->asks = ask_running;
  run_in_thread(lua_touserdata(L, 2));
  w->asks = NULL;
  return 0;
}

static void sees_that_another_state_asks(void **state) {
  (void)state;
  watched w;
  open_watched(&w);
  void *data;
  lua_Alloc alloc = lua_getallocf(w.L, &data);
  lua_State *other = any_newstate(alloc, data);
  assert_non_null(other);
  luaL_openlibs(other);
  run_in_thread(w.L); /* its address may be left on that stack */
  run_watched(&w, "local t = {}");
  lua_pushcfunction(w.L, run_other_in_thread);
  lua_pushlightuserdata(w.L, &w);
  lua_pushlightuserdata(w.L, other);
  assert_int_equal(lua_pcall(w.L, 2, 0, 0), LUA_OK);
  assert_true(w.n > 200);
  assert_int_equal(w.n_foreign, w.n);
  lua_close(other);
  close_watched(&w);
}

/* ==== Forged threads ================================================================= */

typedef struct forged {
  _Alignas(16) char block[512];
  raw_value stack[50];
  raw_call call;
} forged;

static void set_field(void *thread, size_t offset, const void *value) {
  memcpy((char *)thread + offset, &value, sizeof value);
}

/* A thread that stands in coroutine.resume, with another one as its argument. */
static void *forge_thread(watched *w, forged *f, const void *function, const void *argument) {
  const lh_layout *layout = &w->recorder.layout;
  char *thread = f->block + w->running->extra_bytes;
  memset(f, 0, sizeof *f);
  ((raw_object *)(void *)thread)->type = RAW_THREAD;
  set_field(thread, RAW_THREAD_GLOBAL, w->recorder.global);
  set_field(thread, layout->stack, f->stack);
  set_field(thread, layout->stack_last, f->stack + 45);
  set_field(thread, RAW_THREAD_CALL, &f->call);
  f->stack[3].as.pointer = (void *)(uintptr_t)function;
  f->stack[3].type = RAW_LIGHT_C_FUNCTION;
  f->stack[4].as.pointer = (void *)(uintptr_t)argument;
  f->stack[4].type = RAW_THREAD | RAW_COLLECTABLE;
  f->call.function = &f->stack[3];
  f->call.status = RAW_CALL_IS_C;
  assert_true(lh_thread_set_add(&w->running->threads, (lua_State *)(void *)thread));
  return thread;
}

static void *protect(watched *w, void *thread, uintptr_t depth) {
  size_t offset = w->recorder.layout.base_call - sizeof(void *);
  set_field(thread, offset, (const void *)depth);
  return thread;
}

static void follows_who_resumes_whom(void **state) {
  (void)state;
  watched w;
  open_watched(&w);
  lh_running *r = w.running;
  forged a, b;
  const void *b_thread = b.block + r->extra_bytes;
  char *a_thread = forge_thread(&w, &a, r->resume, b_thread);
  (void)forge_thread(&w, &b, r->exit, NULL);
  char calls[64]; /* on the stack, where protected calls are */
  (void)protect(&w, a_thread, (uintptr_t)&calls[32]);
  (void)protect(&w, b.block + r->extra_bytes, (uintptr_t)&calls[0]);
  r->thread = a_thread;
  const raw_value f = b.stack[3];
  b.call.status = 0; /* a Lua function */
  assert_ptr_equal(lh_running_thread(r), b_thread);
  r->thread = a_thread;
  b.call.status = RAW_CALL_IS_C;
  b.stack[3] = a.stack[3]; /* it tries to resume who has resumed it */
  b.stack[4].as.pointer = a_thread;
  assert_ptr_equal(lh_running_thread(r), b_thread);
  r->thread = a_thread;
  b.call.function = (const raw_value *)(3 * sizeof(raw_value)); /* its stack is being moved */
  assert_ptr_equal(lh_running_thread(r), b_thread);
  b.call.function = &b.stack[3];
  r->thread = a_thread;
  b.stack[3] = f;
  b.block[r->extra_bytes + RAW_THREAD_STATUS] = LUA_YIELD;
  (void)protect(&w, b.block + r->extra_bytes, 0);
  assert_ptr_equal(lh_running_thread(r), a_thread);
  r->thread = r->main_thread;
  close_watched(&w);
}

static void ends_where_threads_resume_in_a_circle(void **state) {
  (void)state;
  watched w;
  open_watched(&w);
  forged a, b;
  const void *resume = w.running->resume;
  char *a_thread = forge_thread(&w, &a, resume, b.block + w.running->extra_bytes);
  (void)forge_thread(&w, &b, resume, a_thread);
  w.running->thread = a_thread;
  const void *thread = lh_running_find(w.running);
  assert_true(thread == NULL || thread == w.L);
  w.running->thread = (const char *)w.L;
  close_watched(&w);
}

/* ==================================================================================== */

static void survives_without_memory(void **state) {
  (void)state;
  watched w;
  open_watched(&w);
  lh_running *made = NULL;
  int n = 0;
  for (; !made || !made->wrapped; n++) {
    lh_running_free(made);
    (void)lh_test_fail_allocation((uint64_t)n + 1);
    made = lh_running_new(&w.recorder, w.L);
    (void)lh_test_fail_allocation(0);
    assert_true(n < 10000);
  }
  assert_true(n > 10);
  lh_running_free(made);
  (void)lh_test_fail_allocation(1); /* no room for more threads */
  run_watched(&w, "kept = {} for i = 1, 200 do kept[i] = coroutine.create(print) end");
  (void)lh_test_fail_allocation(0);
  assert_true(w.running->misses_some);
  run_watched(&w, "kept = nil collectgarbage()");
  close_watched(&w);
}

/* The exact mode begins with a full collection, except in 5.4.0, where it stays incremental. */
static void forgets_threads_that_its_start_frees(void **state) {
  lua_State *L = luaL_newstate();
  lh_track_options options = {.exact_bytes = 1 << 20, .pool = LH_POOL_NEVER};
  size_t n = 0, slot = 0;
  (void)state;
  assert_int_equal(lh_attach(L, NULL), LH_OK);
  (void)lua_gc(L, LUA_GCSTOP);
  for (int i = 0; i < 100; i++) {
    (void)lua_newthread(L);
    lua_settop(L, 0);
  }
  if (strcmp(LUA_RELEASE, "Lua 5.4.0") == 0) (void)lua_gc(L, LUA_GCCOLLECT);
  assert_int_equal(lh_track(L, &options, NULL), LH_OK);
  const lh_running *running = lh_recorder_of(L)->running;
  while (lh_thread_set_next(&running->threads, &slot)) n++;
  assert_in_range(n, 0, 10);
  lua_close(L);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(knows_the_threads_that_live),
                                     cmocka_unit_test(knows_the_standard_library),
                                     cmocka_unit_test(moves_with_the_state),
                                     cmocka_unit_test(sees_that_another_state_asks),
                                     cmocka_unit_test(follows_who_resumes_whom),
                                     cmocka_unit_test(ends_where_threads_resume_in_a_circle),
                                     cmocka_unit_test(forgets_threads_that_its_start_frees),
                                     cmocka_unit_test(survives_without_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
