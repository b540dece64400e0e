/*
** fuzz_ask.c - libFuzzer's target for what stands on the reader: asks of any bytes all that the
** commands ask of a snapshot. Ten times slower than fuzz_open.c; the inputs are made the same way.
*/
#include "targets.h"

const size_t most_parts = 1;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ask_all(data, size);
  return 0;
}
