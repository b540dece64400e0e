/*
** families_paths.c - heaps that are hard for what looks for paths in them: ephemerons, dominators,
** independent paths, retained sizes of sets (see families.h).
*/
#include "families.h"

#define at family_at
#define name family_name

/* ==== Ephemerons ===================================================================== */

/* Entry i of a weak table: key i leads to key i + 1. */
static void ephemerons_from(forge *f, unsigned n, bool is_reverse, unsigned per_table) {
  unsigned n_tables = (n + per_table - 1) / per_table;
  family_array(f, 0, 1, n_tables, 1);
  for (unsigned t = 0; t < n_tables; t++) {
    forge_table(f, at(1 + t), LH_FLAG_WEAK_KEYS, 0, per_table);
    for (unsigned k = 0; k < per_table; k++) {
      unsigned i = t * per_table + k, key = 1 + n_tables + (is_reverse ? n - 1 - i % n : i % n);
      family_entry(f, at(key), at(key + 1));
    }
  }
  for (unsigned i = 0; i <= n; i++) family_table(f, 1 + n_tables + i, 0);
  family_globals(f, 0);
  family_hold(f, 1 + n_tables);
}

static void ephemerons(forge *f, unsigned n) {
  ephemerons_from(f, n, false, n);
}

static void ephemerons_backwards(forge *f, unsigned n) {
  ephemerons_from(f, n, true, n);
}

static void weak_tables(forge *f, unsigned n) {
  ephemerons_from(f, n, false, 1);
}

static void weak_tables_backwards(forge *f, unsigned n) {
  ephemerons_from(f, n, true, 1);
}

static void some_weak_tables(forge *f, unsigned n) {
  ephemerons_from(f, n, true, family_root(n));
}

/* All values have one key; all keys one value. */
static void ephemerons_of_one_key(forge *f, unsigned n) {
  family_array(f, 0, 1, n, 1);
  for (unsigned i = 1; i <= n; i++) {
    forge_table(f, at(i), LH_FLAG_WEAK_KEYS, 0, 1);
    family_entry(f, at(n + 1), at(n + 1 + i));
  }
  for (unsigned i = 0; i <= n; i++) family_table(f, n + 1 + i, 0);
  family_globals(f, 0);
  family_hold(f, n + 1);
}

static void ephemerons_of_one_value(forge *f, unsigned n) {
  family_array(f, 0, 3, n, 1);
  forge_table(f, at(1), LH_FLAG_WEAK_KEYS, 0, n);
  for (unsigned i = 0; i < n; i++) family_entry(f, at(3 + i), at(2));
  for (unsigned i = 0; i <= n; i++) family_table(f, 2 + i, 0);
  family_globals(f, 0);
  family_hold(f, 1);
}

/* Each weak table and each key are the values of the entry before. */
static void nested_ephemerons(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    forge_table(f, at(2 * i), LH_FLAG_WEAK_KEYS, 0, 1);
    family_entry(f, at(2 * i + 1), at(2 * i + 3));
    family_table(f, 2 * i + 1, 1);
    family_field(f, 0, 2 * i + 2);
  }
  family_string(f, 0, "weak");
  family_globals(f, 0);
  family_hold(f, 1);
}

/* Weak tables at the end of a long path of long names. */
static void deep_holders(forge *f, unsigned n) {
  enum { DEPTH = 12 };
  for (unsigned i = 0; i < DEPTH; i++) {
    family_table(f, i, 1);
    family_field(f, i, i + 1);
    family_long_string(f, i, 250);
  }
  family_table(f, DEPTH, n);
  for (unsigned i = 0; i < n; i++) family_field(f, DEPTH + 1 + i, DEPTH + 2 + 2 * i);
  for (unsigned i = 0; i < n; i++) {
    forge_table(f, at(DEPTH + 2 + 2 * i), LH_FLAG_WEAK_KEYS, 0, 1);
    family_entry(f, at(DEPTH + 1), at(DEPTH + 3 + 2 * i));
    family_table(f, DEPTH + 3 + 2 * i, 0);
    family_string(f, DEPTH + 1 + i, "w%x", i);
  }
  family_table(f, DEPTH + 1, 0);
  family_globals(f, 0);
  family_hold(f, DEPTH + 1);
}

