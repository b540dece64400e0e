/*
** continue_copy.c - continues a program in a child until Lua is between two changes of its heap.
**
** A program that makes no system call is stopped at any instruction, and not every unfinished
** change is visible: a table has its new size before its new slots are cleared. So it runs on until
** Lua's running call stores its place in the code (as it does before all that may change the heap),
** returns, or comes to a system call. The first two are writes to two words, which watched_words.c
** reports: mostly after some microseconds, and without knowledge of Lua's code.
**
** If this process were killed, nobody would handle the debug exceptions. So a child runs on and not
** the program. It has the mirror, the code from sandbox.c, and the registers of the thread whose
** stack has the state's innermost protected call. All states run on in one child, one after the
** other. Calls for locks are answered here (a waiting thread may always be told to look again). The
** child ends with its tracer, by a fault, by a system call in a change, or after 300 ms of
** processor time.
**
** Security: the program's code is an attacker's. So the child has no memory, descriptor, right or
** system call of this process (sandbox.c); else it does not run on, and the snapshot is reported as
** uncertain. It can forge only its own memory, as the program can. A core's program runs if its
** files are unchanged, as the owner of the core file.
*/
#include "continue_copy.h"

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "core.h"
#include "memory.h"
#include "watched_words.h"

#if defined __x86_64__

/* ==== The stopped program =========================================================== */

enum { MOST_THREADS_OF_CORE = 1024 }; /* each with some KB of registers */

struct lh_continuation {
  lh_all_registers *threads;
  size_t n, capacity;
  lh_copied_code *code;
  lh_identity identity;
  bool is_over; /* has run on */
};

/* A thread in a system call will make it again. */
static bool add_held_thread(lh_continuation *m, const lh_thread *thread) {
  if (!lh_grow(&m->threads, m->n, &m->capacity, sizeof *m->threads)) return false;
  lh_all_registers *r = &m->threads[m->n++];
  if (thread->held != LH_HELD || !lh_registers_get_all(thread->id, r)) return false;
  lh_registers_leave_call(&r->general);
  return true;
}

lh_continuation *lh_continuation_begin(const lh_stop *stop) {
  lh_continuation *m = lh_alloc_zeroed(1, sizeof *m);
  bool is_known = m && lh_identity_of(stop->process, &m->identity);
  for (size_t i = 0; is_known && i < stop->n; i++) {
    if (stop->threads[i].held != LH_HELD_GONE) is_known = add_held_thread(m, &stop->threads[i]);
  }
  if (is_known) return m;
  lh_continuation_free(m);
  return NULL;
}

/* The owner of the core file; if we are not root, this process's identity. */
static bool find_owner(const lh_core *core, lh_identity *identity) {
  struct stat st;
  if (geteuid() != 0) return lh_identity_of(getpid(), identity);
  if (fstat(core->fd, &st) < 0) return false;
  *identity = (lh_identity){.n_others = 0};
  for (int i = 0; i < 4; i++) identity->users[i] = st.st_uid, identity->groups[i] = st.st_gid;
  return true;
}

static bool read_thread(const lh_core *core, const lh_core_thread *thread, lh_all_registers *r,
                        bool *is_quiet) {
  r->vector_bytes = thread->vector_bytes;
  if (r->vector_bytes == 0 || r->vector_bytes > sizeof r->vectors ||
      !lh_pread_all(core->fd, &r->general, sizeof r->general, thread->registers_at) ||
      !lh_pread_all(core->fd, r->vectors, r->vector_bytes, thread->vectors_at))
    return false;
  *is_quiet &= lh_call_is_quiet(lh_registers_call(&r->general));
  lh_registers_leave_call(&r->general);
  return true;
}

