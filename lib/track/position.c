/*
** position.c - see position.h.
** The search visits the instructions that may have run since savedpc without saving theirs. It
** stops at those that always save, and passes those that save now and then: so it finds too many
** tables rather than too few. It visits 2,048 instructions on either side at most, and takes well
** under a microsecond for the usual ten or twenty.
*/
#include "track/position.h"

#include <limits.h>

#include "track/instructions.h"
#include "track/running.h"

lh_position *lh_position_new(lh_recorder *r) {
  lh_position *p = lh_alloc_zeroed(1, sizeof *p);
  if (!p) return NULL;
  p->layout = &r->layout;
  p->not_lua = RAW_CALL_IS_C | r->layout.call_hooked;
  p->saves_less = r->layout.size_flag_in_mark;
  p->sees_all = r->sample_bytes == 0;
  return p;
}

/* In 5.5 the first instruction of a function may make a table of its extra arguments. It saves its
** position. */
static bool makes_argument_table(const raw_proto *proto, const uint32_t *pc) {
  return (proto->flags & RAW_PROTO_VARARG_TABLE) && pc == proto->code &&
         raw_opcode(*pc) == RAW_OP_VARARGPREP;
}

lh_maker lh_position_maker(const raw_proto *proto, const uint32_t *pc) {
  if (makes_argument_table(proto, pc)) return LH_MADE_TABLE;
  return (lh_maker)lh_instruction_of(*pc).maker;
}

/* ==== Frames ========================================================================= */

typedef struct code {
  const raw_proto *proto;
  const raw_value *registers;
} code;

static code code_of(const lh_position *p, const void *thread, const raw_call *call) {
  const raw_value *slot = raw_call_slot(p->layout, thread, call);
  return (code){((const raw_lua_closure *)slot->as.object)->proto, slot + 1};
}

/* Does Lua itself allocate there, and not a C function on top, or a hook? */
static bool is_on_top(const lh_position *p, const void *thread, const raw_call *call) {
  return RAW_FIELD(thread, RAW_THREAD_CALL, const raw_call *) == call &&
         !(call->status & p->not_lua);
}

static bool is_new_table(code c, const uint32_t *pc, uint64_t reg) {
  uint64_t distance = (uint64_t)((uintptr_t)pc - (uintptr_t)c.proto->code);
  return distance < (uint64_t)c.proto->n_code * sizeof *pc && distance % sizeof *pc == 0 &&
         raw_opcode(*pc) == RAW_OP_NEWTABLE && raw_operand_a(*pc) == reg;
}

/* The parts that OP_NEWTABLE requests after the table. B is 1 plus the logarithm of the slots. */
static uint64_t slots_bytes_of(const uint32_t *pc) {
  unsigned b = raw_list_b(*pc);
  return b > 0 ? raw_slots_bytes((uint64_t)1 << (b - 1)) : 0;
}

static uint64_t array_bytes_of(const uint32_t *pc) {
  return raw_array_bytes(raw_list_items(pc));
}

/* ==== The search ===================================================================== */

enum { SIDE = 2048, MOST_PENDING = 64, MANY_LINES = INT_MAX };

/* `seen` has instructions by their distance from `first`, which is SIDE before savedpc. */
typedef struct search {
  const raw_proto *proto;
  int64_t first;
  uint64_t seen[2 * SIDE / 64];
  int64_t pending[MOST_PENDING];
  int n_pending;
  bool gave_up;
} search;

static void pass_to(search *s, int64_t pc) {
  int64_t bit = pc - s->first;
  bool is_in_code = pc >= 0 && pc < s->proto->n_code;
  if (!is_in_code || bit < 0 || bit >= 2 * SIDE || s->n_pending == MOST_PENDING) {
    s->gave_up |= is_in_code;
    return;
  }
  if (s->seen[bit / 64] >> bit % 64 & 1) return;
  s->seen[bit / 64] |= UINT64_C(1) << bit % 64;
  s->pending[s->n_pending++] = pc;
}

static void pass_on(search *s, int64_t pc) {
  uint32_t i = s->proto->code[pc];
  switch ((lh_follows)lh_instruction_of(i).follows) {
    case LH_FOLLOWS_NONE: return;
    case LH_FOLLOWS_SECOND: pass_to(s, pc + 2); return;
    case LH_FOLLOWS_JUMP: pass_to(s, pc + 1 + raw_jump(i)); return;
    case LH_FOLLOWS_EITHER: pass_to(s, pc + 2); break;
    case LH_FOLLOWS_BACK: pass_to(s, pc + 1 - (int64_t)raw_operand_bx(i)); break;
    case LH_FOLLOWS_BEYOND: pass_to(s, pc + 2 + (int64_t)raw_operand_bx(i)); break;
    case LH_FOLLOWS_NEXT: break;
  }
  pass_to(s, pc + 1);
}

