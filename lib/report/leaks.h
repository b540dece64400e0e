/* leaks.h - rows of leak candidates (leaks.c), made by leaks_rows.c from the analyses. */
#pragma once

#include "name/place_steps.h"
#include "report/report.h"

/* Objects at one place, with the evidence for and against a leak. Texts are borrowed. */
typedef struct lh_cause {
  unsigned prospect; /* lh_prospect */
  const char *class_name;
  lh_type type;         /* LH_TYPE_ROOT: not objects */
  uint32_t class_index; /* UINT32_MAX: none, or several */
  const char *held_by, *also_held_by;
  uint32_t at, also_at[LH_ALSO_AT]; /* the places of these texts (place_steps.h) */
  uint64_t objects, bytes;          /* of all ages; retained bytes, with keys */
  uint64_t ages[LH_SPANS];
  uint64_t judged_ages[LH_SPANS]; /* of all of the type there: records get other fields with age */
  lh_id example;                  /* one of the objects, or their table */
  lh_id holder;                   /* of the example; of the collections' tables the oldest */
  bool has_young_holder;          /* lh_holder_is_too_young */
  lh_bound bound;
  lh_allocated allocated;
  const lh_growing *collection; /* the table that holds them; NULL: none big enough */
  uint64_t tables;              /* of all siblings that were joined */
} lh_cause;

typedef struct lh_causes {
  lh_cause *leaks; /* most certain first, then most bytes */
  size_t n_leaks;
  size_t n_certain, n_likely; /* rows with LH_GROWS; rows with LH_MAY_GROW */
  lh_suspect *big;            /* suspects that no leak is inside */
  size_t n_big;
  const lh_suspect *unsure; /* the biggest of them that may have grown; NULL: none */
  lh_garbage_cause garbage;
  lh_history history;
  lh_diff *stayed;      /* sources of the rows, kept alive for them */
  lh_growings growings; /* the rows are the snapshot's */
  lh_suspects suspects;
  lh_strings texts; /* of places that were joined */
} lh_causes;

int lh_find_causes(lh_snapshot *snapshot, lh_causes *out, lh_error *error);

/* leaks_joined.c: needs the verdicts; the rows lose their order. False: out of memory. */
bool lh_join_sibling_causes(lh_causes *found, lh_snapshot *snapshot, lh_place_tree *tree);

/* leaks_strings.c: strings that may have replaced shorter ones. told[id]: is in a row. False: out
** of memory. */
enum { LH_MOST_YOUNG = 3 };
bool lh_is_young_string(const lh_causes *found, lh_snapshot *snapshot, lh_id id);
bool lh_find_young_strings(const lh_causes *found, lh_snapshot *snapshot, const uint8_t *told,
                           lh_suspect list[LH_MOST_YOUNG], size_t *n);
void lh_causes_free(lh_causes *found);
