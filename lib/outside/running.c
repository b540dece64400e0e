/*
** running.c - which thread of a state runs, and what of its stack lives.
**
** Lua keeps no list of the coroutines that have resumed each other. But who resumes one stands in a
** call of coroutine.resume, whose first argument it is, or of what coroutine.wrap made, of which it
** is the first upvalue. So the way leads from the main thread to one that has resumed nothing. A
** host resumes coroutines from C, with its main thread in no call: there the one that was resumed
** last is the one whose protected call lies deepest on the C stack, which grows down.
*/
#include "mirrored.h"

/* C calls nest 200 deep. */
enum { MOST_RESUMES = 256 };

static const raw_call *current_call(const void *thread) {
  return RAW_FIELD(thread, RAW_THREAD_CALL, const raw_call *);
}

/* The thread in a value, if it stands in a call; else NULL. */
static const void *standing_thread(const lh_layout *layout, const raw_value *value) {
  if (value->type != (RAW_THREAD | RAW_COLLECTABLE)) return NULL;
  const raw_object *thread = value->as.object;
  return thread->type == RAW_THREAD && raw_stands_in_call(layout, thread) ? thread : NULL;
}

/* What the C function that the thread is in may have resumed; NULL: nothing. */
static const void *resumed_thread(const lh_layout *layout, const void *thread) {
  const raw_call *call = current_call(thread);
  if (!(call->status & RAW_CALL_IS_C)) return NULL;
  const raw_value *function = raw_call_slot(layout, thread, call);
  const raw_value *top = RAW_FIELD(thread, RAW_THREAD_TOP, const raw_value *);
  const void *resumed = function + 1 < top ? standing_thread(layout, function + 1) : NULL;
  if (resumed || function->type != (RAW_C_CLOSURE | RAW_COLLECTABLE)) return resumed;
  const raw_c_closure *closure = (const raw_c_closure *)function->as.object;
  return closure->n_upvalues > 0 ? standing_thread(layout, &closure->upvalues[0]) : NULL;
}

/* Threads are on allgc alone. The list may be a circle: it is left when more was seen than there
** can be. */
static const void *deepest_thread(const lh_mirrored_state *state) {
  uint64_t most = lh_gc_bytes(state->global) / sizeof(raw_object);
  const void *found = NULL;
  uintptr_t deepest = UINTPTR_MAX;
  const raw_object *o = raw_list(state->global, LH_LIST_ALLGC);
  for (; o && most > 0; o = o->next, most--) {
    if (o->type != RAW_THREAD || !raw_stands_in_call(&state->layout, o)) continue;
    uintptr_t depth = raw_protected_call(&state->layout, o);
    if (depth >= deepest) continue;
    deepest = depth;
    found = o;
  }
  return found;
}

const void *lh_running_thread(const lh_mirrored_state *state) {
  const lh_layout *layout = &state->layout;
  const void *path[MOST_RESUMES] = {state->main_thread};
  if (!raw_stands_in_call(layout, path[0])) path[0] = deepest_thread(state);
  if (!path[0]) return state->main_thread;
  for (size_t n = 1; n < MOST_RESUMES; n++) {
    const void *next = resumed_thread(layout, path[n - 1]);
    bool known = next == NULL; /* or it is only asked for its status: it has resumed this one */
    for (size_t i = 0; i < n && !known; i++) known = path[i] == next;
    if (known) return path[n - 1];
    path[n] = next;
  }
  return path[MOST_RESUMES - 1];
}

/* Between calls `top` is where the last one left it, and registers above it live. Those that do not
** are no danger: the collector clears what is above `top` in each cycle, so what is there was
** alive at the end of the last one, and has not been freed since. */
void lh_raise_top(const lh_layout *layout, const void *thread) {
  const raw_call *call = current_call(thread);
  if (!raw_stands_in_call(layout, thread) || call->status & RAW_CALL_IS_C) return;
  const raw_value *stack = raw_stack(layout, thread);
  const raw_value **top = (const raw_value **)(void *)((char *)(uintptr_t)thread + RAW_THREAD_TOP);
  uint64_t slots = raw_stack_slots(layout, thread);
  if (call->top > *top && call->top <= stack + slots) *top = call->top;
}
