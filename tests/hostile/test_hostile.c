/*
** test_hostile.c - files that were made to do harm, all with right checksums: cycles of every kind
** of reference, chains that would be too deep for recursion, and records chosen so that as little
** of a file as possible asks for as much memory as possible. None of them must crash or hang a
** command, and the memory that reading takes stays below MOST_TIMES the file's size.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyses/answers.h"
#include "ask.h"
#include "compare/answers.h"
#include "forged_file.h"
#include "read/snapshot.h"
#include "rooms/all.h"
#include "soak.h"

enum { MOST_TIMES = 48 };

typedef struct hostile {
  const char *name;
  void (*make)(forge *f, unsigned n);
  unsigned n;
} hostile;

/* The address of object i; eight bytes apart, so that most references take one or two bytes. */
static uint64_t at(unsigned i) {
  return 0x10000 + 8 * (uint64_t)i;
}

static void begin_hostile(forge *f) {
  forge_begin(f);
  forge_mark(f, 0x1000, LH_MARK_BY_SNAPSHOT, 1, "a");
}

static void hold(forge *f, uint64_t address) {
  forge_root(f, LH_ROOT_REGISTRY, 0, address);
}

/* What follows stands on fixedgc: each object is a root. */
static void go_to_fixedgc(forge *f) {
  for (int i = 0; i < 3; i++) forge_next_list(f);
}

static void entry(forge *f, uint64_t key, uint64_t value) {
  forge_tags(f, LH_VAL_OBJECT, LH_VAL_OBJECT);
  forge_reference(f, key);
  forge_reference(f, value);
}

static void upvalue(forge *f, unsigned i, uint64_t value) {
  forge_record(f, LH_REC_UPVALUE, at(i), 40);
  forge_object(f, value);
}

static void userdata(forge *f, unsigned i, uint64_t metatable, uint64_t value) {
  forge_record(f, LH_REC_USERDATA | LH_FLAG_METATABLE, at(i), 56);
  forge_uvarint(f, 0);
  forge_reference(f, metatable);
  forge_uvarint(f, 1);
  forge_object(f, value);
}

static void closure(forge *f, unsigned i, uint64_t proto, uint64_t value) {
  forge_record(f, LH_REC_LUA_CLOSURE, at(i), 40);
  forge_uvarint(f, 1);
  forge_reference(f, proto);
  forge_reference(f, value);
}

/* A prototype of line i with one inside. */
static void proto(forge *f, unsigned i, uint64_t source, uint64_t nested, uint64_t name) {
  forge_record(f, LH_REC_PROTO, at(i), 136);
  forge_reference(f, source);
  forge_uvarint(f, i);
  for (int k = 0; k < 8; k++) forge_u8(f, 0); /* line, flags, figures, constants */
  forge_u8(f, 1);
  forge_reference(f, nested);
  forge_reference(f, name);
  forge_u8(f, 1); /* names of upvalues */
  forge_reference(f, name);
  forge_u8(f, 0);
}

/* A suspended coroutine in `function`, which has one local variable. */
static void thread(forge *f, unsigned i, uint64_t function, uint64_t name, uint64_t value) {
  forge_record(f, LH_REC_THREAD, at(i), 1000);
  forge_u8(f, LH_THREAD_SUSPENDED);
  forge_u8(f, 45);
  forge_u8(f, 1);
  forge_object(f, function);
  forge_u8(f, 7);
  forge_u8(f, 1);
  forge_u8(f, LH_SLOT_LOCAL);
  forge_u8(f, 0);
  forge_reference(f, name);
  forge_reference(f, value);
  forge_u8(f, 1);
  forge_reference(f, value);
}

/* ==== cycles ======================================================================== */

