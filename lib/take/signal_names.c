/*
** signal_names.c - the names of signals, as kill(1) takes them: of those that may ask for a
** snapshot, and of those that end a program.
*/
#include <signal.h>
#include <string.h>

#include "rooms/take.h"

static const struct {
  const char *name;
  int number;
} names[] = {{"HUP", SIGHUP},     {"INT", SIGINT},   {"QUIT", SIGQUIT},     {"USR1", SIGUSR1},
             {"USR2", SIGUSR2},   {"PIPE", SIGPIPE}, {"ALRM", SIGALRM},     {"TERM", SIGTERM},
             {"CHLD", SIGCHLD},   {"CONT", SIGCONT}, {"TSTP", SIGTSTP},     {"TTIN", SIGTTIN},
             {"TTOU", SIGTTOU},   {"URG", SIGURG},   {"VTALRM", SIGVTALRM}, {"PROF", SIGPROF},
             {"WINCH", SIGWINCH}, {"IO", SIGIO},     {"KILL", SIGKILL},     {"STOP", SIGSTOP},
             {"SEGV", SIGSEGV},   {"BUS", SIGBUS},   {"FPE", SIGFPE},       {"ILL", SIGILL},
             {"TRAP", SIGTRAP},   {"ABRT", SIGABRT}, {"SYS", SIGSYS}};
enum { N_NAMES = sizeof names / sizeof names[0] };

const char *lh_signal_name(int number) {
  for (size_t i = 0; i < N_NAMES; i++)
    if (names[i].number == number) return names[i].name;
  return NULL;
}

int lh_signal_number(const char *name) {
  for (size_t i = 0; i < N_NAMES; i++)
    if (strcmp(names[i].name, name) == 0) return names[i].number;
  return 0;
}
