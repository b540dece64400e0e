/*
** requests.h - checks HTTP requests and parses questions. Strangers reach this code, so it uses no
** socket, clock or heap, and depends on no other part.
*/
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A question such as "treemap" with by=class, limit=200. Keys ascend, each once, so that equal
** questions are equal texts. */
typedef struct view_parameter {
  const char *key, *value;
} view_parameter;

enum { VIEW_MOST_PARAMETERS = 12 };

typedef struct view_question {
  const char *name;
  view_parameter parameters[VIEW_MOST_PARAMETERS];
  size_t n;
} view_question;

/* NULL: not given. */
const char *view_parameter_of(const view_question *question, const char *key);

/* ==== Requests ======================================================================= */

enum { VIEW_TOKEN_BYTES = 32, VIEW_MOST_HEADERS = 64 };

typedef struct view_gate {
  char token[VIEW_TOKEN_BYTES + 1]; /* hexadecimal */
  unsigned port;
  const char *host;    /* address of --listen; NULL: loopback alone */
  const char *address; /* the same in digits, as printed; may be NULL */
  bool any_address;    /* `host` means all addresses of this machine */
} view_gate;

typedef struct view_header {
  const char *name, *value;
} view_header;

typedef struct view_request {
  const char *method;
  char *target; /* path and query; view_take splits it in place */
  view_header headers[VIEW_MOST_HEADERS];
  size_t n_headers;
  bool has_more_headers; /* than VIEW_MOST_HEADERS */
} view_request;

typedef enum view_wish {
  VIEW_REFUSED,
  VIEW_PAGE, /* the page, which has no data */
  VIEW_PROGRESS,
  VIEW_QUESTION
} view_wish;

typedef struct view_taken {
  view_wish wish;
  unsigned status;      /* of HTTP, if refused */
  const char *sentence; /* the reason */
  view_question question;
} view_taken;

/* Checks and parses a request. The question's texts are in request->target: UTF-8 without NUL. */
void view_take(const view_gate *gate, view_request *request, view_taken *out);
