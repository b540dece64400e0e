/* answers.h - The answers about two or more snapshots: new objects that stay, and growth. */
#pragma once

#include "graph/answers.h"
#include "rooms/compare.h"

bool lh_is_same_state(const lh_snapshot *a, const lh_snapshot *b);

/* Number of other holders that a group lists. */
enum { LH_ALSO_AT = 2 };

/* New objects of one class at one place that stay. If all paths take more than 16 times the file
** (and 1 MiB), the rest are "...". Eight or more paths from _G or package.loaded that differ only
** in numbers are one: _G.request_*. An object shared by new functions is held by their holder; one
** shared by new tables at one place is in their group. */
typedef struct lh_diff_group {
  uint32_t class_index;     /* class of the example */
  const char *class_name;   /* the most frequent names, with * for numbers that differ: "A, B and
                               3 more" */
  const char *held_by;      /* folded path; the diff owns the texts */
  const char *also_held_by; /* other holders of half of the objects or more: "x and y", or NULL */
  uint64_t at[3];           /* three snapshots: such objects at the path in each, new or not */
  uint64_t ages[LH_SPANS];  /* lh_diff_history: such objects there by span, new or not */
  uint64_t bytes_of_all;    /* retained by those together; no byte counts twice */
  bool counts_type; /* a list of records whose fields differ: `at` and `ages` are of all its type */
  bool is_vague;    /* `at` is unknown: a snapshot does not tell the keys apart */
  uint64_t type_at[3], type_ages[LH_SPANS]; /* objects of any class of the type, at all such keys */
  bool is_noise;    /* three snapshots: it is small (lh_least_group), and does not grow steadily */
  uint64_t weight;  /* sort key: retained_bytes; of three snapshots the part that both intervals
                       brought, or a sixteenth of what one of them did; 0 of noise */
  uint64_t objects; /* those without a new dominator, and the rest of a linked list below them */
  uint64_t shallow_bytes;
  uint64_t retained_bytes; /* with all that they dominate; no byte counts in two groups */
  uint64_t new_objects;    /* new objects retained, with `objects` */
  uint64_t new_bytes;      /* shallow bytes of new_objects */
  uint64_t cause;          /* equal for rows about one cause (one container), from 1 */
  lh_id example;           /* the object that retains most */
  char fingerprint[LH_FINGERPRINT_BYTES];
  lh_allocated allocated; /* sites of `objects`; `made` between the snapshots, or of one snapshot
                             since tracking began */
  uint32_t place;         /* private, as are the next fields */
  uint32_t held_at, also_at[LH_ALSO_AT]; /* places of held_by and also_held_by */
  uint32_t printed_at, printed_class;    /* identity of the fingerprint; UINT32_MAX: several */
} lh_diff_group;

/* A container older than a that grew from a to b and from b to c, or a string in a field of one, if
** ever longer strings replace it. The entries of a table count, without those of weak tables that
** the collector will remove. */
typedef struct lh_grown {
  lh_id id; /* in c */
  uint32_t class_index;
  const char *held_by;                   /* path; owned by the diff */
  const char *place;                     /* folded path, of all its siblings; owned by the diff */
  uint64_t shallow_bytes[3], entries[3]; /* at a, b, c */
  uint64_t cause;                        /* as in a group */
  char fingerprint[LH_FINGERPRINT_BYTES];
  uint32_t at, told_at; /* private: its place; that of `place`, of several siblings */
  lh_id holder;         /* private: of a string */
} lh_grown;

/* Returns the growth from a to c; 0 if there is none. */
uint64_t lh_grown_by(const uint64_t at[3]);

typedef struct lh_class_change {
  const char *name; /* owned by the diff */
  lh_type type;
  uint64_t objects[3], shallow_bytes[3]; /* at a, b, c; [1] is unused with two snapshots */
  uint64_t appeared, gone;               /* objects; only within one state */
} lh_class_change;

