/*
** threads.c - the tables threads (coroutines and the main thread) and frames (their calls,
** outermost first). A thread stands where its innermost function in Lua does: that it is in
** coroutine.yield, where nearly all are, would say little.
*/
#include "heapsnap.h"

/* What runs in a frame; a light C function is no object and has an address only. */
static int result_function(sqlite3_context *context, hs_file *file, lh_value function,
                           lh_error *error) {
  char text[64];
  if (function.kind == LH_VALUE_OBJECT)
    return hs_result_class(context, file, function.as.object, error);
  sqlite3_snprintf((int)sizeof text, text, "C function 0x%llx", function.as.pointer);
  if (function.kind == LH_VALUE_CFUNCTION) sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
  return LH_OK;
}

static void result_line(sqlite3_context *context, uint32_t line) {
  if (line != 0) sqlite3_result_int64(context, line);
}

static int begin_threads(hs_cursor *cursor, lh_error *error) {
  (void)error;
  cursor->position = 0;
  hs_begin_objects(cursor);
  return LH_OK;
}

/* {=== threads ======================================================================== */

enum { ID = 1, CLASS, STATUS, MAIN, FRAMES, FUNCTION, LINE, STACK_SLOTS, SHALLOW, RETAINED };

static const hs_column thread_columns[] = {
    {"snapshot", HS_TEXT, HS_NONE, false},
    [ID] = {"id", HS_INTEGER, HS_ONE_ID, false},
    [CLASS] = {"class", HS_TEXT, HS_NONE, false},
    [STATUS] = {"status", HS_TEXT, HS_NONE, false},
    [MAIN] = {"is_main", HS_INTEGER, HS_NONE, false},
    [FRAMES] = {"frames", HS_INTEGER, HS_NONE, false},
    [FUNCTION] = {"function", HS_TEXT, HS_NONE, false},
    [LINE] = {"line", HS_INTEGER, HS_NONE, false},
    [STACK_SLOTS] = {"stack_slots", HS_INTEGER, HS_NONE, false},
    [SHALLOW] = {"shallow_bytes", HS_INTEGER, HS_NONE, false},
    [RETAINED] = {"retained_bytes", HS_INTEGER, HS_NONE, false},
};

/* To the next thread and its innermost frame that has a line, or else the innermost. */
static int next_thread(hs_cursor *cursor, lh_error *error) {
  const lh_snapshot *snapshot = cursor->file->snapshot;
  lh_frame frame;
  (void)error;
  while ((cursor->id = hs_next_object(cursor)) != LH_NO_OBJECT) {
    if (lh_type_of(snapshot, cursor->id) != LH_TYPE_THREAD || lh_is_dead(snapshot, cursor->id))
      continue;
    cursor->row = cursor->id;
    cursor->frame = (lh_frame){.function = {.kind = LH_VALUE_NIL}};
    lh_frames_begin(snapshot, cursor->id, &cursor->iterator);
    while (lh_frames_next(&cursor->iterator, &frame))
      if (frame.line != 0 || cursor->frame.line == 0) cursor->frame = frame;
    return 1;
  }
  return 0;
}

static int thread_column(hs_cursor *cursor, sqlite3_context *context, int column, lh_error *error) {
  hs_file *file = cursor->file;
  const lh_object *object = hs_decoded(cursor, cursor->id);
  switch (column) {
    case ID: hs_result_id(context, file, cursor->id); break;
    case CLASS: return hs_result_class(context, file, cursor->id, error);
    case STATUS: hs_result_static(context, lh_thread_status_name(object->as.thread.status)); break;
    case MAIN: sqlite3_result_int(context, object->as.thread.is_main); break;
    case FRAMES: sqlite3_result_int64(context, object->as.thread.frames); break;
    case FUNCTION: return result_function(context, file, cursor->frame.function, error);
    case LINE: result_line(context, cursor->frame.line); break;
    case STACK_SLOTS: hs_result_bytes(context, object->as.thread.stack_slots); break;
    case SHALLOW: hs_result_bytes(context, object->shallow_bytes); break;
    default: return hs_result_retained(context, file, cursor->id, error);
  }
  return LH_OK;
}

const hs_kind hs_threads = {.name = "threads",
                            .columns = thread_columns,
                            .n_columns = RETAINED + 1,
                            .key = "id",
                            .rows_per_object = 0.001,
                            .begin = begin_threads,
                            .next = next_thread,
                            .column = thread_column};

/* }=================================================================================== */

/* {=== frames ========================================================================= */

enum { FRAME_THREAD = 1, FRAME_LEVEL, FRAME_FUNCTION_ID, FRAME_FUNCTION, FRAME_LINE };

static const hs_column frame_columns[] = {
    {"snapshot", HS_TEXT, HS_NONE, false},
    [FRAME_THREAD] = {"thread", HS_INTEGER, HS_ONE_ID, false},
    [FRAME_LEVEL] = {"frame", HS_INTEGER, HS_NONE, false},
    [FRAME_FUNCTION_ID] = {"function_id", HS_INTEGER, HS_NONE, false},
    [FRAME_FUNCTION] = {"function", HS_TEXT, HS_NONE, false},
    [FRAME_LINE] = {"line", HS_INTEGER, HS_NONE, false},
};

static int next_frame(hs_cursor *cursor, lh_error *error) {
  const lh_snapshot *snapshot = cursor->file->snapshot;
  (void)error;
  for (;;) {
    if (cursor->position == 0) {
      do {
        cursor->id = hs_next_object(cursor);
        if (cursor->id == LH_NO_OBJECT) return 0;
      } while (lh_type_of(snapshot, cursor->id) != LH_TYPE_THREAD);
      lh_frames_begin(snapshot, cursor->id, &cursor->iterator);
    }
    if (lh_frames_next(&cursor->iterator, &cursor->frame)) {
      cursor->position++;
      return 1;
    }
    cursor->position = 0;
  }
}

static int frame_column(hs_cursor *cursor, sqlite3_context *context, int column, lh_error *error) {
  hs_file *file = cursor->file;
  const lh_frame *frame = &cursor->frame;
  switch (column) {
    case FRAME_THREAD: hs_result_id(context, file, cursor->id); break;
    case FRAME_LEVEL: sqlite3_result_int64(context, cursor->position - 1); break;
    case FRAME_FUNCTION_ID:
      if (frame->function.kind == LH_VALUE_OBJECT)
        hs_result_id(context, file, frame->function.as.object);
      break;
    case FRAME_FUNCTION: return result_function(context, file, frame->function, error);
    default: result_line(context, frame->line); break;
  }
  return LH_OK;
}

const hs_kind hs_frames = {.name = "frames",
                           .columns = frame_columns,
                           .n_columns = FRAME_LINE + 1,
                           .key = "thread, frame",
                           .rows_per_object = 0.005,
                           .begin = begin_threads,
                           .next = next_frame,
                           .column = frame_column};

/* }=================================================================================== */
