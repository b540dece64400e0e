/*
** still.c - makes sure that a process does not change while its memory is copied.
*/
#include <signal.h>

#include "stop.h"

struct lh_still {
  lh_target *target;
  lh_stop stop;
  sigset_t signals; /* of this process, which were blocked before */
};

int lh_still_begin(lh_target *target, unsigned attempt, bool never_fork, lh_still **still,
                   lh_memory *memory, lh_outside_told *told, lh_error *error) {
  (void)attempt, (void)never_fork;
  sigset_t all;
  lh_still *s = *still = lh_alloc_zeroed(1, sizeof *s);
  if (!s) return lh_fail_memory(error, "stopping a process");
  s->target = target;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &s->signals);
  int rc = lh_stop_begin(&s->stop, (pid_t)target->process_id, error);
  if (rc == LH_OK) rc = lh_process_refresh(target, error);
  told->stillness = LH_STILL_STOPPED;
  told->was_in_system_call = false;
  *memory = target->memory;
  if (rc == LH_OK) return rc;
  (void)lh_still_end(s, told);
  *still = NULL;
  return rc;
}

bool lh_still_end(lh_still *s, lh_outside_told *told) {
  uint64_t stopped_ns = lh_stop_end(&s->stop);
  if (stopped_ns > told->stopped_ns) told->stopped_ns = stopped_ns;
  (void)pthread_sigmask(SIG_SETMASK, &s->signals, NULL);
  lh_free(s);
  return true;
}
