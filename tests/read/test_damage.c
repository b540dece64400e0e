/*
** test_damage.c - what becomes of good snapshots on their way: cut, with holes, with bits flipped,
** and changed by somebody who makes the checksums right again. Each must be noticed, or read
** without harm and in little memory. The suite's figures are collected from the lines that are
** printed.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ask.h"
#include "expect.h"
#include "sample.h"
#include "soak.h"

static uint64_t next_random(uint64_t *x) {
  *x ^= *x << 13;
  *x ^= *x >> 7;
  *x ^= *x << 17;
  return *x;
}

/* ==== cut, and with holes =========================================================== */

/* The small snapshots: the forged one, with every kind of record, as of a program that was not
** tracked and of one that was, of the latter from outside, too, that of format version 6 with all
** sections, one of Lua 5.5, and a real one. Freed by the caller. */
enum { UNTRACKED, TRACKED, LENGTHS, OUTSIDE, SECTIONS, REAL, N_SMALL };

static void forge_small(forge *f, int kind) {
  if (kind == UNTRACKED)
    sample_heap(f);
  else if (kind == TRACKED)
    sample_tracked_heap(f);
  else if (kind == LENGTHS)
    sample_heap_of_5_5(f);
  else
    sample_outside_heap(f);
  if (kind == SECTIONS) {
    forge_version(f, 6);
    forge_more(f, LH_LAST_SECTION, "more", 4);
  }
  forge_finish(f);
}

static uint8_t *small_snapshot(int kind, size_t *size) {
  forge f;
  if (kind == REAL) {
    uint8_t *data = malloc(1 << 16);
    FILE *file = fopen("tests/read/fixtures/version1", "rb");
    assert_true(data && file);
    *size = fread(data, 1, 1 << 16, file);
    assert_int_equal(fclose(file), 0);
    return data;
  }
  forge_small(&f, kind);
  free(f.roots.data);
  free(f.sites.data);
  free(f.outside.data);
  free(f.matched.data);
  free(f.c_functions.data);
  free(f.more.data);
  free(f.starts.data);
  *size = f.size;
  return f.data;
}

static void cut_anywhere(void **state) {
  size_t n = 0, whole;
  (void)state;
  for (int kind = 0; kind < N_SMALL; kind++) {
    uint8_t *data = small_snapshot(kind, &whole);
    for (size_t size = 1; size < whole; size++) {
      uint8_t *cut = malloc(size); /* of exactly that size, for the sanitizer */
      assert_non_null(cut);
      memcpy(cut, data, size);
      expect_failure(cut, size, LH_EDAMAGED, size,
                     "'f' was cut or is not finished: it has no trailer");
      free(cut);
      n++;
    }
    free(data);
  }
  printf("faults: small snapshots cut at every byte: %zu cases, %zu survived\n", n, n);
}

/* 200,000 tables in a chain, some with a name: 2 MB. */
static void big_heap(forge *f) {
  enum { N = 200000 };
  forge_begin(f);
  forge_mark(f, 0x1000, LH_MARK_BY_SNAPSHOT, 1, "a");
  for (uint64_t i = 1; i <= N; i++) {
    bool named = i % 8 == 0;
    forge_table(f, 0x10000 + 64 * i, 0, 0, 1);
    forge_tags(f, named ? LH_VAL_OBJECT : LH_VAL_INTEGER, LH_VAL_OBJECT);
    if (named)
      forge_reference(f, 0x2000);
    else
      forge_svarint(f, (int64_t)i);
    forge_reference(f, 0x10000 + 64 * (i % N + 1));
  }
  forge_string(f, 0x2000, "next");
  forge_root(f, LH_ROOT_REGISTRY, 0, 0x10000 + 64);
  forge_finish(f);
}

static void expect_damage(const uint8_t *data, size_t size, const char *what, size_t at) {
  lh_snapshot *s;
  lh_error error = {0};
  int code = lh_open_memory(&s, data, size, "f", &error);
  if (code != LH_EDAMAGED || error.offset > size || !strstr(error.message, "'f' "))
    fail_msg("%s at %zu: %d, %s", what, at, code, error.message);
}

