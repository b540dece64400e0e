/* scene.c - a Lua state in a folder (see scene.h). */
#include "scene.h"

#include <dirent.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "rooms/all.h"

static int set_up(void **state, const char *program) {
  lua_State *L = luaL_newstate();
  if (!L || folder_enter() != 0) return -1;
  luaL_requiref(L, "string", luaopen_string, 1);
  lua_settop(L, 0);
  if (luaL_dostring(L, program) != LUA_OK || lh_attach(L, NULL) < 0) return -1;
  *state = L;
  return 0;
}

int scene_set_up(void **state) {
  return set_up(state, "kept = {} for i = 1, 6500 do kept[i] = ('long enough '):rep(17) .. i end");
}

int scene_big(void **state) {
  return set_up(state, "kept = {} for i = 1, 100000 do kept[i] = {i} end");
}

int scene_tear_down(void **state) {
  lua_close(*state);
  (void)unlink("a");
  (void)unlink("b");
  return folder_leave();
}

bool scene_is_whole(const char *path) {
  lh_snapshot *snapshot;
  if (lh_open(&snapshot, path, NULL) < 0) return false;
  bool whole = lh_snapshot_info(snapshot)->unaccounted_bytes == 0;
  lh_close(snapshot);
  return whole;
}

static const char older[] = "the older file";

void scene_set_older(bool there) {
  (void)unlink("a");
  if (!there) return;
  FILE *file = fopen("a", "w");
  if (!file) abort();
  (void)fputs(older, file);
  (void)fclose(file);
}

bool scene_is_older(bool there) {
  char content[64] = "";
  FILE *file = fopen("a", "r");
  if (!file) return !there;
  size_t n = fread(content, 1, sizeof content - 1, file);
  (void)fclose(file);
  return there && n == strlen(older) && strcmp(content, older) == 0;
}

static size_t count_files(const char *path) {
  struct dirent *entry;
  size_t n = 0;
  DIR *folder = opendir(path);
  if (!folder) abort();
  while ((entry = readdir(folder))) {
    const char *name = entry->d_name;
    n += strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, "a") != 0 &&
         strcmp(name, "b") != 0;
  }
  (void)closedir(folder);
  return n;
}

size_t scene_count_strays(void) {
  return count_files(".");
}

size_t scene_count_descriptors(void) {
  return count_files("/proc/self/fd");
}

int scene_take(lua_State *L, const char *path, bool background, lh_error *error) {
  lh_job *job;
  if (!background) return lh_take_snapshot(L, path, LH_DEFAULT_STRING_BYTES, error);
  int rc = lh_start_snapshot(L, path, LH_DEFAULT_STRING_BYTES, &job, error);
  if (rc < 0) return rc;
  rc = lh_job_wait(job, -1, error);
  lh_job_free(job);
  return rc;
}
