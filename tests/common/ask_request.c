/* ask_request.c - see ask_request.h. */
#include "ask_request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ask.h"
#include "heapview/requests.h"

static const view_gate gate = {.token = "0123456789abcdef0123456789abcdef", .port = 8000};

/* The rest of a text, behind the first `mark` in it, which ends it. */
static char *cut_at(char *text, char mark) {
  char *found = strchr(text, mark);
  if (found == NULL) return text + strlen(text);
  *found = '\0';
  return found + 1;
}

static void add_header(view_request *request, char *line) {
  char *value = cut_at(line, ':');
  value += strspn(value, " ");
  request->has_more_headers = request->n_headers == VIEW_MOST_HEADERS;
  if (!request->has_more_headers)
    request->headers[request->n_headers++] = (view_header){line, value};
}

/* The value of the only header of that name; NULL: there is none, or more than one. */
static const char *only(const view_request *request, const char *name) {
  const char *value = NULL;
  size_t n = 0;
  for (size_t i = 0; i < request->n_headers; i++) {
    if (strcasecmp(request->headers[i].name, name) != 0) continue;
    value = request->headers[i].value;
    n++;
  }
  return n == 1 ? value : NULL;
}

/* The code point that begins here, decoded by arithmetic alone; *n: its bytes. */
static uint32_t point_at(const unsigned char *at, size_t *n) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  *n = *at < 0x80 ? 1 : *at < 0xC0 ? 0 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : *at < 0xF8 ? 4 : 0;
  claim(*n > 0);
  uint32_t point = *n == 1 ? *at : *at & (0x7Fu >> *n);
  for (size_t i = 1; i < *n; i++) {
    claim((at[i] & 0xC0) == 0x80);
    point = point << 6 | (at[i] & 0x3Fu);
  }
  claim(*n == 1 || point >= least[*n]);
  claim(point < 0x110000 && (point < 0xD800 || point > 0xDFFF));
  return point;
}

static void check_question(const view_question *q) {
  claim(*q->name != '\0' && q->n <= VIEW_MOST_PARAMETERS);
  for (size_t i = 0; i < q->n; i++) {
    const view_parameter *p = &q->parameters[i];
    claim(*p->key != '\0' && view_parameter_of(q, p->key) == p->value);
    claim(i == 0 || strcmp(q->parameters[i - 1].key, p->key) < 0);
    const unsigned char *at = (const unsigned char *)p->value;
    for (size_t n; *at != '\0'; at += n) claim(point_at(at, &n) != 0);
  }
}

static void check_taken(const view_request *request, const view_taken *taken) {
  const char *host = only(request, "Host"), *token = only(request, "X-Heapview-Token");
  if (taken->wish == VIEW_REFUSED) {
    claim(taken->sentence != NULL && taken->status >= 400 && taken->status < 500);
    return;
  }
  claim(!request->has_more_headers && host != NULL);
  claim(strcasecmp(host, "127.0.0.1:8000") == 0 || strcasecmp(host, "[::1]:8000") == 0 ||
        strcasecmp(host, "localhost:8000") == 0);
  claim(strcmp(request->method, "GET") == 0 ||
        (taken->wish == VIEW_PAGE && strcmp(request->method, "HEAD") == 0));
  if (taken->wish != VIEW_PAGE) claim(token != NULL && strcmp(token, gate.token) == 0);
  if (taken->wish == VIEW_QUESTION) check_question(&taken->question);
}

void ask_request(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1), *line = text; /* of its exact size, for the sanitizer */
  view_request request = {0};
  view_taken taken;
  if (text == NULL) return;
  memcpy(text, data, size);
  text[size] = '\0';
  char *rest = cut_at(line, '\n');
  request.method = line;
  request.target = cut_at(line, ' ');
  for (line = rest; *line != '\0'; line = rest) {
    rest = cut_at(line, '\n');
    add_header(&request, line);
  }
  view_take(&gate, &request, &taken);
  check_taken(&request, &taken);
  free(text);
}
