/*
** map.c - the address space as a picture: regions with objects, the holes between them passed over,
** in cells of equal size with the bytes of each type in them.
**
** The regions one after the other are one stretch of bytes, and a cell is told by how far it is
** along it. Of several snapshots of a program the regions are those of all of them together: so a
** cell is the same memory in each. Cells begin at multiples of their size, which is a power of 2:
** so what was asked for can be moved and enlarged, and what is drawn stays in its place.
*/
#include <stdlib.h>

#include "map_order.h"

/* {=== Regions ======================================================================== */

static bool is_of_state(const lh_snapshot *s, const lh_snapshot *other) {
  return s->info.state_id == other->info.state_id && other->n > 0;
}

static int by_start(const void *a, const void *b) {
  const lh_region *x = a, *y = b;
  return (x->from > y->from) - (x->from < y->from);
}

static lh_region *add_regions(lh_region *next, const lh_map_order *map_order) {
  next->from = map_order->from;
  for (size_t i = 0; i < map_order->n_holes; i++) {
    next->to = map_order->holes[i].from;
    (++next)->from = map_order->holes[i].to;
  }
  next->to = map_order->to;
  return next + 1;
}

/* Objects begin at words. If regions end there a cell of eight bytes is of one object. */
static uint64_t up_to_a_word(uint64_t address) {
  return address > UINT64_MAX - 7 ? address : (address + 7) / 8 * 8;
}

/* Those that overlap, or are no hole apart, become one; without a byte they are none. Returns how
** many are left. */
static size_t join_regions(lh_region *regions, size_t n, uint64_t least_hole) {
  size_t left = 0;
  for (size_t i = 0; i < n; i++) {
    lh_region r = regions[i], *last = left > 0 ? &regions[left - 1] : NULL;
    if (r.from == r.to) continue;
    if (!last || (r.from > last->to && r.from - last->to >= least_hole))
      regions[left++] = r;
    else if (r.to > last->to)
      last->to = r.to;
  }
  for (size_t i = 0; i < left; i++) regions[i].to = up_to_a_word(regions[i].to);
  return left;
}

static uint64_t sum_of(const uint64_t bytes[LH_TYPE_COUNT]) {
  uint64_t sum = 0;
  for (lh_type t = LH_TYPE_STRING; t < LH_TYPE_COUNT; t++) sum += bytes[t];
  return sum;
}

static void count_regions(const lh_snapshot *s, lh_memory_map *map) {
  uint64_t before[LH_TYPE_COUNT], behind[LH_TYPE_COUNT];
  for (size_t i = 0; i < map->n_regions; i++) {
    lh_region *r = &map->regions[i];
    if (i > 0) r->hole_bytes = r->from - r[-1].to;
    uint32_t first = lh_bytes_before(s, r->from, before), end = lh_bytes_before(s, r->to, behind);
    r->objects = end - first;
    r->bytes = sum_of(behind) - sum_of(before);
  }
}

/* Of the snapshot, and of those others of its state. */
static int find_regions(lh_snapshot *s, const lh_map_query *query, lh_memory_map *map,
                        lh_error *error) {
  size_t most = s->map_order->n_holes + 1;
  uint64_t least_hole = s->map_order->least_hole;
  for (size_t i = 0; i < query->n_snapshots; i++) {
    lh_snapshot *other = query->snapshots[i];
    if (!is_of_state(s, other)) continue;
    int code = lh_find_map_order(other, error);
    if (code < 0) return code;
    most += other->map_order->n_holes + 1;
    if (other->map_order->least_hole > least_hole) least_hole = other->map_order->least_hole;
  }
  map->regions = lh_alloc_zeroed(most, sizeof *map->regions);
  if (!map->regions) return lh_fail_memory(error, "making a map");
  lh_region *end = add_regions(map->regions, s->map_order);
  for (size_t i = 0; i < query->n_snapshots; i++)
    if (is_of_state(s, query->snapshots[i])) end = add_regions(end, query->snapshots[i]->map_order);
  qsort(map->regions, (size_t)(end - map->regions), sizeof *map->regions, by_start);
  map->n_regions = join_regions(map->regions, (size_t)(end - map->regions), least_hole);
  count_regions(s, map);
  return LH_OK;
}

/* }=================================================================================== */

/* {=== Cells ========================================================================== */

/* A way along the regions. */
typedef struct way {
  const lh_memory_map *map;
  size_t region;
  uint64_t start; /* of the region */
} way;

/* How far along the address is; of one in a hole, the region behind it. */
static uint64_t place_of(const lh_memory_map *map, uint64_t address) {
  uint64_t along = 0;
  for (size_t i = 0; i < map->n_regions; i++) {
    const lh_region *r = &map->regions[i];
    if (address < r->to) return along + (address > r->from ? address - r->from : 0);
    along += r->to - r->from;
  }
  return along;
}

/* The address that is so far along, which is further each time. */
static uint64_t address_at(way *w, uint64_t along) {
  const lh_region *r = &w->map->regions[w->region];
  while (along - w->start >= r->to - r->from && w->region + 1 < w->map->n_regions) {
    w->start += r->to - r->from;
    w->region++;
    r++;
  }
  return r->from + (along - w->start);
}

/* The size of a cell of which `most` have room for so many bytes. */
static uint64_t size_of_cell(uint64_t bytes, uint32_t most) {
  uint64_t cell = 8;
  while (cell <= UINT64_MAX / 4 && (bytes - 1) / cell >= most) cell *= 2;
  return cell;
}

/* So much of the way is in the cells: all that is asked for, or to the end of the regions. */
static uint64_t end_of_cell(uint64_t along, uint64_t cell, uint64_t whole) {
  return whole - along > cell ? along + cell : whole;
}

