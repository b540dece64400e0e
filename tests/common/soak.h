/*
** soak.h - how often a test that repeats itself does so: N of the environment says how many times
** as often as in `make test`, where that is once. `make soak` sets N. After <stdlib.h>.
*/
#ifndef LUAHEAP_SOAK_H
#define LUAHEAP_SOAK_H

/* N; 1 where the environment does not have it. */
static inline unsigned soak_factor(void) {
  const char *text = getenv("N");
  long n = text ? strtol(text, NULL, 10) : 1;
  return n < 1 ? 1 : n > 1000000 ? 1000000 : (unsigned)n;
}

/* Of a list of cases every n-th is tried: `n` in `make test`, 1 once N is as great. An odd n takes
** each bit of a byte in turn. */
static inline unsigned soak_step(unsigned n) {
  return soak_factor() >= n ? 1 : n;
}

#endif
