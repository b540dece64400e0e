/*
** stacks.c - see stacks.h.
** The callers of a frame are searched outwards, up to the first frame whose callers are known, then
** numbered on the path back, each marked. A thread that is d frames deep takes d steps once, and
** then one for each called frame. The numbers are in a table of some hundred entries, each at the
** place that the frame's address gives. It grows to 65,536 if marked frames have lost their entry
** too often. Deeper recursions are searched in parts.
*/
#include "stacks.h"

/* Makes room for the tallies of the next number. False: no memory. */
static bool make_tallies(lh_stacks *s) {
  lh_recorder *r = s->r;
  uint32_t n = r->n_tallies, wanted = n ? n + n / 2 : 64;
  if (s->definitions.n_stacks + 1 < n) return true;
  lh_tally *made = lh_realloc(r->made, wanted, sizeof *made);
  if (made) r->made = made;
  lh_tally *freed = made ? lh_realloc(r->freed, wanted, sizeof *freed) : NULL;
  if (!freed) return false;
  r->freed = freed;
  memset(made + n, 0, (wanted - n) * sizeof *made);
  memset(freed + n, 0, (wanted - n) * sizeof *freed);
  r->n_tallies = wanted;
  return true;
}

/* The unattributed stack is nobody's caller. */
static lh_stack_id step(lh_stacks *s, lh_stack_id callers, lh_site_id site) {
  if (callers == LH_STACK_UNATTRIBUTED || !make_tallies(s)) return LH_STACK_UNATTRIBUTED;
  lh_stack_id stack = lh_define_stack(&s->definitions, callers, site);
  return stack ? stack : LH_STACK_UNATTRIBUTED;
}

static bool define_first(lh_stacks *s) {
  static const lh_maker makers[] = {
      [LH_STACK_UNATTRIBUTED] = LH_MADE_UNKNOWN, [LH_STACK_HOST] = LH_MADE_BY_HOST};
  for (lh_stack_id i = LH_STACK_UNATTRIBUTED; i <= LH_STACK_HOST; i++) {
    lh_site_id site = lh_define_site(&s->definitions, (lh_site_definition){.maker = makers[i]});
    if (!site || !make_tallies(s) || lh_define_stack(&s->definitions, 0, site) != i) return false;
  }
  return true;
}

static lh_marked_call *marked_entry(const lh_stacks *s, const raw_call *call) {
  return &s->marked[(uintptr_t)call * 0x9E3779B97F4A7C15u >> 40 & s->marked_mask];
}

static void mark(lh_stacks *s, const raw_call *call, lh_stack_id callers) {
  *marked_entry(s, call) = (lh_marked_call){call, callers};
  ((raw_call *)(uintptr_t)call)->status |= RAW_CALL_OURS;
}

static void grow_marked(lh_stacks *s) {
  lh_stacks bigger = {.marked_mask = s->marked_mask * 2 + 1};
  s->n_lost = 0;
  if (bigger.marked_mask >= LH_MOST_MARKED) return;
  bigger.marked = lh_alloc_zeroed((size_t)bigger.marked_mask + 1, sizeof *bigger.marked);
  if (!bigger.marked) return;
  for (uint32_t i = 0; i <= s->marked_mask; i++)
    if (s->marked[i].call) *marked_entry(&bigger, s->marked[i].call) = s->marked[i];
  lh_free(s->marked);
  s->marked = bigger.marked;
  s->marked_mask = bigger.marked_mask;
}

/* Lua clears the bit when it uses the CallInfo again, so a marked frame's entry is its own. */
static bool is_known(lh_stacks *s, const raw_call *call, lh_stack_id *callers) {
  if (!(call->status & RAW_CALL_OURS)) return false;
  const lh_marked_call *entry = marked_entry(s, call);
  *callers = entry->callers;
  if (entry->call == call) return true;
  s->n_lost++;
  return false;
}

/* The nearest caller that is a Lua function; NULL: none, or the collector called. */
static const raw_call *lua_caller(const lh_stacks *s, const raw_call *call) {
  for (call = call->previous; call; call = call->previous) {
    if (raw_call_is(s->lookup.layout, call, RAW_CALL_FINALIZES)) return NULL;
    if (!(call->status & RAW_CALL_IS_C)) return call;
  }
  return NULL;
}

static const raw_call *lua_callee(const raw_call *call) {
  do call = call->next;
  while (call->status & RAW_CALL_IS_C);
  return call;
}

static lh_recent *recent_entry(lh_stacks *s, const lh_recent *wanted) {
  uintptr_t place = ((uintptr_t)wanted->pc >> 2) + ((uintptr_t)wanted->c_function >> 4);
  return &s->recent[(place + wanted->callers * 61u) % LH_RECENT];
}

static lh_stack_id find_and_keep(lh_stacks *s, lh_call_frame frame, lh_recent wanted) {
  const lh_key *key = lh_lookup_key(&s->lookup, frame, wanted.pc, wanted.c_function);
  if (!key) return LH_STACK_UNATTRIBUTED;
  wanted.stack = step(s, wanted.callers, key->site);
  if (wanted.stack != LH_STACK_UNATTRIBUTED) *recent_entry(s, &wanted) = wanted;
  return wanted.stack;
}

static inline lh_stack_id find_stack(lh_stacks *s, lh_call_frame frame, lh_recent wanted) {
  const lh_recent *recent = recent_entry(s, &wanted);
  bool is_same = recent->pc == wanted.pc && recent->c_function == wanted.c_function &&
                 recent->callers == wanted.callers;
  return is_same ? recent->stack : find_and_keep(s, frame, wanted);
}

