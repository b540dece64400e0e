/*
** run_on.c - lets a program run on to where Lua is amid no change, in a child of this process.
**
** A program that makes no system call for a long time is stopped wherever it is: in the middle of
** an insertion, of a table that grows, of a step of the collector. Not all of that shows in what is
** left: a table has its new size before its new slots are cleared. But it may run on, without
** making any system call, until Lua's running call
**
** - stores its place in the code, as it does before all that may change the heap,
** - has returned, or
** - comes to a system call.
**
** The first two are writes to two words, of which the processor tells (debug registers): mostly
** after some microseconds, and no code of Lua needs to be known. The program itself must not run
** like that: should this process be killed, nobody would answer the processor. A child that has the
** mirror runs on instead (shot.c). It has all that the program has written, at the same addresses;
** code.c gives it the code, and this file the registers of the thread that the state is run by.
** Nothing that it does leaves it. Then it is given back its own registers, and walks the heap as it
** is by then, some microseconds older than the copy. It is traced meanwhile, and killed with its
** tracer, or where it comes to none of these places: by a fault, by a call amid a change, or not at
** all in 300 ms.
**
** The program's code can change all memory of that child, what it executes afterwards included. So
** only a program that may do what this process may runs on (lh_process_may_as_much): one of another
** user's, or in a container, could become root by that.
**
** Of several threads that one runs a state whose stack has its innermost protected call.
*/
#include "run_on.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mirrored.h"
#include "states.h"

#if defined __x86_64__

/* {=== A moment ====================================================================== */

struct lh_moment {
  lh_all_registers *threads;
  size_t n, capacity;
  lh_copied_code *code;
};

/* Where it is in a system call it makes that again. */
static bool add_thread(lh_moment *m, const lh_thread *thread) {
  if (!lh_grow(&m->threads, m->n, &m->capacity, sizeof *m->threads)) return false;
  lh_all_registers *r = &m->threads[m->n++];
  if (thread->held != LH_HELD || !lh_registers_get_all(thread->id, r)) return false;
  lh_registers_leave_call(&r->general);
  return true;
}

lh_moment *lh_moment_begin(const lh_stop *stop) {
  lh_moment *m = lh_alloc_zeroed(1, sizeof *m);
  bool is_known = m != NULL;
  for (size_t i = 0; is_known && i < stop->n; i++) {
    if (stop->threads[i].held != LH_HELD_GONE) is_known = add_thread(m, &stop->threads[i]);
  }
  if (is_known) return m;
  lh_moment_free(m);
  return NULL;
}

bool lh_moment_copy_code(lh_moment *moment, const lh_memory *memory) {
  moment->code = lh_code_copy(memory);
  return moment->code != NULL;
}

void lh_moment_free(lh_moment *moment) {
  if (!moment) return;
  lh_code_free(moment->code);
  lh_free(moment->threads);
  lh_free(moment);
}

/* }=================================================================================== */

/* {=== The child ===================================================================== */

/* What the two tell each other. */
enum { IS_READY = 1, HAS_RUN_ON };

bool lh_run_on_open(int gates[2]) {
  return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gates) == 0;
}

static bool tell(int gate, char what) {
  return send(gate, &what, 1, MSG_NOSIGNAL) == 1;
}

/* False: the other end is closed. */
static bool hear(int gate, char what) {
  char heard;
  ssize_t n;
  do n = read(gate, &heard, 1);
  while (n < 0 && errno == EINTR);
  return n == 1 && heard == what;
}

bool lh_run_on_here(const lh_mirrored *m, int gate) {
  return lh_code_place(m->moment->code, m->memory, m->mirror) && tell(gate, IS_READY) &&
         hear(gate, HAS_RUN_ON);
}

/* }=================================================================================== */

typedef struct runner {
  pid_t id;
  uint64_t call_at; /* where the thread has its running call */
  uint64_t call;
} runner;

static bool read_word(const runner *r, uint64_t address, uint64_t *word) {
  errno = 0;
  *word = (uint64_t)ptrace(PTRACE_PEEKDATA, r->id, address, 0);
  return errno == 0;
}

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
  return read_word(r, r->call_at, &r->call) &&
         set_debug_register(r->id, 0, r->call + offsetof(raw_call, saved_pc)) &&
         set_debug_register(r->id, 1, r->call_at) &&
         set_debug_register(r->id, N_DEBUG_CONTROL, BOTH | each << 16 | each << 20);
}

static bool watch_nothing(const runner *r) {
  return set_debug_register(r->id, N_DEBUG_CONTROL, 0);
}

/* }=================================================================================== */

