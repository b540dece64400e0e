/*
** grown_strings.c - Finds fields whose string is replaced by longer ones: s = s .. more.
**
** Each of the strings is a new object, and the one before it is garbage. So no object stays, and
** no container grows. The holder stays: its field in c is the same field in a and b. A field counts
** if its string is longer in b than in a and in c than in b, and if half of the shorter string is
** the beginning or the end of the longer one. Else the last page of a server would grow, too.
**
** What grew from a to b is listed with its text while both have their objects (older.c).
*/
#include "compare.h"
#include "graph/graph.h"
#include "read/decode.h"

enum { LEAST_BYTES = 64 }; /* of a string in b and c */

static uint64_t address_or_none(const lh_snapshot *s, lh_id id) {
  return id == LH_NO_OBJECT ? 0 : lh_address_of(s, id);
}

/* Keys and names of a field that stays are the same objects in all snapshots. */
static void tell_field(const lh_snapshot *s, const lh_edge *edge, uint64_t words[4]) {
  const lh_value *key = &edge->key;
  words[0] = (uint64_t)edge->kind << 32 | edge->ordinal;
  words[1] = (uint64_t)key->kind << 32 | edge->index;
  words[2] = key->kind == LH_VALUE_OBJECT ? address_or_none(s, key->as.object) : key->as.pointer;
  words[3] = address_or_none(s, edge->name);
}

static bool is_new_string(const lh_snapshot *s, lh_id_range young, const lh_edge *edge) {
  lh_id id = edge->target;
  return edge->kind != LH_EDGE_KEY && lh_is_string(s, id) && id >= young.first && id < young.end &&
         lh_shallow_bytes(s, id) >= LEAST_BYTES;
}

static size_t common_beginning(const lh_kept_string *x, const lh_kept_string *y) {
  size_t n = 0;
  while (n < x->kept && n < y->kept && x->bytes[n] == y->bytes[n]) n++;
  return n;
}

static size_t common_end(const lh_kept_string *x, const lh_kept_string *y) {
  size_t n = 0;
  if (x->kept < x->length || y->kept < y->length) return 0;
  while (n < x->kept && n < y->kept && x->bytes[x->kept - 1 - n] == y->bytes[y->kept - 1 - n]) n++;
  return n;
}

static bool is_continued(lh_kept_string x, lh_kept_string y) {
  if (x.length >= y.length) return false;
  return x.length == 0 || (x.kept > 0 && 2 * common_beginning(&x, &y) >= x.kept) ||
         (x.kept > 0 && 2 * common_end(&x, &y) >= x.kept);
}

/* Many fields may have the same two strings. */
static bool is_pair_continued(lh_map *compared, uint64_t pair, lh_kept_string x, lh_kept_string y,
                              bool *ok) {
  uint32_t *known = lh_map_at(compared, pair);
  *ok = known != NULL;
  if (known && *known == LH_NO_NUMBER) *known = is_continued(x, y);
  return known && *known == 1;
}

/* Marks a string of a holder. False: another field had it, or there is no memory (*ok). */
static bool is_first_field(lh_map *seen, lh_id string, bool *ok) {
  size_t n = seen->n;
  *ok = lh_map_first(seen, string, 0) != NULL;
  return seen->n > n;
}

typedef struct fields {
  const lh_snapshot *a, *b;
  lh_counted *counted;
  lh_rising_search *search;
  size_t first;  /* of counted->strings */
  lh_map number; /* words of a field -> its number behind the first */
  lh_map seen;   /* strings */
} fields;

/* In b. */
static bool add_field(fields *f, const lh_edge *edge) {
  lh_counted *k = f->counted;
  uint64_t words[4];
  bool ok;
  if (!is_first_field(&f->seen, edge->target, &ok)) return ok;
  tell_field(f->b, edge, words);
  uint32_t number = lh_map_number_words(&f->number, words, 4);
  if (number == LH_NO_NUMBER) return false;
  if (number < k->n_strings - f->first) return true;
  if (!lh_grow(&k->strings, k->n_strings, &k->string_capacity, sizeof *k->strings)) return false;
  lh_rising_string *string = &k->strings[k->n_strings++];
  *string = (lh_rising_string){.in_b = edge->target, .continues = true};
  memcpy(string->field, words, sizeof words);
  string->shallow_bytes[1] = lh_shallow_bytes(f->b, edge->target);
  return true;
}

/* In a. */
static bool meet_field(fields *f, const lh_edge *edge) {
  uint64_t words[4];
  bool ok;
  if (edge->kind == LH_EDGE_KEY || !lh_is_string(f->a, edge->target)) return true;
  tell_field(f->a, edge, words);
  uint32_t number = lh_map_get_words(&f->number, words, 4);
  if (number >= f->counted->n_strings - f->first) return true;
  lh_rising_string *string = &f->counted->strings[f->first + number];
  string->shallow_bytes[0] = lh_shallow_bytes(f->a, edge->target);
  string->continues =
      is_pair_continued(&f->search->compared, (uint64_t)edge->target << 32 | string->in_b,
                        lh_string_at(f->a, edge->target), lh_string_at(f->b, string->in_b), &ok);
  return ok;
}

