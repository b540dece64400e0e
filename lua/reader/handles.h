/*
** handles.h - what the C files of heap.reader share. A snapshot is a userdata with an lh_snapshot
** in it; objects, edges and lists of them are small userdata that refer to it and are decoded when
** a field is asked for, so nothing of a heap is copied into Lua before somebody wants to see it.
**
**     reader.c      the module; snapshots, and how long they last
**     kinds.c       metatables, rows, options, errors
**     objects.c     one object: its fields, where it was allocated; and lists of objects
**     edges.c       edges, and lists of them: paths and referrers
**     streams.c     what `for` runs over: objects, edges, entries
**     rankings.c    the biggest classes and objects; timelines, marks, strings
**     report.c      answers of the library by their columns: suspects, modules and the like
**     cuts.c        why a set is alive, what is taken as gone, independent paths
**     compare.c     two or three snapshots, and any number of them; profiles
**
** Rows are tables with the keys of the commands' --json, but with objects where that has addresses.
** How things are printed is written in Lua, in heap/print.lua.
**
** Lua may run a finalizer, and with it anything, whenever a function of its API allocates: also
** snapshot:close(). So either a pointer from the library is used up before the next call to Lua, or
** the snapshot is held (hr_hold), which puts its end off. The same userdata owns what has to be
** freed if Lua runs out of memory meanwhile.
*/
#ifndef LUAHEAP_HANDLES_H
#define LUAHEAP_HANDLES_H

#include "luaheap.h"
#include "weak_lua.h"

/* ==== Snapshots: reader.c ============================================================ */

typedef struct hr_snapshot hr_snapshot;

/* Of a snapshot of the heap that asks: what a value is in it (LH_ENOTFOUND: nothing), and the value
** that an object is (nil: it is none, or was collected). */
typedef struct hr_values {
  int (*find)(lua_State *L, int index, hr_snapshot *of, lh_id *id, lh_error *error);
  void (*push)(lua_State *L, const hr_snapshot *of, lh_id id);
} hr_values;

struct hr_snapshot {
  const char *kind;      /* hr_snapshot_kind */
  lh_snapshot *snapshot; /* NULL: closed, or not opened yet */
  uint32_t holds;        /* uses that go on; the last one closes it if it is to be closed */
  bool closed;           /* as far as Lua is concerned */
  uint32_t analyses;     /* how many times what is ignored was changed */
  char *scratch;         /* text of the library on its way to Lua */
  lh_report facts;       /* that facts are asked for with */
  void *data;            /* what lh_open_memory reads; freed with it by release(data) */
  void (*release)(void *data);
  int (*analyse)(lh_snapshot *snapshot, lh_error *error); /* the first time; NULL: lh_analyse */
  const hr_values *values;                                /* NULL: it is of another heap */
};

/* Pushes a userdata without a metatable, whose content is an hr_snapshot. */
hr_snapshot *hr_new_snapshot(lua_State *L);

/* Makes the hr_snapshot at a positive index a snapshot for Lua. It is closed by close(), by the end
** of a <close> variable, or when it is collected. Its first user value may be the file's name, its
** second is what lives as long as it does. */
void hr_set_snapshot_kind(lua_State *L, int index);

/* Pushes a snapshot of the file whose name is at `index`, which is closed after a failure. */
int hr_open_file(lua_State *L, int index, lh_error *error);

/* The open snapshot at `index`, or an error. */
hr_snapshot *hr_check_snapshot(lua_State *L, int index);

/* Raises an error unless the value at `index` still keeps its snapshot alive, as its first user
** value: debug.setuservalue can take it away. */
void hr_check_kept(lua_State *L, int index, const hr_snapshot *of);

/* The library's snapshot, or an error if it is closed; and analysed and classified. */
lh_snapshot *hr_opened(lua_State *L, const hr_snapshot *of);
lh_snapshot *hr_analysed(lua_State *L, hr_snapshot *of);

void hr_close(hr_snapshot *of);  /* as soon as nobody holds it */
void hr_unhold(hr_snapshot *of); /* ends a use that began with holds++ */
void hr_end(hr_snapshot *of);    /* closes it at once: errors may have left holds */

/* Pushes a cleared userdata of `size` bytes and returns it. Until hr_let_go, or until it is
** collected, the snapshot at `index` (0: none) stays open; then release(content) is called, unless
** it is NULL. It must be harmless for cleared content. */
void *hr_hold(lua_State *L, int index, size_t size, void (*release)(void *content));
void hr_let_go(lua_State *L, int index);

