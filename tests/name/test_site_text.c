/*
** test_site_text.c - how sites and stacks read.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "luaheap.h"
#include "name/site_text.h"

/* Stands in for the table of a file: three frames, and one without a Lua function. */
static const lh_site sites[] = {
    {.source = "@app/bus.lua", .function = "Bus:on", .line = 31, .maker = LH_MADE_TABLE},
    {.source = "@app/session.lua", .function = "connect", .line = 88, .maker = LH_MADE_CALL},
    {.source = "@main.lua", .function = "", .line = 7, .maker = LH_MADE_CALL},
    {.maker = LH_MADE_BY_HOST},
    {.source = "@fmt.lua",
     .function = "render",
     .c_function = "string.rep",
     .line = 12,
     .maker = LH_MADE_BY_C}};
static const lh_stack stacks[] = {{0, 3}, {1, 2}, {2, 1}, {0, 4}, {0, 5}};

uint32_t lh_n_sites(const lh_sites *s) {
  (void)s;
  return sizeof sites / sizeof *sites;
}

uint32_t lh_n_stacks(const lh_sites *s) {
  (void)s;
  return sizeof stacks / sizeof *stacks;
}

const lh_site *lh_site_of(const lh_sites *s, lh_site_id id) {
  (void)s;
  return &sites[id - 1];
}

const lh_stack *lh_stack_of(const lh_sites *s, lh_stack_id id) {
  (void)s;
  return &stacks[id - 1];
}

static void expect(char *made, const char *expected) {
  assert_string_equal(made, expected);
  lh_free(made);
}

static void a_site_has_file_line_and_function(void **state) {
  (void)state;
  expect(lh_site_text(&sites[0]), "@app/bus.lua:31 in Bus:on");
  expect(lh_site_text(&sites[2]), "@main.lua:7 in main chunk");
  expect(lh_site_text(&sites[3]), "host");
  expect(lh_site_text(&sites[4]), "string.rep at @fmt.lua:12 in render");
  expect(lh_site_text(&(lh_site){.maker = LH_MADE_UNKNOWN}), "unattributed");
  expect(lh_site_text(&(lh_site){.source = "@app.lua", .line = 3, .first_line = 2}), "@app.lua:3");
  expect(lh_site_text(&(lh_site){.source = "=?", .function = "f"}), "@? in f");
  expect(lh_site_text(&(lh_site){.source = "=stdin", .line = 1}), "stdin:1");
  expect(lh_site_text(&(lh_site){.source = "x = 1\ny = 2", .line = 2}), "[string \"x = 1...\"]:2");
  expect(lh_site_text(&(lh_site){.c_function = "lpeg.match", .maker = LH_MADE_BY_C}), "lpeg.match");
}

/* Whatever a program calls its files and functions. */
static void a_name_stays_on_one_line(void **state) {
  char name[4097], expected[LH_DEFAULT_STRING_BYTES + 16] = "@a\\nb:1 in ";
  (void)state;
  memset(name, 'x', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  (void)strncat(expected, name, LH_DEFAULT_STRING_BYTES);
  (void)strcat(expected, "...");
  expect(lh_site_text(&(lh_site){.source = "@a\nb", .function = name, .line = 1}), expected);
}

static void a_stack_has_its_callers(void **state) {
  const lh_sites *none = NULL;
  (void)state;
  expect(lh_stack_text(none, 3, 0), "@app/bus.lua:31 in Bus:on");
  expect(lh_stack_text(none, 3, 1),
         "@app/bus.lua:31 in Bus:on, from @app/session.lua:88 in connect");
  expect(lh_stack_text(none, 3, 9),
         "@app/bus.lua:31 in Bus:on, from @app/session.lua:88 in connect, from @main.lua:7 in main "
         "chunk");
  expect(lh_stack_text(none, 0, 9), "unattributed");
  expect(lh_stack_text(none, 6, 9), "unattributed");
}

static void a_sentence_has_its_words(void **state) {
  const lh_sites *none = NULL;
  (void)state;
  expect(lh_allocated_text(none, 3, 1),
         "allocated at @app/bus.lua:31 in Bus:on, from @app/session.lua:88 in connect");
  expect(lh_allocated_text(none, 4, 1), "allocated by the host");
  expect(lh_allocated_text(none, 5, 1), "allocated by string.rep at @fmt.lua:12 in render");
  expect(lh_allocated_text(none, 0, 1), "allocated at an unknown site");
}

static void each_maker_has_a_name(void **state) {
  (void)state;
  for (lh_maker maker = LH_MADE_UNKNOWN; maker <= LH_MADE_OTHERWISE; maker++)
    assert_string_not_equal(lh_maker_name(maker), "?");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_site_has_file_line_and_function),
      cmocka_unit_test(a_name_stays_on_one_line), cmocka_unit_test(a_stack_has_its_callers),
      cmocka_unit_test(a_sentence_has_its_words), cmocka_unit_test(each_maker_has_a_name)};
  return cmocka_run_group_tests_name("sites as text", tests, NULL, NULL);
}
