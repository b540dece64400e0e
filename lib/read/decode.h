/*
** decode.h - all references of a heap in one sweep, for the files that build graphs from them.
**
** lh_edges_* (luaheap_read.h) tells everything about the edges of one object. A graph needs only
** source, target and strength of every edge there is, and needs them fast (6 million edges in
** 0.1 s), so this sweep yields those, in the same order and with the same ones left out, in batches
** that let the look-ups of addresses overlap:
**
**     lh_references it;
**     lh_reference batch[LH_REFERENCE_BATCH];
**     lh_references_begin(snapshot, 0, snapshot->n, &it);
**     while ((n = lh_references_read(&it, batch))) for (i = 0; i < n; i++) ...
*/
#ifndef LUAHEAP_DECODE_H
#define LUAHEAP_DECODE_H

#include "snapshot.h"

typedef enum lh_strength {
  LH_STRONG,
  LH_WEAK,     /* keeps nothing alive */
  LH_EPHEMERON /* weak table value; strong from `key` while the table (source) is reachable */
} lh_strength;

typedef struct lh_reference {
  lh_id source, target;
  lh_id key; /* LH_EPHEMERON: a collectable key, no string. Otherwise LH_NO_OBJECT */
  lh_strength strength;
} lh_reference;

enum { LH_REFERENCE_BATCH = 128 };

typedef struct lh_references {
  const lh_snapshot *snapshot;
  lh_id source, last;
  bool started;
  uint64_t state[11]; /* the position in the record of `source` */
} lh_references;

/* The references of objects first..last (both included, first may be LH_ROOT), by source, without
** the LH_EDGE_EPHEMERON edges, which the caller makes from the ephemerons that it is told of.
** Targets are always objects of the snapshot. */
void lh_references_begin(const lh_snapshot *snapshot, lh_id first, lh_id last, lh_references *it);

/* Fills `batch` and returns how many there are; 0 only at the end. A source's references may be
** split over two batches. */
size_t lh_references_read(lh_references *it, lh_reference batch[LH_REFERENCE_BATCH]);

/* Asks for the memory that reading the edges of an object will touch. Needs the graph. */
void lh_prefetch_edges(const lh_snapshot *snapshot, lh_id id);

/* The metatable of a table or userdata, or LH_NO_OBJECT. O(1), unlike lh_object_at. */
lh_id lh_metatable_of(const lh_snapshot *snapshot, lh_id id);

/* Iterates over the values of a C function or a userdata, scalars and nil included, from number 1
** on. Others have none. */
void lh_values_begin(const lh_snapshot *snapshot, lh_id id, lh_edges *iterator);
bool lh_values_next(lh_edges *iterator, uint32_t *number, lh_value *value);

/* Has a userdata a user value that is not nil? */
bool lh_has_user_value(const lh_snapshot *snapshot, lh_id userdata);

/* The object whose header is at this address, whatever Lua prints: one look-up. */
lh_id lh_find_header(const lh_snapshot *snapshot, uint64_t address);

#endif
