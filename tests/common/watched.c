/* watched.c - a host with a watched Lua state (watched.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "any_lua.h"
#include "watched.h"

void *host_allocate(void *data, void *block, size_t old_bytes, size_t bytes) {
  host *h = data;
  size_t held_bytes = block ? old_bytes : 0;
  if (bytes == 0) {
    free(block);
    h->live_bytes -= held_bytes;
    return NULL;
  }
  if (bytes > held_bytes) {
    uint64_t n = ++h->growths;
    if (h->fail_at && n >= h->fail_at && n - h->fail_at < h->fail_times) return NULL;
    if (h->limit_bytes && h->live_bytes + bytes - held_bytes > h->limit_bytes) return NULL;
  }
  void *made = realloc(block, bytes);
  if (made) h->live_bytes += bytes - held_bytes;
  return made;
}

void host_report(const lh_watch_report *report, void *payload) {
  host *h = payload;
  lh_snapshot *snapshot = NULL;
  (void)snprintf(h->path, sizeof h->path, "%s", report->path);
  if (!report->taken) {
    h->error = *report->error;
    h->failed++;
  } else if (lh_open(&snapshot, report->path, &h->error) < 0) {
    h->failed++;
  } else {
    h->written += lh_snapshot_info(snapshot)->unaccounted_bytes >= 0;
    (void)unlink(report->path);
  }
  lh_close(snapshot);
}

static int ask_host(lua_State *L) {
  const host *h = lua_touserdata(L, lua_upvalueindex(1));
  if (!h->keeps_quiet) (void)raise(SIGUSR2);
  return 0;
}

static int written(lua_State *L) {
  const host *h = lua_touserdata(L, lua_upvalueindex(1));
  lua_pushinteger(L, h->written);
  return 1;
}

void host_begin(host *h) {
  static const luaL_Reg functions[] = {{"ask", ask_host}, {"written", written}, {NULL, NULL}};
  *h = (host){0};
  h->L = any_newstate(host_allocate, h);
  assert_non_null(h->L);
  luaL_openlibs(h->L);
  lua_pushglobaltable(h->L);
  lua_pushlightuserdata(h->L, h);
  luaL_setfuncs(h->L, functions, 1);
  lua_settop(h->L, 0);
  assert_int_equal(lh_attach(h->L, NULL), LH_OK);
}

void host_watch(host *h, lh_watch_options options) {
  lh_error error;
  options.program = "test";
  if (!options.report) options.report = host_report;
  options.payload = h;
  if (lh_watch(h->L, &options, &error) < 0) fail_msg("%s", error.message);
}

void host_begin_watched(host *h) {
  host_begin(h);
  host_watch(h, (lh_watch_options){.signal_number = SIGUSR2});
}

const char *host_try(host *h, const char *program) {
  lua_settop(h->L, 0);
  return luaL_dostring(h->L, program) ? lua_tostring(h->L, -1) : "ok";
}

void host_run(host *h, const char *program) {
  const char *result = host_try(h, program);
  if (strcmp(result, "ok") != 0) fail_msg("%s", result);
  lua_settop(h->L, 0);
}

void host_end(host *h) {
  lua_close(h->L);
  assert_int_equal(h->live_bytes, 0);
  assert_int_equal(h->failed, 0);
}
