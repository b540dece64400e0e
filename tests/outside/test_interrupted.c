/*
** test_interrupted.c - system calls that a process sleeps in while it is held still from outside do
** not fail with EINTR, by whichever way it is held; and where a signal truly comes they do.
*/
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach.h"
#include "folder.h"
#include "subject.h"

/* ==== Calls ========================================================================= */

enum { LONG_S = 100, LONG_MS = LONG_S * 1000 };

static const struct timespec long_time = {.tv_sec = LONG_S};
static const struct timeval long_timeval = {.tv_sec = LONG_S};

typedef struct progress {
  int which;
  int semaphore, queue; /* to be removed; -1: none */
  volatile int has_returned;
  volatile long result;
  volatile int reason;
} progress;

static progress *own; /* of the subject */

static int made(int fd) {
  if (fd < 0) _exit(2);
  return fd;
}

static int empty_pipe(void) {
  int ends[2];
  (void)made(pipe(ends));
  return ends[0];
}

static int some_epoll(void) {
  int fd = made(epoll_create1(0)), end = empty_pipe();
  (void)made(epoll_ctl(fd, EPOLL_CTL_ADD, end, &(struct epoll_event){.events = EPOLLIN}));
  return fd;
}

static sigset_t some_signals(void) {
  sigset_t signals;
  (void)sigemptyset(&signals);
  (void)sigaddset(&signals, SIGUSR2);
  return signals;
}

static long in_epoll_wait(void) {
  struct epoll_event event;
  return epoll_wait(some_epoll(), &event, 1, LONG_MS);
}

static long in_epoll_wait_for_ever(void) {
  struct epoll_event event;
  return epoll_wait(some_epoll(), &event, 1, -1);
}

static long in_epoll_pwait(void) {
  struct epoll_event event;
  sigset_t signals = some_signals();
  return epoll_pwait(some_epoll(), &event, 1, LONG_MS, &signals);
}

static long in_poll(void) {
  return poll(&(struct pollfd){.fd = empty_pipe(), .events = POLLIN}, 1, LONG_MS);
}

static long in_poll_for_ever(void) {
  return poll(&(struct pollfd){.fd = empty_pipe(), .events = POLLIN}, 1, -1);
}

static long in_ppoll(void) {
  sigset_t signals = some_signals();
  return ppoll(&(struct pollfd){.fd = empty_pipe(), .events = POLLIN}, 1, &long_time, &signals);
}

static long in_select(void) {
  fd_set fds;
  int fd = empty_pipe();
  struct timeval time = long_timeval;
  FD_ZERO(&fds);
  FD_SET(fd, &fds);
  return select(fd + 1, &fds, NULL, NULL, &time);
}

static long in_pselect(void) {
  fd_set fds;
  int fd = empty_pipe();
  sigset_t signals = some_signals();
  FD_ZERO(&fds);
  FD_SET(fd, &fds);
  return pselect(fd + 1, &fds, NULL, NULL, &long_time, &signals);
}

static long in_sigtimedwait(void) {
  sigset_t signals = some_signals();
  return sigtimedwait(&signals, NULL, &long_time);
}

static long in_sigwaitinfo(void) {
  sigset_t signals = some_signals();
  return sigwaitinfo(&signals, NULL);
}

static long in_sigsuspend(void) {
  sigset_t signals = some_signals();
  return sigsuspend(&signals);
}

static long in_pause(void) {
  return pause();
}

static long in_nanosleep(void) {
  return nanosleep(&long_time, NULL);
}

