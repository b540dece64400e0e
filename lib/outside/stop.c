/*
** stop.c - stops all threads of a process, and continues them as if nothing had happened.
**
** PTRACE_SEIZE and PTRACE_INTERRUPT send no signal. Threads are listed again until there is no new
** one: 20 to 50 us per thread. If this process is killed, the kernel continues all threads. We look
** at threads by waitid(WNOWAIT), so the kernel still delivers the signal that a thread was about to
** get. A call that would fail with EINTR because of the stop is repaired at once (restart.c). A
** thread in uninterruptible sleep, for a disk or in vfork(), counts as stopped.
**
** Signals are held during requests to the kernel, and allowed while memory is copied. Then a signal
** may end this process, and the kernel continues all threads. But a forked copy must be removed
** first: while it exists signals stay held, and the code asks for them (lh_is_told_to_end).
*/
#include "stop.h"

#include <dirent.h>
#include <sys/wait.h>

enum {
  NAP_NS = 1000000,            /* if no SIGCHLD comes: this process may ignore it */
  PATIENCE_NS = 200000,        /* before we look for uninterruptible sleep */
  MOST_TO_STOP_NS = 1000000000 /* on a busy machine */
};
static const uint64_t MOST_TO_END_NS = 10000000000, MOST_IF_TOLD_TO_END_NS = 200000000;

void lh_nap(void) {
  sigset_t child;
  (void)sigemptyset(&child);
  (void)sigaddset(&child, SIGCHLD);
  (void)sigtimedwait(&child, NULL, &(struct timespec){.tv_nsec = NAP_NS});
}

void lh_hold_signals(sigset_t *before) {
  sigset_t all;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, before);
}

/* lh_nap may have taken the signal of another child. */
void lh_release_signals(const sigset_t *before) {
  struct sigaction on_child;
  (void)pthread_sigmask(SIG_SETMASK, before, NULL);
  bool is_handled = sigaction(SIGCHLD, NULL, &on_child) == 0 && on_child.sa_handler != SIG_IGN &&
                    on_child.sa_handler != SIG_DFL;
  if (is_handled) (void)raise(SIGCHLD);
}

void lh_hold_child_signals(sigset_t *before) {
  sigset_t child;
  (void)sigemptyset(&child);
  (void)sigaddset(&child, SIGCHLD);
  (void)pthread_sigmask(SIG_BLOCK, &child, before);
}

void lh_allow_signals(const sigset_t *before) {
  static const int held[] = {SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU};
  sigset_t blocked = *before;
  for (size_t i = 0; i < sizeof held / sizeof *held; i++) (void)sigaddset(&blocked, held[i]);
  (void)pthread_sigmask(SIG_SETMASK, &blocked, NULL);
}

static bool is_fatal(int signal_number) {
  static const int harmless[] = {SIGCHLD, SIGCONT, SIGURG, SIGWINCH, SIGTSTP, SIGTTIN, SIGTTOU};
  struct sigaction action;
  for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
    if (signal_number == harmless[i]) return false;
  }
  return sigaction(signal_number, NULL, &action) == 0 && action.sa_handler == SIG_DFL;
}

bool lh_is_told_to_end(const sigset_t *before) {
  sigset_t pending;
  if (!before || sigpending(&pending) < 0) return false;
  for (int i = 1; i < NSIG; i++) {
    if (sigismember(&pending, i) == 1 && sigismember(before, i) == 0 && is_fatal(i)) return true;
  }
  return false;
}

/* ==== One thread ==================================================================== */

char lh_thread_state(pid_t thread) {
  lh_process_field state = lh_process_field_of(thread, 1);
  return *state.text ? *state.text : 'X';
}

static bool hold(lh_thread *thread, lh_held held, int event) {
  thread->held = held;
  thread->event = event;
  thread->held_ns = lh_now_ns();
  return true;
}

/* The tracer of an ended thread must reap it. */
static bool bury(lh_thread *thread) {
  siginfo_t info;
  if (!thread->is_child) (void)waitid(P_PID, (id_t)thread->id, &info, WEXITED | WNOHANG | __WALL);
  return hold(thread, LH_HELD_GONE, 0);
}

