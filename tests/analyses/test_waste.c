/*
** test_waste.c - what lh_find_waste says of random heaps against the definition of each kind,
** written down naively: all pairs of objects, all sizes of an array part, all referrers of a name.
** And with any allocation failing. A failure prints the seed of its heap: run the program with it
** as its argument to see only that one.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>

#include "analyses/answers.h"
#include "base.h"
#include "rooms/all.h"
#include "steps.h"

/* ==== random heaps ================================================================== */

/* Tables that are full, half empty, empty; strings of a few contents, with and without all of their
** bytes kept; functions that share variables or not; userdata; code of several sources. All of it
** in a tree, so that some is on many paths. */
static const char random_heap[] =
    "math.randomseed(SEED)\n"
    "local random, all, shared = math.random, {{}}, {}\n"
    "local code = 'local a%d, common = ... local function f%d() return a%d, unused end return "
    "f%d'\n"
    "local function cut(t, n) for k in pairs(t) do if random(n) > 1 then t[k] = nil end end end\n"
    "local makers = {\n"
    "  function() local t = {} for i = 1, random(0, 40) do t[i] = i end return t end,\n"
    "  function() local t = {} for i = 1, random(0, 40) do t['k' .. i] = i end return t end,\n"
    "  function() local t = {} for i = 1, random(40) do\n"
    "    t[random(2) == 1 and random(60) - 20 or 'k' .. i] = i end return t end,\n"
    "  function() return setmetatable({}, {__mode = 'k', x = 1}) end,\n"
    "  function() return (('%d '):format(random(5))):rep(random(3) * 60) end,\n"
    "  function() return (('%d '):format(random(3))):rep(random(15, 25)) end,\n"
    "  function() return function() return 1 end end,\n"
    "  function() return function() return shared, all end end,\n"
    "  function() local own = 1 return function() return own end end,\n"
    "  function() return userdata(random(0, 3), random(2) == 1) end,\n"
    "  function() local n = random(3) return load(code:format(n, n, n, n), '@' .. n .. 'x')() "
    "end,\n"
    "}\n"
    "for i = 1, random(10, 200) do\n"
    "  local o, to = makers[random(#makers)](), all[random(#all)]\n"
    "  if type(o) == 'table' then\n"
    "    if random(3) == 1 then cut(o, random(8)) end\n"
    "    if not getmetatable(o) then all[#all + 1] = o end\n"
    "  end\n"
    "  if random(5) == 1 then _G['g' .. i] = o else to[random(2) == 1 and i or 'f' .. i] = o end\n"
    "end\n"
    "_G.root = all[1]\n"
    "all = nil\n";

/* userdata(user values, set one of them) */
static int make_userdata(lua_State *L) {
  int n = (int)lua_tointeger(L, 1);
  (void)lua_newuserdatauv(L, 10, n);
  if (n > 0 && lua_toboolean(L, 2)) {
    lua_pushglobaltable(L);
    (void)lua_setiuservalue(L, -2, n);
  }
  return 1;
}

static program heap_of_seed(unsigned long seed, const char *text, uint64_t string_bytes) {
  program p = program_of_seed(seed);
  p.options.string_bytes = string_bytes;
  lua_register(p.L, "userdata", make_userdata);
  (void)program_step(&p, text);
  return p;
}

/* ==== the definitions =============================================================== */

typedef struct naive {
  uint64_t objects[LH_WASTE_KINDS], bytes[LH_WASTE_KINDS];
} naive;

static void count_waste(naive *n, lh_waste_kind kind, uint64_t bytes) {
  n->objects[kind]++;
  n->bytes[kind] += bytes;
}

static bool is_used(const lh_snapshot *s, lh_id id) {
  return lh_is_reachable(s, id) && !lh_is_own(s, id);
}

