/*
** fuzz_requests.c - libFuzzer's target for what heapview is sent: text, of which it knows the words
** from the corpus.
*/
#include "ask_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ask_request(data, size);
  return 0;
}
