/*
** states.h - what of a Lua state is told before it is walked, for the files that find it out:
** states.c, script.c, ident.c, run_on.c.
*/
#ifndef LUAHEAP_OUTSIDE_STATES_H
#define LUAHEAP_OUTSIDE_STATES_H

#include "outside.h"
#include "take/structure.h"

enum { LH_RELEASE_BYTES = 16, LH_SCRIPT_BYTES = 256 };

/* ident.c: the release of the Lua that has its read-only data at `library` (lh_glance_library; 0:
** not known where): "5.4.4", or "5.4" where nothing tells. */
void lh_identify_release(const lh_memory *memory, uint64_t library, char release[LH_RELEASE_BYTES]);

/* ident.c: why there is no state in the target: another Lua, none at all. Returns LH_EHOST. */
int lh_refuse_other_luas(const lh_target *target, lh_error *error);

/* script.c: what a state runs; "": it is not known. Returns false where the script has no name:
** then it is the first line of its text. */
bool lh_name_script(const lh_peek *peek, const lh_seen_state *seen, char script[LH_SCRIPT_BYTES]);

#endif
