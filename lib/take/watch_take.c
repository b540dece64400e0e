/*
** watch_take.c - serves a watcher's requests: names the file, writes it or starts a child, reports.
**
** Requests at the same time get one file. While four children are still writing, a fifth file is
** refused and reported.
*/
#include <sys/stat.h>
#include <unistd.h>

#include "take.h"
#include "watch.h"

static void name_file(lh_watcher *w, uint64_t number) {
  bool several = lh_watchers_count() > 1;
  (void)snprintf(w->path, sizeof w->path, "%s/%s%s%s-%lld%s%s-%llu.heap", w->directory, w->program,
                 *w->tag ? "-" : "", w->tag, (long long)getpid(), several ? "-" : "",
                 several ? w->state_id : "", (unsigned long long)number);
}

/* The next name that no file has: an earlier process may have had our process id. */
static void choose_file_name(lh_watcher *w) {
  struct stat info;
  do {
    name_file(w, lh_watchers_number());
  } while (lstat(w->path, &info) == 0);
}

static void report_file(const lh_watcher *w, const char *path, const lh_taken *taken,
                        const lh_error *error) {
  lh_watch_report r = {
      .path = path, .taken = taken, .error = error, .options = &w->options, .state = w->tag};
  if (!*w->tag && lh_watchers_count() > 1) r.state = w->state_id;
  for (int i = 0; i < 2 && taken && w->n_written == 2; i++) r.before[i] = w->written[i];
  if (w->options.report) w->options.report(&r, w->options.payload);
}

/* Call after the report. */
static void note_written(lh_watcher *w, const char *path) {
  if (w->n_written < 2) (void)snprintf(w->written[w->n_written], sizeof w->written[0], "%s", path);
  if (w->n_written < 3) w->n_written++;
}

const char *lh_watch_next_file(lua_State *L) {
  lh_watcher *w = lh_watchers_find(L);
  if (!w) return NULL;
  name_file(w, lh_watchers_last_number() + 1);
  return w->path;
}

static void report_in_child(const char *path, const lh_taken *taken, const lh_error *error,
                            void *watcher) {
  report_file(watcher, path, taken, error);
}

static void forget_job(lh_watcher *w, size_t i) {
  lh_job_free(w->jobs[i]);
  w->jobs[i] = NULL;
}

static void forget_jobs_of_parent(lh_watcher *w) {
  w->forked = false;
  w->n_written = 0;
  for (size_t i = 0; i < LH_MOST_JOBS; i++) forget_job(w, i);
}

void lh_watch_reap(lh_watcher *w) {
  lh_error error;
  if (w->forked) forget_jobs_of_parent(w);
  for (size_t i = 0; i < LH_MOST_JOBS; i++) {
    if (!w->jobs[i]) continue;
    int rc = lh_job_wait(w->jobs[i], 0, &error);
    if (rc == LH_EBUSY) continue;
    lh_taken taken = lh_job_taken(w->jobs[i]);
    if (!lh_job_was_reported(w->jobs[i]))
      report_file(w, lh_job_path(w->jobs[i]), rc == LH_OK ? &taken : NULL,
                  rc == LH_OK ? NULL : &error);
    if (rc == LH_OK) note_written(w, lh_job_path(w->jobs[i]));
    forget_job(w, i);
  }
}

void lh_watch_leave_jobs(lh_watcher *w) {
  int before = lh_hold_cancel();
  lh_watch_reap(w);
  for (size_t i = 0; i < LH_MOST_JOBS; i++) {
    lh_error error;
    if (!w->jobs[i]) continue;
    (void)lh_fail(&error, LH_EBUSY, "process %lld is still writing '%s'",
                  (long long)lh_job_process(w->jobs[i]), lh_job_path(w->jobs[i]));
    report_file(w, lh_job_path(w->jobs[i]), NULL, &error);
    forget_job(w, i);
  }
  lh_release_cancel(before);
}

