/* text.c - growing text and escaping (see text.h). */
#include "text.h"

#include <math.h>

#include "rooms/graph.h"

static bool reserve(lh_text *text, size_t n) {
  if (text->failed) return false;
  if (text->capacity - text->n > n) return true; /* one byte is left for the NUL */
  size_t wanted = text->n + n + 1;
  if (wanted < text->capacity + text->capacity / 2) wanted = text->capacity + text->capacity / 2;
  if (wanted < 64) wanted = 64;
  char *bytes = lh_realloc(text->bytes, wanted, 1);
  if (!bytes) {
    text->failed = true;
    return false;
  }
  text->bytes = bytes;
  text->capacity = wanted;
  return true;
}

void lh_text_add(lh_text *text, const char *bytes, size_t n) {
  if (!reserve(text, n)) return;
  if (n) memcpy(text->bytes + text->n, bytes, n);
  text->n += n;
}

void lh_text_string(lh_text *text, const char *string) {
  lh_text_add(text, string, strlen(string));
}

void lh_text_vformat(lh_text *text, const char *format, va_list arguments) {
  enum { USUAL = 60 };
  va_list again;
  va_copy(again, arguments);
  size_t room = reserve(text, USUAL) ? text->capacity - text->n : 0;
  int n = room > 0 ? vsnprintf(text->bytes + text->n, room, format, arguments) : -1;
  if (n >= 0 && (size_t)n >= room && reserve(text, (size_t)n))
    n = vsnprintf(text->bytes + text->n, (size_t)n + 1, format, again);
  text->failed |= n < 0;
  if (!text->failed) text->n += (size_t)n;
  va_end(again);
}

void lh_text_format(lh_text *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  lh_text_vformat(text, format, arguments);
  va_end(arguments);
}

void lh_text_count(lh_text *text, uint64_t count) {
  lh_text_string(text, lh_count_text(count).text);
}

void lh_text_float(lh_text *text, double number) {
  char digits[40];
  if (isnan(number)) {
    lh_text_string(text, "0/0");
  } else if (isinf(number)) {
    lh_text_string(text, number > 0 ? "1/0" : "-1/0");
  } else {
    (void)snprintf(digits, sizeof digits, "%.14g", number);
    if (strtod(digits, NULL) < number || strtod(digits, NULL) > number)
      (void)snprintf(digits, sizeof digits, "%.17g", number);
    char *point = strchr(digits, lh_decimal_point());
    if (point) *point = '.';
    lh_text_string(text, digits);
    if (!strpbrk(digits, ".en")) lh_text_string(text, ".0");
  }
}

/* The length of the character; 0: not valid UTF-8, such as overlong forms and surrogates. */
static size_t decode_utf8(const unsigned char *s, size_t n, uint32_t *code_point) {
  static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  size_t length = s[0] < 0x80 ? 1 : s[0] >= 0xF8 ? 0 : s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
  if (s[0] >= 0x80 && s[0] < 0xC0) return 0;
  if (length == 0 || length > n) return 0;
  uint32_t c = length == 1 ? s[0] : s[0] & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; i++) {
    if ((s[i] & 0xC0) != 0x80) return 0;
    c = c << 6 | (s[i] & 0x3Fu);
  }
  if (c < smallest[length] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return 0;
  *code_point = c;
  return length;
}

/* Characters that break a line, move the cursor, change the direction of text or are invisible:
** controls, all that Unicode draws as nothing, blanks other than the space. So names that look
** equal are equal, and wcwidth is right. */
static bool is_unprintable(uint32_t c) {
  static const struct {
    uint32_t first, last;
  } ranges[] = {
      {0x00, 0x1F},       {0x7F, 0xA0},       {0xAD, 0xAD},       {0x34F, 0x34F},
      {0x61C, 0x61C},     {0x115F, 0x1160},   {0x1680, 0x1680},   {0x17B4, 0x17B5},
      {0x180B, 0x180F},   {0x2000, 0x200F},   {0x2028, 0x202F},   {0x205F, 0x206F},
      {0x2800, 0x2800},   {0x3000, 0x3000},   {0x3164, 0x3164},   {0xFDD0, 0xFDEF},
      {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},
      {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
  };
  if ((c & 0xFFFE) == 0xFFFE) return true; /* noncharacters, not even legal in XML */
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges && ranges[i].first <= c; i++)
    if (c <= ranges[i].last) return true;
  return false;
}

/* Without printf for speed: a file may have a million escapes. */
static void add_escape(lh_text *text, uint32_t c, bool is_byte) {
  static const char names[] = "abtnvfr"; /* bytes 7 to 13 */
  static const char digits[] = "0123456789ABCDEF";
  if (c >= 7 && c <= 13) {
    lh_text_add(text, (char[]){'\\', names[c - 7]}, 2);
  } else if (is_byte || c < 0x80) {
    lh_text_add(text, (char[]){'\\', 'x', digits[c >> 4], digits[c & 15]}, 4);
  } else {
    unsigned shift = 20; /* of the first digit */
    while (c >> shift == 0) shift -= 4;
    lh_text_add(text, "\\u{", 3);
    for (unsigned i = 0; i <= shift; i += 4) lh_text_add(text, &digits[c >> (shift - i) & 15], 1);
    lh_text_add(text, "}", 1);
  }
}

/* The number of bytes at `s` that are printable ASCII, except " and \. */
static size_t count_plain(const unsigned char *s, size_t n) {
  size_t i = 0;
  while (i < n && s[i] >= ' ' && s[i] < 0x7F && s[i] != '"' && s[i] != '\\') i++;
  return i;
}

