/*
** running.c - finds the running thread where the last answer does not hold (running.h).
** A thread is in a call if it is above its base level, and has not yielded or has a protected call.
** (Up to 5.4.3 coroutine.close runs code on a thread that still counts as suspended.) Threads in a
** call are the running one and those that wait for one that they have resumed. But an error that
** passes from a thread that was called, and never resumed, to the main thread leaves the threads
** between them as they were, with stale protected calls. A protected call below the stack pointer
** is stale.
*/
#include "track/running.h"

/* ==== C functions that never run another thread ==================================== */

/* Which C functions of this Lua's standard library run another thread. A Lua state of our own opens
** the libraries, so that nothing in the program's tables is taken for Lua's. All C functions there
** are the library's: those in tables, the closures, and the iterators, which only a call makes.
** Another thread is run by coroutine.resume, coroutine.close and the function that coroutine.wrap
** returns. os.exit may close the state, and `warn` calls a function of the host. */

static void add_value(lh_running *r, raw_payload payload, uint8_t type) {
  const void *function = raw_c_function(payload, type);
  if (!function || lh_thread_set_has(&r->plain, function)) return;
  (void)lh_thread_set_add(&r->plain, (lua_State *)(uintptr_t)function);
}

static void add_table(lh_running *r, const raw_table *t) {
  uint64_t n = raw_array_slots(r->layout, t);
  for (uint64_t i = 0; i < n; i++)
    add_value(r, raw_array_payload(t->array, i), raw_array_type(t->array, i));
  n = raw_hash_slots(t);
  for (uint64_t i = 0; i < n; i++) {
    const raw_slot *s = &t->slots[i];
    if (!raw_is_empty(s->value_type)) add_value(r, s->value, s->value_type);
  }
}

static void add_all_functions(lh_running *r, const char *global) {
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FIXEDGC; list++) {
    for (const raw_object *o = raw_list(global, list); o; o = o->next) {
      if (o->type == RAW_TABLE) add_table(r, (const raw_table *)o);
      if (o->type == RAW_C_CLOSURE) add_value(r, (raw_payload){o}, o->type | RAW_COLLECTABLE);
    }
  }
}

static const void *pop_function(lua_State *L) {
  lua_CFunction function = lua_tocfunction(L, -1);
  const void *address;
  memcpy(&address, &function, sizeof address);
  lua_pop(L, 1);
  return address;
}

static const void *function_of(lua_State *L, const char *library, const char *name) {
  lua_getglobal(L, library);
  const void *function = NULL;
  if (lua_type(L, -1) == LUA_TTABLE) {
    lua_getfield(L, -1, name);
    function = pop_function(L);
  }
  lua_pop(L, 1);
  return function;
}

/* Calls library.name with the n values on top and pops them. Pushes its first result; nil:
** error. */
static void call_with_top(lua_State *L, const char *library, const char *name, int n) {
  lua_getglobal(L, library);
  lua_getfield(L, -1, name);
  lua_remove(L, -2);
  lua_insert(L, -1 - n);
  if (lua_pcall(L, n, 1, 0) == LUA_OK) return;
  lua_pop(L, 1);
  lua_pushnil(L);
}

/* Leaves functions that no table of the libraries holds on the stack. Returns coroutine.wrap's. */
static const void *make_iterators(lua_State *L) {
  lua_newtable(L);
  call_with_top(L, "_G", "ipairs", 1);
  lua_pushliteral(L, "");
  lua_pushliteral(L, "");
  call_with_top(L, "string", "gmatch", 2);
  call_with_top(L, "io", "lines", 0);
  lua_getglobal(L, "print");
  call_with_top(L, "coroutine", "wrap", 1);
  lua_pushvalue(L, -1);
  return pop_function(L);
}

static const struct library {
  lua_CFunction open;
  const char *name;
} libraries[] = {
    {luaopen_base, "_G"},       {luaopen_package, "package"}, {luaopen_coroutine, "coroutine"},
    {luaopen_table, "table"},   {luaopen_io, "io"},           {luaopen_os, "os"},
    {luaopen_string, "string"}, {luaopen_math, "math"},       {luaopen_utf8, "utf8"},
    {luaopen_debug, "debug"}};
