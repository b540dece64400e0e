/*
** live.h - the shared part of the live calls: heap.capture(), and heap.path(v) and others.
**
** heap.path(v) is a capture, one question and the capture's end. heap.reader (handles.h) answers
** all other questions about a capture, from the same snapshot.
**
** An analysis needs some 100 bytes an object outside the Lua heap, which must be freed in any case:
** each result may run out of memory, or run a finalizer that closes the capture. So the outer half
** of a question checks arguments, which may raise errors. The inner half, its body, runs in
** protected mode (hl_ask); its results or its error are passed on after a fresh capture is closed.
*/
#pragma once

#include "reader/handles.h"

/* ==== The caller: caller.c =========================================================== */

/* The caller is the Lua function nearest to the call. The stack at the moment of the capture:
**
**     frame 0 ... | the caller, a Lua function | C functions such as pcall | the call
**                   caller_frame ..........................................  call_frame
**
** If only C functions are below the call there is no caller, and both frames are the same. */
typedef struct hl_caller {
  lh_id thread;
  uint32_t caller_frame, call_frame;
  lh_id function; /* LH_NO_OBJECT: no caller */
} hl_caller;

void hl_find_caller(const lh_snapshot *snapshot, hl_caller *caller);

/* Is the edge the caller's: from its frame or one above, or an upvalue of its function? */
bool hl_is_of_caller(const hl_caller *caller, const lh_edge *edge);

/* HL_WHOLE leaves out the call, HL_OTHERS also the caller. */
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
  hl_caller caller;
  hr_snapshot *reader; /* owns the bytes; the user value of the capture; NULL: not opened yet */
  lh_snapshot *others; /* the bytes once more, analysed as HL_OTHERS; NULL: not needed yet */
  bool others_analysed;
} hl_capture;

typedef struct hl_picture {
  bool up; /* what holds the object, instead of what it holds */
  bool has_depth;
  uint64_t depth, width; /* width 0: the default */
} hl_picture;

typedef struct hl_task hl_task;
typedef int (*hl_body)(lua_State *L, hl_task *task);

struct hl_task {
  hl_body body;
  hl_capture *capture;
  bool is_fresh;  /* the capture was taken for this question only */
  hl_scope scope; /* then, its present analysis */
  bool holds_reader;
  lh_id id;           /* of the subject, if there is one */
  lh_request request; /* of a ranking, and the names of marks */
  int count_by;
  hr_filter filter;
  hl_picture picture;
};

/* A question is called as heap.path(v), with a capture of its own, or as s:path(v): upvalue 1 is
** true for the first. Returns the index of the i-th argument after the capture. */
int hl_argument(lua_State *L, int i);

/* Runs `body` in protected mode, with heap.reader's snapshot at index 1, as in its methods, and the
** arguments from index HL_SUBJECT on. Returns the number of results on the stack, or raises the
** error. */
enum { HL_SUBJECT = 2 };
int hl_ask(lua_State *L, hl_task *task, hl_body body);

int hl_push_failure(lua_State *L, const char *message); /* pushes nil and the message, returns 2 */

/* The snapshot, analysed and classified when that is first needed (a fresh capture anew for another
** scope). hl_opened: without an analysis. */
lh_snapshot *hl_analysed(lua_State *L, hl_task *task, hl_scope scope);
lh_snapshot *hl_opened(const hl_task *task);

/* Puts the snapshot of heap.reader in place of the capture at `index`, which must be open. */
void hl_to_reader(lua_State *L, int index);

/* 0: no mark. */
uint32_t hl_newest_mark(lua_State *L);

/* ==== Values and rows: objects.c ===================================================== */

/* The object of a value in the snapshot of a capture. LH_ENOTFOUND: none, and `error` says why. */
int hl_find_value(lua_State *L, int index, const lh_snapshot *snapshot, bool is_fresh, lh_id *id,
                  lh_error *error);
extern const hr_values hl_values;

/* Rows about objects, whose field `object` is the object's value. Rows have weak values: they keep
** no object alive, and are in no later answer. */
typedef struct hl_rows hl_rows;
void hl_register_rows(lua_State *L); /* needed before */

/* hl_new_rows pushes two values that own the rows. hl_push_row pushes one with the fields of
** lh_row_facts; with none for LH_NO_OBJECT. hl_set_objects sets `object` of all, in one pass over
** the heap. */
hl_rows *hl_new_rows(lua_State *L);
void hl_push_row(lua_State *L, const hl_task *task, lh_snapshot *snapshot, hl_rows *rows, lh_id id);
void hl_set_objects(lua_State *L, const hl_task *task, const hl_rows *rows);

/* ==== Questions: questions.c, objects.c ============================================== */

/* clang-format off */
/* Each is hl_NAME: a function of the module, with its own capture, and a method of captures. */
#define HL_QUESTIONS(X) \
  X(path) X(paths) X(referrers) X(retained) X(count) X(classes) X(top) X(since) X(objects) X(each) \
  X(dot)
#define HL_DECLARE(name) int hl_##name(lua_State *L);
#define HL_REGISTER(name) {#name, hl_##name},
HL_QUESTIONS(HL_DECLARE)
/* clang-format on */

int hl_object(lua_State *L); /* a method only */
int hl_diff(lua_State *L);   /* functions only */
int hl_show(lua_State *L);

void hl_register(lua_State *L);
