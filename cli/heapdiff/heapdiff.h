/*
** heapdiff.h - what the files of heapdiff share: what was asked for (cli/heapdiff.c), and the report
** of new objects that stay (leaks.c for a person, leaks_json.c).
*/
#ifndef LUAHEAP_HEAPDIFF_H
#define LUAHEAP_HEAPDIFF_H

#include "cli.h"

typedef struct request {
  const char *files[3]; /* a, b, c; two: a, NULL, c; marks: NULL, NULL, c */
  const char *since, *until;
  lh_sort sort;
  size_t limit;
  bool limit_given, has_fail_over;
  uint64_t factor, fail_over_bytes;
} request;

/* What is compared, and how; names are escaped. */
typedef struct comparison {
  const request *r;
  lh_snapshot *snapshots[3];
  char *names[3];
  lh_diff *diff;
} comparison;

/* Rows that are shown of n. */
size_t n_rows(const cli *c, const request *r, size_t n);

bool is_flagged(const request *r, const lh_diff_group *group);

/* By how much the containers grew from the first snapshot to the last. */
uint64_t grown_bytes(const lh_diff *d);

void leaks_print_json(cli *c, const comparison *x);

/* Compares, reports, and returns the exit status. */
int leaks_report(cli *c, request *r);

#endif
