/*
** registers.h - the registers of a stopped thread, for each kind of machine.
**
** On aarch64 threads run on to their system calls as on x86-64, but cannot make calls for us. On
** other machines threads can only be stopped and continued.
*/
#pragma once

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

typedef struct user_regs_struct lh_registers;

static inline bool lh_registers_get(pid_t thread, lh_registers *registers) {
  struct iovec all = {registers, sizeof *registers};
  return ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &all) == 0;
}

static inline bool lh_registers_set(pid_t thread, const lh_registers *registers) {
  lh_registers copy = *registers;
  struct iovec all = {&copy, sizeof copy};
  return ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &all) == 0;
}

/* A system call; number -1: none. */
typedef struct lh_call {
  long number;
  uint64_t second_argument;
} lh_call;

/* Results of interrupted calls that the kernel restarts; no program sees them
** (include/linux/errno.h). After a signal handler the call fails with EINTR: 512 without
** SA_RESTART, 513 never, 514 always. 516 goes on with the remaining time, by restart_syscall. */
enum { LH_RESTART_FIRST = 512, LH_RESTART_UNLESS_HANDLED = 514, LH_RESTART_REST = 516 };

#if defined __x86_64__

/* Can threads stop at calls, and make calls for us? Is an interrupted call the next instruction? */
enum { LH_CAN_CONTINUE = 1, LH_CAN_INJECT = 1, LH_GOES_BACK = 0, LH_CALL_BYTES = 2 };

typedef struct lh_all_registers {
  lh_registers general;
  size_t vector_bytes;
  uint8_t vectors[16384];
} lh_all_registers;

static inline bool lh_registers_get_all(pid_t thread, lh_all_registers *r) {
  struct iovec vectors = {r->vectors, sizeof r->vectors};
  bool is_got = lh_registers_get(thread, &r->general) &&
                ptrace(PTRACE_GETREGSET, thread, NT_X86_XSTATE, &vectors) == 0;
  r->vector_bytes = vectors.iov_len;
  return is_got;
}

/* The kernel requires the vectors of all features of the processor. A debugger may write only those
** up to memory protection keys into a core. The others start as in a new program: they are not in
** the feature mask behind the 512 bytes of FXSAVE. */
static inline bool lh_registers_set_all(pid_t thread, const lh_all_registers *r) {
  enum { MASK_AT = 512 };
  const uint64_t parts_of_debuggers = 0x3ff;
  lh_all_registers whole;
  if (!lh_registers_get_all(thread, &whole)) return false;
  size_t n = r->vector_bytes < whole.vector_bytes ? r->vector_bytes : whole.vector_bytes;
  memcpy(whole.vectors, r->vectors, n);
  memset(whole.vectors + n, 0, whole.vector_bytes - n);
  if (n >= MASK_AT + sizeof(uint64_t) && n < whole.vector_bytes) {
    uint64_t mask;
    memcpy(&mask, whole.vectors + MASK_AT, sizeof mask);
    mask &= parts_of_debuggers;
    memcpy(whole.vectors + MASK_AT, &mask, sizeof mask);
  }
  struct iovec vectors = {whole.vectors, whole.vector_bytes};
  return lh_registers_set(thread, &r->general) &&
         ptrace(PTRACE_SETREGSET, thread, NT_X86_XSTATE, &vectors) == 0;
}

/* The call that the thread is in or has just left, also for a signal handler; -1: none. */
static inline lh_call lh_registers_call(const lh_registers *r) {
  return (lh_call){(long)r->orig_rax, r->rsi};
}

/* Address of the call instruction, if the thread is in a call. */
static inline uint64_t lh_registers_call_address(const lh_registers *r) {
  return r->rip - 2;
}

static inline bool lh_registers_is_call(const uint8_t code[LH_CALL_BYTES]) {
  return code[0] == 0x0f && code[1] == 0x05; /* syscall */
}

/* For a thread held at a system call: true before the call, false after it. */
static inline bool lh_registers_is_in_front(const lh_registers *r) {
  return (long)r->rax == -ENOSYS;
}

static inline bool lh_registers_is_interrupted(const lh_registers *r) {
  long result = -(long)r->rax;
  return (long)r->orig_rax >= 0 && result >= LH_RESTART_FIRST && result <= LH_RESTART_REST;
}

/* Moves from a call, not made yet or interrupted, back to its instruction. */
static inline void lh_registers_step_back(lh_registers *r) {
  r->rip -= 2;
  r->rax = (long)r->rax == -LH_RESTART_REST ? SYS_restart_syscall : r->orig_rax;
  r->orig_rax = (unsigned long long)-1;
}

/* Makes the thread continue by instructions alone, whatever call it was in. */
static inline void lh_registers_leave_call(lh_registers *r) {
  if (lh_registers_is_interrupted(r)) lh_registers_step_back(r);
  r->orig_rax = (unsigned long long)-1;
}

/* After a stop some calls (epoll_wait, semtimedop, recv with a timeout) fail with EINTR. This makes
** the kernel restart them, unless a handler runs. False: another call, or close(), which is
** done. */
static inline bool lh_registers_mend(lh_registers *r) {
  if ((long)r->orig_rax < 0 || (long)r->orig_rax == SYS_close || (long)r->rax != -EINTR)
    return false;
  r->rax = (unsigned long long)-LH_RESTART_UNLESS_HANDLED;
  return true;
}

#elif defined __aarch64__

enum { LH_CAN_CONTINUE = 1, LH_CAN_INJECT = 0, LH_GOES_BACK = 1, LH_CALL_BYTES = 4 };

/* Valid only if the thread is in a call, before or after it. */
static inline lh_call lh_registers_call(const lh_registers *r) {
  return (lh_call){(int)r->regs[8], r->regs[1]};
}

static inline uint64_t lh_registers_call_address(const lh_registers *r) {
  return r->pc - LH_CALL_BYTES;
}

static inline bool lh_registers_is_call(const uint8_t code[LH_CALL_BYTES]) {
  return code[0] == 0x01 && code[1] == 0 && code[2] == 0 && code[3] == 0xd4; /* svc 0 */
}

static inline bool lh_registers_is_in_front(const lh_registers *r) {
  return r->regs[7] == 0; /* set by the kernel at this stop; it keeps the real value */
}

static inline bool lh_registers_has_failed(const lh_registers *r) {
  return (long)r->regs[0] == -EINTR;
}

#else /* threads stop and continue in place; calls fail with EINTR, as at a terminal's stop */

enum { LH_CAN_CONTINUE = 0, LH_CAN_INJECT = 0, LH_GOES_BACK = 0, LH_CALL_BYTES = 4 };
#define lh_registers_call(r) ((void)(r), (lh_call){-1, 0})
#define lh_registers_call_address(r) ((void)(r), (uint64_t)0)
#define lh_registers_is_call(code) ((void)(code), false)
#define lh_registers_is_in_front(r) ((void)(r), false)
#define lh_registers_step_back(r) ((void)(r))
#define lh_registers_mend(r) ((void)(r), false)

#endif