/* Is the table of extra arguments perhaps not made yet? Afterwards it is behind the parameters. */
static bool may_be_first(code c, const uint32_t *saved) {
  return saved == c.proto->code + 1 && makes_argument_table(c.proto, saved - 1);
}

static bool must_be_first(code c, const uint32_t *saved) {
  return may_be_first(c, saved) &&
         c.registers[c.proto->n_parameters].type != (RAW_TABLE | RAW_COLLECTABLE);
}

/* How many instructions that make a table into the register may follow savedpc; *found is one. With
** `part_bytes`, only those with a part of this size. MANY_LINES: they are on several lines, or too
** many to visit. */
static int search_table(code c, const uint32_t *saved, uint64_t reg, uint64_t part_bytes,
                        const uint32_t **found) {
  const raw_proto *proto = c.proto;
  int64_t start = saved - proto->code;
  int n = 0;
  search s = {.proto = proto, .first = start - SIDE};
  *found = NULL;
  if (may_be_first(c, saved)) {
    *found = proto->code;
    n = 1;
    if (must_be_first(c, saved)) return n;
  }
  if (start == 0)
    pass_to(&s, start);
  else if (is_new_table(c, saved - 1, reg)) /* a hook has saved it */
    pass_to(&s, start - 1);
  else
    pass_on(&s, start - 1);
  while (s.n_pending > 0) {
    int64_t pc = s.pending[--s.n_pending];
    const uint32_t *i = &proto->code[pc];
    if (!lh_instruction_of(*i).saves) pass_on(&s, pc);
    if (!is_new_table(c, i, reg)) continue;
    if (part_bytes && slots_bytes_of(i) != part_bytes && array_bytes_of(i) != part_bytes) continue;
    int64_t other = *found ? *found - proto->code : pc;
    if (lh_walk_line(proto, pc) != lh_walk_line(proto, other)) return MANY_LINES;
    *found = i;
    n++;
  }
  return s.gave_up ? MANY_LINES : n;
}

/* ==== Requests ======================================================================= */

static void note_parts(lh_position *p, const uint32_t *pc) {
  p->table.slots_bytes = p->table.array_bytes = LH_ANY_BYTES;
  if (pc && !p->table.is_one_of) {
    p->table.slots_bytes = slots_bytes_of(pc);
    p->table.array_bytes = array_bytes_of(pc);
  }
}

const uint32_t *lh_position_of_table(lh_position *p, const void *thread, const raw_call *call,
                                     const void *frame) {
  if (!call || !is_on_top(p, thread, call)) {
    p->saw_last &= call != NULL;
    return call ? lh_position_of_object(p, thread, call) : NULL;
  }
  const raw_value *top = RAW_FIELD(thread, RAW_THREAD_TOP, const raw_value *);
  code c = code_of(p, thread, call);
  uint64_t reg = (uint64_t)(top - c.registers) - 1;
  const uint32_t *pc = NULL;
  int n = 1;
  p->n_tables++;
  if (p->word) {
    uintptr_t place = ((const uintptr_t *)frame)[p->word];
    pc = (const uint32_t *)(place - p->ahead * sizeof *pc);
  }
  if (!pc || !is_new_table(c, pc, reg)) {
    if (p->word && may_be_first(c, call->saved_pc)) {
      pc = c.proto->code;
    } else {
      p->n_searched++;
      n = search_table(c, call->saved_pc, reg, 0, &pc);
      if (n == 0 || n == MANY_LINES) pc = NULL;
      p->n_untold += pc == NULL;
    }
  }
  p->table.call = call;
  p->table.saved = call->saved_pc;
  p->table.pc = pc;
  p->table.top = top;
  p->saw_last = p->sees_all;
  p->table.is_one_of = n != 1;
  note_parts(p, pc);
  return pc;
}

static bool is_at_table(const lh_position *p, const raw_call *call) {
  return p->table.call == call && p->table.saved == call->saved_pc;
}

/* Does the OP_NEWTABLE request this part? Then it is not expected again. */
static bool take_part(lh_position *p, uint64_t bytes) {
  if (p->table.slots_bytes == LH_ANY_BYTES) return true;
  uint64_t *part = p->table.slots_bytes == bytes ? &p->table.slots_bytes : &p->table.array_bytes;
  if (*part != bytes) return false;
  *part = 0;
  return true;
}

