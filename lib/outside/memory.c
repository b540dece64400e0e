/*
** memory.c - spans of addresses, written pages, a page cache, and copies (memory.h).
**
** PAGEMAP_SCAN (Linux 6.7) reports spans of written pages. Before that we read the entries of
** /proc/PID/pagemap, which take 0.6 ms for each GB that is not in use, and do not tell the zero
** page, which a read of untouched memory gives. Written pages are anonymous, in memory or swapped
** out.
**
** Copying must be fast: the process is stopped meanwhile, or has a frozen copy and pays a fault for
** each page that it writes. One thread takes 0.2 s per GB, two take half of that if each has 2 MiB
** of its own, because one kernel lock protects 2 MiB. So we search 2 MiB at once.
*/
#include "memory.h"

#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "stop.h"

/* ==== Spans ===================================================================== */

bool lh_spans_add(lh_spans *spans, uint64_t start, uint64_t end, uint64_t gap) {
  lh_span *last = spans->n ? &spans->all[spans->n - 1] : NULL;
  if (last && start <= last->end + gap) {
    if (last->end < end) last->end = end;
    return true;
  }
  if (!lh_grow(&spans->all, spans->n, &spans->capacity, sizeof *spans->all)) return false;
  spans->all[spans->n++] = (lh_span){start, end};
  return true;
}

uint64_t lh_spans_bytes(const lh_spans *spans) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < spans->n; i++) bytes += spans->all[i].end - spans->all[i].start;
  return bytes;
}

bool lh_spans_have(const lh_spans *spans, uint64_t address, uint64_t n) {
  size_t at;
  LH_LOWER_BOUND(at, spans->n, spans->all[at].end <= address);
  const lh_span *span = &spans->all[at];
  return at < spans->n && span->start <= address && n <= span->end - address;
}

bool lh_spans_next_missing(const lh_spans *spans, const lh_spans *others, lh_spans_cursor *cursor,
                           lh_span *missing) {
  for (; cursor->span < spans->n; cursor->span++) {
    const lh_span *span = &spans->all[cursor->span], *other;
    if (cursor->from < span->start) cursor->from = span->start;
    while (cursor->from < span->end) {
      while (cursor->other < others->n && others->all[cursor->other].end <= cursor->from)
        cursor->other++;
      other = cursor->other < others->n ? &others->all[cursor->other] : NULL;
      if (other && other->start <= cursor->from) {
        cursor->from = other->end;
        continue;
      }
      *missing =
          (lh_span){cursor->from, other && other->start < span->end ? other->start : span->end};
      cursor->from = missing->end;
      return true;
    }
  }
  return false;
}

void lh_spans_free(lh_spans *spans) {
  lh_free(spans->all);
  *spans = (lh_spans){0};
}

