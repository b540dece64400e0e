/*
** mirror.c - the target's memory at its own addresses in this process, so that the walk follows its
** pointers as it does inside.
**
** It costs address space for all that is mirrored, and memory for the pages that the target has
** written (memory.h); of a core, whose segments are mapped from its file, for what is written here.
** Rooms with small gaps between them are one mapping, and the gaps are never used.
**
** A process that was stopped waits for lh_mirror_fill. So the memory is had before: the kernel
** clears it when it is asked for, 0.4 s a GB, and then it is only copied. It is also made sure
** that there is enough, and that this process and no other is killed should the system run out.
** Huge pages take a tenth of that, and the walk's child has them with no copy of their table. They
** are used where the target has written all of one.
**
** Where the target's mappings changed between two fills, the mirror follows: what is new gets room,
** what is no more loses it, and pages that were given back are zero.
*/
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "memory.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

static const uint64_t HUGE_PAGE = 2 << 20;

struct lh_mirror {
  lh_spans mirrored;      /* to the byte */
  lh_spans rooms;         /* what is mapped here: whole pages */
  bool is_used;           /* something was copied */
  char likely_victim[16]; /* how likely this process was to be killed, before */
};

static bool is_process(const lh_memory *memory) {
  return memory->process_id > 0;
}

/* ==== Room ========================================================================== */

static uint64_t round_down(uint64_t address) {
  return address & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
}

static uint64_t round_up(uint64_t address) {
  return round_down(address + (uint64_t)sysconf(_SC_PAGESIZE) - 1);
}

/* Where the kernel places no stacks at random, all processes have theirs at the same addresses, and
** this one's cannot go away. Heaps are elsewhere. */
static bool is_in_stacks_way(const lh_memory_region *region) {
  enum { STILL_TO_BE_USED = 256 * 1024 };
  uint64_t bottom = (uintptr_t)__builtin_frame_address(0), top = getauxval(AT_EXECFN);
  return region->start < top && region->end > bottom - STILL_TO_BE_USED;
}

/* What a core lacks gets no room, and gaps neither: zeros there would pass for what the process
** had, where the walk has to fault. */
static bool list_rooms(const lh_memory *memory, lh_spans *mirrored, lh_spans *rooms) {
  enum { SMALL_GAP = 1 << 20 };
  uint64_t gap = is_process(memory) ? SMALL_GAP : 0;
  for (size_t i = 0; i < memory->n; i++) {
    const lh_memory_region *r = &memory->regions[i];
    uint64_t end = r->start + r->present_bytes;
    if (!lh_region_is_mirrored(r) || r->present_bytes == 0 || is_in_stacks_way(r)) continue;
    if (!lh_spans_add(mirrored, r->start, end, 0) ||
        !lh_spans_add(rooms, round_down(r->start), round_up(end), gap))
      return false;
  }
  return true;
}

static int fail_to_map(const lh_span *room, int reason, lh_error *error) {
  struct rlimit limit;
  lh_number needed = lh_size_text(room->end - room->start, false);
  if (reason != ENOMEM)
    return lh_fail_errno(error, reason, "cannot map memory at 0x%llx, where the target has some",
                         (unsigned long long)room->start);
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    (void)lh_fail(error, LH_EMEMORY,
                  "no room for %s of the target's memory: this process may have %s (ulimit -v)",
                  needed.text, lh_size_text(limit.rlim_cur, false).text);
  else
    (void)lh_fail(error, LH_EMEMORY,
                  "no room for %s of the target's memory: the system allows no more "
                  "(vm.overcommit_memory, vm.max_map_count)",
                  needed.text);
  if (error) error->os_errno = ENOMEM;
  return LH_EMEMORY;
}

static int map_room(const lh_span *room, lh_error *error) {
  enum { ACCESS = PROT_READ | PROT_WRITE };
  enum { KIND = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE };
  size_t bytes = (size_t)(room->end - room->start);
  void *mapped = mmap(lh_pointer(room->start), bytes, ACCESS, KIND, -1, 0);
  if (mapped == lh_pointer(room->start)) {
    (void)madvise(mapped, bytes, MADV_NOHUGEPAGE);
    return 0;
  }
  int reason = mapped == MAP_FAILED ? errno : EEXIST; /* before Linux 4.17 it is elsewhere */
  if (mapped != MAP_FAILED) (void)munmap(mapped, bytes);
  if (reason != EEXIST) return fail_to_map(room, reason, error);
  int code = lh_fail(error, LH_EBUSY,
                     "memory of this process is where the target has some (0x%llx to 0x%llx)",
                     (unsigned long long)room->start, (unsigned long long)room->end);
  if (error) error->os_errno = EEXIST;
  return code;
}

static void unmap(const lh_span *room) {
  (void)munmap(lh_pointer(room->start), (size_t)(room->end - room->start));
}

