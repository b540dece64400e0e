/*
** ages.c - an interval of the axis as a picture shows it: bins side by side, with layers one on
** another. Which labels get a layer depends on the interval, so that somebody who looks closer sees
** what matters there; all others are the last layer, so that each bin adds up to the byte.
*/
#include "ages.h"

#include <stdlib.h>
#include <string.h>

/* Bins of a few objects each would be noise. */
enum { DEFAULT_BINS = 200, DEFAULT_LAYERS = 8, LEAST_IN_BIN = 8 };

typedef struct drawing {
  const lh_chunks *chunks;
  lh_snapshot *snapshot;
  bool garbage;
  lh_count *tallies;  /* of an interval; scratch */
  uint32_t *layer_of; /* of each label */
  uint32_t *ranked; /* labels, those with most bytes first; as many as there are in the interval */
  uint32_t n_ranked;
  lh_age_chart *out;
} drawing;

const char *lh_age_chart_by_name(lh_age_chart_by by) {
  static const char *const words[] = {
      [LH_AGES_OF_CLASSES] = "class", [LH_AGES_OF_TYPES] = "type", [LH_AGES_OF_PLACES] = "place"};
  return LH_WORD_OF(words, by);
}

void lh_age_chart_free(lh_age_chart *ages) {
  lh_free(ages->begins);
  lh_free(ages->bins);
  lh_free(ages->layers);
  lh_free(ages->layer_bins);
}

/* {=== Which labels get a layer ======================================================= */

static const lh_count *tally_of(const drawing *d, uint32_t label) {
  return &d->tallies[lh_tally_at(label, d->garbage)];
}

static int compare_labels(const void *left, const void *right, void *payload) {
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  uint64_t x = tally_of(payload, a)->bytes, y = tally_of(payload, b)->bytes;
  if (x != y) return x > y ? -1 : 1;
  return (a > b) - (a < b);
}

static void tally(drawing *d, uint64_t since, uint64_t until) {
  memset(d->tallies, 0, 2 * lh_label_count(&d->chunks->labels) * sizeof *d->tallies);
  lh_count_between(d->chunks, d->snapshot, since, until, d->tallies);
}

/* May it have a layer? Of classes and places that have no label of their own nothing is known but
** the type. */
static bool is_told(const lh_labels *labels, uint32_t label) {
  return labels->by == LH_AGES_OF_TYPES || label < labels->n;
}

static void rank_labels(drawing *d) {
  const lh_labels *labels = &d->chunks->labels;
  for (uint32_t label = 0; label < lh_label_count(labels); label++)
    if (is_told(labels, label) && tally_of(d, label)->objects > 0) d->ranked[d->n_ranked++] = label;
  if (d->n_ranked > 1) qsort_r(d->ranked, d->n_ranked, sizeof *d->ranked, compare_labels, d);
}

static void name_layer(lh_layer *layer, const lh_labels *labels, uint32_t label) {
  if (label >= labels->n) {
    layer->type = (lh_type)(label - labels->n);
    return;
  }
  layer->class_index = labels->list[label].class_index;
  layer->type = labels->list[label].type;
  layer->path = labels->list[label].path;
}

static void choose_layers(drawing *d) {
  const lh_labels *labels = &d->chunks->labels;
  lh_age_chart *out = d->out;
  uint32_t n = (uint32_t)out->n_layers - 1; /* but for the last */
  for (uint32_t label = 0; label < lh_label_count(labels); label++) d->layer_of[label] = n;
  for (uint32_t i = 0; i <= n; i++)
    out->layers[i] = (lh_layer){
        .class_index = UINT32_MAX, .type = LH_TYPE_ROOT, .bins = &out->layer_bins[i * out->n_bins]};
  for (uint32_t i = 0; i < n; i++) {
    d->layer_of[d->ranked[i]] = i;
    name_layer(&out->layers[i], labels, d->ranked[i]);
  }
  out->layers[n].n_others = d->n_ranked - n;
  for (uint32_t label = labels->n; label < lh_label_count(labels); label++) {
    if (is_told(labels, label) || tally_of(d, label)->objects == 0) continue;
    out->layers[n].n_others += labels->n_unlabelled;
    break;
  }
}

/* }=================================================================================== */

static void fill_bin(drawing *d, size_t bin) {
  lh_age_chart *out = d->out;
  tally(d, out->begins[bin], out->begins[bin + 1]);
  for (uint32_t label = 0; label < lh_label_count(&d->chunks->labels); label++) {
    const lh_count *n = tally_of(d, label);
    lh_layer *layer = &out->layers[d->layer_of[label]];
    lh_add_count(&layer->bins[bin], n);
    lh_add_count(&layer->all, n);
    lh_add_count(&out->bins[bin], n);
    lh_add_count(&out->all, n);
  }
}