/* Each type of object refers to itself in every way that its record has, right or wrong; n: which
** flags the tables have. */
static void selves(forge *f, unsigned n) {
  begin_hostile(f);
  forge_table(f, at(0), n & (LH_FLAG_WEAK_KEYS | LH_FLAG_WEAK_VALUES), at(0), 2);
  entry(f, at(0), at(0));
  entry(f, at(1), at(0));
  upvalue(f, 1, at(1));
  userdata(f, 2, at(2), at(2));
  closure(f, 3, at(3), at(3));
  proto(f, 4, at(4), at(4), at(4));
  thread(f, 5, at(5), at(5), at(5));
  for (unsigned i = 0; i < 6; i++) hold(f, at(i));
}

/* Ring of n, each of another type than the next, through every kind of reference. */
static void ring(forge *f, unsigned n) {
  begin_hostile(f);
  forge_string(f, 0x2000, "name");
  for (unsigned i = 0; i < n; i++) {
    uint64_t next = at((i + 1) % n), last = at((i + n - 1) % n);
    switch (i % 7) {
      case 0:
        forge_table(f, at(i), LH_FLAG_WEAK_KEYS, last, 1);
        entry(f, next, last);
        break;
      case 1: upvalue(f, i, next); break;
      case 2: userdata(f, i, last, next); break;
      case 3: closure(f, i, last, next); break;
      case 4: proto(f, i, 0x2000, next, 0x2000); break;
      case 5: thread(f, i, last, 0x2000, next); break;
      default: forge_table(f, at(i), 0, next, 1); entry(f, 0x2000, last);
    }
  }
  hold(f, at(0));
}

/* Metatables of metatables, with names and modes that are there to be looked up. */
static void metatables(forge *f, unsigned n) {
  begin_hostile(f);
  forge_string(f, 0x2000, "__name");
  forge_string(f, 0x2100, "__index");
  forge_string(f, 0x2200, "__mode");
  for (unsigned i = 0; i < n; i++) {
    forge_table(f, at(i), 0, at((i + 1) % n), 3);
    entry(f, 0x2000, i % 2 ? 0x2100 : at(i));
    entry(f, 0x2100, at((i * 7 + 3) % n));
    entry(f, 0x2200, at(i));
  }
  hold(f, at(0));
}

/* Up and down between any two neighbours, from both ends: no loop has one entry. */
static void ladder(forge *f, unsigned n) {
  begin_hostile(f);
  for (unsigned i = 0; i < n; i++) {
    forge_table(f, at(i), 0, 0, 2);
    entry(f, at((i + 1) % n), at((i + n - 1) % n));
    entry(f, at(i / 2), at((2 * i) % n));
  }
  hold(f, at(n / 3));
  hold(f, at(n - 1));
}

/* All of n tables refer to all. */
static void all_to_all(forge *f, unsigned n) {
  begin_hostile(f);
  for (unsigned i = 0; i < n; i++) {
    forge_table(f, at(i), i % 4 ? 0 : LH_FLAG_WEAK_KEYS, at(n - 1 - i), n);
    for (unsigned k = 0; k < n; k++) entry(f, at(k), at((i + k) % n));
  }
  hold(f, at(0));
}

/* Tables with weak keys that are the keys of each other, and each the value of itself. */
static void ephemerons(forge *f, unsigned n) {
  begin_hostile(f);
  for (unsigned i = 0; i < n; i++) {
    forge_table(f, at(i), LH_FLAG_WEAK_KEYS, 0, 2);
    entry(f, at((i + 1) % n), at(i));
    entry(f, at(i), at((i + 2) % n));
  }
  hold(f, at(0));
  hold(f, at(n / 2));
}

/* Marks that refer to themselves and to each other. */
static void marks(forge *f, unsigned n) {
  forge_begin(f);
  f->footer.serial = n;
  for (unsigned list = 0; list < 2; list++) {
    for (unsigned i = n; i > 0; i--) {
      unsigned id = 2 * i + list;
      forge_record(f, LH_REC_MARK | LH_FLAG_METATABLE, at(id), 88);
      forge_uvarint(f, 32);
      forge_reference(f, at(2 * (i % n + 1)));
      forge_uvarint(f, 1);
      forge_object(f, at(id));
      forge_u8(f, LH_MARK_BY_SNAPSHOT);
      forge_u64(f, f->footer.state_id);
      forge_uvarint(f, i);
      forge_u64(f, f->footer.time_ns);
      forge_uvarint(f, 1);
      forge_u8(f, 'a');
    }
    forge_next_list(f);
  }
  hold(f, at(2));
}

