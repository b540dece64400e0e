/*
** test_open_threads.c - a snapshot that several threads open is the one that the caller alone
** opens, and so is the error where it is damaged. Also for ThreadSanitizer (make check-tsan).
*/
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base.h"
#include "expect.h"
#include "folder.h"
#include "forged_file.h"
#include "read/record.h"

/* ==== The team ====================================================================== */

enum { THINGS = 1000 };

typedef struct counted {
  unsigned done[THINGS];
  uint32_t enough; /* the first thing behind which nothing is needed */
} counted;

static bool count_one(void *data, uint32_t i) {
  counted *c = data;
  __atomic_fetch_add(&c->done[i], 1, __ATOMIC_RELAXED);
  return i < c->enough;
}

static void each_thing_is_done_once(void **state) {
  (void)state;
  for (unsigned threads = 0; threads < 40; threads += 3) {
    counted c = {.enough = THINGS};
    assert_int_equal(lh_parallel_for(threads, THINGS, count_one, &c), THINGS);
    for (uint32_t i = 0; i < THINGS; i++) assert_int_equal(c.done[i], 1);
  }
  assert_int_equal(lh_parallel_for(4, 0, count_one, NULL), 0);
}

static void all_is_done_before_the_first_that_is_enough(void **state) {
  (void)state;
  for (uint32_t enough = 0; enough < THINGS; enough += 37) {
    counted c = {.enough = enough};
    assert_int_equal(lh_parallel_for(4, THINGS, count_one, &c), enough);
    for (uint32_t i = 0; i < THINGS; i++) assert_true(c.done[i] == 1 || (i > enough && !c.done[i]));
  }
}

/* Two threads meet, so one of them is no thread of the test. */
typedef struct meeting {
  pthread_barrier_t barrier;
  pthread_t caller;
  sigset_t masks[2]; /* of the caller, of the other one */
} meeting;

static bool meet(void *data, uint32_t i) {
  meeting *m = data;
  (void)i;
  (void)pthread_barrier_wait(&m->barrier);
  (void)pthread_sigmask(SIG_SETMASK, NULL, &m->masks[!pthread_equal(pthread_self(), m->caller)]);
  return true;
}

static void no_thread_of_ours_takes_a_signal(void **state) {
  meeting m = {.caller = pthread_self()};
  sigset_t after;
  (void)state;
  assert_int_equal(pthread_barrier_init(&m.barrier, NULL, 2), 0);
  assert_int_equal(lh_parallel_for(2, 2, meet, &m), 2);
  assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
  for (int signal = 1; signal < SIGSYS; signal++) {
    if (signal == SIGKILL || signal == SIGSTOP) continue;
    assert_int_equal(sigismember(&m.masks[1], signal), 1);
    assert_int_equal(sigismember(&m.masks[0], signal), 0);
    assert_int_equal(sigismember(&after, signal), 0);
  }
  assert_int_equal(pthread_barrier_destroy(&m.barrier), 0);
}

/* ==== Snapshots ===================================================================== */

enum { N_TABLES = 120000, MODE = 0x3000, NAME = 0x2000 };

#define FAR (UINT64_C(1) << 50)

/* Tables with what is resolved in ways of its own: frequent keys, keys and values without a record,
** targets far away, and what a weak table and an ephemeron have. 4 MB. */
static void put_table(forge *f, uint64_t i) {
  const uint64_t own = 0x10000 + 64 * i, lost = 0x10000 + 64 * i + 8;
  forge_table(f, own, 0, i % 50 == 0 ? MODE : 0, 4);
  forge_tags(f, LH_VAL_KEY, LH_VAL_OBJECT);
  forge_u8(f, 0);
  forge_reference(f, i % 70 == 0 ? lost : 0x10000 + 64 * ((7 * i) % N_TABLES + 1));
  forge_tags(f, LH_VAL_INTEGER, LH_VAL_OBJECT);
  forge_svarint(f, (int64_t)i);
  forge_reference(f, i % 90 == 0 ? FAR : NAME);
  forge_tags(f, LH_VAL_OBJECT, LH_VAL_OBJECT);
  forge_reference(f, i % 110 == 0 ? lost : 0x10000 + 64 * ((11 * i) % N_TABLES + 1));
  forge_reference(f, 0x10000 + 64 * ((13 * i) % N_TABLES + 1));
  forge_tags(f, LH_VAL_INTEGER, LH_VAL_FLOAT);
  forge_svarint(f, -1);
  forge_u64(f, i * i);
}

