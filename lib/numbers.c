/*
** numbers.c - counts, sizes, shares and times as people read them, and numbers that people write.
** A KB is 1,024 bytes, as in collectgarbage("count"). Figures are computed in integers, so the
** decimal point is a point in any locale, and libm is not needed.
*/
#include "base.h"

enum { COUNT_BYTES = sizeof "18,446,744,073,709,551,615" };

lh_number lh_count_text(uint64_t n) {
  char digits[COUNT_BYTES], *end = digits + sizeof digits;
  lh_number number;
  *--end = '\0';
  for (unsigned written = 0; written == 0 || n > 0; written++, n /= 10) {
    if (written != 0 && written % 3 == 0) *--end = ',';
    *--end = (char)('0' + n % 10);
  }
  strcpy(number.text, end);
  return number;
}

/* A count, one digit behind the point (or ""), and a word. Text that is too long is cut. */
static lh_number with_word(uint64_t n, const char *tenth, const char *word) {
  lh_number number = lh_count_text(n);
  size_t room = sizeof number.text - strlen(strcat(number.text, tenth)) - 1;
  (void)strncat(number.text, word, room);
  return number;
}

lh_number lh_count_of(uint64_t n, const char *one, const char *many) {
  return with_word(n, " ", n == 1 ? one : many);
}

/* 10 * n / 2^shift, halves to even: as printf rounds n / 2^shift to one digit. */
static uint64_t tenths_of(uint64_t n, unsigned shift) {
  uint64_t whole = (n >> shift) * 10, rest = (n & (((uint64_t)1 << shift) - 1)) * 10;
  uint64_t tenths = whole + (rest >> shift), left = rest & (((uint64_t)1 << shift) - 1);
  uint64_t half = (uint64_t)1 << (shift - 1);
  return tenths + (left > half || (left == half && tenths % 2 == 1));
}

/* A size for printing: bytes if `unit` is 0 (B), else tenths of the unit. */
typedef struct rounded {
  uint64_t n;
  unsigned unit;
} rounded;

static rounded round_size(uint64_t bytes, bool exact) {
  rounded r = {bytes, 0};
  if (exact || bytes < 1024) return r;
  do r.n = tenths_of(bytes, 10 * ++r.unit);
  while (r.n >= 10240); /* would be printed as 1024.0 */
  return r;
}

lh_number lh_size_text(uint64_t bytes, bool exact) {
  static const char *const units[] = {" B", " KB", " MB", " GB", " TB", " PB", " EB"};
  rounded r = round_size(bytes, exact);
  char tenth[] = {'.', (char)('0' + r.n % 10), '\0'};
  return r.unit == 0 ? with_word(r.n, "", units[0]) : with_word(r.n / 10, tenth, units[r.unit]);
}

bool lh_sizes_read_alike(uint64_t a, uint64_t b, bool exact) {
  rounded x = round_size(a, exact), y = round_size(b, exact);
  return x.n == y.n && x.unit == y.unit;
}

static lh_number change(uint64_t from, uint64_t to, lh_number absolute) {
  if (from == to) return absolute;
  memmove(absolute.text + 1, absolute.text, sizeof absolute.text - 2);
  absolute.text[0] = to > from ? '+' : '-';
  absolute.text[sizeof absolute.text - 1] = '\0';
  return absolute;
}

lh_number lh_count_change(uint64_t from, uint64_t to) {
  return change(from, to, lh_count_text(to > from ? to - from : from - to));
}

lh_number lh_size_change(uint64_t from, uint64_t to, bool exact) {
  return change(from, to, lh_size_text(to > from ? to - from : from - to, exact));
}

bool lh_is_least_share(uint64_t part, uint64_t whole) {
  return whole == 0 || 100.0 * (double)part / (double)whole < 0.05;
}

