/*
** test_silent_file.c - a program whose file is on a file system that does not answer any more, or a
** snapshot that goes to one.
**
** This process is the server of that file system (FUSE), which has one file, the interpreter, and
** takes one more. Who waits for its answer can often be ended by no signal.
*/
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "outside/outside.h"
#include "profile/format.h"
#include "rooms/profile.h"

/* ==== The server ==================================================================== */

typedef struct server {
  int fuse, interpreter;
  struct shared {
    volatile uint32_t unanswered; /* this request, from now on (FUSE_OPEN); 0: none */
    volatile bool is_asked;       /* it was made */
    lh_awaited awaited;           /* by who looks at the program */
  } * shared;
} server;

typedef struct answer {
  struct fuse_out_header header;
  union {
    struct fuse_init_out init;
    struct fuse_entry_out entry;
    struct fuse_attr_out attributes;
    struct fuse_open_out open;
    struct {
      struct fuse_entry_out entry;
      struct fuse_open_out open;
    } created;
    char bytes[1 << 17];
  } is;
} answer;

enum { THE_FILE = FUSE_ROOT_ID + 1, THE_OUTPUT };

static struct fuse_attr attributes_of(const server *s, uint64_t node) {
  struct stat st;
  bool is_file = node != FUSE_ROOT_ID;
  (void)fstat(s->interpreter, &st);
  return (struct fuse_attr){.ino = node,
                            .mode = is_file ? S_IFREG | 0755 : S_IFDIR | 0755,
                            .nlink = 1,
                            .size = node == THE_FILE ? (uint64_t)st.st_size : 0};
}

static size_t read_file(const server *s, const struct fuse_read_in *wanted, answer *a) {
  ssize_t n = pread(s->interpreter, a->is.bytes, wanted->size, (off_t)wanted->offset);
  return n < 0 ? 0 : (size_t)n;
}

/* The kernel forgets the pages of the file. It waits for those that it is just reading. */
static void forget_file(const server *s) {
  struct {
    struct fuse_out_header header;
    struct fuse_notify_inval_inode_out inode;
  } forget = {{sizeof forget, FUSE_NOTIFY_INVAL_INODE, 0}, {THE_FILE, 0, 0}};
  if (write(s->fuse, &forget, sizeof forget) < 0 && errno != ENOENT) _exit(1); /* it has none */
}

/* A child forgets and then answers that there is no such file: the server answers meanwhile. */
static ssize_t forget_meanwhile(const server *s, const struct fuse_in_header *in) {
  struct fuse_out_header none = {sizeof none, -ENOENT, in->unique};
  if (fork() == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    forget_file(s);
    _exit(write(s->fuse, &none, sizeof none) < 0);
  }
  return -1;
}

/* How many bytes an answer has; -1: there is none now. */
static ssize_t answer_request(const server *s, const struct fuse_in_header *in, answer *a) {
  const void *argument = in + 1;
  if (in->opcode == s->shared->unanswered) {
    s->shared->is_asked = true;
    return -1;
  }
  switch (in->opcode) {
    case FUSE_INIT:
      a->is.init = (struct fuse_init_out){.major = 7, .minor = 31, .max_write = 1 << 16};
      return sizeof a->is.init;
    case FUSE_LOOKUP:
      if (strcmp(argument, "forget") == 0) return forget_meanwhile(s, in);
      if (strcmp(argument, "lua") != 0 && strncmp(argument, "memfd:", 6) != 0) break;
      a->is.entry = (struct fuse_entry_out){.nodeid = THE_FILE, .attr = attributes_of(s, THE_FILE)};
      return sizeof a->is.entry;
    case FUSE_GETATTR:
      a->is.attributes = (struct fuse_attr_out){.attr = attributes_of(s, in->nodeid)};
      return sizeof a->is.attributes;
    case FUSE_OPEN: a->is.open = (struct fuse_open_out){0}; return sizeof a->is.open;
    case FUSE_READ: return (ssize_t)read_file(s, argument, a);
    case FUSE_CREATE:
      a->is.created.entry =
          (struct fuse_entry_out){.nodeid = THE_OUTPUT, .attr = attributes_of(s, THE_OUTPUT)};
      a->is.created.open = (struct fuse_open_out){0};
      return sizeof a->is.created;
    case FUSE_UNLINK:
    case FUSE_RELEASE: return 0;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET: return -1;
    default: break;
  }
  a->header.error = in->opcode == FUSE_LOOKUP ? -ENOENT : -ENOSYS;
  return 0;
}

