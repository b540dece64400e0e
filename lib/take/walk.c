/*
** walk.c - the pass over the lists, shallow sizes, and the records of most objects (walk.h).
**
** Time for 2.2 million objects (215 MB): two thirds are cache misses on objects, slots and
** upvalues, the rest is storing varints. The kernel's copy into the page cache comes on top.
*/
#include "walk.h"

static uint64_t thread_bytes(const lh_layout *layout, const void *main_thread,
                             const raw_object *thread) {
  uint64_t bytes = thread == main_thread ? layout->main_thread_bytes : layout->thread_bytes;
  bytes += raw_stack_slots(layout, thread) * sizeof(raw_value);
  if (!raw_stack(layout, thread)) return bytes;
  /* Lua's own count of calls has 16 bits and wraps in deep recursion, so the list is counted. Each
  ** call had a slot of a stack of 1,000,000: a list of more than twice as many is broken. */
  uint64_t most = bytes + (sizeof(raw_call) << 21);
  for (const raw_call *c = raw_base_call(layout, thread)->next; c && bytes < most; c = c->next)
    bytes += sizeof(raw_call);
  return bytes;
}

static uint64_t proto_bytes(const raw_proto *p) {
  uint64_t code = sizeof(uint32_t) * (uint64_t)p->n_code + (uint64_t)p->n_line_deltas +
                  sizeof(raw_line) * (uint64_t)p->n_lines;
  return sizeof(raw_proto) + (p->flags & RAW_PROTO_FIXED ? 0 : code) +
         sizeof(raw_value) * (uint64_t)p->n_constants + sizeof(void *) * (uint64_t)p->n_nested +
         sizeof(raw_upvalue_name) * (uint64_t)p->n_upvalues +
         sizeof(raw_local) * (uint64_t)p->n_locals;
}

uint64_t lh_walk_shallow_bytes(const lh_layout *layout, const void *main_thread,
                               const raw_object *object) {
  switch (object->type) {
    case RAW_SHORT_STRING:
    case RAW_LONG_STRING: return raw_string_bytes(layout, (const raw_string *)object);
    case RAW_TABLE: {
      const raw_table *t = (const raw_table *)object;
      return sizeof(raw_table) + raw_array_bytes(raw_array_slots(layout, t)) +
             raw_slots_bytes(raw_hash_slots(t));
    }
    case RAW_LUA_CLOSURE:
      return offsetof(raw_lua_closure, upvalues) +
             sizeof(void *) * ((const raw_lua_closure *)object)->n_upvalues;
    case RAW_C_CLOSURE:
      return offsetof(raw_c_closure, upvalues) +
             sizeof(raw_value) * ((const raw_c_closure *)object)->n_upvalues;
    case RAW_USERDATA: {
      const raw_userdata *u = (const raw_userdata *)object;
      return raw_content_offset(layout, u) + u->length;
    }
    case RAW_UPVALUE: return sizeof(raw_upvalue);
    case RAW_PROTO: return proto_bytes((const raw_proto *)object);
    case RAW_THREAD: return thread_bytes(layout, main_thread, object);
    default: return 0;
  }
}

static uint64_t current_id(const lh_walk *walk) {
  uint64_t id = 0;
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FIXEDGC; list++) id += walk->n_objects[list];
  return id;
}

/* Of a dead object's flags only that of an external string is kept. */
static unsigned flags_of_dead(unsigned type_and_flags) {
  unsigned type = type_and_flags & 0x0F;
  return type | LH_FLAG_DEAD | (type == LH_REC_STRING ? type_and_flags & LH_FLAG_EXTERNAL : 0);
}