void lh_position_failed(lh_position *p, uint64_t bytes) {
  if (p->table.call && p->table.pc) {
    note_parts(p, p->table.pc);
    if (p->table.array_bytes == bytes) p->table.slots_bytes = 0; /* was allocated before */
  }
}

/* savedpc is a call or varargs whose results all become items of a table. These request a stack or
** a frame. Then OP_SETLIST requests an array for all items, and as many slots as there are. */
static bool is_in_list(const lh_position *p, code c, const void *thread, const raw_call *call,
                       const void *block, uint64_t bytes) {
  const uint32_t *list = call->saved_pc;
  if (list == c.proto->code) return false;
  unsigned op = raw_opcode(list[-1]);
  if ((op != RAW_OP_CALL && op != RAW_OP_VARARG) || raw_operand_c(list[-1]) != 0) return false;
  if (raw_opcode(*list) != RAW_OP_SETLIST || raw_list_b(*list) != 0) return false;
  if (op == RAW_OP_CALL && !call->next) return false; /* it has not been called yet */
  const raw_value *v = &c.registers[raw_operand_a(*list)];
  if (v->type != (RAW_TABLE | RAW_COLLECTABLE)) return false;
  const raw_table *t = (const raw_table *)v->as.object;
  uint64_t n = raw_list_items(list);
  n += (uint64_t)(RAW_FIELD(thread, RAW_THREAD_TOP, const raw_value *) - v) - 1;
  if (n <= raw_array_slots(p->layout, t)) return false; /* they are in the array already */
  if (!block && bytes == raw_slots_bytes(raw_hash_slots(t))) return true;
  const void *grown = LH_LUA == 504 ? t->array : NULL; /* 5.5 resizes no array */
  return block == grown && bytes == raw_array_bytes(n) && block != raw_stack(p->layout, thread);
}

/* The instruction at savedpc may allocate itself: an assignment to a table that grows, or any call,
** for a stack (of 45 slots or more) or a frame. */
static bool may_be_last(code c, const raw_call *call, const raw_value *top, uint64_t bytes) {
  if (call->saved_pc == c.proto->code) return false;
  lh_maker maker = lh_position_maker(c.proto, call->saved_pc - 1);
  bool assigns = maker == LH_MADE_GROWTH && top == call->top;
  return assigns || bytes >= 45 * sizeof(raw_value) || (bytes == sizeof *call && !call->next);
}

/* Is it a part of a table that was not seen, as among samples? *pc NULL: of an unknown table, or
** perhaps of another instruction. */
static bool search_part(code c, const void *thread, const raw_call *call, uint64_t bytes,
                        bool in_list, const uint32_t **pc) {
  if (must_be_first(c, call->saved_pc)) return false;
  const raw_value *top = RAW_FIELD(thread, RAW_THREAD_TOP, const raw_value *);
  int n = search_table(c, call->saved_pc, (uint64_t)(top - c.registers) - 1, bytes, pc);
  bool is_other = in_list || may_be_last(c, call, top, bytes);
  if (n == MANY_LINES || (n > 0 && is_other)) *pc = NULL;
  return n > 0;
}

const uint32_t *lh_position_of_part(lh_position *p, const void *thread, const raw_call *call,
                                    const void *block, uint64_t bytes) {
  if (!is_on_top(p, thread, call)) return lh_position_of_object(p, thread, call);
  const raw_value *top = RAW_FIELD(thread, RAW_THREAD_TOP, const raw_value *);
  const uint32_t *pc;
  if (p->saw_last && !block && is_at_table(p, call) && p->table.top == top && take_part(p, bytes))
    return p->table.is_one_of ? NULL : p->table.pc;
  code c = code_of(p, thread, call);
  bool in_list = is_in_list(p, c, thread, call, block, bytes);
  if (!p->saw_last && !block && search_part(c, thread, call, bytes, in_list, &pc)) return pc;
  return in_list ? call->saved_pc : lh_position_of_object(p, thread, call);
}

const uint32_t *lh_position_in_540(const lh_position *p, const void *thread, const raw_call *call) {
  const uint32_t *found, *saved = call->saved_pc;
  code c = code_of(p, thread, call);
  if (raw_call_is(p->layout, call, RAW_CALL_FINALIZES)) {
    if (is_at_table(p, call)) return p->table.pc;
    const raw_call *finalizer = call->next; /* its function is above the last register in use */
    const raw_value *slot = finalizer ? raw_call_slot(p->layout, thread, finalizer) : NULL;
    if (slot && search_table(c, saved, (uint64_t)(slot - c.registers) - 1, 0, &found)) return NULL;
  }
  return saved > c.proto->code ? saved - 1 : saved;
}

