/*
** host.h - the shared part of heap.so's modules, and the check of the lua_* functions.
** heap.so is linked to no Lua: the dynamic linker gives it the functions of the first Lua that
** exports them. There is none if the host has loaded its Lua for itself alone (dlopen with
** RTLD_LOCAL) or does not export it. It is the wrong one if another Lua is in the process, too:
** functions of one release crash on states of another. The host's own Lua is the file (program or
** library) that calls luaopen_*. hr_is_at_home compares it with the file that has the functions.
*/
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rooms/all.h"
#include "weak_lua.h"

/* For the start of each luaopen_*. If it is false, call nothing and return 0: a message was
** printed, since no error could be raised. It raises an error if the host's Lua can be asked to. */
#define HR_IS_AT_HOME(L) hr_is_at_home(L, __builtin_return_address(0))
bool hr_is_at_home(lua_State *L, const void *caller);

/* Keeps heap.so in memory: our allocation function is called until the end of lua_close, which
** unloads all modules earlier. Our Makefile links heap.so so that it stays anyway; a rock needs
** this call. */
void hr_stay_loaded(void);

/* For the start of a module that looks at this heap: raises an error if lh_attach fails. */
void hl_attach(lua_State *L);

/* Strings and names of files as arguments, without conversion. */
const char *hl_check_string(lua_State *L, int index, size_t *length);
const char *hl_check_path(lua_State *L, int index);

/* Pushes nil, message and errno: returns 3. */
int hl_fail(lua_State *L, const lh_error *error);

/* track.c: track([options]) and untrack() --> true | nil, message, errno. hl_start_tracking returns
** the same for options that were read. */
int hl_track(lua_State *L);
int hl_untrack(lua_State *L);
int hl_start_tracking(lua_State *L, const lh_track_options *options);

/* clang-format off */
/* Their rows (options.h); FIELD(its) is the offset of a field of the lh_track_options. */
#define HL_TRACK_OPTIONS(FIELD) \
  {"stacks", HL_SWITCH, .field = FIELD(stacks), .example = "stacks"}, \
  {"sample", HL_SIZE, .field = FIELD(sample_bytes), .least = 1, .example = "sample=512K"}, \
  {"aggregate", HL_SWITCH, .field = FIELD(aggregate), .example = "aggregate"}, \
  {"live", HL_SWITCH, .field = FIELD(live), .example = "live"}, \
  {"time", HL_SWITCH, .field = FIELD(time), .example = "time"}, \
  {"exact", HL_SIZE, .field = FIELD(exact_bytes), .least = 1, .example = "exact=256K"}
/* clang-format on */
