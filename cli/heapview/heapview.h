/*
** heapview.h - the parts of heapview. The page (page/) asks questions by name; the server answers
** them, or a written report contains the answers.
**
**     answers.c        questions: names, parameters, answers as JSON
**     overview.c       the opened files, and the first questions of a page
**     words_json.c     an answer's text as JSON: lines, tables, links
**     page.c           the page, put together by the build, with its policy
**     static_report.c  a report: the page with its answers, up to a size
**     server.c         page and answers over HTTP, one question after the other
**     answer_cache.c   a cache of answers
**     connections.c    the connections, and which of them are closed
**     requests.c       checks requests and parses questions (requests.h)
**     browser.c        opens the page in the user's browser
**     picture.c        paths as SVG, drawn by Graphviz
**     query.c          SQL, guarded as in heapsql
*/
#pragma once

#include "cli.h"
#include "requests.h"

/* open_memstream */
typedef struct view_text {
  FILE *file; /* NULL: not open */
  char *text;
  size_t size;
} view_text;

/* The opened files. Snapshots are sorted by time; questions are about the last by default. */
typedef struct view {
  cli *c;
  lh_snapshot *const *snapshots;
  const char *const *files; /* as the user named them */
  size_t n;
  const lh_usage *usage; /* of a profile; NULL: none */
  const char *profile;   /* its file */
  bool is_written;       /* a report, which answers only what it contains */
  /* Of all snapshots, and of the first and last; made at first use. */
  lh_ladder *ladder, *ends;
  view_text answer;              /* the memory of the answer that is being written */
  lh_usage *part;                /* of the last part of the profile that was asked about */
  bool (*is_gone)(void *client); /* the client has left; NULL: never */
  void *client;
} view;

void view_end(view *v); /* frees what was cached for answers */

/* The question as text, the key of its answer in a report and in a request's path: name?k=v&k=v,
** encoded as by encodeURIComponent. Freed by free. */
char *view_key(const view_question *question);

/* Appends the text, encoded, and returns its end. It takes at most view_encoded bytes. */
char *view_encode(char *to, const char *text);
static inline size_t view_encoded(const char *text) {
  return 3 * strlen(text) + 1;
}

/* Splits one of our own keys, whose parameters are in order and need no decoding. */
void view_take_key(char *key, view_question *question);

/* {"answer": as --json, "told": the text} or {"error": sentence}; for a written report only what
** its page reads of these. LH_OK or the library's code. */
int view_answer(view *v, const view_question *question, FILE *out);

/* overview.c: the key of question i, for the idle server; NULL: no more. Freed by free. */
char *view_prefetch_key(const view *v, size_t i);

/* The page, and its Content-Security-Policy as a server sends it. */
const char *view_page(size_t *n);
const char *view_policy(void);

/* A report is the page up to the JSON that it carries, with its policy; the JSON, with each '<'
** escaped, so that none ends its element; and the rest, of as many bytes as view_page_begin
** returns. */
size_t view_page_begin(FILE *out);
void view_page_json(FILE *out, const char *json);
void view_page_end(FILE *out);

/* static_report.c: view_check_report checks that `path` can be written, before the long analysis.
** view_write writes a report completely or not at all. Both end the process on failure. */
void view_check_report(cli *c, const char *path);
void view_write(view *v, const char *path);

/* browser.c: opens an address in the user's browser; false: failed. view_forget_browser removes the
** file that leads there; a signal handler may call it. */
bool view_open_browser(const char *address);
void view_forget_browser(void);

/* ==== server.c ======================================================================= */

/* HTTP. One thread takes and checks requests (requests.h) and sends page and progress. Questions
** wait in a queue for the thread that owns the snapshots. */
typedef struct server server;

/* Listens at a port (0: any free one) of an address (NULL: this machine alone), or ends the
** process. From now on SIGINT and SIGTERM end the process. */
server *server_start(cli *c, const char *address, unsigned port);

/* "http://127.0.0.1:PORT/#TOKEN" */
const char *server_address(const server *s);

/* Sets the progress shown to clients; NULL: none. Same form as cli.told. */
void server_tell(void *s, const char *doing);

/* Sends clients an error; waits some seconds for a client if `expected` or the page was seen. */
void server_fail(server *s, const char *sentence, bool expected);

/* Answers until a signal ends the process. */
_Noreturn void server_run(server *s, view *v);

/* True: the client whose question is being answered has left. Same form as view.is_gone. */
bool server_client_has_left(void *s);

/* ==== Questions ====================================================================== */

typedef struct view_asked {
  view *v;
  const view_question *question;
  const char *name;      /* its name in the library */
  size_t in;             /* number of the snapshot */
  lh_snapshot *snapshot; /* classified; NULL: question about a ladder or a profile */
  lh_request request;
  const lh_usage *usage; /* of the request, about a profile */
  const char *names[2];  /* of the request, about two snapshots */
  lh_id *ids;            /* of the request; lh_free */
  lh_removed cut;        /* of the request; lh_without_free */
  lh_error *error;
} view_asked;

/* Formats *error and returns LH_EARGUMENT. */
int view_refuse(lh_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* overview.c: the opened files, so that a page knows what to show; and the keys of its first
** questions, ending with NULL. */
int view_overview(view_asked *asked, lh_json *w);
const char *const *view_verdict(const view *v);

/* query.c: the answer of an SQL query, and the tables it may use. */
int view_sql(view_asked *asked, lh_json *w);
int view_tables(view_asked *asked, lh_json *w);

/* picture.c: the paths to an object, and the functions of the profile, as SVG. */
int view_picture(view_asked *asked, lh_json *w);
int view_blueprint(view_asked *asked, lh_json *w);

/* words_json.c: a report's text as "told": its lines, and its tables or none. False: out of
** memory. */
bool view_put_words(const view_asked *asked, lh_report *report, lh_json *w, bool has_tables);