static void cycles_of_every_sort(void **state) {
  static const hostile cases[] = {
      {"selves", selves, 0},
      {"selves, weak keys", selves, LH_FLAG_WEAK_KEYS},
      {"selves, weak values", selves, LH_FLAG_WEAK_VALUES},
      {"selves, all weak", selves, LH_FLAG_WEAK_KEYS | LH_FLAG_WEAK_VALUES},
      {"ring", ring, 1},
      {"ring", ring, 7},
      {"ring", ring, 700},
      {"metatables", metatables, 1},
      {"metatables", metatables, 2},
      {"metatables", metatables, 300},
      {"ladder", ladder, 2},
      {"ladder", ladder, 500},
      {"all to all", all_to_all, 60},
      {"ephemerons", ephemerons, 1},
      {"ephemerons", ephemerons, 2},
      {"ephemerons", ephemerons, 300},
      {"marks", marks, 1},
      {"marks", marks, 100},
  };
  size_t n = sizeof cases / sizeof *cases;
  (void)state;
  for (size_t i = 0; i < n; i++) {
    forge f;
    lh_snapshot *s;
    lh_error error = {0};
    cases[i].make(&f, cases[i].n);
    forge_finish(&f);
    if (lh_open_memory(&s, f.data, f.size, cases[i].name, &error)) fail_msg("%s", error.message);
    lh_close(s);
    ask_all(f.data, f.size);
    forge_free(&f);
  }
  printf("faults: cycles of every sort: %zu cases, %zu survived\n", n, n);
}

/* ==== depth, and memory ============================================================= */

static void deep_tables(forge *f, unsigned n) {
  begin_hostile(f);
  for (unsigned i = 0; i < n; i++) {
    forge_table(f, at(i), 0, at(i + 1), 1);
    entry(f, at(i + 2), at(i + 1));
  }
  hold(f, at(0));
}

static void deep_upvalues(forge *f, unsigned n) {
  begin_hostile(f);
  for (unsigned i = 0; i < n; i++) upvalue(f, i, at(i + 1));
  hold(f, at(0));
}

static void deep_functions(forge *f, unsigned n) {
  begin_hostile(f);
  forge_string(f, 0x2000, "f");
  for (unsigned i = 0; i < n; i++) proto(f, i, 0x2000, at(i + 1), 0x2000);
  hold(f, at(0));
}

static void deep_threads(forge *f, unsigned n) {
  begin_hostile(f);
  forge_string(f, 0x2000, "co");
  for (unsigned i = 0; i < n; i++) thread(f, i, at(i + 1), 0x2000, at(i + 1));
  hold(f, at(0));
}

/* Each value is the key of the next entry, which stands before it and in the other table. */
static void deep_ephemerons(forge *f, unsigned n) {
  begin_hostile(f);
  for (unsigned i = 0; i <= n; i++) upvalue(f, i, at(i));
  for (unsigned table = 0; table < 2; table++) {
    forge_table(f, 0x2000 + 64 * table, LH_FLAG_WEAK_KEYS, 0, n / 2);
    for (unsigned i = n / 2; i > 0; i--) entry(f, at(2 * i - 2 + table), at(2 * i - 1 + table));
    hold(f, 0x2000 + 64 * table);
  }
  hold(f, at(0));
}

/* Three bytes an object. */
static void smallest(forge *f, unsigned n) {
  begin_hostile(f);
  for (unsigned i = 0; i < n; i++) forge_record(f, LH_REC_TABLE | LH_FLAG_DEAD, at(i), 56);
}

static void smallest_roots(forge *f, unsigned n) {
  begin_hostile(f);
  go_to_fixedgc(f);
  for (unsigned i = 0; i < n; i++) forge_string(f, at(i), "");
}

