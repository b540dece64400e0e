/*
** families_graph.c - heaps that are hard for what walks them: lists, trees, stars (see families.h).
*/
#include "families.h"

#define at family_at
#define name family_name

/* ==== Lists and trees ================================================================ */

static void list(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    family_table(f, i, 1);
    family_field(f, 0, i + 1);
  }
  family_string(f, 0, "next");
  family_globals(f, 0);
}

static void double_list(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    family_table(f, i, 2);
    family_field(f, 0, i + 1);
    family_field(f, 1, i ? i - 1 : 0);
  }
  family_string(f, 0, "next");
  family_string(f, 1, "prev");
  family_globals(f, 0);
  family_hold(f, n - 1);
}

/* Each step under another key. */
static void list_of_names(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    family_table(f, i, 1);
    family_field(f, i, i + 1);
    family_string(f, i, "k%x", i);
  }
  family_globals(f, 0);
}

static void list_of_long_names(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    family_table(f, i, 1);
    family_field(f, i, i + 1);
    family_long_string(f, i, 250);
  }
  family_globals(f, 0);
}

static void list_of_one_long_name(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    family_table(f, i, 1);
    family_field(f, 0, i + 1);
  }
  family_long_string(f, 0, 500);
  family_globals(f, 0);
}

/* Through two names in turn, and through three in an order that never repeats. */
static void list_of_two_names(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    family_table(f, i, 1);
    family_field(f, i % 2, i + 1);
  }
  family_string(f, 0, "head");
  family_string(f, 1, "tail");
  family_globals(f, 0);
}

static void list_of_no_period(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    family_table(f, i, 1);
    family_field(f, (unsigned)__builtin_popcount(i) % 3, i + 1);
  }
  for (unsigned i = 0; i < 3; i++) family_string(f, i, "k%u", i);
  family_globals(f, 0);
}

/* A list with a list of numbers' square root at each element, and one at each of these. */
static void lists_of_lists(forge *f, unsigned n) {
  unsigned length = family_root(n), i = 0;
  for (unsigned a = 0; a < length; a++) {
    family_table(f, i, 2);
    family_field(f, 0, a + 1 < length ? i + length + 1 : 0);
    family_field(f, 1, i + 1);
    i++;
    for (unsigned b = 0; b < length; b++, i++) {
      family_table(f, i, 1);
      family_field(f, b + 1 < length ? 0 : 1, i + 1);
    }
  }
  family_string(f, 0, "next");
  family_string(f, 1, "first");
  family_globals(f, 0);
}

/* Many lists side by side, each of a name of its own. */
static void many_lists(forge *f, unsigned n) {
  unsigned length = family_root(n);
  family_table(f, 0, length);
  for (unsigned i = 0; i < length; i++) family_field(f, i + 1, 1 + i * length);
  for (unsigned i = 0; i < length * length; i++) {
    family_table(f, 1 + i, (i + 1) % length ? 1 : 0);
    if ((i + 1) % length) family_field(f, 0, 2 + i);
  }
  for (unsigned i = 0; i <= length; i++) family_string(f, i, i ? "list%u" : "next", i);
  family_globals(f, 0);
}

/* A list each of whose elements holds one more object. */
static void comb(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    family_table(f, 2 * i, 2);
    family_field(f, 0, 2 * i + 2);
    family_field(f, 1, 2 * i + 1);
    family_table(f, 2 * i + 1, 0);
  }
  family_string(f, 0, "next");
  family_string(f, 1, "value");
  family_globals(f, 0);
}

static void tree(forge *f, unsigned n) {
  for (unsigned i = 1; i < n; i++) {
    family_table(f, i, 2);
    family_field(f, 0, 2 * i < n ? 2 * i : 0);
    family_field(f, 1, 2 * i + 1 < n ? 2 * i + 1 : 0);
  }
  family_string(f, 0, "left");
  family_string(f, 1, "right");
  family_globals(f, 1);
}

/* Each branch under a name of its own: as many paths as there are leaves. */
static void tree_of_names(forge *f, unsigned n) {
  for (unsigned i = 1; i < n; i++) {
    family_table(f, i, 2);
    family_field(f, 2 * i, 2 * i < n ? 2 * i : 0);
    family_field(f, 2 * i + 1, 2 * i + 1 < n ? 2 * i + 1 : 0);
  }
  for (unsigned i = 1; i < n; i++) family_string(f, i, "k%x", i);
  family_globals(f, 1);
}

static void metatables(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    forge_table(f, at(i), 0, at(i + 1), 1);
    family_field(f, 0, i + 1);
  }
  family_string(f, 0, "__index");
  family_globals(f, 0);
}

static void closures(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    family_closure(f, 2 * i, at(2 * n), 1);
    forge_reference(f, at(2 * i + 1));
    family_upvalue(f, 2 * i + 1, at(2 * i + 2));
  }
  family_empty_proto(f, 2 * n, name(0), 1);
  family_string(f, 0, "@a.lua");
  family_hold(f, 0);
}

