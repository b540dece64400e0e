/*
** profile.h - the writer of profiles (lib/profile/format.h), in the tracked process.
**
** Events go into a buffer of 64 KB, 4 to 5 bytes each (binary trees and JSON 4, luacheck with
** stacks 5.3), in some 5 ns. A full buffer is a block of the file, and so is one of which a part is
** older than a second: who is killed loses no more. The time is looked at after each KB of events.
** Definitions of sites and stacks are fetched when an event names a stack that was not there before
** (lh_definitions_write).
**
** An aggregate (profile_counts.c) has a row of counters for each stack and type instead, which
** takes some 15 ns an event, and is written anew each ten seconds and at the end. So it is what a
** watcher from outside is shown, too.
**
** The file has its name from the start, with header and facts in it, since a program that is killed
** shall leave a profile. A profile of this name is replaced at that moment, as is an empty file;
** any other file is somebody's, perhaps the program itself, and tracking does not begin. From then
** on nothing that goes wrong with the file is the program's concern: what cannot be written is lost
** and counted, and the file ends after the last block that could be. Nothing is written that would
** exceed RLIMIT_FSIZE, which is a signal that kills; none where the descriptor has become another
** file's, since hosts close what they do not know; and none in a forked child.
*/
#ifndef LUAHEAP_TRACK_PROFILE_H
#define LUAHEAP_TRACK_PROFILE_H

#include <sys/types.h>

#include "luaheap_take.h"
#include "profile/format.h"
#include "track/calls.h"
#include "track/stacks.h"

/* `counts` is lh_calls_counts. */
typedef struct lh_profile_options {
  const char *path;  /* NULL: none, for a watcher only */
  bool is_aggregate; /* counts instead of events */
  bool is_live;      /* can be watched from outside */
  bool has_stacks;
  uint64_t sample_bytes; /* 0: every allocation is recorded */
  uint64_t state_id, start_bytes;
  const char *release;
  const lh_definitions *definitions;
  const lh_calls *calls; /* NULL: no time is taken */
  lh_call_counts (*counts)(const lh_calls *calls, lh_stack_id stack);
} lh_profile_options;

typedef struct lh_counting lh_counting;
typedef struct lh_live lh_live;
typedef struct lh_profile_file lh_profile_file;

/* A profile that is being written, block by block. */
typedef struct lh_profile_blocks {
  uint8_t *at;         /* in the buffer: where the next byte goes */
  uint8_t *buffer;     /* a block's head and its content */
  uint64_t offset;     /* of the block in the file */
  uint32_t kind;       /* LH_BLOCK_* */
  bool is_within_name; /* its head was put, and the bytes are next */
  lh_writer writer;    /* of whole blocks */
  void *payload;
} lh_profile_blocks;

struct lh_profile_out {
  /* What each event reads. */
  lh_profile_blocks to;
  uint8_t *stop;         /* the time is looked at, or the block is full */
  uint32_t n_stacks;     /* that are defined */
  bool has_weights;      /* of samples */
  lh_counting *counting; /* NULL: no rows are kept */
  uint64_t n_events;     /* in the file, and in the block if that is written */

  lh_profile_options options;
  bool has_events; /* not an aggregate */
  bool is_open;    /* nothing went wrong with the file so far */
  pid_t process_id;
  lh_defined defined;
  uint64_t lost_events, n_written; /* n_written: events in the blocks that are in the file */
  uint64_t start_ns, start_unix_ns;
  uint64_t time_ns, flushed_ns; /* of the last time record, and of the last block */
  uint64_t calls_at, calls_end; /* the last table of calls in the file */
  lh_profile_file *file;        /* NULL: none */
  lh_error trouble;             /* its code is 0: none */
  lh_live *live;                /* NULL: nobody can watch */
  uint8_t *other_buffer;        /* for the files that are written as a whole */
  char release[16];
};

/* Begins a profile. Fails with LH_EIO or LH_EMEMORY, and then has changed no file. */
int lh_profile_begin(lh_profile_out **out, const lh_profile_options *options, lh_error *error);

/* Writes the rest and frees `out`. LH_EIO: something could not be written, now or before, and the
** sentence says how much was lost. In a forked child it only frees. */
int lh_profile_end(lh_profile_out *out, lh_error *error);

/* The sentence about what could not be written so far; NULL: nothing. Until lh_profile_end. */
const char *lh_profile_trouble(const lh_profile_out *out);

/* Not for callers: what happens rarely (a new stack, a KB was filled). */
uint8_t *lh_profile_make_room(lh_profile_out *out, lh_stack_id stack);

/* Counts the event in its rows. True: it is in no file. */
bool lh_profile_count_event(lh_profile_out *out, const lh_event *event);

/* An event: `type` is Lua's or LH_RECORD_PART, `weight` 1 unless sampled; without a time. */
static inline void lh_profile_put(lh_profile_out *out, lh_event e) {
  if (__builtin_expect(out->counting != NULL, 0)) {
    lh_event counted = e; /* so that `e` can stay in registers */
    if (lh_profile_count_event(out, &counted)) return;
  }
  bool is_free = e.kind == LH_EVENT_FREE;
  lh_stack_id stack = is_free ? e.old_stack : e.stack;
  uint8_t *p = out->to.at;
  if (__builtin_expect(p >= out->stop || stack > out->n_stacks, 0))
    p = lh_profile_make_room(out, stack);
  p = lh_put_uvarint(p, (uint64_t)stack << LH_RECORD_STACK_SHIFT |
                            (unsigned)e.type << LH_RECORD_TYPE_SHIFT | e.kind);
  p = lh_put_uvarint(p, is_free ? e.old_bytes : e.bytes);
  if (e.kind == LH_EVENT_RESIZE) p = lh_put_uvarint(lh_put_uvarint(p, e.old_stack), e.old_bytes);
  if (e.kind != LH_EVENT_NEW) p = lh_put_uvarint(p, e.age_bytes >> LH_RECORD_AGE_SHIFT);
  if (__builtin_expect(out->has_weights, 0))
    p = lh_put_uvarint(p, (uint64_t)(e.weight * (1u << LH_RECORD_WEIGHT_SHIFT)));
  out->to.at = p;
  out->n_events++;
}

#endif
