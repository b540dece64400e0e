/*
** test_structure_lua55.c - a state of Lua 5.5 is seen in memory of which nothing is known.
**
** The memory is forged from the description of 5.5's structures, so no Lua 5.5 is needed: the
** global state, then the main thread, in one block whose build may have chosen the string cache and
** the extra space.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "outside/structure.h"

enum { CACHE = 544, THREAD_BYTES = 208, TOTAL = 50000, DEBT = 1234 };
enum { TABLE = 5, SHORT_STRING = 4, COLLECTABLE = 0x40 };

typedef struct forged {
  char *global, *main;
  char registry[48], strings[4][64];
} forged;

static void put64(char *at, uint64_t n) {
  memcpy(at, &n, sizeof n);
}

static void put32(char *at, uint32_t n) {
  memcpy(at, &n, sizeof n);
}

static void put_pointer(char *at, const void *pointer) {
  memcpy(at, &pointer, sizeof pointer);
}

/* In skynet's Lua an id is in front of the text. */
enum { TEXT = 24, TEXT_OF_SKYNET = 32 };

static char *forge_string(char *at, size_t text_at, const char *text) {
  at[8] = SHORT_STRING;
  at[11] = (char)strlen(text);
  strcpy(at + text_at, text);
  return at;
}

static void forge_with(forged *f, size_t cached, size_t extra, size_t text_at) {
  size_t distance = CACHE + 8 * cached + 16 + extra;
  *f = (forged){.global = malloc(distance + THREAD_BYTES)};
  char *g = f->global, *m = f->main = g + distance;
  memset(g, 0xA5, distance + THREAD_BYTES);
  memset(g + 272, 0, 25 * 8);
  f->registry[8] = TABLE;
  put_pointer(g, "an allocation function");
  put64(g + 16, TOTAL);
  put64(g + 24, DEBT);
  put32(g + 60, 128); /* the string table's size */
  put_pointer(g + 64, f->registry);
  g[72] = TABLE | COLLECTABLE;
  g[88] = 0x10; /* nilvalue */
  put32(g + 96, 4711);
  g[106] = 0x08; /* white */
  g[107] = 8;    /* paused */
  g[108] = 2;    /* generational, in a cycle of the whole heap */
  put_pointer(g + 272, forge_string(f->strings[0], text_at, "__index"));
  put_pointer(g + 272 + 3 * 8, forge_string(f->strings[1], text_at, "__mode"));
  put_pointer(g + 272 + 24 * 8, forge_string(f->strings[2], text_at, "__close"));
  for (size_t i = 0; i < cached; i++)
    put_pointer(g + CACHE + 8 * i, forge_string(f->strings[3], text_at, "cached"));
  put_pointer(m, NULL);
  m[8] = 8; /* a thread */
  put_pointer(m + 24, g);
  put_pointer(m + 32, m + 96); /* its base call */
  put_pointer(m + 96 + 16, NULL);
  put32(m + 96 + 60, 0x8000); /* of a C function */
}

static void forge(forged *f, size_t cached, size_t extra) {
  forge_with(f, cached, extra, TEXT);
}

static bool read_own(const void *memory, uint64_t address, void *out, size_t n) {
  (void)memory;
  struct iovec local = {out, n}, remote = {(void *)(uintptr_t)address, n};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)n;
}

static int see(const forged *f, lh_seen_state *seen, lh_error *error) {
  static const lh_peek own = {read_own, NULL};
  return lh_recognise_state(&own, (uintptr_t)f->main, "", seen, error);
}

