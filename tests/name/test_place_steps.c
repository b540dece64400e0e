/*
** test_place_steps.c - what places are to each other: inside, the container of, the same but for
** numbers; and how one is told below another. The names are those that text would get wrong: each
** is the beginning of another, or has dots, brackets, blanks and words of paths in it.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "name/place_steps.h"

static lh_place_tree tree;

static uint32_t add(uint32_t parent, uint8_t kind, lh_form form, const char *label) {
  lh_place_step step = {.kind = kind,
                        .form = (uint8_t)form,
                        .phrase = form != LH_FORM_BEHIND && kind < LH_STEP_GLOBALS,
                        .holder = LH_NO_PLACE};
  lh_text text = {0};
  const char *of = form == LH_FORM_FRONT ? strstr(label, " of ") : NULL;
  if (of) step.n_own = (uint32_t)(of - label);
  lh_text_string(&text, label);
  uint32_t place = lh_place_behind(&tree, parent, lh_intern_step(&tree, step, &text, NULL));
  assert_true(place < LH_NO_PLACE);
  return place;
}

static uint32_t key(uint32_t parent, const char *label) {
  return add(parent, LH_EDGE_VALUE, LH_FORM_BEHIND, label);
}

static uint32_t any(uint32_t parent) {
  return lh_place_behind(&tree, parent, lh_any_key(&tree));
}

static uint32_t globals(void) {
  return add(0, LH_STEP_GLOBALS, LH_FORM_BASE, "_G");
}

static uint32_t front(uint32_t parent, uint8_t kind, const char *label) {
  return add(parent, kind, LH_FORM_FRONT, label);
}

static uint32_t repeat(uint32_t parent, const char *const *labels, size_t n) {
  uint32_t body[4];
  for (size_t i = 0; i < n; i++) body[i] = tree.list[key(parent, labels[i])].step;
  return lh_place_behind(&tree, parent, lh_intern_repeat(&tree, body, n));
}

static void is_told(uint32_t place, uint32_t above, const char *expected) {
  lh_text text = {0};
  lh_place_text_below(&tree, place, above, &text);
  char *told = lh_text_finish(&text);
  assert_string_equal(told, expected);
  lh_free(told);
}

static void a_name_that_begins_another_is_not_around_it(void **state) {
  (void)state;
  static const char *const names[] = {".q",        ".queue",         "[\"q.ueue\"]", "[\"q[*]\"]",
                                      "[\"q\"]",   "[\"q \"]",       "[\"q of x\"]", "[\"q in x\"]",
                                      "[\"[*]\"]", "[\"key of q\"]", "[\"q*\"]",     "[\"(q)\"]"};
  enum { N = sizeof names / sizeof *names };
  for (size_t i = 0; i < N; i++) {
    for (size_t k = 0; k < N; k++) {
      uint32_t one = key(globals(), names[i]), other = key(globals(), names[k]);
      assert_int_equal(lh_place_is_inside(&tree, one, other), i == k);
      assert_int_equal(lh_place_is_inside(&tree, any(one), other), i == k);
      assert_int_equal(lh_place_container(&tree, any(one)) == other, i == k);
      assert_true(lh_place_is_inside(&tree, key(any(one), names[k]), globals()));
      assert_true(lh_place_container(&tree, one) == LH_NO_PLACE);
    }
  }
}

static void what_goes_on_from_a_place_is_inside(void **state) {
  (void)state;
  uint32_t app = key(globals(), ".app"), hosts = key(app, ".hosts");
  uint32_t keys = front(app, LH_EDGE_KEY, "key of ");
  uint32_t upvalue = front(hosts, LH_EDGE_UPVALUE, "upvalue s of function f @app.lua:7 in ");
  assert_true(lh_place_container(&tree, keys) == app);
  assert_true(lh_place_is_inside(&tree, keys, app));
  assert_true(lh_place_is_inside(&tree, key(upvalue, ".x"), app));
  assert_false(lh_place_is_inside(&tree, app, hosts));
  assert_true(lh_place_base(&tree, key(any(hosts), ".x")) == app);
  assert_true(lh_place_base(&tree, keys) == front(app, LH_EDGE_KEY, "key of "));
  uint32_t local = add(0, LH_EDGE_LOCAL, LH_FORM_BASE, "local x in function f");
  assert_true(lh_place_base(&tree, key(key(local, ".a"), ".b")) == local);
  assert_true(lh_place_base(&tree, globals()) == globals());
}

static void a_value_of_a_weak_table_is_inside_it(void **state) {
  (void)state;
  uint32_t table = key(globals(), ".weak"), owner = key(globals(), ".owner");
  lh_place_step step = {.kind = LH_EDGE_EPHEMERON,
                        .form = LH_FORM_AROUND,
                        .phrase = true,
                        .holder = key(table, ".of")};
  lh_text label = {0};
  lh_text_string(&label, "_G.weak.of");
  uint32_t value = lh_place_behind(&tree, owner, lh_intern_step(&tree, step, &label, NULL));
  assert_true(lh_place_is_inside(&tree, key(value, ".x"), table));
  assert_true(lh_place_is_inside(&tree, value, owner));
  assert_false(lh_place_is_inside(&tree, value, key(globals(), ".wea")));
  is_told(value, LH_NO_PLACE, "value of _G.owner in weak table _G.weak.of");
  is_told(value, owner, "value in weak table _G.weak.of");
}

static void a_place_is_told_from_the_one_above(void **state) {
  (void)state;
  uint32_t app = key(globals(), ".app"), f = key(app, ".f");
  uint32_t upvalue = front(f, LH_EDGE_UPVALUE, "upvalue s of function f @app.lua:7 in ");
  uint32_t keys = front(app, LH_EDGE_KEY, "key of ");
  uint32_t of_keys =
      front(key(keys, ".f"), LH_EDGE_UPVALUE, "upvalue s of function g @a.lua:9 in ");
  uint32_t meta = front(upvalue, LH_EDGE_METATABLE, "metatable of ");
  is_told(globals(), LH_NO_PLACE, "_G");
  is_told(app, globals(), ".app");
  is_told(key(any(key(app, ".hosts")), ".x"), app, ".hosts[*].x");
  is_told(key(globals(), ".apples"), app, "_G.apples");
  is_told(upvalue, f, "upvalue s");
  is_told(upvalue, app, "upvalue s.f");
  is_told(key(upvalue, ".pages"), upvalue, ".pages");
  is_told(key(upvalue, ".pages"), f, "(upvalue s).pages");
  is_told(key(upvalue, ".pages"), LH_NO_PLACE,
          "(upvalue s of function f @app.lua:7 in _G.app.f).pages");
  is_told(meta, f, "metatable of upvalue s");
  is_told(of_keys, keys, "upvalue s.f");
  is_told(of_keys, app, "upvalue s of (key).f");
  is_told(app, app, "");
}

static void numbers_are_told_by_a_star(void **state) {
  (void)state;
  uint32_t one = key(key(globals(), ".tenant_1"), ".x2"),
           two = key(key(globals(), ".tenant_7"), ".x2");
  uint32_t both = lh_place_of_both(&tree, one, two);
  is_told(both, LH_NO_PLACE, "_G.tenant_*.x2");
  assert_true(lh_place_of_both(&tree, both, two) == both);
  assert_true(lh_place_of_both(&tree, one, key(globals(), ".tenant_1")) == LH_NO_PLACE);
  assert_true(lh_place_of_both(&tree, one, key(key(globals(), ".tenants_1"), ".x2")) ==
              LH_NO_PLACE);
  is_told(lh_place_without_numbers(&tree, one), LH_NO_PLACE, "_G.tenant_*.x*");
  assert_true(lh_place_without_numbers(&tree, key(globals(), ".app")) == LH_NO_PLACE);
  uint32_t local = add(0, LH_EDGE_LOCAL, LH_FORM_BASE, "local x in function f @app.lua:3");
  assert_true(lh_place_without_numbers(&tree, key(local, ".a1")) == LH_NO_PLACE);
  uint32_t loaded = add(0, LH_STEP_LOADED, LH_FORM_BASE, "package.loaded");
  is_told(lh_place_without_numbers(&tree, key(key(loaded, "[\"plugins.shop_r12\"]"), ".n")),
          LH_NO_PLACE, "package.loaded[\"plugins.*\"].n");
}

static void links_are_left_out(void **state) {
  (void)state;
  static const char *const next[] = {".next", ".next"};
  uint32_t list = key(globals(), ".list"), linked = key(list, ".next");
  unsigned how = LH_COPY_WITHOUT_STARS | LH_COPY_ALL_NUMBERS;
  uint32_t both = repeat(linked, next, 2), other = repeat(list, next, 2);
  is_told(both, LH_NO_PLACE, "_G.list.next(.next.next)*");
  assert_true(lh_place_copy(&tree, &tree, both, how) == linked);
  assert_true(lh_place_copy(&tree, &tree, other, how) == linked);
  uint32_t twice = key(linked, ".next");
  assert_true(lh_place_copy(&tree, &tree, twice, how) == twice);
}

static void what_differs_in_one_key_has_the_rest_in_common(void **state) {
  (void)state;
  uint32_t jobs = key(globals(), ".jobs");
  uint32_t one = key(key(jobs, "[\"job 1\"]"), ".x"), two = key(key(jobs, "[\"job 2\"]"), ".x");
  is_told(lh_place_in_common(&tree, one, two), LH_NO_PLACE, "_G.jobs[*].x");
  assert_true(lh_place_in_common(&tree, one, one) == one);
  assert_true(lh_place_in_common(&tree, one, jobs) == LH_NO_PLACE);
  assert_true(lh_place_in_common(&tree, one, key(key(jobs, "[\"job 3\"]"), ".y")) == LH_NO_PLACE);
}

static uint64_t identity_in(lh_place_tree *of, const char *label) {
  lh_place_step base = {
      .kind = LH_EDGE_LOCAL, .form = LH_FORM_BASE, .phrase = true, .holder = LH_NO_PLACE};
  lh_text text = {.marks = true};
  lh_text_string(&text, label);
  uint32_t place = lh_place_behind(of, 0, lh_intern_step(of, base, &text, NULL));
  assert_true(place < LH_NO_PLACE);
  return of->list[place].identity;
}

static void an_identity_is_the_same_in_other_trees(void **state) {
  (void)state;
  lh_place_tree other = {0};
  uint64_t here = identity_in(&tree, "local x in function f @\1/two in one/\2app.lua\1:7\2");
  uint64_t there = identity_in(&other, "local x in function f @\1plain/\2app.lua\1:12\2");
  assert_int_equal(here, there);
  assert_int_not_equal(here, identity_in(&other, "local x in function f @app_lua"));
  lh_place_tree_free(&other);
}

static int free_tree(void **state) {
  (void)state;
  lh_place_tree_free(&tree);
  return 0;
}

/* A key of _G, and how much its log grows. */
typedef struct sibling_case {
  const char *label;
  uint64_t weight;
} sibling_case;

