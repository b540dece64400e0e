/*
** registers.h - the registers of a stopped thread, as far as they tell which system call it is in:
** what is the machine's own. On aarch64 threads can be stopped and go on, no more.
*/
#ifndef LUAHEAP_OUTSIDE_REGISTERS_H
#define LUAHEAP_OUTSIDE_REGISTERS_H

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#if defined __x86_64__
enum { LH_CAN_INJECT = 1 };
typedef struct user_regs_struct lh_registers;
#else
enum { LH_CAN_INJECT = 0 };
typedef struct user_regs_struct lh_registers; /* aarch64 */
#endif

static inline bool lh_registers_get(pid_t thread, lh_registers *registers) {
  struct iovec all = {registers, sizeof *registers};
  return ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &all) == 0;
}

static inline bool lh_registers_set(pid_t thread, lh_registers *registers) {
  struct iovec all = {registers, sizeof *registers};
  return ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &all) == 0;
}

#if defined __x86_64__

/* What the kernel itself puts into rax of a call that was interrupted, while nobody sees it
** (include/linux/errno.h): it is restarted, but where a handler of a signal was called it fails
** with EINTR, always or unless the handler was installed with SA_RESTART. */
enum { LH_RESTART_FIRST = 512, LH_RESTART_UNLESS_HANDLED = 514, LH_RESTART_LAST = 516 };

/* The system call that the thread is in, or has just made; -1: it was stopped elsewhere. */
static inline long lh_registers_call(const lh_registers *r) {
  return (long)r->orig_rax;
}

/* Was the call interrupted, and is to be restarted? */
static inline bool lh_registers_is_interrupted(const lh_registers *r) {
  long result = -(long)r->rax;
  return (long)r->orig_rax >= 0 && result >= LH_RESTART_FIRST && result <= LH_RESTART_LAST;
}

/* Some calls (epoll_wait, semtimedop, a recv that has a timeout) are not restarted by the kernel
** when a thread was stopped and goes on, but fail with EINTR. This makes them be restarted, too,
** unless a handler runs. False: it is none of them. close() has closed, and must not be. */
static inline bool lh_registers_mend(lh_registers *r) {
  if ((long)r->orig_rax < 0 || (long)r->orig_rax == SYS_close || (long)r->rax != -EINTR)
    return false;
  r->rax = (unsigned long long)-LH_RESTART_UNLESS_HANDLED;
  return true;
}

#else

static inline long lh_registers_call(const lh_registers *r) {
  (void)r;
  return -1;
}

static inline bool lh_registers_is_interrupted(const lh_registers *r) {
  (void)r;
  return false;
}

/* The kernel has overwritten the first argument when the thread can be seen (x0): such calls fail
** with EINTR here, as when a process is stopped from a terminal. */
static inline bool lh_registers_mend(lh_registers *r) {
  (void)r;
  return false;
}

#endif
#endif
