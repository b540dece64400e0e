/*
** test_pool.c - the parts that keep the lives of blocks: the pool, the hash of the host's blocks
** (against arrays that are searched from end to end), and what is sampled (against the mean).
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base.h"
#include "track/blocks.h"
#include "track/pool.h"
#include "track/recorder.h"

static uint64_t random_state;

static uint64_t draw(uint64_t below) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (random_state >> 33) % below;
}

/* ==== The pool ====================================================================== */

typedef struct held {
  unsigned char *slot;
  size_t bytes;
  unsigned char fill;
} held;

static held take_filled(lh_pool *pool, size_t bytes) {
  size_t slot_bytes = lh_pool_slot_bytes(bytes);
  held h = {lh_pool_take(pool, slot_bytes), bytes, (unsigned char)draw(256)};
  assert_non_null(h.slot);
  assert_true(lh_pool_has(pool, h.slot));
  assert_int_equal((uintptr_t)h.slot % 16, 0);
  assert_int_equal(lh_pool_slab(pool, h.slot)->slot_bytes, slot_bytes);
  assert_true(slot_bytes >= bytes + sizeof(lh_life));
  memset(h.slot, h.fill, bytes);
  *lh_pool_life(h.slot, slot_bytes) = (lh_life){.birth = (uint32_t)bytes};
  return h;
}

static void give_checked(lh_pool *pool, const held *h) {
  for (size_t i = 0; i < h->bytes; i++) assert_int_equal(h->slot[i], h->fill);
  lh_slab *slab = lh_pool_slab(pool, h->slot);
  assert_int_equal(lh_pool_life(h->slot, slab->slot_bytes)->birth, h->bytes);
  lh_pool_give(pool, slab, h->slot);
}

/* Slots of all sizes, in waves: no two overlap, and all that was written stays. */
static void slots_keep_apart(void **state) {
  enum { MOST = 20000, STEPS = 400000 };
  static held all[MOST];
  size_t n = 0;
  (void)state;
  lh_pool *pool = lh_pool_new();
  assert_non_null(pool);
  random_state = 1;
  for (size_t i = 0; i < STEPS; i++) {
    bool grows = i / 50000 % 2 == 0;
    if (n < MOST && (n == 0 || draw(100) < (grows ? 70 : 30))) {
      all[n++] = take_filled(pool, 1 + draw(draw(10) ? 100 : LH_POOL_MOST_BYTES));
    } else {
      size_t k = draw(n);
      give_checked(pool, &all[k]);
      all[k] = all[--n];
    }
  }
  assert_int_equal(lh_pool_count(pool), n);
  while (n > 0) give_checked(pool, &all[--n]);
  assert_int_equal(lh_pool_count(pool), 0);
  lh_pool_free(pool);
}

