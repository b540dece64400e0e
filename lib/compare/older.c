/*
** older.c - Counts what a comparison of three snapshots needs of the two older ones.
** That is: the objects at each place (24 bytes a place), the objects with a finalizer, the weak
** tables, and the containers and strings that grew from a to b. A prepared snapshot keeps nothing
** else once the next one is compared with it. So three snapshots take little more memory than the
** last one. If the last one is of another state, or lacks a mark, the files of the others are read
** again.
*/
#include "compare.h"
#include "graph/graph.h"
#include "read/decode.h"

void lh_counted_free(lh_counted *counted) {
  lh_spot_numbers_free(&counted->numbers);
  for (size_t i = 0; i < counted->n_texts; i++) lh_free(counted->texts[i].bytes);
  LH_FREE_ALL(counted->finalized, counted->printed, counted->weak, counted->rising,
              counted->strings, counted->texts);
}

static void free_counted(lh_counted *counted) {
  lh_counted_free(counted);
  lh_free(counted);
}

void lh_forget_counted(lh_snapshot *snapshot) {
  if (snapshot->counted) free_counted(snapshot->counted);
  snapshot->counted = NULL;
}

int lh_count_finalized(lh_snapshot *snapshot, lh_error *error) {
  if (snapshot->counted) return LH_OK;
  lh_counted *counted = lh_alloc_zeroed(1, sizeof *counted);
  snapshot->counted = counted;
  snapshot->free_counted = free_counted;
  if (counted && lh_list_finalized(snapshot, &counted->finalized, &counted->n_finalized))
    return LH_OK;
  lh_forget_counted(snapshot);
  return lh_fail_memory(error, "listing objects with a finalizer");
}

int lh_count_places(const lh_snapshot *snapshot, lh_counted *counted, lh_error *error) {
  int code = lh_list_printed(snapshot, &counted->printed, &counted->n_printed, error);
  if (code || lh_number_spots(snapshot, &counted->numbers)) return code;
  return lh_fail_memory(error, "counting what is at a place");
}

static bool count_weak(const lh_snapshot *s, lh_counted *counted) {
  for (lh_id id = 1; s->has_modes && id <= s->n; id++) {
    if (lh_type_of(s, id) != LH_TYPE_TABLE) continue;
    lh_weak_sides weak = lh_weak_sides_of(s, id);
    if (!weak.keys && !weak.values) continue;
    if (!lh_grow(&counted->weak, counted->n_weak, &counted->weak_capacity, sizeof *counted->weak))
      return false;
    counted->weak[counted->n_weak].table = id;
    counted->weak[counted->n_weak++].entries = lh_lasting_entries(s, id);
  }
  return true;
}

int lh_count_older(lh_snapshot *snapshot, lh_error *error) {
  bool was_analysed = snapshot->retained != NULL;
  if (snapshot->counted && snapshot->counted->printed) return LH_OK;
  int code = lh_find_paths(snapshot, error);
  if (!code) code = lh_count_finalized(snapshot, error);
  if (!code) code = lh_classify_for_places(snapshot, error);
  if (!code) code = lh_count_places(snapshot, snapshot->counted, error);
  if (!code && !count_weak(snapshot, snapshot->counted))
    code = lh_fail_memory(error, "counting what is in weak tables");
  if (!was_analysed) lh_forget_analysis(snapshot);
  if (code) lh_forget_counted(snapshot);
  return code;
}

static uint64_t lasting_entries(const lh_snapshot *s, lh_id table, uint64_t all) {
  const lh_counted *counted = s->counted;
  size_t at, n = counted->n_weak;
  LH_LOWER_BOUND(at, n, counted->weak[at].table < table);
  return at < n && counted->weak[at].table == table ? counted->weak[at].entries : all;
}

static bool has_risen(const lh_rising *r) {
  return r->type == LH_TYPE_TABLE ? r->entries[0] < r->entries[1]
                                  : r->shallow_bytes[0] < r->shallow_bytes[1];
}

static bool measure(const lh_snapshot *a, lh_id then, const lh_snapshot *b, lh_id now,
                    lh_rising *out) {
  *out = (lh_rising){.address = lh_address_of(b, now),
                     .type = lh_type_of(b, now),
                     .shallow_bytes = {lh_shallow_bytes(a, then), lh_shallow_bytes(b, now)},
                     .entries = {lh_recorded_entries(a, then), lh_recorded_entries(b, now)}};
  out->all_entries = out->entries[1];
  if (!has_risen(out)) return false;
  out->entries[0] = lasting_entries(a, then, out->entries[0]);
  out->entries[1] = lasting_entries(b, now, out->entries[1]);
  return has_risen(out);
}

static bool may_change(lh_type type) {
  return type == LH_TYPE_TABLE || type == LH_TYPE_THREAD || type == LH_TYPE_UPVALUE ||
         type == LH_TYPE_USERDATA;
}

static bool add_rising(const lh_snapshot *a, lh_id then, const lh_snapshot *b, lh_id now,
                       lh_counted *counted) {
  lh_type type = lh_type_of(b, now);
  lh_rising rising;
  if ((type != LH_TYPE_TABLE && type != LH_TYPE_THREAD) || !measure(a, then, b, now, &rising))
    return true;
  if (!lh_grow(&counted->rising, counted->n_rising, &counted->rising_capacity, sizeof rising))
    return false;
  counted->rising[counted->n_rising++] = rising;
  return true;
}

int lh_find_rising(lh_snapshot *a, lh_snapshot *b, lh_error *error) {
  lh_counted *counted = b->counted;
  lh_rising_search search = {0};
  uint32_t a_in_b, distance = 0;
  bool ok = true;
  if (counted->has_rising || !lh_find_own_mark(a, b, &a_in_b)) return LH_OK;
  lh_id_range young = lh_younger_than(b, LH_LIST_ALLGC, a_in_b);
  for (lh_id id = 1; id <= b->n && ok; id++) {
    if (!may_change(lh_type_of(b, id)) || lh_is_dead(b, id)) continue;
    lh_id then = lh_find_in_earlier(b, id, a, a_in_b, &distance);
    uint32_t n_equal = then == LH_NO_OBJECT ? 0 : lh_count_equal_records(a, then, b, id);
    if (n_equal > 0) id += n_equal - 1; /* most objects do not change */
    if (then == LH_NO_OBJECT || n_equal > 0) continue;
    ok = add_rising(a, then, b, id, counted) &&
         lh_find_rising_strings(a, then, b, id, young, counted, &search);
  }
  lh_map_free(&search.compared);
  lh_map_free(&search.text_of);
  counted->has_rising = ok;
  return ok ? LH_OK : lh_fail_memory(error, "listing what grew");
}

/* Snapshots from outside are matched object by object. */
int lh_prepare_older(lh_snapshot *snapshot, lh_snapshot *before, lh_error *error) {
  if (snapshot->is_outside) return LH_OK;
  int code = lh_count_older(snapshot, error);
  if (!code && before && before->counted && lh_is_same_state(before, snapshot))
    code = lh_find_rising(before, snapshot, error);
  if (code) return code;
  lh_forget_analysis(snapshot);
  lh_drop_rows(snapshot);
  if (!snapshot->counted->has_rising) return LH_OK;
  lh_drop_objects(before);
  lh_drop_objects(snapshot);
  return LH_OK;
}
