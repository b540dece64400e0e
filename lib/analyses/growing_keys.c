/*
** growing_keys.c - what the keys of a table are, as a person would say it: 1 to n, ids, times,
** uuids, "strings like user:123". Keys that something counts up, or draws at random, have no end; a
** set of names has.
*/
#include "analyses.h"
#include "read/decode.h"

#include <string.h>

/* Times are of this century, and at most a year ahead. */
#define YEAR_2000 946684800.0
#define A_YEAR 31557600.0

/* {=== Strings ======================================================================== */

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_uuid(const char *bytes, size_t n) {
  if (n != 36) return false;
  for (size_t i = 0; i < n; i++) {
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? bytes[i] != '-' : !is_hex(bytes[i])) return false;
  }
  return true;
}

typedef struct letters {
  size_t digits, hex, inner_capitals, others;
} letters;

/* Eight characters at once: the highest bit of each byte that is from `low` to `high`, ASCII. */
static uint64_t find_between(uint64_t x, unsigned char low, unsigned char high) {
  const uint64_t ones = 0x0101010101010101u, tops = ones << 7;
  uint64_t rest = x & ~tops;
  return (rest + ones * (0x80u - low)) & ~(rest + ones * (0x7Fu - high)) & ~x & tops;
}

static size_t count_tops(uint64_t tops) {
  return (size_t)((tops >> 7) * 0x0101010101010101u >> 56);
}

static uint64_t find_digits(uint64_t x) {
  return find_between(x, '0', '9');
}

/* Up to 8 characters; behind the last there are zeros. */
static uint64_t load_characters(const char *bytes, size_t n) {
  uint64_t x = 0;
  memcpy(&x, bytes, n < 8 ? n : 8);
  return x;
}

static letters count_letters(const char *bytes, size_t n) {
  letters l = {.others = n};
  for (size_t i = 0; i < n; i += 8) {
    uint64_t x = load_characters(bytes + i, n - i), digits = find_digits(x);
    l.digits += count_tops(digits);
    l.hex += count_tops(digits | find_between(x | 0x2020202020202020u, 'a', 'f'));
    l.inner_capitals += count_tops(find_between(x, 'A', 'Z'));
    l.others -= count_tops(find_between(x, '!', '~'));
  }
  l.inner_capitals -= n > 0 && bytes[0] >= 'A' && bytes[0] <= 'Z';
  return l;
}

/* Have both digits at the same places, and else the same? */
static bool have_same_form(const char *a, const char *b, size_t n) {
  for (size_t i = 0; i < n; i += 8) {
    uint64_t x = load_characters(a + i, n - i), y = load_characters(b + i, n - i);
    uint64_t digits = find_digits(x);
    if (digits != find_digits(y) || ((x ^ y) & ~((digits >> 7) * 0xFF)) != 0) return false;
  }
  return true;
}

/* Do they differ in their digits only? */
static bool are_numbered_alike(const char *a, size_t n, const char *b, size_t m) {
  size_t i = 0, k = 0;
  if (n == m && have_same_form(a, b, n)) return true;
  while (i < n && k < m) {
    if (!is_digit(a[i]) && a[i] != b[k]) return false;
    if (is_digit(a[i]) != is_digit(b[k])) return false;
    bool digits = is_digit(a[i++]);
    k++;
    while (digits && i < n && is_digit(a[i])) i++;
    while (digits && k < m && is_digit(b[k])) k++;
  }
  return i == n && k == m;
}

/* Which of the four it is alike with; 4: with none. */
static int find_numbered(lh_keys_seen *seen, const lh_snapshot *snapshot, lh_id id) {
  lh_key_bytes key;
  (void)lh_string_whole(snapshot, id, &key.bytes, &key.n);
  for (int i = 0; i < 4; i++) {
    if (seen->n_numbered[i] == 0) seen->numbered[i] = key;
    const lh_key_bytes *known = &seen->numbered[i];
    if (are_numbered_alike(key.bytes, key.n, known->bytes, known->n)) return i;
  }
  return 4;
}

static bool comes_before(const lh_key_bytes *a, const lh_key_bytes *b) {
  int order = memcmp(a->bytes, b->bytes, a->n < b->n ? a->n : b->n);
  return order ? order < 0 : a->n < b->n;
}

