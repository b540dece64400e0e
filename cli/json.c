/*
** json.c - JSON on stdout, one value a line inside the outermost two brackets. jansson makes and
** quotes the values; the brackets are written here as they come, so that a path of a million steps
** is never held in memory as a million JSON objects.
**
** Every < and > in a string is written \u003C and \u003E, so that a page may have the text inside a
** script element, and XML in a CDATA section: nothing in it ends that, or begins a comment there.
*/
#include "cli.h"

static void begin_item(cli_json *w, const char *key) {
  if (w->follows) putchar(',');
  if (w->depth > 0) printf("\n%*s", 2 * (int)w->depth, "");
  if (key != NULL) printf("\"%s\": ", key);
}

void cli_json_open(cli_json *w, const char *key, char bracket) {
  begin_item(w, key);
  putchar(bracket);
  w->depth++;
  w->follows = false;
}

void cli_json_close(cli_json *w, char bracket) {
  w->depth--;
  if (w->follows) printf("\n%*s", 2 * (int)w->depth, "");
  putchar(bracket);
  w->follows = true;
  if (w->depth == 0) putchar('\n');
}

/* Outside of strings JSON has neither. A write error is found by cli_finish. */
static int put(const char *text, size_t n, void *unused) {
  const char *end = text + n;
  (void)unused;
  for (const char *at = text; at < end; at++) {
    if (*at != '<' && *at != '>') continue;
    fwrite(text, 1, (size_t)(at - text), stdout);
    fputs(*at == '<' ? "\\u003C" : "\\u003E", stdout);
    text = at + 1;
  }
  fwrite(text, 1, (size_t)(end - text), stdout);
  return 0;
}

void cli_json_value(cli_json *w, const char *key, json_t *value) {
  begin_item(w, key);
  json_dump_callback(cli_must(value), put, NULL, JSON_ENCODE_ANY);
  json_decref(value);
  w->follows = true;
}

void cli_json_exact(cli_json *w, json_t *value) {
  char *text = cli_must(json_dumps(cli_must(value), JSON_ENSURE_ASCII));
  begin_item(w, NULL);
  for (const char *p = text; *p != '\0'; p++)
    if (*p == 0x7F) /* the one control character that jansson leaves */
      fputs("\\u007F", stdout);
    else
      putchar(*p);
  free(text);
  json_decref(value);
  w->follows = true;
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
