/*
** test_names.c - naming, finding and comparing on heaps that do not play along: no memory at any
** allocation, and files with valid checksums in which any bit may be wrong.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compare/answers.h"
#include "graph/graph.h"
#include "read/snapshot.h"
#include "rooms/all.h"
#include "sample.h"

/* Are all bytes printable, and is it one line? */
static void expect_clean(char *text) {
  assert_non_null(text);
  for (const char *c = text; *c; c++) assert_true((unsigned char)*c >= ' ' && *c != 0x7F);
  lh_free(text);
}

/* Every text there is about an object, and the object found again by it. */
static void tell(lh_snapshot *s, lh_id id) {
  lh_edges it;
  lh_edge edge;
  lh_path path;
  lh_found found;
  lh_error error;
  expect_clean(lh_object_text(s, id));
  expect_clean(lh_string_text(s, id, 10));
  for (lh_edges_begin(s, id, &it); lh_edges_next(&it, &edge);) expect_clean(lh_edge_text(s, &edge));
  uint32_t class_index = lh_class_of(s, id);
  if (class_index != UINT32_MAX)
    (void)lh_find(s, lh_class_at(s, class_index)->name, &found, &error);
  if (lh_shortest_path(s, id, &path, &error) != 0) return;
  char *folded = lh_path_text(s, &path, true), *held_by;
  bool is_name = true; /* of what a thread holds, too, the path may be another */
  for (uint32_t i = 0; i < path.n_steps; i++)
    is_name = is_name && lh_naming_parent(s, path.steps[i].target) == path.steps[i].source;
  assert_int_equal(lh_held_by(s, id, &held_by, &error), 0);
  if (is_name) assert_string_equal(held_by, folded);
  lh_free(held_by);
  expect_clean(folded);
  char *text = lh_path_text(s, &path, false);
  (void)lh_find(s, text, &found, &error);
  expect_clean(text);
  lh_paths_free(&path, 1);
}

static void compare_with_mark(lh_snapshot *s) {
  lh_diff *diff;
  lh_error error;
  if (lh_mark_count(s) == 0) return;
  const char *first = lh_mark_at(s, 0)->name;
  if (lh_diff_marks(s, first, NULL, &diff, &error) != 0) return;
  for (size_t i = 0; i < diff->n_groups; i++) assert_true(diff->groups[i].objects > 0);
  lh_diff_free(diff);
}

static void bits_may_be_wrong(void **state) {
  forge f;
  size_t n_opened = 0;
  (void)state;
  sample_heap(&f);
  forge_finish(&f);
  uint8_t *data = malloc(f.size);
  assert_non_null(data);
  for (size_t bit = LH_HEADER_BYTES * 8; bit < (f.size - LH_TRAILER_BYTES) * 8; bit++) {
    lh_snapshot *s;
    memcpy(data, f.data, f.size);
    data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    forge_seal(data, f.size);
    if (lh_open_memory(&s, data, f.size, "f", NULL) != 0) continue;
    n_opened++;
    assert_int_equal(lh_analyse(s, NULL), 0);
    assert_int_equal(lh_classify(s, NULL), 0);
    for (lh_id id = 1; id <= lh_object_count(s); id++) tell(s, id);
    compare_with_mark(s);
    lh_close(s);
  }
  assert_true(n_opened > 100);
  free(data);
  forge_free(&f);
}

/* Fails the n-th allocation of a call, for all n, until it has enough. */
#define FAIL_EACH(call, wanted)                                                                \
  do {                                                                                         \
    int outcome = LH_EMEMORY;                                                                  \
    for (uint64_t nth = 1; outcome == LH_EMEMORY; nth++) {                                     \
      (void)lh_test_fail_allocation(nth);                                                      \
      outcome = (call);                                                                        \
      (void)lh_test_fail_allocation(0);                                                        \
      assert_true(nth < 2000);                                                                 \
      if (outcome == LH_EMEMORY) assert_memory_equal(error.message, "not enough memory ", 18); \
    }                                                                                          \
    assert_int_equal(outcome, wanted);                                                         \
  } while (0)

static int tell_path(const lh_snapshot *s, const lh_path *path, bool folded, lh_error *error) {
  char *text = lh_path_text(s, path, folded);
  strcpy(error->message, "not enough memory here");
  if (!text) return LH_EMEMORY;
  expect_clean(text);
  return 0;
}

static int tell_held_by(lh_snapshot *s, lh_id id, lh_error *error) {
  char *text;
  int code = lh_held_by(s, id, &text, error);
  if (code == 0) expect_clean(text);
  return code;
}

static void each_allocation_of_names_fails(void **state) {
  forge f;
  lh_snapshot *s;
  lh_error error;
  lh_diff *diff;
  lh_path path;
  lh_found found;
  static const struct {
    const char *expression;
    int code;
  } searches[] = {{"0x2000", 0},
                  {"_G", 0},
                  {"string", 0},
                  {"_G.nosuch", LH_ENOTFOUND},
                  {"_G[*]", 0},
                  {"main thread", 0},
                  {"@nosuch:1", LH_ENOTFOUND},
                  {"metatable of _G", LH_ENOTFOUND},
                  {"_G(metatable.x)*", LH_ENOTFOUND}};
  (void)state;
  sample_heap(&f);
  forge_finish(&f);
  assert_int_equal(lh_open_memory(&s, f.data, f.size, "f", NULL), 0);
  assert_int_equal(lh_analyse(s, NULL), 0);
  FAIL_EACH(lh_classify(s, &error), 0);
  const char *first = lh_mark_at(s, 0)->name;
  FAIL_EACH(lh_diff_marks(s, first, NULL, &diff, &error), 0);
  lh_diff_free(diff);
  for (size_t i = 0; i < sizeof searches / sizeof *searches; i++) {
    int code = lh_find(s, searches[i].expression, &found, &error);
    FAIL_EACH(lh_find(s, searches[i].expression, &found, &error), code);
  }
  for (lh_id id = 1; id <= lh_object_count(s); id++) {
    if (lh_shortest_path(s, id, &path, NULL) != 0) continue;
    FAIL_EACH(tell_path(s, &path, false, &error), 0);
    FAIL_EACH(tell_path(s, &path, true, &error), 0);
    FAIL_EACH(tell_held_by(s, id, &error), 0);
    lh_paths_free(&path, 1);
  }
  lh_close(s);
  forge_free(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bits_may_be_wrong),
      cmocka_unit_test(each_allocation_of_names_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
