/*
** requests.h - which HTTP requests are taken, and what they ask. requests.c is pure: the bytes of a
** request go in, and out comes a question or a refusal; no socket, no clock, no heap. It is what
** strangers reach, so it needs nothing of the rest.
*/
#ifndef LUAHEAP_HEAPVIEW_REQUESTS_H
#define LUAHEAP_HEAPVIEW_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>

/* One question, such as "treemap" with by=class and limit=200. Keys are in ascending order, each
** once: so the same question is always the same text. */
typedef struct view_parameter {
  const char *key, *value;
} view_parameter;

enum { VIEW_MOST_PARAMETERS = 12 };

typedef struct view_question {
  const char *name;
  view_parameter parameters[VIEW_MOST_PARAMETERS];
  size_t n;
} view_question;

/* The value of a parameter; NULL: it is not given. */
const char *view_parameter_of(const view_question *question, const char *key);

/* ==== Requests ======================================================================= */

enum { VIEW_TOKEN_BYTES = 32, VIEW_MOST_HEADERS = 64 };

/* What is held against a request. */
typedef struct view_gate {
  char token[VIEW_TOKEN_BYTES + 1]; /* hexadecimal digits */
  unsigned port;
  const char *host;    /* the address that --listen named; NULL: loopback alone */
  const char *address; /* the same in digits, as it is printed; may be NULL */
  bool any_address;    /* it stands for all of this machine's */
} view_gate;

typedef struct view_header {
  const char *name, *value;
} view_header;

typedef struct view_request {
  const char *method;
  char *target; /* behind the method: a path and a query; it is cut into the question's words */
  view_header headers[VIEW_MOST_HEADERS];
  size_t n_headers;
  bool has_more_headers; /* than there is room for */
} view_request;

typedef enum view_wish {
  VIEW_REFUSED,
  VIEW_PAGE,     /* the page, which has no data */
  VIEW_PROGRESS, /* what is being done */
  VIEW_QUESTION
} view_wish;

typedef struct view_taken {
  view_wish wish;
  unsigned status;      /* of HTTP, where it is refused, */
  const char *sentence; /* and why */
  view_question question;
} view_taken;

/* Tells what a request wishes. Texts of the question are in request->target: UTF-8 without NUL. */
void view_take(const view_gate *gate, view_request *request, view_taken *out);

#endif