enum { N_LIBRARIES = sizeof libraries / sizeof *libraries };

static int learn_protected(lua_State *L) {
  lh_running *r = lua_touserdata(L, 1);
  for (size_t i = 0; i < N_LIBRARIES; i++) {
    lua_pushcfunction(L, libraries[i].open);
    lua_pushstring(L, libraries[i].name);
    lua_call(L, 1, 1);
    lua_setglobal(L, libraries[i].name);
  }
  r->wrapped = make_iterators(L);
  r->resume = function_of(L, "coroutine", "resume");
  r->close = function_of(L, "coroutine", "close");
  const raw_value *slots = lh_stack_slot(L, 1);
  for (int i = 0; i < lua_gettop(L); i++) add_value(r, slots[i].as, slots[i].type);
  add_all_functions(r, lh_global_state(L));
  r->exit = function_of(L, "os", "exit");
  r->warn = function_of(L, "_G", "warn");
  return 0;
}

static void *allocate(void *data, void *block, size_t old_bytes, size_t bytes) {
  (void)data, (void)old_bytes;
  if (bytes > 0) return lh_realloc(block, bytes, 1);
  lh_free(block);
  return NULL;
}

/* Learns nothing if the host hides its libraries. */
static void learn_functions(lh_running *r) {
  bool shows_all = lua_newstate && lua_close && lua_pcallk;
  for (size_t i = 0; i < N_LIBRARIES; i++) shows_all = shows_all && libraries[i].open;
  bool has_room = shows_all && lh_thread_set_init(&r->plain);
  lua_State *L = has_room ? lh_new_state(allocate, NULL) : NULL;
  if (!L) return;
  lua_pushcfunction(L, learn_protected);
  lua_pushlightuserdata(L, r);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) lh_thread_set_free(&r->plain);
  lua_close(L);
}

/* Nested resumes: 200, or a host's LUAI_MAXCCALLS. */
enum { MOST_RESUMED = 1000, MOST_WORDS_MOVED = 256 };
enum { FIRST_FIELDS = RAW_THREAD_CALL + sizeof(void *) }; /* bytes of a thread */
enum { WORDS_BEFORE = 64, WORDS_BEHIND = 96, STACK_BYTES = 1 << 20 };

#define NO_SANITIZE __attribute__((noinline, no_sanitize("address", "undefined", "thread")))

/* ==== The threads of the state, and of the operating system ========================== */

static void note_stack(lh_running *r) {
  pthread_attr_t attributes;
  void *low;
  size_t bytes;
  r->stack_low = r->stack_high = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
      r->stack_low = (uintptr_t)low;
      r->stack_high = (uintptr_t)low + bytes;
    }
    (void)pthread_attr_destroy(&attributes);
  }
  atomic_store_explicit(&r->owner, lh_os_thread(), memory_order_relaxed);
}

lh_running *lh_running_new(lh_recorder *recorder, lua_State *L) {
  const lh_layout *layout = &recorder->layout;
  lh_running *r = lh_alloc_zeroed(1, sizeof *r);
  if (!r) return NULL;
  *r = (lh_running){.thread = (const char *)L,
                    .not_lua = RAW_CALL_IS_C | layout->call_hooked,
                    .layout = layout,
                    .global = recorder->global,
                    .main_thread = (const char *)recorder->main_thread,
                    .extra_bytes = raw_extra_bytes(layout)};
  if (!lh_thread_set_init(&r->threads) || !lh_thread_set_add_all(&r->threads, r->global)) {
    lh_running_free(r);
    return NULL;
  }
  note_stack(r);
  learn_functions(r);
  return r;
}

void lh_running_free(lh_running *r) {
  if (!r) return;
  lh_thread_set_free(&r->threads);
  lh_thread_set_free(&r->plain);
  lh_free(r);
}