/* Until the file system is unmounted. */
static _Noreturn void serve(const server *s) {
  static char request[1 << 18];
  static answer a;
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) {
    if (read(s->fuse, request, sizeof request) < 0 && errno == ENODEV) _exit(0);
    const struct fuse_in_header *in = (const struct fuse_in_header *)(const void *)request;
    a.header = (struct fuse_out_header){.unique = in->unique};
    ssize_t n = answer_request(s, in, &a);
    if (n < 0) continue;
    a.header.len = (uint32_t)(sizeof a.header + (size_t)n);
    if (write(s->fuse, &a, a.header.len) < 0 && errno == ENODEV) _exit(0);
  }
}

/* In a mount namespace of this process. False: it may not. */
static bool begin_server(server *s, pid_t *id) {
  char options[64];
  if (mkdir("silent", 0755) != 0) return false;
  s->fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  (void)snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", s->fuse);
  if (s->fuse < 0 || unshare(CLONE_NEWNS) != 0 ||
      mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("silent", "silent", "fuse", 0, options) != 0)
    return false;
  *id = fork();
  if (*id == 0) serve(s);
  (void)close(s->fuse); /* once the server has ended nobody waits for it any more */
  return *id > 0;
}

/* ==================================================================================== */

static int open_interpreter(void) {
  char path[4096] = "";
  const char *lua = getenv("LUA");
  (void)setenv("NAME", lua ? lua : "lua5.4", 1);
  FILE *f = popen("command -v \"$NAME\"", "r");
  if (f && fgets(path, sizeof path, f)) path[strcspn(path, "\n")] = '\0';
  if (f) (void)pclose(f);
  return open(path, O_RDONLY | O_CLOEXEC);
}

/* Once it has printed a line this process goes on. */
static pid_t start_program(const char *program, const char *text) {
  int in[2], out[2];
  char ready;
  assert_int_equal(pipe2(in, O_CLOEXEC), 0);
  assert_int_equal(pipe2(out, O_CLOEXEC), 0);
  pid_t id = fork();
  if (id == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(in[0], STDIN_FILENO);
    (void)dup2(out[1], STDOUT_FILENO);
    (void)execlp(program, "lua", "-e", text, (char *)NULL);
    _exit(1);
  }
  (void)close(out[1]);
  assert_int_equal(read(out[0], &ready, 1), 1);
  (void)close(out[0]);
  return id;
}

/* A file system with a program of it that waits or computes. */
typedef struct scene {
  server server;
  pid_t id, program;
} scene;

#define READY "print '' io.stdout:flush() "
static const char WAITS[] = READY "io.read()", COMPUTES[] = READY "while true do end",
                  HAS_A_CHILD[] = "local child = io.popen [[exec lua5.4 -e \"" READY
                                  "io.read()\"]] child:read() " READY "io.read()";

static void begin_scene(scene *s, const char *program, const char *text) {
  enum { ACCESS = PROT_READ | PROT_WRITE, KIND = MAP_SHARED | MAP_ANONYMOUS };
  *s = (scene){.id = -1, .server.interpreter = open_interpreter()};
  s->server.shared = mmap(NULL, sizeof *s->server.shared, ACCESS, KIND, -1, 0);
  if (s->server.interpreter < 0 || !begin_server(&s->server, &s->id)) {
    (void)rmdir("silent");
    skip();
  }
  s->program = start_program(program, text);
}

static void end_scene(const scene *s) {
  (void)kill(s->program, SIGKILL);
  (void)kill(s->id, SIGKILL);
  (void)waitpid(s->id, NULL, 0);
  (void)waitpid(s->program, NULL, 0);
  (void)umount2("silent", MNT_DETACH);
  (void)rmdir("silent");
}

