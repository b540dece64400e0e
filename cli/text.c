/*
** text.c - names, as a terminal and a shell take them.
*/
#include <string.h>

#include "cli.h"

char *cli_escape(const char *text) {
  return cli_must(lh_escaped(text, strlen(text)));
}

/* What the terminal must not see stands in $'...', which all shells but the plainest read. */
static char *dollar_quoted(const char *text) {
  char *word = cli_must(malloc(4 * strlen(text) + 4)), *q = word + sprintf(word, "$'");
  for (; *text != '\0'; text++)
    q += sprintf(q,
                 *text < ' ' || *text > '~'     ? "\\%03o"
                 : strchr("'\\", *text) != NULL ? "\\%c"
                                                : "%c",
                 (unsigned char)*text);
  memcpy(q, "'", 2);
  return word;
}

static char *single_quoted(const char *text) {
  char *word = cli_must(malloc(4 * strlen(text) + 3)), *q = word;
  *q++ = '\'';
  for (; *text != '\0'; text++) q += sprintf(q, *text == '\'' ? "'\\''" : "%c", *text);
  memcpy(q, "'", 2);
  return word;
}

char *cli_shell_word(const char *text) {
  char *escaped = cli_escape(text);
  bool hidden = strcmp(escaped, text) != 0;
  lh_free(escaped);
  if (hidden) return dollar_quoted(text);
  if (*text != '\0' && text[strspn(text,
                                   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789_-./,:@%+")] == '\0')
    return cli_must(strdup(text));
  return single_quoted(text);
}