static long in_nanosleep_until(void) {
  struct timespec until;
  (void)clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += LONG_S;
  return -clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static int private_semaphore(void) {
  return own->semaphore = made(semget(IPC_PRIVATE, 1, 0600));
}

static long in_semtimedop(void) {
  struct sembuf down = {.sem_op = -1};
  return semtimedop(private_semaphore(), &down, 1, &long_time);
}

static long in_semop(void) {
  struct sembuf down = {.sem_op = -1};
  return semop(private_semaphore(), &down, 1);
}

static long in_msgrcv(void) {
  struct {
    long type;
    char text[8];
  } message;
  own->queue = made(msgget(IPC_PRIVATE, 0600));
  return msgrcv(own->queue, &message, sizeof message.text, 0, 0);
}

static int pair(int *other) {
  int ends[2];
  (void)made(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
  *other = ends[1];
  return ends[0];
}

static int with_time(int fd, int option) {
  (void)made(setsockopt(fd, SOL_SOCKET, option, &long_timeval, sizeof long_timeval));
  return fd;
}

static long in_recv(void) {
  int other;
  char byte;
  return recv(pair(&other), &byte, 1, 0);
}

static long in_recv_with_time(void) {
  int other;
  char byte;
  return recv(with_time(pair(&other), SO_RCVTIMEO), &byte, 1, 0);
}

static long in_send_with_time(void) {
  int other, fd = pair(&other);
  static char bytes[4096];
  while (send(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) continue;
  return send(with_time(fd, SO_SNDTIMEO), bytes, sizeof bytes, 0);
}

static int listening(struct sockaddr_un *address) {
  socklen_t size = sizeof *address;
  int fd = made(socket(AF_UNIX, SOCK_STREAM, 0));
  *address = (struct sockaddr_un){.sun_family = AF_UNIX};
  (void)made(bind(fd, (struct sockaddr *)address, sizeof address->sun_family)); /* any name */
  (void)made(getsockname(fd, (struct sockaddr *)address, &size));
  (void)made(listen(fd, 0));
  return fd;
}

static long in_accept(void) {
  struct sockaddr_un address;
  return accept(listening(&address), NULL, NULL);
}

static long in_accept_with_time(void) {
  struct sockaddr_un address;
  return accept(with_time(listening(&address), SO_RCVTIMEO), NULL, NULL);
}

static long connect_to_full(bool has_time) {
  struct sockaddr_un address;
  int server = listening(&address), fd;
  socklen_t size = sizeof address;
  (void)made(getsockname(server, (struct sockaddr *)&address, &size));
  do {
    fd = made(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
  } while (connect(fd, (struct sockaddr *)&address, size) == 0);
  fd = made(socket(AF_UNIX, SOCK_STREAM, 0));
  if (has_time) (void)with_time(fd, SO_SNDTIMEO);
  return connect(fd, (struct sockaddr *)&address, size);
}

static long in_connect(void) {
  return connect_to_full(false);
}

static long in_connect_with_time(void) {
  return connect_to_full(true);
}

static long call_futex(int operation, const struct timespec *time) {
  static int word;
  return syscall(SYS_futex, &word, operation, 0, time, NULL, FUTEX_BITSET_MATCH_ANY);
}

static long in_futex(void) {
  return call_futex(FUTEX_WAIT_PRIVATE, NULL);
}

static long in_futex_with_time(void) {
  return call_futex(FUTEX_WAIT_PRIVATE, &long_time);
}

static long in_futex_bitset(void) {
  struct timespec until;
  (void)clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += LONG_S;
  return call_futex(FUTEX_WAIT_BITSET_PRIVATE, &until);
}

static long read_from(int fd) {
  char bytes[4096];
  return read(made(fd), bytes, sizeof bytes);
}

static long in_read_of_pipe(void) {
  return read_from(empty_pipe());
}

static long in_read_of_eventfd(void) {
  return read_from(eventfd(0, 0));
}

static long in_read_of_timerfd(void) {
  int fd = made(timerfd_create(CLOCK_MONOTONIC, 0));
  (void)made(timerfd_settime(fd, 0, &(struct itimerspec){.it_value = long_time}, NULL));
  return read_from(fd);
}

static long in_read_of_signalfd(void) {
  sigset_t signals = some_signals();
  return read_from(signalfd(-1, &signals, 0));
}

static long in_read_of_inotify(void) {
  int fd = made(inotify_init());
  (void)made(inotify_add_watch(fd, "/", IN_DELETE_SELF));
  return read_from(fd);
}

static long in_write_to_pipe(void) {
  int ends[2];
  static char bytes[4096];
  (void)made(pipe2(ends, O_NONBLOCK));
  while (write(ends[1], bytes, sizeof bytes) > 0) continue;
  (void)made(fcntl(ends[1], F_SETFL, 0));
  return write(ends[1], bytes, sizeof bytes);
}

static long in_mq_receive(void) {
  char name[32], bytes[8];
  struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = sizeof bytes};
  (void)snprintf(name, sizeof name, "/luaheap-%d", (int)getpid());
  mqd_t queue = made(mq_open(name, O_RDWR | O_CREAT, 0600, &attributes));
  (void)mq_unlink(name);
  struct timespec until;
  (void)clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += LONG_S;
  return mq_timedreceive(queue, bytes, sizeof bytes, NULL, &until);
}

static long in_io_getevents(void) {
  aio_context_t context = 0;
  struct io_event event;
  struct timespec time = long_time;
  (void)made((int)syscall(SYS_io_setup, 1, &context));
  return syscall(SYS_io_getevents, context, 1, 1, &event, &time);
}

/* A file of two open descriptions, one of which has it locked. */
static int locked_file(bool by_flock) {
  char path[64];
  int fd = made(memfd_create("locked", 0));
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (by_flock) (void)made(flock(fd, LOCK_EX));
  return made(open(path, O_RDWR));
}

static long in_flock(void) {
  return flock(locked_file(true), LOCK_EX);
}

/* A child of the subject, that ends with it. */
static bool is_child(void) {
  bool is = made(fork()) == 0;
  if (is) (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  return is;
}

static long in_fcntl_lock(void) {
  int fd = locked_file(false), told[2];
  struct flock lock = {.l_type = F_WRLCK};
  char byte;
  (void)made(pipe(told));
  if (is_child()) {
    (void)made(fcntl(fd, F_SETLK, &lock));
    (void)made((int)write(told[1], "", 1));
    (void)pause();
  }
  (void)made((int)read(told[0], &byte, 1));
  return fcntl(fd, F_SETLKW, &lock);
}

static void start_sleeping_child(void) {
  if (is_child()) {
    (void)pause();
    _exit(0);
  }
}

static long in_wait4(void) {
  start_sleeping_child();
  return wait4(-1, NULL, 0, NULL);
}

static long in_waitid(void) {
  siginfo_t info;
  start_sleeping_child();
  return waitid(P_ALL, 0, &info, WEXITED);
}

static long in_open_of_fifo(void) {
  char path[64];
  (void)snprintf(path, sizeof path, "fifo-%d", (int)getpid());
  (void)made(mkfifo(path, 0600));
  return open(path, O_RDONLY);
}

static long in_join(void) {
  pthread_t thread;
  return pthread_create(&thread, NULL, (void *(*)(void *))(void *)in_pause, NULL) ||
         pthread_join(thread, NULL);
}

static const struct {
  const char *name;
  long (*make)(void);
} calls[] = {
    {"epoll_wait", in_epoll_wait},
    {"epoll_wait for ever", in_epoll_wait_for_ever},
    {"epoll_pwait", in_epoll_pwait},
    {"poll", in_poll},
    {"poll for ever", in_poll_for_ever},
    {"ppoll", in_ppoll},
    {"select", in_select},
    {"pselect", in_pselect},
    {"sigtimedwait", in_sigtimedwait},
    {"sigwaitinfo", in_sigwaitinfo},
    {"sigsuspend", in_sigsuspend},
    {"pause", in_pause},
    {"nanosleep", in_nanosleep},
    {"clock_nanosleep", in_nanosleep_until},
    {"semtimedop", in_semtimedop},
    {"semop", in_semop},
    {"msgrcv", in_msgrcv},
    {"recv", in_recv},
    {"recv with a timeout", in_recv_with_time},
    {"send with a timeout", in_send_with_time},
    {"accept", in_accept},
    {"accept with a timeout", in_accept_with_time},
    {"connect", in_connect},
    {"connect with a timeout", in_connect_with_time},
    {"futex", in_futex},
    {"futex with a timeout", in_futex_with_time},
    {"futex by bits", in_futex_bitset},
    {"read of a pipe", in_read_of_pipe},
    {"read of eventfd", in_read_of_eventfd},
    {"read of timerfd", in_read_of_timerfd},
    {"read of signalfd", in_read_of_signalfd},
    {"read of inotify", in_read_of_inotify},
    {"write to a pipe", in_write_to_pipe},
    {"mq_timedreceive", in_mq_receive},
    {"io_getevents", in_io_getevents},
    {"flock", in_flock},
    {"fcntl", in_fcntl_lock},
    {"wait4", in_wait4},
    {"waitid", in_waitid},
    {"open of a FIFO", in_open_of_fifo},
    {"pthread_join", in_join},
};
enum { N_CALLS = sizeof calls / sizeof *calls };

static void make_call(const subject *self) {
  progress *p = own = self->shared;
  sigset_t signals = some_signals();
  (void)sigprocmask(SIG_BLOCK, &signals, NULL);
  if (write(self->answers, "", 1) != 1) _exit(1);
  p->result = calls[p->which].make();
  p->reason = errno;
  p->has_returned = 1;
  for (;;) (void)pause();
}

/* Sleeps it, or has it ended? */
static bool is_asleep(const void *process) {
  lh_call call;
  pid_t id = *(const pid_t *)process;
  return lh_call_of_sleeper(id, id, &call);
}

static void try_call(int which, bool never_fork) {
  enum { TIMES = 5 };
  progress *p = subject_share(sizeof *p);
  *p = (progress){.which = which, .semaphore = -1, .queue = -1};
  subject s = subject_start(make_call, p);
  attach a;
  attach_open(&a, s.id);
  for (int i = 0; i < 30; i++) attach_nap(); /* it prepares */
  for (int i = 0; i < TIMES; i++) {
    assert_true(attach_wait_until(is_asleep, &s.id));
    attach_begin(&a, never_fork);
    bool is_forked = LH_CAN_INJECT && !never_fork;
    assert_int_equal(a.result.stillness, is_forked ? LH_STILL_FORK : LH_STILL_STOPPED);
    attach_end(&a);
  }
  assert_true(attach_wait_until(is_asleep, &s.id));
  if (p->has_returned)
    fail_msg("%s returned %ld: %s", calls[which].name, p->result, strerror(p->reason));
  attach_close(&a);
  subject_end(&s);
  char fifo[32];
  (void)snprintf(fifo, sizeof fifo, "fifo-%d", (int)s.id);
  (void)unlink(fifo);
  if (p->semaphore >= 0) (void)semctl(p->semaphore, 0, IPC_RMID);
  if (p->queue >= 0) (void)msgctl(p->queue, IPC_RMID, NULL);
  (void)munmap(p, sizeof *p);
}

static void test_calls_go_on_after_a_fork(void **state) {
  (void)state;
  for (int i = 0; i < N_CALLS; i++) try_call(i, false);
}

static void test_calls_go_on_after_a_stop(void **state) {
  (void)state;
  for (int i = 0; i < N_CALLS; i++) try_call(i, true);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_calls_go_on_after_a_fork),
      cmocka_unit_test(test_calls_go_on_after_a_stop),
  };
  return folder_run(tests);
}
