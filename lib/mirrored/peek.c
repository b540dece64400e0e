/*
** peek.c - reads a few facts about a state without walking its heap (structure.h).
**
** Each fact costs a few hundred small reads at most, about 0.1 ms in another process. Tables are
** searched slot by slot, up to 65,536 slots, because the hash of a key may be unknown. Lists and
** stacks are followed for a fixed number of steps. Memory may be freed or moved at any moment, so a
** block counts only if its type byte is right.
*/
#include "mirrored.h"

static uint64_t address_of(const void *pointer) {
  return (uintptr_t)pointer;
}

static uint64_t field(const lh_peek *p, uint64_t block, size_t offset) {
  uint64_t value;
  return lh_peek_at(p, block + offset, &value, sizeof value) ? value : 0;
}

/* ==== Values ======================================================================== */

uint64_t lh_peek_text(const lh_peek *p, const lh_layout *layout, uint64_t string,
                      uint64_t *length) {
  raw_string s;
  uint64_t text = string + raw_text_offset(layout);
  *length = 0;
  if (!lh_peek_at(p, string, &s, sizeof s)) return 0;
  if (s.type == RAW_SHORT_STRING) {
    *length = raw_string_length(layout, &s);
    return text;
  }
  if (s.type != RAW_LONG_STRING || !lh_peek_at(p, string + layout->string_body, length, 8))
    return 0;
  if (LH_LUA == 505 && !lh_peek_at(p, text, &text, sizeof text)) return 0;
  return text;
}

static bool read_text(const lh_peek *p, const lh_layout *layout, uint64_t address, char *out,
                      size_t size) {
  uint64_t length, at = lh_peek_text(p, layout, address, &length);
  uint64_t n = length < size - 1 ? length : size - 1;
  if (at == 0 || !lh_peek_at(p, at, out, n)) return false;
  out[n] = '\0';
  return true;
}

static bool is_text(const lh_peek *p, const lh_layout *layout, uint64_t address, const char *text) {
  enum { LONGEST = 32 };
  char own[LONGEST];
  return read_text(p, layout, address, own, sizeof own) && strcmp(own, text) == 0;
}

/* The source of a Lua function. A prototype that is still being built has none (NULL). */
static bool read_source(const lh_peek *p, const lh_layout *layout, const raw_value *value,
                        char *out, size_t size) {
  raw_lua_closure closure;
  raw_proto proto;
  return value->type == (RAW_LUA_CLOSURE | RAW_COLLECTABLE) &&
         lh_peek_at(p, address_of(value->as.object), &closure, sizeof closure) &&
         closure.type == RAW_LUA_CLOSURE &&
         lh_peek_at(p, address_of(closure.proto), &proto, sizeof proto) &&
         proto.type == RAW_PROTO && read_text(p, layout, address_of(proto.source), out, size);
}

/* The source of the first of n values that came from a file, else of the first Lua function. */
static bool read_first_source(const lh_peek *p, const lh_layout *layout, const raw_value *values,
                              size_t n, char *out, size_t size) {
  for (int any = 0; any < 2; any++) {
    for (size_t i = 0; i < n; i++)
      if (read_source(p, layout, &values[i], out, size) && (any || *out == '@')) return true;
  }
  return false;
}

/* ==== Tables ======================================================================== */

static bool read_table(const lh_peek *p, const raw_value *value, raw_table *table) {
  return value->type == (RAW_TABLE | RAW_COLLECTABLE) &&
         lh_peek_at(p, address_of(value->as.object), table, sizeof *table) &&
         table->type == RAW_TABLE;
}

/* Iterates over the used slots of a table, in chunks. */
enum { SLOTS_AT_ONCE = 64, MOST_SLOTS = 1 << 16 };
typedef struct slots {
  const lh_peek *p;
  uint64_t at;
  size_t left, i, n; /* left: slots to read; i, n: position and count in `read` */
  raw_slot read[SLOTS_AT_ONCE];
} slots;

static void slots_begin(slots *it, const lh_peek *p, const raw_table *table) {
  it->p = p;
  it->at = address_of(table->slots);
  it->left = table->log2_slots < 32 ? raw_hash_slots(table) : 0;
  if (it->left > MOST_SLOTS) it->left = 0;
  it->i = it->n = 0;
}

static const raw_slot *slots_next(slots *it) {
  for (;;) {
    while (it->i < it->n) {
      const raw_slot *slot = &it->read[it->i++];
      if (!raw_is_empty(slot->value_type)) return slot;
    }
    it->n = it->left < SLOTS_AT_ONCE ? it->left : SLOTS_AT_ONCE;
    if (it->n == 0 || !lh_peek_at(it->p, it->at, it->read, it->n * sizeof(raw_slot))) return NULL;
    it->at += it->n * sizeof(raw_slot);
    it->left -= it->n;
    it->i = 0;
  }
}

static raw_value value_of(const raw_slot *slot) {
  return (raw_value){.as = slot->value, .type = slot->value_type};
}

