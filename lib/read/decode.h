/* decode.h - objects and edges, decoded: the calls that only the library uses. */
#pragma once

#include "snapshot.h"

/* The number in the rows of the edge that lh_edges_next returned last. */
uint32_t lh_edges_number(const lh_edges *it);

void lh_prefetch_edges(const lh_snapshot *s, lh_id id);
void lh_prefetch_record(const lh_snapshot *s, lh_id id);

/* The bytes of a string in the file; none of a dead string. `hash` is set if it was cut. */
typedef struct lh_kept_string {
  const char *bytes;
  uint64_t kept, length, hash;
} lh_kept_string;

lh_kept_string lh_string_at(const lh_snapshot *snapshot, lh_id string);

/* Is it a short string, of which Lua has only one with its text? O(1). */
bool lh_is_interned(const lh_snapshot *snapshot, lh_id string);

/* lh_is_identifier: a Lua name, and no reserved word. lh_is_name: the same for a string object,
** which must be whole and not long. O(1). */
bool lh_is_identifier(const char *bytes, size_t n);

static inline bool lh_is_name(const lh_snapshot *snapshot, lh_id id) {
  return lh_is_string(snapshot, id) && snapshot->key_kinds[id] & LH_IS_NAME;
}

/* The next entries after lh_entries_begin: at most `most`; 0 at the end. Cheaper than one by
** one. */
typedef struct lh_entry {
  lh_value key, value;
} lh_entry;

size_t lh_entries_some(lh_edges *iterator, lh_entry *entries, size_t most);

/* Of a table or userdata. O(1), unlike lh_object_at. */
lh_id lh_metatable_of(const lh_snapshot *snapshot, lh_id id);

/* The same, and the number of entries of a table, from the record, for snapshots without rows. */
lh_id lh_recorded_metatable(const lh_snapshot *snapshot, lh_id id);
uint64_t lh_recorded_entries(const lh_snapshot *snapshot, lh_id id);

/* The edges of an object, from the record: none is known to be weak, upvalues have no names. */
void lh_recorded_begin(const lh_snapshot *snapshot, lh_id id, lh_edges *iterator);
bool lh_recorded_next(lh_edges *iterator, lh_edge *edge);

/* Of a Lua closure: its prototype; the name (a string) of the upvalue at its edge `e`. O(1). */
lh_id lh_proto_of(const lh_snapshot *snapshot, lh_id closure);
lh_id lh_name_of_upvalue(const lh_snapshot *snapshot, lh_id closure, uint32_t e);

/* Does a prototype have an upvalue with this name, a string? O(1): Lua has at most 255 upvalues. */
bool lh_has_upvalue_named(const lh_snapshot *snapshot, lh_id proto, lh_id name);

/* Sets number and name of the edge `e` to an upvalue. O(1). False: some upvalues are missing. */
bool lh_read_upvalue_label(const lh_snapshot *snapshot, uint32_t e, lh_edge *edge);

/* The object in an upvalue; LH_NO_OBJECT also if `id` is not an upvalue. O(1). */
static inline lh_id lh_content_of_upvalue(const lh_snapshot *s, lh_id id) {
  bool has_one = lh_type_of(s, id) == LH_TYPE_UPVALUE && s->first_edge[id] < s->first_edge[id + 1];
  return has_one ? lh_true_target(s, s->first_edge[id]) : LH_NO_OBJECT;
}

/* O(1). */
bool lh_is_c_closure(const lh_snapshot *snapshot, lh_id id);

/* How many objects from in_a and in_b on, which have one address, have equal addresses, sizes,
** entries and frames, byte by byte. Equal bytes may mean different keys if the snapshots' lists of
** frequent keys differ. O(bytes). */
uint32_t lh_count_equal_records(const lh_snapshot *a, lh_id in_a, const lh_snapshot *b, lh_id in_b);

/* All values of a C function or a userdata, with scalars and nil, from number 1 on. */
void lh_values_begin(const lh_snapshot *snapshot, lh_id id, lh_edges *iterator);
bool lh_values_next(lh_edges *iterator, uint32_t *number, lh_value *value);

/* Does the userdata have a user value that is not nil? */
bool lh_has_user_value(const lh_snapshot *snapshot, lh_id userdata);

/* The object whose header is at this address. For a userdata, Lua prints another address. */
lh_id lh_find_header(const lh_snapshot *snapshot, uint64_t address);

/* ==== ignored.c: edges and objects that an analysis ignores (lh_without) ============ */

/* LH_EARGUMENT: not of this snapshot; LH_EMEMORY. Free with lh_ignored_free. */
int lh_ignored_new(const lh_snapshot *snapshot, const lh_without *without, size_t n,
                   lh_ignored **out, lh_error *error);
void lh_ignored_free(lh_ignored *set);

/* Does the set have the edge itself? O(log of the set). */
bool lh_ignored_has(const lh_ignored *set, const lh_edge *edge);

/* Iterates over the sources of the edges, each once; for an ephemeron the table. Start with *at
** 0. */
lh_id lh_ignored_source(const lh_ignored *set, size_t *at);

/* Makes `set` the set that the snapshot ignores, and owns. NULL: it ignores nothing. */
void lh_ignore(lh_snapshot *snapshot, lh_ignored *set);

/* Only for the snapshot's own set, and fast. An edge is also ignored if one of its objects is. */
bool lh_is_object_ignored(const lh_snapshot *snapshot, const lh_ignored *set, lh_id id);
bool lh_is_edge_ignored(const lh_snapshot *snapshot, const lh_ignored *set, const lh_edge *edge);
