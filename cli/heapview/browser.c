/*
** browser.c - opens the page in the user's browser. All users can read a command line, so it must
** not contain the address with the token: xdg-open gets a private file that redirects there. The
** file is removed when a client shows the token, and when heapview ends.
*/
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "heapview.h"

/* A signal handler and the HTTP thread read these; they never change once set. */
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

/* A grandchild, so nobody need wait for it; without terminal, so Control-C does not end it. */
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
