/*
** caller.c - finds the caller, and the references that exist only for the call (live.h), in a
** snapshot: by the frames of the running thread, and by the names of our modules and metatables.
*/
#include <stdlib.h>

#include "live.h"

static lh_id running_thread(const lh_snapshot *snapshot) {
  lh_edges it;
  lh_edge edge;
  for (lh_edges_begin(snapshot, LH_ROOT, &it); lh_edges_next(&it, &edge);) {
    if (edge.kind == LH_EDGE_ROOT && edge.index == LH_ROOT_RUNNING_THREAD) return edge.target;
  }
  return LH_NO_OBJECT;
}

static bool is_lua_function(const lh_snapshot *snapshot, lh_value function) {
  lh_object object;
  if (function.kind != LH_VALUE_OBJECT) return false;
  lh_object_at(snapshot, function.as.object, &object);
  return object.type == LH_TYPE_CLOSURE && !object.dead && !object.as.closure.is_c;
}

void hl_find_caller(const lh_snapshot *snapshot, hl_caller *caller) {
  lh_edges it;
  lh_frame frame;
  uint32_t n = 0;
  *caller = (hl_caller){.thread = running_thread(snapshot), .function = LH_NO_OBJECT};
  if (caller->thread == LH_NO_OBJECT) return;
  for (lh_frames_begin(snapshot, caller->thread, &it); lh_frames_next(&it, &frame); n++) {
    if (!is_lua_function(snapshot, frame.function)) continue;
    caller->caller_frame = n;
    caller->function = frame.function.as.object;
  }
  caller->call_frame = n > 0 ? n - 1 : 0;
  if (caller->function == LH_NO_OBJECT) caller->caller_frame = caller->call_frame;
}

static bool is_of_frames(const hl_caller *caller, const lh_edge *edge, uint32_t from) {
  return edge->source == caller->thread && edge->index >= from && edge->kind >= LH_EDGE_FUNCTION &&
         edge->kind <= LH_EDGE_ARGUMENT;
}

static bool is_of_call(const hl_caller *caller, const lh_edge *edge) {
  return is_of_frames(caller, edge, caller->call_frame);
}

/* An open upvalue's edge does not name the frame, but a local variable has the same target. */
bool hl_is_of_caller(const hl_caller *caller, const lh_edge *edge) {
  return is_of_frames(caller, edge, caller->caller_frame) ||
         (edge->kind == LH_EDGE_OPEN_UPVALUE && edge->source == caller->thread) ||
         (edge->kind == LH_EDGE_UPVALUE && edge->source == caller->function);
}

typedef struct edge_list {
  lh_edge *edges;
  size_t n, capacity;
  bool failed;
} edge_list;

static void add_edge(edge_list *list, const lh_edge *edge) {
  if (list->n == list->capacity) {
    size_t capacity = 2 * list->capacity + 16;
    lh_edge *grown = realloc(list->edges, capacity * sizeof *grown);
    if (grown) list->edges = grown;
    if (grown) list->capacity = capacity;
    list->failed |= !grown;
  }
  if (list->n < list->capacity) list->edges[list->n++] = *edge;
}

static void add_edges(edge_list *list, const lh_snapshot *snapshot, lh_id source,
                      const hl_caller *caller,
                      bool (*is_left_out)(const hl_caller *caller, const lh_edge *edge)) {
  lh_edges it;
  lh_edge edge;
  if (source == LH_NO_OBJECT) return;
  for (lh_edges_begin(snapshot, source, &it); lh_edges_next(&it, &edge);) {
    if (is_left_out(caller, &edge)) add_edge(list, &edge);
  }
}

/* Does the key begin with "heap."? Then it names a module or a metatable of ours. */
static bool is_our_name(const lh_snapshot *snapshot, lh_value key) {
  static const char prefix[] = "heap.";
  lh_object object;
  if (key.kind != LH_VALUE_OBJECT) return false;
  if (lh_type_of(snapshot, key.as.object) != LH_TYPE_STRING) return false;
  lh_object_at(snapshot, key.as.object, &object);
  return object.as.string.kept >= strlen(prefix) &&
         memcmp(object.as.string.bytes, prefix, strlen(prefix)) == 0;
}

