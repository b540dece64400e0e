/*
** leaks.h - the rows of the answer to "what leaks?" (leaks.c), which leaks_rows.c makes of what the
** analyses say.
*/
#ifndef LUAHEAP_REPORT_LEAKS_H
#define LUAHEAP_REPORT_LEAKS_H

#include "name/place_steps.h"
#include "report/report.h"

/* Objects that hang alike, with what speaks for a leak and against it. Texts are borrowed. */
typedef struct lh_cause {
  unsigned prospect; /* lh_prospect */
  const char *class_name;
  lh_type type;         /* LH_TYPE_ROOT: no objects */
  uint32_t class_index; /* UINT32_MAX: of none, or several */
  const char *held_by, *also_held_by;
  uint32_t at, also_at[LH_ALSO_AT]; /* the places that these tell (place_steps.h) */
  uint64_t objects, bytes;          /* of all ages; what they retain, with keys */
  uint64_t ages[LH_SPANS];
  lh_id example; /* one of them, or the table that has them */
  lh_bound bound;
  lh_allocated allocated;
  const lh_growing *collection; /* the table that holds them; NULL: none that is big enough */
} lh_cause;

typedef struct lh_causes {
  lh_cause *leaks; /* the most certain first, of these those with most bytes */
  size_t n_leaks;
  size_t n_certain, n_likely; /* of them, the first: LH_GROWS, and then LH_MAY_GROW */
  lh_suspect *big;            /* the suspects that none of them is in */
  size_t n_big;
  lh_history history;
  lh_diff *stayed; /* what the rows are made of: */
  lh_growings growings;
  lh_suspects suspects;
} lh_causes;

int lh_find_causes(lh_snapshot *snapshot, lh_causes *out, lh_error *error);
void lh_causes_free(lh_causes *found);

#endif
