/*
** heappath.h - what the files of heappath share: what was asked for and of which object
** (cli/heappath.c), what is taken as gone (ignore.c), and the answers: paths.c, independent.c,
** referrers.c, cuts.c, and set.c with query.c.
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

/* From this many steps on a path is folded in a picture, so that it fits a page. */
enum { LONG_PICTURE = 10 };

/* Listener 0x55d0c0a3f2e0, freed by free. */
char *describe(const lh_snapshot *snapshot, lh_id id);

/* What the library is asked about it; a line about what the object was chosen from, and one of what
** is ignored, if there are any, of which JSON has a key. */
lh_request request_about(const request *r, const subject *s);
void tell_asked(cli *c, cli_json *w, const request *r, const subject *s);

/* The keys of an object, and in a row those of an edge. */
json_t *json_of_object(const lh_snapshot *snapshot, lh_id id);
void add_edge(json_t *row, const lh_snapshot *snapshot, const lh_edge *edge);
void json_subject(cli_json *w, const subject *s);

/* {=== ignore.c ======================================================================= */

/* Fills `what` of --ignore and analyses without it; of --cut, where each must be there. */
void ignore(cli *c, const request *r, lh_snapshot *snapshot);
void find_cuts(cli *c, const request *r, lh_snapshot *snapshot);

/* Analyses without what is ignored, and what is cut if wanted. */
void leave_out(cli *c, const request *r, lh_snapshot *snapshot, bool cuts);

void free_gone(lh_gone *list, size_t n);

/* }=================================================================================== */

/* {=== independent.c ================================================================== */

/* To be freed by lh_independent_free. */
lh_independent find_independent(cli *c, const subject *s);

/* Who holds the function where the text of the path begins at one; null where it does not. */
json_t *json_through(const subject *s, const lh_path *path);

/* "2 independent paths below _G.app", freed by free. */
char *independent_text(cli *c, const subject *s, const lh_independent *found);

/* A table of the paths from number `first` on. */
void print_independent(cli *c, const subject *s, const lh_independent *found, size_t first);

/* A line that says where on the one path that holds the object several come together, if they do;
** and with `paths` a table of the other ones. */
void print_junction(cli *c, const subject *s, bool paths);
void json_independent(cli *c, cli_json *w, const subject *s, const lh_independent *found);

/* }=================================================================================== */

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
