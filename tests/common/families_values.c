/*
** families_values.c - heaps that are hard for what looks into functions, threads and strings:
** frames, prototypes, equal contents, chosen hashes, marks (see families.h).
*/
#include "families.h"

#include <stdlib.h>
#include <string.h>

#define at family_at
#define name family_name

/* ==== Functions ====================================================================== */

static void functions(forge *f, unsigned n) {
  family_array(f, 0, 1, n, 2);
  for (unsigned i = 0; i < n; i++) {
    family_closure(f, 1 + 2 * i, at(2 + 2 * i), 0);
    family_empty_proto(f, 2 + 2 * i, name(0), i);
  }
  family_string(f, 0, "@a.lua");
  family_globals(f, 0);
}

static void sources(forge *f, unsigned n) {
  family_array(f, 0, 1, n, 2);
  for (unsigned i = 0; i < n; i++) {
    family_closure(f, 1 + 2 * i, at(2 + 2 * i), 0);
    family_empty_proto(f, 2 + 2 * i, name(i), 1);
    family_string(f, i, "@lib/f%x.lua", i);
  }
  family_globals(f, 0);
}

/* Functions of one source, which is a text of many bytes for each of them. */
static void one_long_source(forge *f, unsigned n) {
  const size_t size = 64 * (size_t)n;
  char *text = malloc(size + 1);
  family_array(f, 0, 1, n, 2);
  for (unsigned i = 0; i < n; i++) {
    family_closure(f, 1 + 2 * i, at(2 + 2 * i), 0);
    family_empty_proto(f, 2 + 2 * i, name(0), i);
  }
  memset(text, 'x', size);
  text[0] = '@';
  text[size] = '\0';
  forge_string(f, name(0), text);
  free(text);
  family_globals(f, 0);
}

/* Of one line, each with a closure. */
static void functions_of_one_place(forge *f, unsigned n) {
  family_array(f, 0, 1, n, 2);
  for (unsigned i = 0; i < n; i++) {
    family_closure(f, 1 + 2 * i, at(2 + 2 * i), 0);
    family_empty_proto(f, 2 + 2 * i, name(0), 1);
  }
  family_string(f, 0, "@a.lua");
  family_globals(f, 0);
}

/* The closures of a function share one number of upvalues, each of them under a name. */
static void upvalues(forge *f, unsigned n) {
  unsigned k = family_root(n);
  family_array(f, 0, 1, k, 1);
  for (unsigned i = 0; i < k; i++) {
    family_closure(f, 1 + i, at(0x80000), k);
    for (unsigned v = 0; v < k; v++) forge_reference(f, at(1 + k + v));
  }
  for (unsigned v = 0; v < k; v++) family_upvalue(f, 1 + k + v, at(1 + v));
  family_proto(f, 0x80000, name(k), 1);
  forge_u8(f, 0);
  forge_u8(f, 0);
  forge_uvarint(f, k);
  for (unsigned v = 0; v < k; v++) forge_reference(f, name(v));
  forge_u8(f, 0);
  for (unsigned v = 0; v < k; v++) family_string(f, v, "up%x", v);
  family_string(f, k, "@a.lua");
  family_globals(f, 0);
}

/* Many closures of a prototype of many constants, nested functions and names. */
static void great_proto(forge *f, unsigned n) {
  family_array(f, 0, 1, n, 1);
  for (unsigned i = 0; i < n; i++) {
    family_closure(f, 1 + i, at(0x80000), 1);
    forge_reference(f, at(0x80001));
  }
  family_proto(f, 0x80000, name(0), 1);
  forge_uvarint(f, n);
  for (unsigned i = 0; i < n; i++) forge_reference(f, name(0));
  forge_uvarint(f, n);
  for (unsigned i = 0; i < n; i++) {
    forge_reference(f, at(0x80000));
    forge_reference(f, name(1));
  }
  forge_uvarint(f, n);
  for (unsigned i = 0; i < n; i++) forge_reference(f, name(i % 2));
  forge_uvarint(f, n);
  for (unsigned i = 0; i < n; i++) forge_reference(f, name(1));
  family_upvalue(f, 0x80001, at(0));
  family_string(f, 0, "@a.lua");
  family_string(f, 1, "f");
  family_globals(f, 0);
}

static void nested_protos(forge *f, unsigned n) {
  family_closure(f, n, at(0), 0);
  for (unsigned i = 0; i < n; i++) {
    family_proto(f, i, name(0), i);
    forge_u8(f, 0);
    forge_u8(f, 1);
    forge_reference(f, at(i + 1 < n ? i + 1 : 0));
    forge_reference(f, name(1));
    forge_u8(f, 0);
    forge_u8(f, 0);
  }
  family_string(f, 0, "@a.lua");
  family_string(f, 1, "f");
  family_hold(f, n);
}

