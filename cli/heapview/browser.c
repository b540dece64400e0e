/*
** browser.c - opens the page in the user's browser. The command line of a process can be read by
** all users of a machine, so the address with its token must be in none: what xdg-open is given is
** a file that only we can read, in a directory of its own, which leads there. It is gone as soon as
** somebody has shown the token, and when heapview ends.
*/
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heapview.h"

/* Read by a signal handler and by the thread of HTTP: nothing changes them once they are there. */
static char folder[256], file[sizeof folder + 16];
static atomic_bool is_there;

void view_forget_browser(void) {
  if (!is_there) return;
  (void)unlink(file);
  (void)rmdir(folder);
}

static bool write_file(const char *address) {
  const char *root = getenv("XDG_RUNTIME_DIR");
  if (root == NULL || *root == '\0') root = "/tmp";
  size_t n = (size_t)snprintf(folder, sizeof folder, "%s/heapview-XXXXXX", root);
  if (n >= sizeof folder || mkdtemp(folder) == NULL) return false;
  snprintf(file, sizeof file, "%s/open.html", folder);
  is_there = true;
  int descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return false;
  int written = dprintf(descriptor,
                        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>heapview</title>\n"
                        "<meta name=\"referrer\" content=\"no-referrer\">\n"
                        "<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n",
                        address);
  return close(descriptor) == 0 && written > 0;
}

/* It is not our child, so nobody need wait for it, and has no terminal, so that Control-C, which
** ends us, leaves it alone. */
static _Noreturn void become_browser(void) {
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) (void)dup2(nothing, i);
  if (setsid() >= 0 && fork() == 0) execlp("xdg-open", "xdg-open", file, (char *)NULL);
  _exit(CLI_DONE);
}

bool view_open_browser(const char *address) {
  if (!write_file(address)) {
    view_forget_browser();
    return false;
  }
  pid_t child = fork();
  if (child == 0) become_browser();
  while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
  return child > 0;
}
