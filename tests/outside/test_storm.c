/*
** test_storm.c - samples of a program that does nothing but change its heap, from outside: all of
** them are sound, and none has a table that no instruction of the program ever left.
**
** Each table of the storm holds one number, which no other has, under the keys 1 to n, or "a1" to
** "an"; and only grows. So a number of another table, or a key that is missing below the greatest
** one, is a change that was under way. One storm makes system calls; the others make none but those
** of the allocator, and are sampled wherever they are: forked, stopped, with a filter, in threads.
*/
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
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

#include "attach.h"
#include "folder.h"
#include "outside/outside.h"
#include "outside/registers.h"
#include "outside/watched_words.h"
#include "requests.h"
#include "soak.h"

/* ==== The storm ===================================================================== */

enum { LOWEST = 1 << 20, MOST_STATES = 24 };

#define GROW(into, key) \
  "function(v, n) local t = {} for i = 1, n do " into "[" key "] = v end return t end,\n"

static const char script[] =
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

/* How it runs: which argument the script has, how many states of a program that has threads run it
** (0: an interpreter), whether its system calls are filtered, so that it cannot be forked. */
typedef struct storm {
  const char *argument;
  int n_threads;
  bool has_filter;
} storm;

/* Next to this program. */
static void find_host(char *path, size_t size) {
  ssize_t n = readlink("/proc/self/exe", path, size - 1);
  path[n < 0 ? 0 : n] = '\0';
  char *name = strrchr(path, '/');
  if (!name || (size_t)(name + sizeof "/storm_host" - path) > size) _exit(1);
  memcpy(name, "/storm_host", sizeof "/storm_host");
}

static void filter_calls(void) {
  struct sock_filter rule = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {1, &rule};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
    _exit(1);
}

static void run_storm(const storm *how, int out) {
  char path[4096], n_threads[16];
  const char *lua = getenv("LUA");
  FILE *f = fopen("storm.lua", "w");
  if (!f || fputs(script, f) < 0 || fclose(f) != 0) _exit(1);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  (void)dup2(out, STDOUT_FILENO);
  if (how->has_filter) filter_calls();
  find_host(path, sizeof path);
  (void)snprintf(n_threads, sizeof n_threads, "%d", how->n_threads);
  if (how->n_threads > 0)
    (void)execl(path, "lua", "storm.lua", how->argument ? how->argument : "-", n_threads,
                (char *)NULL);
  else
    (void)execlp(lua ? lua : "lua5.4", "lua", "storm.lua", how->argument, (char *)NULL);
  _exit(1);
}

static size_t n_states(const storm *how) {
  return how->n_threads > 0 ? (size_t)how->n_threads : 1;
}

static pid_t running; /* a storm that nobody has ended; 0: none */

static pid_t start_storm(const storm *how) {
  int ends[2];
  char ready[sizeof "ready" * MOST_STATES];
  size_t all = strlen("ready") * n_states(how);
  assert_int_equal(pipe(ends), 0);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) run_storm(how, ends[1]);
  running = pid;
  (void)close(ends[1]);
  for (size_t n = 0; n < all;) {
    ssize_t more = read(ends[0], ready, all - n);
    assert_true(more > 0);
    n += (size_t)more;
  }
  (void)close(ends[0]);
  return pid;
}

static void end_storm(pid_t pid) {
  int status;
  assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
  assert_int_equal(kill(pid, SIGKILL), 0);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  running = 0;
  assert_int_equal(unlink("storm.lua"), 0);
}

/* After a test that failed: its storm would take processor time from the next tests. */
static int end_what_runs(void **unused) {
  (void)unused;
  int status = 0;
  if (running > 0) (void)kill(running, SIGKILL);
  while (running > 0 && !WIFSIGNALED(status) && waitpid(running, &status, 0) == running) continue;
  running = 0;
  return 0;
}

/* ==== What a sample has ============================================================= */

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

