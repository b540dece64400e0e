/*
** ages.c - the timeline: an interval of the axis of time as bins, each with layers.
**
** At most 4,096 chunks of the axis keep the sums of each label, garbage apart: a few MB. An
** interval sums its chunks and the objects in the two that it cuts. With 44 million objects these
** have 11,000 each, so 200 bins visit two million objects.
**
** A label is a class, type or place; only the biggest thousand are distinguished. The layers are
** the biggest labels of the interval, so zooming shows local ones.
*/
#include "view/answers.h"

#include "name/place.h"

enum { LH_AGES_KINDS = LH_AGES_OF_PLACES + 1 };

/* The biggest classes or places of the heap have a label of their own; the others share one a
** type. */
enum { LH_MOST_LABELS = 1000 };

typedef struct lh_label {
  uint32_t class_index; /* UINT32_MAX: several, or none */
  lh_type type;
  const char *path; /* of a place; else NULL */
} lh_label;

typedef struct lh_labels {
  lh_age_chart_by by;
  lh_label *list;
  uint32_t n;            /* own labels; those of types follow */
  uint64_t n_unlabelled; /* classes or places without their own label */
  uint16_t *of;          /* by class; for places by object; NULL: by type */
  lh_strings paths;
} lh_labels;

/* All labels are below this number. */
static inline uint32_t label_count(const lh_labels *labels) {
  return labels->n + LH_TYPE_COUNT;
}

static inline uint32_t lh_label_of(const lh_labels *labels, const lh_snapshot *snapshot, lh_id id) {
  switch (labels->by) {
    case LH_AGES_OF_CLASSES: return labels->of[snapshot->classes->of[id]];
    case LH_AGES_OF_PLACES: return labels->of[id];
    default: return labels->n + (uint32_t)lh_type_of(snapshot, id);
  }
}

typedef struct lh_chunk_sum {
  uint64_t bytes;
  uint32_t objects;
  uint32_t tally; /* tally_at index */
} lh_chunk_sum;

typedef struct lh_chunks {
  lh_labels labels;
  uint64_t n_positions;
  uint64_t n;    /* chunk i begins at position i * n_positions / n */
  size_t *first; /* n + 1 indexes into sums */
  lh_chunk_sum *sums;
  size_t n_sums, capacity;
  lh_count aged[2], ageless[2]; /* with and without a position; [0] live, [1] garbage */
} lh_chunks;

struct lh_age_sums {
  lh_chunks *of[LH_AGES_KINDS];
};

/* A list of tallies has two counts a label: live, garbage. */
static inline uint32_t tally_at(uint32_t label, bool garbage) {
  return 2 * label + garbage;
}

static inline void add_count(lh_count *to, const lh_count *n) {
  to->objects += n->objects;
  to->bytes += n->bytes;
}

typedef struct candidate {
  uint64_t bytes;
  uint32_t which;
} candidate;

static int compare_candidates(const void *left, const void *right) {
  const candidate *a = left, *b = right;
  return LH_MORE(a->bytes, b->bytes) ?: LH_LESS(a->which, b->which);
}

/* Sorts by bytes; the first labels->n get labels. */
static bool begin_list(lh_labels *labels, candidate *list, uint32_t n) {
  if (n > 1) qsort(list, n, sizeof *list, compare_candidates);
  labels->n = n < LH_MOST_LABELS ? n : LH_MOST_LABELS;
  labels->n_unlabelled = n - labels->n;
  labels->list = lh_alloc(labels->n, sizeof *labels->list);
  return labels->list != NULL;
}

/* ==== Classes ======================================================================== */

static bool label_classes(lh_labels *labels, const lh_snapshot *snapshot) {
  uint32_t n = lh_class_count(snapshot), n_used = 0;
  candidate *list = lh_alloc(n, sizeof *list);
  labels->of = lh_alloc(n, sizeof *labels->of);
  bool ok = list && labels->of;
  for (uint32_t i = 0; ok && i < n; i++) {
    const lh_class *class = lh_class_at(snapshot, i);
    uint64_t bytes = class->shallow_bytes + class->garbage_bytes;
    if (bytes > 0) list[n_used++] = (candidate){bytes, i};
  }
  ok = ok && begin_list(labels, list, n_used);
  for (uint32_t i = 0; ok && i < n; i++)
    labels->of[i] = (uint16_t)(labels->n + lh_class_at(snapshot, i)->type);
  for (uint32_t i = 0; ok && i < labels->n; i++) {
    uint32_t class_index = list[i].which;
    labels->of[class_index] = (uint16_t)i;
    labels->list[i] =
        (lh_label){.class_index = class_index, .type = lh_class_at(snapshot, class_index)->type};
  }
  lh_free(list);
  return ok;
}

