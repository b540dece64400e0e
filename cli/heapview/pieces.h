/*
** pieces.h - the greater part of what a report carries: answers in pieces of some hundred, which
** are deflated, since they are alike and shrink to a twentieth; and an index, deflated too, of
** which answer is in which piece. A page inflates the piece that it needs (page/carried.js).
*/
#ifndef LUAHEAP_HEAPVIEW_PIECES_H
#define LUAHEAP_HEAPVIEW_PIECES_H

#include "cli.h"

typedef struct pieces pieces;

/* Room for so many bytes of text in the end, index and all. */
pieces *pieces_begin(size_t room);

/* Answers that stand together: "KEY":ANSWER,... and their keys: "KEY",... They are of `objects`
** objects. False: there is no room any more, and nothing was added. Millions of bytes are no answer
** to look at, and are left out. */
bool pieces_add(pieces *p, const char *answers, const char *keys, unsigned objects);

/* Writes the fields of a JSON object, "index":"...","pieces":["...",...], and frees it. Returns of
** how many objects there are answers. */
uint64_t pieces_end(pieces *p, FILE *out);

#endif
