/*
** running.c - finds the running thread of a state, its live stack, and whether it computes.
**
** Lua keeps no list of resumed coroutines. But a thread that resumes another is in a call of
** coroutine.resume, with the other as its first argument, or of a coroutine.wrap function, with the
** other as its first upvalue. So we follow these calls from the main thread. A host may also resume
** coroutines from C, with its main thread in no call. The walk finds them: the last resumed one has
** its protected call deepest on the C stack, which grows down.
*/
#include "mirrored.h"

/* C calls nest at most 200 deep. */
enum { MOST_RESUMES = 256 };

typedef struct stance {
  bool stands; /* in a call */
  raw_call call;
  uint64_t top;
} stance;

static bool read_stance(const lh_peek *p, const lh_layout *layout, uint64_t thread, stance *s) {
  enum { HEAD_BYTES = RAW_THREAD_CALL + sizeof(uint64_t) };
  _Alignas(8) char head[HEAD_BYTES];
  if (!lh_peek_at(p, thread, head, sizeof head) ||
      ((raw_object *)(void *)head)->type != RAW_THREAD) {
    return false;
  }
  uint64_t call = RAW_FIELD(head, RAW_THREAD_CALL, uint64_t);
  s->stands = RAW_FIELD(head, RAW_THREAD_STATUS, uint8_t) == 0 && call != 0 &&
              call != thread + layout->base_call;
  s->top = RAW_FIELD(head, RAW_THREAD_TOP, uint64_t);
  return !s->stands || lh_peek_at(p, call, &s->call, sizeof s->call);
}

/* The thread in a value, if it is in a call; else 0. */
static uint64_t standing_thread(const lh_peek *p, const lh_layout *layout, uint64_t value_at) {
  raw_value value;
  stance s;
  if (!lh_peek_at(p, value_at, &value, sizeof value) ||
      value.type != (RAW_THREAD | RAW_COLLECTABLE)) {
    return 0;
  }
  uint64_t thread = (uintptr_t)value.as.object;
  return read_stance(p, layout, thread, &s) && s.stands ? thread : 0;
}

/* The thread that the current C function may have resumed; 0: none. */
static uint64_t resumed_thread(const lh_peek *p, const lh_layout *layout, const stance *s) {
  raw_value function;
  raw_c_closure closure;
  uint64_t slot = (uintptr_t)s->call.function;
  if (!(s->call.status & RAW_CALL_IS_C)) return 0;
  uint64_t argument = slot + sizeof(raw_value);
  uint64_t resumed = argument < s->top ? standing_thread(p, layout, argument) : 0;
  if (resumed || !lh_peek_at(p, slot, &function, sizeof function)) return resumed;
  uint64_t c = (uintptr_t)function.as.object;
  if (function.type != (RAW_C_CLOSURE | RAW_COLLECTABLE) ||
      !lh_peek_at(p, c, &closure, sizeof closure) || closure.n_upvalues == 0) {
    return 0;
  }
  return standing_thread(p, layout, c + offsetof(raw_c_closure, upvalues));
}

/* Follows resumed threads from `thread` to the innermost one. 0: it is in no call. */
static uint64_t innermost_thread(const lh_peek *p, const lh_layout *layout, uint64_t thread) {
  uint64_t path[MOST_RESUMES] = {thread};
  for (size_t n = 1; n < MOST_RESUMES; n++) {
    stance s;
    if (!read_stance(p, layout, path[n - 1], &s)) return 0;
    uint64_t next = s.stands ? resumed_thread(p, layout, &s) : 0;
    bool known = next == 0; /* or `next` resumed this thread, which only asks for its status */
    for (size_t i = 0; i < n && !known; i++) known = path[i] == next;
    if (known) return s.stands ? path[n - 1] : 0;
    path[n] = next;
  }
  return path[MOST_RESUMES - 1];
}

static const raw_call *current_call(const void *thread) {
  return RAW_FIELD(thread, RAW_THREAD_CALL, const raw_call *);
}

static bool read_in_mirror(const void *memory, uint64_t address, void *out, size_t n) {
  (void)memory;
  memcpy(out, (const void *)(uintptr_t)address, n);
  return true;
}

const void *lh_running_thread(const lh_mirrored_state *state) {
  const lh_peek peek_mirror = {.read = read_in_mirror};
  const void *thread = state->main_thread;
  uint64_t innermost = innermost_thread(&peek_mirror, &state->layout, (uintptr_t)thread);
  return innermost ? (const void *)(uintptr_t)innermost : thread;
}

/* Only the main thread may run without a protected call. */
static uintptr_t depth_of(const lh_layout *layout, const void *thread) {
  uintptr_t depth = raw_stands_in_call(layout, thread) ? raw_protected_call(layout, thread) : 0;
  return depth ? depth : UINTPTR_MAX;
}

const void *lh_deeper_thread(const lh_layout *layout, const void *thread, const void *other) {
  return depth_of(layout, other) < depth_of(layout, thread) ? other : thread;
}

/* Between calls `top` is where the last call left it, and registers above it may be live. Dead ones
** are harmless: each collection clears the stack above `top`, so their objects are not freed. */
void lh_raise_top(const lh_layout *layout, const void *thread) {
  const raw_call *call = current_call(thread);
  if (!raw_stands_in_call(layout, thread) || call->status & RAW_CALL_IS_C) return;
  const raw_value *stack = raw_stack(layout, thread);
  const raw_value **top = (const raw_value **)(void *)((char *)(uintptr_t)thread + RAW_THREAD_TOP);
  uint64_t slots = raw_stack_slots(layout, thread);
  if (call->top > *top && call->top <= stack + slots) *top = call->top;
}

bool lh_peek_call(const lh_peek *p, const lh_seen_state *seen, lh_seen_call *seen_call) {
  uint64_t thread = innermost_thread(p, seen->layout, seen->main_thread);
  raw_call call;
  *seen_call = (lh_seen_call){.thread = thread};
  if (!thread || !lh_peek_at(p, thread + RAW_THREAD_CALL, &seen_call->call, sizeof(uint64_t)) ||
      !lh_peek_at(p, thread + RAW_THREAD_TOP, &seen_call->top, sizeof(uint64_t)) ||
      !lh_peek_at(p, seen_call->call, &call, sizeof call))
    return false;
  seen_call->place = (uintptr_t)call.saved_pc;
  uint64_t protected_at = thread + seen->layout->base_call - sizeof(uint64_t);
  return lh_peek_at(p, protected_at, &seen_call->protected_call, sizeof(uint64_t)) &&
         lh_peek_at(p, seen->global + RAW_GLOBAL_DEBT, &seen_call->debt, sizeof(uint64_t));
}

bool lh_is_lua_call(const lh_peek *p, uint64_t address) {
  raw_call call;
  return lh_peek_at(p, address, &call, sizeof call) && !(call.status & RAW_CALL_IS_C);
}

bool lh_has_panicked(const lh_target *target, const lh_mirrored_state *state) {
  const lh_layout *layout = &state->layout;
  const raw_object *thread = (const raw_object *)state->main_thread;
  const raw_value *stack = raw_stack(layout, thread);
  enum { FUNCTION_AND_MESSAGE = 2, KIND = 0x0F };
  return target->is_core && target->signal == SIGABRT && stack &&
         !raw_stands_in_call(layout, thread) &&
         RAW_FIELD(thread, RAW_THREAD_TOP, const raw_value *) == stack + FUNCTION_AND_MESSAGE &&
         (stack[1].type & KIND) == RAW_SHORT_STRING;
}