void lh_running_born(lh_running *r, void *block) {
  lua_State *thread = (lua_State *)(void *)((char *)block + r->extra_bytes);
  memset(thread, 0, FIRST_FIELDS);
  if (!lh_thread_set_add(&r->threads, thread)) r->misses_some = true;
}

void lh_running_died(lh_running *r, const void *block) {
  const char *thread = (const char *)block + r->extra_bytes;
  if (!lh_thread_set_remove(&r->threads, thread)) return;
  if (thread == r->thread) r->thread = r->main_thread;
}

/* ==== The state of a thread ========================================================== */

/* Depth of its last protected call on the C stack: a low address is deep. UINTPTR_MAX: none. */
static uintptr_t depth_of(const lh_running *r, const void *thread) {
  uintptr_t depth = raw_protected_call(r->layout, thread);
  return depth ? depth : UINTPTR_MAX;
}

/* False on a stack that a C library has switched to, or where AddressSanitizer has moved variables
** away from the stack: there depths have no order. */
static bool is_on_known_stack(const lh_running *r, uintptr_t depth) {
  return depth >= r->stack_low && depth < r->stack_high;
}

static bool is_our_thread(const lh_running *r, const void *thread) {
  return ((const raw_object *)thread)->type == RAW_THREAD &&
         RAW_FIELD(thread, RAW_THREAD_GLOBAL, const char *) == r->global;
}

/* `sp`: the C stack pointer; 0: not on the OS thread's stack. A protected call below is stale. */
static bool is_in_call(const lh_running *r, const void *thread, uintptr_t sp) {
  const raw_call *call = RAW_FIELD(thread, RAW_THREAD_CALL, const raw_call *);
  if (!is_our_thread(r, thread) || !call || call == raw_base_call(r->layout, thread)) return false;
  uintptr_t depth = depth_of(r, thread);
  if (depth == UINTPTR_MAX) return RAW_FIELD(thread, RAW_THREAD_STATUS, uint8_t) == 0;
  return depth >= sp || !is_on_known_stack(r, depth);
}

/* Of a thread in a call. */
typedef enum { RUNS, RESUMES, IN_C /* it may do either */ } standing;

static bool is_plain(const lh_running *r, const void *function) {
  bool may_run = function == r->resume || function == r->close || function == r->wrapped ||
                 function == r->exit || function == r->warn;
  return !may_run && lh_thread_set_has(&r->plain, function);
}

static standing standing_of(const lh_running *r, const void *thread, const void **resumed) {
  const raw_call *call = RAW_FIELD(thread, RAW_THREAD_CALL, const raw_call *);
  if (raw_call_is(r->layout, call, RAW_CALL_HOOKED)) return IN_C;
  if (!(call->status & RAW_CALL_IS_C)) return RUNS;
  const raw_value *slot = raw_call_slot(r->layout, thread, call);
  const void *function = raw_c_function(slot->as, slot->type);
  bool resumes = function == r->resume || function == r->close;
  if (!function || (!resumes && function != r->wrapped))
    return function && is_plain(r, function) ? RUNS : IN_C;
  const raw_value *v = resumes ? slot + 1 : ((const raw_c_closure *)slot->as.object)->upvalues;
  if (v->type != (RAW_THREAD | RAW_COLLECTABLE)) return IN_C;
  *resumed = v->as.object; /* without an argument an old value is there */
  return lh_thread_set_has(&r->threads, *resumed) ? RESUMES : IN_C;
}

/* Follows resumed threads to the running one; NULL: unknown. A thread in coroutine.resume is itself
** the running one before the other has begun, after it has ended, and if the resume is refused
** because the other already waits. */
static const void *follow_resumes(const lh_running *r, const void *thread, uintptr_t sp) {
  for (int n = 0; n < MOST_RESUMED && is_in_call(r, thread, sp); n++) {
    const void *resumed = NULL;
    standing s = standing_of(r, thread, &resumed);
    if (s == RUNS) return thread;
    if (s == IN_C) return NULL;
    uintptr_t depth = depth_of(r, resumed), its_depth = depth_of(r, thread);
    bool is_shallower =
        depth >= its_depth && is_on_known_stack(r, depth) && is_on_known_stack(r, its_depth);
    if (!is_in_call(r, resumed, sp) || is_shallower || resumed == thread) return thread;
    thread = resumed;
  }
  return NULL;
}

