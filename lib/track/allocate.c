/* allocate.c - the long paths that all allocation functions share (allocate.h). */
#include "allocate.h"

#include <sched.h>

#include "profile.h"

static double weight_of(const lh_recorder *r, size_t bytes) {
  return r->sample_bytes ? lh_sample_weight(bytes, r->sample_bytes) : 1;
}

static void count_weighted(lh_tally *tally, unsigned type, size_t bytes, double weight) {
  const double one = (double)(1u << LH_TALLY_SHIFT);
  if (type != LH_LIFE_PART) tally->objects += (uint64_t)(weight * one);
  tally->bytes += (uint64_t)(weight * (double)bytes + 0.5);
}

static void begin_distance(lh_recorder *r) {
  int64_t now = (int64_t)lh_clock_bytes(r);
  r->left_bytes = lh_sample_distance(&r->random, r->sample_bytes);
  r->clock_base = now + r->left_bytes;
}

/* With the option `exact`, each exact_bytes: takes away the collector's credit. Lua then makes a
** step at the next place where it looks at that. The step is a whole young collection; but in a
** cycle of the whole heap, in 5.5, it is a part, and the next allocation requests the next part. */
static void request_step(lh_recorder *r) {
  enum { WHOLE_HEAP_IN_PARTS = 2 };
  uint64_t now = lh_clock_bytes(r);
  if (now < r->exact_next) return;
  if (raw_gc_byte(&r->layout, r->global, RAW_GLOBAL_GC_KIND) < WHOLE_HEAP_IN_PARTS)
    r->exact_next = now + r->exact_bytes;
  int64_t credit = raw_credit(r->global);
  if (credit >= 0) raw_add_credit((char *)(uintptr_t)r->global, -1 - credit);
}

void lh_record_new(lh_recorder *r, unsigned type, lh_stack_id stack, size_t bytes) {
  double weight = weight_of(r, bytes);
  count_weighted(&r->made[stack], type, bytes, weight);
  if (r->sample_bytes) begin_distance(r);
  if (r->exact_bytes) request_step(r);
  if (r->profile)
    lh_profile_put(r->profile, (lh_event){.kind = LH_EVENT_NEW,
                                          .type = (uint8_t)type,
                                          .stack = stack,
                                          .bytes = bytes,
                                          .weight = weight});
}

void *lh_note_failure(lh_recorder *r, size_t bytes, bool is_recorded) {
  lh_move_clock(r, 0 - bytes);
  if (is_recorded) lh_position_failed(r->position, bytes);
  return NULL;
}

/* The address may be used for another thread or prototype from now on. */
static void note_death(lh_recorder *r, const void *block, size_t old_bytes) {
  if (!r->records) return;
  if (old_bytes == r->layout.thread_bytes) {
    lh_running_died(r->running, block);
    if (r->calls) lh_calls_died(r->calls, block);
  }
  if (old_bytes == sizeof(raw_proto)) {
    lh_position_forget(r->position, block);
    lh_stacks_forget(r->stacks, block);
  }
}

static void note_end(lh_recorder *r, lh_life life, size_t old_bytes) {
  unsigned type = lh_life_type(life);
  lh_stack_id stack = lh_life_stack(life);
  double weight = weight_of(r, old_bytes);
  bool was_no_sample = r->sample_bytes && stack == 0;
  if (was_no_sample) return;
  count_weighted(&r->freed[stack], type, old_bytes, weight);
  if (r->profile)
    lh_profile_put(r->profile, (lh_event){.kind = LH_EVENT_FREE,
                                          .type = (uint8_t)type,
                                          .old_stack = stack,
                                          .old_bytes = old_bytes,
                                          .age_bytes = lh_age_bytes(r, life),
                                          .weight = weight});
}

void lh_record_free(lh_recorder *r, lh_life life, const void *block, size_t old_bytes) {
  note_death(r, block, old_bytes);
  note_end(r, life, old_bytes);
}

