/*
** weak_lua.h - Lua's functions, all of them weak: heap.so can be loaded where one is missing, to
** say so. That is the case in other releases, and where the host hides its Lua from modules. Who
** calls any of them has seen that they are there, and the host's own (lua/host.h; state.c for
** releases). To be included before any header of Lua's but luaconf.h.
*/
#ifndef LUAHEAP_WEAK_LUA_H
#define LUAHEAP_WEAK_LUA_H

#include <luaconf.h>

#undef LUA_API
#define LUA_API extern __attribute__((weak)) /* LUALIB_API is LUA_API, too */
#pragma weak lua_ident

#include <lauxlib.h>
#include <lualib.h>

#endif