/* ==== Places ========================================================================= */

static bool has_place(const lh_snapshot *snapshot, lh_id id) {
  return lh_is_reachable(snapshot, id) && !lh_is_own(snapshot, id);
}

static bool find_places(lh_places *places, const lh_snapshot *snapshot) {
  size_t n = 0;
  for (lh_id id = 1; id <= snapshot->n; id++) n += has_place(snapshot, id);
  lh_id *ids = lh_alloc(n, sizeof *ids);
  if (!ids) return false;
  n = 0;
  for (lh_id id = 1; id <= snapshot->n; id++)
    if (has_place(snapshot, id)) ids[n++] = id;
  bool ok = lh_places_make(places, snapshot, ids, n, n) && lh_join_places(places);
  lh_free(ids);
  return ok;
}

static lh_type type_at(const lh_snapshot *snapshot, const lh_place *place) {
  return lh_class_at(snapshot, place->class_index)->type;
}

/* Labels the places; `list` is sorted by bytes. False: out of memory. */
static bool name_places(lh_labels *labels, lh_places *places, const candidate *list,
                        uint16_t *label_of) {
  const lh_snapshot *snapshot = places->folds->folder.snapshot;
  for (uint32_t i = 0; i < places->n; i++)
    label_of[i] = (uint16_t)(labels->n + type_at(snapshot, &places->list[i]));
  for (uint32_t i = 0; i < labels->n; i++) {
    const lh_place *place = &places->list[list[i].which];
    const char *path = places->texts.texts[place->path];
    lh_text_id id = lh_strings_add(&labels->paths, path, strlen(path));
    if (id == LH_NO_NUMBER) return false;
    label_of[list[i].which] = (uint16_t)i;
    labels->list[i] = (lh_label){.class_index = place->several ? UINT32_MAX : place->class_index,
                                 .type = type_at(snapshot, place),
                                 .path = labels->paths.texts[id]};
  }
  return true;
}

/* Garbage is at no place, so its label is its type. */
static bool label_objects(lh_labels *labels, const lh_places *places, const uint16_t *label_of) {
  const lh_snapshot *snapshot = places->folds->folder.snapshot;
  labels->of = lh_alloc((size_t)snapshot->n + 1, sizeof *labels->of);
  for (lh_id id = 1; labels->of && id <= snapshot->n; id++)
    labels->of[id] = has_place(snapshot, id)
                         ? label_of[lh_place_of(places, id)]
                         : (uint16_t)(labels->n + (uint32_t)lh_type_of(snapshot, id));
  return labels->of != NULL;
}

static bool label_places(lh_labels *labels, const lh_snapshot *snapshot) {
  lh_places places = {0};
  candidate *list = NULL;
  uint16_t *label_of = NULL;
  uint32_t n_used = 0;
  bool ok = find_places(&places, snapshot);
  if (ok) list = lh_alloc_zeroed(places.n, sizeof *list);
  if (ok) label_of = lh_alloc(places.n, sizeof *label_of);
  ok = ok && list && label_of;
  for (lh_id id = 1; ok && id <= snapshot->n; id++)
    if (has_place(snapshot, id))
      list[lh_place_of(&places, id)].bytes += lh_shallow_bytes(snapshot, id);
  for (uint32_t i = 0; ok && i < places.n; i++)
    if (list[i].bytes > 0) list[n_used++] = (candidate){list[i].bytes, i};
  ok = ok && begin_list(labels, list, n_used) && name_places(labels, &places, list, label_of) &&
       label_objects(labels, &places, label_of);
  LH_FREE_ALL(list, label_of);
  lh_places_free(&places);
  return ok;
}

/* False: out of memory. Call labels_free in either case. */
static bool labels_make(lh_labels *labels, const lh_snapshot *snapshot, lh_age_chart_by by) {
  *labels = (lh_labels){.by = by};
  if (by == LH_AGES_OF_CLASSES) return label_classes(labels, snapshot);
  return by != LH_AGES_OF_PLACES || label_places(labels, snapshot);
}

