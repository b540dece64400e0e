/*
** sample.c - chooses the allocations that are sampled: by bytes, without bias.
**
** Each requested byte ends a distance with the same small chance, so distances are exponential. A
** block with such a byte is a sample. Of blocks of s bytes a share of 1 - e^(-s / mean) are
** samples. Each stands for the inverse of that share: a big block for 1, a small block for (mean /
** s). Sums of these weights are right on average, whatever the program does.
**
** The module is linked to libc alone, so the two functions that it needs of libm are written here.
** Both are right to 1e-12 and called once for a sample.
*/
#include "recorder.h"

static double square(double x) {
  return x * x;
}

/* The natural logarithm for 0 < x < 1: of the fraction, between 1 and 2, by the series of the
** inverse hyperbolic tangent. */
static double logarithm(double x) {
  const double log_2 = 0.69314718055994530942;
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int exponent = (int)(bits >> 52) - 1023;
  bits = (bits & 0xFFFFFFFFFFFFFu) | (uint64_t)1023 << 52;
  memcpy(&x, &bits, sizeof x);
  double y = (x - 1) / (x + 1), power = y, sum = 0;
  for (int n = 1; n < 30; n += 2) {
    sum += power / n;
    power *= square(y);
  }
  return 2 * sum + exponent * log_2;
}

/* 1 - e^-x for x >= 0: by its series for small x, else from that of x / 2. */
static double missing_from_one(double x) {
  if (x > 40) return 1;
  int halvings = 0;
  for (; x > 0.5; x /= 2) halvings++;
  double term = x, sum = 0;
  for (int n = 2; n < 16; n++) {
    sum += term;
    term *= -x / n;
  }
  for (; halvings > 0; halvings--) sum = sum * (2 - sum); /* 1 - (1 - y)^2 */
  return sum;
}

/* xorshift64* (Vigna 2016). */
static uint64_t next_random(uint64_t *random) {
  uint64_t x = *random;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  *random = x;
  return x * 0x2545F4914F6CDD1Du;
}

int64_t lh_sample_distance(uint64_t *random, uint64_t mean_bytes) {
  double uniform = ((double)(next_random(random) >> 11) + 0.5) / 9007199254740992.0;
  return (int64_t)(-logarithm(uniform) * (double)mean_bytes) + 1;
}

double lh_sample_weight(uint64_t bytes, uint64_t mean_bytes) {
  return 1 / missing_from_one((double)(bytes ? bytes : 1) / (double)mean_bytes);
}
