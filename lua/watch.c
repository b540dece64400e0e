/*
** watch.c - `require "heap.watch"`, in heap.so: the C part of heap/auto.lua.
** Each file is reported by one line, from C, since no Lua code may run at that moment.
*/
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "host.h"
#include "log.h"
#include "options.h"

/* ==== Reports ======================================================================= */

/* "armed: /var/tmp/server.lua-1234-1.heap, on kill -URG 1234, by time". Lua has no moment between
** the last instruction of the main chunk and its return that costs the program nothing. */
static void print_armed(lua_State *L, const lh_watch_options *o) {
  const char *name = lh_signal_name(o->signal_number), *tag = o->tag ? o->tag : "";
  long long process = getpid();
  char by_signal[64] = "";
  if (name) {
    (void)snprintf(by_signal, sizeof by_signal, ", on kill -%s %lld", name, process);
  } else if (o->signal_number) {
    (void)snprintf(by_signal, sizeof by_signal, ", on kill -%d %lld", o->signal_number, process);
  }
  hl_log(
      o->log,
      (const char *[]){
          *tag ? " (state " : "", tag, *tag ? "): armed: " : ": armed: ", lh_watch_next_file(L),
          by_signal, o->at_bytes ? ", by size" : "", o->every_seconds > 0 ? ", by time" : "",
          o->at_exit ? ", at the end (a main chunk that returns has lost its locals by then)" : "",
          o->out_of_memory ? ", when memory runs out" : "",
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

static void print_comparison(const lh_watch_report *report, const char *state) {
  const char *first = report->before[0], *second = report->before[1], *third = report->path;
  const char *quotes[] = {shell_quote(first), shell_quote(second), shell_quote(third)};
  if (!quotes[0] || !quotes[1] || !quotes[2]) return;
  hl_log(report->options->log,
         (const char *[]){state, ": what grows: heapdiff ", quotes[0], first, quotes[0], " ",
                          quotes[1], second, quotes[1], " ", quotes[2], third, quotes[2]},
         13);
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
    uint64_t external = report->taken->external_bytes;
    hl_log(report->options->log,
           (const char *[]){
               state, ": wrote ", report->path, ": ", lh_count_text(report->taken->objects).text,
               " objects, ", lh_size_text(report->taken->bytes, false).text,
               external > 0 ? " and " : "", external > 0 ? lh_size_text(external, false).text : "",
               external > 0 ? " of external strings" : "", "; see it: heapview ", quote,
               report->path, quote},
           quote ? 14 : 10);
    if (report->before[0]) print_comparison(report, state);
  }
}

/* ==== Options ======================================================================= */

typedef struct wanted {
  lh_watch_options watch;
  lh_take_options take;
  lh_track_options track;
  uint64_t max_files;
  unsigned no_word; /* 0: background=try */
  bool has_strings, is_tracked, pool, has_pool;
} wanted;

/* 23, "23", "URG" or "SIGURG"; true: URG. */
static bool read_signal(lua_State *L, const hl_option *option, void *out) {
  char name[16] = "";
  (void)option;
  int is_number, type = lua_type(L, -1);
  lua_Integer n = lua_tointegerx(L, -1, &is_number);
  if (type == LUA_TBOOLEAN && lua_toboolean(L, -1)) n = lh_signal_number("URG");
  if (type != LUA_TSTRING && type != LUA_TNUMBER && n == 0) return false;
  if (!is_number && type == LUA_TSTRING) {
    const char *text = lua_tostring(L, -1);
    for (size_t i = 0; i + 1 < sizeof name && text[i]; i++)
      name[i] = (char)toupper((unsigned char)text[i]);
    n = lh_signal_number(strncmp(name, "SIG", 3) == 0 ? name + 3 : name);
  }
  ((wanted *)out)->watch.signal_number = n >= 1 && n <= 64 ? (int)n : 0;
  return n >= 1 && n <= 64;
}

#define FIELD(field) offsetof(wanted, field)
#define OF_TRACK(field) FIELD(track.field)
static const char *const try_word[] = {"try", NULL};
static const hl_option options[] = {
    {"signal", HL_OTHER, .read = read_signal, .example = "signal=URG",
     .need = "it needs the name or the number of a signal, such as URG"},
    {"at", HL_SIZE, .field = FIELD(watch.at_bytes), .least = 1, .example = "at=512M"},
    {"again", HL_NUMBER, .field = FIELD(watch.again), .least = 1 + 1e-9, .example = "again=1.5",
     .need = "it needs a number above 1"},
    {"every", HL_SECONDS, .field = FIELD(watch.every_seconds), .least = 0.001,
     .example = "every=10m"},
    {"max", HL_SIZE, .field = FIELD(max_files), .least = 1, .example = "max=10",
     .need = "it needs a whole number, 1 or more"},
    {"marks", HL_SECONDS, .field = FIELD(watch.mark_seconds), .least = 0.001,
     .example = "marks=1m"},
    {"exit", HL_SWITCH, .field = FIELD(watch.at_exit), .example = "exit"},
    {"oom", HL_SWITCH, .field = FIELD(watch.out_of_memory), .example = "oom"},
    {"background", HL_WORD, .field = FIELD(no_word), .given = FIELD(watch.background),
     .or_true = true, .words = try_word, .example = "background", .need = "its only value is try"},
    {"strings", HL_SIZE, .field = FIELD(take.string_bytes), .given = FIELD(has_strings),
     .example = "strings=256"},
    {"dir", HL_TEXT, .field = FIELD(watch.directory), .example = "dir=/var/tmp",
     .need = "it needs a directory"},
    {"tag", HL_TEXT, .field = FIELD(watch.tag), .example = "tag=web", .need = "it needs a word"},
    {"log", HL_TEXT, .field = FIELD(watch.log), .example = "log=FILE|syslog|quiet",
     .need = "it needs a file, syslog or quiet"},
    {"track", HL_TEXT, .field = FIELD(track.file), .given = FIELD(is_tracked), .or_true = true,
     .example = "track=FILE", .need = "it needs a file, or no value"},
    HL_TRACK_OPTIONS(OF_TRACK),
    {"pool", HL_SWITCH, .field = FIELD(pool), .given = FIELD(has_pool), .example = "pool=no",
     .need = "its values are yes and no"},
    {0}};

static const char *need_of(const hl_option *option) {
  if (option->need) return option->need;
  if (option->kind == HL_SIZE)
    return "it needs a size: a number of bytes, or with k, m or g behind it";
  if (option->kind == HL_SECONDS)
    return "it needs a time: a number of seconds, or with s, m or h behind it";
  return "it takes no value";
}

/* Pushes the message that the format makes of the text, with a list of all options. */
static void push_refusal(lua_State *L, const char *format, const char *text) {
  lua_pushfstring(L, format, text);
  lua_pushliteral(L, "; the options are, for example, ");
  for (const hl_option *o = options; o->name; o++) {
    lua_pushfstring(L, "%s%s", o == options ? "" : ", ", o->example);
    lua_concat(L, 2);
  }
  lua_concat(L, 2);
}

/* The option that is meant by a mistyped name, or by a value of log; NULL: none. */
static const char *guess_option(lua_State *L, const char *name) {
  if (strcmp(name, "quiet") == 0 || strcmp(name, "syslog") == 0)
    return lua_pushfstring(L, "log=%s", name);
  for (const hl_option *o = options; o->name; o++)
    if (lh_is_nearly(name, strlen(name), o->name)) return o->name;
  return NULL;
}

/* Raises an error without a position; the name and the value are on top. */
static int refuse_option(lua_State *L, const hl_option *wrong) {
  int value = lua_gettop(L);
  bool is_true = lua_isboolean(L, value) && lua_toboolean(L, value);
  const char *name = luaL_tolstring(L, value - 1, NULL);
  if (!wrong->name) {
    const char *meant = guess_option(L, name);
    push_refusal(L, meant ? "there is no option %s" : "there is no option '%s'",
                 meant ? lua_pushfstring(L, "'%s' (is %s meant?)", name, meant) : name);
    return lua_error(L);
  }
  if (!is_true) name = lua_pushfstring(L, "%s=%s", name, luaL_tolstring(L, value, NULL));
  push_refusal(L, "%s", lua_pushfstring(L, "'%s' makes no sense: %s", name, need_of(wrong)));
  return lua_error(L);
}

/* Makes the path absolute: the program may change its directory. The text stays on the stack. */
static const char *absolute_log(lua_State *L, const char *log) {
  char directory[PATH_MAX];
  bool is_word = strcmp(log, "quiet") == 0 || strcmp(log, "syslog") == 0;
  if (is_word || !*log || *log == '/' || !getcwd(directory, sizeof directory)) return log;
  return lua_pushfstring(L, "%s/%s", directory, log);
}

/* An option of the table at index 1 that needs `track`; NULL: none is given. */
static const char *option_of_track(lua_State *L) {
  size_t track = FIELD(track), end = track + sizeof(lh_track_options);
  for (const hl_option *o = options; o->name; o++) {
    if ((o->field < track || o->field >= end) && o->field != FIELD(pool)) continue;
    lua_pushstring(L, o->name);
    (void)lua_rawget(L, 1);
    bool is_given = lua_toboolean(L, -1);
    lua_pop(L, 1);
    if (is_given) return o->name;
  }
  return NULL;
}

static void report_trouble(const char *trouble, const char *log) {
  hl_log(log, (const char *[]){": ", trouble}, 2);
}

/* If another state or process writes the file already: FILE-PID, then FILE-PID-2 ... Pushes true,
** or nil, message, errno. */
static int start_tracking(lua_State *L, wanted *w) {
  enum { MOST_FILES = 100 };
  char other[PATH_MAX], number[16] = "";
  const char *file = w->track.file, *log = w->watch.log;
  int top = lua_gettop(L);
  int n = hl_start_tracking(L, &w->track);
  for (int i = 1; n > 1 && lua_tointegerx(L, -1, NULL) == EBUSY && i <= MOST_FILES; i++) {
    lua_settop(L, top);
    if (i > 1) (void)snprintf(number, sizeof number, "-%d", i);
    (void)snprintf(other, sizeof other, "%s-%d%s", file, (int)getpid(), number);
    w->track.file = other;
    n = hl_start_tracking(L, &w->track);
    if (n == 1) hl_log(log, (const char *[]){": ", file, " is being written: ", other}, 4);
  }
  if (n > 1) return n;
  hl_log(log, (const char *[]){": tracked", file ? ", into " : "", file ? w->track.file : ""}, 3);
  return n;
}

static int start_watch(lua_State *L, wanted *w) {
  lh_error error;
  w->watch.max_files = w->max_files < UINT32_MAX ? (uint32_t)w->max_files : UINT32_MAX;
  w->watch.falls_back = w->no_word == 0;
  w->watch.take = w->has_strings ? &w->take : NULL;
  w->watch.report = print_report;
  w->watch.report_is_signal_safe = true;
  if (lh_watch(L, &w->watch, &error) < 0) return hl_fail(L, &error);
  hr_stay_loaded();
  print_armed(L, &w->watch);
  lua_pushboolean(L, 1);
  return 1;
}

/* start(options, program) --> true | nil, message, errno. Raises an error for a wrong option. */
static int start(lua_State *L) {
  wanted w = {.no_word = 1, .watch.log = "", .track.report = report_trouble};
  const lh_watch_options *o = &w.watch;
  luaL_checktype(L, 1, LUA_TTABLE);
  w.watch.program = luaL_optstring(L, 2, NULL);
  const hl_option *wrong = hl_find_wrong_option(L, 1, options, &w);
  if (wrong) return refuse_option(L, wrong);
  const char *of_track = w.is_tracked ? NULL : option_of_track(L);
  if (of_track) {
    lua_pushnil(L);
    push_refusal(L, "'%s' is an option of track, which is not there", of_track);
    lua_pushinteger(L, 0);
    return 3;
  }
  w.watch.log = w.track.log = absolute_log(L, w.watch.log);
  if (w.has_pool) w.track.pool = w.pool ? LH_POOL_ALWAYS : LH_POOL_NEVER;
  int n = w.is_tracked ? start_tracking(L, &w) : 0;
  bool watches = o->signal_number || o->at_bytes || o->every_seconds > 0 || o->mark_seconds > 0 ||
                 o->at_exit || o->out_of_memory;
  return n > 1 || (n == 1 && !watches) ? n : start_watch(L, &w);
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

__attribute__((visibility("default"))) int luaopen_heap_watch(lua_State *L);

int luaopen_heap_watch(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"start", start}, {"stop", stop},          {"environment", environment},
      {"say", say},     {"untrack", hl_untrack}, {"process", process},
      {NULL, NULL}};
  if (!HR_IS_AT_HOME(L)) return 0;
  hl_attach(L);
  hl_note_stderr();
  lua_createtable(L, 0, 6);
  luaL_setfuncs(L, functions, 0);
  return 1;
}
