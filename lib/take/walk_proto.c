/*
** walk_proto.c - the record of a prototype, line numbers, and names of nested functions.
**
** A closure does not know its name. The enclosing function shows it right behind the OP_CLOSURE
** that makes the closure (`local function f`, `function M.f`, `{f = function`): a local variable
** begins there, or the next instruction stores the closure under a constant key. Each nested
** prototype has one OP_CLOSURE, whose Bx is its number. The table's name is a local variable or an
** upvalue, or the key by which the instruction before fetched it. In a patched Lua a name may be
** wrong; indices are checked.
**
** A chunk that is being loaded has half-built prototypes, whose arrays may hold nulls.
*/
#include "raw_code.h"
#include "walk.h"

/* Moves the scope on to `pc`. Locals are listed in the order in which they begin, and scopes nest,
** so all positions of a function, in code order, take one pass. */
static void move_scope(lh_scope *s, const raw_proto *p, int32_t pc) {
  for (; s->next < p->n_locals; s->next++) {
    const raw_local *l = &p->locals[s->next];
    if (!l->name || l->start_pc > pc) break;
    while (s->n > 0 && s->alive[s->n - 1]->end_pc <= l->start_pc) s->n--;
    if (s->n < LH_REGISTERS) s->alive[s->n++] = l;
  }
  while (s->n > 0 && s->alive[s->n - 1]->end_pc <= pc) s->n--;
}

static const raw_string *local_name(const lh_scope *s, unsigned reg) {
  return reg < s->n ? s->alive[reg]->name : NULL;
}

static const raw_string *local_born_at(const lh_scope *s, int32_t pc, unsigned reg) {
  return reg < s->n && s->alive[reg]->start_pc == pc ? s->alive[reg]->name : NULL;
}

const raw_string *lh_constant_string(const raw_proto *p, uint32_t index) {
  if (index >= (uint32_t)p->n_constants) return NULL;
  const raw_value *k = &p->constants[index];
  bool is_string = (k->type & ~0x10) == (RAW_SHORT_STRING | RAW_COLLECTABLE);
  return is_string ? (const raw_string *)k->as.object : NULL;
}

const raw_string *lh_upvalue_name(const raw_proto *p, uint32_t index) {
  return index < (uint32_t)p->n_upvalues ? p->upvalues[index].name : NULL;
}

bool lh_is_text(const lh_layout *layout, const raw_string *s, const char *text) {
  size_t n = strlen(text);
  return s && raw_string_length(layout, s) == n && memcmp(raw_text(layout, s), text, n) == 0;
}

static const raw_string *loaded_name(const lh_scope *s, const raw_proto *p, uint32_t i,
                                     unsigned reg) {
  if (raw_operand_a(i) != reg) return NULL;
  switch (raw_opcode(i)) {
    case RAW_OP_MOVE: return local_name(s, raw_operand_b(i));
    case RAW_OP_GETUPVAL: return lh_upvalue_name(p, raw_operand_b(i));
    case RAW_OP_GETTABUP:
    case RAW_OP_GETFIELD: return lh_constant_string(p, raw_operand_c(i));
    default: return NULL;
  }
}

/* The name of the table in which instruction `at` stores the closure that the one before made. */
static const raw_string *table_name(const lh_nested *it, int32_t at) {
  const lh_scope *s = &it->scope;
  const raw_proto *p = it->around;
  uint32_t i = p->code[at];
  unsigned table = raw_operand_a(i);
  if (raw_opcode(i) == RAW_OP_SETTABUP) {
    const raw_string *name = lh_upvalue_name(p, table);
    return lh_is_text(it->layout, name, "_ENV") ? NULL : name;
  }
  const raw_string *local = local_name(s, table);
  return local || at < 2 ? local : loaded_name(s, p, p->code[at - 2], table);
}

static void find_name(lh_nested *it, int32_t pc) {
  const raw_proto *p = it->around;
  unsigned reg = raw_operand_a(p->code[pc]);
  move_scope(&it->scope, p, pc + 1);
  it->name = local_born_at(&it->scope, pc + 1, reg);
  int32_t store = pc + 1;
  /* "global function f" first makes sure that the variable is nil. */
  if (pc + 3 < p->n_code && raw_opcode(p->code[pc + 2]) == RAW_OP_ERRNNIL) store = pc + 3;
  if (it->name || store >= p->n_code) return;
  uint32_t next = p->code[store];
  bool stores = raw_opcode(next) == RAW_OP_SETFIELD || raw_opcode(next) == RAW_OP_SETTABUP;
  if (!stores || raw_operand_k(next) || raw_operand_c(next) != reg) return;
  it->name = lh_constant_string(p, raw_operand_b(next));
  if (it->name) it->table = table_name(it, store);
}