/* Returns `code`, of a function that was to fill the content of the userdata at `index`. If it
** failed nothing is released. */
int hr_filled(lua_State *L, int index, int code);

/* Lets go all that is held on the stack, and pushes nil, message and a word for the code. */
int hr_fail(lua_State *L, const lh_error *error);

/* For contents that are one pointer which lh_free takes. */
void hr_free_pointer(void *content);

/* Pushes text that the library made, and frees it; NULL raises "not enough memory". */
void hr_push_text(lua_State *L, hr_snapshot *of, char *text);

/* ==== Metatables, rows, options, errors: kinds.c ===================================== */

extern const char hr_snapshot_kind[], hr_object_kind[], hr_objects_kind[], hr_edge_kind[],
    hr_path_kind[], hr_referrers_kind[], hr_stream_kind[];

/* A metatable on the top of the stack is that of a kind if its field [kind] says so, with this very
** pointer as its key. hr_name_kind sets that and __name. hr_is_kind allocates nothing: a background
** snapshot must not wake the collector. */
void hr_name_kind(lua_State *L, const char *kind);
bool hr_is_kind(lua_State *L, const char *kind);

/* Pushes the metatable of a kind, if it was made. Pushes a new one, whose __tostring calls the
** function of that name in heap/print.lua. Keeps it, when it is complete. */
bool hr_has_kind(lua_State *L, const char *kind);
void hr_new_kind(lua_State *L, const char *kind);
void hr_keep_kind(lua_State *L, const char *kind);

/* Our userdata are known by their content, which begins with its kind (this very pointer): the
** registry and metatables may be anything. Pushes a new one, cleared but for that. hr_set_kind
** gives it its metatable, when it is complete. */
void *hr_new(lua_State *L, const char *kind, size_t size, int n_user_values);
void hr_set_kind(lua_State *L, const char *kind);

/* The content of the value at `index`; NULL, or an error, unless it is of this kind. */
void *hr_test(lua_State *L, int index, const char *kind);
void *hr_check_is(lua_State *L, int index, const char *kind);

/* Gives the new metatable on the top of the stack an __index: of methods, of fields, which are
** functions that return what is in the field, and of facts (NULL: there are none), which `push`
** returns. All other keys are given to `other`(L); NULL: they are nil. Index 1 is the value, 2 the
** key. */
typedef struct hr_facts {
  const lh_table *table;
  int (*push)(lua_State *L, const lh_column *column);
} hr_facts;
void hr_set_index(lua_State *L, const luaL_Reg *methods, const luaL_Reg *fields,
                  const hr_facts *facts, lua_CFunction other);

/* Raises an error unless `code` is LH_OK. */
void hr_check(lua_State *L, int code, const lh_error *error);

/* Pushes a table of a kind, with room for n rows; and sets fields of the table on the top. */
void hr_push_list(lua_State *L, const char *kind, size_t n);
void hr_set_integer(lua_State *L, const char *key, uint64_t n);
void hr_set_number(lua_State *L, const char *key, double n);
void hr_set_boolean(lua_State *L, const char *key, bool value);
void hr_set_string(lua_State *L, const char *key, const char *value); /* NULL: no such field */

/* Raises an error if the table at `index` has a field that is not in `names`, which ends with NULL.
** Puts an empty table in place of nothing. */
void hr_check_options(lua_State *L, int index, const char *const *names);

/* Options of the table at `index`, which was checked; no metamethods are called. The first pushes
** the value; true: it is not nil. */
bool hr_option(lua_State *L, int index, const char *name);
lua_Integer hr_integer_option(lua_State *L, int index, const char *name, lua_Integer otherwise);
bool hr_boolean_option(lua_State *L, int index, const char *name);
uint32_t hr_types_option(lua_State *L, int index); /* type = "table,string" as a mask; 0: all */

/* ==== Objects and edges: objects.c, edges.c ========================================== */

typedef struct hr_object {
  const char *kind;
  hr_snapshot *of; /* its first user value: there as long as this is */
  lh_id id;
} hr_object;

/* Pushes the object `id` of the snapshot at `index`; nil for LH_NO_OBJECT. Or sets a field. */
void hr_push_object(lua_State *L, int index, lh_id id);
void hr_set_object(lua_State *L, const char *key, int index, lh_id id);

/* Pushes a value as Lua has it. Strings are objects where the snapshot has not all of their bytes,
** light C functions are light userdata, and so (NULL) is what is not in the snapshot. */
void hr_push_value(lua_State *L, int index, lh_value value);