void lh_thread_go_on(lh_thread *thread, lh_course course, int signal_number) {
  thread->held = LH_HELD_NOT;
  if (course != LH_COURSE_STOP) {
    (void)ptrace(PTRACE_SYSCALL, thread->id, 0, signal_number);
    return;
  }
  (void)ptrace(PTRACE_INTERRUPT, thread->id, 0, 0);
  (void)ptrace(PTRACE_CONT, thread->id, 0, signal_number);
}

void lh_thread_free(lh_thread *thread) {
  thread->held = LH_HELD_FREE;
  (void)ptrace(PTRACE_CONT, thread->id, 0, 0);
}

/* Another thread of a child, not traced yet, may have replaced it by exec: we can wait for it. */
static bool is_still_traced(const lh_thread *thread) {
  lh_process_status status;
  return lh_process_status_of(thread->id, &status) && status.tracer == gettid();
}

bool lh_thread_look(lh_thread *thread, lh_course course) {
  siginfo_t info = {0};
  const int changes = WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL;
  if (waitid(P_PID, (id_t)thread->id, &info, changes) < 0) return hold(thread, LH_HELD_GONE, 0);
  if (info.si_pid == 0) {
    bool is_traced = !thread->is_child || course != LH_COURSE_STOP || is_still_traced(thread);
    return !is_traced && hold(thread, LH_HELD_GONE, 0);
  }
  if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) return bury(thread);
  int event = info.si_status >> LH_EVENT_SHIFT;
  thread->is_stopped =
      event == LH_EVENT_STOP && info.si_status != (LH_EVENT_STOP << LH_EVENT_SHIFT | SIGTRAP);
  bool is_signal = info.si_status != LH_AT_CALL && event == 0;
  if (is_signal && course == LH_COURSE_INJECTED) return hold(thread, LH_HELD, LH_EVENT_SIGNAL);
  if (lh_call_mend(thread, info.si_status, course)) return false;
  if (!is_signal) return hold(thread, LH_HELD, event);
  lh_thread_go_on(thread, course, info.si_status);
  return false;
}

bool lh_thread_wait(lh_thread *thread, lh_course course, uint64_t until_ns) {
  for (uint64_t start = lh_now_ns(), now = start; now < until_ns; now = lh_now_ns()) {
    if (lh_thread_look(thread, course)) return true;
    if (now - start >= PATIENCE_NS) {
      char state = lh_thread_state(thread->id);
      if (state == 'D' && course == LH_COURSE_STOP) return hold(thread, LH_HELD_KERNEL, 0);
      if (state == 'Z' || state == 'X') return bury(thread);
    }
    lh_nap();
  }
  return lh_thread_look(thread, course); /* perhaps this process had no processor */
}

/* ==== Tracing ======================================================================= */

/* In exec, ptrace on a process waits until all other threads have ended. A traced thread has not
** ended before its tracer has waited for it. So tracer and thread could wait for each other. A
** timer's signal interrupts the tracer: its handler waits for ended threads, and the kernel goes
** on. The handler starts the timer anew at its end, since it takes longer than the timer if there
** are thousands of threads. The signal's action is restored at the end. */

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* A wait would also consume the report of a stopped thread, which comes only once. */
static void wait_if_ended(pid_t thread) {
  siginfo_t change = {0};
  const int changes = WEXITED | WNOHANG | __WALL;
  bool has_ended = waitid(P_PID, (id_t)thread, &change, changes | WNOWAIT) == 0 &&
                   (change.si_code == CLD_EXITED || change.si_code == CLD_KILLED ||
                    change.si_code == CLD_DUMPED);
  if (has_ended) (void)waitid(P_PID, (id_t)thread, &change, changes);
}

static bool start_timer(const lh_stop *stop) {
  const struct itimerspec soon = {.it_value.tv_nsec = 2000000};
  return timer_settime(stop->timer, 0, &soon, NULL) == 0;
}

static void wait_for_ended(int signal_number, siginfo_t *info, void *context) {
  (void)signal_number, (void)context;
  int os_errno = errno;
  const lh_stop *stop = info->si_value.sival_ptr;
  for (size_t i = 0; info->si_code == SI_TIMER && i < stop->n; i++) {
    if (!stop->threads[i].is_child) wait_if_ended(stop->threads[i].id);
  }
  if (info->si_code == SI_TIMER) (void)start_timer(stop);
  errno = os_errno;
}

