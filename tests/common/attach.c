/* attach.c - a process that is held still from outside, in tests of what that does to it. */
#include "attach.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

enum { WHEN_IDLENESS_IS_NOT_ASKED = 10 };

void attach_open(attach *a, pid_t process) {
  lh_error error;
  *a = (attach){0};
  if (lh_open_process(process, NULL, &a->target, &error) < 0) fail_msg("%s", error.message);
}

void attach_close(attach *a) {
  lh_target_free(a->target);
}

static int begin_freeze(attach *a, bool never_fork, lh_error *error) {
  a->result = (lh_outside_result){0};
  return lh_freeze_begin(a->target, WHEN_IDLENESS_IS_NOT_ASKED, never_fork, &a->frozen_process,
                         &a->memory, &a->result, error);
}

/* As the command does, which is told by LH_EBUSY to try again: this process, or a thread, got no
** processor for a second. */
void attach_begin(attach *a, bool never_fork) {
  enum { MOST_TIMES = 20 };
  lh_error error;
  int code = LH_EBUSY;
  for (int i = 0; i < MOST_TIMES && code == LH_EBUSY; i++)
    code = begin_freeze(a, never_fork, &error);
  if (code < 0) fail_msg("%s", error.message);
}

void attach_end(attach *a) {
  assert_true(lh_freeze_end(a->frozen_process, &a->result));
}

bool attach_try(attach *a, bool never_fork) {
  if (begin_freeze(a, never_fork, NULL) < 0) return false;
  (void)lh_freeze_end(a->frozen_process, &a->result);
  return true;
}

void attach_nap(void) {
  (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

bool attach_wait_until(bool (*holds)(const void *of), const void *of) {
  enum { MOST_NAPS = 20000 };
  for (int i = 0; i < MOST_NAPS; i++) {
    if (holds(of)) return true;
    attach_nap();
  }
  return false;
}

static int count_children(pid_t process, bool zombies_too) {
  char path[64], list[4096] = "";
  int n = 0;
  (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)process, (int)process);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  (void)!fgets(list, sizeof list, file);
  (void)fclose(file);
  for (char *p = list, *end; *p; p = end) {
    pid_t child = (pid_t)strtol(p, &end, 10);
    if (end == p) break;
    char state = lh_thread_state(child);
    n += state != 'X' && (zombies_too || state != 'Z');
  }
  return n;
}

int attach_children(pid_t process) {
  return count_children(process, true);
}

int attach_live_children(pid_t process) {
  return count_children(process, false);
}

int attach_descriptors(pid_t process) {
  char path[64];
  int n = 0;
  (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)process);
  DIR *descriptors = opendir(path);
  assert_non_null(descriptors);
  while (readdir(descriptors)) n++;
  (void)closedir(descriptors);
  return n;
}
