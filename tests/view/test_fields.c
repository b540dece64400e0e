/*
** test_fields.c - the fields of objects in pages, in each order and with filters, against lists
** that are made from the definitions: all entries of tables, of functions all upvalues with what is
** in them, and of each other object its edges.
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
#include "forged_file.h"
#include "rooms/all.h"
#include "view/answers.h"

static const char program[] =
    "local weak = setmetatable({}, {__mode = 'k'})\n"
    "local shared, count = {'x'}, 17\n"
    "many, mixed, weak_one, empty = {}, {}, weak, {}\n"
    "for i = 1, 2000 do many[i] = i % 3 == 0 and {i} or i % 3 == 1 and 'text ' .. i % 50 or i end\n"
    "for i = 1, 700 do many['prefix that is long ' .. (i * 7919) % 700] = string.rep('y', i) end\n"
    "mixed[1.5], mixed[-2], mixed[true], mixed[false], mixed.name = 1, 2, 'yes', 0.25, {}\n"
    "mixed[shared], mixed[print], mixed[io.stdout], mixed['two words'] = shared, many, {}, weak\n"
    "mixed[2^53], mixed[-0.5], mixed[math.huge], mixed[''] = false, 'Name', {{}}, ''\n"
    "setmetatable(mixed, {__name = 'Mixed'})\n"
    "weak[shared], weak[mixed] = {shared}, 5\n"
    "function closure() count = count + 1 return shared, many, count end\n"
    "c_function = string.gmatch('some text', 'text')\n"
    "userdata = io.stdout\n"
    "thread = coroutine.create(function(first, ...) local second = {first} "
    "coroutine.yield(second, ...) end)\n"
    "coroutine.resume(thread, mixed, many, 'extra')\n";

static const char *const objects[] = {
    "many",       "mixed",
    "weak_one",   "empty",
    "closure",    "io",
    "_G",         "registry",
    "c_function", "userdata",
    "thread",     "many[1]",
    "mixed.name", "upvalue count of function closure @program.lua:11"};

static forge_bytes file;
static lh_snapshot *heap;

static int take_program(void **state) {
  (void)state;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  bool ok = luaL_loadbuffer(L, program, strlen(program), "@program.lua") == LUA_OK &&
            lua_pcall(L, 0, 0, 0) == LUA_OK && lh_attach(L, NULL) == LH_OK &&
            lh_stream_snapshot(L, "s", forge_write, &file, NULL, NULL, NULL) == LH_OK;
  lua_close(L);
  ok = ok && lh_open_memory(&heap, file.data, file.size, "s", NULL) == LH_OK &&
       lh_analyse(heap, NULL) == LH_OK && lh_classify(heap, NULL) == LH_OK;
  return ok ? 0 : -1;
}

static int drop(void **state) {
  (void)state;
  lh_close(heap);
  free(file.data);
  return 0;
}

static lh_id object_called(const char *name) {
  lh_found found;
  lh_error error = {.message = ""};
  if (lh_find(heap, name, &found, &error) != LH_OK) fail_msg("%s: %s", name, error.message);
  return found.id;
}

static lh_object_fields ask_fields(lh_id id, lh_field_query query) {
  lh_object_fields fields;
  assert_int_equal(lh_find_object_fields(heap, id, &query, &fields, NULL), LH_OK);
  return fields;
}

/* ==== What there is ================================================================== */

static bool is_same_value(lh_value a, lh_value b) {
  return a.kind == b.kind && (a.kind == LH_VALUE_NIL || a.as.pointer == b.as.pointer);
}