/* What was read of the file is forgotten, and a request is not answered from now on. */
static void fall_silent(const scene *s, uint32_t request) {
  assert_int_equal(access("silent/forget", F_OK), -1);
  s->server.shared->unanswered = request;
}

static void wait_for_request(const scene *s) {
  while (!s->server.shared->is_asked) (void)usleep(1000);
}

static bool is_traced(pid_t id) {
  lh_process_status status;
  assert_true(lh_process_status_of(id, &status));
  return status.tracer != 0 || status.state == 't';
}

/* ==== The library ==================================================================== */

static void take_of_process(pid_t process, lh_outside_request *request, lh_outside_result *result) {
  lh_target *target;
  const lh_found_state *states;
  size_t n;
  lh_error error;
  if (lh_open_process(process, NULL, &target, &error) < 0) fail_msg("%s", error.message);
  if (lh_find_states(target, &states, &n, &error) < 0) fail_msg("%s", error.message);
  for (int i = 0; i < 2; i++) {
    request->state = states[0].address;
    if (lh_take_outside(target, request, 1, NULL, result, &error) < 0)
      fail_msg("%s", error.message);
    assert_int_equal(access(request->path, F_OK), 0);
    if (i == 1) assert_null(result->silent_file); /* nothing is asked of it again */
    if (i == 0) assert_non_null(strstr(result->silent_file, "/silent/lua"));
  }
  lh_target_free(target);
}

static void a_snapshot_without_names(void **state) {
  (void)state;
  lh_outside_request request = {.path = "a"};
  lh_outside_result result;
  scene s;
  begin_scene(&s, "silent/lua", WAITS);
  fall_silent(&s, FUSE_OPEN);
  take_of_process(s.program, &request, &result);
  end_scene(&s);
  (void)unlink("a");
}

static _Noreturn void stop_and_count(const scene *s) {
  lh_target *target;
  const lh_found_state *states;
  size_t n;
  const lh_outside_options options = {.never_fork = true};
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (lh_open_process(s->program, &s->server.shared->awaited, &target, NULL) < 0 ||
      lh_find_states(target, &states, &n, NULL) < 0)
    _exit(1);
  lh_outside_request request = {.state = states[0].address};
  fall_silent(s, FUSE_READ);
  (void)lh_take_outside(target, &request, 1, &options, NULL, NULL);
  _exit(0);
}

/* It computes, so its code is wanted. */
static void the_program_does_not_stand_still_for_it(void **state) {
  (void)state;
  scene s;
  begin_scene(&s, "silent/lua", COMPUTES);
  pid_t child = fork();
  if (child == 0) stop_and_count(&s);
  for (lh_await_watch watch = {0}; lh_await_look(&watch, &s.server.shared->awaited) < 3;)
    (void)usleep(100000);
  assert_true(s.server.shared->is_asked);
  assert_non_null(strstr(s.server.shared->awaited.path, "/silent/lua"));
  assert_false(is_traced(s.program));
  (void)kill(child, SIGKILL);
  end_scene(&s);
  (void)waitpid(child, NULL, 0);
}

/* ==== Files that pass for luaheap's ================================================== */

/* Has the silent file open by the names of a tracked program: where a file system has been taken
** away its files have no folder above them. */
static _Noreturn void pass_for_tracked(int ready) {
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  bool is_ready =
      unshare(CLONE_NEWNS) == 0 && open("silent/memfd:" LH_LIVE_REQUEST, O_RDONLY) >= 0 &&
      open("silent/memfd:" LH_LIVE_PROFILE, O_RDONLY) >= 0 && umount2("silent", MNT_DETACH) == 0;
  if (write(ready, is_ready ? "y" : "n", 1) == 1) (void)pause();
  _exit(0);
}

