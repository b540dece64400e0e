/*
** lua_acts.c - what hosts do to themselves, as a Lua module: they become daemons, close all
** descriptors, wait for all children, start another program, forbid system calls, give signals a
** small stack. For tests/lua/harmless_spec.lua.
*/
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <lua.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_DESCRIPTORS = 1024, MOST_WORDS = 15 };

static void leave_parent(lua_State *L) {
  pid_t child = fork();
  if (child < 0) luaL_error(L, "fork: %s", strerror(errno));
  if (child > 0) _exit(0);
}

/* daemonize() --> do stdin, stdout and stderr get the numbers 0, 1 and 2, as daemons count on? */
static int daemonize(lua_State *L) {
  bool in_order = true;
  leave_parent(L);
  (void)setsid();
  leave_parent(L);
  for (int fd = 0; fd < 3; fd++) (void)close(fd);
  for (int fd = 0; fd < 3; fd++) in_order &= open("/dev/null", O_RDWR) == fd;
  lua_pushboolean(L, in_order);
  return 1;
}

/* close_all(first): all descriptors from this one on. */
static int close_all(lua_State *L) {
  for (int fd = (int)luaL_checkinteger(L, 1); fd < MOST_DESCRIPTORS; fd++) (void)close(fd);
  return 0;
}

/* wait_for_all() --> how many children there were. */
static int wait_for_all(lua_State *L) {
  lua_Integer n = 0;
  while (waitpid(-1, NULL, 0) > 0) n++;
  lua_pushinteger(L, n);
  return 1;
}

/* ignore_children(): none leaves a zombie. */
static int ignore_children(lua_State *L) {
  (void)L;
  (void)signal(SIGCHLD, SIG_IGN);
  return 0;
}

static void wait_in_handler(int number) {
  int os_errno = errno;
  (void)number;
  while (waitpid(-1, NULL, WNOHANG) > 0) continue;
  errno = os_errno;
}

/* reap_in_handler(): SIGCHLD has a handler that waits for whatever has ended. */
static int reap_in_handler(lua_State *L) {
  (void)L;
  (void)signal(SIGCHLD, wait_in_handler);
  return 0;
}

/* execute(word, ...): becomes that program. */
static int execute(lua_State *L) {
  char *words[MOST_WORDS + 1] = {NULL};
  int n = lua_gettop(L);
  luaL_argcheck(L, n >= 1 && n <= MOST_WORDS, 1, "from 1 to 15 words expected");
  for (int i = 0; i < n; i++) words[i] = (char *)(uintptr_t)luaL_checkstring(L, i + 1);
  (void)execvp(words[0], words);
  return luaL_error(L, "%s: %s", words[0], strerror(errno));
}

/* fork() --> 0 in the child, which goes on; its exit status in the parent, which has waited. */
static int fork_host(lua_State *L) {
  int status = 0;
  pid_t child = fork();
  if (child > 0) (void)waitpid(child, &status, 0);
  lua_pushinteger(L, child > 0 ? WEXITSTATUS(status) : child);
  return 1;
}

/* take_signal_stack(): as Rust's runtime, an alternate stack of 8 KB behind a page that faults. */
static int take_signal_stack(lua_State *L) {
  enum { PAGE = 4096, BYTES = 8192, KIND = MAP_PRIVATE | MAP_ANONYMOUS };
  char *guard = mmap(NULL, PAGE + BYTES, PROT_READ | PROT_WRITE, KIND, -1, 0);
  if (guard == MAP_FAILED || mprotect(guard, PAGE, PROT_NONE) < 0 ||
      sigaltstack(&(stack_t){.ss_sp = guard + PAGE, .ss_size = BYTES}, NULL) < 0)
    return luaL_error(L, "a stack: %s", strerror(errno));
  return 0;
}

/* unshare(): the next child is the first process of a namespace. Nothing happens without rights. */
static int unshare_children(lua_State *L) {
  (void)L;
  (void)unshare(CLONE_NEWPID);
  return 0;
}

static const struct {
  const char *name;
  int number;
} calls[] = {
    {"clone", SYS_clone},
    {"clone3", SYS_clone3},
    {"close_range", SYS_close_range},
    {"fcntl", SYS_fcntl},
    {"flock", SYS_flock},
    {"fstatfs", SYS_fstatfs},
    {"fsync", SYS_fsync},
    {"ftruncate", SYS_ftruncate},
    {"kill", SYS_kill},
    {"linkat", SYS_linkat},
    {"memfd_create", SYS_memfd_create},
    {"openat", SYS_openat},
    {"pwrite64", SYS_pwrite64},
    {"renameat", SYS_renameat},
    {"rt_sigtimedwait", SYS_rt_sigtimedwait},
    {"tgkill", SYS_tgkill},
    {"timer_create", SYS_timer_create},
    {"wait4", SYS_wait4},
    {"writev", SYS_writev},
};

/* refused() --> the names of the system calls that refuse() knows. */
static int refused_calls(lua_State *L) {
  lua_newtable(L);
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    lua_pushstring(L, calls[i].name);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* refuse(name): from now on this system call fails with EPERM, as under the filter of a sandbox. */
static int refuse(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  size_t i = 0;
  while (strcmp(calls[i].name, name) != 0) {
    if (++i == sizeof calls / sizeof *calls) return luaL_error(L, "no call '%s'", name);
  }
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i].number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  bool done = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
              prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  return done ? 0 : luaL_error(L, "a filter: %s", strerror(errno));
}

__attribute__((visibility("default"))) int luaopen_lua_acts(lua_State *L);

int luaopen_lua_acts(lua_State *L) {
  static const luaL_Reg functions[] = {{"daemonize", daemonize},
                                       {"close_all", close_all},
                                       {"wait_for_all", wait_for_all},
                                       {"ignore_children", ignore_children},
                                       {"reap_in_handler", reap_in_handler},
                                       {"execute", execute},
                                       {"fork", fork_host},
                                       {"refused", refused_calls},
                                       {"refuse", refuse},
                                       {"unshare", unshare_children},
                                       {"take_signal_stack", take_signal_stack},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
