/*
** requests.c - checks requests. These could reach a heap through a browser:
**
**     a page of another site              has no token; Origin and Sec-Fetch-Site reveal it
**     another name bound to this machine  Host is not ours
**     another user of this machine        has no token: it is in no command line or readable file,
**                                         and a browser never sends a fragment
**
** The page contains no data, so it needs no token. A refusal says nothing about the heap.
*/
#include "requests.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool refuse_request(view_taken *out, unsigned status, const char *sentence) {
  *out = (view_taken){.wish = VIEW_REFUSED, .status = status, .sentence = sentence};
  return false;
}

/* Returns how often a header occurs; *value is the last one, or NULL. */
static size_t find_header(const view_request *request, const char *name, const char **value) {
  size_t n = 0;
  *value = NULL;
  for (size_t i = 0; i < request->n_headers; i++) {
    if (strcasecmp(request->headers[i].name, name) != 0) continue;
    *value = request->headers[i].value != NULL ? request->headers[i].value : "";
    n++;
  }
  return n;
}

/* Length of `host` without ":PORT"; 0: wrong port. */
static size_t without_port(const char *host, unsigned port) {
  char end[16];
  size_t n = strlen(host), n_end = (size_t)snprintf(end, sizeof end, ":%u", port);
  if (n > n_end && strcmp(host + n - n_end, end) == 0) return n - n_end;
  return port == 80 ? n : 0; /* port 80 may be left out */
}

static bool is_name(const char *host, size_t n, const char *name) {
  return n == strlen(name) && strncasecmp(host, name, n) == 0;
}

/* True: an address in digits, which no name server can redirect. */
static bool is_address(const char *host, size_t n) {
  if (n > 2 && host[0] == '[' && host[n - 1] == ']')
    return strspn(host + 1, "0123456789abcdefABCDEF:.") == n - 2;
  return strspn(host, "0123456789.") >= n;
}

/* An IPv6 address stands in brackets, which are not part of `name`. */
static bool is_host(const char *host, size_t n, const char *name) {
  if (name == NULL) return false;
  if (strchr(name, ':') == NULL) return is_name(host, n, name);
  return n > 2 && host[0] == '[' && host[n - 1] == ']' && is_name(host + 1, n - 2, name);
}

/* True: `host`, such as localhost:8080, is the address where we listen. */
static bool is_our_host(const view_gate *gate, const char *host) {
  size_t n = without_port(host, gate->port);
  if (n == 0) return false;
  if (is_name(host, n, "127.0.0.1") || is_name(host, n, "[::1]") || is_name(host, n, "localhost"))
    return true;
  if (gate->host == NULL) return false;
  if (gate->any_address && is_address(host, n)) return true;
  return is_host(host, n, gate->host) || is_host(host, n, gate->address);
}

static bool check_origin(const view_gate *gate, const view_request *request, view_taken *out) {
  static const char foreign[] = "the request comes from a page of somebody else";
  const char *origin;
  size_t n = find_header(request, "Origin", &origin);
  if (n == 0) return true;
  if (n > 1 || strncasecmp(origin, "http://", 7) != 0 || !is_our_host(gate, origin + 7))
    return refuse_request(out, 403, foreign);
  return true;
}

/* Only our own page may ask; but any page or mail may link to us. */
static bool check_site(const view_request *request, bool is_page, view_taken *out) {
  const char *site, *mode;
  size_t n = find_header(request, "Sec-Fetch-Site", &site);
  if (n == 0 || (n == 1 && strcmp(site, "same-origin") == 0)) return true;
  bool navigates =
      find_header(request, "Sec-Fetch-Mode", &mode) == 1 && strcmp(mode, "navigate") == 0;
  if (is_page && n == 1 && (navigates || strcmp(site, "none") == 0)) return true;
  return refuse_request(out, 403, "the request comes from a page of somebody else");
}

/* Takes constant time. */
static bool check_token(const view_gate *gate, const view_request *request, view_taken *out) {
  static const char sentence[] =
      "the token is missing or wrong: open the address that heapview printed when it was started";
  const char *token;
  unsigned char differs = 0;
  if (find_header(request, "X-Heapview-Token", &token) != 1 || strlen(token) != VIEW_TOKEN_BYTES)
    return refuse_request(out, 403, sentence);
  for (size_t i = 0; i < VIEW_TOKEN_BYTES; i++)
    differs |= (unsigned char)((unsigned char)token[i] ^ (unsigned char)gate->token[i]);
  return differs == 0 || refuse_request(out, 403, sentence);
}

