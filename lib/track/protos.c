/*
** protos.c - see stacks.h.
** The list to be searched is linked both ways: most prototypes leave it soon, and those of a chunk
** that could not be loaded leave it when they are freed.
*/
#include "stacks.h"

#include "instructions.h"

/* ==== Names ======================================================================== */

/* Follows only references that the collector follows, and checks all indexes. So the worst result
** in a patched Lua is a wrong name. */

typedef struct text {
  const lh_layout *layout;
  char *bytes;
  size_t n;
} text;

static void append_bytes(text *t, const char *bytes, size_t n) {
  size_t room = LH_NAME_BYTES - t->n;
  if (n > room) n = room;
  memcpy(t->bytes + t->n, bytes, n);
  t->n += n;
}

static void add_string(text *t, const raw_string *s) {
  if (s) append_bytes(t, raw_text(t->layout, s), raw_string_length(t->layout, s));
}

/* Reserved words are short strings, marked in `extra`. */
static bool is_identifier(const lh_layout *layout, const raw_string *s) {
  const char *name = raw_text(layout, s);
  size_t n = raw_string_length(layout, s);
  if (n == 0 || (s->type == RAW_SHORT_STRING && s->extra > 0)) return false;
  for (size_t i = 0; i < n; i++) {
    char c = name[i];
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!is_letter && (i == 0 || c < '0' || c > '9')) return false;
  }
  return true;
}

/* Adds "off", ".off" or, for a key that is no identifier, "[\"(\"]". */
static void add_field(text *t, const char *separator, const raw_string *key) {
  if (!key) return;
  if (is_identifier(t->layout, key)) {
    if (t->n > 0) append_bytes(t, separator, 1);
    add_string(t, key);
    return;
  }
  append_bytes(t, "[\"", 2);
  for (size_t i = 0; i < raw_string_length(t->layout, key) && t->n < LH_NAME_BYTES; i++) {
    char c = raw_text(t->layout, key)[i];
    if (c == '"' || c == '\\') append_bytes(t, "\\", 1);
    append_bytes(t, &c, 1);
  }
  append_bytes(t, "\"]", 2);
}

static bool is_method(const lh_layout *layout, const raw_proto *p) {
  return p->n_parameters > 0 && p->n_locals > 0 && lh_is_text(layout, p->locals[0].name, "self");
}

static size_t name_nested(const lh_nested *nested, char *out) {
  text t = {nested->layout, out, 0};
  if (!nested->name) return 0;
  add_string(&t, nested->table);
  add_field(&t, is_method(t.layout, nested->proto) ? ":" : ".", nested->name);
  return t.n;
}

/* The last instruction before `last` that sets the register; -1: none, or it depends on a jump. */
static int32_t find_setter(const raw_proto *p, int32_t last, unsigned reg) {
  int32_t found = -1, joined = 0; /* a jump may skip instructions before `joined` */
  for (int32_t pc = 0; pc < last; pc++) {
    uint32_t i = p->code[pc];
    if (raw_opcode(i) == RAW_OP_JMP) {
      int32_t to = pc + 1 + raw_jump(i);
      if (to <= last && to > joined) joined = to;
    } else if (lh_instruction_sets(i, reg)) {
      found = pc < joined ? -1 : pc;
    }
  }
  return found;
}

static const raw_string *local_at(const raw_proto *p, int32_t pc, unsigned reg) {
  for (int32_t i = 0; i < p->n_locals; i++) {
    const raw_local *l = &p->locals[i];
    if (!l->name || l->start_pc > pc) break;
    if (pc < l->end_pc && reg-- == 0) return l->name;
  }
  return NULL;
}

static const raw_string *register_name(const raw_proto *p, int32_t pc, unsigned reg) {
  enum { MOST_MOVES = 4 };
  for (int moves = 0; moves < MOST_MOVES; moves++) {
    const raw_string *local = local_at(p, pc, reg);
    if (local) return local;
    pc = find_setter(p, pc, reg);
    if (pc < 0) return NULL;
    uint32_t i = p->code[pc];
    switch (raw_opcode(i)) {
      case RAW_OP_MOVE: reg = raw_operand_b(i); break;
      case RAW_OP_GETUPVAL: return lh_upvalue_name(p, raw_operand_b(i));
      case RAW_OP_GETTABUP:
      case RAW_OP_GETFIELD: return lh_constant_string(p, raw_operand_c(i));
      case RAW_OP_SELF:
        return raw_self_has_constant(i) ? lh_constant_string(p, raw_operand_c(i)) : NULL;
      default: return NULL;
    }
  }
  return NULL;
}