lh_continuation *lh_continuation_of_core(const lh_target *target, bool *is_quiet) {
  const lh_core *core = target->core;
  lh_continuation *m = lh_alloc_zeroed(1, sizeof *m);
  bool is_known = m && core->n_threads > 0 && core->n_threads <= MOST_THREADS_OF_CORE &&
                  find_owner(core, &m->identity);
  bool all_quiet = is_known;
  for (size_t i = 0; is_known && i < core->n_threads; i++) {
    is_known = lh_grow(&m->threads, m->n, &m->capacity, sizeof *m->threads) &&
               read_thread(core, &core->threads[i], &m->threads[m->n++], &all_quiet);
  }
  *is_quiet = is_known && all_quiet;
  if (is_known && !all_quiet && lh_continuation_copy_code(m, &target->memory)) return m;
  lh_continuation_free(m);
  return NULL;
}

bool lh_continuation_copy_code(lh_continuation *continuation, const lh_memory *memory) {
  continuation->code = lh_code_copy(memory);
  return continuation->code != NULL;
}

void lh_continuation_free(lh_continuation *continuation) {
  if (!continuation) return;
  lh_code_free(continuation->code);
  lh_free(continuation->threads);
  lh_free(continuation);
}

typedef struct runner {
  pid_t id;
  lh_watched_words words;
  const lh_lua *lua; /* of the state that runs on */
  uint64_t call_at;  /* address of the thread's pointer to its running call */
  uint64_t call;
  uint64_t touched_before;   /* page faults, before it ran on */
  uint64_t turn_ends_ns;     /* in its processor time */
  unsigned n_looks, n_calls; /* in this turn: for locks */
  uint64_t until_ns;         /* lh_now_ns() at which all turns end */
} runner;

static bool read_child_word(const runner *r, uint64_t address, uint64_t *word) {
  errno = 0;
  *word = (uint64_t)ptrace(PTRACE_PEEKDATA, r->id, address, 0);
  return errno == 0;
}

enum { PLACE_WRITTEN = 1, CALL_WRITTEN = 2 };

static bool read_child(const void *runner_of_child, uint64_t address, void *out, size_t n) {
  return lh_process_read(((const runner *)runner_of_child)->id, address, out, n);
}

static bool is_lua(const runner *r, uint64_t call) {
  lh_peek peek = {.read = read_child, .memory = r};
  return call != 0 && r->lua->is_lua_call(&peek, call);
}

/* Watches the running call's place (of a C function, its continuation), and which call runs.
**
** The thread's pointer to its call is beside words that Lua writes all the time. So by pages the
** return to a Lua function is seen when that function stores its place, and a call by a C function
** when the next call gets its place. */
static bool watch_words(runner *r) {
  uint64_t previous, next;
  if (!read_child_word(r, r->call_at, &r->call) ||
      !read_child_word(r, r->call + LH_CALL_PREVIOUS, &previous) ||
      !read_child_word(r, r->call + LH_CALL_NEXT, &next))
    return false;
  uint64_t place = r->call + LH_CALL_PLACE, callers = previous + LH_CALL_PLACE;
  if (!r->words.by_pages || !is_lua(r, previous))
    return lh_watched_words_set(&r->words, place, r->call_at);
  if (is_lua(r, r->call)) return lh_watched_words_set(&r->words, place, callers);
  return lh_watched_words_set(&r->words, callers, next ? next + LH_CALL_PLACE : callers);
}

/* ==== Running on ==================================================================== */

/* Most states need some microseconds of processor time. The others get a second turn. */
static const uint64_t FIRST_TURN_NS = 20000000, SECOND_TURN_NS = 300000000;
static const uint64_t MOST_FOR_ALL_NS = 3000000000;

/* How long the child may wait for a processor on a busy machine. */
static const uint64_t MOST_WAIT_NS = 20000000000, MOST_TO_STOP_NS = 10000000000;

/* Page faults: the first use of a page, or the first write to one shared with this process. */
static uint64_t pages_touched(pid_t child) {
  enum { MINOR_FAULTS = 8 };
  return strtoull(lh_process_field_of(child, MINOR_FAULTS).text, NULL, 10);
}