static void labels_free(lh_labels *labels) {
  LH_FREE_ALL(labels->list, labels->of);
  lh_strings_free(&labels->paths);
}

enum { MOST_CHUNKS = 4096, LEAST_OBJECTS = 1024 };

/* ==== Counting ======================================================================= */

static void count_objects(const lh_chunks *chunks, const lh_snapshot *snapshot, lh_id_range range,
                          lh_count *tallies) {
  for (lh_id id = range.first; id < range.end; id++) {
    if (lh_is_own(snapshot, id)) continue;
    uint32_t label = lh_label_of(&chunks->labels, snapshot, id);
    lh_count *tally = &tallies[tally_at(label, !lh_is_reachable(snapshot, id))];
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

/* The first chunk that begins at or after the position; chunks->n if none does. */
static uint64_t chunk_from(const lh_chunks *chunks, uint64_t position) {
  if (chunks->n_positions == 0) return chunks->n;
  return (position * chunks->n + chunks->n_positions - 1) / chunks->n_positions;
}

static void count_between(const lh_chunks *chunks, const lh_snapshot *snapshot, uint64_t since,
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

/* ==== Making chunks ================================================================== */

static bool keep_sums(lh_chunks *chunks, lh_count *tallies, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    if (tallies[i].objects == 0) continue;
    if (!lh_grow(&chunks->sums, chunks->n_sums, &chunks->capacity, sizeof *chunks->sums))
      return false;
    chunks->sums[chunks->n_sums++] = (lh_chunk_sum){
        .bytes = tallies[i].bytes, .objects = (uint32_t)tallies[i].objects, .tally = i};
    add_count(&chunks->aged[i % 2], &tallies[i]);
    tallies[i] = (lh_count){0, 0};
  }
  return true;
}

/* Fixed objects and those that wait for a finalizer have the ids after all aged ones. */
static void count_ageless(lh_chunks *chunks, const lh_snapshot *snapshot, lh_count *tallies,
                          uint32_t n) {
  lh_id_range range = {(lh_id)chunks->n_positions + 1, snapshot->n + 1};
  count_objects(chunks, snapshot, range, tallies);
  for (uint32_t i = 0; i < n; i++) add_count(&chunks->ageless[i % 2], &tallies[i]);
}

static bool fill_chunks(lh_chunks *chunks, const lh_snapshot *snapshot) {
  uint32_t n = 2 * label_count(&chunks->labels);
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
  labels_free(&chunks->labels);
  LH_FREE_ALL(chunks->first, chunks->sums, chunks);
}

static lh_chunks *make_chunks(const lh_snapshot *snapshot, lh_age_chart_by by) {
  lh_chunks *chunks = lh_alloc_zeroed(1, sizeof *chunks);
  if (!chunks) return NULL;
  chunks->n_positions = lh_position_count(snapshot);
  chunks->n = chunks->n_positions / LEAST_OBJECTS;
  if (chunks->n < 1) chunks->n = 1;
  if (chunks->n > MOST_CHUNKS) chunks->n = MOST_CHUNKS;
  if (labels_make(&chunks->labels, snapshot, by) && fill_chunks(chunks, snapshot)) return chunks;
  free_chunks(chunks);
  return NULL;
}

static void free_age_sums(lh_age_sums *sums) {
  for (int by = 0; by < LH_AGES_KINDS; by++) free_chunks(sums->of[by]);
  lh_free(sums);
}

/* The chunks of a kind, made at the first call. LH_EMEMORY. */
static int chunks_of(lh_snapshot *snapshot, lh_age_chart_by by, const lh_chunks **out,
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

/* Fewer objects in a bin would be noise. */
enum { DEFAULT_BINS = 200, DEFAULT_LAYERS = 8, LEAST_IN_BIN = 8 };

typedef struct drawing {
  const lh_chunks *chunks;
  lh_snapshot *snapshot;
  bool garbage;
  lh_count *tallies;  /* of an interval; scratch */
  uint32_t *layer_of; /* layer of each label */
  uint32_t *ranked;   /* labels in the interval, most bytes first */
  uint32_t n_ranked;
  lh_age_chart *out;
} drawing;

const char *lh_age_chart_by_name(lh_age_chart_by by) {
  static const char *const words[] = {
      [LH_AGES_OF_CLASSES] = "class", [LH_AGES_OF_TYPES] = "type", [LH_AGES_OF_PLACES] = "place"};
  return LH_WORD_OF(words, by);
}

void lh_age_chart_free(lh_age_chart *ages) {
  LH_FREE_ALL(ages->begins, ages->bins, ages->layers, ages->layer_bins);
  *ages = (lh_age_chart){0};
}

/* ==== Choosing layers ================================================================ */

static const lh_count *tally_of(const drawing *d, uint32_t label) {
  return &d->tallies[tally_at(label, d->garbage)];
}

static int compare_labels(const void *left, const void *right, void *payload) {
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  uint64_t x = tally_of(payload, a)->bytes, y = tally_of(payload, b)->bytes;
  return LH_MORE(x, y) ?: LH_LESS(a, b);
}

static void tally(drawing *d, uint64_t since, uint64_t until) {
  memset(d->tallies, 0, 2 * label_count(&d->chunks->labels) * sizeof *d->tallies);
  count_between(d->chunks, d->snapshot, since, until, d->tallies);
}

/* A label may be a layer, unless it is the shared one of classes or places of a type. */
static bool may_be_layer(const lh_labels *labels, uint32_t label) {
  return labels->by == LH_AGES_OF_TYPES || label < labels->n;
}

static void rank_labels(drawing *d) {
  const lh_labels *labels = &d->chunks->labels;
  for (uint32_t label = 0; label < label_count(labels); label++)
    if (may_be_layer(labels, label) && tally_of(d, label)->objects > 0)
      d->ranked[d->n_ranked++] = label;
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
  uint32_t n = (uint32_t)out->n_layers - 1; /* without the last */
  for (uint32_t label = 0; label < label_count(labels); label++) d->layer_of[label] = n;
  for (uint32_t i = 0; i <= n; i++)
    out->layers[i] = (lh_layer){
        .class_index = UINT32_MAX, .type = LH_TYPE_ROOT, .bins = &out->layer_bins[i * out->n_bins]};
  for (uint32_t i = 0; i < n; i++) {
    d->layer_of[d->ranked[i]] = i;
    name_layer(&out->layers[i], labels, d->ranked[i]);
  }
  out->layers[n].n_others = d->n_ranked - n;
  for (uint32_t label = labels->n; label < label_count(labels); label++) {
    if (may_be_layer(labels, label) || tally_of(d, label)->objects == 0) continue;
    out->layers[n].n_others += labels->n_unlabelled;
    break;
  }
}

static void fill_bin(drawing *d, size_t bin) {
  lh_age_chart *out = d->out;
  tally(d, out->begins[bin], out->begins[bin + 1]);
  for (uint32_t label = 0; label < label_count(&d->chunks->labels); label++) {
    const lh_count *n = tally_of(d, label);
    lh_layer *layer = &out->layers[d->layer_of[label]];
    add_count(&layer->bins[bin], n);
    add_count(&layer->all, n);
    add_count(&out->bins[bin], n);
    add_count(&out->all, n);
  }
}

static lh_interval within(lh_interval interval, uint64_t n_positions) {
  if (interval.until > n_positions) interval.until = n_positions;
  if (interval.since > interval.until) interval.since = interval.until;
  return interval;
}

static bool begin_drawing(drawing *d, const lh_age_chart_query *query) {
  lh_age_chart *out = d->out;
  size_t n_labels = label_count(&d->chunks->labels);
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
  int code = chunks_of(snapshot, query->by, &d.chunks, error);
  if (code != LH_OK) return code;
  out->aged = d.chunks->aged[query->garbage];
  out->ageless = d.chunks->ageless[query->garbage];
  bool ok = begin_drawing(&d, query) && make_layers(&d, query);
  for (size_t i = 0; ok && i < out->n_bins; i++) fill_bin(&d, i);
  if (ok && out->layers[out->n_layers - 1].all.objects == 0) out->n_layers--;
  LH_FREE_ALL(d.tallies, d.layer_of, d.ranked);
  if (ok) return LH_OK;
  lh_age_chart_free(out);
  return lh_fail_memory(error, "making a timeline");
}
