/*
** copy.c - copies memory of a target, by several threads.
**
** A process may be stopped meanwhile, or have a frozen copy, while which each page that it writes
** costs it a fault: so it must be fast. For each page the kernel looks up where it is, and copies
** it; half of that is waiting for memory. One thread takes 0.2 s for a GB, 2.5 times as long as a
** copy inside of a process, and two take half of that, as long as each has 2 MiB of its own: so
** much has one lock, and as much is looked at at once (pages.c).
*/
#include "copy.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "pages.h"
#include "stop.h"

enum { MOST_THREADS = 4, WORTH_A_THREAD = 8 << 20 };

static uint64_t next_page(uint64_t address) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  return (address | (page - 1)) + 1;
}

uint64_t lh_copy(const lh_memory *memory, uint64_t start, uint64_t end) {
  uint64_t copied = 0;
  char *here = (char *)(uintptr_t)start;
  if (memory->read(memory, start, here, (size_t)(end - start))) return end - start;
  for (uint64_t next; start < end; start = next, here = (char *)(uintptr_t)start) {
    next = next_page(start) < end ? next_page(start) : end;
    if (memory->read(memory, start, here, (size_t)(next - start)))
      copied += next - start;
    else
      lh_take_memory(here, (size_t)(next - start)); /* what an older copy left there */
  }
  return copied;
}

/* {=== Threads ======================================================================= */

typedef struct copying {
  const lh_memory *memory;
  const lh_spans *mirrored;
  pthread_mutex_t lock; /* of what follows */
  lh_pages pages;
  lh_spans *written;
  bool lacks_memory, is_over;
  uint64_t copied;
} copying;

/* The next pages that were written, and are mirrored. */
static bool next_span(copying *c, lh_span *span) {
  while (!c->lacks_memory && lh_pages_next(&c->pages, span)) {
    if (!lh_spans_have(c->mirrored, span->start, span->end - span->start)) continue;
    c->lacks_memory = !lh_spans_add(c->written, span->start, span->end, 0);
    return !c->lacks_memory;
  }
  return false;
}

/* The next ones that nobody has taken, after some of which so much was copied. */
static bool take_span(copying *c, uint64_t copied, lh_span *span) {
  (void)pthread_mutex_lock(&c->lock);
  c->copied += copied;
  c->is_over |= lh_is_told_to_end(c->memory->before);
  bool is_one = !c->is_over && next_span(c, span);
  (void)pthread_mutex_unlock(&c->lock);
  return is_one;
}

static void *copy_spans(void *payload) {
  copying *c = payload;
  lh_span span;
  for (uint64_t copied = 0; take_span(c, copied, &span);)
    copied = lh_copy(c->memory, span.start, span.end);
  return NULL;
}

static size_t count_processors(void) {
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof processors, &processors) < 0) return 1;
  return (size_t)CPU_COUNT(&processors);
}

bool lh_copy_written(const lh_memory *memory, const lh_spans *mirrored, lh_spans *written,
                     uint64_t *copied) {
  lh_memory of_threads = *memory;
  of_threads.awaited = NULL; /* written pages are in no file */
  copying c = {.memory = &of_threads,
               .mirrored = mirrored,
               .lock = PTHREAD_MUTEX_INITIALIZER,
               .written = written};
  pthread_t threads[MOST_THREADS];
  size_t n = 0, most = count_processors(), worth = lh_spans_bytes(mirrored) / WORTH_A_THREAD;
  if (most > MOST_THREADS) most = MOST_THREADS;
  if (most > worth) most = worth;
  lh_pages_begin(&c.pages, c.memory);
  while (n + 1 < most && pthread_create(&threads[n], NULL, copy_spans, &c) == 0) n++;
  (void)copy_spans(&c);
  while (n > 0) (void)pthread_join(threads[--n], NULL);
  lh_pages_end(&c.pages);
  *copied = c.copied;
  return !c.lacks_memory && !c.is_over;
}

/* }=================================================================================== */