bool lh_walk_begin(lh_walk *walk, const raw_object *object, unsigned type_and_flags) {
  uint64_t address = (uintptr_t)object;
  uint64_t bytes = lh_walk_shallow_bytes(walk->layout, walk->main_thread, object);
  bool dead = raw_is_dead(object, walk->dead_white);
  const lh_walk_more *more = walk->more;
  if (walk->layout->shares) lh_shared_note(walk, object, dead);
  if (walk->shared.is_elsewhere) bytes = 0;
  uint8_t *p = lh_out_room(walk->out);
  if (__builtin_expect(walk->out->awaits_record, 0))
    lh_out_note_record(walk->out, current_id(walk), walk->previous);
  *p++ = (uint8_t)(dead ? flags_of_dead(type_and_flags) : type_and_flags);
  p = lh_put_uvarint(p, lh_zigzag((int64_t)(address >> 3) - (int64_t)(walk->previous >> 3)));
  p = lh_put_uvarint(p, bytes);
  if (more && more->find_stack)
    p = lh_put_uvarint(p, walk->shared.is_elsewhere ? 0 : more->find_stack(walk, object, bytes));
  lh_out_took(walk->out, p);
  walk->previous = address;
  walk->object_bytes += bytes;
  return !dead;
}

void lh_walk_value(lh_walk *walk, uint64_t own, const raw_value *value) {
  uint8_t *tag = lh_out_room(walk->out);
  uint8_t *p = tag + 1;
  *tag = (uint8_t)lh_put_value(&p, own, value->as, value->type);
  lh_out_took(walk->out, p);
}

static void walk_string(lh_walk *walk, const raw_string *s) {
  const lh_layout *layout = walk->layout;
  uint64_t length = raw_string_length(layout, s);
  bool whole = length <= walk->string_bytes;
  uint64_t kept = whole ? length : walk->string_bytes;
  unsigned head = whole ? LH_REC_STRING : LH_REC_STRING | LH_FLAG_TRUNCATED;
  uint64_t external_bytes =
      walk->shared.is_elsewhere ? 0 : raw_external_bytes(layout, (const raw_object *)s);
  if (raw_kind_of_string(s) != RAW_STRING_REGULAR)
    head |= external_bytes > 0 ? LH_FLAG_EXTERNAL : LH_FLAG_FIXED;
  bool lives = lh_walk_begin(walk, (const raw_object *)s, head);
  if (!lives && external_bytes == 0) return;
  if (LH_LUA == 505 || layout->shares) lh_out_uvarint(walk->out, length);
  walk->external_bytes += external_bytes;
  if (!lives) return;
  if (!whole) {
    uint8_t *p = lh_put_uvarint(lh_out_room(walk->out), kept);
    lh_store64(p, lh_hash(raw_text(layout, s), length, walk->hash_seed));
    lh_out_took(walk->out, p + 8);
  }
  lh_out_bytes(walk->out, raw_text(layout, s), kept);
}

static bool may_read_text(lh_walk *walk, const raw_string *s) {
  const lh_walk_more *more = walk->more;
  walk->ended |= more && more->may_read_text && !more->may_read_text(walk, s);
  return !walk->ended;
}

/* A string of another state may be the key: then its text decides. */
static bool is_key(const lh_layout *layout, lh_walk *walk, const raw_slot *slot,
                   const raw_string *key) {
  const raw_string *own = (const raw_string *)slot->key.object;
  if (slot->key_type != (RAW_SHORT_STRING | RAW_COLLECTABLE)) return false;
  if (own == key || !layout->shares || (walk && !may_read_text(walk, own))) return own == key;
  uint64_t n = raw_string_length(layout, own);
  return own->hash == key->hash && n == raw_string_length(layout, key) &&
         memcmp(raw_text(layout, own), raw_text(layout, key), n) == 0;
}

