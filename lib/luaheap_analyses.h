/*
** luaheap_analyses.h - what one snapshot can tell: what leaks and what may grow, who owns what,
** what is wasted, what a class is like, and why a whole set of objects is alive. And pictures of
** it.
*/
#ifndef LUAHEAP_PUBLIC_ANALYSES_H
#define LUAHEAP_PUBLIC_ANALYSES_H

#include <stdio.h>

#include "luaheap_graph.h"

LH_API_BEGIN

/* ==== 1. Analyses =================================================================== */

/* An object that refers to `objects` of those that accumulated. */
typedef struct lh_holder {
  const char *path; /* folded: of several alike */
  uint64_t objects;
  const char *through;      /* of lh_merged_paths: who holds the function where the path begins at
                               one, as lh_path_through tells it, of most of them; else NULL */
  uint64_t through_objects; /* of how many of them */
} lh_holder;

/* A loaded module, or a global variable, whose value is an object. */
typedef struct lh_module {
  const char *name; /* as a path: package.loaded["app.bus"], _G.cache */
  lh_value key;     /* in that table */
  lh_id id;
  uint64_t retained_bytes; /* that it alone keeps alive */
  uint64_t reached_objects, reached_bytes;
  uint64_t shared_bytes; /* of these, that others reach or keep alive, too */
} lh_module;

typedef struct lh_modules {
  lh_module *list; /* those that keep most alive alone first; ties by name */
  size_t n;        /* of them, those asked for */
  uint64_t total;
  uint64_t retained_bytes; /* the sum of all: no byte is kept alive alone by two */
  uint64_t reached_bytes;  /* that all of them reach together */
} lh_modules;

/* The values of package.loaded and then of _G, with what each keeps alive alone; without what they
** reach, and without sums. An object with several names is there once, as a module rather than a
** global. Needs lh_classify. Freed by lh_modules_free. O(n + k log k) for k of them. */
int lh_list_modules(lh_snapshot *snapshot, lh_modules *out, lh_error *error);
void lh_modules_free(lh_modules *modules);

enum { LH_MOST_HOLDERS = 5 };

/* A row of the tree of the paths on which the objects of a set are kept alive. */
typedef struct lh_merged_row {
  uint32_t depth;       /* 0: the root */
  uint64_t hidden;      /* so many rows of a level that are not shown: no steps, path, id, class */
  const char *steps;    /* how it goes on from the row above, folded: .listeners.tick[*] */
  const char *path;     /* where it leads, as in lh_diff_group; "" for the root */
  lh_id id;             /* an object there: the one of the set, if any is, that retains most */
  uint32_t class_index; /* of the objects there; UINT32_MAX: of several */
  uint64_t through;     /* objects there, of the set or on the way to it */
  uint64_t here;        /* objects of the set that are there */
  uint64_t objects;     /* objects of the set that are there or further on */
  uint64_t bytes;       /* of what goes if the whole set goes: that to which these are the last of
                           the set on all paths */
} lh_merged_row;

typedef struct lh_merged_paths {
  uint64_t objects, bytes;                 /* of the set, alive; and what would go if all went */
  uint32_t class_index;                    /* of all these; UINT32_MAX: several, none */
  uint64_t garbage_objects, garbage_bytes; /* of the set, not alive; their shallow bytes */
  lh_merged_row *rows;                     /* in preorder; those of one level by bytes */
  size_t n_rows;                           /* 0: none is alive */
  lh_holder holders[LH_MOST_HOLDERS];      /* the paths by which most of them are held */
  uint32_t n_holders;
  uint64_t total_holders;
  uint64_t objects_elsewhere; /* so many of the set would stay if of each one's path the last
                                 reference went, */
  lh_holder elsewhere;        /* the path by which most of those would stay; path NULL: none */
} lh_merged_paths;

/* Why a whole set of objects is alive: the shortest paths of all `ids` as one tree, its steps
** folded as in lh_path_text, those that follow each other without a branch as one row. The bytes of
** a row are those of the rows below it, of the objects of the set that are there, and what several
** of these hold together: no byte is in two rows, unless one is below the other. `limit`: about so
** many rows, the biggest (0: all). An id may be there twice; objects of luaheap are left out. Needs
** lh_classify. Freed by lh_merged_paths_free. Costs the edges on the paths, and as much as the
** dominators of lh_analyse. */
int lh_merge_paths(lh_snapshot *snapshot, const lh_id *ids, size_t n_ids, size_t limit,
                   lh_merged_paths *out, lh_error *error);
void lh_merged_paths_free(lh_merged_paths *merged);

/* ==== 2. Pictures =================================================================== */

/* Writes paths that end in one object as a DOT graph, ready for dot -Tsvg. A path may also be a
** single edge that does not start at LH_ROOT, such as one of lh_referrers. `long_path`: from how
** many steps on the middle of a path is folded. Fails with LH_EIO where `out` cannot be written,
** with LH_ELIMIT where there are more than 4,000 arrows, and with LH_EMEMORY. O(steps). */
int lh_dot_paths(const lh_snapshot *snapshot, const lh_path *paths, size_t n_paths,
                 size_t long_path, FILE *out, lh_error *error);

/* Writes what lh_find_below found, as lh_dot_paths does. Needs lh_classify. */
int lh_dot_below(const lh_snapshot *snapshot, const lh_below *below, FILE *out, lh_error *error);

/* Writes merged paths as a DOT graph with a box for each row, and its steps on the arrow, thicker
** where more bytes are. Fails as lh_dot_paths does. O(rows). */
int lh_dot_merged_paths(const lh_snapshot *snapshot, const lh_merged_paths *merged, FILE *out,
                        lh_error *error);

LH_API_END

#endif