void lh_text_escaped(lh_text *text, const char *bytes, size_t n, bool quoted) {
  const unsigned char *s = (const unsigned char *)bytes;
  size_t plain = 0; /* start of the bytes that need no escape */
  for (size_t i = count_plain(s, n); i < n; i += count_plain(s + i, n - i)) {
    uint32_t c = 0;
    size_t length = decode_utf8(s + i, n - i, &c);
    bool is_mark = quoted && (c == '"' || c == '\\') && length == 1;
    if (length && !is_mark && !is_unprintable(c)) {
      i += length;
      continue;
    }
    if (i > plain) lh_text_add(text, bytes + plain, i - plain);
    if (is_mark)
      lh_text_add(text, (char[]){'\\', (char)c}, 2);
    else
      add_escape(text, length ? c : s[i], length == 0);
    i += length ? length : 1;
    plain = i;
  }
  lh_text_add(text, bytes + plain, n - plain);
}

/* True: the eight bytes are ASCII, none zero. False: perhaps not. */
static bool are_ascii(const unsigned char *s) {
  uint64_t word, ones = UINT64_C(0x0101010101010101);
  memcpy(&word, s, sizeof word);
  return (((word - ones) | word) & ones << 7) == 0;
}

size_t lh_utf8_bytes(const char *bytes, size_t n, bool is_cut) {
  const unsigned char *s = (const unsigned char *)bytes;
  size_t whole = is_cut ? lh_text_cut(bytes, n) : n, length;
  uint32_t c = 0;
  if (whole < n && (s[whole] < 0xC2 || s[whole] > 0xF4)) return SIZE_MAX; /* begins no character */
  for (size_t i = 0; i < whole; i += length) {
    length = whole - i >= 8 && are_ascii(s + i) ? 8 : decode_utf8(s + i, whole - i, &c);
    if (length == 0 || (length < 8 && c == 0)) return SIZE_MAX;
  }
  return whole;
}

char *lh_escaped(const char *bytes, size_t n) {
  lh_text text = {0};
  lh_text_escaped(&text, bytes, n, false);
  return lh_text_finish(&text);
}

bool lh_text_contains(const char *text, size_t n, const char *part, size_t n_part) {
  for (size_t i = 0; n_part <= n && i <= n - n_part; i++) {
    size_t j = 0;
    while (j < n_part && lh_lower(text[i + j]) == lh_lower(part[j])) j++;
    if (j == n_part) return true;
  }
  return false;
}

size_t lh_text_cut(const char *bytes, size_t n) {
  const unsigned char *s = (const unsigned char *)bytes;
  size_t lead = n; /* behind the last byte that may begin a character */
  while (lead > 0 && n - lead < 3 && (s[lead - 1] & 0xC0) == 0x80) lead--;
  if (lead == 0 || s[lead - 1] < 0xC0) return n;
  size_t length = s[lead - 1] >= 0xF0 ? 4 : s[lead - 1] >= 0xE0 ? 3 : 2;
  return lead - 1 + length > n ? lead - 1 : n;
}

void lh_text_mark(lh_text *text, char mark) {
  if (text->marks) lh_text_add(text, &mark, 1);
}

void lh_text_unmarked(lh_text *text, const char *marked, size_t n, bool stable) {
  bool inside = false;
  for (size_t i = 0, from = 0; i <= n; i++) {
    bool is_mark = i == n || marked[i] == LH_MARK_BEGIN || marked[i] == LH_MARK_END;
    if (!is_mark) continue;
    if (!stable || !inside) lh_text_add(text, marked + from, i - from);
    inside = i < n && marked[i] == LH_MARK_BEGIN;
    from = i + 1;
  }
}

static size_t directory_of(const char *bytes, size_t n) {
  while (n > 0 && bytes[n - 1] != '/') n--;
  return n;
}

void lh_text_source(lh_text *text, const char *bytes, size_t n, bool whole) {
  enum { SHOWN_BYTES = 40 };
  if (n == 0 || (n == 2 && memcmp(bytes, "=?", 2) == 0)) {
    lh_text_string(text, "@?");
  } else if (bytes[0] == '@' || bytes[0] == '=') {
    size_t directory = bytes[0] == '@' ? directory_of(bytes + 1, n - 1) : 0;
    if (bytes[0] == '@') lh_text_string(text, "@");
    lh_text_mark(text, LH_MARK_BEGIN);
    lh_text_escaped(text, bytes + 1, directory, false);
    lh_text_mark(text, LH_MARK_END);
    lh_text_escaped(text, bytes + 1 + directory, n - 1 - directory, false);
    if (!whole) lh_text_string(text, "...");
  } else {
    const char *line_end = memchr(bytes, '\n', n);
    size_t shown = line_end ? (size_t)(line_end - bytes) : n;
    if (shown > SHOWN_BYTES) shown = lh_text_cut(bytes, SHOWN_BYTES);
    lh_text_string(text, "[string \"");
    lh_text_escaped(text, bytes, shown, true);
    lh_text_string(text, shown < n || !whole ? "...\"]" : "\"]");
  }
}

void lh_text_clear(lh_text *text) {
  text->n = 0;
}

char *lh_text_finish(lh_text *text) {
  char *result = NULL;
  if (reserve(text, 0)) {
    text->bytes[text->n] = '\0';
    result = text->bytes;
    text->bytes = NULL;
  }
  lh_text_free(text);
  return result;
}

void lh_text_free(lh_text *text) {
  lh_free(text->bytes);
  *text = (lh_text){0};
}
