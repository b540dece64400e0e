/*
** diff.h - what two or three snapshots tell of each other: for diff.c, which asks, and its tables.
*/
#ifndef LUAHEAP_REPORT_DIFF_H
#define LUAHEAP_REPORT_DIFF_H

#include "report/report.h"

/* Of new objects, and of the containers that grew. */
typedef struct lh_diff_sums {
  uint64_t groups, containers;
  uint64_t objects, shallow_bytes, retained_bytes;
  uint64_t grown_bytes;
} lh_diff_sums;

/* In the lists of the diff what is known stands behind what is not. */
typedef struct lh_diff_found {
  lh_diff diff;
  lh_diff *whole;     /* which owns what `diff` has */
  size_t n_snapshots; /* that were compared; 0: it is about an interval in one */
  lh_diff_sums new, known;
  uint64_t may_be_newer[2], may_be_newer_bytes[2]; /* lh_diff.passed_as_old */
  char multiple[2 + LH_NUMBER_BYTES];              /* the heading of multiples */
  bool is_folded;                                  /* a row that is shown has several containers */
} lh_diff_found;

extern const lh_table lh_group_table;

/* known.c: finds what is known by its fingerprint of the release before. False: out of memory. */
bool lh_renew_known_of_diff(const lh_request *request, lh_snapshot *c, const lh_diff *diff);

/* grown.c: containers that grew. */
extern const lh_table lh_grown_table;

/* class_changes.c: the change of each class, of snapshots of different states, too. */
extern const lh_table lh_class_change_table;

#endif
