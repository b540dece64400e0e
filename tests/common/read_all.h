/*
** read_all.h - reads all that can be read from a snapshot, for tests of files that may be nonsense:
** a sanitizer sees what goes wrong.
*/
#pragma once

#include "rooms/all.h"

/* Returns a sum over everything, so that no read is left out. */
uint64_t read_all(const lh_snapshot *snapshot);
