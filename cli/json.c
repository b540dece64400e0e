/*
** json.c - writes JSON: one value a line inside the outermost two brackets, or compact. jansson
** makes the values; this file writes each of them, and each bracket, immediately: a path of a
** million steps is never in memory as a million JSON objects.
**
** Every < and > in a string is written \u003C and \u003E. So a page may contain the text in a
** script element, and XML in a CDATA section: no string can end either, or begin a comment.
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
  if (w->follows) putc_unlocked(',', file_of(w));
  if (w->depth > 0) begin_line(w);
  if (key == NULL) return;
  putc_unlocked('"', file_of(w));
  fputs_unlocked(key, file_of(w));
  fputs_unlocked(w->is_compact ? "\":" : "\": ", file_of(w));
}

void cli_json_open(cli_json *w, const char *key, char bracket) {
  if (w->depth == 0 && w->out == NULL) begin_document();
  begin_item(w, key);
  putc_unlocked(bracket, file_of(w));
  w->depth++;
  w->follows = false;
}

void cli_json_close(cli_json *w, char bracket) {
  w->depth--;
  if (w->follows) begin_line(w);
  putc_unlocked(bracket, file_of(w));
  w->follows = true;
  if (w->depth > 0 || w->out != NULL) return;
  putchar('\n');
  is_open = false;
}

/* ==== Values ======================================================================== */

/* jansson takes several times as long to write, and leaves characters that must not reach a page or
** a terminal. A pen buffers its output; whoever closes the file finds a write error. */
typedef struct pen {
  FILE *out;
  bool is_compact, is_ascii;
  size_t n;
  char bytes[4096];
} pen;

enum { MOST_FOR_A_CHARACTER = 12, /* a surrogate pair */ MOST_FOR_A_NUMBER = 64 };

/* Decodes the character at *text, which is valid UTF-8, and advances behind it. */
static unsigned next_character(const char **text) {
  const unsigned char *s = (const unsigned char *)*text;
  unsigned n = s[0] < 0xE0 ? 1 : s[0] < 0xF0 ? 2 : 3, c = s[0] & (0x3Fu >> n);
  for (unsigned i = 1; i <= n; i++) c = c << 6 | (s[i] & 0x3Fu);
  *text += 1 + n;
  return c;
}

static void empty_pen(pen *p) {
  (void)fwrite_unlocked(p->bytes, 1, p->n, p->out);
  p->n = 0;
}

static void make_room(pen *p, size_t n) {
  if (n > sizeof p->bytes - p->n) empty_pen(p);
}

static void put_bytes(pen *p, const char *bytes, size_t n) {
  make_room(p, n);
  if (n > sizeof p->bytes) {
    (void)fwrite_unlocked(bytes, 1, n, p->out);
  } else {
    memcpy(p->bytes + p->n, bytes, n);
    p->n += n;
  }
}

static void put_byte(pen *p, char byte) {
  p->bytes[p->n++] = byte;
}

static void put_hex(pen *p, unsigned unit) {
  static const char digits[] = "0123456789ABCDEF";
  put_byte(p, '\\');
  put_byte(p, 'u');
  for (int shift = 12; shift >= 0; shift -= 4) put_byte(p, digits[unit >> shift & 15]);
}

static void put_escaped(pen *p, unsigned c) {
  static const char named[] = "\b\f\n\r\t", names[] = "bfnrt";
  const char *name = c > 0 && c < ' ' ? strchr(named, (int)c) : NULL;
  if (c == '"' || c == '\\') {
    put_byte(p, '\\');
    put_byte(p, (char)c);
  } else if (name != NULL) {
    put_byte(p, '\\');
    put_byte(p, names[name - named]);
  } else if (c < 0x10000) {
    put_hex(p, c);
  } else {
    put_hex(p, 0xD800 + ((c - 0x10000) >> 10));
    put_hex(p, 0xDC00 + (c & 0x3FF));
  }
}

