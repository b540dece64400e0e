/*
** answers.h - what is new in two or three snapshots and stays, and what grows in any number.
*/
#ifndef LUAHEAP_COMPARE_ANSWERS_H
#define LUAHEAP_COMPARE_ANSWERS_H

#include "graph/answers.h"
#include "luaheap_compare.h"

/* Are they of one Lua state? */
bool lh_is_same_state(const lh_snapshot *a, const lh_snapshot *b);

/* At how many places a group is that are told beside the first. */
enum { LH_ALSO_AT = 2 };

/* New objects that stay. The diff owns the texts.
**
** Where all paths would take more than 16 times the file (and 1 MiB), "..." stands for the rest.
** Eight paths or more from _G or package.loaded that differ in the numbers in their names only are
** one: _G.request_*. An object that new functions share is held by what holds these. */
typedef struct lh_diff_group {
  uint32_t class_index;     /* of the example */
  const char *class_name;   /* its name; of several classes the most frequent ones, with * for the
                               numbers that alone tell them apart: "Insert, Delete and 3 more" */
  const char *held_by;      /* folded path */
  const char *also_held_by; /* what else holds half of them or more, each by itself: "x and y";
                               NULL: nothing does */
  uint64_t at[3]; /* of three snapshots: objects of its type at that path in each, new or not */
  uint64_t ages[LH_SPANS]; /* lh_diff_history: objects of its type at that path that were allocated
                              in each part of the history, new or not, */
  uint64_t bytes_of_all;   /* and what all of these retain, no byte twice */
  uint64_t weight;  /* what groups are sorted by: retained_bytes; with three snapshots as much of it
                      as there are more objects there in c than in a (a full cache has as many), and
                      a sixteenth of that where there are no more than in b */
  uint64_t objects; /* that no other new object retains, and those of the same class that these
                          retain, such as the rest of a linked list */
  uint64_t shallow_bytes;
  uint64_t retained_bytes; /* theirs and all that they dominate: groups add up, no byte twice */
  uint64_t new_objects;    /* new objects that these retain, themselves included */
  uint64_t new_bytes;      /* the shallow bytes of the new objects */
  uint64_t cause;          /* the same number for all that is about one cause: of one container, of
                              its keys, of what is in its elements; counted from 1 */
  lh_id example;           /* the one that retains most */
  char fingerprint[LH_FINGERPRINT_BYTES];
  lh_allocated allocated; /* where `objects` were; `made` between the two snapshots, or in one since
                             tracking began */
  uint32_t place;         /* private, as */
  uint32_t held_at, also_at[LH_ALSO_AT]; /* the places that held_by and also_held_by tell, */
  uint32_t printed_at, printed_class;    /* and what the fingerprint is of; UINT32_MAX: several */
} lh_diff_group;

/* A container that was there before a and got bigger from a to b and again from b to c: a table by
** its entries, without those of weak tables that wait for the collector. */
typedef struct lh_grown {
  lh_id id; /* in c */
  uint32_t class_index;
  const char *held_by;                   /* its path; owned by the diff */
  const char *place;                     /* the path folded as in a group; owned by the diff */
  uint64_t shallow_bytes[3], entries[3]; /* at a, b, c */
  uint64_t cause;                        /* as of a group */
  char fingerprint[LH_FINGERPRINT_BYTES];
  uint32_t at; /* private: the number of the place */
} lh_grown;

/* By how much the bytes or the entries of one are more at c than at a, if they are. */
uint64_t lh_grown_by(const uint64_t at[3]);

/* The change of one class between the first and the last snapshot. */
typedef struct lh_class_change {
  const char *name; /* owned by the diff */
  lh_type type;
  uint64_t objects[3], shallow_bytes[3]; /* at a, b, c; with two snapshots [1] is unused */
  uint64_t appeared, gone;               /* objects; only where both snapshots are of one state */
} lh_class_change;

