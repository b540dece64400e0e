/*
** test_object.c - the questions about one object: what it is, what is in it, who refers to it and
** keeps it alive, and how it is found. Their texts are compared as a whole, with addresses as *;
** and the same object is told in three snapshots, though memory is reused.
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base.h"
#include "compare/answers.h"
#include "forged_file.h"
#include "rooms/all.h"

static const char program[] =
    "local bus = setmetatable({name = 'main', limit = 10}, {__name = 'Bus'})\n"
    "app = {bus = bus, list = {bus, bus}, weak = setmetatable({bus}, {__mode = 'v'})}\n"
    "function app.tick() return bus end\n"
    "app.text = 'line one\\nand a \"quoted\" one'\n"
    "app.worker = coroutine.create(function(job) coroutine.yield(job) end)\n"
    "coroutine.resume(app.worker, app.list)\n"
    "held = {inside = {}} other = {held.inside}\n";

static forge_bytes files[3];
static lh_snapshot *heaps[3]; /* before the program, after it, and after `held` was made anew */
static lh_snapshot *heap;

static bool run_code(lua_State *L, const char *code) {
  return luaL_loadbuffer(L, code, strlen(code), "@lib@2/program.lua") == LUA_OK &&
         lua_pcall(L, 0, 0, 0) == LUA_OK;
}

static bool take_heap(lua_State *L, int i) {
  return lh_stream_snapshot(L, "s", forge_write, &files[i], NULL, NULL, NULL) == LH_OK &&
         lh_open_memory(&heaps[i], files[i].data, files[i].size, "s", NULL) == LH_OK &&
         lh_analyse(heaps[i], NULL) == LH_OK && lh_classify(heaps[i], NULL) == LH_OK;
}

static int take_all(void **state) {
  (void)state;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  bool ok = lh_attach(L, NULL) == LH_OK && run_code(L, "old = {}") && take_heap(L, 0) &&
            run_code(L, program) && take_heap(L, 1) &&
            run_code(L, "held = nil other = nil collectgarbage() held = {inside = {}}") &&
            take_heap(L, 2);
  lua_close(L);
  heap = heaps[1];
  return ok ? 0 : -1;
}

static int drop_all(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    lh_close(heaps[i]);
    free(files[i].data);
  }
  return 0;
}

static lh_id object_in(lh_snapshot *s, const char *name) {
  lh_found found;
  lh_error error = {.message = ""};
  if (lh_find(s, name, &found, &error) != LH_OK) fail_msg("%s: %s", name, error.message);
  return found.id;
}

/* Each address becomes a *. */
static void hide_addresses(char *text) {
  char *to = text;
  for (const char *at = text; *at;) {
    if (strncmp(at, "0x", 2) == 0) {
      at += 2 + strspn(at + 2, "0123456789abcdef");
      *to++ = '*';
    } else {
      *to++ = *at++;
    }
  }
  *to = '\0';
}

/* Freed by lh_free. */
static char *told(const char *question, lh_request request) {
  lh_report report;
  lh_error error = {.message = ""};
  if (lh_ask(&report, lh_find_question(question), heap, &request, &error) != LH_OK)
    fail_msg("%s: %s", question, error.message);
  char *text = lh_report_text(&report, "s");
  assert_non_null(text);
  lh_report_free(&report);
  hide_addresses(text);
  return text;
}

/* Has the answer each of the texts, which are parted by |? */
static void has(const char *question, lh_request request, const char *texts) {
  char *text = told(question, request), *wanted = strdup(texts), *rest = wanted;
  for (char *part; (part = strsep(&rest, "|"));)
    if (!strstr(text, part)) fail_msg("%s has no '%s':\n%s", question, part, text);
  free(wanted);
  lh_free(text);
}

static lh_request about(const char *name) {
  return (lh_request){.id = object_in(heap, name), .matches = 1, .class_index = UINT32_MAX};
}

static void an_object_is_told(void **state) {
  (void)state;
  has("object", about("_G.app.bus"),
      "Bus *| retains | of the heap; it stays because of _G.app.bus");
  has("object", about("_G.old"), "allocated before ");
}

static void fields_are_told(void **state) {
  lh_request bus = about("_G.app.bus"), filtered = bus;
  (void)state;
  has("fields", bus, "3 fields of Bus *|.name|\"main\"|.limit|10|metatable");
  filtered.filter = "LIM";
  has("fields", filtered, "3 fields of Bus *, of which 1 matches|.limit");
  has("fields", about("_G.app.tick"), "upvalue bus|Bus|proto");
  has("fields", about("_G.app.worker"),
      "call of function @lib@2/program.lua:5|local job in function");
}

static void an_order_has_a_name(void **state) {
  lh_request bus = about("_G.app.bus");
  lh_report report;
  lh_error error;
  (void)state;
  bus.sorted = "-address";
  assert_int_equal(lh_ask(&report, lh_find_question("fields"), heap, &bus, &error), LH_EARGUMENT);
  assert_non_null(strstr(error.message, "and not by '-address'"));
  bus.sorted = "-label";
  has("fields", bus, ".name");
}

static void what_holds_it_is_told(void **state) {
  lh_request bus = about("_G.app.bus"), page = bus, two = bus;
  (void)state;
  has("referrers", bus, "5 references lead to Bus *|.bus|[1]|[2]|weak|content|_G.app.list");
  page.from = 1;
  page.limit = 2;
  has("referrers", page, "5 references lead|and 2 more references");
  has("dominators", bus, "Bus *, which retains |would go too if |_G.app");
  has("paths", bus, "Bus * is kept alive by: _G.app.bus\n|.app");
  two.limit = 2;
  has("paths", two, "and by: ");
  has("independent", bus,
      "One cut below _G.app is not enough: 4 independent paths lead from there to the object:|"
      "_G.app.list[1]");
  has("independent", about("_G.held.inside"),
      "One cut below _G is not enough: 2 independent paths lead from there to the object:");
  has("independent", about("_G.app"), "Held by one path: each cut of it frees it");
}

