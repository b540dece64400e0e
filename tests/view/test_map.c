/*
** test_map.c - the map of addresses against one that is made byte range by byte range: of forged
** heaps with objects anywhere in the address space, over each other too, and of programs. What is
** in the cells adds up to the byte. A failure prints the seed of its heap: run the program with it
** as its argument to see only that one.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random_heap.h"
#include "steps.h"
#include "view/answers.h"

/* ==== The oracle ===================================================================== */

typedef struct block {
  uint64_t from, to;
  lh_id id;
} block;

static int by_address(const void *a, const void *b) {
  const block *x = a, *y = b;
  return (x->from > y->from) - (x->from < y->from);
}

/* All blocks, none of which lies in another. Freed by the caller. */
static block *blocks_of(const lh_snapshot *s) {
  uint32_t n = lh_object_count(s);
  block *blocks = calloc(n + 1, sizeof *blocks);
  assert_non_null(blocks);
  for (uint32_t i = 0; i < n; i++) blocks[i] = (block){lh_address_of(s, i + 1), 0, i + 1};
  qsort(blocks, n, sizeof *blocks, by_address);
  for (uint32_t i = 0; i < n; i++) {
    lh_type type = lh_type_of(s, blocks[i].id);
    uint64_t bytes = lh_shallow_bytes(s, blocks[i].id), most = UINT64_MAX - blocks[i].from;
    if (type == LH_TYPE_TABLE && bytes > 56) bytes = 56;
    if (type == LH_TYPE_PROTO && bytes > 128) bytes = 128;
    if (type == LH_TYPE_THREAD && bytes > 192) bytes = 192;
    if (i + 1 < n) most = blocks[i + 1].from - blocks[i].from;
    blocks[i].to = blocks[i].from + (bytes < most ? bytes : most);
  }
  return blocks;
}

static uint64_t overlap(const block *b, uint64_t from, uint64_t to) {
  uint64_t start = b->from > from ? b->from : from, end = b->to < to ? b->to : to;
  return start < end ? end - start : 0;
}

static void add_range(const lh_snapshot *s, const block *blocks, const lh_map_query *query,
                      uint64_t from, uint64_t to, lh_map_cell *cell) {
  for (uint32_t i = 0; i < lh_object_count(s); i++) {
    uint64_t bytes = overlap(&blocks[i], from, to);
    cell->bytes[LH_TYPE_ROOT] += bytes;
    cell->bytes[lh_type_of(s, blocks[i].id)] += bytes;
    if (query->has_interval && lh_in_interval(s, query->interval, blocks[i].id))
      cell->new_bytes += bytes;
  }
}

/* ==== What holds for every map ======================================================= */

/* Every block is in a region, no hole is small, and no region is empty but for another's sake. */
static void check_regions(const lh_snapshot *s, const block *blocks, const lh_memory_map *map) {
  uint64_t objects = 0, bytes = 0;
  for (size_t i = 0; i < map->n_regions; i++) {
    const lh_region *r = &map->regions[i];
    lh_map_cell all = {{0}, 0, 0};
    check(r->from < r->to && (i == 0 || r->hole_bytes >= 4096 - 7));
    check(r->hole_bytes == (i == 0 ? 0 : r->from - r[-1].to));
    add_range(s, blocks, &(lh_map_query){0}, r->from, r->to, &all);
    check(all.bytes[LH_TYPE_ROOT] == r->bytes);
    for (uint32_t k = 0; k < lh_object_count(s); k++)
      objects += blocks[k].from >= r->from && blocks[k].from < r->to;
    bytes += r->bytes;
  }
  check(bytes == map->all.bytes);
  for (uint32_t k = 0; k < lh_object_count(s); k++) objects += blocks[k].from == blocks[k].to;
  check(objects >= map->all.objects && map->all.objects == lh_object_count(s));
}

