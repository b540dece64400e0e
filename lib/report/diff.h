/*
** diff.h - the answer of diff.c and its tables.
*/
#ifndef LUAHEAP_REPORT_DIFF_H
#define LUAHEAP_REPORT_DIFF_H

#include "report/report.h"

/* Sums of new objects and of grown containers. */
typedef struct lh_diff_sums {
  uint64_t groups, containers;
  uint64_t objects, shallow_bytes, retained_bytes;
  uint64_t grown_bytes;
} lh_diff_sums;

/* In the lists of the diff known rows follow the others. */
typedef struct lh_diff_found {
  lh_diff diff;
  lh_diff *whole;     /* owns the data of `diff` */
  size_t n_snapshots; /* compared; 0: an interval in one snapshot */
  lh_diff_sums new, known;
  uint64_t may_be_newer[2], may_be_newer_bytes[2]; /* lh_diff.passed_as_old */
  char multiple[2 + LH_NUMBER_BYTES];              /* heading of the column of multiples */
  bool is_folded;                                  /* a printed row has several containers */
} lh_diff_found;

extern const lh_table lh_group_table;

/* known.c: matches rows with the known fingerprints of the release before. False: out of memory. */
bool lh_renew_known_of_diff(const lh_request *request, lh_snapshot *c, const lh_diff *diff);

extern const lh_table lh_grown_table;

/* class_changes.c: also for snapshots of different states */
extern const lh_table lh_class_change_table;

#endif
