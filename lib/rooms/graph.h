/* graph.h - retained sizes, dominators, classes, names, paths, and finding objects. */
#pragma once

#include "rooms/read.h"

/* ==== 1. Retained sizes, dominators, distance ======================================= */

/* Computes reachability (as the collector does: weak tables, ephemerons), distances, shortest
** paths, immediate dominators and retained sizes. Needed once before the calls below and those of
** the next headers; a second call does nothing. O(n + m), dominators O(m log n); at the peak at
** most 80 bytes an object, with 3 edges each. */
int lh_analyse(lh_snapshot *snapshot, lh_error *error);

/* Frees what questions for pictures (treemap, flame, timeline) and fields have kept for the next
** ones. Another of them takes its pass again; texts of its answers are gone. */
void lh_drop_pictures(lh_snapshot *snapshot);

/* References and objects to ignore. An edge is given by its source, target, kind, and key or index
** and ordinal, as from lh_edges_next. An entry under a weak key is one with its ephemeron: either
** edge ignores both. An object takes all its edges with it. */
typedef struct lh_without {
  const lh_edge *edges;
  size_t n_edges;
  const lh_id *objects;
  size_t n_objects;
} lh_without;

/* Analyses as lh_analyse does, as though none of the n `without` were there. What only they keep
** alive is garbage. They are in no path, distance, dominator, retained size or name, but are still
** listed as edges that are `weak` and `left_out`. May be called after lh_analyse: earlier results
** are then invalid, but classes keep their names, and count what is now reachable. Each call
** replaces the ignored set of the call before. On failure (LH_EARGUMENT: no such edge or object;
** LH_EMEMORY) the snapshot is not analysed. Costs as much as lh_analyse, and the edges of the
** sources of ignored edges. */
int lh_analyse_without(lh_snapshot *snapshot, const lh_without *without, size_t n, lh_error *error);

bool lh_is_reachable(const lh_snapshot *snapshot, lh_id id);

/* Bytes that would be freed with the object: its own and those of all objects that it dominates.
** LH_ROOT: all reachable bytes. Garbage: 0. */
uint64_t lh_retained_bytes(const lh_snapshot *snapshot, lh_id id);

/* LH_ROOT if several roots hold the object; LH_NO_OBJECT for garbage and for LH_ROOT. */
lh_id lh_immediate_dominator(const lh_snapshot *snapshot, lh_id id);

/* lh_distance: edges on the shortest path from LH_ROOT; UINT32_MAX for garbage. lh_nearest_holder:
** the object before the last edge on that path, LH_ROOT if a root refers to `id`; LH_NO_OBJECT for
** garbage and for LH_ROOT. */
uint32_t lh_distance(const lh_snapshot *snapshot, lh_id id);
lh_id lh_nearest_holder(const lh_snapshot *snapshot, lh_id id);

typedef struct lh_reach {
  uint64_t reachable_objects, reachable_bytes;
  uint64_t garbage_objects, garbage_bytes;
  uint64_t own_bytes; /* of the reachable bytes: luaheap's objects, such as marks */
  uint64_t objects_of[LH_TYPE_COUNT], bytes_of[LH_TYPE_COUNT]; /* reachable, by type */
} lh_reach;

void lh_reach_totals(const lh_snapshot *snapshot, lh_reach *out);

/* Bytes (and objects, if not NULL) that would be freed if all `ids` were freed together; each is
** counted once. O(n + m). */
int lh_retained_together(lh_snapshot *snapshot, const lh_id *ids, size_t n_ids, uint64_t *bytes,
                         uint64_t *objects, lh_error *error);

/* ==== 2. Classes and names ========================================================== */

/* The class of an object: the metatable's __name, else the name under which the metatable is found.
** A plain table has a shape such as "{id, name, next}", or its contents, such as "array of
** Listener". A function has "function name @file:line"; a coroutine has its function. */
typedef struct lh_class {
  const char *name; /* valid UTF-8, without control characters */
  lh_type type;
  uint64_t objects, shallow_bytes; /* reachable instances */
  uint64_t garbage_objects, garbage_bytes;
} lh_class;

