/* open.c - opens, analyses and classifies a snapshot; shows progress beyond 8 MB (0.25 s). */
#include <malloc.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cli.h"

#define SLOW_FILE_BYTES (8 << 20)

static bool is_slow(const char *file, uint64_t *bytes) {
  struct stat status;
  *bytes = stat(file, &status) == 0 ? (uint64_t)status.st_size : 0;
  return *bytes > SLOW_FILE_BYTES;
}

/* One per processor, at most four. */
static unsigned n_threads(void) {
  enum { MOST = 4 };
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof processors, &processors) < 0) return 1;
  unsigned n = (unsigned)CPU_COUNT(&processors);
  return n < MOST ? n : MOST;
}

/* One malloc arena for all threads, which reuses freed memory. Memory for a snapshot comes in huge
** pages: faults of small pages took a fifth of the time. An allocator that is not glibc's, as that
** of a sanitizer, takes no such setting and is left alone. */
static void prepare_malloc(uint64_t file_bytes) {
#ifdef M_ARENA_MAX
  enum { TIMES = 12, HUGE_PAGE = 2 << 20 };
  if (!mallopt(M_ARENA_MAX, 1) || !mallopt(M_MMAP_MAX, 0) || !mallopt(M_TRIM_THRESHOLD, -1)) return;
  size_t bytes = TIMES * (size_t)file_bytes;
  char *room = bytes > HUGE_PAGE ? malloc(bytes) : NULL;
  size_t small = HUGE_PAGE - (uintptr_t)room % HUGE_PAGE;
  if (room) (void)madvise(room + small, bytes - small, MADV_HUGEPAGE);
  free(room);
#else
  (void)file_bytes;
#endif
}

int cli_try_open(cli *c, const char *file, lh_snapshot **snapshot, lh_error *error) {
  uint64_t bytes;
  if (is_slow(file, &bytes))
    cli_progress(c, "reading %s, %s", file, lh_size_text(bytes, c->exact_bytes).text);
  prepare_malloc(bytes);
  cli_limit_output(file);
  int code = lh_open_in_threads(snapshot, file, c->opens_alone ? 1 : n_threads(), error);
  cli_progress(c, NULL);
  return code;
}

lh_snapshot *cli_open(cli *c, const char *file) {
  lh_snapshot *snapshot;
  lh_error error;
  cli_check(c, cli_try_open(c, file, &snapshot, &error), NULL, &error); /* it names the file */
  return snapshot;
}

int cli_try_analyse(cli *c, const char *file, lh_snapshot *snapshot, lh_error *error) {
  uint64_t bytes;
  bool slow = is_slow(file, &bytes);
  if (slow)
    cli_progress(c, "%s: finding what %s retain", file,
                 lh_count_of(lh_object_count(snapshot), "object", "objects").text);
  int code = lh_analyse(snapshot, error);
  if (code == LH_OK && slow) cli_progress(c, "%s: naming the objects", file);
  if (code == LH_OK) code = lh_classify(snapshot, error);
  cli_progress(c, NULL);
  return code;
}

lh_snapshot *cli_open_analysed(cli *c, const char *file) {
  lh_snapshot *snapshot = cli_open(c, file);
  lh_error error;
  cli_check(c, cli_try_analyse(c, file, snapshot, &error), file, &error);
  return snapshot;
}

char *cli_held_by(cli *c, lh_snapshot *snapshot, lh_id id) {
  lh_error error;
  char *text;
  cli_check(c, lh_readable_path(snapshot, id, &text, &error), NULL, &error);
  return text;
}
