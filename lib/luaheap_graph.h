/*
** luaheap_graph.h - what keeps what alive, how much of it, what it is called, and how it is found.
*/
#ifndef LUAHEAP_PUBLIC_GRAPH_H
#define LUAHEAP_PUBLIC_GRAPH_H

#include "luaheap_read.h"

LH_API_BEGIN

/* ==== 1. Retained sizes, dominators, distance ======================================= */

/* Computes reachability (as the collector sees it: weak tables, ephemerons), distances, shortest
** paths, immediate dominators and retained sizes. Needed once before the calls below and those of
** the next headers; harmless again. Cost: O(n + m) but for the dominators' O(m log n); at most 80
** bytes an object with 3 edges each, at the peak. */
int lh_analyse(lh_snapshot *snapshot, lh_error *error);

/* What is taken as gone. Edges are told by what lh_edges_next says of them: source, target, kind,
** and the key, or index and ordinal. An entry under a weak key is one with its ephemeron: leaving
** out either edge leaves out both. With an object go all its edges, in and out. */
typedef struct lh_without {
  const lh_edge *edges;
  size_t n_edges;
  const lh_id *objects;
  size_t n_objects;
} lh_without;

/* lh_analyse as though none of the n were there: what only they keep alive is garbage, and they are
** part of no path, distance, dominator, retained size, or name that is found on the way; they are
** still told as edges, weak and left_out. In place of lh_analyse, or after it: then all is analysed
** anew and results of before are void, but classes keep their names, and count what is reachable
** now. What was left out before is not any more. After a failure (LH_EARGUMENT: no such edge or
** object; LH_EMEMORY) the snapshot is not analysed. Costs as much as lh_analyse, and the edges of
** the objects that edges are left out of. */
int lh_analyse_without(lh_snapshot *snapshot, const lh_without *without, size_t n, lh_error *error);

bool lh_is_reachable(const lh_snapshot *snapshot, lh_id id);

/* Bytes that would go if the object went: its own and those of all that it dominates. LH_ROOT: all
** reachable bytes. Garbage: 0. */
uint64_t lh_retained_bytes(const lh_snapshot *snapshot, lh_id id);

/* LH_ROOT for what several roots hold; LH_NO_OBJECT for garbage and for LH_ROOT. */
lh_id lh_immediate_dominator(const lh_snapshot *snapshot, lh_id id);

/* Edges on the shortest path from LH_ROOT; UINT32_MAX for garbage. And the object before the last
** of them, which is LH_ROOT for what a root refers to; LH_NO_OBJECT for garbage and for LH_ROOT. */
uint32_t lh_distance(const lh_snapshot *snapshot, lh_id id);
lh_id lh_nearest_holder(const lh_snapshot *snapshot, lh_id id);

typedef struct lh_reach {
  uint64_t reachable_objects, reachable_bytes;
  uint64_t garbage_objects, garbage_bytes;
  uint64_t own_bytes; /* of the reachable ones: luaheap's own, such as marks */
  uint64_t objects_of[LH_TYPE_COUNT], bytes_of[LH_TYPE_COUNT]; /* of the reachable ones, by type */
} lh_reach;

void lh_reach_totals(const lh_snapshot *snapshot, lh_reach *out);

/* Bytes (and objects, if the pointer is not NULL) that would go if all of `ids` went together: each
** counted once, whatever they share. O(n + m). */
int lh_retained_together(lh_snapshot *snapshot, const lh_id *ids, size_t n_ids, uint64_t *bytes,
                         uint64_t *objects, lh_error *error);

/* ==== 2. Classes and names ========================================================== */

/* The class of an object is what people call it: the metatable's __name, else the name under which
** the metatable is found, else the shape of a plain table such as "{id, name, next}", or what it is
** a collection of, such as "array of Listener"; for functions "function name @file:line"; for
** coroutines the function that they run. */
typedef struct lh_class {
  const char *name; /* valid UTF-8, without control characters */
  lh_type type;
  uint64_t objects, shallow_bytes; /* reachable instances */
  uint64_t garbage_objects, garbage_bytes;
} lh_class;

