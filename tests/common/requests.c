/* requests.c - something happens before the n-th request of the kernel. */
#include "requests.h"

#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static int n_requests, at;
static void (*what)(void *payload);
static void *with;

void requests_begin(int n, void (*event)(void *payload), void *payload) {
  n_requests = 0;
  at = n;
  what = event;
  with = payload;
}

int requests_end(void) {
  what = NULL;
  return n_requests;
}

static void count_request(void) {
  if (++n_requests == at && what) what(with);
}

long __real_ptrace(enum __ptrace_request request, pid_t process, void *address, void *data);
long __wrap_ptrace(enum __ptrace_request request, pid_t process, void *address, void *data);
long __wrap_ptrace(enum __ptrace_request request, pid_t process, void *address, void *data) {
  count_request();
  return __real_ptrace(request, process, address, data);
}

int __real_waitid(idtype_t type, id_t id, siginfo_t *info, int options);
int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options);
int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options) {
  count_request();
  return __real_waitid(type, id, info, options);
}

int __real_kill(pid_t process, int signal_number);
int __wrap_kill(pid_t process, int signal_number);
int __wrap_kill(pid_t process, int signal_number) {
  count_request();
  return __real_kill(process, signal_number);
}
