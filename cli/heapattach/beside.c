/*
** beside.c - is there an older snapshot of the same state in the directory of a new one, with which
** it can be compared? Looked for where that costs little: among 32 files, 64 MB in all.
*/
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "heapattach/heapattach.h"

enum { MOST_FILES = 32, MOST_BYTES = 64 << 20 };

typedef struct search {
  const char *new_path;
  uint64_t state_id, before_ns;
  size_t n_files;
  uint64_t bytes; /* of those that were looked at */
  uint64_t time_ns;
  char *found; /* the newest of them; NULL: none yet */
} search;

/* The name is kept if it is the newest one; else it is freed. */
static void look_at(search *s, char *path) {
  struct stat info, own;
  lh_snapshot *snapshot;
  bool is_better = false;
  bool is_other = lstat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 &&
                  stat(s->new_path, &own) == 0 && info.st_ino != own.st_ino &&
                  s->n_files < MOST_FILES && s->bytes + (uint64_t)info.st_size <= MOST_BYTES;
  if (is_other && lh_open(&snapshot, path, NULL) == LH_OK) {
    const lh_info *is = lh_snapshot_info(snapshot);
    is_better =
        is->state_id == s->state_id && is->time_ns > s->time_ns && is->time_ns < s->before_ns;
    if (is_better) s->time_ns = is->time_ns;
    s->n_files++;
    s->bytes += (uint64_t)info.st_size;
    lh_close(snapshot);
  }
  if (!is_better) {
    free(path);
    return;
  }
  free(s->found);
  s->found = path;
}

char *older_beside(lh_awaited *awaited, const char *path, uint64_t state_id, uint64_t before_ns) {
  search s = {.new_path = path, .state_id = state_id, .before_ns = before_ns};
  const char *slash = strrchr(path, '/');
  size_t n = slash != NULL ? (size_t)(slash - path) + 1 : 0;
  char *folder = cli_must(n > 0 ? strndup(path, n) : strdup("./"));
  DIR *directory = opendir(folder);
  for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
    char *other;
    cli_must(asprintf(&other, "%.*s%s", (int)n, path, entry->d_name) >= 0 ? other : NULL);
    lh_await(awaited, other);
    look_at(&s, other);
    lh_await_end(awaited);
  }
  if (directory != NULL) closedir(directory);
  free(folder);
  return s.found;
}
