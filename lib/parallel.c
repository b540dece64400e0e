/*
** parallel.c - runs the same work on many items in a few threads (see base.h).
**
** Each thread takes the next free item, so no thread waits while there is work. Starting and ending
** a thread takes about 20 microseconds, a tenth of the time for one block of a snapshot.
*/
#include "base.h"

#include <pthread.h>
#include <signal.h>

/* A stack counts as writable memory of the process (ulimit -d), 8 MB by default. The work has no
** recursion, so less is enough. */
enum { MOST_THREADS = 16, STACK_BYTES = 1 << 20 };

typedef struct team {
  lh_work work;
  void *data;
  uint32_t next; /* the first free item */
  uint32_t end;  /* the first item that need not be done */
} team;

static void end_at(team *t, uint32_t i) {
  uint32_t end = __atomic_load_n(&t->end, __ATOMIC_RELAXED);
  while (i < end &&
         !__atomic_compare_exchange_n(&t->end, &end, i, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    continue;
}

static void *take_part(void *payload) {
  team *t = payload;
  for (;;) {
    uint32_t i = __atomic_fetch_add(&t->next, 1, __ATOMIC_RELAXED);
    if (i >= __atomic_load_n(&t->end, __ATOMIC_RELAXED)) return NULL;
    if (!t->work(t->data, i)) end_at(t, i);
  }
}

/* Returns the number of threads besides the caller's. A test names the allocation that fails by its
** number, so then there is only one thread. */
static unsigned count_helpers(unsigned threads, uint32_t n) {
#ifdef LH_TEST_ALLOC
  if (lh_test_is_failing()) return 0;
#endif
  if (threads > MOST_THREADS) threads = MOST_THREADS;
  if (threads > n) threads = n;
  return threads > 1 ? threads - 1 : 0;
}

/* Returns how many helpers run. */
static unsigned start_helpers(team *t, pthread_t *helpers, unsigned most) {
  sigset_t all, before;
  pthread_attr_t attributes;
  unsigned n = 0;
  if (most == 0 || pthread_attr_init(&attributes) != 0) return 0;
  (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  while (n < most && pthread_create(&helpers[n], &attributes, take_part, t) == 0) n++;
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  (void)pthread_attr_destroy(&attributes);
  return n;
}

uint32_t lh_parallel_for(unsigned threads, uint32_t n, lh_work work, void *data) {
  team t = {.work = work, .data = data, .end = n};
  pthread_t helpers[MOST_THREADS];
  unsigned running = start_helpers(&t, helpers, count_helpers(threads, n));
  (void)take_part(&t);
  while (running > 0) (void)pthread_join(helpers[--running], NULL);
  return t.end;
}