/* What the value at `index` stands for in the snapshot `of`: an object, its number, or an
** expression as lh_find takes it. LH_ENOTFOUND: there is none. Raises an error for other values. */
int hr_find_object(lua_State *L, int index, hr_snapshot *of, lh_id *id, lh_error *error);

/* The object that a method is about: of object:method(...) or of snapshot:method(object, ...).
** From then on index 1 is the snapshot, 2 the object, and 3 what follows. Raises an error if it is
** not there. */
lh_id hr_subject(lua_State *L, hr_snapshot **of);

/* Pushes a list of objects of the snapshot at `index`, each made when it is asked for. It copies
** the ids. What else it has as fields is in the table at `about`; 0: nothing. */
void hr_push_objects(lua_State *L, int index, const lh_id *ids, size_t n, int about);

/* rankings.c: the objects that the value at `index` stands for, in the order of their ids: one, a
** list, a stream, a fingerprint, or all that an expression may mean. *ids is in a userdata that it
** pushes. LH_ENOTFOUND: there are none. */
int hr_check_set(lua_State *L, int index, hr_snapshot *of, const lh_id **ids, size_t *n,
                 lh_error *error);

void hr_push_edge(lua_State *L, int index, const lh_edge *edge);

/* The edge at `index` and its snapshot; NULL: it is none. */
const lh_edge *hr_test_edge(lua_State *L, int index, hr_snapshot **of);

/* Pushes a list of paths of the object, which takes their steps over and clears them. */
void hr_push_paths(lua_State *L, const char *kind, lh_path *paths, size_t n, lh_id object);

void hr_open_objects(lua_State *L); /* make the metatables */
void hr_open_edges(lua_State *L);
void hr_open_streams(lua_State *L);

/* ==== Answers and facts: report.c ==================================================== */

/* The answer to a question of the library about the snapshot at index 1; nil, message, code where
** there is nothing. The same about the analysed snapshot at `index`; 0: about none. The same as a
** list of another kind, which may outlive the snapshot: with addresses in place of objects. And
** with at most as many rows as argument 2 says. */
int hr_answer(lua_State *L, const char *name, const lh_request *request);
int hr_answer_of(lua_State *L, int index, const char *name, const lh_request *request);
int hr_answer_plain(lua_State *L, const char *name, const char *kind, const lh_request *request);
int hr_report(lua_State *L, const char *name);

/* The biggest objects of the snapshot at index 1: pushes what owns their ids, which is a hold, and
** a list of that kind with all that is known of them, and their text. */
const lh_id *hr_rank(lua_State *L, const lh_request *request, const char *kind, size_t *n);

/* Takes n and the order, or a table of options, which are at `index`; n 0: all. */
lh_request hr_check_ranking(lua_State *L, int index, size_t limit);

/* A fact of a row, as the value of a field of what is at index 1, whose snapshot `of` is: to be
** returned. And all facts of a row without objects, as fields of the table on the top; it is of
** `snapshot`, which is held, and with which `of` will be closed. */
int hr_return_fact(lua_State *L, hr_snapshot *of, const lh_column *column, const void *row);
void hr_set_facts(lua_State *L, hr_snapshot *of, lh_snapshot *snapshot, const lh_table *facts,
                  const void *row);

/* ==== Methods and functions of the module, by their names in Lua ===================== */

/* Of objects, and of snapshots with an object as argument. */
int hr_path(lua_State *L);
int hr_paths(lua_State *L);
int hr_referrers(lua_State *L);
int hr_each_edge(lua_State *L);
int hr_each_entry(lua_State *L);
int hr_frames(lua_State *L);
int hr_dominators(lua_State *L);
int hr_under(lua_State *L);
int hr_independent(lua_State *L);

/* Of snapshots; hr_tracking is a field. */
int hr_tracking(lua_State *L);
int hr_each_object(lua_State *L);
int hr_classes(lua_State *L);
int hr_top(lua_State *L);
int hr_marks(lua_State *L);
int hr_epochs(lua_State *L);
int hr_retained(lua_State *L);
int hr_objects_with(lua_State *L);
int hr_ways(lua_State *L);
int hr_ignore(lua_State *L);
int hr_what_if(lua_State *L);
int hr_diff(lua_State *L);
int hr_since(lua_State *L);
int hr_strings(lua_State *L);

int hr_growth(lua_State *L);
int hr_compare(lua_State *L);
int hr_owners(lua_State *L);
int hr_profile(lua_State *L);
int hr_compare_profiles(lua_State *L);

#endif
