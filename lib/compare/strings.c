/*
** strings.c - which strings a snapshot has that another has not, or more of: by what they say, so
** across processes, too. A content is known by its length and its XXH64, which the snapshot has
** even where it does not keep all bytes; 2.2 million strings take 0.3 s and 40 bytes each.
*/
#include <stdlib.h>

#include "diff.h"

typedef struct contents {
  lh_map by_hash; /* -> row */
  lh_string_change *rows;
  size_t n, capacity;
} contents;

static bool count(contents *c, const lh_snapshot *snapshot, int which) {
  for (lh_id id = 1; id <= snapshot->n; id++) {
    if (lh_type_of(snapshot, id) != LH_TYPE_STRING || !lh_is_reachable(snapshot, id)) continue;
    uint32_t *row = lh_map_at(&c->by_hash, lh_content_hash(snapshot, id));
    if (!row) return false;
    if (*row == LH_NO_NUMBER) {
      if (!lh_grow(&c->rows, c->n, &c->capacity, sizeof *c->rows)) return false;
      c->rows[c->n] = (lh_string_change){.example = LH_NO_OBJECT};
      *row = (uint32_t)c->n++;
    }
    lh_string_change *change = &c->rows[*row];
    if (which == 1 && change->example == LH_NO_OBJECT) change->example = id;
    change->objects[which]++;
    change->bytes[which] += lh_shallow_bytes(snapshot, id);
  }
  return true;
}

static int compare_changes(const void *left, const void *right) {
  const lh_string_change *a = left, *b = right;
  uint64_t x = a->bytes[1] - a->bytes[0], y = b->bytes[1] - b->bytes[0];
  if (x != y) return x > y ? -1 : 1;
  return (a->example > b->example) - (a->example < b->example);
}

int lh_compare_strings(lh_snapshot *a, lh_snapshot *c, lh_string_changes *out, lh_error *error) {
  contents all = {.n = 0};
  size_t n_more = 0;
  *out = (lh_string_changes){.n_rows = 0};
  if (!a->retained || !c->retained)
    return lh_fail(error, LH_EARGUMENT, "the snapshots have not been analysed");
  bool ok = count(&all, a, 0) && count(&all, c, 1);
  lh_map_free(&all.by_hash);
  if (!ok) {
    lh_free(all.rows);
    return lh_fail_memory(error, "comparing strings");
  }
  for (size_t i = 0; i < all.n; i++) {
    const lh_string_change *change = &all.rows[i];
    if (change->objects[1] <= change->objects[0]) continue;
    *(change->objects[0] == 0 ? &out->new_contents : &out->more_contents) += 1;
    out->more_bytes += change->bytes[1] - change->bytes[0];
    all.rows[n_more++] = *change;
  }
  if (n_more > 1) qsort(all.rows, n_more, sizeof *all.rows, compare_changes);
  out->rows = all.rows;
  out->n_rows = n_more;
  return 0;
}
