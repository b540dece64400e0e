/*
** take.c - runs the steps of a snapshot from outside in order (lh_take_outside).
**
**     reserve the mirror
**     20 times at most:  keep the process from changing, fill the mirror, let it go on
**                        all remaining states run on in one child (continue_copy.c)
**                        for each remaining request: walk and write in a child (write_child.c)
**
** The pauses between attempts grow, and are random, to follow no rhythm of the program. A stop at
** which Lua may have been in a change is used only in the last attempts, and reported as uncertain:
** of 600 snapshots of a program that only lets tables grow, one to six had a wrong table. One
** deadline holds for all states: the attempt that begins after it is the last.
*/
#include <sys/resource.h>

#include "continue_copy.h"
#include "memory.h"

enum {
  MOST_ATTEMPTS = 20,
  STRICT_ATTEMPTS = 8 /* afterwards uncertain states are accepted */
};
static const uint64_t DEADLINE_NS = 60000000000;

typedef struct taking {
  lh_target *target;
  const lh_outside_options *options;
  lh_outside_result *result;
  lh_mirror *mirror;
  lh_outside_request *requests;
  lh_pending *states;            /* by request */
  lh_continuation *continuation; /* of this attempt; NULL */
  size_t n, n_done;
} taking;

/* Two looks prove that a C function that computes for long is not in a change of the heap. Only one
** change is invisible: filling a table's new vector. It begins and ends with an allocation, which
** the collector counts, and takes at most 20 ns per byte of the heap. So no change is in progress
** if the count, the running call, its place and the stack are the same after more than that time
** plus one second.
**
** Time is the processor time of a program with one thread: a stopped or waiting program proves
** nothing. The copy that runs on may be 0.3 s ahead at each look. */
static uint64_t processor_ns_of_one_thread(pid_t process) {
  lh_process_status status;
  return lh_process_status_of(process, &status) && status.threads == 1 ? lh_processor_ns(process)
                                                                       : 0;
}

static bool see_stance(const lh_mirrored *m, uint64_t state, lh_stance *s) {
  lh_peek peek = lh_peek_mirror(m->mirror);
  lh_seen_state seen;
  if (lh_recognise_state(&peek, state, lh_release_of(m->target, state), &seen, NULL) < 0)
    return false;
  s->gc_bytes = seen.gc_bytes;
  return seen.lua->peek_call(&peek, &seen, &s->call);
}

static bool are_equal(const lh_stance *a, const lh_stance *b) {
  const lh_seen_call *one = &a->call, *other = &b->call;
  return a->gc_bytes == b->gc_bytes && one->debt == other->debt && one->thread == other->thread &&
         one->call == other->call && one->place == other->place && one->top == other->top;
}

/* Did the state stay in one C function long enough since the first look to show that Lua does not
** change its heap? `since` is zero at first. */
static bool has_stood(const lh_mirrored *m, uint64_t state, lh_stance *since) {
  const uint64_t least_ns = 1000000000, ns_each_byte = 20;
  if (m->target->is_core) return false;
  lh_stance now = {.processor_ns = processor_ns_of_one_thread((pid_t)m->target->process_id)};
  bool is_known = now.processor_ns != 0 && see_stance(m, state, &now);
  if (!is_known || since->processor_ns == 0 || !are_equal(since, &now)) {
    *since = is_known ? now : (lh_stance){0};
    return false;
  }
  return now.processor_ns - since->processor_ns > least_ns + now.gc_bytes * ns_each_byte;
}

static void wait_before(unsigned attempt) {
  uint64_t longest_ns = (uint64_t)attempt * 2000000;
  struct timespec pause = {.tv_nsec = (long)(lh_random_seed() % (longest_ns + 1))};
  (void)nanosleep(&pause, NULL);
}

static int run_on(const taking *t, const lh_mirrored *mirrored, lh_error *error) {
  for (size_t i = 0; i < t->n; i++)
    t->states[i].is_quiet = t->states[i].is_done || mirrored->is_quiet;
  return lh_continue_copy(mirrored, t->states, t->n, error);
}

