/*
** ask_profile.h - everything that is done with a file that may be a profile, for the fuzz target
** and for the replay of what it found. A sanitizer sees what goes wrong.
*/
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Opens the bytes as a profile, replays it and counts it in all ways. What rooms/profile.h says
** of the answers is checked. */
void ask_profile(const uint8_t *data, size_t size);
