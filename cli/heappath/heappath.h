/*
** heappath.h - what the files of heappath share: what was asked for and of which object
** (cli/heappath.c), and the answers: paths.c, referrers.c, dominators.c, and set.c with query.c.
*/
#ifndef LUAHEAP_HEAPPATH_H
#define LUAHEAP_HEAPPATH_H

#include "cli.h"

typedef enum format { FORMAT_TEXT, FORMAT_DOT, FORMAT_JSON, FORMAT_AUTO } format;

typedef struct request {
  const char *file;
  char *expression;
  const char *set; /* NULL: one object is asked for */
  size_t n_paths, limit;
  bool limit_given, referrers, dominators;
  format format;
} request;

/* The object that was asked for. */
typedef struct subject {
  lh_snapshot *snapshot;
  lh_found found;
  lh_id id;
  char *text; /* Listener 0x55d0c0a3f2e0 */
} subject;

/* From this many steps on a path is folded in a picture, so that it fits a page. */
enum { LONG_PICTURE = 10 };

/* "1,000 Listener in the snapshot; this is the one that retains most" */
void print_matches(cli *c, const subject *s);

/* The keys of an object, and in a row those of an edge. */
json_t *json_of_object(cli *c, const lh_snapshot *snapshot, lh_id id);
void add_edge(json_t *row, const lh_snapshot *snapshot, const lh_edge *edge);

/* In JSON an answer adds keys to the object that `w` has open, or paths to the array. */
void answer_paths(cli *c, const request *r, const subject *s, cli_json *w);
void answer_referrers(cli *c, const request *r, const subject *s, cli_json *w);
void print_dominators(cli *c, const subject *s);
void json_dominators(cli *c, cli_json *w, const subject *s);

/* The answer about a set of objects in the snapshot, which it closes; returns the exit status. */
int answer_set(cli *c, const request *r, lh_snapshot *snapshot);

typedef struct object_set {
  lh_id *ids;
  size_t n;
} object_set;

/* query.c: is this SQL, and the objects that it names; set->ids is freed by free. */
bool is_query(const char *text);
void find_by_query(cli *c, const char *file, lh_snapshot *snapshot, const char *query,
                   object_set *set);

#endif