/* heapprof --live-of asks its server nothing. */
static void a_file_that_passes_for_a_request(void **state) {
  (void)state;
  static const uint32_t requests[] = {FUSE_GETATTR, FUSE_OPEN, FUSE_READ};
  for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
    scene s;
    lh_tracked *tracked;
    lh_profile *profile;
    int ends[2];
    char ready = 'n';
    begin_scene(&s, "lua5.4", WAITS);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t id = fork();
    if (id == 0) pass_for_tracked(ends[1]);
    assert_int_equal(read(ends[0], &ready, 1), 1);
    assert_int_equal(ready, 'y');
    fall_silent(&s, requests[i]);
    assert_int_equal(lh_tracked_open((uint64_t)id, &tracked, NULL), LH_OK);
    assert_int_equal(lh_tracked_ask(tracked, NULL), LH_EIO);
    assert_int_equal(lh_tracked_look(tracked, &profile, NULL), LH_EIO);
    assert_false(s.server.shared->is_asked);
    lh_tracked_close(tracked);
    (void)kill(id, SIGKILL);
    (void)waitpid(id, NULL, 0);
    end_scene(&s);
    (void)close(ends[0]);
    (void)close(ends[1]);
  }
}

/* ==== The command ==================================================================== */

typedef struct command {
  pid_t id;
  FILE *messages;
} command;

/* heapattach of this program's tree; build/test has none, and takes that of build. */
static void find_heapattach(char *path, size_t size) {
  ssize_t n = readlink("/proc/self/exe", path, size);
  assert_true(n > 0 && (size_t)n + sizeof "/bin/heapattach" <= size);
  path[n] = '\0';
  *strrchr(path, '/') = '\0'; /* build/TREE/tests */
  for (int i = 0; i < 2; i++) {
    char *end = strrchr(path, '/');
    assert_non_null(end);
    (void)strcpy(end, "/bin/heapattach");
    if (access(path, X_OK) == 0) return;
    *end = '\0';
  }
  fail_msg("there is no bin/heapattach in %s or above it", path);
}

static void start_command(command *c, pid_t process, const char *const *options) {
  char path[4096 + 64], number[16], *words[8] = {"heapattach"};
  int ends[2];
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  find_heapattach(path, sizeof path);
  (void)snprintf(number, sizeof number, "%d", (int)process);
  size_t n_words = 1;
  while (*options) words[n_words++] = (char *)(uintptr_t)*options++;
  if (process > 0) words[n_words] = number;
  c->id = fork();
  if (c->id == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(ends[1], STDERR_FILENO);
    (void)execv(path, words);
    _exit(1);
  }
  (void)close(ends[1]);
  c->messages = fdopen(ends[0], "r");
}

static void expect_message(const command *c, const char *text) {
  char line[1024] = "";
  (void)fgets(line, sizeof line, c->messages);
  if (!strstr(line, text)) fail_msg("'%s' is not in '%s'", text, line);
}

/* How it ends. */
static int end_of(const command *c) {
  int status;
  (void)fclose(c->messages);
  assert_int_equal(waitpid(c->id, &status, 0), c->id);
  return status;
}

static const char *const LIST[] = {"--list", NULL}, *const OUTPUT[] = {"-o", "a", NULL};

static void a_page_that_does_not_come(void **state) {
  (void)state;
  scene s;
  command c;
  begin_scene(&s, "silent/lua", WAITS);
  fall_silent(&s, FUSE_READ);
  for (int i = 0; i < 2; i++) {
    start_command(&c, s.program, i == 0 ? LIST : OUTPUT);
    expect_message(&c, "/silent/lua' does not answer");
    int status = end_of(&c);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
    assert_false(is_traced(s.program));
    assert_int_equal(access("a", F_OK), -1);
  }
  end_scene(&s);
}

static void a_signal_ends_it(void **state) {
  (void)state;
  static const int signals[] = {SIGTERM, SIGINT};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    scene s;
    command c;
    begin_scene(&s, "silent/lua", WAITS);
    fall_silent(&s, FUSE_READ);
    start_command(&c, s.program, LIST);
    wait_for_request(&s);
    (void)kill(c.id, signals[i]);
    int status = end_of(&c);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
    assert_false(is_traced(s.program));
    end_scene(&s);
  }
}

