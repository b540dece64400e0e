/*
** background.c - writes a snapshot in a forked child, so the program pauses only for the fork.
**
** The child comes from a bare clone() without an exit signal: the host's wait() does not see it, no
** SIGCHLD comes, no pthread_atfork or atexit handler runs, and no stdio buffer is flushed. Another
** thread of the host may hold any lock at the fork. So the child calls only async-signal-safe
** functions and uses buffers that were allocated before.
**
** The pause is the kernel's: 67 to 240 ns for each 4 KB page of the host. That is 4 to 14 ms for
** 219 MB, 0.01 to 0.03 times a full collection. Our own work takes 0.2 ms. With huge pages
** (GLIBC_TUNABLES=glibc.malloc.hugetlb=1, the host's choice) 219 MB take 1 ms.
**
** If the host exits first, the child completes the file. If the child is killed, a nameless file
** disappears; a temporarily named one (file.h) is removed when the host next asks for the job.
*/
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "state.h"
#include "take.h"

typedef struct report {
  int finished; /* set last, atomically */
  bool told;    /* the child has called `tell` */
  bool written;
  lh_file_failure failure; /* unless written */
  lh_taken taken;
} report;

struct lh_job {
  pid_t pid;
  bool reaped;
  int status; /* from waitpid, once reaped */
  report *shared;
  lh_file file; /* to remove the file of a killed child; has the path */
};

/* ==== The child ===================================================================== */

/* snprintf of strings and whole numbers takes no lock and no memory, so the error message can be
** made here. With a long path the library would allocate: then the host reports the failure. */
static void report_end(const char *path, const lh_child *child, report *shared) {
  lh_error error;
  enum { LONG_PATH = 256 };
  if (!child->tell || (!shared->written && strlen(path) > LONG_PATH)) return;
  if (!shared->written) (void)lh_file_fail(&shared->failure, path, &error);
  child->tell(path, shared->written ? &shared->taken : NULL, shared->written ? NULL : &error,
              child->payload);
  shared->told = true;
}

/* Closes the descriptors from `first` up to but not including `end`. Linux before 5.9 and some
** system call filters lack close_range: then the first 65,536 are closed one by one. */
static void close_from(int first, int end) {
  enum { MOST = 1 << 16 };
  if (first >= end) return;
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, end - 1, 0) == 0) return;
#endif
  for (int fd = first; fd < end && fd < MOST; fd++) (void)close(fd);
}

/* Closes the host's descriptors. Otherwise readers of its output and peers of its closed
** connections would wait for the child, and file locks would stay held. stderr stays open for a
** child that reports. The other standard descriptors become the folder, which nobody can write to.
**
** The child has its own descriptor table. If it shared the host's (CLONE_FILES), the host could
** close our descriptor and open another file under the same number: our bytes would go there. */
static void close_those_of_host(const lh_file *file, bool tells) {
  bool in_order = file->fd < file->folder_fd;
  int one = in_order ? file->fd : file->folder_fd, other = in_order ? file->folder_fd : file->fd;
  for (int fd = 0; fd <= (tells ? STDOUT_FILENO : STDERR_FILENO); fd++)
    (void)dup2(file->folder_fd, fd);
  close_from(STDERR_FILENO + 1, one);
  close_from(one + 1, other);
  close_from(other + 1, INT_MAX);
}

/* Host and child are equally big: if memory runs out, the system shall end the child. */
static void be_first_to_go(void) {
  int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!pwrite(fd, "1000", 4, 0);
  (void)close(fd);
}

/* A child with the host's real-time policy would keep the host from the processor that they share
** until the file is written. */
static void leave_real_time(void) {
  int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
  if (policy == SCHED_FIFO || policy == SCHED_RR)
    (void)sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
}

static _Noreturn void write_and_exit(lh_shot *shot, lh_file *file, const lh_child *child,
                                     report *shared) {
  lh_taken taken;
  leave_real_time();
  close_those_of_host(file, child->tell);
  be_first_to_go();
  shared->written = lh_shot_save(shot, file, &taken);
  lh_file_close(file);
  shared->failure = file->failure;
  shared->taken = taken;
  report_end(shot->facts.name, child, shared);
  __atomic_store_n(&shared->finished, 1, __ATOMIC_RELEASE);
  _exit(0);
}

/* After unshare(CLONE_NEWPID) the next child is the first process of a namespace, in which no other
** process can be made when it has ended. The host needs that place for a child of its own. The link
** of such a namespace cannot be read before it has a process; Linux before 4.12 has no link. */
static bool has_children_elsewhere(void) {
  static const char of_children[] = "/proc/self/ns/pid_for_children";
  char own[64], theirs[64];
  struct stat status;
  if (lstat(of_children, &status) < 0) return false;
  ssize_t n = readlink("/proc/self/ns/pid", own, sizeof own);
  return n > 0 &&
         (readlink(of_children, theirs, sizeof theirs) != n || memcmp(own, theirs, (size_t)n) != 0);
}

/* Returns the child's pid, or -1 and errno. All signals are blocked in the child: a handler of the
** host must not run twice. */
static pid_t fork_child(lh_shot *shot, lh_file *file, const lh_child *child, report *shared) {
  sigset_t all, before;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t pid = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0); /* a fork() without an exit signal */
  if (pid == 0) write_and_exit(shot, file, child, shared);
  int os_errno = errno;
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = os_errno;
  return pid;
}

