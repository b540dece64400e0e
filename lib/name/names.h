/*
** names.h - shared by the files that name things. Private to the library.
**
** classes.c has the class of every object; candidates.c, metatables.c, functions.c, shapes.c,
** collections.c, luaheap_objects.c and code_references.c find names. All texts are in one set of
** strings (`texts`) and are passed by number.
*/
#pragma once

#include "map.h"
#include "read/snapshot.h"
#include "text.h"

/* Identifies code even if its name changes: source, lines, sizes. The first word is 0 if
** unknown. */
enum { LH_CODE_WORDS = 4 };

typedef struct lh_function_code {
  uint64_t words[LH_CODE_WORDS];
} lh_function_code;

typedef struct lh_folds lh_folds;

typedef struct lh_class_entry {
  lh_class visible;
  lh_text_id name;
  lh_text_id marked, stable; /* the name with marks (text.h); without the text between marks */
  lh_text_id fields;         /* record: all keys; collection, module: its kind; LH_NO_NUMBER */
  uint32_t plain;            /* collection: its class without contents; else LH_NO_NUMBER */
  uint64_t shape;            /* the part of `fields` for fingerprints; record: a hash of all keys */
  lh_function_code code;     /* of functions and prototypes */
  bool one_key;              /* a record with one field */
  bool is_module;
  bool is_map, is_empty; /* collections: the keys vary; there are no keys */
  bool specific;         /* says what the objects are for, unlike "array" */
} lh_class_entry;

typedef struct lh_code_references {
  uint64_t *pairs; /* string << 32 | prototype */
  size_t n;
  bool is_made;
} lh_code_references;

struct lh_classes {
  lh_class_entry *list;
  size_t n, capacity;
  lh_map by_identity; /* lh_class_key -> index */
  lh_strings texts;
  uint32_t *of;       /* class of each object */
  lh_map functions;   /* proto -> "function on_tick @app.lua:31"; thread -> its text */
  lh_map c_functions; /* address of a C function -> "string.format" */
  lh_map named;       /* a function's name with place -> bytes before the place */
  lh_map modules;     /* table -> its name in package.loaded */
  lh_map varying;     /* table, class -> whether keys vary, a cache */
  lh_code_references code_references; /* made on first use */
  struct lh_place_tree *places;       /* for all analyses (place_steps.h); NULL: not made yet */
  void (*free_places)(struct lh_place_tree *places);
  lh_folds *folds; /* NULL: not made yet, or dropped by another analysis */
  void (*free_folds)(lh_folds *folds);
  uint8_t *inside; /* a bit for each closure whose code is inside another function */
  lh_id registry, globals, loaded;
};

/* Inline inside the library. classes.c emits it for callers with public headers alone. */
#ifndef LH_OF_CLASSES
#define LH_OF_CLASSES extern inline __attribute__((gnu_inline))
#endif

LH_OF_CLASSES uint32_t lh_class_of(const lh_snapshot *snapshot, lh_id id) {
  return snapshot->classes && id != LH_ROOT && id <= snapshot->n ? snapshot->classes->of[id]
                                                                 : UINT32_MAX;
}

void lh_free_code_references(lh_code_references *code_references);

/* classes.c: for when the paths that name objects change. */
void lh_drop_folds(lh_classes *classes);

/* ==== classes.c ===================================================================== */

/* The identity of a class, for a map. Both texts are of one set. */
enum { LH_CLASS_WORDS = 2 };

typedef struct lh_class_key {
  uint64_t words[LH_CLASS_WORDS];
} lh_class_key;

static inline lh_class_key lh_key_of_class(lh_text_id name, lh_text_id fields, lh_type type) {
  return (lh_class_key){{(uint64_t)name << 32 | fields, type}};
}

static inline lh_text_id lh_source_of(const lh_function_code *code) {
  return (lh_text_id)code->words[0];
}

static inline lh_function_code lh_code_with(const lh_function_code *code, lh_text_id source) {
  lh_function_code other = *code;
  other.words[0] = (other.words[0] >> 32 << 32) | source;
  return other;
}

/* Makes a new class if needed. Its name has marks. */
uint32_t lh_class_intern(lh_classes *classes, lh_text_id name, lh_text_id fields, lh_type type,
                         bool specific);

static inline const lh_class_entry *lh_class_entry_of(const lh_snapshot *snapshot, lh_id id) {
  uint32_t i = id && id <= snapshot->n ? snapshot->classes->of[id] : UINT32_MAX;
  return i == UINT32_MAX ? NULL : &snapshot->classes->list[i];
}

/* The length of "function on_tick " in the name of a class, before the place. 0: no place. */
static inline uint32_t lh_own_bytes(const lh_snapshot *snapshot, const lh_class_entry *class) {
  uint32_t n = lh_map_get(&snapshot->classes->named, class->marked);
  return n == LH_NO_NUMBER ? 0 : n;
}

/* Did another function make the closure? Then many closures may share its code, and only their
** holders tell them apart. */
static inline bool lh_is_made_inside(const lh_snapshot *snapshot, lh_id closure) {
  return snapshot->classes && snapshot->classes->inside[closure / 8] >> closure % 8 & 1;
}