/* Freed by forge_free. */
static void forge_many(forge *f) {
  forge_begin(f);
  forge_version(f, 6);
  f->footer.keys[0] = NAME;
  f->footer.n_keys = 1;
  forge_mark(f, 0x1000, LH_MARK_BY_SNAPSHOT, 1, "a");
  for (uint64_t i = 1; i <= N_TABLES; i++) put_table(f, i);
  forge_table(f, MODE, LH_FLAG_WEAK_KEYS, 0, 0);
  forge_table(f, FAR, 0, 0, 0);
  forge_string(f, NAME, "next");
  forge_root(f, LH_ROOT_REGISTRY, 0, 0x10000 + 64);
  forge_finish(f);
}

static void write_file(const uint8_t *data, size_t size) {
  FILE *file = fopen("a", "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static int open_by(unsigned threads, lh_snapshot **s, lh_error *error) {
  memset(error, 0, sizeof *error);
  return lh_open_in_threads(s, "a", threads, error);
}

#define expect_same(a, b, n) assert_memory_equal(a, b, (n) * sizeof *(a))

static void expect_same_snapshot(const lh_snapshot *a, const lh_snapshot *b) {
  size_t n = (size_t)a->n + 1, n_edges = a->first_edge[n];
  assert_int_equal(a->n, b->n);
  expect_same(a->address, b->address, n);
  expect_same(a->record_low, b->record_low, n);
  expect_same(a->record_high, b->record_high, n);
  expect_same(a->kind, b->kind, n);
  expect_same(a->key_kinds, b->key_kinds, n);
  expect_same(a->shallow, b->shallow, n);
  expect_same(a->modes, b->modes, n / 64 + 1);
  expect_same(a->first_edge, b->first_edge, n + 1);
  expect_same(a->edge, b->edge, n_edges);
  expect_same(a->label, b->label, n_edges);
  assert_int_equal(a->n_aside, b->n_aside);
  expect_same(a->aside, b->aside, a->n_aside);
  assert_int_equal(a->n_ephemerons, b->n_ephemerons);
  for (size_t i = 0; i < a->n_ephemerons; i++)
    assert_true(a->ephemerons[i].edge == b->ephemerons[i].edge &&
                a->ephemerons[i].value == b->ephemerons[i].value);
  for (lh_id id = 1; id <= a->n; id++)
    assert_int_equal(lh_find_word(b, a->address[id] >> 3), lh_find_word(a, a->address[id] >> 3));
}

static const unsigned numbers[] = {0, 2, 3, 7};
enum { N_NUMBERS = sizeof numbers / sizeof *numbers };

static void snapshots_are_equal(void **state) {
  forge f;
  lh_snapshot *alone, *s;
  lh_error error;
  (void)state;
  forge_many(&f);
  write_file(f.data, f.size);
  forge_free(&f);
  assert_int_equal(lh_open(&alone, "a", &error), LH_OK);
  assert_true(alone->n_blocks >= 4 && alone->n_ephemerons > 0 && alone->n_aside > 0);
  for (size_t i = 0; i < N_NUMBERS; i++) {
    assert_int_equal(open_by(numbers[i], &s, &error), LH_OK);
    expect_same_snapshot(alone, s);
    lh_close(s);
  }
  lh_close(alone);
  assert_int_equal(unlink("a"), 0);
}

/* The file is "a". */
static void expect_same_error(int code) {
  lh_snapshot *s;
  lh_error alone = {0}, error;
  assert_int_equal(lh_open(&s, "a", &alone), code);
  for (size_t i = 0; i < N_NUMBERS; i++) {
    assert_int_equal(open_by(numbers[i], &s, &error), code);
    assert_null(s);
    assert_int_equal(error.offset, alone.offset);
    assert_string_equal(error.message, alone.message);
  }
}

/* In two blocks: the first fault is told. */
static void errors_are_equal(void **state) {
  forge f;
  (void)state;
  forge_many(&f);
  for (uint64_t block = 0; block < 3; block++) {
    uint8_t *first = f.data + block * LH_BLOCK_BYTES + 300000;
    uint8_t *second = f.data + (block + 1) * LH_BLOCK_BYTES + 5000;
    uint8_t before[2][64];
    memcpy(before[0], first, 64);
    memcpy(before[1], second, 64);
    memset(first, 0xff, 64);
    memset(second, 0xff, 64);
    write_file(f.data, f.size);
    expect_same_error(LH_EDAMAGED); /* by its checksum */
    forge_seal(f.data, f.size);
    write_file(f.data, f.size);
    expect_same_error(LH_EDAMAGED); /* by its records */
    memcpy(first, before[0], 64);
    memcpy(second, before[1], 64);
    forge_seal(f.data, f.size);
  }
  forge_free(&f);
  assert_int_equal(unlink("a"), 0);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_thing_is_done_once),
      cmocka_unit_test(all_is_done_before_the_first_that_is_enough),
      cmocka_unit_test(no_thread_of_ours_takes_a_signal),
      cmocka_unit_test(snapshots_are_equal),
      cmocka_unit_test(errors_are_equal),
  };
  return folder_run(tests);
}
