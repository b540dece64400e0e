/*
** families_names.c - heaps that are hard for what names and groups objects: classes, shapes and
** modules (see families.h).
*/
#include <string.h>

#include "families.h"

#define at family_at
#define name family_name

/* ==== Classes ======================================================================== */

/* Instances of n classes; the strings that name them have so many bytes. */
static void classes_of(forge *f, unsigned n, unsigned name_bytes) {
  family_array(f, 0, 1, 2 * n, 1);
  for (unsigned i = 0; i < n; i++) {
    family_table(f, 1 + 2 * i, 1);
    family_entry(f, name(n), name(i));
    forge_table(f, at(2 + 2 * i), 0, at(1 + 2 * i), 0);
  }
  for (unsigned i = 0; i < n; i++) {
    if (name_bytes > 0)
      family_long_string(f, i, name_bytes);
    else
      family_string(f, i, "C%x", i);
  }
  family_string(f, n, "__name");
  family_globals(f, 0);
}

static void classes(forge *f, unsigned n) {
  classes_of(f, n, 0);
}

static void long_classes(forge *f, unsigned n) {
  classes_of(f, n, 250);
}

/* Names of 250 bytes of which only the last four differ. */
static void classes_of_one_prefix(forge *f, unsigned n) {
  family_array(f, 0, 1, 2 * n, 1);
  for (unsigned i = 0; i < n; i++) {
    family_table(f, 1 + 2 * i, 1);
    family_entry(f, name(n), name(i));
    forge_table(f, at(2 + 2 * i), 0, at(1 + 2 * i), 0);
    family_string(f, i, "%0250x", i);
  }
  family_string(f, n, "__name");
  family_globals(f, 0);
}

/* One metatable under n names, and n metatables under one. */
static void metatable_of_names(forge *f, unsigned n) {
  family_table(f, 0, n);
  for (unsigned i = 0; i < n; i++) family_field(f, i, 1);
  family_table(f, 1, 1);
  family_field(f, n, 1);
  forge_table(f, at(2), 0, at(1), 0);
  for (unsigned i = 0; i < n; i++) family_string(f, i, "Name%x", i);
  family_string(f, n, "__index");
  family_globals(f, 0);
  family_hold(f, 2);
}

static void metatables_of_one_name(forge *f, unsigned n) {
  family_array(f, 0, 1, n, 3);
  for (unsigned i = 0; i < n; i++) {
    family_table(f, 1 + 3 * i, 1);
    family_field(f, 0, 2 + 3 * i);
    family_table(f, 2 + 3 * i, 1);
    family_field(f, 1, 2 + 3 * i);
    forge_table(f, at(3 + 3 * i), 0, at(2 + 3 * i), 0);
  }
  family_string(f, 0, "Session");
  family_string(f, 1, "__index");
  family_array(f, 3 * n + 1, 3, n, 3);
  family_globals(f, 0);
  family_hold(f, 3 * n + 1);
}

/* Tables whose metatables are each other's __index, in a ring. */
static void ring_of_classes(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    forge_table(f, at(i), 0, at((i + 1) % n), 2);
    family_field(f, 0, (i + 1) % n);
    family_field(f, 1 + i, (i + n - 1) % n);
    family_string(f, 1 + i, "Part%x", i);
  }
  family_string(f, 0, "__index");
  family_globals(f, 0);
}

static void basic_metatables(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    family_table(f, i, 1);
    family_field(f, 0, i);
    forge_root(f, LH_ROOT_TYPE_METATABLE, i % 256, at(i));
  }
  family_string(f, 0, "__index");
}

/* One great table is the __index of all metatables; and one has them all under __ names. */
static void metatables_of_one_index(forge *f, unsigned n) {
  family_array(f, 0, 2, 2 * n, 1);
  family_table(f, 1, n);
  for (unsigned i = 0; i < n; i++) family_field(f, 1 + i, 1);
  for (unsigned i = 0; i < n; i++) {
    family_table(f, 2 + 2 * i, 1);
    family_field(f, 0, 1);
    forge_table(f, family_at(3 + 2 * i), 0, family_at(2 + 2 * i), 0);
  }
  family_string(f, 0, "__index");
  for (unsigned i = 0; i < n; i++) family_string(f, 1 + i, "method%x", i);
  family_globals(f, 0);
}

static void metatables_in_one_class(forge *f, unsigned n) {
  family_table(f, 0, n);
  for (unsigned i = 0; i < n; i++) family_field(f, i, 2 + 2 * i);
  for (unsigned i = 0; i < n; i++) {
    family_table(f, 2 + 2 * i, 0);
    forge_table(f, family_at(3 + 2 * i), 0, family_at(2 + 2 * i), 0);
    family_string(f, i, "__m%x", i);
  }
  family_array(f, 1, 3, n, 2);
  family_hold(f, 0);
  family_globals(f, 1);
}

