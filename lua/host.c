/* host.c - checks that the lua_* functions are the host's own (host.h). */
#include "host.h"

#include <dlfcn.h>

#include "log.h"

/* The start in memory of the file that has the address, and its name; NULL: no file has it. */
static const void *file_of(const void *address, const char **name) {
  Dl_info info;
  if (!address || !dladdr(address, &info)) return NULL;
  *name = info.dli_fname;
  return info.dli_fbase;
}

/* All releases have these functions. Several are tried, since a program may replace one of them. */
static const void *file_of_functions(const void *wanted, const char **name) {
  void (*const functions[])(void) = {(void (*)(void))lua_settop, (void (*)(void))lua_type,
                                     (void (*)(void))lua_rawget, (void (*)(void))lua_pushnil};
  const void *file = NULL;
  for (size_t i = 0; i < sizeof functions / sizeof functions[0] && (!file || file != wanted); i++) {
    file = file_of((const void *)(uintptr_t)functions[i], name);
  }
  return file;
}

/* The host's own luaL_error, if its Lua is in a library; NULL: the program hides it. */
typedef int (*raiser)(lua_State *L, const char *format, ...);
static raiser find_raiser(const char *library) {
  raiser found = NULL;
  void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  void *symbol = handle ? dlsym(handle, "luaL_error") : NULL;
  memcpy(&found, &symbol, sizeof found);
  return found; /* the library stays: it has called us */
}

bool hr_is_at_home(lua_State *L, const void *caller) {
  const char *own = "", *other = NULL;
  char message[2048];
  const void *home = file_of(caller, &own);
  const void *functions = file_of_functions(home, &other);
  if (functions && (!home || functions == home)) return true;
  raiser raise = find_raiser(own);
  int n = snprintf(
      message, sizeof message,
      functions ? "heap.so: this program's Lua is in %s, but the lua_* functions that modules "
                  "are given are those of %s: "
                : "heap.so: this program's Lua is in %s, which hides the lua_* functions from "
                  "modules: ",
      own, other);
  if (n < 0 || n >= (int)sizeof message) n = 0;
  (void)snprintf(message + n, sizeof message - (size_t)n,
                 !raise      ? "it must be linked with -Wl,-E"
                 : functions ? "start it with LD_PRELOAD=%s"
                             : "first call package.loadlib(\"%s\", \"*\"), or start it with "
                               "LD_PRELOAD=%s",
                 own, own);
  if (raise) (void)raise(L, "%s", message);
  hl_write_to_stderr(message);
  return false;
}

void hr_stay_loaded(void) {
  Dl_info info;
  if (dladdr((const void *)(uintptr_t)hr_stay_loaded, &info) && info.dli_fname) {
    (void)dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

const char *hl_check_string(lua_State *L, int index, size_t *length) {
  if (lua_type(L, index) != LUA_TSTRING) luaL_typeerror(L, index, "string");
  return lua_tolstring(L, index, length);
}

const char *hl_check_path(lua_State *L, int index) {
  size_t length;
  const char *path = hl_check_string(L, index, &length);
  luaL_argcheck(L, length > 0, index, "the path is empty");
  luaL_argcheck(L, strlen(path) == length, index, "the path contains a zero byte");
  return path;
}

int hl_fail(lua_State *L, const lh_error *error) {
  lua_pushnil(L);
  lua_pushstring(L, error->message);
  lua_pushinteger(L, error->os_errno);
  return 3;
}

void hl_attach(lua_State *L) {
  lh_error error;
  if (lh_attach(L, &error) == LH_OK) return;
  lua_pushstring(L, error.message);
  (void)lua_error(L);
}