/* Waits until the child stops. False: it takes more time or memory than any program needs. */
static bool wait_in_limits(runner *r, int *status) {
  const uint64_t MOST_PAGES = 16384, SLICE_NS = 2000000;
  for (;;) {
    if (lh_sandbox_wait(&r->id, status, lh_now_ns() + SLICE_NS)) return true;
    uint64_t had = r->id != 0 ? lh_processor_ns(r->id) : 0;
    if (had == 0 || had > r->turn_ends_ns || lh_now_ns() > r->until_ns) return false;
    if (pages_touched(r->id) - r->touched_before > MOST_PAGES) return false;
  }
}

static bool has_returned(const runner *r) {
  uint64_t call, previous;
  return read_child_word(r, r->call + LH_CALL_PREVIOUS, &previous) &&
         read_child_word(r, r->call_at, &call) && call == previous;
}

/* A waiting thread is told to look again, a waking one that it has woken: the others look in their
** turns. False: another call, or a lock that is not released in this turn. */
static bool answer_lock(runner *r, lh_registers *registers) {
  enum { MOST_LOOKS = 4, MOST_CALLS = 1000 };
  lh_call call = lh_registers_call(registers);
  uint64_t command = call.second_argument & (uint64_t)(unsigned)FUTEX_CMD_MASK;
  bool waits = command == FUTEX_WAIT;
  if (call.number != SYS_futex || (!waits && command != FUTEX_WAKE)) return false;
  if ((waits && ++r->n_looks > MOST_LOOKS) || ++r->n_calls > MOST_CALLS) return false;
  registers->rax = (unsigned long long)(waits ? -EAGAIN : 0);
  return lh_registers_set(r->id, registers);
}

typedef enum verdict { GO_ON, SAFE, LOST } verdict;

static verdict judge_call(runner *r) {
  lh_registers registers;
  if (!lh_registers_get(r->id, &registers)) return LOST;
  if (answer_lock(r, &registers)) return GO_ON;
  return lh_call_is_quiet(lh_registers_call(&registers)) ? SAFE : LOST;
}

static verdict judge(runner *r, int status) {
  enum { IN_CALL = SIGTRAP | 0x80 };
  unsigned written;
  if (status >> 16 != 0) return LOST;
  if (WSTOPSIG(status) == IN_CALL) return judge_call(r);
  if (!lh_watched_words_see(&r->words, WSTOPSIG(status), &written)) return LOST;
  if (written & PLACE_WRITTEN) return SAFE;
  if (!(written & CALL_WRITTEN)) return GO_ON;
  if (has_returned(r)) return SAFE;
  return watch_words(r) ? GO_ON : LOST; /* a call begins: not complete yet */
}

static void stop_anywhere(runner *r) {
  int status;
  if (r->id != 0 && ptrace(PTRACE_INTERRUPT, r->id, 0, 0) == 0)
    (void)lh_sandbox_wait(&r->id, &status, lh_now_ns() + MOST_TO_STOP_NS);
}

static verdict run_until_quiet(runner *r) {
  int status;
  verdict v = GO_ON;
  while (v == GO_ON) {
    bool stops = ptrace(PTRACE_SYSEMU, r->id, 0, 0) == 0 && wait_in_limits(r, &status);
    v = stops ? judge(r, status) : LOST;
    if (!stops) stop_anywhere(r);
  }
  return v;
}

/* ==== The parent ==================================================================== */

/* The thread whose stack has the protected call: the nearest one above its stack pointer. */
static lh_all_registers *find_thread(const lh_continuation *m, const lh_memory *memory,
                                     uint64_t protected_call) {
  lh_all_registers *found = NULL;
  const lh_memory_region *stack = lh_region_at(memory, protected_call);
  if (m->n == 1) return m->threads;
  for (size_t i = 0; stack && i < m->n; i++) {
    lh_all_registers *r = &m->threads[i];
    uint64_t at = r->general.rsp;
    if (at < stack->start || at > protected_call) continue;
    if (!found || at > found->general.rsp) found = r;
  }
  return found;
}

