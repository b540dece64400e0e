/*
** bound.c - a limit in sight: the number that a cache, a ring or a queue has beside its elements, or
** beside the table that these are in: max = 1000.
**
** A `size` may also be how many there are. It is taken for a limit unless the ages of the elements
** are certain that they grow.
*/
#include "analyses.h"

#include <string.h>

enum { MOST_TABLES = 4 };

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool contains(const char *bytes, size_t n, const char *word) {
  size_t length = strlen(word);
  for (size_t i = 0; i + length <= n; i++) {
    size_t k = 0;
    while (k < length && lower(bytes[i + k]) == word[k]) k++;
    if (k == length) return true;
  }
  return false;
}

static bool has_word(const lh_snapshot *snapshot, lh_id name, const char *const *words) {
  const char *bytes;
  size_t n;
  (void)lh_string_whole(snapshot, name, &bytes, &n);
  while (*words && !contains(bytes, n, *words)) words++;
  return *words != NULL;
}

/* A tenth over it is still full: things are often added before another one goes. */
static bool is_near(double limit, uint64_t count) {
  return 2 * (double)count >= limit && (double)count <= 1.1 * limit;
}

static double number_of(lh_value value) {
  if (value.kind == LH_VALUE_INTEGER) return (double)value.as.integer;
  return value.kind == LH_VALUE_FLOAT ? value.as.number : 0;
}

static void look_into(const lh_snapshot *snapshot, lh_id table, uint64_t count, lh_bound *out) {
  static const char *const limits[] = {"max", "limit", "capacity", "bound", "quota", NULL};
  static const char *const sizes[] = {"size", NULL};
  lh_edges it;
  lh_value key, value;
  for (lh_entries_begin(snapshot, table, &it); lh_entries_next(&it, &key, &value);) {
    double number = number_of(value);
    if (!is_near(number, count) || key.kind != LH_VALUE_OBJECT) continue;
    lh_id name = key.as.object;
    if (!lh_is_string(snapshot, name)) continue;
    bool is_limit = has_word(snapshot, name, limits);
    if (!is_limit && !has_word(snapshot, name, sizes)) continue;
    bool better = out->limit == 0 || (is_limit && out->may_be_count) ||
                  (is_limit != out->may_be_count && number < out->limit);
    if (better) *out = (lh_bound){.limit = number, .name = name, .may_be_count = !is_limit};
  }
}

/* The holder, and what is above it, until four tables have been seen. */
int lh_find_bound(lh_snapshot *snapshot, lh_id holder, uint64_t count, lh_bound *out,
                  lh_error *error) {
  lh_path path;
  *out = (lh_bound){.name = LH_NO_OBJECT};
  if (count == 0 || holder == LH_ROOT) return LH_OK;
  int code = lh_shortest_path(snapshot, holder, &path, error);
  if (code) return code;
  unsigned n_tables = 0;
  for (size_t i = path.n_steps; n_tables < MOST_TABLES && out->limit == 0; i--) {
    lh_id id = i > 0 ? path.steps[i - 1].target : LH_ROOT;
    if (lh_is_plumbing(snapshot, id)) break;
    if (lh_type_of(snapshot, id) != LH_TYPE_TABLE) continue;
    n_tables++;
    look_into(snapshot, id, count, out);
  }
  lh_paths_free(&path, 1);
  return LH_OK;
}

lh_prospect lh_prospect_within(lh_prospect prospect, const lh_bound *bound) {
  bool is_within = bound->limit > 0 && !(bound->may_be_count && prospect == LH_GROWS);
  return is_within && prospect != LH_FILLED_ONCE ? LH_BOUNDED : prospect;
}