static void check_entries(lh_id table, const lh_object_fields *f) {
  lh_object object;
  lh_edges it;
  lh_value key, value;
  size_t i = 0;
  lh_object_at(heap, table, &object);
  if (object.as.table.metatable != LH_NO_OBJECT) {
    assert_int_equal(f->list[i].edge.kind, LH_EDGE_METATABLE);
    assert_int_equal(f->list[i++].edge.target, object.as.table.metatable);
  }
  for (lh_entries_begin(heap, table, &it); lh_entries_next(&it, &key, &value); i++) {
    assert_int_equal(f->list[i].edge.kind, LH_EDGE_VALUE);
    assert_true(is_same_value(f->list[i].edge.key, key));
    assert_true(is_same_value(f->list[i].value, value));
    bool weakly = object.as.table.weak_keys && key.kind == LH_VALUE_OBJECT &&
                  lh_type_of(heap, key.as.object) != LH_TYPE_STRING;
    assert_int_equal(f->list[i].edge.weak, weakly);
  }
  for (; i < f->n; i++) assert_int_equal(f->list[i].edge.kind, LH_EDGE_EPHEMERON);
}

/* Each edge is a field, and what is no edge is no object. */
static void check_edges(lh_id id, const lh_object_fields *f) {
  lh_edges it;
  lh_edge edge;
  size_t i = 0;
  for (lh_edges_begin(heap, id, &it); lh_edges_next(&it, &edge); i++) {
    while (f->list[i].edge.target == LH_NO_OBJECT) i++;
    assert_true(i < f->n);
    assert_int_equal(f->list[i].edge.kind, edge.kind);
    assert_int_equal(f->list[i].edge.target, edge.target);
    assert_int_equal(f->list[i].edge.ordinal, edge.ordinal);
    if (edge.kind != LH_EDGE_UPVALUE) continue;
    lh_object upvalue;
    lh_object_at(heap, edge.target, &upvalue);
    assert_int_equal(f->list[i].upvalue, edge.target);
    assert_true(is_same_value(f->list[i].value, upvalue.as.upvalue.value));
  }
  for (; i < f->n; i++) assert_int_equal(f->list[i].edge.target, LH_NO_OBJECT);
}

static void all_fields_are_there(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
    lh_id id = object_called(objects[i]);
    lh_object_fields f = ask_fields(id, (lh_field_query){0});
    assert_int_equal(f.n, f.total);
    for (size_t k = 0; k < f.n; k++) assert_int_equal(f.list[k].number, k);
    if (lh_type_of(heap, id) == LH_TYPE_TABLE)
      check_entries(id, &f);
    else
      check_edges(id, &f);
    lh_object_fields_free(&f);
  }
}

static void scalars_are_fields(void **state) {
  (void)state;
  lh_object_fields f = ask_fields(object_called("closure"), (lh_field_query){.filter = "count"});
  assert_int_equal(f.n, 1);
  assert_int_equal(f.list[0].value.kind, LH_VALUE_INTEGER);
  assert_int_equal(f.list[0].value.as.integer, 17);
  lh_object_fields_free(&f);
  f = ask_fields(object_called("upvalue count of function closure @program.lua:11"),
                 (lh_field_query){0});
  assert_int_equal(f.n, 1);
  assert_int_equal(f.list[0].edge.kind, LH_EDGE_CONTENT);
  lh_object_fields_free(&f);
  f = ask_fields(LH_ROOT, (lh_field_query){0});
  assert_true(f.n > 3);
  lh_object_fields_free(&f);
}

/* ==== Orders ========================================================================= */

static int order_of_kind(lh_value value) {
  static const int orders[] = {
      [LH_VALUE_BOOLEAN] = 0, [LH_VALUE_INTEGER] = 1, [LH_VALUE_FLOAT] = 2,
      [LH_VALUE_POINTER] = 4, [LH_VALUE_NIL] = 6,     [LH_VALUE_CFUNCTION] = 4,
      [LH_VALUE_OBJECT] = 5,  [LH_VALUE_ABSENT] = 6};
  if (value.kind == LH_VALUE_OBJECT && lh_type_of(heap, value.as.object) == LH_TYPE_STRING)
    return 3;
  return orders[value.kind];
}

static int compare_texts(lh_id a, lh_id b) {
  lh_object x, y;
  lh_object_at(heap, a, &x);
  lh_object_at(heap, b, &y);
  size_t n = (size_t)x.as.string.kept, m = (size_t)y.as.string.kept;
  int order = memcmp(x.as.string.bytes, y.as.string.bytes, n < m ? n : m);
  return order ? order : (n > m) - (n < m);
}