/* Assigns a class to every object. Needs lh_analyse. A second call does nothing. LH_ELIMIT: all
** names together take more than 16 times the file's size (and 1 MiB). O(n + m). */
int lh_classify(lh_snapshot *snapshot, lh_error *error);

uint32_t lh_class_count(const lh_snapshot *snapshot);
const lh_class *lh_class_at(const lh_snapshot *snapshot, uint32_t class_index);
uint32_t lh_class_of(const lh_snapshot *snapshot, lh_id id); /* UINT32_MAX: luaheap's own object */

/* Finds the code that names a string: prototypes with the string as a constant (a field's name or
** any text) or as a variable's name, by ascending id. Stores the first `most` in `protos`; *n is
** the number of all. Needs lh_classify. The first call costs O(code), others O(log); keeps 8 bytes
** for each of these names. */
int lh_find_code_references(lh_snapshot *snapshot, lh_id string, lh_id *protos, size_t most,
                            size_t *n, lh_error *error);

/* The reachable prototypes that have the texts `name` and one of `words`, up to a NULL, as
** constants, oldest first. Stores at most `most`, and returns their number. O(n). */
size_t lh_find_calls_with(const lh_snapshot *snapshot, const char *name, const char *const *words,
                          lh_id *protos, size_t most);

/* Finds the code that uses a local variable: the prototype of the function that has the variable,
** and those of the functions inside it that use it. Stores at most `most`, and returns their
** number; 0 if the edge, an LH_EDGE_LOCAL, has no name. O(code of these functions). */
size_t lh_find_local_users(const lh_snapshot *snapshot, const lh_edge *local, lh_id *protos,
                           size_t most);

/* Is the object a table that lives as long as the program: _G, the registry, package.loaded, a
** module in it? Nobody removes these to free memory. Needs lh_classify. */
bool lh_is_permanent(const lh_snapshot *snapshot, lh_id id);

/* The groups of a treemap. */
typedef enum lh_tree_by {
  LH_TREE_OF_OBJECTS, /* the dominator tree as it is */
  LH_TREE_OF_CLASSES, /* objects of one class below one group are a group */
  LH_TREE_OF_PLACES,  /* objects of one type with one folded path are a group */
  LH_TREE_OF_MODULES  /* the dominator tree below modules and globals */
} lh_tree_by;

typedef enum lh_age_chart_by {
  LH_AGES_OF_CLASSES,
  LH_AGES_OF_TYPES,
  LH_AGES_OF_PLACES /* objects of one type with one folded path; garbage has none */
} lh_age_chart_by;

typedef enum lh_sort { LH_SORT_RETAINED, LH_SORT_SHALLOW, LH_SORT_COUNT } lh_sort;

typedef struct lh_top_query {
  lh_sort sort;
  size_t limit;       /* 0: all */
  uint32_t type_mask; /* 1 << lh_type, or 0 for all types */
  bool garbage;       /* rank the unreachable objects: they retain 0, so LH_SORT_RETAINED means
                         LH_SORT_SHALLOW */
  const lh_interval *interval; /* only objects allocated in the interval; NULL: all */
} lh_top_query;

typedef struct lh_class_row {
  uint32_t class_index;
  uint64_t objects, shallow_bytes;
  uint64_t retained_bytes; /* freed if all instances were freed: exact, no byte counted twice */
} lh_class_row;

/* Finds the first `limit` classes in the order of `query`; ties by name. Free *rows with lh_free.
** O(n + m); at worst as much again for each class among the first whose retained bytes do not
** follow from the trees of dominators and shortest paths. At a billion steps and 64 times n + m
** (ten thousands of classes inside each other) it stops: retained_bytes of the other classes are
** then the sums of single instances, without what several retain only together. */
int lh_top_classes(lh_snapshot *snapshot, const lh_top_query *query, lh_class_row **rows,
                   size_t *n_rows, lh_error *error);

/* Is the object an element of a linked list, but not the first? It has the class of its dominator,
** and most of what the dominator retains below itself. Otherwise one long list would fill a ranking
** by retained size. O(1). */
bool lh_continues_list(const lh_snapshot *snapshot, lh_id id);

