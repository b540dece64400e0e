/*
** child.c - runs heapattach's work in a child that the parent can abandon.
**
** The child reads mapped files and writes a file. Their file server may never answer, and then
** perhaps no signal ends the child. So the parent gives up a mapped file after five seconds, and an
** output file after ten minutes, with a message after five seconds. A signal that ends this program
** ends the parent at once; the guard (lib/outside/guard.c) cleans up. Otherwise signals go to the
** child, and its exit status becomes ours. Each started process is also inspected in a child of its
** own.
*/
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "heapattach/heapattach.h"

static volatile sig_atomic_t child_id, ending_signal;

static _Noreturn void end_by(int number) {
  sigset_t all;
  (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* the child's core is enough */
  (void)signal(number, SIG_DFL);
  (void)sigemptyset(&all);
  (void)sigprocmask(SIG_SETMASK, &all, NULL);
  (void)raise(number);
  _exit(128 + number);
}

/* A terminal's signal reaches the child anyway. Without a child the signal ends this program. */
static void hand_on(int number, siginfo_t *info, void *context) {
  (void)context;
  if (child_id == 0) end_by(number);
  ending_signal = number;
  if (info->si_code <= 0) (void)kill((pid_t)child_id, number);
}

static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { N_ENDINGS = sizeof endings / sizeof *endings };

/* A signal that is ignored, as under nohup, stays ignored. */
static void take_signals(void) {
  struct sigaction action = {.sa_sigaction = hand_on, .sa_flags = SA_SIGINFO | SA_RESTART};
  for (size_t i = 0; i < N_ENDINGS; i++) {
    struct sigaction before;
    (void)sigaction(endings[i], NULL, &before);
    if (before.sa_handler != SIG_IGN) (void)sigaction(endings[i], &action, NULL);
  }
}

enum { LOOK_MS = 500, SECOND = 1000 / LOOK_MS };

/* False: give the child up. */
static bool goes_on(cli *c, const lh_awaited *awaited, unsigned looks) {
  enum { IF_ENDING = SECOND, MOST = 5 * SECOND, MOST_OF_OUTPUT = 600 * SECOND };
  if (ending_signal && looks >= IF_ENDING) return false;
  if (awaited->is_output && looks == MOST) {
    c->progress_shown = c->progress_terminal;
    cli_say(c, "waiting for the file system of '%s', which does not answer", awaited->path);
  }
  return looks < (awaited->is_output ? MOST_OF_OUTPUT : MOST);
}

bool wait_for_child(cli *c, pid_t child, const lh_awaited *awaited) {
  struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};
  lh_await_watch watch = {0};
  while (end.fd >= 0 && poll(&end, 1, LOOK_MS) <= 0) {
    if (goes_on(c, awaited, lh_await_look(&watch, awaited))) continue;
    (void)kill(child, SIGKILL); /* this also ends its children */
    (void)close(end.fd);
    return false;
  }
  if (end.fd >= 0) (void)close(end.fd);
  return true;
}

/* The processes that it has started may be listed although it cannot be inspected itself. */
static _Noreturn void leave_child(cli *c, const request *r, const lh_awaited *awaited) {
  uint64_t process_id;
  if (ending_signal) end_by(ending_signal);
  child_id = 0;
  c->progress_shown = c->progress_terminal;
  cli_say(c, "the file system of '%s' does not answer", awaited->path);
  if (r->mode == MODE_LIST && leaves_workers_out(r) && subject_is_process(r->target) &&
      lh_read_number(r->target, &process_id))
    print_started(c, r, process_id);
  exit(CLI_FAILURE);
}

static _Noreturn void see_through(cli *c, const request *r, const lh_awaited *awaited,
                                  const sigset_t *before) {
  int status = 0;
  pid_t child = child_id;
  take_signals();
  (void)sigprocmask(SIG_SETMASK, before, NULL);
  if (!wait_for_child(c, child, awaited)) leave_child(c, r, awaited);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (WIFSIGNALED(status)) end_by(WTERMSIG(status));
  _exit(WEXITSTATUS(status));
}

void *share_memory(size_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return cli_must(memory != MAP_FAILED ? memory : NULL);
}

lh_awaited *run_in_child(cli *c, const request *r) {
  sigset_t before, held;
  pid_t parent = getpid();
  lh_awaited *awaited = share_memory(sizeof *awaited);
  cli_flush(c); /* else parent and child both print it */
  (void)sigemptyset(&held);
  for (size_t i = 0; i < N_ENDINGS; i++) (void)sigaddset(&held, endings[i]);
  (void)sigprocmask(SIG_BLOCK, &held, &before);
  pid_t child = fork();
  child_id = child > 0 ? child : 0;
  if (child > 0) see_through(c, r, awaited, &before);
  (void)sigprocmask(SIG_SETMASK, &before, NULL);
  if (child < 0) {
    (void)munmap(awaited, sizeof *awaited);
    return NULL;
  }
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(CLI_FAILURE);
  return awaited;
}