typedef struct lh_diff {
  bool same_state; /* false: different processes or states, compared by class only */
  uint64_t objects, shallow_bytes;   /* new and still reachable */
  lh_count passed_as_old[2];         /* lh_passed_as_old of a and b in c, or of marks */
  uint64_t left_objects, left_bytes; /* of luaheap's module, and of the call: not counted above */
  uint64_t retained_bytes;           /* that would go if all of them went; 0 of lh_diff_history */
  uint64_t gone_objects, gone_bytes; /* two snapshots: reachable in a, not there or garbage in b */
  lh_diff_group *groups;             /* by weight, biggest first */
  size_t n_groups;
  lh_grown *grown; /* three snapshots only; by bytes grown, biggest first */
  size_t n_grown;
  lh_class_change *classes; /* two snapshots, or of different states; by growth of bytes */
  size_t n_classes;
} lh_diff;

/* b NULL: what appeared and went between a and c. Otherwise the three-snapshot technique: what was
** allocated between a and b and is reachable in c. All must stay open as long as the diff. c is
** analysed and classified, and so are the others where classes are compared; of a and b of three no
** more is made than the counts at each place, and nothing is kept. At most as many threads work as
** might open c, one for each snapshot; the answer is the same. Fails with LH_EARGUMENT when the
** snapshots of one state are not in the order of time. Freed by lh_diff_free. O(n + m). */
int lh_diff_snapshots(lh_snapshot *a, lh_snapshot *b, lh_snapshot *c, lh_diff **out,
                      lh_error *error);

/* The same from the marks in one snapshot: allocated after mark `since` and before mark `until`
** (NULL: the snapshot itself); of marks with the same name the latest. No `grown`, no `classes`.
** LH_ENOTFOUND names the marks that there are; a name may be given as it shows it. */
int lh_diff_marks(lh_snapshot *snapshot, const char *since, const char *until, lh_diff **out,
                  lh_error *error);

/* The same of what was allocated in any interval, and stays. */
int lh_diff_interval(lh_snapshot *snapshot, lh_interval interval, lh_diff **out, lh_error *error);

/* The same of one snapshot by the parts of its history (lh_find_history): what was allocated after
** the first and before the last, or since the first mark where that is the only one, and stays;
** and how many of each part are at the same places. */
int lh_diff_history(lh_snapshot *snapshot, const lh_history *history, lh_diff **out,
                    lh_error *error);
void lh_diff_free(lh_diff *diff);

/* Strings of one content, more of them in c than in a. */
typedef struct lh_string_change {
  lh_id example;                 /* in c */
  uint64_t objects[2], bytes[2]; /* in a and in c; more than one object: long strings */
} lh_string_change;

typedef struct lh_string_changes {
  uint64_t new_contents;  /* that a has not at all */
  uint64_t more_contents; /* that a has too, but fewer of them */
  uint64_t more_bytes;    /* by which both are more */
  lh_string_change *rows; /* all of them, by bytes more; freed with lh_free */
  size_t n_rows;
} lh_string_changes;

/* Compares reachable strings by content, never by address, so those of other processes, too. A
** content is its length and hash where the snapshot does not keep all of it. Needs lh_analyse of
** both. O(n log n). */
int lh_compare_strings(lh_snapshot *a, lh_snapshot *c, lh_string_changes *out, lh_error *error);

/* What an object is in another snapshot of the same state, an earlier or a later one; LH_NO_OBJECT:
** it is not there. Exact, though memory is reused, where marks are in the heap. O(marks). */
lh_id lh_same_object(const lh_snapshot *snapshot, lh_id id, const lh_snapshot *other);

/* Are all its snapshots of one Lua state? If not, functions are told without their lines. */
bool lh_ladder_same_state(const lh_ladder *ladder);

typedef struct lh_figures {
  uint64_t objects, entries; /* of the row itself; entries of tables */
  uint64_t bytes;            /* with what they retain */
  uint64_t all_objects;      /* the same */
} lh_figures;

typedef struct lh_growth_row {
  const char *class_name; /* by path: of most of its objects in the last snapshot that has any */
  lh_type type;
  const char *held_by; /* folded path; NULL in a row by class */
  char fingerprint[LH_FINGERPRINT_BYTES];
  lh_verdict verdict;      /* of objects, entries and bytes the worst */
  const lh_figures *at;    /* in each snapshot */
  int64_t grew_bytes[2];   /* in the first step, and after it; of two snapshots: 0, and from one to
                               the other; of halves: before, and after */
  int64_t grew_objects[2]; /* the same of all_objects */
  double bytes_per_step;   /* of the second of these */
  double bytes_per_second;
  uint64_t cause;                     /* as of a group of a diff */
  uint32_t printed_at, printed_class; /* private: what the fingerprint is of */
  const char *printed_name;
} lh_growth_row;

