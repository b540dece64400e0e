/* state_search.h - a search for the Lua states of a process, and the states that it shall find. */
#pragma once

#include <lua.h>
#include <sys/types.h>

#include "outside/outside.h"

typedef struct search {
  lh_target *target;
  const lh_found_state *states;
  size_t n;
  lh_error error;
  int rc;
} search;

/* Searches; the states that are found must be in order. To be ended. */
search search_start(pid_t process);
void search_end(search *s);

/* No state is found in the process, and the message says why. */
void search_refused(pid_t process, const char *why);

/* Gives what was never used, and takes nothing back. */
typedef struct arena {
  char *memory;
  size_t used, bytes;
} arena;

/* A state with the libraries, for a child process, which ends without it. NULL: malloc's memory. */
lua_State *arena_new_state(arena *a);

/* In a child process, which ends if the code fails. */
void arena_run(lua_State *L, const char *code, const char *name);
