/* corpus.c - replays what the fuzzer has found (corpus.h). */
#include "corpus.h"

#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST_BYTES = 1 << 20 };

bool corpus_replay_file(const char *path, corpus_ask *ask) {
  FILE *file = fopen(path, "rb");
  uint8_t *data = malloc(MOST_BYTES);
  assert_non_null(data);
  size_t n = file ? fread(data, 1, MOST_BYTES, file) : 0;
  bool is_read = file && !ferror(file);
  if (file) assert_int_equal(fclose(file), 0);
  data = realloc(data, n ? n : 1);
  assert_non_null(data);
  if (is_read) ask(data, n);
  free(data);
  return is_read;
}

void corpus_replay(const char *folder, const char *what, size_t least, corpus_ask *ask) {
  DIR *directory = opendir(folder);
  size_t n = 0;
  assert_non_null(directory);
  for (struct dirent *entry; (entry = readdir(directory));) {
    char path[2 * PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (entry->d_name[0] != '.' && corpus_replay_file(path, ask)) n++;
  }
  assert_int_equal(closedir(directory), 0);
  assert_true(n >= least);
  printf("faults: the fuzzer's %s, replayed: %zu cases, %zu survived\n", what, n, n);
}
