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

/* The same of all pages that were written and are mirrored, which are added to `written`; by as
** many threads as there are processors, four at most. False: out of memory, or a signal ends this
** process. */
bool lh_copy_written(const lh_memory *memory, const lh_spans *mirrored, lh_spans *written,
                     uint64_t *copied);

#endif
