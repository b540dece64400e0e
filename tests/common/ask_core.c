/* ask_core.c - all that is read of a core (see ask_core.h). */
#include "ask_core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "outside/outside.h"

static void must(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "ask_core: %s\n", what);
  abort();
}

static void read_region(const lh_memory *memory, const lh_memory_region *region) {
  char bytes[4096];
  for (uint64_t at = region->start; at < region->end;) {
    uint64_t rest = region->end - at;
    size_t n = rest < sizeof bytes ? (size_t)rest : sizeof bytes;
    bool is_present = at - region->start + n <= region->present_bytes;
    bool was_read = memory->read(memory, at, bytes, n);
    must(was_read || !is_present, "what is in the core cannot be read");
    if (!was_read) return;
    at += n;
  }
}

static void ask_memory(const lh_memory *memory, size_t size) {
  uint64_t end = 0, present = 0;
  for (size_t i = 0; i < memory->n; i++) {
    const lh_memory_region *region = &memory->regions[i];
    must(region->start >= end && region->end > region->start, "regions are not in order");
    must(region->present_bytes <= region->end - region->start, "more is present than there is");
    must(region->path && strlen(region->path) < size, "a path is longer than the core");
    must(lh_region_at(memory, region->start) == region, "a region is not found");
    end = region->end;
    present += region->present_bytes;
    read_region(memory, region);
  }
  must(present <= size, "more is present than the core has");
}

bool ask_core(const uint8_t *data, size_t size) {
  char path[64];
  lh_target *target;
  lh_error error;
  int fd = memfd_create("core", MFD_CLOEXEC);
  must(fd >= 0 && write(fd, data, size) == (ssize_t)size, "cannot write a file in memory");
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  int code = lh_open_core(path, &target, &error);
  must(code == LH_OK || error.message[0], "a refusal without a sentence");
  if (code == LH_OK) {
    lh_target_info info = lh_describe_target(target);
    must(info.program && info.executable, "a target without a program");
    ask_memory(&target->memory, size);
  }
  if (code == LH_OK) lh_target_free(target);
  (void)close(fd);
  return code == LH_OK;
}
