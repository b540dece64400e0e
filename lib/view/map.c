/*
** map.c - the address space in cells of equal size, with the bytes of each type in each.
**
** A cell is an offset in the concatenated regions. Several snapshots share the union of their
** regions, so a cell is the same memory in each. Its size is a power of 2 and its offset a multiple
** of that: panning and zooming do not move the drawn cells.
**
** The first map sorts the objects by address (4 bytes an object), with sums before each 32nd one (2
** bytes): any range takes two searches.
*/
#include "view/answers.h"

#include "read/snapshot.h"

/* Holes are the biggest gaps, if big compared with the sum of all objects. */
enum { LH_MOST_HOLES = 255 };

typedef struct lh_gap {
  uint64_t from, to;
} lh_gap;

struct lh_map_order {
  lh_id *order; /* objects of the program by address */
  uint32_t n;
  uint64_t (*before)[LH_TYPE_COUNT]; /* bytes of each type before every 32nd object;
                                        [LH_TYPE_ROOT]: bytes in the interval, if any */
  lh_mapped all, types[LH_TYPE_COUNT];
  uint64_t from, to; /* addresses of the first byte, and past the last */
  lh_gap holes[LH_MOST_HOLES];
  size_t n_holes;
  uint64_t least_hole;
  bool has_interval;
  lh_interval interval;
  lh_id_range in_interval[2];
};

enum { STRIDE = 32, AHEAD = 16 };

/* Smaller gaps are an allocator's overhead or a C library's blocks. */
enum { LEAST_HOLE_BITS = 12, LEAST_HOLE_PART = 64 };

/* ==== Blocks ========================================================================= */

uint64_t lh_mapped_bytes(const lh_snapshot *s, lh_id id) {
  uint64_t most = lh_shallow_bytes(s, id), block = most;
  switch (lh_type_of(s, id)) {
    case LH_TYPE_TABLE: block = s->sizes->table; break;
    case LH_TYPE_PROTO: block = LH_PROTO_BYTES; break;
    case LH_TYPE_THREAD: block = s->sizes->state; break;
    default: block -= lh_external_bytes(s, id); break;
  }
  return block < most ? block : most;
}

static uint64_t start_of(const lh_snapshot *s, uint32_t at) {
  return s->address[s->map_order->order[at]];
}

static uint64_t end_of_block(const lh_snapshot *s, uint32_t at) {
  uint64_t start = start_of(s, at), bytes = lh_mapped_bytes(s, s->map_order->order[at]);
  uint64_t most = (at + 1 < s->map_order->n ? start_of(s, at + 1) : UINT64_MAX) - start;
  return start + (bytes < most ? bytes : most);
}

/* ==== Order ========================================================================== */

/* Objects that luaheap planted from outside are in no memory of the program. */
static bool is_mapped(const lh_snapshot *s, lh_id id) {
  return !s->is_outside || !lh_is_own(s, id);
}

static int compare_stretches(const void *a, const void *b) {
  const lh_stretch *x = *(const lh_stretch *const *)a, *y = *(const lh_stretch *const *)b;
  return (x->number > y->number) - (x->number < y->number);
}

/* The rank of the first object at or behind a unit of the index of addresses. */
static uint32_t rank_at(const lh_snapshot *s, uint64_t unit) {
  return unit < s->n_units ? s->units[unit].rank : s->n;
}

/* The index of addresses has the objects of each stretch of memory in order. */
static bool make_order(lh_snapshot *s, lh_map_order *map_order) {
  const lh_stretch **stretches = lh_alloc((size_t)s->n_stretch_slots, sizeof *stretches);
  map_order->order = lh_alloc(s->n, sizeof *map_order->order);
  uint64_t n_units = UINT64_C(1) << (s->log2_stretch - LH_LOG2_UNIT); /* of a stretch */
  size_t n = 0;
  bool fine = stretches && map_order->order;
  for (uint64_t i = 0; fine && i < s->n_stretch_slots; i++)
    if (s->stretches[i].number != 0) stretches[n++] = &s->stretches[i];
  if (n > 1) qsort(stretches, n, sizeof *stretches, compare_stretches);
  for (size_t i = 0; fine && i < n; i++) {
    uint64_t unit = stretches[i]->to_unit + (stretches[i]->number - 1) * n_units;
    uint32_t at = rank_at(s, unit), end = rank_at(s, unit + n_units);
    for (; at < end; at++)
      if (is_mapped(s, s->by_rank[at])) map_order->order[map_order->n++] = s->by_rank[at];
  }
  lh_free(stretches);
  return fine;
}

