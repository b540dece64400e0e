/*
** place.h - groups objects by place: objects of one class at one place. Private to the library.
**
** A million objects at one place are one row. The spot of an object (fold.h) says its place, so
** most objects cost two array accesses.
*/
#pragma once

#include "graph/answers.h"
#include "name/fold.h"

/* ==== place.c ======================================================================= */

typedef struct lh_place {
  uint32_t class_index; /* UINT32_MAX: only a text */
  uint32_t state;       /* one of its states */
  uint32_t at;          /* the place, with keys */
  lh_text_id path;      /* its text; 0: no room was left */
  lh_text_id module;    /* the name of its class with * for numbers; LH_NO_NUMBER: no numbers */
  bool joined;          /* stands for many paths that differ only in numbers */
  bool several;         /* its objects are of several classes */
  bool keyless;         /* stands for many paths that differ in one-time keys: `at` has [*] */
} lh_place;

typedef struct lh_places {
  lh_folds *folds;
  lh_seen_keys seen_keys; /* for the paths asked about */
  lh_strings texts;       /* the first is "...", for places without room */
  lh_place *list;
  size_t n, capacity;
  uint32_t *of_spot; /* place of each spot; LH_NO_NUMBER: not asked about */
  size_t n_spots;
  lh_map by_at; /* class, place with keys -> place */
} lh_places;

/* Finds the places of the first n_placed of `ids`, which must be reachable. The paths of all ids
** decide which keys are kept. Call lh_places_free in any case. O(n), after the folding of paths. */
bool lh_places_make(lh_places *places, const lh_snapshot *snapshot, const lh_id *ids, size_t n_ids,
                    size_t n_placed);
void lh_places_free(lh_places *places);

static inline lh_place_tree *lh_tree_of(const lh_places *places) {
  return places->folds->folder.tree;
}

/* `id` must be one of the n_placed. */
static inline uint32_t lh_place_of(const lh_places *places, lh_id id) {
  return places->of_spot[places->folds->spot[id]];
}

/* The place without its keys. */
static inline uint32_t lh_folded_at(const lh_places *places, const lh_place *place) {
  return places->folds->folder.states[place->state].place;
}

uint32_t lh_place_called(lh_places *places, lh_text *text);

static inline lh_text_id lh_path_of(const lh_places *places, lh_id id) {
  return places->list[lh_place_of(places, id)].path;
}

static inline uint32_t lh_keyed_place_of(const lh_places *places, lh_id id) {
  return places->list[lh_place_of(places, id)].at;
}

/* Joins places with objects of one type and one path, whatever their classes: records whose
** optional fields differ, or generated code. Keys of _G, package.loaded and modules have a meaning,
** so each has its own path. But LH_MANY_NUMBERS paths or more to objects of one type that differ
** only in numbers become one: _G.request_*. Equal numbers stay, and so does the first of the joined
** places. So do as many to objects of one class in which [*] became the only key of a class: tables
** with keys of their own are each of their own class, and _G.users[*][*] has no other key. */
bool lh_join_places(lh_places *places);

/* Counts, for a place with * for its numbers, the places `exact` that differ in numbers only. */
bool lh_count_alike(lh_map *seen, lh_map *n_alike, uint64_t exact, uint64_t folded);

/* For a place's own objects, and for objects of any class there. Of several paths with one text the
** least print, so that the order of objects does not matter. */
typedef char lh_print[LH_FINGERPRINT_BYTES];
bool lh_print_places(const lh_places *places, lh_print *own, lh_print *any);

/* The text with most objects; of equals the first in byte order. texts->n: no objects. */
size_t lh_most_of(const lh_strings *texts, const uint64_t *objects);

/* ==================================================================================== */

/* stable_text.c: a module's class with * for numbers: module tenant_*. False: `out` stays empty. */
bool lh_fold_module(lh_text *out, const lh_class_entry *class);

/* ==== fingerprint.c ================================================================= */

/* For objects of a class at a place. `stable_name` must be the same in other runs. */
bool lh_fingerprint(const lh_class_entry *class, const char *stable_name, uint64_t identity,
                    lh_print fingerprint);

/* The same with * for the numbers in the name of a module's class. */
bool lh_folded_fingerprint(const lh_class_entry *class, const char *stable_name, uint64_t identity,
                           lh_print fingerprint);

/* For one class, and for any class of the type. folded: with * for numbers, or "" if none. */
typedef struct lh_prints {
  lh_print exact, folded;
  lh_print any, any_folded;
} lh_prints;

