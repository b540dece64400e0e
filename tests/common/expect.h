/* expect.h - the check that a file in memory does not open, and why. After <cmocka.h>. */
#pragma once

#include "read/snapshot.h"

static inline void expect_failure(const void *data, size_t size, int code, uint64_t offset,
                                  const char *message) {
  lh_error error = {0};
  lh_snapshot *s = (lh_snapshot *)&error;
  assert_int_equal(lh_open_memory(&s, data, size, "f", &error), code);
  assert_null(s);
  assert_string_equal(error.message, message);
  assert_int_equal(error.code, code);
  assert_int_equal(error.offset, offset);
}