static void check_sample(const char *path) {
  lh_snapshot *s;
  lh_error error;
  lh_object o;
  uint32_t n_tables = 0;
  if (lh_open(&s, path, &error) < 0) fail_msg("%s", error.message);
  if (lh_verify(s, NULL, &error) < 0) fail_msg("%s", error.message);
  for (lh_id id = 1; id <= lh_snapshot_info(s)->objects; id++) {
    lh_object_at(s, id, &o);
    if (o.type == LH_TYPE_TABLE && !o.dead) n_tables += check_table(s, id);
  }
  assert_true(n_tables > 0);
  lh_close(s);
}

/* ==== A machine whose debug registers report nothing ================================ */

bool __real_lh_can_watch(void);
bool __wrap_lh_can_watch(void);

static bool is_without_registers;

bool __wrap_lh_can_watch(void) {
  return !is_without_registers && __real_lh_can_watch();
}

static int restore_registers(void **unused) {
  is_without_registers = false;
  return end_what_runs(unused);
}

/* ==== Samples ======================================================================= */

typedef struct sampled {
  lh_target *target;
  lh_outside_request requests[MOST_STATES];
  char paths[MOST_STATES][16];
  size_t n;
  lh_outside_result result;
  unsigned n_in_call, n_stopped; /* of all samples: how many were taken so */
} sampled;

static void open_storm(const storm *how, pid_t pid, sampled *s) {
  lh_error error = {0};
  const lh_found_state *states;
  *s = (sampled){0};
  if (lh_open_process(pid, NULL, &s->target, &error) < 0) fail_msg("%s", error.message);
  if (lh_find_states(s->target, &states, &s->n, &error) < 0) fail_msg("%s", error.message);
  assert_int_equal(s->n, n_states(how));
  for (size_t i = 0; i < s->n; i++) {
    (void)snprintf(s->paths[i], sizeof s->paths[i], "sample-%zu", i);
    s->requests[i] = (lh_outside_request){.state = states[i].address, .path = s->paths[i]};
  }
}

static int take_sampled(sampled *s, bool never_fork, lh_error *error) {
  lh_outside_options options = {.string_bytes = LH_DEFAULT_STRING_BYTES, .never_fork = never_fork};
  return lh_take_outside(s->target, s->requests, s->n, &options, &s->result, error);
}

/* A try that begins a minute after the first is the last, and may leave doubts: on a machine that
** gives this process no processor for so long. */
static bool was_in_time(uint64_t start_ns) {
  const uint64_t most_ns = 60000000000;
  return lh_now_ns() - start_ns < most_ns;
}

/* In eight tries each state comes to where Lua is amid no change: so none is in doubt. */
static void take_samples(sampled *s, bool never_fork, unsigned n) {
  lh_error error = {0};
  for (unsigned i = 0; i < n; i++) {
    uint64_t start_ns = lh_now_ns();
    int rc = take_sampled(s, never_fork, &error);
    bool in_time = was_in_time(start_ns);
    if (rc < 0 && (in_time || rc != LH_EBUSY)) fail_msg("%s", error.message);
    if (rc < 0) continue;
    for (size_t k = 0; k < s->n; k++) {
      assert_int_equal(s->requests[k].unaccounted_bytes, 0);
      s->n_in_call += s->result.was_in_system_call;
      s->n_stopped += s->result.stillness == LH_STILL_STOPPED;
      if (LH_CAN_INJECT && in_time) assert_false(s->requests[k].is_in_doubt);
      if (!s->requests[k].is_in_doubt) check_sample(s->requests[k].path);
      (void)unlink(s->requests[k].path);
    }
  }
}

static sampled sample(const storm *how, bool never_fork, unsigned n) {
  sampled s;
  pid_t pid = start_storm(how);
  open_storm(how, pid, &s);
  take_samples(&s, never_fork, soak_times(n));
  lh_target_free(s.target);
  end_storm(pid);
  return s;
}

static void test_calls(void **unused) {
  (void)unused;
  const storm how = {.argument = "calls"};
  assert_true(sample(&how, false, 24).n_in_call > 0);
}

static void test_no_calls(void **unused) {
  (void)unused;
  const storm how = {0};
  (void)sample(&how, false, 10);
  assert_true(sample(&how, true, 10).n_stopped > 0);
}

static void test_filter(void **unused) {
  (void)unused;
  const storm how = {.has_filter = true};
  assert_true(sample(&how, false, 5).n_stopped > 0);
}

