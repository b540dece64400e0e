/*
** test_layout.c - the probe picks the right one of the four layouts of Lua 5.4, with and without
** lua_ident, and refuses each wrong field with its own message. It reads forged memory
** (forged_memory.h).
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "forged_memory.h"
#include "take/raw_collector.h"

static void picks_the_right_layout(void **state) {
  (void)state;
  for (size_t i = 0; i < N_RELEASES; i++) {
    for (int with_ident = 0; with_ident < 2; with_ident++) {
      image m;
      lh_error error = {0};
      lh_layout layout;
      image_begin(&m, &image_releases[i], with_ident);
      if (lh_layout_probe(&m.host, &layout, &error) < 0) fail_msg("%s", error.message);
      assert_string_equal(layout.releases, image_releases[i].releases);
      assert_int_equal(layout.main_thread_bytes, image_releases[i].block_bytes);
      assert_int_equal(layout.thread_bytes, image_releases[i].thread_bytes);
      m.host.gc_bytes = -1; /* inside of a finalizer */
      assert_int_equal(lh_layout_probe(&m.host, &layout, &error), LH_OK);
      image_end(&m);
    }
  }
}

CORRUPTION(no_global, put_pointer(m->main + 24, m->main + 8))
CORRUPTION(null_global, put_pointer(m->main + 24, NULL))
CORRUPTION(no_thread, m->main[8] = 5)
CORRUPTION(other_main, put_pointer(m->global + m->r->main_thread, m->registry))
CORRUPTION(other_registry, put_pointer(m->global + 64, m->string_metatable))
CORRUPTION(no_registry, m->global[72] = 5)
CORRUPTION(other_alloc, put_pointer(m->global, m))
CORRUPTION(other_alloc_data, put_pointer(m->global + 8, NULL))
CORRUPTION(other_total, put64(m->global + 16, GC_BYTES))
CORRUPTION(other_debt, put64(m->global + 24, 0))
CORRUPTION(bad_state, m->global[101] = 9)
CORRUPTION(bad_kind, m->global[102] = 2)
CORRUPTION(no_metatable, put_pointer(m->global + m->r->metatables + 32, NULL))
CORRUPTION(no_index, put_pointer(m->global + m->r->metamethods, NULL))
CORRUPTION(no_mode, put_pointer(m->global + m->r->metamethods + 24, image_string(m, "__modo")))
CORRUPTION(no_close, put_pointer(m->global + m->r->metamethods + 192, image_string(m, "__clos")))
CORRUPTION(no_string, put_pointer(m->global + m->r->metamethods + 24, m->registry))
CORRUPTION(no_stack, put_pointer(m->main + m->r->stack, NULL))
CORRUPTION(low_top, put_pointer(m->main + 16, m->stack))
CORRUPTION(high_top, put_pointer(m->main + 16, m->stack + 16 * (STACK_SLOTS + 1)))
CORRUPTION(low_end, put_pointer(m->main + m->r->stack_last, m->stack - 16 * 5))
CORRUPTION(other_base, put_pointer(m->main + m->r->base_call, m->stack + 16))
CORRUPTION(other_top, m->stack[16] ^= 1)
CORRUPTION(other_top_type, m->stack[24] = 3)
static void other_thread(image *m) {
  char *stack, *thread = image_block(m, m->r->thread_bytes) + 8;
  image_thread(m, thread, &stack);
  put_pointer(thread + 24, m->registry);
  m->host.thread = thread;
}

static const corruption corruptions[] = {
    {"the global state is not in one block with the main thread", no_global},
    {"the global state is not in one block with the main thread", null_global},
    {"the thread has another global state", other_thread},
    {"the main thread's type byte is not a thread's", no_thread},
    {"the global state names another main thread", other_main},
    {"the registry is not where it is expected", other_registry},
    {"the registry is not where it is expected", no_registry},
    {"the allocation function is not where it is expected", other_alloc},
    {"the allocation function is not where it is expected", other_alloc_data},
    {"the collector's byte count differs", other_total},
    {"the collector's byte count differs", other_debt},
    {"the collector's state is unknown", bad_state},
    {"the collector's state is unknown", bad_kind},
    {"the metatable of strings is not where it is expected", no_metatable},
    {"the metamethod names are not where they are expected", no_index},
    {"the metamethod names are not where they are expected", no_mode},
    {"the metamethod names are not where they are expected", no_close},
    {"the metamethod names are not where they are expected", no_string},
    {"the stack is not where it is expected", no_stack},
    {"the stack is not where it is expected", low_top},
    {"the stack is not where it is expected", high_top},
    {"the stack is not where it is expected", low_end},
    {"the stack is not where it is expected", other_base},
    {"the stack is not where it is expected", other_top},
    {"the stack is not where it is expected", other_top_type},
};