/* How many keys of the table are integers from 1 to `last`; with `last` 0: all keys. */
static uint64_t count_keys(const lh_snapshot *s, lh_id table, int64_t last) {
  uint64_t n = 0;
  lh_edges it;
  lh_value key;
  for (lh_entries_begin(s, table, &it); lh_entries_next(&it, &key, NULL);)
    n += last == 0 ||
         (key.kind == LH_VALUE_INTEGER && key.as.integer >= 1 && key.as.integer <= last);
  return n;
}

static uint64_t bytes_of_copy(const lh_snapshot *s, lh_id table) {
  uint64_t array = 0, inside = 0, hash = 1, all = count_keys(s, table, 0);
  for (uint64_t size = 1; size < 1u << 12; size *= 2) {
    uint64_t n = count_keys(s, table, (int64_t)size);
    if (2 * n > size) array = size, inside = n;
  }
  while (hash < all - inside) hash *= 2;
  return 16 * array + (all > inside ? 24 * hash : 0);
}

static bool is_metatable(const lh_snapshot *s, lh_id table) {
  lh_object o;
  for (size_t i = 0; i < s->n_roots; i++)
    if (s->roots[i].target == table) return true;
  for (lh_id id = 1; id <= s->n; id++) {
    lh_object_at(s, id, &o);
    if (o.type == LH_TYPE_TABLE && o.as.table.metatable == table) return true;
    if (o.type == LH_TYPE_USERDATA && o.as.userdata.metatable == table) return true;
  }
  return false;
}

/* Is it a value of package.loaded? */
static bool is_module(const lh_snapshot *s, lh_id table) {
  lh_edge *edges;
  size_t n;
  bool found = false;
  assert_int_equal(lh_referrers((lh_snapshot *)s, table, &edges, &n, NULL), LH_OK);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < s->n_roots; k++)
      found |= s->roots[k].kind == LH_ROOT_LOADED && s->roots[k].target == edges[i].source;
  lh_free(edges);
  return found;
}

static void count_table(naive *n, const lh_snapshot *s, const lh_object *o) {
  uint64_t slots = o->as.table.array_slots + o->as.table.hash_slots, waste = 0;
  uint64_t used = count_keys(s, o->id, 0), all = o->shallow_bytes - 56;
  if (slots > used && all > bytes_of_copy(s, o->id)) waste = all - bytes_of_copy(s, o->id);
  if (waste > 0) count_waste(n, used == 0 ? LH_WASTE_EMPTIED : LH_WASTE_SLOTS, waste);
  if (used <= 1 && o->as.table.metatable == LH_NO_OBJECT && !is_metatable(s, o->id) &&
      !is_module(s, o->id))
    count_waste(n, LH_WASTE_SMALL_TABLES, o->shallow_bytes - waste);
}

static bool same_string(const lh_object *a, const lh_object *b) {
  return a->as.string.length == b->as.string.length && a->as.string.hash == b->as.string.hash &&
         memcmp(a->as.string.bytes, b->as.string.bytes, a->as.string.kept) == 0;
}

/* The same code, and the same upvalue in each place. */
static bool same_function(const lh_snapshot *s, lh_id a, lh_id b) {
  lh_edges left, right;
  lh_edge x, y;
  bool more;
  lh_edges_begin(s, a, &left);
  lh_edges_begin(s, b, &right);
  while ((more = lh_edges_next(&left, &x)) == lh_edges_next(&right, &y) && more)
    if (x.kind == LH_EDGE_PROTO || x.kind == LH_EDGE_UPVALUE)
      if (x.target != y.target) return false;
  return !more;
}

static bool are_twins(const lh_snapshot *s, const lh_object *a, const lh_object *b) {
  if (a->type != b->type) return false;
  if (a->type == LH_TYPE_STRING) return same_string(a, b);
  return a->type == LH_TYPE_CLOSURE && !a->as.closure.is_c && !b->as.closure.is_c &&
         a->as.closure.upvalues == b->as.closure.upvalues && same_function(s, a->id, b->id);
}