typedef struct lh_diff {
  bool same_state;                   /* false: different states, compared by class only */
  uint64_t objects, shallow_bytes;   /* new and still reachable */
  lh_count possibly_newer[2];        /* lh_possibly_newer of a and b in c, or of marks */
  uint64_t left_objects, left_bytes; /* luaheap's own, and of the call heap.snapshot; not counted
                                        above */
  uint64_t retained_bytes;           /* of all new objects together; 0 for lh_diff_history */
  uint64_t gone_objects, gone_bytes; /* two snapshots: reachable in a, garbage or absent in b */
  lh_diff_group *groups;             /* by weight, biggest first */
  size_t n_groups;
  lh_grown *grown; /* three snapshots only; most growth in bytes first */
  size_t n_grown;
  lh_class_change *classes; /* two snapshots, or different states; most growth in bytes first */
  size_t n_classes;
} lh_diff;

/* Finds objects allocated between a and b that are reachable in c (the three-snapshot technique). b
** NULL: finds what appeared and vanished between a and c. The snapshots must stay open as long as
** the diff. c is analysed and classified, and so are a and b if classes are compared; else nothing
** is kept of them. Of three, a and b may be prepared (lh_prepare_older). Uses at most as many
** threads as opening c, one for each older snapshot, without effect on the result. LH_EARGUMENT:
** snapshots of one state are not in the order of time. Free with lh_diff_free. O(n + m). */
int lh_diff_snapshots(lh_snapshot *a, lh_snapshot *b, lh_snapshot *c, lh_diff **out,
                      lh_error *error);

/* The same for objects allocated after the mark `since` and before `until` (NULL: the snapshot). Of
** marks with one name, the latest. No `grown`, no `classes`. LH_ENOTFOUND lists the marks; a name
** may be given as the message shows it. */
int lh_diff_marks(lh_snapshot *snapshot, const char *since, const char *until, lh_diff **out,
                  lh_error *error);

/* The same for objects allocated in an interval. */
int lh_diff_interval(lh_snapshot *snapshot, lh_interval interval, lh_diff **out, lh_error *error);

/* The same for objects allocated after the first span of the history and before the last one (the
** last of two), with the number of objects of each span at the same places. */
int lh_diff_history(lh_snapshot *snapshot, const lh_history *history, lh_diff **out,
                    lh_error *error);
void lh_diff_free(lh_diff *diff);

/* Strings with one content; c has more of them than a. */
typedef struct lh_string_change {
  lh_id example;                 /* in c */
  uint64_t objects[2], bytes[2]; /* in a and in c; only long strings have more than one object */
} lh_string_change;

typedef struct lh_string_changes {
  uint64_t new_contents;  /* contents that a does not have */
  uint64_t more_contents; /* contents that a has, too */
  uint64_t more_bytes;    /* growth of both */
  lh_string_change *rows; /* most growth in bytes first; free with lh_free */
  size_t n_rows;
} lh_string_changes;

/* Compares reachable strings by content, not by address, so also across processes. The content is
** length and hash if a snapshot does not keep all bytes. Needs lh_analyse of both. O(n log n). */
int lh_compare_strings(lh_snapshot *a, lh_snapshot *c, lh_string_changes *out, lh_error *error);

/* Returns the same object in an earlier or later snapshot of the state; LH_NO_OBJECT: absent.
** Exact, even for reused addresses, if the heap has marks. O(marks). */
lh_id lh_same_object(const lh_snapshot *snapshot, lh_id id, const lh_snapshot *other);

/* True if all snapshots are of one Lua state. If not, functions are named without lines. */
bool lh_ladder_same_state(const lh_ladder *ladder);

typedef struct lh_figures {
  uint64_t objects, entries; /* of the row itself; entries of tables */
  uint64_t bytes;            /* retained by the row */
  uint64_t all_objects;      /* retained by the row */
} lh_figures;

typedef struct lh_growth_row {
  const char *class_name; /* by path: the class of most objects in the last snapshot with any,
                             or of most entries if only these change; of an upvalue, its value */
  lh_type type;
  const char *held_by; /* folded path; NULL in a row by class */
  char fingerprint[LH_FINGERPRINT_BYTES];
  lh_verdict verdict;      /* the worst of objects, entries, bytes; of a class no worse than
                              LH_LEVELS_OFF if its places have a bound */
  const lh_figures *at;    /* by snapshot */
  int64_t grew_bytes[2];   /* first step, and the rest (of two snapshots: 0, and all); halves:
                              before, after */
  int64_t grew_objects[2]; /* the same for all_objects */
  double bytes_per_step;   /* of grew_bytes[1] */
  double bytes_per_second;
  double next_bytes;                  /* sort key: what the next step will bring at least */
  uint64_t cause;                     /* as in lh_diff_group */
  uint32_t printed_at, printed_class; /* private: identity of the fingerprint */
  uint32_t told_at, cause_at; /* private: place of held_by; the place that tells the cause */
  const char *printed_name;
} lh_growth_row;

