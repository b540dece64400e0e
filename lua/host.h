/*
** host.h - what the modules of heap.so share; and whose are the lua_* functions that it calls?
**
** It is linked to no Lua: the dynamic linker gives it the functions of the first Lua that shows
** them. That is none where the host has loaded its Lua for itself alone (dlopen with RTLD_LOCAL) or
** has it inside without exporting it; and the wrong one where another Lua is in the process, too.
** Functions of one release crash on states of another.
**
** The host's own Lua is the file, program or library, that calls luaopen_*: it calls a C function
** from its innermost part. So that file is compared with the one that the functions are in.
*/
#ifndef LUAHEAP_HOST_H
#define LUAHEAP_HOST_H

#include <stdbool.h>

#include "luaheap.h"
#include "weak_lua.h"

/* For the beginning of each luaopen_*. Where it is false nothing may be called, and all there is to
** do is to return 0: what is wrong was printed, since no error could be raised. It raises one where
** the host's Lua can be asked to. */
#define HR_IS_AT_HOME(L) hr_is_at_home(L, __builtin_return_address(0))
bool hr_is_at_home(lua_State *L, const void *caller);

/* An allocation function of ours is called until the end of lua_close, which unloads all modules
** before that. Linked by our Makefile heap.so stays anyway; as a rock it needs this. */
void hr_stay_loaded(void);

/* Pushes nil, message and errno: returns 3. */
int hl_fail(lua_State *L, const lh_error *error);

/* track.c: heap.track, heap.untrack, and the first with a function for what goes wrong at the end
** (lh_track_options). */
int hl_track(lua_State *L);   /* track([options]) --> true | nil, message, errno */
int hl_untrack(lua_State *L); /* untrack() --> true | nil, message, errno */
int hl_track_and_report(lua_State *L, void (*report)(const char *trouble, const char *log),
                        const char *log);

#endif
