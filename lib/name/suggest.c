/* suggest.c - suggests names for a misspelt one. */
#include "find.h"

enum { LONGEST = 63, SHOWN_SUGGESTIONS = 3, SHOWN_KEYS = 8 };

/* Levenshtein distance, ignoring case, in one row. */
static uint32_t edit_distance(const char *a, size_t n_a, const char *b, size_t n_b) {
  uint32_t row[LONGEST + 1];
  for (uint32_t j = 0; j <= n_b; j++) row[j] = j;
  for (uint32_t i = 1; i <= n_a; i++) {
    uint32_t diagonal = row[0];
    row[0] = i;
    for (uint32_t j = 1; j <= n_b; j++) {
      uint32_t above = row[j];
      uint32_t best = diagonal + (lh_lower(a[i - 1]) != lh_lower(b[j - 1]));
      if (above + 1 < best) best = above + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      row[j] = best;
      diagonal = above;
    }
  }
  return row[n_b];
}

/* How badly `name` matches: 0 best, UINT32_MAX not at all. */
static uint32_t unlikeness(const char *asked, size_t n_asked, const char *name, size_t n_name) {
  if (n_asked == 0) return UINT32_MAX;
  if (n_asked >= 3 && lh_text_contains(name, n_name, asked, n_asked))
    return 2 + (uint32_t)((n_name - n_asked) / 8);
  if (n_asked > LONGEST || n_name > LONGEST) return UINT32_MAX;
  uint32_t distance = edit_distance(asked, n_asked, name, n_name);
  return distance <= (n_asked + 2) / 4 + 1 && distance < n_asked ? distance : UINT32_MAX;
}

typedef struct best {
  lh_range names[SHOWN_KEYS];
  uint32_t ranks[SHOWN_KEYS];
  size_t n, limit;
} best;

static int compare_names(const best *b, size_t i, lh_range name, uint32_t rank) {
  if (b->ranks[i] != rank) return b->ranks[i] < rank ? -1 : 1;
  size_t x = lh_range_length(b->names[i]), y = lh_range_length(name);
  int order = memcmp(b->names[i].at, name.at, x < y ? x : y);
  return order ? order : (x > y) - (x < y);
}

static void offer_name(best *b, lh_range name, uint32_t rank) {
  size_t i = b->n;
  while (i > 0 && compare_names(b, i - 1, name, rank) > 0) i--;
  if (i == b->limit || (i > 0 && compare_names(b, i - 1, name, rank) == 0)) return;
  if (b->n < b->limit) b->n++;
  for (size_t j = b->n - 1; j > i; j--) {
    b->names[j] = b->names[j - 1];
    b->ranks[j] = b->ranks[j - 1];
  }
  b->names[i] = name;
  b->ranks[i] = rank;
}

/* `all`: also keys that do not match. Returns the table's number of entries. */
static size_t offer_keys(best *b, const lh_snapshot *snapshot, lh_range asked, lh_id table,
                         bool all) {
  size_t n_entries = 0;
  lh_edges it;
  lh_value key;
  for (lh_entries_begin(snapshot, table, &it); lh_entries_next(&it, &key, NULL); n_entries++) {
    lh_range name;
    size_t n;
    if (key.kind != LH_VALUE_OBJECT || !lh_string_whole(snapshot, key.as.object, &name.at, &n))
      continue;
    name.end = name.at + n;
    uint32_t rank = unlikeness(asked.at, lh_range_length(asked), name.at, n);
    if (all || rank != UINT32_MAX) offer_name(b, name, rank);
  }
  return n_entries;
}

void lh_add_suggestions(lh_text *text, const lh_snapshot *snapshot, lh_range asked, lh_id table) {
  best b = {.limit = SHOWN_SUGGESTIONS};
  if (table != LH_NO_OBJECT) (void)offer_keys(&b, snapshot, asked, table, false);
  for (uint32_t i = 0; i < lh_class_count(snapshot); i++) {
    const lh_class *class = lh_class_at(snapshot, i);
    const char *name = class->name;
    if (class->objects == 0 && class->garbage_objects == 0) continue;
    uint32_t rank = unlikeness(asked.at, lh_range_length(asked), name, strlen(name));
    if (rank != UINT32_MAX) offer_name(&b, (lh_range){name, name + strlen(name)}, rank);
  }
  for (size_t i = 0; i < b.n; i++) {
    lh_text_string(text, i == 0 ? " (did you mean '" : i + 1 < b.n ? "', '" : "' or '");
    lh_text_escaped(text, b.names[i].at, lh_range_length(b.names[i]), false);
  }
  if (b.n) lh_text_string(text, "'?)");
}

void lh_add_no_names(lh_text *text, const lh_snapshot *snapshot) {
  if (lh_snapshot_info(snapshot)->string_limit == 0)
    lh_text_string(text, ": the snapshot keeps no strings, so no names (strings = 0)");
}

static bool add_integer_keys(lh_text *text, const lh_snapshot *snapshot, lh_id table) {
  int64_t least = INT64_MAX, greatest = INT64_MIN;
  size_t n = 0;
  lh_edges it;
  lh_value key;
  for (lh_entries_begin(snapshot, table, &it); lh_entries_next(&it, &key, NULL);) {
    if (key.kind != LH_VALUE_INTEGER) continue;
    if (key.as.integer < least) least = key.as.integer;
    if (key.as.integer > greatest) greatest = key.as.integer;
    n++;
  }
  if (n == 0) return false;
  lh_text_string(text, " (it has ");
  lh_text_count(text, n);
  if (n == 1)
    lh_text_format(text, " integer key, %lld)", (long long)least);
  else
    lh_text_format(text, " integer keys, from %lld to %lld)", (long long)least,
                   (long long)greatest);
  return true;
}

void lh_add_keys(lh_text *text, const lh_snapshot *snapshot, lh_range asked, lh_id table,
                 bool number) {
  best b = {.limit = SHOWN_KEYS};
  size_t n_entries = offer_keys(&b, snapshot, asked, table, true);
  if (n_entries == 0) lh_text_string(text, " (it is empty)");
  if ((number || b.n == 0) && add_integer_keys(text, snapshot, table)) return;
  for (size_t i = 0; i < b.n; i++) {
    lh_text_string(text, i == 0 ? " (it has: " : ", ");
    lh_text_escaped(text, b.names[i].at, lh_range_length(b.names[i]), false);
  }
  if (b.n == 0 && n_entries) {
    lh_text_string(text, " (it has ");
    lh_text_count(text, n_entries);
    lh_text_string(text,
                   n_entries == 1 ? " entry, not under a name)" : " entries, none under a name)");
  } else if (b.n < n_entries) {
    lh_text_string(text, ", and ");
    lh_text_count(text, n_entries - b.n);
    lh_text_string(text, " more)");
  } else if (n_entries) {
    lh_text_string(text, ")");
  }
}