static lh_stack_id find_calling(lh_stacks *s, lh_stack_id callers, lh_call_frame frame) {
  lh_call_frame called = {frame.thread, frame.call->next};
  lh_recent wanted = {.pc = frame.call->saved_pc - 1, .callers = callers};
  if (called.call->status & RAW_CALL_IS_C)
    wanted.c_function = lh_frame_c_function(&s->lookup, called);
  else if (raw_call_is(s->lookup.layout, frame.call, RAW_CALL_HOOKED))
    wanted.c_function = &lh_hook_function;
  return find_stack(s, frame, wanted);
}

/* Marks the frame, and those between it and a known one. */
static lh_stack_id find_unknown_callers(lh_stacks *s, lh_call_frame frame) {
  lh_stack_id callers;
  const raw_call *outer = frame.call, *next;
  for (; !is_known(s, outer, &callers); outer = next) {
    next = lua_caller(s, outer);
    if (next) continue;
    callers = 0;
    mark(s, outer, callers);
    break;
  }
  while (outer != frame.call) {
    callers = find_calling(s, callers, (lh_call_frame){frame.thread, outer});
    outer = lua_callee(outer);
    mark(s, outer, callers);
  }
  if (s->n_lost > s->marked_mask) grow_marked(s);
  return callers;
}

static inline lh_stack_id find_callers(lh_stacks *s, lh_call_frame frame) {
  lh_stack_id callers;
  return is_known(s, frame.call, &callers) ? callers : find_unknown_callers(s, frame);
}

static const void *function_on_top(const lh_stacks *s, lh_call_frame frame) {
  const raw_call *top = RAW_FIELD(frame.thread, RAW_THREAD_CALL, const raw_call *);
  if (raw_call_is(s->lookup.layout, top, RAW_CALL_HOOKED)) return &lh_hook_function;
  if (top == frame.call) return NULL;
  return lh_frame_c_function(&s->lookup, (lh_call_frame){frame.thread, top});
}

lh_stack_id lh_stacks_find(lh_stacks *s, const void *thread, const raw_call *call,
                           const uint32_t *pc) {
  if (!thread) return LH_STACK_UNATTRIBUTED;
  if (!call) return LH_STACK_HOST;
  lh_call_frame frame = {thread, call};
  if (!pc) pc = lh_unknown_position(lh_frame_proto(&s->lookup, frame));
  if (!pc) return LH_STACK_UNATTRIBUTED;
  lh_recent wanted = {.pc = pc, .c_function = function_on_top(s, frame)};
  if (s->r->has_stacks) wanted.callers = find_callers(s, frame);
  return find_stack(s, frame, wanted);
}

lh_stack_id lh_stacks_of_function(lh_stacks *s, const void *thread, const raw_call *call) {
  lh_call_frame frame = {thread, call};
  const raw_proto *proto = lh_frame_proto(&s->lookup, frame);
  if (!proto) return LH_STACK_UNATTRIBUTED;
  lh_recent wanted = {.pc = lh_whole_function(proto)};
  if (s->r->has_stacks) wanted.callers = find_callers(s, frame);
  return find_stack(s, frame, wanted);
}

static void forget_recent(lh_stacks *s) {
  memset(s->recent, 0, sizeof s->recent);
}

void lh_stacks_born(lh_stacks *s, const void *proto) {
  lh_stacks_forget(s, proto);
  (void)lh_protos_add(&s->lookup.protos, proto);
}

void lh_stacks_forget(lh_stacks *s, const void *block) {
  uint32_t known = lh_protos_find(&s->lookup.protos, block);
  if (!known) return;
  if (s->lookup.protos.known[known].first_key) forget_recent(s);
  lh_lookup_forget(&s->lookup, known);
}

static void count_closure(lh_protos *protos, const void *closure) {
  lh_protos_count(protos, ((const raw_lua_closure *)closure)->proto);
}

static void add_proto(lh_protos *protos, const void *proto) {
  (void)lh_protos_add(protos, proto);
}

static void visit_living(lh_lookup *lookup, uint8_t type,
                         void (*visit)(lh_protos *protos, const void *object)) {
  uint8_t dead_white = raw_dead_white(lookup->layout, lookup->global);
  for (lh_list list = 0; list <= LH_LIST_FIXEDGC; list++)
    for (const raw_object *o = raw_list(lookup->global, list); o; o = o->next)
      if (o->type == type && !raw_is_dead(o, dead_white)) visit(&lookup->protos, o);
}

void lh_stacks_begin(lh_stacks *s) {
  lh_lookup *lookup = &s->lookup;
  forget_recent(s);
  lh_lookup_forget_all(lookup);
  visit_living(lookup, RAW_PROTO, add_proto);
  visit_living(lookup, RAW_LUA_CLOSURE, count_closure);
  lh_protos_search(&lookup->protos, lookup->layout, lookup->global);
}

lh_stacks *lh_stacks_new(lh_recorder *r) {
  lh_stacks *s = lh_alloc_zeroed(1, sizeof *s);
  if (!s) return NULL;
  s->r = r;
  s->lookup.layout = &r->layout;
  s->lookup.global = r->global;
  s->lookup.definitions = &s->definitions;
  s->marked_mask = LH_FEWEST_MARKED - 1;
  s->marked = lh_alloc_zeroed(LH_FEWEST_MARKED, sizeof *s->marked);
  if (s->marked && define_first(s)) return s;
  lh_stacks_free(s);
  return NULL;
}

void lh_stacks_free(lh_stacks *s) {
  if (!s) return;
  lh_lookup_free(&s->lookup);
  lh_definitions_free(&s->definitions);
  lh_free(s->marked);
  lh_free(s->r->made);
  lh_free(s->r->freed);
  s->r->made = s->r->freed = NULL;
  s->r->n_tallies = 0;
  lh_free(s);
}
