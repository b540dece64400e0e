/*
** luaheap_tracked.h - what a running program has allocated up to now: one that is tracked with
** `live`, in another process of the same user.
**
**     lh_tracked_open(pid) -> lh_tracked_ask -> ... -> lh_tracked_look -> an aggregate (lh_profile)
**                                  ^------------ a second later ------------'
**
** The program answers when it allocates next, within 20 ms. Nothing of it is written to: the
** question is a lock on a file in memory that luaheap made there. Who asks can make it wait, too:
** by the signals that stop a process and let it go on.
*/
#ifndef LUAHEAP_PUBLIC_TRACKED_H
#define LUAHEAP_PUBLIC_TRACKED_H

#include "luaheap_profile.h"

LH_API_BEGIN

typedef struct lh_tracked lh_tracked;

/* Finds the program; of several states in it that which was tracked first. Freed by
** lh_tracked_close. LH_ENOTFOUND: there is no such process, or nothing in it is tracked with
** `live`. LH_EIO: it is another user's. Each is one sentence. */
int lh_tracked_open(uint64_t process_id, lh_tracked **out, lh_error *error);

/* It lets a program go on that was made to wait. */
void lh_tracked_close(lh_tracked *tracked);

/* Asks for the figures. LH_ENOTFOUND: it has ended, or is not tracked any more. LH_EIO: it gives
** the name of luaheap's file to another file, which is not opened. */
int lh_tracked_ask(lh_tracked *tracked, lh_error *error);

/* The figures that it gave last, as an aggregate that the caller closes; NULL: none since the last
** look, since it has allocated nothing. LH_ENOTFOUND as above; else as lh_profile_open. */
int lh_tracked_look(lh_tracked *tracked, lh_profile **out, lh_error *error);

/* Makes the program wait, or go on. LH_ENOTFOUND: it has ended. LH_EIO: the system has no way to
** signal a process that cannot meet another one of the same number. */
int lh_tracked_pause(lh_tracked *tracked, bool wait, lh_error *error);

LH_API_END

#endif
