/*
** answers.h - what one snapshot can tell: what leaks and what may grow, who owns what, what is
** wasted, what a class is like.
*/
#ifndef LUAHEAP_ANALYSES_ANSWERS_H
#define LUAHEAP_ANALYSES_ANSWERS_H

#include "graph/answers.h"
#include "luaheap_analyses.h"

/* Objects of one class that accumulated in one place. */
typedef struct lh_accumulated {
  uint32_t class_index;
  uint64_t objects; /* of a list or tree all its elements */
  uint64_t bytes;   /* that would go with them */
  lh_id example;    /* the one that retains most */
} lh_accumulated;

typedef enum lh_suspect_kind {
  LH_SUSPECT_HOLDER, /* object `id` holds many others */
  LH_SUSPECT_ITSELF, /* object `id` is big, without others */
  LH_SUSPECT_LIST,   /* object `id` is the first of a linked list */
  LH_SUSPECT_TREE    /* object `id` is the root of a tree */
} lh_suspect_kind;

enum { LH_MOST_ACCUMULATED = 4 };

typedef struct lh_suspect {
  lh_suspect_kind kind;
  lh_id id;
  uint64_t bytes; /* that would go with what accumulated, all classes together, but not those of
                     other suspects */
  lh_accumulated accumulated[LH_MOST_ACCUMULATED]; /* most bytes first; of HOLDER at least one, of
                     ITSELF none, of the others one */
  uint32_t n_accumulated;
  uint32_t n_classes;    /* of all that accumulated */
  uint64_t around_bytes; /* of `bytes` those of the place itself, and of what lies between it and
                            these */
  uint64_t objects;      /* all that accumulated */
} lh_suspect;

typedef struct lh_suspects {
  lh_suspect *list; /* most bytes first */
  size_t n;
  uint64_t least_bytes; /* of a suspect */
} lh_suspects;

/* What holds a tenth or more of the reachable bytes (and 16 KB): for each object that dominates so
** much, its accumulation point, which is the first object on the way down from it whose biggest
** dominated object holds less than 0.7 of it. No byte is told twice. Not suspected as such are _G,
** package.loaded, modules, the registry, the main thread's locals and code: the way down leads
** through them. Needs lh_classify. Freed by lh_suspects_free. O(n + m). */
int lh_find_suspects(lh_snapshot *snapshot, lh_suspects *out, lh_error *error);
void lh_suspects_free(lh_suspects *suspects);
const char *lh_suspect_kind_name(lh_suspect_kind kind); /* "holder", "list", ... */

/* A site of a program that was tracked, and what was allocated there. */
typedef struct lh_site_row {
  lh_site_id site;         /* 0: objects of which it is not known */
  uint64_t objects;        /* that are there: reachable ones or garbage; sampled: estimated */
  uint64_t sampled;        /* so many of them are known: all, or the sampled ones */
  uint64_t shallow_bytes;  /* estimated as the objects are */
  uint64_t retained_bytes; /* that would go if the known ones went; of garbage 0 */
  uint64_t ages[LH_SPANS]; /* how many of these are of each part of the history */
  lh_stack_counts counts;  /* of all types, since tracking began */
} lh_site_row;

/* All sites of which there is something, in the order asked for; the limit is not looked at. Needs
** lh_analyse. LH_ENOTFOUND: the program was not tracked. Free *rows with lh_free. Costs as much as
** lh_top_classes. */
int lh_top_sites(lh_snapshot *snapshot, const lh_top_query *query, lh_site_row **rows, size_t *n,
                 lh_error *error);

typedef enum lh_branch_kind {
  LH_BRANCH_OBJECT,
  LH_BRANCH_LIST,  /* a linked list, whose first element is `id` */
  LH_BRANCH_TREE,  /* a tree, whose root is `id` */
  LH_BRANCH_GROUP, /* many objects of one class; `id` is the one that retains most */
  LH_BRANCH_REST   /* what is not shown of a level; `id` is LH_NO_OBJECT */
} lh_branch_kind;

/* A row of a tree of dominators. What is below a group, list or tree is below any of its
** objects. */
typedef struct lh_branch {
  lh_branch_kind kind;
  uint32_t depth; /* 0: the object asked for */
  lh_id id;
  uint32_t class_index; /* UINT32_MAX: none */
  uint64_t objects;     /* of the class; of the rest all that are directly there */
  uint64_t shallow_bytes, retained_bytes;
  bool has_edge; /* the row above is one object, and refers to `id` by `edge` */
  lh_edge edge;
} lh_branch;

typedef struct lh_under_query {
  uint32_t depth;       /* levels below the object */
  size_t limit;         /* rows of each level, the rest not counted; 0: all */
  uint64_t least_bytes; /* smaller ones belong to the rest */
} lh_under_query;

