/*
** families_tracked.c - heaps of programs that were tracked, and of ones that were looked at from
** outside: many sites, deep stacks, prototypes that others share (see families.h).
*/
#include <string.h>

#include "families.h"
#include "sites.h"

#define at family_at
#define name family_name

/* ==== Sites and stacks ============================================================== */

enum { NAME_BYTES = 1024 };

static void put_site_bytes(forge *f, const uint8_t *from, const uint8_t *end) {
  (void)forge_write(from, (size_t)(end - from), &f->sites);
}

/* A section of n stacks, each with a caller of its own, at one site whose names are long. */
static void track_long_names(forge *f, unsigned n) {
  uint8_t bytes[NAME_BYTES + LH_LONGEST_DEFINITION], *p;
  forge_track(f, 0);
  f->n_stacks = n;
  f->sites.size = 0;
  p = lh_put_uvarint(lh_put_uvarint(bytes, LH_SITES_HAVE_STACKS), 0);
  put_site_bytes(f, bytes, lh_put_uvarint(lh_put_uvarint(p, 1000), 2));
  for (unsigned i = 0; i < 3; i++) {
    p = lh_put_name_head(bytes, NAME_BYTES);
    memset(p, i == 2 ? '\033' : 'x', NAME_BYTES);
    *p = '@';
    put_site_bytes(f, bytes, p + NAME_BYTES);
  }
  put_site_bytes(f, bytes, lh_put_function(bytes, 1, 1, 2));
  put_site_bytes(f, bytes, lh_put_site(bytes, 1, 7, LH_MADE_BY_C, 3));
  for (unsigned i = 0; i < n; i++) put_site_bytes(f, bytes, lh_put_stack(bytes, i, 1));
  put_site_bytes(f, bytes, lh_put_uvarint(bytes, 0));
  for (unsigned i = 0; i < n; i++) {
    for (p = bytes; p < bytes + 4;) p = lh_put_uvarint(p, 1);
    put_site_bytes(f, bytes, p);
  }
}

static void objects_of_sites(forge *f, unsigned n) {
  family_array(f, 0, 1, n, 1);
  for (unsigned i = 1; i <= n; i++) family_table(f, i, 0);
  family_globals(f, 0);
}

/* A list, each element made elsewhere. */
static void list_of_sites(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    family_table(f, i, 1);
    family_field(f, 0, i + 1);
  }
  family_string(f, 0, "next");
  family_globals(f, 0);
}

/* Tables of two classes by turns, of which each has items that were made elsewhere. */
static void collections_of_sites(forge *f, unsigned n) {
  unsigned k = family_root(n);
  family_array(f, 0, 1, k, 1);
  for (unsigned i = 0; i < k; i++) {
    family_table(f, 1 + i, k);
    for (unsigned v = 0; v < k; v++) family_item(f, v + 2, 1 + k + i * k + v);
  }
  for (unsigned i = 0; i < k * k; i++) {
    family_table(f, 1 + k + i, 1);
    family_field(f, i % 2, 0);
  }
  family_string(f, 0, "a");
  family_string(f, 1, "b");
  family_globals(f, 0);
}

/* ==== Prototypes ===================================================================== */

/* One that has the others in it, and is in each of them. */
static void shared_proto(forge *f, unsigned n) {
  family_closure(f, n + 1, at(0), 0);
  for (unsigned i = 0; i <= n; i++) {
    unsigned n_nested = i == 0 ? n : 1;
    family_proto(f, i, name(0), i);
    forge_u8(f, 0);
    forge_uvarint(f, n_nested);
    for (unsigned k = 0; k < n_nested; k++) {
      forge_reference(f, at(i == 0 ? k + 1 : 0));
      forge_reference(f, name(1));
    }
    forge_u8(f, 0);
    forge_u8(f, 0);
  }
  family_string(f, 0, "@a.lua");
  family_string(f, 1, "f");
  family_hold(f, n + 1);
}

/* Closures of prototypes of which each has the same nested ones. */
static void shared_nested_protos(forge *f, unsigned n) {
  unsigned k = family_root(n);
  family_array(f, 0, 1, k, 1);
  for (unsigned i = 0; i < k; i++) {
    family_closure(f, 1 + i, at(1 + k + i), 0);
    family_proto(f, 1 + k + i, name(0), i);
    forge_u8(f, 0);
    forge_uvarint(f, k);
    for (unsigned v = 0; v < k; v++) {
      forge_reference(f, at(1 + 2 * k + v));
      forge_reference(f, name(1 + v % 2));
    }
    forge_u8(f, 0);
    forge_u8(f, 0);
  }
  for (unsigned v = 0; v < k; v++) family_empty_proto(f, 1 + 2 * k + v, name(0), 1000 + v);
  family_string(f, 0, "@a.lua");
  family_string(f, 1, "f");
  family_string(f, 2, "g");
  family_globals(f, 0);
}

/* Closures that are older than their prototypes, of which each leads to many that lead to one which
** has them all: many rows of one class. */
enum { SOME = 24 };

static void rows_of_protos(forge *f, unsigned n) {
  unsigned shared = n * (1 + SOME);
  for (unsigned i = 0; i < shared; i++) {
    unsigned first = i / (1 + SOME) * (1 + SOME), n_nested = i == first ? SOME : 1;
    family_proto(f, i, name(0), 7);
    forge_u8(f, 0);
    forge_uvarint(f, n_nested);
    for (unsigned k = 0; k < n_nested; k++) {
      forge_reference(f, at(i == first ? first + 1 + k : shared));
      forge_reference(f, name(1));
    }
    forge_u8(f, 0);
    forge_u8(f, 0);
  }
  family_proto(f, shared, name(0), 7);
  forge_u8(f, 0);
  forge_uvarint(f, shared);
  for (unsigned i = 0; i < shared; i++) {
    forge_reference(f, at(i));
    forge_reference(f, name(1));
  }
  forge_u8(f, 0);
  forge_u8(f, 0);
}

