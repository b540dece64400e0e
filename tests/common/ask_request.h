/*
** ask_request.h - what heapview does with the bytes of a request, for the fuzz target and for the
** replay of what it found.
*/
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Reads the bytes as lines: the method and the target, then a header each. Whatever is in them,
** nothing is taken that lacks what it needs, and what is asked is in the form of questions. */
void ask_request(const uint8_t *data, size_t size);