/* What object `id` (or LH_ROOT) keeps alive alone: down the tree of dominators, in preorder,
** biggest first; eight or more of a class at one place are one row. LH_ENOTFOUND: it is garbage,
** and keeps nothing alive. Needs lh_classify. Free *rows with lh_free. Keeps 12 bytes an object.
** The first call O(n), and then each O(k log k + the edges of the objects shown), of k that it
** dominates. */
int lh_under(lh_snapshot *snapshot, lh_id id, const lh_under_query *query, lh_branch **rows,
             size_t *n_rows, lh_error *error);
const char *lh_branch_kind_name(lh_branch_kind kind); /* "object", "group", ... */

/* For each value of package.loaded and then of _G: what it keeps alive alone, and what it reaches:
** all objects on strong paths from it that do not lead through _G, package.loaded, the registry or
** the main thread, by which any module reaches all others. An object with several names
** is there once, as a module rather than a global. `limit` 0: all. Needs lh_classify. Freed by
** lh_modules_free. O(n + m) for each 64 modules asked for. */
int lh_find_modules(lh_snapshot *snapshot, size_t limit, lh_modules *out, lh_error *error);

/* Threads with the same status whose frames have the same functions at the same lines. */
typedef struct lh_thread_group {
  lh_thread_status status;
  bool is_main;
  lh_id example; /* the one that retains most */
  uint64_t threads;
  uint64_t shallow_bytes;  /* their stacks, with frames and header */
  uint64_t retained_bytes; /* that would go if all of them went */
} lh_thread_group;

typedef struct lh_thread_groups {
  lh_thread_group *list; /* by retained bytes, biggest first; the main thread, whose locals may hold
                        nearly all, comes last */
  size_t n;
  uint64_t n_threads; /* in all */
} lh_thread_groups;

/* Where threads stand. Needs lh_classify. Freed by lh_thread_groups_free. Costs as much as
** lh_top_classes, and the frames. */
int lh_group_threads(lh_snapshot *snapshot, lh_thread_groups *out, lh_error *error);
void lh_thread_groups_free(lh_thread_groups *groups);

/* Exact figures of single objects, in the order of size: of n the median is number (n + 1) / 2, and
** nine of ten have at most `ninth_tenth`. */
typedef enum lh_measure {
  LH_MEASURE_SHALLOW,
  LH_MEASURE_RETAINED,
  LH_MEASURE_ALONE,       /* retained, without what other instances inside of it retain */
  LH_MEASURE_ENTRIES,     /* of tables: those with a value */
  LH_MEASURE_LENGTH,      /* of strings, in bytes */
  LH_MEASURE_CONTENT,     /* of userdata, in bytes: without header and user values */
  LH_MEASURE_UPVALUES,    /* of functions */
  LH_MEASURE_FRAMES,      /* of threads */
  LH_MEASURE_INSTRUCTIONS /* of protos */
} lh_measure;

typedef struct lh_spread {
  lh_measure measure;
  uint64_t objects; /* that have it */
  uint64_t least, median, ninth_tenth, most, sum;
} lh_spread;

enum { LH_MOST_SPREADS = 9, LH_MOST_KINDS = 3 };

/* What some values are: the class of objects, else "number", "boolean", "pointer" (light userdata)
** or "function". */
typedef struct lh_value_class {
  const char *name;
  uint64_t values;
} lh_value_class;

/* What instances have in one place: under a string key, as an upvalue, user value or local; of
** collections under all keys of a type. */
typedef struct lh_field {
  const char *name;   /* .id, ["odd key"], [integer], [string], [object], upvalue bus, ... */
  uint64_t instances; /* that have a value there */
  uint64_t values;    /* these may be more: of all keys of a type */
  uint64_t bytes;     /* that instances keep alive alone there, keys included; without what other
                     instances retain. The fields of a class add up, no byte twice */
  lh_value_class kinds[LH_MOST_KINDS]; /* those with most values first */
  uint32_t n_kinds;
  uint64_t total_kinds;
} lh_field;

/* References to instances that are made alike. */
typedef struct lh_referring {
  uint32_t class_index; /* of what refers to them; UINT32_MAX: the roots */
  const char *label;    /* by what: .owner, [*], upvalue bus, ... */
  bool weak;
  uint64_t sources, references;
} lh_referring;

/* Instances that were allocated at one site; 0: it is not known where. */
typedef struct lh_class_site {
  lh_site_id site;
  uint64_t objects, shallow_bytes;
} lh_class_site;

