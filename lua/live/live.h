/*
** live.h - the shared part of the live calls: heap.capture(), and heap.path(v) and others.
**
** heap.path(v) is a capture, one question and the capture's end. heap.reader (handles.h) answers
** all other questions about a capture, from the same snapshot.
**
** An analysis needs some 100 bytes an object outside the Lua heap, which must be freed in any case:
** each result may run out of memory, or run a finalizer that closes the capture. So the outer half
** of a question checks arguments, which may raise errors, and has a `task` on the C stack that owns
** all data from the library. The inner half runs in protected mode (hl_ask); its results or its
** error are passed on after the task's memory is freed.
*/
#ifndef LUAHEAP_LIVE_H
#define LUAHEAP_LIVE_H

#include "reader/handles.h"

/* ==== The asker: asker.c ============================================================= */

/* The asker is the Lua function nearest to the call. The stack at the moment of the capture:
**
**     frame 0 ... | the asker, a Lua function | C functions such as pcall | the call
**                   asker_frame ..........................................  call_frame
**
** If only C functions are below the call there is no asker, and both frames are the same. */
typedef struct hl_asker {
  lh_id thread;
  uint32_t asker_frame, call_frame;
  lh_id function; /* LH_NO_OBJECT: no asker */
} hl_asker;

void hl_find_asker(const lh_snapshot *snapshot, hl_asker *asker);

/* Is the edge the asker's: from its frame or one above, or an upvalue of its function? */
bool hl_is_of_asker(const hl_asker *asker, const lh_edge *edge);

/* HL_WHOLE leaves out the call, HL_OTHERS also the asker. */
typedef enum hl_scope { HL_WHOLE = 1, HL_OTHERS } hl_scope;

int hl_analyse(lh_snapshot *snapshot, hl_scope scope, lh_error *error);

/* The same without the objects, and without the frames from the outermost one of `function` on;
** without all frames if there is none, or for LH_NO_OBJECT. */
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
  lh_snapshot *others; /* the bytes once more, analysed as HL_OTHERS; NULL: not needed yet */
  bool others_analysed;
} hl_capture;

/* The data of one question, freed when it is answered. */
typedef struct hl_task hl_task;
typedef int (*hl_body)(lua_State *L, hl_task *task);

struct hl_task {
  hl_body body;
  hl_capture *capture;
  bool is_fresh;  /* the capture was taken for this question only */
  hl_scope scope; /* then, its present analysis */
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

/* A question is called as heap.path(v), with a capture of its own, or as s:path(v): upvalue 1 is
** true for the first. Returns the index of the i-th argument after the capture. */
int hl_argument(lua_State *L, int i);

/* Runs `body` in protected mode, with heap.reader's snapshot at index 1, as in its methods, and the
** arguments from index 2 on. Returns the number of results on the stack, or raises the error. */
int hl_ask(lua_State *L, hl_task *task, hl_body body);

/* The same about argument 1; nil and a message if it is no object. In the body, hl_find_subject
** sets task->id to it, which may be one of heap.reader's objects. False: it is not in the capture;
** nil and a message are pushed. */
int hl_ask_about(lua_State *L, hl_task *task, hl_body body);
bool hl_find_subject(lua_State *L, hl_task *task);

int hl_no(lua_State *L, const char *message); /* pushes nil and the message, returns 2 */

/* The snapshot, analysed and classified when that is first needed (a fresh capture anew for another
** scope). hl_opened: without an analysis. */
lh_snapshot *hl_analysed(lua_State *L, hl_task *task, hl_scope scope);
lh_snapshot *hl_opened(const hl_task *task);

/* Puts the snapshot of heap.reader in place of the capture at `index`, which must be open. */
void hl_to_reader(lua_State *L, int index);

/* 0: no mark. */
uint32_t hl_newest_mark(lua_State *L);

/* ==== Values and rows: values.c ===================================================== */

/* The object of a value in the snapshot of a capture. LH_ENOTFOUND: none, and `error` says why. */
int hl_find_value(lua_State *L, int index, const lh_snapshot *snapshot, bool is_fresh, lh_id *id,
                  lh_error *error);
extern const hr_values hl_values;

/* Pushes a row, with weak values: it keeps no object alive, and is in no later answer. */
void hl_push_row(lua_State *L, int n_array, int n_fields);
void hl_register_rows(lua_State *L); /* needed before */

/* hl_new_ids makes task->ids, empty, with room for n. hl_push_values sorts them, removes doubles,
** and pushes a table of their values. hl_set_value sets `object` of the row on top to the value of
** `id`, if there is one. */
lh_id *hl_new_ids(lua_State *L, hl_task *task, size_t n);
int hl_compare_ids(const void *a, const void *b);
void hl_push_values(lua_State *L, hl_task *task);
void hl_set_value(lua_State *L, const hl_task *task, int values, lh_id id);

/* Sets the fields of lh_row_facts in the row on top. */
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

/* Adds all functions to the module's table on top of the stack. */
void hl_register(lua_State *L);

#endif
