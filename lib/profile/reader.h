/*
** reader.h - what the files of the profile's reader share:
**
**     reader.c   the file, its blocks and what they are: lh_profile_open, lh_profile_replay
**     events.c   records: definitions, times and events
**     tables.c   counts of an aggregate, and calls
**
** All parsing goes through a cursor (lib/varint.h), which latches the first fault: it is told with
** its place in the file. Private to lib/profile.
*/
#ifndef LUAHEAP_PROFILE_READER_H
#define LUAHEAP_PROFILE_READER_H

#include "base.h"
#include "profile/format.h"

/* The rows of the last table that is whole, and those of one that was begun. */
typedef struct lh_rows {
  void *rows, *new_rows;
  size_t n, capacity, n_new, new_capacity;
  uint64_t last_key, claimed; /* of the one that was begun: its last row, the sum of its numbers */
  bool is_begun;
} lh_rows;

struct lh_profile {
  char *name;
  const uint8_t *data; /* NULL: of the file */
  int file;
  lh_profile_info info;
  char *texts;
  lh_sites *sites;
  lh_rows counts, calls;
  uint8_t *buffer; /* the content of a block, and what a cursor may look at behind it */
};

/* One way through all blocks. */
typedef struct lh_pass {
  lh_profile *profile;
  bool (*see)(const lh_event *event, void *data); /* NULL: it is opened */
  void *data;
  uint64_t offset; /* of the block */
  lh_cursor c;     /* in its content */
  uint64_t time_ns, n_events;
  bool has_ended, is_stopped; /* there was the last block; `see` wants no more */
  bool out_of_memory;
} lh_pass;

static inline lh_stack_id lh_read_stack(lh_pass *pass) {
  return (lh_stack_id)lh_read_upto(&pass->c, lh_n_stacks(pass->profile->sites),
                                   "a stack is not defined");
}

/* events.c */
void lh_profile_read_records(lh_pass *pass);

/* tables.c: read in the pass that opens. */
void lh_profile_read_counts(lh_pass *pass);
void lh_profile_read_calls(lh_pass *pass);
void lh_rows_free(lh_rows *rows);

/* lh_type of a type in the file, LH_EVENT_PART, or LH_TYPE_ROOT: there is no such type. */
uint8_t lh_profile_type(unsigned type);

#endif