/* The value under the string `key`, or if key is NULL under 0, which is never in an array part. */
static bool find_key(const lh_peek *p, const lh_layout *layout, const raw_table *table,
                     const char *key, raw_value *value) {
  uint8_t type = key ? RAW_SHORT_STRING | RAW_COLLECTABLE : RAW_INTEGER;
  slots it;
  slots_begin(&it, p, table);
  for (const raw_slot *s; (s = slots_next(&it));) {
    if (s->key_type != type) continue;
    if (key ? !is_text(p, layout, address_of(s->key.object), key) : s->key.integer != 0) continue;
    *value = value_of(s);
    return true;
  }
  return false;
}

static size_t read_array(const lh_peek *p, const lh_layout *layout, const raw_table *table,
                         raw_value *values, size_t most) {
  enum { MOST = 256 };
  uint64_t n = raw_array_slots(layout, table), at = address_of(table->array);
  if (n > most) n = most;
#if LH_LUA == 504
  return n > 0 && lh_peek_at(p, at, values, n * sizeof *values) ? n : 0;
#else
  raw_payload payloads[MOST];
  uint8_t types[MOST];
  if (n > MOST) n = MOST;
  if (!lh_peek_at(p, at - raw_array_head(n), payloads, raw_array_head(n)) ||
      !lh_peek_at(p, at + offsetof(raw_array, types), types, n))
    return 0;
  for (uint64_t i = 0; i < n; i++) values[i] = (raw_value){payloads[n - 1 - i], types[i]};
  return n;
#endif
}

static bool read_registry(const lh_peek *p, const lh_seen_state *seen, raw_table *registry) {
  raw_value value;
  return lh_peek_at(p, seen->global + RAW_GLOBAL_REGISTRY, &value, sizeof value) &&
         read_table(p, &value, registry);
}

/* ==== The running script ============================================================ */

static bool read_globals(const lh_peek *p, const lh_seen_state *seen, raw_table *globals) {
  enum { GLOBALS = 2 }; /* LUA_RIDX_GLOBALS */
  raw_table registry;
  raw_value values[GLOBALS];
  return read_registry(p, seen, &registry) &&
         read_array(p, seen->layout, &registry, values, GLOBALS) == GLOBALS &&
         read_table(p, &values[GLOBALS - 1], globals);
}

bool lh_peek_argument(const lh_peek *p, const lh_seen_state *seen, char *out, size_t size) {
  raw_table table;
  raw_value value;
  bool found = read_globals(p, seen, &table);
  if (seen->layout->shares)
    found = found && find_key(p, seen->layout, &table, "SERVICE_NAME", &value);
  else
    found = found && find_key(p, seen->layout, &table, "arg", &value) &&
            read_table(p, &value, &table) && find_key(p, seen->layout, &table, NULL, &value);
  return found && (value.type & RAW_BASIC_TYPE) == RAW_SHORT_STRING &&
         read_text(p, seen->layout, address_of(value.as.object), out, size);
}

enum { MOST_VALUES = 256 };

/* The main thread's called functions, outermost first. Calls behind the running one are unused. */
static size_t read_running(const lh_peek *p, const lh_seen_state *seen, raw_value *values) {
  uint64_t running = field(p, seen->main_thread, RAW_THREAD_CALL);
  uint64_t at = seen->main_thread + seen->layout->base_call;
  raw_call call;
  size_t n = 0;
  while (n < MOST_VALUES && lh_peek_at(p, at, &call, sizeof call) &&
         lh_peek_at(p, address_of(call.function), &values[n], sizeof *values)) {
    n++;
    if (at == running) break;
    at = address_of(call.next);
  }
  return n;
}

static size_t read_stack(const lh_peek *p, const lh_seen_state *seen, raw_value *values) {
  uint64_t stack = field(p, seen->main_thread, seen->layout->stack);
  uint64_t top = field(p, seen->main_thread, RAW_THREAD_TOP);
  uint64_t n = top > stack ? (top - stack) / sizeof *values : 0;
  if (n > MOST_VALUES) n = MOST_VALUES;
  return lh_peek_at(p, stack, values, n * sizeof *values) ? n : 0;
}

/* The registry's values under 1 to MOST_VALUES. Some of these keys are in the hash part. */
static size_t read_registered(const lh_peek *p, const lh_seen_state *seen, raw_value *values) {
  raw_table registry;
  slots it;
  if (!read_registry(p, seen, &registry)) return 0;
  memset(values, 0, MOST_VALUES * sizeof *values);
  (void)read_array(p, seen->layout, &registry, values, MOST_VALUES);
  slots_begin(&it, p, &registry);
  for (const raw_slot *s; (s = slots_next(&it));) {
    bool is_number = s->key_type == RAW_INTEGER && s->key.integer >= 1;
    if (is_number && s->key.integer <= MOST_VALUES) values[s->key.integer - 1] = value_of(s);
  }
  return MOST_VALUES;
}

static size_t read_global_functions(const lh_peek *p, const lh_seen_state *seen,
                                    raw_value *values) {
  raw_table globals;
  slots it;
  size_t n = 0;
  if (!read_globals(p, seen, &globals)) return 0;
  slots_begin(&it, p, &globals);
  for (const raw_slot *s; n < MOST_VALUES && (s = slots_next(&it));)
    if (s->value_type == (RAW_LUA_CLOSURE | RAW_COLLECTABLE)) values[n++] = value_of(s);
  return n;
}