/* luaheap's own objects have none. */
static const char *class_name(lh_id id) {
  uint32_t class_index = lh_class_of(heap, id);
  return class_index == UINT32_MAX ? "" : lh_class_at(heap, class_index)->name;
}

static int compare_values(lh_value a, lh_value b) {
  int x = order_of_kind(a), y = order_of_kind(b);
  if (x != y) return x - y;
  switch (x) {
    case 0: return a.as.boolean - b.as.boolean;
    case 1: return (a.as.integer > b.as.integer) - (a.as.integer < b.as.integer);
    case 2: return (a.as.number > b.as.number) - (a.as.number < b.as.number);
    case 3: return compare_texts(a.as.object, b.as.object);
    case 4: return (a.as.pointer > b.as.pointer) - (a.as.pointer < b.as.pointer);
    case 5: return strcmp(class_name(a.as.object), class_name(b.as.object));
    default: return 0;
  }
}

static uint64_t bytes_of(const lh_object_field *f, bool retained) {
  if (f->value.kind != LH_VALUE_OBJECT) return 0;
  return retained ? lh_retained_bytes(heap, f->value.as.object)
                  : lh_shallow_bytes(heap, f->value.as.object);
}

static int compare_fields(lh_field_order order, const lh_object_field *a,
                          const lh_object_field *b) {
  uint64_t x = bytes_of(a, order == LH_FIELDS_BY_RETAINED);
  uint64_t y = bytes_of(b, order == LH_FIELDS_BY_RETAINED);
  bool entries = a->edge.kind == LH_EDGE_VALUE && b->edge.kind == LH_EDGE_VALUE;
  switch (order) {
    case LH_FIELDS_BY_KEY: return entries ? compare_values(a->edge.key, b->edge.key) : 0;
    case LH_FIELDS_BY_VALUE: return compare_values(a->value, b->value);
    case LH_FIELDS_AS_THEY_ARE: return a->number < b->number ? -1 : 1;
    default: return (x > y) - (x < y);
  }
}

static void check_order(const lh_object_fields *f, lh_field_order order, bool is_descending) {
  uint8_t *seen = calloc(f->n + 1, 1);
  for (size_t i = 0; i < f->n; i++) {
    assert_true(f->list[i].number < f->total && !seen[f->list[i].number]);
    seen[f->list[i].number] = 1;
    if (i == 0) continue;
    int c = compare_fields(order, &f->list[i - 1], &f->list[i]);
    assert_true(is_descending ? c >= 0 : c <= 0);
  }
  free(seen);
}

/* Pages are slices of the whole, in whatever sequence they are asked for. */
static void check_pages(lh_id id, lh_field_query query, const lh_object_fields *whole) {
  static const size_t sizes[] = {1, 7, 100};
  for (size_t round = 0; round < 12; round++) {
    query.limit = sizes[round % 3];
    query.from = round * 617 % (whole->n + 2);
    lh_object_fields page = ask_fields(id, query);
    size_t left = query.from < whole->n ? whole->n - query.from : 0;
    assert_int_equal(page.n, left < query.limit ? left : query.limit);
    assert_int_equal(page.matching, whole->n);
    for (size_t i = 0; i < page.n; i++)
      assert_int_equal(page.list[i].number, whole->list[query.from + i].number);
    lh_object_fields_free(&page);
  }
}

static void fields_are_in_order(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
    lh_id id = object_called(objects[i]);
    for (unsigned order = LH_FIELDS_AS_THEY_ARE; order <= LH_FIELDS_BY_SHALLOW; order++)
      for (int is_descending = 0; is_descending < 2; is_descending++) {
        lh_field_query query = {.order = (lh_field_order)order, .is_descending = is_descending};
        lh_object_fields whole = ask_fields(id, query);
        assert_int_equal(whole.n, whole.total);
        check_order(&whole, query.order, query.is_descending);
        check_pages(id, query, &whole);
        lh_object_fields_free(&whole);
      }
  }
}

/* ==================================================================================== */

