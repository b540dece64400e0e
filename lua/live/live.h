/*
** live.h - what the C files of the live calls share: heap.capture(), and heap.path(v) and its
** like, which are a capture, one question and its end.
**
**     capture.c     the snapshot in memory, its analyses, and how long it lasts
**     asker.c       who asks: which references are only the call's, and which the asker's
**     ways.c        path, paths, referrers, retained
**     groups.c      count, classes, top, since, diff
**     values.c      object, objects, each: the objects themselves; show, and dot, with dot/dot.c,
**                   which is loaded for it
**
** All else that a capture can be asked is heap.reader's (handles.h), of the same snapshot.
**
** The analyses need memory outside the Lua heap, some 100 bytes an object, and it has to go back
** whatever happens: Lua may run out of memory, or call a finalizer that closes the capture, at any
** result that is made. So a question is asked in two halves. The outer one checks arguments, which
** may raise errors, and has a `task` on the C stack that owns all that the library returns. The
** inner one runs in protected mode (hl_ask). What it made or raised is passed on when the task's
** memory is given back.
*/
#ifndef LUAHEAP_LIVE_H
#define LUAHEAP_LIVE_H

#include "reader/handles.h"

/* ==== Who asks: asker.c ============================================================== */

/* The stack at the moment of the capture:
**
**     frame 0 ... | the asker, a Lua function | C functions such as pcall | the call
**                   asker_frame ..........................................  call_frame
**
** Nobody asks where only C functions are below the call: then both are the same. */
typedef struct hl_asker {
  lh_id thread;
  uint32_t asker_frame, call_frame;
  lh_id function; /* LH_NO_OBJECT: nobody asks */
} hl_asker;

void hl_find_asker(const lh_snapshot *snapshot, hl_asker *asker);

/* Is the edge the asker's: from its frame or one above, or an upvalue of its function? */
bool hl_is_of_asker(const hl_asker *asker, const lh_edge *edge);

/* What an analysis is of: the heap without the call, or without the asker, too. */
typedef enum hl_scope { HL_WHOLE = 1, HL_OTHERS } hl_scope;

int hl_analyse(lh_snapshot *snapshot, hl_scope scope, lh_error *error);

/* The same without the objects, and without the frames from the outermost on that runs `function`;
** LH_NO_OBJECT, or where there is none: without all frames. */
int hl_analyse_below(lh_snapshot *snapshot, lh_id function, const lh_id *objects, size_t n_objects,
                     lh_error *error);

/* ==== Captures: capture.c ============================================================ */

typedef struct hl_capture {
  uint8_t *bytes; /* the snapshot's file */
  size_t size, capacity;
  uint32_t serial; /* of its mark */
  uint32_t holds;  /* questions that are being answered */
  bool closed, saved;
  hl_asker asker;
  hr_snapshot *reader; /* owns the bytes; the user value of the capture; NULL: not opened yet */
  lh_snapshot *others; /* the bytes once more, analysed as HL_OTHERS; NULL: nobody asked */
  bool others_analysed;
} hl_capture;

/* What one question needs: freed when it is answered. */
typedef struct hl_task hl_task;
typedef int (*hl_body)(lua_State *L, hl_task *task);

struct hl_task {
  hl_body body;
  hl_capture *capture;
  bool is_fresh;  /* the capture was taken for this question only */
  hl_scope scope; /* then, how it is analysed now */
  bool holds_reader;
  lh_id id;           /* of the object that is asked about */
  lh_request request; /* of a ranking, and the names of marks */
  bool by_class;
  const char *class_name;
  uint32_t type_mask; /* 0: all types */
  lh_path path;
  lh_path *paths;
  size_t n_paths;
  lh_edge *edges; /* malloc'ed here, and so are these: */
  size_t n_edges;
  lh_id *ids;
  size_t n_ids;
};

/* A question's function stands in two places: heap.path(v), which takes a capture for itself, and
** s:path(v); upvalue 1 tells which. This is the index of its i-th argument, without the capture. */
int hl_argument(lua_State *L, int i);

/* Answers by `body`, in protected mode: there index 1 is the snapshot of heap.reader, as in a
** method of that, and arguments follow from index 2 on. Returns how many results are on the stack,
** or raises the error. */
int hl_ask(lua_State *L, hl_task *task, hl_body body);

/* The same about argument 1: nil and a message, if it is no object. hl_find_subject finds it in the
** capture, in the body; it may be one of heap.reader's objects. False, and nil and a message
** pushed: it is not there. */
int hl_ask_about(lua_State *L, hl_task *task, hl_body body);
bool hl_find_subject(lua_State *L, hl_task *task);

int hl_no(lua_State *L, const char *message); /* pushes nil and it, and returns 2 */

/* The snapshot, analysed and classified when that is first needed (of a fresh capture anew, for
** another scope); and as it is, for what needs no analysis. */
lh_snapshot *hl_analysed(lua_State *L, hl_task *task, hl_scope scope);
lh_snapshot *hl_opened(const hl_task *task);

/* Puts the snapshot of heap.reader in place of the capture at `index`, which must be open. */
void hl_to_reader(lua_State *L, int index);

/* The serial of the newest mark of the state. */
uint32_t hl_newest_mark(lua_State *L);

/* ==== Values and rows: values.c ===================================================== */

/* What a value is in the snapshot of a capture; LH_ENOTFOUND: nothing, and `error` says why. */
int hl_find_value(lua_State *L, int index, const lh_snapshot *snapshot, bool is_fresh, lh_id *id,
                  lh_error *error);
extern const hr_values hl_values;

/* Pushes a table with weak values, for rows: looking at objects does not keep them alive, and does
** not show in the next answer. */
void hl_push_row(lua_State *L, int n_array, int n_fields);
void hl_register_rows(lua_State *L); /* needed before */

/* Makes task->ids, with room for n and none in it. hl_push_values sorts them, each once, and pushes
** a table with their values. hl_set_value sets `object` of the row on top to that of `id`, if it is
** there. */
lh_id *hl_new_ids(lua_State *L, hl_task *task, size_t n);
int hl_compare_ids(const void *a, const void *b);
void hl_push_values(lua_State *L, hl_task *task);
void hl_set_value(lua_State *L, const hl_task *task, int values, lh_id id);

/* Sets the fields of the row on top that lh_row_facts tell. */
void hl_set_object_fields(lua_State *L, const hl_task *task, lh_snapshot *snapshot, lh_id id);

/* ==== Questions: ways.c, groups.c, values.c ========================================== */

int hl_path(lua_State *L);
int hl_paths(lua_State *L);
int hl_referrers(lua_State *L);
int hl_retained(lua_State *L);

int hl_count(lua_State *L);
int hl_classes(lua_State *L);
int hl_top(lua_State *L);
int hl_since(lua_State *L);
int hl_diff(lua_State *L);

int hl_object(lua_State *L);
int hl_objects(lua_State *L);
int hl_each(lua_State *L);
int hl_dot(lua_State *L);
int hl_show(lua_State *L);

/* Adds all to the module's table on top of the stack. */
void hl_register(lua_State *L);

#endif
