/*
** walk_thread.c - the record of a coroutine: its call frames and their slots (walk.h).
**
** The frames partition the stack below `top`. Slots above hold nothing, whatever their bits. Up to
** 5.4.3, os.exit(true, true) deep in calls runs __close methods and finalizers from a lower `top`.
** The calls above it stay on the list, in front of theirs, but their slots are reused. Such calls
** are skipped (see gap).
**
**     stack                                                                     top
**       | nil | host's values | f | a b | c d e ... | g | args ...     ...       |
**         ^base frame           ^function  registers  ^function
**
** A vararg function is copied up behind its extra arguments when it starts:
**
**                         f nil nil v1 v2 v3 | f p1 p2 | registers
**                         `--------- n_varargs + n_parameters + 1 slots in front
*/
#include "walk.h"

typedef struct frame {
  const raw_value *start; /* first slot: the function, or its first copy */
  const raw_value *function;
  const raw_value *end;
  const raw_proto *proto; /* NULL unless a Lua function */
  int64_t pc;
  int64_t n_varargs;
} frame;

static const raw_proto *lua_proto(const raw_value *function) {
  if (function->type != (RAW_LUA_CLOSURE | RAW_COLLECTABLE)) return NULL;
  return ((const raw_lua_closure *)function->as.object)->proto;
}

/* Has the vararg function been copied up? If the stack overflows in that very instruction,
** n_varargs is set but nothing has moved: the caller's registers lie in front. */
static bool is_copied_up(const raw_call *call, const raw_value *caller, const raw_proto *proto) {
  int64_t in_front = (int64_t)call->n_varargs + proto->n_parameters + 1;
  if (call->n_varargs < 0 || in_front >= call->function - caller) return false;
  const raw_value *first = call->function - in_front;
  if (first->as.object != call->function->as.object) return false;
  for (int i = 1; i <= proto->n_parameters; i++)
    if (!raw_is_empty(first[i].type)) return false;
  return true;
}

/* `caller`: the function of the frame before, or the stack's first slot. */
static frame read_frame(const raw_call *call, const raw_value *caller) {
  frame f = {
      .start = call->function, .function = call->function, .proto = lua_proto(call->function)};
  f.pc = -1;
  if (!f.proto) return f;
  int64_t next_pc = call->saved_pc - f.proto->code;
  if (next_pc < 0 || next_pc > f.proto->n_code) return f;
  f.pc = next_pc > 0 ? next_pc - 1 : 0;
  if (f.proto->flags & RAW_PROTO_COPIED_UP && next_pc > 0 && is_copied_up(call, caller, f.proto)) {
    f.n_varargs = call->n_varargs;
    f.start = call->function - (f.n_varargs + f.proto->n_parameters + 1);
  }
  return f;
}

static void find_position(const raw_proto *p, int64_t pc, lh_code_position *position) {
  position->proto = p;
  position->pc = pc;
  position->line = lh_walk_line(p, pc);
  position->n_names = 0;
  for (int32_t i = 0; i < p->n_locals && position->n_names < LH_REGISTERS; i++) {
    const raw_local *l = &p->locals[i];
    if (!l->name || l->start_pc > pc) break;
    if (pc < l->end_pc) position->names[position->n_names++] = l->name;
  }
}

static const lh_code_position *position_of(lh_walk *walk, const frame *f) {
  if (!f->proto || f->pc < 0) return NULL;
  lh_code_position *position = &walk->positions[f->pc % LH_POSITIONS_CACHED];
  if (position->proto != f->proto || position->pc != f->pc)
    find_position(f->proto, f->pc, position);
  return position;
}

static bool is_held(const raw_value *slot) {
  return (slot->type & RAW_COLLECTABLE) != 0;
}

static uint64_t count_held(const raw_value *from, const raw_value *to) {
  uint64_t n = 0;
  for (; from < to; from++) n += is_held(from);
  return n;
}

static void walk_slot(lh_walk *walk, uint64_t own, unsigned kind, uint64_t ordinal,
                      const raw_string *name, const raw_value *slot) {
  uint8_t *p = lh_out_room(walk->out);
  *p++ = (uint8_t)kind;
  p = lh_put_uvarint(p, ordinal);
  if (kind == LH_SLOT_LOCAL) p = lh_put_reference(p, own, name);
  lh_out_took(walk->out, lh_put_reference(p, own, slot->as.object));
}

