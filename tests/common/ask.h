/*
** ask.h - everything that is done with a file that may be nonsense, for the fuzz targets and for
** the replay of what they found. A sanitizer sees what goes wrong.
*/
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What luaheap.h says of an answer holds whatever is in a file. */
static inline void claim(bool holds) {
  if (!holds) __builtin_trap();
}

/* Opens the bytes as a snapshot, analyses, classifies and verifies it: the fast half. */
void ask_open(const uint8_t *data, size_t size);

/* Reads all of it, and asks what the commands ask, of one snapshot and of two or three. What is
** documented to hold of the answers is checked, here and below. */
void ask_all(const uint8_t *data, size_t size);

enum { MOST_PARTS = 3 };

/* The same of up to MOST_PARTS snapshots, one behind the other (forge_split): compares them, and
** looks for what is written in them. */
void ask_several(const uint8_t *data, size_t size);

/* Asks of them all that can be asked of heap.reader, in Lua (ask.lua), and prints it. */
void ask_reader(const uint8_t *data, size_t size);