/* Weak tables that are values of each other, all under one key. */
static void holders_of_holders(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    forge_table(f, at(1 + i), LH_FLAG_WEAK_KEYS, 0, 1);
    family_entry(f, at(0), at(2 + i));
  }
  family_table(f, 0, 0);
  family_globals(f, 0);
  family_hold(f, 1);
}

/* Their keys are never alive, or in each other's tables. */
static void lost_ephemerons(forge *f, unsigned n) {
  family_array(f, 0, 1, n, 1);
  for (unsigned i = 1; i <= n; i++) {
    forge_table(f, at(i), LH_FLAG_WEAK_KEYS, 0, 1);
    family_entry(f, at(n + 1 + i % n), at(n + 1 + (i + 1) % n));
  }
  for (unsigned i = 0; i < n; i++) family_table(f, n + 1 + i, 0);
  family_globals(f, 0);
}

static void weak_values(forge *f, unsigned n) {
  unsigned k = family_root(n);
  family_array(f, 0, 1, 2 * k, 1);
  for (unsigned i = 0; i < k; i++) {
    forge_table(f, at(1 + i), LH_FLAG_WEAK_VALUES, 0, k);
    for (unsigned v = 0; v < k; v++) family_item(f, v, 1 + k + v);
  }
  for (unsigned i = 0; i < k; i++) family_table(f, 1 + k + i, 0);
  family_globals(f, 0);
}

/* ==== Many paths, dominators, flow ==================================================== */

/* Two ways at each step: 2^n paths. */
static void diamonds(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    family_table(f, 3 * i, 2);
    family_field(f, 0, 3 * i + 1);
    family_field(f, 1, 3 * i + 2);
    for (unsigned k = 1; k < 3; k++) {
      family_table(f, 3 * i + k, 1);
      family_field(f, 2, 3 * i + 3);
    }
  }
  family_table(f, 3 * n, 0);
  family_string(f, 0, "left");
  family_string(f, 1, "right");
  family_string(f, 2, "down");
  family_globals(f, 0);
}

/* Each side also knows the next step of the other. */
static void crossed_ladder(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    for (unsigned k = 0; k < 2; k++) {
      family_table(f, 2 * i + k, 3);
      family_field(f, 0, 2 * i + 2);
      family_field(f, 1, 2 * i + 3);
      family_field(f, 2, i ? 2 * i - 2 + k : 0);
    }
  }
  for (unsigned i = 0; i < 2; i++) family_table(f, 2 * n + i, 0);
  for (unsigned i = 0; i < 3; i++) family_string(f, i, "k%u", i);
  family_globals(f, 0);
  family_hold(f, 1);
}

/* Long ways that all meet in the last object; the shortest first. */
static void parallel_lists(forge *f, unsigned n) {
  unsigned k = family_root(2 * n), i = 1;
  family_table(f, 0, k);
  for (unsigned p = 0, first = 1; p < k; first += ++p) family_item(f, p, first);
  for (unsigned p = 1; p <= k; p++)
    for (unsigned s = 0; s < p; s++, i++) {
      family_table(f, i, 1);
      family_field(f, 0, s + 1 < p ? i + 1 : k * (k + 1) / 2 + 1);
    }
  family_table(f, i, 0);
  family_string(f, 0, "next");
  family_globals(f, 0);
}

/* A long list from whose every element a short cut leads to the end, and back from there. */
static void short_cuts(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    family_table(f, i, 2);
    family_field(f, 0, i + 1);
    family_field(f, 1, n);
  }
  family_array(f, n, 0, n, 1);
  family_string(f, 0, "next");
  family_string(f, 1, "last");
  family_globals(f, 0);
}

/* Edges back to each element from a second list, in reverse: semidominators move a step each. */
static void back_edges(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    family_table(f, i, 2);
    family_field(f, 0, i + 1);
    family_field(f, 1, n + 1 + i);
    family_table(f, n + 1 + i, 2);
    family_field(f, 0, n + 2 + i);
    family_field(f, 1, n - i);
  }
  family_table(f, n, 1);
  family_field(f, 0, n + 1);
  family_table(f, 2 * n + 1, 0);
  family_string(f, 0, "next");
  family_string(f, 1, "other");
  family_globals(f, 0);
}

