/*
** test_embed.c - the C API in a program that embeds Lua: its own allocator, no module, no
** libraries.
**
** The allocator is an oracle of its own: it knows the size of every block that Lua has, to the
** byte, sees each call, checks the sizes that Lua gives back, and can fail at any of them. A Lua
** error that nobody catches would end the program through lua_atpanic.
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "any_lua.h"
#include "folder.h"
#include "read/snapshot.h"
#include "rooms/all.h"

/* ==== The host ====================================================================== */

typedef struct host {
  size_t live;                 /* bytes in blocks */
  size_t made, freed, resized; /* calls */
  size_t fail_at;              /* this allocation from now on, and all after it; 0: none */
  size_t kind;                 /* what the last new block was said to be for */
} host;

static void *allocate_for_host(void *data, void *block, size_t old_size, size_t size) {
  host *h = data;
  size_t *header = block ? (size_t *)block - 2 : NULL;
  if (header && *header != old_size) fail_msg("Lua takes %zu bytes for %zu", *header, old_size);
  if (size == 0) {
    if (header) h->live -= *header, h->freed++;
    free(header);
    return NULL;
  }
  if (h->fail_at && (!header || size > old_size) && h->fail_at-- == 1) {
    h->fail_at = 1;
    return NULL;
  }
  size_t *moved = realloc(header, size + 2 * sizeof *header);
  if (!moved) return NULL;
  h->live += size - (header ? old_size : 0);
  if (header)
    h->resized++;
  else
    h->made++, h->kind = old_size;
  *moved = size;
  return moved + 2;
}

static int panic(lua_State *L) {
  fail_msg("an error that nobody caught: %s", lua_tostring(L, -1));
  return 0;
}

static lua_State *new_host(host *h) {
  *h = (host){0};
  lua_State *L = any_newstate(allocate_for_host, h);
  assert_non_null(L);
  lua_atpanic(L, panic);
  return L;
}

static void end_host(lua_State *L, host *h) {
  h->fail_at = 0;
  lua_close(L);
  assert_int_equal(h->live, 0);
}

static void forget_calls(host *h) {
  h->made = h->freed = h->resized = 0;
}

/* ==== A writer into memory =========================================================== */

typedef struct sink {
  uint8_t *data;
  size_t size, limit; /* bytes after which it takes no more */
} sink;

static size_t write_sink(const void *data, size_t n, void *payload) {
  sink *s = payload;
  size_t take = n < s->limit - s->size ? n : s->limit - s->size;
  s->data = realloc(s->data, s->size + take + 1);
  memcpy(s->data + s->size, data, take);
  s->size += take;
  return take;
}

static void add(lh_count *count, uint64_t bytes) {
  count->objects++;
  count->bytes += bytes;
}

/* Behind a snapshot, with room for n epochs: the same figures, without an allocation. */
static void counts_the_same(lua_State *L, const host *h, const lh_snapshot *snapshot, uint32_t n) {
  enum { MOST = 32 };
  lh_epoch_count epochs[MOST + 1];
  lh_count by_epoch[MOST + 1] = {{0}};
  lh_counts counts, expected = {0};
  lh_gc_stats stats;
  host before = *h;
  assert_int_equal(lh_stats(L, &stats, NULL), LH_OK);
  assert_int_equal(lh_count_objects(L, &counts, n ? epochs : NULL, n, NULL), LH_OK);
  assert_memory_equal(h, &before, sizeof before);
  assert_int_equal(stats.marks, lh_mark_count(snapshot));
  assert_true(n <= MOST && stats.marks <= MOST);
  uint32_t merged = n > stats.marks ? 0 : stats.marks + 1 - n;
  for (lh_id id = 1; id <= lh_object_count(snapshot); id++) {
    uint64_t bytes = lh_shallow_bytes(snapshot, id);
    uint32_t epoch = lh_epoch(snapshot, id);
    add(&expected.all, bytes);
    add(&expected.by_type[lh_type_of(snapshot, id)], bytes);
    if (lh_is_dead(snapshot, id)) add(&expected.dead, bytes);
    add(&by_epoch[epoch > merged ? epoch - merged : 0], bytes);
  }
  assert_memory_equal(&counts, &expected, sizeof counts);
  assert_int_equal(stats.bytes, h->live);
  assert_int_equal(counts.all.bytes + 8 * stats.table_slots, h->live);
  for (uint32_t i = 0; i < n && i + merged <= stats.marks; i++) {
    assert_memory_equal(&epochs[i].allocated, &by_epoch[i], sizeof by_epoch[i]);
    if (i == 0) {
      assert_null(epochs[i].name);
      continue;
    }
    const lh_mark_info *mark = lh_mark_at(snapshot, i + merged - 1);
    assert_int_equal(epochs[i].name_length, mark->name_length);
    assert_memory_equal(epochs[i].name, mark->name, mark->name_length);
    assert_int_equal(epochs[i].time_ns, mark->time_ns);
    assert_int_equal(epochs[i].is_snapshot, mark->is_snapshot);
  }
}

