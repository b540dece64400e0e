/*
** test_states.c - Lua states are found in another process, wherever their memory is from, and
** nothing else is taken for one: closed states, copies. Other Luas: test_other_luas.c.
*/
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "forged_memory.h"
#include "outside/outside.h"
#include "state_search.h"
#include "subject.h"

/* ==== How often the kernel is asked, and how long that takes ======================== */

static size_t n_reads;
static uint64_t ns_each_read; /* that the clock goes on, for each */

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now) {
  int code = __real_clock_gettime(clock, now);
  uint64_t ns = (uint64_t)now->tv_nsec + n_reads * ns_each_read;
  now->tv_sec += (time_t)(ns / 1000000000);
  now->tv_nsec = (long)(ns % 1000000000);
  return code;
}

ssize_t __real_process_vm_readv(pid_t process, const struct iovec *here, unsigned long n_here,
                                const struct iovec *there, unsigned long n_there,
                                unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t process, const struct iovec *here, unsigned long n_here,
                                const struct iovec *there, unsigned long n_there,
                                unsigned long flags);

ssize_t __wrap_process_vm_readv(pid_t process, const struct iovec *here, unsigned long n_here,
                                const struct iovec *there, unsigned long n_there,
                                unsigned long flags) {
  n_reads++;
  return __real_process_vm_readv(process, here, n_here, there, n_there, flags);
}

/* As memory is read that the process shares with the one that it was forked from: this one. */
ssize_t __real_pread(int file, void *to, size_t n, off_t from);
ssize_t __wrap_pread(int file, void *to, size_t n, off_t from);

ssize_t __wrap_pread(int file, void *to, size_t n, off_t from) {
  n_reads++;
  return __real_pread(file, to, n, from);
}

/* ==================================================================================== */

static const lh_found_state *found_at(const search *s, const void *address) {
  for (size_t i = 0; i < s->n; i++) {
    if (s->states[i].address == (uintptr_t)address) return &s->states[i];
  }
  return NULL;
}

static char *map(size_t bytes) {
  char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) _exit(5);
  return memory;
}

/* ==== Wherever they are ============================================================= */

enum { STATES = 6, ARENA_BYTES = 256 * 1024 };
static char in_bss[ARENA_BYTES];
static _Thread_local char in_thread[ARENA_BYTES];

typedef struct answer {
  lua_State *states[STATES];
  uint64_t count[STATES];
} answer;

