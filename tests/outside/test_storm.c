/*
** test_storm.c - samples of a program that does nothing but change its heap, from outside: all of
** them are sound, and none has a table that no instruction of the program ever left.
**
** Each table of the storm holds one number, which no other has, under the keys 1 to n, or "a1" to
** "an"; and only grows. So a number of another table, or a key that is missing below the greatest
** one, is a change that was under way. One storm makes system calls; the other makes none but those
** of the allocator, and is sampled wherever it is.
*/
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "luaheap_outside.h"

/* {=== The storm ===================================================================== */

enum { LOWEST = 1 << 20, N_TABLES = 500 };

#define GROW(into, key) \
  "function(v, n) local t = {} for i = 1, n do " into "[" key "] = v end return t end,\n"

static const char storm[] =
    "local calls = ...\n"
    "local v, kept, random = 1 << 20, {}, 12345\n"
    "local names = {} for i = 1, 60 do names[i] = 'a' .. i end\n"
    "local insert = table.insert\n"
    "local kinds = {\n" GROW("t", "i") GROW("t", "names[i]") GROW("t", "#t + 1")
    "  function(v, n) local t = {} for i = 1, n do insert(t, v) end return t end,\n"
    "  function(v, n) return {v, v, v, v, v, a1 = v, a2 = v, a3 = v} end,\n"
    "  coroutine.wrap(function(v, n) while true do\n"
    "    local t = {} for i = 1, n do t[i] = v t[names[i]] = v end v, n = coroutine.yield(t)\n"
    "  end end)}\n"
    "local null = io.open('/dev/null', 'w') null:setvbuf('no')\n"
    "while true do\n"
    "  random = (random * 1103515245 + 12345) & 0x7fffffff\n"
    "  v = v + 1\n"
    "  local kind = kinds[(random >> 8) % #kinds + 1]\n"
    "  kept[(random >> 12) % 500 + 1] = kind(v, (random >> 4) % 60 + 1)\n"
    "  if v == 1 << 20 | 2000 then io.write('ready') io.flush() end\n"
    "  if calls and v % 100 == 0 then null:write('x') end\n"
    "end\n";

static void run_storm(const char *how, int out) {
  const char *lua = getenv("LUA");
  FILE *f = fopen("storm.lua", "w");
  if (!f || fputs(storm, f) < 0 || fclose(f) != 0) _exit(1);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)dup2(out, STDOUT_FILENO);
  (void)execlp(lua ? lua : "lua5.4", "lua", "storm.lua", how, (char *)NULL);
  _exit(1);
}

static pid_t start_storm(const char *how) {
  int ends[2];
  char ready[6];
  assert_int_equal(pipe(ends), 0);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) run_storm(how, ends[1]);
  (void)close(ends[1]);
  for (size_t n = 0; n < 5;) {
    ssize_t more = read(ends[0], ready, 5 - n);
    assert_true(more > 0);
    n += (size_t)more;
  }
  (void)close(ends[0]);
  return pid;
}

/* }=================================================================================== */

/* {=== What a sample has ============================================================= */

/* The greatest of its keys, and how many there are. */
typedef struct keys {
  uint64_t greatest, n;
} keys;

static void add_key(keys *k, uint64_t number) {
  k->n++;
  if (number > k->greatest) k->greatest = number;
}

/* Of other tables `math` may have an integer in front, by its hash: maxinteger. */
static bool is_of_storm(const lh_value *value) {
  return value->kind == LH_VALUE_INTEGER && value->as.integer > LOWEST &&
         value->as.integer < INT64_MAX;
}

/* Is it a table of the storm? Then it follows the rules. */
static bool check_table(const lh_snapshot *s, lh_id id) {
  lh_edges it;
  lh_value key, value;
  int64_t number = 0;
  keys numbers = {0}, names = {0};
  lh_entries_begin(s, id, &it);
  while (lh_entries_next(&it, &key, &value)) {
    if (number == 0 && !is_of_storm(&value)) return false;
    if (number == 0) number = value.as.integer;
    assert_int_equal(value.kind, LH_VALUE_INTEGER);
    assert_int_equal(value.as.integer, number);
    if (key.kind == LH_VALUE_INTEGER) {
      add_key(&numbers, (uint64_t)key.as.integer);
    } else {
      lh_object name;
      lh_object_at(s, key.as.object, &name);
      add_key(&names, strtoull((const char *)name.as.string.bytes + 1, NULL, 10));
    }
  }
  assert_int_equal(numbers.n, numbers.greatest);
  assert_int_equal(names.n, names.greatest);
  return number != 0;
}

static void check_sample(void) {
  lh_snapshot *s;
  lh_error error;
  lh_object o;
  uint32_t n_tables = 0;
  if (lh_open(&s, "sample", &error) < 0) fail_msg("%s", error.message);
  if (lh_verify(s, NULL, &error) < 0) fail_msg("%s", error.message);
  for (lh_id id = 1; id <= lh_snapshot_info(s)->objects; id++) {
    lh_object_at(s, id, &o);
    if (o.type == LH_TYPE_TABLE && !o.dead) n_tables += check_table(s, id);
  }
  assert_true(n_tables > 0);
  lh_close(s);
}

/* }=================================================================================== */

/* Returns how many of n samples were taken in a system call. */
static unsigned sample(const char *how, unsigned n) {
  lh_outside_told told;
  unsigned n_in_call = 0;
  lh_error error = {0};
  lh_target *target;
  lh_found_state *states;
  size_t n_states;
  pid_t pid = start_storm(how);
  if (lh_open_process(pid, &target, &error) < 0) fail_msg("%s", error.message);
  if (lh_find_states(target, &states, &n_states, &error) < 0) fail_msg("%s", error.message);
  assert_int_equal(n_states, 1);
  for (unsigned i = 0; i < n; i++) {
    lh_outside_request request = {.state = states[0].address, .path = "sample"};
    if (lh_take_outside(target, &request, 1, NULL, &told, &error) < 0)
      fail_msg("%s", error.message);
    n_in_call += told.was_in_system_call;
    assert_int_equal(request.unaccounted_bytes, 0);
    check_sample();
  }
  lh_free_states(states);
  lh_target_free(target);
  assert_int_equal(kill(pid, SIGKILL), 0);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  assert_int_equal(unlink("sample"), 0);
  assert_int_equal(unlink("storm.lua"), 0);
  return n_in_call;
}

static void test_calls(void **unused) {
  (void)unused;
  assert_true(sample("calls", 60) > 0);
}

static void test_no_calls(void **unused) {
  (void)unused;
  (void)sample(NULL, 20);
}

int main(int argc, char **arguments) {
  (void)argc;
  lh_make_way(arguments);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_calls), cmocka_unit_test(test_no_calls)};
  return folder_run(tests);
}