/* A page far behind is read by way of nothing that was learned before. */
static void pages_are_found_at_once(void **state) {
  lh_id other = object_called("empty");
  (void)state;
  for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
    lh_id id = object_called(objects[i]);
    lh_object_fields whole = ask_fields(id, (lh_field_query){0});
    for (size_t from = 0; from < whole.n; from += whole.n / 5 + 1) {
      lh_object_fields page = ask_fields(other, (lh_field_query){0});
      lh_object_fields_free(&page);
      page = ask_fields(id, (lh_field_query){.from = from, .limit = 3});
      assert_int_equal(page.total, whole.n);
      assert_int_equal(page.n, whole.n - from < 3 ? whole.n - from : 3);
      for (size_t k = 0; k < page.n; k++) {
        assert_int_equal(page.list[k].number, from + k);
        assert_int_equal(page.list[k].edge.kind, whole.list[from + k].edge.kind);
        assert_true(is_same_value(page.list[k].value, whole.list[from + k].value));
        assert_true(is_same_value(page.list[k].edge.key, whole.list[from + k].edge.key));
      }
      lh_object_fields_free(&page);
    }
    lh_object_fields_free(&whole);
  }
}

static void filters_leave_what_has_the_text(void **state) {
  static const struct {
    const char *object, *filter;
    size_t n;
  } cases[] = {{"mixed", "NAME", 2},    {"mixed", "two w", 1},     {"mixed", "mixed", 1},
               {"mixed", "0.25", 1},    {"many", "prefix", 700},   {"many", "text 49", 14},
               {"many", "[1999]", 1},   {"closure", "upvalue", 3}, {"empty", "x", 0},
               {"mixed", "\\", 0},      {"mixed", "file", 0},      {"thread", "local second", 1},
               {"mixed", "1e308", 0},   {"mixed", "1/0", 1},       {"registry", "_loaded", 1},
               {"mixed", "userdata", 1}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lh_field_query query = {.filter = cases[i].filter};
    lh_object_fields f = ask_fields(object_called(cases[i].object), query);
    if (f.n != cases[i].n || f.matching != f.n)
      fail_msg("%s of %s: %zu", cases[i].filter, cases[i].object, f.n);
    check_pages(object_called(cases[i].object), query, &f);
    lh_object_fields_free(&f);
  }
}

static void each_allocation_of_fields_fails(void **state) {
  (void)state;
  lh_id many = object_called("many"), other = object_called("empty");
  lh_field_query query = {.limit = 10, .order = LH_FIELDS_BY_VALUE, .filter = "text"};
  for (uint64_t nth = 1;; nth++) {
    lh_object_fields f = ask_fields(other, (lh_field_query){0});
    lh_error error = {0};
    lh_object_fields_free(&f);
    (void)lh_test_fail_allocation(nth);
    int code = lh_find_object_fields(heap, many, &query, &f, &error);
    (void)lh_test_fail_allocation(0);
    if (code == LH_OK) {
      assert_true(nth > 5);
      lh_object_fields_free(&f);
      break;
    }
    assert_int_equal(code, LH_EMEMORY);
    assert_non_null(strstr(error.message, "fields"));
  }
}

static void what_is_no_object_has_no_fields(void **state) {
  lh_object_fields f;
  lh_error error;
  (void)state;
  assert_int_equal(
      lh_find_object_fields(heap, lh_object_count(heap) + 1, &(lh_field_query){0}, &f, &error),
      LH_EARGUMENT);
  assert_int_equal(lh_find_object_fields(heap, LH_NO_OBJECT, &(lh_field_query){0}, &f, &error),
                   LH_EARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_fields_are_there),
                                     cmocka_unit_test(scalars_are_fields),
                                     cmocka_unit_test(fields_are_in_order),
                                     cmocka_unit_test(pages_are_found_at_once),
                                     cmocka_unit_test(each_allocation_of_fields_fails),
                                     cmocka_unit_test(filters_leave_what_has_the_text),
                                     cmocka_unit_test(what_is_no_object_has_no_fields)};
  return cmocka_run_group_tests(tests, take_program, drop);
}
