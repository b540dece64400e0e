/*
** copy.h - copies memory of a target to its own addresses in this process, which are mapped.
*/
#ifndef LUAHEAP_OUTSIDE_COPY_H
#define LUAHEAP_OUTSIDE_COPY_H

#include "outside.h"
#include "spans.h"

/* What can be read of [start, end); how many bytes that is. Pages of which that is not so are zero:
** guards in a mapping, or memory that is gone. */
uint64_t lh_copy(const lh_memory *memory, uint64_t start, uint64_t end);

/* The same of several, by as many threads as there are processors, four at most. */
uint64_t lh_copy_spans(const lh_memory *memory, const lh_spans *spans);

#endif
