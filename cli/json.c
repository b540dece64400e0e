/*
** json.c - JSON, one value a line inside the outermost two brackets, or without a blank where no
** person reads it. jansson makes the values, which are written here, and brackets as they come: so
** a path of a million steps is never held in memory as a million JSON objects.
**
** Every < and > in a string is written \u003C and \u003E, so that a page may have the text inside a
** script element, and XML in a CDATA section: nothing in it ends that, or begins a comment there.
*/
#include <stdio_ext.h>
#include <string.h>

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

/* {=== Values ======================================================================== */

/* Jansson makes values; it takes several times as long to write them, and leaves in strings what
** should reach neither a page nor a terminal. A write error is found by whoever closes the file. */
typedef struct pen {
  FILE *out;
  bool is_compact, is_ascii;
} pen;

/* The code point at *text, which is valid UTF-8, and moves behind it. */
static unsigned next_character(const char **text) {
  const unsigned char *s = (const unsigned char *)*text;
  unsigned n = s[0] < 0xE0 ? 1 : s[0] < 0xF0 ? 2 : 3, c = s[0] & (0x3Fu >> n);
  for (unsigned i = 1; i <= n; i++) c = c << 6 | (s[i] & 0x3Fu);
  *text += 1 + n;
  return c;
}

/* The text of a string that is on its way to the file. */
typedef struct quoted {
  FILE *out;
  size_t n;
  char bytes[4096];
} quoted;

enum { MOST_FOR_A_CHARACTER = 12 }; /* a pair of surrogates */

static void make_room(quoted *q, size_t n) {
  if (n <= sizeof q->bytes - q->n) return;
  (void)fwrite_unlocked(q->bytes, 1, q->n, q->out);
  q->n = 0;
}

static void put_bytes(quoted *q, const char *bytes, size_t n) {
  make_room(q, n);
  if (n > sizeof q->bytes) {
    (void)fwrite_unlocked(bytes, 1, n, q->out);
  } else {
    memcpy(q->bytes + q->n, bytes, n);
    q->n += n;
  }
}

/* There is room. */
static void put_byte(quoted *q, char byte) {
  q->bytes[q->n++] = byte;
}

static void put_hex(quoted *q, unsigned unit) {
  static const char digits[] = "0123456789ABCDEF";
  put_byte(q, '\\');
  put_byte(q, 'u');
  for (int shift = 12; shift >= 0; shift -= 4) put_byte(q, digits[unit >> shift & 15]);
}

static void put_escaped(quoted *q, unsigned c) {
  static const char named[] = "\b\f\n\r\t", names[] = "bfnrt";
  const char *name = c > 0 && c < ' ' ? strchr(named, (int)c) : NULL;
  if (c == '"' || c == '\\') {
    put_byte(q, '\\');
    put_byte(q, (char)c);
  } else if (name != NULL) {
    put_byte(q, '\\');
    put_byte(q, names[name - named]);
  } else if (c < 0x10000) {
    put_hex(q, c);
  } else {
    put_hex(q, 0xD800 + ((c - 0x10000) >> 10));
    put_hex(q, 0xDC00 + (c & 0x3FF));
  }
}

/* Does the byte stay as it is? A bit each for those that do not. */
static bool is_plain(const pen *p, unsigned char c) {
  static const uint64_t others[] = {
      UINT32_MAX | UINT64_C(1) << '"' | UINT64_C(1) << '<' | UINT64_C(1) << '>',
      UINT64_C(1) << ('\\' - 64) | UINT64_C(1) << (0x7F - 64)};
  return c < 0x80 ? (others[c >> 6] >> (c & 63) & 1) == 0 : !p->is_ascii;
}

static void put_string(const pen *p, const char *text, size_t n) {
  quoted q;
  q.out = p->out;
  q.n = 0;
  put_byte(&q, '"');
  for (const char *end = text + n; text < end;) {
    const char *run = text;
    while (text < end && is_plain(p, (unsigned char)*text)) text++;
    if (text > run) put_bytes(&q, run, (size_t)(text - run));
    if (text == end) break;
    make_room(&q, MOST_FOR_A_CHARACTER);
    put_escaped(&q, (unsigned char)*text < 0x80 ? (unsigned)*text++ : next_character(&text));
  }
  make_room(&q, 1);
  put_byte(&q, '"');
  (void)fwrite_unlocked(q.bytes, 1, q.n, q.out);
}

static void put_json(const pen *p, json_t *value);

static void put_comma(const pen *p, bool follows) {
  if (follows) fputs(p->is_compact ? "," : ", ", p->out);
}

static void put_object(const pen *p, json_t *object) {
  const char *key;
  json_t *value;
  bool follows = false;
  putc_unlocked('{', p->out);
  json_object_foreach(object, key, value) {
    put_comma(p, follows);
    put_string(p, key, strlen(key));
    fputs(p->is_compact ? ":" : ": ", p->out);
    put_json(p, value);
    follows = true;
  }
  putc_unlocked('}', p->out);
}

static void put_array(const pen *p, const json_t *array) {
  putc_unlocked('[', p->out);
  for (size_t i = 0; i < json_array_size(array); i++) {
    put_comma(p, i > 0);
    put_json(p, json_array_get(array, i));
  }
  putc_unlocked(']', p->out);
}

/* As deep as rows are nested in rows. */
static void put_json(const pen *p, json_t *value) {
  switch (json_typeof(value)) {
    case JSON_OBJECT: put_object(p, value); break;
    case JSON_ARRAY: put_array(p, value); break;
    case JSON_STRING: put_string(p, json_string_value(value), json_string_length(value)); break;
    default: json_dumpf(value, p->out, JSON_ENCODE_ANY); break;
  }
}

static void put_value(cli_json *w, const char *key, json_t *value, bool is_ascii) {
  const pen p = {file_of(w), w->is_compact, is_ascii};
  begin_item(w, key);
  put_json(&p, cli_must(value));
  json_decref(value);
  w->follows = true;
  if (w->most_bytes > 0 && !w->is_full)
    w->is_full = ferror(w->out) || ftello(w->out) > w->most_bytes;
}

void cli_json_value(cli_json *w, const char *key, json_t *value) {
  put_value(w, key, value, false);
}

void cli_json_exact(cli_json *w, json_t *value) {
  put_value(w, NULL, value, true);
}

/* }=================================================================================== */

json_t *cli_json_size(uint64_t n) {
  return json_integer((json_int_t)n);
}

json_t *cli_json_text(const char *text) {
  char *escaped = cli_escape(text);
  json_t *value = json_string_nocheck(escaped);
  lh_free(escaped);
  return value;
}
