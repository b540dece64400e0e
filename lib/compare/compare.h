/*
** compare.h - what the files that compare snapshots share. Private to the library.
**
** Two or three snapshots of one process, or the marks in one: matched.c (where a mark would be that
** a snapshot lacks), age.c (which object is new, which the same), groups.c (the new ones by place),
** joint.c (what several places hold together), made.c (how many were made where these were),
** grown.c (containers), changes.c (classes), strings.c (strings by content) and diff.c, which puts
** the parts of a diff together.
**
** Any number of snapshots, of one process or several: census.c (what each has, by class and place,
** as a tree), view.c (the same tree by path alone, and as the parts of a whole), ladder.c (rows
** by path and by class, also before and after). No object of one snapshot is looked for in
** another. Each snapshot is folded: its tree of dominators, with each object replaced by its
** place, and what is at the same place below the same thing made one. That tree, of some
** thousands of vertices where the heap has millions, is all that is kept; so a snapshot can be
** closed before the next is opened. Nothing is lost that adds up: the bytes of a vertex and all
** below it are those that it retains.
**
** For both: known_classes.c (which classes of several snapshots are the same), causes.c (which rows
** are about one cause).
*/
#ifndef LUAHEAP_COMPARE_H
#define LUAHEAP_COMPARE_H

#include "compare/answers.h"
#include "matched.h"
#include "name/place.h"
#include "read/snapshot.h"

/* ==== known_classes.c =============================================================== */

typedef struct lh_known_class {
  lh_class_entry entry; /* its texts are those of all */
  lh_text_id numbers;   /* of a module, with * for numbers in its name; LH_NO_NUMBER: has none */
} lh_known_class;

/* The classes of several snapshots, each once. All zero but for `texts` there are none. */
typedef struct lh_known_classes {
  lh_strings *texts; /* of all */
  lh_known_class *list;
  size_t n, capacity;
  lh_map by_identity, by_code;
  lh_map differing; /* a text with * for all its numbers -> with * for those only that differ */
} lh_known_classes;

/* Adds the classes of a snapshot, and fills in the number of each of them. A function may have
** another name there: the code that names it may be gone. False: out of memory. */
bool lh_know_classes(lh_known_classes *known, const lh_snapshot *snapshot, uint32_t *number_of);
void lh_known_free(lh_known_classes *known);

/* Fills in the row of each known class: its own if `exact`; or that of all that are called the same
** in other builds. False: out of memory. */
bool lh_label_classes(const lh_known_classes *known, bool exact, uint32_t *row_of, size_t *n_rows);

/* The name of a row to which this class is added: its own, or where the row has another `name`,
** what both are called. NULL: it has no name yet. */
const char *lh_name_with(const lh_known_classes *known, const lh_known_class *class,
                         const char *name);

/* ==== age.c ========================================================================= */

