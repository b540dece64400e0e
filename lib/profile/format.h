/*
** format.h - the profile file, byte by byte: format version 1.
**
** Only the writer (lib/track/profile*.c) and the reader include this file; lib/format.h defines the
** numbers. A profile grows while the program runs, so nothing in it refers to later parts. A file
** that was cut is valid up to its last whole block:
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
**   u32       kind of the content: LH_BLOCK_*
**   u64       XXH64 of the eight bytes before it, with B as seed
**   u64       XXH64 of the content, with B as seed
**   n bytes   content
**
** So every byte is covered by a hash, the magic or an equation, and no block can replace another
** one. A block that ends behind the end of the file was cut, not damaged.
**
** LH_BLOCK_FACTS: only the first block
**   u64       state id
**   uvarint   process id
**   u64       nanoseconds since 1970 (UTC) when tracking began
**   uvarint   collectgarbage("count") * 1024 at that time
**   uvarint   mean distance of samples in bytes; 0: every allocation is recorded
**   u8        LH_PROFILE_HAS_STACKS, LH_PROFILE_IS_AGGREGATE, LH_PROFILE_HAS_CALLS
**   bytes     release of Lua, as "5.4.4"
**   bytes     program: the command line, words separated by one space, cut if it is too long
**
** LH_BLOCK_RECORDS: any number of records. Each begins with a number. Numbers below 16:
**   1 to 4    a definition (lib/sites.h), before its first use
**   5         LH_RECORD_TIME: uvarint nanoseconds since the last such record, or since the start.
**             There is one after about 1,024 bytes of events
** All others are events (an aggregate has none, only definitions):
**   uvarint   stack << 6 | type << 2 | LH_RECORD_*. The types are Lua's (4 string, 5 table,
**             6 function, 7 userdata, 8 thread, 9 upvalue, 10 prototype) and 15 for a part of an
**             object, so the number is at least 16. The stack is that of the allocation, or in an
**             LH_RECORD_FREE that of the freed block
**   uvarint   bytes of the block now, or of the freed block
**   LH_RECORD_RESIZE only: uvarint stack of the block before, uvarint its bytes
**   LH_RECORD_RESIZE and _FREE: uvarint age, in units of 4 KB allocated since the block was made
**   in a file of samples: uvarint weight in 1/65536, the number of events that this one stands for
**
** LH_BLOCK_COUNTS (of an aggregate) and LH_BLOCK_CALLS: a table in consecutive blocks of its kind
**   u8        LH_TABLE_FIRST in its first block, LH_TABLE_LAST in its last one
**   rows. Calls, by ascending stack:
**             uvarint stack, uvarint calls, uvarint tail calls, uvarint nanoseconds in it,
**             uvarint with its callees, u8 1: all calls returned the very same values
**   Counts, by ascending stack and then type (as in an event):
**             uvarint stack, u8 type, then as in lh_profile_count: uvarint made, made_bytes,
**             resized, resized_bytes, replaced, replaced_bytes, freed, freed_bytes, samples,
**             live_bytes_at_peak; uvarint the ages with deaths (a bit each), and for each of
**             these uvarint deaths, uvarint their bytes
**   Of several tables of a kind the last whole one is valid.
**
** LH_BLOCK_END: the last block
**   uvarint   nanoseconds since the start
**   uvarint   events in the file, and lost events, which could not be written
**   u8        1: tracking has ended; 0: an aggregate that is still counting
**
** An aggregate is written as a whole each time, and replaces the one before.
**
** Limits: each stack id is defined. Counts and bytes of all events (times their weights) add up to
** at most 2^57, and so do all numbers of a table of counts; a number in a table of calls is below
** 2^62. Ages are below 2^44, weights at least 1, times below 2^63.
*/
#pragma once

#include <fcntl.h>

#include "rooms/profile.h"
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

/* The longest event has six numbers. */
enum { LH_LONGEST_EVENT = 6 * LH_MAX_VARINT };

/* The lh_type for a type in the file, or LH_EVENT_PART; LH_TYPE_ROOT: unknown type. */
static inline uint8_t lh_profile_type(unsigned type) {
  static const uint8_t types[16] = {[4] = LH_TYPE_STRING,  [5] = LH_TYPE_TABLE,
                                    [6] = LH_TYPE_CLOSURE, [7] = LH_TYPE_USERDATA,
                                    [8] = LH_TYPE_THREAD,  [9] = LH_TYPE_UPVALUE,
                                    [10] = LH_TYPE_PROTO,  [LH_RECORD_PART] = LH_EVENT_PART};
  return types[type & 15];
}

/* The two files in memory of a tracked program. lib/track/profile.c makes them; tracked.c finds
** them in another process. */
#define LH_LIVE_REQUEST "luaheap-request"
#define LH_LIVE_PROFILE "luaheap-profile"

/* Nobody can write to the files or remove their seals. */
enum { LH_LIVE_SEALS = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

/* A watcher reads no larger answer: it may take 48 times as much memory. A program with a hundred
** thousand stacks answers with 5 MB. */
#define LH_LIVE_MOST_BYTES ((off_t)64 << 20)

/* The byte of the request to lock. The lock says: the profile with this inode number is old. */
static inline int64_t lh_live_byte(uint64_t inode) {
  return (int64_t)(inode & (UINT64_MAX >> 2));
}
