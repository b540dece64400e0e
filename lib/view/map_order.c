/*
** map_order.c - the objects of a snapshot in the order of their addresses, kept with it from its
** first map on: 4 bytes an object, and 2 for what lies before every 32nd, so that what lies between
** any two addresses is found by one search for each and at most 32 objects there. Sorting ten
** million objects takes 80 MB, half of which are freed at once.
**
** Addresses are sorted by their digits, least first, 11 bits each, and only by those in which they
** differ: three or four passes in a program of today.
*/
#include "map_order.h"

#include <string.h>

enum { STRIDE = 32, DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, AHEAD = 16 };

/* What an allocator adds, and what a library allocates in between, is no hole. */
enum { LEAST_HOLE_BITS = 12, LEAST_HOLE_PART = 64 };

/* {=== Blocks ========================================================================= */

uint64_t lh_mapped_bytes(const lh_snapshot *s, lh_id id) {
  static const uint64_t headers[LH_TYPE_COUNT] = {
      [LH_TYPE_TABLE] = 56, [LH_TYPE_PROTO] = 128, [LH_TYPE_THREAD] = 192 /* in all releases */};
  uint64_t shallow = lh_shallow_bytes(s, id), header = headers[lh_type_of(s, id)];
  return header > 0 && shallow > header ? header : shallow;
}

static uint64_t start_of(const lh_snapshot *s, uint32_t at) {
  return s->address[s->map_order->order[at]];
}

uint64_t lh_end_of_block(const lh_snapshot *s, uint32_t at) {
  uint64_t start = start_of(s, at), bytes = lh_mapped_bytes(s, s->map_order->order[at]);
  uint64_t most = (at + 1 < s->map_order->n ? start_of(s, at + 1) : UINT64_MAX) - start;
  return start + (bytes < most ? bytes : most);
}

/* }=================================================================================== */

/* {=== Order ========================================================================== */

/* What luaheap itself put into a snapshot from outside is in no memory of the program's. */
static bool is_mapped(const lh_snapshot *s, lh_id id) {
  return !s->is_outside || !lh_is_own(s, id);
}

static void sort_by_digit(const lh_snapshot *s, unsigned shift, const lh_id *from, lh_id *to,
                          uint32_t n_sorted, uint32_t next[DIGITS]) {
  memset(next, 0, DIGITS * sizeof *next);
  for (uint32_t id = 1; id <= s->n; id++)
    if (is_mapped(s, id)) next[s->address[id] >> shift & (DIGITS - 1)]++;
  for (uint32_t digit = 0, sum = 0; digit < DIGITS; digit++) {
    uint32_t n = next[digit];
    next[digit] = sum;
    sum += n;
  }
  for (uint32_t i = 0; i < n_sorted; i++) {
    if (i + AHEAD < n_sorted) __builtin_prefetch(&s->address[from[i + AHEAD]]);
    to[next[s->address[from[i]] >> shift & (DIGITS - 1)]++] = from[i];
  }
}

/* Fills one of the two, and returns which. */
static lh_id *sort(const lh_snapshot *s, lh_id *order, lh_id *other, uint32_t *n,
                   uint32_t next[DIGITS]) {
  uint64_t differ = 0;
  for (lh_id id = 1; id <= s->n; id++) {
    if (!is_mapped(s, id)) continue;
    order[(*n)++] = id;
    differ |= s->address[id] ^ s->address[order[0]];
  }
  for (unsigned shift = 3; shift < 64; shift += DIGIT_BITS) {
    if ((differ >> shift & (DIGITS - 1)) == 0) continue;
    sort_by_digit(s, shift, order, other, *n, next);
    lh_id *sorted = other;
    other = order;
    order = sorted;
  }
  return order;
}

static bool make_order(lh_snapshot *s, lh_map_order *map_order) {
  lh_id *orders[2] = {lh_alloc(s->n, sizeof(lh_id)), lh_alloc(s->n, sizeof(lh_id))};
  uint32_t *next = lh_alloc(DIGITS, sizeof *next);
  bool fine = orders[0] && orders[1] && next;
  if (fine) map_order->order = sort(s, orders[0], orders[1], &map_order->n, next);
  for (size_t i = 0; i < 2; i++)
    if (orders[i] != map_order->order) lh_free(orders[i]);
  lh_free(next);
  return fine;
}

/* }=================================================================================== */

/* {=== Holes ========================================================================== */

