/* json.c - JSON on stdout. A document is written while it is made. */
#include <stdio_ext.h>

#include "cli.h"

/* An unfinished document that fits this is never printed, so a failed command prints nothing. */
static char buffer[1 << 16];
static bool is_open;

void cli_json_drop(void) {
  if (is_open) __fpurge(stdout);
  is_open = false;
}

static void begin_document(lh_json *w) {
  static bool is_prepared;
  if (!is_prepared) is_prepared = setvbuf(stdout, buffer, _IOFBF, sizeof buffer) == 0;
  is_open = true;
  w->out = stdout;
  w->has_room = cli_has_room;
}

void cli_json_open(lh_json *w, const char *key, char bracket) {
  if (w->out == NULL) begin_document(w);
  lh_json_open(w, key, bracket);
}

void cli_json_close(lh_json *w, char bracket) {
  lh_json_close(w, bracket);
  if (w->depth > 0 || w->out != stdout || !is_open) return;
  putchar('\n');
  is_open = false;
}

void cli_json_name(lh_json *w, const char *key, const char *name) {
  char *escaped = name != NULL ? cli_escape(name) : NULL;
  lh_json_string(w, key, escaped);
  lh_free(escaped);
}
