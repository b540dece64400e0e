/*
** growth.h - what the files share that compare any number of snapshots, of one process or several:
** census.c (what each snapshot has, by class and place), trie.c (the tree that this is), view.c
** (the same tree by path alone), main_class.c (of what class a path is), verdict.c (what a row of
** figures says), ladder.c (rows by path and by class, also before and after), owners.c (the parts
** of a whole). Private to the library.
**
** No object of one snapshot is looked for in another. Each snapshot is folded: its tree of
** dominators, with each object replaced by what it is called (folded path and class) and what is
** called the same below the same thing made one. That tree, of some thousands of vertices where the
** heap has millions, is all that is kept; so a snapshot can be closed before the next is opened.
** Nothing is lost that adds up: the bytes of a vertex and all below it are those that it retains.
*/
#ifndef LUAHEAP_GROWTH_H
#define LUAHEAP_GROWTH_H

#include "compare/diff.h"

/* {=== trie.c ======================================================================== */

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

/* }=================================================================================== */

/* {=== census.c ====================================================================== */

/* What is called the same. */
typedef struct lh_kind {
  lh_text_id path, stable_path; /* folded; and without lines of functions and the like */
  lh_text_id numbers;           /* with * for numbers in names; LH_NO_NUMBER: has none */
  lh_text_id name;              /* with a key in place of [*], if all snapshots had that one only */
  uint32_t class_row;
  bool shared; /* its immediate dominator does not hold it, but several things do that it holds */
} lh_kind;

typedef struct lh_known_class {
  lh_class_entry entry; /* its texts are of `texts` */
  lh_text_id stable;    /* the name without lines of functions and the like */
  lh_text_id numbers;   /* of a module, with * for numbers in its name; LH_NO_NUMBER: has none */
} lh_known_class;

typedef struct lh_tally {
  uint64_t objects, bytes, entries;
} lh_tally;

/* One snapshot: the counts of all, of each vertex and of each class that was known then. */
typedef struct lh_rung {
  uint64_t state_id, time_ns;
  uint32_t serial;
  lh_text_id name;
  lh_tally whole;
  lh_tally *of_vertex, *of_class;
  size_t n_vertices, n_classes;
} lh_rung;

struct lh_ladder {
  lh_strings texts;
  lh_known_class *classes;
  size_t n_classes, class_capacity;
  lh_map class_by_identity, class_by_place;
  lh_kind *kinds;
  size_t n_kinds, kind_capacity;
  lh_map kind_by_words;
  lh_trie trie; /* its labels are kinds */
  lh_rung *rungs;
  size_t n_rungs, rung_capacity;
};

/* }=================================================================================== */

/* {=== view.c ======================================================================== */

/* The ladder's tree with other labels, rows: kinds that are told as one. */
typedef struct lh_view {
  uint32_t *row_of;  /* of each kind */
  lh_text_id *paths; /* of each row: what its kinds have in common, */
  lh_text_id *names; /* and what a person is told: more exact, where all of them agree */
  bool *has_numbers; /* of each row: is it told with * for them? */
  size_t n_rows;
  lh_trie trie;
  uint32_t *vertex_of; /* of each vertex of the ladder's tree */
  lh_tally *counts;    /* of vertex v in snapshot k: [k * trie.n + v] */
} lh_view;

/* One row for each path (each stable path, where the ladder is not exact), and for all that differ
** in numbers in their names only, where they are many (lh_fold_numbers). With `apart`, what is
** shared is below a vertex of its own, whose label is n_rows or greater. */
bool lh_view_make(const lh_ladder *ladder, bool apart, lh_view *view);
void lh_view_free(lh_view *view);

/* A class as a row tells it. */
lh_class_entry lh_view_class(const lh_ladder *ladder, const lh_view *view, uint32_t row,
                             uint32_t class_row);

/* }=================================================================================== */

/* {=== main_class.c ================================================================== */

/* Fills in the class row of each row of the view. */
bool lh_find_main_classes(const lh_ladder *ladder, const lh_view *view, uint32_t *main_class);

/* }=================================================================================== */

/* {=== verdict.c ===================================================================== */

/* What becomes of a figure over n snapshots (see lh_verdict in luaheap_compare.h). */
lh_verdict lh_verdict_of(const uint64_t *figures, size_t n);

/* The same of what grew by so much before, and by so much after. */
lh_verdict lh_verdict_of_two(int64_t before, int64_t after);

/* }=================================================================================== */

#endif
