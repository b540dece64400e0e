/*
** walk_proto.c - the record of a prototype, the names of the functions inside it, and lines (walk.h).
**
** A closure does not know its name: `local function f`, `function M.f` and `{f = function` all leave it in
** what the enclosing function does right behind the OP_CLOSURE that made it: the debug information opens
** a local variable there, or the next instruction stores the value under a constant key. Each nested
** prototype is made by one OP_CLOSURE, whose Bx is its number. The opcode numbers and the
** instruction format are those of all 5.4 releases (they share one bytecode version). A name that is
** read wrong in a patched Lua is only a wrong name: every index is checked.
**
** While a chunk is being loaded its prototypes are half built: arrays may be longer than what is
** filled in, and hold nulls.
*/
#include "walk.h"

enum { OP_SETTABUP = 15, OP_SETFIELD = 18, OP_CLOSURE = 79 };

static unsigned opcode(uint32_t i) {
  return i & 0x7F;
}

static unsigned operand_a(uint32_t i) {
  return (i >> 7) & 0xFF;
}

static unsigned operand_b(uint32_t i) {
  return (i >> 16) & 0xFF;
}

static unsigned operand_c(uint32_t i) {
  return i >> 24;
}

static uint32_t operand_bx(uint32_t i) {
  return i >> 15;
}

static bool is_string_value(const raw_value *v) {
  return (v->type & ~0x10) == (RAW_SHORT_STRING | RAW_COLLECTABLE);
}

/* The local variable in register `reg` that comes alive at `pc`. Locals are listed in the order in which
** they become active, so the register of one is the number of those still alive before it. */
static const raw_string *local_born_at(const raw_proto *p, int32_t pc, unsigned reg) {
  unsigned alive = 0;
  for (int32_t i = 0; i < p->n_locals; i++) {
    const raw_local *l = &p->locals[i];
    if (!l->name || l->start_pc > pc) break;
    if (pc >= l->end_pc) continue;
    if (alive == reg && l->start_pc == pc) return l->name;
    alive++;
  }
  return NULL;
}

/* The name of the closure that instruction `pc` makes, or NULL. */
static const raw_string *closure_name(const raw_proto *p, int32_t pc) {
  unsigned reg = operand_a(p->code[pc]);
  const raw_string *local = local_born_at(p, pc + 1, reg);
  if (local || pc + 1 >= p->n_code) return local;
  uint32_t next = p->code[pc + 1];
  bool stores = opcode(next) == OP_SETFIELD || opcode(next) == OP_SETTABUP;
  bool constant_operand = (next >> 15) & 1; /* k: then C names a constant and no register */
  if (!stores || constant_operand || operand_c(next) != reg) return NULL;
  uint32_t key = operand_b(next);
  if (key >= (uint32_t)p->n_constants || !is_string_value(&p->constants[key])) return NULL;
  return (const raw_string *)p->constants[key].as.object;
}

static void walk_nested(lh_walk *walk, const raw_proto *p) {
  uint64_t own = (uintptr_t)p;
  int32_t pc = 0; /* the closures are made in the order of their numbers */
  lh_out_uvarint(walk->out, (uint64_t)p->n_nested);
  for (int32_t i = 0; i < p->n_nested; i++) {
    const raw_string *name = NULL;
    int32_t at = pc;
    while (at < p->n_code &&
           (opcode(p->code[at]) != OP_CLOSURE || operand_bx(p->code[at]) != (uint32_t)i)) {
      at++;
    }
    if (at < p->n_code) {
      name = closure_name(p, at);
      pc = at + 1;
    }
    lh_out_ref(walk->out, own, p->nested[i]);
    lh_out_ref(walk->out, own, name);
  }
}

static void walk_constants(lh_walk *walk, const raw_proto *p) {
  uint64_t n = 0;
  for (int32_t i = 0; i < p->n_constants; i++) {
    n += (p->constants[i].type & RAW_COLLECTABLE) != 0;
  }
  lh_out_uvarint(walk->out, n);
  for (int32_t i = 0; i < p->n_constants; i++) {
    const raw_value *k = &p->constants[i];
    if (k->type & RAW_COLLECTABLE) lh_out_ref(walk->out, (uintptr_t)p, k->as.object);
  }
}

void lh_walk_proto(lh_walk *walk, const raw_proto *p) {
  uint64_t own = (uintptr_t)p;
  lh_out *out = walk->out;
  if (!lh_walk_begin(walk, (const raw_object *)p, LH_REC_PROTO)) return;
  lh_out_ref(out, own, p->source);
  lh_out_uvarint(out, (uint32_t)p->first_line);
  lh_out_uvarint(out, (uint32_t)p->last_line);
  lh_out_u8(out, p->n_parameters);
  lh_out_u8(out, p->is_vararg != 0);
  lh_out_uvarint(out, (uint64_t)p->n_code);
  lh_out_uvarint(out, (uint64_t)p->n_upvalues);
  lh_out_uvarint(out, (uint64_t)p->n_constants);
  lh_out_uvarint(out, (uint64_t)p->n_line_deltas + sizeof(raw_line) * (uint64_t)p->n_lines +
                          sizeof(raw_local) * (uint64_t)p->n_locals);
  walk_constants(walk, p);
  walk_nested(walk, p);
  lh_out_uvarint(out, (uint64_t)p->n_upvalues);
  for (int32_t i = 0; i < p->n_upvalues; i++) lh_out_ref(out, own, p->upvalues[i].name);
  lh_out_uvarint(out, (uint64_t)p->n_locals);
  for (int32_t i = 0; i < p->n_locals; i++) lh_out_ref(out, own, p->locals[i].name);
}

/* Each instruction has the difference to the line before it; where that does not fit there is an
** absolute entry, and these also stand at intervals: start from the last one at or before pc. */
uint32_t lh_walk_line(const raw_proto *p, int64_t pc) {
  int64_t line = p->first_line, from = -1;
  if (pc < 0 || pc >= p->n_line_deltas) return 0;
  for (int32_t i = 0; i < p->n_lines && p->lines[i].pc <= pc; i++) {
    from = p->lines[i].pc;
    line = p->lines[i].line;
  }
  for (int64_t i = from + 1; i <= pc; i++) {
    if (p->line_deltas[i] != RAW_LINE_ABSOLUTE) line += p->line_deltas[i];
  }
  return line > 0 ? (uint32_t)line : 0;
}
