/* answers.h - The answers about one snapshot: leak candidates, owners, waste, classes. */
#pragma once

#include "graph/answers.h"
#include "rooms/analyses.h"

typedef struct lh_accumulated {
  uint32_t class_index;
  uint64_t objects; /* for a list or tree, all its elements */
  uint64_t bytes;   /* freed if these objects were freed */
  lh_id example;    /* the object that retains most */
} lh_accumulated;

typedef enum lh_suspect_kind {
  LH_SUSPECT_HOLDER, /* holds many other objects */
  LH_SUSPECT_ITSELF, /* is big without other objects */
  LH_SUSPECT_LIST,   /* is the first element of a linked list */
  LH_SUSPECT_TREE    /* is the root of a tree */
} lh_suspect_kind;

enum { LH_MOST_ACCUMULATED = 4 };

typedef struct lh_suspect {
  lh_suspect_kind kind;
  lh_id id;
  uint64_t bytes; /* freed if the accumulated objects were freed; no byte of other suspects */
  lh_accumulated accumulated[LH_MOST_ACCUMULATED]; /* most bytes first; HOLDER has 1 or more,
                                                      ITSELF none, the others 1 */
  uint32_t n_accumulated;
  uint32_t n_classes;    /* of all accumulated objects */
  uint64_t around_bytes; /* of `bytes`, those of `id` and of objects above the accumulated ones */
  uint64_t objects;      /* all accumulated objects */
} lh_suspect;

typedef struct lh_suspects {
  lh_suspect *list; /* most bytes first */
  size_t n;
  uint64_t least_bytes; /* least bytes that make a suspect */
} lh_suspects;

/* Finds what holds at least a tenth of the reachable bytes (and 16 KB). The suspect is the
** accumulation point: the first object down the dominator tree whose biggest child holds less than
** 0.7 of it. No byte counts twice. _G, package.loaded, modules, the registry, the main thread's
** locals and code are no suspects; the search passes through them. Needs lh_classify. Free with
** lh_suspects_free. O(n + m). */
int lh_find_suspects(lh_snapshot *snapshot, lh_suspects *out, lh_error *error);
void lh_suspects_free(lh_suspects *suspects);

/* Why the collector has not freed what nothing refers to any more. */
typedef enum lh_garbage_reason {
  LH_GARBAGE_USUAL,
  LH_GARBAGE_OF_STOPPED, /* the program stopped it */
  LH_GARBAGE_OF_PAUSE,   /* it waits for its next cycle */
  LH_GARBAGE_OF_YOUNG,   /* in generational mode it frees old objects seldom */
  LH_GARBAGE_OF_CYCLE    /* its cycle is not at its end */
} lh_garbage_reason;

enum { LH_MOST_SETTERS = 3 };

typedef struct lh_garbage_cause {
  lh_garbage_reason reason;
  uint64_t bytes, all_bytes; /* of garbage, of all objects */
  uint64_t next_bytes;       /* the heap's size when the next cycle, or collection of all objects,
                                begins; 0: not known */
  lh_id functions[LH_MOST_SETTERS]; /* prototypes that may have told the collector so */
  size_t n_functions;
} lh_garbage_cause;

/* Needs lh_classify. O(1), unless there is a reason: O(code). */
void lh_find_garbage_cause(const lh_snapshot *snapshot, lh_garbage_cause *out);
const char *lh_garbage_reason_name(lh_garbage_reason reason); /* NULL: usual */

typedef struct lh_site_row {
  lh_site_id site;         /* 0: the site is unknown */
  uint64_t objects;        /* reachable objects, or garbage; an estimate if sampled */
  uint64_t sampled;        /* objects whose site is recorded: all, or the sampled ones */
  uint64_t shallow_bytes;  /* an estimate if sampled */
  uint64_t retained_bytes; /* freed if the recorded objects were freed; 0 for garbage */
  uint64_t ages[LH_SPANS]; /* recorded objects by span of the history */
  lh_stack_counts counts;  /* all types, since tracking began */
} lh_site_row;