static int start_in_background(lh_watcher *w, lua_State *L, bool *cannot_fork, lh_error *error) {
  lh_child child = {.tell = w->options.report_is_signal_safe ? report_in_child : NULL,
                    .payload = w};
  size_t i = 0;
  while (i < LH_MOST_JOBS && w->jobs[i]) i++;
  if (i == LH_MOST_JOBS)
    return lh_fail(error, LH_EBUSY, "cannot write '%s': %d others are still being written", w->path,
                   LH_MOST_JOBS);
  int rc = lh_start_child(L, w->path, &w->take, &child, &w->jobs[i], error);
  *cannot_fork = child.cannot_fork;
  return rc;
}

void lh_watch_free_reserve(lh_watcher *w) {
  lh_free_pages(w->reserve, LH_RESERVE_BYTES);
  w->reserve = NULL;
  if (w->state_reserve) {
    (void)w->alloc(w->alloc_data, w->state_reserve, LH_STATE_RESERVE, 0);
    w->state_reserve = NULL;
  }
}

void lh_watch_report_unheard(lh_watcher *w, bool is_blocked) {
  lh_error error;
  (void)lh_fail(&error, LH_EARGUMENT,
                is_blocked
                    ? "signal %s was sent, but the program blocks it: choose another signal"
                    : "the program handles signal %s itself now: unless it calls our handler, that "
                      "asks for no snapshot; choose another signal",
                lh_text_of_signal(w->options.signal_number).text);
  report_file(w, "", NULL, &error);
}

void lh_watch_report_late(lh_watcher *w, bool in_handler) {
  static const lh_error late = {
      .code = LH_EBUSY,
      .message =
          "the snapshot that was asked for waits for Lua code to run: the program sleeps, is "
          "in C code, or sets a debug hook of its own each time before it calls Lua code"};
  bool may_tell = !in_handler || w->options.report_is_signal_safe;
  if (w->told_late || !may_tell || !(atomic_load(&w->wanted) & LH_WANT_FILE)) return;
  w->told_late = true;
  report_file(w, "", NULL, &late);
}

void lh_watch_report_handler(lh_watcher *w) {
  static const lh_error error = {
      .code = LH_EBUSY,
      .message =
          "no snapshot at the end: the program ends in a signal handler, perhaps amid a change"};
  if (w->options.at_exit && !w->exited) report_file(w, "", NULL, &error);
}

/* Reports a failed fork, once until a fork succeeds. */
static void report_cannot_fork(lh_watcher *w, const lh_error *why) {
  lh_error error;
  if (w->told_cannot_fork) return;
  w->told_cannot_fork = true;
  (void)lh_fail(&error, why->code,
                "%s: nothing is written until it can (background=try: the program itself writes)",
                why->message);
  report_file(w, w->path, NULL, &error);
}

static void take_watched(lh_watcher *w, lua_State *L, bool background, bool or_direct) {
  lh_taken taken;
  lh_error error;
  bool cannot_fork = false;
  choose_file_name(w);
  if (background) {
    int rc = start_in_background(w, L, &cannot_fork, &error);
    w->told_cannot_fork &= cannot_fork;
    if (rc == LH_OK) return;
    if (!or_direct && !(cannot_fork && w->options.falls_back)) {
      if (cannot_fork)
        report_cannot_fork(w, &error);
      else
        report_file(w, w->path, NULL, &error);
      return;
    }
  }
  int rc = lh_take_file(L, w->path, &w->take, &taken, &error);
  report_file(w, w->path, rc == LH_OK ? &taken : NULL, rc == LH_OK ? NULL : &error);
  if (rc == LH_OK) note_written(w, w->path);
}

void lh_watch_serve(lh_watcher *w, lua_State *L, unsigned wanted, bool background) {
  int before = lh_hold_cancel();
  lh_watch_reap(w);
  if (wanted & LH_WANT_MEMORY) {
    w->memory_taken = true;
    lh_watch_free_reserve(w);
  }
  if (wanted & LH_WANT_SIGNALLED) lh_watchers_answer(w);
  if (wanted & LH_WANT_FILE) take_watched(w, L, background, wanted & LH_WANT_MEMORY);
  if (wanted & LH_WANT_MARK) {
    bool thinned = false;
    (void)lh_mark_period(L, &thinned, NULL);
    if (thinned) w->options.mark_seconds *= 2;
  }
  lh_release_cancel(before);
}
