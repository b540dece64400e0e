/*
** format.h - the profile file, byte by byte (format version 1). Only the writer
** (lib/track/profile*.c) and the reader include this file; numbers are as in lib/format.h.
**
** A profile grows while the program runs, so nothing in it refers to what comes later, and a file
** that was cut anywhere is one up to the last block that is there:
**
**     +--------+---------------+---------+---------+     +-------+     +-----+
**     | header | block of      | block of records  | ... | calls | ... | end |
**     | 16 B   | facts         | 64 KB   | 64 KB   |     |       |     |     |
**     +--------+---------------+---------+---------+     +-------+     +-----+
**
** Header
**   8 bytes   LH_PROFILE_MAGIC
**   u32       format version: 1. A reader refuses a greater one
**   u32       0
**
** Block, at offset B of the file
**   u32       n, the bytes of the content, 1 to LH_PROFILE_BLOCK_BYTES
**   u32       what the content is: LH_BLOCK_*
**   u64       XXH64 of the eight bytes before it, with B as seed
**   u64       XXH64 of the content, with B as seed
**   n bytes   content
**
** So every byte is covered by a hash, the magic or an equation, no block can stand in another's
** place, and a block that ends behind the end of the file was cut, not damaged.
**
** LH_BLOCK_FACTS: the first block, and no other
**   u64       state id
**   uvarint   process id
**   u64       nanoseconds since 1970 (UTC) when tracking began
**   uvarint   collectgarbage("count") * 1024 then
**   uvarint   mean distance of samples in bytes; 0: every allocation is recorded
**   u8        LH_PROFILE_HAS_STACKS, LH_PROFILE_IS_AGGREGATE, LH_PROFILE_HAS_CALLS
**   bytes     release of Lua, as "5.4.4"
**   bytes     program: the command line, words separated by one space, as far as there is room
**
** LH_BLOCK_RECORDS: any number of records, each of which begins with a number. What is below 16 is
**   1 to 4    a definition (lib/sites.h), which comes before what refers to it
**   5         LH_RECORD_TIME: uvarint nanoseconds since the last such record, or since the start.
**             One follows upon some 1,024 bytes of events
** and all else is an event. Not in an aggregate, which has definitions only:
**   uvarint   stack << 6 | type << 2 | LH_RECORD_*. The types are Lua's (4 string, 5 table,
**             6 function, 7 userdata, 8 thread, 9 upvalue, 10 prototype) and 15 for a part of an
**             object, so this is 16 at least. The stack is that of what allocates now, but of
**             LH_RECORD_FREE that of the block that goes
**   uvarint   bytes, of the block as it is now, or of the one that goes
**   LH_RECORD_RESIZE only: uvarint stack of the block as it was, uvarint its bytes
**   LH_RECORD_RESIZE and _FREE: uvarint age, in 4 KB that were allocated since the block was made
**   in a file of samples: uvarint weight in 1/65536, so many stand behind this one
**
** LH_BLOCK_COUNTS (of an aggregate) and LH_BLOCK_CALLS: a table, in a row of blocks of the kind
**   u8        LH_TABLE_FIRST in its first block, LH_TABLE_LAST in its last one
**   rows. Of calls, stacks rising:
**             uvarint stack, uvarint calls, uvarint tail calls, uvarint nanoseconds in it,
**             uvarint with what it called, u8 1: all returned the very same values
**   of counts, stacks rising, and of one stack types (as in an event):
**             uvarint stack, u8 type, then as in lh_profile_count: uvarint made, made_bytes,
**             resized, resized_bytes, replaced, replaced_bytes, freed, freed_bytes, samples,
**             live_bytes_at_peak; uvarint the ages that somebody reached (a bit each), and for
**             each of these uvarint deaths, uvarint bytes of them
**   Of several tables of a kind the last one that is whole counts.
**
** LH_BLOCK_END: nothing follows it
**   uvarint   nanoseconds since the start
**   uvarint   events in the file, and those that were lost: they could not be written
**   u8        1: tracking has ended; 0: an aggregate that is still counted
**
** An aggregate is written anew, as a whole, and takes the place of the one before.
**
** Limits: no stack has an id that is not defined. Counts and bytes of all events (times their
** weights) add up to at most 2^57, and so do all numbers of a table of counts; a number of a table
** of calls is below 2^62. Ages are below 2^44, weights are 1 at least, times are below 2^63.
*/
#ifndef LUAHEAP_PROFILE_FORMAT_H
#define LUAHEAP_PROFILE_FORMAT_H

#include "luaheap_profile.h"
#include "sites.h"

#define LH_PROFILE_MAGIC "\x89LPROF\r\n"
#define LH_PROFILE_VERSION 1u
#define LH_PROFILE_HEADER_BYTES 16u
#define LH_PROFILE_BLOCK_HEAD 24u
#define LH_PROFILE_BLOCK_BYTES (1u << 16)

enum {
  LH_BLOCK_FACTS = 1,
  LH_BLOCK_RECORDS = 2,
  LH_BLOCK_COUNTS = 3,
  LH_BLOCK_CALLS = 4,
  LH_BLOCK_END = 5
};

enum { LH_PROFILE_HAS_STACKS = 1, LH_PROFILE_IS_AGGREGATE = 2, LH_PROFILE_HAS_CALLS = 4 };

enum { LH_RECORD_NEW = 0, LH_RECORD_RESIZE = 1, LH_RECORD_FREE = 2 }; /* as lh_event_kind */
enum { LH_RECORD_TIME = 5, LH_RECORD_FIRST_EVENT = 16 };
enum { LH_RECORD_TYPE_SHIFT = 2, LH_RECORD_STACK_SHIFT = 6 };
enum { LH_RECORD_PART = 15, LH_RECORD_AGE_SHIFT = 12, LH_RECORD_WEIGHT_SHIFT = 16 };

enum { LH_TABLE_FIRST = 1, LH_TABLE_LAST = 2 };

/* No event is longer: six numbers. */
enum { LH_LONGEST_EVENT = 6 * LH_MAX_VARINT };

/* lh_type of a type in the file, LH_EVENT_PART, or LH_TYPE_ROOT: there is no such type. */
static inline uint8_t lh_profile_type(unsigned type) {
  static const uint8_t types[16] = {[4] = LH_TYPE_STRING,  [5] = LH_TYPE_TABLE,
                                    [6] = LH_TYPE_CLOSURE, [7] = LH_TYPE_USERDATA,
                                    [8] = LH_TYPE_THREAD,  [9] = LH_TYPE_UPVALUE,
                                    [10] = LH_TYPE_PROTO,  [LH_RECORD_PART] = LH_EVENT_PART};
  return types[type & 15];
}

#endif