/* Is there one before it that is equal? */
static bool is_copy(const lh_snapshot *s, const lh_object *o) {
  lh_object other;
  for (lh_id id = 1; id < o->id; id++) {
    if (!is_used(s, id)) continue;
    lh_object_at(s, id, &other);
    if (are_twins(s, &other, o)) return true;
  }
  return false;
}

/* Strings that go with debug information, if none of them has an equal. */
static bool is_debug_name(lh_snapshot *s, lh_id string) {
  lh_edge *edges;
  size_t n, n_names = 0, n_others = 0;
  assert_int_equal(lh_referrers(s, string, &edges, &n, NULL), LH_OK);
  for (size_t i = 0; i < n; i++) {
    bool debug = edges[i].kind == LH_EDGE_DEBUG_NAME || edges[i].kind == LH_EDGE_SOURCE;
    if (lh_is_reachable(s, edges[i].source)) *(debug ? &n_names : &n_others) += 1;
  }
  lh_free(edges);
  return n_names > 0 && n_others == 0;
}

static bool has_user_value(const lh_snapshot *s, lh_id userdata) {
  lh_edges it;
  lh_edge edge;
  for (lh_edges_begin(s, userdata, &it); lh_edges_next(&it, &edge);)
    if (edge.kind == LH_EDGE_USER_VALUE) return true;
  return false;
}

static void count_object(naive *n, lh_snapshot *s, lh_id id) {
  lh_object o;
  lh_object_at(s, id, &o);
  switch (o.type) {
    case LH_TYPE_TABLE: count_table(n, s, &o); break;
    case LH_TYPE_STRING:
      if (is_copy(s, &o))
        count_waste(n, LH_WASTE_STRINGS, o.shallow_bytes);
      else if (is_debug_name(s, id))
        n->bytes[LH_WASTE_DEBUG] += o.shallow_bytes;
      break;
    case LH_TYPE_CLOSURE:
      if (is_copy(s, &o)) count_waste(n, LH_WASTE_CLOSURES, o.shallow_bytes);
      break;
    case LH_TYPE_PROTO:
      if (o.as.proto.debug_bytes > 0) count_waste(n, LH_WASTE_DEBUG, o.as.proto.debug_bytes);
      break;
    case LH_TYPE_USERDATA:
      if (o.as.userdata.user_values > 0 && !has_user_value(s, id))
        count_waste(n, LH_WASTE_USER_VALUES, o.shallow_bytes - 32 - o.as.userdata.bytes);
      break;
    default: break;
  }
}

/* ==== against them ================================================================== */

static void check_kind(lh_snapshot *s, lh_waste_kind kind, const lh_waste_sum *sum) {
  uint64_t objects = 0, bytes = 0, by_hash = 0;
  for (size_t i = 0; i < sum->n_rows; i++) {
    const lh_waste_row *row = &sum->rows[i];
    lh_object example, original;
    objects += row->objects;
    bytes += row->bytes;
    by_hash += row->by_hash;
    check(i == 0 || row->bytes <= sum->rows[i - 1].bytes);
    check(row->objects > 0 && row->used <= row->slots && *row->held_by != '\0');
    check(kind == LH_WASTE_DEBUG ? row->class_index == UINT32_MAX
                                 : row->class_index == lh_class_of(s, row->example));
    bool equal = kind == LH_WASTE_STRINGS || kind == LH_WASTE_CLOSURES;
    check(equal == (row->original != LH_NO_OBJECT));
    if (!equal) continue;
    lh_object_at(s, row->example, &example);
    lh_object_at(s, row->original, &original);
    check(example.id != original.id && are_twins(s, &example, &original));
    check(lh_distance(s, original.id) <= lh_distance(s, example.id));
  }
  check(objects == sum->objects && bytes == sum->bytes && by_hash == sum->by_hash);
  check(kind == LH_WASTE_STRINGS || by_hash == 0);
}

