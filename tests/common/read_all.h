/*
** read_all.h - reads all that can be read from a snapshot, for tests of files that may be nonsense:
** a sanitizer sees what goes wrong.
*/
#ifndef LUAHEAP_READ_ALL_H
#define LUAHEAP_READ_ALL_H

#include "rooms/all.h"

/* Returns a sum over everything, so that no read is left out. */
uint64_t read_all(const lh_snapshot *snapshot);

#endif
