/*
** heapview.h - the parts of heapview. One page (page/) serves both ways of looking: it asks for
** answers by name, and has them from the server, or from what a written report carries.
**
**     answers.c   what can be asked: names, parameters, and the answer as JSON
**     overview.c  what was opened, and what its pages ask first
**     told.c      the words of an answer as JSON: lines, tables, links
**     page.c      the page, put together when heapview was built, with its policy
**     carried.c   a report: the page with the answers that it may be asked for, to a budget
**                 (pieces.c deflates them)
**     server.c    the page and the answers over HTTP, one question after the other
**     recent.c    answers that it keeps
**     guests.c    who is connected to it, and who has to go
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
  bool is_written;       /* a report, which answers what it carries only */
  /* Of all snapshots, and of the first and the last, once something was asked of them. */
  lh_ladder *ladder, *ends;
  lh_usage *part;               /* of the part of the profile that was last looked at */
  bool (*is_gone)(void *asker); /* did who asks go away meanwhile? NULL: never */
  void *asker;
} view;

void view_end(view *v); /* lets go of what was kept for answers */

/* What stands for the question where its answer is carried, and in a request's path:
** name?k=v&k=v, as encodeURIComponent writes values. Freed by free. */
char *view_key(const view_question *question);
void view_put_encoded(FILE *out, const char *text);

/* Cuts one of our own keys into the words of its question: its parameters are in order already, and
** their values need no decoding. */
void view_take_key(char *key, view_question *question);

/* Answers into `out`: {"answer": what the command's --json has, "told": what its text says}, or
** {"error": one sentence} where the library said no; then its code is returned, else LH_OK. */
int view_answer(view *v, const view_question *question, FILE *out);

/* overview.c: the key of what should be asked while nobody asks; NULL: there are no more than `i`.
** Freed by free. */
char *view_ahead(const view *v, size_t i);

/* The page, and the policy that its scripts fit (Content-Security-Policy), as a server sends it. */
const char *view_page(size_t *n);
const char *view_policy(void);

/* A report: the page with its policy, and with the JSON that it carries in its place. No '<' of the
** JSON is written as one, so nothing in it ends its place. */
void view_page_write(FILE *out, const char *carried, size_t n);

/* carried.c: writes a report, whole or not at all; ends the process where that fails. That it may
** be there is checked first, since the analysis takes long. */
void view_check_report(cli *c, const char *path);
void view_write(view *v, const char *path);

/* browser.c: opens an address in the user's browser; what leads there is forgotten when it is not
** needed any more, also by a signal handler. False: it cannot be opened. */
bool view_open_browser(const char *address);
void view_forget_browser(void);

/* ==== pieces.c ======================================================================= */

/* The greater part of what a report carries: answers in pieces of some hundred, which are deflated,
** since they are alike and shrink to a twentieth; and an index, deflated too, of which answer is in
** which piece. A page inflates the piece that it needs (page/carried.js). */
typedef struct pieces pieces;

/* Room for so many bytes of text in the end, index and all. */
pieces *pieces_begin(size_t room);

/* Answers that stand together: "KEY":ANSWER,... and their keys: "KEY",... They are of `objects`
** objects. False: there is no room any more, and nothing was added. Millions of bytes are no answer
** to look at, and are left out. */
bool pieces_add(pieces *p, const char *answers, const char *keys, unsigned objects);

/* Writes the fields of a JSON object, "index":"...","pieces":["...",...], and frees it. Returns of
** how many objects there are answers. */
uint64_t pieces_end(pieces *p, FILE *out);

/* ==== server.c ======================================================================= */

/* The page and its answers over HTTP. A thread of its own takes requests, refuses what is none of
** ours (requests.h), and gives the page and the progress at once; questions wait in a queue, and
** whoever owns the snapshots answers one after the other. */
typedef struct server server;

/* Begins to listen, at port 0 for any that is free; NULL in place of an address: for this machine
** alone. Ends the process if that cannot be. From now on SIGINT and SIGTERM end it, too. */
server *server_start(cli *c, const char *address, unsigned port);

/* http://127.0.0.1:PORT/#TOKEN */
const char *server_address(const server *s);

/* What is being done, which is told to all who look; NULL: nothing. As cli.told. */
void server_tell(void *s, const char *doing);

/* There will be no answers: tells the reason to who looks, and waits for them some seconds if
** `expected`, or if somebody has the page already. */
void server_fail(server *s, const char *sentence, bool expected);

/* Answers until a signal comes. */
_Noreturn void server_run(server *s, view *v);

/* Did the one go away whose question is being answered? As view.is_gone. */
bool server_asker_is_gone(void *s);

/* ==== For what answers =============================================================== */

/* A question that was taken apart. */
typedef struct view_asked {
  view *v;
  const view_question *question;
  const char *name;      /* under which the library knows it */
  size_t in;             /* number of the snapshot */
  lh_snapshot *snapshot; /* analysed and classified; NULL: it is about a ladder, or a profile */
  lh_request request;
  const lh_usage *usage; /* of the request, if it is about a profile */
  const char *names[2];  /* of the request, if it is about two of more snapshots */
  lh_id *ids;            /* of the request, freed by lh_free */
  lh_gone cut;           /* of the request, freed by lh_without_free */
  lh_error *error;
} view_asked;

/* Fills *error with a sentence, and returns LH_EARGUMENT. */
int view_refuse(lh_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* overview.c: what was opened, for the page to know what it can show; and the keys of the questions
** that its first page tells, NULL behind the last. */
int view_overview(view_asked *asked, cli_json *w);
const char *const *view_verdict(const view *v);

/* query.c: what an SQL query answers, and the tables that it can ask. */
int view_sql(view_asked *asked, cli_json *w);
int view_tables(view_asked *asked, cli_json *w);

/* picture.c: the paths to an object, drawn; and the functions of the profile. */
int view_picture(view_asked *asked, cli_json *w);
int view_blueprint(view_asked *asked, cli_json *w);

/* told.c: the words of a report about the snapshot, as a list of lines and tables under `key`.
** False: memory ran out, and what was written is not whole. */
bool view_tell(const view_asked *asked, lh_report *report, cli_json *w, const char *key);

#endif
