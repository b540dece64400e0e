/*
** test_walk_shared.c - a state whose objects refer to those of another one, as in skynet's Lua.
** Nobody has that Lua where the tests run: the states are of the Lua that is there, and their
** layout says that states share objects.
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "any_lua.h"
#include "folder.h"
#include "take/state.h"
#include "take/take.h"

/* The linker's names for the originals, and for ours. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);

static size_t n_calls; /* of malloc and the like, by the library */

void *__wrap_malloc(size_t bytes) {
  n_calls++;
  return __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes) {
  n_calls++;
  return __real_calloc(n, bytes);
}

void *__wrap_realloc(void *block, size_t bytes) {
  n_calls++;
  return __real_realloc(block, bytes);
}

/* Two states; `own` has a table with a table of `other`. */
typedef struct pair {
  lua_State *own, *other;
  raw_value *link;
  const raw_object *linked_before;
} pair;

enum { N_SHARED = 60000 }; /* tables and strings, of which records are more than two blocks */

static void run(lua_State *L, const char *program) {
  if (luaL_dostring(L, program)) fail_msg("%s", lua_tostring(L, -1));
}

static lh_layout *layout_of(lua_State *L) {
  return &lh_find_state(L, NULL)->layout;
}

static void share_all(lua_State *L) {
  const raw_object *o = raw_list(lh_global_state(L), LH_LIST_ALLGC);
  for (; o; o = o->next)
    if (o->type != RAW_THREAD) ((raw_object *)(uintptr_t)o)->marked |= RAW_SHARED;
}

static void begin_pair(pair *p) {
  p->own = luaL_newstate();
  p->other = luaL_newstate();
  assert_non_null(p->own);
  assert_non_null(p->other);
  luaL_openlibs(p->own);
  assert_int_equal(lh_attach(p->own, NULL), LH_OK);
  layout_of(p->own)->shares = true;
  lua_gc(p->own, LUA_GCSTOP, 0);
  lua_pushinteger(p->other, N_SHARED);
  lua_setglobal(p->other, "n");
  run(p->other, "t = {} for i = 1, n do t[i] = {'number ' .. i} end return t");
  share_all(p->other);
  lua_createtable(p->own, 0, 1);
  lua_createtable(p->own, 0, 0);
  lua_setfield(p->own, -2, "shared");
  const raw_table *t = lua_topointer(p->own, -1);
  raw_slot *slot = (raw_slot *)(uintptr_t)t->slots;
  p->link = (raw_value *)(void *)slot;
  p->linked_before = p->link->as.object;
  p->link->as.object = lua_topointer(p->other, -1);
  lua_setglobal(p->own, "holder");
}

static void end_pair(pair *p) {
  p->link->as.object = p->linked_before;
  lua_close(p->own);
  lua_close(p->other);
}

static void is_whole(const char *path) {
  lh_snapshot *s;
  lh_error error;
  if (lh_open(&s, path, &error) < 0) fail_msg("%s", error.message);
  assert_true(lh_snapshot_info(s)->objects > 2 * N_SHARED);
  assert_int_equal(lh_snapshot_info(s)->unaccounted_bytes, 0);
  lh_close(s);
  assert_int_equal(unlink(path), 0);
}

/* The objects of the other state have no bytes in this one, but records in the file. */
static void has_room_for_objects_of_others(void **state) {
  (void)state;
  pair p;
  lh_error error;
  begin_pair(&p);
  assert_true(lh_gc_bytes(lh_global_state(p.own)) < 100000);
  if (lh_take_snapshot(p.own, "a", 0, &error) < 0) fail_msg("%s", error.message);
  is_whole("a");
  end_pair(&p);
}

/* In the background a child of the program writes: another thread may have held malloc's locks. */
static void asks_malloc_for_nothing(void **state) {
  (void)state;
  pair p;
  begin_pair(&p);
  n_calls = 0;
  assert_int_equal(lh_take_snapshot(p.own, "a", 0, NULL), LH_OK);
  assert_int_equal(n_calls, 0);
  is_whole("a");
  end_pair(&p);
}

static bool may_read(const lh_walk *walk, const raw_object *object) {
  (void)walk;
  return (uintptr_t)object % 4096 != 0;
}

/* From outside a target may be memory that the heap's process does not have. */
static void reads_no_header_that_it_may_not(void **state) {
  (void)state;
  static const lh_walk_more more = {.may_read = may_read};
  lh_error error;
  lh_shot shot;
  lh_taken taken;
  pair p;
  begin_pair(&p);
  p.link->as.pointer = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(p.link->as.pointer, MAP_FAILED);
  if (lh_shot_prepare(p.own, "a", lh_shot_discard, NULL, NULL, &shot, &error) < 0)
    fail_msg("%s", error.message);
  shot.walk.more = &more;
  if (lh_shot_write(&shot, &taken, &error) < 0) fail_msg("%s", error.message);
  lh_shot_free(&shot);
  assert_int_equal(munmap(p.link->as.pointer, 4096), 0);
  end_pair(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(has_room_for_objects_of_others),
                                     cmocka_unit_test(asks_malloc_for_nothing),
                                     cmocka_unit_test(reads_no_header_that_it_may_not)};
  return folder_run(tests);
}