/* ==== Holes ========================================================================== */

static unsigned bits_of(uint64_t n) {
  return 63 - (unsigned)__builtin_clzll(n | 1);
}

/* The smallest power of 2 at which there are at most LH_MOST_HOLES gaps. */
static uint64_t least_hole(const lh_map_order *map_order, const uint32_t gaps[64]) {
  unsigned least = bits_of(map_order->all.bytes / LEAST_HOLE_PART), bits = 64;
  uint32_t n = 0;
  if (least < LEAST_HOLE_BITS) least = LEAST_HOLE_BITS;
  while (bits > least && n + gaps[bits - 1] <= LH_MOST_HOLES) n += gaps[--bits];
  return bits < 64 ? (uint64_t)1 << bits : UINT64_MAX;
}

static void find_holes(const lh_snapshot *s, lh_map_order *map_order) {
  for (uint32_t i = 0; i + 1 < map_order->n; i++) {
    uint64_t next = start_of(s, i + 1), most = next - start_of(s, i), end;
    if (most >= map_order->least_hole && next - (end = end_of_block(s, i)) >= map_order->least_hole)
      map_order->holes[map_order->n_holes++] = (lh_gap){end, next};
  }
}

/* ==== Sums =========================================================================== */

static void count_object(const lh_snapshot *s, lh_map_order *map_order, lh_id id, uint64_t bytes) {
  lh_mapped *type = &map_order->types[lh_type_of(s, id)];
  uint64_t shallow = lh_shallow_bytes(s, id);
  type->objects++;
  type->bytes += bytes;
  type->shallow_bytes += shallow;
  map_order->all.objects++;
  map_order->all.bytes += bytes;
  map_order->all.shallow_bytes += shallow;
}

static void sum_up(const lh_snapshot *s, lh_map_order *map_order) {
  uint32_t gaps[64] = {0}; /* by their highest bit */
  uint64_t end = start_of(s, 0);
  map_order->from = end;
  for (uint32_t i = 0; i < map_order->n; i++) {
    uint64_t start = start_of(s, i), gap = start - end;
    if (i + AHEAD < map_order->n) __builtin_prefetch(&s->address[map_order->order[i + AHEAD]]);
    if (i % STRIDE == 0)
      for (lh_type t = LH_TYPE_STRING; t < LH_TYPE_COUNT; t++)
        map_order->before[i / STRIDE][t] = map_order->types[t].bytes;
    if (gap > 0) gaps[bits_of(gap)]++;
    end = end_of_block(s, i);
    count_object(s, map_order, map_order->order[i], end - start);
  }
  map_order->to = end;
  map_order->least_hole = least_hole(map_order, gaps);
}

static void free_map_order(lh_map_order *map_order) {
  LH_FREE_ALL(map_order->order, map_order->before, map_order);
}

/* Sorts the objects, once. LH_EMEMORY. The order is freed with the snapshot. */
static int find_map_order(lh_snapshot *s, lh_error *error) {
  if (s->map_order) return LH_OK;
  lh_map_order *map_order = lh_alloc_zeroed(1, sizeof *map_order);
  if (!map_order) return lh_fail_memory(error, "making a map");
  map_order->before = lh_alloc_zeroed((size_t)s->n / STRIDE + 1, sizeof *map_order->before);
  if (!map_order->before || !make_order(s, map_order)) {
    free_map_order(map_order);
    return lh_fail_memory(error, "making a map");
  }
  s->map_order = map_order;
  s->free_map_order = free_map_order;
  if (map_order->n > 0) sum_up(s, map_order);
  find_holes(s, map_order);
  return LH_OK;
}

static void choose_interval(lh_snapshot *s, bool has_interval, lh_interval interval) {
  lh_map_order *map_order = s->map_order;
  uint64_t bytes = 0;
  bool same =
      map_order->interval.since == interval.since && map_order->interval.until == interval.until;
  if (has_interval == map_order->has_interval && (same || !has_interval)) return;
  map_order->has_interval = has_interval;
  map_order->interval = interval;
  if (has_interval) lh_objects_in(s, interval, map_order->in_interval);
  for (uint32_t i = 0; has_interval && i < map_order->n; i++) {
    if (i % STRIDE == 0) map_order->before[i / STRIDE][LH_TYPE_ROOT] = bytes;
    if (lh_in_ranges(map_order->in_interval, map_order->order[i]))
      bytes += end_of_block(s, i) - start_of(s, i);
  }
}