static lh_interval within(lh_interval interval, uint64_t n_positions) {
  if (interval.until > n_positions) interval.until = n_positions;
  if (interval.since > interval.until) interval.since = interval.until;
  return interval;
}

static bool begin(drawing *d, const lh_age_chart_query *query) {
  lh_age_chart *out = d->out;
  size_t n_labels = lh_label_count(&d->chunks->labels);
  out->interval = within(query->interval, d->chunks->n_positions);
  uint64_t length = out->interval.until - out->interval.since;
  out->n_bins = query->bins > 0                        ? query->bins
                : length / LEAST_IN_BIN < DEFAULT_BINS ? length / LEAST_IN_BIN + 1
                                                       : DEFAULT_BINS;
  if (out->n_bins > LH_MOST_BINS) out->n_bins = LH_MOST_BINS;
  if (out->n_bins > length) out->n_bins = length;
  d->tallies = lh_alloc(2 * n_labels, sizeof *d->tallies);
  d->layer_of = lh_alloc(n_labels, sizeof *d->layer_of);
  d->ranked = lh_alloc(n_labels, sizeof *d->ranked);
  out->begins = lh_alloc(out->n_bins + 1, sizeof *out->begins);
  out->bins = lh_alloc_zeroed(out->n_bins, sizeof *out->bins);
  if (!d->tallies || !d->layer_of || !d->ranked || !out->begins || !out->bins) return false;
  for (size_t i = 0; i < out->n_bins; i++)
    out->begins[i] = out->interval.since + i * length / out->n_bins;
  out->begins[out->n_bins] = out->interval.until;
  return true;
}

static bool make_layers(drawing *d, const lh_age_chart_query *query) {
  lh_age_chart *out = d->out;
  size_t most = query->layers == 0 ? DEFAULT_LAYERS : query->layers;
  if (most > LH_MOST_LAYERS) most = LH_MOST_LAYERS;
  tally(d, out->interval.since, out->interval.until);
  rank_labels(d);
  out->n_layers = 1 + (d->n_ranked < most ? d->n_ranked : most);
  out->layers = lh_alloc(out->n_layers, sizeof *out->layers);
  out->layer_bins = lh_alloc_zeroed(out->n_layers, out->n_bins * sizeof *out->layer_bins);
  if (!out->layers || !out->layer_bins) return false;
  choose_layers(d);
  return true;
}

int lh_find_age_chart(lh_snapshot *snapshot, const lh_age_chart_query *query, lh_age_chart *out,
                      lh_error *error) {
  drawing d = {.snapshot = snapshot, .garbage = query->garbage, .out = out};
  *out = (lh_age_chart){.n_bins = 0};
  int code = lh_chunks_of(snapshot, query->by, &d.chunks, error);
  if (code != LH_OK) return code;
  out->aged = d.chunks->aged[query->garbage];
  out->ageless = d.chunks->ageless[query->garbage];
  bool ok = begin(&d, query) && make_layers(&d, query);
  for (size_t i = 0; ok && i < out->n_bins; i++) fill_bin(&d, i);
  if (ok && out->layers[out->n_layers - 1].all.objects == 0) out->n_layers--;
  lh_free(d.tallies);
  lh_free(d.layer_of);
  lh_free(d.ranked);
  if (ok) return LH_OK;
  lh_age_chart_free(out);
  return lh_fail_memory(error, "making a timeline");
}

/* Chunks of any kind will do. */
int lh_count_interval(lh_snapshot *snapshot, lh_interval interval, lh_count *out, lh_error *error) {
  const lh_chunks *chunks;
  *out = (lh_count){0, 0};
  int code = lh_chunks_of(snapshot, LH_AGES_OF_CLASSES, &chunks, error);
  if (code != LH_OK) return code;
  uint32_t n = lh_label_count(&chunks->labels);
  lh_count *tallies = lh_alloc_zeroed(2 * (size_t)n, sizeof *tallies);
  if (!tallies) return lh_fail_memory(error, "counting an interval");
  lh_interval inside = within(interval, chunks->n_positions);
  lh_count_between(chunks, snapshot, inside.since, inside.until, tallies);
  for (uint32_t label = 0; label < n; label++)
    lh_add_count(out, &tallies[lh_tally_at(label, false)]);
  if (lh_is_ever(interval)) lh_add_count(out, &chunks->ageless[0]);
  lh_free(tallies);
  return LH_OK;
}
