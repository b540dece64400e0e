/*
** fuzz_reader.c - libFuzzer's target for heap.reader: asks of one to three snapshots all that can
** be asked in Lua, and prints every answer.
*/
#include "targets.h"

const size_t most_parts = MOST_PARTS;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ask_reader(data, size);
  return 0;
}
