/*
** lua_heapcheck.c - a Lua module that looks at a Lua state from outside of luaheap: what a snapshot
** must not change, and the objects that plain Lua cannot make.
**
** It is the oracle, so it shares no code and no structure with the library: the few offsets below
** are those of 5.4.3 to 5.4.8 and 5.5 on 64 bits, and it refuses to run elsewhere.
**
**     silent(f, ...)       calls f and compares the state before and after to the byte; see there
**     finalized()          for finalizers to call: counts them, for silent to compare
**     bytes(f, ...)        calls f; what collectgarbage("count") * 1024 is right behind it
**                          (inside of finalizers, too), and the results of f
**     collector()          gcstate, gckind, the debt as in 5.4, whether finalizers are pending
**     emergency()          a full collection that runs no finalizer, as if memory ran out
**     addresses(path)      writes list, address, type byte and marked byte of every object
**     userdata(n, uv)      a full userdata of n bytes and uv user values
**     table(array, hash)   an empty table of so many slots
**     closure(...)         a C closure with these upvalues; it returns the first
**     thread(f, ...)       a coroutine with f and its arguments on the stack, as before lua_resume
**     ref(v), unref(n)     luaL_ref in the registry
**     user_values          where those of a userdata are: what it has in front of them
**     loading(f)           loads a chunk whose lua_Reader calls f in the middle of it
*/
#include <lauxlib.h>
#include <lua.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  THREAD_TOP = 16,
  CALL_NEXT = 24,
  MAX_THREAD_BYTES = 208,
  MAX_BLOCK_BYTES = 1624,
  GLOBAL_TOTAL = 16,
  GLOBAL_DEBT = 24,
#if LUA_VERSION_NUM == 504
  GLOBAL_STATE = 101,
  GLOBAL_KIND = 102,
#else
  GLOBAL_STATE = 107,
  GLOBAL_KIND = 108,
#endif
  GLOBAL_ALLGC = 112,
  GLOBAL_SWEEP = 120,
  GLOBAL_FINOBJ = 128,
  GLOBAL_GRAYAGAIN = 144,
  GLOBAL_TOBEFNZ = 176,
  GLOBAL_FIXEDGC = 184,
  OBJECT_TYPE = 8,
  OBJECT_MARKED = 9
};

/* Sizes and offsets that differ, by the last digit of the release; the last row stands for all
** later ones. The main thread and the global state are in one block: in 5.4 the thread is in front,
** in 5.5 behind. */
static const struct release {
  size_t thread_bytes, block_bytes, main_at, global_at, stack_last, stack, base_call, user_values;
} releases[] = {
#if LUA_VERSION_NUM == 504
    {200, 1616, 0, 200, 48, 56, 96, 40},
    {192, 1616, 0, 192, 40, 48, 88, 40},
    {192, 1608, 0, 192, 40, 48, 88, 40},
    {200, 1616, 0, 200, 40, 48, 96, 40}};
#else
    {208, 1624, 1416, 0, 40, 48, 96, 40}, {208, 1624, 1416, 0, 40, 48, 96, 48}};
#endif

extern const char lua_ident[]; /* "$LuaVersion: Lua 5.4.4  ..." */

static const struct release *release(void) {
  enum { LAST = sizeof releases / sizeof *releases - 1 };
  unsigned digit = (unsigned)(lua_ident[sizeof "$LuaVersion: Lua 5.4." - 1] - '0');
  return &releases[digit < LAST ? digit : LAST];
}

static const uint16_t heads[4] = {GLOBAL_ALLGC, GLOBAL_FINOBJ, GLOBAL_TOBEFNZ, GLOBAL_FIXEDGC};

static const void *pointer_at(const void *block, size_t offset) {
  const void *p;
  memcpy(&p, (const char *)block + offset, sizeof p);
  return p;
}

static int64_t integer_at(const void *block, size_t offset) {
  int64_t n;
  memcpy(&n, (const char *)block + offset, sizeof n);
  return n;
}

static const char *global_of(lua_State *L) {
  return pointer_at(L, 24);
}

static const char *block_of(lua_State *L) {
  return global_of(L) - release()->global_at;
}

static const char *main_of(lua_State *L) {
  return block_of(L) + release()->main_at;
}

/* Bytes that Lua has used since a step of the collector was due; 5.5 counts them down. */
static int64_t debt_at(const char *global) {
  int64_t debt = integer_at(global, GLOBAL_DEBT);
  return LUA_VERSION_NUM == 504 ? debt : -debt;
}

static int64_t bytes_at(const char *global) {
  return integer_at(global, GLOBAL_TOTAL) + debt_at(global);
}

