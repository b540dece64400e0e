/*
** changed.c - snapshots that change while they are read.
**
** A snapshot is mapped, not copied: a file of gigabytes costs no memory. Whoever writes one with
** luaheap replaces the file and leaves the old one to its readers, but `cp` and `>` cut and fill
** the file in place: then the kernel sends SIGBUS, or what was verified when it was opened is no
** longer what is there. So each file is looked at again when the command faults and when it ends,
** and if it is another one, that is said, in one line, with exit status 2.
*/
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* The only global of the commands: a signal handler is given no argument. */
static const cli *watching;

void cli_watch(cli *c, const char *file) {
  char *name;
  struct stat status;
  cli_file *f;
  if (stat(file, &status) != 0) return;
  c->files = cli_must(realloc(c->files, (c->n_files + 1) * sizeof *c->files));
  f = &c->files[c->n_files];
  f->status = status;
  name = cli_escape(file);
  snprintf(f->line, sizeof f->line, "%s: '%.900s' was changed while it was read: run it again\n",
           c->tool->name, name);
  free(name);
  f->path = file;
  c->n_files++;
}

/* Calls only what a signal handler may call. */
const char *cli_changed(const cli *c) {
  for (size_t i = 0; i < c->n_files; i++) {
    const cli_file *f = &c->files[i];
    struct stat now;
    if (stat(f->path, &now) != 0 || now.st_dev != f->status.st_dev ||
        now.st_ino != f->status.st_ino)
      continue; /* deleted or replaced: the old one is as it was */
    if (now.st_size != f->status.st_size || now.st_mtim.tv_sec != f->status.st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != f->status.st_mtim.tv_nsec)
      return f->line;
  }
  return NULL;
}

/* A fault of our own comes again when this returns, and then ends the process as ever. */
static void on_fault(int signal_number) {
  static const char unknown[] =
      "luaheap: a snapshot can no longer be read: it was cut, or its "
      "disk fails\n";
  const char *line = cli_changed(watching);
  if (line == NULL && signal_number == SIGBUS) line = unknown;
  if (line == NULL) return;
  if (watching->progress_shown) (void)!write(STDERR_FILENO, "\r\033[K", 4);
  (void)!write(STDERR_FILENO, line, strlen(line));
  _exit(CLI_FAILURE);
}

void cli_catch_faults(const cli *c) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_fault;
  action.sa_flags = (int)SA_RESETHAND;
  watching = c;
  (void)sigaction(SIGBUS, &action, NULL);
  (void)sigaction(SIGSEGV, &action, NULL);
}