size_t lh_name_called(const lh_layout *layout, const raw_proto *caller, const uint32_t *pc,
                      char *out) {
  text t = {layout, out, 0};
  if (pc < caller->code || pc >= caller->code + caller->n_code) return 0;
  uint32_t i = *pc;
  bool is_call = raw_opcode(i) == RAW_OP_CALL || raw_opcode(i) == RAW_OP_TAILCALL;
  if (is_call)
    add_field(&t, "", register_name(caller, (int32_t)(pc - caller->code), raw_operand_a(i)));
  return t.n;
}

static const raw_string *string_key(const raw_slot *slot) {
  bool is_string = slot->key_type == (RAW_SHORT_STRING | RAW_COLLECTABLE);
  return is_string && !raw_is_empty(slot->value_type) ? (const void *)slot->key.object : NULL;
}

static const raw_table *table_value(const raw_slot *slot) {
  bool is_table = slot->value_type == (RAW_TABLE | RAW_COLLECTABLE);
  return is_table ? (const void *)slot->value.object : NULL;
}

/* Of several names the first in the order of bytes stays. */
typedef struct search {
  const void *function;
  text best;
} search;

static bool is_before(const text *a, const text *b) {
  int order = memcmp(a->bytes, b->bytes, a->n < b->n ? a->n : b->n);
  return order < 0 || (order == 0 && a->n < b->n);
}

/* `holder`: NULL for _G, whose functions have no prefix. */
static void search_table(search *s, const raw_table *table, const raw_string *holder,
                         const char *separator) {
  char bytes[LH_NAME_BYTES];
  for (uint64_t i = 0; i < raw_hash_slots(table); i++) {
    const raw_string *key = string_key(&table->slots[i]);
    const raw_slot *slot = &table->slots[i];
    if (!key || raw_c_function(slot->value, slot->value_type) != s->function) continue;
    text t = {.layout = s->best.layout, .bytes = bytes};
    add_string(&t, holder);
    add_field(&t, separator, key);
    if (s->best.n == 0 || is_before(&t, &s->best)) {
      memcpy(s->best.bytes, t.bytes, t.n);
      s->best.n = t.n;
    }
  }
}

static void search_modules(search *s, const raw_table *registry) {
  const raw_table *loaded = lh_find_table(s->best.layout, registry, "_LOADED");
  for (uint64_t i = 0; loaded && i < raw_hash_slots(loaded); i++) {
    const raw_string *name = string_key(&loaded->slots[i]);
    const raw_table *module = table_value(&loaded->slots[i]);
    if (!name || !module) continue;
    search_table(s, module, lh_is_text(s->best.layout, name, "_G") ? NULL : name, ".");
  }
}

static void search_metatables(search *s, const raw_table *registry) {
  for (uint64_t i = 0; i < raw_hash_slots(registry); i++) {
    const raw_string *name = string_key(&registry->slots[i]);
    const raw_table *metatable = table_value(&registry->slots[i]);
    if (!name || !metatable || lh_is_text(s->best.layout, name, "_LOADED")) continue;
    const raw_table *methods = lh_find_table(s->best.layout, metatable, "__index");
    if (methods) search_table(s, methods, name, ":");
    search_table(s, metatable, name, ".");
  }
}

size_t lh_name_c_function(const lh_layout *layout, const char *global, const void *function,
                          char *out) {
  search s = {function, {layout, out, 0}};
  const raw_value *registry = &RAW_FIELD(global, RAW_GLOBAL_REGISTRY, raw_value);
  if (registry->type != (RAW_TABLE | RAW_COLLECTABLE)) return 0;
  search_modules(&s, (const void *)registry->as.object);
  if (s.best.n == 0) search_metatables(&s, (const void *)registry->as.object);
  return s.best.n;
}

void lh_protos_free(lh_protos *protos) {
  for (uint32_t i = 1; i <= protos->index.n_handed_out; i++) lh_free(protos->known[i].name);
  lh_free(protos->known);
  lh_index_free(&protos->index);
  *protos = (lh_protos){0};
}

static void link_to_search(lh_protos *protos, uint32_t number) {
  lh_known_proto *p = &protos->known[number];
  p->is_to_search = true;
  p->next = protos->first_to_search;
  p->previous = 0;
  if (p->next) protos->known[p->next].previous = number;
  protos->first_to_search = number;
}

static void unlink_searched(lh_protos *protos, uint32_t number) {
  lh_known_proto *p = &protos->known[number];
  if (p->next) protos->known[p->next].previous = p->previous;
  if (p->previous)
    protos->known[p->previous].next = p->next;
  else
    protos->first_to_search = p->next;
  p->is_to_search = false;
}