static const raw_slot *find_string_key(const lh_layout *layout, lh_walk *walk, const raw_table *t,
                                       const raw_string *key) {
  uint64_t slots = raw_hash_slots(t);
  uint64_t i = slots ? key->hash & (slots - 1) : 0;
  for (uint64_t steps = 0; steps < slots; steps++) {
    const raw_slot *slot = &t->slots[i];
    if (is_key(layout, walk, slot, key)) return raw_is_empty(slot->value_type) ? NULL : slot;
    if (slot->next == 0) return NULL;
    i = (i + (uint64_t)(int64_t)slot->next) & (slots - 1);
  }
  return NULL;
}

const raw_slot *lh_find_string_key(const lh_layout *layout, const raw_table *t,
                                   const raw_string *key) {
  return find_string_key(layout, NULL, t, key);
}

static bool is_on_a_list(const char *global, const raw_object *object) {
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FIXEDGC; list++) {
    for (const raw_object *o = raw_list(global, list); o; o = o->next)
      if (o == object) return true;
  }
  return false;
}

/* The walk reads one object through another: the text of a __mode. Tables on the lists keep their
** strings, even weak tables, except in 5.4.0: there the lists are searched for each text, once. */
static bool may_look_at(lh_walk *walk, const raw_string *mode) {
  if (!walk->layout->may_dangle) return true;
  const raw_string **known = &walk->modes[((uintptr_t)mode >> 5) % LH_MODES_KNOWN];
  if (*known != mode && is_on_a_list(walk->global, (const raw_object *)mode)) *known = mode;
  return *known == mode;
}

static unsigned mode_of(lh_walk *walk, const raw_table *t) {
  const raw_slot *slot = find_string_key(walk->layout, walk, t, walk->mode_name);
  unsigned flags = 0;
  if (!slot || (slot->value_type & ~0x10) != (RAW_SHORT_STRING | RAW_COLLECTABLE)) return 0;
  const raw_string *mode = (const raw_string *)slot->value.object;
  if (!may_look_at(walk, mode) || !may_read_text(walk, mode)) return 0;
  uint64_t length = raw_string_length(walk->layout, mode);
  const char *text = raw_text(walk->layout, mode);
  for (uint64_t i = 0; i < length && text[i]; i++) {
    if (text[i] == 'k') flags |= LH_FLAG_WEAK_KEYS;
    if (text[i] == 'v') flags |= LH_FLAG_WEAK_VALUES;
  }
  return flags;
}

static void walk_array(lh_walk *walk, uint64_t own, const raw_array *array, uint64_t slots) {
  lh_out *out = walk->out;
  while (slots > 0 && raw_is_empty(raw_array_type(array, slots - 1))) slots--;
  lh_out_uvarint(out, slots);
  for (uint64_t i = 0; i < slots;) {
    uint64_t empty = 0;
    while (raw_is_empty(raw_array_type(array, i + empty)))
      empty++; /* ends: the last one is not empty */
    uint8_t *tag = lh_out_room(out);
    uint8_t *p = tag + 1;
    if (empty) {
      *tag = LH_VAL_SKIP;
      p = lh_put_uvarint(p, empty);
      i += empty;
    } else {
      *tag = (uint8_t)lh_put_value(&p, own, raw_array_payload(array, i), raw_array_type(array, i));
      i++;
    }
    lh_out_took(out, p);
  }
}

/* The key's index among the frequent keys, plus 1; 0: not frequent. A key becomes frequent, for
** good, when it was met OFTEN times with no other key of its place in between. */
static inline unsigned frequent_key(lh_walk *walk, const raw_object *key) {
  enum { OFTEN = 8 };
  lh_met_key *met = &walk->met[((uintptr_t)key >> 5) % LH_KEYS_MET];
  if (met->index > 0) return met->key == key ? met->index : 0;
  if (met->key != key) *met = (lh_met_key){.key = key};
  if (++met->times == OFTEN && walk->n_keys < LH_MOST_KEYS) {
    walk->keys[walk->n_keys++] = key;
    met->index = walk->n_keys;
  }
  return met->index;
}

