/*
** team.h - the same work on many things, by a few threads of the process.
**
** A thread of ours blocks all signals, so that the program's handlers run where they ran before. No
** thread is left when lh_for_each returns.
*/
#ifndef LUAHEAP_TEAM_H
#define LUAHEAP_TEAM_H

#include <stdbool.h>
#include <stdint.h>

/* Does the work on thing `i`; false: no thing behind it is needed any more. */
typedef bool (*lh_work)(void *data, uint32_t i);

/* Calls `work` for the things 0 to n - 1, which are begun in this order, by at most `threads`
** threads, the caller's among them. Where none can be had the caller does it all. Returns the
** number of the first thing of which `work` said false, or n: all before it are done. */
uint32_t lh_for_each(unsigned threads, uint32_t n, lh_work work, void *data);

#endif