/* ==== What a snapshot must not change ================================================ */

typedef struct picture {
  char thread[MAX_THREAD_BYTES]; /* of the running thread */
  char block[MAX_BLOCK_BYTES];   /* the main thread and the global state */
  int64_t bytes;
  size_t stack_bytes, calls;
  const void *first[4];  /* of each list */
  uint64_t n_objects[4]; /* from there on */
  uint64_t hash;         /* of their addresses, types and marked bytes */
  size_t stack_used;
  uint64_t values; /* hash of the stack below that */
  lua_Integer finalized;
} picture;

/* registry[&finalized_key] is how often finalized() was called. Reading it allocates nothing. */
static const char finalized_key = 0;

static lua_Integer count_finalized(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &finalized_key);
  lua_Integer n = lua_tointeger(L, -1);
  lua_pop(L, 1);
  return n;
}

static int finalized(lua_State *L) {
  lua_pushinteger(L, count_finalized(L) + 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &finalized_key);
  return 0;
}

static void mix(uint64_t *hash, uint64_t n) {
  *hash = (*hash ^ n) * 0x9FB21C651E98DF25u;
  *hash ^= *hash >> 29;
}

/* luaheap's state and its marks may turn gray when another mark is stored in them. */
static int is_own(const char *object) {
  static const uint64_t magic = 0xC8D5F1A7616C6872u;
  uint16_t n_user_values;
  if (object[OBJECT_TYPE] != LUA_TUSERDATA || integer_at(object, 16) < 56) return 0;
  memcpy(&n_user_values, object + 10, sizeof n_user_values);
  size_t content = n_user_values ? release()->user_values + 16 * (size_t)n_user_values : 32;
  return memcmp(object + content, &magic, sizeof magic) == 0;
}

/* Fills *p. After the call `from` is the picture before it: objects that are new since are skipped
** and counted, and the results are on top of the stack that is compared. */
static uint64_t take_picture(lua_State *L, picture *p, const picture *from) {
  const char *global = global_of(L);
  uint64_t skipped = 0;
  memset(p, 0, sizeof *p);
  const struct release *r = release();
  memcpy(p->thread, (const void *)L, r->thread_bytes);
  memcpy(p->block, block_of(L), r->block_bytes);
  memset(p->thread + THREAD_TOP, 0, 8);
  if (main_of(L) == (const char *)(const void *)L) memset(p->block + r->main_at + THREAD_TOP, 0, 8);
  p->bytes = bytes_at(global);
  p->finalized = count_finalized(L);
  const char *stack = pointer_at(L, r->stack);
  p->stack_bytes = (size_t)((const char *)pointer_at(L, r->stack_last) - stack);
  p->stack_used = (size_t)((const char *)pointer_at(L, THREAD_TOP) - stack);
  for (size_t i = 0; i < (from ? from->stack_used : p->stack_used); i += 16) {
    mix(&p->values, (uint64_t)integer_at(stack, i));
    mix(&p->values, (uint8_t)stack[i + 8]);
  }
  const char *call = (const char *)(const void *)L + r->base_call;
  for (; call; call = pointer_at(call, CALL_NEXT)) p->calls++;
  for (int list = 0; list < 4; list++) {
    const char *o = pointer_at(global, heads[list]);
    while (from && o && o != from->first[list]) {
      skipped++;
      o = pointer_at(o, 0);
    }
    p->first[list] = o;
    for (; o; o = pointer_at(o, 0)) {
      p->n_objects[list]++;
      mix(&p->hash, (uintptr_t)o);
      mix(&p->hash, (uint8_t)o[OBJECT_TYPE]);
      if (!is_own(o)) mix(&p->hash, (uint8_t)o[OBJECT_MARKED]);
    }
  }
  return skipped;
}

static void complain(luaL_Buffer *b, const char *what, long long before, long long after) {
  char line[160];
  snprintf(line, sizeof line, "%s: %lld -> %lld\n", what, before, after);
  luaL_addstring(b, line);
}

static int is_allowed(size_t offset) {
  static const uint16_t allowed[] = {GLOBAL_DEBT, GLOBAL_ALLGC, GLOBAL_FINOBJ, GLOBAL_GRAYAGAIN};
  for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
    if (offset == release()->global_at + allowed[i]) return 1;
  }
  return 0;
}

static void compare_words(luaL_Buffer *b, const char *what, const char *before, const char *after,
                          size_t n, int is_block) {
  for (size_t i = 0; i < n; i += 8) {
    if (memcmp(before + i, after + i, 8) == 0 || (is_block && is_allowed(i))) continue;
    char name[64];
    snprintf(name, sizeof name, "%s at %zu", what, i);
    complain(b, name, integer_at(before, i), integer_at(after, i));
  }
}