typedef struct lh_description {
  uint32_t class_index; /* with this name */
  uint64_t objects;     /* reachable ones, which all other figures are about */
  uint64_t garbage_objects, garbage_bytes;
  uint64_t shallow_bytes, retained_bytes; /* of all together: no byte twice */
  lh_spread spreads[LH_MOST_SPREADS];     /* SHALLOW, RETAINED, ALONE, then what there is */
  uint32_t n_spreads;
  uint64_t contents, repeated_bytes; /* of strings: how many different ones; shallow bytes of those
                                        that are equal to another one, without the first of each */
  lh_field *fields;                  /* those with most bytes first */
  size_t n_fields;
  lh_referring *referrers; /* those with most references first */
  size_t n_referrers;
  uint64_t *epochs; /* how many are of each epoch, 0 to lh_mark_count - 1: the last is ended by the
                       snapshot's own mark */
  uint32_t n_epochs;
  lh_class_site *sites; /* of a program that was tracked: those with most instances first */
  size_t n_sites;
  lh_id biggest; /* that retains most */
} lh_description;

/* What the instances of a class are like: how many, how big, what is in them and who refers to
** them. On average one costs retained_bytes / objects; the median of ALONE is what one more costs.
** `name` as in lh_find: "array" means "array of Listener", too. Needs lh_classify. LH_ENOTFOUND:
** there is no such class, with the names that are near. Freed by lh_description_free.
** O(n log n + m). */
int lh_describe_class(lh_snapshot *snapshot, const char *name, lh_description *out,
                      lh_error *error);
void lh_description_free(lh_description *description);
const char *lh_measure_name(lh_measure measure); /* "shallow", "entries", ... */

/* What memory holds without need. No byte is in two kinds. */
typedef enum lh_waste_kind {
  LH_WASTE_EMPTIED, /* tables without an entry: all their slots */
  LH_WASTE_SLOTS,   /* tables with entries: the empty slots that Lua would not give them if they
                            were filled anew */
  LH_WASTE_SMALL_TABLES, /* tables with one entry or none, but no metatables, none with one, no
                            modules: what is left of them without the slots above */
  LH_WASTE_STRINGS,      /* strings with the content of another one */
  LH_WASTE_CLOSURES,     /* functions of the same code with the same upvalues as another one */
  LH_WASTE_USER_VALUES,  /* userdata with user values, all nil: the room for these */
  LH_WASTE_DEBUG,        /* what a program loaded from string.dump(f, true) has not: lines, local
                            variables, names that nothing else refers to */
  LH_WASTE_KINDS
} lh_waste_kind;

/* Objects of one class at one place; of LH_WASTE_DEBUG the prototypes of one source. */
typedef struct lh_waste_row {
  uint32_t class_index; /* of LH_WASTE_DEBUG UINT32_MAX */
  const char *held_by;  /* folded path, or the source, such as @app.lua */
  uint64_t objects;     /* tables; strings, functions: without those that they are equal to */
  uint64_t bytes;       /* that could be given back */
  uint64_t slots, used; /* of tables: all, and those with a value */
  uint64_t by_hash;     /* of the strings those that are equal by length and XXH64: the snapshot
                           does not keep all of their bytes */
  lh_id example;        /* the one with most bytes to give back */
  lh_id original;       /* what the example is equal to; else LH_NO_OBJECT */
  uint64_t most;        /* private: bytes of the example */
} lh_waste_row;

typedef struct lh_waste_sum {
  uint64_t objects, bytes, by_hash; /* of all rows */
  uint64_t originals;               /* equal ones: how many different ones they are equal to */
  lh_waste_row *rows;               /* most bytes first */
  size_t n_rows;
} lh_waste_sum;

typedef struct lh_waste {
  uint64_t bytes; /* of all kinds but LH_WASTE_SMALL_TABLES: a program may need these */
  lh_waste_sum kinds[LH_WASTE_KINDS];
  uint64_t string_table_bytes; /* not in `bytes`: of Lua's table of short strings, what Lua takes
                                  off by itself, by halves, one at each collection */
  uint64_t block_bytes; /* not in `bytes`: of all userdata. What C code uses of them is not in
                                  a snapshot */
} lh_waste;

/* What of the reachable objects could be given back. A name that only debug information of several
** sources refers to counts with one of them. *out is freed by lh_waste_free. Needs lh_classify.
** O(n + m). */
int lh_find_waste(lh_snapshot *snapshot, lh_waste **out, lh_error *error);
void lh_waste_free(lh_waste *waste);
const char *lh_waste_kind_name(lh_waste_kind kind); /* "emptied_tables", "empty_slots", ... */

/* Finds a limit in sight of `count` things that `holder` holds (lh_bound). LH_EMEMORY. O(entries of
** the tables that are looked at). */
int lh_find_bound(lh_snapshot *snapshot, lh_id holder, uint64_t count, lh_bound *out,
                  lh_error *error);