/* C closures of one function, and light C functions, under many names. */
static void c_functions(forge *f, unsigned n) {
  family_table(f, 0, 2 * n);
  for (unsigned i = 0; i < n; i++) {
    family_field(f, i, 1 + i);
    forge_tags(f, LH_VAL_OBJECT, LH_VAL_CFUNCTION);
    forge_reference(f, name(n + i));
    forge_uvarint(f, 0x10000 + 16 * (uint64_t)i);
  }
  for (unsigned i = 0; i < n; i++) {
    forge_record(f, LH_REC_C_CLOSURE, at(1 + i), 48);
    forge_uvarint(f, i % 2 ? 0x2000 : 0x10000 + 16 * (uint64_t)i);
    forge_uvarint(f, 1);
    forge_object(f, at(0));
  }
  for (unsigned i = 0; i < 2 * n; i++) family_string(f, i, "f%x", i);
  family_globals(f, 0);
}

/* Light C functions under addresses that meet in one slot of a table whose hash is known. */
static void chosen_c_functions(forge *f, unsigned n) {
  family_table(f, 0, n);
  for (unsigned i = 0; i < n; i++) {
    uint64_t key =
        ((uint64_t)i << 52 | 1) * UINT64_C(0xF1DE83E19937733D); /* golden ratio, inverse */
    key ^= key >> 29 ^ key >> 58;
    forge_tags(f, LH_VAL_OBJECT, LH_VAL_CFUNCTION);
    forge_reference(f, name(i));
    forge_uvarint(f, key * UINT64_C(0xF1DE83E19937733D));
  }
  for (unsigned i = 0; i < n; i++) family_string(f, i, "f%x", i);
  family_globals(f, 0);
}

/* ==== Threads ======================================================================== */

/* Frames of a light C function, each with slots that refer to objects of their own. */
static void light_frames(forge *f, unsigned n) {
  family_thread(f, 0, n);
  for (unsigned i = 0; i < n; i++) {
    family_c_frame(f, 0x7000, 1);
    family_slot(f, LH_SLOT_TEMPORARY, 0, 0, at(1 + i));
  }
  forge_u8(f, 0);
  for (unsigned i = 0; i < n; i++) family_table(f, 1 + i, 0);
  family_hold(f, 0);
}

static void frames(forge *f, unsigned n) {
  family_thread(f, 0, n);
  for (unsigned i = 0; i < n; i++) {
    family_frame(f, at(1 + 2 * i), 1);
    family_slot(f, LH_SLOT_LOCAL, 0, name(1), at(2 + 2 * i));
  }
  forge_u8(f, 0);
  for (unsigned i = 0; i < n; i++) {
    family_closure(f, 1 + 2 * i, at(2 * n + 1), 0);
    family_table(f, 2 + 2 * i, 0);
  }
  family_empty_proto(f, 2 * n + 1, name(0), 1);
  family_string(f, 0, "@a.lua");
  family_string(f, 1, "x");
  forge_root(f, LH_ROOT_MAIN_THREAD, 0, at(0));
}

/* One frame of many slots of each kind. */
static void slots(forge *f, unsigned n) {
  family_thread(f, 0, 1);
  family_c_frame(f, 0x7000, n);
  for (unsigned i = 0; i < n; i++) family_slot(f, 1 + i % 4, i / 4, name(i % 2), at(1 + i));
  forge_uvarint(f, n);
  for (unsigned i = 0; i < n; i++) forge_reference(f, at(1 + i));
  for (unsigned i = 0; i < n; i++) family_table(f, 1 + i, 0);
  family_string(f, 0, "x");
  family_string(f, 1, "y");
  forge_root(f, LH_ROOT_RUNNING_THREAD, 0, at(0));
}

static void many_threads(forge *f, unsigned n) {
  family_array(f, 0, 1, n, 1);
  for (unsigned i = 0; i < n; i++) {
    family_thread(f, 1 + i, 2);
    family_c_frame(f, 0x7000, 0);
    family_frame(f, at(n + 1), 1);
    family_slot(f, LH_SLOT_LOCAL, 0, name(0), at(1 + (i + 1) % n));
    forge_u8(f, 0);
  }
  family_closure(f, n + 1, at(n + 2), 0);
  family_empty_proto(f, n + 2, name(1), 1);
  family_string(f, 0, "co");
  family_string(f, 1, "@a.lua");
  family_globals(f, 0);
}

/* Each stands somewhere else, by the square root of n frames. */
static void standings(forge *f, unsigned n) {
  unsigned k = family_root(n);
  family_array(f, 0, 1, k, 1);
  for (unsigned i = 0; i < k; i++) {
    family_thread(f, 1 + i, k);
    for (unsigned v = 0; v < k; v++) family_c_frame(f, 0x7000 + 16 * (v + 1 == k ? i : 0), 0);
    forge_u8(f, 0);
  }
  family_globals(f, 0);
}

/* ==== Contents ======================================================================= */

static void equal_strings(forge *f, unsigned n) {
  family_table(f, 0, n);
  for (unsigned i = 0; i < n; i++) family_entry(f, name(i), name(i));
  for (unsigned i = 0; i < n; i++)
    forge_string(f, name(i), "forty-one bytes make a string a long one.");
  family_globals(f, 0);
}