static void check_types(const lh_snapshot *s, const lh_memory_map *map) {
  lh_mapped all = {0};
  for (lh_type t = LH_TYPE_STRING; t < LH_TYPE_COUNT; t++) {
    uint64_t shallow = 0, objects = 0;
    for (lh_id id = 1; id <= lh_object_count(s); id++) {
      if (lh_type_of(s, id) != t) continue;
      shallow += lh_shallow_bytes(s, id);
      objects++;
    }
    check(map->types[t].objects == objects && map->types[t].shallow_bytes == shallow);
    check(map->types[t].bytes <= shallow);
    all.bytes += map->types[t].bytes;
    all.shallow_bytes += shallow;
  }
  check(all.bytes == map->all.bytes && all.shallow_bytes == map->all.shallow_bytes);
}

/* The cells, one after the other along the regions, each against the ranges that it is made of. */
static void check_cells(const lh_snapshot *s, const block *blocks, const lh_map_query *query,
                        const lh_memory_map *map) {
  const lh_region *r = map->regions;
  uint64_t along = 0, address, next = map->from;
  check(map->cell_bytes >= 8 && (map->cell_bytes & (map->cell_bytes - 1)) == 0);
  check(map->n_cells <= (size_t)query->most_cells + 1);
  while (r->to <= map->from) along += r->to - r->from, r++;
  check((along + (map->from - r->from)) % map->cell_bytes == 0);
  for (size_t i = 0; i < map->n_cells; i++) {
    lh_map_cell naive = {{0}, 0, 0};
    for (uint64_t left = map->cell_bytes; left > 0;) {
      address = next;
      uint64_t part = r->to - address < left ? r->to - address : left;
      add_range(s, blocks, query, address, address + part, &naive);
      next = address + part;
      left -= part;
      if (next < r->to) continue;
      if (r + 1 == map->regions + map->n_regions) break;
      if (left > 0 || i + 1 < map->n_cells) next = (++r)->from;
    }
    naive.gone_bytes = map->cells[i].gone_bytes;
    check(memcmp(&naive, &map->cells[i], sizeof naive) == 0);
  }
  check(next == map->to);
}

static void check_sum(const lh_memory_map *map) {
  lh_map_cell sum = {{0}, 0, 0};
  for (size_t i = 0; i < map->n_cells; i++) {
    for (lh_type t = LH_TYPE_ROOT; t < LH_TYPE_COUNT; t++) sum.bytes[t] += map->cells[i].bytes[t];
    sum.new_bytes += map->cells[i].new_bytes;
    sum.gone_bytes += map->cells[i].gone_bytes;
  }
  check(memcmp(&sum, &map->sum, sizeof sum) == 0);
}

static void check_objects(const lh_snapshot *s, const block *blocks, const lh_map_query *query,
                          const lh_memory_map *map) {
  uint64_t n = 0;
  for (uint32_t i = 0; i < lh_object_count(s); i++) {
    bool begins = blocks[i].from >= map->from && blocks[i].from < map->to;
    if (!begins && overlap(&blocks[i], map->from, map->to) == 0) continue;
    if (n < map->n_objects) check(map->objects[n] == blocks[i].id);
    n++;
  }
  check(map->in_cells == n);
  check(map->n_objects == (n < query->most_objects ? n : query->most_objects));
}

static void check_map(lh_snapshot *s, const lh_map_query *query) {
  lh_error error;
  lh_memory_map map;
  block *blocks = blocks_of(s);
  assert_int_equal(lh_find_memory_map(s, query, &map, &error), LH_OK);
  check_types(s, &map);
  check_regions(s, blocks, &map);
  if (map.n_cells > 0) {
    check_cells(s, blocks, query, &map);
    check_objects(s, blocks, query, &map);
  }
  check_sum(&map);
  if (query->from == 0 && query->to == UINT64_MAX)
    check(map.sum.bytes[LH_TYPE_ROOT] == map.all.bytes);
  for (uint32_t i = 0; i < lh_object_count(s); i++) /* what is asked for is in the cells */
    if (overlap(&blocks[i], query->from, query->to) > 0)
      check(overlap(&blocks[i], map.from, map.to) >= overlap(&blocks[i], query->from, query->to));
  lh_memory_map_free(&map);
  free(blocks);
}