static void are_told_as(const sibling_case *rows, size_t n, const char *const *expected,
                        size_t n_expected) {
  lh_sibling siblings[16];
  size_t n_told = 0;
  for (size_t i = 0; i < n; i++)
    siblings[i] = (lh_sibling){.place = any(key(key(globals(), rows[i].label), ".log")),
                               .kind = 7,
                               .weight = rows[i].weight};
  assert_true(lh_find_siblings(&tree, siblings, n));
  for (size_t i = 0; i < n; i++) {
    if (siblings[i].first != i) continue;
    assert_true(n_told < n_expected);
    is_told(siblings[i].all, LH_NO_PLACE, expected[n_told++]);
  }
  assert_int_equal(n_told, n_expected);
}

static void siblings_that_grow_alike_are_one(void **state) {
  (void)state;
  are_told_as((sibling_case[]){{".eu", 90}, {".us", 100}, {".asia", 30}}, 3,
              (const char *[]){"_G.{asia, eu, us}.log[*]"}, 1);
  are_told_as((sibling_case[]){{".eu", 9}, {".us", 9}, {".a", 9}, {".b", 9}, {".c", 9}}, 5,
              (const char *[]){"_G.{a, b, c and 2 more}.log[*]"}, 1);
  are_told_as((sibling_case[]){{"[\"e u\"]", 9}, {"[\"u s\"]", 9}, {"[\"a\"]", 9}}, 3,
              (const char *[]){"_G[{\"a\", \"e u\", \"u s\"}].log[*]"}, 1);
}

