/*
** epoll_host.c - a server that has Lua in it, for what looks at it from outside: it must never
** notice.
**
** It prints its port. To each line that a client sends it answers "hello " and that line, which a
** coroutine for each connection makes, with some garbage. A second thread with a state of its own
** makes garbage, too, between sleeps. No system call may fail, least of all with EINTR: then it
** says which one did, and ends. On SIGTERM it closes all and ends with 0.
*/
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char served[] =
    "local sessions, recent = {}, {}\n"
    "local Session = {__name = 'Session'}  Session.__index = Session\n"
    "function Session:talk(line)\n"
    "  while true do\n"
    "    if #self.lines == 100 then self.lines = {} end\n"
    "    table.insert(self.lines, line)\n"
    "    recent[#recent % 1000 + 1] = {line = line, session = self, text = line:rep(3)}\n"
    "    line = coroutine.yield('hello ' .. line .. '\\n')\n"
    "  end\n"
    "end\n"
    "function open(fd)\n"
    "  local session = setmetatable({lines = {}, rest = ''}, Session)\n"
    "  session.answer = coroutine.wrap(function(line) return session:talk(line) end)\n"
    "  sessions[fd] = session\n"
    "end\n"
    "function close(fd) sessions[fd] = nil end\n"
    "function answer(fd, text)\n"
    "  local answers, session = {}, sessions[fd]\n"
    "  session.rest = (session.rest .. text):gsub('([^\\n]*)\\n', function(line)\n"
    "    answers[#answers + 1] = session.answer(line)\n"
    "    return ''\n"
    "  end)\n"
    "  return table.concat(answers)\n"
    "end\n";

static const char aside[] =
    "local kept = {}\n"
    "function step(i)\n"
    "  kept[i % 500] = {i, tostring(i), function() return i end}\n"
    "  kept[kept[i % 500]] = i % 3 == 0 and i or nil\n"
    "  if i % 5000 == 0 then kept = {} end\n"
    "end\n";

static _Noreturn void fail(const char *what) {
  (void)fprintf(stderr, "%s failed: %s\n", what, strerror(errno));
  exit(1);
}

static long check_result(long result, const char *what) {
  if (result < 0) fail(what);
  return result;
}

static int count_calls(lua_State *L) {
  lua_pushinteger(L, lua_tointeger(L, lua_upvalueindex(1)) + 1);
  lua_copy(L, -1, lua_upvalueindex(1));
  return 1;
}

/* With a C function that no name leads to: counters[1]. */
static lua_State *load(const char *text) {
  lua_State *L = luaL_newstate();
  if (!L || (luaL_openlibs(L), luaL_dostring(L, text) != LUA_OK)) fail("Lua");
  lua_createtable(L, 1, 0);
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, count_calls, 1);
  lua_rawseti(L, -2, 1);
  lua_setglobal(L, "counters");
  return L;
}

static void call(lua_State *L, int n_arguments, int n_results) {
  if (lua_pcall(L, n_arguments, n_results, 0) == LUA_OK) return;
  (void)fprintf(stderr, "%s\n", lua_tostring(L, -1));
  exit(1);
}

static void *work_aside(void *ended) {
  lua_State *L = load(aside);
  for (lua_Integer i = 1; !*(volatile int *)ended; i++) {
    const struct timespec pause = {0, 200000};
    lua_getglobal(L, "step");
    lua_pushinteger(L, i);
    call(L, 1, 0);
    errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    if (errno != 0) fail("clock_nanosleep");
  }
  lua_close(L);
  return NULL;
}

static int listen_somewhere(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  int fd = (int)check_result(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  check_result(bind(fd, (struct sockaddr *)&address, sizeof address), "bind");
  check_result(listen(fd, 64), "listen");
  check_result(getsockname(fd, (struct sockaddr *)&address, &size), "getsockname");
  (void)printf("port %d\n", ntohs(address.sin_port));
  (void)fflush(stdout);
  return fd;
}

static void watch(int epoll, int fd) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
  check_result(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

static void call_with(lua_State *L, const char *function, int fd) {
  lua_getglobal(L, function);
  lua_pushinteger(L, fd);
  call(L, 1, 0);
}

/* A client that resets its connection has left, too. */
static void serve(lua_State *L, int fd) {
  char text[4096];
  ssize_t n = read(fd, text, sizeof text);
  if (n < 0 && errno != ECONNRESET) fail("read");
  if (n <= 0) {
    call_with(L, "close", fd);
    check_result(close(fd), "close");
    return;
  }
  lua_getglobal(L, "answer");
  lua_pushinteger(L, fd);
  lua_pushlstring(L, text, (size_t)n);
  call(L, 2, 1);
  size_t length;
  const char *answer = lua_tolstring(L, -1, &length);
  if (length > 0 && send(fd, answer, length, MSG_NOSIGNAL) != (ssize_t)length && errno != EPIPE &&
      errno != ECONNRESET)
    fail("send");
  lua_pop(L, 1);
}

/* The timeout is so short that often nothing has come. */
static void serve_all(lua_State *L, int listening, int ending) {
  struct epoll_event events[16];
  int epoll = (int)check_result(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  watch(epoll, listening);
  watch(epoll, ending);
  for (;;) {
    int n = (int)check_result(epoll_wait(epoll, events, 16, 3), "epoll_wait");
    for (int i = 0; i < n; i++) {
      if (events[i].data.fd == ending) {
        (void)close(epoll);
        return;
      }
      if (events[i].data.fd != listening) {
        serve(L, events[i].data.fd);
        continue;
      }
      int fd = (int)check_result(accept4(listening, NULL, NULL, SOCK_CLOEXEC), "accept");
      call_with(L, "open", fd);
      watch(epoll, fd);
    }
  }
}

int main(void) {
  static int ended;
  pthread_t thread;
  sigset_t signals;
  (void)sigemptyset(&signals);
  (void)sigaddset(&signals, SIGTERM);
  (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
  int ending = (int)check_result(signalfd(-1, &signals, SFD_CLOEXEC), "signalfd");
  lua_State *L = load(served);
  check_result(-pthread_create(&thread, NULL, work_aside, &ended), "pthread_create");
  serve_all(L, listen_somewhere(), ending);
  *(volatile int *)&ended = 1;
  (void)pthread_join(thread, NULL);
  lua_close(L);
  return 0;
}
