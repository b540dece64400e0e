/*
** fleet_host.c - a process with many Lua states, as a game server or skynet has.
**
**     fleet_host N [LIBRARY]
**
** The first state runs gate.lua and has 1 MB, one in ten of the others runs logger.lua, the rest
** agent.lua. With the file of another Lua library every second state is of that. It prints "ready",
** then takes orders, a line each, and answers each with "done":
**
**     grow I BYTES   state I keeps another string of this size
**     close I        state I is closed
**     open I         and there is a new one in its place
*/
#include <dlfcn.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What both libraries have alike, and this program calls. */
typedef struct library {
  lua_State *(*new_state)(void);
  void (*open_base)(lua_State *, const char *, lua_CFunction, int);
  lua_CFunction base, string;
  int (*load)(lua_State *, const char *, size_t, const char *, const char *);
  int (*call)(lua_State *, int, int, int, lua_KContext, lua_KFunction);
  void (*set_top)(lua_State *, int);
  void (*close)(lua_State *);
} library;

static const char program[] =
    "kept = {} for i = 1, 20 do kept[i] = {id = i} end\n"
    "function grow(n) kept[#kept + 1] = ('x'):rep(n) end\n";

static library libraries[2] = {{luaL_newstate, luaL_requiref, luaopen_base, luaopen_string,
                                luaL_loadbufferx, lua_pcallk, lua_settop, lua_close}};
static lua_State **states;

static void *symbol(void *of, const char *name) {
  void *found = dlsym(of, name);
  if (found == NULL) exit(2);
  return found;
}

static library library_of(void *of) {
  library l;
  memset(&l, 0, sizeof l);
  *(void **)&l.new_state = symbol(of, "luaL_newstate");
  *(void **)&l.open_base = symbol(of, "luaL_requiref");
  *(void **)&l.base = symbol(of, "luaopen_base");
  *(void **)&l.string = symbol(of, "luaopen_string");
  *(void **)&l.load = symbol(of, "luaL_loadbufferx");
  *(void **)&l.call = symbol(of, "lua_pcallk");
  *(void **)&l.set_top = symbol(of, "lua_settop");
  *(void **)&l.close = symbol(of, "lua_close");
  return l;
}

static const library *library_at(size_t i) {
  return &libraries[i % 2];
}

static void run(size_t i, const char *text, const char *name) {
  const library *l = library_at(i);
  if (l->load(states[i], text, strlen(text), name, NULL) != LUA_OK ||
      l->call(states[i], 0, 0, 0, 0, NULL) != LUA_OK)
    exit(3);
}

static void grow(size_t i, size_t bytes) {
  char text[64];
  (void)snprintf(text, sizeof text, "grow(%zu)", bytes);
  run(i, text, "=order");
}

static void open_state(size_t i) {
  const library *l = library_at(i);
  states[i] = l->new_state();
  if (states[i] == NULL) exit(4);
  l->open_base(states[i], "_G", l->base, 1);
  l->open_base(states[i], "string", l->string, 1);
  l->set_top(states[i], 0);
  run(i, program, i == 0 ? "@./gate.lua" : i % 10 == 1 ? "@./logger.lua" : "@./agent.lua");
  if (i == 0) grow(i, 1000000);
}

static void obey(const char *line) {
  char word[16];
  size_t i, bytes = 0;
  if (sscanf(line, "%15s %zu %zu", word, &i, &bytes) < 2) exit(5);
  if (strcmp(word, "grow") == 0)
    grow(i, bytes);
  else if (strcmp(word, "close") == 0)
    library_at(i)->close(states[i]);
  else
    open_state(i);
}

int main(int argc, char **argv) {
  char line[80];
  size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
  void *other = argc > 2 ? dlopen(argv[2], RTLD_NOW | RTLD_DEEPBIND) : NULL;
  states = calloc(n, sizeof(lua_State *));
  if (states == NULL || (argc > 2 && other == NULL)) return 1;
  libraries[1] = other != NULL ? library_of(other) : libraries[0];
  for (size_t i = 0; i < n; i++) open_state(i);
  puts("ready");
  (void)fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    obey(line);
    puts("done");
    (void)fflush(stdout);
  }
  return 0;
}