static bool has_body(const view_request *request) {
  const char *length, *coding;
  size_t n = find_header(request, "Content-Length", &length);
  return find_header(request, "Transfer-Encoding", &coding) > 0 ||
         (n > 0 && strcmp(length, "0") != 0);
}

static bool check_headers(const view_gate *gate, const view_request *request, bool is_page,
                          view_taken *out) {
  const char *host;
  if (request->has_more_headers)
    return refuse_request(out, 431, "the request has too many headers");
  if (find_header(request, "Host", &host) != 1 || !is_our_host(gate, host))
    return refuse_request(out, 403,
                          "heapview answers to the address that it printed, and to no other");
  return check_origin(gate, request, out) && check_site(request, is_page, out) &&
         (is_page || check_token(gate, request, out)) &&
         (!has_body(request) || refuse_request(out, 413, "a question has no body"));
}

const char *view_parameter_of(const view_question *question, const char *key) {
  for (size_t i = 0; i < question->n; i++)
    if (strcmp(question->parameters[i].key, key) == 0) return question->parameters[i].value;
  return NULL;
}

static int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes %41 to A, in place. False: not two hexadecimal digits, or a NUL. */
static bool decode(char *text) {
  char *to = text;
  for (; *text != '\0'; text++) {
    if (*text != '%') {
      *to++ = *text;
      continue;
    }
    int high = digit_of(text[1]), low = high >= 0 ? digit_of(text[2]) : -1;
    if (low < 0 || high + low == 0) return false;
    *to++ = (char)(high * 16 + low);
    text += 2;
  }
  *to = '\0';
  return true;
}

static bool is_utf8(const char *text) {
  json_t *string = json_string(text);
  json_decref(string);
  return string != NULL;
}

static bool is_word(const char *text) {
  size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_");
  return n > 0 && text[n] == '\0';
}

static bool take_parameters(char *text, view_question *question) {
  while (text != NULL) {
    char *next = strchr(text, '&'), *value = strchr(text, '=');
    if (next != NULL) *next++ = '\0';
    if (value == NULL || (next != NULL && value >= next)) return false;
    *value++ = '\0';
    if (question->n == VIEW_MOST_PARAMETERS || !is_word(text) || !decode(value) || !is_utf8(value))
      return false;
    if (question->n > 0 && strcmp(question->parameters[question->n - 1].key, text) >= 0)
      return false;
    question->parameters[question->n++] = (view_parameter){text, value};
    text = next;
  }
  return true;
}

static bool take_question(char *text, view_taken *out) {
  char *parameters = strchr(text, '?');
  if (parameters != NULL) *parameters++ = '\0';
  out->question.name = text;
  if (is_word(text) && take_parameters(parameters, &out->question)) return true;
  return refuse_request(
      out, 400,
      "a question is /ask/NAME?key=value&..., with at most 12 keys in ascending order "
      "and values as encodeURIComponent writes them");
}

static bool check_method(const char *method, bool is_page, view_taken *out) {
  if (strcmp(method, "GET") == 0 || (is_page && strcmp(method, "HEAD") == 0)) return true;
  return refuse_request(out, 405,
                        is_page ? "only GET and HEAD are answered" : "only GET is answered");
}

void view_take(const view_gate *gate, view_request *request, view_taken *out) {
  static const char ask[] = "/ask/";
  bool is_page = strcmp(request->target, "/") == 0;
  *out = (view_taken){.wish = VIEW_PAGE};
  if (!check_headers(gate, request, is_page, out)) return;
  if (!check_method(request->method, is_page, out) || is_page) return;
  if (strcmp(request->target, "/progress") == 0) {
    out->wish = VIEW_PROGRESS;
  } else if (strncmp(request->target, ask, strlen(ask)) == 0) {
    out->wish = VIEW_QUESTION;
    (void)take_question(request->target + strlen(ask), out);
  } else {
    (void)refuse_request(out, 404, "there is only /, /progress and /ask/NAME");
  }
}
