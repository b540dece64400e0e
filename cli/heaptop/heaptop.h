/*
** heaptop.h - what the files of heaptop share: what was asked for (cli/heaptop.c), the timeline
** (epochs.c), and the reports, each in a file of its name.
*/
#ifndef LUAHEAP_HEAPTOP_H
#define LUAHEAP_HEAPTOP_H

#include "cli.h"

/* The tables that can be asked for. */
enum { BY_CLASS = 1, BY_OBJECT = 2, BY_EPOCH = 4 };

typedef struct request request;

/* An answer of its own, in place of the tables. */
typedef struct report {
  const char *name; /* of its option */
  void (*print)(cli *c, lh_snapshot *snapshot, const request *r);
  void (*print_json)(cli *c, cli_json *w, lh_snapshot *snapshot, const request *r);
} report;

struct request {
  const char *file;
  const char *under;      /* OBJECT */
  const char *class_name; /* of --class */
  uint64_t depth;
  bool depth_given;
  lh_top_query query;
  bool limit_given, sort_given;
  unsigned by;          /* a set of tables; 0: the ledger, classes and objects */
  const report *report; /* NULL: the tables */
};

/* Is the object of those that the table is about? */
bool is_shown(const lh_snapshot *snapshot, const lh_top_query *query, lh_id id);

/* Bytes in what is reachable. */
const char *share_of_heap(cli *c, const lh_snapshot *snapshot, uint64_t bytes);

/* epochs.c: what calls the mark: its name or, if it has none of its own, its time; then *is_time.
** Freed by lh_free. */
char *mark_name(cli *c, const lh_mark_info *mark, bool *is_time);

void epochs_print(cli *c, const lh_snapshot *snapshot, const request *r);
void epochs_print_json(cli_json *w, const lh_snapshot *snapshot, const request *r);

#endif
