/* base.c - errors and allocation (see base.h). */
#include "base.h"

#include <malloc.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

static bool continues_character(char c) {
  return ((unsigned char)c & 0xC0) == 0x80; /* UTF-8 */
}

/* Copies both ends of a text that is too long: the end says what is wrong. */
static void copy_ends(char *message, size_t size, const char *text) {
  size_t head = (size - 4) / 2, tail = strlen(text) - head;
  while (head > 0 && continues_character(text[head])) head--;
  while (continues_character(text[tail])) tail++;
  (void)snprintf(message, size, "%.*s...%s", (int)head, text, text + tail);
}

/* Uses a function that takes no lock of libc if there is one: a forked child calls this, too. */
static const char *describe_errno(int os_errno) {
#if defined __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 32)
  const char *known = strerrordesc_np(os_errno);
  if (known) return known;
#endif
#endif
  return strerror(os_errno);
}

int lh_fail_with(lh_error *error, int code, int os_errno, uint64_t offset, const char *format,
                 ...) {
  if (!error) return code;
  const char *colon = os_errno ? ": " : "", *why = os_errno ? describe_errno(os_errno) : "";
  size_t size = sizeof error->message, needed;
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  *error = (lh_error){.code = code, .os_errno = os_errno, .offset = offset};
  int n = vsnprintf(error->message, size, format, args);
  needed = (n < 0 ? 0 : (size_t)n) + strlen(colon) + strlen(why) + 1;
  char *whole = needed > size ? lh_alloc(needed, 1) : NULL; /* NULL: only the beginning is kept */
  if (whole) {
    (void)vsnprintf(whole, needed, format, again);
    strcat(strcat(whole, colon), why);
    copy_ends(error->message, size, whole);
    lh_free(whole);
  } else if (needed <= size) {
    strcat(strcat(error->message, colon), why);
  }
  va_end(again);
  va_end(args);
  return code;
}

int lh_fail_memory(lh_error *error, const char *doing) {
  int code = lh_fail(error, LH_EMEMORY, "not enough memory while %s", doing);
  if (error) error->os_errno = ENOMEM;
  return code;
}

#ifdef LH_TEST_ALLOC
static uint64_t test_fail_at;
static uint64_t test_count;

uint64_t lh_test_fail_allocation(uint64_t n) {
  uint64_t counted = test_count;
  test_fail_at = n;
  test_count = 0;
  return counted;
}

bool lh_test_is_failing(void) {
  return test_fail_at != 0;
}

static bool may_allocate(void) {
  uint64_t count = __atomic_add_fetch(&test_count, 1, __ATOMIC_RELAXED);
  return test_fail_at == 0 || count < test_fail_at;
}

static uint64_t test_bytes, test_peak_bytes;

uint64_t lh_test_peak_bytes(void) {
  uint64_t peak = test_peak_bytes;
  test_peak_bytes = test_bytes;
  return peak;
}

static size_t block_bytes(void *block) {
  return malloc_usable_size(block);
}

static void *count_bytes(size_t before, void *block) {
  uint64_t bytes = __atomic_add_fetch(&test_bytes, block_bytes(block) - before, __ATOMIC_RELAXED);
  uint64_t peak = __atomic_load_n(&test_peak_bytes, __ATOMIC_RELAXED);
  while (bytes > peak && !__atomic_compare_exchange_n(&test_peak_bytes, &peak, bytes, true,
                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    continue;
  return block;
}
#else
static bool may_allocate(void) {
  return true;
}

static size_t block_bytes(void *block) {
  (void)block;
  return 0;
}

static void *count_bytes(size_t before, void *block) {
  (void)before;
  return block;
}
#endif

static size_t in_pages(size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (bytes + page - 1) / page * page;
}

void *lh_alloc_pages(size_t bytes) {
  if (!may_allocate()) return NULL;
  void *block =
      mmap(NULL, in_pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return block == MAP_FAILED ? NULL : block;
}

void lh_free_pages(void *block, size_t bytes) {
  if (block) (void)munmap(block, in_pages(bytes));
}

void *lh_reserve_addresses(size_t bytes) {
  enum { KIND = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };
  if (!may_allocate()) return NULL;
  void *block = mmap(NULL, in_pages(bytes), PROT_NONE, KIND, -1, 0);
  return block == MAP_FAILED ? NULL : block;
}

bool lh_give_memory(void *pages, size_t bytes) {
  return may_allocate() && mprotect(pages, bytes, PROT_READ | PROT_WRITE) == 0;
}

void lh_take_memory(void *pages, size_t bytes) {
  (void)madvise(pages, bytes, MADV_DONTNEED);
}

void *lh_realloc(void *block, size_t n, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(n, size, &bytes) || !may_allocate()) return NULL;
  size_t before = block_bytes(block);
  void *moved = realloc(block, bytes ? bytes : 1);
  return moved ? count_bytes(before, moved) : NULL;
}

void *lh_alloc(size_t n, size_t size) {
  return lh_realloc(NULL, n, size);
}

void *lh_alloc_zeroed(size_t n, size_t size) {
  return may_allocate() ? count_bytes(0, calloc(n ? n : 1, size)) : NULL;
}

char *lh_copy_text(const char *text) {
  size_t n = strlen(text) + 1;
  char *copy = lh_alloc(n, 1);
  if (copy) memcpy(copy, text, n);
  return copy;
}

static bool resize(void *array_pointer, size_t wanted, size_t *capacity, size_t size) {
  void *block;
  memcpy(&block, array_pointer, sizeof block); /* a pointer of any type */
  block = lh_realloc(block, wanted, size);
  if (!block) return false;
  memcpy(array_pointer, &block, sizeof block);
  *capacity = wanted;
  return true;
}

bool lh_grow(void *array_pointer, size_t used, size_t *capacity, size_t size) {
  if (used < *capacity) return true;
  return resize(array_pointer, *capacity < 8 ? 8 : *capacity + *capacity / 2, capacity, size);
}

bool lh_fit(void *array_pointer, size_t used, size_t *capacity, size_t size) {
  return resize(array_pointer, used, capacity, size);
}

void lh_free(void *result) {
  (void)count_bytes(block_bytes(result), NULL);
  free(result);
}

void lh_free_all(void *const *blocks, size_t n) {
  for (size_t i = 0; i < n; i++) lh_free(blocks[i]);
}

lh_error *lh_error_new(void) {
  return lh_alloc_zeroed(1, sizeof(lh_error));
}

const char *lh_error_message(const lh_error *error) {
  return error ? error->message : "out of memory";
}

const char *lh_version(void) {
  return LH_VERSION;
}
