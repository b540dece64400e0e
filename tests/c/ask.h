/*
** ask.h - everything that is done with a file that may be nonsense, for the fuzz targets and for
** the replay of what they found. A sanitizer sees what goes wrong.
*/
#ifndef LUAHEAP_ASK_H
#define LUAHEAP_ASK_H

#include <stddef.h>
#include <stdint.h>

/* Opens the bytes as a snapshot, analyses, classifies and verifies it: the fast half. */
void ask_open(const uint8_t *data, size_t size);

/* Reads all of it, and asks what the commands ask, of one snapshot and of two or three. */
void ask_all(const uint8_t *data, size_t size);

#endif
