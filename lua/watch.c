/*
** watch.c - what heap/auto.lua is made of: start(options), stop(), environment() and the table
** `signals`. The options come checked and in plain units. Each file is reported by one line on
** stderr, from C, since no Lua code may run at that moment. `require "heap.watch"` finds it in
** heap.so.
*/
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "host.h"
#include "luaheap.h"

/* {=== Reports ======================================================================= */

/* In one piece, by system calls alone: what waits is told in a signal handler. */
static void print_line(const char *const parts[], int n) {
  enum { MOST_PARTS = 8 };
  struct iovec line[MOST_PARTS];
  for (int i = 0; i < n; i++) {
    line[i] = (struct iovec){(char *)(uintptr_t)parts[i], strlen(parts[i])};
  }
  (void)!writev(STDERR_FILENO, line, n);
}

static void print_report(const lh_watch_report *report, void *payload) {
  (void)payload;
  if (report->error) {
    print_line((const char *[]){"heap.auto: ", report->error->message, "\n"}, 3);
    return;
  }
  print_line((const char *[]){"heap.auto: wrote ", report->path, ": ",
                              lh_count_text(report->taken->objects).text, " objects, ",
                              lh_size_text(report->taken->bytes, false).text, "\n"},
             7);
}

/* }=================================================================================== */

/* {=== Options ======================================================================= */

/* The option is on top of the stack, or nil. */
static bool get(lua_State *L, const char *name) {
  return lua_getfield(L, 1, name) != LUA_TNIL;
}

static double number(lua_State *L, const char *name) {
  double n = get(L, name) ? luaL_checknumber(L, -1) : 0;
  lua_pop(L, 1);
  return n;
}

static bool flag(lua_State *L, const char *name) {
  bool is_set = get(L, name) && lua_toboolean(L, -1);
  lua_pop(L, 1);
  return is_set;
}

/* Strings stay on the stack. */
static void read_options(lua_State *L, lh_watch_options *options, lh_take_options *take) {
  options->signal_number = (int)number(L, "signal");
  if (get(L, "dir")) options->directory = luaL_checkstring(L, -1);
  if (get(L, "program")) options->program = luaL_checkstring(L, -1);
  options->at_bytes = (uint64_t)number(L, "at");
  options->again = number(L, "again");
  options->every_seconds = number(L, "every");
  options->mark_seconds = number(L, "marks");
  options->max_files = (uint32_t)number(L, "max");
  options->at_exit = flag(L, "exit");
  options->out_of_memory = flag(L, "oom");
  options->background = flag(L, "background");
  if (get(L, "strings")) {
    take->string_bytes = (uint64_t)luaL_checknumber(L, -1);
    options->take = take;
  }
  options->report = print_report;
  options->report_is_signal_safe = true;
}

/* }=================================================================================== */

__attribute__((visibility("default"))) int luaopen_heap_watch(lua_State *L);

/* Our allocation function is called until the end of lua_close, which unloads all modules before
** that. Linked by our Makefile heap.so stays anyway; as a rock it needs this. */
static void stay_loaded(void) {
  Dl_info info;
  if (dladdr((const void *)(uintptr_t)luaopen_heap_watch, &info) && info.dli_fname) {
    (void)dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

/* start(options) --> true | nil, message, errno */
static int start(lua_State *L) {
  lh_watch_options options = {0};
  lh_take_options take;
  lh_error error;
  luaL_checktype(L, 1, LUA_TTABLE);
  read_options(L, &options, &take);
  if (lh_watch(L, &options, &error) < 0) {
    lua_pushnil(L);
    lua_pushstring(L, error.message);
    lua_pushinteger(L, error.os_errno);
    return 3;
  }
  stay_loaded();
  lua_pushboolean(L, 1);
  return 1;
}

/* stop() */
static int stop(lua_State *L) {
  lh_unwatch(L);
  return 0;
}

/* environment() --> the text of LUA_HEAP, or nil: also where the host does not obey its
** environment, as `lua -E`, or has more rights than who has started it (setuid). */
static int environment(lua_State *L) {
  (void)lua_getfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
  lua_pushstring(L, lua_toboolean(L, -1) ? NULL : secure_getenv("LUA_HEAP"));
  return 1;
}

/* signals: name --> number */
static void push_signals(lua_State *L) {
  static const struct {
    const char *name;
    int number;
  } signals[] = {{"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT},   {"USR1", SIGUSR1},
                 {"USR2", SIGUSR2}, {"ALRM", SIGALRM}, {"TERM", SIGTERM},   {"CONT", SIGCONT},
                 {"TSTP", SIGTSTP}, {"URG", SIGURG},   {"WINCH", SIGWINCH}, {"IO", SIGIO}};
  lua_createtable(L, 0, sizeof signals / sizeof signals[0]);
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
    lua_pushinteger(L, signals[i].number);
    lua_setfield(L, -2, signals[i].name);
  }
}

int luaopen_heap_watch(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"start", start}, {"stop", stop}, {"environment", environment}, {NULL, NULL}};
  lh_error error;
  if (!HR_IS_AT_HOME(L)) return 0;
  if (lh_attach(L, &error) < 0) {
    lua_pushstring(L, error.message);
    return lua_error(L);
  }
  lua_createtable(L, 0, 4);
  luaL_setfuncs(L, functions, 0);
  push_signals(L);
  lua_setfield(L, -2, "signals");
  return 1;
}
