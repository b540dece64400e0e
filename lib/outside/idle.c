/*
** idle.c - whether a process ran at all between two moments, without stopping it; and whether it
** can be stopped: not while one of its threads waits in vfork().
**
** The kernel counts for each thread how often it was given a processor, and for how long
** (/proc/PID/task/TID/schedstat). A thread of which the count is read, which then does not run, and
** whose count is the same in the end, has not run in between. Where the kernel does not count, or a
** child shares the memory (vfork), no process is idle. A process that was stopped is.
*/
#include <string.h>
#include <time.h>

#include "stop.h"

typedef struct lh_idle_thread {
  pid_t id;
  char counts[80]; /* as the kernel writes them */
} lh_idle_thread;

static bool read_counts(pid_t process, lh_idle_thread *thread) {
  char name[64];
  (void)snprintf(name, sizeof name, "task/%d/schedstat", (int)thread->id);
  return lh_process_text(process, name, thread->counts, sizeof thread->counts) > 0;
}

/* A thread in this call may wait for a child that has its memory (vfork). */
static bool may_share_memory(long call) {
#ifdef SYS_vfork
  if (call == SYS_vfork) return true;
#endif
  return call == SYS_clone || call == SYS_clone3;
}

static bool note_thread(void *payload, pid_t id) {
  lh_idle *idle = payload;
  long call;
  uint64_t second_argument;
  if (!lh_grow(&idle->threads, idle->n, &idle->capacity, sizeof *idle->threads)) return false;
  lh_idle_thread *thread = &idle->threads[idle->n++];
  thread->id = id;
  if (!read_counts(idle->process, thread) || strcmp(thread->counts, "0 0 0\n") == 0 ||
      !lh_call_of_sleeper(idle->process, id, &call, &second_argument))
    return false;
  idle->in_call &= lh_call_is_quiet(call, second_argument);
  return !may_share_memory(call);
}

static bool is_unchanged(void *payload, pid_t id) {
  const lh_idle *idle = payload;
  lh_idle_thread now = {.id = id};
  if (!read_counts(idle->process, &now)) return false;
  for (size_t i = 0; i < idle->n; i++) {
    if (idle->threads[i].id == id) return strcmp(idle->threads[i].counts, now.counts) == 0;
  }
  return false;
}

bool lh_idle_begin(lh_idle *idle, pid_t process) {
  *idle = (lh_idle){.process = process, .in_call = true};
  return lh_visit_threads(process, note_thread, idle) > 0;
}

bool lh_idle_end(lh_idle *idle) {
  bool is_idle = idle->n > 0 && lh_visit_threads(idle->process, is_unchanged, idle) == idle->n;
  lh_free(idle->threads);
  *idle = (lh_idle){0};
  return is_idle;
}

/* The kernel holds a thread that waits for a child that has its memory, where no request of a
** tracer reaches it. */
typedef struct vforking {
  pid_t process;
  lh_idle_thread thread; /* id 0: no thread waits */
} vforking;

static bool find_vforking(void *payload, pid_t id) {
  vforking *v = payload;
  long call;
  uint64_t second_argument;
  bool waits = lh_thread_state(id) == 'D' &&
               lh_call_of_sleeper(v->process, id, &call, &second_argument) &&
               may_share_memory(call);
  if (waits) v->thread.id = id;
  return !waits;
}

static bool has_run_since(const vforking *v) {
  lh_idle_thread now = {.id = v->thread.id};
  return !read_counts(v->process, &now) || strcmp(v->thread.counts, now.counts) != 0;
}

int lh_wait_for_vfork(pid_t process, lh_error *error) {
  const uint64_t most_ns = 1000000000, start_ns = lh_now_ns();
  vforking v = {.process = process};
  (void)lh_visit_threads(process, find_vforking, &v);
  if (v.thread.id == 0 || !read_counts(process, &v.thread)) return LH_OK;
  while (!has_run_since(&v)) {
    if (lh_now_ns() - start_ns > most_ns)
      return lh_fail(error, LH_EIO,
                     "process %d waits in vfork() for its child, and cannot be stopped: try again "
                     "when the child has started its own program",
                     (int)process);
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return LH_OK;
}
