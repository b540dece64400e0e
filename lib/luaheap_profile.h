/*
** luaheap_profile.h - profiles: what a tracked program allocated and freed, in the order in which
** it did, from a file that heap.track wrote.
**
**     heap.track{file = "run.prof"}  -->  lh_profile_open, lh_profile_replay, lh_profile_close
**
** A profile has every event, or folds them into counts while the program runs (`aggregate`), which
** is small for ever. A file that was cut, as by a kill, is read up to the cut.
*/
#ifndef LUAHEAP_PROFILE_H
#define LUAHEAP_PROFILE_H

#include <stdbool.h>

#include "luaheap_read.h"
#include "luaheap_sites.h"

LH_API_BEGIN

typedef struct lh_profile lh_profile;

typedef struct lh_profile_info {
  const char *program, *release; /* command line; "5.4.4" */
  uint64_t process_id, state_id; /* the same state id as in its snapshots */
  uint64_t start_unix_ns;        /* when tracking began */
  uint64_t duration_ns;          /* until it ended, or the file was cut */
  uint64_t start_bytes;          /* collectgarbage("count") * 1024 when it began */
  uint64_t sample_bytes;         /* mean distance of samples; 0: every allocation */
  uint64_t n_events;             /* in the file; 0 of an aggregate */
  uint64_t lost_events;          /* the file could not be written, as on a full disk */
  bool has_stacks, is_aggregate, has_calls;
  bool is_whole; /* false: it was cut, or is still being written */
  uint32_t version;
  uint64_t file_bytes, read_bytes; /* read_bytes: up to here it was whole */
} lh_profile_info;

/* Does a file begin as a profile does? False where it cannot be read. O(1). */
bool lh_is_profile(const char *path);

/* Opens a profile, checks all of it but the order of events, and reads its sites and stacks.
** LH_EFOREIGN, LH_EIO, LH_EDAMAGED, LH_EVERSION or LH_EMEMORY. Cost: O(bytes), and memory for the
** sites, stacks and counts: 64 bytes at most for each of the file. It stays open. */
int lh_profile_open(const char *path, lh_profile **profile, lh_error *error);

/* The same for a file whose bytes are in memory: they stay the caller's, and must stay as they are
** until lh_profile_close. `name` stands for the path in messages. */
int lh_profile_open_memory(const void *data, size_t size, const char *name, lh_profile **profile,
                           lh_error *error);
void lh_profile_close(lh_profile *profile);

const lh_profile_info *lh_profile_about(const lh_profile *profile);
const lh_sites *lh_profile_sites(const lh_profile *profile);

typedef enum lh_event_kind { LH_EVENT_NEW, LH_EVENT_RESIZE, LH_EVENT_FREE } lh_event_kind;

typedef struct lh_event {
  lh_event_kind kind;
  uint8_t type;          /* lh_type of the object; LH_EVENT_PART: a block that an object owns. Alike
                            in all events of a block */
  lh_stack_id stack;     /* that allocated: of NEW and RESIZE. 0 of FREE */
  lh_stack_id old_stack; /* that made the block, or resized it last: of RESIZE and FREE; 0: before
                            tracking began */
  uint64_t bytes;        /* of the block, now; 0 of FREE */
  uint64_t old_bytes;    /* before: of RESIZE and FREE */
  uint64_t age_bytes;    /* allocated since the block was made: of RESIZE and FREE; to 4 KB */
  uint64_t time_ns;      /* since the start; to some 256 events */
  double weight;         /* so many stand behind it: 1 but when sampled */
} lh_event;

enum { LH_EVENT_PART = 0xFF };

/* Calls `see` with each event, in order, until it returns false. May be called again. LH_EIO and
** LH_EDAMAGED, where somebody has changed the file since it was opened. O(events). */
int lh_profile_replay(lh_profile *profile, bool (*see)(const lh_event *event, void *data),
                      void *data, lh_error *error);

/* Of an aggregate: the counts of each stack and type at the end of the file, and how old (in bytes
** allocated since) what was freed had become: deaths[i] have an age of 4 KB << i at most, the last
** any. A block that is resized goes over to the stack that resized it: it is `replaced` where it
** was and `resized` where it is; so of each row made + resized - replaced - freed blocks live, and
** as many bytes. Sampled: estimates without bias. NULL of other profiles. Borrowed. */
enum { LH_PROFILE_AGES = 24 };
typedef struct lh_profile_count {
  lh_stack_id stack;
  uint8_t type; /* as in lh_event */
  uint64_t made, made_bytes;
  uint64_t resized, resized_bytes;   /* of which its bytes after that */
  uint64_t replaced, replaced_bytes; /* and before it */
  uint64_t freed, freed_bytes;
  uint64_t samples;            /* so many events stand behind `made` and `resized` */
  uint64_t live_bytes_at_peak; /* of this row when the whole heap was biggest */
  uint64_t deaths[LH_PROFILE_AGES], death_bytes[LH_PROFILE_AGES];
} lh_profile_count;
const lh_profile_count *lh_profile_counts(const lh_profile *profile, size_t *n);

/* Of a profile with calls: those of each stack's innermost function until the file ends, and the
** time in it alone and with all that it called (of a recursive function in its outermost calls).
** NULL of other profiles. Borrowed. */
typedef struct lh_profile_call {
  lh_stack_id stack;
  uint64_t calls, tail_calls; /* tail_calls are among calls */
  uint64_t self_ns, total_ns;
  bool is_constant; /* all of them returned the very same values, and there were two */
} lh_profile_call;
const lh_profile_call *lh_profile_calls(const lh_profile *profile, size_t *n);

LH_API_END

#endif
