/*
** json.c - JSON, one value a line inside the outermost two brackets, or without a blank where no
** person reads it. jansson makes and quotes the values; the brackets are written here as they come,
** so that a path of a million steps is never held in memory as a million JSON objects.
**
** Every < and > in a string is written \u003C and \u003E, so that a page may have the text inside a
** script element, and XML in a CDATA section: nothing in it ends that, or begins a comment there.
*/
#include <stdio_ext.h>

#include "cli.h"

/* A document on stdout that is not whole is not printed, if what there is of it fits the buffer: so
** whoever reads finds nothing where a command fails. */
static char buffer[1 << 16];
static bool is_open;

void cli_json_drop(void) {
  if (is_open) __fpurge(stdout);
  is_open = false;
}

static void begin_document(void) {
  static bool is_prepared;
  if (!is_prepared) is_prepared = setvbuf(stdout, buffer, _IOFBF, sizeof buffer) == 0;
  is_open = true;
}

static FILE *file_of(const cli_json *w) {
  return w->out != NULL ? w->out : stdout;
}

static void begin_line(const cli_json *w) {
  if (!w->is_compact) fprintf(file_of(w), "\n%*s", 2 * (int)w->depth, "");
}

static void begin_item(cli_json *w, const char *key) {
  if (w->follows) putc(',', file_of(w));
  if (w->depth > 0) begin_line(w);
  if (key != NULL) fprintf(file_of(w), w->is_compact ? "\"%s\":" : "\"%s\": ", key);
}

void cli_json_open(cli_json *w, const char *key, char bracket) {
  if (w->depth == 0 && w->out == NULL) begin_document();
  begin_item(w, key);
  putc(bracket, file_of(w));
  w->depth++;
  w->follows = false;
}

void cli_json_close(cli_json *w, char bracket) {
  w->depth--;
  if (w->follows) begin_line(w);
  putc(bracket, file_of(w));
  w->follows = true;
  if (w->depth > 0 || w->out != NULL) return;
  putchar('\n');
  is_open = false;
}

/* What jansson leaves as it is, though it should not reach a page or a terminal; outside of strings
** JSON has none of it. A write error is found by whoever closes the file. */
static int put(const char *text, size_t n, void *out) {
  const char *end = text + n;
  for (const char *at = text; at < end; at++) {
    if (*at != '<' && *at != '>' && *at != 0x7F) continue;
    fwrite(text, 1, (size_t)(at - text), out);
    fprintf(out, "\\u%04X", (unsigned)*at);
    text = at + 1;
  }
  fwrite(text, 1, (size_t)(end - text), out);
  return 0;
}

static void put_value(cli_json *w, const char *key, json_t *value, size_t flags) {
  if (w->is_compact) flags |= JSON_COMPACT;
  begin_item(w, key);
  json_dump_callback(cli_must(value), put, file_of(w), flags | JSON_ENCODE_ANY);
  json_decref(value);
  w->follows = true;
  if (w->most_bytes > 0 && !w->is_full)
    w->is_full = ferror(w->out) || ftello(w->out) > w->most_bytes;
}

void cli_json_value(cli_json *w, const char *key, json_t *value) {
  put_value(w, key, value, 0);
}

void cli_json_exact(cli_json *w, json_t *value) {
  put_value(w, NULL, value, JSON_ENSURE_ASCII);
}

json_t *cli_json_size(uint64_t n) {
  return json_integer((json_int_t)n);
}

json_t *cli_json_text(const char *text) {
  char *escaped = cli_escape(text);
  json_t *value = json_string(escaped);
  lh_free(escaped);
  return value;
}
