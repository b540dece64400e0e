/*
** freeze_process.c - keeps a process from changing while its memory is copied.
**
** An idle process is not stopped: freeze_process.c checks afterwards that it did not run. The
** threads of any other process run on to their next system calls (calls.c). Then the process is
** stopped (stop.c), and either forks a frozen copy of itself, which is read in its place
** (inject.c), or stays stopped. Signals are blocked during ptrace requests, so Ctrl-C waits for
** their end. A process that stays stopped goes on when this one ends. Ctrl-Z waits until the target
** runs again.
*/
#include "continue_copy.h"

/* ==== Idle ======================================================================= */

/* A thread has not run if it sleeps after the first reading of /proc/PID/task/TID/schedstat, and
** the counts are the same at the end. If the kernel does not count, or a child shares the memory
** (vfork), a process is not idle. A process stopped by a signal is idle. */
typedef struct idle_thread {
  pid_t id;
  char counts[80]; /* as the kernel writes them */
} idle_thread;

typedef struct idle_threads {
  pid_t process;
  idle_thread *of;
  size_t n, capacity;
  bool in_call; /* every thread is in a system call in which Lua does not change its heap */
} idle_threads;

static bool read_counts(pid_t process, idle_thread *thread) {
  char name[64];
  (void)snprintf(name, sizeof name, "task/%d/schedstat", (int)thread->id);
  return lh_process_text(process, name, thread->counts, sizeof thread->counts) > 0;
}

/* A thread in this call may wait for a child that shares its memory (vfork). */
static bool may_share_memory(long call) {
#ifdef SYS_vfork
  if (call == SYS_vfork) return true;
#endif
  return call == SYS_clone || call == SYS_clone3;
}

static bool note_thread(void *payload, pid_t id) {
  idle_threads *idle = payload;
  lh_call call;
  if (!lh_grow(&idle->of, idle->n, &idle->capacity, sizeof *idle->of)) return false;
  idle_thread *thread = &idle->of[idle->n++];
  thread->id = id;
  if (!read_counts(idle->process, thread) || strcmp(thread->counts, "0 0 0\n") == 0 ||
      !lh_call_of_sleeper(idle->process, id, &call))
    return false;
  idle->in_call &= lh_call_is_quiet(call);
  return !may_share_memory(call.number);
}

static bool is_unchanged(void *payload, pid_t id) {
  const idle_threads *idle = payload;
  idle_thread now = {.id = id};
  if (!read_counts(idle->process, &now)) return false;
  for (size_t i = 0; i < idle->n; i++) {
    if (idle->of[i].id == id) return strcmp(idle->of[i].counts, now.counts) == 0;
  }
  return false;
}

/* False: a thread runs, or its counts are unknown. The caller must call end_idle in any case. */
static bool begin_idle(idle_threads *idle, pid_t process) {
  *idle = (idle_threads){.process = process, .in_call = true};
  return lh_visit_threads(process, note_thread, idle) > 0;
}

static bool end_idle(idle_threads *idle) {
  bool is_idle = idle->n > 0 && lh_visit_threads(idle->process, is_unchanged, idle) == idle->n;
  lh_free(idle->of);
  *idle = (idle_threads){0};
  return is_idle;
}

/* While a thread waits in vfork(), no request of a tracer reaches it. */
typedef struct vforking {
  pid_t process;
  idle_thread thread; /* id 0: no thread waits */
} vforking;

static bool find_vforking(void *payload, pid_t id) {
  vforking *v = payload;
  lh_call call;
  bool waits = lh_thread_state(id) == 'D' && lh_call_of_sleeper(v->process, id, &call) &&
               may_share_memory(call.number);
  if (waits) v->thread.id = id;
  return !waits;
}

static bool has_run_since(const vforking *v) {
  idle_thread now = {.id = v->thread.id};
  return !read_counts(v->process, &now) || strcmp(v->thread.counts, now.counts) != 0;
}

