/*
** mirror.c - maps the target's memory at its own addresses here, so that pointers can be followed.
**
** It costs address space for all mirrored regions, and memory for the pages that the target has
** written (memory.h). Segments of a core are mapped from its file, and cost memory only if written.
** Regions with small gaps become one mapping.
**
** A stopped process waits for lh_mirror_fill, so its memory is allocated before: the kernel needs
** 0.4 s per GB to clear it, and a tenth of that with huge pages. They are used where the target has
** written a whole huge page; after fork, the child has them without a copy of page tables.
*/
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "memory.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static const uint64_t HUGE_PAGE = 2 << 20;

struct lh_mirror {
  lh_spans mirrored;      /* exact to the byte */
  lh_spans rooms;         /* mapped here: whole pages */
  bool is_used;           /* something was copied */
  char likely_victim[16]; /* this process's oom_score_adj before */
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

/* Without address randomization all stacks have the same addresses. Heaps are elsewhere. */
static bool is_in_stacks_way(const lh_memory_region *region) {
  enum { STILL_TO_BE_USED = 256 * 1024 };
  uint64_t bottom = (uintptr_t)__builtin_frame_address(0), top = getauxval(AT_EXECFN);
  return region->start < top && region->end > bottom - STILL_TO_BE_USED;
}

/* Memory that a core lacks gets no room: the walk must fault there, and not read zeros. */
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
  int reason = mapped == MAP_FAILED ? errno : EEXIST; /* before Linux 4.17 mmap maps elsewhere */
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

/* Maps the parts of `rooms` that are not in `had`: all of them or, on failure, none. */
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

/* On failure nothing changes. */
static int follow_mappings(lh_mirror *mirror, const lh_memory *memory, lh_error *error) {
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

/* ==== Memory for the copy =========================================================== */

/* If memory runs out, the kernel must kill this process, not the target. */
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

/* Has the kernel clear pages before the process is stopped. */
static void get_pages(uint64_t start, uint64_t end) {
  if (start < end) (void)madvise(lh_pointer(start), (size_t)(end - start), MADV_POPULATE_WRITE);
}

/* A huge page takes 0.1 ms, and 512 small ones 0.2 to 0.8 ms. It takes 5 ms if a host took free
** memory back, or if pages must be moved first: so huge pages are used while they are quick. */
typedef struct huge_pages {
  uint64_t spent_ns, n;
} huge_pages;

static bool are_quick(const huge_pages *huge) {
  enum { MOST_NS_EACH = 500000 };
  return huge->spent_ns <= huge->n * MOST_NS_EACH;
}

/* Returns the address at which the huge pages end. */
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

/* Each span with huge pages adds two mappings. */
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
  int code = follow_mappings(mirror, memory, error);
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
  /* Pages that were written and copied before, and that the target gave back. */
  while (is_listed && mirror->is_used &&
         lh_spans_next_missing(&mirror->rooms, &written, &at, &unused)) {
    lh_take_memory(lh_pointer(unused.start), (size_t)(unused.end - unused.start));
  }
  mirror->is_used = true;
  lh_spans_free(&written);
  return is_listed ? 0 : lh_fail_memory(error, "mirroring a process");
}

/* Maps whole pages of the segment. The caller copies the rest: up to *head, and from *tail on. */
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

/* Copies the data of a part of a segment. Terabytes of it may be a hole, which stays zero here. */
static bool copy_data(const lh_memory *memory, const lh_memory_region *r, uint64_t start,
                      uint64_t end, uint64_t *copied_bytes) {
  lh_memory_region part = *r;
  lh_memory memory_of_part = *memory;
  lh_pages pages;
  lh_span span;
  bool is_copied = true;
  part.core_offset += start - r->start;
  part.start = start;
  part.present_bytes = end - start;
  memory_of_part.regions = &part;
  memory_of_part.n = 1;
  lh_pages_begin(&pages, &memory_of_part);
  while (is_copied && lh_pages_next(&pages, &span)) {
    uint64_t copied = lh_copy(memory, span.start, span.end);
    is_copied = copied == span.end - span.start;
    *copied_bytes += copied;
  }
  lh_pages_end(&pages);
  return is_copied;
}

static int fill_from_core(const lh_mirror *mirror, const lh_memory *memory, uint64_t *copied_bytes,
                          lh_error *error) {
  for (size_t i = 0; i < memory->n; i++) {
    const lh_memory_region *r = &memory->regions[i];
    uint64_t head, tail, end = r->start + r->present_bytes;
    if (!lh_region_is_mirrored(r) || !lh_mirror_has(mirror, r->start, r->present_bytes)) continue;
    map_segment(memory, r, &head, &tail);
    if (!copy_data(memory, r, r->start, head, copied_bytes) ||
        !copy_data(memory, r, tail, end, copied_bytes))
      return lh_fail(error, LH_EIO, "cannot read the memory of the core at 0x%llx",
                     (unsigned long long)r->start);
  }
  return 0;
}

int lh_mirror_fill(lh_mirror *mirror, const lh_memory *memory, uint64_t *copied_bytes,
                   lh_error *error) {
  *copied_bytes = 0;
  int code = follow_mappings(mirror, memory, error);
  if (code == 0)
    code = is_process(memory) ? fill_from_process(mirror, memory, copied_bytes, error)
                              : fill_from_core(mirror, memory, copied_bytes, error);
  return code;
}