/* Cut; written only up to there, the rest zeros, as after a crash of the machine; and a page in the
** middle lost. Without the first eight bytes it is no snapshot at all. */
static void cut_at_random_places(void **state) {
  enum { N = 1000, PAGE = 4096, MAGIC_BYTES = sizeof LH_HEAD_MAGIC - 1 };
  forge f;
  lh_snapshot *s;
  uint64_t x = 88172645463325252u;
  (void)state;
  big_heap(&f);
  assert_int_equal(lh_open_memory(&s, f.data, f.size, "f", NULL), LH_OK);
  assert_int_equal(lh_object_count(s), 200002);
  lh_close(s);
  uint8_t *copy = malloc(f.size);
  assert_non_null(copy);
  memcpy(copy, f.data, f.size);
  for (int i = 0; i < N; i++) {
    size_t at = MAGIC_BYTES + next_random(&x) % (f.size - MAGIC_BYTES);
    expect_damage(f.data, at, "cut", at);
    memset(copy + at, 0, f.size - at);
    expect_damage(copy, f.size, "zeros", at);
    memcpy(copy + at, f.data + at, f.size - at);
  }
  for (int i = 0; i < N / 10; i++) {
    size_t at = (1 + next_random(&x) % (f.size / PAGE - 1)) * PAGE;
    size_t n = f.size - at < PAGE ? f.size - at : PAGE;
    memset(copy + at, 0, n);
    expect_damage(copy, f.size, "hole", at);
    memcpy(copy + at, f.data + at, n);
  }
  printf(
      "faults: a snapshot of 200,000 objects cut, zeroed or with a hole: %d cases, %d survived\n",
      2 * N + N / 10, 2 * N + N / 10);
  free(copy);
  forge_free(&f);
}

/* ==== bits ========================================================================== */

static void any_bit_flipped(void **state) {
  lh_snapshot *s;
  size_t n = 0, size;
  (void)state;
  for (int kind = 0; kind < N_SMALL; kind++) {
    uint8_t *data = small_snapshot(kind, &size);
    for (size_t bit = 0; bit < size * 8; bit++) {
      lh_error error;
      data[bit / 8] ^= (uint8_t)(1 << bit % 8);
      int code = lh_open_memory(&s, data, size, "f", &error);
      assert_true(code == (bit < 64                                  ? LH_EFOREIGN
                           : lh_load32(data + 8) > LH_FORMAT_VERSION ? LH_EVERSION
                                                                     : LH_EDAMAGED));
      data[bit / 8] ^= (uint8_t)(1 << bit % 8);
      n++;
    }
    free(data);
  }
  printf("faults: every bit of small snapshots flipped: %zu cases, %zu survived\n", n, n);
}

/* A file of its exact size, so that the sanitizer sees what is read behind it; all commands'
** questions are asked of it. Returns how much memory that took. */
static uint64_t ask_copy(const uint8_t *data, size_t size) {
  uint8_t *copy = malloc(size);
  assert_non_null(copy);
  memcpy(copy, data, size);
  (void)lh_test_peak_bytes();
  ask_all(copy, size);
  uint64_t peak_bytes = lh_test_peak_bytes();
  free(copy);
  return peak_bytes;
}

/* All questions to one file take 3 ms, so `make test` flips one bit of 9. The records of the files
** from outside are the tracked one's. */
static void flipped_and_sealed(void **state) {
  const unsigned step = soak_step(9);
  size_t n = 0;
  (void)state;
  for (int kind = UNTRACKED; kind < REAL; kind++) {
    forge f;
    forge_small(&f, kind);
    size_t first = kind >= OUTSIDE ? f.footer.sites_offset : 0;
    for (size_t bit = first * 8; bit < f.size * 8; bit += step) {
      uint8_t *copy = malloc(f.size);
      assert_non_null(copy);
      memcpy(copy, f.data, f.size);
      copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
      forge_seal(copy, f.size);
      (void)ask_copy(copy, f.size);
      free(copy);
      n++;
    }
    forge_free(&f);
  }
  printf("faults: bits flipped and the checksums made right: %zu cases, %zu survived\n", n, n);
}

