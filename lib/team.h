/*
** team.h - runs the same work on many items in a few threads.
**
** Our threads block all signals, so the program's handlers run in its own threads. No thread is
** left when lh_for_each returns.
*/
#ifndef LUAHEAP_TEAM_H
#define LUAHEAP_TEAM_H

#include <stdbool.h>
#include <stdint.h>

/* Does the work on item `i`. False: no later item is needed. */
typedef bool (*lh_work)(void *data, uint32_t i);

/* Calls `work` for the items 0 to n - 1, started in this order, in at most `threads` threads, the
** caller's included. If no thread can be started, the caller does all. Returns the number of the
** first item for which `work` returned false, or n; all items before it are done. */
uint32_t lh_for_each(unsigned threads, uint32_t n, lh_work work, void *data);

#endif