/* Adds the references to the snapshots by which captures are read. */
static void add_readers(edge_list *list, const lh_snapshot *snapshot) {
  lh_edges it;
  lh_edge edge;
  for (lh_id id = 1; id <= lh_object_count(snapshot); id++) {
    if (!lh_is_own(snapshot, id)) continue;
    for (lh_edges_begin(snapshot, id, &it); lh_edges_next(&it, &edge);)
      if (edge.kind == LH_EDGE_USER_VALUE && !lh_is_own(snapshot, edge.target))
        add_edge(list, &edge);
  }
}

/* Adds the references to objects that exist only for luaheap: these snapshots, our modules and
** metatables. The program's own references to them are kept. */
static void add_our_parts(edge_list *list, const lh_snapshot *snapshot) {
  lh_edges roots, it;
  lh_edge root, edge;
  add_readers(list, snapshot);
  for (lh_edges_begin(snapshot, LH_ROOT, &roots); lh_edges_next(&roots, &root);) {
    if (root.index != LH_ROOT_REGISTRY && root.index != LH_ROOT_LOADED) continue;
    for (lh_edges_begin(snapshot, root.target, &it); lh_edges_next(&it, &edge);) {
      bool is_entry = edge.kind == LH_EDGE_VALUE || edge.kind == LH_EDGE_KEY;
      if (is_entry && is_our_name(snapshot, edge.key)) add_edge(list, &edge);
    }
  }
}

/* Analyses without the edges of the list, which it frees, and without the objects. */
static int analyse_without(lh_snapshot *snapshot, edge_list *list, const lh_id *objects,
                           size_t n_objects, lh_error *error) {
  int code = LH_EMEMORY;
  const lh_without without = {list->edges, list->n, objects, n_objects};
  if (list->failed)
    *error = (lh_error){.code = code, .message = "not enough memory while leaving edges out"};
  else
    code = lh_analyse_without(snapshot, &without, 1, error);
  if (code == LH_OK) code = lh_classify(snapshot, error);
  free(list->edges);
  return code;
}

int hl_analyse(lh_snapshot *snapshot, hl_scope scope, lh_error *error) {
  hl_caller caller;
  edge_list list = {0};
  bool others = scope == HL_OTHERS;
  hl_find_caller(snapshot, &caller);
  add_our_parts(&list, snapshot);
  add_edges(&list, snapshot, caller.thread, &caller, others ? hl_is_of_caller : is_of_call);
  if (others) add_edges(&list, snapshot, caller.function, &caller, hl_is_of_caller);
  return analyse_without(snapshot, &list, NULL, 0, error);
}

/* The outermost frame of the thread that runs `function`; 0 if there is none. */
static uint32_t frame_of(const lh_snapshot *snapshot, lh_id thread, lh_id function) {
  lh_edges it;
  lh_frame frame;
  uint32_t n = 0;
  if (function == LH_NO_OBJECT) return 0;
  for (lh_frames_begin(snapshot, thread, &it); lh_frames_next(&it, &frame); n++) {
    if (frame.function.kind == LH_VALUE_OBJECT && frame.function.as.object == function) return n;
  }
  return 0;
}

int hl_analyse_below(lh_snapshot *snapshot, lh_id function, const lh_id *objects, size_t n_objects,
                     lh_error *error) {
  hl_caller caller = {.thread = running_thread(snapshot), .function = LH_NO_OBJECT};
  edge_list list = {0};
  add_our_parts(&list, snapshot);
  if (caller.thread != LH_NO_OBJECT) {
    caller.caller_frame = frame_of(snapshot, caller.thread, function);
    add_edges(&list, snapshot, caller.thread, &caller, hl_is_of_caller);
  }
  return analyse_without(snapshot, &list, objects, n_objects, error);
}
