/*
** test_families.c - files of many shapes (families.h), small ones: each opens, grows with its n,
** and survives all questions, of one snapshot and of several.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ask.h"
#include "families.h"
#include "rooms/all.h"

enum { BYTES = 10000 };

static void each_opens_and_grows(void **state) {
  (void)state;
  for (size_t i = 0; i < family_count(); i++) {
    const heap_family *family = family_number(i);
    unsigned n = family_scale(family, BYTES);
    size_t alone = 0;
    for (unsigned serial = 1; serial <= 3; serial++) {
      forge f;
      lh_snapshot *s;
      lh_error error = {0};
      family_make(&f, family, n, serial, serial - 1);
      int code = lh_open_memory(&s, f.data, f.size, family->name, &error);
      if (code != LH_OK) fail_msg("%s: %s", family->name, error.message);
      assert_int_equal(lh_mark_count(s), serial);
      if (serial == 1) alone = f.size;
      lh_close(s);
      forge_free(&f);
    }
    if (alone < BYTES / 2 || alone > BYTES) fail_msg("%s: %zu bytes", family->name, alone);
  }
}

/* Of three snapshots of one run: which has made more and more, or whose old objects grew. */
static void ask_run(const heap_family *family, bool young) {
  unsigned n = family_scale(family, BYTES / 3);
  forge_bytes run = {0};
  for (unsigned serial = 1; serial <= 3; serial++) {
    forge f;
    family_make(&f, family, n * serial / 3, serial, young && serial > 1);
    (void)forge_write(f.data, f.size, &run);
    forge_free(&f);
  }
  ask_several(run.data, run.size);
  free(run.data);
}

static void each_survives_all_questions(void **state) {
  (void)state;
  for (size_t i = 0; i < family_count(); i++) {
    forge f;
    const heap_family *family = family_number(i);
    family_make(&f, family, family_scale(family, BYTES), 2, 1);
    ask_all(f.data, f.size);
    forge_free(&f);
    ask_run(family, true);
    ask_run(family, false);
  }
  printf("faults: files of many shapes, all questions: %zu cases, %zu survived\n", family_count(),
         family_count());
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_opens_and_grows),
                                     cmocka_unit_test(each_survives_all_questions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
