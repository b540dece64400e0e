/* heappath.h - shared parts: paths.c answers about one object, query.c finds a set by SQL. */
#pragma once

#include "cli.h"

typedef enum format { FORMAT_TEXT, FORMAT_DOT, FORMAT_JSON, FORMAT_AUTO } format;

typedef struct request {
  const char *file;
  char *expression; /* NULL: none, with --set or --cut */
  const char *set;  /* NULL: one object */
  size_t n_paths;
  bool referrers, dominators;
  lh_request asked;           /* rows, and the next two lists */
  lh_removed *ignored, *cuts; /* the lists of `asked`, writable */
  format format;
} request;

typedef struct subject {
  lh_snapshot *snapshot;
  lh_found found;
  lh_id id;          /* LH_NO_OBJECT: none */
  char *text;        /* Listener 0x55d0c0a3f2e0 */
  bool only_ignored; /* only ignored references keep it alive */
} subject;

/* "Listener 0x55d0c0a3f2e0"; freed by free. */
char *describe(const lh_snapshot *snapshot, lh_id id);

/* request_about: the library's request about the object. print_asked prints how the object was
** chosen and which references are ignored, if any; JSON has keys for both. */
lh_request request_about(const request *r, const subject *s);
void print_asked(cli *c, lh_json *w, const request *r, const subject *s);
void json_subject(lh_json *w, const subject *s);

/* ignore: analyses without the --ignore patterns. find_cuts: each --cut must match. */
void ignore(cli *c, const request *r, lh_snapshot *snapshot);
void find_cuts(cli *c, const request *r, lh_snapshot *snapshot);
void free_patterns(lh_removed *list, size_t n);

/* In JSON an answer adds keys to the open object of `w`. */
void answer_paths(cli *c, const request *r, const subject *s, lh_json *w);
void answer_cuts(cli *c, const request *r, subject *s, lh_json *w);
void answer_referrers(cli *c, const request *r, const subject *s, lh_json *w);

typedef struct object_set {
  lh_id *ids;
  size_t n;
} object_set;

/* query.c: is_query: the text is SQL. set->ids, the selected objects, is freed by free. */
bool is_query(const char *text);
void find_by_query(cli *c, const char *file, lh_snapshot *snapshot, const char *query,
                   object_set *set);