/* Of the whole process, in bytes. */
static size_t resident_bytes(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%ld %ld", &pages, &resident), 2);
  (void)fclose(file);
  return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

static void empty_slabs_go_back(void **state) {
  enum { N = 400000, BYTES = 56 };     /* 25 MB */
  const size_t OTHER_BYTES = 4u << 20; /* two huge pages of a sanitizer */
  void **slots = malloc(N * sizeof *slots);
  (void)state;
  assert_non_null(slots);
  lh_pool *pool = lh_pool_new();
  assert_non_null(pool);
  memset(slots, 0xFF, N * sizeof *slots);
  size_t before = resident_bytes();
  for (size_t i = 0; i < N; i++) slots[i] = lh_pool_take(pool, lh_pool_slot_bytes(BYTES));
  size_t full = resident_bytes() - before;
  assert_in_range(full, (size_t)N * 64, (size_t)N * 64 * 11 / 10 + OTHER_BYTES);
  for (size_t i = 0; i < N; i++) lh_pool_give(pool, lh_pool_slab(pool, slots[i]), slots[i]);
  assert_true(resident_bytes() < before + full / 10 + OTHER_BYTES);
  assert_true(pool->n_in_use <= 1); /* the current one */
  for (size_t i = 0; i < N; i++) slots[i] = lh_pool_take(pool, lh_pool_slot_bytes(24));
  assert_true(pool->n_slabs * LH_POOL_SLAB_BYTES < (size_t)N * 64 * 11 / 10 + (33u << 20));
  lh_pool_free(pool);
  free(slots);
}

/* One in sixteen lives on: the others' slots are used before new slabs are. */
static void free_slots_are_used_first(void **state) {
  enum { N = 200000 };
  void **slots = malloc(N * sizeof *slots);
  (void)state;
  assert_non_null(slots);
  lh_pool *pool = lh_pool_new();
  assert_non_null(pool);
  for (int round = 0; round < 10; round++) {
    for (size_t i = 0; i < N; i++) {
      if (round == 0 || i % 16) slots[i] = lh_pool_take(pool, 64);
    }
    for (size_t i = 0; i < N; i++) {
      if (i % 16) lh_pool_give(pool, lh_pool_slab(pool, slots[i]), slots[i]);
    }
  }
  assert_in_range(pool->n_in_use, N / 1024, N / 1024 + 2);
  lh_pool_free(pool);
  free(slots);
}

static void pool_without_memory(void **state) {
  (void)state;
  for (uint64_t n = 1; n <= 2; n++) {
    (void)lh_test_fail_allocation(n);
    assert_null(lh_pool_new());
  }
  (void)lh_test_fail_allocation(0);
  lh_pool *pool = lh_pool_new();
  assert_non_null(pool);
  for (uint64_t n = 1; n <= 2; n++) {
    (void)lh_test_fail_allocation(n);
    assert_null(lh_pool_take(pool, 64));
  }
  (void)lh_test_fail_allocation(0);
  size_t n_taken = 0;
  (void)lh_pool_take(pool, 64);
  (void)lh_test_fail_allocation(1);
  while (lh_pool_take(pool, 64)) n_taken++;
  (void)lh_test_fail_allocation(0);
  assert_true(n_taken > 1000);
  assert_non_null(lh_pool_take(pool, 64));
  assert_int_equal(lh_pool_count(pool), n_taken + 2);
  lh_pool_free(pool);
}

/* ==== Blocks ======================================================================== */

static const void *address(size_t i) {
  return (const void *)(uintptr_t)(0x10000 + 16 * i);
}

static void blocks_are_found(void **state) {
  enum { ADDRESSES = 3000, STEPS = 200000 };
  static uint32_t births[ADDRESSES]; /* 0: it is not there */
  size_t n = 0;
  (void)state;
  lh_blocks *blocks = lh_blocks_new();
  assert_non_null(blocks);
  random_state = 2;
  for (uint32_t step = 1; step <= STEPS; step++) {
    size_t i = draw(ADDRESSES);
    lh_life life, *found = lh_blocks_find(blocks, address(i));
    assert_int_equal(found ? found->birth : 0, births[i]);
    if (births[i]) {
      assert_true(lh_blocks_may_have(blocks, address(i)));
      assert_true(lh_blocks_remove(blocks, address(i), &life));
      assert_int_equal(life.birth, births[i]);
      births[i] = 0;
      n--;
    } else {
      assert_false(lh_blocks_remove(blocks, address(i), &life));
      assert_true(lh_blocks_add(blocks, address(i), (lh_life){.birth = step}));
      births[i] = step;
      n++;
    }
    assert_int_equal(blocks->index.n, n);
  }
  for (size_t i = 0; i < ADDRESSES; i++) {
    lh_life life;
    (void)lh_blocks_remove(blocks, address(i), &life);
    assert_false(lh_blocks_may_have(blocks, address(i)));
  }
  lh_blocks_free(blocks);
}

static void blocks_without_memory(void **state) {
  (void)state;
  (void)lh_test_fail_allocation(1);
  assert_null(lh_blocks_new());
  (void)lh_test_fail_allocation(0);
  lh_blocks *blocks = lh_blocks_new();
  assert_non_null(blocks);
  size_t n = 0;
  while (n < 192) assert_true(lh_blocks_add(blocks, address(n++), (lh_life){0}));
  (void)lh_test_fail_allocation(1);
  while (lh_blocks_add(blocks, address(n), (lh_life){0})) n++; /* until it must grow */
  (void)lh_test_fail_allocation(0);
  assert_int_equal(blocks->index.n, n);
  for (size_t i = 0; i < n; i++) assert_non_null(lh_blocks_find(blocks, address(i)));
  assert_null(lh_blocks_find(blocks, address(n)));
  lh_blocks_free(blocks);
}

/* ==== Samples ======================================================================= */

static void distances_are_exponential(void **state) {
  enum { N = 200000, MEAN = 1 << 19 };
  uint64_t random = 1;
  double sum = 0;
  size_t n_longer = 0;
  (void)state;
  for (size_t i = 0; i < N; i++) {
    int64_t distance = lh_sample_distance(&random, MEAN);
    assert_true(distance >= 1);
    sum += (double)distance;
    n_longer += distance > MEAN;
  }
  assert_in_range((uint64_t)(sum / N), MEAN / 100 * 99, MEAN / 100 * 101);
  assert_in_range(n_longer, N * 0.362, N * 0.374); /* 1 / e */
}

/* What stands behind the samples of blocks of one size is how many there were. */
static void weights_have_no_bias(void **state) {
  static const uint64_t sizes[] = {1, 56, 1000, 40000, 524288, 3000000, 100000000};
  enum { MEAN = 1 << 19 };
  uint64_t random = 7;
  (void)state;
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    double made = 20000 * (sizes[k] < MEAN ? (double)MEAN / (double)sizes[k] : 1), estimate = 0;
    int64_t left = lh_sample_distance(&random, MEAN);
    for (double i = 0; i < made;) {
      /* as many as end before the distance does, at once */
      double n = (double)(left / (int64_t)sizes[k]);
      i += n + 1;
      if (i > made) break;
      estimate += lh_sample_weight(sizes[k], MEAN);
      left = lh_sample_distance(&random, MEAN);
    }
    assert_in_range((uint64_t)(estimate / made * 1000), 970, 1030);
  }
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slots_keep_apart),          cmocka_unit_test(empty_slabs_go_back),
      cmocka_unit_test(free_slots_are_used_first), cmocka_unit_test(pool_without_memory),
      cmocka_unit_test(blocks_are_found),          cmocka_unit_test(blocks_without_memory),
      cmocka_unit_test(distances_are_exponential), cmocka_unit_test(weights_have_no_bias)};
  return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
