/*
** luaheap_tracked.h - the allocations so far of another process that is tracked with `live`.
**
**     lh_tracked_open(pid) -> lh_tracked_ask -> ... -> lh_tracked_look -> an aggregate (lh_profile)
**                                  ^------------ a second later ------------'
**
** The process must belong to the same user. It answers at its next allocation, within 20 ms. Its
** memory is not written to: the question is a lock on a file in memory that luaheap made there. The
** caller can also pause the process, by the stop and continue signals.
*/
#ifndef LUAHEAP_PUBLIC_TRACKED_H
#define LUAHEAP_PUBLIC_TRACKED_H

#include "luaheap_profile.h"

LH_API_BEGIN

typedef struct lh_tracked lh_tracked;

/* Finds the process; of several states in it the one tracked first. Freed by lh_tracked_close.
** LH_ENOTFOUND: no such process, or no state tracked with `live`. LH_EIO: another user's. */
int lh_tracked_open(uint64_t process_id, lh_tracked **out, lh_error *error);

/* Also continues a paused process. */
void lh_tracked_close(lh_tracked *tracked);

/* Asks for the figures. LH_ENOTFOUND: the process has ended, or is not tracked any more. LH_EIO:
** another file has the name of luaheap's file; it is not opened. */
int lh_tracked_ask(lh_tracked *tracked, lh_error *error);

/* *out: the last answer, an aggregate that the caller closes; NULL: no new one since the last look,
** since the process has allocated nothing. LH_ENOTFOUND as above; else as lh_profile_open. */
int lh_tracked_look(lh_tracked *tracked, lh_profile **out, lh_error *error);

/* Pauses or continues the process. LH_ENOTFOUND: it has ended. LH_EIO: the system cannot signal a
** process safely, without the risk that another one now has its number. */
int lh_tracked_pause(lh_tracked *tracked, bool wait, lh_error *error);

LH_API_END

#endif
