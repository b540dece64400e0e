/*
** consistency.c - checks that an object belongs to a consistent heap.
**
** A process may be stopped in the middle of a change. Most changes show in the sum of all bytes:
** write_state.c compares it with the collector's count, and Lua allocates before it links. One
** change shows nowhere else: to insert a key, Lua moves a colliding key away in four stores, and
** between them the chain does not reach the moved key. So each key must be reached from its main
** position along Lua's chain: strings by their hash, pointers and numbers by a remainder. Integers
** are masked up to 5.4.3 and divided from 5.4.4 on; all tables of a heap agree. The other checks
** keep the walk inside the object and finite.
**
** These checks take a third of the walk's instructions.
*/
#include <math.h>

#include "mirrored.h"

void lh_consistency_begin(lh_consistency *consistency, const lh_mirrored_state *state) {
  *consistency = (lh_consistency){.layout = &state->layout,
                                  .most_bytes = lh_gc_bytes(state->global),
                                  .dead_white = raw_dead_white(&state->layout, state->global),
                                  .masks_integers = true,
                                  .divides_integers = true};
  bool generational = raw_gc_byte(&state->layout, state->global, RAW_GLOBAL_GC_KIND) == 1;
  consistency->spares_keys = state->layout.may_dangle && generational;
}

/* A hash table of fixed size: some hundreds of functions, each found many times. */
static void add_function(lh_function_set *set, uint64_t function) {
  size_t i = (size_t)((function >> 2) * UINT64_C(0x9E3779B97F4A7C15) >> 32);
  for (;; i++) {
    uint64_t *slot = &set->slots[i % LH_FUNCTION_SLOTS];
    if (*slot == function) return;
    if (*slot != 0) continue;
    if (function == 0 || set->n == LH_MOST_C_FUNCTIONS) return;
    *slot = function;
    set->n++;
    return;
  }
}

static int by_address(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

void lh_function_sort(lh_function_set *set) {
  size_t n = 0;
  for (size_t i = 0; i < LH_FUNCTION_SLOTS; i++) {
    if (set->slots[i] != 0) set->slots[n++] = set->slots[i];
  }
  qsort(set->slots, n, sizeof set->slots[0], by_address);
}

enum { PLAIN = 1, FUNCTION, OBJECT };

/* By type byte. For nil the variant does not matter. */
static const uint8_t kinds[0x80] = {[RAW_NIL] = PLAIN,
                                    [0x10] = PLAIN, /* an empty slot */
                                    [0x20] = PLAIN, /* an absent key */
                                    [RAW_FALSE] = PLAIN,
                                    [RAW_TRUE] = PLAIN,
                                    [RAW_INTEGER] = PLAIN,
                                    [RAW_FLOAT] = PLAIN,
                                    [RAW_LIGHT_USERDATA] = PLAIN,
                                    [RAW_LIGHT_C_FUNCTION] = FUNCTION,
                                    [RAW_SHORT_STRING | RAW_COLLECTABLE] = OBJECT,
                                    [RAW_LONG_STRING | RAW_COLLECTABLE] = OBJECT,
                                    [RAW_TABLE | RAW_COLLECTABLE] = OBJECT,
                                    [RAW_LUA_CLOSURE | RAW_COLLECTABLE] = OBJECT,
                                    [RAW_C_CLOSURE | RAW_COLLECTABLE] = OBJECT,
                                    [RAW_USERDATA | RAW_COLLECTABLE] = OBJECT,
                                    [RAW_THREAD | RAW_COLLECTABLE] = OBJECT};

static bool is_object(const void *object) {
  return object && ((uintptr_t)object & 7) == 0;
}

static inline bool is_value(lh_consistency *consistency, raw_payload payload, uint8_t type) {
  switch (type < sizeof kinds ? kinds[type] : 0) {
    case PLAIN: return true;
    case FUNCTION: add_function(&consistency->functions, (uint64_t)payload.integer); return true;
    case OBJECT: return is_object(payload.object);
    default: return false;
  }
}

static bool are_values(lh_consistency *consistency, const raw_value *values, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    if (!is_value(consistency, values[i].as, values[i].type)) return false;
  }
  return true;
}

