/*
** fuzz_open.c - libFuzzer's target for the reader: opens any bytes as a snapshot, verifies,
** analyses and classifies it. As many executions a second as can be; mutate.c makes the inputs.
*/
#include "targets.h"

const size_t most_parts = 1;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ask_open(data, size);
  return 0;
}
