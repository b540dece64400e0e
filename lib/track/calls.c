/*
** calls.c - see calls.h.
**
** Each thread has a list of its active Lua functions. An error leaves functions without a return,
** and Lua uses CallInfos again. So each event cuts the list down to the frame that Lua has as the
** caller. Threads that wait for a thread that they have resumed form a chain. The end or yield of a
** thread shows at the next event of another thread: the first is then not in a call any more.
**
** The clock is read at the start and at the end of a hook. The time between two events belongs to
** the function on top. So a function's total is, to the nanosecond, the sum of its self time and
** that of the functions that it called.
*/
#include "calls.h"

#include "running.h"

typedef struct frame {
  const raw_call *call;
  lh_stack_id stack;
  uint32_t function;  /* id of its definition */
  bool is_outermost;  /* of that function, in the threads of the chain */
  uint64_t opened_ns; /* by the thread's clock, which stands while it is suspended */
} frame;

typedef struct timed_thread {
  const void *thread; /* NULL: free */
  frame *frames;      /* outermost first */
  size_t n, capacity;
  uint32_t resumer;               /* the thread that resumed it, while in the chain; 0: the host */
  bool runs;                      /* it is in the chain */
  uint64_t suspended_ns, left_ns; /* in all; when it left the chain */
} timed_thread;

typedef struct timed_function {
  uint32_t active; /* calls in threads of the chain */
  uint32_t n_returns;
  bool varies;
  uint8_t *results; /* of the first return, as bytes; NULL: no return yet */
  size_t n_results;
} timed_function;

/* Thread number i is threads[i]; threads[0] is not used. */
struct lh_calls {
  lh_recorder *r;
  lh_call_counts *counts; /* by stack */
  timed_function *functions;
  timed_thread *threads;
  size_t count_capacity, function_capacity, thread_capacity;
  lh_index thread_index;
  uint32_t current;  /* the thread of the last event; 0: none */
  uint64_t last_ns;  /* end of the last event */
  uint64_t clock_ns; /* sum of the time between events */
};

/* ==== Counts and functions ========================================================== */

/* Lengthens the array, with zeros, so that [n] exists. False: no memory. */
static bool reach(void *array_pointer, size_t n, size_t *capacity, size_t size) {
  size_t before = *capacity;
  if (n < before) return true;
  while (n >= *capacity)
    if (!lh_grow(array_pointer, *capacity, capacity, size)) break;
  char *array; /* whatever its type */
  memcpy(&array, array_pointer, sizeof array);
  if (array) memset(array + before * size, 0, (*capacity - before) * size);
  return n < *capacity;
}

static lh_call_counts *counts_of(lh_calls *c, lh_stack_id stack) {
  bool there = reach(&c->counts, stack, &c->count_capacity, sizeof *c->counts);
  return there ? &c->counts[stack] : NULL;
}

static timed_function *function_of(lh_calls *c, uint32_t definition) {
  bool there = reach(&c->functions, definition, &c->function_capacity, sizeof *c->functions);
  return there ? &c->functions[definition] : NULL;
}

static uint64_t thread_clock(const lh_calls *c, const timed_thread *t) {
  return (t->runs ? c->clock_ns : t->left_ns) - t->suspended_ns;
}

static void close_frame(lh_calls *c, timed_thread *t) {
  const frame *f = &t->frames[--t->n];
  if (t->runs) c->functions[f->function].active--;
  if (f->is_outermost) c->counts[f->stack].total_ns += thread_clock(c, t) - f->opened_ns;
}

/* Closes the frames above that of the call; NULL: all frames. */
static void close_above(lh_calls *c, timed_thread *t, const raw_call *call) {
  while (t->n > 0 && t->frames[t->n - 1].call != call) close_frame(c, t);
}

static void open_frame(lh_calls *c, timed_thread *t, const raw_call *call, bool is_tail) {
  lh_stacks *s = c->r->stacks;
  lh_stack_id stack = lh_stacks_of_function(s, t->thread, call);
  uint32_t definition = lh_definition_of_stack(&s->definitions, stack);
  lh_call_counts *counts = counts_of(c, stack);
  timed_function *function = function_of(c, definition);
  if (!definition || !counts || !function) return;
  counts->calls++;
  counts->tail_calls += is_tail;
  if (!lh_grow(&t->frames, t->n, &t->capacity, sizeof *t->frames)) return;
  t->frames[t->n++] = (frame){.call = call,
                              .stack = stack,
                              .function = definition,
                              .is_outermost = function->active++ == 0,
                              .opened_ns = thread_clock(c, t)};
}

/* ==== Results ======================================================================= */

enum { MOST_RESULT_BYTES = 256 };

