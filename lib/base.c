/*
** base.c - errors and allocation (see base.h).
*/
#include "base.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void set_message(lh_error *error, int code, const char *format, va_list args) {
  memset(error, 0, sizeof *error);
  error->code = code;
  (void)vsnprintf(error->message, sizeof error->message, format, args);
}

int lh_fail(lh_error *error, int code, const char *format, ...) {
  if (error) {
    va_list args;
    va_start(args, format);
    set_message(error, code, format, args);
    va_end(args);
  }
  return code;
}

int lh_fail_errno(lh_error *error, int os_errno, const char *format, ...) {
  if (error) {
    va_list args;
    va_start(args, format);
    set_message(error, LH_EIO, format, args);
    va_end(args);
    error->os_errno = os_errno;
    size_t used = strlen(error->message);
    (void)snprintf(error->message + used, sizeof error->message - used, ": %s", strerror(os_errno));
  }
  return LH_EIO;
}

int lh_fail_at(lh_error *error, uint64_t offset, const char *format, ...) {
  if (error) {
    va_list args;
    va_start(args, format);
    set_message(error, LH_EDAMAGED, format, args);
    va_end(args);
    error->offset = offset;
  }
  return LH_EDAMAGED;
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

static bool may_allocate(void) {
  test_count++;
  return test_fail_at == 0 || test_count < test_fail_at;
}
#else
static bool may_allocate(void) {
  return true;
}
#endif

void *lh_realloc(void *block, size_t n, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(n, size, &bytes) || !may_allocate()) return NULL;
  return realloc(block, bytes ? bytes : 1);
}

void *lh_alloc(size_t n, size_t size) {
  return lh_realloc(NULL, n, size);
}

void *lh_alloc_zeroed(size_t n, size_t size) {
  return may_allocate() ? calloc(n ? n : 1, size) : NULL;
}

char *lh_copy_text(const char *text) {
  size_t n = strlen(text) + 1;
  char *copy = lh_alloc(n, 1);
  if (copy) memcpy(copy, text, n);
  return copy;
}

bool lh_grow(void *array_pointer, size_t used, size_t *capacity, size_t size) {
  void *block;
  if (used < *capacity) return true;
  size_t wanted = *capacity < 8 ? 8 : *capacity + *capacity / 2;
  memcpy(&block, array_pointer, sizeof block); /* the caller's pointer, whatever its type */
  block = lh_realloc(block, wanted, size);
  if (!block) return false;
  memcpy(array_pointer, &block, sizeof block);
  *capacity = wanted;
  return true;
}

void lh_free(void *result) {
  free(result);
}