/* Assigns a class to every object. Needs lh_analyse. Harmless again. Fails with LH_ELIMIT where all
** names together would take more than 16 times the file's size (and 1 MiB). O(n + m). */
int lh_classify(lh_snapshot *snapshot, lh_error *error);

uint32_t lh_class_count(const lh_snapshot *snapshot);
const lh_class *lh_class_at(const lh_snapshot *snapshot, uint32_t class_index);
uint32_t lh_class_of(const lh_snapshot *snapshot,
                     lh_id id); /* class index; own objects: UINT32_MAX */

/* The code that names a string: prototypes of functions that have it among their constants, as the
** name of a field or as any other text, or as the name of a variable; in the order of their ids. At
** most `most` of them go to `protos`; *n is how many there are. Needs lh_classify. O(code) when
** something is first asked for, then O(log); keeps 8 bytes for each of these names. */
int lh_find_naming(lh_snapshot *snapshot, lh_id string, lh_id *protos, size_t most, size_t *n,
                   lh_error *error);

/* Is it one of the tables that stay as long as the program: _G, the registry, package.loaded, and
** the modules in it? Nobody takes these away to free something. Needs lh_classify. */
bool lh_is_for_good(const lh_snapshot *snapshot, lh_id id);

/* What the groups of a treemap are, and the layers of a timeline. */
typedef enum lh_tree_by {
  LH_TREE_OF_OBJECTS, /* the tree of dominators as it is */
  LH_TREE_OF_CLASSES, /* of what the objects of a group dominate, those of a class are a group */
  LH_TREE_OF_PLACES,  /* the same of those of a type with one folded path */
  LH_TREE_OF_MODULES  /* of objects, with modules and globals on top */
} lh_tree_by;

typedef enum lh_age_chart_by {
  LH_AGES_OF_CLASSES,
  LH_AGES_OF_TYPES,
  LH_AGES_OF_PLACES /* objects of one type with one folded path; of garbage there is none */
} lh_age_chart_by;

typedef enum lh_sort { LH_SORT_RETAINED, LH_SORT_SHALLOW, LH_SORT_COUNT } lh_sort;

typedef struct lh_top_query {
  lh_sort sort;
  size_t limit;       /* 0: all */
  uint32_t type_mask; /* 1 << lh_type, or 0 for all types */
  bool garbage;       /* of the unreachable objects instead: retained sizes are 0 there, and
                         LH_SORT_RETAINED means LH_SORT_SHALLOW */
  const lh_interval *interval; /* only of what was allocated in it; NULL: of all */
} lh_top_query;

typedef struct lh_class_row {
  uint32_t class_index;
  uint64_t objects, shallow_bytes;
  uint64_t retained_bytes; /* that would go if all instances went: exact, none counted twice */
} lh_class_row;

/* The first `limit` classes in the order asked for; ties by name. Free *rows with lh_free.
** O(n + m), and at worst as much again for each class among the first whose retained bytes are not
** settled by the trees of dominators and shortest paths. Where that comes to a billion steps and 64
** times n + m (classes by the ten thousand that lie inside each other) retained_bytes of the rest
** are those that single instances retain, without what several only retain together. */
int lh_top_classes(lh_snapshot *snapshot, const lh_top_query *query, lh_class_row **rows,
                   size_t *n_rows, lh_error *error);

/* The first `limit` objects. Sorting by count means by retained size. Free *ids with lh_free.
** O(n log limit). */
int lh_top_objects(lh_snapshot *snapshot, const lh_top_query *query, lh_id **ids, size_t *n_ids,
                   lh_error *error);

/* Is the object an element of a linked list, but not its first? It is of its dominator's class, and
** most of what that retains beside itself. A list of a million would else be all that a ranking by
** retained size shows. O(1). */
bool lh_continues_list(const lh_snapshot *snapshot, lh_id id);

