/*
** ages_chunks.c - the sums of each part of the axis, by label, from which those of any interval
** are put together. A chunk has some dozen labels: 4,096 of them take a few MB at most, of however
** many objects.
*/
#include "ages.h"

#include <string.h>

enum { MOST_CHUNKS = 4096, LEAST_OBJECTS = 1024 };

/* {=== Counting ======================================================================= */

static void count_objects(const lh_chunks *chunks, const lh_snapshot *snapshot, lh_id_range range,
                          lh_count *tallies) {
  for (lh_id id = range.first; id < range.end; id++) {
    if (lh_is_own(snapshot, id)) continue;
    uint32_t label = lh_label_of(&chunks->labels, snapshot, id);
    lh_count *tally = &tallies[lh_tally_at(label, !lh_is_reachable(snapshot, id))];
    tally->objects++;
    tally->bytes += lh_shallow_bytes(snapshot, id);
  }
}

static void count_all(const lh_chunks *chunks, const lh_snapshot *snapshot, uint64_t since,
                      uint64_t until, lh_count *tallies) {
  lh_id_range ranges[2];
  if (since >= until) return;
  lh_objects_in(snapshot, (lh_interval){since, until}, ranges);
  for (int i = 0; i < 2; i++) count_objects(chunks, snapshot, ranges[i], tallies);
}

static uint64_t begin_of(const lh_chunks *chunks, uint64_t chunk) {
  return chunk * chunks->n_positions / chunks->n;
}

/* The first chunk that begins at the position or behind it; the number of chunks: none does. */
static uint64_t chunk_from(const lh_chunks *chunks, uint64_t position) {
  if (chunks->n_positions == 0) return chunks->n;
  return (position * chunks->n + chunks->n_positions - 1) / chunks->n_positions;
}

void lh_count_between(const lh_chunks *chunks, const lh_snapshot *snapshot, uint64_t since,
                      uint64_t until, lh_count *tallies) {
  uint64_t first = chunk_from(chunks, since), end = chunk_from(chunks, until);
  if (end > 0 && begin_of(chunks, end) > until) end--;
  if (first >= end) {
    count_all(chunks, snapshot, since, until, tallies);
    return;
  }
  count_all(chunks, snapshot, since, begin_of(chunks, first), tallies);
  for (size_t i = chunks->first[first]; i < chunks->first[end]; i++) {
    const lh_chunk_sum *sum = &chunks->sums[i];
    tallies[sum->tally].objects += sum->objects;
    tallies[sum->tally].bytes += sum->bytes;
  }
  count_all(chunks, snapshot, begin_of(chunks, end), until, tallies);
}

/* }=================================================================================== */

/* {=== Making chunks ================================================================== */

/* Keeps the sums of a chunk, and clears the tallies for the next. */
static bool keep_sums(lh_chunks *chunks, lh_count *tallies, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    if (tallies[i].objects == 0) continue;
    if (!lh_grow(&chunks->sums, chunks->n_sums, &chunks->capacity, sizeof *chunks->sums))
      return false;
    chunks->sums[chunks->n_sums++] = (lh_chunk_sum){
        .bytes = tallies[i].bytes, .objects = (uint32_t)tallies[i].objects, .tally = i};
    lh_add_count(&chunks->aged[i % 2], &tallies[i]);
    tallies[i] = (lh_count){0, 0};
  }
  return true;
}

/* What is fixed or waits for its finalizer is behind all that has an age. */
static void count_ageless(lh_chunks *chunks, const lh_snapshot *snapshot, lh_count *tallies,
                          uint32_t n) {
  lh_id_range range = {(lh_id)chunks->n_positions + 1, snapshot->n + 1};
  count_objects(chunks, snapshot, range, tallies);
  for (uint32_t i = 0; i < n; i++) lh_add_count(&chunks->ageless[i % 2], &tallies[i]);
}

static bool fill_chunks(lh_chunks *chunks, const lh_snapshot *snapshot) {
  uint32_t n = 2 * lh_label_count(&chunks->labels);
  lh_count *tallies = lh_alloc_zeroed(n, sizeof *tallies);
  chunks->first = lh_alloc((size_t)chunks->n + 1, sizeof *chunks->first);
  bool ok = tallies && chunks->first;
  for (uint64_t i = 0; ok && i < chunks->n; i++) {
    chunks->first[i] = chunks->n_sums;
    count_all(chunks, snapshot, begin_of(chunks, i), begin_of(chunks, i + 1), tallies);
    ok = keep_sums(chunks, tallies, n);
  }
  if (ok) chunks->first[chunks->n] = chunks->n_sums;
  if (ok) count_ageless(chunks, snapshot, tallies, n);
  lh_free(tallies);
  return ok;
}

static void free_chunks(lh_chunks *chunks) {
  if (!chunks) return;
  lh_labels_free(&chunks->labels);
  lh_free(chunks->first);
  lh_free(chunks->sums);
  lh_free(chunks);
}

static lh_chunks *make_chunks(const lh_snapshot *snapshot, lh_age_chart_by by) {
  lh_chunks *chunks = lh_alloc_zeroed(1, sizeof *chunks);
  if (!chunks) return NULL;
  chunks->n_positions = lh_position_count(snapshot);
  chunks->n = chunks->n_positions / LEAST_OBJECTS;
  if (chunks->n < 1) chunks->n = 1;
  if (chunks->n > MOST_CHUNKS) chunks->n = MOST_CHUNKS;
  if (lh_labels_make(&chunks->labels, snapshot, by) && fill_chunks(chunks, snapshot)) return chunks;
  free_chunks(chunks);
  return NULL;
}

static void free_age_sums(lh_age_sums *sums) {
  for (int by = 0; by < LH_AGES_KINDS; by++) free_chunks(sums->of[by]);
  lh_free(sums);
}

int lh_chunks_of(lh_snapshot *snapshot, lh_age_chart_by by, const lh_chunks **out,
                 lh_error *error) {
  if (!snapshot->retained || !snapshot->classes)
    return lh_fail(error, LH_EARGUMENT, "the snapshot has not been classified");
  if ((unsigned)by >= LH_AGES_KINDS)
    return lh_fail(error, LH_EARGUMENT, "there is no timeline of that kind");
  if (!snapshot->age_sums) {
    snapshot->age_sums = lh_alloc_zeroed(1, sizeof *snapshot->age_sums);
    snapshot->free_age_sums = free_age_sums;
  }
  if (snapshot->age_sums && !snapshot->age_sums->of[by])
    snapshot->age_sums->of[by] = make_chunks(snapshot, by);
  *out = snapshot->age_sums ? snapshot->age_sums->of[by] : NULL;
  return *out ? LH_OK : lh_fail_memory(error, "making a timeline");
}

/* }=================================================================================== */