/* Streams a snapshot, checks it against the allocator, and opens it. */
static lh_snapshot *stream(lua_State *L, host *h, const char *name, sink *s) {
  lh_error error = {0};
  lh_taken taken;
  lh_snapshot *snapshot;
  *s = (sink){.limit = SIZE_MAX};
  int top = lua_gettop(L);
  if (lh_stream_snapshot(L, name, write_sink, s, NULL, &taken, &error) < 0) {
    fail_msg("%s", error.message);
  }
  assert_int_equal(lua_gettop(L), top);
  assert_int_equal(taken.bytes, h->live);
  if (lh_open_memory(&snapshot, s->data, s->size, "memory", &error) < 0) {
    fail_msg("%s", error.message);
  }
  const lh_info *info = lh_snapshot_info(snapshot);
  assert_int_equal(info->unaccounted_bytes, 0);
  assert_int_equal(info->gc_bytes, h->live);
  assert_int_equal(info->objects, taken.objects);
  assert_string_equal(info->name, name);
  for (uint32_t n = 0; n <= 32; n += 4) counts_the_same(L, h, snapshot, n);
  return snapshot;
}

static void end_stream(lh_snapshot *snapshot, sink *s) {
  lh_close(snapshot);
  free(s->data);
}

static void attach(lua_State *L) {
  lh_error error = {0};
  if (lh_attach(L, &error) < 0) fail_msg("%s", error.message);
}

/* ==================================================================================== */

static void code_is_refused(int rc, const lh_error *error, int code, const char *text) {
  assert_int_equal(rc, code);
  assert_int_equal(error->code, code);
  if (!strstr(error->message, text)) fail_msg("'%s' does not say '%s'", error->message, text);
}

static void exact_on_the_empty_state(void **state) {
  (void)state;
  host h;
  sink s;
  lua_State *L = new_host(&h);
  attach(L);
  lh_snapshot *snapshot = stream(L, &h, "empty", &s);
  assert_int_equal(lh_analyse(snapshot, NULL), LH_OK);
  assert_int_equal(lh_mark_count(snapshot), 1);
  end_stream(snapshot, &s);
  lua_gc(L, LUA_GCCOLLECT);
  end_stream(stream(L, &h, "collected", &s), &s);
  end_host(L, &h);
}

static void exact_with_the_libraries(void **state) {
  (void)state;
  host h;
  sink s;
  lua_State *L = new_host(&h);
  luaL_openlibs(L);
  attach(L);
  end_stream(stream(L, &h, "libraries", &s), &s);
  assert_int_equal(luaL_dostring(L, "t = {} for i = 1, 1000 do t[i] = {tostring(i)} end"), LUA_OK);
  end_stream(stream(L, &h, "work", &s), &s);
  lua_State *co = lua_newthread(L);
  luaL_checkstack(co, 1000, "");
  end_stream(stream(co, &h, "from a coroutine", &s), &s);
  lua_gc(L, LUA_GCGEN, 0, 0);
  lua_gc(L, LUA_GCSTEP, 0);
  end_stream(stream(L, &h, "generational", &s), &s);
  end_host(L, &h);
}

/* A mark costs two blocks of its own size and nothing else. */
static void allocates_only_the_marks(void **state) {
  (void)state;
  host h;
  sink s;
  lua_State *L = new_host(&h);
  luaL_openlibs(L);
  attach(L);
  lua_gc(L, LUA_GCSTOP);
  size_t at_first = h.live;
  (void)lua_newuserdatauv(L, 32, 1); /* as a mark has them; 5.5.1 aligns what they are to 16 */
  size_t mark_bytes = h.live - at_first;
  assert_in_range(mark_bytes, 88, 96);
  lua_gc(L, LUA_GCRESTART);
  for (size_t length = 0; length <= 4096; length = length * 2 + 1) {
    char name[4097];
    memset(name, 'n', length);
    name[length] = '\0';
    forget_calls(&h);
    size_t before = h.live;
    assert_int_equal(lh_mark(L, name, length, NULL), LH_OK);
    assert_int_equal(h.live - before, 2 * (mark_bytes + length));
    end_stream(stream(L, &h, name, &s), &s);
    assert_int_equal(h.live - before, 4 * (mark_bytes + length));
    assert_int_equal(h.made, 4);
    assert_int_equal(h.freed + h.resized, 0);
    assert_int_equal(h.kind, LUA_TUSERDATA);
  }
  end_host(L, &h);
}

