/*
** left_out.h - what lh_analyse_without was told to leave out, as a set that edges are looked up in.
*/
#ifndef LUAHEAP_LEFT_OUT_H
#define LUAHEAP_LEFT_OUT_H

#include "snapshot.h"

/* Fills snapshot->left_out, which is NULL before. LH_EARGUMENT, LH_EMEMORY: it is NULL still. */
int lh_left_out_new(lh_snapshot *snapshot, const lh_without *without, lh_error *error);
void lh_left_out_free(lh_snapshot *snapshot); /* nothing is left out then */

bool lh_is_object_left_out(const lh_snapshot *snapshot, const lh_left_out *set, lh_id id);

/* The edge itself, or its source, target or holder; O(log of the set). */
bool lh_is_edge_left_out(const lh_snapshot *snapshot, const lh_left_out *set, const lh_edge *edge);

#endif
