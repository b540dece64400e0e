/*
** ages.h - what the files of the timeline share: ages_labels.c (what an object is counted as),
** ages_chunks.c (the sums that are kept) and ages.c (the bins and layers that are asked for).
** Private to the library.
**
** The axis is cut into at most 4,096 chunks, and of each the bytes and objects of each label are
** kept, garbage apart. An interval is then the chunks inside it and the objects in the two that it
** cuts: of 44 million objects 11,000 in each, so that a picture with two hundred bins looks at two
** million.
*/
#ifndef LUAHEAP_AGES_H
#define LUAHEAP_AGES_H

#include "luaheap_view.h"
#include "name/place.h"

enum { LH_AGES_KINDS = LH_AGES_OF_PLACES + 1 };

/* {=== ages_labels.c ============================================================== */

/* So many classes or places, those with most bytes, have a label of their own, whatever the
** interval; of the others there is one for each type. */
enum { LH_MOST_LABELS = 1000 };

typedef struct lh_label {
  uint32_t class_index; /* UINT32_MAX: of several, or none */
  lh_type type;
  const char *path; /* of a place; else NULL */
} lh_label;

typedef struct lh_labels {
  lh_age_chart_by by;
  lh_label *list;
  uint32_t n;            /* of their own; those of types are numbered behind */
  uint64_t n_unlabelled; /* classes or places that have none of their own */
  uint16_t *of;          /* of each class; of places, of each object; NULL: the type is it */
  lh_strings paths;
} lh_labels;

/* All labels are numbered below this. */
static inline uint32_t lh_label_count(const lh_labels *labels) {
  return labels->n + LH_TYPE_COUNT;
}

static inline uint32_t lh_label_of(const lh_labels *labels, const lh_snapshot *snapshot, lh_id id) {
  switch (labels->by) {
    case LH_AGES_OF_CLASSES: return labels->of[snapshot->classes->of[id]];
    case LH_AGES_OF_PLACES: return labels->of[id];
    default: return labels->n + (uint32_t)lh_type_of(snapshot, id);
  }
}

/* False: out of memory. To be followed by lh_labels_free, whatever it returns. */
bool lh_labels_make(lh_labels *labels, const lh_snapshot *snapshot, lh_age_chart_by by);
void lh_labels_free(lh_labels *labels);

/* }=================================================================================== */

/* {=== ages_chunks.c ============================================================== */

/* Of one label in a chunk. */
typedef struct lh_chunk_sum {
  uint64_t bytes;
  uint32_t objects;
  uint32_t tally; /* the number of lh_tally_at */
} lh_chunk_sum;

typedef struct lh_chunks {
  lh_labels labels;
  uint64_t n_positions;
  uint64_t n;    /* chunks: number i begins at position i * n_positions / n */
  size_t *first; /* of each chunk: its sums from here on; n + 1 of them */
  lh_chunk_sum *sums;
  size_t n_sums, capacity;
  lh_count aged[2], ageless[2]; /* with a position, and without: alive, garbage */
} lh_chunks;

/* What the snapshot keeps: of each kind that was asked for. */
struct lh_age_sums {
  lh_chunks *of[LH_AGES_KINDS];
};

/* Tallies are a list with two counts of each label: of what lives, of garbage. */
static inline uint32_t lh_tally_at(uint32_t label, bool garbage) {
  return 2 * label + garbage;
}

static inline void lh_add_count(lh_count *to, const lh_count *n) {
  to->objects += n->objects;
  to->bytes += n->bytes;
}

/* The chunks of a kind, made when they are first asked for. LH_EMEMORY. */
int lh_chunks_of(lh_snapshot *snapshot, lh_age_chart_by by, const lh_chunks **out, lh_error *error);

/* Adds what is between two positions. */
void lh_count_between(const lh_chunks *chunks, const lh_snapshot *snapshot, uint64_t since,
                      uint64_t until, lh_count *tallies);

/* }=================================================================================== */

#endif
