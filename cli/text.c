/*
** text.c - numbers and names as people read them. A KB is 1,024 bytes, as in
** collectgarbage("count"). Numbers are handed out from a ring of 64 buffers: enough for any line
** that is being put together.
*/
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "cli.h"

static char *next_number(cli *c) {
  return c->numbers[c->next_number++ % (sizeof c->numbers / sizeof c->numbers[0])];
}

/* Writes the digits from the end, a comma between groups of three. */
const char *cli_count(cli *c, uint64_t n) {
  char *end = next_number(c) + CLI_NUMBER_BYTES - 1;
  unsigned digits = 0;
  *end = '\0';
  do {
    if (digits != 0 && digits % 3 == 0) *--end = ',';
    *--end = (char)('0' + n % 10);
    digits++;
  } while ((n /= 10) != 0);
  return end;
}

const char *cli_count_of(cli *c, uint64_t n, const char *one, const char *many) {
  char *text = next_number(c);
  snprintf(text, CLI_NUMBER_BYTES, "%s %s", cli_count(c, n), n == 1 ? one : many);
  return text;
}

const char *cli_size(cli *c, uint64_t bytes) {
  static const char *const units[] = {"KB", "MB", "GB", "TB", "PB", "EB"};
  char *text = next_number(c);
  uint64_t tenths;
  double size = (double)bytes / 1024;
  size_t unit = 0;
  if (c->exact_bytes || bytes < 1024) {
    snprintf(text, CLI_NUMBER_BYTES, "%s B", cli_count(c, bytes));
    return text;
  }
  while (size >= 1023.95) { /* would be printed as 1024.0 */
    size /= 1024;
    unit++;
  }
  tenths = (uint64_t)nearbyint(10 * size);
  snprintf(text, CLI_NUMBER_BYTES, "%s.%u %s", cli_count(c, tenths / 10), (unsigned)(tenths % 10),
           units[unit]);
  return text;
}

static const char *change(cli *c, uint64_t from, uint64_t to,
                          const char *(*print)(cli *c, uint64_t n)) {
  char *text = next_number(c);
  const char *sign = to > from ? "+" : to < from ? "-" : "";
  snprintf(text, CLI_NUMBER_BYTES, "%s%s", sign, print(c, to > from ? to - from : from - to));
  return text;
}

const char *cli_count_change(cli *c, uint64_t from, uint64_t to) {
  return change(c, from, to, cli_count);
}

const char *cli_size_change(cli *c, uint64_t from, uint64_t to) {
  return change(c, from, to, cli_size);
}

const char *cli_share(cli *c, uint64_t part, uint64_t whole) {
  char *text = next_number(c);
  snprintf(text, CLI_NUMBER_BYTES, "%.1f%%",
           whole == 0 ? 0.0 : 100.0 * (double)part / (double)whole);
  return text;
}

const char *cli_time(cli *c, uint64_t time_ns) {
  char *text = next_number(c);
  time_t seconds = (time_t)(time_ns / 1000000000u);
  struct tm utc;
  if (gmtime_r(&seconds, &utc) == NULL ||
      strftime(text, CLI_NUMBER_BYTES, "%Y-%m-%d %H:%M:%S UTC", &utc) == 0)
    snprintf(text, CLI_NUMBER_BYTES, "%" PRIu64 " ns after 1970", time_ns);
  return text;
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
