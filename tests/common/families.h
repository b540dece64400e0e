/*
** families.h - snapshot files of many shapes, each with a size to choose: what an attacker would
** send who has read the library. Their records are right and lie about a heap that no program
** would have, so that whatever takes more than n log n on any of them shows when n grows.
**
**     for (size_t i = 0; i < family_count(); i++) {
**       forge f;
**       const heap_family *family = family_number(i);
**       family_make(&f, family, family_scale(family, 1 << 20), 1, 0);
**       ... f.data, f.size; about 1 MiB ...
**       forge_free(&f);
**     }
**
** families.c makes the frame and lists them all; families_graph.c and families_paths.c have those
** that are hard for what walks the heap, families_names.c and families_values.c those for what
** names and groups what is in it, families_tracked.c those of programs that were tracked,
** families_texts.c those of Lua 5.5, whose strings have texts elsewhere.
*/
#pragma once

#include "forged_file.h"

typedef struct heap_family {
  const char *name;
  void (*make)(forge *f, unsigned n); /* objects and roots; more bytes for a greater n */
  unsigned list; /* of the collector, that the objects are on: 0 allgc, 2 tobefnz, 3 fixedgc */
} heap_family;

size_t family_count(void);
const heap_family *family_number(size_t i);

/* The bytes of a family's file of this n: more for a greater n. */
typedef size_t family_size(const void *family, unsigned n);

/* The n for which a file has about so many bytes, at most. */
unsigned scale_to_bytes(family_size *bytes_of, const void *family, size_t bytes);
unsigned family_scale(const heap_family *family, size_t bytes);

/* Snapshot `serial` of one run of a program, which has the marks of those before it; `n_older` of
** them, at most all, are older than the objects. n = 0: there are none yet. To be freed by
** forge_free. */
void family_make(forge *f, const heap_family *family, unsigned n, unsigned serial,
                 unsigned n_older);

/* ==== What they are made of ========================================================= */

/* Object i, and string i of those that only name things; as far from each other as in a heap. */
static inline uint64_t family_at(unsigned i) {
  return 0x100000 + 64 * (uint64_t)i;
}

static inline uint64_t family_name(unsigned i) {
  return 0x4000000000 + 64 * (uint64_t)i;
}

/* The square root, rounded down. */
unsigned family_root(unsigned n);

/* The object is a root: the registry; the globals. */
void family_hold(forge *f, unsigned i);
void family_globals(forge *f, unsigned i);

/* String i, told by printf, or of `n` bytes that begin with the number i. */
void family_string(forge *f, unsigned i, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void family_long_string(forge *f, unsigned i, unsigned n);

/* A string of 1,000 bytes of which the file keeps the first few, and this hash. */
void family_truncated(forge *f, unsigned more_flags, uint64_t address, uint64_t hash,
                      uint64_t length);

/* A table up to its entries, with a metatable (UINT_MAX: none), and entries: the key an object, the
** name i, or a number; the value an object. */
void family_table(forge *f, unsigned i, unsigned entries);
void family_entry(forge *f, uint64_t key, uint64_t value);
void family_field(forge *f, unsigned name, unsigned value);
void family_item(forge *f, unsigned key, unsigned value);

/* An array of the n objects from `first` on, each `step` behind the last. */
void family_array(forge *f, unsigned i, unsigned first, unsigned n, unsigned step);

void family_upvalue(forge *f, unsigned i, uint64_t value);
void family_userdata(forge *f, unsigned i, uint64_t metatable, uint64_t value);

/* A closure up to its upvalues, which are references. */
void family_closure(forge *f, unsigned i, uint64_t proto, unsigned upvalues);

/* A prototype up to its lists; all of them empty. */
void family_proto(forge *f, unsigned i, uint64_t source, unsigned line);
void family_empty_proto(forge *f, unsigned i, uint64_t source, unsigned line);

/* A coroutine up to its frames; a frame of a light C function, which takes it to its slots; one. */
void family_thread(forge *f, unsigned i, unsigned frames);
void family_c_frame(forge *f, uint64_t function, unsigned slots);
void family_frame(forge *f, uint64_t function, unsigned slots);
void family_slot(forge *f, unsigned kind, unsigned ordinal, uint64_t name, uint64_t value);

/* ==================================================================================== */

/* The lists of the six files. */
extern const heap_family families_of_graphs[], families_of_paths[], families_of_names[],
    families_of_values[], families_of_tracked[], families_of_texts[];
extern const size_t n_families_of_graphs, n_families_of_paths, n_families_of_names,
    n_families_of_values, n_families_of_tracked, n_families_of_texts;

/* Of those of Lua 5.5: makes the file one, before its first record. */
void family_begin_texts(forge *f, const heap_family *family);

/* Of those of tracked programs: makes the file one, before its first record; and the objects that
** are older than all marks. */
void family_begin_tracked(forge *f, const heap_family *family, unsigned n);
void family_end_tracked(forge *f, const heap_family *family, unsigned n);