static void attaches_once(void **state) {
  (void)state;
  host h;
  lua_State *L = new_host(&h);
  attach(L);
  forget_calls(&h);
  size_t live = h.live;
  attach(L);
  lua_State *co = lua_newthread(L);
  size_t with_thread = h.live;
  attach(co);
  assert_true(with_thread > live);
  assert_int_equal(h.live, with_thread);
  end_host(L, &h);
}

static void asks_for_attaching_first(void **state) {
  (void)state;
  host h;
  lh_error error;
  lh_taken taken;
  uint64_t bytes;
  lh_gc_stats stats;
  lh_counts counts;
  sink s = {.limit = SIZE_MAX};
  lua_State *L = new_host(&h);
  lua_newtable(L);
  code_is_refused(lh_mark(L, "x", 1, &error), &error, LH_EARGUMENT, "lh_attach was not called");
  code_is_refused(lh_stream_snapshot(L, "x", write_sink, &s, NULL, &taken, &error), &error,
                  LH_EARGUMENT, "lh_attach was not called");
  code_is_refused(lh_take_file(L, "not-made", NULL, &taken, &error), &error, LH_EARGUMENT,
                  "lh_attach was not called");
  code_is_refused(lh_sizeof(L, 1, &bytes, &error), &error, LH_EARGUMENT,
                  "lh_attach was not called");
  code_is_refused(lh_mark_period(L, NULL, &error), &error, LH_EARGUMENT,
                  "lh_attach was not called");
  code_is_refused(lh_stats(L, &stats, &error), &error, LH_EARGUMENT, "lh_attach was not called");
  code_is_refused(lh_count_objects(L, &counts, NULL, 0, &error), &error, LH_EARGUMENT,
                  "lh_attach was not called");
  assert_int_equal(access("not-made", F_OK), -1);
  assert_int_equal(s.size, 0);
  assert_int_equal(lua_gettop(L), 1);
  end_host(L, &h);
}

/* Every allocation of Lua's fails in turn, then all after it, too. */
static void survives_a_host_without_memory(void **state) {
  (void)state;
  host h;
  lh_error error;
  for (size_t n = 1;; n++) {
    lua_State *L = new_host(&h);
    lua_gc(L, LUA_GCSTOP);
    h.fail_at = n;
    int rc = lh_attach(L, &error);
    assert_int_equal(lua_gettop(L), 0);
    bool done = h.fail_at > 1 || n > 100;
    h.fail_at = 0;
    if (rc < 0) code_is_refused(rc, &error, LH_EMEMORY, "attaching to the Lua state");
    attach(L);
    for (size_t m = 1; m <= 2; m++) {
      size_t live = h.live;
      h.fail_at = m;
      code_is_refused(lh_mark(L, "x", 1, &error), &error, LH_EMEMORY, "planting a mark");
      h.fail_at = m;
      code_is_refused(lh_mark_period(L, NULL, &error), &error, LH_EMEMORY, "planting a mark");
      h.fail_at = 0;
      assert_int_equal(h.live, live);
    }
    assert_int_equal(lh_mark(L, "x", 1, &error), LH_OK);
    end_host(L, &h);
    if (done) break;
    assert_true(n < 100);
  }
}

/* Every allocation of the library's own fails in turn. Nothing is left but a void mark. */
static void survives_its_own_lack_of_memory(void **state) {
  (void)state;
  host h;
  sink s;
  lh_error error;
  lua_State *L = new_host(&h);
  attach(L);
  for (uint64_t n = 1;; n++) {
    lh_test_fail_allocation(n);
    int rc = lh_take_snapshot(L, "embed-memory", LH_DEFAULT_STRING_BYTES, &error);
    lh_test_fail_allocation(0);
    assert_int_equal(lua_gettop(L), 0);
    if (rc == LH_OK) {
      assert_true(n > 1);
      break;
    }
    code_is_refused(rc, &error, LH_EMEMORY, "not enough memory");
    assert_int_equal(access("embed-memory", F_OK), -1);
  }
  assert_int_equal(unlink("embed-memory"), 0);
  lh_snapshot *snapshot = stream(L, &h, "after", &s);
  assert_int_equal(lh_mark_count(snapshot), 2);
  assert_string_equal(lh_mark_at(snapshot, 0)->name, "embed-memory");
  end_stream(snapshot, &s);
  end_host(L, &h);
}

