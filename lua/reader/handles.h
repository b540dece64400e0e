/*
** handles.h - Private declarations of heap.reader.
** A snapshot is a userdata with an lh_snapshot. Objects, edges and lists are small userdata that
** refer to it and decode their fields on demand.
**
**     reader.c      the module; snapshots and their lifetime; metatables, rows, errors
**     objects.c     one object: fields, allocation site, value
**     edges.c       edges, paths, referrers; lists; iterators over objects, edges, entries
**     sets.c        biggest classes and objects, marks; why a set is alive, what cuts would free
**     answers.c     the library's answers by their columns, of snapshots and of profiles
**
** Rows are tables with the keys of --json, but with objects instead of addresses. heap/print.lua
** prints them. Whenever the Lua API allocates, Lua may run a finalizer, and with it anything, even
** snapshot:close(). So use a pointer from the library before the next call of Lua, or hold the
** snapshot (hr_hold), which delays its closing. A hold also owns memory to free after an error.
*/
#pragma once

#include "options.h"
#include "rooms/all.h"

/* ==== Snapshots: reader.c ============================================================ */

typedef struct hr_snapshot hr_snapshot;

/* For a snapshot of the calling heap: `find` returns the object of a Lua value (LH_ENOTFOUND:
** none); `push` pushes the value of an object (nil: none, or collected). */
typedef struct hr_values {
  int (*find)(lua_State *L, int index, hr_snapshot *of, lh_id *id, lh_error *error);
  void (*push)(lua_State *L, const hr_snapshot *of, lh_id id);
} hr_values;

struct hr_snapshot {
  const char *kind;      /* hr_snapshot_kind */
  lh_snapshot *snapshot; /* NULL: closed, or not opened yet */
  uint32_t holds;        /* uses in progress; the last one closes a closed snapshot */
  bool closed;           /* from Lua's view */
  uint32_t analyses;     /* number of changes of the ignored references */
  char *scratch;         /* a text of the library before Lua copies it */
  lh_report facts;       /* used to ask for facts */
  void *data;            /* memory that lh_open_memory reads; release(data) frees it */
  void (*release)(void *data);
  int (*analyse)(lh_snapshot *snapshot, lh_error *error); /* the first analysis; NULL: lh_analyse */
  const hr_values *values;                                /* NULL: the snapshot is of another
                                                             heap */
};

/* Pushes a userdata without a metatable, whose content is an hr_snapshot. */
hr_snapshot *hr_new_snapshot(lua_State *L);

/* Sets the metatable. close(), the end of a <close> variable, or the collector closes the snapshot.
** Its first user value may be the file's name; the second lives as long as the snapshot. */
void hr_set_snapshot_kind(lua_State *L, int index);

/* Pushes the snapshot of the file whose name is at `index`; it is closed after a failure. */
int hr_open_file(lua_State *L, int index, lh_error *error);

/* Returns the open snapshot at `index`, or raises an error. */
hr_snapshot *hr_check_snapshot(lua_State *L, int index);

/* The library's snapshot (hr_analysed: analysed and classified); an error if it is closed. */
lh_snapshot *hr_opened(lua_State *L, const hr_snapshot *of);
lh_snapshot *hr_analysed(lua_State *L, hr_snapshot *of);

void hr_close(hr_snapshot *of);  /* after the last hold */
void hr_unhold(hr_snapshot *of); /* ends a use that began with holds++ */
void hr_end(hr_snapshot *of);    /* at once: errors may have left holds */

/* Pushes a cleared userdata of `size` bytes, which keeps the snapshot at `index` (0: none) open
** until hr_release or until it is collected. Then it calls release(content), unless NULL; that must
** accept cleared content. */
void *hr_hold(lua_State *L, int index, size_t size, void (*release)(void *content));
void hr_release(lua_State *L, int index);

/* Returns `code` of a function that filled a hold; after a failure nothing will be released. */
int hr_filled(lua_State *L, int index, int code);

/* Ends all holds on the stack; pushes nil, the message and a word for the code. */
int hr_fail(lua_State *L, const lh_error *error);

/* For a content that is one pointer from the library. */
void hr_free_pointer(void *content);

/* Pushes a text of the library and frees it; NULL raises "not enough memory". */
void hr_push_text(lua_State *L, hr_snapshot *of, char *text);

