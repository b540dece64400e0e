/*
** base.h - the error object, the library's only allocator, and other helpers of all files,
** with the headers of libc that most of them need.
** Sizes are counted in elements, multiplications are checked, and a test can make the n-th
** allocation fail. The memory is libc's, never the Lua heap's.
*/
#pragma once

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rooms/read.h"

/* Fills *error (if not NULL) and returns `code`. The message is a printf format. The text of
** os_errno is appended if os_errno is not 0. */
int lh_fail_with(lh_error *error, int code, int os_errno, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The same with only a code, with LH_EIO and an errno, and with LH_EDAMAGED and a file offset. */
#define lh_fail(error, code, ...) lh_fail_with(error, code, 0, 0, __VA_ARGS__)
#define lh_fail_errno(error, os_errno, ...) lh_fail_with(error, LH_EIO, os_errno, 0, __VA_ARGS__)
#define lh_fail_at(error, offset, ...) lh_fail_with(error, LH_EDAMAGED, 0, offset, __VA_ARGS__)
int lh_fail_memory(lh_error *error, const char *doing);

/* Nobody can cancel the thread (pthread_cancel) between the two, which nest. Our work takes place
** where memory is asked for: there a thread of the host would leave a Lua state amid a change.
** Async-signal-safe in glibc and musl. In quiet_io.c. */
int lh_hold_cancel(void);
void lh_release_cancel(int before);

/* Memory for n elements of `size` bytes; NULL: out of memory, or the size overflows. */
void *lh_alloc(size_t n, size_t size);
void *lh_alloc_zeroed(size_t n, size_t size);
void *lh_realloc(void *block, size_t n, size_t size);

void lh_free_all(void *const *blocks, size_t n);
#define LH_FREE_ALL(...) \
  lh_free_all((void *[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))

/* Blocks of whole zeroed pages, straight from the system. For a big block libc's malloc first
** merges all free chunks of the host, which is slow if there are many. */
void *lh_alloc_pages(size_t bytes);
void lh_free_pages(void *block, size_t bytes);

/* Reserves addresses without memory; freed by lh_free_pages. lh_give_memory gives zeroed memory to
** whole pages of the block. lh_take_memory takes the contents away; the pages stay usable. */
void *lh_reserve_addresses(size_t bytes);
bool lh_give_memory(void *pages, size_t bytes);
void lh_take_memory(void *pages, size_t bytes);

/* The name of an enum's value; `words` has the names of all values. */
#define LH_WORD_OF(words, value) \
  ((unsigned)(value) < sizeof(words) / sizeof *(words) ? (words)[value] : "?")

char *lh_copy_text(const char *text);

/* Makes room for one more element: *capacity grows by half. False: out of memory; the array is
** unchanged, and the caller still owns it. */
bool lh_grow(void *array_pointer, size_t used, size_t *capacity, size_t size);

/* Frees the unused room of an array. False: out of memory; nothing changed. */
bool lh_fit(void *array_pointer, size_t used, size_t *capacity, size_t size);

/* Compare two keys of rows for qsort: LH_LESS puts the smaller first, LH_MORE the greater. Join
** several keys by ?: . */
#define LH_LESS(a, b) (((a) > (b)) - ((a) < (b)))
#define LH_MORE(a, b) LH_LESS(b, a)

/* Binary search among n sorted elements. `at` is a variable; it becomes the index of the first
** element for which the expression `is_before` is false, or n if there is none. */
#define LH_LOWER_BOUND(at, n, is_before)  \
  do {                                    \
    __typeof__(at) low_ = 0, high_ = (n); \
    while (low_ < high_) {                \
      (at) = low_ + (high_ - low_) / 2;   \
      if (is_before)                      \
        low_ = (at) + 1;                  \
      else                                \
        high_ = (at);                     \
    }                                     \
    (at) = low_;                          \
  } while (false)

static inline char lh_lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The decimal point of printf and strtod. A program can change it by os.setlocale. */
static inline char lh_decimal_point(void) {
  return localeconv()->decimal_point[0];
}

/* For tests, with LH_TEST_ALLOC only: the n-th allocation from now on fails, and all after it; 0:
** none fails. Returns the number of allocations since the last call. */
#ifdef LH_TEST_ALLOC
uint64_t lh_test_fail_allocation(uint64_t n);

bool lh_test_is_failing(void);

/* The most bytes that were allocated at one time since the last call. */
uint64_t lh_test_peak_bytes(void);
#endif

/* lh_sizes_read_alike: are two sizes printed alike? lh_is_least_share: is a share printed as 0.0%?
** lh_time_name: a time without "UTC", which names a mark that has no name. */
bool lh_sizes_read_alike(uint64_t a, uint64_t b, bool exact);
bool lh_is_least_share(uint64_t part, uint64_t whole);
lh_number lh_time_name(uint64_t time_ns);

/* From a clock that never steps back. */
static inline uint64_t lh_now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* XXH64 (xxHash by Yann Collet, doc/xxhash_spec.md) of one buffer. About 10 GB/s. */
uint64_t lh_hash(const void *data, size_t n, uint64_t seed);

/* A new random number that nobody can guess, from the system. If the system has none: from the
** clock and the process id. */
uint64_t lh_random_seed(void);

static inline uint64_t lh_load64(const uint8_t *p) {
  uint64_t n;
  __builtin_memcpy(&n, p, sizeof n);
  return le64toh(n);
}

static inline uint32_t lh_load32(const uint8_t *p) {
  uint32_t n;
  __builtin_memcpy(&n, p, sizeof n);
  return le32toh(n);
}

static inline void lh_store64(uint8_t *p, uint64_t n) {
  n = htole64(n);
  __builtin_memcpy(p, &n, sizeof n);
}

static inline void lh_store32(uint8_t *p, uint32_t n) {
  n = htole32(n);
  __builtin_memcpy(p, &n, sizeof n);
}

/* Does the work on item `i`. False: no later item is needed. */
typedef bool (*lh_work)(void *data, uint32_t i);

/* Calls `work` for the items 0 to n - 1, started in this order, in at most `threads` threads, the
** caller's included; if none can be started, the caller does all. The threads block all signals, so
** the program's handlers run in its own threads, and have ended when it returns. Returns the number
** of the first item for which `work` returned false, or n; all items before it are done. */
uint32_t lh_parallel_for(unsigned threads, uint32_t n, lh_work work, void *data);