/* lh_top_classes, and the number of classes without the limit. */
int lh_rank_classes(lh_snapshot *snapshot, const lh_top_query *query, lh_class_row **rows,
                    size_t *n_rows, size_t *n_all, lh_error *error);

/* Lists all sites that have objects, in the query's order, without its limit. Needs lh_analyse.
** Free *rows with lh_free. LH_ENOTFOUND: the program was not tracked. Costs as much as
** lh_top_classes. */
int lh_top_sites(lh_snapshot *snapshot, const lh_top_query *query, lh_site_row **rows, size_t *n,
                 lh_error *error);

typedef enum lh_branch_kind {
  LH_BRANCH_OBJECT,
  LH_BRANCH_LIST,  /* linked list with the first element `id` */
  LH_BRANCH_TREE,  /* tree with the root `id` */
  LH_BRANCH_GROUP, /* many objects of one class; `id` retains most */
  LH_BRANCH_REST   /* objects of a level that are not shown; `id` is LH_NO_OBJECT */
} lh_branch_kind;

/* A row of a dominator tree. A row below a group, list or tree is below any of its objects. */
typedef struct lh_branch {
  lh_branch_kind kind;
  uint32_t depth; /* 0: the object of the query */
  lh_id id;
  uint32_t class_index; /* UINT32_MAX: none */
  uint64_t objects;     /* of the class; for the rest, all objects directly there */
  uint64_t shallow_bytes, retained_bytes;
  bool has_edge; /* the row above is one object and refers to `id` by `edge` */
  lh_edge edge;
} lh_branch;

typedef struct lh_under_query {
  uint32_t depth;       /* levels below the object */
  size_t limit;         /* rows in each level, without the rest; 0: all */
  uint64_t least_bytes; /* smaller rows belong to the rest */
} lh_under_query;

/* Lists the dominator tree below `id` (or LH_ROOT) in preorder, biggest first; 8 or more objects of
** one class at one place are one row. Needs lh_classify. Free *rows with lh_free. LH_ENOTFOUND:
** garbage. Keeps 12 bytes an object. First call O(n), then O(k log k + edges of the objects shown)
** for k dominated objects. */
int lh_under(lh_snapshot *snapshot, lh_id id, const lh_under_query *query, lh_branch **rows,
             size_t *n_rows, lh_error *error);

/* Finds the retained and reached bytes of each value of package.loaded and _G. Reached are all
** objects on strong paths that avoid _G, package.loaded, the registry and the main thread, through
** which any module reaches all others. An object with several names appears once, as a module
** first. `limit` 0: all. Needs lh_classify. Free with lh_modules_free. O(n + m) for each 64
** modules. */
int lh_find_modules(lh_snapshot *snapshot, size_t limit, lh_modules *out, lh_error *error);

/* Threads with the same status whose frames have the same functions at the same lines. */
typedef struct lh_thread_group {
  lh_thread_status status;
  bool is_main;
  lh_id example; /* the thread that retains most */
  uint64_t threads;
  uint64_t shallow_bytes;  /* of the threads: stack, frames, header */
  uint64_t retained_bytes; /* freed if all of them were freed */
} lh_thread_group;

typedef struct lh_thread_groups {
  lh_thread_group *list; /* most retained bytes first; the main thread, which may hold nearly
                            all, last */
  size_t n;
  uint64_t n_threads; /* in all groups */
} lh_thread_groups;

/* Needs lh_classify. Free with lh_thread_groups_free. Costs lh_top_classes and the frames. */
int lh_group_threads(lh_snapshot *snapshot, lh_thread_groups *out, lh_error *error);
void lh_thread_groups_free(lh_thread_groups *groups);

/* A measure gives one exact number for an object. In a spread of n objects the median is number
** (n + 1) / 2 by size, and nine tenths of the objects have at most `ninth_tenth`. */
typedef enum lh_measure {
  LH_MEASURE_SHALLOW,
  LH_MEASURE_RETAINED,
  LH_MEASURE_ALONE,       /* retained, without what other instances inside retain */
  LH_MEASURE_ENTRIES,     /* tables: entries with a value */
  LH_MEASURE_LENGTH,      /* strings, in bytes */
  LH_MEASURE_CONTENT,     /* userdata, in bytes without header and user values */
  LH_MEASURE_UPVALUES,    /* functions */
  LH_MEASURE_FRAMES,      /* threads */
  LH_MEASURE_INSTRUCTIONS /* protos */
} lh_measure;