/* ==== Metatables, rows, errors: reader.c ============================================= */

extern const char hr_snapshot_kind[], hr_object_kind[], hr_objects_kind[], hr_edge_kind[],
    hr_path_kind[], hr_referrers_kind[], hr_stream_kind[];

/* A kind is a pointer: the metatable on the top is of that kind if its field [kind] is set.
** hr_name_kind sets that and __name. hr_is_kind does not allocate: a background snapshot must not
** start a collection. */
void hr_name_kind(lua_State *L, const char *kind);
bool hr_is_kind(lua_State *L, const char *kind);

/* hr_has_kind pushes the metatable of a kind, if there is one. hr_new_kind pushes a new one,
** printed by the function of that name in heap/print.lua; hr_keep_kind stores it when complete.
** hr_push_kind pushes it, made with these events (may be NULL) if it is not there. */
bool hr_has_kind(lua_State *L, const char *kind);
void hr_new_kind(lua_State *L, const char *kind);
void hr_keep_kind(lua_State *L, const char *kind);
void hr_push_kind(lua_State *L, const char *kind, const luaL_Reg *events);

/* The content of a userdata begins with its kind, which identifies it: anyone may change the
** registry and metatables. hr_new clears the rest. hr_new_of also sets the metatable, and the
** snapshot at `index`, which is the first user value. */
typedef struct hr_head {
  const char *kind;
  hr_snapshot *of; /* hr_new_of only */
} hr_head;
void *hr_new(lua_State *L, const char *kind, size_t size, int n_user_values);
void *hr_new_of(lua_State *L, int index, const char *kind, size_t size, int n_user_values);

/* Return the content if the value is of this kind; else NULL, or an error. hr_check_of is for what
** hr_new_of has made: debug.setuservalue can take the snapshot from a value, which is an error. */
void *hr_test(lua_State *L, int index, const char *kind);
void *hr_check_is(lua_State *L, int index, const char *kind);
void *hr_check_of(lua_State *L, int index, const char *kind);

/* Sets __index of the metatable on the top: methods, fields (functions that return the value),
** facts (NULL: none), which `push` returns, and `other`(L) for other keys (NULL: nil). Index 1 is
** the value, 2 the key. */
typedef struct hr_facts {
  const lh_table *table;
  int (*push)(lua_State *L, const lh_column *column);
} hr_facts;
void hr_set_index(lua_State *L, const luaL_Reg *methods, const luaL_Reg *fields,
                  const hr_facts *facts, lua_CFunction other);

void hr_check(lua_State *L, int code, const lh_error *error);

/* hr_push_list pushes a table with space for n rows; the others set a field of the top table. */
void hr_push_list(lua_State *L, const char *kind, size_t n);
void hr_set_integer(lua_State *L, const char *key, uint64_t n);
void hr_set_number(lua_State *L, const char *key, double n);
void hr_set_boolean(lua_State *L, const char *key, bool value);
void hr_set_string(lua_State *L, const char *key, const char *value); /* NULL: no field */

/* ==== Objects and edges: objects.c, edges.c ========================================== */

typedef struct hr_object {
  const char *kind;
  hr_snapshot *of;
  lh_id id;
} hr_object;

/* Pushes the object `id` of the snapshot at `index`; nil for LH_NO_OBJECT. Or sets a field to the
** object of the snapshot at index 1. */
void hr_push_object(lua_State *L, int index, lh_id id);
void hr_set_object(lua_State *L, const char *key, lh_id id);

/* Pushes a value. A string is an object if the snapshot does not have all its bytes. A light C
** function is a light userdata; a value that the snapshot lacks is a NULL light userdata. */
void hr_push_value(lua_State *L, int index, lh_value value);

/* The object of the value at `index`: an object, its number, or an expression (lh_find).
** LH_ENOTFOUND: none. An error for other values. */
int hr_find_object(lua_State *L, int index, hr_snapshot *of, lh_id *id, lh_error *error);

/* The object of object:method(...) or snapshot:method(object, ...), or an error. Then index 1 is
** the snapshot, 2 the object, and 3 the next argument. */
lh_id hr_subject(lua_State *L, hr_snapshot **of);

