/*
** steps.h - heaps of real Lua programs that run in steps, with a snapshot after each, in memory.
*/
#ifndef LUAHEAP_STEPS_H
#define LUAHEAP_STEPS_H

#include "forge.h"
#include "read/snapshot.h"

enum { MOST_STEPS = 8 };

/* A Lua state and the snapshots that were taken in it. */
typedef struct program {
  lua_State *L;
  forge_bytes files[MOST_STEPS];
  lh_snapshot *snapshots[MOST_STEPS];
  size_t n;
} program;

program program_begin(void);
void program_end(program *p);

/* Runs the text, collects garbage and takes a snapshot, which is analysed and classified. */
lh_snapshot *program_step(program *p, const char *text);

#endif