/* ==== The job ======================================================================= */

static bool is_finished(const lh_job *job) {
  return __atomic_load_n(&job->shared->finished, __ATOMIC_ACQUIRE) != 0;
}

void lh_job_free(lh_job *job) {
  if (!job) return;
  if (job->pid > 0) (void)lh_job_done(job); /* reaps the child if it has ended */
  if (job->shared) (void)munmap(job->shared, sizeof *job->shared);
  lh_file_close(&job->file);
  lh_free_pages(job, sizeof *job);
}

static int new_job(lh_job **out, lh_error *error) {
  lh_job *job = *out = lh_alloc_pages(sizeof *job);
  if (!job) return lh_fail_memory(error, "starting a background snapshot");
  job->file.fd = job->file.folder_fd = -1;
  void *page =
      mmap(NULL, sizeof(report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return lh_fail_errno(error, errno, "cannot start a background snapshot");
  job->shared = page;
  return LH_OK;
}

static int fork_for_job(lua_State *L, const char *path, const lh_take_options *options,
                        lh_child *child, lh_job *job, lh_shot *shot, lh_error *error) {
  int rc = lh_file_open(&job->file, path, error);
  if (rc == LH_OK) rc = lh_shot_prepare(L, path, lh_file_write, &job->file, options, shot, error);
  if (rc == LH_OK && !lh_shot_may_fit(shot, &job->file))
    rc = lh_file_fail(&job->file.failure, path, error);
  if (rc == LH_OK && (child->cannot_fork = has_children_elsewhere()))
    rc = lh_fail(error, LH_EIO,
                 "cannot fork for a background snapshot: the program's children have a process "
                 "namespace of their own, which the first of them begins");
  if (rc == LH_OK) {
    job->pid = fork_child(shot, &job->file, child, job->shared);
    child->cannot_fork = job->pid < 0;
    if (job->pid < 0) rc = lh_fail_errno(error, errno, "cannot fork for a background snapshot");
  }
  lh_shot_free(shot);
  if (rc == LH_OK)
    lh_file_leave(&job->file); /* the child owns it now */
  else
    lh_void_mark(L, &shot->planted);
  return rc;
}

int lh_start_child(lua_State *L, const char *path, const lh_take_options *options, lh_child *child,
                   lh_job **out, lh_error *error) {
  int before = lh_hold_cancel(), rc = new_job(out, error);
  lh_shot *shot = rc == LH_OK ? lh_alloc_pages(sizeof *shot) : NULL; /* see take.c */
  if (shot)
    rc = fork_for_job(L, path, options, child, *out, shot, error);
  else if (rc == LH_OK)
    rc = lh_fail_memory(error, "starting a background snapshot");
  lh_free_pages(shot, sizeof *shot);
  if (rc != LH_OK) {
    lh_job_free(*out);
    *out = NULL;
  }
  lh_release_cancel(before);
  return rc;
}

int lh_start_snapshot(lua_State *L, const char *path, uint64_t string_bytes, lh_job **out,
                      lh_error *error) {
  const lh_take_options options = {string_bytes};
  return lh_start_child(L, path, &options, &(lh_child){0}, out, error);
}

bool lh_job_was_reported(const lh_job *job) {
  return is_finished(job) && job->shared->told;
}

bool lh_job_done(lh_job *job) {
  if (job->reaped) return true;
  pid_t pid;
  do {
    pid = waitpid(job->pid, &job->status, WNOHANG | (int)__WALL);
  } while (pid < 0 && errno == EINTR);
  if (pid == 0) return false;
  if (pid < 0 && !is_finished(job)) { /* not our child: the host has forked or reaped it */
    if (kill(job->pid, 0) == 0 || errno != ESRCH) return false;
    job->status = 0;
  }
  job->reaped = true;
  if (!is_finished(job)) lh_file_remove_left(&job->file);
  return true;
}

const char *lh_job_path(const lh_job *job) {
  return job->file.path;
}

lh_taken lh_job_taken(const lh_job *job) {
  return job->shared->taken;
}

int64_t lh_job_process(const lh_job *job) {
  return job->pid;
}

static int result_of_job(const lh_job *job, lh_error *error) {
  if (!is_finished(job)) {
    int signal_number = WIFSIGNALED(job->status) ? WTERMSIG(job->status) : 0;
    return lh_fail(error, LH_EIO, "cannot write '%s': the process that wrote it was killed%s%s",
                   job->file.path, signal_number ? " by signal: " : "",
                   signal_number ? strsignal(signal_number) : "");
  }
  return job->shared->written ? LH_OK : lh_file_fail(&job->shared->failure, job->file.path, error);
}

int lh_job_wait(lh_job *job, double seconds, lh_error *error) {
  static const struct timespec nap = {.tv_nsec = 2000000};
  uint64_t start = lh_now_ns();
  while (!lh_job_done(job)) {
    if (seconds >= 0 && (double)(lh_now_ns() - start) >= seconds * 1e9)
      return lh_fail(error, LH_EBUSY, "'%s' is still being written", job->file.path);
    (void)nanosleep(&nap, NULL);
  }
  return result_of_job(job, error);
}