static void compare_pictures(luaL_Buffer *b, const picture *x, const picture *y) {
  compare_words(b, "thread", x->thread, y->thread, sizeof x->thread, 0);
  compare_words(b, "block", x->block, y->block, sizeof x->block, 1);
  size_t global_at = release()->global_at;
  int64_t debt = debt_at(y->block + global_at) - debt_at(x->block + global_at);
  if (debt != y->bytes - x->bytes) complain(b, "debt against bytes", debt, y->bytes - x->bytes);
  if (x->stack_bytes != y->stack_bytes) {
    complain(b, "stack", (long long)x->stack_bytes, (long long)y->stack_bytes);
  }
  if (x->values != y->values) complain(b, "values on the stack", 0, 0);
  if (x->calls != y->calls) complain(b, "calls", (long long)x->calls, (long long)y->calls);
  for (int i = 0; i < 4; i++) {
    if (x->n_objects[i] != y->n_objects[i] || x->first[i] != y->first[i]) {
      complain(b, "objects", (long long)x->n_objects[i], (long long)y->n_objects[i]);
    }
  }
  if (x->finalized != y->finalized) complain(b, "finalizers run", x->finalized, y->finalized);
  if (x->hash != y->hash) complain(b, "addresses, types and marks of the objects", 0, 0);
}

static int do_nothing(lua_State *L) {
  lua_settop(L, 0);
  return 0;
}

static void call_with_copies(lua_State *L, int n, int n_results) {
  for (int i = 2; i <= n; i++) lua_pushvalue(L, i);
  lua_call(L, n - 1, n_results);
}

/* silent(f, ...) --> what changed ("" for nothing), new bytes, new objects, results of f. Nothing
** means: not a byte of the running lua_State, the main thread and the global state (but the heads
** of the lists, the debt, which must grow by exactly the new bytes, and grayagain), no stack or
** call list, no address, place, type or color of any object. The stack and the call list are made
** big enough before, so that what Lua itself allocates for a call does not count. */
static int silent(lua_State *L) {
  picture *before = malloc(2 * sizeof *before), *after = before + 1;
  luaL_Buffer b;
  int n = lua_gettop(L);
  if (!before) return luaL_error(L, "out of memory");
  luaL_checkstack(L, 2 * n + 3 * LUA_MINSTACK, "silent");
  lua_pushcfunction(L, do_nothing);
  call_with_copies(L, n, 0);
  take_picture(L, before, NULL);
  lua_pushvalue(L, 1);
  call_with_copies(L, n, LUA_MULTRET);
  uint64_t objects = take_picture(L, after, before);
  int64_t bytes = after->bytes - before->bytes;
  int n_results = lua_gettop(L) - n;
  luaL_buffinit(L, &b);
  compare_pictures(&b, before, after);
  free(before);
  luaL_pushresult(&b);
  lua_pushinteger(L, bytes);
  lua_pushinteger(L, (lua_Integer)objects);
  lua_rotate(L, n + 1, 3);
  return 3 + n_results;
}

/* ==== Reading ======================================================================= */

static int bytes(lua_State *L) {
  const char *global = global_of(L);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  lua_pushinteger(L, bytes_at(global));
  lua_insert(L, 1);
  return lua_gettop(L);
}

static int collector(lua_State *L) {
  const char *global = global_of(L);
  lua_pushinteger(L, global[GLOBAL_STATE]);
  lua_pushinteger(L, global[GLOBAL_KIND]);
  lua_pushinteger(L, debt_at(global));
  lua_pushboolean(L, pointer_at(global, GLOBAL_TOBEFNZ) != NULL);
  return 4;
}

/* An allocation function that refuses once. */
typedef struct refusal {
  lua_Alloc alloc;
  void *alloc_data;
  int refused;
} refusal;

static void *refuse_once(void *data, void *block, size_t old_size, size_t size) {
  refusal *r = data;
  if (size > 0 && !block && !r->refused) {
    r->refused = 1;
    return NULL;
  }
  return r->alloc(r->alloc_data, block, old_size, size);
}

/* Lua then collects, and asks again: leaves one new small userdata. */
static int emergency(lua_State *L) {
  refusal r = {0};
  r.alloc = lua_getallocf(L, &r.alloc_data);
  lua_setallocf(L, refuse_once, &r);
  lua_newuserdatauv(L, 8, 0);
  lua_setallocf(L, r.alloc, r.alloc_data);
  return 0;
}

