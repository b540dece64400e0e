/*
** walk_proto.c - the record of a prototype, and lines (walk.h). The names of the functions inside
** it are from walk_names.c.
*/
#include "walk.h"

static void walk_nested(lh_walk *walk, const raw_proto *p) {
  lh_nested it;
  lh_out_uvarint(walk->out, (uint64_t)p->n_nested);
  for (lh_nested_begin(&it, p); lh_nested_next(&it);) {
    lh_out_reference(walk->out, (uintptr_t)p, it.proto);
    lh_out_reference(walk->out, (uintptr_t)p, it.name);
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
