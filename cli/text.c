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

/* Bytes of the printable UTF-8 character at p, 0 if there is none. Not printable: the controls of
** ASCII and of Latin-1 (U+0080 to U+009F are terminal commands too), surrogates, line and paragraph
** separators, and the marks that turn the direction of text. */
static size_t printable(const unsigned char *p) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  size_t n = *p < 0x80 ? 1 : *p >= 0xF0 && *p < 0xF8 ? 4 : *p >= 0xE0 ? 3 : *p >= 0xC0 ? 2 : 0;
  uint32_t character = n == 1 ? *p : n == 0 ? 0 : *p & (0x7Fu >> n);
  if (*p >= 0xF8) return 0;
  for (size_t i = 1; i < n; i++) {
    if ((p[i] & 0xC0) != 0x80) return 0; /* a NUL stops here too */
    character = character << 6 | (p[i] & 0x3Fu);
  }
  if (n == 0 || character < least[n] || character > 0x10FFFF || character < 0x20 ||
      (character >= 0x7F && character < 0xA0) || (character >= 0xD800 && character < 0xE000) ||
      (character >= 0x2028 && character <= 0x202E) || (character >= 0x2066 && character <= 0x2069))
    return 0;
  return n;
}

char *cli_escape(const char *text) {
  const unsigned char *p = (const unsigned char *)text;
  char *result = cli_must(malloc(4 * strlen(text) + 1)), *q = result;
  while (*p != '\0') {
    size_t n = printable(p);
    if (n == 0) {
      q += sprintf(q, "\\x%02X", *p++);
    } else {
      memcpy(q, p, n);
      q += n;
      p += n;
    }
  }
  *q = '\0';
  return result;
}

char *cli_shell_word(const char *text) {
  char *word, *q;
  if (*text != '\0' && text[strspn(text,
                                   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789_-./,:@%+")] == '\0')
    return cli_escape(text);
  q = word = cli_must(malloc(4 * strlen(text) + 3));
  *q++ = '\'';
  for (; *text != '\0'; text++) q += sprintf(q, *text == '\'' ? "'\\''" : "%c", *text);
  memcpy(q, "'", 2);
  q = cli_escape(word);
  free(word);
  return q;
}
