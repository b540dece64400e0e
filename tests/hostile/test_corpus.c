/*
** test_corpus.c - replays the fuzzer's corpus of snapshots by all that the fuzz targets do.
**
** It reads tests/fuzz/corpus, or the directory or file that is its argument, to look at one input.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ask.h"
#include "corpus.h"

static const char *corpus = "tests/fuzz/corpus";

static void ask_everything(const uint8_t *data, size_t n) {
  ask_open(data, n);
  ask_all(data, n);
  ask_several(data, n);
  ask_reader(data, n);
}

static void the_corpus_is_read(void **state) {
  (void)state;
  corpus_replay(corpus, "corpus", 100, ask_everything);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_corpus_is_read)};
  if (argc > 1 && corpus_replay_file(argv[1], ask_everything)) return 0;
  if (argc > 1) corpus = argv[1];
  return cmocka_run_group_tests(tests, NULL, NULL);
}
