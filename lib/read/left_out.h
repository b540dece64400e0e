/*
** left_out.h - what is to be left out (lh_without), as a set that edges are looked up in.
*/
#ifndef LUAHEAP_LEFT_OUT_H
#define LUAHEAP_LEFT_OUT_H

#include "snapshot.h"

/* All n as one set. LH_EARGUMENT: not of this snapshot; LH_EMEMORY. Freed by lh_left_out_free. */
int lh_left_out_new(const lh_snapshot *snapshot, const lh_without *without, size_t n,
                    lh_left_out **out, lh_error *error);
void lh_left_out_free(lh_left_out *set);

/* Is the edge itself in the set? O(log of the set). */
bool lh_left_out_has(const lh_left_out *set, const lh_edge *edge);

/* The objects that the edges in the set come from, each once; of ephemerons the tables. *at is 0 at
** first. LH_NO_OBJECT at the end. */
lh_id lh_left_out_source(const lh_left_out *set, size_t *at);

/* Makes it the set that is left out in the snapshot, which owns it. NULL: nothing is. */
void lh_leave_out(lh_snapshot *snapshot, lh_left_out *set);

/* With the snapshot's own set only, and fast: is this left out, or one of its ends or holder? */
bool lh_is_object_left_out(const lh_snapshot *snapshot, const lh_left_out *set, lh_id id);
bool lh_is_edge_left_out(const lh_snapshot *snapshot, const lh_left_out *set, const lh_edge *edge);

#endif
