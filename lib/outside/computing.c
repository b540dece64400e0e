/*
** computing.c - a C function that computes for long: two looks prove that no table was growing.
**
** Such a program makes no system call, and its state comes to no place where Lua is known to be
** amid no change. But whatever Lua does to a heap that shows nowhere else, a table's new vector
** being filled, begins and ends with an allocation, which the collector counts, and takes no longer
** than 20 ns for each byte of the heap. So if a state has the same count, the same running call at
** the same place, and the same stack after more than that, and a second, no such change is under
** way.
**
** Time is the processor's, of a program with one thread: a program that was stopped meanwhile, or
** got no processor, proves nothing. The copy that runs on may be 0.3 s ahead at each look.
*/
#include <time.h>

#include "mirrored.h"
#include "process.h"

static uint64_t processor_ns(pid_t process) {
  clockid_t clock;
  struct timespec had;
  lh_process_status status;
  if (!lh_process_status_of(process, &status) || status.threads != 1) return 0;
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &had) < 0) return 0;
  return (uint64_t)had.tv_sec * 1000000000 + (uint64_t)had.tv_nsec;
}

static bool read_stance(const lh_mirrored *m, uint64_t state, lh_stance *s) {
  lh_peek peek = lh_peek_mirror(m->mirror);
  lh_seen_state seen;
  raw_call call;
  if (lh_see_state(&peek, state, lh_release_of(m->target, state), &seen, NULL) < 0) return false;
  s->gc_bytes = seen.gc_bytes;
  s->thread = lh_innermost_thread(&peek, seen.layout, state);
  if (!s->thread || !lh_peek_at(&peek, s->thread + RAW_THREAD_CALL, &s->call, sizeof s->call) ||
      !lh_peek_at(&peek, s->thread + RAW_THREAD_TOP, &s->top, sizeof s->top) ||
      !lh_peek_at(&peek, s->call, &call, sizeof call))
    return false;
  s->place = (uintptr_t)call.saved_pc;
  return peek.read(peek.memory, seen.global + RAW_GLOBAL_DEBT, &s->debt, sizeof s->debt);
}

static bool are_equal(const lh_stance *a, const lh_stance *b) {
  return a->gc_bytes == b->gc_bytes && a->debt == b->debt && a->thread == b->thread &&
         a->call == b->call && a->place == b->place && a->top == b->top;
}

bool lh_has_stood(const lh_mirrored *m, uint64_t state, lh_stance *since) {
  const uint64_t least_ns = 1000000000, ns_each_byte = 20;
  if (m->target->is_core) return false;
  lh_stance now = {.processor_ns = processor_ns((pid_t)m->target->process_id)};
  bool is_known = now.processor_ns != 0 && read_stance(m, state, &now);
  if (!is_known || since->processor_ns == 0 || !are_equal(since, &now)) {
    *since = is_known ? now : (lh_stance){0};
    return false;
  }
  return now.processor_ns - since->processor_ns > least_ns + now.gc_bytes * ns_each_byte;
}