static unsigned bits_of(uint64_t n) {
  unsigned bits = 0;
  while (n >> bits > 1) bits++;
  return bits;
}

/* From a size on, a power of 2, at which there are few enough. */
static uint64_t least_hole(const lh_map_order *map_order, const uint32_t gaps[64]) {
  unsigned least = bits_of(map_order->all.bytes / LEAST_HOLE_PART), bits = 64;
  uint32_t n = 0;
  if (least < LEAST_HOLE_BITS) least = LEAST_HOLE_BITS;
  while (bits > least && n + gaps[bits - 1] <= LH_MOST_HOLES) n += gaps[--bits];
  return bits < 64 ? (uint64_t)1 << bits : UINT64_MAX;
}

static void find_holes(const lh_snapshot *s, lh_map_order *map_order) {
  for (uint32_t i = 0; i + 1 < map_order->n; i++) {
    uint64_t end = lh_end_of_block(s, i), next = start_of(s, i + 1);
    if (next - end >= map_order->least_hole)
      map_order->holes[map_order->n_holes++] = (lh_gap){end, next};
  }
}

/* }=================================================================================== */

/* {=== Sums =========================================================================== */

static void count_object(const lh_snapshot *s, lh_map_order *map_order, uint32_t at) {
  lh_id id = map_order->order[at];
  lh_mapped *type = &map_order->types[lh_type_of(s, id)];
  uint64_t bytes = lh_end_of_block(s, at) - start_of(s, at), shallow = lh_shallow_bytes(s, id);
  type->objects++;
  type->bytes += bytes;
  type->shallow_bytes += shallow;
  map_order->all.objects++;
  map_order->all.bytes += bytes;
  map_order->all.shallow_bytes += shallow;
}

static void sum_up(const lh_snapshot *s, lh_map_order *map_order) {
  uint32_t gaps[64] = {0}; /* by the power of 2 that is in them */
  uint64_t end = start_of(s, 0);
  map_order->from = end;
  for (uint32_t i = 0; i < map_order->n; i++) {
    uint64_t gap = start_of(s, i) - end;
    if (i + AHEAD < map_order->n) __builtin_prefetch(&s->address[map_order->order[i + AHEAD]]);
    if (i % STRIDE == 0)
      for (lh_type t = LH_TYPE_STRING; t < LH_TYPE_COUNT; t++)
        map_order->before[i / STRIDE][t] = map_order->types[t].bytes;
    if (gap > 0) gaps[bits_of(gap)]++;
    count_object(s, map_order, i);
    end = lh_end_of_block(s, i);
  }
  map_order->to = end;
  map_order->least_hole = least_hole(map_order, gaps);
}

static void free_map_order(lh_map_order *map_order) {
  lh_free(map_order->order);
  lh_free(map_order->before);
  lh_free(map_order);
}

int lh_find_map_order(lh_snapshot *s, lh_error *error) {
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

void lh_choose_interval(lh_snapshot *s, bool has_interval, lh_interval interval) {
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
      bytes += lh_end_of_block(s, i) - start_of(s, i);
  }
}

/* The last of every 32nd object that begins before an address. */
static uint32_t stride_before(const lh_snapshot *s, uint64_t address) {
  uint32_t at, n = (s->map_order->n + STRIDE - 1) / STRIDE;
  LH_LOWER_BOUND(at, n, start_of(s, at * STRIDE) < address);
  return at > 0 ? at - 1 : 0;
}

uint32_t lh_bytes_before(const lh_snapshot *s, uint64_t address, uint64_t bytes[LH_TYPE_COUNT]) {
  const lh_map_order *map_order = s->map_order;
  uint32_t i = stride_before(s, address) * STRIDE;
  memcpy(bytes, map_order->before[i / STRIDE], LH_TYPE_COUNT * sizeof *bytes);
  for (; i < map_order->n && start_of(s, i) < address; i++) {
    uint64_t start = start_of(s, i), end = lh_end_of_block(s, i);
    uint64_t here = (end < address ? end : address) - start;
    bytes[lh_type_of(s, map_order->order[i])] += here;
    if (map_order->has_interval && lh_in_ranges(map_order->in_interval, map_order->order[i]))
      bytes[LH_TYPE_ROOT] += here;
  }
  if (!map_order->has_interval) bytes[LH_TYPE_ROOT] = 0;
  return i;
}

/* }=================================================================================== */