typedef struct lh_spread {
  lh_measure measure;
  uint64_t objects; /* objects that have this measure */
  uint64_t least, median, ninth_tenth, most, sum;
} lh_spread;

enum { LH_MOST_SPREADS = 9, LH_MOST_KINDS = 3 };

/* A kind of value: a class name, "number", "boolean", "pointer" (light userdata) or "function". */
typedef struct lh_value_class {
  const char *name;
  uint64_t values;
} lh_value_class;

/* A string key, upvalue, user value or local; in a collection, all keys of one type. */
typedef struct lh_field {
  const char *name;   /* .id, ["odd key"], [integer], [string], [object], upvalue bus, ... */
  uint64_t instances; /* instances with a value there */
  uint64_t values;    /* more than instances, if many keys share one type */
  uint64_t bytes;     /* retained by the instances through it, keys included, without what other
                         instances retain. No byte counts in two fields */
  lh_value_class kinds[LH_MOST_KINDS]; /* most values first */
  uint32_t n_kinds;
  uint64_t total_kinds;
} lh_field;

/* References to instances with the same source class and label. */
typedef struct lh_referring {
  uint32_t class_index; /* of the referrers; UINT32_MAX: the roots */
  const char *label;    /* .owner, [*], upvalue bus, ...; of the description */
  bool weak;
  uint64_t sources, references;
} lh_referring;

/* Instances of one allocation site; site 0: unknown. */
typedef struct lh_class_site {
  lh_site_id site;
  uint64_t objects, shallow_bytes;
} lh_class_site;

typedef struct lh_description {
  uint32_t class_index; /* the class with the name of the query */
  uint64_t objects;     /* reachable instances; all other figures are about these */
  uint64_t garbage_objects, garbage_bytes;
  uint64_t shallow_bytes, retained_bytes; /* of all instances together; no byte counts twice */
  lh_spread spreads[LH_MOST_SPREADS];     /* SHALLOW, RETAINED, ALONE, then those that some
                                             instance has */
  uint32_t n_spreads;
  uint64_t contents, repeated_bytes; /* strings: number of different contents; shallow bytes of
                                        strings equal to an earlier one */
  lh_field *fields;                  /* most bytes first */
  size_t n_fields;
  lh_referring *referrers; /* most references first */
  size_t n_referrers;
  char **labels; /* private: of the referrers */
  size_t n_labels;
  uint64_t *epochs; /* by epoch, 0 to lh_mark_count - 1; the snapshot's mark ends the last */
  uint32_t n_epochs;
  lh_class_site *sites; /* of a tracked program: most instances first */
  size_t n_sites;
  lh_id biggest; /* the instance that retains most */
} lh_description;

/* Describes the instances of a class. One costs retained_bytes / objects on average; one more costs
** the median of ALONE. `name` as in lh_find: "array" also means "array of Listener". Needs
** lh_classify. Free with lh_description_free. LH_ENOTFOUND: no such class; the message lists
** similar names. O(n log n + m). */
int lh_describe_class(lh_snapshot *snapshot, const char *name, lh_description *out,
                      lh_error *error);
void lh_description_free(lh_description *description);

/* Kinds of memory that a program could give back. No byte is in two kinds. */
typedef enum lh_waste_kind {
  LH_WASTE_EMPTIED,      /* tables without an entry: all their slots */
  LH_WASTE_SLOTS,        /* empty slots that Lua would not allocate anew, of tables with entries */
  LH_WASTE_SMALL_TABLES, /* tables with at most one entry, without the slots above. Neither
                            metatables, nor tables with a metatable, nor modules */
  LH_WASTE_STRINGS,      /* strings equal to another string */
  LH_WASTE_CLOSURES,     /* functions with the code and upvalues of another one */
  LH_WASTE_USER_VALUES,  /* userdata whose user values are all nil: their space */
  LH_WASTE_DEBUG,        /* debug information that string.dump(f, true) drops: lines, local
                            variables, names that nothing else refers to */
  LH_WASTE_KINDS
} lh_waste_kind;

