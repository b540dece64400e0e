/*
** track.h - heap.track and heap.untrack, for heap.c and watch.c, which is heap.auto's.
*/
#ifndef LUAHEAP_LUA_TRACK_H
#define LUAHEAP_LUA_TRACK_H

#include "weak_lua.h"

/* As track, and with a function for what goes wrong at the end (lh_track_options). */
int hl_track_and_report(lua_State *L, void (*report)(const char *trouble, const char *log),
                        const char *log);

int hl_track(lua_State *L);   /* track([options]) --> true | nil, message, errno */
int hl_untrack(lua_State *L); /* untrack() --> true | nil, message, errno */

#endif
