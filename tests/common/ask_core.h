/*
** ask_core.h - all that is read of a core, for the fuzz target and for the tests with damaged ones.
*/
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opens the bytes as a core, and reads all memory that it has. Regions are in order, none is in
** another's place, and no more bytes are present than there are. True: it could be opened. */
bool ask_core(const uint8_t *data, size_t size);
