/*
** fields.h - the fields of one object: stepping through them (field_scan.c), those of an order and
** a filter (field_rows.c), and pages of them, kept while one object is asked about (fields.c).
** Private to this folder.
*/
#ifndef LUAHEAP_FIELDS_H
#define LUAHEAP_FIELDS_H

#include "view/answers.h"
#include "read/snapshot.h"

/* {=== field_scan.c =================================================================== */

/* A place between two fields; a copy of it goes on from there. */
typedef struct lh_field_scan {
  const lh_snapshot *snapshot;
  lh_id id;
  unsigned part; /* of the record */
  uint64_t number;
  lh_id metatable; /* LH_NO_OBJECT: none, or it was told */
  size_t ephemeron;
  lh_weak_sides weak;
  lh_edges it;
} lh_field_scan;

void lh_field_scan_begin(const lh_snapshot *snapshot, lh_id id, lh_field_scan *scan);
bool lh_field_scan_next(lh_field_scan *scan, lh_object_field *field);

/* Passes over n fields, or as many as there are: entries of a table faster than by the above. */
void lh_field_scan_skip(lh_field_scan *scan, uint64_t n);

/* How many an object has. O(1) for a table, but for its array part; for others O(fields). */
uint64_t lh_count_object_fields(const lh_snapshot *snapshot, lh_id id);

/* }=================================================================================== */

/* {=== field_rows.c =================================================================== */

/* A field in an order: rows are told apart by their numbers at the latest. */
typedef struct lh_field_row {
  uint64_t rank;
  uint32_t what; /* what it is, or the string that the rank is some bytes of */
  uint32_t number;
} lh_field_row;

typedef struct lh_field_rows {
  lh_field_order order;
  bool is_descending;
  char *filter; /* NULL: none */
  lh_field_row *rows;
  size_t n;
} lh_field_rows;

/* All of the n fields of the object that the filter leaves, in no order yet; false when out of
** memory, then there are none. Freed by lh_field_rows_free. */
bool lh_field_rows_make(const lh_snapshot *snapshot, lh_id id, uint64_t n,
                        const lh_field_query *query, lh_field_rows *out);
void lh_field_rows_free(lh_field_rows *rows);

/* Puts those from number `from` to before `to` where they are in the order. */
void lh_field_rows_sort(const lh_snapshot *snapshot, lh_field_rows *rows, size_t from, size_t to);

/* }=================================================================================== */

#endif
