/* fuzz_core.c - libFuzzer's target for core files: the corpus has some of a few KB. */
#include "ask_core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  (void)ask_core(data, size);
  return 0;
}
