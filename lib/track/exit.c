/*
** exit.c - the list of all recorders that write a profile, for a function of atexit (exit.h). It is
** one of the two things that the library keeps for the whole process; the other one is in
** lib/take/watch_signal.c.
**
** A process may be forked while another of its threads has the lock, which nobody would give back
** in the child: there it is made anew. The list is whole at any instant, since one store changes
** it. It is not locked before a fork, which may come in a signal handler of who has the lock.
*/
#include "exit.h"

#include <pthread.h>
#include <stdlib.h>

#include "calls.h"
#include "profile.h"
#include "running.h"

static struct {
  pthread_mutex_t lock;
  lh_recorder *first;
  bool is_heard; /* atexit knows of us */
} open_profiles = {.lock = PTHREAD_MUTEX_INITIALIZER};

void lh_complete_profile(lh_recorder *r) {
  lh_error error;
  if (lh_profile_end(r->profile, &error) < 0 && r->report) {
    r->report(error.message, r->log ? r->log : "");
  }
  r->profile = NULL;
}

static void on_exit_of_process(void) {
  if (pthread_mutex_trylock(&open_profiles.lock) != 0) return; /* in a handler, amid a change */
  for (lh_recorder *r = open_profiles.first; r; r = r->next_open) {
    if (!r->running || r->running->owner != lh_os_thread()) continue;
    if (r->calls) lh_calls_complete(r->calls);
    lh_complete_profile(r);
  }
  open_profiles.first = NULL;
  (void)pthread_mutex_unlock(&open_profiles.lock);
}

static void on_fork_of_process(void) {
  (void)pthread_mutex_init(&open_profiles.lock, NULL);
}

void lh_complete_at_exit(lh_recorder *r) {
  (void)pthread_mutex_lock(&open_profiles.lock);
  if (!open_profiles.is_heard) {
    open_profiles.is_heard =
        pthread_atfork(NULL, NULL, on_fork_of_process) == 0 && atexit(on_exit_of_process) == 0;
  }
  r->next_open = open_profiles.first;
  __atomic_store_n(&open_profiles.first, r, __ATOMIC_RELEASE);
  (void)pthread_mutex_unlock(&open_profiles.lock);
}

void lh_forget_at_exit(lh_recorder *r) {
  (void)pthread_mutex_lock(&open_profiles.lock);
  lh_recorder **at = &open_profiles.first;
  while (*at && *at != r) at = &(*at)->next_open;
  if (*at) *at = r->next_open;
  (void)pthread_mutex_unlock(&open_profiles.lock);
}
