/* attach.h - a process that is held still from outside, in tests of what that does to it. */
#pragma once

#include <sys/types.h>

#include "outside/stop.h"

typedef struct attach {
  lh_target *target;
  lh_freeze *frozen_process;
  lh_memory memory;
  lh_outside_result result;
} attach;

void attach_open(attach *a, pid_t process);
void attach_close(attach *a);

/* Whether it is idle is not asked; by a fork or not. These fail a test that goes wrong. */
void attach_begin(attach *a, bool never_fork);
void attach_end(attach *a);

/* The same, for a process that may end at any time: false if it did. */
bool attach_try(attach *a, bool never_fork);

/* A millisecond, and so many of them at most until it holds. */
void attach_nap(void);
bool attach_wait_until(bool (*holds)(const void *of), const void *of);

/* Children that a process has, zombies with them; and without. */
int attach_children(pid_t process);
int attach_live_children(pid_t process);

/* Open descriptors of a process. */
int attach_descriptors(pid_t process);
