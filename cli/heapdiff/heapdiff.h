/*
** heapdiff.h - what the files of heapdiff share: what was asked for (cli/heapdiff.c), what is
** accepted and what is too much (gate.c), and the reports: new objects that stay (leaks.c for a
** person, leaks_json.c; held.c, classes.c), snapshots of different states (apart.c), growth over
** many snapshots (ladder.c, ladder_data.c for machines), from before to after (halves.c), and by
** owner (owners.c).
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
  const char **files; /* in the order given */
  size_t n_files;
  const char *halves[2][2]; /* --before and --after: one or two files each */
  size_t n_before, n_after;
  const char *since, *until;
  lh_sort sort;
  size_t limit;
  bool limit_given, sorted, ladder, csv, owners, fingerprints, has_fail_over, has_fail_objects;
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

/* The exit status for growth of so much; says so if it is too much. `what`: "retained";
** `grown_bytes`: what older containers grew by, which is told apart. */
int gate(cli *c, const request *r, uint64_t bytes, uint64_t grown_bytes, uint64_t objects,
         const char *what);

/* }=================================================================================== */

/* {=== leaks.c ======================================================================= */

/* What is left of the new objects without those that are known. */
typedef struct sums {
  uint64_t objects, shallow_bytes, retained_bytes, grown_bytes;
} sums;

/* What is compared, and how; names are escaped. */
typedef struct comparison {
  const request *r;
  const char *files[3]; /* a, b, c; two: a, NULL, c; marks: NULL, NULL, c */
  lh_snapshot *snapshots[3];
  char *names[3];
  lh_diff *diff;            /* the groups and containers that are known stand last, */
  size_t n_groups, n_grown; /* and so many in front of them are not */
  sums unknown, known;
} comparison;

bool is_flagged(const request *r, const lh_diff_group *group);
void leaks_print_json(cli *c, const comparison *x);

/* grown.c: by how much a container grew from the first snapshot to the last; and all of them. */
uint64_t grown_bytes(const lh_grown *grown);
void print_grown(cli *c, const comparison *x);

/* classes.c */
void print_class_changes(cli *c, const comparison *x);
void json_class_changes(cli *c, cli_json *w, const comparison *x);

/* apart.c: the same for snapshots of different Lua states. */
int apart_report(cli *c, const comparison *x);

/* Compares, reports, and returns the exit status. */
int leaks_report(cli *c, request *r);

/* }=================================================================================== */

/* {=== ladder.c, ladder_data.c, halves.c, owners.c =================================== */

/* What --known leaves out of a growth: the rows are taken from its list. */
typedef struct known_rows {
  size_t n;
  uint64_t bytes, objects; /* in the last snapshot */
} known_rows;

/* Reads the files one after another; to be freed by lh_ladder_free. */
lh_ladder *ladder_read(cli *c, const request *r);
known_rows leave_out_known(const request *r, lh_growth *growth);

/* held.c: a line on the two paths that hold an object of the first group, if there are two. */
void print_how_held(cli *c, lh_snapshot *snapshot, lh_id id);

/* How snapshots of different states were compared. */
void print_compared(bool same_state);
void json_growth_rows(cli *c, cli_json *w, const request *r, const lh_growth *growth,
                      const char *key, const lh_growth_row *rows, size_t n);
void ladder_print_json(cli *c, const request *r, const lh_growth *growth, const known_rows *known);
void ladder_print_csv(const cli *c, const request *r, const lh_growth *growth);
int ladder_report(cli *c, request *r);

/* owners.c */
int owners_report(cli *c, request *r);

/* --before and --after. */
int halves_report(cli *c, request *r);

/* }=================================================================================== */

#endif
