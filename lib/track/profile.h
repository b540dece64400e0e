/*
** profile.h - writes profiles (lib/profile/format.h) in the tracked process.
**
** Events are put into a buffer of 64 KB, 4 to 5 bytes each (binary trees and JSON 4, luacheck with
** stacks 5.3), in some 5 ns. A full buffer is written as a block, and so is one with events older
** than a second: a killed program loses no more. The time is looked at after each KB of events.
** Sites and stacks are defined in the file when an event has a new stack (lh_definitions_write).
**
** An aggregate has a row of counters for each stack and type instead, in some 15 ns an event. It is
** rewritten each ten seconds and at the end. A watcher from outside is shown an aggregate, too.
**
** The file has its name from the start, with header and facts, so that a killed program leaves a
** profile. It replaces a profile of this name, or an empty file. If another file is there, perhaps
** the program itself, tracking does not begin. Later failures do not concern the program: events
** are lost and counted, and the file ends after the last whole block. Nothing is written beyond
** RLIMIT_FSIZE, whose signal kills; nor into a descriptor that has become another file's, since
** hosts close unknown descriptors; nor in a forked child.
*/
#pragma once

#include "profile/format.h"
#include "quiet_io.h"
#include "track/calls.h"

/* `counts` is lh_calls_counts. */
typedef struct lh_profile_options {
  const char *path;  /* NULL: for a watcher only */
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

typedef struct lh_profile_blocks {
  uint8_t *at;         /* where the next byte is put */
  uint8_t *buffer;     /* a block's head and its content */
  uint64_t offset;     /* of the block in the file */
  uint32_t kind;       /* LH_BLOCK_* */
  bool is_within_name; /* a name's head was put; its bytes are next */
  lh_writer writer;    /* of whole blocks */
  void *payload;
} lh_profile_blocks;

struct lh_profile_out {
  /* What each event reads. */
  lh_profile_blocks to;
  uint8_t *stop;         /* from here on lh_profile_make_room is needed */
  uint32_t n_stacks;     /* that are defined */
  bool has_weights;      /* events are samples */
  lh_counting *counting; /* NULL: no rows are kept */
  uint64_t n_events;     /* in the file and in the current block */

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
  sigset_t usual_mask;          /* of the thread, when it was last looked at */
  char release[16];
};

/* LH_EIO or LH_EMEMORY: no file was changed. */
int lh_profile_begin(lh_profile_out **out, const lh_profile_options *options, lh_error *error);

/* Writes the rest and frees `out`. LH_EIO: something could not be written, now or before; the
** message says how much was lost. In a forked child it only frees. */
int lh_profile_end(lh_profile_out *out, lh_error *error);

/* The rare path of lh_profile_put: a new stack, or a full KB. */
uint8_t *lh_profile_make_room(lh_profile_out *out, lh_stack_id stack);

/* Counts the event in its rows. True: it is not written to a file. */
bool lh_profile_count_event(lh_profile_out *out, const lh_event *event);

/* Puts an event. `type` is Lua's or LH_RECORD_PART; `weight` is 1 unless sampled. */
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

/* For the files of the writer only. */

/* ==== profile.c =================================================================== */

/* Called now and then, in the thread that allocates: notes its mask, answers a watcher, and
** rewrites an aggregate that is due. */
void lh_profile_look(lh_profile_out *out, uint64_t now_ns);

/* For a watcher. NULL: the system has no files of this kind. */
lh_live *lh_live_new(void);
void lh_live_free(lh_live *live);
void lh_live_publish(lh_live *live, const lh_profile_out *out, uint8_t *buffer);

/* ==== profile_blocks.c ============================================================ */

enum { LH_PROFILE_BUFFER = (int)LH_PROFILE_BLOCK_HEAD + (int)LH_PROFILE_BLOCK_BYTES };

/* Writes the file's header. The buffer has LH_PROFILE_BUFFER bytes. */
void lh_profile_blocks_begin(lh_profile_blocks *to, uint8_t *buffer, lh_writer writer,
                             void *payload);

/* Writes the current block unless it is empty, and begins one of this kind. */
void lh_profile_blocks_next(lh_profile_blocks *to, unsigned kind);

/* Room for n bytes, if need be in a new block of the same kind. */
uint8_t *lh_profile_blocks_room(lh_profile_blocks *to, size_t n);

void lh_profile_blocks_facts(lh_profile_blocks *to, const lh_profile_out *out, bool is_aggregate);
void lh_profile_blocks_define(lh_profile_blocks *to, const lh_profile_out *out,
                              lh_defined *defined);
void lh_profile_blocks_calls(lh_profile_blocks *to, const lh_profile_out *out, uint32_t n_stacks);

/* Each row of a table takes lh_table_room. All blocks between begin and end are the table's. */
void lh_table_begin(lh_profile_blocks *to, unsigned kind);
uint8_t *lh_table_room(lh_profile_blocks *to, size_t n);
void lh_table_end(lh_profile_blocks *to);
void lh_profile_blocks_end(lh_profile_blocks *to, const lh_profile_out *out, uint64_t n_events,
                           bool is_final);

/* ==== profile_counts.c ============================================================ */

lh_counting *lh_counting_new(bool has_weights);
void lh_counting_free(lh_counting *counting);

void lh_counting_write(const lh_profile_out *out, lh_profile_blocks *to, bool is_final);
