/*
** pages.c - which pages a process has written: by PAGEMAP_SCAN (Linux 6.7), which answers with
** spans; before that by the entries of /proc/PID/pagemap, eight bytes a page. These do not tell the
** page of zeros, which a read of untouched memory gives, from others, and take 0.6 ms for each GB
** that is not in use.
**
** Pages of a file, and that one of zeros, were never written. What was is anonymous, in memory or
** swapped out. Of a core, the holes of its file are passed over.
*/
#include "pages.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* {=== Asking ======================================================================== */

/* As in linux/fs.h from 6.7 on. */
typedef struct page_range {
  uint64_t start, end, categories;
} page_range;

typedef struct scan_request {
  uint64_t size, flags, start, end, walked_to, ranges, n_ranges, most_pages, inverted, all_of,
      any_of, told;
} scan_request;

enum { IS_OF_FILE = 1 << 2, IS_PRESENT = 1 << 3, IS_SWAPPED = 1 << 4, IS_ZEROS = 1 << 5 };

#define SCAN_PAGES _IOWR('f', 16, scan_request)

enum { MOST_BYTES = 2 << 20 }; /* of pages that are found at once */

/* The kernel passes over a hole without a look at each page: a hole of any size costs nothing. So
** one question ends at the pages that it finds, and not after a distance. Pages of a file that are
** passed over are looked at while the process can map nothing: 16 GiB of them take 40 ms.
** False: this kernel does not answer. It was seen (6.18) to tell spans behind the end that it says
** its walk had. */
static bool ask(lh_pages *pages, uint64_t end) {
  const uint64_t farthest = (uint64_t)16 << 30;
  page_range ranges[LH_PAGES_AT_ONCE];
  if (end - pages->from > farthest) end = pages->from + farthest;
  scan_request request = {.size = sizeof request,
                          .start = pages->from,
                          .end = end,
                          .ranges = (uintptr_t)ranges,
                          .n_ranges = LH_PAGES_AT_ONCE,
                          .most_pages = MOST_BYTES / (uint64_t)sysconf(_SC_PAGESIZE),
                          .inverted = IS_OF_FILE | IS_ZEROS,
                          .all_of = IS_OF_FILE | IS_ZEROS,
                          .any_of = IS_PRESENT | IS_SWAPPED,
                          .told = IS_OF_FILE};
  int n = ioctl(pages->fd, SCAN_PAGES, &request);
  if (n < 0 || request.walked_to <= pages->from) return false;
  pages->from = request.walked_to;
  pages->n = (size_t)n;
  for (int i = 0; i < n; i++) {
    pages->found[i] = (lh_span){ranges[i].start, ranges[i].end};
    if (pages->from < ranges[i].end) pages->from = ranges[i].end;
  }
  return true;
}

/* }=================================================================================== */

/* {=== Reading entries =============================================================== */

static bool is_written(uint64_t entry) {
  bool is_of_file = entry >> 61 & 1, is_swapped = entry >> 62 & 1, is_present = entry >> 63;
  return (is_present || is_swapped) && !is_of_file;
}

/* False: they cannot be read. */
static bool read_entries(lh_pages *pages, uint64_t end) {
  uint64_t entries[2 * LH_PAGES_AT_ONCE], page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t left = (end - pages->from + page - 1) / page;
  size_t wanted = left < 2 * LH_PAGES_AT_ONCE ? (size_t)left : 2 * LH_PAGES_AT_ONCE;
  ssize_t got =
      pread(pages->fd, entries, wanted * sizeof *entries, (off_t)(pages->from / page * 8));
  if (got < (ssize_t)sizeof *entries) return false;
  size_t n = (size_t)got / sizeof *entries;
  lh_span *last = NULL;
  for (size_t i = 0; i < n; i++, pages->from += page) {
    if (!is_written(entries[i])) continue;
    if (!last || last->end != pages->from) {
      last = &pages->found[pages->n++];
      last->start = pages->from;
    }
    last->end = pages->from + page;
  }
  return true;
}

/* }=================================================================================== */

