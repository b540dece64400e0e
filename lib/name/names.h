/*
** names.h - what the files that name things share: classes.c (the class of every object),
** candidates.c (names under which things are found), metatables.c, functions.c, shapes.c, own.c,
** contents.c and naming.c, and the files that turn objects, edges and paths into text.
** Private to the library.
**
** All texts live once in one set of strings (`texts`) and are passed around by their number there.
*/
#ifndef LUAHEAP_NAMES_H
#define LUAHEAP_NAMES_H

#include "map.h"
#include "read/snapshot.h"
#include "text.h"

/* What stays the same about a function when its name changes: its source, a text, its lines and the
** figures of its code. The first word is 0 where it is not known. */
enum { LH_CODE_WORDS = 4 };

typedef struct lh_function_code {
  uint64_t words[LH_CODE_WORDS];
} lh_function_code;

typedef struct lh_folds lh_folds; /* fold.h */

typedef struct lh_class_entry {
  lh_class visible;
  lh_text_id name;
  lh_text_id marked, stable; /* the name with marks (text.h), and without what is between these */
  lh_text_id fields;         /* of a record all its keys, of a collection or a module its kind; else
                        LH_NO_NUMBER */
  uint32_t plain; /* of a collection: its class without what it holds; else LH_NO_NUMBER */
  uint64_t shape; /* what a fingerprint has of the fields: of a record the hash of all keys */
  lh_function_code code; /* of functions and their prototypes */
  bool one_key;          /* a record with one field */
  bool is_module;
  bool is_map, is_empty; /* of collections: the keys vary, or there are none */
  bool specific;         /* says what the objects are for, unlike "array" or "map[string]" */
} lh_class_entry;

/* naming.c: each name with the prototype that has it, sorted. */
typedef struct lh_naming {
  uint64_t *pairs; /* string << 32 | prototype */
  size_t n;
  bool is_made;
} lh_naming;

struct lh_classes {
  lh_class_entry *list;
  size_t n, capacity;
  lh_map by_identity; /* lh_class_key -> index */
  lh_strings texts;
  uint32_t *of;       /* class of each object */
  lh_map functions;   /* proto -> text such as "function on_tick @app.lua:31"; thread -> text */
  lh_map c_functions; /* address of a C function -> text such as "string.format" */
  lh_map named;       /* text of a function's name with its place -> bytes before the place */
  lh_map modules;     /* table -> its name in package.loaded */
  lh_map varying;     /* table, class -> do its keys vary there: what was asked for before */
  lh_naming naming;   /* made when it is first asked for */
  struct lh_place_tree *places; /* of all analyses (place_steps.h); NULL: none yet */
  void (*free_places)(struct lh_place_tree *places);
  lh_folds *folds; /* NULL: none yet, or no more after another analysis */
  void (*free_folds)(lh_folds *folds);
  uint8_t *inside; /* a bit for each closure whose code stands inside another function's */
  lh_id registry, globals, loaded;
};

void lh_free_naming(lh_naming *naming);

/* classes.c: the paths that objects are named by are other ones. */
void lh_drop_folds(lh_classes *classes);

/* ==== classes.c ===================================================================== */

/* What tells a class from all others, for a map: its name, its fields and its type. Both texts are
** numbers in one set. */
enum { LH_CLASS_WORDS = 2 };

typedef struct lh_class_key {
  uint64_t words[LH_CLASS_WORDS];
} lh_class_key;

static inline lh_class_key lh_key_of_class(lh_text_id name, lh_text_id fields, lh_type type) {
  return (lh_class_key){{(uint64_t)name << 32 | fields, type}};
}

/* The text of its source. */
static inline lh_text_id lh_source_of(const lh_function_code *code) {
  return (lh_text_id)code->words[0];
}

/* The same code, its source being another number in another set of texts. */
static inline lh_function_code lh_code_with(const lh_function_code *code, lh_text_id source) {
  lh_function_code other = *code;
  other.words[0] = (other.words[0] >> 32 << 32) | source;
  return other;
}

/* The index of a class, made if it is new; LH_NO_NUMBER when out of memory. Its name has marks. */
uint32_t lh_class_intern(lh_classes *classes, lh_text_id name, lh_text_id fields, lh_type type,
                         bool specific);

static inline const lh_class_entry *lh_class_entry_of(const lh_snapshot *snapshot, lh_id id) {
  uint32_t i = id && id <= snapshot->n ? snapshot->classes->of[id] : UINT32_MAX;
  return i == UINT32_MAX ? NULL : &snapshot->classes->list[i];
}

/* ==================================================================================== */

/* How many bytes of its class's name are a function's own name, with the blank before its place,
** "function on_tick ". 0: it has no place. */
static inline uint32_t lh_own_bytes(const lh_snapshot *snapshot, const lh_class_entry *class) {
  uint32_t n = lh_map_get(&snapshot->classes->named, class->marked);
  return n == LH_NO_NUMBER ? 0 : n;
}

