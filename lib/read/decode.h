/*
** decode.h - what lies between an edge as lh_edges_* tells it and its number in the rows.
*/
#ifndef LUAHEAP_DECODE_H
#define LUAHEAP_DECODE_H

#include "snapshot.h"

/* The number of the edge that lh_edges_next told last. */
uint32_t lh_edges_number(const lh_edges *it);

/* Asks for the memory that lh_edges_* of an object will touch. */
void lh_prefetch_edges(const lh_snapshot *s, lh_id id);

/* What the file keeps of a string: of a dead one nothing. hash: where that is less than all. */
typedef struct lh_kept_string {
  const char *bytes;
  uint64_t kept, length, hash;
} lh_kept_string;

lh_kept_string lh_string_at(const lh_snapshot *snapshot, lh_id string);

/* Is this a name in Lua, and no reserved word? And does a string that is kept whole, and not long,
** say one? O(1). */
bool lh_is_identifier(const char *bytes, size_t n);

static inline bool lh_is_name(const lh_snapshot *snapshot, lh_id id) {
  return lh_is_string(snapshot, id) && snapshot->key_kinds[id] & LH_IS_NAME;
}

/* An entry of a table, and the next ones of lh_entries_begin: at most `most`, which costs less than
** one by one; 0 at the end. */
typedef struct lh_entry {
  lh_value key, value;
} lh_entry;

size_t lh_entries_some(lh_edges *iterator, lh_entry *entries, size_t most);

/* The metatable of a table or userdata, or LH_NO_OBJECT. O(1), unlike lh_object_at. */
lh_id lh_metatable_of(const lh_snapshot *snapshot, lh_id id);

/* The prototype of a Lua closure, or LH_NO_OBJECT; the name of the upvalue that its edge `e` leads
** to, a string, or LH_NO_OBJECT. O(1). */
lh_id lh_proto_of(const lh_snapshot *snapshot, lh_id closure);
lh_id lh_name_of_upvalue(const lh_snapshot *snapshot, lh_id closure, uint32_t e);

/* Sets number and name of the edge `e` to an upvalue, if the row of its closure has all of them.
** O(1). */
bool lh_tell_upvalue(const lh_snapshot *snapshot, uint32_t e, lh_edge *edge);

/* What an upvalue refers to, if that is an object; else LH_NO_OBJECT. Others have none. O(1). */
static inline lh_id lh_content_of_upvalue(const lh_snapshot *s, lh_id id) {
  bool has_one = lh_type_of(s, id) == LH_TYPE_UPVALUE && s->first_edge[id] < s->first_edge[id + 1];
  return has_one ? lh_true_target(s, s->first_edge[id]) : LH_NO_OBJECT;
}

/* Is this a closure of a C function? O(1). */
bool lh_is_c_closure(const lh_snapshot *snapshot, lh_id id);

/* Do the records of two objects say the same of their size, entries and frames, byte by byte? They
** may, and have their keys from other lists of frequent ones. O(record). */
bool lh_has_same_fields(const lh_snapshot *a, lh_id in_a, const lh_snapshot *b, lh_id in_b);

/* Iterates over the values of a C function or a userdata, scalars and nil included, from number 1
** on. Others have none. */
void lh_values_begin(const lh_snapshot *snapshot, lh_id id, lh_edges *iterator);
bool lh_values_next(lh_edges *iterator, uint32_t *number, lh_value *value);

/* Has a userdata a user value that is not nil? */
bool lh_has_user_value(const lh_snapshot *snapshot, lh_id userdata);

/* The object whose header is at this address, whatever Lua prints: one look-up. */
lh_id lh_find_header(const lh_snapshot *snapshot, uint64_t address);

/* ==== left_out.c: what is to be left out (lh_without), to look edges up in ========== */

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
