/*
** bound.c - Finds the number that limits a collection, such as max = 1000.
** The number is a field of the collection or of a table that holds it, or an upvalue of a function
** that has such a table as another upvalue. A field called `size` may be a limit or a count. It is
** sure to be a limit only if another field has the count, or an index of a ring; else the ages of
** the elements may overrule it (lh_prospect_within). Also tells full rings, which need no number.
*/
#include "analyses.h"

#include "name/text.h"
#include "read/decode.h"

enum { MOST_TABLES = 4, MOST_REFERRERS = 4 };

static bool matches(const lh_snapshot *snapshot, lh_id name, const char *const *words, bool whole) {
  const char *bytes;
  size_t n;
  (void)lh_string_whole(snapshot, name, &bytes, &n);
  while (*words &&
         !((!whole || strlen(*words) == n) && lh_text_contains(bytes, n, *words, strlen(*words))))
    words++;
  return *words != NULL;
}

static bool has_word(const lh_snapshot *snapshot, lh_id name, const char *const *words) {
  return matches(snapshot, name, words, false);
}

static bool is_within(double limit, uint64_t count, double least_share) {
  return (double)count >= least_share * limit && (double)count <= LH_OVER_LIMIT * limit;
}

static bool is_about(double number, uint64_t count) {
  return 20 * number >= 19 * (double)count && 20 * number <= 21 * (double)count;
}

static double value_as_number(lh_value value) {
  if (value.kind == LH_VALUE_INTEGER) return (double)value.as.integer;
  return value.kind == LH_VALUE_FLOAT ? value.as.number : 0;
}

static const char *const limits[] = {"max", "limit", "cap", "bound", "quota", NULL};
static const char *const sizes[] = {"size", NULL};
static const char *const indexes[] = {"at",    "head", "tail",  "first", "last",     "next", "pos",
                                      "index", "read", "write", "front", "position", NULL};

/* Returns the string key of a number >= 1; LH_NO_OBJECT for any other entry. */
static lh_id name_of_number(const lh_snapshot *snapshot, lh_value key, lh_value value) {
  bool is_named = key.kind == LH_VALUE_OBJECT && lh_is_string(snapshot, key.as.object);
  return is_named && value_as_number(value) >= 1 ? key.as.object : LH_NO_OBJECT;
}

/* True if the table has about `count` under a name that is neither a limit nor a size. */
static bool counts_them(const lh_snapshot *snapshot, lh_id table, uint64_t count) {
  lh_edges it;
  lh_value key, value;
  for (lh_entries_begin(snapshot, table, &it); lh_entries_next(&it, &key, &value);) {
    lh_id name = name_of_number(snapshot, key, value);
    if (name != LH_NO_OBJECT && is_about(value_as_number(value), count) &&
        !has_word(snapshot, name, limits) && !has_word(snapshot, name, sizes))
      return true;
  }
  return false;
}

/* The indexes of a ring are within its size; one that equals the count may be that of a queue. */
static bool is_ring(const lh_snapshot *snapshot, lh_id table, double size, uint64_t count) {
  bool found = false;
  lh_edges it;
  lh_value key, value;
  for (lh_entries_begin(snapshot, table, &it); lh_entries_next(&it, &key, &value);) {
    lh_id name = name_of_number(snapshot, key, value);
    if (name == LH_NO_OBJECT || !matches(snapshot, name, indexes, true)) continue;
    double index = value_as_number(value);
    if (index > size || index == (double)count) return false;
    found = true;
  }
  return found;
}

/* A fast check for a string key with a plain value: a big map of objects has none. */
static bool has_named_scalar(const lh_snapshot *s, lh_id table) {
  for (uint32_t e = s->first_edge[table], end = s->first_edge[table + 1]; e < end; e++)
    if (lh_label_kind(s->label[e]) == LH_EDGE_KEY && lh_is_string(s, s->edge[e]) &&
        (e + 1 == end || !(s->label[e + 1] & LH_LABEL_KEYED)))
      return true;
  return false;
}

