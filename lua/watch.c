/*
** watch.c - `require "heap.watch"`, in heap.so: the C part of heap/auto.lua.
** The options are already checked, and in plain units. Each file is reported by one line, from C,
** since no Lua code may run at that moment.
*/
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"
#include "log.h"

/* ==== Reports ======================================================================= */

/* "armed: /var/tmp/server.lua-1234-1.heap, on kill -URG 1234, at the end" */
static void print_armed(lua_State *L, const lh_watch_options *o) {
  const char *name = lh_signal_name(o->signal_number), *tag = o->tag ? o->tag : "";
  long long process = getpid();
  char by_signal[64] = "";
  if (name) {
    (void)snprintf(by_signal, sizeof by_signal, ", on kill -%s %lld", name, process);
  } else if (o->signal_number) {
    (void)snprintf(by_signal, sizeof by_signal, ", on kill -%d %lld", o->signal_number, process);
  }
  hl_log(o->log ? o->log : "",
         (const char *[]){
             *tag ? " (state " : "", tag, *tag ? "): armed: " : ": armed: ", lh_watch_next_file(L),
             by_signal, o->at_bytes ? ", by size" : "", o->every_seconds > 0 ? ", by time" : "",
             o->at_exit ? ", at the end" : "", o->out_of_memory ? ", when memory runs out" : "",
             o->mark_seconds > 0 ? "; marks by time" : ""},
         10);
}

/* The quotes for a path in a shell command, or ""; NULL: the path has a quote itself. */
static const char *shell_quote(const char *path) {
  static const char plain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-@%,:";
  if (path[strspn(path, plain)] == '\0') return "";
  return strchr(path, '\'') ? NULL : "'";
}

/* A signal handler or a forked child may call this. */
static void print_report(const lh_watch_report *report, void *payload) {
  char state[80] = "";
  (void)payload;
  if (*report->state) (void)snprintf(state, sizeof state, " (state %s)", report->state);
  if (report->error) {
    hl_log(report->options->log, (const char *[]){state, ": ", report->error->message}, 3);
  } else {
    const char *quote = shell_quote(report->path);
    hl_log(report->options->log,
           (const char *[]){state, ": wrote ", report->path, ": ",
                            lh_count_text(report->taken->objects).text, " objects, ",
                            lh_size_text(report->taken->bytes, false).text, "; see it: heapview ",
                            quote, report->path, quote},
           quote ? 11 : 7);
  }
}

/* ==== Options ======================================================================= */

/* Pushes the option, or nil. */
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

/* Makes the path absolute: the program may change its directory. The text stays on the stack. */
static const char *absolute_log(lua_State *L, const char *log) {
  char directory[PATH_MAX];
  bool is_word = strcmp(log, "quiet") == 0 || strcmp(log, "syslog") == 0;
  if (is_word || *log == '/' || !getcwd(directory, sizeof directory)) return log;
  return lua_pushfstring(L, "%s/%s", directory, log);
}

/* Strings stay on the stack. */
static void read_options(lua_State *L, lh_watch_options *options, lh_take_options *take) {
  options->signal_number = (int)number(L, "signal");
  if (get(L, "dir")) options->directory = luaL_checkstring(L, -1);
  if (get(L, "program")) options->program = luaL_checkstring(L, -1);
  if (get(L, "tag")) options->tag = luaL_checkstring(L, -1);
  if (get(L, "log")) options->log = absolute_log(L, luaL_checkstring(L, -1));
  options->at_bytes = (uint64_t)number(L, "at");
  options->again = number(L, "again");
  options->every_seconds = number(L, "every");
  options->mark_seconds = number(L, "marks");
  options->max_files = (uint32_t)number(L, "max");
  options->at_exit = flag(L, "exit");
  options->out_of_memory = flag(L, "oom");
  options->background = flag(L, "background");
  options->falls_back = get(L, "background") && lua_type(L, -1) == LUA_TSTRING; /* "try" */
  lua_pop(L, 1);
  if (get(L, "strings")) {
    take->string_bytes = (uint64_t)luaL_checknumber(L, -1);
    options->take = take;
  }
  options->report = print_report;
  options->report_is_signal_safe = true;
}

/* ==================================================================================== */

__attribute__((visibility("default"))) int luaopen_heap_watch(lua_State *L);

/* start(options) --> true | nil, message, errno */
static int start(lua_State *L) {
  lh_watch_options options = {0};
  lh_take_options take;
  lh_error error;
  luaL_checktype(L, 1, LUA_TTABLE);
  read_options(L, &options, &take);
  if (lh_watch(L, &options, &error) < 0) return hl_fail(L, &error);
  hr_stay_loaded();
  print_armed(L, &options);
  lua_pushboolean(L, 1);
  return 1;
}

static void say_trouble(const char *trouble, const char *log) {
  hl_log(log, (const char *[]){": ", trouble}, 2);
}

/* track(options, log): as heap.track; a failure at the end is written to the log. */
static int track(lua_State *L) {
  const char *log = absolute_log(L, luaL_optstring(L, 2, ""));
  return hl_track_and_report(L, say_trouble, log);
}

static int stop(lua_State *L) {
  lh_unwatch(L);
  return 0;
}

/* environment(name) --> the variable's text, or nil. Also nil if the host ignores its environment,
** as `lua -E`, or has more rights than its caller (setuid). */
static int environment(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  (void)lua_getfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
  lua_pushstring(L, lua_toboolean(L, -1) ? NULL : secure_getenv(name));
  return 1;
}

/* signal("URG") --> its number, or nil */
static int signal_number(lua_State *L) {
  int number = lh_signal_number(luaL_checkstring(L, 1));
  if (number == 0) return 0;
  lua_pushinteger(L, number);
  return 1;
}

/* say(message, log) */
static int say(lua_State *L) {
  const char *message = luaL_checkstring(L, 1);
  hl_log(absolute_log(L, luaL_optstring(L, 2, "")), (const char *[]){": ", message}, 2);
  return 0;
}

/* process() --> its id */
static int process(lua_State *L) {
  lua_pushinteger(L, getpid());
  return 1;
}

int luaopen_heap_watch(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"start", start},          {"stop", stop},       {"environment", environment},
      {"signal", signal_number}, {"say", say},         {"track", track},
      {"untrack", hl_untrack},   {"process", process}, {NULL, NULL}};
  if (!HR_IS_AT_HOME(L)) return 0;
  hl_attach(L);
  hl_know_stderr();
  lua_createtable(L, 0, 8);
  luaL_setfuncs(L, functions, 0);
  return 1;
}