/* {=== Running on ==================================================================== */

static const uint64_t MOST_NS = 300000000;

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
  uint64_t call, previous;
  return read_word(r, r->call + offsetof(raw_call, previous), &previous) &&
         read_word(r, r->call_at, &call) && call == previous;
}

/* Of a child that has stopped. */
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

static verdict run(runner *r) {
  int status;
  uint64_t until_ns = lh_now_ns() + MOST_NS;
  verdict v = GO_ON;
  while (v == GO_ON) {
    bool stops = ptrace(PTRACE_SYSEMU, r->id, 0, 0) == 0 && wait_for(r->id, &status, until_ns);
    v = stops ? judge(r, status) : LOST;
  }
  return v;
}

/* }=================================================================================== */

/* {=== The parent ==================================================================== */

/* The thread whose stack has the protected call: the next one above its stack pointer. */
static const lh_all_registers *find_thread(const lh_moment *m, const lh_memory *memory,
                                           uint64_t protected_call) {
  const lh_all_registers *found = NULL;
  const lh_memory_region *stack = lh_region_at(memory, protected_call);
  if (m->n == 1) return m->threads;
  for (size_t i = 0; stack && i < m->n; i++) {
    const lh_all_registers *r = &m->threads[i];
    uint64_t at = r->general.rsp;
    if (at < stack->start || at > protected_call) continue;
    if (!found || at > found->general.rsp) found = r;
  }
  return found;
}

/* With which registers a state goes on, and where its thread has its running call. NULL: it is in
** none, or it is not known. */
static const lh_all_registers *find_way_on(const lh_mirrored *m, uint64_t state,
                                           uint64_t *call_at) {
  uint64_t protected_call;
  lh_peek peek = lh_peek_mirror(m->mirror);
  lh_seen_state seen;
  if (lh_see_state(&peek, state, lh_release_of(m->target, state), &seen, NULL) < 0) return NULL;
  uint64_t thread = lh_innermost_thread(&peek, seen.layout, state);
  *call_at = thread + RAW_THREAD_CALL;
  if (!thread || !lh_peek_at(&peek, thread + seen.layout->base_call - sizeof protected_call,
                             &protected_call, sizeof protected_call)) {
    return NULL;
  }
  return find_thread(m->moment, m->memory, protected_call);
}

/* The child waits for what it is told meanwhile. */
static bool stop_child(pid_t child) {
  const uint64_t MOST_TO_STOP_NS = 10000000000;
  const int options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD;
  int status;
  return ptrace(PTRACE_SEIZE, child, 0, options) == 0 &&
         ptrace(PTRACE_INTERRUPT, child, 0, 0) == 0 &&
         wait_for(child, &status, lh_now_ns() + MOST_TO_STOP_NS) &&
         status >> 16 == PTRACE_EVENT_STOP;
}

static bool run_child(runner *r, const lh_all_registers *way_on) {
  lh_all_registers own;
  if (!stop_child(r->id) || !lh_registers_get_all(r->id, &own)) return false;
  lh_registers_leave_call(&own.general);
  return watch_words(r) && lh_registers_set_all(r->id, way_on) && run(r) == SAFE &&
         watch_nothing(r) && lh_registers_set_all(r->id, &own) &&
         ptrace(PTRACE_DETACH, r->id, 0, 0) == 0;
}

bool lh_run_on_there(const lh_mirrored *m, uint64_t state, pid_t child, int gate) {
  sigset_t signals;
  runner r = {.id = child};
  const lh_all_registers *way_on = find_way_on(m, state, &r.call_at);
  if (!way_on || !hear(gate, IS_READY)) return false;
  lh_hold_signals(&signals);
  bool has_run_on = run_child(&r, way_on);
  lh_release_signals(&signals);
  return has_run_on && tell(gate, HAS_RUN_ON);
}

/* }=================================================================================== */

#else /* it is not known how */

lh_moment *lh_moment_begin(const lh_stop *stop) {
  (void)stop;
  return NULL;
}

bool lh_moment_copy_code(lh_moment *moment, const lh_memory *memory) {
  (void)moment, (void)memory;
  return false;
}

void lh_moment_free(lh_moment *moment) {
  (void)moment;
}

bool lh_run_on_open(int gates[2]) {
  (void)gates;
  errno = ENOSYS;
  return false;
}

bool lh_run_on_here(const lh_mirrored *m, int gate) {
  (void)m, (void)gate;
  return false;
}

bool lh_run_on_there(const lh_mirrored *m, uint64_t state, pid_t child, int gate) {
  (void)m, (void)state, (void)child, (void)gate;
  return false;
}

#endif