lh_life lh_end_sample(lh_recorder *r, lh_life life, size_t old_bytes) {
  note_end(r, life, old_bytes);
  life.stack_and_type &= ~(uint32_t)0 << LH_LIFE_TYPE_SHIFT;
  return life;
}

static lh_life renew_sample(lh_recorder *r, lh_life life, lh_stack_id stack, size_t old_bytes,
                            size_t bytes) {
  unsigned type = lh_life_type(life);
  note_end(r, life, old_bytes);
  return lh_note_new(r, type, stack, bytes);
}

lh_life lh_record_resize(lh_recorder *r, lh_life life, lh_stack_id stack, size_t old_bytes,
                         size_t bytes) {
  if (r->sample_bytes) return renew_sample(r, life, stack, old_bytes, bytes);
  lh_count_resize(r, life, stack, old_bytes, bytes);
  if (r->exact_bytes) request_step(r);
  if (r->profile)
    lh_profile_put(r->profile, (lh_event){.kind = LH_EVENT_RESIZE,
                                          .type = (uint8_t)lh_life_type(life),
                                          .stack = stack,
                                          .old_stack = lh_life_stack(life),
                                          .bytes = bytes,
                                          .old_bytes = old_bytes,
                                          .age_bytes = lh_age_bytes(r, life),
                                          .weight = 1});
  return lh_life_moved(life, stack);
}

void lh_note_special(lh_recorder *r, void *block, size_t tag) {
  if (!r->records) return;
  if (tag == RAW_THREAD) lh_running_born(r->running, block);
  if (tag == RAW_PROTO) lh_stacks_born(r->stacks, block);
}

/* lua_newstate requests the block of the main thread, fills it in, and requests a stack in the same
** OS thread. Meanwhile `newborn` holds the block, of one state at a time; other OS threads wait. */
static const char being_noted = 0;
#define BEING_NOTED ((void *)(uintptr_t)&being_noted)

static bool is_main_thread(const lh_recorder *r, size_t tag, size_t bytes) {
  const lh_layout *layout = &r->layout;
  return tag == RAW_THREAD && bytes == layout->main_thread_bytes && bytes != layout->thread_bytes;
}

static lua_State *main_thread_in(const lh_recorder *r, char *block) {
  const lh_layout *layout = &r->layout;
  size_t in_54 = raw_extra_bytes(layout), in_55 = (size_t)-layout->global_from_main;
  return (lua_State *)(void *)(block + (LH_LUA == 504 ? in_54 : in_55));
}

bool lh_is_of_another_state(lh_recorder *r, size_t tag, size_t bytes) {
  if (r->learns) return false; /* position.c makes this state */
  if (is_main_thread(r, tag, bytes)) return true;
  void *newborn = atomic_load_explicit(&r->newborn, memory_order_acquire);
  return newborn && newborn != BEING_NOTED && r->newborn_owner == lh_os_thread();
}

static void *begin_state(lh_recorder *r, size_t tag, size_t bytes) {
  void *block = lh_host_allocate(r, NULL, tag, bytes), *none = NULL;
  if (!block) return NULL;
  while (!atomic_compare_exchange_weak(&r->newborn, &none, BEING_NOTED)) {
    none = NULL;
    (void)sched_yield();
  }
  r->newborn_owner = lh_os_thread();
  atomic_store_explicit(&r->newborn, block, memory_order_release);
  return block;
}

void *lh_new_for_another_state(lh_recorder *r, size_t tag, size_t bytes) {
  if (is_main_thread(r, tag, bytes)) return begin_state(r, tag, bytes);
  char *block = atomic_load_explicit(&r->newborn, memory_order_acquire);
  lua_State *L = main_thread_in(r, block);
  void *data;
  if (lua_getallocf(L, &data) == r->function && data == r)
    lua_setallocf(L, r->alloc, r->alloc_data);
  atomic_store_explicit(&r->newborn, NULL, memory_order_release);
  return lh_host_allocate(r, NULL, tag, bytes);
}
