/*
** format.h - the snapshot file, byte by byte: format versions 6 and 7, and what differs in older
** ones.
**
** A snapshot is written once, front to back, without seeking, and read through a memory map. Only
** the writer and the reader include this file.
**
**     +--------+---------------------------------+----------+--------+---------+
**     | header | object records, list by list    | sections | footer | trailer |
**     | 16 B   | allgc, finobj, tobefnz, fixedgc |          | varies | 40 B    |
**     +--------+---------------------------------+----------+--------+---------+
**     0        16                                R          F        F+footer_bytes
**
** All integers of fixed size are little-endian. The variable ones:
**
**   uvarint   7 bits a byte, least significant first, high bit set on all bytes but the last;
**             at most 10 bytes, and the tenth is at most 1
**   svarint   the signed n as the uvarint (n << 1) ^ (n >> 63)
**   bytes     uvarint count, then that many bytes
**   reference the address of another object, as svarint((target >> 3) - (own >> 3)), where own is
**             the address of the record's object; target 0 means "none" (objects are 8-aligned)
**
** Header
**   8 bytes   LH_HEAD_MAGIC
**   u32       format version. A reader refuses a greater one. The writer writes 6 for Lua 5.4, and
**             7 for Lua 5.5 and skynet's, whose strings tell their length. Anything new is added as
**             a section
**   u32       0. In versions 4 and 5 flags: LH_TRACKED: has the section of sites; (version 5)
**             LH_OUTSIDE: has the section of outside
**
** Record of one object, in the order of the collector's list (on allgc and finobj: youngest first)
**   u8        low 4 bits: record type (LH_REC_*), high 4 bits: flags. LH_FLAG_DEAD (0x10): the
**             collector has condemned the object and may have freed the objects that it refers to.
**             A dead record of any type ends after the stack; but one with the flag EXTERNAL
**             ends after its length (version 7)
**   svarint   (address >> 3) - (address of the previous record's object >> 3), 0 for the first
**   uvarint   shallow size in bytes. 0 on fixedgc: the object is in another state, which counts it.
**             Only skynet's Lua has objects like this; they are no roots
**   uvarint   (if the file has sites) stack that allocated the object, as numbered in the section
**             of sites; 0: not known
**   then by type:
**
**   string    [version 7: uvarint length], [flag TRUNCATED: uvarint kept, u64 XXH64 of the whole
**             content] kept bytes; without the flag kept = length. Before version 7 the length is
**             shallow size - 25. The hash's seed is 0. In a snapshot with strings = 0 the seed is a
**             secret random number of the Lua state: equal hashes prove equality in the process,
**             but reveal no content.
**             Flag EXTERNAL (version 7): the text has a block of its own, of length + 1 bytes,
**             which are freed with the string but are neither in the shallow size nor in the
**             collector's byte count. Flag FIXED (version 7): the text is memory that nobody frees,
**             such as a library's. At most one of the two is set
**   table     flags WEAK_KEYS, WEAK_VALUES, METATABLE. The first two say what its own __mode has:
**             the tables that have this table as metatable are weak (version 1: this table itself).
**             uvarint array slots; u8 0 for no hash part, else 1 + log2(hash slots);
**             [METATABLE: reference]
**             uvarint covered, then values (below) that describe the array slots 1 to `covered`,
**             the last of which is not empty;
**             uvarint entries, then for each used hash slot
**                 u8 key tag << 4 | value tag, key payload, value payload (the key's tag may also
**                 be LH_VAL_KEY)
**   Lua closure   uvarint upvalues, reference proto, that many references to upvalues
**   C closure     uvarint function pointer, uvarint upvalues, that many values
**   upvalue   flag OPEN (the value is a slot of a stack). value
**   proto     reference source, uvarint first line, uvarint last line, u8 parameters, u8 1 if
**             vararg, uvarint instructions, uvarint upvalues, uvarint constants, uvarint bytes of
**             debug information; then four lists:
**             uvarint n, n references: collectable constants;
**             uvarint n, n times: reference nested proto, reference its name (from the enclosing
**             code) or none;
**             uvarint n, n references: names of the upvalues, in their order (none if stripped);
**             uvarint n, n references: names of the local variables
**   userdata  flag METATABLE. uvarint bytes, [METATABLE: reference], uvarint user values, that many
**             values
**   thread    flag MAIN. u8 status (lh_thread_status), uvarint stack slots (capacity),
**             uvarint call frames, outermost first (the first is the host's: its function is nil),
**             for each:
**                 value function, uvarint current line (0: unknown),
**                 uvarint n, n times: u8 slot kind (LH_SLOT_*), uvarint ordinal,
**                 [LH_SLOT_LOCAL: reference name], reference object
**                     local: ordinal = register; vararg and argument: counted from 1
**             uvarint n, n references: open upvalues
**   mark      a userdata of luaheap: as userdata, then u8 kind (LH_MARK_*). Unless the kind is
**             LH_MARK_STATE: u64 state id, uvarint serial (1, 2, ...), u64 nanoseconds since 1970
**             (UTC), bytes name. Each mark() or snapshot() leaves two marks with one serial, one on
**             allgc and one on finobj. On allgc, from the old end, only marks whose serial rises
**             count, since a closing state moves finalized objects to the young end. In a file from
**             outside also marks whose time rises count, since inside and outside number their
**             marks separately. The last one is the snapshot's own. Marks of another state and
**             LH_MARK_VOID do not count
**
** Limits: F is below 2^40, objects are fewer than 2^32 - 1, array slots below 2^32, hash slots at
** most 2^31. Times are below 2^63. All sizes of the objects (shallow, lengths of strings of version
** 7, slots of tables and stacks, instructions, debug information, blocks of userdata) add up to at
** most 2^57, more than any address space, and so do the three sizes in the footer. No two objects
** have the same address. A reference or root whose target has no record is ignored.
**
** Value: u8 tag, payload. In a table's hash part the two tags share a byte.
**   LH_VAL_SKIP     only in an array part: uvarint n, n > 0 empty slots
**   LH_VAL_NIL      -                   (upvalues, user values)
**   LH_VAL_FALSE, LH_VAL_TRUE   -
**   LH_VAL_INTEGER  svarint
**   LH_VAL_FLOAT    8 bytes, IEEE 754 little-endian
**   LH_VAL_POINTER  uvarint             light userdata
**   LH_VAL_CFUNCTION uvarint            light C function
**   LH_VAL_OBJECT   reference                 any collectable object, never "none"
**   LH_VAL_KEY      u8 index into the footer's table of frequent keys; only as key of a hash slot
**
** Sections: the first begins at R, each other one where the section before it ends, and the last
** ends at F. The footer's directory lists them. A reader ignores unknown sections. Their numbers
** are 1 to LH_LAST_SECTION.
**
** LH_SECTION_SITES, if the program was tracked: the stacks of the records
**   u8        flags: LH_SITES_HAVE_STACKS; without it each stack is only a site
**   uvarint   mean distance of the samples in bytes; 0: every allocation was recorded
**   uvarint   allocations since tracking began
**   uvarint   those of them whose site is not known
**   the definitions of sites.h, u8 0
**   for each stack, in the order of their definitions, 4 uvarints: objects made, bytes made,
**             objects freed, bytes freed; each below 2^63 in sum
**
** LH_SECTION_OUTSIDE, if another process took the snapshot
**   u8        how the heap was kept from changing meanwhile (lh_stillness)
**   u8        flags: LH_OUTSIDE_IN_CALL, the process was in a system call; LH_OUTSIDE_IN_DOUBT, Lua
**             may have been in the middle of a change
**   uvarint   number of marks that were placed by comparison with an older snapshot, oldest first;
**             for each: uvarint serial, u64 its nanoseconds since 1970, 2 uvarints: of the objects
**             that follow the mark on allgc, and on finobj, at most this many are younger than the
**             mark: the next ones
**   uvarint   number of C functions, at most LH_MOST_C_FUNCTIONS, by ascending address; for each:
**             uvarint address, bytes name of its symbol (may be empty), bytes name of its file,
**             uvarint offset in the file
**
** LH_SECTION_COLLECTOR: what the collector may do next, and the program's settings
**   u8        flags: LH_COLLECTOR_STOPPED, by the program
**   svarint   bytes that may be allocated until its next step; 0 or less: one is due
**   uvarint   bytes that it found alive in its last whole cycle; 0: not known
**   4 uvarints, percentages below 2^32: pause, step multiplier, minor multiplier, major multiplier
**             (Lua 5.5: its minormajor)
**
** Footer
**   u64       state id, random for each Lua state
**   uvarint   serial of the snapshot's own mark
**   u64       nanoseconds since 1970 (UTC)
**   uvarint   process id
**   bytes     release of Lua, such as "5.4.4", or "5.4" or "5.5" if the host hides it. Behind it
**             LH_SKYNET: skynet's Lua, where each string has 8 bytes more
**   bytes     program: the command line, words separated by one space
**   bytes     name: the path that the program gave
**   uvarint   string limit: bytes kept of each string
**   uvarint   collector's byte count (collectgarbage("count") * 1024) at the snapshot
**   uvarint   bytes of the string table
**   u8 u8     collector: state (0 to 8), kind (0 incremental, 1 generational; version 7: 2
**             generational, in a major cycle)
**   uvarint   (version 3) objects that lua_close had finalized before: these have no age
**   4 uvarint objects on allgc, finobj, tobefnz, fixedgc
**   uvarint   sum of all shallow sizes
**   uvarint   number of roots, for each: u8 kind (lh_root_kind), u8 index, uvarint address >> 3
**   uvarint   (version 3) number of frequent keys, at most LH_MOST_KEYS; for each the uvarint
**             address >> 3 of an object, not 0. A key of many tables, such as a field's name, then
**             takes one byte in each table in place of a reference of about five
**   uvarint   (version 6) number of sections, then for each, both numbers and offsets ascending:
**             uvarint its number, uvarint its offset, uvarint its bytes.
**             In versions 4 and 5: [LH_TRACKED: uvarint the offset of the sites],
**             [LH_OUTSIDE: uvarint the offset of outside, which is the last section]
**   u32       number of blocks, then for each, LH_BLOCK_ENTRY bytes:
**                 u64   XXH64, seed 0, of the bytes of the file
**                       [i * LH_BLOCK_BYTES, min((i + 1) * LH_BLOCK_BYTES, F))
**             and, in version 6, about the first record that begins in the block
**                 u64   address >> 3 of the object before it, to which its own address
**                       is relative; 0: there is none
**                 u32   id of its object (objects are counted from 1 in the order of records).
**                       0: no record begins in the block, and the other two are 0
**                 u32   its offset in the block
**             So threads of a reader can read blocks in parallel. A thread that does not end just
**             at the first record of the next thread's blocks has found damage
** Trailer
**   u64       F, the footer's offset
**   u64       footer_bytes
**   u64       XXH64, seed 0, of the footer
**   u64       0
**   8 bytes   LH_TAIL_MAGIC
**
** So every byte is covered by a hash, a magic or an equation; a file that was cut has no trailer;
** the writer keeps 24 bytes in memory for each MiB written.
*/
#pragma once