typedef struct lh_growth {
  bool same_state; /* false: several processes or states, so lines of functions are left out */
  size_t n_snapshots;
  double *at_seconds;   /* each snapshot, since the first */
  double seconds;       /* from the second snapshot (of two the first) to the last; 0: not known */
  lh_figures *whole;    /* in each snapshot: all that is reachable */
  lh_figures *level;    /* of that, what is in no row by path */
  lh_growth_row *paths; /* worst verdict first, then by bytes a step. Their bytes and all_objects,
                           and `level`, add up to `whole` */
  size_t n_paths;
  lh_growth_row *classes; /* bytes are shallow here, and all_objects are objects */
  size_t n_classes;
  lh_figures *by_path, *by_class; /* private: what rows have */
} lh_growth;

/* The rows of a ladder of at least two snapshots that are not level. Of a path and what it retains
** there is one row, unless something below it goes up more steadily; then that has a row of its
** own. LH_EARGUMENT: those of one state are not in the order of time. Texts are borrowed from the
** ladder, which stays as it is. Freed by lh_growth_free. O(paths * snapshots). */
int lh_ladder_growth(const lh_ladder *ladder, lh_growth **out, lh_error *error);

/* The same where the first half of the snapshots was taken before a change of the program and the
** second half after it: what grew from the first to the last of each half, side by side, by the
** greater of the two. Of one snapshot before and one after: what became more and less. */
int lh_ladder_halves(const lh_ladder *ladder, lh_growth **out, lh_error *error);

/* Is it fixed? Rows by path count whose growth is at least a tenth of the greatest there is, before
** or after. NULL: there is none. */
typedef struct lh_answer {
  bool is_fixed; /* something no longer grows, nothing still does, and none of its class now */
  const lh_growth_row *no_longer; /* the greatest of each kind */
  const lh_growth_row *still;
  const lh_growth_row *now; /* one of the class of no_longer before others: it may have moved */
} lh_answer;

/* O(rows). */
void lh_answer_of(const lh_growth *growth, lh_answer *answer);

/* A part of the heap in the first and the last snapshot of a ladder: what is called so by its
** folded path, and all that only it keeps alive. Below the whole are the globals, the modules, the
** entries of the registry, the threads and the like: _G, package.loaded and the registry are no
** owners, but the whole. Below each are the parts that it consists of, with no byte twice. */
typedef struct lh_part {
  const char *held_by; /* folded path, borrowed from the ladder; "" for the whole and if shared */
  const char *path;    /* the same with [*] for any key that varies: so it is found again */
  const char *class_name; /* NULL for the whole and if shared */
  lh_type type;
  bool shared;                   /* what several parts of the one above keep alive together */
  size_t above;                  /* index of the part that it is a part of, smaller than its own */
  uint64_t objects[2], bytes[2]; /* with all parts below */
  uint64_t own_objects[2], own_bytes[2]; /* without */
  uint32_t at;                           /* private */
} lh_part;

/* The tree of parts; the first is the whole. At each of both times the own figures of a part and
** the figures of the parts below it add up to its figures, exactly, and so do the differences. Free
** *parts with lh_free. O(paths). */
int lh_ladder_owners(const lh_ladder *ladder, lh_part **parts, size_t *n_parts, lh_error *error);

/* What held_by of a part adds to that of the part above it; all of it, if that does not go on from
** there. NULL: out of memory; freed with lh_free. */
char *lh_part_steps(const lh_ladder *ladder, const lh_part *part, const lh_part *above);

/* What fingerprints were in the release before, to be found in older files of --known: ten digits.
** False: out of memory. */
bool lh_older_of_group(lh_snapshot *c, const lh_diff_group *group,
                       char older[LH_FINGERPRINT_BYTES]);
bool lh_older_of_grown(lh_snapshot *c, const lh_grown *grown, char older[LH_FINGERPRINT_BYTES]);
bool lh_older_of_growth(const lh_ladder *ladder, const lh_growth_row *row,
                        char older[LH_FINGERPRINT_BYTES]);

const char *lh_verdict_name(lh_verdict verdict); /* "grows steadily", "grew once", ... */
void lh_growth_free(lh_growth *growth);

#endif