/* Finds the first `limit` objects; LH_SORT_COUNT means by retained size. Free *ids with lh_free.
** Rows that repeat others are left out: upvalues and protos, unless query->type_mask names their
** type; and, by retained size, list elements after the first, unless limit is 0 or `whole_lists`.
** *n_left_out: list elements that rank before the last row. *total: all. O(n log limit). */
int lh_rank_objects(lh_snapshot *snapshot, const lh_top_query *query, bool whole_lists, lh_id **ids,
                    size_t *n_ids, size_t *n_left_out, uint64_t *total, lh_error *error);

/* Text for people: valid UTF-8 on one line; control and invisible characters, quotes and invalid
** bytes are escaped as in Lua. */
char *lh_object_text(const lh_snapshot *snapshot, lh_id id); /* table: 0x55d0c0a3f2e0 */
char *lh_string_text(const lh_snapshot *snapshot, lh_id id,
                     size_t max_bytes); /* "quoted", shortened */
char *lh_value_text(const lh_snapshot *snapshot,
                    lh_value value); /* 17  "text"  nil  table: 0x55d0c0a3f2e0 */
char *lh_edge_text(const lh_snapshot *snapshot,
                   const lh_edge *edge); /* .listeners  [17]  upvalue bus */
/* Do two edges have the same text? Compares the ids that the texts are made of. */
bool lh_edges_alike(const lh_snapshot *snapshot, const lh_edge *a, const lh_edge *b);

/* Is the object the registry, _G, package.loaded or the main thread? Its class names the root. */
bool lh_is_named_by_root(const lh_snapshot *snapshot, lh_id id);
char *lh_frame_text(const lh_snapshot *snapshot,
                    const lh_frame *frame);    /* app.lua:31 in function on_tick */
char *lh_escaped(const char *bytes, size_t n); /* any bytes, such as a mark's name */

/* Returns how many of the bytes are whole UTF-8 characters: n, or fewer if the text `is_cut` in a
** character. SIZE_MAX: not UTF-8, or has a zero byte. */
size_t lh_utf8_bytes(const char *bytes, size_t n, bool is_cut);

/* The words of enums, as in --json. Other enums have theirs next to them. */
const char *lh_type_name(lh_type type);                     /* "table", "closure", ... */
const char *lh_list_name(lh_list list);                     /* "allgc", "finobj", ... */
const char *lh_edge_kind_name(lh_edge_kind kind);           /* "value", "upvalue", ... */
const char *lh_thread_status_name(lh_thread_status status); /* "suspended", ... */
const char *lh_weak_mode_name(const lh_object *table);      /* "k", "v", "kv"; NULL: not weak */

/* Adds the bits 1 << lh_type of "table,string" to *mask; "function" is a closure. NULL: done. Else
** the name, up to its comma, that no type has. */
const char *lh_read_types(const char *names, uint32_t *mask);

/* ==== 3. Paths and referrers ======================================================== */

/* A chain of edges: steps[0] starts at LH_ROOT, each other step where the step before ends. */
typedef struct lh_path {
  size_t n_steps;
  lh_edge *steps;
} lh_path;

/* Finds the shortest retaining path of `id`. Of equally short paths it prefers globals and modules
** to functions, the registry, stacks and debug information. LH_ENOTFOUND: nothing keeps the object
** alive. Freed by lh_paths_free(path, 1), which does not free the struct. O(length + edges). */
int lh_shortest_path(lh_snapshot *snapshot, lh_id id, lh_path *path, lh_error *error);

/* Finds at most k shortest paths that end in different referrers, shortest first; none runs through
** `id` itself. *paths is freed by lh_paths_free and then lh_free. LH_ELIMIT: their steps take more
** than 16 times the file (and 1 MiB). O(n + m). */
int lh_shortest_paths(lh_snapshot *snapshot, lh_id id, size_t k, lh_path **paths, size_t *n_paths,
                      lh_error *error);
void lh_paths_free(lh_path *paths, size_t n_paths);

