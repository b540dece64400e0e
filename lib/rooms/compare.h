/* compare.h - compares snapshots of one process or several: what is new, what grows. */
#pragma once

#include "rooms/graph.h"

/* ==== 1. Two and three snapshots ==================================================== */

/* Was a taken before b? Decided by the marks if the program took them itself, else by the clock. */
bool lh_is_earlier(const lh_snapshot *a, const lh_snapshot *b);

/* Gives places to missing marks. Marks tell which objects of a later snapshot are older or younger.
** Snapshots from outside leave no marks, and a program may clear its registry. If a later snapshot
** of the same state lacks the mark of an earlier one, this function places the mark by comparing
** the objects of both (see lh_possibly_newer). lh_mark_at then has it, too; earlier results of
** lh_mark_at are invalid. O(objects) for each placed mark. */
int lh_place_marks(lh_snapshot *const *snapshots, size_t n, lh_error *error);

/* Prepares the first of three snapshots for the question "diff" (`before` NULL), then the second
** (`before`: the first). Called before the next one is opened, it saves most of the memory: the
** snapshots are counted, and their objects are freed. Afterwards they are for one lh_ask, and for
** lh_snapshot_info, lh_snapshot_outside, lh_reach_totals and lh_close. Their files must stay.
** O(n + m). */
int lh_prepare_older(lh_snapshot *snapshot, lh_snapshot *before, lh_error *error);

/* ==== 2. Growth over many snapshots ================================================= */

/* Figures of any number of snapshots side by side, to see what grows. The snapshots may be of
** several Lua states and of different builds of a program: a ladder compares classes and folded
** paths. Of objects it compares only containers of one state, which a running function may have in
** a local variable. It keeps only figures, so the caller can open one snapshot after another. */
typedef struct lh_ladder lh_ladder;

int lh_ladder_new(lh_ladder **out, lh_error *error);
void lh_ladder_free(lh_ladder *ladder);

/* Adds a snapshot that is analysed and classified; the caller may then close it. O(n + m). Keeps
** about 60 bytes for each path, 24 for each path in each snapshot, and 70 for each container. */
int lh_ladder_add(lh_ladder *ladder, lh_snapshot *snapshot, lh_error *error);

/* ==== 3. What each call of a function leaves ======================================= */

/* A trial runs a function again and again to find what each call leaks. Marks tell after how many
** runs an object was made. A snapshot is taken before the first run and then at growing numbers of
** runs. A place (class and folded path) leaks if each part of the runs left objects there, in
** proportion to its runs, and no fewer older objects are there than before. A bounded collection
** looks like a leak while it grows, so the caller runs on until lh_trial_next answers NOTHING or
** CERTAIN. Objects are counted, not bytes. */
typedef struct lh_trial lh_trial;

int lh_trial_new(lh_trial **out, lh_error *error);
void lh_trial_free(lh_trial *trial);

/* Marks divide a trial into these parts: before the first run; up to the previous snapshot, of
** which the youngest eighth of the runs is a part of its own; four parts since then. */
enum { LH_TRIAL_CUTS = 6, LH_TRIAL_PARTS };

typedef struct lh_trial_step {
  uint32_t serials[LH_TRIAL_CUTS]; /* of the marks between the parts, oldest first; the same
                                      serial again: an empty part; UINT32_MAX: no mark */
  uint64_t runs[LH_TRIAL_PARTS];   /* up to each mark, and up to the snapshot */
} lh_trial_step;

/* Counts the objects of an analysed snapshot. *left (may be NULL): other objects, unreachable in
** this analysis, may have changed. The caller can then analyse the snapshot in another way and
** count those with `again`. O(n + m). */
int lh_trial_add(lh_trial *trial, lh_snapshot *snapshot, const lh_trial_step *step, bool again,
                 bool *left, lh_error *error);

typedef enum lh_trial_verdict {
  LH_TRIAL_NOTHING, /* nothing grows */
  LH_TRIAL_OPEN,    /* something grows, but may have a bound */
  LH_TRIAL_CERTAIN  /* a place grows more than a bounded one does: 3,000 objects; or 128 with a
                       finalizer, such as files */
} lh_trial_verdict;

/* The verdict after the snapshots so far. O(places). */
int lh_trial_next(const lh_trial *trial, lh_trial_verdict *verdict, lh_error *error);

/* A leak: objects at one path, of any classes. */
typedef struct lh_leak {
  const char *class_name; /* "Delete, Insert"; the trial owns all texts */
  lh_type type;
  const char *held_by;
  char fingerprint[LH_FINGERPRINT_BYTES];
  uint64_t objects, runs;          /* objects made in `runs` runs; or entries: */
  bool entries;                    /* of tables; `class_name` is the table's */
  bool unsteady;                   /* it came less often, or went once: it may have a bound */
  uint64_t new_objects, new_bytes; /* of the same runs, with what they retain */
  lh_allocated allocated;          /* where most of the objects were, or those in the entries */
} lh_leak;

typedef struct lh_leaked_class {
  const char *name;
  uint64_t objects; /* at all places */
} lh_leaked_class;

typedef struct lh_leaks {
  lh_leak *rows; /* most bytes first; freed by lh_free, like `classes` */
  size_t n_rows;
  lh_leaked_class *classes; /* of all reported objects and what they retain, in `runs` */
  size_t n_classes;
  uint64_t runs;
} lh_leaks;

/* Finds the leaks in the snapshot that was added last, with the analysis that it was counted with;
** `again`: with the second analysis. Each finds only what is reachable in that analysis. `all`:
** also finds leaks that are not certain. */
int lh_trial_leaks(lh_trial *trial, lh_snapshot *snapshot, bool again, bool all, lh_leaks *leaks,
                   lh_error *error);