static inline unsigned put_key(lh_walk *walk, uint8_t **p, uint64_t own, const raw_slot *slot) {
  if (slot->key_type == (RAW_SHORT_STRING | RAW_COLLECTABLE)) {
    unsigned index = frequent_key(walk, slot->key.object);
    if (index > 0) {
      *(*p)++ = (uint8_t)(index - 1);
      return LH_VAL_KEY;
    }
  }
  return lh_put_value(p, own, slot->key, slot->key_type);
}

static void walk_slots(lh_walk *walk, uint64_t own, const raw_slot *slots, uint64_t n) {
  lh_out *out = walk->out;
  uint64_t used = 0;
  for (uint64_t i = 0; i < n; i++) used += !raw_is_empty(slots[i].value_type);
  lh_out_uvarint(out, used);
  for (uint64_t i = 0; i < n; i++) {
    const raw_slot *s = &slots[i];
    if (raw_is_empty(s->value_type)) continue; /* its key may be dead */
    uint8_t *tags = lh_out_room(out);
    uint8_t *p = tags + 1;
    unsigned key_tag = put_key(walk, &p, own, s);
    unsigned value_tag = lh_put_value(&p, own, s->value, s->value_type);
    *tags = (uint8_t)(key_tag << 4 | value_tag);
    lh_out_took(out, p);
  }
}

static void walk_table(lh_walk *walk, const raw_table *t) {
  uint64_t own = (uintptr_t)t;
  unsigned head = LH_REC_TABLE;
  bool dead = raw_is_dead((const raw_object *)t, walk->dead_white);
  if (!dead && t->metatable) head |= LH_FLAG_METATABLE;
  if (!dead) head |= mode_of(walk, t);
  if (walk->ended || !lh_walk_begin(walk, (const raw_object *)t, head)) return;
  uint64_t array_slots = raw_array_slots(walk->layout, t);
  uint64_t hash_slots = raw_hash_slots(t);
  uint8_t *p = lh_put_uvarint(lh_out_room(walk->out), array_slots);
  *p++ = (uint8_t)(hash_slots ? 1 + t->log2_slots : 0);
  if (t->metatable) p = lh_put_reference(p, own, t->metatable);
  lh_out_took(walk->out, p);
  walk_array(walk, own, t->array, array_slots);
  walk_slots(walk, own, t->slots, hash_slots);
}

static void walk_lua_closure(lh_walk *walk, const raw_lua_closure *c) {
  uint64_t own = (uintptr_t)c;
  if (!lh_walk_begin(walk, (const raw_object *)c, LH_REC_LUA_CLOSURE)) return;
  lh_out_uvarint(walk->out, c->n_upvalues);
  lh_out_reference(walk->out, own, c->proto);
  for (unsigned i = 0; i < c->n_upvalues; i++) lh_out_reference(walk->out, own, c->upvalues[i]);
}

static void walk_c_closure(lh_walk *walk, const raw_c_closure *c) {
  if (!lh_walk_begin(walk, (const raw_object *)c, LH_REC_C_CLOSURE)) return;
  lh_out_uvarint(walk->out, (uintptr_t)c->function);
  lh_out_uvarint(walk->out, c->n_upvalues);
  for (unsigned i = 0; i < c->n_upvalues; i++) lh_walk_value(walk, (uintptr_t)c, &c->upvalues[i]);
}

static void walk_upvalue(lh_walk *walk, const raw_upvalue *u) {
  unsigned head = raw_is_open(u) ? LH_REC_UPVALUE | LH_FLAG_OPEN : LH_REC_UPVALUE;
  if (lh_walk_begin(walk, (const raw_object *)u, head)) lh_walk_value(walk, (uintptr_t)u, u->value);
}

const lh_own_content *lh_walk_own_content(const lh_layout *layout, const raw_userdata *u) {
  const lh_own_content *content = (const void *)((const char *)u + raw_content_offset(layout, u));
  bool ours = u->length >= sizeof *content && content->magic == LH_OWN_MAGIC &&
              content->kind <= LH_MARK_VOID && u->length - sizeof *content >= content->name_length;
  return ours ? content : NULL;
}