static uint64_t gc_bytes_of(lua_State *L) {
  return (uint64_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024 + (uint64_t)lua_gc(L, LUA_GCCOUNTB, 0);
}

static void live_everywhere(const subject *self) {
  static arena arenas[4];
  answer *a = self->shared;
  arenas[0] = (arena){in_bss, 0, sizeof in_bss};
  arenas[1] = (arena){in_thread, 0, sizeof in_thread};
  arenas[2] = (arena){map(ARENA_BYTES), 0, ARENA_BYTES};
  arenas[3] = (arena){map(ARENA_BYTES), 0, ARENA_BYTES};
  for (int i = 0; i < STATES; i++) {
    arena *own = i == 0 ? NULL : &arenas[i < 4 ? i - 1 : 3];
    a->states[i] = arena_new_state(own);
  }
  arena_run(a->states[0], "arg = {[0] = 'a.lua'}", "@not this");
  arena_run(a->states[1], "function f() end", "@b.lua");
  arena_run(a->states[2], "f = load('return 1')", "=c");
  lh_error error;
  if (lh_attach(a->states[3], &error) < 0) _exit(6);
  for (int i = 0; i < STATES; i++) a->count[i] = gc_bytes_of(a->states[i]);
  subject_wait(self);
}

static void finds_states_everywhere(void **state) {
  (void)state;
  static const char *const scripts[STATES] = {"a.lua", "b.lua", "return 1"};
  answer *a = subject_share(sizeof *a);
  subject child = subject_start(live_everywhere, a);
  search s = search_start(child.id);
  assert_int_equal(s.n, STATES);
  for (int i = 0; i < STATES; i++) {
    const lh_found_state *f = found_at(&s, a->states[i]);
    assert_non_null(f);
    assert_int_equal(f->gc_bytes, a->count[i]);
    assert_string_equal(f->script, scripts[i] ? scripts[i] : "");
    assert_int_equal(f->has_luaheap, i == 3);
    assert_int_equal(f->is_text, i == 2);
    assert_string_equal(f->release, &LUA_RELEASE[strlen("Lua ")]);
    assert_string_equal(f->release, lh_release_of(s.target, f->address));
    lh_found_state now = *f;
    now.gc_bytes = 0;
    assert_int_equal(lh_outside_sizes(s.target, &now, 1, &s.error), LH_OK);
    assert_int_equal(now.gc_bytes, a->count[i]);
    for (int k = 0; k < i; k++) assert_int_not_equal(f->id, found_at(&s, a->states[k])->id);
  }
  assert_string_equal(lh_release_of(s.target, 8), "");
  search_end(&s);
  subject_end(&child);
}

/* ==== Closed ======================================================================== */

enum { CLOSED = 2000, COPIES = 4 };

static void close_many(const subject *self) {
  static arena a;
  a = (arena){map(64 << 20), 0, 64 << 20};
  size_t one = 0;
  for (int i = 0; i < CLOSED; i++) {
    bool in_arena = i % 2 && one <= a.bytes - a.used;
    size_t before = a.used;
    lua_State *L = arena_new_state(in_arena ? &a : NULL);
    arena_run(L, "t = {} for i = 1, 10 do t[i] = {} end", "@a.lua");
    if (in_arena) one = 2 * (a.used - before);
    if (i >= CLOSED - COPIES) { /* open: copies of it are none */
      char *copy = map(a.used);
      memcpy(copy, a.memory, a.used);
    }
    lua_close(L);
  }
  subject_wait(self);
}

static void takes_no_closed_state_for_one(void **state) {
  (void)state;
  subject child = subject_start(close_many, NULL);
  search_refused(child.id, "), but no state of Lua 5.4 or 5.5 is open in it");
  subject_end(&child);
}

/* ==== Hard to find ================================================================== */

enum { PIECE = 1 << 20, EDGES = 40 };

/* States all around the end of a piece, one that begins in a mapping and ends in the next, and one
** in the middle of a mapping of 64 GB. */
static void live_at_edges(const subject *self) {
  static arena a;
  lua_State **states = self->shared;
  size_t n = 0;
  for (size_t i = 0; i < EDGES; i++) {
    char *memory = map(2 * PIECE);
    a = (arena){memory, PIECE - 8 * i, 2 * PIECE};
    states[n++] = arena_new_state(&a);
    memset(memory, 1, PIECE - 8 * i); /* so that what is written begins there */
  }
  char *memory = map(2 * PIECE);
  if (mprotect(memory, PIECE, PROT_READ | PROT_WRITE | PROT_EXEC)) _exit(5);
  a = (arena){memory, PIECE - 512, 2 * PIECE};
  states[n++] = arena_new_state(&a);
  size_t big = (size_t)64 << 30;
  int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  memory = mmap(NULL, big, PROT_READ | PROT_WRITE, kind, -1, 0);
  if (memory == MAP_FAILED) _exit(5);
  a = (arena){memory, big / 2, big};
  states[n++] = arena_new_state(&a);
  subject_wait(self);
}

static void finds_states_at_edges(void **state) {
  (void)state;
  enum { N = EDGES + 2 };
  lua_State **states = subject_share(N * sizeof *states);
  subject child = subject_start(live_at_edges, states);
  search s = search_start(child.id);
  for (int i = 0; i < N; i++) {
    if (!found_at(&s, states[i])) fail_msg("state %d is not found", i);
  }
  assert_int_equal(s.n, N);
  search_end(&s);
  subject_end(&child);
}

/* A collector at work all the time, which moves its count from field to field; and states that come
** and go at one address. */
static void *work_on(void *state) {
  lua_State *L = state;
  arena a = {map(ARENA_BYTES), 0, ARENA_BYTES};
  for (;; a.used = 0) {
    arena_run(L, "for i = 1, 1000 do t = {i, {}, i .. 'x'} end collectgarbage('step', 1)",
              "@a.lua");
    lua_close(arena_new_state(&a));
  }
  return NULL;
}

static void live_at_work(const subject *self) {
  pthread_t thread;
  lua_State *L = arena_new_state(NULL);
  *(lua_State **)self->shared = L;
  if (pthread_create(&thread, NULL, work_on, L)) _exit(6);
  subject_wait(self);
}

static void finds_a_state_at_work(void **state) {
  (void)state;
  lua_State **L = subject_share(sizeof *L);
  subject child = subject_start(live_at_work, L);
  for (int i = 0; i < 20; i++) {
    search s = search_start(child.id);
    assert_in_range(s.n, 1, 2);
    assert_non_null(found_at(&s, *L));
    search_end(&s);
  }
  subject_end(&child);
}

/* ==== Many ========================================================================== */

enum { MANY = 200, MOST_SEARCHED_EACH = 4, MOST_PAGES_EACH = 6 };

static void live_many(const subject *self) {
  for (int i = 0; i < MANY; i++) {
    arena *a = malloc(sizeof *a);
    if (!a) _exit(7);
    *a = (arena){map(ARENA_BYTES), 0, ARENA_BYTES};
    arena_run(arena_new_state(a), "t = {} for i = 1, 10 do t[i] = {} end function f() end",
              "@a.lua");
  }
  subject_wait(self);
}

static void live_without_states(const subject *self) {
  subject_wait(self);
}

/* How often a process is read to find so many states in it. */
static size_t reads_to_find(size_t n, void (*live)(const subject *)) {
  subject child = subject_start(live, NULL);
  n_reads = 0;
  search s = search_start(child.id);
  size_t reads = n_reads;
  assert_int_equal(s.n, n);
  for (size_t i = 0; i < n; i++) assert_string_equal(s.states[i].script, "a.lua");
  search_end(&s);
  subject_end(&child);
  return reads;
}

/* A search has read most of what tells a state already. */
static void searches_many_with_few_reads(void **state) {
  (void)state;
  size_t without = reads_to_find(0, live_without_states);
  assert_in_range(reads_to_find(MANY, live_many), 1, without + MANY * MOST_SEARCHED_EACH);
}

/* Of each state that goes on the pages are read that tell it; a closed one has no size, nor has one
** with another in its place. */
static void live_and_close(const subject *self) {
  static arena a;
  lua_State **states = self->shared;
  a = (arena){map(ARENA_BYTES), 0, ARENA_BYTES};
  states[0] = arena_new_state(&a);
  for (size_t i = 1; i < MANY; i++) {
    states[i] = arena_new_state(NULL);
    arena_run(states[i], "t = {} for i = 1, 300 do t[i] = {tostring(i)} end", "@a.lua");
  }
  subject_wait(self);
  arena_run(states[2], "t = nil collectgarbage()", "@a.lua");
  lua_close(states[1]);
  lua_close(states[0]);
  a.used = 0;
  sleep(1); /* the seed of a new state is of the second */
  if (arena_new_state(&a) != states[0]) _exit(7);
  subject_wait(self);
}

static void reads_sizes_of_many(void **state) {
  (void)state;
  lua_State **states = subject_share(MANY * sizeof *states);
  subject child = subject_start(live_and_close, states);
  search s = search_start(child.id);
  lh_found_state now[MANY];
  assert_int_equal(s.n, MANY);
  memcpy(now, s.states, sizeof now);
  n_reads = 0;
  assert_int_equal(lh_outside_sizes(s.target, now, MANY, &s.error), LH_OK);
  assert_in_range(n_reads, 1, MANY * MOST_PAGES_EACH);
  for (size_t i = 0; i < MANY; i++) assert_int_equal(now[i].gc_bytes, s.states[i].gc_bytes);
  subject_go_on(&child);
  assert_int_equal(lh_outside_sizes(s.target, now, MANY, &s.error), LH_OK);
  for (size_t i = 0; i < MANY; i++) {
    bool is_gone =
        &s.states[i] == found_at(&s, states[0]) || &s.states[i] == found_at(&s, states[1]);
    bool is_smaller = &s.states[i] == found_at(&s, states[2]);
    uint64_t before = s.states[i].gc_bytes;
    if (is_smaller)
      assert_in_range(now[i].gc_bytes, 1, before - 1);
    else
      assert_int_equal(now[i].gc_bytes, is_gone ? 0 : before);
  }
  for (int i = 0; i < 2; i++) {
    now[0] = *found_at(&s, states[i]);
    assert_int_equal(lh_outside_sizes(s.target, now, 1, &s.error), LH_EHOST);
    assert_int_equal(now[0].gc_bytes, 0);
  }
  search_end(&s);
  subject_end(&child);
}

enum {
  FALSE_STATES = 20,
  CACHED = 1 << 16,
  STRINGS = 1 << 13,
  FALSE_PAGE = 4096,
  MOST_READS_EACH = 30
};

/* Blocks that pass for states with 65,536 strings in the cache, each on another page than the one
** before. */
static void live_falsely(const subject *self) {
  image m;
  image_begin(&m, &image_releases[N_RELEASES - 1], false);
  size_t fixed = m.r->global + m.r->metatables + 72;
  char *strings = map((size_t)STRINGS * FALSE_PAGE), *text = image_string(&m, "cached");
  put_pointer(m.global, (void *)0x7010); /* where no mapping is */
  for (size_t i = 0; i < STRINGS; i++) memcpy(strings + i * FALSE_PAGE, text, 31);
  for (size_t i = 0; i < FALSE_STATES; i++) {
    char *at = map(fixed + (size_t)CACHED * 8 + 64);
    memcpy(at, m.main, fixed);
    put_pointer(at + 24, at + m.r->global);
    put_pointer(at + m.r->global + m.r->main_thread, at);
    for (size_t k = 0; k < CACHED; k++)
      put_pointer(at + fixed + 8 * k, strings + k % STRINGS * FALSE_PAGE);
  }
  subject_wait(self);
}

static size_t reads_of_false_states(const subject *child) {
  n_reads = 0;
  search s = search_start(child->id);
  size_t reads = n_reads;
  assert_int_equal(s.n, FALSE_STATES + 1);
  search_end(&s);
  return reads;
}

static void reads_little_of_false_states(void **state) {
  (void)state;
  size_t without = reads_to_find(0, live_without_states);
  subject child = subject_start(live_falsely, NULL);
  assert_in_range(reads_of_false_states(&child), FALSE_STATES,
                  without + FALSE_STATES * MOST_READS_EACH);
  subject_end(&child);
}

static void count_searched(void *payload, uint64_t searched_bytes) {
  *(uint64_t *)payload = searched_bytes;
}

/* A search would take 400 s, and may take a minute and somewhat more. */
static void gives_up_in_time(void **state) {
  (void)state;
  uint64_t shown = 0;
  subject child = subject_start(live_falsely, NULL);
  size_t reads = reads_of_false_states(&child);
  search s = {0};
  assert_int_equal(lh_open_process(child.id, NULL, &s.target, &s.error), LH_OK);
  lh_show_search(s.target, count_searched, &shown);
  n_reads = 0;
  ns_each_read = 400000000000 / reads;
  s.rc = lh_find_states(s.target, &s.states, &s.n, &s.error);
  ns_each_read = 0;
  assert_int_equal(s.rc, LH_EIO);
  assert_int_equal(s.n, 0);
  assert_non_null(strstr(s.error.message, "gave up the search for Lua states after "));
  assert_true(n_reads < reads * 3 / 4);
  search_end(&s);
  subject_end(&child);
}

enum { SHOWN_AFTER = 64 << 20 };

static void live_large(const subject *self) {
  memset(map(2 * (size_t)SHOWN_AFTER), 1, 2 * (size_t)SHOWN_AFTER);
  (void)arena_new_state(NULL);
  subject_wait(self);
}

static void shows_how_far_it_is(void **state) {
  (void)state;
  uint64_t shown = 0;
  lh_error error;
  lh_target *target;
  const lh_found_state *states;
  size_t n;
  subject child = subject_start(live_large, NULL);
  assert_int_equal(lh_open_process(child.id, NULL, &target, &error), LH_OK);
  lh_show_search(target, count_searched, &shown);
  assert_int_equal(lh_find_states(target, &states, &n, &error), LH_OK);
  assert_int_equal(n, 1);
  assert_true(shown >= 2 * (uint64_t)SHOWN_AFTER);
  lh_target_free(target);
  subject_end(&child);
}

/* ==== Forged ======================================================================== */

/* A target whose memory is what `read` says. */
typedef struct forged {
  lh_target target;
  lh_memory_region regions[2];
  uint64_t lacks, lacks_end; /* cannot be read */
  const char *release;
} forged;

static bool read_own(const lh_memory *memory, uint64_t address, void *out, size_t n) {
  const forged *f = (const void *)((const char *)memory - offsetof(forged, target.memory));
  if (address < f->lacks_end && address + n > f->lacks) return false;
  return lh_process_read(getpid(), address, out, n);
}

static lh_memory_region region(const void *start, size_t bytes, unsigned access) {
  uint64_t at = (uintptr_t)start;
  return (lh_memory_region){
      .start = at, .end = at + bytes, .present_bytes = bytes, .path = "", .access = access};
}

static void forge(forged *f, const char *minor, const void *start, size_t bytes) {
  *f = (forged){.target.is_core = true, .release = minor}; /* no file is mapped */
  f->regions[0] = region(start, bytes, LH_REGION_READ | LH_REGION_WRITE);
  f->target.memory = (lh_memory){.regions = f->regions, .n = 1, .read = read_own, .fd = -1};
}

/* The release of this program's Lua as its layout tells it. */
static const char *release_by_layout(void) {
  const char *own = &LUA_RELEASE[strlen("Lua ")];
  for (const lh_layout *l = lh_layouts; l->releases; l++)
    if (strcmp(l->releases, own) == 0) return own;
  return LH_LUA_NAME;
}

static size_t count_states(forged *f) {
  size_t n;
  lh_error error;
  const lh_found_state *states;
  int rc = lh_find_states(&f->target, &states, &n, &error);
  assert_int_equal(rc, n ? LH_OK : LH_EHOST);
  for (size_t i = 0; i < n; i++) assert_string_equal(states[i].release, f->release);
  lh_free(f->target.found);
  f->target.found = NULL;
  return n;
}

/* The allocation function is in no mapping that is known, in one with code, in one without. */
static void finds_forged_states_of_every_layout(void **state) {
  (void)state;
  for (size_t i = 0; i < N_RELEASES; i++) {
    image m;
    forged f;
    image_begin(&m, &image_releases[i], false);
    forge(&f, "5.4", m.main - 8, m.r->block_bytes);
    if (!strchr(m.r->releases, ' ')) f.release = m.r->releases;
    assert_int_equal(count_states(&f), 1);
    f.regions[1] = region((void *)0x7000, 0x1000, LH_REGION_READ | LH_REGION_EXECUTE);
    lh_memory_region last = f.regions[0];
    f.regions[0] = f.regions[1];
    f.regions[1] = last;
    f.target.memory.n = 2;
    put_pointer(m.global, (void *)0x7010);
    assert_int_equal(count_states(&f), 1);
    f.regions[0].access = LH_REGION_READ;
    assert_int_equal(count_states(&f), 0);
    put_pointer(m.main + 24, NULL); /* what was freed may be kept as it was */
    image_end(&m);
  }
}

static void passes_over_what_cannot_be_read(void **state) {
  (void)state;
  enum { PAGE = 4096 };
  forged f;
  arena a = {map(4 * PIECE), 2 * PIECE, 4 * PIECE};
  lua_State *L = arena_new_state(&a);
  forge(&f, release_by_layout(), a.memory, a.bytes);
  for (int pages = 1; pages < 300; pages += 13) {
    f.lacks_end = (uintptr_t)a.memory + 2 * PIECE;
    f.lacks = f.lacks_end - (uint64_t)pages * PAGE;
    assert_int_equal(count_states(&f), 1);
  }
  f.lacks_end += PAGE;
  assert_int_equal(count_states(&f), 0);
  lua_close(L);
  (void)munmap(a.memory, a.bytes);
}

/* All that is followed may be anything. */
static void survives_any_content(void **state) {
  (void)state;
  forged f;
  arena a = {map(PIECE / 8), 0, PIECE / 8};
  uint64_t random = 1;
  lua_State *L = arena_new_state(&a);
  arena_run(L, "arg = {[0] = 'a.lua'} function f() end", "@a.lua");
  char *sound = malloc(a.bytes);
  memcpy(sound, a.memory, a.bytes);
  forge(&f, release_by_layout(), a.memory, a.bytes);
  for (int i = 0; i < 300; i++) {
    for (int k = 0; k < i; k++) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      a.memory[(random >> 33) % a.used] = (char)(random >> 24);
    }
    const lh_found_state *states;
    size_t n;
    int rc = lh_find_states(&f.target, &states, &n, NULL);
    assert_true(rc == LH_OK ? n == 1 : rc == LH_EHOST && !states);
    memcpy(a.memory, sound, a.bytes);
  }
  assert_int_equal(count_states(&f), 1);
  free(sound);
  lua_close(L);
  (void)munmap(a.memory, a.bytes);
}