/* ==== Tables ======================================================================== */

static uint64_t masked(uint64_t hash, uint64_t slots) {
  return hash & (slots - 1);
}

static uint64_t divided(uint64_t hash, uint64_t slots) {
  return hash % ((slots - 1) | 1);
}

static uint32_t hash_float(double number) {
  int exponent;
  double fraction = frexp(number, &exponent) * -(double)INT_MIN;
  if (!(fraction >= (double)INT64_MIN && fraction < -(double)INT64_MIN)) return 0;
  uint32_t hash = (uint32_t)exponent + (uint32_t)(int64_t)fraction;
  return hash <= INT_MAX ? hash : ~hash;
}

/* True after 256 steps, too: to follow long chains to their ends would take quadratic time. */
static bool reaches(const raw_table *t, uint64_t slots, uint64_t from, uint64_t to) {
  enum { LONG = 256 };
  uint64_t at = from;
  for (unsigned steps = 0; at != to; steps++) {
    int32_t next = t->slots[at].next;
    if (steps == LONG) return true;
    at += (uint64_t)(int64_t)next;
    if (next == 0 || at >= slots) return false;
  }
  return true;
}

static bool reaches_integer(lh_consistency *consistency, const raw_table *t, uint64_t slots,
                            uint64_t at) {
  uint64_t key = (uint64_t)t->slots[at].key.integer;
  if (consistency->divides_integers && !reaches(t, slots, divided(key, slots), at)) {
    consistency->divides_integers = false;
  }
  if (consistency->masks_integers && !reaches(t, slots, masked(key, slots), at)) {
    consistency->masks_integers = false;
  }
  return consistency->divides_integers || consistency->masks_integers;
}

static bool is_reachable_key(lh_consistency *consistency, const raw_table *t, uint64_t slots,
                             uint64_t at) {
  const raw_slot *slot = &t->slots[at];
  uint64_t from;
  if (raw_is_empty(slot->key_type) || !is_value(consistency, slot->key, slot->key_type))
    return false;
  switch (slot->key_type) {
    case RAW_SHORT_STRING | RAW_COLLECTABLE:
    case RAW_LONG_STRING | RAW_COLLECTABLE:
      if (consistency->spares_keys) return true;
      from = masked(((const raw_string *)slot->key.object)->hash, slots);
      break;
    case RAW_INTEGER: return reaches_integer(consistency, t, slots, at);
    case RAW_FLOAT: from = divided(hash_float(slot->key.number), slots); break;
    case RAW_FALSE: from = 0; break;
    case RAW_TRUE: from = masked(1, slots); break;
    default: from = divided((uint32_t)slot->key.integer, slots); break;
  }
  return reaches(t, slots, from, at);
}

static bool is_sound_table(lh_consistency *consistency, const raw_table *t) {
  uint64_t slots = raw_hash_slots(t);
  if (t->metatable && !is_object(t->metatable)) return false;
  for (uint64_t i = 0, n = raw_array_slots(consistency->layout, t); i < n; i++) {
    if (!is_value(consistency, raw_array_payload(t->array, i), raw_array_type(t->array, i)))
      return false;
  }
  for (uint64_t i = 0; i < slots; i++) {
    const raw_slot *slot = &t->slots[i];
    if (raw_is_empty(slot->value_type)) continue; /* its key may be dead */
    if (!is_value(consistency, slot->value, slot->value_type) ||
        !is_reachable_key(consistency, t, slots, i))
      return false;
  }
  return true;
}