/* Of as many lengths: one hash; one length: as many hashes; one of both, with other bytes. */
static void strings_of_one_hash(forge *f, unsigned n) {
  family_table(f, 0, n);
  for (unsigned i = 0; i < n; i++) family_entry(f, name(i), at(1));
  for (unsigned i = 0; i < n; i++) family_truncated(f, 0, name(i), 0x123456789abcdef, 1000 + i);
  family_table(f, 1, 0);
  family_globals(f, 0);
}

static void strings_of_one_length(forge *f, unsigned n) {
  family_table(f, 0, n);
  for (unsigned i = 0; i < n; i++) family_entry(f, name(i), at(1));
  for (unsigned i = 0; i < n; i++) family_truncated(f, 0, name(i), (uint64_t)i << 40, 1000);
  family_table(f, 1, 0);
  family_globals(f, 0);
}

static void strings_that_only_begin_alike(forge *f, unsigned n) {
  family_table(f, 0, n);
  for (unsigned i = 0; i < n; i++) family_entry(f, name(i), at(1));
  for (unsigned i = 0; i < n; i++) {
    forge_string_head(f, LH_FLAG_TRUNCATED, name(i), 1000);
    forge_uvarint(f, 4);
    forge_u64(f, 0x123456789abcdef);
    forge_u64(f, 0x3030303030303030u + i), f->out.size -= 4;
  }
  family_table(f, 1, 0);
  family_globals(f, 0);
}

/* Fields by strings whose hashes meet in one slot, in tables of one each and in one of all. */
static void shapes_of_chosen_hashes(forge *f, unsigned n) {
  family_array(f, 0, 1, n, 1);
  for (unsigned i = 0; i < n; i++) {
    family_table(f, 1 + i, 2);
    family_field(f, i, 0);
    family_field(f, i ? i - 1 : 0, 0);
    family_truncated(f, 0, name(i), (uint64_t)i << 32, 300);
  }
  family_globals(f, 0);
}

/* Functions of one code that share all upvalues. */
static void equal_functions(forge *f, unsigned n) {
  family_array(f, 0, 3, n, 1);
  family_empty_proto(f, 1, name(0), 1);
  family_upvalue(f, 2, at(0));
  for (unsigned i = 0; i < n; i++) {
    family_closure(f, 3 + i, at(1), 1);
    forge_reference(f, at(2));
  }
  family_string(f, 0, "@a.lua");
  family_globals(f, 0);
}

/* ==== Ages and addresses ============================================================= */

static void dead(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) forge_record(f, (i % 8 + 1) | LH_FLAG_DEAD, at(i), 56);
}

static void garbage(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    family_table(f, i, 1);
    family_field(f, i, (i + 1) % n);
    family_string(f, i, "k%x", i);
  }
}

/* Marks of other states, of which none counts, and of this state's closing; all are luaheap's. */
static void marks(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    forge_mark(f, at(i), i % 2 ? LH_MARK_VOID : LH_MARK_STATE, 1 + i, "m");
    forge_root(f, LH_ROOT_OWN, 0, at(i));
  }
}

/* Userdata of as many numbers of user values as there are, which tell where Lua prints them. */
static void user_values(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    unsigned values = i % 1000;
    forge_record(f, LH_REC_USERDATA, at(i), 40 + 16 * (uint64_t)values);
    forge_uvarint(f, 0);
    forge_uvarint(f, values);
    for (unsigned k = 0; k < values; k++) forge_u8(f, LH_VAL_NIL);
    forge_root(f, LH_ROOT_REGISTRY, 0, at(i));
  }
}

static void scattered(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    uint64_t address = UINT64_C(0x1000000000) * i % 0xFFFFFFFFFFF8u + 0x100000 + 8 * i;
    forge_table(f, address, 0, 0, 0);
    forge_root(f, LH_ROOT_FIXED, 0, address);
  }
}

/* ==================================================================================== */

#undef at
#undef name

const heap_family families_of_values[] = {
    {"functions", functions, 0},
    {"functions of one place", functions_of_one_place, 0},
    {"sources", sources, 0},
    {"one long source", one_long_source, 0},
    {"upvalues", upvalues, 0},
    {"a great prototype", great_proto, 0},
    {"prototypes in each other", nested_protos, 0},
    {"C functions", c_functions, 0},
    {"chosen C functions", chosen_c_functions, 0},
    {"frames of a light C function", light_frames, 0},
    {"frames", frames, 0},
    {"slots of one frame", slots, 0},
    {"threads", many_threads, 0},
    {"standings", standings, 0},
    {"equal strings", equal_strings, 0},
    {"strings of one hash", strings_of_one_hash, 0},
    {"strings of one length", strings_of_one_length, 0},
    {"strings that begin alike", strings_that_only_begin_alike, 0},
    {"shapes of chosen hashes", shapes_of_chosen_hashes, 0},
    {"equal functions", equal_functions, 0},
    {"dead objects", dead, 0},
    {"garbage", garbage, 0},
    {"marks", marks, 0},
    {"user values", user_values, 0},
    {"scattered addresses", scattered, 0},
};
const size_t n_families_of_values = sizeof families_of_values / sizeof *families_of_values;
