/*
** walk_proto.c - the record of a prototype, the names of the functions inside it, and lines
** (walk.h).
**
** A closure does not know its name: `local function f`, `function M.f` and `{f = function` all
** leave it in what the enclosing function does right behind the OP_CLOSURE that made it: the debug
** information opens a local variable there, or the next instruction stores the value under a
** constant key. Each nested prototype is made by one OP_CLOSURE, whose Bx is its number. The opcode
** numbers and the instruction format are those of all 5.4 releases (they share one bytecode
** version). A name that is read wrong in a patched Lua is only a wrong name: every index is
** checked.
**
** While a chunk is being loaded its prototypes are half built: arrays may be longer than what is
** filled in, and hold nulls.
*/
#include "walk.h"

enum { OP_SETTABUP = 15, OP_SETFIELD = 18, OP_CLOSURE = 79, MAX_REGISTERS = 256 };

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

/* The local variables in scope, by register, while the closures are met in the order of their code:
** locals are listed in the order in which they begin, and scopes nest. So all of them take one
** pass. */
typedef struct scope {
  int32_t next; /* the first that has not begun */
  unsigned n;
  const raw_local *alive[MAX_REGISTERS];
} scope;

static void move_scope(scope *s, const raw_proto *p, int32_t pc) {
  for (; s->next < p->n_locals; s->next++) {
    const raw_local *l = &p->locals[s->next];
    if (!l->name || l->start_pc > pc) break;
    while (s->n > 0 && s->alive[s->n - 1]->end_pc <= l->start_pc) s->n--;
    if (s->n < MAX_REGISTERS) s->alive[s->n++] = l;
  }
  while (s->n > 0 && s->alive[s->n - 1]->end_pc <= pc) s->n--;
}

/* The local variable in register `reg` that comes alive at `pc`. */
static const raw_string *local_born_at(scope *s, const raw_proto *p, int32_t pc, unsigned reg) {
  move_scope(s, p, pc);
  return reg < s->n && s->alive[reg]->start_pc == pc ? s->alive[reg]->name : NULL;
}

/* The name of the closure that instruction `pc` makes, or NULL. */
static const raw_string *closure_name(scope *s, const raw_proto *p, int32_t pc) {
  unsigned reg = operand_a(p->code[pc]);
  const raw_string *local = local_born_at(s, p, pc + 1, reg);
  if (local || pc + 1 >= p->n_code) return local;
  uint32_t next = p->code[pc + 1];
  bool stores = opcode(next) == OP_SETFIELD || opcode(next) == OP_SETTABUP;
  bool constant_operand = (next >> 15) & 1; /* k: then C names a constant and no register */
  if (!stores || constant_operand || operand_c(next) != reg) return NULL;
  uint32_t key = operand_b(next);
  if (key >= (uint32_t)p->n_constants || !is_string_value(&p->constants[key])) return NULL;
  return (const raw_string *)p->constants[key].as.object;
}

/* The OP_CLOSURE of nested prototype `i`, not before `pc`; n_code when there is none. */
static int32_t find_closure(const raw_proto *p, int32_t pc, int32_t i) {
  while (pc < p->n_code &&
         (opcode(p->code[pc]) != OP_CLOSURE || operand_bx(p->code[pc]) != (uint32_t)i)) {
    pc++;
  }
  return pc;
}

static void walk_nested(lh_walk *walk, const raw_proto *p) {
  uint64_t own = (uintptr_t)p;
  scope s = {.next = 0, .n = 0};
  int32_t pc = 0; /* the closures are made in the order of their numbers */
  lh_out_uvarint(walk->out, (uint64_t)p->n_nested);
  for (int32_t i = 0; i < p->n_nested; i++) {
    const raw_string *name = NULL;
    if (p->nested[i]) {
      pc = find_closure(p, pc, i);
      if (pc < p->n_code) name = closure_name(&s, p, pc++);
    }
    lh_out_reference(walk->out, own, p->nested[i]);
    lh_out_reference(walk->out, own, name);
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
    if (k->type & RAW_COLLECTABLE) lh_out_reference(walk->out, (uintptr_t)p, k->as.object);
  }
}

void lh_walk_proto(lh_walk *walk, const raw_proto *p) {
  uint64_t own = (uintptr_t)p;
  lh_out *out = walk->out;
  if (!lh_walk_begin(walk, (const raw_object *)p, LH_REC_PROTO)) return;
  lh_out_reference(out, own, p->source);
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
  for (int32_t i = 0; i < p->n_upvalues; i++) lh_out_reference(out, own, p->upvalues[i].name);
  lh_out_uvarint(out, (uint64_t)p->n_locals);
  for (int32_t i = 0; i < p->n_locals; i++) lh_out_reference(out, own, p->locals[i].name);
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
