/*
** text.c - numbers as the library writes them, kept until a line is put together: in a ring of 64
** buffers, enough for any line. And names, as a shell takes them.
*/
#include <string.h>

#include "cli.h"

static const char *kept(cli *c, lh_number number) {
  lh_number *slot = &c->numbers[c->next_number++ % (sizeof c->numbers / sizeof *c->numbers)];
  *slot = number;
  return slot->text;
}

const char *cli_count(cli *c, uint64_t n) {
  return kept(c, lh_count_text(n));
}

const char *cli_count_of(cli *c, uint64_t n, const char *one, const char *many) {
  return kept(c, lh_count_of(n, one, many));
}

const char *cli_size(cli *c, uint64_t bytes) {
  return kept(c, lh_size_text(bytes, c->exact_bytes));
}

const char *cli_size_change(cli *c, uint64_t from, uint64_t to) {
  return kept(c, lh_size_change(from, to, c->exact_bytes));
}

const char *cli_address(cli *c, const lh_snapshot *snapshot, lh_id id) {
  return kept(c, lh_address_text(snapshot, id));
}

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
