/*
** hash.c - XXH64, written from its specification (xxHash by Yann Collet), and a random seed.
** Four lanes take 32 bytes a round and are merged; then come the rest in steps of 8, 4 and 1 bytes,
** and a final mix. XXH64 guards the blocks of a snapshot and tells long strings apart. Hash tables
** need the random seed, since an attacker may choose keys that collide.
*/
#include <sys/random.h>
#include <unistd.h>

#include "base.h"

#define P1 0x9E3779B185EBCA87u
#define P2 0xC2B2AE3D27D4EB4Fu
#define P3 0x165667B19E3779F9u
#define P4 0x85EBCA77C2B2AE63u
#define P5 0x27D4EB2F165667C5u

static inline uint64_t rotate(uint64_t x, unsigned by) {
  return (x << by) | (x >> (64 - by));
}

static inline uint64_t eat(uint64_t lane, uint64_t input) {
  return rotate(lane + input * P2, 31) * P1;
}

static uint64_t merge_lane(uint64_t sum, uint64_t lane) {
  return (sum ^ eat(0, lane)) * P1 + P4;
}

static uint64_t lanes(const uint8_t **at, const uint8_t *end, uint64_t seed) {
  const uint8_t *p = *at;
  uint64_t a = seed + P1 + P2, b = seed + P2, c = seed, d = seed - P1;
  for (; end - p >= 32; p += 32) {
    a = eat(a, lh_load64(p));
    b = eat(b, lh_load64(p + 8));
    c = eat(c, lh_load64(p + 16));
    d = eat(d, lh_load64(p + 24));
  }
  *at = p;
  uint64_t sum = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
  return merge_lane(merge_lane(merge_lane(merge_lane(sum, a), b), c), d);
}

uint64_t lh_hash(const void *data, size_t n, uint64_t seed) {
  const uint8_t *p = data;
  const uint8_t *end = p + n;
  uint64_t h = n >= 32 ? lanes(&p, end, seed) : seed + P5;
  h += n;
  for (; end - p >= 8; p += 8) h = rotate(h ^ eat(0, lh_load64(p)), 27) * P1 + P4;
  if (end - p >= 4) {
    h = rotate(h ^ lh_load32(p) * P1, 23) * P2 + P3;
    p += 4;
  }
  for (; p < end; p++) h = rotate(h ^ *p * P5, 11) * P1;
  h = (h ^ (h >> 33)) * P2;
  h = (h ^ (h >> 29)) * P3;
  return h ^ (h >> 32);
}

uint64_t lh_random_seed(void) {
  uint64_t seed;
  struct timespec now = {0};
  if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed) return seed;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  uint64_t words[] = {(uint64_t)now.tv_sec, (uint64_t)now.tv_nsec, (uint64_t)getpid()};
  return lh_hash(words, sizeof words, (uintptr_t)&seed);
}