static void sees_what_the_build_chose(void **state) {
  (void)state;
  static const struct {
    size_t cached, extra;
  } cases[] = {{106, 8}, {106, 0}, {21, 40}, {212, 8}, {1, 1024}, {4000, 16}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    forged f;
    lh_seen_state seen;
    lh_error error = {0};
    forge(&f, cases[i].cached, cases[i].extra);
    if (see(&f, &seen, &error) < 0) fail_msg("case %zu: %s", i, error.message);
    assert_string_equal(seen.lua->name, "5.5");
    assert_string_equal(seen.release, "5.5");
    assert_string_equal(seen.dialect, "");
    assert_ptr_equal((void *)(uintptr_t)seen.global, f.global);
    assert_int_equal(seen.gc_bytes, TOTAL - DEBT);
    assert_int_equal(seen.seed, 4711);
    assert_int_equal(seen.thread_bytes, THREAD_BYTES + cases[i].extra);
    assert_int_equal(seen.main_thread_bytes, f.main - f.global + THREAD_BYTES);
    free(f.global);
  }
}

static void sees_skynets_lua(void **state) {
  (void)state;
  forged f;
  lh_seen_state seen, again;
  lh_error error = {0};
  forge_with(&f, 106, 8, TEXT_OF_SKYNET);
  if (see(&f, &seen, &error) < 0) fail_msg("%s", error.message);
  assert_string_equal(seen.release, "5.5");
  assert_string_equal(seen.dialect, " (skynet)");
  assert_int_equal(seen.thread_bytes, THREAD_BYTES + 8);
  put32(f.global + 96, 4712); /* all its states have one seed */
  assert_int_equal(see(&f, &again, &error), LH_OK);
  assert_int_equal(again.seed, seen.seed);
  put_pointer(f.global + 272 + 8, f.global);
  assert_int_equal(see(&f, &again, &error), LH_OK);
  assert_int_not_equal(again.seed, seen.seed);
  free(f.global);
}

static void refuses_another_place_of_texts(void **state) {
  (void)state;
  forged f;
  lh_seen_state seen;
  lh_error error = {0};
  forge_with(&f, 106, 8, TEXT_OF_SKYNET + 8);
  assert_int_equal(see(&f, &seen, &error), LH_EHOST);
  assert_non_null(strstr(error.message, "the names of its metamethods"));
  free(f.global);
}

static void a_coroutine_behind(forged *f) {
  put_pointer(f->main, f->main);
}

static void far_away(forged *f) {
  put_pointer(f->main + 24, f->main - (1 << 20));
}

static void of_lua(forged *f) {
  put32(f->main + 96 + 60, 0);
}

static void no_registry(forged *f) {
  f->global[72] = TABLE;
}

static void odd_strings(forged *f) {
  put32(f->global + 60, 127);
}

static void bad_phase(forged *f) {
  f->global[107] = 9;
}

static void bad_kind(forged *f) {
  f->global[108] = 3;
}

static void no_name(forged *f) {
  f->strings[1][24] = 'x';
}

static void closed(forged *f) {
  put64(f->global + 16, DEBT + (uint64_t)(f->main - f->global) + THREAD_BYTES);
}

static void refuses_every_wrong_field(void **state) {
  (void)state;
  static const struct {
    void (*bend)(forged *f);
    const char *why;
  } cases[] = {{a_coroutine_behind, "no main thread with its global state is there"},
               {far_away, "no main thread with its global state is there"},
               {of_lua, "no main thread with its global state is there"},
               {no_registry, "a global state is not built yet, or overwritten"},
               {odd_strings, "a global state is not built yet, or overwritten"},
               {bad_phase, "a global state is not built yet, or overwritten"},
               {bad_kind, "a global state is not built yet, or overwritten"},
               {no_name, "the names of its metamethods are not where they are expected"},
               {closed, "it was closed"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    forged f;
    lh_seen_state seen;
    lh_error error = {0};
    forge(&f, 106, 8);
    cases[i].bend(&f);
    assert_int_equal(see(&f, &seen, &error), LH_EHOST);
    if (!strstr(error.message, cases[i].why))
      fail_msg("case %zu: '%s' does not say '%s'", i, error.message, cases[i].why);
    free(f.global);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sees_what_the_build_chose),
      cmocka_unit_test(sees_skynets_lua),
      cmocka_unit_test(refuses_another_place_of_texts),
      cmocka_unit_test(refuses_every_wrong_field),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
