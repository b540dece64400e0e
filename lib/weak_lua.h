/*
** weak_lua.h - declares all functions of Lua as weak symbols.
** So heap.so can be loaded where a function is missing, and report that: in other releases, and in
** hosts that hide their Lua from modules. A caller first checks that the functions exist and are
** the host's own (lua/host.h; state.c checks the release). Include this file before any header of
** Lua except luaconf.h.
*/
#pragma once

#include <luaconf.h>

#undef LUA_API
#define LUA_API extern __attribute__((weak)) /* LUALIB_API is LUA_API, too */
#pragma weak lua_ident

#include <lauxlib.h>
#include <lualib.h>