/* ==== Forged heaps =================================================================== */

enum { MOST_FORGED = 60 };

/* Where allocators put blocks, and where none does. */
static uint64_t random_address(uint64_t *random) {
  static const uint64_t bases[] = {8, 0x555500000000, 0x5555000f0000, 0x7fff00000000,
                                   UINT64_MAX - 4095};
  uint32_t n = sizeof bases / sizeof *bases, kind = random_below(random, n + 2);
  uint64_t far = (uint64_t)random_below(random, UINT32_MAX) << 32 | random_below(random, 1u << 31);
  if (kind > n) return (far | 8) & ~(uint64_t)7;
  if (kind == n) return 0x7fff00000000 + 8 * (uint64_t)random_below(random, 1u << 20);
  return bases[kind] + 8 * (uint64_t)random_below(random, 512);
}

static uint64_t random_size(uint64_t *random) {
  switch (random_below(random, 8)) {
    case 0: return 0;
    case 1: return (uint64_t)random_below(random, UINT32_MAX) << random_below(random, 24);
    default: return random_below(random, 400);
  }
}

static lh_snapshot *forge_heap(forge *f, uint64_t seed) {
  static const unsigned records[] = {LH_REC_STRING,    LH_REC_TABLE,   LH_REC_LUA_CLOSURE,
                                     LH_REC_C_CLOSURE, LH_REC_UPVALUE, LH_REC_PROTO,
                                     LH_REC_USERDATA,  LH_REC_THREAD};
  uint64_t used[MOST_FORGED], random = seed, n = random_below(&random, MOST_FORGED);
  lh_snapshot *s;
  forge_begin(f);
  for (uint64_t i = 0; i < n; i++) {
    bool again = true;
    while (again) {
      again = (used[i] = random_address(&random)) == 0x1000;
      for (uint64_t k = 0; k < i; k++) again |= used[k] == used[i];
    }
    forge_record(f, records[random_below(&random, 8)] | LH_FLAG_DEAD, used[i],
                 random_size(&random));
    if (i == n / 2) forge_mark(f, 0x1000, LH_MARK_BY_SNAPSHOT, f->footer.serial, "own");
  }
  if (n == 0) forge_mark(f, 0x1000, LH_MARK_BY_SNAPSHOT, f->footer.serial, "own");
  forge_finish(f);
  assert_int_equal(lh_open_memory(&s, f->data, f->size, "forged", NULL), LH_OK);
  return s;
}

static void check_forged(uint64_t seed) {
  forge f;
  uint64_t random = seed;
  lh_snapshot *s = forge_heap(&f, seed);
  check_map(s, &(lh_map_query){.to = UINT64_MAX, .most_cells = 1, .most_objects = 10});
  check_map(s, &(lh_map_query){.to = UINT64_MAX, .most_cells = 1000, .most_objects = 1000});
  for (int i = 0; i < 12; i++) {
    lh_id one = 1 + random_below(&random, lh_object_count(s));
    lh_id other = 1 + random_below(&random, lh_object_count(s));
    lh_map_query query = {.from = lh_address_of(s, one) - random_below(&random, 8),
                          .to = lh_address_of(s, other) + random_below(&random, 1000),
                          .most_cells = 1 + random_below(&random, 300),
                          .most_objects = random_below(&random, 20),
                          .has_interval = i % 2 == 0,
                          .interval = {random_below(&random, 60), random_below(&random, 60)}};
    if (i % 3 == 0) query.to = query.from + 1;
    check_map(s, &query);
  }
  lh_close(s);
  forge_free(&f);
}

static unsigned long only_seed;

