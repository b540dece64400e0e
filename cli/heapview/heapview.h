/*
** heapview.h - the parts of heapview. One page (page/) serves both ways of looking: it asks for
** answers by name, and has them from the server, or from what a written report carries.
**
**     answers.c   what can be asked: names, parameters, and the answer as JSON
**     told.c      the words of an answer as JSON: lines, tables, links
**     page.c      the page, put together when heapview was built, with its policy
**     carried.c   a report: the page with the answers that it may be asked for, to a budget
**     server.c    the page and the answers over HTTP, one question after the other (server.h)
**     requests.c  which requests are taken at all, and what a question is (requests.h)
**     browser.c   opens the page, where there is somebody who looks
**     picture.c   paths as SVG, drawn by Graphviz
**     query.c     SQL, guarded as in heapsql
*/
#ifndef LUAHEAP_HEAPVIEW_H
#define LUAHEAP_HEAPVIEW_H

#include "cli.h"
#include "requests.h"

/* What was opened. Several snapshots are in the order of time; the last is the one that is looked
** at unless a question says which. */
typedef struct view {
  cli *c;
  lh_snapshot *const *snapshots;
  const char *const *files; /* as the user named them */
  size_t n;
  const lh_usage *usage; /* of a profile; NULL: there is none */
  const char *profile;   /* its file */
} view;

/* Answers into `out`: {"answer": what the command's --json has, "told": what its text says}, or
** {"error": one sentence} where the library said no; then its code is returned, else LH_OK. */
int view_answer(view *v, const view_question *question, FILE *out);

/* The page, and the policy that its scripts fit (Content-Security-Policy), as a server sends it. */
const char *view_page(size_t *n);
const char *view_policy(void);

#endif
