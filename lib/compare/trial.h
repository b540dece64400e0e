/*
** trial.h - what a function leaves that is called again and again: trial.c counts it and finds what
** of it leaks, trial_leaks.c tells that. Private to the library.
**
** Each object has a row, by its class and folded path, with * for numbers in both: generated code
** and generated names are as many classes and paths as there are of them. Rows are judged alone,
** and those that do not leak are put together, ever more of them: by path, by class, and by the
** variable with which their paths begin. So a list of many classes is found, one whose elements
** come to be nearer to its other end, and a tree that grows.
*/
#ifndef LUAHEAP_TRIAL_H
#define LUAHEAP_TRIAL_H

#include "compare.h"

/* The parts of the runs (lh_trial_step). */
enum { BEFORE, EARLY, LATE, FIRST, SECOND, THIRD, LAST };

/* How rows are put together, the surest way first. */
typedef enum lh_trial_way { BY_ROW, BY_PATH, BY_CLASS, BY_BASE, N_WAYS } lh_trial_way;

enum { N_ENTRIES = 4 }; /* of so many snapshots entries are remembered, the latest first */

typedef struct lh_trial_counts {
  uint64_t before, old;          /* objects at the snapshot before, and those old enough then, */
  uint64_t gain_before;          /* objects that were new then (lh_trial_is_new) */
  uint64_t made[LH_TRIAL_PARTS]; /* and now, by the part in which they were made; */
  uint64_t tops[LH_TRIAL_PARTS]; /* of these: not made to be inside of another one */
  uint64_t entries[N_ENTRIES];   /* of tables that were there before the first run */
  uint64_t n_finalized;          /* of those made since the first run */
  uint64_t staying; /* of rows put together: new ones, in rows from which hardly anything goes */
} lh_trial_counts;

typedef struct lh_trial_row {
  uint32_t key[N_WAYS]; /* what is put together has the same, and the same type */
  lh_type type;
  bool again; /* it is of what was counted again; that has rows of its own */
  lh_trial_counts counts;
} lh_trial_row;

struct lh_trial {
  lh_strings texts;
  lh_place_tree tree; /* keys of rows */
  lh_trial_row *rows;
  size_t n_rows, capacity;
  lh_map by_kind;              /* class, type, path -> row */
  lh_trial_step step;          /* the latest */
  uint64_t runs_at[N_ENTRIES]; /* those of the latest snapshots */
  uint64_t gain_runs_before;   /* in which what was new at the snapshot before was made */
  size_t n_steps;
  uint64_t left_entries; /* of its tables that were not reachable at first */
  lh_id n_objects;       /* of the latest snapshot */
  uint32_t *row_of;      /* the row of each of these; LH_NO_NUMBER: it has none */
};

/* The part in which an object of each epoch was made. NULL: out of memory; freed by the caller. */
uint8_t *lh_trial_parts(const lh_trial_step *step, const lh_snapshot *snapshot);

/* A text with * for each number in it; LH_NO_NUMBER: out of memory. */
lh_text_id lh_trial_fold(lh_trial *trial, const char *text);

/* Was it made in the runs since the snapshot before? What was made in the last quarter of them may
** be there for a while only. */
static inline bool lh_trial_is_new(uint8_t part) {
  return part > EARLY && part < LAST;
}

static inline uint64_t lh_trial_runs(const lh_trial_step *step) {
  return step->runs[THIRD] - step->runs[EARLY];
}

typedef struct lh_trial_found {
  lh_trial_verdict verdict;
  uint8_t *way;       /* of each row: in which it leaks; N_WAYS: in none */
  bool *is_certain;   /* and is it more than what has a bound? */
  bool *entries_grow; /* those of the tables with its path, ever more */
} lh_trial_found;

/* False: out of memory. To be followed by lh_trial_found_free, whatever it returns. */
bool lh_trial_find(const lh_trial *trial, lh_trial_found *found);
void lh_trial_found_free(lh_trial_found *found);

#endif
