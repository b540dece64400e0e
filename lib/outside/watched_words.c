/*
** watched_words.c - reports when a child of continue_copy.c writes to one of two words.
**
** Debug registers do it, at no cost for the child. Where they report nothing, the words' pages are
** write-protected: each write to such a page faults. The child makes it in a single step, without
** the protection: 40 us each. Beside the words are what Lua counts and other objects, so there are
** some to some hundred such writes, but many more while a long C function calls Lua's.
*/
#include "watched_words.h"

#include <sys/mman.h>
#include <sys/wait.h>

#if defined __x86_64__

enum { N_WORDS = 2 };

/* ==== By debug registers ============================================================ */

enum { WATCH_FIRST = 0x1, WATCH_BOTH = 0x5, WRITES_OF_8_BYTES = 0x9 };
enum { N_DEBUG_STATUS = 6, N_DEBUG_CONTROL = 7 };

static bool set_debug_register(pid_t id, unsigned n, uint64_t value) {
  size_t at = offsetof(struct user, u_debugreg) + n * sizeof(uint64_t);
  return ptrace(PTRACE_POKEUSER, id, at, value) == 0;
}

/* Which words were written since the last question. */
static unsigned written_by_registers(pid_t id) {
  size_t at = offsetof(struct user, u_debugreg) + N_DEBUG_STATUS * sizeof(uint64_t);
  errno = 0;
  long status = ptrace(PTRACE_PEEKUSER, id, at, 0);
  if (errno != 0) return 0;
  (void)set_debug_register(id, N_DEBUG_STATUS, 0);
  return (unsigned)status & ((1U << N_WORDS) - 1);
}

static bool set_registers(const lh_watched_words *w) {
  const uint64_t each = WRITES_OF_8_BYTES;
  return set_debug_register(*w->child, 0, w->addresses[0]) &&
         set_debug_register(*w->child, 1, w->addresses[1]) &&
         set_debug_register(*w->child, N_DEBUG_CONTROL, WATCH_BOTH | each << 16 | each << 20);
}

static _Noreturn void write_word(volatile uint64_t *word) {
  if (ptrace(PTRACE_TRACEME, 0, 0, 0) == 0 && raise(SIGSTOP) == 0) *word = 1;
  _exit(0);
}

static int wait_for(pid_t child) {
  int status = 0;
  pid_t found;
  do found = waitpid(child, &status, __WALL);
  while (found < 0 && errno == EINTR);
  return found == child ? status : 0;
}

/* A report of a stop may come first. */
void lh_child_end(pid_t child) {
  (void)kill(child, SIGKILL);
  while (WIFSTOPPED(wait_for(child))) continue;
}

bool lh_can_watch(void) {
  const uint64_t control = WATCH_FIRST | (uint64_t)WRITES_OF_8_BYTES << 16;
  volatile uint64_t word = 0;
  sigset_t signals;
  lh_hold_child_signals(&signals);
  pid_t child = fork();
  if (child == 0) write_word(&word);
  int status = child > 0 ? wait_for(child) : 0;
  bool sees = WIFSTOPPED(status) && set_debug_register(child, 0, (uintptr_t)&word) &&
              set_debug_register(child, N_DEBUG_CONTROL, control) &&
              ptrace(PTRACE_CONT, child, 0, 0) == 0;
  if (sees) status = wait_for(child);
  sees = sees && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
  if (WIFSTOPPED(status)) lh_child_end(child);
  lh_release_signals(&signals);
  return sees;
}

/* ==== By protected pages ============================================================ */

static uint64_t page_of(uint64_t address) {
  return address & ~(uint64_t)(LH_CHILD_PAGE - 1);
}

static bool is_watched_page(const lh_watched_words *w, uint64_t page) {
  return page == page_of(w->addresses[0]) || page == page_of(w->addresses[1]);
}

static bool protect(const lh_watched_words *w, uint64_t page, int access) {
  return lh_sandbox_protect(w->child, w->stub, page, access);
}

/* Both pages, which may be one. */
static bool protect_pages(const lh_watched_words *w, int access) {
  uint64_t first = page_of(w->addresses[0]), second = page_of(w->addresses[1]);
  return protect(w, first, access) && (second == first || protect(w, second, access));
}

static bool read_words(const lh_watched_words *w, uint64_t *values) {
  errno = 0;
  for (int i = 0; i < N_WORDS && errno == 0; i++)
    values[i] = (uint64_t)ptrace(PTRACE_PEEKDATA, *w->child, w->addresses[i], 0);
  return errno == 0;
}

/* The address of a write that a page's protection has stopped; 0: it stopped for another reason. */
static uint64_t write_stopped(const lh_watched_words *w, int signal) {
  siginfo_t about;
  if (signal != SIGSEGV || ptrace(PTRACE_GETSIGINFO, *w->child, 0, &about) != 0) return 0;
  uint64_t at = (uintptr_t)about.si_addr;
  return about.si_code == SEGV_ACCERR && is_watched_page(w, page_of(at)) ? at : 0;
}

/* An instruction that moves blocks stops after each step of its own. */
static bool step(const lh_watched_words *w) {
  const uint64_t MOST_NS = 10000000000;
  int status;
  return ptrace(PTRACE_SYSEMU_SINGLESTEP, *w->child, 0, 0) == 0 &&
         lh_sandbox_wait(w->child, &status, lh_now_ns() + MOST_NS) && status >> 16 == 0 &&
         WSTOPSIG(status) == SIGTRAP;
}

/* A word that got the same value again is known by the address of the write. A write that crosses
** from a page to the other fails. */
static bool make_write(lh_watched_words *w, uint64_t at, unsigned *written) {
  enum { MOST_STEPS = 2048 };
  uint64_t values[N_WORDS];
  *written = 0;
  if (++w->n_steps > MOST_STEPS || !protect(w, page_of(at), PROT_READ | PROT_WRITE) || !step(w) ||
      !read_words(w, values) || !protect(w, page_of(at), PROT_READ))
    return false;
  for (int i = 0; i < N_WORDS; i++) {
    if (values[i] != w->values[i] || at - w->addresses[i] < sizeof *values) *written |= 1U << i;
    w->values[i] = values[i];
  }
  return true;
}

/* ==== Both ========================================================================== */

bool lh_watched_words_set(lh_watched_words *w, uint64_t first, uint64_t second) {
  if (!lh_watched_words_end(w)) return false;
  w->addresses[0] = first;
  w->addresses[1] = second;
  if (!w->by_pages) return set_registers(w);
  return read_words(w, w->values) && protect_pages(w, PROT_READ);
}

bool lh_watched_words_see(lh_watched_words *w, int signal, unsigned *written) {
  if (w->by_pages) {
    uint64_t at = write_stopped(w, signal);
    return at != 0 && make_write(w, at, written);
  }
  *written = signal == SIGTRAP ? written_by_registers(*w->child) : 0;
  return *written != 0;
}

bool lh_watched_words_end(lh_watched_words *w) {
  bool has_ended = *w->child == 0 || !w->by_pages || w->addresses[0] == 0 ||
                   protect_pages(w, PROT_READ | PROT_WRITE);
  w->addresses[0] = w->addresses[1] = 0;
  return has_ended;
}

#endif