/* Is this a closure that another function made, so that there may be many of its code? Its code
** does not say which one it is, and what it holds is told by who holds it. What a main chunk makes
** there is once. */
static inline bool lh_is_made_inside(const lh_snapshot *snapshot, lh_id closure) {
  return snapshot->classes && snapshot->classes->inside[closure / 8] >> closure % 8 & 1;
}

/* lh_classify without what no place depends on: what collections hold, and how many objects each
** class has. Whoever asks for it drops the classes again. */
int lh_classify_for_places(lh_snapshot *snapshot, lh_error *error);

/* ==== Scratch of lh_classify ======================================================== */

/* Names of metatables and functions, best first. */
enum lh_name_rank {
  LH_NAME_GLOBAL,       /* a key of _G */
  LH_NAME_MODULE,       /* a key of package.loaded */
  LH_NAME_MODULE_FIELD, /* a key of a module */
  LH_NAME_CAPITAL_KEY,  /* a key of another table, in a class's spelling */
  LH_NAME_CAPITAL,      /* such an upvalue or local variable */
  LH_NAME_KEY,
  LH_NAME_VARIABLE,
  LH_NAME_GENERIC, /* mt, self ...: of use with a module's or file's name only */
  LH_NAME_DUNDER,  /* __index and the like: says nothing, but its table may have a name */
  LH_NAME_NONE
};

typedef struct lh_candidate {
  uint32_t rank;
  lh_text_id text;
  lh_text_id qualifier; /* module or file, where known */
  lh_id container;      /* the table where it was found */
  lh_id closure;        /* of a proto: one of its closures that have a name as good */
  bool several;         /* several closures have a name as good */
  bool other_names;     /* found under two equally good names */
  bool ambiguous;       /* of two such names neither is better than none */
} lh_candidate;

/* A metatable, or a table that is the __index of one. */
typedef struct lh_meta {
  lh_id id, index;      /* index: the table under __index, or LH_NO_OBJECT */
  lh_text_id name;      /* __name */
  lh_text_id strong;    /* _NAME, __cname ...: what class libraries leave */
  lh_text_id weak;      /* name */
  lh_text_id basic;     /* the metatable's own name if it is one of a basic type */
  lh_text_id result;    /* of its instances, or LH_NO_NUMBER */
  uint32_t class_index; /* of its instances that are tables; UINT32_MAX: not yet */
  bool is_metatable;
} lh_meta;

/* flags[id] */
enum {
  LH_WANTED = 1, /* a name is looked for: metatables, their __index, functions without */
  LH_MODULE = 2,
  LH_NAMED = 4,  /* a closure that was found under a name */
  LH_INSIDE = 8, /* a prototype whose code stands inside that of a function with a line */
};

/* shapes.c: keys of a table, in the order of its record, and its class. */
enum { LH_SEEN_SHAPES = 256, LH_SEEN_KEYS = 12 };

typedef struct lh_seen_shape {
  bool is_set;
  unsigned kinds;
  size_t n;
  lh_id keys[LH_SEEN_KEYS];
  uint32_t class_index;
} lh_seen_shape;

/* candidates.c: what a key is worth as a name in a table that is no module. */
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
  lh_map nested;       /* proto -> the string that the enclosing code calls it */
  lh_map around;       /* proto -> that of the enclosing function, if that is no main chunk */
  lh_strings key_sets; /* the ids of the keys of a record, in order */
  lh_map shapes;       /* number of a key set, or kind of a collection -> class */
  lh_map closures;     /* proto -> class of its closures */
  lh_map threads;      /* proto -> what threads are called that run its function */
  lh_seen_shape seen_shapes[LH_SEEN_SHAPES];
  lh_weighed weighed[LH_WEIGHED];
  bool failed; /* out of memory */
} lh_namer;

/* Notes whether memory ran out, and returns it. */
static inline bool lh_namer_fails(lh_namer *namer, bool is_out_of_memory) {
  namer->failed |= is_out_of_memory;
  return is_out_of_memory;
}

/* The text's number; LH_NO_NUMBER and namer->failed when out of memory. The lh_text is emptied. */
lh_text_id lh_namer_text(lh_namer *namer, lh_text *text);
lh_text_id lh_namer_string(lh_namer *namer, const char *bytes, size_t n);

static inline const char *lh_namer_chars(const lh_namer *namer, lh_text_id text) {
  return namer->classes->texts.texts[text];
}

/* candidates.c: looks at every reachable table, closure and thread for names of LH_WANTED ones. */
void lh_find_candidates(lh_namer *namer);
const lh_candidate *lh_candidate_of(const lh_namer *namer, lh_id id);

/* metatables.c */
uint32_t lh_add_meta(lh_namer *namer, lh_id id);
void lh_name_metatables(lh_namer *namer);