static void forged_maps_add_up(void **state) {
  (void)state;
  for (unsigned long seed = 1; seed <= 300; seed++) {
    program_seed = only_seed ? only_seed : seed;
    check_forged(program_seed);
    if (only_seed) return;
  }
}

/* Objects that are evenly far from each other are in no more regions than can be drawn. */
static void far_objects_are_in_few_regions(void **state) {
  enum { N = 1000 };
  forge f;
  lh_snapshot *s;
  lh_memory_map map;
  (void)state;
  for (unsigned shift = 14; shift < 54; shift += 13) {
    forge_begin(&f);
    forge_mark(&f, 0x1000, LH_MARK_BY_SNAPSHOT, f.footer.serial, "own");
    for (uint64_t i = 1; i <= N; i++)
      forge_record(&f, LH_REC_UPVALUE | LH_FLAG_DEAD, i << shift, 40);
    forge_finish(&f);
    assert_int_equal(lh_open_memory(&s, f.data, f.size, "far", NULL), LH_OK);
    const lh_map_query query = {.to = UINT64_MAX, .most_cells = 5000};
    assert_int_equal(lh_find_memory_map(s, &query, &map, NULL), LH_OK);
    assert_in_range(map.n_regions, 1, 256);
    assert_int_equal(map.sum.bytes[LH_TYPE_ROOT], map.all.bytes);
    assert_int_equal(map.types[LH_TYPE_UPVALUE].bytes, 40 * N);
    lh_memory_map_free(&map);
    lh_close(s);
    forge_free(&f);
  }
}

/* A mark from outside is in memory of who took the snapshot. */
static void what_luaheap_puts_in_from_outside_is_on_no_map(void **state) {
  enum { N = 100 };
  const uint64_t start = 0x555500000000;
  forge f;
  lh_snapshot *s;
  lh_memory_map map;
  (void)state;
  forge_begin(&f);
  forge_outside(&f, LH_STILL_IDLE, 0);
  forge_mark(&f, 0x180000000000, LH_MARK_BY_SNAPSHOT, f.footer.serial, "own");
  for (uint64_t i = 0; i < N; i++)
    forge_record(&f, LH_REC_UPVALUE | LH_FLAG_DEAD, start + 40 * i, 40);
  forge_finish(&f);
  assert_int_equal(lh_open_memory(&s, f.data, f.size, "outside", NULL), LH_OK);
  const lh_map_query query = {.to = UINT64_MAX, .most_cells = 5000, .most_objects = 2 * N};
  assert_int_equal(lh_find_memory_map(s, &query, &map, NULL), LH_OK);
  assert_int_equal(map.n_regions, 1);
  assert_int_equal(map.regions[0].from, start);
  assert_int_equal(map.regions[0].to, start + 40 * N);
  assert_int_equal(map.all.objects, N);
  assert_int_equal(map.n_objects, N);
  assert_int_equal(map.sum.bytes[LH_TYPE_ROOT], 40 * N);
  lh_memory_map_free(&map);
  lh_close(s);
  forge_free(&f);
}

/* ==== Programs ======================================================================= */

static const char *const steps[] = {
    "all = {} for i = 1, 2000 do all[i] = {i, ('x'):rep(i % 50) .. i, function() return i end} end",
    "for i = 1, 2000, 3 do all[i] = nil end",
    "big = ('y'):rep(1e6) for i = 1, 500 do all[-i] = {n = i, co = coroutine.create(print)} end"};

/* What was there, and is neither there nor new now, is gone. */
static void check_gone(lh_snapshot *older, lh_snapshot *s, const lh_map_query *query) {
  lh_memory_map map, before;
  lh_error error;
  lh_map_query same = *query;
  same.has_interval = false;
  same.before = NULL;
  assert_int_equal(lh_find_memory_map(s, query, &map, &error), LH_OK);
  assert_int_equal(lh_find_memory_map(older, &same, &before, &error), LH_OK);
  check(map.n_cells == before.n_cells && map.cell_bytes == before.cell_bytes);
  check(map.from == before.from && map.to == before.to);
  for (size_t i = 0; i < map.n_cells; i++) {
    const lh_map_cell *cell = &map.cells[i];
    check(before.cells[i].bytes[LH_TYPE_ROOT] + cell->new_bytes ==
          cell->bytes[LH_TYPE_ROOT] + cell->gone_bytes);
  }
  lh_memory_map_free(&map);
  lh_memory_map_free(&before);
}