/* A writer that takes too few bytes, at any place. */
static void ends_when_the_writer_refuses(void **state) {
  (void)state;
  host h;
  sink whole, s;
  lh_error error;
  lh_taken taken;
  lua_State *L = new_host(&h);
  luaL_openlibs(L);
  assert_int_equal(luaL_dostring(L, "t = {} for i = 1, 130000 do t[i] = 'string ' .. i end"),
                   LUA_OK);
  attach(L);
  end_stream(stream(L, &h, "whole", &whole), &whole);
  assert_true(whole.size > 2 << 20);
  for (size_t limit = 0; limit < whole.size; limit += whole.size / 37 + 1) {
    s = (sink){.limit = limit};
    code_is_refused(lh_stream_snapshot(L, "cut", write_sink, &s, NULL, &taken, &error), &error,
                    LH_EIO, "took too few bytes");
    assert_int_equal(s.size, limit);
    free(s.data);
  }
  lh_snapshot *snapshot = stream(L, &h, "last", &s);
  assert_int_equal(lh_mark_count(snapshot), 2); /* whole and last */
  end_stream(snapshot, &s);
  end_host(L, &h);
}

static void knows_the_places_of_values(void **state) {
  (void)state;
  host h;
  lh_error error;
  uint64_t bytes = 77;
  lua_State *L = new_host(&h);
  attach(L);
  lua_pushinteger(L, 5);
  lua_createtable(L, 3, 0);
  lua_pushliteral(L, "abc");
  assert_int_equal(lh_sizeof(L, 1, &bytes, NULL), LH_OK);
  assert_int_equal(bytes, 0);
  assert_int_equal(lh_sizeof(L, 2, &bytes, NULL), LH_OK);
  assert_int_equal(bytes, LUA_VERSION_NUM == 504 ? 56 + 3 * 16 : 48 + 3 * 9 + 4);
  assert_int_equal(lh_sizeof(L, 3, &bytes, NULL), LH_OK);
  assert_int_equal(bytes, 28);
  static const int wrong[] = {0, 4, 100, -1, -3, LUA_REGISTRYINDEX, LUA_REGISTRYINDEX - 1};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    code_is_refused(lh_sizeof(L, wrong[i], &bytes, &error), &error, LH_EARGUMENT,
                    "no value at this index");
  }
  assert_int_equal(lua_gettop(L), 3);
  end_host(L, &h);
}

/* Where no slot of the stack is left it says so. */
static void says_when_the_stack_is_full(void **state) {
  (void)state;
  host h;
  sink s = {.limit = SIZE_MAX};
  lh_error error;
  uint64_t bytes;
  lua_State *L = new_host(&h);
  attach(L);
  int n = 0;
  while (lua_checkstack(L, 1) || lua_checkstack(L, 1)) { /* 5.4.5 finds more later */
    lua_pushnil(L);
    n++;
  }
  assert_true(n > 900000);
  size_t live = h.live;
  code_is_refused(lh_mark(L, "x", 1, &error), &error, LH_EMEMORY, "planting a mark");
  code_is_refused(lh_stream_snapshot(L, "x", write_sink, &s, NULL, NULL, &error), &error,
                  LH_EMEMORY, "planting a mark");
  code_is_refused(lh_sizeof(L, 1, &bytes, &error), &error, LH_EARGUMENT, "no value at this index");
  attach(lua_newthread((lua_pop(L, 30), L)));
  assert_true(h.live > live);
  free(s.data);
  end_host(L, &h);
}

static void tells_states_apart(void **state) {
  (void)state;
  host h[2];
  sink s[2];
  lua_State *L[2];
  lh_snapshot *snapshot[2];
  for (int i = 0; i < 2; i++) {
    L[i] = new_host(&h[i]);
    attach(L[i]);
    assert_int_equal(lh_mark(L[i], i ? "second" : "first", i ? 6 : 5, NULL), LH_OK);
    snapshot[i] = stream(L[i], &h[i], "s", &s[i]);
  }
  assert_true(lh_snapshot_info(snapshot[0])->state_id != lh_snapshot_info(snapshot[1])->state_id);
  assert_string_equal(lh_mark_at(snapshot[0], 0)->name, "first");
  assert_string_equal(lh_mark_at(snapshot[1], 0)->name, "second");
  for (int i = 0; i < 2; i++) {
    end_stream(snapshot[i], &s[i]);
    end_host(L[i], &h[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_on_the_empty_state),
      cmocka_unit_test(exact_with_the_libraries),
      cmocka_unit_test(allocates_only_the_marks),
      cmocka_unit_test(attaches_once),
      cmocka_unit_test(asks_for_attaching_first),
      cmocka_unit_test(survives_a_host_without_memory),
      cmocka_unit_test(survives_its_own_lack_of_memory),
      cmocka_unit_test(ends_when_the_writer_refuses),
      cmocka_unit_test(knows_the_places_of_values),
      cmocka_unit_test(says_when_the_stack_is_full),
      cmocka_unit_test(tells_states_apart),
  };
  return folder_run(tests);
}