/* Appends a value. False: it cannot be compared later, or there is no room. */
static bool add_value(const lh_layout *layout, uint8_t *out, size_t *n, const raw_value *value) {
  const void *from = &value->as;
  size_t bytes = sizeof value->as;
  uint8_t type = value->type & (uint8_t)~RAW_COLLECTABLE;
  if (type == RAW_SHORT_STRING || type == RAW_LONG_STRING) {
    const raw_string *s = (const void *)value->as.object;
    from = raw_text(layout, s);
    bytes = raw_string_length(layout, s);
    type = RAW_SHORT_STRING;
  } else if (raw_is_empty(type) || type == RAW_TRUE || type == RAW_FALSE) {
    bytes = 0;
  } else if (type != RAW_INTEGER && type != RAW_FLOAT && type != RAW_LIGHT_USERDATA) {
    return false;
  }
  if (bytes + 2 > MOST_RESULT_BYTES - *n) return false;
  out[(*n)++] = type;
  out[(*n)++] = (uint8_t)bytes;
  memcpy(out + *n, from, bytes);
  *n += bytes;
  return true;
}

/* The function's results as bytes. False: there are none, or they cannot be compared later. */
static bool read_results(const lh_layout *layout, lua_State *L, lua_Debug *event,
                         const raw_call *call, uint8_t *out, size_t *n) {
  *n = 0;
  if (!lua_getinfo(L, "r", event) || event->ntransfer == 0) return false;
  const raw_value *first = call->function + event->ftransfer;
  for (int i = 0; i < (int)event->ntransfer; i++)
    if (!add_value(layout, out, n, first + i)) return false;
  return true;
}

static void note_results(const lh_layout *layout, lua_State *L, lua_Debug *event,
                         const raw_call *call, timed_function *f) {
  uint8_t results[MOST_RESULT_BYTES];
  size_t n;
  if (f->varies) return;
  bool is_same = read_results(layout, L, event, call, results, &n);
  if (is_same && !f->results) {
    f->results = lh_alloc(n, 1);
    if (f->results) memcpy(f->results, results, f->n_results = n);
  }
  is_same = is_same && f->results && n == f->n_results && memcmp(results, f->results, n) == 0;
  f->varies = !is_same;
  f->n_returns++;
}

/* ==== Threads ======================================================================= */

static uint32_t find_thread(const lh_calls *c, const void *thread) {
  uint32_t number;
  LH_INDEX_FIND(number, &c->thread_index, lh_index_hash((uintptr_t)thread, 0),
                c->threads[number].thread == thread);
  return number;
}

static uint32_t add_timed_thread(lh_calls *c, const void *thread) {
  uint32_t number = lh_index_new(&c->thread_index, lh_index_hash((uintptr_t)thread, 0), &c->threads,
                                 &c->thread_capacity, sizeof *c->threads);
  if (number) c->threads[number] = (timed_thread){.thread = thread, .left_ns = c->clock_ns};
  return number;
}

static void leave_thread(lh_calls *c) {
  timed_thread *t = &c->threads[c->current];
  for (size_t i = 0; i < t->n; i++) c->functions[t->frames[i].function].active--;
  t->left_ns = c->clock_ns;
  t->runs = false;
  c->current = t->resumer;
}

static void enter_thread(lh_calls *c, uint32_t number) {
  timed_thread *t = &c->threads[number];
  for (size_t i = 0; i < t->n; i++) c->functions[t->frames[i].function].active++;
  t->suspended_ns += c->clock_ns - t->left_ns;
  t->runs = true;
  t->resumer = c->current;
  c->current = number;
}

/* Makes the event's thread current. Threads that are not in a call any more leave the chain. */
static timed_thread *switch_thread(lh_calls *c, const void *thread) {
  while (c->current && c->threads[c->current].thread != thread &&
         !raw_stands_in_call(&c->r->layout, c->threads[c->current].thread))
    leave_thread(c);
  if (c->current && c->threads[c->current].thread == thread) return &c->threads[c->current];
  uint32_t number = find_thread(c, thread);
  if (!number) number = add_timed_thread(c, thread);
  if (!number) return NULL;
  while (c->threads[number].runs && c->current != number) leave_thread(c);
  if (c->current != number) enter_thread(c, number);
  return &c->threads[number];
}

void lh_calls_died(lh_calls *c, const void *block) {
  const void *thread = (const char *)block + c->r->running->extra_bytes;
  uint32_t number = find_thread(c, thread);
  if (!number) return;
  timed_thread *t = &c->threads[number];
  while (t->runs) leave_thread(c);
  while (t->n > 0) close_frame(c, t);
  lh_free(t->frames);
  lh_index_remove(&c->thread_index, lh_index_hash((uintptr_t)thread, 0), number);
  *t = (timed_thread){0};
}

/* ==== The hook ====================================================================== */