static bool read_newest_source(const lh_peek *p, const lh_seen_state *seen, char *out,
                               size_t size) {
  enum { MOST_OBJECTS = 1 << 14 };
  uint64_t at = field(p, seen->global, RAW_GLOBAL_ALLGC);
  raw_object object;
  for (int i = 0; i < MOST_OBJECTS && lh_peek_at(p, at, &object, sizeof object); i++) {
    raw_proto proto;
    if (object.type == RAW_PROTO && lh_peek_at(p, at, &proto, sizeof proto) &&
        read_text(p, seen->layout, address_of(proto.source), out, size))
      return true;
    at = address_of(object.next);
  }
  return false;
}

bool lh_peek_source(const lh_peek *p, const lh_seen_state *seen, lh_peek_where at, char *out,
                    size_t size) {
  static size_t (*const readers[])(const lh_peek *, const lh_seen_state *, raw_value *) = {
      [LH_PEEK_RUNNING] = read_running,
      [LH_PEEK_ON_STACK] = read_stack,
      [LH_PEEK_REGISTERED] = read_registered,
      [LH_PEEK_GLOBAL] = read_global_functions};
  raw_value values[MOST_VALUES];
  if (at == LH_PEEK_NEWEST) return read_newest_source(p, seen, out, size);
  return read_first_source(p, seen->layout, values, readers[at](p, seen, values), out, size);
}

/* ==== Loaded libraries ============================================================== */

static bool read_content(const lh_peek *p, uint64_t at, const raw_slot *slot, lh_own_content *own) {
  return lh_peek_at(p, at, own, sizeof *own) && own->magic == LH_OWN_MAGIC &&
         own->kind == LH_MARK_STATE && own->tag == slot->key.pointer;
}

/* 5.5.1 has 8 bytes more in front of user values. */
static bool read_own(const lh_peek *p, const lh_seen_state *seen, const raw_slot *slot,
                     lh_own_content *own) {
  raw_userdata u;
  uint64_t at = address_of(slot->value.object);
  if (slot->key_type != RAW_LIGHT_USERDATA ||
      slot->value_type != (RAW_USERDATA | RAW_COLLECTABLE) || !lh_peek_at(p, at, &u, sizeof u) ||
      u.length < sizeof *own)
    return false;
  at += raw_content_offset(seen->layout, &u);
  return read_content(p, at, slot, own) ||
         (LH_LUA == 505 && read_content(p, at + sizeof(void *), slot, own));
}

/* The registry holds several userdata of ours; one of them has the id. */
bool lh_peek_luaheap(const lh_peek *p, const lh_seen_state *seen, uint64_t *state_id) {
  raw_table registry;
  lh_own_content own;
  slots it;
  bool found = false;
  *state_id = 0;
  if (!read_registry(p, seen, &registry)) return false;
  slots_begin(&it, p, &registry);
  for (const raw_slot *s; (s = slots_next(&it));) {
    if (!read_own(p, seen, s, &own)) continue;
    found = true;
    if (own.state_id) *state_id = own.state_id;
  }
  return found;
}

static uint64_t shared_slot(const raw_table *table) {
  bool has_own = table->log2_slots > 0 || raw_hash_slots(table) > 0;
  return has_own ? 0 : address_of(table->slots);
}

uint64_t lh_peek_library(const lh_peek *p, const lh_seen_state *seen) {
  enum { MOST_OBJECTS = 1 << 12 };
  raw_table table;
  slots it;
  if (!read_registry(p, seen, &table)) return 0;
  slots_begin(&it, p, &table);
  for (const raw_slot *s; (s = slots_next(&it));) {
    raw_value value = value_of(s);
    if (read_table(p, &value, &table) && shared_slot(&table)) return shared_slot(&table);
  }
  uint64_t at = field(p, seen->global, RAW_GLOBAL_ALLGC);
  raw_object object;
  for (int i = 0; i < MOST_OBJECTS && lh_peek_at(p, at, &object, sizeof object); i++) {
    if (object.type == RAW_TABLE && lh_peek_at(p, at, &table, sizeof table) && shared_slot(&table))
      return shared_slot(&table);
    at = address_of(object.next);
  }
  return 0;
}

bool lh_peek_numbers(const lh_peek *p, const lh_seen_state *seen) {
  static const double pi = 3.141592653589793;
  raw_table table;
  raw_value value;
  if (!read_registry(p, seen, &table) || !find_key(p, seen->layout, &table, "_LOADED", &value) ||
      !read_table(p, &value, &table) || !find_key(p, seen->layout, &table, "math", &value) ||
      !read_table(p, &value, &table))
    return true;
  if (find_key(p, seen->layout, &table, "pi", &value) && value.type == RAW_FLOAT &&
      value.as.number != pi)
    return false;
  return !find_key(p, seen->layout, &table, "maxinteger", &value) || value.type != RAW_INTEGER ||
         value.as.integer == INT64_MAX;
}
