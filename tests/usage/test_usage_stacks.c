/*
** test_usage_stacks.c - the tree of a profile's stacks, of random ones and of any depth: each row
** has the bytes of the rows under it and its own, those that are shown have most bytes, and rests
** tell how many they stand for. A failure prints the seed of its profile: run the program with it
** as its argument to see only that one.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "forged_profile.h"
#include "rooms/all.h"
#include "usage/answers.h"

static unsigned long seed, only_seed;

#define check(condition)                                          \
  do {                                                            \
    if (!(condition)) fail_msg("seed %lu: %s", seed, #condition); \
  } while (0)

enum { MOST_STACKS = 60 };

typedef struct scene {
  forged_profile file;
  lh_profile *profile;
  lh_usage *usage;
  uint32_t n;                                             /* stacks */
  uint64_t self[MOST_STACKS + 1], total[MOST_STACKS + 1]; /* naive */
} scene;

static uint32_t below(uint64_t *random, uint32_t n) { /* splitmix64 */
  uint64_t x = *random += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return (uint32_t)((x ^ (x >> 31)) % n);
}

static lh_site site_of_line(uint32_t line) {
  return (lh_site){
      .source = "@app.lua", .function = "f", .first_line = 1, .line = line, .maker = LH_MADE_TABLE};
}

static void open_scene(scene *s) {
  lh_error error;
  forge_end_profile(&s->file, 2000, 0);
  assert_int_equal(lh_profile_open_memory(s->file.data, s->file.size, "f", &s->profile, &error),
                   LH_OK);
  assert_int_equal(lh_usage_new(&s->usage, s->profile, &(lh_usage_query){.peak = true}, &error),
                   LH_OK);
}

static void close_scene(scene *s) {
  lh_usage_free(s->usage);
  lh_profile_close(s->profile);
  forge_drop_profile(&s->file);
}

/* Some stacks allocate, and some of that is freed; a few bytes are of nobody. */
static void make_scene(scene *s) {
  uint64_t random = seed;
  memset(s, 0, sizeof *s);
  forge_profile(&s->file, &(lh_profile_info){.release = "5.4.4", .has_stacks = true});
  s->n = 1 + below(&random, MOST_STACKS);
  for (uint32_t i = 1; i <= s->n; i++)
    assert_int_equal(forge_stack(&s->file, below(&random, i), site_of_line(i)), i);
  for (uint32_t i = 0; i < 3 * s->n; i++) {
    uint32_t stack = below(&random, s->n + (i % 7 == 0 ? 1 : 0)) + (i % 7 == 0 ? 0 : 1);
    uint64_t bytes = 1 + below(&random, below(&random, 2) == 0 ? 10 : 1000);
    forge_made(&s->file, LH_TYPE_TABLE, stack, bytes);
    s->self[stack] += bytes;
  }
  open_scene(s);
  for (uint32_t i = 0; i <= s->n; i++) s->total[i] = s->self[i];
  for (uint32_t i = s->n; i > 0; i--)
    s->total[lh_stack_of(lh_profile_sites(s->profile), i)->parent] += s->total[i];
}

/* ==== What holds for every tree ====================================================== */

/* The bytes and stacks of the rows one level below row i, and whether these are in order. */
static void check_row(const scene *s, const lh_usage_stack *rows, size_t n, size_t i) {
  uint64_t bytes = rows[i].self_bytes, before = UINT64_MAX;
  check(rows[i].total_bytes == s->total[rows[i].stack]);
  check(rows[i].self_bytes == s->self[rows[i].stack] && rows[i].stacks == 1);
  for (size_t k = i + 1; k < n && rows[k].depth > rows[i].depth; k++) {
    if (rows[k].depth > rows[i].depth + 1) continue;
    bytes += rows[k].total_bytes;
    if (rows[k].is_rest) {
      check(rows[k].stack == rows[i].stack && rows[k].self_bytes == 0);
      check(rows[k].total_bytes > 0 && rows[k].stacks > 0);
      check(k + 1 == n || rows[k + 1].depth <= rows[i].depth);
    } else {
      check(lh_stack_of(lh_profile_sites(s->profile), rows[k].stack)->parent == rows[i].stack);
      check(rows[k].total_bytes <= before);
      before = rows[k].total_bytes;
    }
  }
  check(bytes == rows[i].total_bytes);
}