/* Maps what `rooms` have and `had` have not: all of it or nothing. */
static int map_fresh(const lh_spans *rooms, const lh_spans *had, lh_error *error) {
  lh_spans_cursor at = {0}, again = {0};
  lh_span fresh, done;
  while (lh_spans_next_missing(rooms, had, &at, &fresh)) {
    int code = map_room(&fresh, error);
    if (code == 0) continue;
    while (lh_spans_next_missing(rooms, had, &again, &done) && done.start < fresh.start)
      unmap(&done);
    return code;
  }
  return 0;
}

/* Makes the rooms those of the target as it is now. After a failure they are what they were. */
static int follow(lh_mirror *mirror, const lh_memory *memory, lh_error *error) {
  lh_spans mirrored = {0}, rooms = {0};
  lh_spans_cursor at = {0};
  lh_span stale;
  int code = list_rooms(memory, &mirrored, &rooms) ? map_fresh(&rooms, &mirror->rooms, error)
                                                   : lh_fail_memory(error, "mirroring a target");
  if (code == 0) {
    while (lh_spans_next_missing(&mirror->rooms, &rooms, &at, &stale)) unmap(&stale);
    lh_spans former_mirrored = mirror->mirrored, former_rooms = mirror->rooms;
    mirror->mirrored = mirrored;
    mirror->rooms = rooms;
    mirrored = former_mirrored;
    rooms = former_rooms;
  }
  lh_spans_free(&mirrored);
  lh_spans_free(&rooms);
  return code;
}

/* ==== Memory for it ================================================================= */

/* Should the system run out of memory, this process is to be killed and not the target, which may
** be the biggest one. */
static void become_the_victim(lh_mirror *mirror) {
  if (lh_process_text(getpid(), "oom_score_adj", mirror->likely_victim,
                      sizeof mirror->likely_victim) > 0)
    lh_process_be_victim(getpid(), "1000");
}

static bool list_written(const lh_mirror *mirror, const lh_memory *memory, lh_spans *written) {
  lh_pages pages;
  lh_span span;
  bool fits = true;
  lh_pages_begin(&pages, memory);
  while (fits && lh_pages_next(&pages, &span)) {
    if (lh_spans_have(&mirror->mirrored, span.start, span.end - span.start))
      fits = lh_spans_add(written, span.start, span.end, 0);
  }
  lh_pages_end(&pages);
  return fits;
}

/* Has the kernel clear pages, while nobody waits. */
static void get_pages(uint64_t start, uint64_t end) {
  if (start < end) (void)madvise(lh_pointer(start), (size_t)(end - start), MADV_POPULATE_WRITE);
}

/* The usual huge page takes 0.1 ms, and 512 small ones 0.2 to 0.8 ms. But it takes 5 ms where the
** host of a virtual machine has taken the free memory back, and it may take as long where the
** system has to move pages first. So huge ones are used as long as they are had quickly, on
** average. */
typedef struct huge_pages {
  uint64_t spent_ns, n;
} huge_pages;

static bool are_quick(const huge_pages *huge) {
  enum { MOST_NS_EACH = 500000 };
  return huge->spent_ns <= huge->n * MOST_NS_EACH;
}

/* Where they end. */
static uint64_t get_huge_pages(huge_pages *huge, uint64_t start, uint64_t end) {
  uint64_t then = lh_processor_ns(0);
  while (start < end && are_quick(huge)) {
    (void)madvise(lh_pointer(start), HUGE_PAGE, MADV_HUGEPAGE);
    get_pages(start, start + HUGE_PAGE);
    uint64_t now = lh_processor_ns(0);
    huge->spent_ns += now - then;
    huge->n++;
    start += HUGE_PAGE;
    then = now;
  }
  return start;
}

/* Each span with huge pages is two mappings more. */
static void get_spans(const lh_spans *written) {
  enum { MOST_WITH_HUGE_PAGES = 1000 };
  huge_pages huge = {0};
  for (size_t i = 0, n = 0; i < written->n; i++) {
    uint64_t start = written->all[i].start, end = written->all[i].end;
    uint64_t first = (start + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1), last = end & ~(HUGE_PAGE - 1);
    if (first < last && n++ < MOST_WITH_HUGE_PAGES) {
      get_pages(start, first);
      start = get_huge_pages(&huge, first, last);
    }
    get_pages(start, end);
  }
}

static int refuse_memory(const lh_memory *memory, uint64_t needed, const lh_room *room,
                         lh_error *error) {
  return lh_fail(
      error, LH_EMEMORY,
      "a copy of the process's memory takes %s, and %s only %s: %smake a core file (gcore %lld), "
      "of which no copy is needed",
      lh_size_text(needed, false).text,
      room->is_limited ? "the memory limit of this cgroup leaves" : "this machine has",
      lh_size_text(room->bytes, false).text, room->is_limited ? "raise the limit, or " : "",
      (long long)memory->process_id);
}