static const raw_call *lua_caller(const raw_call *call) {
  do call = call->previous;
  while (call && call->status & RAW_CALL_IS_C);
  return call;
}

/* A C function in the current thread, with its caller on top: there is nothing to do. */
static bool is_plain(const lh_calls *c, const void *thread, const raw_call *call) {
  const timed_thread *t = c->current ? &c->threads[c->current] : NULL;
  if (!(call->status & RAW_CALL_IS_C) || !t || t->thread != thread) return false;
  return t->n == 0 || t->frames[t->n - 1].call == lua_caller(call);
}

/* Adds the time since the last event to the function that was on top. If that thread has no
** function left, the time belongs to its resumer. */
static void charge(lh_calls *c) {
  uint64_t ns = lh_now_ns() - c->last_ns;
  uint32_t number = c->current;
  c->clock_ns += ns;
  while (number && c->threads[number].n == 0) number = c->threads[number].resumer;
  if (!number) return;
  const timed_thread *t = &c->threads[number];
  c->counts[t->frames[t->n - 1].stack].self_ns += ns;
}

static void note_event(lh_calls *c, lua_State *L, lua_Debug *event, const raw_call *call) {
  charge(c);
  timed_thread *t = switch_thread(c, L);
  if (!t) return;
  if (call->status & RAW_CALL_IS_C) {
    close_above(c, t, lua_caller(call));
  } else if (event->event != LUA_HOOKRET) {
    close_above(c, t, lua_caller(call));
    open_frame(c, t, call, event->event == LUA_HOOKTAILCALL);
  } else {
    close_above(c, t, call);
    if (t->n == 0) return;
    note_results(&c->r->layout, L, event, call, &c->functions[t->frames[t->n - 1].function]);
    close_frame(c, t);
  }
}

static void on_call(lua_State *L, lua_Debug *event) {
  int os_errno = errno;
  const lh_recorder *r = lh_recorder_of(L);
  const raw_call *call = (const void *)event->i_ci;
  if (!r || !r->calls || is_plain(r->calls, L, call)) return;
  note_event(r->calls, L, event, call);
  r->calls->last_ns = lh_now_ns();
  errno = os_errno;
}

int lh_calls_start(lh_recorder *r, lh_calls **out, lh_error *error) {
  size_t place = 0;
  lua_State *t;
  while ((t = lh_thread_set_next(&r->running->threads, &place)) != NULL) {
    if (!lua_gethook(t)) continue;
    return lh_fail(error, LH_EARGUMENT,
                   "the program has a debug hook, which counting calls and time would take away");
  }
  lh_calls *c = lh_alloc_zeroed(1, sizeof *c);
  if (!c) return lh_fail_memory(error, "counting calls");
  c->r = r;
  c->last_ns = lh_now_ns();
  for (place = 0; (t = lh_thread_set_next(&r->running->threads, &place)) != NULL;)
    lua_sethook(t, on_call, LUA_MASKCALL | LUA_MASKRET, 0);
  *out = c;
  return LH_OK;
}

void lh_calls_stop(lh_calls *c) {
  size_t place = 0;
  lua_State *t;
  if (!lh_recorder_is_in_front(c->r)) /* else we may have missed that a thread died */
    (void)lh_thread_set_renew(&c->r->running->threads, c->r->global);
  while ((t = lh_thread_set_next(&c->r->running->threads, &place)) != NULL)
    if (lua_gethook(t) == on_call) lua_sethook(t, NULL, 0, 0);
}

void lh_calls_complete(lh_calls *c) {
  charge(c);
  c->last_ns = lh_now_ns();
  for (uint32_t i = 1; i <= c->thread_index.n_handed_out; i++) {
    while (c->threads[i].n > 0) close_frame(c, &c->threads[i]);
  }
}

void lh_calls_free(lh_calls *c) {
  if (!c) return;
  for (uint32_t i = 1; i <= c->thread_index.n_handed_out; i++) lh_free(c->threads[i].frames);
  for (size_t i = 0; i < c->function_capacity; i++) lh_free(c->functions[i].results);
  lh_free(c->threads);
  lh_free(c->functions);
  lh_free(c->counts);
  lh_index_free(&c->thread_index);
  lh_free(c);
}

lh_call_counts lh_calls_counts(const lh_calls *c, lh_stack_id stack) {
  if (stack >= c->count_capacity) return (lh_call_counts){0};
  lh_call_counts counts = c->counts[stack];
  uint32_t definition = lh_definition_of_stack(&c->r->stacks->definitions, stack);
  if (counts.calls && definition < c->function_capacity) {
    const timed_function *f = &c->functions[definition];
    counts.is_constant = f->n_returns > 1 && !f->varies;
  }
  return counts;
}