/* ==== The C stack ==================================================================== */

enum { MOST_OPEN = 8 };

/* The threads in a call whose addresses are on the C stack. */
typedef struct found {
  const void *deepest; /* with the deepest protected call */
  /* Threads without a protected call that are found below it, in order: called by a C function
  ** without a resume, or the main thread of a host that uses no protected call. */
  const void *open[MOST_OPEN];
  int n_open;
  bool is_all; /* the stack was searched to its end, or to that call */
} found;

static void note_open(found *f, const void *thread) {
  for (int i = 0; i < f->n_open; i++)
    if (f->open[i] == thread) return;
  if (f->n_open < MOST_OPEN) f->open[f->n_open++] = thread;
}

static NO_SANITIZE found search_words(const lh_running *r, const uintptr_t *word) {
  uintptr_t sp = (uintptr_t)word, end = r->stack_high, depth = UINTPTR_MAX, last = 0;
  uintptr_t lowest = atomic_load_explicit(&r->threads.lowest, memory_order_relaxed);
  uintptr_t range = atomic_load_explicit(&r->threads.highest, memory_order_relaxed) - lowest;
  found f = {.is_all = is_on_known_stack(r, sp)};
  for (; f.is_all && (uintptr_t)word < end; word++) {
    if (*word - lowest > range || *word == last) continue;
    last = *word;
    const void *thread = (const void *)last;
    if (!lh_thread_set_has(&r->threads, thread) || !is_in_call(r, thread, sp)) continue;
    uintptr_t its_depth = depth_of(r, thread);
    if (its_depth == UINTPTR_MAX) {
      note_open(&f, thread);
    } else if (!is_on_known_stack(r, its_depth)) {
      f.is_all = false;
    } else if (its_depth < depth) {
      f.deepest = thread;
      depth = its_depth;
      if (depth < end) end = depth;
    }
  }
  return f;
}

/* A caller may keep its thread in a register. Saves the registers in this frame, which holds
** nothing else. */
static NO_SANITIZE found search_stack(const lh_running *r) {
  __builtin_unwind_init();
  return search_words(r, (const uintptr_t *)__builtin_frame_address(0) - LH_SAVED_WORDS);
}

static NO_SANITIZE bool is_on_stack(const lh_running *r, const void *thread, uintptr_t from) {
  const uintptr_t *word = (const uintptr_t *)from;
  while ((uintptr_t)word < r->stack_high && *word != (uintptr_t)thread) word++;
  return (uintptr_t)word < r->stack_high;
}

/* Is the thread's protected call not stale? It begins with a pointer to the one above it, of the
** same thread, and the frame around it has the thread's address while it runs. A stale one is
** mostly overwritten. */
static NO_SANITIZE bool is_alive(const lh_running *r, const void *thread) {
  uintptr_t depth = depth_of(r, thread), above = *(const uintptr_t *)depth;
  if (above != 0 && (above <= depth || above >= r->stack_high)) return false;
  const uintptr_t *word = (const uintptr_t *)depth - WORDS_BEFORE;
  const uintptr_t *end = word + WORDS_BEFORE + WORDS_BEHIND;
  if ((uintptr_t)end > r->stack_high) end = (const uintptr_t *)r->stack_high;
  while (word < end && *word != (uintptr_t)thread) word++;
  return word < end;
}

