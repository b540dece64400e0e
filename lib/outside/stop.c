/*
** stop.c - stops all threads of a process, and lets them go on as if nothing had been.
**
** PTRACE_SEIZE and PTRACE_INTERRUPT send no signal. Each thread is asked to stop as soon as it is
** known, and threads are listed again until there is no new one: one that has stopped makes none.
** It takes 20 to 50 us for each.
**
** This process may be killed at any instant; then the kernel lets all threads go on. So they are
** looked at by waitid(WNOWAIT), for with that the kernel still knows which signal a thread was
** about to get, and gives it; and no signal is kept here. A call that would fail with EINTR since
** its thread was stopped is mended as soon as that is seen (registers.h).
**
** A thread that sleeps in the kernel where it cannot be interrupted, for a disk or in vfork(), is
** taken for stopped: it does so before it goes on in the program.
*/
#include "stop.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "process.h"

enum {
  NAP_NS = 2000000,            /* as long as no SIGCHLD comes: this process may ignore it */
  PATIENCE_NS = 300000,        /* before it is asked whether a thread sleeps in the kernel */
  MOST_TO_STOP_NS = 1000000000 /* on a busy machine */
};
static const uint64_t MOST_TO_END_NS = 10000000000;

/* The kernel's numbers, which libc's headers lack partly. */
enum { EVENT_SHIFT = 8, EVENT_STOP = 128, CALL_STOP = SIGTRAP | 0x80 };

uint64_t lh_now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void lh_nap(uint64_t most_ns) {
  sigset_t child;
  (void)sigemptyset(&child);
  (void)sigaddset(&child, SIGCHLD);
  struct timespec most = {.tv_nsec = most_ns < NAP_NS ? (long)most_ns : NAP_NS};
  (void)sigtimedwait(&child, NULL, &most);
}

/* {=== One thread ==================================================================== */

static void mend_call(pid_t thread) {
  lh_registers registers;
  if (lh_registers_get(thread, &registers) && lh_registers_mend(&registers))
    (void)lh_registers_set(thread, &registers);
}

/* 'R', 'S', 'D', ... of a thread; 'X': there is none. */
static char find_state(pid_t process, pid_t thread) {
  char name[64], text[512];
  (void)snprintf(name, sizeof name, "task/%d/stat", (int)thread);
  if (lh_process_text(process, name, text, sizeof text) <= 0) return 'X';
  const char *end = strrchr(text, ')'); /* of the name, in which there may be anything */
  return end && end[1] == ' ' ? end[2] : 'X';
}

static bool hold(lh_thread *thread, lh_held held) {
  thread->held = held;
  thread->held_ns = lh_now_ns();
  return true;
}

/* A thread that ended is ours to be waited for. */
static bool bury(lh_thread *thread) {
  siginfo_t info;
  (void)waitid(P_PID, (id_t)thread->id, &info, WEXITED | WNOHANG | __WALL);
  return hold(thread, LH_HELD_GONE);
}

bool lh_thread_look(lh_thread *thread, int request) {
  siginfo_t info = {0};
  const int changes = WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL;
  if (waitid(P_PID, (id_t)thread->id, &info, changes) < 0) return hold(thread, LH_HELD_GONE);
  if (info.si_pid == 0) return false;
  if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) return bury(thread);
  if (info.si_status == CALL_STOP) return hold(thread, LH_HELD_ENTERED);
  mend_call(thread->id);
  if (info.si_status >> EVENT_SHIFT != 0) return hold(thread, LH_HELD_STOPPED);
  if (request == PTRACE_CONT) (void)ptrace(PTRACE_INTERRUPT, thread->id, 0, 0);
  (void)ptrace(request, thread->id, 0, info.si_status);
  return false;
}

bool lh_thread_wait(const lh_stop *stop, lh_thread *thread, int request, uint64_t until_ns) {
  for (uint64_t start = lh_now_ns(), now = start; now < until_ns; now = lh_now_ns()) {
    if (lh_thread_look(thread, request)) return true;
    lh_nap(PATIENCE_NS);
    if (now - start < PATIENCE_NS) continue;
    char state = find_state(stop->process, thread->id);
    if (state == 'D') return hold(thread, LH_HELD_KERNEL);
    if (state == 'Z' || state == 'X') return bury(thread);
  }
  return false;
}

