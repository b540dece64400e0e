/* release.c - the table of a minor release (structure.h). */
#include "mirrored.h"

const lh_lua LH_LUA_TABLE = {.name = LH_LUA_NAME,
                             .recognise = lh_recognise,
                             .peek_argument = lh_peek_argument,
                             .peek_source = lh_peek_source,
                             .peek_luaheap = lh_peek_luaheap,
                             .peek_library = lh_peek_library,
                             .peek_numbers = lh_peek_numbers,
                             .peek_call = lh_peek_call,
                             .is_lua_call = lh_is_lua_call,
                             .write = lh_write_state};
