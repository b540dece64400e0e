/*
** trial.h - Finds leaks of a function that is called repeatedly.
** A row has the objects of one class at one folded path, with * for numbers in both. Rows are
** judged alone; those that do not leak are merged by path, then by class, then by the variable at
** the start of their paths. So a list of many classes is found, a list whose elements become nearer
** to its other end, and a growing tree. What moves from one path to another is no leak if both
** together do not grow (trial_elsewhere.c).
*/
#pragma once

#include "compare.h"

/* Parts of the runs (lh_trial_step). */
enum { BEFORE, EARLY, LATE, FIRST, SECOND, THIRD, LAST };

/* How rows are merged, the most certain first. */
typedef enum lh_trial_way { BY_ROW, BY_PATH, BY_CLASS, BY_BASE, N_WAYS } lh_trial_way;

enum { N_ENTRIES = 4 }; /* snapshots whose entries are kept, the latest first */

typedef struct lh_trial_counts {
  uint64_t before, old;          /* objects at the previous snapshot, and those old enough then */
  uint64_t earlier;              /* objects at the snapshot before that */
  uint64_t gain_before;          /* objects that were new then (lh_trial_is_new) */
  uint64_t made[LH_TRIAL_PARTS]; /* objects now, by part of the runs */
  uint64_t tops[LH_TRIAL_PARTS]; /* those of them that were not made inside another object */
  uint64_t entries[N_ENTRIES];   /* of tables older than the first run */
  uint64_t n_finalized;          /* of objects made since the first run */
  uint64_t staying;              /* of merged rows: new objects in rows that lose hardly any */
} lh_trial_counts;

typedef struct lh_trial_row {
  uint32_t key[N_WAYS]; /* by way: rows with equal key and type are merged */
  lh_type type;
  bool again; /* the row of objects that are counted again */
  lh_trial_counts counts;
} lh_trial_row;

struct lh_trial {
  lh_strings texts;
  lh_place_tree tree; /* keys of rows */
  lh_trial_row *rows;
  size_t n_rows, capacity;
  lh_map by_kind;              /* class, type, path -> row */
  lh_map pairs;                /* row, other path -> new objects that may move there */
  lh_trial_step step;          /* the latest */
  uint64_t runs_at[N_ENTRIES]; /* by snapshot */
  uint64_t gain_runs_before;   /* runs that made what was new at the previous snapshot */
  size_t n_steps;
  uint64_t left_entries; /* of its tables that were unreachable at first */
  lh_id n_objects;       /* of the latest snapshot */
  uint32_t *row_of;      /* by object of the latest snapshot; LH_NO_NUMBER: none */
};

/* Returns the part of the runs for each epoch. Free with lh_free. NULL: out of memory. */
uint8_t *lh_trial_parts(const lh_trial_step *step, const lh_snapshot *snapshot);

/* Copies a place of another tree as key BY_PATH. LH_NO_NUMBER: out of memory. */
uint32_t lh_trial_path(lh_trial *trial, const lh_place_tree *tree, uint32_t place);

/* trial_elsewhere.c: adds the pairs of the objects that have been counted (if `again`, counted
** again). False: out of memory. O(edges). */
bool lh_trial_look_elsewhere(lh_trial *trial, const lh_snapshot *snapshot, const uint8_t *parts,
                             bool again);

/* Puts * for each number in a text; LH_NO_NUMBER: out of memory. */
lh_text_id lh_trial_fold(lh_trial *trial, const char *text);

static inline lh_trial_row *lh_trial_row_of(const lh_trial *trial, lh_id id) {
  return &trial->rows[trial->row_of[id]];
}

/* Without the last quarter of the runs, whose objects may be temporary. */
static inline bool lh_trial_is_new(uint8_t part) {
  return part > EARLY && part < LAST;
}

static inline uint64_t lh_trial_runs(const lh_trial_step *step) {
  return step->runs[THIRD] - step->runs[EARLY];
}

typedef struct lh_trial_found {
  lh_trial_verdict verdict;
  uint8_t *way;       /* by row: the way in which it leaks; N_WAYS: none */
  bool *is_certain;   /* by row: beyond any bound */
  bool *is_unsteady;  /* by row: it leaks, but not at one rate */
  bool *entries_grow; /* by row: the tables at its path get more and more entries */
} lh_trial_found;

/* False: out of memory. The caller calls lh_trial_found_free even after a failure. */
bool lh_trial_find(const lh_trial *trial, lh_trial_found *found);
void lh_trial_found_free(lh_trial_found *found);
