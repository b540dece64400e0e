/*
** test_silent_file.c - a program whose file is on a file system that does not answer any more.
**
** This process is the server of that file system (FUSE), which has one file, the interpreter. Who
** waits for its answer can be ended by no signal.
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

/* {=== The server ==================================================================== */

typedef struct server {
  int fuse, interpreter;
  volatile int *is_silent; /* shared: files that are opened from now on are not answered */
} server;

typedef struct answer {
  struct fuse_out_header header;
  union {
    struct fuse_init_out init;
    struct fuse_entry_out entry;
    struct fuse_attr_out attributes;
    struct fuse_open_out open;
    char bytes[1 << 17];
  } is;
} answer;

enum { THE_FILE = FUSE_ROOT_ID + 1 };

static struct fuse_attr attributes_of(const server *s, uint64_t node) {
  struct stat st;
  bool is_file = node == THE_FILE;
  (void)fstat(s->interpreter, &st);
  return (struct fuse_attr){.ino = node,
                            .mode = is_file ? S_IFREG | 0755 : S_IFDIR | 0755,
                            .nlink = 1,
                            .size = is_file ? (uint64_t)st.st_size : 0};
}

static size_t read_file(const server *s, const struct fuse_read_in *wanted, answer *a) {
  ssize_t n = pread(s->interpreter, a->is.bytes, wanted->size, (off_t)wanted->offset);
  return n < 0 ? 0 : (size_t)n;
}

/* How many bytes an answer has; -1: there is none. */
static ssize_t answer_request(const server *s, const struct fuse_in_header *in, answer *a) {
  const void *argument = in + 1;
  switch (in->opcode) {
    case FUSE_INIT:
      a->is.init = (struct fuse_init_out){.major = 7, .minor = 31, .max_write = 1 << 16};
      return sizeof a->is.init;
    case FUSE_LOOKUP:
      if (strcmp(argument, "lua") != 0) break;
      a->is.entry = (struct fuse_entry_out){.nodeid = THE_FILE, .attr = attributes_of(s, THE_FILE)};
      return sizeof a->is.entry;
    case FUSE_GETATTR:
      a->is.attributes = (struct fuse_attr_out){.attr = attributes_of(s, in->nodeid)};
      return sizeof a->is.attributes;
    case FUSE_OPEN:
      if (*s->is_silent) return -1;
      a->is.open = (struct fuse_open_out){0};
      return sizeof a->is.open;
    case FUSE_READ: return (ssize_t)read_file(s, argument, a);
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

/* }=================================================================================== */

static int open_interpreter(void) {
  char path[4096] = "";
  const char *lua = getenv("LUA");
  (void)setenv("NAME", lua ? lua : "lua5.4", 1);
  FILE *f = popen("command -v \"$NAME\"", "r");
  if (f && fgets(path, sizeof path, f)) path[strcspn(path, "\n")] = '\0';
  if (f) (void)pclose(f);
  return open(path, O_RDONLY | O_CLOEXEC);
}

/* Waits for its input for ever; `ready` is what it prints before. */
static pid_t start_program(void) {
  int in[2], out[2];
  char ready;
  assert_int_equal(pipe(in), 0);
  assert_int_equal(pipe(out), 0);
  pid_t id = fork();
  if (id == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(in[0], STDIN_FILENO);
    (void)dup2(out[1], STDOUT_FILENO);
    (void)execl("silent/lua", "lua", "-e", "print '' io.stdout:flush() io.read()", (char *)NULL);
    _exit(1);
  }
  (void)close(out[1]);
  assert_int_equal(read(out[0], &ready, 1), 1);
  (void)close(out[0]);
  return id;
}

static void take(pid_t process, lh_outside_request *request, lh_outside_told *told) {
  lh_target *target;
  lh_found_state *states;
  size_t n;
  lh_error error;
  if (lh_open_process(process, &target, &error) < 0) fail_msg("%s", error.message);
  if (lh_find_states(target, &states, &n, &error) < 0) fail_msg("%s", error.message);
  for (int i = 0; i < 2; i++) {
    request->state = states[0].address;
    if (lh_take_outside(target, request, 1, NULL, told, &error) < 0) fail_msg("%s", error.message);
    assert_int_equal(access(request->path, F_OK), 0);
    if (i == 1) assert_null(told->silent_file); /* nothing is asked of it again */
    if (i == 0) assert_non_null(strstr(told->silent_file, "/silent/lua"));
  }
  lh_free_states(states);
  lh_target_free(target);
}

static void a_snapshot_without_names(void **state) {
  (void)state;
  pid_t id = -1;
  lh_outside_request request = {.path = "a"};
  lh_outside_told told;
  server s = {.interpreter = open_interpreter()};
  s.is_silent = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (s.interpreter < 0 || !begin_server(&s, &id)) {
    (void)rmdir("silent");
    skip();
  }
  pid_t program = start_program();
  *s.is_silent = 1;
  take(program, &request, &told);
  (void)kill(program, SIGKILL);
  (void)kill(id, SIGKILL);
  (void)waitpid(id, NULL, 0);
  (void)waitpid(program, NULL, 0);
  (void)umount2("silent", MNT_DETACH);
  (void)unlink("a");
  (void)rmdir("silent");
}

int main(int argc, char **arguments) {
  (void)argc;
  lh_make_way(arguments);
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_snapshot_without_names)};
  return folder_run(tests);
}
