/*
** tracked_state.h - a Lua state whose allocations are given to the stacks of the recorder by an
** allocation function of the test's.
**
** A hook at each instruction tells it which thread runs, and lets Lua keep in the frame where
** exactly that stands.
*/
#pragma once

#include "track/stacks.h"

typedef struct tracked {
  lh_recorder r;
  lua_State *L;
  lua_State *running;
  bool on; /* after tracked_begin; the test may set it false */
  /* Called with each stack that is found; NULL: nothing is. */
  void (*check)(struct tracked *t, const raw_call *call, lh_stack_id found);
} tracked;

/* A state with all libraries that is about to be tracked. */
tracked *tracked_new(bool has_stacks);
bool tracked_begin(tracked *t); /* false: no memory */
void tracked_free(tracked *t);

/* Runs the program, which fails the test if it does. */
void tracked_run(tracked *t, const char *name, const char *program);

/* Where a frame of the running thread stands. */
const uint32_t *tracked_position(const tracked *t, const raw_call *call);

/* A name that was defined; 0 has no bytes. */
const char *tracked_name(const tracked *t, uint32_t name, size_t *n);

/* How many objects or parts were allocated at a stack that reads like this: "2 table in Bus:on, 9
** call in main", with "/string.rep" behind what a C function made. And fails if it is none, and
** shows what there is. */
uint64_t tracked_made(const tracked *t, const char *expected);
void tracked_assert(const tracked *t, const char *expected);
