/*
** diff.h - what the files that compare snapshots share: age.c (which object is new, which the
** same), groups.c (the leaks by place), grown.c (containers), changes.c (classes), strings.c (strings
** by content) and diff.c, which puts the parts of a diff together. Private to the library.
*/
#ifndef LUAHEAP_DIFF_H
#define LUAHEAP_DIFF_H

#include "luaheap_compare.h"
#include "name/place.h"
#include "read/snapshot.h"

/* {=== age.c ========================================================================= */

/* A time between two marks of snapshot c. `a` and `b`, where there are any, are the snapshots of
** those marks: they tell revived objects from new ones. */
typedef struct lh_window {
  const lh_snapshot *a, *b, *c;
  uint32_t since; /* index of the mark in c; new objects are younger, */
  uint32_t until; /* and older than this one; the number of marks: any */
  lh_id call[2];  /* of c: lh_find_call */
} lh_window;

/* The objects that only the call heap.snapshot(name, options) keeps alive, which took the snapshot:
** its arguments. They are no part of the program. LH_NO_OBJECT where there is none. */
void lh_find_call(const lh_snapshot *snapshot, lh_id arguments[2]);

/* Was object `id` of c allocated in the window? */
bool lh_is_new(const lh_window *window, lh_id id);

/* What object `id` of `later` was in `earlier`, whose mark is number `mark` of `later`;
** LH_NO_OBJECT if it was not there. Exact, though memory is reused: what is younger than the mark
** is another object. */
lh_id lh_earlier_self(const lh_snapshot *later, lh_id id, const lh_snapshot *earlier,
                      uint32_t mark);

/* }=================================================================================== */

/* {=== The parts of a diff: each fills its fields of *diff ============================ */

/* What the caller sees, and what holds the groups. */
typedef struct lh_whole_diff {
  lh_diff visible;
  lh_strings paths;
} lh_whole_diff;

/* groups.c: objects, shallow_bytes, retained_bytes and groups, of the objects with new_ones[id]. */
int lh_diff_groups(lh_snapshot *c, const uint8_t *new_ones, lh_whole_diff *diff, lh_error *error);

/* grown.c: grown; a and b are analysed where weak tables grew. The numbers are those of the marks
** of a and b in c, and of a in b. */
typedef struct lh_three {
  lh_snapshot *a, *b, *c;
  uint32_t a_in_c, b_in_c, a_in_b;
} lh_three;

int lh_diff_grown(const lh_three *three, lh_diff *diff, lh_error *error);

/* changes.c: classes, and gone_* if `same_state`. b may be NULL. */
int lh_diff_changes(const lh_snapshot *a, const lh_snapshot *b, const lh_snapshot *c,
                    uint32_t a_in_c, lh_diff *diff, lh_error *error);

/* }=================================================================================== */

#endif