/* It counts in memory that it shares with others, which whoever runs on in its place must not
** touch: so that comes to no place that is known to be safe. */
static void test_shared_memory(void **unused) {
  (void)unused;
  const storm how = {.n_threads = 2, .argument = "counter"};
  lh_error error;
  sampled s;
  int n_in_doubt = 0, fd = open("counter", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  assert_int_equal(ftruncate(fd, sizeof(uint64_t)), 0);
  (void)close(fd);
  pid_t pid = start_storm(&how);
  open_storm(&how, pid, &s);
  for (int i = 0; i < 4; i++) {
    if (take_sampled(&s, i % 2, &error) < 0 && error.code != LH_EBUSY)
      fail_msg("%s", error.message);
    for (size_t k = 0; k < s.n; k++) n_in_doubt += s.requests[k].is_in_doubt;
  }
  assert_true(n_in_doubt > 0);
  lh_target_free(s.target);
  end_storm(pid);
  for (size_t k = 0; k < s.n; k++) (void)unlink(s.requests[k].path);
  assert_int_equal(unlink("counter"), 0);
}

static void test_threads(void **unused) {
  (void)unused;
  const storm how = {.n_threads = 2};
  (void)sample(&how, false, 3);
  (void)sample(&how, true, 3);
}

/* One of them has the lock of all allocators, wherever it is stopped, and the others wait for it.
** */
static void test_lock(void **unused) {
  (void)unused;
  const storm how = {.n_threads = 4, .argument = "lock"};
  (void)sample(&how, false, 2);
  (void)sample(&how, true, 2);
}

/* What is no state fails no other one of the same request. */
static void test_one_that_is_none(void **unused) {
  (void)unused;
  const storm how = {.n_threads = 2};
  sampled s;
  lh_error error;
  pid_t pid = start_storm(&how);
  open_storm(&how, pid, &s);
  s.requests[s.n] = s.requests[0];
  s.requests[s.n].path = "sample-none";
  s.requests[0].state += 8;
  s.n++;
  assert_int_equal(take_sampled(&s, false, &error), LH_EHOST);
  assert_int_equal(s.requests[0].failure.code, LH_EHOST);
  assert_string_equal(s.requests[0].failure.message, error.message);
  for (size_t k = 1; k < s.n; k++) {
    assert_int_equal(s.requests[k].failure.code, LH_OK);
    if (!s.requests[k].is_in_doubt) check_sample(s.requests[k].path);
    assert_int_equal(unlink(s.requests[k].path), 0);
  }
  lh_target_free(s.target);
  end_storm(pid);
}

/* Each try lets all of them run on. One state in each try would leave most of them in doubt. */
static void test_many_states(void **unused) {
  (void)unused;
  const storm how = {.n_threads = MOST_STATES / SOAK_STEP};
  (void)sample(&how, false, 1);
}

/* ==== Cores ========================================================================= */

/* gdb stops the program anywhere. False: there is no gdb, or it may not trace. */
static bool make_core(pid_t pid) {
  char command[128];
  (void)snprintf(command, sizeof command, "gcore -o core %d >/dev/null 2>&1 && mv core.%d core",
                 (int)pid, (int)pid);
  int status = system(command);
  if (status != 0) print_message("no core by gdb: status %d\n", status);
  return status == 0;
}

/* The program runs on with the registers of the core. */
static void check_core(void) {
  lh_target *target;
  const lh_found_state *states;
  lh_error error = {0};
  size_t n;
  if (lh_open_core("core", &target, &error) < 0) fail_msg("%s", error.message);
  if (lh_find_states(target, &states, &n, &error) < 0) fail_msg("%s", error.message);
  assert_int_equal(n, 1);
  lh_outside_request request = {.state = states[0].address, .path = "sample-0"};
  if (lh_take_outside(target, &request, 1, NULL, NULL, &error) < 0) fail_msg("%s", error.message);
  assert_int_equal(request.is_in_doubt, !LH_CAN_INJECT);
  if (!request.is_in_doubt) check_sample("sample-0");
  lh_target_free(target);
  assert_int_equal(unlink("sample-0"), 0);
  assert_int_equal(unlink("core"), 0);
}

static void test_cores(void **unused) {
  (void)unused;
  const storm how = {0};
  const unsigned times = soak_times(4);
  pid_t pid = start_storm(&how);
  for (unsigned i = 0; i < times && make_core(pid); i++) check_core();
  end_storm(pid);
}

static void test_without_registers(void **unused) {
  is_without_registers = true;
  const storm with_threads = {.n_threads = 4};
  test_no_calls(unused);
  (void)sample(&with_threads, false, 2);
  test_cores(unused);
}

/* A debugger knew the vectors of SSE alone: what the processor has more begins anew. */
static void test_fewer_vectors(void **unused) {
  (void)unused;
#if defined __x86_64__
  enum { SSE_BYTES = 576 }; /* with the header of XSAVE */
  lh_all_registers before, fewer, after;
  int status;
  pid_t child = fork();
  if (child == 0) _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0 || raise(SIGSTOP) != 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSTOPPED(status));
  assert_true(lh_registers_get_all(child, &before));
  fewer = before;
  fewer.vector_bytes = SSE_BYTES;
  fewer.vectors[160] ^= 0xFF; /* of XMM0 */
  assert_true(lh_registers_set_all(child, &fewer));
  assert_true(lh_registers_get_all(child, &after));
  assert_int_equal(after.vector_bytes, before.vector_bytes);
  assert_int_equal(after.vectors[160], fewer.vectors[160]);
  assert_int_equal(ptrace(PTRACE_DETACH, child, NULL, NULL), 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
#endif
}

/* ==== Who samples is killed ========================================================= */

static void die(void *payload) {
  (void)payload;
  (void)syscall(SYS_kill, getpid(), SIGKILL); /* which is not counted */
}

/* Dies of the n-th request to the kernel, or ends well. */
static void sample_and_die(const storm *how, pid_t pid, int n) {
  sampled s;
  lh_error error;
  open_storm(how, pid, &s);
  requests_begin(n, die, NULL);
  _exit(take_sampled(&s, true, &error) < 0);
}

static bool is_alone(const void *of) {
  (void)of;
  return attach_live_children(getpid()) == 1;
}

static bool runs(const void *of) {
  lh_process_status status;
  return lh_process_status_of(*(const pid_t *)of, &status) && status.tracer == 0 &&
         status.state == 'R';
}

/* Children that it leaves are this process's then. */
static void test_killed(void **unused) {
  (void)unused;
  const storm how = {0};
  sampled s;
  const unsigned step = soak_step(1);
  int status = SIGKILL, n = 0, n_killed = -1;
  pid_t pid = start_storm(&how);
  assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  while (WIFSIGNALED(status)) {
    pid_t tool = fork();
    n += (int)step;
    n_killed++;
    if (tool == 0) sample_and_die(&how, pid, n);
    assert_int_equal(waitpid(tool, &status, 0), tool);
    if (!attach_wait_until(runs, &pid)) fail_msg("killed at request %d: it does not run", n);
    if (!attach_wait_until(is_alone, NULL)) fail_msg("killed at request %d: a child lives", n);
  }
  assert_int_equal(status, 0);
  print_message("killed %d times\n", n_killed);
  assert_true(n > 10);
  open_storm(&how, pid, &s);
  take_samples(&s, true, 1);
  lh_target_free(s.target);
  end_storm(pid);
}

/* ==================================================================================== */

#define STORM_TEST(test) cmocka_unit_test_teardown(test, end_what_runs)

int main(int argc, char **arguments) {
  (void)argc;
  lh_reexec_elsewhere(arguments);
  const struct CMUnitTest tests[] = {
      STORM_TEST(test_calls),
      STORM_TEST(test_no_calls),
      STORM_TEST(test_filter),
      STORM_TEST(test_threads),
      STORM_TEST(test_lock),
      STORM_TEST(test_many_states),
      STORM_TEST(test_one_that_is_none),
      STORM_TEST(test_shared_memory),
      STORM_TEST(test_cores),
      cmocka_unit_test_teardown(test_without_registers, restore_registers),
      STORM_TEST(test_fewer_vectors),
      STORM_TEST(test_killed)};
  return folder_run(tests);
}