/* ==== Shapes ========================================================================= */

/* n tables of n fields each have the same; or each n of n + the square root of them. */
static void records(forge *f, unsigned n) {
  unsigned k = family_root(n);
  family_array(f, 0, 1, k, 1);
  for (unsigned i = 0; i < k; i++) {
    family_table(f, 1 + i, k);
    for (unsigned v = 0; v < k; v++) family_field(f, v, 1 + i);
  }
  for (unsigned v = 0; v < k; v++) family_string(f, v, "field%x", v);
  family_globals(f, 0);
}

static void shapes(forge *f, unsigned n) {
  unsigned k = family_root(n);
  family_array(f, 0, 1, k, 1);
  for (unsigned i = 0; i < k; i++) {
    family_table(f, 1 + i, k);
    for (unsigned v = 0; v < k; v++) family_field(f, v + i, 1 + i);
  }
  for (unsigned v = 0; v < 2 * k; v++) family_string(f, v, "field%x", v);
  family_globals(f, 0);
}

/* Eight of 64 fields, never the same ones; of 16 numbers, each a bit of the table's number. */
static void small_shapes(forge *f, unsigned n) {
  family_array(f, 0, 1, n, 1);
  uint32_t random = 1;
  for (unsigned i = 0; i < n; i++) {
    family_table(f, 1 + i, 8);
    for (unsigned k = 0; k < 8; k++) {
      random = random * 1103515245 + 12345;
      family_field(f, 8 * k + (random >> 29), 0);
    }
  }
  for (unsigned i = 0; i < 64; i++) family_long_string(f, i, 100);
  family_globals(f, 0);
}

static void singles(forge *f, unsigned n) {
  family_array(f, 0, 1, n, 1);
  for (unsigned i = 0; i < n; i++) {
    family_table(f, 1 + i, 1);
    family_field(f, i, i ? i : 0);
    family_string(f, i, "id%x", i);
  }
  family_globals(f, 0);
}

/* Many tables with one field each, which hold tables of the same sort in as many ways. */
static void nested_singles(forge *f, unsigned n) {
  unsigned k = family_root(n);
  family_array(f, 0, 1, n, 1);
  for (unsigned i = 0; i < n; i++) {
    family_table(f, 1 + i, 1);
    family_field(f, i % k * k + i / k % k, 1 + i * 7 % n);
  }
  for (unsigned i = 0; i < k * k; i++) family_string(f, i, "id%x", i);
  family_globals(f, 0);
}

/* Arrays of arrays of arrays: a class that tells what is in it at each level. */
static void collections(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    if (i % 2) {
      family_array(f, i, i + 1, 1, 1);
    } else {
      family_table(f, i, 2);
      family_item(f, 1000000 + i, i + 1);
      family_item(f, 2000000 + i, i + 1);
    }
  }
  family_globals(f, 0);
}

/* A great map; its keys of each kind there is. */
static void map(forge *f, unsigned n) {
  family_table(f, 0, 4 * n);
  for (unsigned i = 0; i < n; i++) {
    family_entry(f, name(i), at(1));
    forge_tags(f, LH_VAL_INTEGER, LH_VAL_TRUE);
    forge_svarint(f, 1000 * (int64_t)i);
    forge_tags(f, LH_VAL_POINTER, LH_VAL_OBJECT);
    forge_uvarint(f, 0x1000 * (uint64_t)i);
    forge_reference(f, at(1));
    forge_tags(f, LH_VAL_CFUNCTION, LH_VAL_INTEGER);
    forge_uvarint(f, 0x1000 * (uint64_t)i);
    forge_svarint(f, i);
  }
  family_table(f, 1, 0);
  for (unsigned i = 0; i < n; i++) family_string(f, i, "user %x", i);
  family_globals(f, 0);
}

/* An object with many fields, each of another class. */
static void fields_of_classes(forge *f, unsigned n) {
  family_table(f, 0, 1);
  family_field(f, n, 1);
  forge_table(f, at(1), 0, at(2), n);
  for (unsigned i = 0; i < n; i++) family_field(f, i, 3 + i);
  family_table(f, 2, 1);
  family_entry(f, name(n + 1), name(n));
  for (unsigned i = 0; i < n; i++) {
    family_table(f, 3 + i, 1);
    forge_tags(f, LH_VAL_OBJECT, LH_VAL_TRUE);
    forge_reference(f, name(i));
    family_string(f, i, "id%x", i);
  }
  family_string(f, n, "Store");
  family_string(f, n + 1, "__name");
  family_globals(f, 0);
}

