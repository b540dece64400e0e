/*
** watch_signal.c - the list of all watchers, and the signal handler that reads it.
**
** The list is the library's only global, because neither a signal handler nor a function of atexit
** gets an argument. It is changed under a lock and read without. Nodes are never freed: removing a
** watcher empties its node and waits until no thread reads. New watchers reuse empty nodes.
**
** The kernel gives a signal of the process to any thread. But only the thread that runs a state may
** arm it, between two of its instructions. So a handler in another thread sends the signal on. If
** that thread does not exist (after a fork), our allocation function sees the request. A signal
** that was sent on makes no new request. The host's earlier handler has seen it and does not get it
** again; nor does it get ticks (watch_hook.c), for which SIGURG is caught too.
**
** When a signal's last watcher stops, the earlier action is put back. If that is a default action
** that ends or stops the process, a handler that does nothing takes its place: the signal's sender
** does not know that nobody watches any more, most often because the program is ending. Programs
** that the host starts would inherit SIG_IGN, but no handler.
*/
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "watch.h"

typedef struct node {
  _Atomic(lh_watcher *) watcher;
  struct node *next;
} node;

enum { SIGNALS = 65 };

static struct {
  _Atomic(node *) first;
  atomic_int readers; /* of the list without the lock */
  _Atomic uint64_t n_files;
  atomic_uint n_watching;
  _Atomic uint64_t n_signals, answered; /* the signals are numbered */
  pthread_mutex_t lock;
  bool process_is_watched;
  struct {
    unsigned users;
    bool caught;
    struct sigaction earlier;
  } signals[SIGNALS];
} watchers = {.lock = PTHREAD_MUTEX_INITIALIZER};

static node *first_node(void) {
  return atomic_load_explicit(&watchers.first, memory_order_acquire);
}

lh_signal_text lh_text_of_signal(int number) {
  lh_signal_text text;
  const char *name = lh_signal_name(number);
  if (name)
    (void)snprintf(text.text, sizeof text.text, "%s", name);
  else
    (void)snprintf(text.text, sizeof text.text, "%d", number);
  return text;
}

/* ==== The handler =================================================================== */

/* Takes a signal that a handler in another thread has sent on to this one. */
static bool take_forwarded(int number, pthread_t self) {
  bool found = false;
  for (node *n = first_node(); n; n = n->next) {
    lh_watcher *w = atomic_load(&n->watcher);
    if (!w || w->options.signal_number != number || atomic_load(&w->owner) != self) continue;
    if (!atomic_exchange(&w->forwarded, false)) continue;
    if (!w->busy) lh_arm(w);
    found = true;
  }
  return found;
}

static void request(int number, pthread_t self) {
  uint64_t signalled = atomic_fetch_add(&watchers.n_signals, 1) + 1;
  for (node *n = first_node(); n; n = n->next) {
    lh_watcher *w = atomic_load(&n->watcher);
    if (!w || w->options.signal_number != number) continue;
    atomic_store(&w->signalled, signalled);
    (void)atomic_fetch_or(&w->wanted, (unsigned)LH_WANT_SIGNALLED);
    if (atomic_load(&w->owner) != self) {
      atomic_store(&w->forwarded, true);
      (void)syscall(SYS_tgkill, getpid(), atomic_load(&w->owner_id), number);
    } else if (!w->busy) {
      lh_arm(w);
    }
  }
}

static bool take_tick(const siginfo_t *info, pthread_t self) {
  bool late;
  if (!lh_is_tick(info, &late)) return false;
  for (node *n = first_node(); n; n = n->next) {
    lh_watcher *w = atomic_load(&n->watcher);
    if (!w || atomic_load(&w->owner) != self || w->busy || !w->ticking) continue;
    lh_arm(w);
    if (late) lh_watch_report_late(w, true);
  }
  return true;
}