/* lh_top_objects without what only repeats others: without upvalues and protos unless their type is
** asked for, and ranked by what they retain without elements of linked lists but the first, unless
** all are asked for or `whole_lists`. Of those so many that rank before the last are *n_left_out;
** *total: how many objects there are. */
int lh_rank_objects(lh_snapshot *snapshot, const lh_top_query *query, bool whole_lists, lh_id **ids,
                    size_t *n_ids, size_t *n_left_out, uint64_t *total, lh_error *error);

/* Text for people. All of it is valid UTF-8 on one line, with control characters, what cannot be
** seen, quotes and invalid bytes escaped as Lua does. Owned by the caller, freed with lh_free; NULL
** when out of memory. */
char *lh_object_text(const lh_snapshot *snapshot, lh_id id); /* table: 0x55d0c0a3f2e0 */
char *lh_string_text(const lh_snapshot *snapshot, lh_id id,
                     size_t max_bytes); /* "quoted", shortened */
char *lh_value_text(const lh_snapshot *snapshot,
                    lh_value value); /* 17  "text"  nil  table: 0x55d0c0a3f2e0 */
char *lh_edge_text(const lh_snapshot *snapshot,
                   const lh_edge *edge); /* .listeners  [17]  upvalue bus */
/* Do two edges read the same, by the numbers of what their texts are made of? */
bool lh_edges_alike(const lh_snapshot *snapshot, const lh_edge *a, const lh_edge *b);

/* Is this the registry, _G, package.loaded or the main thread? Its class says what root it is. */
bool lh_is_told_by_root(const lh_snapshot *snapshot, lh_id id);
char *lh_frame_text(const lh_snapshot *snapshot,
                    const lh_frame *frame);    /* app.lua:31 in function on_tick */
char *lh_escaped(const char *bytes, size_t n); /* any bytes, such as a mark's name */

/* How many of the bytes are whole characters of UTF-8: n, less an incomplete one at the end where
** the text is cut. SIZE_MAX: they are no UTF-8, or have a zero byte. */
size_t lh_utf8_bytes(const char *bytes, size_t n, bool is_cut);

/* One word each, as in --json. Of other enums they stand beside these. */
const char *lh_type_name(lh_type type);                     /* "table", "closure", ... */
const char *lh_list_name(lh_list list);                     /* "allgc", "finobj", ... */
const char *lh_edge_kind_name(lh_edge_kind kind);           /* "value", "upvalue", ... */
const char *lh_thread_status_name(lh_thread_status status); /* "suspended", ... */
const char *lh_weak_mode_name(const lh_object *table);      /* "k", "v", "kv"; NULL: none is weak */

/* The type with this name; LH_TYPE_COUNT: there is none. */
lh_type lh_type_called(const char *name, size_t length);

/* ==== 3. Paths and referrers ======================================================== */

/* A chain of edges: steps[0] starts at LH_ROOT, each starts where the one before ends. */
typedef struct lh_path {
  size_t n_steps;
  lh_edge *steps;
} lh_path;

/* The shortest retaining path of `id`; among equally short ones, one through globals and modules
** rather than through functions, the registry, stacks or debug information. LH_ENOTFOUND: nothing
** keeps it alive. Free with lh_paths_free(path, 1) (which leaves the struct itself). O(length +
** edges on it). */
int lh_shortest_path(lh_snapshot *snapshot, lh_id id, lh_path *path, lh_error *error);

/* The (at most) k shortest paths that end in different referrers, shortest first; none runs through
** `id` itself. *paths is freed by lh_paths_free and then lh_free. LH_ELIMIT: all their steps would
** take more than 16 times the file (and 1 MiB). O(n + m). */
int lh_shortest_paths(lh_snapshot *snapshot, lh_id id, size_t k, lh_path **paths, size_t *n_paths,
                      lh_error *error);
void lh_paths_free(lh_path *paths, size_t n_paths);

/* The paths that hold an object independently: from where they part on, no two share a reference,
** nor two references that are cut at once (a table's entry and its key, a captured variable). */
typedef struct lh_independent {
  lh_id from;     /* the nearest object that all paths to it run through, or LH_ROOT */
  lh_path *paths; /* from LH_ROOT, shortest first */
  size_t n;       /* so many cuts free the object, and no fewer, unless `from` goes. What leads from
                      LH_ROOT to other objects is not cut */
  bool is_limited; /* it may be more: no more were looked for */
} lh_independent;