#include "rooms/read.h" /* lh_thread_status, lh_root_kind */
#include "varint.h"

#define LH_HEAD_MAGIC "\x89LHEAP\r\n"
#define LH_TAIL_MAGIC "\nLHEND\r\n"
#define LH_FORMAT_VERSION 7u
#define LH_SKYNET " (skynet)"  /* behind the release of skynet's Lua */
#define LH_LENGTHS_VERSION 7u  /* adds the length of strings, external and fixed ones */
#define LH_SECTIONS_VERSION 6u /* adds the directory of sections, the first record of blocks */
#define LH_HEADER_BYTES 16u
#define LH_TRAILER_BYTES 40u
#define LH_BLOCK_BYTES (1u << 20)
#define LH_LONGEST_FILE (UINT64_C(1) << 40) /* the footer is in front of this */
#define LH_BLOCK_ENTRY 24u     /* in the table of blocks; before version 6 only the first 8 */
#define LH_STRING_OVERHEAD 25u /* before version 7: a string's shallow size minus its length */

enum { LH_TRACKED = 1, LH_OUTSIDE = 2 }; /* in the header, before version 6 */

enum {
  LH_SECTION_SITES = 1,
  LH_SECTION_OUTSIDE = 2,
  LH_SECTION_COLLECTOR = 3,
  LH_LAST_SECTION = 63
};