/* A time in snapshot c. `a` and `b`, where there are any, are the snapshots of the marks between
** which it is: they tell revived objects from new ones. */
typedef struct lh_window {
  const lh_snapshot *a, *b, *c;
  uint32_t since; /* index of a mark in c: new objects are younger */
  uint32_t until; /* index of a mark in c: new objects are older; the number of marks: any are */
  lh_id_range allocated[2]; /* where there is no `a`: lh_objects_in; then there are no marks */
  lh_id call[2];            /* of c: lh_find_call */
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

/* ==================================================================================== */

/* "snapshots must be given in the order of time ...". LH_EARGUMENT. */
int lh_fail_order(lh_error *error, const char *earlier, const char *later);

/* ==== The parts of a diff: each fills its fields of *diff ============================ */

/* What the caller sees, and the texts in it. */
typedef struct lh_whole_diff {
  lh_diff visible;
  lh_strings paths; /* of groups */
  lh_print *places; /* of groups, by lh_diff_group.place */
  uint32_t *alike;  /* the place with which that is counted, or itself */
  size_t n_places;
  lh_strings names; /* of classes */
} lh_whole_diff;

/* groups.c: objects, shallow_bytes and groups, of the objects with new_ones[id]; retained_bytes,
** too, if what these retain `together` is asked for. */
int lh_diff_groups(lh_snapshot *c, const uint8_t *new_ones, bool together, lh_whole_diff *diff,
                   lh_error *error);

void lh_sort_groups(lh_diff *diff);

/* groups.c and joint.c: which new objects go under which, and what holds them together. */

/* There is a group for each place of a top: of a new object that no other new object dominates. */
typedef struct lh_grouping {
  lh_snapshot *c;
  const uint8_t *new_ones; /* of each object: is it new? */
  lh_id *top;              /* of each object: the new object furthest up among it and its
                              dominators; LH_ROOT: none */
  lh_id *tops;
  size_t n_tops;
  lh_id *holders; /* what refers to another one's top, in ascending order */
  size_t n_holders;
  lh_places places;
  size_t n_groups;       /* one for each of the places of tops, which come first */
  lh_diff_group *groups; /* joint.c changes held_by, and sets also_held_by */
  uint64_t *n_tops_at;   /* of each group */
  uint32_t *into;        /* of each group: the one that counts it, or itself */
  uint32_t *alike;       /* of each group: the one whose objects its own are of, or itself */
} lh_grouping;

static inline uint32_t lh_group_at(const lh_grouping *g, lh_id top) {
  return g->into[lh_place_of(&g->places, top)];
}

/* For tops that are known. False: out of memory. O(n + m). */
bool lh_find_holders(lh_grouping *g);

/* Finds for each group what holds it, and which groups are one because they hold one together. For
** grouping with tops at their places. False: out of memory. O(edges of the holders). */
bool lh_join_holders(lh_grouping *g);

/* made.c: of a tracked program, how many objects were made where the groups were, from a to the
** moment until which they count as new (b, or c if that is NULL), and stay. a NULL: since tracking
** began; then all of c that is reachable stays, whatever new_ones says. */
int lh_diff_made(const lh_window *window, const uint8_t *new_ones, lh_diff *diff, lh_error *error);

/* grown.c: grown; a and b are analysed where weak tables grew. The numbers are those of the marks
** of a and b in c, and of a in b. */
typedef struct lh_three {
  lh_snapshot *a, *b, *c;
  uint32_t a_in_c, b_in_c, a_in_b;
} lh_three;

int lh_diff_grown(const lh_three *three, lh_diff *diff, lh_error *error);

/* changes.c: classes, and gone_* if `same_state`. b may be NULL. */
int lh_diff_changes(const lh_snapshot *a, const lh_snapshot *b, const lh_snapshot *c,
                    uint32_t a_in_c, lh_whole_diff *whole, lh_error *error);

/* ==== causes.c ====================================================================== */

/* A row at a place; `cause` gets the number of its cause. */
typedef struct lh_caused {
  uint32_t place;
  uint64_t bytes;
  uint64_t *cause;
  size_t number; /* in the order that they are given in */
} lh_caused;

/* Rows that are about one cause get one number, counted from 1. The rows are sorted then. False:
** out of memory. */
bool lh_number_causes(const lh_place_tree *tree, lh_caused *rows, size_t n);

/* ==== census.c ====================================================================== */

/* A tree whose edges are labelled with numbers. Vertex 0 is its root; each has a greater number
** than the one above it. */
typedef struct lh_vertex {
  uint32_t above; /* of the root: itself */
  uint32_t label;
  uint32_t depth;
} lh_vertex;

typedef struct lh_trie {
  lh_vertex *vertices;
  size_t n, capacity;
  lh_map steps; /* vertex, label -> vertex */
} lh_trie;

bool lh_trie_begin(lh_trie *trie);
void lh_trie_free(lh_trie *trie);

/* The vertex below `vertex` with this label, made if it is new; LH_NO_NUMBER: out of memory. No
** label comes twice on a way from the root: the step leads back up to the vertex that has it. */
uint32_t lh_trie_step(lh_trie *trie, uint32_t vertex, uint32_t label);

/* What is of one class at one place in several snapshots. All are places of the ladder's tree. */
typedef struct lh_known_place {
  uint32_t path, stable_path; /* also without lines of functions and the like */
  uint32_t numbers;           /* with * for numbers in names; LH_NO_PLACE: has none */
  uint32_t name; /* with a key in place of [*], if all snapshots had that one only; LH_NO_PLACE: not
                    known yet */
  uint32_t class_row;
  bool shared; /* its immediate dominator does not hold it, but several things do that it holds */
} lh_known_place;

typedef struct lh_census_count {
  uint64_t objects, bytes, entries;
} lh_census_count;

/* One snapshot: the counts of all, of each vertex and of each class that was known then. */
typedef struct lh_snapshot_counts {
  uint64_t state_id, time_ns;
  uint32_t serial;
  lh_text_id name;
  lh_census_count whole;
  lh_census_count *of_vertex, *of_class;
  size_t n_vertices, n_classes;
} lh_snapshot_counts;

struct lh_ladder {
  lh_strings texts;
  lh_known_classes known;
  lh_place_tree tree;
  lh_map differing; /* place with * for all its numbers -> with * for those only that differ */
  lh_map text_of;   /* place that a row may be told by -> its text */
  lh_known_place *places;
  size_t n_places, place_capacity;
  lh_map place_by_words;
  lh_trie trie; /* its labels are places */
  lh_snapshot_counts *snapshots;
  size_t n_snapshots, snapshot_capacity;
};

/* ==== view.c ======================================================================== */

/* Places that are told as one. */
typedef struct lh_view_row {
  uint32_t path;    /* what its places have in common */
  uint32_t name;    /* what a person is told, more exact where all places agree */
  bool has_numbers; /* it is told with * for them */
} lh_view_row;

/* The ladder's tree with rows as labels. */
typedef struct lh_view {
  uint32_t *row_of; /* of each place */
  lh_view_row *rows;
  size_t n_rows;
  lh_trie trie;
  uint32_t *vertex_of;     /* of each vertex of the ladder's tree */
  lh_census_count *counts; /* of vertex v in snapshot k: [k * trie.n + v] */
} lh_view;

/* One row for each path (each stable path, where the ladder is not exact), and for all that differ
** in numbers in their names only, where they are many (lh_fold_numbers). With `apart`, what is
** shared is below a vertex of its own, whose label is n_rows or greater. */
bool lh_view_make(const lh_ladder *ladder, bool apart, lh_view *view);
void lh_view_free(lh_view *view);

/* The text of a place that a row is told by. */
static inline const char *lh_ladder_text(const lh_ladder *ladder, uint32_t place) {
  return ladder->texts.texts[lh_map_get(&ladder->text_of, place)];
}

/* The name of a class with * for its numbers, if the row has such; `is_stable`: as the fingerprint
** of the row has it. And what a person is told that it is called. */
const char *lh_view_name(const lh_ladder *ladder, const lh_view *view, uint32_t row,
                         uint32_t class_row, bool is_stable);
const char *lh_view_class_name(const lh_ladder *ladder, const lh_view *view, uint32_t row,
                               uint32_t class_row);

/* Fills in the class row of each row of the view. */
bool lh_find_main_classes(const lh_ladder *ladder, const lh_view *view, uint32_t *main_class);

#endif