static void one_that_grows_far_more_stays_alone(void **state) {
  (void)state;
  are_told_as(
      (sibling_case[]){{".lobby", 90}, {".help", 10}, {".news", 9}, {".games", 0}}, 4,
      (const char *[]){"_G.lobby.log[*]", "_G.help.log[*]", "_G.news.log[*]", "_G.games.log[*]"},
      4);
  are_told_as((sibling_case[]){{".lobby", 9}, {".help", 9}}, 2,
              (const char *[]){"_G.lobby.log[*]", "_G.help.log[*]"}, 2);
}

/* Three regions with two kinds each; all but one grow. */
static void keys_of_two_steps_may_vary(void **state) {
  (void)state;
  static const char *const regions[] = {".eu", ".us", ".asia"}, *const kinds[] = {".in", ".out"};
  lh_sibling rows[6];
  for (size_t i = 0; i < 6; i++)
    rows[i] =
        (lh_sibling){.place = any(key(key(globals(), regions[i / 2]), kinds[i % 2])), .weight = 5};
  assert_true(lh_find_siblings(&tree, rows, 6));
  is_told(rows[0].all, LH_NO_PLACE, "_G.{asia, eu, us}.{in, out}[*]");
  for (size_t i = 0; i < 6; i++) assert_int_equal(rows[i].first, 0);
  for (size_t i = 0; i < 6; i++) rows[i].kind = i; /* of other classes */
  assert_true(lh_find_siblings(&tree, rows, 6));
  for (size_t i = 0; i < 6; i++) assert_int_equal(rows[i].first, i);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_name_that_begins_another_is_not_around_it),
      cmocka_unit_test(what_goes_on_from_a_place_is_inside),
      cmocka_unit_test(a_value_of_a_weak_table_is_inside_it),
      cmocka_unit_test(a_place_is_told_from_the_one_above),
      cmocka_unit_test(numbers_are_told_by_a_star),
      cmocka_unit_test(links_are_left_out),
      cmocka_unit_test(what_differs_in_one_key_has_the_rest_in_common),
      cmocka_unit_test(an_identity_is_the_same_in_other_trees),
      cmocka_unit_test(siblings_that_grow_alike_are_one),
      cmocka_unit_test(one_that_grows_far_more_stays_alone),
      cmocka_unit_test(keys_of_two_steps_may_vary),
  };
  return cmocka_run_group_tests(tests, NULL, free_tree);
}
