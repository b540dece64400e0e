/*
** awaited.c - waiting for a file whose server may never answer.
**
** A page of a file that a target has mapped, or the file that a snapshot goes to, may be on a
** network or a file system of a process's own (FUSE). If its server is gone, who waits sleeps in
** the kernel, and often no signal ends that. So who is about to wait says so in a page that its
** parent shares, and the parent looks twice a second: the same wait, in which the waiting process
** has not been woken even once, is one that may be for ever. Then it is left to it.
*/
#include <string.h>
#include <unistd.h>

#include "outside.h"

static void put(lh_awaited *awaited, const char *path, bool is_output) {
  if (!awaited) return;
  (void)snprintf(awaited->path, sizeof awaited->path, "%s", path);
  awaited->is_output = is_output;
  (void)__atomic_add_fetch(&awaited->n, 1, __ATOMIC_RELEASE);
  __atomic_store_n(&awaited->process_id, getpid(), __ATOMIC_RELEASE);
}

void lh_await(lh_awaited *awaited, const char *path) {
  put(awaited, path, false);
}

void lh_await_output(lh_awaited *awaited, const char *path) {
  put(awaited, path, true);
}

void lh_await_end(lh_awaited *awaited) {
  if (awaited) __atomic_store_n(&awaited->process_id, 0, __ATOMIC_RELEASE);
}

/* A process that gets no processor does not sleep; one that is woken, by a slow disk that goes on,
** switches each time. */
unsigned lh_await_look(lh_await_watch *watch, const lh_awaited *awaited) {
  lh_process_status status;
  int64_t id = __atomic_load_n(&awaited->process_id, __ATOMIC_ACQUIRE);
  uint64_t n = __atomic_load_n(&awaited->n, __ATOMIC_ACQUIRE);
  bool waits =
      id > 0 && lh_process_status_of(id, &status) && (status.state == 'S' || status.state == 'D');
  uint64_t switches = waits ? status.switches : 0;
  bool is_same = waits && n == watch->n && switches == watch->switches;
  watch->times = is_same ? watch->times + 1 : 0;
  watch->n = n;
  watch->switches = switches;
  return watch->times;
}