static void needs_memory(void **state) {
  (void)state;
  forged f;
  arena a = {map(PIECE), 0, PIECE};
  lua_State *L = arena_new_state(&a);
  forge(&f, release_by_layout(), a.memory, a.bytes);
  (void)lh_test_fail_allocation(0);
  assert_int_equal(count_states(&f), 1);
  uint64_t n = lh_test_fail_allocation(0);
  assert_in_range(n, 3, 10);
  for (uint64_t i = 1; i <= n; i++) {
    lh_error error;
    size_t n_states;
    const lh_found_state *states;
    (void)lh_test_fail_allocation(i);
    assert_int_equal(lh_find_states(&f.target, &states, &n_states, &error), LH_EMEMORY);
    assert_null(states);
    lh_free(f.target.found);
    f.target.found = NULL;
  }
  (void)lh_test_fail_allocation(0);
  lua_close(L);
  (void)munmap(a.memory, a.bytes);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_states_everywhere),
      cmocka_unit_test(takes_no_closed_state_for_one),
      cmocka_unit_test(finds_states_at_edges),
      cmocka_unit_test(finds_a_state_at_work),
      cmocka_unit_test(searches_many_with_few_reads),
      cmocka_unit_test(reads_sizes_of_many),
      cmocka_unit_test(reads_little_of_false_states),
      cmocka_unit_test(gives_up_in_time),
      cmocka_unit_test(shows_how_far_it_is),
      cmocka_unit_test(finds_forged_states_of_every_layout),
      cmocka_unit_test(passes_over_what_cannot_be_read),
      cmocka_unit_test(survives_any_content),
      cmocka_unit_test(needs_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
