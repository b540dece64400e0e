/*
** fuzz_several.c - libFuzzer's target for what compares: asks of one to three snapshots all that
** the commands ask of several, with cuts and with what the files themselves say as expressions.
*/
#include "targets.h"

const size_t most_parts = MOST_PARTS;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ask_several(data, size);
  return 0;
}
