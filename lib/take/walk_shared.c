/*
** walk_shared.c - objects of other states to which the objects of this state refer.
**
** In skynet's Lua each service has a state, and all states share the prototypes of a file, their
** constants and names, and tables of `skynet.sharetable`. A shared object is on the lists of one
** state only, is marked RAW_SHARED and is never freed while others refer to it. The walk notes each
** shared object that it meets: on a list, or as a target. Behind the lists it writes the targets
** that were on no list, and what these refer to, as records of 0 bytes. So functions have names and
** tables have keys, and the sum is that of the collector.
**
** Cost, in skynet's Lua alone: the header of each target is read, and 24 to 48 bytes for each
** shared object. They are pages from the kernel: the walk may run in a child that must not call
** malloc (background.c).
*/
#include "walk.h"

enum { SLOTS_EACH = 2 };

/* The slot of the object in the hash table: the one that has it, or a free one. */
static uint32_t *slot_of(const lh_shared *s, const raw_object *object) {
  uint64_t hash = ((uintptr_t)object >> 3) * UINT64_C(0x9E3779B97F4A7C15);
  for (size_t i = (size_t)(hash >> 32);; i++) {
    uint32_t *slot = &s->slots[i & (SLOTS_EACH * s->capacity - 1)];
    if (*slot == 0 || s->met[*slot - 1].object == object) return slot;
  }
}

static size_t bytes_for(size_t capacity) {
  return capacity * (sizeof(lh_shared_object) + SLOTS_EACH * sizeof(uint32_t));
}

static bool grow(lh_shared *s) {
  enum { FIRST = 1024 };
  lh_shared old = *s;
  size_t capacity = old.capacity ? 2 * old.capacity : FIRST;
  lh_shared_object *met = lh_alloc_pages(bytes_for(capacity));
  if (!met) return false;
  if (old.n > 0) memcpy(met, old.met, old.n * sizeof *met);
  s->met = met;
  s->capacity = capacity;
  s->slots = (uint32_t *)(void *)(met + capacity);
  for (uint32_t i = 0; i < s->n; i++) *slot_of(s, met[i].object) = i + 1;
  lh_free_pages(old.met, bytes_for(old.capacity));
  return true;
}

/* NULL: no memory. The result holds until the next call. */
static lh_shared_object *meet(lh_shared *s, const raw_object *object) {
  if (s->n == s->capacity && !grow(s)) return NULL;
  uint32_t *slot = slot_of(s, object);
  if (*slot > 0) return &s->met[*slot - 1];
  s->met[s->n] = (lh_shared_object){.object = object};
  *slot = ++s->n;
  return &s->met[s->n - 1];
}

static void refer(lh_walk *walk, const void *target) {
  const lh_walk_more *more = walk->more;
  if (!target || (more && more->may_read && !more->may_read(walk, target))) return;
  if (!raw_is_shared(target)) return;
  if (!meet(&walk->shared, target)) walk->ended = true;
}

static void refer_value(lh_walk *walk, raw_payload payload, uint8_t type) {
  if (type & RAW_COLLECTABLE) refer(walk, payload.object);
}

static void refer_values(lh_walk *walk, const raw_value *values, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) refer_value(walk, values[i].as, values[i].type);
}

static void refer_table(lh_walk *walk, const raw_table *t) {
  uint64_t n_array = raw_array_slots(walk->layout, t), n_hash = raw_hash_slots(t);
  refer(walk, t->metatable);
  for (uint64_t i = 0; i < n_array; i++)
    refer_value(walk, raw_array_payload(t->array, i), raw_array_type(t->array, i));
  for (uint64_t i = 0; i < n_hash; i++) {
    const raw_slot *slot = &t->slots[i];
    if (raw_is_empty(slot->value_type)) continue; /* its key may be dead */
    refer_value(walk, slot->key, slot->key_type);
    refer_value(walk, slot->value, slot->value_type);
  }
}

static void refer_proto(lh_walk *walk, const raw_proto *p) {
  refer(walk, p->source);
  refer_values(walk, p->constants, (uint64_t)p->n_constants);
  for (int32_t i = 0; i < p->n_nested; i++) refer(walk, p->nested[i]);
  for (int32_t i = 0; i < p->n_upvalues; i++) refer(walk, p->upvalues[i].name);
  for (int32_t i = 0; i < p->n_locals; i++) refer(walk, p->locals[i].name);
}

static void refer_thread(lh_walk *walk, const raw_object *thread) {
  const raw_value *stack = raw_stack(walk->layout, thread);
  const raw_value *top = RAW_FIELD(thread, RAW_THREAD_TOP, const raw_value *);
  if (stack) refer_values(walk, stack, (uint64_t)(top - stack));
}

static void refer_userdata(lh_walk *walk, const raw_userdata *u) {
  refer(walk, u->metatable);
  refer_values(walk, raw_user_values(walk->layout, u), u->n_user_values);
}

static void refer_targets(lh_walk *walk, const raw_object *o) {
  const raw_c_closure *c = (const raw_c_closure *)o;
  const raw_upvalue *u = (const raw_upvalue *)o;
  switch (o->type) {
    case RAW_TABLE: refer_table(walk, (const raw_table *)o); break;
    case RAW_LUA_CLOSURE: refer(walk, ((const raw_lua_closure *)o)->proto); break;
    case RAW_C_CLOSURE: refer_values(walk, c->upvalues, c->n_upvalues); break;
    case RAW_UPVALUE: refer_value(walk, u->value->as, u->value->type); break;
    case RAW_PROTO: refer_proto(walk, (const raw_proto *)o); break;
    case RAW_THREAD: refer_thread(walk, o); break;
    case RAW_USERDATA: refer_userdata(walk, (const raw_userdata *)o); break;
    default: break;
  }
}

void lh_shared_begin(lh_walk *walk) {
  lh_shared *s = &walk->shared;
  if (s->slots) memset(s->slots, 0, SLOTS_EACH * s->capacity * sizeof *s->slots);
  s->n = 0;
  s->is_elsewhere = false;
}

void lh_shared_note(lh_walk *walk, const raw_object *object, bool is_dead) {
  if (!walk->shared.is_elsewhere && raw_is_shared(object)) {
    lh_shared_object *own = meet(&walk->shared, object);
    if (own)
      own->is_on_list = true;
    else
      walk->ended = true;
  }
  if (!is_dead) refer_targets(walk, object);
}

const raw_object *lh_shared_next(lh_walk *walk, uint32_t *at) {
  lh_shared *s = &walk->shared;
  s->is_elsewhere = true;
  while (*at < s->n && s->met[*at].is_on_list) ++*at;
  if (*at == s->n) return NULL;
  return s->met[(*at)++].object;
}

void lh_shared_free(lh_shared *s) {
  lh_free_pages(s->met, bytes_for(s->capacity));
  *s = (lh_shared){0};
}