/* addresses(path): a line for each object, newest first: list, address, type byte, marked byte.
** Nothing is allocated in the Lua heap. */
static int addresses(lua_State *L) {
  FILE *file = fopen(luaL_checkstring(L, 1), "w");
  if (!file) return luaL_error(L, "cannot write '%s'", lua_tostring(L, 1));
  for (int list = 0; list < 4; list++) {
    const char *o = pointer_at(global_of(L), heads[list]);
    for (; o; o = pointer_at(o, 0)) {
      fprintf(file, "%d %p %d %d\n", list, (const void *)o, o[OBJECT_TYPE],
              (uint8_t)o[OBJECT_MARKED]);
    }
  }
  fclose(file);
  return 0;
}

/* ==== Objects that plain Lua cannot make ============================================== */

static int make_userdata(lua_State *L) {
  size_t n = (size_t)luaL_checkinteger(L, 1);
  memset(lua_newuserdatauv(L, n, (int)luaL_checkinteger(L, 2)), 0, n);
  return 1;
}

static int make_table(lua_State *L) {
  lua_createtable(L, (int)luaL_checkinteger(L, 1), (int)luaL_checkinteger(L, 2));
  return 1;
}

static int first_upvalue(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  return 1;
}

static int closure(lua_State *L) {
  lua_pushcclosure(L, first_upvalue, lua_gettop(L));
  return 1;
}

static int make_thread(lua_State *L) {
  lua_State *thread = lua_newthread(L);
  lua_insert(L, 1);
  lua_xmove(L, thread, lua_gettop(L) - 1);
  return 1;
}

static int ref(lua_State *L) {
  luaL_checkany(L, 1);
  lua_settop(L, 1);
  lua_pushinteger(L, luaL_ref(L, LUA_REGISTRYINDEX));
  return 1;
}

static int unref(lua_State *L) {
  luaL_unref(L, LUA_REGISTRYINDEX, (int)luaL_checkinteger(L, 1));
  return 0;
}

/* Gives the chunk in pieces; calls the function between them. */
static const char *next_piece(lua_State *L, void *payload, size_t *size) {
  static const char *const pieces[] = {
      "local a, b = 1, 'constant of a chunk' local function f(x, y) return function() a = x ",
      "local z = {b, 'another constant', function(...) return ..., y end} goto done ",
      "for i = 1, 10 do z[i] = i end ::done:: end end return f"};
  int *at = payload;
  lua_pushvalue(L, 1);
  lua_pushinteger(L, *at);
  lua_call(L, 1, 0);
  if (*at == 3) return NULL;
  *size = strlen(pieces[*at]);
  return pieces[(*at)++];
}

static int loading(lua_State *L) {
  int at = 0;
  if (lua_load(L, next_piece, &at, "=loading", "t") != LUA_OK) return lua_error(L);
  return 1;
}

/* ==================================================================================== */

/* The collector is incremental, and each step of it does as little as it can. */
static int small_steps(lua_State *L) {
#if LUA_VERSION_NUM == 504
  lua_gc(L, LUA_GCINC, 1000, 1, 1);
#else
  lua_gc(L, LUA_GCINC);
  lua_gc(L, LUA_GCPARAM, LUA_GCPPAUSE, 1000);
  lua_gc(L, LUA_GCPARAM, LUA_GCPSTEPMUL, 100);
  lua_gc(L, LUA_GCPARAM, LUA_GCPSTEPSIZE, (int)sizeof(void *));
#endif
  return 0;
}

__attribute__((visibility("default"))) int luaopen_lua_heapcheck(lua_State *L);

int luaopen_lua_heapcheck(lua_State *L) {
  static const luaL_Reg functions[] = {{"silent", silent},
                                       {"finalized", finalized},
                                       {"emergency", emergency},
                                       {"bytes", bytes},
                                       {"collector", collector},
                                       {"closure", closure},
                                       {"addresses", addresses},
                                       {"userdata", make_userdata},
                                       {"thread", make_thread},
                                       {"ref", ref},
                                       {"table", make_table},
                                       {"unref", unref},
                                       {"loading", loading},
                                       {"small_steps", small_steps},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  lua_pushinteger(L, (lua_Integer)release()->user_values);
  lua_setfield(L, -2, "user_values");
  lua_pushinteger(L, 0);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &finalized_key);
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  if ((const char *)lua_topointer(L, -1) != main_of(L)) {
    return luaL_error(L, "lua_heapcheck knows Lua 5.4 and 5.5 on 64 bits only");
  }
  lua_pop(L, 1);
  return 1;
}