/* The OP_CLOSURE of nested prototype `i` at or behind `pc`; n_code if there is none. */
static int32_t find_closure(const raw_proto *p, int32_t pc, int32_t i) {
  while (pc < p->n_code &&
         (raw_opcode(p->code[pc]) != RAW_OP_CLOSURE || raw_operand_bx(p->code[pc]) != (uint32_t)i))
    pc++;
  return pc;
}

void lh_nested_begin(lh_nested *it, const lh_layout *layout, const raw_proto *around) {
  it->layout = layout;
  it->around = around;
  it->next = it->next_pc = 0;
  it->scope.n = 0;
  it->scope.next = 0;
}

bool lh_nested_next(lh_nested *it) {
  const raw_proto *p = it->around;
  if (it->next >= p->n_nested) return false;
  it->proto = p->nested[it->next];
  it->name = it->table = NULL;
  if (it->proto) {
    int32_t pc = find_closure(p, it->next_pc, it->next);
    it->next_pc = pc;
    if (pc < p->n_code) find_name(it, it->next_pc++);
  }
  it->next++;
  return true;
}

static void walk_nested(lh_walk *walk, const raw_proto *p) {
  lh_nested it;
  lh_out_uvarint(walk->out, (uint64_t)p->n_nested);
  for (lh_nested_begin(&it, walk->layout, p); lh_nested_next(&it);) {
    lh_out_reference(walk->out, (uintptr_t)p, it.proto);
    lh_out_reference(walk->out, (uintptr_t)p, it.name);
  }
}

static void walk_constants(lh_walk *walk, const raw_proto *p) {
  uint64_t n = 0;
  for (int32_t i = 0; i < p->n_constants; i++) n += (p->constants[i].type & RAW_COLLECTABLE) != 0;
  lh_out_uvarint(walk->out, n);
  for (int32_t i = 0; i < p->n_constants; i++) {
    const raw_value *k = &p->constants[i];
    if (k->type & RAW_COLLECTABLE) lh_out_reference(walk->out, (uintptr_t)p, k->as.object);
  }
}

void lh_walk_proto(lh_walk *walk, const raw_proto *p) {
  uint64_t own = (uintptr_t)p;
  lh_out *out = walk->out;
  bool is_fixed = (p->flags & RAW_PROTO_FIXED) != 0; /* then code and lines are no bytes of Lua's */
  if (!lh_walk_begin(walk, (const raw_object *)p, LH_REC_PROTO)) return;
  lh_out_reference(out, own, p->source);
  lh_out_uvarint(out, (uint32_t)p->first_line);
  lh_out_uvarint(out, (uint32_t)p->last_line);
  lh_out_u8(out, p->n_parameters);
  lh_out_u8(out, (p->flags & RAW_PROTO_VARARG) != 0);
  lh_out_uvarint(out, is_fixed ? 0 : (uint64_t)p->n_code);
  lh_out_uvarint(out, (uint64_t)p->n_upvalues);
  lh_out_uvarint(out, (uint64_t)p->n_constants);
  uint64_t lines = (uint64_t)p->n_line_deltas + sizeof(raw_line) * (uint64_t)p->n_lines;
  lh_out_uvarint(out, (is_fixed ? 0 : lines) + sizeof(raw_local) * (uint64_t)p->n_locals);
  walk_constants(walk, p);
  walk_nested(walk, p);
  lh_out_uvarint(out, (uint64_t)p->n_upvalues);
  for (int32_t i = 0; i < p->n_upvalues; i++) lh_out_reference(out, own, p->upvalues[i].name);
  lh_out_uvarint(out, (uint64_t)p->n_locals);
  for (int32_t i = 0; i < p->n_locals; i++) lh_out_reference(out, own, p->locals[i].name);
}

/* Each instruction has its difference to the line before. `lines` has absolute lines, at intervals
** and where a difference does not fit: start from the last one at or before pc. */
uint32_t lh_walk_line(const raw_proto *p, int64_t pc) {
  int64_t line = p->first_line, from = -1;
  if (pc < 0 || pc >= p->n_line_deltas) return 0;
  for (int32_t i = 0; i < p->n_lines && p->lines[i].pc <= pc; i++) {
    from = p->lines[i].pc;
    line = p->lines[i].line;
  }
  for (int64_t i = from + 1; i <= pc; i++)
    if (p->line_deltas[i] != RAW_LINE_ABSOLUTE) line += p->line_deltas[i];
  return line > 0 ? (uint32_t)line : 0;
}
