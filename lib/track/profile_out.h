/*
** profile_out.h - what the files of the writer share:
**
**     profile.c          its life; events, and what else is done each KB of them
**     profile_blocks.c   blocks, and what all files have: facts, definitions, calls, the end
**     profile_file.c     the file, and how the program comes to no harm by it
**     profile_counts.c   an aggregate: its rows, and the file that is made of them
**     profile_live.c     the same for a watcher in another process
**
** Private to the writer.
*/
#ifndef LUAHEAP_PROFILE_OUT_H
#define LUAHEAP_PROFILE_OUT_H

#include "track/profile.h"

/* {=== profile.c ===================================================================== */

/* The time has gone on: is something to be shown or written? */
void lh_profile_look(lh_profile_out *out, uint64_t now_ns);

/* }=================================================================================== */

/* {=== profile_blocks.c ============================================================== */

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

/* }=================================================================================== */

/* {=== profile_file.c ================================================================ */

/* Makes the path absolute, since the program may go elsewhere. LH_EIO where a file is there that is
** no profile. */
int lh_profile_file_new(lh_profile_file **out, const char *path, lh_error *error);
void lh_profile_file_free(lh_profile_file *file);

/* A file without a name is opened, written to by lh_profile_file_write, and gets its name when it
** is whole enough, in place of an older one. It stays open until the next one, or is freed. */
int lh_profile_file_open(lh_profile_file *file, lh_error *error);
int lh_profile_file_name(lh_profile_file *file, lh_error *error);

/* An lh_writer: all of it or nothing. After the first failure nothing more. */
size_t lh_profile_file_write(const void *data, size_t n, void *file);

/* Tries once more after a failure: the end of the file. */
void lh_profile_file_retry(lh_profile_file *file);

/* What went wrong, if something did. */
const lh_error *lh_profile_file_error(const lh_profile_file *file);

/* }=================================================================================== */

/* {=== profile_counts.c ============================================================== */

/* NULL: out of memory. */
lh_counting *lh_counting_new(bool has_weights);
void lh_counting_free(lh_counting *counting);

/* The whole profile as it is now. */
void lh_counting_write(const lh_profile_out *out, lh_profile_blocks *to, bool is_final);

/* }=================================================================================== */

/* {=== profile_live.c ================================================================ */

/* NULL: the system has no such files. */
lh_live *lh_live_new(void);
void lh_live_free(lh_live *live);

/* Does a watcher ask for a new profile? Looks each 20 ms, and costs nothing in between. */
bool lh_live_is_asked(lh_live *live, uint64_t now_ns);

/* Shows what there is now. */
void lh_live_publish(lh_live *live, const lh_profile_out *out, uint8_t *buffer);

/* }=================================================================================== */

#endif
