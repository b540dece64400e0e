/*
** host.c - the program of the cores beside it: a state of Lua 5.5 with all that 5.4 has not.
**
** Each core was made by the kernel, of this program with the sources of its release in it (SRC), in
** a directory that is nowhere else. So what a core lacks, the program's constants, is not here.
**
**     gcc -O1 -s -static -ISRC host.c SRC/l[!u]*.c -o host -lm
**     ulimit -c unlimited; env -i ./host & sleep 1; kill -ABRT $!
**     gzip -9n core
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char constant[] = "a text in the program's constants, which nobody frees";

static const char program[] =
    "leak = {} for i = 1, 20 do leak[i] = {number = i, text = string.rep('page', 500)} end\n"
    "numbers = {} for i = 1, 1000 do numbers[i] = i end\n"
    "mixed = {1, 2.5, true, 'x', {}, [2.5] = 'half', [1 << 40] = 'far', [-7] = false}\n"
    "key = string.rep('key', 100) mixed[key] = key\n"
    "weak = setmetatable({}, {__mode = 'k'}) weak[mixed] = 1\n"
    "finalized = setmetatable({}, {__gc = function() end})\n"
    "thread = coroutine.create(function(...)\n"
    "  local all, text = {...}, 'a local variable' coroutine.yield(all, text)\n"
    "end)\n"
    "coroutine.resume(thread, 1, {}, 'argument')\n"
    "function counter() local n = 0 return function() n = n + 1 return n end end\n"
    "count = counter()\n";

static const char fixed_program[] =
    "local seen = {} return function(x) seen[x] = 'a constant of more than forty characters' end";

/* Lua runs it where it is, in memory that is only read then. */
typedef struct code {
  char bytes[4080];
  size_t n;
} code;

static int add(lua_State *L, const void *piece, size_t n, void *data) {
  code *c = data;
  (void)L;
  memcpy(c->bytes + c->n, piece, n);
  c->n += n;
  return 0;
}

int main(void) {
  enum { PAGE = 4096 };
  code *c = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (c == MAP_FAILED) return 1;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  if (luaL_loadbuffer(L, program, strlen(program), "@host.lua") || lua_pcall(L, 0, 0, 0)) return 1;
  lua_pushexternalstring(L, constant, strlen(constant), NULL, NULL);
  lua_setglobal(L, "constant");
  memset(lua_newuserdatauv(L, 40, 3), 0, 40);
  lua_getglobal(L, "mixed");
  lua_setiuservalue(L, -2, 2);
  lua_setglobal(L, "handle");
  if (luaL_loadbuffer(L, fixed_program, strlen(fixed_program), "@fixed.lua")) return 1;
  (void)lua_dump(L, add, c, 0);
  if (mprotect(c, PAGE, PROT_READ) < 0) return 1;
  if (luaL_loadbufferx(L, c->bytes, c->n, "fixed", "B")) return 1;
  lua_call(L, 0, 1);
  lua_setglobal(L, "fixed");
  lua_settop(L, 0);
  lua_gc(L, LUA_GCCOLLECT);
  lua_gc(L, LUA_GCSTOP);
  (void)pause();
  return 0;
}