/* Also the release, and the address of the thread's pointer to its running call. NULL: in no call,
** or not found. */
static lh_all_registers *find_way_on(const lh_mirrored *m, const lh_peek *peek, uint64_t state,
                                     runner *r) {
  lh_seen_state seen;
  lh_seen_call call;
  if (lh_recognise_state(peek, state, lh_release_of(m->target, state), &seen, NULL) < 0 ||
      !seen.lua->peek_call(peek, &seen, &call))
    return NULL;
  r->lua = seen.lua;
  r->call_at = call.thread + LH_THREAD_CALL;
  return find_thread(m->continuation, m->memory, call.protected_call);
}

static bool stop_child(runner *r) {
  const int options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD;
  int status;
  return ptrace(PTRACE_SEIZE, r->id, 0, options) == 0 &&
         ptrace(PTRACE_INTERRUPT, r->id, 0, 0) == 0 &&
         lh_sandbox_wait(&r->id, &status, lh_now_ns() + MOST_TO_STOP_NS) &&
         status >> 16 == PTRACE_EVENT_STOP;
}

/* Keeps a thread's registers for its next turn. A call that it was about to make is made then. */
static void keep_registers(const runner *r, lh_all_registers *thread) {
  if (r->id == 0 || !lh_registers_get_all(r->id, thread)) return;
  lh_registers *general = &thread->general;
  if (lh_registers_call(general).number >= 0 && lh_registers_is_in_front(general))
    lh_registers_step_back(general);
  lh_registers_leave_call(general);
}

static bool run_state(runner *r, const lh_mirrored *m, uint64_t state) {
  lh_memory memory = *m->memory;
  memory.process_id = r->id;
  memory.fd = -1;
  memory.read = lh_process_read_memory;
  memory.is_shared = true;
  lh_cached *cached = lh_cached_open(&memory);
  if (!cached) return false;
  lh_peek peek = lh_peek_cached(cached);
  lh_all_registers *thread = find_way_on(m, &peek, state, r);
  lh_free(cached);
  r->n_looks = r->n_calls = r->words.n_steps = 0;
  if (!thread || !watch_words(r) || !lh_registers_set_all(r->id, thread)) return false;
  bool is_safe = run_until_quiet(r) == SAFE;
  keep_registers(r, thread);
  return lh_watched_words_end(&r->words) && is_safe;
}

/* False: the child has ended. */
static bool run_states(runner *r, const lh_mirrored *m, lh_pending *states, size_t n) {
  uint64_t start = lh_processor_ns(r->id);
  r->until_ns = lh_now_ns() + MOST_WAIT_NS;
  for (int turn = 0; turn < 2; turn++) {
    for (size_t i = 0; i < n && r->id != 0; i++) {
      uint64_t had = lh_processor_ns(r->id);
      if (states[i].is_quiet || had - start > MOST_FOR_ALL_NS || lh_now_ns() > r->until_ns)
        continue;
      r->turn_ends_ns = had + (turn == 0 ? FIRST_TURN_NS : SECOND_TURN_NS);
      states[i].is_quiet = run_state(r, m, states[i].state);
    }
  }
  return r->id != 0;
}

/* The registers are set last: then the program's first instruction runs. */
static bool run_child(runner *r, uint64_t stub, const lh_mirrored *m, lh_pending *states,
                      size_t n) {
  sigset_t signals;
  lh_hold_child_signals(&signals);
  bool lives =
      stop_child(r) && lh_sandbox_close(&r->id, stub, m->memory, &m->continuation->identity);
  r->touched_before = lives ? pages_touched(r->id) : 0;
  lives = lives && run_states(r, m, states, n);
  lh_release_signals(&signals);
  return lives;
}

enum { PIECE_BYTES = 256 * 1024 };

/* The child has changed little, so only the pieces that differ are copied. */
static void take_changed(uint64_t start, const char *changed, size_t n) {
  enum { PIECE = 4096 };
  for (size_t at = 0, bytes; at < n; at += bytes) {
    bytes = n - at < PIECE ? n - at : PIECE;
    char *own = (char *)(uintptr_t)start + at;
    if (memcmp(own, changed + at, bytes) != 0) memcpy(own, changed + at, bytes);
  }
}

