/* thread_set.c - an open hash table of threads, by address (thread_set.h). */
#include "thread_set.h"

#include "state.h"

struct lh_thread_slots {
  size_t mask;   /* slots - 1, a power of two less one */
  size_t n_used; /* slots that are not NULL */
  size_t n_living;
  _Atomic(lua_State *) slots[];
};

static const char grave_marker = 0;
#define GRAVE ((lua_State *)(uintptr_t)&grave_marker)

static size_t first_slot(const lh_thread_slots *slots, const void *thread) {
  uint64_t hash = ((uintptr_t)thread >> 4) * UINT64_C(0x9E3779B97F4A7C15);
  return (size_t)(hash >> 32) & slots->mask;
}

static lua_State *thread_at(const lh_thread_slots *slots, size_t slot) {
  return atomic_load_explicit(&slots->slots[slot], memory_order_relaxed);
}

static void set_thread_at(lh_thread_slots *slots, size_t slot, lua_State *thread) {
  atomic_store_explicit(&slots->slots[slot], thread, memory_order_relaxed);
}

static lh_thread_slots *current_slots(const lh_thread_set *set) {
  return atomic_load_explicit(&set->slots, memory_order_acquire);
}

static size_t slot_of(const lh_thread_slots *slots, const void *thread) {
  size_t slot = first_slot(slots, thread);
  while (thread_at(slots, slot) && thread_at(slots, slot) != thread)
    slot = (slot + 1) & slots->mask;
  return slot;
}

static lh_thread_slots *new_slots(size_t n) {
  lh_thread_slots *slots = lh_alloc_zeroed(1, sizeof *slots + n * sizeof slots->slots[0]);
  if (slots) slots->mask = n - 1;
  return slots;
}

/* The table must have a free slot. */
static void insert(lh_thread_slots *slots, lua_State *thread) {
  set_thread_at(slots, slot_of(slots, thread), thread);
  slots->n_used++;
  slots->n_living++;
}

static bool enlarge(lh_thread_set *set) {
  lh_thread_slots *old = current_slots(set);
  size_t n = 64;
  while (n < 4 * old->n_living) n *= 2;
  lh_thread_slots *slots = new_slots(n);
  if (!slots) return false;
  for (size_t i = 0; i <= old->mask; i++) {
    lua_State *thread = thread_at(old, i);
    if (thread && thread != GRAVE) insert(slots, thread);
  }
  atomic_store_explicit(&set->slots, slots, memory_order_release);
  lh_free(set->older);
  set->older = old;
  return true;
}

bool lh_thread_set_init(lh_thread_set *set) {
  lh_thread_slots *slots = new_slots(64);
  *set = (lh_thread_set){.lowest = UINTPTR_MAX};
  atomic_store_explicit(&set->slots, slots, memory_order_release);
  return slots != NULL;
}

void lh_thread_set_free(lh_thread_set *set) {
  lh_free(atomic_exchange(&set->slots, NULL));
  lh_free(set->older);
  set->older = NULL;
}

bool lh_thread_set_add(lh_thread_set *set, lua_State *thread) {
  lh_thread_slots *slots = current_slots(set);
  bool is_full = slots && 4 * (slots->n_used + 1) > 3 * (slots->mask + 1);
  if (!slots || (is_full && !enlarge(set))) return false;
  insert(current_slots(set), thread);
  if ((uintptr_t)thread < set->lowest) set->lowest = (uintptr_t)thread;
  if ((uintptr_t)thread > set->highest) set->highest = (uintptr_t)thread;
  return true;
}

bool lh_thread_set_add_all(lh_thread_set *set, const char *global) {
  const raw_object *o = raw_list(global, LH_LIST_ALLGC);
  bool has_room = true;
  for (; o && has_room; o = o->next)
    if (o->type == RAW_THREAD) has_room = lh_thread_set_add(set, (lua_State *)(uintptr_t)o);
  return has_room;
}

bool lh_thread_set_renew(lh_thread_set *set, const char *global) {
  lh_thread_set_free(set);
  return lh_thread_set_init(set) && lh_thread_set_add_all(set, global);
}

bool lh_thread_set_remove(lh_thread_set *set, const void *thread) {
  lh_thread_slots *slots = current_slots(set);
  size_t slot = slots ? slot_of(slots, thread) : 0;
  if (!slots || !thread_at(slots, slot)) return false;
  bool is_last = !thread_at(slots, (slot + 1) & slots->mask); /* of its chain: needs no grave */
  set_thread_at(slots, slot, is_last ? NULL : GRAVE);
  slots->n_used -= is_last;
  slots->n_living--;
  return true;
}

bool lh_thread_set_has(const lh_thread_set *set, const void *thread) {
  const lh_thread_slots *slots = current_slots(set);
  return slots && thread_at(slots, slot_of(slots, thread)) != NULL;
}

lua_State *lh_thread_set_next(const lh_thread_set *set, size_t *slot) {
  const lh_thread_slots *slots = current_slots(set);
  while (slots && *slot <= slots->mask) {
    lua_State *thread = thread_at(slots, (*slot)++);
    if (thread && thread != GRAVE) return thread;
  }
  return NULL;
}

size_t lh_thread_set_slots(const lh_thread_set *set) {
  const lh_thread_slots *slots = current_slots(set);
  return slots ? slots->mask + 1 : 0;
}