/* One byte an edge. */
static void smallest_edges(forge *f, unsigned n) {
  begin_hostile(f);
  forge_record(f, LH_REC_LUA_CLOSURE, at(0), 40);
  forge_uvarint(f, n);
  for (unsigned i = 0; i <= n; i++) forge_reference(f, at(i % 2));
  upvalue(f, 1, at(0));
  hold(f, at(0));
}

static void smallest_ephemerons(forge *f, unsigned n) {
  begin_hostile(f);
  forge_table(f, at(0), LH_FLAG_WEAK_KEYS, 0, n);
  for (unsigned i = 0; i < n; i++) entry(f, at(1), at(1 + i % 20));
  for (unsigned i = 1; i < 22; i++) upvalue(f, i, at(0));
  hold(f, at(0));
  hold(f, at(1));
}

static void smallest_marks(forge *f, unsigned n) {
  forge_begin(f);
  f->footer.serial = n;
  for (unsigned i = n; i > 0; i--) forge_mark(f, at(i), LH_MARK_BY_SNAPSHOT, i, "");
}

/* One long name makes a class of each function: `byte` is what it is made of, escaped or not. */
static void names_of(forge *f, unsigned n, char byte) {
  char name[300];
  memset(name, byte, sizeof name);
  name[sizeof name - 1] = '\0';
  name[0] = '@';
  begin_hostile(f);
  forge_string(f, at(0), name);
  go_to_fixedgc(f);
  for (unsigned i = 1; i < n; i += 3) {
    proto(f, i, at(0), at(i + 3), at(0));
    closure(f, i + 1, at(i), 0);
    thread(f, i + 2, at(i + 1), at(0), at(i + 1));
  }
}

static void plain_names(forge *f, unsigned n) {
  names_of(f, n, 'x');
}

static void escaped_names(forge *f, unsigned n) {
  names_of(f, n, '\xff');
}

/* A class for each table, by metatable. */
static void short_names(forge *f, unsigned n) {
  begin_hostile(f);
  forge_string(f, at(0), "__name");
  go_to_fixedgc(f);
  for (unsigned i = 1; i < n; i += 3) {
    char name[16];
    (void)snprintf(name, sizeof name, "%x", i);
    forge_string(f, at(i), name);
    forge_table(f, at(i + 1), 0, 0, 1);
    entry(f, at(0), at(i));
    forge_table(f, at(i + 2), 0, at(i + 1), 0);
  }
}

/* And by the names of its fields. */
static void shapes(forge *f, unsigned n) {
  begin_hostile(f);
  for (unsigned i = 0; i < 64; i++) {
    char name[100];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    name[0] = (char)('0' + i);
    forge_string(f, at(i), name);
  }
  go_to_fixedgc(f);
  uint32_t random = 1;
  for (unsigned i = 64; i < n; i++) {
    forge_table(f, at(i), 0, 0, 8);
    for (unsigned k = 0; k < 8; k++) {
      random = random * 1103515245 + 12345;
      entry(f, at(random >> 26), at(i));
    }
  }
}

/* Opens, verifies, analyses and classifies; any answer will do. */
static uint64_t peak_bytes_of(const forge *f) {
  (void)lh_test_peak_bytes();
  ask_open(f->data, f->size);
  return lh_test_peak_bytes();
}

/* The same, and then merges the paths of all objects. */
static uint64_t merging_peak_of(const forge *f, lh_merged_paths *merged) {
  lh_snapshot *s;
  *merged = (lh_merged_paths){0};
  (void)lh_test_peak_bytes();
  assert_int_equal(lh_open_memory(&s, f->data, f->size, "f", NULL), LH_OK);
  if (lh_analyse(s, NULL) == LH_OK && lh_classify(s, NULL) == LH_OK) {
    uint32_t n = lh_object_count(s);
    lh_id *ids = malloc(n * sizeof *ids);
    for (lh_id id = 1; id <= n; id++) ids[id - 1] = id;
    assert_int_equal(lh_merge_paths(s, ids, n, 0, merged, NULL), LH_OK);
    free(ids);
  }
  lh_close(s);
  return lh_test_peak_bytes();
}