/* A deep list whose elements all are entered from the root's array, last first. */
static void entered_from_the_end(forge *f, unsigned n) {
  forge_record(f, LH_REC_TABLE, at(n), 56);
  forge_uvarint(f, n);
  forge_u8(f, 0);
  forge_uvarint(f, n);
  for (unsigned i = n; i-- > 0;) forge_object(f, at(i));
  forge_uvarint(f, 0);
  for (unsigned i = 0; i < n; i++) {
    family_table(f, i, 1);
    family_field(f, 0, i + 1);
  }
  family_string(f, 0, "next");
  family_globals(f, n);
}

/* Diamonds inside of each other whose tips are of as many classes in turn: what a class retains is
** more than its objects do. */
static void crossed_classes(forge *f, unsigned n) {
  unsigned k = family_root(n);
  for (unsigned i = 0; i < n; i++) {
    family_table(f, 3 * i, 2);
    family_field(f, 0, 3 * i + 1);
    family_field(f, 1, 3 * i + 2);
    for (unsigned side = 1; side < 3; side++) {
      family_table(f, 3 * i + side, 1);
      family_field(f, 2 + i % k, 3 * i + 3);
    }
  }
  family_table(f, 3 * n, 0);
  for (unsigned i = 0; i < k + 2; i++) family_string(f, i, "k%u", i);
  family_globals(f, 0);
}

/* Classes of two objects each that hold all that is below together. */
static void nested_pairs(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    for (unsigned side = 0; side < 2; side++) {
      family_table(f, 2 * i + side, 2);
      family_field(f, i, 2 * i + 2);
      family_field(f, n, 2 * i + 3);
    }
  }
  for (unsigned i = 0; i <= n; i++) family_string(f, i, "k%x", i);
  family_globals(f, 0);
  family_hold(f, 1);
}

/* Captured variables: one name, one value, many open upvalues and many functions that have them. */
static void variables(forge *f, unsigned n) {
  family_thread(f, 0, 1);
  family_frame(f, at(2), n);
  for (unsigned i = 0; i < n; i++) family_slot(f, LH_SLOT_LOCAL, i, name(0), at(1));
  forge_uvarint(f, n);
  for (unsigned i = 0; i < n; i++) forge_reference(f, at(4 + 2 * i));
  family_table(f, 1, 0);
  for (unsigned i = 0; i < n; i++) {
    forge_record(f, LH_REC_UPVALUE | LH_FLAG_OPEN, at(4 + 2 * i), 40);
    forge_object(f, at(1));
    family_closure(f, 5 + 2 * i, at(3), 1);
    forge_reference(f, at(4 + 2 * i));
  }
  family_closure(f, 2, at(3), 0);
  family_proto(f, 3, name(1), 1);
  forge_u8(f, 0);
  forge_u8(f, 0);
  forge_u8(f, 1);
  forge_reference(f, name(0));
  forge_u8(f, 0);
  family_string(f, 0, "x");
  family_string(f, 1, "@a.lua");
  family_array(f, 4 + 2 * n, 5, n, 2);
  family_hold(f, 0);
  family_globals(f, 4 + 2 * n);
}

/* ==================================================================================== */

#undef at
#undef name

const heap_family families_of_paths[] = {
    {"ephemerons", ephemerons, 0},
    {"ephemerons, backwards", ephemerons_backwards, 0},
    {"weak tables", weak_tables, 0},
    {"weak tables, backwards", weak_tables_backwards, 0},
    {"some weak tables", some_weak_tables, 0},
    {"ephemerons of one key", ephemerons_of_one_key, 0},
    {"ephemerons of one value", ephemerons_of_one_value, 0},
    {"nested ephemerons", nested_ephemerons, 0},
    {"weak tables in each other", holders_of_holders, 0},
    {"weak tables behind a long path", deep_holders, 0},
    {"ephemerons that are lost", lost_ephemerons, 0},
    {"weak values", weak_values, 0},
    {"diamonds", diamonds, 0},
    {"a crossed ladder", crossed_ladder, 0},
    {"parallel lists", parallel_lists, 0},
    {"short cuts", short_cuts, 0},
    {"a list and its mirror", back_edges, 0},
    {"a list entered from its end", entered_from_the_end, 0},
    {"crossed classes", crossed_classes, 0},
    {"nested classes of two", nested_pairs, 0},
    {"captured variables", variables, 0},
};
const size_t n_families_of_paths = sizeof families_of_paths / sizeof *families_of_paths;
