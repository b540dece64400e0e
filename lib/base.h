/*
** base.h - what every file of the library uses: the error object and the one place that allocates.
** Sizes are counted in elements, multiplications are checked, and a test can make the n-th
** allocation fail. The memory is libc's, never the Lua heap's.
*/
#ifndef LUAHEAP_BASE_H
#define LUAHEAP_BASE_H

#include <locale.h>
#include <stdio.h>
#include <time.h>

#include "luaheap_read.h"

/* Fills *error (if not NULL) and returns `code`. The message follows printf; behind it stands the
** text of os_errno, if that is not 0. */
int lh_fail_with(lh_error *error, int code, int os_errno, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Without more, LH_EIO with an errno, and LH_EDAMAGED at a byte offset of the file. */
#define lh_fail(error, code, ...) lh_fail_with(error, code, 0, 0, __VA_ARGS__)
#define lh_fail_errno(error, os_errno, ...) lh_fail_with(error, LH_EIO, os_errno, 0, __VA_ARGS__)
#define lh_fail_at(error, offset, ...) lh_fail_with(error, LH_EDAMAGED, 0, offset, __VA_ARGS__)
int lh_fail_memory(lh_error *error, const char *doing);

/* n elements of `size` bytes, not cleared and cleared; NULL when out of memory or too big. */
void *lh_alloc(size_t n, size_t size);
void *lh_alloc_zeroed(size_t n, size_t size);
void *lh_realloc(void *block, size_t n, size_t size);

/* The same from the system, in whole pages, cleared, and given back to it at once: libc's malloc
** puts all free chunks of the host together before it looks for room for a big block, which takes
** as long as there are many. */
void *lh_alloc_pages(size_t bytes);
void lh_free_pages(void *block, size_t bytes);

/* Addresses without memory, freed by lh_free_pages; whole pages of them get memory, cleared, and
** lose it again, but stay usable. */
void *lh_reserve_addresses(size_t bytes);
bool lh_give_memory(void *pages, size_t bytes);
void lh_take_memory(void *pages, size_t bytes);

/* The name of an enum's value, of the list of them all. */
#define LH_WORD_OF(words, value) \
  ((unsigned)(value) < sizeof(words) / sizeof *(words) ? (words)[value] : "?")

/* A copy of the string, or NULL. */
char *lh_copy_text(const char *text);

/* Makes room for one more element in a growing array: *capacity grows by half. The block is
** unchanged (and still owned) on failure, which is a false. */
bool lh_grow(void *array_pointer, size_t used, size_t *capacity, size_t size);

/* Gives back what the array has room for and does not use. On failure, a false, nothing changes. */
bool lh_fit(void *array_pointer, size_t used, size_t *capacity, size_t size);

/* For what compares two rows, a ?: between its reasons: the smaller comes first, or the greater. */
#define LH_LESS(a, b) (((a) > (b)) - ((a) < (b)))
#define LH_MORE(a, b) LH_LESS(b, a)

/* Binary search among n things in order: `at`, a variable, becomes the number of the first of which
** `is_before`, said of `at`, is false; n where it is true of all. */
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

/* What printf and strtod take for a point, which a program may change by os.setlocale. */
static inline char lh_decimal_point(void) {
  return localeconv()->decimal_point[0];
}

/* For tests: the n-th allocation from now on fails, and all after it; 0: none. Compiled with
** LH_TEST_ALLOC only. Returns how many allocations there were since the last call. */
#ifdef LH_TEST_ALLOC
uint64_t lh_test_fail_allocation(uint64_t n);

/* Is an allocation to fail? */
bool lh_test_is_failing(void);

/* The most bytes that were allocated at one time since the last call. */
uint64_t lh_test_peak_bytes(void);
#endif

/* Do two sizes read the same; does a share read as 0.0%? And a time without "UTC" behind it, as
** marks without a name are named. */
bool lh_sizes_read_alike(uint64_t a, uint64_t b, bool exact);
bool lh_is_least_share(uint64_t part, uint64_t whole);
lh_number lh_time_name(uint64_t time_ns);

/* Of a clock that never goes back. */
static inline uint64_t lh_now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* XXH64 (Yann Collet's xxHash, specification of doc/xxhash_spec.md), one shot. About 10 GB/s. */
uint64_t lh_hash(const void *data, size_t n, uint64_t seed);

/* Another number each time, which nobody can guess: of the system's, or of its clock and process
** where it has none to give. */
uint64_t lh_random_seed(void);

static inline uint64_t lh_load64(const uint8_t *p) {
  uint64_t n;
  __builtin_memcpy(&n, p, sizeof n);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  n = __builtin_bswap64(n);
#endif
  return n;
}

static inline uint32_t lh_load32(const uint8_t *p) {
  uint32_t n;
  __builtin_memcpy(&n, p, sizeof n);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  n = __builtin_bswap32(n);
#endif
  return n;
}

static inline void lh_store64(uint8_t *p, uint64_t n) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  n = __builtin_bswap64(n);
#endif
  __builtin_memcpy(p, &n, sizeof n);
}

static inline void lh_store32(uint8_t *p, uint32_t n) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  n = __builtin_bswap32(n);
#endif
  __builtin_memcpy(p, &n, sizeof n);
}

#endif
