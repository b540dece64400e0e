/*
** grown_strings.c - Finds fields whose string is replaced by longer ones: s = s .. more.
**
** Each of the strings is a new object, and the one before it is garbage. So no object stays, and
** no container grows. The holder stays: its field in c is the same field in a and b. A field counts
** if its string is longer in b than in a and in c than in b, and if half of the shorter string is
** the beginning or the end of the longer one. Else the last page of a server would grow, too.
*/
#include <stdlib.h>

#include "compare.h"
#include "graph/graph.h"
#include "read/decode.h"

enum { LEAST_BYTES = 64 }; /* of a string in c */

/* The fields with new strings of one holder. */
typedef struct fields {
  lh_three *three;
  lh_id_range after_b; /* in c */
  lh_map number_of;    /* words that tell a field of the holder -> its number */
  lh_grown *list;
  lh_id (*ids)[3]; /* of each field: the strings in a, b and c, or LH_NO_OBJECT */
  size_t n, capacity, ids_capacity;
} fields;

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

static bool is_new_string(const fields *f, lh_id id) {
  const lh_snapshot *c = f->three->c;
  return lh_is_string(c, id) && id >= f->after_b.first && id < f->after_b.end &&
         lh_shallow_bytes(c, id) >= LEAST_BYTES && lh_is_reachable(c, id) && !lh_is_own(c, id);
}

/* Lists the fields of the holder in c that have new strings and name them. */
static bool list_fields(fields *f, lh_id holder) {
  const lh_snapshot *c = f->three->c;
  uint64_t words[4];
  lh_edges it;
  lh_edge edge;
  f->n = 0;
  lh_map_free(&f->number_of);
  for (lh_edges_begin(c, holder, &it); lh_edges_next(&it, &edge);) {
    if (edge.kind == LH_EDGE_KEY || edge.weak || !is_new_string(f, edge.target) ||
        lh_naming_parent(c, edge.target) != holder)
      continue;
    tell_field(c, &edge, words);
    uint32_t number = lh_map_number_words(&f->number_of, words, 4);
    if (number == LH_NO_NUMBER || !lh_grow(&f->ids, f->n, &f->ids_capacity, sizeof *f->ids))
      return false;
    if (number < f->n) continue;
    f->ids[f->n][0] = f->ids[f->n][1] = LH_NO_OBJECT;
    f->ids[f->n++][2] = edge.target;
  }
  return true;
}

/* Finds the strings that the fields have in an older snapshot. */
static void find_fields(fields *f, const lh_snapshot *s, lh_id holder, int k) {
  uint64_t words[4];
  lh_edges it;
  lh_edge edge;
  for (lh_edges_begin(s, holder, &it); lh_edges_next(&it, &edge);) {
    if (!lh_is_string(s, edge.target) || edge.kind == LH_EDGE_KEY) continue;
    tell_field(s, &edge, words);
    uint32_t number = lh_map_get_words(&f->number_of, words, 4);
    if (number < f->n) f->ids[number][k] = edge.target;
  }
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

static bool is_continued(const lh_snapshot *s, lh_id shorter, const lh_snapshot *t, lh_id longer) {
  lh_kept_string x = lh_string_at(s, shorter), y = lh_string_at(t, longer);
  if (x.length >= y.length) return false;
  return x.length == 0 || (x.kept > 0 && 2 * common_beginning(&x, &y) >= x.kept) ||
         (x.kept > 0 && 2 * common_end(&x, &y) >= x.kept);
}

static bool has_grown(const fields *f, size_t i) {
  const lh_three *t = f->three;
  const lh_id *ids = f->ids[i];
  return ids[1] != LH_NO_OBJECT && is_continued(t->b, ids[1], t->c, ids[2]) &&
         (ids[0] == LH_NO_OBJECT || is_continued(t->a, ids[0], t->b, ids[1]));
}

static bool add_fields(fields *f, lh_id holder, lh_diff *diff, size_t *capacity) {
  lh_three *t = f->three;
  lh_id in_b = lh_find_in_earlier(t->c, holder, t->b, t->b_in_c, &t->from_b_to_c);
  if (in_b == LH_NO_OBJECT) return true;
  lh_id in_a = lh_find_in_earlier(t->b, in_b, t->a, t->a_in_b, &t->from_a_to_b);
  if (in_a == LH_NO_OBJECT) return true;
  if (!list_fields(f, holder)) return false;
  find_fields(f, t->b, in_b, 1);
  find_fields(f, t->a, in_a, 0);
  const lh_snapshot *const at[3] = {t->a, t->b, t->c};
  for (size_t i = 0; i < f->n; i++) {
    const lh_id *ids = f->ids[i];
    if (!has_grown(f, i)) continue;
    if (!lh_grow(&diff->grown, diff->n_grown, capacity, sizeof *diff->grown)) return false;
    lh_grown *grown = &diff->grown[diff->n_grown++];
    *grown = (lh_grown){.id = ids[2], .class_index = lh_class_of(t->c, ids[2])};
    for (int k = 0; k < 3; k++)
      if (ids[k] != LH_NO_OBJECT) grown->shallow_bytes[k] = lh_shallow_bytes(at[k], ids[k]);
  }
  return true;
}

static int compare_ids(const void *left, const void *right) {
  return LH_LESS(*(const lh_id *)left, *(const lh_id *)right);
}

bool lh_add_grown_strings(lh_three *three, lh_diff *diff, size_t *capacity) {
  fields f = {.three = three, .after_b = lh_younger_than(three->c, LH_LIST_ALLGC, three->b_in_c)};
  lh_id *holders = NULL;
  size_t n = 0, room = 0;
  bool ok = true;
  for (lh_id id = f.after_b.first; ok && id < f.after_b.end; id++) {
    if (!is_new_string(&f, id) || lh_naming_parent(three->c, id) == LH_ROOT) continue;
    ok = lh_grow(&holders, n, &room, sizeof *holders);
    if (ok) holders[n++] = lh_naming_parent(three->c, id);
  }
  if (ok && n > 1) qsort(holders, n, sizeof *holders, compare_ids);
  for (size_t i = 0; ok && i < n; i++)
    if (i == 0 || holders[i] != holders[i - 1]) ok = add_fields(&f, holders[i], diff, capacity);
  lh_map_free(&f.number_of);
  LH_FREE_ALL(holders, f.ids);
  return ok;
}