static uint64_t children_seconds(void) {
  struct rusage is = {0};
  (void)getrusage(RUSAGE_CHILDREN, &is);
  return (uint64_t)(is.ru_utime.tv_sec + is.ru_stime.tv_sec);
}

static bool is_of_one(int code) {
  return code == LH_EBUSY || code == LH_EDAMAGED || code == LH_EHOST;
}

/* LH_OK also if this state cannot be read: the others are taken. */
static int write_one(taking *t, size_t i, lh_mirrored m) {
  lh_error *failure = &t->requests[i].failure;
  lh_pending *state = &t->states[i];
  m.is_quiet = state->is_quiet || has_stood(&m, state->state, &state->stance);
  int rc = lh_write_mirrored(&m, &t->requests[i], failure);
  if (rc == LH_OK) *failure = (lh_error){0}; /* of earlier attempts */
  state->is_done = rc != LH_EBUSY;
  t->n_done += state->is_done;
  if (state->is_done && t->options && t->options->progress)
    t->options->progress(t->options->payload, t->n_done);
  return is_of_one(rc) ? LH_OK : rc;
}

/* All states share ten seconds and a minute per GB that the program has written, more than they
** need: forged states could take long. */
static int write_all(taking *t, const lh_mirrored *mirrored, lh_error *error) {
  int rc = run_on(t, mirrored, error);
  uint64_t before = children_seconds(), most = 10 + (mirrored->written_bytes >> 24);
  for (size_t i = 0; i < t->n && rc == LH_OK; i++) {
    lh_mirrored m = *mirrored;
    uint64_t spent = children_seconds() - before;
    if (t->states[i].is_done) continue;
    if (spent >= most)
      return lh_fail(error, LH_EBUSY, "its states take longer than a heap of that size can");
    m.most_seconds = most - spent;
    rc = write_one(t, i, m);
    if (rc < 0) *error = t->requests[i].failure;
  }
  return rc;
}

static uint64_t count_written(const lh_memory *memory) {
  uint64_t bytes = 0;
  lh_pages pages;
  lh_span span;
  lh_pages_begin(&pages, memory);
  while (lh_pages_next(&pages, &span)) bytes += span.end - span.start;
  lh_pages_end(&pages);
  return bytes;
}

/* *is_sound: nothing has changed meanwhile (no core can), and the mirror is worth a walk. */
static int fill_mirror(taking *t, unsigned attempt, lh_mirrored *mirrored, bool *is_sound,
                       lh_error *error) {
  lh_freeze *frozen_process;
  lh_memory frozen;
  uint64_t *copied_bytes = &t->result->copied_bytes;
  bool never_fork = t->options && t->options->never_fork;
  *is_sound = true;
  t->result->stillness = LH_STILL_CORE;
  if (t->target->is_core) {
    mirrored->written_bytes = count_written(&t->target->memory);
    mirrored->continuation = t->continuation =
        lh_continuation_of_core(t->target, &mirrored->is_quiet);
    return lh_mirror_fill(t->mirror, &t->target->memory, copied_bytes, error);
  }
  int rc =
      lh_freeze_begin(t->target, attempt, never_fork, &frozen_process, &frozen, t->result, error);
  if (rc < 0) return rc;
  mirrored->is_quiet = t->result->was_in_system_call;
  if (!mirrored->is_quiet)
    mirrored->continuation = t->continuation = lh_freeze_continuation(frozen_process, &frozen);
  *is_sound = mirrored->is_quiet || mirrored->continuation || mirrored->is_lenient;
  if (*is_sound) rc = lh_mirror_fill(t->mirror, &frozen, copied_bytes, error);
  mirrored->written_bytes = *copied_bytes;
  *is_sound &= lh_freeze_end(frozen_process, t->result);
  return rc;
}

static int try_once(taking *t, unsigned attempt, bool is_last, lh_error *error) {
  bool is_sound;
  lh_mirrored mirrored = {.target = t->target,
                          .memory = &t->target->memory,
                          .mirror = t->mirror,
                          .options = t->options,
                          .silent_file = t->target->silent_file,
                          .is_lenient = is_last || attempt >= STRICT_ATTEMPTS};
  int rc = fill_mirror(t, attempt, &mirrored, &is_sound, error);
  mirrored.stillness = t->result->stillness;
  mirrored.was_in_system_call = t->result->was_in_system_call;
  if (rc == LH_OK && is_sound) rc = write_all(t, &mirrored, error);
  if (rc == LH_OK && !is_sound)
    (void)lh_fail(error, LH_EBUSY, "the program was in the middle of its work");
  lh_continuation_free(t->continuation);
  t->continuation = NULL;
  return rc;
}

