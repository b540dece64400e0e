/*
** fuzz_open.c - libFuzzer's target: opens any bytes as a snapshot, reads all of it and analyses it.
**
** `make fuzz` runs it. The library is compiled with -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION,
** which makes it take any checksum for right.
*/
#include "read/snapshot.h"
#include "visit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lh_snapshot *snapshot;
  lh_error error;
  if (lh_open_memory(&snapshot, data, size, "fuzz", &error) != 0) return 0;
  (void)visit_all(snapshot);
  if (lh_analyse(snapshot, &error) == 0) (void)lh_classify(snapshot, &error);
  (void)visit_all(snapshot); /* with ephemerons now */
  lh_close(snapshot);
  return 0;
}