/* Another handler may never return: it must not interrupt us while we count as a reader. */
static void on_signal(int number, siginfo_t *info, void *context) {
  int os_errno = errno, before = lh_hold_cancel();
  pthread_t self = pthread_self();
  sigset_t all, mask;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &mask);
  (void)atomic_fetch_add(&watchers.readers, 1);
  bool is_new = !take_tick(info, self) && !take_forwarded(number, self);
  if (is_new) request(number, self);
  (void)atomic_fetch_sub(&watchers.readers, 1);
  (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
  lh_release_cancel(before);
  errno = os_errno;
  const struct sigaction *earlier = &watchers.signals[number].earlier;
  if (!is_new) return;
  if (earlier->sa_flags & SA_SIGINFO)
    earlier->sa_sigaction(number, info, context);
  else if (earlier->sa_handler != SIG_DFL && earlier->sa_handler != SIG_IGN)
    earlier->sa_handler(number);
}

/* ==== Catching and releasing, under the lock ======================================== */

/* Not signals that cannot be caught, that a fault raises, or that libc uses itself. */
static bool may_be_caught(int number) {
  static const int never[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL,
                              SIGTRAP, SIGABRT, SIGSYS,  32,     33};
  for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
    if (never[i] == number) return false;
  return number > 0 && number < SIGNALS;
}

/* The signal is still caught if a handler in front of ours kept us from releasing it. An earlier
** handler runs within ours: so ours has its flags. The alternate stack may be too small for it. */
static int catch_one(int number, lh_error *error) {
  enum { AS_EARLIER = SA_RESTART | SA_NODEFER | SA_ONSTACK };
  struct sigaction ours = {.sa_flags = SA_SIGINFO};
  if (!may_be_caught(number))
    return lh_fail(error, LH_EARGUMENT, "signal %s cannot be used to ask for snapshots",
                   lh_text_of_signal(number).text);
  watchers.signals[number].users++;
  if (watchers.signals[number].caught) return LH_OK;
  struct sigaction *earlier = &watchers.signals[number].earlier;
  bool caught = sigaction(number, NULL, earlier) == 0;
  bool is_new = earlier->sa_handler == SIG_DFL || earlier->sa_handler == SIG_IGN;
  if (caught && !is_new && earlier->sa_flags & (int)SA_RESETHAND) {
    watchers.signals[number].users--;
    return lh_fail(error, LH_EARGUMENT,
                   "signal %s cannot be used: the program handles it once, and then its default "
                   "action comes (SA_RESETHAND); choose another signal",
                   lh_text_of_signal(number).text);
  }
  ours.sa_flags |= is_new ? SA_RESTART | SA_ONSTACK : earlier->sa_flags & AS_EARLIER;
  ours.sa_mask = earlier->sa_mask;
  ours.sa_sigaction = on_signal;
  if (!caught || sigaction(number, &ours, NULL) < 0) {
    watchers.signals[number].users--;
    return lh_fail_errno(error, errno, "cannot catch signal %s", lh_text_of_signal(number).text);
  }
  watchers.signals[number].caught = true;
  return LH_OK;
}

static void do_nothing(int number) {
  (void)number;
}

static bool is_our_handler(int number) {
  struct sigaction current;
  return sigaction(number, NULL, &current) == 0 && current.sa_flags & SA_SIGINFO &&
         current.sa_sigaction == on_signal;
}

static bool is_harmless(int number) {
  return number == SIGCHLD || number == SIGCONT || number == SIGURG || number == SIGWINCH;
}

static void release_signal(int number) {
  if (--watchers.signals[number].users > 0 || !is_our_handler(number)) return;
  struct sigaction *earlier = &watchers.signals[number].earlier;
  if (earlier->sa_handler == SIG_DFL && !is_harmless(number))
    *earlier = (struct sigaction){.sa_handler = do_nothing, .sa_flags = SA_RESTART | SA_ONSTACK};
  (void)sigaction(number, earlier, NULL);
  watchers.signals[number].caught = false;
}

static int catch_signals(int number, lh_error *error) {
  if (number == 0) return LH_OK;
  int rc = catch_one(number, error);
  if (rc < 0) return rc;
  rc = catch_one(SIGURG, error);
  if (rc < 0) release_signal(number);
  return rc;
}

static void release_signals(int number) {
  if (number == 0) return;
  release_signal(number);
  release_signal(SIGURG);
}

/* ==== The list ====================================================================== */