static uint64_t waste_peak_of(const forge *f, lh_waste **waste) {
  lh_snapshot *s;
  (void)lh_test_peak_bytes();
  assert_int_equal(lh_open_memory(&s, f->data, f->size, "f", NULL), LH_OK);
  *waste = NULL;
  if (lh_analyse(s, NULL) == LH_OK && lh_classify(s, NULL) == LH_OK)
    assert_int_equal(lh_find_waste(s, waste, NULL), LH_OK);
  lh_close(s);
  return lh_test_peak_bytes();
}

/* The same, and then describes classes and looks for what grows. */
static uint64_t advising_peak_of(const forge *f) {
  lh_snapshot *s;
  (void)lh_test_peak_bytes();
  assert_int_equal(lh_open_memory(&s, f->data, f->size, "f", NULL), LH_OK);
  if (lh_analyse(s, NULL) == LH_OK && lh_classify(s, NULL) == LH_OK) {
    lh_growings growings;
    assert_int_equal(lh_find_growing(s, NULL, &growings, NULL), LH_OK);
    lh_growings_free(&growings);
    for (uint32_t i = 0; i < lh_class_count(s) && i < 5; i++) {
      lh_description d;
      const lh_class *class = lh_class_at(s, i);
      if (class->objects + class->garbage_objects == 0) continue;
      assert_int_equal(lh_describe_class(s, class->name, &d, NULL), LH_OK);
      lh_description_free(&d);
    }
  }
  lh_close(s);
  return lh_test_peak_bytes();
}

static void depth_and_memory(void **state) {
  static const hostile cases[] = {{"deep tables", deep_tables, 50000},
                                  {"deep upvalues", deep_upvalues, 100000},
                                  {"deep functions", deep_functions, 30000},
                                  {"deep threads", deep_threads, 30000},
                                  {"deep ephemerons", deep_ephemerons, 100000},
                                  {"smallest objects", smallest, 100000},
                                  {"smallest roots", smallest_roots, 100000},
                                  {"smallest edges", smallest_edges, 400000},
                                  {"smallest ephemerons", smallest_ephemerons, 100000},
                                  {"smallest marks", smallest_marks, 10000},
                                  {"plain names", plain_names, 30000},
                                  {"escaped names", escaped_names, 30000},
                                  {"short names", short_names, 60000},
                                  {"shapes", shapes, 10000}};
  size_t n = sizeof cases / sizeof *cases;
  double most = 0;
  (void)state;
  for (size_t i = 0; i < n; i++) {
    forge f;
    cases[i].make(&f, cases[i].n / soak_step(1));
    forge_finish(&f);
    double times = (double)peak_bytes_of(&f) / (double)f.size;
    if (times > MOST_TIMES) fail_msg("%s: %.1f times the file", cases[i].name, times);
    if (times < 1) fail_msg("%s was not read", cases[i].name);
    lh_merged_paths merged;
    if (merging_peak_of(&f, &merged) > MOST_TIMES * f.size) fail_msg("%s, merged", cases[i].name);
    lh_merged_paths_free(&merged);
    lh_waste *waste;
    if (waste_peak_of(&f, &waste) > MOST_TIMES * f.size) fail_msg("%s, waste", cases[i].name);
    lh_waste_free(waste);
    if (advising_peak_of(&f) > MOST_TIMES * f.size) fail_msg("%s, advised", cases[i].name);
    if (times > most) most = times;
    forge_free(&f);
  }
  printf(
      "faults: files made for depth or memory, %.0f times their size at most: %zu cases, "
      "%zu survived\n",
      most, n, n);
}

/* The names of the classes are kept only up to a multiple of the file. */
static void names_have_a_limit(void **state) {
  forge f;
  lh_snapshot *s;
  lh_error error = {0};
  (void)state;
  escaped_names(&f, 30000);
  forge_finish(&f);
  assert_int_equal(lh_open_memory(&s, f.data, f.size, "f", NULL), LH_OK);
  assert_int_equal(lh_analyse(s, NULL), LH_OK);
  assert_int_equal(lh_classify(s, &error), LH_ELIMIT);
  assert_string_equal(error.message,
                      "'f' is no heap of a program: its names take 16 times its size");
  assert_int_equal(lh_class_count(s), 0);
  lh_close(s);
  forge_free(&f);
}

