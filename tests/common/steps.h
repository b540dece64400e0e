/*
** steps.h - heaps of real Lua programs that run in steps, with a snapshot after each, in memory.
** Random ones are told by a seed.
*/
#pragma once

#include "forged_file.h"
#include "read/snapshot.h"
#include "rooms/all.h"

enum { MOST_STEPS = 8 };

/* A Lua state and the snapshots that were taken in it. */
typedef struct program {
  lua_State *L;
  lh_take_options options;
  bool is_uncollected; /* what a step leaves as garbage is in its snapshot */
  forge_bytes files[MOST_STEPS];
  lh_snapshot *snapshots[MOST_STEPS];
  size_t n;
} program;

program program_begin(void);

/* The same with the global SEED, which check tells when it fails. */
program program_of_seed(unsigned long seed);
extern unsigned long program_seed;

#define check(condition)                                                  \
  do {                                                                    \
    if (!(condition)) fail_msg("seed %lu: %s", program_seed, #condition); \
  } while (0)

void program_end(program *p);

/* Runs the text, collects garbage (unless that is to stay) and takes a snapshot, which is analysed
** and classified. */
lh_snapshot *program_step(program *p, const char *text);

/* Fails the n-th allocation of a call, for all n, until it has enough. The caller has `error`, and
** n_cases, which counts them. */
#define FAIL_EACH(call)                                             \
  do {                                                              \
    int outcome = LH_EMEMORY;                                       \
    for (uint64_t nth = 1; outcome == LH_EMEMORY; nth++) {          \
      (void)lh_test_fail_allocation(nth);                           \
      outcome = (call);                                             \
      (void)lh_test_fail_allocation(0);                             \
      n_cases++;                                                    \
      if (outcome != LH_EMEMORY) break;                             \
      assert_memory_equal(error.message, "not enough memory ", 18); \
    }                                                               \
    assert_int_equal(outcome, LH_OK);                               \
  } while (0)