static void check_tree(const scene *s, size_t limit) {
  lh_usage_stack *rows;
  size_t n, shown = 0, with_bytes = 0;
  uint64_t whole = 0, stacks = 0, least = UINT64_MAX;
  bool is_shown[MOST_STACKS + 1] = {false};
  assert_int_equal(lh_usage_stacks(s->usage, LH_MOST_ALLOCATED, limit, &rows, &n, NULL), LH_OK);
  for (size_t i = 0; i < n; i++) {
    const lh_usage_stack *row = &rows[i];
    whole += row->depth == 0 ? row->total_bytes : 0;
    stacks += row->is_rest ? row->stacks : row->self_bytes > 0;
    if (row->is_rest || row->stack == 0) continue;
    check_row(s, rows, n, i);
    check(!is_shown[row->stack]);
    is_shown[row->stack] = true;
    shown++;
    if (row->total_bytes < least) least = row->total_bytes;
  }
  check(whole == s->total[0]);
  for (uint32_t i = 0; i <= s->n; i++) with_bytes += s->self[i] > 0;
  check(stacks == with_bytes);
  for (uint32_t i = 1; i <= s->n; i++) check(is_shown[i] || s->total[i] <= least);
  check(limit == 0 || shown <= limit);
  if (limit == 0)
    for (uint32_t i = 1; i <= s->n; i++) check(is_shown[i] == (s->total[i] > 0));
  lh_free(rows);
}

/* ==================================================================================== */

static void trees_add_up(void **state) {
  static const size_t limits[] = {0, 1, 2, 5, 20, 1000};
  (void)state;
  for (seed = 1; seed <= 300; seed++) {
    scene s;
    if (only_seed) seed = only_seed;
    make_scene(&s);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) check_tree(&s, limits[i]);
    close_scene(&s);
    if (only_seed) return;
  }
}

/* What lives is less than what was allocated, and in the same tree. */
static void orders_have_their_bytes(void **state) {
  scene s = {.n = 2};
  lh_usage_stack *rows;
  size_t n;
  (void)state;
  forge_profile(&s.file, &(lh_profile_info){.release = "5.4.4", .has_stacks = true});
  lh_stack_id main = forge_stack(&s.file, 0, site_of_line(1));
  lh_stack_id in_f = forge_stack(&s.file, main, site_of_line(2));
  forge_made(&s.file, LH_TYPE_TABLE, in_f, 5600);
  forge_made(&s.file, LH_TYPE_TABLE, main, 100);
  forge_freed(&s.file, LH_TYPE_TABLE, in_f, 5600, 0);
  open_scene(&s);
  for (lh_usage_order order = LH_MOST_ALLOCATED; order <= LH_MOST_AT_PEAK; order++) {
    bool all = order != LH_MOST_LIVE;
    assert_int_equal(lh_usage_stacks(s.usage, order, 0, &rows, &n, NULL), LH_OK);
    assert_int_equal(n, all ? 2 : 1);
    assert_int_equal(rows[0].total_bytes, all ? 5700 : 100);
    assert_int_equal(rows[0].self_bytes, 100);
    lh_free(rows);
  }
  close_scene(&s);
}

/* Nothing of it is done by recursion. */
static void stacks_of_any_depth_are_rows(void **state) {
  enum { DEPTH = 100000 };
  scene s = {.n = DEPTH};
  lh_usage_stack *rows;
  lh_stack_id stack = 0;
  size_t n;
  (void)state;
  forge_profile(&s.file, &(lh_profile_info){.release = "5.4.4", .has_stacks = true});
  for (int i = 0; i < DEPTH; i++) stack = forge_stack(&s.file, stack, site_of_line(1));
  forge_made(&s.file, LH_TYPE_TABLE, stack, 56);
  open_scene(&s);
  assert_int_equal(lh_usage_stacks(s.usage, LH_MOST_ALLOCATED, 0, &rows, &n, NULL), LH_OK);
  assert_int_equal(n, DEPTH);
  assert_int_equal(rows[n - 1].depth, DEPTH - 1);
  assert_int_equal(rows[n - 1].self_bytes, 56);
  lh_free(rows);
  assert_int_equal(lh_usage_stacks(s.usage, LH_MOST_ALLOCATED, 10, &rows, &n, NULL), LH_OK);
  assert_int_equal(n, 11);
  assert_true(rows[10].is_rest);
  assert_int_equal(rows[10].stacks, 1);
  lh_free(rows);
  close_scene(&s);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(trees_add_up),
      cmocka_unit_test(orders_have_their_bytes),
      cmocka_unit_test(stacks_of_any_depth_are_rows),
  };
  if (argc > 1) only_seed = strtoul(argv[1], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
