/* folder.c - a folder of its own for a test (folder.h). */
#include "folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char current[32];
static unsigned n_removed;

int folder_enter(void) {
  (void)strcpy(current, "/tmp/luaheap-test-XXXXXX");
  return mkdtemp(current) && chdir(current) == 0 ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *at) {
  (void)about;
  (void)type;
  if (at->level > 0) {
    (void)fprintf(stderr, "left behind: %s\n", path);
    n_removed++;
  }
  return remove(path);
}

int folder_leave(void) {
  n_removed = 0;
  if (chdir("/") != 0) return -1;
  return nftw(current, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0 && n_removed == 0 ? 0 : -1;
}

int folder_leave_after(int n_failed) {
  return folder_leave() != 0 || n_failed != 0;
}
