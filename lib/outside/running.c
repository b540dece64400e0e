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

uint64_t lh_innermost_thread(const lh_peek *p, const lh_layout *layout, uint64_t thread) {
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

static bool read_mirror(const void *memory, uint64_t address, void *out, size_t n) {
  if (!lh_mirror_has(memory, address, n)) return false;
  memcpy(out, (const void *)(uintptr_t)address, n);
  return true;
}

lh_peek lh_peek_mirror(const lh_mirror *mirror) {
  return (lh_peek){.read = read_mirror, .memory = mirror};
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
  uint64_t innermost = lh_innermost_thread(&peek_mirror, &state->layout, (uintptr_t)thread);
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

/* Two looks prove that a C function that computes for long is not in a change of the heap. Only one
** change is invisible: filling a table's new vector. It begins and ends with an allocation, which
** the collector counts, and takes at most 20 ns per byte of the heap. So no change is in progress
** if the count, the running call, its place and the stack are the same after more than that time
** plus one second.
**
** Time is the processor time of a program with one thread: a stopped or waiting program proves
** nothing. The copy that runs on may be 0.3 s ahead at each look. */
static uint64_t processor_ns_of_one_thread(pid_t process) {
  lh_process_status status;
  return lh_process_status_of(process, &status) && status.threads == 1 ? lh_processor_ns(process)
                                                                       : 0;
}

static bool see_stance(const lh_mirrored *m, uint64_t state, lh_stance *s) {
  lh_peek peek = lh_peek_mirror(m->mirror);
  lh_seen_state seen;
  raw_call call;
  if (lh_recognise_state(&peek, state, lh_release_of(m->target, state), &seen, NULL) < 0)
    return false;
  s->gc_bytes = seen.gc_bytes;
  s->thread = lh_innermost_thread(&peek, seen.layout, state);
  if (!s->thread || !lh_peek_at(&peek, s->thread + RAW_THREAD_CALL, &s->call, sizeof s->call) ||
      !lh_peek_at(&peek, s->thread + RAW_THREAD_TOP, &s->top, sizeof s->top) ||
      !lh_peek_at(&peek, s->call, &call, sizeof call))
    return false;
  s->place = (uintptr_t)call.saved_pc;
  return peek.read(peek.memory, seen.global + RAW_GLOBAL_DEBT, &s->debt, sizeof s->debt);
}

static bool are_equal(const lh_stance *a, const lh_stance *b) {
  return a->gc_bytes == b->gc_bytes && a->debt == b->debt && a->thread == b->thread &&
         a->call == b->call && a->place == b->place && a->top == b->top;
}

bool lh_has_stood(const lh_mirrored *m, uint64_t state, lh_stance *since) {
  const uint64_t least_ns = 1000000000, ns_each_byte = 20;
  if (m->target->is_core) return false;
  lh_stance now = {.processor_ns = processor_ns_of_one_thread((pid_t)m->target->process_id)};
  bool is_known = now.processor_ns != 0 && see_stance(m, state, &now);
  if (!is_known || since->processor_ns == 0 || !are_equal(since, &now)) {
    *since = is_known ? now : (lh_stance){0};
    return false;
  }
  return now.processor_ns - since->processor_ns > least_ns + now.gc_bytes * ns_each_byte;
}