static int fail_in_core(const lh_target *target, lh_error *error) {
  uint64_t lacks = lh_core_lacks(target);
  if (lacks == 0)
    return lh_fail(error, LH_EDAMAGED,
                   "the heap in this core is not sound: the process ended while it changed it, or "
                   "memory was left out of the core (MADV_DONTDUMP)");
  return lh_fail(error, LH_EDAMAGED,
                 "the heap in this core is not sound: %s of memory were left out of the core "
                 "(coredump_filter, MADV_DONTDUMP), or the process ended while it changed it",
                 lh_size_text(lacks, false).text);
}

/* An error holds for all remaining states. LH_OK: `last` says why states remain. */
static int try_often(taking *t, lh_error *last) {
  unsigned most = t->target->is_core ? 1 : MOST_ATTEMPTS;
  uint64_t deadline_ns = lh_now_ns() + DEADLINE_NS;
  bool is_last = false;
  for (unsigned attempt = 0; attempt < most && !is_last && t->n_done < t->n; attempt++) {
    t->result->attempts = attempt + 1;
    wait_before(attempt);
    is_last = lh_now_ns() > deadline_ns;
    int rc = try_once(t, attempt, is_last, last);
    bool is_in_the_way = rc == LH_EBUSY && last->os_errno == EEXIST; /* and will stay there */
    if (rc < 0 && (rc != LH_EBUSY || is_in_the_way)) return rc;
  }
  return LH_OK;
}

static void report_failure(const taking *t, const lh_error *last, lh_error *failure) {
  lh_error why = failure->code != LH_OK ? *failure : *last;
  if (t->target->is_core)
    (void)fail_in_core(t->target, failure);
  else
    (void)lh_fail(failure, LH_EBUSY, "no sound snapshot in %u tries: %s", t->result->attempts,
                  why.message);
}

static int report_failures(const taking *t, int rc, const lh_error *last, lh_error *error) {
  const lh_error *first = rc < 0 ? last : NULL;
  for (size_t i = 0; i < t->n; i++) {
    lh_error *failure = &t->requests[i].failure;
    bool is_left = !t->states || !t->states[i].is_done;
    if (is_left && rc < 0)
      *failure = *last;
    else if (is_left)
      report_failure(t, last, failure);
    if (!first && failure->code != LH_OK) first = failure;
  }
  if (first && error) *error = *first;
  return first ? first->code : LH_OK;
}

int lh_take_outside(lh_target *target, lh_outside_request *requests, size_t n,
                    const lh_outside_options *options, lh_outside_result *result, lh_error *error) {
  lh_outside_result ignored;
  taking t = {.target = target,
              .options = options,
              .result = result ? result : &ignored,
              .requests = requests,
              .n = n};
  int rc = LH_OK;
  lh_error last = {0};
  bool was_silent = *target->silent_file != '\0';
  *t.result = (lh_outside_result){0};
  t.states = lh_alloc_zeroed(n + 1, sizeof *t.states);
  if (!t.states) rc = lh_fail_memory(&last, "preparing a snapshot from outside");
  for (size_t i = 0; i < n; i++) {
    requests[i].failure = (lh_error){0};
    if (t.states) t.states[i].state = requests[i].state;
  }
  if (rc == LH_OK && !target->is_core) rc = lh_process_refresh(target, &last);
  if (rc == LH_OK) rc = lh_mirror_reserve(&target->memory, &t.mirror, &last);
  if (rc == LH_OK) rc = try_often(&t, &last);
  if (!was_silent && *target->silent_file) t.result->silent_file = target->silent_file;
  rc = report_failures(&t, rc, &last, error);
  lh_mirror_free(t.mirror);
  lh_free(t.states);
  return rc;
}
