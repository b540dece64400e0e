/*
** test_copy.c - several threads copy the memory of another process to the same addresses: all that
** it has written, once, and nothing else. Also for ThreadSanitizer (make check-tsan).
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "outside/memory.h"
#include "outside/outside.h"
#include "subject.h"

enum { PAGE = 4096, BYTES = 64 << 20, N_PAGES = BYTES / PAGE };

static char *memory; /* at the same address in both, since the subject is a fork */

/* Each third page is not written, and a long stretch in the middle is; by its number and round. */
static bool is_written(size_t page) {
  return page % 3 != 0 || (page > N_PAGES / 2 && page < N_PAGES * 3 / 4);
}

static int first_of(size_t page, int round) {
  return (int)(page * 7 + (size_t)round);
}

static void write_pages(const subject *self) {
  for (int round = 1;; round++) {
    for (size_t i = 0; i < N_PAGES; i++)
      if (is_written(i)) memcpy(memory + i * PAGE, &(int){first_of(i, round)}, sizeof(int));
    subject_wait(self);
  }
}

static void expect_page(size_t page, const lh_spans *written, int round) {
  int first;
  memcpy(&first, memory + page * PAGE, sizeof first);
  assert_int_equal(lh_spans_have(written, (uintptr_t)memory + page * PAGE, 1), is_written(page));
  assert_int_equal(first, is_written(page) ? first_of(page, round) : 0);
}

static void copies_all_that_was_written(void **state) {
  (void)state;
  memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(memory, MAP_FAILED);
  assert_int_equal(madvise(memory, BYTES, MADV_NOHUGEPAGE), 0);
  subject s = subject_start(write_pages, NULL);
  lh_memory_region region = {.start = (uintptr_t)memory,
                             .end = (uintptr_t)memory + BYTES,
                             .access = LH_REGION_READ | LH_REGION_WRITE,
                             .present_bytes = BYTES};
  lh_memory its = {.regions = &region,
                   .n = 1,
                   .process_id = s.id,
                   .fd = -1,
                   .read = lh_process_read_memory,
                   .is_shared = true};
  lh_spans mirrored = {0};
  assert_true(lh_spans_add(&mirrored, region.start, region.end, 0));
  uint64_t n_written = 0;
  for (size_t i = 0; i < N_PAGES; i++) n_written += is_written(i);
  for (int round = 1; round <= 5; round++) {
    lh_spans written = {0};
    uint64_t copied;
    assert_true(lh_copy_written(&its, &mirrored, &written, &copied));
    assert_int_equal(copied, n_written * PAGE);
    assert_int_equal(lh_spans_bytes(&written), copied);
    for (size_t i = 0; i < N_PAGES; i++) expect_page(i, &written, round);
    lh_spans_free(&written);
    subject_go_on(&s);
  }
  lh_spans_free(&mirrored);
  subject_end(&s);
  assert_int_equal(munmap(memory, BYTES), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(copies_all_that_was_written)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
