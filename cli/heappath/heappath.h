/*
** heappath.h - what the files of heappath share: what was asked for and of which object
** (cli/heappath.c), the answers about one object (paths.c) and about a set of them (set.c), which
** a query may name (query.c).
*/
#ifndef LUAHEAP_HEAPPATH_H
#define LUAHEAP_HEAPPATH_H

#include "cli.h"

typedef enum format { FORMAT_TEXT, FORMAT_DOT, FORMAT_JSON, FORMAT_AUTO } format;

typedef struct request {
  const char *file;
  char *expression; /* NULL: none, with --set or --cut */
  const char *set;  /* NULL: one object is asked for */
  size_t n_paths;
  bool referrers, dominators;
  lh_request asked;        /* the rows, and what is ignored and cut */
  lh_gone *ignored, *cuts; /* the same lists, to be filled */
  format format;
} request;

/* The object that was asked for. */
typedef struct subject {
  lh_snapshot *snapshot;
  lh_found found;
  lh_id id;          /* LH_NO_OBJECT: none */
  char *text;        /* Listener 0x55d0c0a3f2e0 */
  bool only_ignored; /* what is ignored, and nothing else, keeps it alive */
} subject;

/* Listener 0x55d0c0a3f2e0, freed by free. */
char *describe(const lh_snapshot *snapshot, lh_id id);

/* What the library is asked about it; a line about what the object was chosen from, and one of what
** is ignored, if there are any, of which JSON has a key. */
lh_request request_about(const request *r, const subject *s);
void tell_asked(cli *c, cli_json *w, const request *r, const subject *s);

/* The keys of an object, in the one that is open. */
void json_subject(cli_json *w, const subject *s);

/* Fills `what` of --ignore and analyses without it; of --cut, where each must be there. */
void ignore(cli *c, const request *r, lh_snapshot *snapshot);
void find_cuts(cli *c, const request *r, lh_snapshot *snapshot);
void free_gone(lh_gone *list, size_t n);

/* In JSON an answer adds keys to the object that `w` has open, or paths to the array. */
void answer_paths(cli *c, const request *r, const subject *s, cli_json *w);
void answer_cuts(cli *c, const request *r, subject *s, cli_json *w);
void answer_referrers(cli *c, const request *r, const subject *s, cli_json *w);

/* The answer about a set of objects. False: none of them is alive. */
bool answer_set(cli *c, const request *r, lh_snapshot *snapshot);

typedef struct object_set {
  lh_id *ids;
  size_t n;
} object_set;

/* query.c: is this SQL, and the objects that it names; set->ids is freed by free. */
bool is_query(const char *text);
void find_by_query(cli *c, const char *file, lh_snapshot *snapshot, const char *query,
                   object_set *set);

#endif