/* Without contents and counts, which no place needs. The caller must drop the classes. */
int lh_classify_for_places(lh_snapshot *snapshot, lh_error *error);

/* ==== Scratch of lh_classify ======================================================== */

/* Where a name was found, best first. */
enum lh_name_rank {
  LH_NAME_GLOBAL,       /* a key of _G */
  LH_NAME_MODULE,       /* a key of package.loaded */
  LH_NAME_MODULE_FIELD, /* a key of a module */
  LH_NAME_CAPITAL_KEY,  /* a capitalized key of another table */
  LH_NAME_CAPITAL,      /* a capitalized upvalue or local variable */
  LH_NAME_KEY,
  LH_NAME_VARIABLE,
  LH_NAME_GENERIC, /* mt, self ...: only useful with a module or file */
  LH_NAME_DUNDER,  /* __index ...: useless, but its table may have a name */
  LH_NAME_NONE
};

typedef struct lh_candidate {
  uint32_t rank;
  lh_text_id text;
  lh_text_id qualifier; /* module or file, if known */
  lh_id container;      /* the table where it was found */
  lh_id closure;        /* of a proto: a closure whose name has this rank */
  bool several;         /* several closures have names of this rank */
  bool other_names;     /* found under two names of this rank */
  bool ambiguous;       /* two names are equally good, so none is used */
} lh_candidate;

/* A metatable, or the __index table of a metatable. */
typedef struct lh_meta {
  lh_id id, index; /* index: the table under __index, or LH_NO_OBJECT */
  lh_text_id name;
  lh_text_id strong; /* _NAME, __cname ...: set by class libraries */
  lh_text_id weak;
  lh_text_id basic;     /* its own name, if it is the metatable of a basic type */
  lh_text_id result;    /* name of its instances, or LH_NO_NUMBER */
  uint32_t class_index; /* of instances that are tables; UINT32_MAX: not yet known */
  bool is_metatable;
} lh_meta;

enum {
  LH_WANTED = 1, /* needs a name: metatables, their __index, functions without a name */
  LH_MODULE = 2,
  LH_NAMED = 4,  /* a closure that was found under a name */
  LH_INSIDE = 8, /* a prototype whose code is inside a function other than a main chunk */
};

/* shapes.c: cache from a table's keys, in the order of its record, to its class. */
enum { LH_SEEN_SHAPES = 256, LH_SEEN_KEYS = 12 };

typedef struct lh_seen_shape {
  bool is_set;
  unsigned kinds;
  size_t n;
  lh_id keys[LH_SEEN_KEYS];
  uint32_t class_index;
} lh_seen_shape;

/* candidates.c: cache of the rank of keys in tables that are no modules. */
enum { LH_WEIGHED = 64 };

typedef struct lh_weighed {
  bool is_set, of_function;
  lh_id key;
  lh_candidate candidate;
} lh_weighed;

typedef struct lh_namer {
  lh_snapshot *snapshot;
  lh_classes *classes;
  bool for_places; /* lh_classify_for_places */
  uint8_t *flags;
  lh_map candidate_of; /* metatable, C closure or proto -> index */
  lh_candidate *candidates;
  size_t n_candidates, candidate_capacity;
  lh_map meta_of;
  lh_meta *metas;
  size_t n_metas, meta_capacity;
  lh_map sources;           /* source string -> qualifier text */
  lh_map given;             /* a table that holds metatables -> 1 + its own name, or 0 */
  lh_text_id *module_names; /* sorted, dots as slashes */
  size_t n_module_names;
  lh_map nested;       /* proto -> the string that the enclosing code names it by */
  lh_map around;       /* proto -> proto of the enclosing function, unless that is a main chunk */
  lh_strings key_sets; /* sorted ids of the keys of records */
  lh_map shapes;       /* number of a key set, or kind of a collection -> class */
  lh_map closures;     /* proto -> class of its closures */
  lh_map threads;      /* proto -> name of threads that run its function */
  lh_seen_shape seen_shapes[LH_SEEN_SHAPES];
  lh_weighed weighed[LH_WEIGHED];
  bool failed; /* out of memory */
} lh_namer;

static inline bool lh_namer_fails(lh_namer *namer, bool is_out_of_memory) {
  namer->failed |= is_out_of_memory;
  return is_out_of_memory;
}

/* Empties the text. LH_NO_NUMBER: out of memory, and sets namer->failed. */
lh_text_id lh_namer_text(lh_namer *namer, lh_text *text);
lh_text_id lh_namer_string(lh_namer *namer, const char *bytes, size_t n);

static inline const char *lh_namer_chars(const lh_namer *namer, lh_text_id text) {
  return namer->classes->texts.texts[text];
}

/* candidates.c: searches all reachable tables, closures and threads for names of LH_WANTED ones. */
void lh_find_candidates(lh_namer *namer);
const lh_candidate *lh_candidate_of(const lh_namer *namer, lh_id id);

/* metatables.c */
uint32_t lh_add_meta(lh_namer *namer, lh_id id);
void lh_name_metatables(lh_namer *namer);

