/* test_site_text.c - how sites and stacks read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "name/text.h"
#include "rooms/all.h"
#include "sites.h"

/* A table as a file has it: three frames, a host's own code, and a C function. Freed by the
** caller. */
static lh_sites *sample(void) {
  static const char *const names[] = {"@app/bus.lua", "Bus:on",    "@app/session.lua",
                                      "connect",      "@main.lua", "",
                                      "@fmt.lua",     "render",    "string.rep"};
  uint8_t data[512], *end = data;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    end = lh_put_name_head(end, (uint32_t)strlen(names[i]));
    memcpy(end, names[i], strlen(names[i]));
    end += strlen(names[i]);
  }
  for (uint32_t i = 0; i < 4; i++) end = lh_put_function(end, 2 * i + 1, 10 * i, 2 * i + 2);
  end = lh_put_site(end, 1, 31, LH_MADE_TABLE, 0);
  end = lh_put_site(end, 2, 88, LH_MADE_CALL, 0);
  end = lh_put_site(end, 3, 7, LH_MADE_CALL, 0);
  end = lh_put_site(end, 0, 0, LH_MADE_BY_HOST, 0);
  end = lh_put_site(end, 4, 12, LH_MADE_BY_C, 9);
  end = lh_put_stack(lh_put_stack(lh_put_stack(end, 0, 3), 1, 2), 2, 1);
  end = lh_put_stack(lh_put_stack(end, 0, 4), 0, 5);
  lh_cursor c = {.at = data, .end = end};
  lh_sites *sites = lh_sites_new();
  assert_non_null(sites);
  while (c.at < end && !c.fault) assert_true(lh_sites_define(sites, &c));
  assert_null(c.fault);
  return sites;
}

static void expect(char *made, const char *expected) {
  assert_string_equal(made, expected);
  lh_free(made);
}

static void a_site_has_file_line_and_function(void **state) {
  (void)state;
  lh_sites *sites = sample();
  expect(lh_site_text(lh_site_of(sites, 1)), "@app/bus.lua:31 in Bus:on");
  expect(lh_site_text(lh_site_of(sites, 3)), "@main.lua:7 in main chunk");
  expect(lh_site_text(lh_site_of(sites, 4)), "host");
  expect(lh_site_text(lh_site_of(sites, 5)), "string.rep at @fmt.lua:12 in render");
  lh_sites_free(sites);
  expect(lh_site_text(&(lh_site){.maker = LH_MADE_UNKNOWN}), "unattributed");
  expect(lh_site_text(&(lh_site){.source = "@app.lua", .line = 3, .first_line = 2}), "@app.lua:3");
  expect(lh_site_text(&(lh_site){.source = "=?", .function = "f"}), "@? in f");
  expect(lh_site_text(&(lh_site){.source = "=stdin", .line = 1}), "stdin:1");
  expect(lh_site_text(&(lh_site){.source = "x = 1\ny = 2", .line = 2}), "[string \"x = 1...\"]:2");
  expect(lh_site_text(&(lh_site){.c_function = "lpeg.match", .maker = LH_MADE_BY_C}), "lpeg.match");
}

/* Whatever a program calls its files and functions. */
static void a_name_stays_on_one_line(void **state) {
  char name[LH_MOST_SITE_NAME_BYTES + 1], expected[LH_DEFAULT_STRING_BYTES + 16];
  (void)state;
  memset(name, 'x', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  (void)snprintf(expected, sizeof expected, "@a\\nb:1 in %.*s...", (int)LH_DEFAULT_STRING_BYTES,
                 name);
  expect(lh_site_text(&(lh_site){.source = "@a\nb", .function = name, .line = 1}), expected);
}

static void a_stack_has_its_callers(void **state) {
  lh_sites *sites = sample();
  (void)state;
  expect(lh_stack_text(sites, 3, 0), "@app/bus.lua:31 in Bus:on");
  expect(lh_stack_text(sites, 3, 1),
         "@app/bus.lua:31 in Bus:on, from @app/session.lua:88 in connect");
  expect(lh_stack_text(sites, 3, 9),
         "@app/bus.lua:31 in Bus:on, from @app/session.lua:88 in connect, from @main.lua:7 in main "
         "chunk");
  expect(lh_stack_text(sites, 0, 9), "unattributed");
  expect(lh_stack_text(sites, 6, 9), "unattributed");
  lh_sites_free(sites);
}

static void a_sentence_has_its_words(void **state) {
  lh_sites *sites = sample();
  (void)state;
  expect(lh_allocated_text(sites, 3, 1),
         "allocated at @app/bus.lua:31 in Bus:on, from @app/session.lua:88 in connect");
  expect(lh_allocated_text(sites, 4, 1), "allocated by the host");
  expect(lh_allocated_text(sites, 5, 1), "allocated by string.rep at @fmt.lua:12 in render");
  expect(lh_allocated_text(sites, 0, 1), "allocated at an unknown site");
  lh_sites_free(sites);
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
