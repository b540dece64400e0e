/*
** cached.c - pages of a target's memory, each in the one place that its address gives it
** (cached.h).
*/
#include "cached.h"

#include <string.h>

lh_cached *lh_cached_open(const lh_memory *memory) {
  lh_cached *cached = lh_alloc(1, sizeof *cached);
  if (!cached) return NULL;
  cached->memory = memory;
  lh_cached_begin(cached);
  lh_cached_forget(cached);
  return cached;
}

void lh_cached_begin(lh_cached *cached) {
  cached->left = LH_CACHED_MOST;
}

void lh_cached_forget(lh_cached *cached) {
  memset(cached->addresses, 0, sizeof cached->addresses);
}

/* NULL: the page cannot be read. */
static const uint8_t *find_page(lh_cached *cached, uint64_t address) {
  size_t place = address / LH_CACHED_PAGE % LH_CACHED_PAGES;
  if (cached->addresses[place] == address + 1) return cached->bytes[place];
  cached->addresses[place] = 0;
  if (cached->left == 0) return NULL;
  cached->left--;
  if (!cached->memory->read(cached->memory, address, cached->bytes[place], LH_CACHED_PAGE))
    return NULL;
  cached->addresses[place] = address + 1;
  return cached->bytes[place];
}

/* A core's segment may end amid a page. */
static bool read_part(lh_cached *cached, uint64_t address, void *out, size_t n) {
  const lh_memory *memory = cached->memory;
  size_t offset = address % LH_CACHED_PAGE;
  const uint8_t *page = find_page(cached, address - offset);
  if (page) memcpy(out, page + offset, n);
  return page || (memory->process_id == 0 && memory->read(memory, address, out, n));
}

static bool read_cached(const void *payload, uint64_t address, void *out, size_t n) {
  lh_cached *cached = (lh_cached *)(uintptr_t)payload; /* which lib/take cannot change */
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
