/*
** forged_file.h - makes snapshot files in memory, byte by byte, with valid checksums whatever else
** is wrong with them: so that tests can lie.
**
**     forge f;
**     forge_begin(&f);
**     forge_mark(&f, 0x100, ...);                      allgc, youngest first
**     forge_table(&f, 0x200, 0, 0, 1);  forge_...      then finobj, tobefnz, fixedgc
**     forge_next_list(&f);
**     forge_finish(&f);                                -> f.data, f.size
**     forge_free(&f);
**
** The fields of `footer` that counting fills may be changed before forge_finish. When memory runs
** out the program ends: it is a test.
*/
#pragma once

#include <stdbool.h>

#include "format.h"

typedef struct forge_bytes {
  uint8_t *data;
  size_t size, capacity;
} forge_bytes;

typedef struct forge {
  uint8_t *data; /* the file, once it is finished */
  size_t size;
  forge_bytes out, roots;
  forge_bytes sites;  /* the section, of a program that was tracked; may be put in its place */
  size_t sites_at;    /* in the finished file: its offset, as a uvarint of FORGE_OFFSET_BYTES */
  uint64_t n_stacks;  /* the records have these in turn, from 0 on, unless one is set */
  uint64_t set_stack; /* plus 1; 0: none is */
  bool is_tracked;
  forge_bytes outside; /* the section; of its items until then, unless it is put in its place */
  forge_bytes matched, c_functions;
  uint64_t n_matched, n_c_functions;
  unsigned how[2]; /* stillness and flags */
  bool is_outside;
  size_t outside_at; /* in the finished file: as sites_at */
  forge_bytes more;  /* of a section of number `more_number`, which no reader knows; 0: none */
  unsigned more_number;
  forge_bytes starts;  /* in the table of blocks behind each hash: FORGE_START_BYTES */
  size_t directory_at; /* in the finished file, of version 6: see forge_version */
  uint64_t own;        /* address of the record being written */
  int list;
  struct {
    uint64_t state_id, serial, time_ns, process_id;
    const char *release, *program, *name;
    uint64_t string_limit, gc_bytes, string_table_bytes;
    uint8_t gc_state, gc_generational;
    uint64_t objects[4], object_bytes, roots;
    uint64_t extra_blocks;               /* to lie about their number */
    const char *tail;                    /* bytes after the checksums */
    uint64_t finalized, keys[4], n_keys; /* of version 3; addresses of frequent keys */
    uint64_t sites_offset;               /* to lie about it */
    uint64_t outside_offset;
  } footer;
} forge;

void forge_begin(forge *f);
void forge_finish(forge *f);
void forge_free(forge *f);

/* Makes the checksums of a finished file right again after its bytes were changed; nothing if its
** trailer does not tell where they are. */
void forge_seal(uint8_t *data, size_t size);

/* Files that stand one behind the other, told by their trailers: at most `most` of them. What is in
** front of those, or is no file, belongs to the first. Returns how many there are, at least one. */
typedef struct forge_part {
  const uint8_t *data;
  size_t size;
} forge_part;

size_t forge_split(const uint8_t *data, size_t size, forge_part *parts, size_t most);

/* An lh_writer: adds to the forge_bytes that `payload` points to; its data are freed by free. */
size_t forge_write(const void *data, size_t n, void *payload);

/* Raw bytes of the current record. */
void forge_u8(forge *f, unsigned byte);
void forge_u64(forge *f, uint64_t n);
void forge_bytes_of(forge *f, const void *bytes, size_t n);
void forge_uvarint(forge *f, uint64_t n);
void forge_svarint(forge *f, int64_t n);
void forge_reference(forge *f, uint64_t address); /* 0: none */

/* Values with their tag. */
void forge_integer(forge *f, int64_t n);
void forge_object(forge *f, uint64_t address);

/* What all records begin with: LH_REC_* | LH_FLAG_*. Counts the object and its bytes. */
void forge_record(forge *f, unsigned head, uint64_t address, uint64_t shallow_bytes);
void forge_next_list(forge *f);

/* The bytes of a table with so many slots, in the Lua of the file's version. */
uint64_t forge_table_bytes(const forge *f, uint64_t array_slots, uint64_t hash_slots);

/* A string up to its text. `flags`: LH_FLAG_TRUNCATED (kept and hash follow), and of version 7
** LH_FLAG_EXTERNAL or LH_FLAG_FIXED. */
void forge_string_head(forge *f, unsigned flags, uint64_t address, uint64_t length);

/* Whole records. */
void forge_text(forge *f, unsigned flags, uint64_t address, const char *text);
void forge_string(forge *f, uint64_t address, const char *text);
void forge_mark(forge *f, uint64_t address, unsigned kind, uint64_t serial, const char *name);

/* The file is of format version 1 (and of Lua 5.4, as all up to 6), where a table's own flags say
** how weak it is; before its first record, and after forge_track and forge_outside, this makes it
** another. From version 6 on the number of sections takes one byte; each has its number in one
** byte, and its offset and its bytes in FORGE_OFFSET_BYTES each. */
void forge_version(forge *f, unsigned version);

/* The file is of a program that was tracked, and so of format version 4: stack i is its site i,
** line i of function f @app.lua:1, called from stack i - 1, and has made i objects. Before its
** first record. */
void forge_track(forge *f, uint64_t n_stacks);

/* The file was taken from outside, and so is of format version 5. Before its first record, and
** after forge_track. Then: a mark that was placed by a comparison (its time is that of forge_mark),
** and a C function. */
void forge_outside(forge *f, unsigned stillness, unsigned flags);
void forge_matched(forge *f, uint64_t serial, uint64_t on_allgc, uint64_t on_finobj);
void forge_c_function(forge *f, uint64_t address, const char *symbol, const char *library,
                      uint64_t offset);

/* A section that no reader knows, of version 6. */
void forge_more(forge *f, unsigned number, const void *bytes, size_t n);

/* A uvarint of that many bytes, so that another number takes its place. */
enum { FORGE_OFFSET_BYTES = 4, FORGE_SECTION_BYTES = 1 + 2 * FORGE_OFFSET_BYTES };
void forge_offset(uint8_t *at, uint64_t n);
uint64_t forge_offset_at(const uint8_t *at);

enum { FORGE_START_BYTES = LH_BLOCK_ENTRY - 8 };

/* A table without array part up to its first entry. `flags`: LH_FLAG_WEAK_*. metatable 0: none. */
void forge_table(forge *f, uint64_t address, unsigned flags, uint64_t metatable, uint64_t entries);
void forge_tags(forge *f, unsigned key, unsigned value);

void forge_root(forge *f, unsigned kind, unsigned index, uint64_t address);
