/*
** test_corpus.c - replays the fuzzer's corpus: the inputs that between them reach all code that
** fuzzing has reached, and each that once broke something, by all that the fuzz targets do. What
** libFuzzer needs clang for is so done in every run of the suite, in both builds.
**
** It reads tests/fuzz/corpus, or the directory or file that is its argument, to look at one input.
*/
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ask.h"

enum { MOST_BYTES = 1 << 20 };

static const char *corpus = "tests/fuzz/corpus";

/* In a block of its exact size, for the sanitizer. False when there is no such file. */
static bool replay(const char *path) {
  FILE *file = fopen(path, "rb");
  uint8_t *data = malloc(MOST_BYTES);
  assert_non_null(data);
  size_t n = file ? fread(data, 1, MOST_BYTES, file) : 0;
  bool read = file && !ferror(file);
  if (file) assert_int_equal(fclose(file), 0);
  data = realloc(data, n ? n : 1);
  assert_non_null(data);
  if (read) {
    ask_open(data, n);
    ask_all(data, n);
    ask_several(data, n);
    ask_reader(data, n);
  }
  free(data);
  return read;
}

static void the_corpus_is_read(void **state) {
  DIR *directory = opendir(corpus);
  size_t n = 0;
  (void)state;
  assert_non_null(directory);
  for (struct dirent *entry; (entry = readdir(directory));) {
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", corpus, entry->d_name);
    if (entry->d_name[0] != '.' && replay(path)) n++;
  }
  assert_int_equal(closedir(directory), 0);
  assert_true(n > 100);
  printf("faults: the fuzzer's corpus, replayed: %zu cases, %zu survived\n", n, n);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_corpus_is_read)};
  if (argc > 1 && replay(argv[1])) return 0;
  if (argc > 1) corpus = argv[1];
  return cmocka_run_group_tests(tests, NULL, NULL);
}
