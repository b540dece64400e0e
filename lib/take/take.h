/*
** take.h - the two halves of a snapshot: preparing and writing.
**
** Writing asks malloc for nothing, calls no Lua and is async-signal-safe: a forked child can do it.
*/
#pragma once

#include "file.h"
#include "own.h"

/* Facts for the footer that the heap does not have. The texts are borrowed. */
enum { LH_OURS = 3 };
typedef struct lh_facts {
  uint64_t state_id, time_ns, process_id;
  uint64_t n_finalized;      /* see lh_watched */
  uint32_t serial;           /* of the snapshot's mark */
  const char *release;       /* of Lua */
  const char *name;          /* of the file */
  const char *program;       /* the process's command line; NULL: our own */
  const void *ours[LH_OURS]; /* state's userdata, metatable of marks, watcher's thread; or NULL */
} lh_facts;

typedef struct lh_shot {
  lh_out out;
  lh_walk walk;
  lh_facts facts;
  lh_planted planted;
  uint64_t gc_bytes, string_table_bytes, short_strings;
  uint64_t longest_bytes; /* of the longest possible file */
} lh_shot;

/* ==== Preparing: with the Lua state (take.c) ======================================== */

/* Allocates all memory and plants the mark. LH_OK, LH_EMEMORY or LH_EARGUMENT; always followed by
** lh_shot_free. After a failure shot->planted may be voided. */
int lh_shot_prepare(lua_State *L, const char *name, lh_writer writer, void *payload,
                    const lh_take_options *options, lh_shot *shot, lh_error *error);

/* ==== Writing: without it (shot.c) ================================================== */

/* Copies the command line, words separated by spaces, without a NUL; returns its length. */
size_t lh_read_program(char *out, size_t size);

/* The longest file of a heap, as lh_out_longest. Where states share objects, those of others are in
** the file, too. */
uint64_t lh_shot_longest(const lh_layout *layout, uint64_t heap_bytes, uint64_t section_bytes,
                         uint64_t string_bytes);

/* Points the shot to a heap that has all its marks, and notes the heap's figures. `section_bytes`:
** the longest section of walk.more. */
void lh_shot_aim(lh_shot *shot, const char *global, const lh_layout *layout,
                 uint64_t section_bytes);

/* Passes the file to the writer of shot->out; may be repeated. Async-signal-safe if `error` is
** NULL. LH_EIO: the writer refused something. LH_EBUSY: shot->walk.ended. */
int lh_shot_write(lh_shot *shot, lh_taken *taken, lh_error *error);

/* Is there room for the shortest possible file? O(1). False: see file->failure. */
bool lh_shot_may_fit(const lh_shot *shot, lh_file *file);

/* Writes the file that is the shot's payload; false: see file->failure. If there may not be room
** for the longest possible file, a first walk measures the size. Async-signal-safe. lh_shot_save
** also gives the file its name. */
bool lh_shot_put(lh_shot *shot, lh_file *file, lh_taken *taken);
bool lh_shot_save(lh_shot *shot, lh_file *file, lh_taken *taken);

/* A writer that drops its bytes. */
size_t lh_shot_discard(const void *data, size_t n, void *payload);

void lh_shot_free(lh_shot *shot);

/* background.c: lh_start_snapshot for a caller that wants a report from the child. */
typedef struct lh_child {
  /* In the child, at the end: `taken` or `error`, the other is NULL. Async-signal-safe, or NULL. */
  void (*tell)(const char *path, const lh_taken *taken, const lh_error *error, void *payload);
  void *payload;
  bool cannot_fork; /* set if the fork failed */
} lh_child;
int lh_start_child(lua_State *L, const char *path, const lh_take_options *options, lh_child *child,
                   lh_job **job, lh_error *error);

const char *lh_job_path(const lh_job *job);
bool lh_job_was_reported(const lh_job *job);