static void image_is_refused(const image *m, const char *what) {
  lh_error error = {0};
  lh_layout layout;
  assert_int_equal(lh_layout_probe(&m->host, &layout, &error), LH_EHOST);
  assert_int_equal(error.code, LH_EHOST);
  if (!strstr(error.message, what)) fail_msg("'%s' does not say '%s'", error.message, what);
}

static void refuses_every_wrong_field(void **state) {
  (void)state;
  for (size_t i = 0; i < N_RELEASES; i++) {
    for (size_t c = 0; c < sizeof corruptions / sizeof corruptions[0]; c++) {
      image m;
      image_begin(&m, &image_releases[i], c % 2);
      corruptions[c].corrupt(&m);
      image_is_refused(&m, corruptions[c].what);
      image_end(&m);
    }
  }
}

/* 5.4.1 and 5.4.2 lie alike: what lua_ident says must be one of them, and without it the field that
** 5.4.2 dropped decides. */
static void tells_541_from_542(void **state) {
  (void)state;
  image m;
  lh_error error;
  lh_layout layout;
  for (size_t i = 1; i <= 2; i++) {
    image_begin(&m, &image_releases[i], true);
    m.host.ident = "$LuaVersion: Lua 5.4.6  Copyright (C) $";
    image_is_refused(
        &m, "says it is Lua 5.4.6, but its memory is laid out differently: another release");
    m.host.ident = "$LuaVersion: something else $";
    assert_int_equal(lh_layout_probe(&m.host, &layout, &error), LH_OK);
    assert_string_equal(layout.releases, image_releases[i].releases);
    image_end(&m);
  }
}

/* Where each release has them, by its lstate.h. 5.4.3 says whether the collector runs where later
** ones say whether it is stopped. */
static void reads_the_settings_of_the_collector(void **state) {
  enum { BY_USER = 1, BY_ITSELF = 2 };
  static const struct {
    size_t image, first; /* of the bytes of the settings */
    const char *release;
    uint8_t runs[2], stopped; /* values of the third byte */
  } cases[] = {{0, 103, "5.4.0", {1, 1}, 0},
               {1, 103, "5.4.1", {1, 1}, 0},
               {2, 103, "5.4.2", {1, 1}, 0},
               {3, 104, "5.4.3", {1, 1}, 0},
               {3, 104, "5.4.4", {0, BY_ITSELF}, BY_USER},
               {3, 104, "5.4.8", {0, BY_ITSELF}, BY_USER | BY_ITSELF},
               {3, 104, "5.4", {0, BY_ITSELF}, BY_USER}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    image m;
    lh_error error;
    lh_layout layout;
    image_begin(&m, &image_releases[cases[i].image], true);
    assert_int_equal(lh_layout_probe(&m.host, &layout, &error), LH_OK);
    char *settings = m.global + cases[i].first;
    memcpy(settings, "\x15\x1A\0\0\x33\x1B\x0D", 7);
    put64(m.global + 24, (uint64_t)-2000);
    put64(m.global + 32, 54321);
    for (int k = 0; k < 3; k++) {
      settings[2] = (char)(k < 2 ? cases[i].runs[k] : cases[i].stopped);
      lh_collector c = raw_collector(&layout, m.global, cases[i].release);
      assert_true(c.is_known);
      assert_int_equal(c.is_stopped, k == 2);
      assert_int_equal(c.credit_bytes, 2000);
      assert_int_equal(c.kept_bytes, 54321);
      assert_int_equal(c.minormul, 0x15);
      assert_int_equal(c.majormul, 4 * 0x1A);
      assert_int_equal(c.pause, 4 * 0x33);
      assert_int_equal(c.stepmul, 4 * 0x1B);
    }
    image_end(&m);
  }
}

static void finds_the_release_in_the_ident(void **state) {
  (void)state;
  static const char *const cases[][2] = {{"$LuaVersion: Lua 5.4.4  Copyright", "5.4.4"},
                                         {"$Lua: Lua 5.1.5 Copyright", "5.1.5"},
                                         {"Lua 5.4", "5.4"},
                                         {"Lua 5.12345678901234567890", "5.1234567890123"},
                                         {"LuaJIT 2.1", LH_LUA_NAME},
                                         {"", LH_LUA_NAME},
                                         {NULL, LH_LUA_NAME}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char out[16];
    memset(out, 0x7F, sizeof out);
    lh_layout_release(cases[i][0], out);
    assert_string_equal(out, cases[i][1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(picks_the_right_layout),
      cmocka_unit_test(refuses_every_wrong_field),
      cmocka_unit_test(tells_541_from_542),
      cmocka_unit_test(reads_the_settings_of_the_collector),
      cmocka_unit_test(finds_the_release_in_the_ident),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