/* The independent paths to an object: behind `from` no two share a reference, or two references
** that one cut removes (a table's entry and its key, a captured variable). */
typedef struct lh_independent {
  lh_id from;      /* the nearest object on all paths to the object, or LH_ROOT */
  lh_path *paths;  /* from LH_ROOT, shortest first */
  size_t n;        /* the least number of cuts that free the object, unless `from` is freed.
                      Paths from LH_ROOT to other objects are not cut */
  bool is_limited; /* the search stopped at the limit: there may be more */
} lh_independent;

/* Finds at most `limit` independent paths. LH_ENOTFOUND: nothing keeps the object alive. Freed by
** lh_independent_free. O(n + m) for each. */
int lh_find_independent(lh_snapshot *snapshot, lh_id id, size_t limit, lh_independent *out,
                        lh_error *error);
void lh_independent_free(lh_independent *independent);

/* For an object that one path holds: finds the junction, the nearest object on all paths to `id`
** that two or more independent paths hold. One cut below the junction frees the object. Between
** out->from and the junction no single cut does, except an entry whose key and value both lead to
** the object. *out: the paths of the junction, as from lh_find_independent. LH_ENOTFOUND: there is
** none, and each cut of the path frees the object; or undecided, in a chain where two references
** are one cut again and again. O(n + m), and lh_find_independent for each dominator with several
** referrers, at most 8. */
int lh_find_common_holder(lh_snapshot *snapshot, lh_id id, size_t limit, lh_id *common_holder,
                          lh_independent *out, lh_error *error);

/* Finds all edges that end in `id`, weak ones too, by their sources' distance. Freed by lh_free.
** The first call costs O(n + m), others O(edges of the referrers). Keeps 4 bytes an object and 4 an
** edge until the next analysis. */
int lh_referrers(lh_snapshot *snapshot, lh_id id, lh_edge **edges, size_t *n_edges,
                 lh_error *error);

/* One page of the referrers: `limit` (0: all) edges from number `from` on; *total: all of them.
** Costs the edges on the page; the first page of an object also its referrers. */
int lh_some_referrers(lh_snapshot *snapshot, lh_id id, size_t from, size_t limit, lh_edge **edges,
                      size_t *n_edges, uint64_t *total, lh_error *error);

/* A path in Lua's syntax: `_G.bus.listeners.tick[17].fn`. With `folded`, steps that differ between
** objects of one place become `*`: `_G.bus.listeners.tick[*].fn`. A path of more than 40 steps or
** 2,000 bytes loses its middle: `_G.a.b ... 12 more steps ... .y.z`. Freed by lh_free. */
char *lh_path_text(const lh_snapshot *snapshot, const lh_path *path, bool folded);

/* The folded text of the path that names `id`: the shortest path without a thread, so the name does
** not depend on what runs at the snapshot; if only a thread keeps the object, the shortest path.
** Freed by lh_free. LH_ENOTFOUND: nothing keeps the object alive. Needs lh_classify. The calls for
** all objects together cost about as much as lh_analyse. Keeps up to 4 bytes for each object on a
** path that was asked for. */
int lh_held_by(lh_snapshot *snapshot, lh_id id, char **out, lh_error *error);

/* The text of a path that begins at an upvalue, code or a coroutine does not say who holds it. *out
** becomes the part of the path from the root to the first such beginning: `_G.handlers.h17`; NULL:
** lh_path_text says all. Freed by lh_free. */
int lh_path_through(const lh_snapshot *snapshot, const lh_path *path, bool folded, char **out,
                    lh_error *error);

enum { LH_MOST_WIDTH = 1000 };

typedef struct lh_below_query {
  uint32_t depth; /* levels below the object */
  uint32_t width; /* references of each object: the targets that retain most; 1 to LH_MOST_WIDTH */
} lh_below_query;

/* The hidden references of an object. */
typedef struct lh_below_rest {
  lh_id id;
  uint64_t references;
} lh_below_rest;

typedef struct lh_below {
  lh_id id;
  lh_path *paths; /* each one edge, or the two edges of an upvalue; breadth first */
  size_t n_paths;
  lh_below_rest *rests;
  size_t n_rests;
} lh_below;