static bool keep_text(fields *f, lh_rising_string *string) {
  lh_counted *k = f->counted;
  lh_kept_string text = lh_string_at(f->b, string->in_b);
  string->text = lh_map_number(&f->search->text_of, string->in_b);
  if (string->text == LH_NO_NUMBER) return false;
  if (string->text < k->n_texts) return true;
  if (!lh_grow(&k->texts, k->n_texts, &k->text_capacity, sizeof *k->texts)) return false;
  char *bytes = lh_alloc(text.kept, 1);
  if (!bytes) return false;
  if (text.kept > 0) memcpy(bytes, text.bytes, text.kept);
  k->texts[k->n_texts++] = (lh_rising_text){bytes, text.kept, text.length};
  return true;
}

/* Drops strings that do not continue those of a, and keeps the texts of the others. */
static bool keep_texts(fields *f, uint64_t holder, lh_type type) {
  lh_counted *k = f->counted;
  size_t n = k->n_strings;
  k->n_strings = f->first;
  for (size_t i = f->first; i < n; i++) {
    lh_rising_string string = k->strings[i];
    if (!string.continues) continue;
    string.holder = holder;
    string.holder_type = type;
    if (!keep_text(f, &string)) return false;
    k->strings[k->n_strings++] = string;
  }
  return true;
}

bool lh_find_rising_strings(const lh_snapshot *a, lh_id then, const lh_snapshot *b, lh_id now,
                            lh_id_range young, lh_counted *counted, lh_rising_search *search) {
  fields f = {.a = a, .b = b, .counted = counted, .search = search, .first = counted->n_strings};
  bool ok = true;
  lh_edges it;
  lh_edge edge;
  for (lh_recorded_begin(b, now, &it); ok && lh_recorded_next(&it, &edge);)
    if (is_new_string(b, young, &edge)) ok = add_field(&f, &edge);
  if (ok && counted->n_strings > f.first)
    for (lh_recorded_begin(a, then, &it); ok && lh_recorded_next(&it, &edge);)
      ok = meet_field(&f, &edge);
  ok = ok && keep_texts(&f, lh_address_of(b, now), lh_type_of(b, now));
  lh_map_free(&f.number);
  lh_map_free(&f.seen);
  return ok;
}

static bool add_holder(const lh_counted *counted, size_t first, size_t end, const lh_snapshot *c,
                       lh_id holder, lh_id_range young, lh_map *compared, lh_diff *diff,
                       size_t *capacity) {
  lh_map number = {0}, seen = {0};
  bool ok = true;
  lh_edges it;
  lh_edge edge;
  uint64_t words[4];
  for (size_t i = first; ok && i < end; i++)
    ok = lh_map_number_words(&number, counted->strings[i].field, 4) != LH_NO_NUMBER;
  if (ok) lh_edges_begin(c, holder, &it);
  while (ok && lh_edges_next(&it, &edge)) {
    if (edge.weak || !is_new_string(c, young, &edge)) continue;
    tell_field(c, &edge, words);
    uint32_t i = lh_map_get_words(&number, words, 4);
    if (i >= end - first) continue;
    const lh_rising_string *string = &counted->strings[first + i];
    const lh_rising_text *text = &counted->texts[string->text];
    lh_kept_string before = {.bytes = text->bytes, .kept = text->kept, .length = text->length};
    if (!is_pair_continued(compared, (uint64_t)string->text << 32 | edge.target, before,
                           lh_string_at(c, edge.target), &ok) ||
        !is_first_field(&seen, edge.target, &ok))
      continue;
    ok = lh_grow(&diff->grown, diff->n_grown, capacity, sizeof *diff->grown);
    if (!ok) break;
    lh_grown *grown = &diff->grown[diff->n_grown++];
    *grown = (lh_grown){.id = edge.target, .holder = holder};
    memcpy(grown->shallow_bytes, string->shallow_bytes, sizeof string->shallow_bytes);
    grown->shallow_bytes[2] = lh_shallow_bytes(c, edge.target);
  }
  lh_map_free(&number);
  lh_map_free(&seen);
  return ok;
}

bool lh_add_grown_strings(const lh_snapshot *b, const lh_snapshot *c, uint32_t b_in_c,
                          lh_diff *diff, size_t *capacity) {
  const lh_counted *counted = b->counted;
  lh_id_range young = lh_younger_than(c, LH_LIST_ALLGC, b_in_c);
  lh_map compared = {0};
  bool ok = true;
  for (size_t i = 0, end; ok && i < counted->n_strings; i = end) {
    const lh_rising_string *first = &counted->strings[i];
    for (end = i; end < counted->n_strings && counted->strings[end].holder == first->holder;) end++;
    lh_id holder = lh_find_in_later(b, first->holder, first->holder_type, c, b_in_c);
    if (holder != LH_NO_OBJECT)
      ok = add_holder(counted, i, end, c, holder, young, &compared, diff, capacity);
  }
  lh_map_free(&compared);
  return ok;
}