static void walk_frame(lh_walk *walk, uint64_t own, const frame *f) {
  const raw_value *varargs = f->function - f->n_varargs;
  const raw_value *registers = f->function + 1;
  const lh_code_position *position = position_of(walk, f);
  lh_walk_value(walk, own, f->function);
  lh_out_uvarint(walk->out, position ? position->line : 0);
  lh_out_uvarint(walk->out, count_held(varargs, f->function) + count_held(registers, f->end));
  for (const raw_value *v = varargs; v < f->function; v++)
    if (is_held(v)) walk_slot(walk, own, LH_SLOT_VARARG, (uint64_t)(v - varargs) + 1, NULL, v);
  for (const raw_value *v = registers; v < f->end; v++) {
    uint64_t i = (uint64_t)(v - registers);
    if (!is_held(v)) continue;
    if (position && i < position->n_names)
      walk_slot(walk, own, LH_SLOT_LOCAL, i, position->names[i], v);
    else if (f->proto)
      walk_slot(walk, own, LH_SLOT_TEMPORARY, i, NULL, v);
    else
      walk_slot(walk, own, LH_SLOT_ARGUMENT, i + 1, NULL, v);
  }
}

static lh_thread_status status_of(const lh_walk *walk, const raw_object *thread,
                                  const raw_call *base, const raw_value *top) {
  uint8_t status = RAW_FIELD(thread, RAW_THREAD_STATUS, uint8_t);
  if ((const void *)thread == walk->thread) return LH_THREAD_RUNNING;
  if (status == 1) return LH_THREAD_SUSPENDED;
  if (status > 1) return LH_THREAD_FAILED;
  if (RAW_FIELD(thread, RAW_THREAD_CALL, const raw_call *) != base) return LH_THREAD_NORMAL;
  return top - (base->function + 1) > 0 ? LH_THREAD_NOT_STARTED : LH_THREAD_FINISHED;
}

/* The calls between `before` and `behind` have lost their slots. `behind` NULL: the innermost one
** too. `before` NULL: none has. */
typedef struct gap {
  const raw_call *before, *behind;
} gap;

/* A call still has its slots if `top` and the functions of all inner calls are above its function.
** From the innermost call outwards, a call that is not below the next one is in the gap. The gap
** begins behind the last call that is below all calls behind the gap. */
static gap find_gap(const raw_call *base, const raw_call *last, const raw_value *top) {
  gap g = {NULL, NULL};
  const raw_value *above = top, *lowest = top, *limit = NULL;
  for (const raw_call *c = last, *inner = NULL; c != base; inner = c, c = c->previous) {
    if (c->function >= above) {
      if (!limit) g.behind = inner;
      limit = lowest;
    }
    above = c->function;
    if (above < lowest) lowest = above;
  }
  if (!limit) return g;
  for (g.before = base; g.before->next->function < limit;) g.before = g.before->next;
  return g;
}

static const raw_call *next_call(const gap *g, const raw_call *call, const raw_call *last) {
  if (call == g->before) return g->behind;
  return call == last ? NULL : call->next;
}

static void walk_frames(lh_walk *walk, const raw_object *thread, const raw_value *top) {
  const raw_call *last = RAW_FIELD(thread, RAW_THREAD_CALL, const raw_call *);
  const raw_call *call = raw_base_call(walk->layout, thread), *next;
  gap g = find_gap(call, last, top);
  uint64_t n = 0;
  for (const raw_call *c = call; c; c = next_call(&g, c, last)) n++;
  lh_out_uvarint(walk->out, n);
  frame f = read_frame(call, raw_stack(walk->layout, thread));
  for (; (next = next_call(&g, call, last)) != NULL; call = next) {
    frame inner = read_frame(next, call->function);
    f.end = inner.start;
    walk_frame(walk, (uintptr_t)thread, &f);
    f = inner;
  }
  f.end = top;
  walk_frame(walk, (uintptr_t)thread, &f);
}

static void walk_open_upvalues(lh_walk *walk, const raw_object *thread) {
  size_t at = walk->layout->open_upvalues;
  const raw_upvalue *first = RAW_FIELD(thread, at, const raw_upvalue *);
  uint64_t n = 0;
  for (const raw_upvalue *u = first; u; u = u->u.next_open) n++;
  lh_out_uvarint(walk->out, n);
  for (const raw_upvalue *u = first; u; u = u->u.next_open)
    lh_out_reference(walk->out, (uintptr_t)thread, u);
}

void lh_walk_thread(lh_walk *walk, const raw_object *thread) {
  unsigned head =
      (const void *)thread == walk->main_thread ? LH_REC_THREAD | LH_FLAG_MAIN : LH_REC_THREAD;
  if (!lh_walk_begin(walk, thread, head)) return;
  if (!raw_stack(walk->layout, thread)) { /* still being made */
    lh_out_u8(walk->out, LH_THREAD_NOT_STARTED);
    lh_out_uvarint(walk->out, 0);
    lh_out_uvarint(walk->out, 0);
    lh_out_uvarint(walk->out, 0);
    return;
  }
  const raw_value *top = RAW_FIELD(thread, RAW_THREAD_TOP, const raw_value *);
  const raw_call *base = raw_base_call(walk->layout, thread);
  lh_out_u8(walk->out, status_of(walk, thread, base, top));
  lh_out_uvarint(walk->out, raw_stack_slots(walk->layout, thread));
  walk_frames(walk, thread, top);
  walk_open_upvalues(walk, thread);
}
