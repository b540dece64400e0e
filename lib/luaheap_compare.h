/*
** luaheap_compare.h - two snapshots, three, and any number, of one process or of several: what is
** new and stays, and what grows.
*/
#ifndef LUAHEAP_PUBLIC_COMPARE_H
#define LUAHEAP_PUBLIC_COMPARE_H

#include "luaheap_graph.h"

LH_API_BEGIN

/* ==== 1. Two and three snapshots ==================================================== */

/* Was a taken before b? Inside of a program its marks are counted; from outside clocks must do. */
bool lh_is_earlier(const lh_snapshot *a, const lh_snapshot *b);

/* Snapshots leave marks in the heap, by which objects of later ones are told to be older or
** younger. Those from outside leave none, and a program may clear its registry: where a snapshot of
** the same state lacks the mark of an earlier one, this gives it a place, by a comparison of what
** is in both (see lh_passed_as_old). lh_mark_at tells of it then, too; what it told before is not
** to be used any more. O(objects) for each mark that is placed. */
int lh_place_marks(lh_snapshot *const *snapshots, size_t n, lh_error *error);

/* ==== 2. Growth over many snapshots ================================================= */

/* What any number of snapshots have, side by side, to see what grows. They may be of one Lua state
** or of several, also of different builds of a program: no object of one is looked for in another,
** all is compared by class and by folded path. A ladder keeps figures only, so the snapshots can be
** opened one after another. */
typedef struct lh_ladder lh_ladder;

/* An empty ladder, freed by lh_ladder_free. */
int lh_ladder_new(lh_ladder **out, lh_error *error);
void lh_ladder_free(lh_ladder *ladder);

/* Adds one more snapshot, which is analysed and classified and may be closed then. O(n + m); some
** 40 bytes are kept for each path, and 24 for each path in each snapshot. */
int lh_ladder_add(lh_ladder *ladder, lh_snapshot *snapshot, lh_error *error);

/* ==== 3. What each call of a function leaves ======================================= */

/* A function is run again and again, in a trial: marks say how many runs there had been when an
** object was made, and a snapshot is taken before the first run and then at growing numbers of
** runs. What leaks is what each part of the runs has left, as much of it as they were many, and of
** which no less is there of what was made before. What has a bound is a leak as long as it grows:
** so whoever runs the function goes on until lh_trial_next says that there is nothing, or that
** there is. Objects are counted, and never bytes, by place: class and folded path. */
typedef struct lh_trial lh_trial;

/* An empty trial, freed by lh_trial_free. */
int lh_trial_new(lh_trial **out, lh_error *error);
void lh_trial_free(lh_trial *trial);

/* The parts into which marks divide a trial: before the first run; up to the snapshot before, of
** which the youngest eighth of the runs is a part of its own; and four parts since then. */
enum { LH_TRIAL_CUTS = 6, LH_TRIAL_PARTS };

typedef struct lh_trial_step {
  uint32_t serials[LH_TRIAL_CUTS]; /* of the marks between the parts, the oldest first; the same one
                                      again: there is nothing between; UINT32_MAX: there is none */
  uint64_t runs[LH_TRIAL_PARTS];   /* until each of those, and until the snapshot */
} lh_trial_step;

/* Counts what the snapshot has, which is analysed as its caller wants it. *left, which may be NULL:
** there is more that is not reachable now, and of which something may have changed. Then it may be
** analysed otherwise and counted `again`, for that. O(n + m). */
int lh_trial_add(lh_trial *trial, lh_snapshot *snapshot, const lh_trial_step *step, bool again,
                 bool *left, lh_error *error);

typedef enum lh_trial_verdict {
  LH_TRIAL_NOTHING, /* nothing grows */
  LH_TRIAL_OPEN,    /* something grows, and may have a bound yet */
  LH_TRIAL_CERTAIN  /* what grows is more than what has a bound: 3,000 objects of a place; or 128
                       with a finalizer, which stand for files and the like */
} lh_trial_verdict;

/* What the snapshots that were added say, the last of all. O(places). */
int lh_trial_next(const lh_trial *trial, lh_trial_verdict *verdict, lh_error *error);

/* What leaks: what hangs at one path, of whatever classes. */
typedef struct lh_leak {
  const char *class_name; /* "Delete, Insert"; owned by the trial, as all texts */
  lh_type type;
  const char *held_by;
  char fingerprint[LH_FINGERPRINT_BYTES];
  uint64_t objects, runs;          /* made in so many runs; or entries: */
  bool entries;                    /* numbers and the like, and `class_name` is the table's */
  uint64_t new_objects, new_bytes; /* these and what they retain, of the same runs */
  lh_allocated allocated;          /* where most of the objects were */
} lh_leak;

typedef struct lh_leaked_class {
  const char *name;
  uint64_t objects; /* wherever they are */
} lh_leaked_class;

typedef struct lh_leaks {
  lh_leak *rows; /* most bytes first; freed with lh_free, and so are the classes */
  size_t n_rows;
  lh_leaked_class *classes; /* of all that is told, and what it retains, in `runs` */
  size_t n_classes;
  uint64_t runs;
} lh_leaks;

/* The leaks that the snapshot which was added last shows, analysed as it was for that; or `again`,
** as it was then: each tells what is reachable so. `all`: also what is not certain. */
int lh_trial_leaks(lh_trial *trial, lh_snapshot *snapshot, bool again, bool all, lh_leaks *leaks,
                   lh_error *error);

LH_API_END

#endif