static bool take_span(const lh_mirrored *m, const lh_memory *of_child, lh_span span, char *piece) {
  bool is_read = true;
  if (!lh_mirror_has(m->mirror, span.start, span.end - span.start)) return true;
  for (uint64_t at = span.start, n; at < span.end && is_read; at += n) {
    n = span.end - at < PIECE_BYTES ? span.end - at : PIECE_BYTES;
    is_read = of_child->read(of_child, at, piece, (size_t)n);
    if (is_read) take_changed(at, piece, (size_t)n);
  }
  return is_read;
}

static bool take_memory(const lh_mirrored *m, pid_t child) {
  lh_pages pages;
  lh_span span;
  lh_memory memory = *m->memory;
  char *piece = lh_alloc(PIECE_BYTES, 1);
  memory.process_id = child;
  memory.read = lh_process_read_memory;
  memory.is_shared = true;
  memory.fd = lh_process_file(child, "mem", O_RDONLY);
  bool is_taken = piece && memory.fd >= 0;
  lh_pages_begin(&pages, &memory);
  while (is_taken && lh_pages_next(&pages, &span)) is_taken = take_span(m, &memory, span, piece);
  lh_pages_end(&pages);
  if (memory.fd >= 0) (void)close(memory.fd);
  lh_free(piece);
  return is_taken;
}

static uint64_t hear(int gate) {
  uint64_t heard;
  ssize_t n;
  do n = read(gate, &heard, sizeof heard);
  while (n < 0 && errno == EINTR);
  return n == sizeof heard ? heard : 0;
}

/* In the child: prepares, then waits to be stopped, until it is killed or has no parent. */
static _Noreturn void become_program(const lh_mirrored *m, int gate) {
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  bool is_placed = lh_code_place(m->continuation->code, m->memory, m->mirror);
  uint64_t stub = is_placed ? lh_sandbox_begin(&m->continuation->identity) : 0;
  if (stub && send(gate, &stub, sizeof stub, MSG_NOSIGNAL) == sizeof stub) (void)hear(gate);
  _exit(1);
}

static bool may_run(const lh_mirrored *m, const lh_pending *states, size_t n) {
  runner unused;
  lh_peek peek = lh_peek_mirror(m->mirror);
  for (size_t i = 0; i < n; i++) {
    if (!states[i].is_quiet && find_way_on(m, &peek, states[i].state, &unused)) return true;
  }
  return false;
}

static bool all_are_quiet(const lh_pending *states, size_t n) {
  bool all = true;
  for (size_t i = 0; i < n; i++) all &= states[i].is_quiet;
  return all;
}

/* A core that reaches no such place is shown as it ended. If the child is lost, only the states
** that were quiet before are quiet. */
int lh_continue_copy(const lh_mirrored *m, lh_pending *states, size_t n, lh_error *error) {
  int gates[2];
  runner r = {0};
  if (!m->continuation || m->continuation->is_over || !may_run(m, states, n) ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gates) < 0)
    return LH_OK;
  for (size_t i = 0; i < n; i++) states[i].was_quiet = states[i].is_quiet;
  r.id = fork();
  pid_t child = r.id;
  if (r.id == 0) {
    (void)close(gates[0]);
    become_program(m, gates[1]);
  }
  (void)close(gates[1]);
  uint64_t stub = child > 0 ? hear(gates[0]) : 0;
  r.words = (lh_watched_words){.child = &r.id, .stub = stub, .by_pages = !lh_can_watch()};
  bool has_run_on = stub && run_child(&r, stub, m, states, n) &&
                    (!m->target->is_core || all_are_quiet(states, n));
  bool is_whole = !has_run_on || take_memory(m, r.id);
  for (size_t i = 0; !has_run_on && i < n; i++) states[i].is_quiet = states[i].was_quiet;
  if (r.id > 0) lh_child_end(r.id);
  (void)close(gates[0]);
  m->continuation->is_over = child > 0;
  if (is_whole) return LH_OK;
  return lh_fail(error, LH_EIO, "the process that runs on in the program's place was killed");
}

#endif