/* Index of the last 32nd object that begins before an address. */
static uint32_t stride_before(const lh_snapshot *s, uint64_t address) {
  uint32_t at, n = (s->map_order->n + STRIDE - 1) / STRIDE;
  LH_LOWER_BOUND(at, n, start_of(s, at * STRIDE) < address);
  return at > 0 ? at - 1 : 0;
}

/* Bytes before an address, as in `before`. Returns the number of objects that begin before it. */
static uint32_t bytes_before(const lh_snapshot *s, uint64_t address,
                             uint64_t bytes[LH_TYPE_COUNT]) {
  const lh_map_order *map_order = s->map_order;
  uint32_t i = stride_before(s, address) * STRIDE;
  memcpy(bytes, map_order->before[i / STRIDE], LH_TYPE_COUNT * sizeof *bytes);
  for (; i < map_order->n && start_of(s, i) < address; i++) {
    uint64_t start = start_of(s, i), end = end_of_block(s, i);
    uint64_t here = (end < address ? end : address) - start;
    bytes[lh_type_of(s, map_order->order[i])] += here;
    if (map_order->has_interval && lh_in_ranges(map_order->in_interval, map_order->order[i]))
      bytes[LH_TYPE_ROOT] += here;
  }
  if (!map_order->has_interval) bytes[LH_TYPE_ROOT] = 0;
  return i;
}

/* ==== Regions ======================================================================== */

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

/* Objects begin at words: if regions end at words, a cell of eight bytes has one object. */
static uint64_t up_to_a_word(uint64_t address) {
  return address > UINT64_MAX - 7 ? address : (address + 7) / 8 * 8;
}

/* Joins regions that overlap or have a small gap; drops empty ones. Returns the number left. */
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

static uint64_t sum_of_types(const uint64_t bytes[LH_TYPE_COUNT]) {
  uint64_t sum = 0;
  for (lh_type t = LH_TYPE_STRING; t < LH_TYPE_COUNT; t++) sum += bytes[t];
  return sum;
}

static void count_regions(const lh_snapshot *s, lh_memory_map *map) {
  uint64_t before[LH_TYPE_COUNT], behind[LH_TYPE_COUNT];
  for (size_t i = 0; i < map->n_regions; i++) {
    lh_region *r = &map->regions[i];
    if (i > 0) r->hole_bytes = r->from - r[-1].to;
    uint32_t first = bytes_before(s, r->from, before), end = bytes_before(s, r->to, behind);
    r->objects = end - first;
    r->bytes = sum_of_types(behind) - sum_of_types(before);
  }
}

