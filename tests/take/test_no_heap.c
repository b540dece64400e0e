/* test_no_heap.c - the walk over what is no heap, in forged memory (forged_memory.h): it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "forged_memory.h"
#include "take/walk.h"

/* Puts `object` at the head of allgc. */
static void push(image *m, char *object) {
  memcpy(object, m->global + RAW_GLOBAL_ALLGC, 8);
  put_pointer(m->global + RAW_GLOBAL_ALLGC, object);
}

static size_t take_all(const void *data, size_t n, void *payload) {
  (void)data, (void)payload;
  return n;
}

static const lh_layout *layout_of(image *m) {
  assert_int_equal(lh_layout_probe(&m->host, &m->layout, NULL), LH_OK);
  return &m->layout;
}

/* Has the walk ended before the end of the lists? */
static bool walk_ends(image *m, const lh_walk_more *more, lh_walk *walk) {
  lh_out out;
  *walk = (lh_walk){.out = &out,
                    .layout = layout_of(m),
                    .global = m->global,
                    .thread = m->main,
                    .main_thread = m->main,
                    .more = more,
                    .string_bytes = 1000};
  assert_int_equal(lh_out_open(&out, 0, take_all, NULL, NULL), LH_OK);
  lh_out_begin(&out, LH_SECTIONS_VERSION);
  lh_walk_lists(walk);
  lh_out_free(&out);
  return walk->ended;
}

static void unknown_type(image *m) {
  lh_walk walk;
  push(m, image_object(m, 16, 0x0B));
  push(m, image_string(m, "x"));
  assert_true(walk_ends(m, NULL, &walk));
  assert_int_equal(walk.n_objects[LH_LIST_ALLGC], 2);
}

static bool is_below_a_kilobyte(const lh_walk *walk, const raw_object *object, uint64_t bytes) {
  (void)object;
  return walk->object_bytes + bytes <= 1024;
}

static void endless_list(image *m) {
  static const lh_walk_more more = {.accept = is_below_a_kilobyte};
  lh_walk walk;
  char *s = image_string(m, "x");
  push(m, s);
  put_pointer(s, s);
  assert_true(walk_ends(m, &more, &walk));
  assert_int_equal(walk.object_bytes, 1024 / 26 * 26);
}

static void endless_calls(image *m) {
  char *call = image_block(m, 64);
  put_pointer(m->main + m->r->base_call + 24, call);
  put_pointer(call + 24, call);
  assert_true(lh_walk_shallow_bytes(layout_of(m), m->main, (const void *)m->main) > 64 << 20);
}

static void test_all(void **unused) {
  (void)unused;
  static void (*const tests[])(image *) = {unknown_type, endless_list, endless_calls};
  for (size_t i = 0; i < N_RELEASES * 3; i++) {
    image m;
    image_begin(&m, &image_releases[i / 3], true);
    tests[i % 3](&m);
    image_end(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