/* ==== Learning ======================================================================= */

enum { BELOW = LH_SAVED_WORDS, MOST_WORDS = 4096, MOST_AHEAD = 3, N_LESSONS = 15 };

/* Bit k of fits[i]: for each table so far word i was k instructions past the right one. */
struct lh_lesson {
  unsigned n_tables;
  uintptr_t stack_high;
  const void *thread;
  uint8_t fits[MOST_WORDS];
};

/* Makes N_LESSONS tables, in the order of the code, behind instructions of all sorts. */
static const char chunk[] =
    "local a, b, c = 1, 'b', {}\n"
    "local t = {} t = {a} t = {x = a} t = {a, x = b, y = b}\n"
    "a = a + 1 t = {} if a > 1 then t = {b} end\n"
    "t = {{}, {a}} for i = 1, 1 do t = {i} end\n"
    "c.x = b t = {} c.y = #b t = {c} c = b .. a t = {}\n"
    "local function f() return a end t = {f()}\n";

static const uint32_t *nth_table(const raw_proto *proto, unsigned n) {
  for (int32_t i = 0; i < proto->n_code; i++)
    if (raw_opcode(proto->code[i]) == RAW_OP_NEWTABLE && n-- == 0) return &proto->code[i];
  return NULL;
}

static __attribute__((no_sanitize("address", "undefined"))) void compare_words(
    lh_lesson *lesson, const uintptr_t *word, const uint32_t *pc) {
  for (int i = 0; i < MOST_WORDS; i++) {
    unsigned fits = 0;
    if ((uintptr_t)(word + i) < lesson->stack_high) {
      for (unsigned k = 0; k < MOST_AHEAD; k++)
        fits |= (unsigned)(word[i] == (uintptr_t)(pc + k)) << k;
    }
    lesson->fits[i] &= (uint8_t)fits;
  }
}

void lh_position_learn(lh_position *p, const void *frame) {
  lh_lesson *lesson = p->lesson;
  if (!lesson->thread) return; /* the state is being made */
  const raw_call *call = RAW_FIELD(lesson->thread, RAW_THREAD_CALL, const raw_call *);
  if (call->status & p->not_lua) return;
  const uint32_t *pc = nth_table(code_of(p, lesson->thread, call).proto, lesson->n_tables);
  lesson->n_tables++;
  if (pc) compare_words(lesson, (const uintptr_t *)frame - BELOW, pc);
}

static bool take_word(lh_position *p, int32_t i) {
  unsigned fits = p->lesson->fits[i];
  if (fits == 0 || i == BELOW) return false;
  p->word = i - BELOW;
  p->ahead = (uint32_t)__builtin_ctz(fits);
  return true;
}

/* Takes the nearest word above the frame that always fitted. Else takes one below the frame, where
** our own functions leave copies, too. */
static void conclude(lh_position *p) {
  if (p->lesson->n_tables != N_LESSONS) return;
  for (int32_t i = BELOW; i < MOST_WORDS; i++)
    if (take_word(p, i)) return;
  for (int32_t i = BELOW - 1; i >= 0; i--)
    if (take_word(p, i)) return;
}

void lh_position_calibrate(lh_recorder *r, lua_State *L) {
  lh_position *p = r->position;
  lh_lesson *lesson = lh_alloc_zeroed(1, sizeof *lesson);
  p->word = 0;
  if (!lesson) return;
  memset(lesson->fits, 0xFF, sizeof lesson->fits);
  lesson->stack_high = r->running->stack_high;
  p->lesson = lesson;
  void *data;
  lua_Alloc alloc = lua_getallocf(L, &data);
  bool has_all = lua_newstate && luaL_loadbufferx && lua_pcallk && lua_close;
  lua_State *other = has_all ? lh_new_state(alloc, data) : NULL;
  if (other) {
    if (luaL_loadbufferx(other, chunk, sizeof chunk - 1, "=", "t") == LUA_OK) {
      lesson->thread = other;
      if (lua_pcall(other, 0, 0, 0) == LUA_OK) conclude(p);
    }
    lesson->thread = NULL;
    lua_close(other);
  }
  p->lesson = NULL;
  lh_free(lesson);
}
