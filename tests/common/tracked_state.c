/* tracked_state.c - see tracked_state.h. */
#include "tracked_state.h"
#include "any_lua.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>

#include "rooms/all.h"

/* ==== A state that is tracked ======================================================= */

static bool is_in_call(const tracked *t, const void *thread) {
  const raw_call *call = RAW_FIELD(thread, RAW_THREAD_CALL, const raw_call *);
  return RAW_FIELD(thread, RAW_THREAD_STATUS, uint8_t) == 0 && call &&
         call != raw_base_call(&t->r.layout, thread);
}

/* Where the frame stands; where a program has taken our hook away it may not have begun. */
const uint32_t *tracked_position(const tracked *t, const raw_call *call) {
  const raw_proto *proto = lh_frame_proto(&t->r.stacks->lookup, (lh_call_frame){t->running, call});
  return proto && call->saved_pc == proto->code ? proto->code : call->saved_pc - 1;
}

static void find(tracked *t) {
  if (!is_in_call(t, t->running)) t->running = t->L;
  const raw_call *call = RAW_FIELD(t->running, RAW_THREAD_CALL, const raw_call *);
  while (call && call->status & RAW_CALL_IS_C) call = call->previous;
  const uint32_t *pc = call ? tracked_position(t, call) : NULL;
  lh_stack_id stack = lh_stacks_find(t->r.stacks, t->running, call, pc);
  assert_in_range(stack, 1, t->r.stacks->definitions.n_stacks);
  assert_true(stack < t->r.n_tallies);
  t->r.made[stack].objects++;
  if (t->check && call) t->check(t, call, stack);
}

static void *allocate_tracked(void *data, void *block, size_t old_bytes, size_t bytes) {
  tracked *t = data;
  size_t held_bytes = block ? old_bytes : 0;
  bool is_thread = block && bytes == 0 && old_bytes == t->r.layout.thread_bytes;
  if (is_thread && (char *)block + LUA_EXTRASPACE == (char *)t->running) t->running = t->L;
  if (t->on && block && bytes == 0 && old_bytes == sizeof(raw_proto)) {
    lh_stacks_forget(t->r.stacks, block);
  }
  if (bytes == 0) {
    free(block);
    return NULL;
  }
  if (t->on && bytes > held_bytes) find(t);
  void *made = realloc(block, bytes);
  if (t->on && made && !block && old_bytes == RAW_PROTO) lh_stacks_born(t->r.stacks, made);
  return made;
}

static void note_running(lua_State *L, lua_Debug *event) {
  void *t;
  (void)event;
  (void)lua_getallocf(L, &t);
  ((tracked *)t)->running = L;
}

/* A state with all libraries that is about to be tracked. */
tracked *tracked_new(bool has_stacks) {
  tracked *t = calloc(1, sizeof *t);
  lh_error error;
  assert_non_null(t);
  t->L = t->running = any_newstate(allocate_tracked, t);
  assert_non_null(t->L);
  luaL_openlibs(t->L);
  assert_int_equal(lh_attach(t->L, &error), LH_OK);
  t->r.layout = lh_find_state(t->L, &error)->layout;
  t->r.global = lh_global_state(t->L);
  t->r.has_stacks = has_stacks;
  return t;
}

bool tracked_begin(tracked *t) {
  lua_sethook(t->L, note_running, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
  t->r.stacks = lh_stacks_new(&t->r);
  if (!t->r.stacks) return false;
  lh_stacks_begin(t->r.stacks);
  t->on = true;
  return true;
}

void tracked_free(tracked *t) {
  lua_close(t->L);
  lh_stacks_free(t->r.stacks);
  free(t);
}

void tracked_run(tracked *t, const char *name, const char *program) {
  bool fails = luaL_loadbuffer(t->L, program, strlen(program), name) != LUA_OK ||
               lua_pcall(t->L, 0, 0, 0) != LUA_OK;
  if (fails) fail_msg("%s", lua_tostring(t->L, -1));
}

/* ==================================================================================== */

const char *tracked_name(const tracked *t, uint32_t name, size_t *n) {
  const lh_definitions *d = &t->r.stacks->definitions;
  uint32_t start = name > 1 ? d->name_ends[name - 2] : 0;
  *n = name ? d->name_ends[name - 1] - start : 0;
  return d->name_bytes + start;
}

/* ==== Stacks as text ================================================================ */

/* "2 table in Bus:on, 9 call in main", with "/string.rep" behind what a C function made. */
static void add_site(const tracked *t, lh_site_id id, char *out, size_t size) {
  static const char *const makers[] = {"unknown", "host",   "C",    "table",    "closure",
                                       "concat",  "growth", "call", "otherwise"};
  const lh_definitions *d = &t->r.stacks->definitions;
  const lh_site_definition *site = &d->sites[id - 1];
  size_t used = strlen(out), n_name, n_c;
  const char *c_function = tracked_name(t, site->c_function, &n_c);
  uint32_t name = site->function ? d->functions[site->function - 1].name : 0;
  const char *text = tracked_name(t, name, &n_name);
  if (!site->function) {
    (void)snprintf(out + used, size - used, "%s", makers[site->maker]);
    return;
  }
  if (!name) text = "?", n_name = 1;
  if (name && n_name == 0) text = "main", n_name = 4;
  (void)snprintf(out + used, size - used, "%s%u %s%s%.*s in %.*s", used ? ", " : "", site->line,
                 makers[site->maker], n_c ? "/" : "", (int)n_c, c_function, (int)n_name, text);
}

static void describe(const tracked *t, lh_stack_id stack, char *out, size_t size) {
  const lh_definitions *d = &t->r.stacks->definitions;
  out[0] = '\0';
  for (; stack; stack = d->stacks[stack - 1].parent) {
    add_site(t, d->stacks[stack - 1].site, out, size);
  }
}

/* How many objects or parts were allocated at a stack that reads like this. */
uint64_t tracked_made(const tracked *t, const char *expected) {
  char text[2000];
  for (lh_stack_id i = 1; i <= t->r.stacks->definitions.n_stacks; i++) {
    describe(t, i, text, sizeof text);
    if (strcmp(text, expected) == 0) return t->r.made[i].objects;
  }
  return 0;
}

void tracked_assert(const tracked *t, const char *expected) {
  char text[2000];
  if (tracked_made(t, expected)) return;
  print_message("expected: %s\n", expected);
  for (lh_stack_id i = 1; i <= t->r.stacks->definitions.n_stacks; i++) {
    describe(t, i, text, sizeof text);
    print_message("%6u %s\n", (unsigned)t->r.made[i].objects, text);
  }
  fail();
}
