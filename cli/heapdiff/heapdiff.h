/*
** heapdiff.h - what the files of heapdiff share: what was asked for (cli/heapdiff.c), what is
** accepted and what is too much (gate.c). All else that it prints are answers of the library
** (luaheap_report.h).
*/
#ifndef LUAHEAP_HEAPDIFF_H
#define LUAHEAP_HEAPDIFF_H

#include "cli.h"

typedef struct request {
  const char **files; /* in the order given */
  size_t n_files;
  const char *halves[2][2]; /* --before and --after: one or two files each */
  size_t n_before, n_after;
  lh_request asked;
  const lh_question *question; /* what an option asks for; NULL: none does */
  bool is_asked_twice;         /* for two questions */
  uint64_t fail_over_bytes, fail_objects;
  lh_known known; /* no name without --known */
} request;

/* gate.c: reads a file of fingerprints; one that is malformed ends the process. */
void known_read(cli *c, lh_known *k, const char *file);

/* Says what fingerprints of the release before are now, of those that were found. */
void known_renewed(cli *c, const lh_known *known);

/* The exit status for growth of so much; says so if it is too much. */
int gate(cli *c, const request *r, const lh_report *report);

#endif
