/*
** heaptop.h - what the files of heaptop share: what was asked for (cli/heaptop.c), and the timeline
** (epochs.c).
*/
#ifndef LUAHEAP_HEAPTOP_H
#define LUAHEAP_HEAPTOP_H

#include "cli.h"

/* The tables that can be asked for. */
enum { BY_CLASS = 1, BY_OBJECT = 2, BY_EPOCH = 4 };

typedef struct request {
  const char *file;
  lh_top_query query;
  bool limit_given, sort_given;
  unsigned by; /* a set of tables; 0: the ledger, classes and objects */
} request;

/* Is the object of those that the table is about? */
bool is_shown(const lh_snapshot *snapshot, const lh_top_query *query, lh_id id);

void epochs_print(cli *c, const lh_snapshot *snapshot, const request *r);
void epochs_print_json(cli_json *w, const lh_snapshot *snapshot, const request *r);

#endif
