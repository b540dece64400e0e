/*
** fuzz_profile.c - libFuzzer's target for profiles, with its own mutations: the content of a block
** is changed as bytes, or blocks are dropped, copied and exchanged, and then lengths and checksums
** are made right. One mutation in eight leaves them wrong.
*/
#include <string.h>

#include "ask_profile.h"
#include "forged_profile.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ask_profile(data, size);
  return 0;
}

enum { MOST_BLOCKS = 64, MOST_BYTES = 1 << 16, HEAD = (int)LH_PROFILE_BLOCK_HEAD };

typedef struct span {
  const uint8_t *at; /* of the head */
  size_t bytes;      /* of the content */
} span;

static size_t find_blocks(const uint8_t *data, size_t size, span *spans) {
  size_t n = 0, at = LH_PROFILE_HEADER_BYTES;
  while (n < MOST_BLOCKS && size > at && size - at >= HEAD) {
    size_t bytes = lh_load32(data + at);
    if (bytes == 0 || bytes > size - at - HEAD) break;
    spans[n++] = (span){data + at, bytes};
    at += HEAD + bytes;
  }
  return n;
}

/* Adds a block; false where there is no room. */
static bool add(uint8_t *out, size_t *used, size_t max_size, span block, bool mutates) {
  if (HEAD + block.bytes > max_size - *used) return false;
  uint8_t *head = out + *used;
  memcpy(head, block.at, HEAD + block.bytes);
  size_t room = max_size - *used - HEAD, n = block.bytes;
  if (room > block.bytes + 64) room = block.bytes + 64;
  if (mutates) n = LLVMFuzzerMutate(head + HEAD, n, room);
  lh_store32(head, (uint32_t)n);
  *used += HEAD + n;
  return true;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  static uint8_t out[MOST_BYTES];
  span spans[MOST_BLOCKS];
  size_t n = find_blocks(data, size, spans), used = LH_PROFILE_HEADER_BYTES;
  if (n == 0 || seed % 8 == 0 || max_size > sizeof out)
    return LLVMFuzzerMutate(data, size, max_size);
  size_t at = seed / 8 % n, other = seed / 512 % n;
  unsigned how = seed / 65536 % 8;
  memcpy(out, data, used);
  for (size_t i = 0; i < n; i++) {
    if (i == at && how == 0) continue;
    span block = i == at && how == 1 ? spans[other] : i == other && how == 1 ? spans[at] : spans[i];
    if (!add(out, &used, max_size, block, i == at && how > 2)) break;
    if (i == at && how == 2) (void)add(out, &used, max_size, spans[other], false);
  }
  forge_seal_profile(out, used);
  memcpy(data, out, used);
  return used;
}