/* Looks for at most `limit` of them. LH_ENOTFOUND: nothing keeps the object alive. Freed by
** lh_independent_free. O(n + m) for each. */
int lh_find_independent(lh_snapshot *snapshot, lh_id id, size_t limit, lh_independent *out,
                        lh_error *error);
void lh_independent_free(lh_independent *independent);

/* Of an object that one path holds: the nearest on the way to it, one that all paths to it run
** through, that two or more independent paths hold. A cut below it frees the object; above it, up
** to out->from, no single one does. (An entry whose key and value both lead to the object is one
** cut, which does.) *out is of the junction, as lh_find_independent has it. LH_ENOTFOUND: there is
** none, and each cut of the path frees the object; or it could not be settled, in a chain where
** again and again two references are one cut. O(n + m), and as lh_find_independent for each
** dominator that several references enter, at most 8. */
int lh_find_junction(lh_snapshot *snapshot, lh_id id, size_t limit, lh_id *junction,
                     lh_independent *out, lh_error *error);

/* All edges that end in `id`, weak ones too, in order of their source's distance. Freed with
** lh_free. O(n + m) when something is first asked for, then O(edges of those that refer to it).
** Keeps 4 bytes an object and 4 an edge until the snapshot is analysed anew. */
int lh_referrers(lh_snapshot *snapshot, lh_id id, lh_edge **edges, size_t *n_edges,
                 lh_error *error);

/* A page of them: `limit` (0: all) from number `from` on, and how many there are in all. Costs the
** edges of those on the page; for the first page of an object its referrers, too. */
int lh_some_referrers(lh_snapshot *snapshot, lh_id id, size_t from, size_t limit, lh_edge **edges,
                      size_t *n_edges, uint64_t *total, lh_error *error);

/* A path in Lua's language: `_G.bus.listeners.tick[17].fn`. With `folded`, the steps that vary
** between objects of one place become `*`: `_G.bus.listeners.tick[*].fn`. Of a path of more than 40
** steps, or of 2,000 bytes, the middle is left out: `_G.a.b ... 12 more steps ... .y.z`. Freed with
** lh_free. */
char *lh_path_text(const lh_snapshot *snapshot, const lh_path *path, bool folded);

/* The same of the path that `id` is named by, folded: the shortest of those that run through no
** thread, so that it does not depend on what runs at the instant of the snapshot; where a thread
** alone keeps the object, the shortest of all. For one object after another: all of them together
** cost about as much as lh_analyse, however long their paths are. Freed with lh_free. LH_ENOTFOUND:
** nothing keeps it alive. Needs lh_classify. Keeps up to 4 bytes for each object that is on the way
** to one that was asked for. */
int lh_held_by(lh_snapshot *snapshot, lh_id id, char **out, lh_error *error);

/* A text that begins at an upvalue, at code, or in a coroutine does not say who holds that: here is
** the part of the path, from the root on, that leads to the first such beginning, as text:
** `_G.handlers.h17`. *out is NULL where lh_path_text tells all; else freed with lh_free. Fails with
** LH_EMEMORY. */
int lh_path_through(const lh_snapshot *snapshot, const lh_path *path, bool folded, char **out,
                    lh_error *error);

enum { LH_MOST_WIDTH = 1000 };

typedef struct lh_below_query {
  uint32_t depth; /* levels below the object */
  uint32_t width; /* references of each object, those to what retains most: 1 to LH_MOST_WIDTH */
} lh_below_query;

/* References of an object that are not shown. */
typedef struct lh_below_rest {
  lh_id id;
  uint64_t references;
} lh_below_rest;

typedef struct lh_below {
  lh_id id;
  lh_path *paths; /* each one edge, or the two of an upvalue; breadth first */
  size_t n_paths;
  lh_below_rest *rests;
  size_t n_rests;
} lh_below;

