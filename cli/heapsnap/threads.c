/*
** threads.c - the tables threads (coroutines and the main thread) and frames (their calls,
** outermost first). A thread stands where its innermost function in Lua does: that it is in
** coroutine.yield, where nearly all are, would say little.
*/
#include "heapsnap.h"

/* What runs in a frame; a light C function is no object and has an address only. */
static void tell_function(hs_cursor *cursor, sqlite3_context *context) {
  lh_value function = cursor->frame.function;
  char text[64];
  if (function.kind == LH_VALUE_OBJECT) hs_result_class(context, cursor->file, function.as.object);
  sqlite3_snprintf((int)sizeof text, text, "C function 0x%llx", function.as.pointer);
  if (function.kind == LH_VALUE_CFUNCTION) sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

/* {=== threads ======================================================================== */

static void tell_status(hs_cursor *cursor, sqlite3_context *context) {
  hs_result_static(context, lh_thread_status_name(cursor->decoded.as.thread.status));
}

#define ROW hs_cursor
#define OF_THREAD HS_OF(LH_TYPE_THREAD)
static const hs_column thread_columns[] = {
    HS_SNAPSHOT,
    HS_ID("id", id, HS_LOOKUP(HS_ONE_ID)),
    HS_COMPUTED("class", HS_TEXT, hs_tell_class),
    HS_COMPUTED("status", HS_TEXT, tell_status, OF_THREAD),
    HS_FLAG("is_main", decoded.as.thread.is_main, OF_THREAD),
    HS_COUNT("frames", decoded.as.thread.frames, OF_THREAD),
    HS_COMPUTED("function", HS_TEXT, tell_function),
    HS_LINE("line", frame.line),
    HS_COUNT("stack_slots", decoded.as.thread.stack_slots, OF_THREAD),
    HS_COMPUTED("shallow_bytes", HS_INTEGER, hs_tell_shallow),
    HS_COMPUTED("retained_bytes", HS_INTEGER, hs_tell_retained, HS_NEEDS(HS_ANALYSED))};
#undef ROW

/* To the next thread and its innermost frame that has a line, or else the innermost. */
static int next_thread(hs_cursor *cursor, lh_error *error) {
  lh_frame frame;
  (void)error;
  if (!hs_next_of_type(cursor, LH_TYPE_THREAD)) return 0;
  cursor->frame = (lh_frame){.function = {.kind = LH_VALUE_NIL}};
  lh_frames_begin(cursor->file->snapshot, cursor->id, &cursor->iterator);
  while (lh_frames_next(&cursor->iterator, &frame))
    if (frame.line != 0 || cursor->frame.line == 0) cursor->frame = frame;
  return 1;
}

const hs_kind hs_threads = {.name = "threads",
                            HS_COLUMNS(thread_columns),
                            .key = "id",
                            .rows_per_object = 0.001,
                            .begin = hs_begin_objects,
                            .next = next_thread};

/* }=================================================================================== */

/* {=== frames ========================================================================= */

static void tell_level(hs_cursor *cursor, sqlite3_context *context) {
  sqlite3_result_int64(context, cursor->position - 1);
}

#define ROW hs_cursor
static const hs_column frame_columns[] = {HS_SNAPSHOT,
                                          HS_ID("thread", id, HS_LOOKUP(HS_ONE_ID)),
                                          HS_COMPUTED("frame", HS_INTEGER, tell_level),
                                          HS_OBJECT("function_id", frame.function),
                                          HS_COMPUTED("function", HS_TEXT, tell_function),
                                          HS_LINE("line", frame.line)};
#undef ROW

static bool read_frame(hs_cursor *cursor) {
  return lh_frames_next(&cursor->iterator, &cursor->frame);
}

static int next_frame(hs_cursor *cursor, lh_error *error) {
  (void)error;
  return hs_next_inside(cursor, LH_TYPE_THREAD, lh_frames_begin, read_frame);
}

const hs_kind hs_frames = {.name = "frames",
                           HS_COLUMNS(frame_columns),
                           .key = "thread, frame",
                           .rows_per_object = 0.005,
                           .begin = hs_begin_objects,
                           .next = next_frame};

/* }=================================================================================== */