/* }=================================================================================== */

/* {=== All =========================================================================== */

static bool is_known(const lh_stop *stop, pid_t id) {
  for (size_t i = 0; i < stop->n; i++) {
    if (stop->threads[i].id == id) return true;
  }
  return false;
}

/* Asks a thread to stop. One that is ending cannot be asked. */
static int seize(lh_stop *stop, pid_t id, lh_error *error) {
  if (!lh_grow(&stop->threads, stop->n, &stop->capacity, sizeof *stop->threads))
    return lh_fail_memory(error, "stopping a process");
  if (ptrace(PTRACE_SEIZE, id, 0, PTRACE_O_TRACESYSGOOD) < 0) {
    int reason = errno;
    char state = reason == ESRCH ? 'X' : find_state(stop->process, id);
    if (state == 'Z' || state == 'X') return LH_OK;
    return lh_refuse_process(stop->process, reason, error);
  }
  stop->threads[stop->n++] = (lh_thread){.id = id};
  (void)ptrace(PTRACE_INTERRUPT, id, 0, 0);
  return LH_OK;
}

static int seize_new(lh_stop *stop, lh_error *error) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/%d/task", (int)stop->process);
  DIR *tasks = opendir(path);
  if (!tasks) return lh_refuse_process(stop->process, errno == ENOENT ? ESRCH : errno, error);
  int rc = LH_OK;
  for (struct dirent *entry; rc == LH_OK && (entry = readdir(tasks));) {
    pid_t id = (pid_t)strtol(entry->d_name, NULL, 10);
    if (id > 0 && !is_known(stop, id)) rc = seize(stop, id, error);
  }
  (void)closedir(tasks);
  return rc;
}

static int wait_for_all(lh_stop *stop, uint64_t until_ns, lh_error *error) {
  for (size_t i = 0; i < stop->n; i++) {
    lh_thread *thread = &stop->threads[i];
    if (thread->held == LH_HELD_NOT && !lh_thread_wait(stop, thread, PTRACE_CONT, until_ns))
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

int lh_stop_begin(lh_stop *stop, pid_t process, lh_error *error) {
  *stop = (lh_stop){.process = process};
  uint64_t until_ns = lh_now_ns() + MOST_TO_STOP_NS;
  int rc = LH_OK;
  for (size_t n_before = SIZE_MAX; rc == LH_OK && stop->n != n_before;) {
    n_before = stop->n;
    rc = seize_new(stop, error);
    if (rc == LH_OK) rc = wait_for_all(stop, until_ns, error);
  }
  if (rc == LH_OK && has_ended(stop)) rc = lh_refuse_process(process, ESRCH, error);
  if (rc != LH_OK) (void)lh_stop_end(stop);
  return rc;
}

/* False: it has not stopped yet. One that is being killed is not stopped any more. */
static bool detach(lh_thread *thread) {
  if (thread->held == LH_HELD_STOPPED || thread->held == LH_HELD_ENTERED) {
    if (ptrace(PTRACE_DETACH, thread->id, 0, 0) == 0)
      thread->held = LH_HELD_GONE;
    else
      thread->held = LH_HELD_NOT;
  }
  return thread->held == LH_HELD_GONE;
}

uint64_t lh_stop_end(lh_stop *stop) {
  uint64_t first_ns = UINT64_MAX;
  for (size_t i = 0; i < stop->n; i++) {
    lh_thread *thread = &stop->threads[i];
    if ((thread->held == LH_HELD_STOPPED || thread->held == LH_HELD_ENTERED) &&
        thread->held_ns < first_ns)
      first_ns = thread->held_ns;
    (void)detach(thread);
  }
  uint64_t now = lh_now_ns(), until_ns = now + MOST_TO_END_NS;
  for (size_t i = 0; i < stop->n; i++) {
    lh_thread *thread = &stop->threads[i];
    while (!detach(thread) && lh_now_ns() < until_ns) {
      thread->held = LH_HELD_NOT;
      if (!lh_thread_look(thread, PTRACE_CONT)) lh_nap(PATIENCE_NS);
    }
  }
  lh_free(stop->threads);
  *stop = (lh_stop){0};
  return first_ns < now ? now - first_ns : 0;
}

/* }=================================================================================== */
