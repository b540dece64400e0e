/*
** exit.c - the list of all recorders that write a profile, for a function of atexit (exit.h). It is
** one of the two things that the library keeps for the whole process; the other one is in
** lib/take/watch_signal.c.
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
  if (pthread_mutex_trylock(&open_profiles.lock) != 0) return; /* forked amid a change */
  for (lh_recorder *r = open_profiles.first; r; r = r->next_open) {
    if (!r->running || r->running->owner != lh_os_thread()) continue;
    if (r->calls) lh_calls_complete(r->calls);
    lh_complete_profile(r);
  }
  open_profiles.first = NULL;
  (void)pthread_mutex_unlock(&open_profiles.lock);
}

void lh_complete_at_exit(lh_recorder *r) {
  (void)pthread_mutex_lock(&open_profiles.lock);
  if (!open_profiles.is_heard) open_profiles.is_heard = atexit(on_exit_of_process) == 0;
  r->next_open = open_profiles.first;
  open_profiles.first = r;
  (void)pthread_mutex_unlock(&open_profiles.lock);
}

void lh_forget_at_exit(lh_recorder *r) {
  (void)pthread_mutex_lock(&open_profiles.lock);
  lh_recorder **at = &open_profiles.first;
  while (*at && *at != r) at = &(*at)->next_open;
  if (*at) *at = r->next_open;
  (void)pthread_mutex_unlock(&open_profiles.lock);
}