static void add_limit(lh_bound *out, const lh_bound *found) {
  bool is_better = out->limit == 0 || (found->is_sure && !out->is_sure) ||
                   (found->is_sure == out->is_sure && found->limit < out->limit);
  if (is_better) *out = *found;
}

static void look_into(const lh_snapshot *snapshot, lh_id table, uint64_t count, lh_bound *out) {
  if (!has_named_scalar(snapshot, table)) return;
  bool is_counted = counts_them(snapshot, table, count);
  lh_edges it;
  lh_value key, value;
  for (lh_entries_begin(snapshot, table, &it); lh_entries_next(&it, &key, &value);) {
    lh_id name = name_of_number(snapshot, key, value);
    double number = value_as_number(value),
           least = is_counted ? LH_NEAR_COUNTED_LIMIT : LH_NEAR_LIMIT;
    if (name == LH_NO_OBJECT || !is_within(number, count, least)) continue;
    bool is_limit = has_word(snapshot, name, limits);
    if (!is_limit && !has_word(snapshot, name, sizes)) continue;
    is_limit |= is_counted && !is_about(number, count);
    is_limit = is_limit || is_ring(snapshot, table, number, count);
    bool is_sure = is_limit && is_within(number, count, LH_NEAR_LIMIT);
    add_limit(out, &(lh_bound){.limit = number, .name = name, .is_sure = is_sure});
  }
}

/* ==== Upvalues ======================================================================= */

/* Like local MAX = 1000 beside local cache = {}. The snapshot keeps its limiters: functions with a
** limit as upvalue, under each table that they have as upvalue: table << 32 | function, sorted. */

static int compare_limiters(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return LH_LESS(a, b);
}

/* Returns the number >= 1 of an upvalue with the name of a limit, at the closure's edge `e`; 0 for
** any other edge. */
static double limit_at(const lh_snapshot *s, lh_id closure, uint32_t e, lh_id *name) {
  lh_object upvalue;
  lh_id id = s->edge[e];
  if (lh_label_kind(s->label[e]) != LH_EDGE_UPVALUE || lh_type_of(s, id) != LH_TYPE_UPVALUE ||
      lh_is_dead(s, id) || lh_content_of_upvalue(s, id) != LH_NO_OBJECT)
    return 0;
  lh_object_at(s, id, &upvalue);
  double number = value_as_number(upvalue.as.upvalue.value);
  if (number < 1) return 0;
  *name = lh_name_of_upvalue(s, closure, e);
  return *name != LH_NO_OBJECT && has_word(s, *name, limits) ? number : 0;
}

static bool has_limit(const lh_snapshot *s, lh_id closure) {
  lh_id name;
  for (uint32_t e = s->first_edge[closure]; e < s->first_edge[closure + 1]; e++)
    if (limit_at(s, closure, e, &name) > 0) return true;
  return false;
}

static bool find_limiters(lh_snapshot *s) {
  size_t capacity = 0;
  if (!lh_grow(&s->limiters, 0, &capacity, sizeof *s->limiters)) return false;
  for (lh_id id = 1; id <= s->n; id++) {
    uint32_t first = s->first_edge[id], end = s->first_edge[id + 1];
    if (lh_type_of(s, id) != LH_TYPE_CLOSURE || !lh_is_reachable(s, id) || !has_limit(s, id))
      continue;
    for (uint32_t e = first; e < end; e++) {
      lh_id table = lh_content_of_upvalue(s, s->edge[e]);
      if (table == LH_NO_OBJECT || lh_type_of(s, table) != LH_TYPE_TABLE) continue;
      if (!lh_grow(&s->limiters, s->n_limiters, &capacity, sizeof *s->limiters)) return false;
      s->limiters[s->n_limiters++] = (uint64_t)table << 32 | id;
    }
  }
  if (s->n_limiters > 1) qsort(s->limiters, s->n_limiters, sizeof *s->limiters, compare_limiters);
  return true;
}