typedef struct lh_growth {
  bool same_state; /* false: several states, so lines of functions are left out */
  size_t n_snapshots;
  double *at_seconds;   /* by snapshot: seconds since the first */
  double seconds;       /* from the second snapshot (of two, the first) to the last; 0: unknown */
  lh_figures *whole;    /* by snapshot: all reachable objects */
  lh_figures *level;    /* by snapshot: the part of `whole` in no row by path */
  lh_growth_row *paths; /* worst verdict first, then most next_bytes. The bytes and all_objects
                           of the paths and `level` add up to `whole` */
  size_t n_paths;
  lh_growth_row *classes; /* here bytes are shallow, and all_objects is objects */
  size_t n_classes;
  lh_figures *by_path, *by_class; /* private: storage of the rows' `at` */
} lh_growth;

/* Finds the rows of two or more snapshots that are not level. The objects of one type at a path and
** all that they retain are one row; a place below it that grows more steadily gets its own. Texts
** are borrowed from the ladder. Free with lh_growth_free. LH_EARGUMENT: not in the order of time.
** O(paths * snapshots). */
int lh_ladder_growth(lh_ladder *ladder, lh_growth **out, lh_error *error);

/* Compares the growth in the first half of the snapshots, before a change of the program, with the
** second half. Of one snapshot each: what grew and what shrank. */
int lh_ladder_halves(lh_ladder *ladder, lh_growth **out, lh_error *error);

/* Tells whether a leak is fixed, by rows with a tenth or more of the greatest growth. */
typedef struct lh_fix_verdict {
  bool is_fixed; /* some row stopped growing; none grows still, and none of its class newly */
  const lh_growth_row *no_longer; /* the greatest row of each kind; NULL: none */
  const lh_growth_row *still;
  const lh_growth_row *now; /* prefers the class of no_longer, which may have moved */
} lh_fix_verdict;

/* O(rows). */
void lh_judge_fix(const lh_growth *growth, lh_fix_verdict *answer);

/* A folded path, and what only its objects retain. Top parts are globals, modules, registry
** entries, threads and the like; _G, package.loaded and the registry belong to the whole. No byte
** is in two sibling parts. [0] is the first snapshot, [1] the last. */
typedef struct lh_part {
  const char *held_by;    /* folded, borrowed from the ladder; "" for the whole or if shared */
  const char *path;       /* the same with [*] for every key that varies, for a lookup */
  const char *class_name; /* NULL for the whole or if shared */
  lh_type type;
  bool shared;                   /* objects retained only by several sibling parts together */
  size_t above;                  /* index of the part above, smaller than its own */
  uint64_t objects[2], bytes[2]; /* with all parts below */
  uint64_t own_objects[2], own_bytes[2]; /* without the parts below */
  uint32_t at;                           /* private */
} lh_part;

/* Lists the tree of parts, the whole first. The figures of a part are exactly its own and those of
** the parts below. Free *parts with lh_free. O(paths). */
int lh_ladder_owners(const lh_ladder *ladder, lh_part **parts, size_t *n_parts, lh_error *error);

/* Returns what held_by of a part adds to that of the part above (all, if it does not continue
** that). Free with lh_free. NULL: out of memory. */
char *lh_part_steps(const lh_ladder *ladder, const lh_part *part, const lh_part *above);

/* Find the fingerprint (ten digits) of the previous release, for older files of --known. False: out
** of memory. */
bool lh_older_of_group(lh_snapshot *c, const lh_diff_group *group,
                       char older[LH_FINGERPRINT_BYTES]);
bool lh_older_of_grown(lh_snapshot *c, const lh_grown *grown, char older[LH_FINGERPRINT_BYTES]);
bool lh_older_of_growth(const lh_ladder *ladder, const lh_growth_row *row,
                        char older[LH_FINGERPRINT_BYTES]);

const char *lh_verdict_name(lh_verdict verdict); /* "grows steadily", "grew once", ... */
void lh_growth_free(lh_growth *growth);