/* An open call and the deepest protected call: either may have called the other. But a thread that
** waits for the deepest has its address above that protected call. */
static const void *find_on_stack(const lh_running *r, uintptr_t sp) {
  found f = search_stack(r);
  for (int i = 0; i < f.n_open; i++) {
    const void *running = follow_resumes(r, f.open[i], sp);
    if (running) return running;
  }
  if (!f.is_all || r->misses_some || f.n_open > 1) return NULL;
  const void *open = f.n_open > 0 ? f.open[0] : NULL;
  if (!f.deepest) return open ? open : r->main_thread; /* the host, with no call */
  const void *resumed, *running = follow_resumes(r, f.deepest, sp);
  if (running) return running;
  if (open) return is_on_stack(r, open, depth_of(r, f.deepest)) ? NULL : open;
  bool is_at_work = standing_of(r, f.deepest, &resumed) == IN_C;
  return is_at_work && is_alive(r, f.deepest) ? f.deepest : NULL;
}

/* Is the thread at work on the C stack of `place`? If another OS thread runs it, its protected
** calls are on that OS thread's stack, and its address here is stale. */
static bool is_at_work_above(const lh_running *r, const void *thread, uintptr_t place) {
  uintptr_t depth = depth_of(r, thread);
  if (!is_our_thread(r, thread)) return false;
  if (depth == UINTPTR_MAX) return is_in_call(r, thread, 0);
  return depth > place && depth - place < STACK_BYTES;
}

/* The state has moved to another OS thread if one of its threads is at work on this C stack. The
** interpreter was called from this stack, so there are more words above. */
NO_SANITIZE bool lh_running_moved(lh_running *r) {
  __builtin_unwind_init();
  const uintptr_t *word = (const uintptr_t *)__builtin_frame_address(0) - LH_SAVED_WORDS;
  uintptr_t lowest = atomic_load_explicit(&r->threads.lowest, memory_order_relaxed);
  uintptr_t range = atomic_load_explicit(&r->threads.highest, memory_order_relaxed) - lowest;
  for (int i = 0; i < MOST_WORDS_MOVED; i++) {
    const void *thread = (const void *)word[i];
    if (word[i] - lowest > range || !lh_thread_set_has(&r->threads, thread)) continue;
    if (!is_at_work_above(r, thread, (uintptr_t)word)) continue;
    note_stack(r);
    return true;
  }
  return false;
}

/* NULL, unless only one thread is in a call, or a thread's frame shows that it runs. */
static const void *find_among_all(const lh_running *r) {
  const void *one = NULL, *resumed;
  size_t place = 0, n = 0;
  for (lua_State *t; (t = lh_thread_set_next(&r->threads, &place)) != NULL;) {
    if (!is_in_call(r, t, 0)) continue;
    if (standing_of(r, t, &resumed) == RUNS) return t;
    one = t;
    n++;
  }
  if (r->misses_some || n > 1) return NULL;
  return one ? one : r->main_thread;
}

/* The light C function on top of the thread; NULL: another function is. */
static const void *function_on_top(const lh_running *r, const void *thread) {
  const raw_call *call = RAW_FIELD(thread, RAW_THREAD_CALL, const raw_call *);
  if ((call->status & r->not_lua) != RAW_CALL_IS_C) return NULL;
  const raw_value *slot = raw_call_slot(r->layout, thread, call);
  return slot->type == RAW_LIGHT_C_FUNCTION ? slot->as.pointer : NULL;
}

const void *lh_running_find(lh_running *r) {
  if (r->own) return r->own;
  bool is_suspended = RAW_FIELD(r->thread, RAW_THREAD_STATUS, uint8_t) != 0;
  if (!is_suspended && r->last_plain && function_on_top(r, r->thread) == r->last_plain)
    return r->thread; /* the same function is called in a row */
  uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
  bool is_known = is_on_known_stack(r, sp);
  if (!is_known) sp = 0;
  const void *thread = follow_resumes(r, r->thread, sp);
  if (!thread) thread = follow_resumes(r, r->main_thread, sp);
  if (!thread) thread = is_known ? find_on_stack(r, sp) : find_among_all(r);
  if (!thread) return NULL;
  const void *function = function_on_top(r, thread);
  r->last_plain = function && is_plain(r, function) ? function : NULL;
  r->thread = thread;
  return thread;
}