static int get_memory(const lh_mirror *mirror, const lh_memory *memory, lh_error *error) {
  lh_spans written = {0};
  bool is_listed = list_written(mirror, memory, &written);
  uint64_t needed = lh_spans_bytes(&written);
  lh_room room = lh_find_room("");
  bool is_enough = needed <= room.bytes;
  if (is_listed && is_enough) get_spans(&written);
  lh_spans_free(&written);
  if (!is_listed) return lh_fail_memory(error, "mirroring a process");
  return is_enough ? 0 : refuse_memory(memory, needed, &room, error);
}

int lh_mirror_reserve(const lh_memory *memory, lh_mirror **out, lh_error *error) {
  lh_mirror *mirror = *out = lh_alloc_zeroed(1, sizeof *mirror);
  if (!mirror) return lh_fail_memory(error, "mirroring a target");
  int code = follow(mirror, memory, error);
  if (code == 0 && is_process(memory)) {
    become_the_victim(mirror);
    code = get_memory(mirror, memory, error);
  }
  if (code == 0) return 0;
  lh_mirror_free(mirror);
  *out = NULL;
  return code;
}

void lh_mirror_free(lh_mirror *mirror) {
  if (!mirror) return;
  for (size_t i = 0; i < mirror->rooms.n; i++) unmap(&mirror->rooms.all[i]);
  if (*mirror->likely_victim) lh_process_be_victim(getpid(), mirror->likely_victim);
  lh_spans_free(&mirror->mirrored);
  lh_spans_free(&mirror->rooms);
  lh_free(mirror);
}

bool lh_mirror_has(const lh_mirror *mirror, uint64_t address, uint64_t n) {
  return lh_spans_have(&mirror->mirrored, address, n);
}

void lh_mirror_drop_gaps(const lh_mirror *mirror) {
  lh_spans_cursor at = {0};
  lh_span gap;
  while (lh_spans_next_missing(&mirror->rooms, &mirror->mirrored, &at, &gap)) unmap(&gap);
}

/* ==== Copies ======================================================================== */

static int fill_from_process(lh_mirror *mirror, const lh_memory *memory, uint64_t *copied_bytes,
                             lh_error *error) {
  lh_spans written = {0};
  lh_spans_cursor at = {0};
  lh_span unused;
  bool is_listed = lh_copy_written(memory, &mirror->mirrored, &written, copied_bytes);
  /* What was written, copied and given back. */
  while (is_listed && mirror->is_used &&
         lh_spans_next_missing(&mirror->rooms, &written, &at, &unused)) {
    lh_take_memory(lh_pointer(unused.start), (size_t)(unused.end - unused.start));
  }
  mirror->is_used = true;
  lh_spans_free(&written);
  return is_listed ? 0 : lh_fail_memory(error, "mirroring a process");
}

/* Maps those pages of a segment that are whole pages of the file, too. What is left of it is told
** by *head and *tail. */
static void map_segment(const lh_memory *memory, const lh_memory_region *r, uint64_t *head,
                        uint64_t *tail) {
  enum { ACCESS = PROT_READ | PROT_WRITE, WORTH_IT = 64 * 1024 };
  uint64_t first = round_up(r->start), end = round_down(r->start + r->present_bytes);
  uint64_t offset = r->core_offset + (first - r->start);
  *head = *tail = r->start + r->present_bytes;
  if (first >= end || end - first < WORTH_IT || offset != round_down(offset)) return;
  if (mmap(lh_pointer(first), (size_t)(end - first), ACCESS, MAP_PRIVATE | MAP_FIXED, memory->fd,
           (off_t)offset) == MAP_FAILED)
    return;
  *head = first;
  *tail = end;
}

static int fill_from_core(const lh_mirror *mirror, const lh_memory *memory, uint64_t *copied_bytes,
                          lh_error *error) {
  for (size_t i = 0; i < memory->n; i++) {
    const lh_memory_region *r = &memory->regions[i];
    uint64_t head, tail, end = r->start + r->present_bytes;
    if (!lh_region_is_mirrored(r) || !lh_mirror_has(mirror, r->start, r->present_bytes)) continue;
    map_segment(memory, r, &head, &tail);
    uint64_t copied = lh_copy(memory, r->start, head) + lh_copy(memory, tail, end);
    if (copied != head - r->start + (end - tail))
      return lh_fail(error, LH_EIO, "cannot read the memory of the core at 0x%llx",
                     (unsigned long long)r->start);
    *copied_bytes += copied;
  }
  return 0;
}

int lh_mirror_fill(lh_mirror *mirror, const lh_memory *memory, uint64_t *copied_bytes,
                   lh_error *error) {
  *copied_bytes = 0;
  int code = follow(mirror, memory, error);
  if (code == 0)
    code = is_process(memory) ? fill_from_process(mirror, memory, copied_bytes, error)
                              : fill_from_core(mirror, memory, copied_bytes, error);
  return code;
}