static void threads(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    family_thread(f, i, 1);
    family_frame(f, at(n), 1);
    family_slot(f, LH_SLOT_LOCAL, 0, name(0), at(i + 1));
    forge_u8(f, 0);
  }
  family_string(f, 0, "co");
  family_hold(f, 0);
}

static void userdata(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) family_userdata(f, i, at(n), at(i + 1));
  family_table(f, n, 0);
  family_hold(f, 0);
}

/* ==== Stars ========================================================================== */

static void array(forge *f, unsigned n) {
  family_array(f, 0, 1, n, 1);
  for (unsigned i = 1; i <= n; i++) family_table(f, i, 0);
  family_globals(f, 0);
}

/* n references from one table to one object. */
static void array_of_one(forge *f, unsigned n) {
  family_array(f, 0, 1, n, 0);
  family_table(f, 1, 0);
  family_globals(f, 0);
}

static void fields_of_one(forge *f, unsigned n) {
  family_table(f, 0, n);
  for (unsigned i = 0; i < n; i++) family_field(f, i, 1);
  for (unsigned i = 0; i < n; i++) family_string(f, i, "k%x", i);
  family_table(f, 1, 0);
  family_globals(f, 0);
}

/* One object is the key of many entries, and all values another. */
static void keys(forge *f, unsigned n) {
  family_table(f, 0, n);
  for (unsigned i = 0; i < n; i++) family_entry(f, at(1 + i), at(1));
  for (unsigned i = 0; i < n; i++) family_table(f, 1 + i, 0);
  family_globals(f, 0);
}

static void referrers(forge *f, unsigned n) {
  family_array(f, 0, 2, n, 1);
  family_table(f, 1, 0);
  for (unsigned i = 0; i < n; i++) {
    family_table(f, 2 + i, 1);
    family_field(f, 0, 1);
  }
  family_string(f, 0, "owner");
  family_globals(f, 0);
}

/* All know a great table, which knows all. */
static void hub(forge *f, unsigned n) {
  family_table(f, 0, 1);
  family_field(f, 1, 1);
  family_array(f, 1, 2, n, 1);
  for (unsigned i = 0; i < n; i++) {
    family_table(f, 2 + i, 1);
    family_field(f, 0, 1);
  }
  family_string(f, 0, "hub");
  family_string(f, 1, "all");
  family_globals(f, 0);
}

/* A chain whose every step leads through a table that holds all of the chain. */
static void hub_of_chain(forge *f, unsigned n) {
  unsigned k = family_root(n);
  for (unsigned i = 0; i < k; i++) {
    family_array(f, i, k, k, 1);
    family_table(f, k + i, 1);
    family_field(f, 0, i + 1 < k ? i + 1 : 0);
  }
  family_string(f, 0, "next");
  family_globals(f, 0);
}

/* All of the square root of n objects refer to all. */
static void all_to_all(forge *f, unsigned n) {
  unsigned k = family_root(n);
  for (unsigned i = 0; i < k; i++) family_array(f, i, 0, k, 1);
  family_globals(f, 0);
}

/* The same, layer by layer: the cube root of n, each knows all of the next. */
static void layers(forge *f, unsigned n) {
  unsigned k = 1;
  while ((k + 1) * (k + 1) * (k + 1) <= n) k++;
  for (unsigned i = 0; i < k * k; i++) family_array(f, i, (i / k + 1) * k, k, 1);
  family_table(f, k * k, 0);
  family_array(f, k * k + k, 0, k, 1);
  family_globals(f, k * k + k);
}

/* ==================================================================================== */

#undef at
#undef name

const heap_family families_of_graphs[] = {
    {"a list", list, 0},
    {"a list with ways back", double_list, 0},
    {"a list, each step under its own name", list_of_names, 0},
    {"a list, each step under its own long name", list_of_long_names, 0},
    {"a list of one long name", list_of_one_long_name, 0},
    {"a list of two names in turn", list_of_two_names, 0},
    {"a list of three names without period", list_of_no_period, 0},
    {"a list of lists", lists_of_lists, 0},
    {"many lists", many_lists, 0},
    {"a list that holds one object at each step", comb, 0},
    {"a tree", tree, 0},
    {"a tree of names", tree_of_names, 0},
    {"a chain of metatables", metatables, 0},
    {"a chain of closures", closures, 0},
    {"a chain of threads", threads, 0},
    {"a chain of userdata", userdata, 0},
    {"an array", array, 0},
    {"an array of one object", array_of_one, 0},
    {"fields of one object", fields_of_one, 0},
    {"tables as keys", keys, 0},
    {"an object of many referrers", referrers, 0},
    {"a hub", hub, 0},
    {"a chain through hubs", hub_of_chain, 0},
    {"all refer to all", all_to_all, 0},
    {"layers", layers, 0},
    {"roots on fixedgc", comb, 3},
    {"objects to be finalized", list, 2},
};
const size_t n_families_of_graphs = sizeof families_of_graphs / sizeof *families_of_graphs;
