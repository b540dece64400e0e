/*
** random_program.h - a program that allocates, resizes and frees at random, always the same, and
** keeps a record of it: what a profile of it must say.
*/
#pragma once

#include "track/definitions.h"
#include "track/profile.h"

enum { MOST_LIVE = 1 << 16, N_STACKS = 300, N_TYPES = 8 };

/* lh_type, or LH_EVENT_PART; of those only parts are resized. */
extern const uint8_t program_types[N_TYPES];

typedef struct live_block {
  lh_stack_id stack;
  unsigned type; /* an index in program_types */
  uint64_t bytes, birth;
} live_block;

typedef struct program {
  uint64_t random, clock_bytes;
  lh_definitions definitions;
  live_block blocks[MOST_LIVE];
  size_t n_blocks;
  lh_event *events; /* all that happened; times are 0 */
  size_t n_events, most_events;
} program;

program *new_program(size_t most_events);
void free_program(program *p);

/* So many events more. */
void run(program *p, lh_profile_out *out, size_t n);

/* One of them: the block at [at] is freed. */
void release(program *p, lh_profile_out *out, size_t at);

size_t roll(program *p, size_t n);

/* A stack of its, or a new one. */
lh_stack_id any_stack(program *p);

/* Those of a profile of this program, without calls. */
lh_profile_options options_of(const program *p, const char *path);

/* The clock goes on by so many, for a test that is linked with --wrap=clock_gettime. */
void pass_seconds(unsigned seconds);