enum { LH_SITES_HAVE_STACKS = 1 };

enum { LH_COLLECTOR_STOPPED = 1 };
enum { LH_OUTSIDE_IN_CALL = 1, LH_OUTSIDE_IN_DOUBT = 2 };
enum { LH_MOST_C_FUNCTIONS = 4096 };

enum {
  LH_REC_STRING = 1,
  LH_REC_TABLE = 2,
  LH_REC_LUA_CLOSURE = 3,
  LH_REC_C_CLOSURE = 4,
  LH_REC_UPVALUE = 5,
  LH_REC_PROTO = 6,
  LH_REC_USERDATA = 7,
  LH_REC_THREAD = 8,
  LH_REC_MARK = 9
};

enum {
  LH_FLAG_DEAD = 0x10,
  LH_FLAG_TRUNCATED = 0x20,   /* string */
  LH_FLAG_EXTERNAL = 0x40,    /* string */
  LH_FLAG_FIXED = 0x80,       /* string */
  LH_FLAG_METATABLE = 0x20,   /* table, userdata, mark */
  LH_FLAG_WEAK_KEYS = 0x40,   /* table */
  LH_FLAG_WEAK_VALUES = 0x80, /* table */
  LH_FLAG_OPEN = 0x20,        /* upvalue */
  LH_FLAG_MAIN = 0x20         /* thread */
};

enum {
  LH_VAL_SKIP = 0,
  LH_VAL_NIL = 1,
  LH_VAL_FALSE = 2,
  LH_VAL_TRUE = 3,
  LH_VAL_INTEGER = 4,
  LH_VAL_FLOAT = 5,
  LH_VAL_POINTER = 6,
  LH_VAL_CFUNCTION = 7,
  LH_VAL_OBJECT = 8,
  LH_VAL_KEY = 9
};

enum { LH_MOST_KEYS = 256 };

enum { LH_SLOT_LOCAL = 1, LH_SLOT_TEMPORARY = 2, LH_SLOT_VARARG = 3, LH_SLOT_ARGUMENT = 4 };

enum { LH_MARK_STATE = 0, LH_MARK_BY_MARK = 1, LH_MARK_BY_SNAPSHOT = 2, LH_MARK_VOID = 3 };