static bool make_timer(lh_stop *stop, int signal_number) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal_number};
  event.sigev_value.sival_ptr = stop;
  event.sigev_notify_thread_id = gettid();
  return timer_create(CLOCK_MONOTONIC, &event, &stop->timer) == 0 && start_timer(stop);
}

/* Up to Linux 6.12 a deleted timer's signal may still come. Another sender's is raised again. */
static void forget_signals(int signal_number, const sigset_t *timers) {
  siginfo_t info;
  bool is_of_others = false;
  while (sigtimedwait(timers, &info, &(struct timespec){0}) > 0)
    is_of_others |= info.si_code != SI_TIMER;
  if (is_of_others) (void)raise(signal_number);
}

/* Traces a thread, which goes on. Returns 0 or an errno. */
static int trace_thread(lh_stop *stop, pid_t thread) {
  const int signal_number = SIGRTMAX;
  const struct sigaction action = {.sa_sigaction = wait_for_ended,
                                   .sa_flags = SA_SIGINFO | SA_RESTART};
  struct sigaction before;
  sigset_t timers;
  (void)sigemptyset(&timers);
  (void)sigaddset(&timers, signal_number);
  (void)sigaction(signal_number, &action, &before);
  int os_errno = EAGAIN;
  if (make_timer(stop, signal_number)) {
    (void)pthread_sigmask(SIG_UNBLOCK, &timers, NULL);
    os_errno = ptrace(PTRACE_SEIZE, thread, 0, PTRACE_O_TRACESYSGOOD) == 0 ? 0 : errno;
    (void)pthread_sigmask(SIG_BLOCK, &timers, NULL);
    (void)timer_delete(stop->timer);
    forget_signals(signal_number, &timers);
  }
  (void)sigaction(signal_number, &before, NULL);
  return os_errno;
}

/* ==== All threads =================================================================== */

size_t lh_visit_threads(pid_t process, bool (*visit)(void *payload, pid_t thread), void *payload) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/%d/task", (int)process);
  DIR *threads = opendir(path);
  if (!threads) return 0;
  size_t n = 0;
  bool goes_on = true;
  errno = ESRCH;
  for (struct dirent *entry; goes_on && (entry = readdir(threads));) {
    pid_t id = (pid_t)strtol(entry->d_name, NULL, 10);
    if (id <= 0) continue;
    goes_on = visit(payload, id);
    n++;
  }
  (void)closedir(threads);
  return goes_on ? n : 0;
}

static bool is_known(const lh_stop *stop, pid_t id) {
  for (size_t i = 0; i < stop->n; i++) {
    if (stop->threads[i].id == id) return true;
  }
  return false;
}

typedef struct seizing {
  lh_stop *stop;
  int rc;
  lh_error *error;
} seizing;

/* A thread that is ending cannot be traced. */
static bool seize(void *payload, pid_t id) {
  seizing *s = payload;
  lh_stop *stop = s->stop;
  if (is_known(stop, id)) return true;
  if (!lh_grow(&stop->threads, stop->n, &stop->capacity, sizeof *stop->threads)) {
    s->rc = lh_fail_memory(s->error, "stopping a process");
    return false;
  }
  int reason = trace_thread(stop, id);
  if (reason == 0) {
    stop->threads[stop->n++] =
        (lh_thread){.id = id, .is_child = stop->is_child && id == stop->process};
  } else if (reason != ESRCH) {
    char state = lh_thread_state(id);
    if (state != 'Z' && state != 'X') s->rc = lh_refuse_process(stop->process, reason, s->error);
  }
  return s->rc == LH_OK;
}

static int seize_new(lh_stop *stop, lh_error *error) {
  seizing s = {stop, LH_OK, error};
  if (lh_visit_threads(stop->process, seize, &s) == 0 && s.rc == LH_OK)
    return lh_refuse_process(stop->process, errno == ENOENT ? ESRCH : errno, error);
  return s.rc;
}

void lh_thread_ask(lh_thread *thread) {
  thread->held = LH_HELD_NOT;
  (void)ptrace(PTRACE_INTERRUPT, thread->id, 0, 0);
}

static void interrupt_free(lh_stop *stop) {
  for (size_t i = 0; i < stop->n; i++) {
    if (stop->threads[i].held == LH_HELD_FREE) lh_thread_ask(&stop->threads[i]);
  }
}

