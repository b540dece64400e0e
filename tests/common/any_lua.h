/* any_lua.h - what tests call in Lua 5.4 and 5.5 alike. */
#pragma once

#include <lua.h>

#if LUA_VERSION_NUM == 504
#define any_newstate lua_newstate
#else
#define any_newstate(alloc, data) lua_newstate(alloc, data, 0)
#endif