bool lh_fingerprints(const lh_folder *folder, uint32_t state, const lh_class_entry *class,
                     lh_prints *prints);

/* As the previous release made it. class NULL: for any class of the type. */
bool lh_older_fingerprint(const lh_class_entry *class, const char *name, lh_type type,
                          const lh_place_tree *tree, uint32_t place, lh_print print);

/* objects: for each span of the history. bytes: retained by objects that no other one there
** dominates. */
typedef struct lh_place_counts {
  uint64_t objects[LH_SPANS];
  uint64_t bytes;
} lh_place_counts;

typedef struct lh_tally {
  const lh_snapshot *snapshot;
  const uint8_t *span_of;
  lh_place_counts *rows;
  uint32_t *below; /* row nearest above each object, in the dominator tree; the owner frees it */
} lh_tally;

/* Sets the rows to 0. False: out of memory. */
bool lh_tally_begin(lh_tally *tally, const lh_snapshot *snapshot, const uint8_t *span_of,
                    lh_place_counts *rows, size_t n_rows);

/* Each object after its dominators. LH_NO_NUMBER: in no row. */
static inline void lh_tally_add(lh_tally *t, lh_id id, uint32_t row) {
  uint32_t above = t->below[t->snapshot->idom[id]];
  t->below[id] = row == LH_NO_NUMBER ? above : row;
  if (row == LH_NO_NUMBER) return;
  t->rows[row].objects[t->span_of[id]]++;
  if (row != above) t->rows[row].bytes += lh_retained_bytes(t->snapshot, id);
}

/* Counts objects for these prints (`any` of lh_print_places, also of another snapshot), in one
** pass. span_of: of lh_find_history. Needs lh_classify. LH_EMEMORY. */
int lh_count_at_places(lh_snapshot *snapshot, const lh_print *prints, size_t n,
                       const uint8_t *span_of, lh_place_counts *out, lh_error *error);

/* The objects at one spot, and the numbers of its prints, or LH_NO_PRINT. A list of all spots is
** enough to count objects at any place later. */
#define LH_NO_PRINT UINT64_MAX
typedef struct lh_printed {
  uint64_t any, any_folded, objects;
} lh_printed;

/* For all spots. Needs lh_classify_for_places. Free with lh_free. LH_EMEMORY. O(n). */
int lh_list_printed(const lh_snapshot *snapshot, lh_printed **out, size_t *n, lh_error *error);

/* Counts the objects at the places with these prints, as objects[0]. */
bool lh_count_printed(const lh_printed *list, size_t n_list, const lh_print *prints, size_t n,
                      lh_place_counts *out);

/* ==== place_counts.c ================================================================ */

/* What rows of lh_places tell of: the objects of their classes at their places with keys. */
typedef struct lh_counted_places {
  lh_map row_of;   /* number of class and place -> row */
  lh_map is_vague; /* those of places with [?] that spots have in a snapshot */
  struct {
    uint64_t number;
    uint32_t row;
  } * vague; /* the same for rows with [?] in place of a key */
  size_t n_vague, capacity;
} lh_counted_places;

/* Needs lh_join_places. Call lh_counted_places_free in any case. */
bool lh_list_counted_places(lh_places *places, lh_counted_places *counted);
void lh_counted_places_free(lh_counted_places *counted);

/* The numbers of all spots of a snapshot, from first[spot] on: of places, most exact first, then
** of those with [?]. All zero is empty. */
typedef struct lh_spot_numbers {
  uint64_t *numbers, *objects; /* objects: of each spot */
  size_t *first, *first_vague;
  size_t n, capacity, n_spots;
} lh_spot_numbers;

/* Needs lh_classify_for_places. Call lh_spot_numbers_free in any case. False: out of memory. */
bool lh_number_spots(const lh_snapshot *snapshot, lh_spot_numbers *out);
void lh_spot_numbers_free(lh_spot_numbers *spots);

/* Stores the row of each spot, or LH_NO_NUMBER, and flags the rows whose objects in this snapshot
** are unknown: under one of the keys that a spot has. False: out of memory. */
bool lh_rows_of_spots(lh_counted_places *counted, const lh_spot_numbers *spots, uint32_t *row_of,
                      bool *is_vague);

/* Counts the objects of the rows in their own snapshot: there the keys of each path tell.
** LH_EMEMORY. */
int lh_count_in_rows(lh_counted_places *counted, const lh_snapshot *snapshot,
                     const uint8_t *span_of, lh_place_counts *rows, size_t n_rows, lh_error *error);
