/*
** test_c_functions.c - what C functions are called that nothing in the heap names, where a snapshot
** from outside knows their code:
**
**     root -registry-> {1, 2, 3, 4}     four C functions, each under its number
**     root -main thread-> thread        in a light C function, under another
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compare/answers.h"
#include "forged_file.h"
#include "rooms/compare.h"

enum { FUNCTIONS = 4 };
enum { AT_MARK = 0x100, AT_FINOBJ_MARK = 0x200, AT_TABLE = 0x1000 };
enum { AT_FUNCTIONS = 0x2000, AT_THREAD = 0x3000 };

static const struct {
  const char *symbol, *library;
  uint64_t offset;
} codes[FUNCTIONS + 1] = {{"on_packet", "libgame.so", 0x1a2b},
                          {"", "libgame.so", 0x1b00},
                          {"\x1b[31m<b>\n@x [C]", "lib\xff.so", 1},
                          {"", "", 0}, /* in no file */
                          {"tick", "game", 0x401136}};

static uint64_t at(int i) {
  return AT_FUNCTIONS + 0x40 * (uint64_t)i;
}

static void frame(forge *f, unsigned tag, uint64_t function) {
  forge_u8(f, tag);
  if (tag == LH_VAL_CFUNCTION) forge_uvarint(f, function);
  forge_uvarint(f, 0); /* line */
  forge_uvarint(f, 0); /* slots */
}

static void marks(forge *f, uint64_t address) {
  if (f->footer.serial == 2) forge_mark(f, address, LH_MARK_BY_SNAPSHOT, 2, "b");
  forge_mark(f, address + 0x40, LH_MARK_BY_SNAPSHOT, 1, "a");
}

/* The program's code is from `base` on. */
static void forge_program(forge *f, uint64_t serial, uint64_t base, bool is_outside) {
  forge_begin(f);
  f->footer.serial = serial;
  f->footer.time_ns += serial;
  if (is_outside) forge_outside(f, LH_STILL_FORK, 0);
  marks(f, AT_MARK);
  forge_table(f, AT_TABLE, 0, 0, FUNCTIONS);
  for (int i = 0; i < FUNCTIONS; i++) {
    forge_tags(f, LH_VAL_INTEGER, LH_VAL_OBJECT);
    forge_svarint(f, i + 1);
    forge_reference(f, at(i));
  }
  for (int i = 0; i < FUNCTIONS; i++) {
    forge_record(f, LH_REC_C_CLOSURE, at(i), 32);
    forge_uvarint(f, base + 0x10 * (uint64_t)i);
    forge_uvarint(f, 0);
  }
  forge_record(f, LH_REC_THREAD | LH_FLAG_MAIN, AT_THREAD, 1000);
  forge_u8(f, LH_THREAD_NORMAL);
  forge_uvarint(f, 45);
  forge_uvarint(f, 2);
  frame(f, LH_VAL_NIL, 0);
  frame(f, LH_VAL_CFUNCTION, base + 0x10 * FUNCTIONS);
  forge_uvarint(f, 0); /* open upvalues */
  forge_next_list(f);
  marks(f, AT_FINOBJ_MARK);
  forge_root(f, LH_ROOT_REGISTRY, 0, AT_TABLE);
  forge_root(f, LH_ROOT_MAIN_THREAD, 0, AT_THREAD);
  for (int i = 0; is_outside && i <= FUNCTIONS; i++)
    forge_c_function(f, base + 0x10 * (uint64_t)i, codes[i].symbol, codes[i].library,
                     codes[i].offset);
  forge_finish(f);
}

static lh_snapshot *open_forged(const forge *f) {
  lh_snapshot *s;
  lh_error error = {0};
  if (lh_open_memory(&s, f->data, f->size, "f", &error) < 0) fail_msg("%s", error.message);
  return s;
}

static lh_snapshot *take_program(forge *f, uint64_t base, bool is_outside) {
  lh_error error = {0};
  forge_program(f, 1, base, is_outside);
  lh_snapshot *s = open_forged(f);
  int code = lh_analyse(s, &error);
  if (code == LH_OK) code = lh_classify(s, &error);
  if (code < 0) fail_msg("%s", error.message);
  return s;
}

static const char *class_of(const lh_snapshot *s, int i) {
  return lh_class_at(s, lh_class_of(s, lh_find_address(s, at(i))))->name;
}

/* What the main thread is in. */
static char *innermost(const lh_snapshot *s) {
  lh_edges it;
  lh_frame f;
  char *text = NULL;
  for (lh_frames_begin(s, lh_find_address(s, AT_THREAD), &it); lh_frames_next(&it, &f);) {
    lh_free(text);
    text = lh_frame_text(s, &f);
  }
  return text;
}

static void assert_innermost(const lh_snapshot *s, const char *expected) {
  char *text = innermost(s);
  assert_string_equal(text, expected);
  lh_free(text);
}

static void from_outside_by_their_code(void **state) {
  static const uint64_t bases[] = {0x55501230, 0x7f0012340000}; /* of two runs */
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    forge f;
    lh_snapshot *s = take_program(&f, bases[i], true);
    assert_string_equal(class_of(s, 0), "C function on_packet (libgame.so+0x1a2b)");
    assert_string_equal(class_of(s, 1), "C function libgame.so+0x1b00");
    assert_string_equal(class_of(s, 2), "C function \\x1B[31m<b>\\n@x [C] (lib\\xFF.so+0x1)");
    assert_string_equal(class_of(s, 3), "function [C]");
    assert_innermost(s, "[C] in function tick (game+0x401136)");
    lh_close(s);
    forge_free(&f);
  }
}

static void from_inside_by_nothing(void **state) {
  forge f;
  (void)state;
  lh_snapshot *s = take_program(&f, 0x55501230, false);
  for (int i = 0; i < FUNCTIONS; i++) assert_string_equal(class_of(s, i), "function [C]");
  assert_innermost(s, "[C] in a function");
  lh_close(s);
  forge_free(&f);
}

/* Compared with one from outside, a snapshot that the program took itself has the names of that. */
static void from_another_of_the_process(void **state) {
  (void)state;
  for (int outside = 0; outside < 2; outside++) {
    forge f[2];
    lh_snapshot *s[2];
    lh_diff *diff;
    lh_error error = {0};
    for (int i = 0; i < 2; i++) {
      forge_program(&f[i], (uint64_t)i + 1, 0x55501230, i == outside);
      s[i] = open_forged(&f[i]);
    }
    if (lh_diff_snapshots(s[0], NULL, s[1], &diff, &error) < 0) fail_msg("%s", error.message);
    assert_true(diff->same_state);
    lh_diff_free(diff);
    lh_close(s[outside]);
    assert_string_equal(class_of(s[!outside], 0), "C function on_packet (libgame.so+0x1a2b)");
    assert_string_equal(class_of(s[!outside], 3), "function [C]");
    assert_innermost(s[!outside], "[C] in function tick (game+0x401136)");
    assert_null(lh_snapshot_outside(s[!outside]));
    lh_close(s[!outside]);
    for (int i = 0; i < 2; i++) forge_free(&f[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(from_outside_by_their_code),
      cmocka_unit_test(from_inside_by_nothing),
      cmocka_unit_test(from_another_of_the_process),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
