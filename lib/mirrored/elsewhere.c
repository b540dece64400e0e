/*
** elsewhere.c - brings memory that is not mirrored to the child that walks: texts and code of 5.5.
**
** A string of Lua 5.5 may have its text, and a function its code, in memory that Lua does not own:
** mostly a library's constants, or a mapped file. A mirror has private written memory only. So the
** child maps the region at its own address, and copies the pages of the text when it meets the
** string. Pages that cannot be read are zero, as in the mirror, and so is what exceeds 1 GB.
**
** Security: as for the mirror, a region is mapped only where this process has nothing.
*/
#include <sys/mman.h>

#include "mirrored.h"
#include "outside/memory.h"

enum { LAST_OF_PAGE = 4095 };

static uint64_t start_of_page(uint64_t address) {
  return address & ~(uint64_t)LAST_OF_PAGE;
}

static bool map_region(const lh_memory_region *r) {
  enum { ACCESS = PROT_READ | PROT_WRITE };
  enum { KIND = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE };
  void *at = lh_pointer(start_of_page(r->start));
  size_t bytes = (size_t)(start_of_page(r->end + LAST_OF_PAGE) - start_of_page(r->start));
  void *mapped = mmap(at, bytes, ACCESS, KIND, -1, 0);
  if (mapped == at) return true;
  if (mapped != MAP_FAILED) (void)munmap(mapped, bytes); /* before Linux 4.17 */
  return false;
}

/* Gaps between mirrored regions are reserved for the mirror, and libraries' constants are there. */
static bool begin_region(lh_elsewhere *e, const lh_mirrored *m, const lh_memory_region *r) {
  const lh_memory *memory = m->memory;
  if (!e->has) {
    e->has = lh_alloc_zeroed(memory->n, sizeof *e->has);
    if (!e->has) return false;
    lh_mirror_drop_gaps(m->mirror);
  }
  bool *has = &e->has[r - memory->regions];
  if (!*has) *has = map_region(r);
  return *has;
}

static void copy_pages(lh_elsewhere *e, const lh_mirrored *m, const lh_memory_region *r,
                       uint64_t start, uint64_t end) {
  bool is_silent = lh_has_silent_file(m) && strcmp(m->silent_file, r->path) == 0;
  start = start_of_page(start);
  end = start_of_page(end + LAST_OF_PAGE);
  if (is_silent || end - start > LH_MOST_ELSEWHERE - e->copied_bytes) return;
  lh_await_end(m->writing);
  if (*r->path) lh_await(m->reading, r->path);
  e->copied_bytes += lh_copy(&m->target->memory, start, end);
  lh_await_end(m->reading);
  lh_await_output(m->writing, e->output);
}

bool lh_bring(lh_elsewhere *e, const lh_mirrored *m, const void *at, uint64_t bytes) {
  uint64_t start = (uintptr_t)at;
  if (bytes == 0 || lh_mirror_has(m->mirror, start, bytes)) return true;
  const lh_memory_region *r = lh_region_at(m->memory, start);
  if (!r || bytes > r->end - start || lh_region_is_mirrored(r) || !(r->access & LH_REGION_READ) ||
      !begin_region(e, m, r))
    return false;
  copy_pages(e, m, r, start, start + bytes);
  return true;
}
