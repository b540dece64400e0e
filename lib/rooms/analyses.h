/* analyses.h - modules, why a set of objects is alive, and pictures of paths. */
#pragma once

#include <stdio.h>

#include "rooms/graph.h"

/* ==== 1. Analyses =================================================================== */

/* Frees what questions about leaks and places have kept for the next ones: linked lists and folded
** paths, 12 bytes an object. Another of them takes its passes again. */
void lh_drop_lists(lh_snapshot *snapshot);

/* An object that refers to `objects` of the objects that accumulated. */
typedef struct lh_holder {
  const char *path; /* folded: of several similar objects */
  uint64_t objects;
  const char *through;      /* lh_merged_paths: for paths that begin at a function, who holds the
                               function (see lh_path_through), for most of them; else NULL */
  uint64_t through_objects; /* the number of objects for which `through` is true */
} lh_holder;

/* A loaded module, or a global variable, whose value is an object. */
typedef struct lh_module {
  const char *name; /* a path: package.loaded["app.bus"], _G.cache */
  lh_value key;     /* in package.loaded or _G */
  lh_id id;
  uint64_t retained_bytes; /* kept alive only by this module */
  uint64_t reached_objects, reached_bytes;
  uint64_t shared_bytes; /* of reached_bytes: also reached or kept alive by others */
} lh_module;

typedef struct lh_modules {
  lh_module *list; /* by retained_bytes, most first; ties by name */
  size_t n;        /* modules in the list */
  uint64_t total;
  uint64_t retained_bytes; /* sum over all modules; counts no byte twice */
  uint64_t reached_bytes;  /* reached by all modules together */
} lh_modules;

/* Lists the values of package.loaded and then of _G, with their retained sizes but without reached
** figures and sums. An object with several names is listed once, as a module rather than a global.
** Needs lh_classify. Freed by lh_modules_free. O(n + k log k) for k of them. */
int lh_list_modules(lh_snapshot *snapshot, lh_modules *out, lh_error *error);
void lh_modules_free(lh_modules *modules);

enum { LH_MOST_HOLDERS = 5 };

/* A row in the tree of merged paths to a set of objects. */
typedef struct lh_merged_row {
  uint32_t depth;    /* 0: the root */
  uint64_t hidden;   /* rows that are hidden here; a hidden row has no steps, path, id or class */
  const char *steps; /* the steps from the row above, folded: .listeners.tick[*] */
  const char *path;  /* the path to the row; "" for the root */
  lh_id id;          /* an object here: of those in the set, if any, the one that retains most */
  uint32_t class_index; /* of the objects here; UINT32_MAX: several classes */
  uint64_t through;     /* objects here, in the set or on the paths to the set */
  uint64_t here;        /* objects of the set here */
  uint64_t objects;     /* objects of the set here or below */
  uint64_t bytes;       /* bytes freed with the whole set, counted at the last objects of the set
                           on all paths to them */
} lh_merged_row;

typedef struct lh_merged_paths {
  uint64_t objects, bytes;                 /* of the live objects of the set; freed bytes */
  uint32_t class_index;                    /* of the live objects; UINT32_MAX: several, none */
  uint64_t garbage_objects, garbage_bytes; /* of the set, not alive; shallow bytes */
  lh_merged_row *rows;                     /* in preorder; rows of one level by bytes */
  size_t n_rows;                           /* 0: no object is alive */
  lh_holder holders[LH_MOST_HOLDERS];      /* the paths that hold most objects */
  uint32_t n_holders;
  uint64_t total_holders;
  uint64_t objects_elsewhere; /* objects that stay if the last reference of each object's path is
                                 removed */
  lh_holder elsewhere;        /* the path that then keeps most of these objects; path NULL: none */
} lh_merged_paths;

/* Merges the shortest paths of all `ids` into one tree, which shows why a set of objects is alive.
** Steps are folded as in lh_path_text; steps without a branch are one row. A row's bytes are the
** bytes of the rows below, of the objects of the set here, and of what several of these hold
** together: two rows count a byte twice only if one is below the other. `limit`: about how many
** rows, the biggest (0: all). An id may be given twice; luaheap's own objects are ignored. Needs
** lh_classify. Freed by lh_merged_paths_free. Costs the edges on the paths, and as much as the
** dominators in lh_analyse. */
int lh_merge_paths(lh_snapshot *snapshot, const lh_id *ids, size_t n_ids, size_t limit,
                   lh_merged_paths *out, lh_error *error);
void lh_merged_paths_free(lh_merged_paths *merged);

/* ==== 2. Pictures =================================================================== */

/* Writes paths that end in one object as a DOT graph, for dot -Tsvg. A path may also be one edge
** without LH_ROOT, as from lh_referrers. A path of `long_path` steps or more is folded in the
** middle. LH_EIO: cannot write to `out`; LH_ELIMIT: more than 4,000 arrows. O(steps). */
int lh_dot_paths(const lh_snapshot *snapshot, const lh_path *paths, size_t n_paths,
                 size_t long_path, FILE *out, lh_error *error);

/* Writes the result of lh_find_below, as lh_dot_paths does. Needs lh_classify. */
int lh_dot_below(const lh_snapshot *snapshot, const lh_below *below, FILE *out, lh_error *error);

/* Writes merged paths as a DOT graph: a box for each row, its steps on the arrow; thicker arrows
** have more bytes. Fails as lh_dot_paths does. O(rows). */
int lh_dot_merged_paths(const lh_snapshot *snapshot, const lh_merged_paths *merged, FILE *out,
                        lh_error *error);