static void walk_mark(lh_walk *walk, const lh_own_content *content) {
  lh_out *out = walk->out;
  lh_out_u8(out, content->kind);
  if (content->kind == LH_MARK_STATE) return;
  uint8_t *p = lh_out_room(out);
  lh_store64(p, content->state_id);
  p = lh_put_uvarint(p + 8, content->serial);
  lh_store64(p, content->time_ns);
  lh_out_took(out, p + 8);
  lh_out_uvarint(out, content->name_length);
  lh_out_bytes(out, content + 1, content->name_length); /* the name */
}

static void walk_userdata(lh_walk *walk, const raw_userdata *u) {
  uint64_t own = (uintptr_t)u;
  bool dead = raw_is_dead((const raw_object *)u, walk->dead_white);
  const lh_own_content *content = dead ? NULL : lh_walk_own_content(walk->layout, u);
  unsigned head = content ? LH_REC_MARK : LH_REC_USERDATA;
  if (u->metatable) head |= LH_FLAG_METATABLE;
  if (!lh_walk_begin(walk, (const raw_object *)u, head)) return;
  lh_out_uvarint(walk->out, u->length);
  if (u->metatable) lh_out_reference(walk->out, own, u->metatable);
  lh_out_uvarint(walk->out, u->n_user_values);
  const raw_value *values = raw_user_values(walk->layout, u);
  for (unsigned i = 0; i < u->n_user_values; i++) lh_walk_value(walk, own, &values[i]);
  if (content) walk_mark(walk, content);
}

static void walk_object(lh_walk *walk, const raw_object *object) {
  switch (object->type) {
    case RAW_SHORT_STRING:
    case RAW_LONG_STRING: walk_string(walk, (const raw_string *)object); break;
    case RAW_TABLE: walk_table(walk, (const raw_table *)object); break;
    case RAW_LUA_CLOSURE: walk_lua_closure(walk, (const raw_lua_closure *)object); break;
    case RAW_C_CLOSURE: walk_c_closure(walk, (const raw_c_closure *)object); break;
    case RAW_UPVALUE: walk_upvalue(walk, (const raw_upvalue *)object); break;
    case RAW_PROTO: lh_walk_proto(walk, (const raw_proto *)object); break;
    case RAW_USERDATA: walk_userdata(walk, (const raw_userdata *)object); break;
    case RAW_THREAD: lh_walk_thread(walk, object); break;
    default: walk->ended = true; /* there is no other type */
  }
}

static bool is_accepted(const lh_walk *walk, const raw_object *o) {
  const lh_walk_more *more = walk->more;
  if (!more || !more->accept) return true;
  return more->accept(walk, o, lh_walk_shallow_bytes(walk->layout, walk->main_thread, o));
}

/* False: the walk has ended. */
static bool walk_next(lh_walk *walk, lh_list list, const raw_object *o) {
  if ((uintptr_t)o % _Alignof(raw_object) != 0) walk->ended = true;
  if (walk->ended) return false;
  if (!is_accepted(walk, o)) {
    walk->ended = true;
    return false;
  }
  walk->n_objects[list]++;
  walk_object(walk, o);
  return true;
}

static void walk_list(lh_walk *walk, lh_list list, lh_list from) {
  const raw_object *o = raw_list(walk->global, from);
  while (o && walk_next(walk, list, o)) o = o->next;
}

/* Objects of other states are written behind fixedgc. */
static void walk_elsewhere(lh_walk *walk) {
  uint32_t at = 0;
  for (const raw_object *o; (o = lh_shared_next(walk, &at));)
    if (walk->out->refused || !walk_next(walk, LH_LIST_FIXEDGC, o)) return;
}