bool lh_pread_all(int fd, void *out, size_t n, uint64_t offset) {
  for (size_t done = 0; done < n;) {
    ssize_t got = pread(fd, (char *)out + done, n - done, (off_t)(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = EIO;
    if (got <= 0) return false;
    done += (size_t)got;
  }
  return true;
}

/* ==== Pages ========================================================================= */

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

enum { MOST_BYTES = 2 << 20 }; /* of pages found by one call */

/* Holes cost nothing, so a scan ends by the pages found. But skipped pages of files take time in
** which the process can map nothing: 40 ms for 16 GiB. False: no such call. Linux 6.18 was seen to
** report spans behind the end of its walk. */
static bool scan_written(lh_pages *pages, uint64_t end) {
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

static bool is_written(uint64_t entry) {
  bool is_of_file = entry >> 61 & 1, is_swapped = entry >> 62 & 1, is_present = entry >> 63;
  return (is_present || is_swapped) && !is_of_file;
}

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

void lh_pages_begin(lh_pages *pages, const lh_memory *memory) {
  *pages = (lh_pages){.memory = memory, .fd = -1, .is_asked = true};
  if (memory->process_id > 0) pages->fd = lh_process_file(memory->process_id, "pagemap", O_RDONLY);
}

/* A core has a hole for untouched memory: 16 TB in a file of some MB. A state may begin or end in
** its zeros, so we include some of them. */
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

/* Searches a small part of the rest of a region, because copying threads wait for the result. */
static void look_on(lh_pages *pages, const lh_memory_region *region, uint64_t end) {
  if (pages->memory->process_id <= 0 && pages->memory->fd >= 0) {
    find_data(pages, region, end);
    return;
  }
  if (pages->fd >= 0 && pages->is_asked) {
    if (scan_written(pages, end)) return;
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

static bool read_entry(const lh_pages *pages, uint64_t address, uint64_t *entry) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  return pread(pages->fd, entry, sizeof *entry, (off_t)(address / page * 8)) == sizeof *entry;
}

bool lh_pages_are_shared(const lh_memory *memory) {
  enum { MOST = 4096, FEW = 32 }; /* samples; shared: more than one in 32 */
  uint64_t entry, left = 0;       /* bytes until the next sample */
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

/* ==== A cache =================================================================== */

lh_cached *lh_cached_open(const lh_memory *memory) {
  lh_cached *cached = lh_alloc(1, sizeof *cached);
  if (!cached) return NULL;
  cached->memory = memory;
  lh_cached_begin(cached, LH_CACHED_MOST);
  lh_cached_forget(cached);
  return cached;
}

void lh_cached_begin(lh_cached *cached, size_t most_pages) {
  cached->left = most_pages;
}

void lh_cached_forget(lh_cached *cached) {
  memset(cached->addresses, 0, sizeof cached->addresses);
  cached->lent = NULL;
}

void lh_cached_lend(lh_cached *cached, uint64_t start, const void *bytes, uint64_t n) {
  cached->lent = bytes;
  cached->lent_start = start;
  cached->lent_bytes = n;
}

static const uint8_t *find_page(lh_cached *cached, uint64_t address) {
  size_t place = address / LH_CACHED_PAGE % LH_CACHED_PAGES;
  uint64_t at = address - cached->lent_start;
  bool is_lent = cached->lent && address >= cached->lent_start && at < cached->lent_bytes;
  if (is_lent && cached->lent_bytes - at >= LH_CACHED_PAGE) return cached->lent + at;
  if (cached->addresses[place] == address + 1) return cached->bytes[place];
  cached->addresses[place] = 0;
  if (cached->left == 0) return NULL;
  cached->left--;
  if (!cached->memory->read(cached->memory, address, cached->bytes[place], LH_CACHED_PAGE))
    return NULL;
  cached->addresses[place] = address + 1;
  return cached->bytes[place];
}

/* A core's segment may end inside a page: then the bytes are read without the cache. */
static bool read_part(lh_cached *cached, uint64_t address, void *out, size_t n) {
  const lh_memory *memory = cached->memory;
  size_t offset = address % LH_CACHED_PAGE;
  const uint8_t *page = find_page(cached, address - offset);
  if (page) memcpy(out, page + offset, n);
  return page || (memory->process_id == 0 && memory->read(memory, address, out, n));
}

static bool read_cached(const void *payload, uint64_t address, void *out, size_t n) {
  lh_cached *cached = (lh_cached *)(uintptr_t)payload; /* const only for lib/take */
  if (address + n < address) return false;
  for (uint8_t *to = out; n > 0;) {
    size_t part = LH_CACHED_PAGE - address % LH_CACHED_PAGE;
    if (part > n) part = n;
    if (!read_part(cached, address, to, part)) return false;
    to += part;
    address += part;
    n -= part;
  }
  return true;
}

lh_peek lh_peek_cached(lh_cached *cached) {
  return (lh_peek){read_cached, cached};
}

static bool read_mirror(const void *memory, uint64_t address, void *out, size_t n) {
  if (!lh_mirror_has(memory, address, n)) return false;
  memcpy(out, (const void *)(uintptr_t)address, n);
  return true;
}

lh_peek lh_peek_mirror(const lh_mirror *mirror) {
  return (lh_peek){.read = read_mirror, .memory = mirror};
}

/* ==== Copies ==================================================================== */

enum { MOST_THREADS = 4, WORTH_A_THREAD = 8 << 20 };

static uint64_t next_page(uint64_t address) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  return (address | (page - 1)) + 1;
}

uint64_t lh_copy(const lh_memory *memory, uint64_t start, uint64_t end) {
  uint64_t copied = 0;
  char *here = lh_pointer(start);
  if (memory->read(memory, start, here, (size_t)(end - start))) return end - start;
  for (uint64_t next; start < end; start = next, here = lh_pointer(start)) {
    next = next_page(start) < end ? next_page(start) : end;
    if (memory->read(memory, start, here, (size_t)(next - start)))
      copied += next - start;
    else
      lh_take_memory(here, (size_t)(next - start)); /* data of an older copy */
  }
  return copied;
}

typedef struct copying {
  const lh_memory *memory;
  const lh_spans *mirrored;
  pthread_mutex_t lock; /* of the fields below */
  lh_pages pages;
  lh_spans *written;
  bool lacks_memory, is_over;
  uint64_t copied;
} copying;

static bool next_span(copying *c, lh_span *span) {
  while (!c->lacks_memory && lh_pages_next(&c->pages, span)) {
    if (!lh_spans_have(c->mirrored, span->start, span->end - span->start)) continue;
    c->lacks_memory = !lh_spans_add(c->written, span->start, span->end, 0);
    return !c->lacks_memory;
  }
  return false;
}

/* `copied`: bytes that this thread copied of its last span. */
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
