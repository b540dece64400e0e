/*
** profile_out.h - what the files of the writer share:
**
**     profile.c          its life; events, and what else is done each KB of them; the file, and
**                        that for a watcher in another process
**     profile_blocks.c   blocks, and what all files have: facts, definitions, calls, the end
**     profile_counts.c   an aggregate: its rows, and the file that is made of them
**
** Private to the writer.
*/
#ifndef LUAHEAP_PROFILE_OUT_H
#define LUAHEAP_PROFILE_OUT_H

#include "track/profile.h"

/* ==== profile.c =================================================================== */

/* The time has gone on: is something to be shown or written? */
void lh_profile_look(lh_profile_out *out, uint64_t now_ns);

/* For a watcher. NULL: the system has no such files. The last shows what there is now. */
lh_live *lh_live_new(void);
void lh_live_free(lh_live *live);
void lh_live_publish(lh_live *live, const lh_profile_out *out, uint8_t *buffer);

/* ==== profile_blocks.c ============================================================ */

enum { LH_PROFILE_BUFFER = (int)LH_PROFILE_BLOCK_HEAD + (int)LH_PROFILE_BLOCK_BYTES };

/* Puts the file's header into the buffer, which has LH_PROFILE_BUFFER bytes. */
void lh_profile_blocks_begin(lh_profile_blocks *to, uint8_t *buffer, lh_writer writer,
                             void *payload);

/* Ends the block that was begun, if there is something in it, and begins one of this kind. */
void lh_profile_blocks_next(lh_profile_blocks *to, unsigned kind);

/* Room for n bytes in the block; if need be in the next one, of the same kind. */
uint8_t *lh_profile_blocks_room(lh_profile_blocks *to, size_t n);

void lh_profile_blocks_facts(lh_profile_blocks *to, const lh_profile_out *out, bool is_aggregate);

/* All definitions that are not in *defined. */
void lh_profile_blocks_define(lh_profile_blocks *to, const lh_profile_out *out,
                              lh_defined *defined);
void lh_profile_blocks_calls(lh_profile_blocks *to, const lh_profile_out *out, uint32_t n_stacks);

/* Rows of a table: each takes room by lh_table_room; all blocks between begin and end are its. */
void lh_table_begin(lh_profile_blocks *to, unsigned kind);
uint8_t *lh_table_room(lh_profile_blocks *to, size_t n);
void lh_table_end(lh_profile_blocks *to);

/* And nothing more. */
void lh_profile_blocks_end(lh_profile_blocks *to, const lh_profile_out *out, uint64_t n_events,
                           bool is_final);

/* ==== profile_counts.c ============================================================ */

/* NULL: out of memory. */
lh_counting *lh_counting_new(bool has_weights);
void lh_counting_free(lh_counting *counting);

/* The whole profile as it is now. */
void lh_counting_write(const lh_profile_out *out, lh_profile_blocks *to, bool is_final);

#endif
