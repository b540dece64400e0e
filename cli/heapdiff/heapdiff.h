/*
** heapdiff.h - what the files of heapdiff share: what was asked for (cli/heapdiff.c), what is
** accepted and what is too much (gate.c), and the report of new objects that stay (leaks.c for a
** person, leaks_json.c).
*/
#ifndef LUAHEAP_HEAPDIFF_H
#define LUAHEAP_HEAPDIFF_H

#include "cli.h"

/* The fingerprints of a file, sorted; file is NULL without --known. */
typedef struct known_list {
  const char *file;
  char (*list)[LH_FINGERPRINT_BYTES];
  size_t n, capacity;
} known_list;

typedef struct request {
  const char *files[3]; /* a, b, c; two: a, NULL, c; marks: NULL, NULL, c */
  const char *since, *until;
  lh_sort sort;
  size_t limit;
  bool limit_given, fingerprints, has_fail_over, has_fail_objects;
  uint64_t factor, fail_over_bytes, fail_objects;
  known_list known;
} request;

/* Rows that are shown of n. */
size_t n_rows(const cli *c, const request *r, size_t n);

/* {=== gate.c ======================================================================== */

/* Reads a file of fingerprints; one that is malformed ends the process. */
void known_read(cli *c, known_list *k, const char *file);
bool known_has(const known_list *k, const char *fingerprint);

/* With --known: says how much was left out. */
void known_print(cli *c, const known_list *k, uint64_t n, uint64_t bytes, uint64_t objects);

/* The exit status for growth of so much; says so if it is too much. `what`: "retained". */
int gate(cli *c, const request *r, uint64_t bytes, uint64_t objects, const char *what);

/* }=================================================================================== */

/* {=== leaks.c ======================================================================= */

/* What is left of the new objects without those that are known. */
typedef struct sums {
  uint64_t objects, shallow_bytes, retained_bytes, grown_bytes;
} sums;

/* What is compared, and how; names are escaped. */
typedef struct comparison {
  const request *r;
  lh_snapshot *snapshots[3];
  char *names[3];
  lh_diff *diff;            /* the groups and containers that are known stand last, */
  size_t n_groups, n_grown; /* and so many in front of them are not */
  sums unknown, known;
} comparison;

bool is_flagged(const request *r, const lh_diff_group *group);
void leaks_print_json(cli *c, const comparison *x);

/* Compares, reports, and returns the exit status. */
int leaks_report(cli *c, request *r);

/* }=================================================================================== */

#endif