static void look_at_limiters(const lh_snapshot *s, lh_id table, uint64_t count, lh_bound *out) {
  size_t at = 0;
  LH_LOWER_BOUND(at, s->n_limiters, s->limiters[at] >> 32 < table);
  for (size_t end = at + MOST_REFERRERS;
       at < end && at < s->n_limiters && s->limiters[at] >> 32 == table; at++) {
    lh_id closure = (lh_id)s->limiters[at], name = LH_NO_OBJECT;
    for (uint32_t e = s->first_edge[closure]; e < s->first_edge[closure + 1]; e++) {
      double number = limit_at(s, closure, e, &name);
      if (number == 0 || !is_within(number, count, LH_NEAR_LIMIT)) continue;
      bool is_near = is_within(number, count, LH_NEAR_UPVALUE_LIMIT);
      add_limit(out, &(lh_bound){number, name, .is_sure = is_near, .is_far = !is_near});
    }
  }
}

/* ==== Rings ========================================================================== */

/* Elements are replaced in order of age: the first is younger than the last, and at one key, the
** head, an older one follows a younger one. Objects of one list have ids in order of age. */
bool lh_is_full_ring(const lh_snapshot *snapshot, lh_id table) {
  lh_edges it;
  lh_value key, value;
  lh_id first = LH_NO_OBJECT, last = LH_NO_OBJECT;
  int64_t n = 0;
  unsigned n_heads = 0;
  for (lh_entries_begin(snapshot, table, &it); lh_entries_next(&it, &key, &value);) {
    if (key.kind != LH_VALUE_INTEGER || key.as.integer != ++n || value.kind != LH_VALUE_OBJECT ||
        lh_list_of(snapshot, value.as.object) != LH_LIST_ALLGC)
      return false;
    if (n == 1) first = value.as.object;
    if (n > 1 && value.as.object > last && ++n_heads > 1) return false;
    last = value.as.object;
  }
  return n_heads == 1 && first < last;
}

/* ==== Keys that are few ============================================================== */

enum { SOME = 64 }; /* entries that are read at once */

/* The integer keys of the objects of one age. */
typedef struct key_range {
  int64_t least, greatest;
  uint64_t n;
} key_range;

static void add_key(key_range *range, int64_t key) {
  if (range->n == 0 || key < range->least) range->least = key;
  if (range->n == 0 || key > range->greatest) range->greatest = key;
  range->n++;
}

static bool is_older(const lh_history *history, lh_value value) {
  return value.kind == LH_VALUE_OBJECT && history->span_of[value.as.object] == 0;
}

/* Sets the range of all keys and of those of older values. False: not all keys are integers. */
static bool find_ranges(const lh_snapshot *snapshot, const lh_history *history, lh_id table,
                        key_range *all, key_range *older) {
  lh_edges it;
  lh_entry entries[SOME];
  lh_entries_begin(snapshot, table, &it);
  for (size_t n; (n = lh_entries_some(&it, entries, SOME)) > 0;)
    for (size_t i = 0; i < n; i++) {
      if (entries[i].key.kind != LH_VALUE_INTEGER) return false;
      add_key(all, entries[i].key.as.integer);
      if (is_older(history, entries[i].value)) add_key(older, entries[i].key.as.integer);
    }
  return true;
}

/* How many integer keys are outside of the range? Stops at the first that is one too many. */
static uint64_t count_beyond(const lh_snapshot *snapshot, lh_id table, const key_range *range,
                             uint64_t most) {
  lh_edges it;
  lh_entry entries[SOME];
  uint64_t n_beyond = 0;
  lh_entries_begin(snapshot, table, &it);
  for (size_t n; n_beyond <= most && (n = lh_entries_some(&it, entries, SOME)) > 0;)
    for (size_t i = 0; i < n; i++)
      n_beyond +=
          entries[i].key.as.integer < range->least || entries[i].key.as.integer > range->greatest;
  return n_beyond;
}