static void names_are_found(void **state) {
  (void)state;
  has("find", (lh_request){.of = "_G.app.bus"}, "Bus *");
  has("search", (lh_request){.of = "_G.app."}, "_G.app.list|_G.app.weak|_G.app.worker");
  has("search", (lh_request){.of = "_G.app.LI"}, "_G.app.list");
  has("search", (lh_request){.of = "_G.app[\"li"}, "_G.app.list");
  has("search", (lh_request){.of = "_G.app.list["}, "_G.app.list[1]|_G.app.list[2]");
  has("search", (lh_request){.of = "bu"}, "Bus");
  has("search", (lh_request){.of = "ap"}, "_G.app");
  has("search", (lh_request){.of = "@program.lua:3"}, "@lib@2/program.lua:3");
  has("search", (lh_request){.of = "@lib@2/pro"}, "@lib@2/program.lua:5");
  has("search", (lh_request){.of = "reg"}, "registry");
  has("search", (lh_request){.of = lh_address_text(heap, object_in(heap, "_G.app")).text},
      "table: *");
}

static void nothing_is_found_for_nonsense(void **state) {
  static const char *const texts[] = {"_G.app.none.",  "_G.\"", "[",   ".",       "0x",
                                      "@@@",           "((((",  "_G[", "_G[\"\\", "qqqqqqqq",
                                      "_G.app.text.x", "0xzz",  ")",   "\xff"};
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    lh_completions completions;
    assert_int_equal(lh_complete(heap, texts[i], &completions, NULL), LH_OK);
    assert_in_range(completions.n, 0, LH_MOST_COMPLETIONS);
    lh_completions_free(&completions);
  }
}

/* What can be chosen is found. */
static void completions_are_names(void **state) {
  static const char *const texts[] = {"_G.app.", "s", "_G.app.list[", "b", "@program",
                                      "@lib@",   "",  "_G."};
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    lh_completions c;
    lh_found found;
    assert_int_equal(lh_complete(heap, texts[i], &c, NULL), LH_OK);
    assert_true(c.n > 0);
    for (size_t k = 0; k < c.n; k++) {
      assert_int_equal(lh_find(heap, c.list[k].text, &found, NULL), LH_OK);
      if (c.list[k].id != LH_NO_OBJECT) assert_int_equal(found.id, c.list[k].id);
      if (c.list[k].id == LH_NO_OBJECT) assert_int_equal(found.matches, c.list[k].objects);
    }
    lh_completions_free(&c);
  }
}

static void an_object_is_the_same_in_other_snapshots(void **state) {
  (void)state;
  lh_id old[3], app[3], held[3];
  for (int i = 0; i < 3; i++) old[i] = object_in(heaps[i], "_G.old");
  for (int i = 1; i < 3; i++) app[i] = object_in(heaps[i], "_G.app");
  for (int i = 1; i < 3; i++) held[i] = object_in(heaps[i], "_G.held");
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++)
      if (i != k) assert_int_equal(lh_same_object(heaps[i], old[i], heaps[k]), old[k]);
  assert_int_equal(lh_same_object(heaps[1], app[1], heaps[2]), app[2]);
  assert_int_equal(lh_same_object(heaps[2], app[2], heaps[1]), app[1]);
  assert_int_equal(lh_same_object(heaps[2], app[2], heaps[0]), LH_NO_OBJECT);
  assert_int_equal(lh_same_object(heaps[2], held[2], heaps[1]), LH_NO_OBJECT);
  assert_int_equal(lh_same_object(heaps[1], held[1], heaps[2]), LH_NO_OBJECT);
}

/* The n-th allocation fails, for each n; what is told then is an error, and nothing is left. */
static void each_allocation_of_an_object_fails(void **state) {
  static const char *const questions[] = {"object", "fields",      "referrers", "dominators",
                                          "paths",  "independent", "find",      "search"};
  lh_request request = about("_G.app.bus");
  (void)state;
  request.of = "_G.app.";
  request.limit = 3;
  request.sorted = "-value";
  request.filter = "a";
  for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
    for (uint64_t nth = 1;; nth++) {
      lh_report report;
      lh_error error;
      if (strcmp(questions[i], "find") == 0) request.of = "_G.app.bus";
      (void)lh_test_fail_allocation(nth);
      int code = lh_ask(&report, lh_find_question(questions[i]), heap, &request, &error);
      char *text = code == LH_OK ? lh_report_text(&report, "s") : NULL;
      uint64_t n = lh_test_fail_allocation(0);
      if (code == LH_OK) lh_report_free(&report);
      lh_free(text);
      if (code != LH_OK) assert_int_equal(code, LH_EMEMORY);
      if (n < nth) break;
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(an_object_is_told),
                                     cmocka_unit_test(fields_are_told),
                                     cmocka_unit_test(an_order_has_a_name),
                                     cmocka_unit_test(what_holds_it_is_told),
                                     cmocka_unit_test(names_are_found),
                                     cmocka_unit_test(nothing_is_found_for_nonsense),
                                     cmocka_unit_test(completions_are_names),
                                     cmocka_unit_test(an_object_is_the_same_in_other_snapshots),
                                     cmocka_unit_test(each_allocation_of_an_object_fails)};
  return cmocka_run_group_tests(tests, take_all, drop_all);
}