/* True: the byte needs no escape. `others` has a bit for each ASCII byte that does. */
static bool is_plain(const pen *p, unsigned char c) {
  static const uint64_t others[] = {
      UINT32_MAX | UINT64_C(1) << '"' | UINT64_C(1) << '<' | UINT64_C(1) << '>',
      UINT64_C(1) << ('\\' - 64) | UINT64_C(1) << (0x7F - 64)};
  return c < 0x80 ? (others[c >> 6] >> (c & 63) & 1) == 0 : !p->is_ascii;
}

static void put_string(pen *p, const char *text, size_t n) {
  put_bytes(p, "\"", 1);
  for (const char *end = text + n; text < end;) {
    const char *run = text;
    while (text < end && is_plain(p, (unsigned char)*text)) text++;
    if (text > run) put_bytes(p, run, (size_t)(text - run));
    if (text == end) break;
    make_room(p, MOST_FOR_A_CHARACTER);
    put_escaped(p, (unsigned char)*text < 0x80 ? (unsigned)*text++ : next_character(&text));
  }
  put_bytes(p, "\"", 1);
}

static void put_json(pen *p, json_t *value);

static void put_mark(pen *p, char mark) {
  put_bytes(p, (const char[]){mark, ' '}, p->is_compact ? 1 : 2);
}

static void put_object(pen *p, json_t *object) {
  const char *key;
  json_t *value;
  bool follows = false;
  put_bytes(p, "{", 1);
  json_object_foreach(object, key, value) {
    if (follows) put_mark(p, ',');
    put_string(p, key, strlen(key));
    put_mark(p, ':');
    put_json(p, value);
    follows = true;
  }
  put_bytes(p, "}", 1);
}

static void put_array(pen *p, const json_t *array) {
  put_bytes(p, "[", 1);
  for (size_t i = 0; i < json_array_size(array); i++) {
    if (i > 0) put_mark(p, ',');
    put_json(p, json_array_get(array, i));
  }
  put_bytes(p, "]", 1);
}

static void put_integer(pen *p, json_int_t integer) {
  char digits[24];
  size_t at = sizeof digits;
  uint64_t n = integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;
  do digits[--at] = (char)('0' + n % 10);
  while ((n /= 10) > 0);
  if (integer < 0) digits[--at] = '-';
  put_bytes(p, digits + at, sizeof digits - at);
}

static void put_json(pen *p, json_t *value) {
  switch (json_typeof(value)) {
    case JSON_OBJECT: put_object(p, value); break;
    case JSON_ARRAY: put_array(p, value); break;
    case JSON_STRING: put_string(p, json_string_value(value), json_string_length(value)); break;
    case JSON_INTEGER: put_integer(p, json_integer_value(value)); break;
    default:
      make_room(p, MOST_FOR_A_NUMBER);
      p->n += json_dumpb(value, p->bytes + p->n, MOST_FOR_A_NUMBER, JSON_ENCODE_ANY);
  }
}

static void begin_pen(pen *p, cli_json *w, const char *key) {
  begin_item(w, key);
  p->out = file_of(w);
  p->is_compact = w->is_compact;
  p->is_ascii = false;
  p->n = 0;
}

static void end_pen(pen *p, cli_json *w) {
  empty_pen(p);
  w->follows = true;
  if (w->most_bytes > 0 && !w->is_full)
    w->is_full = ferror(w->out) || ftello(w->out) > w->most_bytes;
}

static void put_value(cli_json *w, const char *key, json_t *value, bool is_ascii) {
  pen p;
  begin_pen(&p, w, key);
  p.is_ascii = is_ascii;
  put_json(&p, cli_must(value));
  json_decref(value);
  end_pen(&p, w);
}

void cli_json_string(cli_json *w, const char *key, const char *text) {
  pen p;
  begin_pen(&p, w, key);
  put_string(&p, text, strlen(text));
  end_pen(&p, w);
}

void cli_json_value(cli_json *w, const char *key, json_t *value) {
  put_value(w, key, value, false);
}

void cli_json_exact(cli_json *w, json_t *value) {
  put_value(w, NULL, value, true);
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