bool lh_has_few_keys(const lh_snapshot *snapshot, const lh_history *history, lh_id table) {
  enum { TENTH = 10, EIGHTH = 8 };
  key_range all = {0}, older = {0};
  if (!find_ranges(snapshot, history, table, &all, &older)) return false;
  uint64_t n_newer = all.n - older.n;
  double range = (double)all.greatest - (double)all.least + 1;
  if (older.n < LH_LEAST_ELEMENTS || n_newer < LH_LEAST_ELEMENTS || range > EIGHTH * (double)all.n)
    return false;
  uint64_t span_of_older = (uint64_t)older.greatest - (uint64_t)older.least;
  if (older.n == span_of_older + 1) return false; /* no other key can lie between them */
  return count_beyond(snapshot, table, &older, n_newer / TENTH) <= n_newer / TENTH;
}

/* ==================================================================================== */

int lh_find_bound(lh_snapshot *snapshot, lh_id holder, uint64_t count, lh_bound *out,
                  lh_error *error) {
  *out = (lh_bound){.name = LH_NO_OBJECT};
  if (count == 0 || holder == LH_ROOT) return LH_OK;
  int code = lh_check_paths(snapshot, holder, 1, 1, error);
  if (code != LH_OK) return code;
  if (!snapshot->limiters && !find_limiters(snapshot))
    return lh_fail_memory(error, "looking for limits");
  unsigned n_tables = 0;
  for (lh_id id = holder; n_tables < MOST_TABLES && out->limit == 0; id = snapshot->parent[id]) {
    if (lh_is_runtime_object(snapshot, id)) break; /* the root is a runtime object, too */
    if (lh_type_of(snapshot, id) != LH_TYPE_TABLE) continue;
    n_tables++;
    look_into(snapshot, id, count, out);
    if (out->limit == 0) look_at_limiters(snapshot, id, count, out);
  }
  return LH_OK;
}

/* Scans all edges and searches the source of the few that match. */
int lh_find_bounds(lh_snapshot *snapshot, const lh_id *ids, const uint64_t *counts, size_t n,
                   lh_bound *bounds, lh_error *error) {
  uint32_t *number = lh_alloc_zeroed((size_t)snapshot->n + 1, sizeof *number); /* index + 1 */
  uint8_t *n_seen = lh_alloc_zeroed(n, 1);                                     /* referrers */
  int code = number && n_seen ? LH_OK : LH_EMEMORY;
  lh_id source = 0;
  for (size_t i = 0; i < n && !code; i++) {
    number[ids[i]] = (uint32_t)i + 1;
    bounds[i] = (lh_bound){.name = LH_NO_OBJECT};
  }
  const lh_id *edge = snapshot->edge;
  uint32_t end = snapshot->first_edge[snapshot->n + 1];
  for (uint32_t e = snapshot->first_edge[1]; !code; e++) {
    while (e < end && number[edge[e]] == 0) e++;
    if (e >= end) break;
    uint32_t i = number[edge[e]] - 1;
    if (snapshot->label[e] & LH_LABEL_ASIDE || bounds[i].limit > 0 || n_seen[i] == MOST_REFERRERS)
      continue;
    LH_LOWER_BOUND(source, snapshot->n + 1, snapshot->first_edge[source + 1] <= e);
    if (!lh_is_reachable(snapshot, source) || lh_is_own(snapshot, source)) continue;
    n_seen[i]++;
    code = lh_find_bound(snapshot, source, counts[i], &bounds[i], NULL);
  }
  LH_FREE_ALL(number, n_seen);
  return code ? lh_fail_memory(error, "looking for limits") : LH_OK;
}