/* Objects of one class at one place; for LH_WASTE_DEBUG, the protos of one source. */
typedef struct lh_waste_row {
  uint32_t class_index; /* UINT32_MAX for LH_WASTE_DEBUG */
  const char *held_by;  /* folded path, or the source, such as @app.lua */
  uint64_t objects;     /* for equal strings and functions, without the original */
  uint64_t bytes;       /* that could be given back */
  uint64_t slots, used; /* of tables: all slots, and those with a value */
  uint64_t by_hash;     /* equal by length and XXH64 only: the snapshot keeps a part of the bytes */
  lh_id example;        /* the object with most bytes to give back */
  lh_id original;       /* the object that the example equals, or LH_NO_OBJECT */
  uint64_t most;        /* private: bytes of the example */
} lh_waste_row;

typedef struct lh_waste_sum {
  uint64_t objects, bytes, by_hash; /* of all rows */
  uint64_t originals;               /* different objects that the equal ones repeat */
  lh_waste_row *rows;               /* most bytes first */
  size_t n_rows;
} lh_waste_sum;

typedef struct lh_waste {
  uint64_t bytes; /* of all kinds except LH_WASTE_SMALL_TABLES, which a program may need */
  lh_waste_sum kinds[LH_WASTE_KINDS];
  uint64_t string_table_bytes; /* not in `bytes`: the excess of Lua's table of short strings. Lua
                                  halves this table itself, once in each collection */
  uint64_t block_bytes; /* not in `bytes`: size of all userdata; a snapshot does not show its use */
} lh_waste;

/* Finds reachable memory that the program could give back. A name in debug information of several
** sources counts once. Needs lh_classify. Free *out with lh_waste_free. O(n + m). */
int lh_find_waste(lh_snapshot *snapshot, lh_waste **out, lh_error *error);
void lh_waste_free(lh_waste *waste);

/* The same, found once: the snapshot owns *out. */
int lh_kept_waste(lh_snapshot *snapshot, const lh_waste **out, lh_error *error);

/* True if the values of an array are replaced in order of age, from key 1 on again. O(entries). */
bool lh_is_full_ring(const lh_snapshot *snapshot, lh_id table);

/* Are the keys few integers, of which an eighth or more are there? New ones then come between those
** of older objects, as in a cache that fills; numbers that count up come behind them. O(entries).
*/
bool lh_has_few_keys(const lh_snapshot *snapshot, const lh_history *history, lh_id table);

/* Finds a limit for the `count` elements that `holder` holds (lh_bound). LH_EMEMORY; LH_ENOTFOUND:
** `holder` is garbage. O(entries read), after O(n + m) for the first. */
int lh_find_bound(lh_snapshot *snapshot, lh_id holder, uint64_t count, lh_bound *out,
                  lh_error *error);

/* The same for the first four referrers of each of the distinct `ids`. O(n + m). */
int lh_find_bounds(lh_snapshot *snapshot, const lh_id *ids, const uint64_t *counts, size_t n,
                   lh_bound *bounds, lh_error *error);

/* What nine tenths of the keys of a collection are. */
typedef enum lh_keying {
  LH_KEYED_NOT,      /* linked objects: no keys */
  LH_KEYED_SEQUENCE, /* 1, 2, 3 ... without a gap */
  LH_KEYED_INTEGERS,
  LH_KEYED_TIMES,        /* seconds since 1970, from 2000 to a year after the snapshot */
  LH_KEYED_MILLISECONDS, /* the same in milliseconds */
  LH_KEYED_NUMBERS,
  LH_KEYED_UUIDS,
  LH_KEYED_HEX,      /* of one length, at least 8 */
  LH_KEYED_NUMBERED, /* equal except for digits: user:123 */
  LH_KEYED_TOKENS,   /* of one length, at least 8, with digits or capitals inside */
  LH_KEYED_NAMES,    /* without digits and blanks */
  LH_KEYED_STRINGS,
  LH_KEYED_OBJECTS,
  LH_KEYED_MIXED
} lh_keying;