/* ==== numbers ======================================================================= */

/* The sections of a file of version 6, in which `more` bytes were put in at `at`. */
static void shift_sections(uint8_t *directory, size_t at, size_t more) {
  uint8_t *entry = directory + 1;
  for (uint8_t n = *directory; n > 0; n--, entry += FORGE_SECTION_BYTES) {
    uint8_t *bytes_at = entry + 1 + FORGE_OFFSET_BYTES;
    uint64_t offset = forge_offset_at(entry + 1), bytes = forge_offset_at(bytes_at);
    if (at < offset)
      forge_offset(entry + 1, offset + more);
    else if (at < offset + bytes)
      forge_offset(bytes_at, bytes + more);
  }
}

/* The file with the byte at `at` replaced by the number; its offsets and checksums are right. */
static size_t put_number(const forge *f, size_t at, uint64_t number, uint8_t *out) {
  size_t end = (size_t)lh_load64(f->data + f->size - LH_TRAILER_BYTES);
  memcpy(out, f->data, at);
  size_t more = (size_t)(lh_put_uvarint(out + at, number) - (out + at)) - 1;
  memcpy(out + at + 1 + more, f->data + at + 1, f->size - at - 1);
  uint8_t *trailer = out + f->size + more - LH_TRAILER_BYTES;
  if (at < end)
    lh_store64(trailer, end + more);
  else
    lh_store64(trailer + 8, lh_load64(trailer + 8) + more);
  bool has_directory = f->directory_at > 0;
  if (has_directory && at < f->directory_at) shift_sections(out + f->directory_at + more, at, more);
  if (!has_directory && f->is_tracked && at < f->footer.sites_offset)
    forge_offset(out + f->sites_at + more, f->footer.sites_offset + more);
  if (!has_directory && f->is_outside && at < f->footer.outside_offset)
    forge_offset(out + f->outside_at + more, f->footer.outside_offset + more);
  forge_seal(out, f->size + more);
  return f->size + more;
}

/* Each byte that is a count, a size, an address or part of one becomes a great number; in `make
** test` one of five numbers, in turn. Memory is taken for what is there, not for what is asked
** for. */
static void terabytes_asked_for(void **state) {
  static const uint64_t numbers[] = {200, INT32_MAX, UINT64_C(1) << 32, UINT64_C(1) << 40,
                                     UINT64_MAX};
  /* Whatever is asked of it, such as 100 cells of a map, and trees of places, which begin with room
  ** for a few, copies of places, and the steps that were folded last; and tables of sites, of three
  ** snapshots at a time. */
  enum { N = sizeof numbers / sizeof *numbers, SOME_KB = 57344, SITES_KB = 3 * 9216 };
  const unsigned step = soak_step(5);
  size_t n = 0;
  (void)state;
  for (int kind = UNTRACKED; kind < REAL; kind++) {
    forge f;
    uint64_t most = 0;
    forge_small(&f, kind);
    uint8_t *copy = malloc(f.size + LH_MAX_VARINT);
    assert_non_null(copy);
    size_t first = kind == SECTIONS ? f.footer.sites_offset : LH_HEADER_BYTES;
    for (size_t at = first; at < f.size - LH_TRAILER_BYTES; at++) {
      for (size_t i = at % step; i < N; i += step) {
        uint64_t peak_bytes = ask_copy(copy, put_number(&f, at, numbers[i], copy));
        if (peak_bytes > most) most = peak_bytes;
        n++;
      }
    }
    assert_true(most < 48 * f.size + SOME_KB + (kind == UNTRACKED ? 0 : SITES_KB));
    free(copy);
    forge_free(&f);
  }
  printf("faults: files that ask for up to 2^64 of anything: %zu cases, %zu survived\n", n, n);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cut_anywhere),        cmocka_unit_test(cut_at_random_places),
      cmocka_unit_test(any_bit_flipped),     cmocka_unit_test(flipped_and_sealed),
      cmocka_unit_test(terabytes_asked_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