/* One string, as long as all else, is the key of all entries. */
static void long_key(forge *f, unsigned n) {
  family_table(f, 0, n);
  for (unsigned i = 0; i < n; i++) family_field(f, 0, 1 + i % 64);
  for (unsigned i = 0; i < 64; i++) family_table(f, 1 + i, 0);
  forge_string_head(f, 0, name(0), 4 * (uint64_t)n);
  for (unsigned i = 0; i < n; i++) forge_bytes_of(f, "1a2b", 4);
  family_globals(f, 0);
}

/* Tables that get one more entry from snapshot to snapshot, each behind the one before. */
static void growing_list(forge *f, unsigned n) {
  unsigned entries = (unsigned)f->footer.serial;
  for (unsigned i = 0; i < n; i++) {
    family_table(f, i, 1 + entries);
    family_field(f, 0, i + 1);
    for (unsigned k = 0; k < entries; k++) family_item(f, k, i);
  }
  family_string(f, 0, "next");
  family_globals(f, 0);
}

/* Maps by name whose members come and go, as it seems: for what looks for growing ones. */
static void maps_of_records(forge *f, unsigned n) {
  unsigned k = family_root(n);
  family_array(f, 0, 1, k, 1);
  for (unsigned i = 0; i < k; i++) {
    family_table(f, 1 + i, k);
    for (unsigned v = 0; v < k; v++) family_field(f, 2 + i * k + v, 1 + k + i * k + v);
  }
  for (unsigned i = 0; i < k * k; i++) {
    family_table(f, 1 + k + i, 2);
    family_field(f, 0, 0);
    family_field(f, 1, 0);
    family_string(f, 2 + i, "10.0.%u.%u", i / 256, i % 256);
  }
  family_string(f, 0, "id");
  family_string(f, 1, "name");
  family_globals(f, 0);
}

/* Slots that hold nothing: of arrays and hashes as great as a file may say. */
static void empty_slots(forge *f, unsigned n) {
  family_array(f, 0, 1, n, 1);
  for (unsigned i = 0; i < n; i++) {
    forge_record(f, LH_REC_TABLE, at(1 + i), 56);
    forge_uvarint(f, UINT32_MAX);
    forge_u8(f, 32);
    forge_uvarint(f, UINT32_MAX);
    forge_u8(f, LH_VAL_SKIP);
    forge_uvarint(f, UINT32_MAX - 1);
    forge_object(f, at(0));
    forge_u8(f, 1);
    forge_tags(f, LH_VAL_INTEGER, LH_VAL_OBJECT);
    forge_svarint(f, INT64_MAX - i);
    forge_reference(f, at(0));
  }
  family_globals(f, 0);
}

/* ==== Names ========================================================================== */

static void globals(forge *f, unsigned n) {
  family_table(f, 0, n);
  for (unsigned i = 0; i < n; i++) family_field(f, i, 1 + i);
  for (unsigned i = 0; i < n; i++) {
    family_table(f, 1 + i, 0);
    family_string(f, i, "g%x", i);
  }
  family_globals(f, 0);
}

/* Modules by the square root of n, each with as many fields, all of them functions of one code. */
static void modules(forge *f, unsigned n) {
  unsigned k = family_root(n);
  family_table(f, 0, k);
  for (unsigned i = 0; i < k; i++) family_field(f, i, 1 + i);
  for (unsigned i = 0; i < k; i++) {
    family_table(f, 1 + i, k);
    for (unsigned v = 0; v < k; v++) family_field(f, v, 1 + k + i * k + v);
    family_string(f, i, "mod%x", i);
  }
  for (unsigned i = 0; i < k * k; i++) family_closure(f, 1 + k + i, at(1 + k + k * k), 0);
  family_empty_proto(f, 1 + k + k * k, name(k), 1);
  family_string(f, k, "@a.lua");
  forge_root(f, LH_ROOT_LOADED, 0, at(0));
}

static void many_modules(forge *f, unsigned n) {
  family_table(f, 0, n);
  for (unsigned i = 0; i < n; i++) family_field(f, i, 1 + i);
  for (unsigned i = 0; i < n; i++) {
    family_table(f, 1 + i, 1);
    family_field(f, n, 1 + (i + 1) % n);
    family_string(f, i, "app.m%x", i);
  }
  family_string(f, n, "other");
  forge_root(f, LH_ROOT_LOADED, 0, at(0));
  family_globals(f, 1);
}