/* What a string looks like. Of one form with the last, which most are, it looks like that. */
static void look_at_string(lh_keys_seen *seen, const lh_snapshot *snapshot, lh_id id,
                           const lh_key_bytes *key) {
  size_t n = key->n;
  bool is_whole = n > 0 && n < LH_NAME_BYTES;
  bool is_alike = is_whole && n == seen->last.n && have_same_form(key->bytes, seen->last.bytes, n);
  seen->last = *key;
  if (is_alike) return;
  letters l = count_letters(key->bytes, n);
  seen->last_is_uuid = is_uuid(key->bytes, n);
  seen->last_is_hex = n >= 8 && l.hex == n;
  seen->last_is_name = l.digits == 0 && l.others == 0 && n > 1;
  seen->last_is_token = n >= 8 && (l.digits > 0 || l.inner_capitals > 0);
  seen->last_numbered = l.digits > 0 ? find_numbered(seen, snapshot, id) : 4;
}

static void see_string(lh_keys_seen *seen, const lh_snapshot *snapshot, lh_id id) {
  lh_kept_string string = lh_string_at(snapshot, id);
  size_t n = string.kept < LH_NAME_BYTES ? (size_t)string.kept : LH_NAME_BYTES;
  lh_key_bytes key = {string.bytes, n};
  if (seen->n_strings++ == 0) seen->length = string.length;
  if (seen->n_strings == 1 || comes_before(&key, &seen->of_example)) {
    seen->example = id;
    seen->of_example = key;
  }
  if (seen->length != string.length) seen->length = UINT64_MAX;
  look_at_string(seen, snapshot, id, &key);
  seen->n_uuids += seen->last_is_uuid;
  seen->n_hex += seen->last_is_hex;
  seen->n_names += seen->last_is_name;
  seen->n_tokens += seen->last_is_token;
  if (seen->last_numbered < 4) seen->n_numbered[seen->last_numbered]++;
}

/* }=================================================================================== */

static void see_number(lh_keys_seen *seen, double number) {
  bool first = seen->n_numbers++ == 0;
  if (first || number < seen->least) seen->least = number;
  if (first || number > seen->greatest) seen->greatest = number;
}

void lh_see_key(lh_keys_seen *seen, const lh_snapshot *snapshot, lh_value key) {
  seen->n++;
  switch (key.kind) {
    case LH_VALUE_INTEGER:
      seen->n_integers++;
      see_number(seen, (double)key.as.integer);
      break;
    case LH_VALUE_FLOAT: see_number(seen, key.as.number); break;
    case LH_VALUE_POINTER:
    case LH_VALUE_CFUNCTION:
    case LH_VALUE_ABSENT: seen->n_objects++; break;
    case LH_VALUE_OBJECT:
      if (lh_is_string(snapshot, key.as.object))
        see_string(seen, snapshot, key.as.object);
      else
        seen->n_objects++;
      break;
    default: break;
  }
}

static bool are_times(const lh_keys_seen *seen, const lh_snapshot *snapshot, double unit) {
  double now = (double)snapshot->info.time_ns / 1e9;
  return seen->least / unit >= YEAR_2000 && seen->greatest / unit <= now + A_YEAR;
}

static lh_keying keying_of_strings(const lh_keys_seen *seen) {
  bool one_length = seen->length != UINT64_MAX && seen->length >= 8;
  uint64_t n = seen->n_strings, most = 0;
  for (int i = 0; i < 4; i++)
    if (seen->n_numbered[i] > most) most = seen->n_numbered[i];
  if (lh_are_most(seen->n_uuids, n)) return LH_KEYED_UUIDS;
  if (lh_are_most(most, n)) return LH_KEYED_NUMBERED;
  if (lh_are_most(seen->n_hex, n) && one_length) return LH_KEYED_HEX;
  if (lh_are_most(seen->n_tokens, n) && one_length) return LH_KEYED_TOKENS;
  return lh_are_most(seen->n_names, n) ? LH_KEYED_NAMES : LH_KEYED_STRINGS;
}

lh_keying lh_keying_of(const lh_keys_seen *seen, const lh_snapshot *snapshot) {
  if (lh_are_most(seen->n_strings, seen->n)) return keying_of_strings(seen);
  if (lh_are_most(seen->n_objects, seen->n)) return LH_KEYED_OBJECTS;
  if (!lh_are_most(seen->n_numbers, seen->n)) return LH_KEYED_MIXED;
  if (are_times(seen, snapshot, 1)) return LH_KEYED_TIMES;
  if (are_times(seen, snapshot, 1000)) return LH_KEYED_MILLISECONDS;
  if (seen->n_integers < seen->n_numbers) return LH_KEYED_NUMBERS;
  bool dense = seen->least == 1 && seen->greatest == (double)seen->n;
  return dense ? LH_KEYED_SEQUENCE : LH_KEYED_INTEGERS;
}