/* Asked for its folder's entry, or while it is written. */
static void an_output_that_is_not_taken(void **state) {
  (void)state;
  static const uint32_t requests[] = {FUSE_LOOKUP, FUSE_WRITE};
  for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
    scene s;
    command c;
    begin_scene(&s, "lua5.4", WAITS);
    fall_silent(&s, requests[i]);
    start_command(&c, s.program, (const char *const[]){"-o", "silent/a", NULL});
    expect_message(&c, "waiting for the file system of 'silent/a'");
    (void)kill(c.id, SIGTERM);
    int status = end_of(&c);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_false(is_traced(s.program));
    end_scene(&s);
  }
}

/* Whoever has started it, and others beside it, are listed all the same. */
static void one_of_those_that_were_started(void **state) {
  (void)state;
  scene s;
  command c;
  char silent[64], other[64];
  begin_scene(&s, "silent/lua", WAITS);
  pid_t beside = start_program("lua5.4", WAITS);
  (void)snprintf(silent, sizeof silent, "process %d was not looked at: ", (int)s.program);
  (void)snprintf(other, sizeof other, "    heapattach --list %d ", (int)beside);
  fall_silent(&s, FUSE_READ);
  start_command(&c, getpid(), LIST);
  expect_message(&c, "no state of Lua 5.4 or 5.5");
  expect_message(&c, silent);
  expect_message(&c, "Lua 5.4 or 5.5 runs in what it has started:");
  expect_message(&c, other);
  int status = end_of(&c);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
  (void)kill(beside, SIGKILL);
  (void)waitpid(beside, NULL, 0);
  end_scene(&s);
}

static void what_a_silent_one_has_started(void **state) {
  (void)state;
  scene s;
  command c;
  begin_scene(&s, "silent/lua", HAS_A_CHILD);
  fall_silent(&s, FUSE_READ);
  start_command(&c, s.program, LIST);
  expect_message(&c, "/silent/lua' does not answer");
  expect_message(&c, "Lua 5.4 or 5.5 runs in what it has started:");
  expect_message(&c, "    heapattach --list ");
  int status = end_of(&c);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
  end_scene(&s);
}

static void an_older_snapshot_that_does_not_open(void **state) {
  (void)state;
  scene s;
  command c;
  begin_scene(&s, "lua5.4", WAITS);
  fall_silent(&s, FUSE_LOOKUP);
  start_command(&c, s.program, (const char *const[]){"--after", "silent/a", "-o", "b", NULL});
  expect_message(&c, "the file system of 'silent/a' does not answer");
  int status = end_of(&c);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
  assert_int_equal(access("b", F_OK), -1);
  end_scene(&s);
}

/* Neither its name is answered nor a page of it, which is an interpreter's. */
static void a_core_that_does_not_open(void **state) {
  (void)state;
  static const uint32_t requests[] = {FUSE_LOOKUP, FUSE_OPEN, FUSE_READ};
  for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
    scene s;
    command c;
    begin_scene(&s, "lua5.4", WAITS);
    fall_silent(&s, requests[i]);
    start_command(&c, 0, (const char *const[]){"--list", "silent/lua", NULL});
    expect_message(&c, "the file system of 'silent/lua' does not answer");
    int status = end_of(&c);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
    end_scene(&s);
  }
}

/* ==================================================================================== */

int main(int argc, char **arguments) {
  (void)argc;
  lh_reexec_elsewhere(arguments);
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_snapshot_without_names),
                                     cmocka_unit_test(the_program_does_not_stand_still_for_it),
                                     cmocka_unit_test(a_file_that_passes_for_a_request),
                                     cmocka_unit_test(a_page_that_does_not_come),
                                     cmocka_unit_test(a_signal_ends_it),
                                     cmocka_unit_test(an_output_that_is_not_taken),
                                     cmocka_unit_test(one_of_those_that_were_started),
                                     cmocka_unit_test(what_a_silent_one_has_started),
                                     cmocka_unit_test(an_older_snapshot_that_does_not_open),
                                     cmocka_unit_test(a_core_that_does_not_open)};
  return folder_run(tests);
}