/* LH_OK: no thread waits in vfork(), or it has run since. LH_EIO: one waited for a second. Blocks
** no signal, and does not touch the process. */
static int wait_for_vfork(pid_t process, lh_error *error) {
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

struct lh_freeze {
  lh_target *target;
  lh_stillness stillness;
  idle_threads idle;
  lh_stop stop;
  lh_guarded own, *guarded;      /* the frozen copy; `own` is used without a guard */
  lh_continuation *continuation; /* where it was stopped, to run on from there; NULL */
  int fd;                        /* the copy's memory; -1 */
  sigset_t signals;              /* blocked before */
};

static void note_stop(uint64_t stopped_ns, lh_outside_result *result) {
  if (stopped_ns > result->stopped_ns) result->stopped_ns = stopped_ns;
}

static bool has_no_filter(void *payload, pid_t thread) {
  lh_process_status status;
  (void)payload;
  return !lh_process_status_of(thread, &status) || status.system_filter == 0;
}

/* A child in another pid namespace could be its first process, which must not end. */
static bool has_children_elsewhere(pid_t process) {
  char path[64], own[64], children[64];
  (void)snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)process);
  ssize_t n = readlink(path, own, sizeof own);
  (void)snprintf(path, sizeof path, "/proc/%d/ns/pid_for_children", (int)process);
  return readlink(path, children, sizeof children) != n ||
         (n > 0 && memcmp(own, children, (size_t)n) != 0);
}