lh_number lh_share_text(uint64_t part, uint64_t whole) {
  lh_number number;
  (void)snprintf(number.text, sizeof number.text, "%.1f%%",
                 whole == 0 ? 0.0 : 100.0 * (double)part / (double)whole);
  char *point = strchr(number.text, lh_decimal_point());
  if (point) *point = '.';
  return number;
}

static lh_number time_text(uint64_t time_ns, const char *format) {
  lh_number number;
  time_t seconds = (time_t)(time_ns / 1000000000u);
  struct tm utc;
  if (!gmtime_r(&seconds, &utc) || strftime(number.text, sizeof number.text, format, &utc) == 0)
    (void)snprintf(number.text, sizeof number.text, "%" PRIu64 " ns after 1970", time_ns);
  return number;
}

lh_number lh_time_text(uint64_t time_ns) {
  return time_text(time_ns, "%Y-%m-%d %H:%M:%S UTC");
}

lh_number lh_time_name(uint64_t time_ns) {
  return time_text(time_ns, "%Y-%m-%d %H:%M:%S");
}

lh_bar lh_bar_text(uint64_t part, uint64_t whole, bool unicode) {
  unsigned steps = unicode ? 8 : 1, width = LH_BAR_WIDTH * steps, n = 0;
  lh_bar bar;
  char *end = bar.text;
  double exact = whole > 0 ? (double)part / (double)whole * width : 0;
  n = (unsigned)exact;
  double rest = exact - n;
  n += rest > 0.5 || (rest >= 0.5 && n % 2 == 1); /* halves to even, as printf */
  if (n == 0 && part > 0) n = 1;
  for (; n >= steps; n -= steps) end = stpcpy(end, unicode ? "\u2588" : "#");
  if (n > 0) { /* U+258F (one eighth) to U+2589 (seven) */
    end = stpcpy(end, "\xE2\x96");
    *end++ = (char)(0x90 - n);
  }
  *end = '\0';
  return bar;
}

lh_number lh_duration_text(uint64_t ns) {
  enum { MS = 1000000 };
  static const struct unit {
    uint64_t ns, until;
    const char *name;
  } units[] = {{1000ull * MS, 600, " s"}, {60000ull * MS, 120, " min"}, {3600000ull * MS, 0, " h"}};
  const struct unit *unit = units;
  if (ns < 1000ull * MS) return lh_count_of(ns / MS, "ms", "ms");
  while (unit->until != 0 && ns / unit->ns >= unit->until) unit++;
  char tenth[] = {'.', (char)('0' + ns % unit->ns / (unit->ns / 10)), '\0'};
  return with_word(ns / unit->ns, tenth, unit->name);
}

lh_number lh_plain_number(double n) {
  lh_number number;
  if (n >= 0 && n < 9e15 && n <= (double)(uint64_t)n) return lh_count_text((uint64_t)n);
  (void)snprintf(number.text, sizeof number.text, "%.14g", n);
  char *point = strchr(number.text, lh_decimal_point());
  if (point) *point = '.';
  return number;
}

bool lh_read_number(const char *text, uint64_t *n) {
  char *end;
  errno = 0;
  *n = strtoumax(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *n <= INT64_MAX;
}

bool lh_read_word(const char *text, const char *words, unsigned *position) {
  size_t n = strlen(text);
  for (*position = 0;; ++*position) {
    size_t length = strcspn(words, "|");
    if (length == n && memcmp(words, text, n) == 0) return true;
    if (words[length] == '\0') return false;
    words += length + 1;
  }
}

const lh_amount_unit *lh_read_amount(const char *text, const lh_amount_unit *units, double *n) {
  char number[64], *end;
  size_t digits = strspn(text, "0123456789.");
  if (digits == 0 || digits >= sizeof number) return NULL;
  memcpy(number, text, digits);
  number[digits] = '\0';
  char *point = strchr(number, '.');
  if (point) *point = lh_decimal_point();
  *n = strtod(number, &end);
  while (units->name && strcmp(text + digits, units->name) != 0) units++;
  *n *= units->factor;
  return *end == '\0' && units->name ? units : NULL;
}