/* Pushes a list of objects of the snapshot at index 1, each made on demand, with a copy of `ids`.
** `about`: the index of a table with further fields; 0: none. */
void hr_push_objects(lua_State *L, const lh_id *ids, size_t n, int about);

/* Which objects are asked for. edges.c */
typedef struct hr_filter {
  const char *class_name; /* NULL: of any class */
  uint32_t type_mask;     /* 0: of all types */
  bool garbage;           /* what is unreachable, instead of what is reachable */
  uint32_t since, until;  /* epochs; `until` is excluded; 0: no limit */
} hr_filter;
bool hr_passes(const hr_filter *filter, const lh_snapshot *snapshot, lh_id id);

void hr_push_edge(lua_State *L, int index, const lh_edge *edge);

/* Returns the edge at `index` and its snapshot; NULL: not an edge. */
const lh_edge *hr_test_edge(lua_State *L, int index, hr_snapshot **of);

/* Push a hold, as hr_hold: of steps that the caller fills in; of the k shortest paths to an object
** (n 0: there is none). */
typedef struct hr_found_paths {
  lh_path one, *list;
  size_t n;
} hr_found_paths;
lh_path *hr_hold_path(lua_State *L, int index);
const hr_found_paths *hr_hold_paths(lua_State *L, int index, lh_snapshot *snapshot, lh_id id,
                                    size_t k);

/* Pushes a list of paths to the object; takes ownership of their steps and clears them. */
void hr_push_paths(lua_State *L, const char *kind, lh_path *paths, size_t n, lh_id object);

void hr_open_objects(lua_State *L); /* make the metatables */
void hr_open_edges(lua_State *L);

/* ==== Answers and facts: answers.c =================================================== */

/* Push an answer about the snapshot at index 1, which they analyse; nil, message, code if there is
** nothing. hr_answer_plain has addresses instead of objects, so the list may outlive the snapshot.
** hr_report limits the rows to argument 2. */
int hr_answer(lua_State *L, const char *name, const lh_request *request);
int hr_answer_plain(lua_State *L, const char *name, const char *kind, const lh_request *request);
int hr_report(lua_State *L, const char *name);

/* Ranks the objects of the snapshot at index 1. Pushes a hold with the ids, and a list with all
** other fields and the text. */
const lh_id *hr_rank(lua_State *L, const lh_request *request, const char *kind, size_t *n);

/* Reads n and the order, or a table of options, at `index`; n 0: all. */
lh_request hr_check_ranking(lua_State *L, int index, size_t limit);

/* hr_return_fact returns a fact as a field of the value at index 1. hr_set_facts sets all facts
** without objects in the top table; `snapshot` must be held, and is closed with `of`. */
int hr_return_fact(lua_State *L, hr_snapshot *of, const lh_column *column, const void *row);
void hr_set_facts(lua_State *L, hr_snapshot *of, lh_snapshot *snapshot, const lh_table *facts,
                  const void *row);

/* ==== Methods and functions of the module ============================================ */

int hr_tracking(lua_State *L); /* a field: snapshot.tracking */

/* clang-format off */
/* Each is hr_method_NAME. HR_REPORTS: those that only ask the library's question of that name. */
#define HR_OBJECT_METHODS(X) \
  X(dominators) X(edges) X(entries) X(frames) X(independent) X(path) X(paths) X(referrers) X(under)
#define HR_REPORTS(X) \
  X(growing) X(leaks) X(modules) X(sites) X(suspects) X(threads) X(waste)
#define HR_SNAPSHOT_METHODS(X) HR_OBJECT_METHODS(X) HR_REPORTS(X) \
  X(class) X(classes) X(close) X(diff) X(epochs) X(ignore) X(marks) X(object) X(objects) \
  X(objects_with) X(retained) X(since) X(strings) X(top) X(verify) X(ways) X(what_if)
#define HR_FUNCTIONS(X) \
  X(compare) X(compare_profiles) X(escape) X(growth) X(open) X(owners) X(profile)

#define HR_DECLARE(name) int hr_method_##name(lua_State *L);
#define HR_REGISTER(name) {#name, hr_method_##name},
HR_SNAPSHOT_METHODS(HR_DECLARE)
HR_FUNCTIONS(HR_DECLARE)
/* clang-format on */
