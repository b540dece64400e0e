/*
** names.h - what the recorder calls functions: as the house does (lib/name/functions.c), but from
** what can be read in the middle of an allocation.
**
** A Lua function has the name that the code around it gives it, "Bus:on" (lh_nested), else that by
** which it was called when it was first met. A C function has the key under which a loaded module
** has it, with the module's name in front, "string.rep"; or a metatable that has a name, such as
** those of luaL_newmetatable, "FILE*:read". A key that is no identifier is "Bus[\"(\"]".
**
** Each stores at most LH_NAME_BYTES and returns how many; 0: no name is known.
*/
#ifndef LUAHEAP_TRACK_NAMES_H
#define LUAHEAP_TRACK_NAMES_H

#include "take/walk.h"

enum { LH_NAME_BYTES = 256 }; /* longer names are cut */

/* Of the function that is next in the iteration. */
size_t lh_name_nested(const lh_nested *nested, char *out);

/* Of what the instruction calls, if it is one of the function. O(instructions before it). */
size_t lh_name_called(const raw_proto *caller, const uint32_t *pc, char *out);

/* O(entries of all modules and metatables). */
size_t lh_name_c_function(const char *global, const void *function, char *out);

#endif
