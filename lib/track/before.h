/*
** before.h - the blocks of a Lua state that were there before tracking began.
*/
#ifndef LUAHEAP_BEFORE_H
#define LUAHEAP_BEFORE_H

#include "blocks.h"

/* Adds all of them to r->blocks. False: there is no memory, or the state has more bytes than its
** objects, so that some block of it is not known, as while a function is compiled. One pass over
** all objects. */
bool lh_blocks_add_all(lh_recorder *r);

#endif