static int find_regions(lh_snapshot *s, const lh_map_query *query, lh_memory_map *map,
                        lh_error *error) {
  size_t most = s->map_order->n_holes + 1;
  uint64_t least_hole = s->map_order->least_hole;
  for (size_t i = 0; i < query->n_snapshots; i++) {
    lh_snapshot *other = query->snapshots[i];
    if (!is_of_state(s, other)) continue;
    int code = find_map_order(other, error);
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

/* ==== Cells ========================================================================== */

typedef struct way {
  const lh_memory_map *map;
  size_t region;
  uint64_t start; /* offset of the region */
} way;

/* The offset of an address; in a hole: that of the region behind. */
static uint64_t place_of(const lh_memory_map *map, uint64_t address) {
  uint64_t along = 0;
  for (size_t i = 0; i < map->n_regions; i++) {
    const lh_region *r = &map->regions[i];
    if (address < r->to) return along + (address > r->from ? address - r->from : 0);
    along += r->to - r->from;
  }
  return along;
}

/* The address at an offset. Offsets must not decrease from call to call. */
static uint64_t address_at(way *w, uint64_t along) {
  const lh_region *r = &w->map->regions[w->region];
  while (along - w->start >= r->to - r->from && w->region + 1 < w->map->n_regions) {
    w->start += r->to - r->from;
    w->region++;
    r++;
  }
  return r->from + (along - w->start);
}

/* The smallest cell, a power of 2, of which `most` cover `bytes`. */
static uint64_t size_of_cell(uint64_t bytes, uint32_t most) {
  uint64_t cell = 8;
  while (cell <= UINT64_MAX / 4 && (bytes - 1) / cell >= most) cell *= 2;
  return cell;
}

/* The end of a cell; of the last one, the end of all regions. */
static uint64_t end_of_cell(uint64_t along, uint64_t cell, uint64_t whole) {
  return whole - along > cell ? along + cell : whole;
}

/* Fills a cell from the sums before its beginning and before its end. */
typedef void fill_cell(lh_map_cell *cell, const uint64_t before[LH_TYPE_COUNT],
                       const uint64_t behind[LH_TYPE_COUNT]);

static void fill_cells(const lh_snapshot *s, lh_memory_map *map, uint64_t first, uint64_t whole,
                       fill_cell *fill) {
  uint64_t sums[2][LH_TYPE_COUNT], along = first;
  way w = {.map = map};
  (void)bytes_before(s, address_at(&w, along), sums[0]);
  for (size_t i = 0; i < map->n_cells; i++) {
    along = end_of_cell(along, map->cell_bytes, whole);
    (void)bytes_before(s, address_at(&w, along), sums[(i + 1) % 2]);
    fill(&map->cells[i], sums[i % 2], sums[(i + 1) % 2]);
  }
}

static void fill_bytes(lh_map_cell *cell, const uint64_t before[LH_TYPE_COUNT],
                       const uint64_t behind[LH_TYPE_COUNT]) {
  for (lh_type t = LH_TYPE_STRING; t < LH_TYPE_COUNT; t++) cell->bytes[t] = behind[t] - before[t];
  cell->bytes[LH_TYPE_ROOT] = sum_of_types(cell->bytes);
  cell->new_bytes = behind[LH_TYPE_ROOT] - before[LH_TYPE_ROOT];
}

/* The bytes of the older snapshot that are not in the kept ones were freed. */
static void fill_freed(lh_map_cell *cell, const uint64_t before[LH_TYPE_COUNT],
                       const uint64_t behind[LH_TYPE_COUNT]) {
  uint64_t had = sum_of_types(behind) - sum_of_types(before);
  uint64_t kept = cell->bytes[LH_TYPE_ROOT] - cell->new_bytes;
  cell->gone_bytes = had > kept ? had - kept : 0;
}

static void sum_cells(lh_memory_map *map) {
  for (size_t i = 0; i < map->n_cells; i++) {
    const lh_map_cell *cell = &map->cells[i];
    for (lh_type t = LH_TYPE_ROOT; t < LH_TYPE_COUNT; t++) map->sum.bytes[t] += cell->bytes[t];
    map->sum.new_bytes += cell->new_bytes;
    map->sum.gone_bytes += cell->gone_bytes;
  }
}

/* Objects with a byte in the cells, even if they begin before them. */
static int list_objects(const lh_snapshot *s, lh_memory_map *map, size_t most, lh_error *error) {
  uint64_t bytes[LH_TYPE_COUNT];
  uint32_t first = bytes_before(s, map->from, bytes), end = bytes_before(s, map->to, bytes);
  if (first > 0 && end_of_block(s, first - 1) > map->from) first--;
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
  fill_cells(s, map, first, whole, fill_bytes);
  if (query->before && is_of_state(s, query->before))
    fill_cells(query->before, map, first, whole, fill_freed);
  sum_cells(map);
  return list_objects(s, map, query->most_objects, error);
}

int lh_find_memory_map(lh_snapshot *s, const lh_map_query *query, lh_memory_map *out,
                       lh_error *error) {
  *out = (lh_memory_map){0};
  if (query->most_cells == 0) return lh_fail(error, LH_EARGUMENT, "a map has at least one cell");
  int code = find_map_order(s, error);
  if (code == LH_OK && query->before) code = find_map_order(query->before, error);
  if (code == LH_OK) {
    const lh_map_order *map_order = s->map_order;
    choose_interval(s, query->has_interval, query->interval);
    out->all = map_order->all;
    for (lh_type t = LH_TYPE_STRING; t < LH_TYPE_COUNT; t++) out->types[t] = map_order->types[t];
    code = find_regions(s, query, out, error);
  }
  if (code == LH_OK) code = make_cells(s, query, out, error);
  if (code < 0) lh_memory_map_free(out);
  return code;
}

void lh_memory_map_free(lh_memory_map *map) {
  LH_FREE_ALL(map->regions, map->cells, map->objects);
  *map = (lh_memory_map){0};
}