uint32_t lh_protos_add(lh_protos *protos, const raw_proto *proto) {
  uint32_t number = lh_protos_find(protos, proto);
  if (number) return number;
  number = lh_index_new(&protos->index, lh_index_hash((uintptr_t)proto, 0), &protos->known,
                        &protos->capacity, sizeof *protos->known);
  if (!number) return 0;
  protos->known[number] = (lh_known_proto){.proto = proto};
  link_to_search(protos, number);
  return number;
}

void lh_protos_remove(lh_protos *protos, uint32_t number) {
  lh_known_proto *p = &protos->known[number];
  lh_index_remove(&protos->index, lh_index_hash((uintptr_t)p->proto, 0), number);
  protos->has_lost |= p->is_to_search && p->proto->n_nested > 0;
  if (p->is_to_search) unlink_searched(protos, number);
  lh_free(p->name);
  *p = (lh_known_proto){0};
}

/* Complete: the code ends in a return, and the last function is there (they are made in order). */
static bool is_whole_proto(const raw_proto *p) {
  if (p->n_code <= 0 || !p->code) return false;
  unsigned last = raw_opcode(p->code[p->n_code - 1]);
  bool has_functions = p->n_nested == 0 || (p->nested && p->nested[p->n_nested - 1]);
  return last >= RAW_OP_RETURN && last <= RAW_OP_RETURN1 && has_functions;
}

static void note_name(lh_known_proto *p, const lh_nested *nested) {
  char name[LH_NAME_BYTES];
  size_t n = name_nested(nested, name);
  if (n == 0 || p->name) return;
  p->name = lh_alloc(n + 1, 1);
  if (!p->name) return;
  memcpy(p->name, name, n);
  p->name[n] = '\0';
}

/* True if an instruction behind jumps back, so that this one may run again. */
static bool is_in_loop(const raw_proto *p, int32_t pc) {
  for (int32_t at = pc; at < p->n_code; at++) {
    uint32_t i = p->code[at];
    int32_t to = at + 1;
    switch (raw_opcode(i)) {
      case RAW_OP_JMP: to += raw_jump(i); break;
      case RAW_OP_FORLOOP:
      case RAW_OP_TFORLOOP: to -= (int32_t)raw_operand_bx(i); break;
      default: continue;
    }
    if (to <= pc) return true;
  }
  return false;
}

/* `closure`: the position of the OP_CLOSURE. */
static void note_closures(lh_known_proto *p, const raw_proto *around, int32_t closure) {
  bool is_main = around->first_line == 0;
  if (!is_main || is_in_loop(around, closure))
    p->closures = LH_CLOSURES_SEVERAL;
  else if (p->closures == LH_CLOSURES_UNKNOWN)
    p->closures = LH_CLOSURES_ONE;
}

void lh_protos_count(lh_protos *protos, const raw_proto *proto) {
  uint32_t number = lh_protos_find(protos, proto);
  if (number == 0) return;
  lh_known_proto *p = &protos->known[number];
  p->closures = p->closures == LH_CLOSURES_UNKNOWN ? LH_CLOSURES_ONE : LH_CLOSURES_SEVERAL;
}

bool lh_protos_is_one(const lh_protos *protos, const lh_known_proto *known) {
  return known->closures == LH_CLOSURES_ONE ||
         (known->closures == LH_CLOSURES_UNKNOWN && !protos->has_lost);
}

static void search_one(lh_protos *protos, const lh_layout *layout, const raw_proto *proto) {
  lh_nested nested;
  for (lh_nested_begin(&nested, layout, proto); lh_nested_next(&nested);) {
    uint32_t inside = nested.proto ? lh_protos_find(protos, nested.proto) : 0;
    if (!inside) continue;
    note_name(&protos->known[inside], &nested);
    if (!nested.name) note_closures(&protos->known[inside], proto, nested.next_pc - 1);
  }
}

/* Skips dead prototypes: objects that they refer to may be freed already. */
void lh_protos_search(lh_protos *protos, const lh_layout *layout, const char *global) {
  uint8_t dead_white = raw_dead_white(layout, global);
  for (uint32_t i = protos->first_to_search, next; i; i = next) {
    const raw_proto *proto = protos->known[i].proto;
    next = protos->known[i].next;
    bool is_dead = raw_is_dead((const raw_object *)proto, dead_white);
    protos->has_lost |= is_dead && proto->n_nested > 0;
    if (is_dead || !is_whole_proto(proto)) continue;
    unlink_searched(protos, i);
    search_one(protos, layout, proto);
  }
}