/* functions.c */
void lh_collect_nested_names(lh_namer *namer);
void lh_collect_c_functions(lh_namer *namer);
/* "function on_tick @app.lua:31"; lh_candidate_of must be complete. And of that name "on_tick
** @app.lua:31". */
lh_text_id lh_function_name(lh_namer *namer, lh_id proto);
const char *lh_function_label(const lh_namer *namer, lh_id proto, lh_text_id name);
/* *specific: the name says what it is for. *proto: of the function that it runs, or
** LH_NO_OBJECT. */
lh_text_id lh_c_function_name(lh_namer *namer, lh_id closure, bool *specific);
lh_text_id lh_thread_name(lh_namer *namer, lh_id thread, lh_id *proto, bool *specific);

/* shapes.c: the class of a table by its keys. */
uint32_t lh_shape_of(lh_namer *namer, lh_id table);

/* Makes maps of one entry, which lh_shape_of took for records, maps. */
void lh_join_one_key_maps(lh_namer *namer);

/* contents.c: the final classes of collections, which lh_shape_of left plain and uncounted. */
void lh_name_contents(lh_namer *namer);
/* classes.c: adds it to its class */
void lh_count_object(const lh_snapshot *snapshot, lh_classes *classes, lh_id id);

/* ==== own.c ========================================================================= */

/* Sets `mark` of what luaheap's modules are, and of all whose shortest path leads through these.
** Needs the classes. False: out of memory. O(their objects). */
bool lh_mark_luaheap(const lh_snapshot *snapshot, uint8_t *marks, uint8_t mark);

/* The function heap.snapshot: an object, or the address of a C function. False: there is none. */
bool lh_find_snapshot_function(const lh_snapshot *snapshot, lh_value *found);

/* ==== names.c ======================================================================= */

/* The number of a text among others; LH_NO_NUMBER when out of memory or full. Empties the text. */
lh_text_id lh_strings_take(lh_strings *strings, lh_text *text);

/* "Insert, Delete and 3 more": of n texts the first two, with this between them, as one of
** `strings`. Each is a field of a structure of so many bytes. NULL: out of memory, or full. */
const char *lh_list_text(lh_strings *strings, const char *const *first, size_t stride, size_t n,
                         const char *between);

/* No name and no key is read further than a snapshot usually keeps it, so that a long string which
** names many objects costs no more than a short one, and lines stay readable. */
enum { LH_NAME_BYTES = LH_DEFAULT_STRING_BYTES };

/* The bytes of a string object, and how many. False if they are only a part of it: the snapshot has
** no more, or it is longer than LH_NAME_BYTES; or if it is no string: then there are none. */
bool lh_string_whole(const lh_snapshot *snapshot, lh_id id, const char **bytes, size_t *n);

/* What a string says, as far as two snapshots tell it: its bytes, up to a limit that both keep, and
** of a longer one the length and the XXH64 of the whole, too. */
typedef struct lh_content {
  const char *bytes;
  size_t n;
  uint64_t length, hash; /* hash: 0 where n is the length */
} lh_content;

lh_content lh_content_of(const lh_snapshot *snapshot, lh_id string, uint64_t limit);
bool lh_same_content(const lh_content *a, const lh_content *b);

/* With a secret seed nobody can prepare contents that meet under one hash. */
uint64_t lh_hash_content(const lh_content *content, uint64_t seed);

/* The string's bytes that are kept, escaped. False if none is. */
bool lh_add_name(lh_text *text, const lh_snapshot *snapshot, lh_id string);

/* lh_text_source of a string object. */
void lh_add_source(lh_text *text, const lh_snapshot *snapshot, lh_id source);

/* A value as Lua's source has it, but an object as Lua prints it: "text"  17  table: 0x... */
void lh_add_value(lh_text *text, const lh_snapshot *snapshot, lh_value value);

/* A key between brackets or behind a dot: .x  ["odd key"]  [17]  [table: 0x...]. */
void lh_add_key(lh_text *text, const lh_snapshot *snapshot, lh_value key, bool brackets);

/* The table that keeps an ephemeron's value, told by its own path if that is a plain one. */
void lh_add_holder(lh_text *text, const lh_snapshot *snapshot, lh_id holder);

/* Are these the same key of a table? */
bool lh_same_key(lh_value a, lh_value b);

/* The object's class; before lh_classify the object. */
void lh_add_class(lh_text *text, const lh_snapshot *snapshot, lh_id id);

/* functions.c: "C function on_packet (libgame.so+0x1a2b)", without a symbol "C function
** libgame.so+0x1a2b". False, and nothing: the snapshot does not know where its code is. */
bool lh_add_c_code(lh_text *text, const lh_snapshot *snapshot, uint64_t function);

/* An LH_EDGE_ROOT, and what stands in a stack frame: "local x in function f @app.lua:1". */
void lh_add_root(lh_text *text, const lh_snapshot *snapshot, const lh_edge *edge);
void lh_add_slot(lh_text *text, const lh_snapshot *snapshot, const lh_edge *edge);

#endif