/* The list is doubly linked: no cycle. The current call and all before have slots in the stack. */
static bool are_calls(const lh_layout *layout, const raw_object *thread) {
  const raw_call *base = raw_base_call(layout, thread);
  const raw_call *current = RAW_FIELD(thread, RAW_THREAD_CALL, const raw_call *);
  const raw_value *stack = raw_stack(layout, thread);
  const raw_value *end = stack + raw_stack_slots(layout, thread);
  bool is_used = true, found = false;
  if (base->previous) return false;
  for (const raw_call *c = base, *before = NULL; c; before = c, c = c->next) {
    if (c->previous != before) return false;
    if (is_used && (c->function < stack || c->function >= end)) return false;
    if (c == current) found = true, is_used = false;
  }
  return found;
}

/* The list must be sorted by stack position, the highest first. */
static bool are_open_upvalues(const lh_layout *layout, const raw_object *thread) {
  const raw_value *stack = raw_stack(layout, thread);
  const raw_value *above = stack + raw_stack_slots(layout, thread);
  const raw_upvalue *u = RAW_FIELD(thread, layout->open_upvalues, const raw_upvalue *);
  for (; u; u = u->u.next_open) {
    if (u->type != RAW_UPVALUE || u->value < stack || u->value >= above) return false;
    above = u->value;
  }
  return true;
}

static bool is_sound_thread(lh_consistency *consistency, const raw_object *thread) {
  const lh_layout *layout = consistency->layout;
  const raw_value *stack = raw_stack(layout, thread);
  const raw_value *top = RAW_FIELD(thread, RAW_THREAD_TOP, const raw_value *);
  if (!stack) return true; /* the thread is just being created */
  if (top < stack || top > stack + raw_stack_slots(layout, thread)) return false;
  if (!are_calls(layout, thread) || !are_open_upvalues(layout, thread)) return false;
  lh_raise_top(layout, thread);
  top = RAW_FIELD(thread, RAW_THREAD_TOP, const raw_value *);
  return are_values(consistency, stack, (uint64_t)(top - stack));
}

static bool is_sound_closure(lh_consistency *consistency, const raw_lua_closure *c) {
  bool is_made = c->proto != NULL;
  for (unsigned i = 0; i < c->n_upvalues && is_made; i++) is_made = c->upvalues[i] != NULL;
  consistency->is_loading |= !is_made;
  return true;
}

bool lh_is_consistent(lh_consistency *consistency, const raw_object *object) {
  if (raw_is_dead(object, consistency->dead_white)) return true;
  switch (object->type) {
    case RAW_TABLE: return is_sound_table(consistency, (const raw_table *)object);
    case RAW_THREAD: return is_sound_thread(consistency, object);
    case RAW_LUA_CLOSURE: return is_sound_closure(consistency, (const raw_lua_closure *)object);
    case RAW_C_CLOSURE: {
      const raw_c_closure *c = (const raw_c_closure *)object;
      add_function(&consistency->functions, (uintptr_t)c->function);
      return are_values(consistency, c->upvalues, c->n_upvalues);
    }
    case RAW_UPVALUE: {
      const raw_upvalue *u = (const raw_upvalue *)object;
      return is_value(consistency, u->value->as, u->value->type);
    }
    case RAW_USERDATA: {
      const raw_userdata *u = (const raw_userdata *)object;
      return are_values(consistency, raw_user_values(consistency->layout, u), u->n_user_values);
    }
    default: return true;
  }
}

bool lh_fit_table(uint64_t bytes) {
#if LH_LUA == 504
  return bytes % sizeof(raw_value) == 0 || bytes == sizeof(raw_slot);
#else
  const uint64_t slot = raw_array_bytes(2) - raw_array_bytes(1), first = raw_array_bytes(1);
  for (uint64_t n = 0; raw_slots_bytes(n) <= bytes; n = n == 0 ? 1 : 2 * n) {
    uint64_t rest = bytes - raw_slots_bytes(n);
    if (rest == 0 || (rest >= first && (rest - first) % slot == 0)) return true;
  }
  return false;
#endif
}