void lh_walk_lists(lh_walk *walk) {
  walk->dead_white = raw_dead_white(walk->layout, walk->global);
  walk->previous = 0;
  walk->object_bytes = walk->external_bytes = 0;
  walk->n_keys = 0;
  walk->ended = false;
  memset(walk->n_objects, 0, sizeof walk->n_objects);
  memset(walk->met, 0, sizeof walk->met);
  lh_shared_begin(walk);
  walk->mode_name =
      RAW_FIELD(walk->global, walk->layout->metamethod_names + RAW_TM_MODE * sizeof(void *),
                const raw_string *);
  if (!may_read_text(walk, walk->mode_name)) return;
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FIXEDGC; list++) {
    /* A closing state's finobj has only later finalizers: our mark, before 5.4.4. */
    if (!walk->closes || list != LH_LIST_TOBEFNZ) walk_list(walk, list, list);
    if (walk->closes && list == LH_LIST_FINOBJ) walk_list(walk, list, LH_LIST_TOBEFNZ);
    if (walk->out->refused || walk->ended) return;
  }
  if (walk->layout->shares) walk_elsewhere(walk);
}

const raw_table *lh_find_table(const lh_layout *layout, const raw_table *table, const char *key) {
  for (uint64_t i = 0; i < raw_hash_slots(table); i++) {
    const raw_slot *s = &table->slots[i];
    if (s->value_type == (RAW_TABLE | RAW_COLLECTABLE) &&
        s->key_type == (RAW_SHORT_STRING | RAW_COLLECTABLE) &&
        lh_is_text(layout, (const raw_string *)s->key.object, key))
      return (const raw_table *)s->value.object;
  }
  return NULL;
}

/* The globals: registry[2], in the array part unless the program emptied the registry. */
static const void *globals(const lh_layout *layout, const raw_table *registry) {
  if (raw_array_slots(layout, registry) < 2) return NULL;
  bool is_table = raw_array_type(registry->array, 1) == (RAW_TABLE | RAW_COLLECTABLE);
  return is_table ? raw_array_payload(registry->array, 1).object : NULL;
}

size_t lh_walk_roots(const lh_walk *walk, lh_walk_root *roots) {
  const raw_value *registry = &RAW_FIELD(walk->global, RAW_GLOBAL_REGISTRY, raw_value);
  const raw_table *registry_table = (const raw_table *)registry->as.object;
  const lh_layout *layout = walk->layout;
  size_t n = 0;
#define ROOT(k, i, a) \
  (roots[n++] = (lh_walk_root){.kind = (k), .index = (uint8_t)(i), .address = (a)})
  ROOT(LH_ROOT_REGISTRY, 0, registry_table);
  ROOT(LH_ROOT_GLOBALS, 0, globals(layout, registry_table));
  ROOT(LH_ROOT_LOADED, 0, lh_find_table(layout, registry_table, "_LOADED"));
  ROOT(LH_ROOT_MAIN_THREAD, 0, walk->main_thread);
  ROOT(LH_ROOT_RUNNING_THREAD, 0, walk->thread);
  for (unsigned i = 0; i < RAW_BASIC_TYPES; i++) {
    size_t at = layout->type_metatables + i * sizeof(void *);
    ROOT(LH_ROOT_TYPE_METATABLE, i, RAW_FIELD(walk->global, at, const void *));
  }
  for (unsigned i = 0; i < RAW_METAMETHODS; i++) {
    size_t at = layout->metamethod_names + i * sizeof(void *);
    ROOT(LH_ROOT_METAMETHOD_NAME, i, RAW_FIELD(walk->global, at, const void *));
  }
  ROOT(LH_ROOT_MEMORY_MESSAGE, 0, RAW_FIELD(walk->global, layout->memory_message, const void *));
#undef ROOT
  size_t kept = 0;
  for (size_t i = 0; i < n; i++)
    if (roots[i].address) roots[kept++] = roots[i];
  return kept;
}
