/*
** profile.h - profiles: what a tracked program allocated and freed, in order.
**
**     heap.track{file = "run.prof"}  -->  lh_profile_open, lh_profile_replay, lh_profile_close
**
** A profile has every event. An `aggregate` has only counts, which the program adds up while it
** runs, so it stays small. A file that was cut, as by a kill, is read up to the cut.
*/
#pragma once

#include "rooms/read.h"

typedef struct lh_profile lh_profile;

typedef struct lh_profile_info {
  const char *program, *release; /* command line; "5.4.4" */
  uint64_t process_id, state_id; /* state_id: equal to that of its snapshots */
  uint64_t start_unix_ns;        /* when tracking began */
  uint64_t duration_ns;          /* until tracking ended, or the file was cut */
  uint64_t start_bytes;          /* collectgarbage("count") * 1024 when tracking began */
  uint64_t sample_bytes;         /* mean distance of samples; 0: every allocation */
  uint64_t n_events;             /* in the file; 0 in an aggregate */
  uint64_t lost_events;          /* not written, as on a full disk */
  bool has_stacks, is_aggregate, has_calls;
  bool is_whole; /* false: the file was cut, or is still being written */
  uint32_t version;
  uint64_t file_bytes, read_bytes; /* read_bytes: the valid part */
} lh_profile_info;

/* Does the file begin like a profile? False also if it cannot be read. O(1). */
bool lh_is_profile(const char *path);

/* Opens a profile, checks all but the order of events, and reads its sites and stacks. The file
** stays open. LH_EFOREIGN, LH_EIO, LH_EDAMAGED, LH_EVERSION or LH_EMEMORY. O(bytes). Sites, stacks
** and counts take at most 64 bytes of memory for each byte of the file. */
int lh_profile_open(const char *path, lh_profile **profile, lh_error *error);

/* The same for a profile in memory. The caller owns `data` and must not change it before
** lh_profile_close. `name` stands for the path in messages. */
int lh_profile_open_memory(const void *data, size_t size, const char *name, lh_profile **profile,
                           lh_error *error);
void lh_profile_close(lh_profile *profile);

const lh_profile_info *lh_profile_about(const lh_profile *profile);
const lh_sites *lh_profile_sites(const lh_profile *profile);

typedef enum lh_event_kind { LH_EVENT_NEW, LH_EVENT_RESIZE, LH_EVENT_FREE } lh_event_kind;

typedef struct lh_event {
  lh_event_kind kind;
  uint8_t type;          /* lh_type of the object; LH_EVENT_PART: a block that an object owns.
                            The same in all events of a block */
  lh_stack_id stack;     /* NEW and RESIZE: of the allocation; FREE: 0 */
  lh_stack_id old_stack; /* RESIZE and FREE: that made or last resized the block; 0: before
                            tracking */
  uint64_t bytes;        /* of the block, now; FREE: 0 */
  uint64_t old_bytes;    /* RESIZE and FREE: before */
  uint64_t age_bytes;    /* RESIZE and FREE: allocated since the block was made; to 4 KB */
  uint64_t time_ns;      /* since the start; the same for about 256 events */
  double weight;         /* number of real events that this event stands for; 1 unless sampled */
} lh_event;

enum { LH_EVENT_PART = 0xFF };

/* Calls `see` with each event in order until it returns false. May be repeated. LH_EIO and
** LH_EDAMAGED: the file was changed after it was opened. O(events). */
int lh_profile_replay(lh_profile *profile, bool (*see)(const lh_event *event, void *data),
                      void *data, lh_error *error);

/* The rows of an aggregate: counts of each stack and type at the end of the file; NULL: not an
** aggregate. Borrowed. A resized block moves to the stack that resized it: it is `replaced` in the
** old row and `resized` in the new one. So made + resized - replaced - freed blocks of a row live;
** the same holds for bytes. deaths[i] counts blocks freed at an age of at most 4 KB << i (bytes
** allocated since they were made); the last counts all older ones. Sampled: unbiased estimates. */
enum { LH_PROFILE_AGES = 24 };
typedef struct lh_profile_count {
  lh_stack_id stack;
  uint8_t type; /* as in lh_event */
  uint64_t made, made_bytes;
  uint64_t resized, resized_bytes;   /* bytes after the resize */
  uint64_t replaced, replaced_bytes; /* bytes before it */
  uint64_t freed, freed_bytes;
  uint64_t samples;            /* the number of events behind `made` and `resized` */
  uint64_t live_bytes_at_peak; /* of this row, at the peak of the whole heap */
  uint64_t deaths[LH_PROFILE_AGES], death_bytes[LH_PROFILE_AGES];
} lh_profile_count;
const lh_profile_count *lh_profile_counts(const lh_profile *profile, size_t *n);

/* The rows of a profile with calls: the calls of each stack's innermost function, the time in it
** alone, and the time with all that it called (for recursion only the outermost calls). NULL: no
** calls. Borrowed. */
typedef struct lh_profile_call {
  lh_stack_id stack;
  uint64_t calls, tail_calls; /* calls includes tail_calls */
  uint64_t self_ns, total_ns;
  bool is_constant; /* all calls, at least two, returned the very same values */
} lh_profile_call;
const lh_profile_call *lh_profile_calls(const lh_profile *profile, size_t *n);

/* ==== A program that is running ===================================================== */

/* The allocations so far of another process that is tracked with `live`:
**
**     lh_tracked_open(pid) -> lh_tracked_ask -> ... -> lh_tracked_look -> an aggregate
**                                  ^------------ a second later ------------'
**
** The process must belong to the same user. It answers at its next allocation, within 20 ms. Its
** memory is not written to: the question is a lock on a file in memory that luaheap made there. */
typedef struct lh_tracked lh_tracked;

/* Finds the process; of several states in it the one tracked first. Freed by lh_tracked_close.
** LH_ENOTFOUND: no such process, or no state tracked with `live`. LH_EIO: another user's. */
int lh_tracked_open(uint64_t process_id, lh_tracked **out, lh_error *error);

/* Also continues a paused process. */
void lh_tracked_close(lh_tracked *tracked);

/* Asks for the figures. LH_ENOTFOUND: the process has ended, or is not tracked any more. LH_EIO:
** another file has the name of luaheap's file; it is not opened. */
int lh_tracked_ask(lh_tracked *tracked, lh_error *error);

/* *out: the last answer, an aggregate that the caller closes; NULL: no new one since the last look,
** since the process has allocated nothing. LH_ENOTFOUND as above; else as lh_profile_open. */
int lh_tracked_look(lh_tracked *tracked, lh_profile **out, lh_error *error);

/* Pauses or continues the process. LH_ENOTFOUND: it has ended. LH_EIO: the system cannot signal a
** process safely, without the risk that another one now has its number. */
int lh_tracked_pause(lh_tracked *tracked, bool wait, lh_error *error);
