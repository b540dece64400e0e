/* targets.h - what a fuzz target says of itself, each in its own file. */
#pragma once

#include "ask.h"

/* Of how many files an input may consist, at most MOST_PARTS. */
extern const size_t most_parts;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