static void programs_are_mapped_step_by_step(void **state) {
  program p = program_of_seed(1);
  (void)state;
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) (void)program_step(&p, steps[i]);
  for (size_t i = 0; i < p.n; i++) {
    lh_snapshot *s = p.snapshots[i];
    lh_map_query query = {.to = UINT64_MAX,
                          .most_cells = 200,
                          .most_objects = 100,
                          .snapshots = p.snapshots,
                          .n_snapshots = p.n};
    check_map(s, &query);
    query.has_interval = true;
    query.interval = (lh_interval){100, 3000};
    check_map(s, &query);
    if (i == 0) continue;
    query.before = p.snapshots[i - 1];
    query.interval = (lh_interval){lh_mark_position(s, (uint32_t)i - 1), UINT64_MAX};
    check_gone(p.snapshots[i - 1], s, &query);
  }
  program_end(&p);
}

/* The pointer names the object: at each byte of a block is the one object that has it. */
static void a_byte_names_its_object(void **state) {
  program p = program_of_seed(1);
  lh_snapshot *s = program_step(&p, steps[0]);
  block *blocks = blocks_of(s);
  (void)state;
  for (uint32_t i = 0; i < lh_object_count(s); i += 97) {
    for (uint64_t at = blocks[i].from; at < blocks[i].to; at += 5) {
      lh_memory_map map;
      const lh_map_query query = {.from = at, .to = at + 1, .most_cells = 1, .most_objects = 2};
      assert_int_equal(lh_find_memory_map(s, &query, &map, NULL), LH_OK);
      assert_int_equal(map.n_objects, 1);
      assert_int_equal(map.objects[0], blocks[i].id);
      assert_int_equal(map.cell_bytes, 8);
      lh_memory_map_free(&map);
    }
  }
  free(blocks);
  program_end(&p);
}

static void memory_may_run_out(void **state) {
  program p = program_of_seed(1);
  lh_error error;
  lh_memory_map map;
  int n_cases = 0;
  for (size_t i = 0; i < 2; i++) (void)program_step(&p, steps[i]);
  const lh_map_query query = {.to = UINT64_MAX,
                              .most_cells = 100,
                              .most_objects = 100,
                              .snapshots = p.snapshots,
                              .n_snapshots = p.n,
                              .before = p.snapshots[0]};
  (void)state;
  FAIL_EACH(lh_find_memory_map(p.snapshots[1], &query, &map, &error));
  assert_true(n_cases > 5);
  lh_memory_map_free(&map);
  program_end(&p);
}

static void a_map_has_cells(void **state) {
  forge f;
  lh_error error;
  lh_memory_map map;
  lh_snapshot *s = forge_heap(&f, 1);
  (void)state;
  assert_int_equal(lh_find_memory_map(s, &(lh_map_query){0}, &map, &error), LH_EARGUMENT);
  assert_string_equal(error.message, "a map has at least one cell");
  lh_close(s);
  forge_free(&f);
}

/* ==================================================================================== */

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forged_maps_add_up),
      cmocka_unit_test(far_objects_are_in_few_regions),
      cmocka_unit_test(what_luaheap_puts_in_from_outside_is_on_no_map),
      cmocka_unit_test(programs_are_mapped_step_by_step),
      cmocka_unit_test(a_byte_names_its_object),
      cmocka_unit_test(memory_may_run_out),
      cmocka_unit_test(a_map_has_cells),
  };
  if (argc > 1) only_seed = strtoul(argv[1], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