/* Tables at one path with many elements of one class, or linked objects of one class. The fields
** from `elements` on are about `id`. The prospect is of all tables. */
typedef struct lh_growing {
  bool is_list; /* linked objects, not tables */
  lh_prospect prospect;
  const char *held_by; /* folded path */
  uint64_t tables;     /* tables at the path; or lists */
  uint64_t tables_filled_once;
  uint64_t entries;        /* in all of the tables */
  uint64_t alike_entries;  /* the entries that are alike */
  uint64_t bytes;          /* of all tables, with what elements and keys retain, shared or not; no
                             byte twice. For _G and the like, only of the alike elements. Of a
                             bounded table without the chains that grow in it */
  uint64_t ages[LH_SPANS]; /* aged elements of all tables by span of the history */
  lh_id oldest_holder;     /* of the holders of all tables */
  bool has_young_holder;   /* lh_holder_is_too_young */
  lh_id id; /* the biggest one with the best prospect; of linked objects the one nearest to the root
               that no table has as its element */
  lh_id holder; /* id; of linked objects what holds the nearest one */
  uint64_t elements;
  const char *element; /* class or type of most elements, as in lh_value_class */
  lh_type type;        /* LH_TYPE_ROOT: the elements are no objects */
  uint64_t alike;      /* elements of that class or type */
  bool are_keys;       /* the keys are the elements: values are booleans, numbers, few objects,
                          or retain less */
  bool weak_keys, weak_values; /* declared, although all weak parts stay: strings, numbers */
  lh_keying keying;
  double least, greatest;    /* numeric keys; times in seconds */
  lh_id example_key;         /* of string keys, or LH_NO_OBJECT */
  bool exact;                /* the array part has no free slot, as a constructor makes it */
  uint64_t aged;             /* elements that are objects, which have an age */
  uint64_t since_first_mark; /* aged elements younger than the first mark */
  uint32_t epochs;           /* number of different epochs of the elements */
  uint32_t oldest_epoch, youngest_epoch; /* less than lh_mark_count */
  bool in_one_go;    /* hardly any other live object was allocated while the table was filled */
  double younger;    /* share of the reachable objects younger than the youngest element */
  uint64_t content;  /* private: equal for equal sets of elements */
  lh_bound bound;    /* for `alike` elements in `id` */
  bool is_ring;      /* lh_is_full_ring */
  bool has_few_keys; /* lh_has_few_keys, of what would grow for certain otherwise */
  size_t same_as;    /* index of the first row with the same elements; its own if none */
  uint32_t at, folded_at; /* private: the place; without keys */
  uint32_t element_class; /* private: class of most elements; UINT32_MAX: none or several */
} lh_growing;

typedef struct lh_growings {
  lh_growing *list; /* by prospect, LH_GROWS first, then most bytes first */
  size_t n;
  size_t n_filled_once; /* the last rows */
} lh_growings;

/* Finds leak candidates: tables with at least 16 entries of which nine tenths are alike, and at
** least 16 linked objects; each with a thousandth of the reachable bytes, and 1 KB. Weak tables
** count only if no entry can vanish. Alike are objects of one class, strings, numbers, or booleans;
** tables of any class unless the keys are names; in package.loaded only modules under generated
** keys. Tables that were filled once, such as constants, are known by the age of their elements and
** by the slots that a constructor makes.
** `history`: of lh_find_history; NULL: computed here. Needs lh_classify. Free with
** lh_growings_free. O(n log n + m). */
int lh_find_growing(lh_snapshot *snapshot, const lh_history *history, lh_growings *out,
                    lh_error *error);
void lh_growings_free(lh_growings *growings);

/* The same, found once: the snapshot owns the rows of *out. */
int lh_kept_growings(lh_snapshot *snapshot, const lh_history *history, lh_growings *out,
                     lh_error *error);
const char *lh_prospect_name(lh_prospect prospect); /* "may grow", ... */
const char *lh_keying_name(lh_keying keying);       /* "sequence", "uuids", ... */
