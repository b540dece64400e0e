/*
** watched.h - a host with a watched Lua state, for the tests of watchers. After <cmocka.h>.
**
** Its Lua programs can call ask(), which raises SIGUSR2 in the middle of a C function, and
** written(), which tells how many files there are by now. Each file is opened, so that every byte
** of it is checked, counted and removed. The allocation function knows the bytes that it has given,
** and fails as it is told.
*/
#pragma once

#include <lua.h>
#include <stdatomic.h>

#include "rooms/all.h"

typedef struct host {
  lua_State *L;
  size_t live_bytes, limit_bytes;
  uint64_t growths, fail_at, fail_times; /* calls that fail: from which on, and how many */
  bool keeps_quiet;                      /* ask() does nothing */
  atomic_int written, failed;
  char path[4096]; /* of the last file */
  lh_error error;  /* of the last failure */
} host;

/* With the libraries, attached, not watched. */
void host_begin(host *h);

/* With our own name, payload and, unless there is another one, report function. */
void host_watch(host *h, lh_watch_options options);

/* The two together, for SIGUSR2. */
void host_begin_watched(host *h);

/* Runs a program that must not fail; and one that may: "ok" or its error, borrowed. */
void host_run(host *h, const char *program);
const char *host_try(host *h, const char *program);

/* Closes the state. All memory must be back. */
void host_end(host *h);

/* The report function. `payload` is the host. */
void host_report(const lh_watch_report *report, void *payload);

void *host_allocate(void *data, void *block, size_t old_bytes, size_t bytes);
