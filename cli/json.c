/*
** json.c - JSON on stdout, or as jansson's values. A document is written while it is made.
*/
#include <stdio_ext.h>
#include <string.h>

#include "cli.h"

/* An unfinished document that fits this is never printed, so a failed command prints nothing. */
static char buffer[1 << 16];
static bool is_open;

void cli_json_drop(void) {
  if (is_open) __fpurge(stdout);
  is_open = false;
}

static void begin_document(cli_json *w) {
  static bool is_prepared;
  if (!is_prepared) is_prepared = setvbuf(stdout, buffer, _IOFBF, sizeof buffer) == 0;
  is_open = true;
  w->out = stdout;
  w->has_room = cli_has_room;
}

void cli_json_open(cli_json *w, const char *key, char bracket) {
  if (w->out == NULL) begin_document(w);
  lh_json_open(w, key, bracket);
}

void cli_json_close(cli_json *w, char bracket) {
  lh_json_close(w, bracket);
  if (w->depth > 0 || w->out != stdout) return;
  putchar('\n');
  is_open = false;
}

static void put_value(cli_json *w, const char *key, json_t *value) {
  const char *name;
  json_t *item;
  size_t i;
  switch (json_typeof(value)) {
    case JSON_OBJECT:
      lh_json_open_in_line(w, key, '{');
      json_object_foreach(value, name, item) put_value(w, name, item);
      lh_json_close(w, '}');
      break;
    case JSON_ARRAY:
      lh_json_open_in_line(w, key, '[');
      json_array_foreach(value, i, item) put_value(w, NULL, item);
      lh_json_close(w, ']');
      break;
    case JSON_STRING:
      lh_json_text(w, key, json_string_value(value), json_string_length(value));
      break;
    case JSON_INTEGER: lh_json_integer(w, key, json_integer_value(value)); break;
    case JSON_REAL: lh_json_number(w, key, json_real_value(value)); break;
    case JSON_TRUE:
    case JSON_FALSE: lh_json_flag(w, key, json_is_true(value)); break;
    case JSON_NULL: lh_json_null(w, key); break;
  }
}

void cli_json_value(cli_json *w, const char *key, json_t *value) {
  put_value(w, key, cli_must(value));
  json_decref(value);
}

void cli_json_string(cli_json *w, const char *key, const char *text) {
  lh_json_text(w, key, text, strlen(text));
}

void cli_json_exact(cli_json *w, json_t *value) {
  w->is_ascii = true;
  cli_json_value(w, NULL, value);
  w->is_ascii = false;
}

json_t *cli_json_size(uint64_t n) {
  return json_integer((json_int_t)n);
}

json_t *cli_json_text(const char *text) {
  char *escaped = cli_escape(text);
  json_t *value = json_string_nocheck(escaped);
  lh_free(escaped);
  return value;
}