/* What object `id` refers to, and so on, as far as fits a picture. Names, code and what is weak are
** left out. Needs lh_analyse. Freed by lh_below_free. O(n / 8 bytes + the edges of the objects
** shown). */
int lh_find_below(lh_snapshot *snapshot, lh_id id, const lh_below_query *query, lh_below *out,
                  lh_error *error);
void lh_below_free(lh_below *below);

/* ==== 4. Finding ==================================================================== */

typedef struct lh_found {
  lh_id id;             /* the object: where several match, the one that retains most */
  uint64_t matches;     /* how many matched */
  uint32_t class_index; /* of the class asked for ("array" is that of "array of Listener", too);
                           UINT32_MAX unless found by class */
} lh_found;

/* Finds an object by the one grammar for objects: an address as Lua prints it (`0x...`,
** `table: 0x...`), a path (`_G.cache[12].owner`, `package.loaded["app.bus"].x`, `registry[3]`), a
** function by place (`@file.lua:42`), or a class name. A * in a name stands for any text if nothing
** is called so literally. Needs lh_classify. LH_ENOTFOUND says what was looked for and how far it
** came; LH_EARGUMENT: a malformed expression. O(n). */
int lh_find(lh_snapshot *snapshot, const char *expression, lh_found *found, lh_error *error);

/* All objects that match, garbage of the class asked for too. Free *ids with lh_free. The rest as
** lh_find. */
int lh_find_all(lh_snapshot *snapshot, const char *expression, lh_id **ids, size_t *n_ids,
                lh_error *error);

/* What the beginning of an expression may become. */
typedef struct lh_completion {
  char *text;              /* an expression as lh_find takes it */
  lh_id id;                /* what that names; LH_NO_OBJECT: all of a class */
  uint32_t class_index;    /* its class; UINT32_MAX: none */
  uint64_t objects;        /* that it names */
  uint64_t retained_bytes; /* of a class the shallow ones */
} lh_completion;

enum { LH_MOST_COMPLETIONS = 20 };

typedef struct lh_completions {
  lh_completion list[LH_MOST_COMPLETIONS];
  size_t n;
} lh_completions;

/* The next step of a path (`_G.ca`), classes and functions by any part of their names, an address:
** what begins as the text does first, of these what is biggest. Needs lh_classify. Freed by
** lh_completions_free. O(classes + entries of one table, but no more than 262,144). */
int lh_complete(lh_snapshot *snapshot, const char *begun, lh_completions *out, lh_error *error);
void lh_completions_free(lh_completions *completions);

/* Finds what an expression takes away. Of a path or a phrase that ends in a reference: the one of
** its last step, as though it were set to nil; that is a table's entry with its key, a variable's
** value for all functions that share it, a metatable. Else, told by address, place or class: the
** objects themselves. All that match; and where nothing is called so literally, a * in a name
** stands for any text (`_G.debugger.*`, `upvalue watched of function *`). What is left out already
** is found, too. Needs lh_classify. Freed by lh_without_free. Fails as lh_find does. O(n). */
int lh_find_cut(lh_snapshot *snapshot, const char *expression, lh_without *out, lh_error *error);
void lh_without_free(lh_without *without);

/* ==== 5. What stays the same ======================================================== */

/* What stays the same about a group of objects: a hash of its class and its folded path, as "2-"
** and ten hexadecimal digits. It is the same in every run and on every machine, and in every build
** in which the class and the path are called the same: the lines of functions and the directories
** of their files are left out, and so are addresses, counts, and what a collection holds. */
#define LH_FINGERPRINT_BYTES 13 /* with the NUL: "2-0123456789" */

bool lh_is_fingerprint(const char *text);

/* All reachable objects with a fingerprint, of any age, and those of the same class that they
** dominate, such as the rest of a linked list. Needs lh_classify. Free *ids with lh_free.
** LH_ENOTFOUND: there are none; LH_EARGUMENT: it is no fingerprint. O(n + m). */
int lh_objects_with(lh_snapshot *snapshot, const char *fingerprint, lh_id **ids, size_t *n_ids,
                    lh_error *error);

LH_API_END

#endif