void lh_pages_begin(lh_pages *pages, const lh_memory *memory) {
  char path[64];
  *pages = (lh_pages){.memory = memory, .fd = -1, .is_asked = true};
  if (memory->process_id <= 0) return;
  (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/pagemap", memory->process_id);
  pages->fd = open(path, O_RDONLY | O_CLOEXEC);
}

/* {=== In a core ===================================================================== */

/* A kernel leaves out what a process had never written: its core of a mapping of 16 TB is a hole in
** a file of some MB. A state may begin or end in the zeros of a hole, so some of them are told,
** too. */
static void find_data(lh_pages *pages, const lh_memory_region *region, uint64_t end) {
  enum { AROUND = 64 };
  int fd = pages->memory->fd;
  off_t from = (off_t)(region->core_offset + (pages->from - region->start));
  off_t data = lseek(fd, from, SEEK_DATA);
  if (data < 0 && errno == ENXIO) {
    pages->from = end;
    return;
  }
  off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
  uint64_t start =
      data <= from + AROUND ? pages->from : pages->from + (uint64_t)(data - from) - AROUND;
  uint64_t stop = hole < 0 ? end : pages->from + (uint64_t)(hole - from) + AROUND;
  if (stop > end) stop = end;
  if (start < stop) pages->found[pages->n++] = (lh_span){start, stop};
  pages->from = start < stop ? stop : end;
}

/* }=================================================================================== */

/* Looks for more in what is left of a region; in little of it, since threads that copy what is
** found wait for more, and at first all of them do. */
static void look_on(lh_pages *pages, const lh_memory_region *region, uint64_t end) {
  if (pages->memory->process_id <= 0 && pages->memory->fd >= 0) {
    find_data(pages, region, end);
    return;
  }
  if (pages->fd >= 0 && pages->is_asked) {
    if (ask(pages, end)) return;
    pages->is_asked = false;
  }
  if (end - pages->from > MOST_BYTES) end = pages->from + MOST_BYTES;
  if (pages->fd >= 0 && read_entries(pages, end)) return;
  pages->found[pages->n++] = (lh_span){pages->from, end};
  pages->from = end;
}

bool lh_pages_next(lh_pages *pages, lh_span *span) {
  const lh_memory *memory = pages->memory;
  while (pages->next == pages->n && pages->region < memory->n) {
    const lh_memory_region *region = &memory->regions[pages->region];
    if (pages->until_ns != 0 && lh_now_ns() > pages->until_ns) return false;
    uint64_t end = region->start + region->present_bytes;
    pages->n = pages->next = 0;
    if (pages->from < region->start) pages->from = region->start;
    if (pages->from < end && lh_region_is_mirrored(region))
      look_on(pages, region, end);
    else
      pages->region++;
  }
  if (pages->next == pages->n) return false;
  *span = pages->found[pages->next++];
  return true;
}

void lh_pages_end(lh_pages *pages) {
  if (pages->fd >= 0) (void)close(pages->fd);
}

/* {=== Shared pages ================================================================== */

static bool read_entry(const lh_pages *pages, uint64_t address, uint64_t *entry) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  return pread(pages->fd, entry, sizeof *entry, (off_t)(address / page * 8)) == sizeof *entry;
}

bool lh_pages_are_shared(const lh_memory *memory) {
  enum { MOST = 4096, FEW = 32 }; /* looks; one in so many */
  uint64_t entry, left = 0;       /* bytes until the next look */
  uint64_t step = lh_mirrored_bytes(memory) / MOST + (1 << 20);
  size_t looked = 0, shared = 0;
  lh_pages pages;
  lh_pages_begin(&pages, memory);
  for (size_t i = 0; pages.fd >= 0 && i < memory->n; i++) {
    uint64_t at = memory->regions[i].start, end = memory->regions[i].end;
    if (!lh_region_is_mirrored(&memory->regions[i])) continue;
    for (; end - at > left; left = step) {
      at += left;
      if (!read_entry(&pages, at, &entry) || !is_written(entry)) continue;
      bool is_present = entry >> 63, is_exclusive = entry >> 56 & 1;
      looked++;
      shared += is_present && !is_exclusive;
    }
    left -= end - at;
  }
  lh_pages_end(&pages);
  return shared > looked / FEW;
}

/* }=================================================================================== */
