/*
** soak.h - how often a test that repeats itself does so: N of the environment says how many times
** as often as in `make test`, where that is once. `make soak` sets N. After <stdlib.h>.
*/
#pragma once

/* N; 1 where the environment does not have it. */
static inline unsigned soak_factor(void) {
  const char *text = getenv("N");
  long n = text ? strtol(text, NULL, 10) : 1;
  return n < 1 ? 1 : n > 1000000 ? 1000000 : (unsigned)n;
}

/* With sanitizers, which take six times as long, a third is tried in `make check-asan`. */
#ifdef __SANITIZE_ADDRESS__
#define SOAK_STEP 3
#else
#define SOAK_STEP 1
#endif

/* Of a list of cases every n-th is tried: `n` in `make test`, 1 once N is as great. An odd n takes
** each bit of a byte in turn. */
static inline unsigned soak_step(unsigned n) {
  n *= SOAK_STEP;
  return soak_factor() >= n ? 1 : n;
}

/* How often something is done that is done n times in `make test`. */
static inline unsigned soak_times(unsigned n) {
  return (n * soak_factor() + SOAK_STEP - 1) / SOAK_STEP;
}
