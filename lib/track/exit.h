/*
** exit.h - profiles of states that nobody closes: os.exit() ends the process and not the state.
*/
#ifndef LUAHEAP_EXIT_H
#define LUAHEAP_EXIT_H

#include "recorder.h"

/* From now on r->profile is completed when the process ends by exit(), if that is called in the OS
** thread that runs the state; another one must not touch it. Where there is no memory for that, the
** last second of the profile is lost. */
void lh_complete_at_exit(lh_recorder *r);

/* Completes the profile where nobody asked for that, and reports what could not be written. */
void lh_complete_profile(lh_recorder *r);

/* Not any more. Harmless where it was not to be. */
void lh_forget_at_exit(lh_recorder *r);

#endif