static void fill_cells(const lh_snapshot *s, lh_memory_map *map, uint64_t first, uint64_t whole) {
  uint64_t before[LH_TYPE_COUNT], behind[LH_TYPE_COUNT], along = first;
  way w = {.map = map};
  (void)lh_bytes_before(s, address_at(&w, along), before);
  for (size_t i = 0; i < map->n_cells; i++) {
    lh_map_cell *cell = &map->cells[i];
    along = end_of_cell(along, map->cell_bytes, whole);
    (void)lh_bytes_before(s, address_at(&w, along), behind);
    for (lh_type t = LH_TYPE_STRING; t < LH_TYPE_COUNT; t++) {
      cell->bytes[t] = behind[t] - before[t];
      cell->bytes[LH_TYPE_ROOT] += cell->bytes[t];
      before[t] = behind[t];
    }
    cell->new_bytes = behind[LH_TYPE_ROOT] - before[LH_TYPE_ROOT];
    before[LH_TYPE_ROOT] = behind[LH_TYPE_ROOT];
  }
}

/* What was there, and what is not new, differ by what is gone. */
static void fill_gone(const lh_snapshot *s, lh_memory_map *map, uint64_t first, uint64_t whole) {
  uint64_t before[LH_TYPE_COUNT], behind[LH_TYPE_COUNT], along = first;
  way w = {.map = map};
  (void)lh_bytes_before(s, address_at(&w, along), before);
  for (size_t i = 0; i < map->n_cells; i++) {
    lh_map_cell *cell = &map->cells[i];
    along = end_of_cell(along, map->cell_bytes, whole);
    (void)lh_bytes_before(s, address_at(&w, along), behind);
    uint64_t had = sum_of(behind) - sum_of(before);
    uint64_t kept = cell->bytes[LH_TYPE_ROOT] - cell->new_bytes;
    cell->gone_bytes = had > kept ? had - kept : 0;
    for (lh_type t = LH_TYPE_STRING; t < LH_TYPE_COUNT; t++) before[t] = behind[t];
  }
}

static void add_up(lh_memory_map *map) {
  for (size_t i = 0; i < map->n_cells; i++) {
    const lh_map_cell *cell = &map->cells[i];
    for (lh_type t = LH_TYPE_ROOT; t < LH_TYPE_COUNT; t++) map->sum.bytes[t] += cell->bytes[t];
    map->sum.new_bytes += cell->new_bytes;
    map->sum.gone_bytes += cell->gone_bytes;
  }
}

/* Those whose blocks are in the cells, if only with their end. */
static int list_objects(const lh_snapshot *s, lh_memory_map *map, size_t most, lh_error *error) {
  uint64_t bytes[LH_TYPE_COUNT];
  uint32_t first = lh_bytes_before(s, map->from, bytes), end = lh_bytes_before(s, map->to, bytes);
  if (first > 0 && lh_end_of_block(s, first - 1) > map->from) first--;
  map->in_cells = end - first;
  map->n_objects = map->in_cells < most ? (size_t)map->in_cells : most;
  map->objects = lh_alloc(map->n_objects, sizeof *map->objects);
  if (!map->objects) return lh_fail_memory(error, "making a map");
  for (size_t i = 0; i < map->n_objects; i++) map->objects[i] = s->map_order->order[first + i];
  return LH_OK;
}

static int make_cells(lh_snapshot *s, const lh_map_query *query, lh_memory_map *map,
                      lh_error *error) {
  uint64_t whole = place_of(map, UINT64_MAX);
  uint64_t first = place_of(map, query->from), end = place_of(map, query->to);
  if (first >= end) return LH_OK;
  map->cell_bytes = size_of_cell(end - first, query->most_cells);
  first -= first % map->cell_bytes;
  map->n_cells = (size_t)((end - first - 1) / map->cell_bytes) + 1;
  map->cells = lh_alloc_zeroed(map->n_cells, sizeof *map->cells);
  if (!map->cells) return lh_fail_memory(error, "making a map");
  uint64_t last = first + (map->n_cells - 1) * map->cell_bytes;
  way w = {.map = map};
  map->from = address_at(&w, first);
  map->to = address_at(&w, end_of_cell(last, map->cell_bytes, whole) - 1) + 1;
  fill_cells(s, map, first, whole);
  if (query->before && is_of_state(s, query->before)) fill_gone(query->before, map, first, whole);
  add_up(map);
  return list_objects(s, map, query->most_objects, error);
}

/* }=================================================================================== */

int lh_find_memory_map(lh_snapshot *s, const lh_map_query *query, lh_memory_map *out,
                       lh_error *error) {
  *out = (lh_memory_map){0};
  if (query->most_cells == 0) return lh_fail(error, LH_EARGUMENT, "a map has at least one cell");
  int code = lh_find_map_order(s, error);
  if (code == LH_OK && query->before) code = lh_find_map_order(query->before, error);
  if (code == LH_OK) {
    const lh_map_order *map_order = s->map_order;
    lh_choose_interval(s, query->has_interval, query->interval);
    out->all = map_order->all;
    for (lh_type t = LH_TYPE_STRING; t < LH_TYPE_COUNT; t++) out->types[t] = map_order->types[t];
    code = find_regions(s, query, out, error);
  }
  if (code == LH_OK) code = make_cells(s, query, out, error);
  if (code < 0) lh_memory_map_free(out);
  return code;
}

void lh_memory_map_free(lh_memory_map *map) {
  lh_free(map->regions);
  lh_free(map->cells);
  lh_free(map->objects);
  *map = (lh_memory_map){0};
}
