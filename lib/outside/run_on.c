/*
** run_on.c - lets a frozen copy run on to where Lua is amid no change.
**
** A program that makes no system call for a long time is forked wherever it is: in the middle of an
** insertion, of a table that grows, of a step of the collector. Not all of that shows in what is
** left: a table has its new size before its new slots are cleared. But the copy may run on, without
** making any system call, until Lua's running call
**
** - stores its place in the code, as it does before all that may change the heap,
** - has returned, or
** - comes to a system call.
**
** The first two are writes to two words, of which the processor tells (debug registers): mostly
** after some microseconds, and no code of Lua needs to be known. The process itself must not run
** like that: should this one be killed, nobody would answer the processor. The copy ends with it.
*/
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>

#include "mirrored.h"
#include "states.h"
#include "stop.h"

#if defined __x86_64__

static const uint64_t MOST_NS = 300000000;

typedef struct runner {
  pid_t id;
  const lh_memory *memory;
  uint64_t call_at; /* where the thread has its running call */
  uint64_t call;
} runner;

/* {=== Two words ===================================================================== */

enum { PLACE_WRITTEN = 1, CALL_WRITTEN = 2, N_DEBUG_STATUS = 6, N_DEBUG_CONTROL = 7 };

static bool set_debug_register(pid_t id, unsigned n, uint64_t value) {
  size_t at = offsetof(struct user, u_debugreg) + n * sizeof(uint64_t);
  return ptrace(PTRACE_POKEUSER, id, at, value) == 0;
}

/* Which of the words were written since it was last asked. */
static unsigned words_written(pid_t id) {
  size_t at = offsetof(struct user, u_debugreg) + N_DEBUG_STATUS * sizeof(uint64_t);
  errno = 0;
  long status = ptrace(PTRACE_PEEKUSER, id, at, 0);
  if (errno != 0) return 0;
  (void)set_debug_register(id, N_DEBUG_STATUS, 0);
  return (unsigned)status & (PLACE_WRITTEN | CALL_WRITTEN);
}

/* The place of the running call (of a C function, what it continues with), and which call runs. */
static bool watch_words(runner *r) {
  enum { BOTH = 0x5, WRITES = 0x1, OF_8_BYTES = 0x2 };
  const uint64_t each = WRITES | OF_8_BYTES << 2;
  return r->memory->read(r->memory, r->call_at, &r->call, sizeof r->call) &&
         set_debug_register(r->id, 0, r->call + offsetof(raw_call, saved_pc)) &&
         set_debug_register(r->id, 1, r->call_at) &&
         set_debug_register(r->id, N_DEBUG_CONTROL, BOTH | each << 16 | each << 20);
}

/* }=================================================================================== */

/* Waits until it stops. False: it does not. */
static bool wait_for(pid_t id, int *status, uint64_t until_ns) {
  for (;;) {
    pid_t found = waitpid(id, status, WNOHANG | __WALL);
    if (found == id) return WIFSTOPPED(*status);
    if ((found < 0 && errno != EINTR) || lh_now_ns() > until_ns) return false;
    lh_nap();
  }
}

static bool has_returned(const runner *r) {
  uint64_t call;
  raw_call before;
  return r->memory->read(r->memory, r->call, &before, sizeof before) &&
         r->memory->read(r->memory, r->call_at, &call, sizeof call) &&
         call == (uintptr_t)before.previous;
}

/* Of a copy that has stopped. */
typedef enum verdict { GO_ON, SAFE, LOST } verdict;

static verdict judge(runner *r, int status) {
  lh_registers registers;
  if ((WSTOPSIG(status) & ~0x80) != SIGTRAP || status >> 16 != 0) return LOST;
  if (!lh_registers_get(r->id, &registers)) return LOST;
  if (WSTOPSIG(status) & 0x80) {
    uint64_t argument = lh_registers_second_argument(&registers);
    return lh_call_is_quiet(lh_registers_call(&registers), argument) ? SAFE : LOST;
  }
  unsigned written = words_written(r->id);
  if (written & PLACE_WRITTEN) return SAFE;
  if (!(written & CALL_WRITTEN)) return LOST;
  if (has_returned(r)) return SAFE;
  return watch_words(r) ? GO_ON : LOST; /* a call begins: it is not complete yet */
}

/* Stopped again whatever it did. */
static void halt(pid_t id) {
  int status;
  (void)ptrace(PTRACE_INTERRUPT, id, 0, 0);
  (void)wait_for(id, &status, lh_now_ns() + MOST_NS);
}

static bool find_call(const lh_frozen *frozen, const lh_target *target, const lh_memory *memory,
                      uint64_t state, runner *r) {
  lh_peek peek = lh_peek_of(memory);
  lh_seen_state seen;
  *r = (runner){.id = frozen->id, .memory = memory};
  if (lh_see_state(&peek, state, lh_release_of(target, state), &seen, NULL) < 0) return false;
  uint64_t thread = lh_innermost_thread(&peek, seen.layout, state);
  r->call_at = thread + RAW_THREAD_CALL;
  return thread != 0;
}

bool lh_frozen_run_on(const lh_frozen *frozen, const lh_target *target, const lh_memory *memory,
                      uint64_t state) {
  runner r;
  int status;
  uint64_t until_ns = lh_now_ns() + MOST_NS;
  verdict v = GO_ON;
  if (!find_call(frozen, target, memory, state, &r) || !watch_words(&r) ||
      !lh_registers_set(frozen->id, &frozen->own)) {
    return false;
  }
  while (v == GO_ON) {
    if (ptrace(PTRACE_SYSEMU, r.id, 0, 0) < 0) return false;
    if (wait_for(r.id, &status, until_ns)) {
      v = judge(&r, status);
    } else {
      halt(r.id);
      v = LOST;
    }
  }
  return v == SAFE;
}

#else /* a frozen copy is never made */

bool lh_frozen_run_on(const lh_frozen *frozen, const lh_target *target, const lh_memory *memory,
                      uint64_t state) {
  (void)frozen, (void)target, (void)memory, (void)state;
  return false;
}

#endif