static void check_waste(lh_snapshot *s) {
  lh_waste *waste;
  naive n = {.objects = {0}};
  lh_reach reach;
  uint64_t bytes = 0;
  assert_int_equal(lh_find_waste(s, &waste, NULL), LH_OK);
  for (lh_id id = 1; id <= s->n; id++)
    if (is_used(s, id)) count_object(&n, s, id);
  for (lh_waste_kind kind = 0; kind < LH_WASTE_KINDS; kind++) {
    const lh_waste_sum *sum = &waste->kinds[kind];
    if (sum->bytes != n.bytes[kind] || (kind != LH_WASTE_DEBUG && sum->objects != n.objects[kind]))
      fail_msg("seed %lu: kind %d: %llu objects, %llu bytes; not %llu, %llu", program_seed,
               (int)kind, (unsigned long long)sum->objects, (unsigned long long)sum->bytes,
               (unsigned long long)n.objects[kind], (unsigned long long)n.bytes[kind]);
    check_kind(s, kind, sum);
    if (kind != LH_WASTE_SMALL_TABLES) bytes += sum->bytes;
  }
  lh_reach_totals(s, &reach);
  check(bytes == waste->bytes && bytes <= reach.reachable_bytes);
  const lh_waste *kept, *again;
  assert_int_equal(lh_kept_waste(s, &kept, NULL), LH_OK);
  assert_int_equal(lh_kept_waste(s, &again, NULL), LH_OK);
  check(kept == again && kept != waste && kept->bytes == waste->bytes);
  lh_waste_free(waste);
}

static unsigned long only_seed;

static void waste_is_that_of_the_definitions(void **state) {
  (void)state;
  for (unsigned long seed = 1; seed <= 150; seed++) {
    if (only_seed && seed != only_seed) continue;
    program h = heap_of_seed(seed, random_heap, seed % 3 == 0 ? 0 : seed % 3 == 1 ? 100 : 1000);
    check_waste(h.snapshots[0]);
    program_end(&h);
  }
}

/* ==================================================================================== */

static void each_allocation_of_waste_fails(void **state) {
  (void)state;
  program h = heap_of_seed(7, random_heap, 100);
  lh_error error = {0};
  lh_waste *waste;
  unsigned n_failed = 0;
  int code = LH_EMEMORY;
  for (uint64_t nth = 1; code != LH_OK; nth++) {
    (void)lh_test_fail_allocation(nth);
    code = lh_find_waste(h.snapshots[0], &waste, &error);
    (void)lh_test_fail_allocation(0);
    assert_true(code == LH_OK || (code == LH_EMEMORY && error.code == code && waste == NULL));
    n_failed += code != LH_OK;
    assert_true(nth < 2000);
  }
  assert_true(n_failed > 20);
  lh_waste_free(waste);
  lh_waste_free(NULL);
  printf("faults: allocations of the search for waste: %u cases, %u survived\n", n_failed,
         n_failed);
  program_end(&h);
}

static void no_waste_before_its_time(void **state) {
  (void)state;
  program h = heap_of_seed(0, "", 100);
  lh_snapshot *s;
  lh_waste *waste;
  lh_error error;
  assert_int_equal(lh_open_memory(&s, h.files[0].data, h.files[0].size, "test", &error), LH_OK);
  assert_int_equal(lh_find_waste(s, &waste, &error), LH_EARGUMENT);
  assert_int_equal(lh_analyse(s, &error), LH_OK);
  assert_int_equal(lh_find_waste(s, &waste, &error), LH_EARGUMENT);
  assert_null(waste);
  lh_close(s);
  program_end(&h);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(waste_is_that_of_the_definitions),
      cmocka_unit_test(each_allocation_of_waste_fails),
      cmocka_unit_test(no_waste_before_its_time),
  };
  if (argc > 1) only_seed = strtoul(argv[1], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