/* One table, or one function, under all names. */
static void modules_of_one_table(forge *f, unsigned n) {
  family_table(f, 0, 2 * n);
  for (unsigned i = 0; i < n; i++) {
    family_field(f, 2 * i, 1);
    family_field(f, 2 * i + 1, 2);
  }
  family_table(f, 1, 0);
  family_closure(f, 2, at(3), 0);
  family_empty_proto(f, 3, name(2 * n), 1);
  for (unsigned i = 0; i < 2 * n; i++) family_string(f, i, "m%x", i);
  family_string(f, 2 * n, "@a.lua");
  forge_root(f, LH_ROOT_LOADED, 0, at(0));
  family_globals(f, 0);
}

/* Modules and source files with other names, and functions with a variable mt for a metatable. */
static void modules_and_sources(forge *f, unsigned n) {
  family_table(f, 0, n);
  for (unsigned i = 0; i < n; i++) family_field(f, i, 1);
  family_array(f, 1, 4, n, 3);
  family_table(f, 2, 0);
  forge_table(f, at(3), 0, at(2), 0);
  for (unsigned i = 0; i < n; i++) {
    family_closure(f, 4 + 3 * i, at(5 + 3 * i), 1);
    forge_reference(f, at(6 + 3 * i));
    family_proto(f, 5 + 3 * i, name(n + i), 1);
    for (int k = 0; k < 2; k++) forge_u8(f, 0);
    forge_u8(f, 1);
    forge_reference(f, name(2 * n));
    forge_u8(f, 0);
    family_upvalue(f, 6 + 3 * i, at(2));
    family_string(f, i, "app.m%x", i);
    family_string(f, n + i, "@/usr/share/app/f%x.lua", i);
  }
  family_string(f, 2 * n, "mt");
  forge_root(f, LH_ROOT_LOADED, 0, at(0));
  family_globals(f, 1);
  family_hold(f, 3);
}

/* n times the same root of each kind, or another table each time. */
static void roots(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    family_table(f, i, 1);
    family_field(f, i, i);
    family_string(f, i, "x%x", i);
    forge_root(f, i % (LH_ROOT_OWN + 1), i & 255, at(i));
    forge_root(f, i % (LH_ROOT_OWN + 1), i & 255, at(0));
  }
}

static void roots_of_one_kind(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    family_table(f, i, 1);
    family_field(f, 0, (i + 1) % n);
    forge_root(f,
               i % 3 == 0   ? LH_ROOT_GLOBALS
               : i % 3 == 1 ? LH_ROOT_LOADED
                            : LH_ROOT_MAIN_THREAD,
               0, at(i));
  }
  family_string(f, 0, "x");
}

static void names_to_be_escaped(forge *f, unsigned n) {
  family_table(f, 0, n);
  for (unsigned i = 0; i < n; i++) family_field(f, i, 1 + i);
  for (unsigned i = 0; i < n; i++) {
    char text[256];
    memset(text, '\xff', sizeof text);
    text[200] = '\0';
    for (unsigned k = 0; k < 4; k++) text[k] = (char)(i >> (7 * k) | 0x80);
    forge_string(f, name(i), text);
    family_table(f, 1 + i, 0);
  }
  family_globals(f, 0);
}

/* ==================================================================================== */

#undef at
#undef name

const heap_family families_of_names[] = {
    {"classes", classes, 0},
    {"classes of long names", long_classes, 0},
    {"classes of one prefix", classes_of_one_prefix, 0},
    {"a metatable of many names", metatable_of_names, 0},
    {"metatables of one name", metatables_of_one_name, 0},
    {"metatables of one __index", metatables_of_one_index, 0},
    {"metatables in one class", metatables_in_one_class, 0},
    {"a ring of classes", ring_of_classes, 0},
    {"metatables of basic types", basic_metatables, 0},
    {"records", records, 0},
    {"shapes", shapes, 0},
    {"small shapes", small_shapes, 0},
    {"tables of one field", singles, 0},
    {"tables of one field in each other", nested_singles, 0},
    {"collections in each other", collections, 0},
    {"a map", map, 0},
    {"fields of many classes", fields_of_classes, 0},
    {"a long key", long_key, 0},
    {"a list of growing tables", growing_list, 0},
    {"maps of records", maps_of_records, 0},
    {"empty slots", empty_slots, 0},
    {"globals", globals, 0},
    {"modules", modules, 0},
    {"many modules", many_modules, 0},
    {"modules of one table", modules_of_one_table, 0},
    {"modules and sources", modules_and_sources, 0},
    {"roots", roots, 0},
    {"roots of a kind", roots_of_one_kind, 0},
    {"names to be escaped", names_to_be_escaped, 0},
};
const size_t n_families_of_names = sizeof families_of_names / sizeof *families_of_names;