/* The same of what refers to each of `ids`, different objects of so many alike: of the first four
** that do. O(n + m). */
int lh_find_bounds(lh_snapshot *snapshot, const lh_id *ids, const uint64_t *counts, size_t n,
                   lh_bound *bounds, lh_error *error);

/* What the keys of a collection are, in nine cases of ten. */
typedef enum lh_keying {
  LH_KEYED_NOT,      /* a linked list, or objects that are linked otherwise */
  LH_KEYED_SEQUENCE, /* 1, 2, 3 ... without a gap */
  LH_KEYED_INTEGERS,
  LH_KEYED_TIMES, /* of this century up to a year after the snapshot, as seconds since 1970 */
  LH_KEYED_MILLISECONDS, /* or as milliseconds */
  LH_KEYED_NUMBERS,
  LH_KEYED_UUIDS,
  LH_KEYED_HEX,      /* of one length, 8 or more */
  LH_KEYED_NUMBERED, /* alike but for their digits: user:123 */
  LH_KEYED_TOKENS,   /* of one length, 8 or more, with digits or capitals inside */
  LH_KEYED_NAMES,    /* without digits and blanks */
  LH_KEYED_STRINGS,
  LH_KEYED_OBJECTS,
  LH_KEYED_MIXED
} lh_keying;

/* Tables at one path with many elements that are alike, and of one class in all of them; or linked
** objects of one class. From `elements` on all is about `id`, and so is the prospect. */
typedef struct lh_growing {
  bool is_list; /* linked objects, no tables */
  lh_prospect prospect;
  const char *held_by; /* folded path */
  uint64_t tables;     /* at that path; of linked objects how many lists */
  uint64_t tables_filled_once;
  uint64_t entries;       /* in all of the tables */
  uint64_t alike_entries; /* of the entries, those that are alike */
  uint64_t bytes;         /* of all, with what their elements and keys retain, shared with others or
                             not, no byte twice; of _G and the like that of the alike ones alone */
  lh_id id; /* of those with the best prospect to grow the one with most bytes; of linked objects
               the one nearest to the root */
  uint64_t elements;
  const char *element; /* the class or type of most elements, as in lh_value_class */
  lh_type type;        /* LH_TYPE_ROOT: no objects */
  uint64_t alike;      /* how many are of that class or type; others are of other classes */
  bool are_keys;       /* the elements are the keys; the values are booleans, numbers or few, or the
                          keys are objects that retain more */
  bool weak_keys, weak_values; /* so the table says; but what is weak are strings, numbers and the
                                  like, which never go */
  lh_keying keying;
  double least, greatest;    /* keys that are numbers; times in seconds */
  lh_id example_key;         /* of keys that are strings; else LH_NO_OBJECT */
  bool exact;                /* its array part has just as many slots, as a constructor makes it */
  uint64_t aged;             /* elements that are objects, and so have an age: */
  uint64_t ages[LH_SPANS];   /* how many are of each part of the history */
  uint64_t since_first_mark; /* those of them that are younger than the first mark */
  uint32_t epochs;           /* in how many different ones the elements were allocated */
  uint32_t oldest_epoch, youngest_epoch; /* of the elements; less than lh_mark_count */
  bool in_one_go;   /* next to nothing else that lives was allocated from the table to its youngest
                     element */
  double younger;   /* share of all reachable objects that are younger than the youngest */
  uint64_t content; /* private: the same for just the same elements */
  lh_bound bound;   /* of `alike` in the object */
  size_t same_as;   /* index of the first row with just the same elements; of most rows its own */
  uint32_t at;      /* private: its place, */
  uint32_t element_class; /* and the class of most elements; UINT32_MAX: of none, or several */
} lh_growing;

typedef struct lh_growings {
  lh_growing *list; /* by prospect, LH_GROWS first, and then those with most bytes */
  size_t n;
  size_t n_filled_once; /* of them, the last */
} lh_growings;

/* What looks like a collection without a limit: tables with 16 entries or more of which nine tenths
** are alike, and linked lists and the like of so many objects; with a thousandth of the reachable
** bytes, and 1 KB. Weak tables count only where nothing ever goes from them. Alike are objects of
** one class, strings, numbers, booleans; under keys that are no names also tables of any class; in
** package.loaded modules under keys as of a generator. Tables that were filled once, such as a
** program's constants, are told apart by the age of their elements and by what a constructor
** leaves. `history`: lh_find_history; NULL: it is found anew. Needs lh_classify. Freed by
** lh_growings_free. O(n log n + m). */
int lh_find_growing(lh_snapshot *snapshot, const lh_history *history, lh_growings *out,
                    lh_error *error);
void lh_growings_free(lh_growings *growings);
const char *lh_prospect_name(lh_prospect prospect); /* "may grow", ... */
const char *lh_keying_name(lh_keying keying);       /* "sequence", "uuids", ... */

#endif