/* A tree, both branches of each level under two long names of their own: a path that none other is
** like to each leaf. The leaves are younger than the mark "old". */
static void many_paths(forge *f, unsigned depth) {
  unsigned n_leaves = 1u << depth;
  forge_begin(f);
  f->footer.serial = 2;
  forge_mark(f, 0x1000, LH_MARK_BY_SNAPSHOT, 2, "a");
  for (unsigned i = 0; i < n_leaves; i++) forge_table(f, at(n_leaves + i), 0, 0, 0);
  forge_mark(f, 0x1100, LH_MARK_BY_MARK, 1, "old");
  for (unsigned i = 1, level = 0; i < n_leaves; i++) {
    if (i >> (level + 1)) level++;
    forge_table(f, at(i), 0, 0, 2);
    entry(f, 0x2000 + 128 * level, at(2 * i));
    entry(f, 0x2040 + 128 * level, at(2 * i + 1));
  }
  for (unsigned i = 0; i < 2 * depth; i++) {
    char name[120];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    name[0] = (char)(i < 26 ? 'A' + i : 'a' + i - 26);
    forge_string(f, 0x2000 + 64 * i, name);
  }
  forge_next_list(f);
  forge_mark(f, 0x1200, LH_MARK_BY_SNAPSHOT, 2, "a");
  forge_mark(f, 0x1300, LH_MARK_BY_MARK, 1, "old");
  forge_root(f, LH_ROOT_GLOBALS, 0, at(1));
}

/* Of the new objects the paths are told until they take too much; what comes then is one group. In
** the merged paths of all each is a row. */
static void paths_have_a_limit(void **state) {
  enum { DEPTH = 15 };
  forge f;
  lh_snapshot *s;
  lh_diff *diff;
  uint64_t objects = 0, untold = 0;
  (void)state;
  many_paths(&f, DEPTH);
  forge_finish(&f);
  (void)lh_test_peak_bytes();
  assert_int_equal(lh_open_memory(&s, f.data, f.size, "f", NULL), LH_OK);
  assert_int_equal(lh_diff_marks(s, "old", NULL, &diff, NULL), LH_OK);
  assert_true(lh_test_peak_bytes() < MOST_TIMES * f.size);
  for (size_t i = 0; i < diff->n_groups; i++) {
    objects += diff->groups[i].objects;
    if (strcmp(diff->groups[i].held_by, "...") == 0) untold += diff->groups[i].objects;
  }
  assert_true(objects == 1u << DEPTH && untold > 1000 && diff->n_groups > 1000);
  lh_diff_free(diff);
  lh_close(s);
  lh_merged_paths merged;
  assert_true(merging_peak_of(&f, &merged) < MOST_TIMES * f.size);
  untold = 0;
  for (size_t i = 0; i < merged.n_rows; i++) untold += strcmp(merged.rows[i].path, "...") == 0;
  assert_true(untold > 1000 && merged.n_rows - untold > 1000 && merged.n_holders > 0);
  lh_merged_paths_free(&merged);
  lh_waste *waste;
  assert_true(waste_peak_of(&f, &waste) < MOST_TIMES * f.size);
  const lh_waste_sum *small = &waste->kinds[LH_WASTE_SMALL_TABLES];
  untold = 0;
  for (size_t i = 0; i < small->n_rows; i++)
    if (strcmp(small->rows[i].held_by, "...") == 0) untold += small->rows[i].objects;
  assert_true(small->objects == 1u << DEPTH && untold > 1000 && small->n_rows > 1000);
  lh_waste_free(waste);
  forge_free(&f);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cycles_of_every_sort), cmocka_unit_test(depth_and_memory),
      cmocka_unit_test(names_have_a_limit), cmocka_unit_test(paths_have_a_limit)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