/* functions.c */
void lh_collect_nested_names(lh_namer *namer);
void lh_collect_c_functions(lh_namer *namer);
/* "function on_tick @app.lua:31"; needs lh_find_candidates. The label is without "function ". */
lh_text_id lh_function_name(lh_namer *namer, lh_id proto);
const char *lh_function_label(const lh_namer *namer, lh_id proto, lh_text_id name);
/* *specific: the name says what it is for. *proto: the thread's function, or LH_NO_OBJECT. */
lh_text_id lh_c_function_name(lh_namer *namer, lh_id closure, bool *specific);
lh_text_id lh_thread_name(lh_namer *namer, lh_id thread, lh_id *proto, bool *specific);
uint32_t lh_shape_of(lh_namer *namer, lh_id table);

/* Turns records with one field whose key varies into maps. */
void lh_join_one_key_maps(lh_namer *namer);

/* collections.c: the final classes of collections, which lh_shape_of left plain and uncounted. */
void lh_classify_collections(lh_namer *namer);
void lh_count_object(const lh_snapshot *snapshot, lh_classes *classes, lh_id id);

/* ==== luaheap_objects.c ============================================================== */

/* Sets `mark` of luaheap's modules and of objects whose shortest path leads through them. Needs
** classes. O(luaheap's objects). */
bool lh_mark_luaheap(const lh_snapshot *snapshot, uint8_t *marks, uint8_t mark);

/* heap.snapshot: an object, or the address of a C function. False: not found. */
bool lh_find_snapshot_function(const lh_snapshot *snapshot, lh_value *found);

/* ==== names.c ======================================================================= */

/* Empties the text. LH_NO_NUMBER: out of memory, or full. */
lh_text_id lh_strings_take(lh_strings *strings, lh_text *text);

/* "Insert, Delete and 3 more": the first two of n texts, joined by `between`. The texts are fields
** of structures of `stride` bytes. NULL: out of memory, or full. */
const char *lh_list_text(lh_strings *strings, const char *const *first, size_t stride, size_t n,
                         const char *between);

/* Limit for names and keys. Lines stay readable, and long strings cost no more than short ones. */
enum { LH_NAME_BYTES = LH_DEFAULT_STRING_BYTES };

/* The bytes of a string. False: only a part, by the snapshot's limit or LH_NAME_BYTES; or no
** string. */
bool lh_string_whole(const lh_snapshot *snapshot, lh_id id, const char **bytes, size_t *n);
bool lh_string_is(const lh_snapshot *snapshot, lh_id id, const char *text); /* the whole of it */

/* The contents of a string, comparable between snapshots: bytes up to a limit that both keep; for a
** longer string also its length and the XXH64 of the whole. */
typedef struct lh_content {
  const char *bytes;
  size_t n;
  uint64_t length, hash; /* hash: 0 if n is the length */
} lh_content;

lh_content lh_content_of(const lh_snapshot *snapshot, lh_id string, uint64_t limit);
bool lh_same_content(const lh_content *a, const lh_content *b);

/* With a secret seed nobody can prepare contents that collide. */
uint64_t lh_hash_content(const lh_content *content, uint64_t seed);

/* Adds the kept bytes of a string, escaped. False: there are none. */
bool lh_add_name(lh_text *text, const lh_snapshot *snapshot, lh_id string);

void lh_add_source(lh_text *text, const lh_snapshot *snapshot, lh_id source);

/* A value as in Lua's source; an object as Lua prints it: "text"  17  table: 0x... */
void lh_add_value(lh_text *text, const lh_snapshot *snapshot, lh_value value);

/* A key in brackets or behind a dot: .x  ["odd key"]  [17]  [table: 0x...]. */
void lh_add_key(lh_text *text, const lh_snapshot *snapshot, lh_value key, bool brackets);

/* The weak table of an ephemeron: its path if that is plain, else its address. */
void lh_add_holder(lh_text *text, const lh_snapshot *snapshot, lh_id holder);

bool lh_same_key(lh_value a, lh_value b);

/* The object's class; before lh_classify its address. */
void lh_add_class(lh_text *text, const lh_snapshot *snapshot, lh_id id);

/* functions.c: "C function on_packet (libgame.so+0x1a2b)", without a symbol "C function
** libgame.so+0x1a2b". False: not known, nothing added. */
bool lh_add_c_code(lh_text *text, const lh_snapshot *snapshot, uint64_t function);

/* lh_add_edge: lh_edge_text. lh_add_slot: a value in a stack frame, "local x in function f
** @app.lua:1". lh_add_root: a root, whose edge is lh_edge_of_root. */
void lh_add_edge(lh_text *text, const lh_snapshot *snapshot, const lh_edge *edge);
void lh_add_root(lh_text *text, const lh_snapshot *snapshot, const lh_edge *edge);
void lh_add_slot(lh_text *text, const lh_snapshot *snapshot, const lh_edge *edge);

static inline lh_edge lh_edge_of_root(const lh_root *root) {
  return (lh_edge){.kind = LH_EDGE_ROOT,
                   .index = (uint32_t)root->kind,
                   .ordinal = root->index,
                   .target = root->target};
}