/* Finds what the object refers to, level by level, for a picture. Leaves out names, code and weak
** references. Needs lh_analyse. Freed by lh_below_free. O(edges shown), and n / 8 bytes. */
int lh_find_below(lh_snapshot *snapshot, lh_id id, const lh_below_query *query, lh_below *out,
                  lh_error *error);
void lh_below_free(lh_below *below);

/* ==== 4. Finding ==================================================================== */

typedef struct lh_found {
  lh_id id;             /* of several matches the one that retains most */
  uint64_t matches;     /* the number of matches */
  uint32_t class_index; /* of a class expression ("array" also means "array of Listener"); else
                           UINT32_MAX */
} lh_found;

/* Finds an object by an expression: an address as Lua prints it (`0x...`, `table: 0x...`), a path
** (`_G.cache[12].owner`, `package.loaded["app.bus"].x`, `registry[3]`), a function by place
** (`@file.lua:42`), or a class name. If no name has a literal *, * stands for any text. Needs
** lh_classify. LH_ENOTFOUND: the message says what was searched and how far the path led;
** LH_EARGUMENT: malformed expression. O(n). */
int lh_find(lh_snapshot *snapshot, const char *expression, lh_found *found, lh_error *error);

/* Finds all objects that match; of a class also garbage. *ids is for lh_free. Else as lh_find. */
int lh_find_all(lh_snapshot *snapshot, const char *expression, lh_id **ids, size_t *n_ids,
                lh_error *error);

/* A completion of a part of an expression. */
typedef struct lh_completion {
  char *text;              /* an expression for lh_find */
  lh_id id;                /* the object that it names; LH_NO_OBJECT: all of a class */
  uint32_t class_index;    /* UINT32_MAX: none */
  uint64_t objects;        /* the number of objects that it names */
  uint64_t retained_bytes; /* for a class its shallow bytes */
} lh_completion;

enum { LH_MOST_COMPLETIONS = 20 };

typedef struct lh_completions {
  lh_completion list[LH_MOST_COMPLETIONS];
  size_t n;
} lh_completions;

/* Completes a text: the next step of a path (`_G.ca`), classes and functions by any part of their
** names, an address. Texts with this beginning come first, then the biggest. Needs lh_classify.
** Freed by lh_completions_free. O(classes + entries of one table, at most 262,144). */
int lh_complete(lh_snapshot *snapshot, const char *begun, lh_completions *out, lh_error *error);
void lh_completions_free(lh_completions *completions);

/* Finds what an expression cuts. A path or a phrase that ends in a reference cuts its last step, as
** though it were set to nil: a table's entry with its key, a variable's value for all functions
** that share it, a metatable. An address, place or class cuts the objects themselves. Finds all
** matches, also those that are already ignored. If no name has a literal *, * stands for any text
** (`_G.debugger.*`, `upvalue watched of function *`). Needs lh_classify. Freed by lh_without_free.
** Fails as lh_find does. O(n). */
int lh_find_cut(lh_snapshot *snapshot, const char *expression, lh_without *out, lh_error *error);
void lh_without_free(lh_without *without);

/* ==== 5. What stays the same ======================================================== */

/* The identity of a group of objects: a hash of its class and folded path, as "2-" and ten
** hexadecimal digits. It is equal in every run, on every machine, and in every build with the same
** names: it ignores line numbers, directories, addresses, counts and contents of collections. */
#define LH_FINGERPRINT_BYTES 13 /* with the NUL: "2-0123456789" */

bool lh_is_fingerprint(const char *text);

/* Finds all reachable objects with a fingerprint, of any age, and the objects of the same class
** that they dominate, such as the rest of a linked list. Needs lh_classify. Free *ids with lh_free.
** LH_ENOTFOUND: none; LH_EARGUMENT: not a fingerprint. O(n + m). */
int lh_objects_with(lh_snapshot *snapshot, const char *fingerprint, lh_id **ids, size_t *n_ids,
                    lh_error *error);