static lh_watcher *next_own(node **at, pthread_t self) {
  lh_watcher *found = NULL;
  (void)atomic_fetch_add(&watchers.readers, 1);
  for (; *at && !found; *at = (*at)->next) {
    lh_watcher *w = atomic_load(&(*at)->watcher);
    if (w && atomic_load(&w->owner) == self) found = w;
  }
  (void)atomic_fetch_sub(&watchers.readers, 1);
  return found;
}

static void on_exit_of_process(void) {
  node *at = first_node();
  for (lh_watcher *w; (w = next_own(&at, pthread_self())) != NULL;) lh_watch_exit(w);
}

/* Runs in a forked child, whose only thread this is. Other threads may have held the lock. */
static void on_fork_of_process(void) {
  node *at = first_node();
  (void)pthread_mutex_init(&watchers.lock, NULL);
  atomic_store(&watchers.readers, 0);
  atomic_store(&watchers.n_files, 0);
  for (lh_watcher *w; (w = next_own(&at, pthread_self())) != NULL;) {
    atomic_store(&w->owner_id, (pid_t)syscall(SYS_gettid));
    w->forked = true;
    w->ticking = 0;
  }
}

static node *free_node(void) {
  node *n = first_node();
  while (n && atomic_load(&n->watcher)) n = n->next;
  if (n) return n;
  n = lh_alloc_zeroed(1, sizeof *n);
  if (!n) return NULL;
  n->next = first_node();
  atomic_store_explicit(&watchers.first, n, memory_order_release);
  return n;
}

int lh_watchers_add(lh_watcher *w, lh_error *error) {
  (void)pthread_mutex_lock(&watchers.lock);
  if (!watchers.process_is_watched)
    watchers.process_is_watched =
        pthread_atfork(NULL, NULL, on_fork_of_process) == 0 && atexit(on_exit_of_process) == 0;
  node *n = watchers.process_is_watched ? free_node() : NULL;
  int rc = n ? catch_signals(w->options.signal_number, error)
             : lh_fail_memory(error, "starting to watch a Lua state");
  if (rc == LH_OK) {
    atomic_store(&n->watcher, w);
    (void)atomic_fetch_add(&watchers.n_watching, 1);
  }
  (void)pthread_mutex_unlock(&watchers.lock);
  return rc;
}

void lh_watchers_remove(lh_watcher *w) {
  (void)pthread_mutex_lock(&watchers.lock);
  for (node *n = first_node(); n; n = n->next) {
    if (atomic_load(&n->watcher) != w) continue;
    atomic_store(&n->watcher, NULL);
    (void)atomic_fetch_sub(&watchers.n_watching, 1);
    release_signals(w->options.signal_number);
  }
  (void)pthread_mutex_unlock(&watchers.lock);
  while (atomic_load(&watchers.readers) > 0) (void)sched_yield();
}

lh_watcher *lh_watchers_find(lua_State *L) {
  const char *global = lh_global_state(L);
  lh_watcher *found = NULL;
  (void)atomic_fetch_add(&watchers.readers, 1);
  for (node *n = first_node(); n && !found; n = n->next) {
    lh_watcher *w = atomic_load(&n->watcher);
    if (w && w->global == global) found = w;
  }
  (void)atomic_fetch_sub(&watchers.readers, 1);
  return found;
}

bool lh_watchers_hear(const lh_watcher *w) {
  return is_our_handler(w->options.signal_number);
}

uint64_t lh_watchers_number(void) {
  return atomic_fetch_add(&watchers.n_files, 1) + 1;
}

uint64_t lh_watchers_last_number(void) {
  return atomic_load(&watchers.n_files);
}

unsigned lh_watchers_count(void) {
  return atomic_load(&watchers.n_watching);
}

void lh_watchers_answer(const lh_watcher *w) {
  uint64_t now = atomic_load(&w->signalled), before = atomic_load(&watchers.answered);
  while (before < now && !atomic_compare_exchange_weak(&watchers.answered, &before, now)) {}
}

bool lh_watchers_answered(const lh_watcher *w) {
  return atomic_load(&w->signalled) <= atomic_load(&watchers.answered);
}