/* A frozen copy takes memory of the process's cgroups: page tables, and each page that the process
** writes meanwhile. If it is not there, the kernel kills the copy first, but then systemd may stop
** the service, and some cgroups are killed as a whole (memory.oom.group). */
static bool has_room_for_copy(int64_t process_id) {
  enum { PART = 8, LEAST_BYTES = 4 << 20 };
  char text[128], *end;
  uint64_t resident = 0;
  if (lh_process_text(process_id, "statm", text, sizeof text) > 0) {
    (void)strtoull(text, &end, 10);
    resident = strtoull(end, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
  }
  return lh_find_room_of("", process_id).bytes >= resident / PART + LEAST_BYTES;
}

/* Why the process cannot be made to fork; NULL: it can. Called while the process runs. */
static const char *find_hindrance(lh_freeze *s) {
  pid_t process = (pid_t)s->target->process_id;
  if (!LH_CAN_INJECT) return "only known for x86-64";
  if (lh_visit_threads(process, has_no_filter, NULL) == 0) return "a seccomp filter";
  if (has_children_elsewhere(process)) return "its children have a namespace of their own";
  if (!has_room_for_copy(process)) return "the limit of its cgroup leaves too little memory";
  s->guarded->room = lh_inject_find_room(s->target);
  return s->guarded->room ? NULL : "no room for an instruction";
}

static void end_copy(lh_freeze *s, lh_outside_result *result) {
  const uint64_t most_ns = 10000000000;
  uint64_t start_ns = lh_now_ns();
  bool is_gone = false;
  if (s->fd >= 0) (void)close(s->fd);
  lh_frozen_kill(&s->guarded->frozen);
  while (s->guarded->frozen.own_id > 0 && !is_gone && lh_now_ns() - start_ns < most_ns) {
    int rc = lh_stop_begin(&s->stop, (pid_t)s->target->process_id, &s->signals, NULL);
    if (rc == LH_EBUSY) continue;
    if (rc != LH_OK) break;
    is_gone = lh_inject_reap(&s->stop, s->guarded->room, &s->guarded->frozen);
    note_stop(lh_stop_end(&s->stop), result);
    if (!is_gone) lh_nap();
  }
  s->guarded->frozen.id = 0;
}

/* The copy has the target's mappings, except those that the target does not pass to children. */
static int refresh_from_copy(lh_freeze *s, lh_memory *memory, lh_error *error) {
  int64_t process = s->target->process_id;
  s->target->process_id = s->guarded->frozen.id;
  int rc = lh_process_refresh(s->target, error);
  s->target->process_id = process;
  s->fd = lh_process_file(s->guarded->frozen.id, "mem", O_RDONLY);
  *memory = s->target->memory;
  memory->process_id = s->guarded->frozen.id;
  memory->fd = s->fd;
  memory->is_shared = true;
  memory->before = &s->signals;
  return rc;
}

/* LH_OK with s->guarded->frozen.id 0: not forked, the process stays stopped. */
static int fork_copy(lh_freeze *s, lh_memory *memory, lh_outside_result *result, lh_error *error) {
  result->no_fork = lh_inject_fork(&s->stop, s->guarded->room, &s->guarded->frozen);
  if (s->guarded->frozen.id == 0) return LH_OK;
  note_stop(lh_stop_end(&s->stop), result);
  s->stillness = LH_STILL_FORK;
  if (lh_frozen_settle(&s->guarded->frozen)) return refresh_from_copy(s, memory, error);
  return lh_fail(error, LH_EBUSY, "the copy of process %d was killed", (int)s->target->process_id);
}

static int check_signals(const lh_freeze *s, lh_error *error) {
  if (!lh_is_told_to_end(&s->signals)) return LH_OK;
  return lh_fail(error, LH_EBUSY, "a signal ends this process");
}

static int stop_target(lh_freeze *s, bool never_fork, lh_memory *memory, lh_outside_result *result,
                       lh_error *error) {
  int rc;
  pid_t process = (pid_t)s->target->process_id;
  const char *hindrance = never_fork ? NULL : find_hindrance(s);
  s->stillness = LH_STILL_STOPPED;
  if (hindrance) result->no_fork = hindrance;
  lh_allow_signals(&s->signals);
  lh_code_prepare(&s->target->memory);
  lh_hold_signals(&(sigset_t){0});
  rc = lh_refuse_frozen(process, error);
  if (rc == LH_OK) rc = lh_stop_trace(&s->stop, process, &s->signals, error);
  if (rc == LH_OK) lh_stop_seek_calls(&s->stop);
  if (rc == LH_OK) rc = check_signals(s, error);
  if (rc == LH_OK) rc = lh_stop_all(&s->stop, error);
  if (rc == LH_OK) rc = check_signals(s, error);
  if (rc == LH_OK && !lh_stop_run_on(&s->stop, &result->was_in_system_call))
    rc = lh_fail(error, LH_EBUSY, "a thread of process %d does not stop", (int)process);
  if (rc == LH_OK) rc = check_signals(s, error);
  if (rc == LH_OK && !result->was_in_system_call) s->continuation = lh_continuation_begin(&s->stop);
  if (rc == LH_OK && !never_fork && !hindrance) rc = fork_copy(s, memory, result, error);
  if (rc != LH_OK || s->guarded->frozen.id) return rc;
  lh_allow_signals(&s->signals);
  rc = lh_process_refresh(s->target, error);
  *memory = s->target->memory;
  return rc;
}

/* A process that does not run and is in no system call was stopped by SIGSTOP anywhere. We must
** stop it, too, to read the registers to run on with. */
static bool is_idle(lh_freeze *s, unsigned attempt) {
  enum { ATTEMPTS = 2 };
  if (attempt >= ATTEMPTS) return false;
  if (begin_idle(&s->idle, (pid_t)s->target->process_id) && s->idle.in_call) return true;
  (void)end_idle(&s->idle);
  return false;
}

int lh_freeze_begin(lh_target *target, unsigned attempt, bool never_fork,
                    lh_freeze **frozen_process, lh_memory *memory, lh_outside_result *result,
                    lh_error *error) {
  int rc;
  lh_freeze *s = *frozen_process = lh_alloc_zeroed(1, sizeof *s);
  if (!s) return lh_fail_memory(error, "stopping a process");
  s->target = target;
  s->guarded = target->guard ? target->guard->guarded : &s->own;
  s->fd = -1;
  rc = wait_for_vfork((pid_t)target->process_id, error);
  if (rc != LH_OK) {
    lh_free(s);
    *frozen_process = NULL;
    return rc;
  }
  lh_hold_signals(&s->signals);
  if (is_idle(s, attempt)) {
    s->stillness = LH_STILL_IDLE;
    result->was_in_system_call = s->idle.in_call;
    lh_allow_signals(&s->signals);
    rc = lh_process_refresh(target, error);
    *memory = target->memory;
  } else {
    rc = stop_target(s, never_fork, memory, result, error);
  }
  result->stillness = s->stillness;
  if (rc == LH_OK) return rc;
  (void)lh_freeze_end(s, result);
  *frozen_process = NULL;
  return rc;
}

lh_continuation *lh_freeze_continuation(lh_freeze *s, const lh_memory *memory) {
  lh_continuation *continuation = s->continuation;
  if (!continuation || !lh_continuation_copy_code(continuation, memory)) return NULL;
  s->continuation = NULL;
  return continuation;
}

bool lh_freeze_end(lh_freeze *s, lh_outside_result *result) {
  sigset_t let;
  lh_hold_signals(&let);
  bool was_still = s->stillness != LH_STILL_IDLE || end_idle(&s->idle);
  if (s->stop.n > 0) note_stop(lh_stop_end(&s->stop), result);
  if (s->guarded->frozen.id) end_copy(s, result);
  lh_continuation_free(s->continuation);
  lh_release_signals(&s->signals);
  lh_free(s);
  return was_still;
}