static void old_closures(forge *f, unsigned n) {
  unsigned globals = n * (1 + SOME) + 1;
  family_table(f, globals, n);
  for (unsigned i = 0; i < n; i++) family_field(f, 2 + i, globals + 1 + i);
  for (unsigned i = 0; i < n; i++) {
    family_closure(f, globals + 1 + i, at(i * (1 + SOME)), 0);
    family_string(f, 2 + i, "k%x", i);
  }
  family_string(f, 0, "@a.lua");
  family_string(f, 1, "f");
  family_globals(f, globals);
}

/* Each has the next in it, and a closure has each. */
static void nested_protos(forge *f, unsigned n) {
  family_array(f, 0, 1, n, 1);
  for (unsigned i = 0; i < n; i++) {
    family_closure(f, 1 + i, at(n + 1 + i), 0);
    family_proto(f, n + 1 + i, name(0), i);
    forge_u8(f, 0);
    forge_u8(f, 1);
    forge_reference(f, at(i + 1 < n ? n + 2 + i : n + 1));
    forge_reference(f, name(1));
    forge_u8(f, 0);
    forge_u8(f, 0);
  }
  family_string(f, 0, "@a.lua");
  family_string(f, 1, "f");
  family_globals(f, 0);
}

/* ==== Weak tables ===================================================================== */

/* Each leads to the next, under the name `next` and as the value of its only key. */
static void linked_weak_tables(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    forge_table(f, at(i), LH_FLAG_WEAK_KEYS, 0, 2);
    family_field(f, 0, i + 1);
    family_entry(f, at(i), at(i + 1));
  }
  family_string(f, 0, "next");
  family_globals(f, 0);
}

/* Some of these in each of many older tables. */
static void rows_of_weak_tables(forge *f, unsigned n) {
  for (unsigned i = 0; i < n * SOME; i++) {
    forge_table(f, at(i), LH_FLAG_WEAK_KEYS, 0, 2);
    family_field(f, 0, i + 1);
    family_entry(f, at(i), at(i + 1));
  }
}

/* In letters: names that differ in their digits are one place. */
static void name_in_letters(forge *f, unsigned i) {
  char text[16] = "";
  for (unsigned k = 0, rest = i; k < 6; k++, rest /= 20)
    text[k] = "bcdfghjklmnpqrstvwxz"[rest % 20];
  forge_string(f, name(i), text);
}

static void old_tables(forge *f, unsigned n) {
  unsigned globals = n * SOME;
  family_table(f, globals, n);
  for (unsigned i = 0; i < n; i++) family_field(f, 1 + i, globals + 1 + i);
  for (unsigned i = 0; i < n; i++) {
    family_table(f, globals + 1 + i, SOME);
    for (unsigned k = 0; k < SOME; k++) family_item(f, 2 + k, i * SOME + k);
    name_in_letters(f, 1 + i);
  }
  family_string(f, 0, "next");
  family_globals(f, globals);
}

/* ==== From outside ==================================================================== */

/* C functions that are told by symbols with long names. */
static void symbols(forge *f, unsigned n) {
  char symbol[NAME_BYTES / 2 + 1] = "", library[] = "/usr/lib/\033]0;lib.so";
  memset(symbol, 'x', sizeof symbol - 1);
  family_table(f, 0, n);
  for (unsigned i = 0; i < n; i++) {
    forge_tags(f, LH_VAL_INTEGER, LH_VAL_CFUNCTION);
    forge_svarint(f, i + 2);
    forge_uvarint(f, 0x10000 + 16 * (uint64_t)i);
    if (i >= LH_MOST_C_FUNCTIONS) continue;
    forge_c_function(f, 0x10000 + 16 * (uint64_t)i, i % 64 == 0 ? symbol : "s", library, i);
  }
  family_globals(f, 0);
}

/* ==================================================================================== */

#undef at
#undef name

const heap_family families_of_tracked[] = {
    {"sites", objects_of_sites, 0},
    {"sites of long names", objects_of_sites, 0},
    {"a list of sites", list_of_sites, 0},
    {"collections of sites", collections_of_sites, 0},
    {"a shared prototype", shared_proto, 0},
    {"shared nested prototypes", shared_nested_protos, 0},
    {"rows that share a prototype", rows_of_protos, 0},
    {"nested prototypes", nested_protos, 0},
    {"linked weak tables", linked_weak_tables, 0},
    {"rows of weak tables", rows_of_weak_tables, 0},
    {"C symbols", symbols, 0},
};
const size_t n_families_of_tracked = sizeof families_of_tracked / sizeof *families_of_tracked;

void family_begin_tracked(forge *f, const heap_family *family, unsigned n) {
  if (family < families_of_tracked || family >= families_of_tracked + n_families_of_tracked) return;
  if (family->make == symbols)
    forge_outside(f, 1, 0);
  else if (strstr(family->name, "long names"))
    track_long_names(f, n + 1);
  else
    forge_track(f, n + 1);
}

void family_end_tracked(forge *f, const heap_family *family, unsigned n) {
  if (family->make == rows_of_protos) old_closures(f, n);
  if (family->make == rows_of_weak_tables) old_tables(f, n);
}