static int wait_for_all(lh_stop *stop, uint64_t until_ns, lh_error *error) {
  for (size_t i = 0; i < stop->n; i++) {
    lh_thread *thread = &stop->threads[i];
    if (thread->held == LH_HELD_NOT && !lh_thread_wait(thread, LH_COURSE_STOP, until_ns))
      return lh_fail(error, LH_EBUSY, "thread %d of process %d does not stop", (int)thread->id,
                     (int)stop->process);
  }
  return LH_OK;
}

static bool has_ended(const lh_stop *stop) {
  for (size_t i = 0; i < stop->n; i++) {
    if (stop->threads[i].held != LH_HELD_GONE) return false;
  }
  return true;
}

int lh_stop_trace(lh_stop *stop, pid_t process, const sigset_t *before, lh_error *error) {
  siginfo_t info;
  *stop = (lh_stop){.process = process, .before = before};
  stop->is_child = waitid(P_PID, (id_t)process, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
  int rc = seize_new(stop, error);
  if (rc != LH_OK) (void)lh_stop_end(stop);
  return rc;
}

int lh_stop_all(lh_stop *stop, lh_error *error) {
  uint64_t until_ns = lh_now_ns() + MOST_TO_STOP_NS;
  int rc = LH_OK;
  for (size_t n_before = SIZE_MAX; rc == LH_OK && stop->n != n_before;) {
    n_before = stop->n;
    interrupt_free(stop);
    rc = wait_for_all(stop, until_ns, error);
    if (rc == LH_OK) rc = seize_new(stop, error);
  }
  if (rc == LH_OK && has_ended(stop)) rc = lh_refuse_process(stop->process, ESRCH, error);
  if (rc != LH_OK) (void)lh_stop_end(stop);
  return rc;
}

int lh_stop_begin(lh_stop *stop, pid_t process, const sigset_t *before, lh_error *error) {
  int rc = lh_stop_trace(stop, process, before, error);
  return rc == LH_OK ? lh_stop_all(stop, error) : rc;
}

/* False: not held yet, or being killed. */
static bool detach(lh_thread *thread) {
  if (thread->held == LH_HELD) {
    bool is_detached = ptrace(PTRACE_DETACH, thread->id, 0, 0) == 0;
    thread->held = is_detached ? LH_HELD_GONE : LH_HELD_NOT;
  }
  return thread->held == LH_HELD_GONE;
}

/* All in turn: a thread in exec waits until we have waited for the ended ones. The kernel detaches
** the rest when this process ends. */
static void detach_rest(const lh_stop *stop, lh_thread *threads, size_t n) {
  uint64_t start_ns = lh_now_ns(), most_ns = MOST_TO_END_NS;
  for (size_t left = n; left > 0 && lh_now_ns() - start_ns < most_ns;) {
    if (lh_is_told_to_end(stop->before)) most_ns = MOST_IF_TOLD_TO_END_NS;
    left = 0;
    for (size_t i = 0; i < n; i++) {
      lh_thread *thread = &threads[i];
      left += !detach(thread) && !(lh_thread_look(thread, LH_COURSE_STOP) && detach(thread));
    }
    if (left > 0) lh_nap();
  }
}

/* After exec, a thread has the id of the first thread, which has ended. */
static bool detach_renumbered(void *payload, pid_t id) {
  const lh_stop *stop = payload;
  lh_thread thread = {.id = id, .is_child = stop->is_child && id == stop->process};
  if (ptrace(PTRACE_INTERRUPT, id, 0, 0) == 0) detach_rest(stop, &thread, 1);
  return true;
}

uint64_t lh_stop_end(lh_stop *stop) {
  uint64_t first_ns = UINT64_MAX;
  bool has_lost = false;
  interrupt_free(stop);
  for (size_t i = 0; i < stop->n; i++) {
    lh_thread *thread = &stop->threads[i];
    if (thread->held == LH_HELD && thread->held_ns < first_ns) first_ns = thread->held_ns;
    has_lost |= thread->held != LH_HELD;
    has_lost |= !detach(thread);
  }
  uint64_t now = lh_now_ns();
  if (has_lost) detach_rest(stop, stop->threads, stop->n);
  if (has_lost) (void)lh_visit_threads(stop->process, detach_renumbered, stop);
  lh_free(stop->threads);
  *stop = (lh_stop){0};
  return first_ns < now ? now - first_ns : 0;
}
