/*
** take.h - the two halves of a snapshot: what may fail, allocate and call Lua, and then the
** writing, which does none of that and is async-signal-safe, so that a forked child can do it.
*/
#ifndef LUAHEAP_TAKE_H
#define LUAHEAP_TAKE_H

#include "file.h"
#include "state.h"

/* What the footer tells and the heap does not. The texts are borrowed. */
enum { LH_OURS = 3 };
typedef struct lh_facts {
  uint64_t state_id, time_ns, process_id;
  uint64_t n_finalized; /* see lh_watched */
  uint32_t serial;      /* of the snapshot's own mark */
  const char *release;  /* of Lua */
  const char *name;     /* of the file */
  const char *program;  /* its command line; NULL: this process's */
  const void
      *ours[LH_OURS]; /* the state's userdata, the metatable of marks, the watcher's thread; NULL:
                           there is none */
} lh_facts;

typedef struct lh_shot {
  lh_out out;
  lh_walk walk;
  lh_facts facts;
  lh_planted planted;
  uint64_t gc_bytes, string_table_bytes, short_strings;
  uint64_t longest_bytes; /* that the file can have */
} lh_shot;

/* ==== What needs the Lua state (take.c) ============================================= */

/* Takes all memory and plants the mark. LH_EMEMORY, LH_EARGUMENT or LH_OK; in either case
** lh_shot_free is due, and shot->planted may be voided. */
int lh_shot_prepare(lua_State *L, const char *name, lh_writer writer, void *payload,
                    const lh_take_options *options, lh_shot *shot, lh_error *error);

/* ==== What does not (shot.c) ======================================================== */

/* The command line of the process, its words separated by spaces, without a NUL; returns how many
** bytes. */
size_t lh_read_program(char *out, size_t size);

/* Aims the shot at a heap that has all its marks, and notes its figures. `section_bytes`: the most
** that walk.more puts behind the records. */
void lh_shot_aim(lh_shot *shot, const char *global, const lh_layout *layout,
                 uint64_t section_bytes);

/* Hands the file to the writer of shot->out; may be done again. Async-signal-safe without `error`.
** LH_EIO: the writer refused something. LH_EBUSY: shot->walk.ended. */
int lh_shot_write(lh_shot *shot, lh_taken *taken, lh_error *error);

/* Is there room for as much as any such heap needs? O(1). False and file->failure where not. */
bool lh_shot_may_fit(const lh_shot *shot, lh_file *file);

/* Writes the file that is the shot's payload; false and file->failure where that fails. Unless
** there is room for more than any such heap needs, the file's size is measured first, by a walk
** whose bytes go nowhere. Async-signal-safe. */
bool lh_shot_put(lh_shot *shot, lh_file *file, lh_taken *taken);

/* The same, and gives it its name. */
bool lh_shot_save(lh_shot *shot, lh_file *file, lh_taken *taken);

/* A writer whose bytes go nowhere. */
size_t lh_shot_discard(const void *data, size_t n, void *payload);

void lh_shot_free(lh_shot *shot);

/* ==================================================================================== */

/* background.c: lh_start_snapshot for somebody who wants to be told in the child. */
typedef struct lh_child {
  /* Of the end: `taken` or the error, the other one is NULL. May be NULL. Async-signal-safe. */
  void (*tell)(const char *path, const lh_taken *taken, const lh_error *error, void *payload);
  void *payload;
  bool cannot_fork; /* set where that was why it failed */
} lh_child;
int lh_start_child(lua_State *L, const char *path, const lh_take_options *options, lh_child *child,
                   lh_job **job, lh_error *error);

/* Of the file; borrowed from the job. */
const char *lh_job_path(const lh_job *job);

/* Has the child told of its end? After lh_job_wait. */
bool lh_job_was_told(const lh_job *job);

#endif
