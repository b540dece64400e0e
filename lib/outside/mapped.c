/*
** mapped.c - the files that the process of a core had mapped: opened, if they are still the same.
**
** A core lacks what can be read from them again. Since then they may have been replaced, or the
** core is read on another machine. Their first page is in the core, and in it the build id, which
** linkers make of the content: where it is equal, so is the file, whatever its name and time. Of
** files that have none the first pages are compared. Another file is not read, and the user is
** told, since the release of Lua and the names of C functions are then not known.
**
** Who may profit? The path of a file is the core's word, and the core is another user's. lib/open.c
** opens regular files alone, and follows no link of /proc; of other files nothing but the first
** page is read, and nothing of that page is shown.
*/
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core.h"
#include "open.h"
#include "symbols.h"

enum { MOST_FILES = 512 };

/* Of regions that are read from files: a core of a few KB may claim that it had mapped a big one a
** thousand times. */
static const uint64_t most_bytes = (uint64_t)4 << 30;

typedef struct build_id {
  const uint8_t *bytes; /* in the page */
  size_t n;             /* 0: none */
} build_id;

/* The build id among notes that lie in the page. */
static build_id find_among_notes(const lh_first_page *p, size_t at, size_t end, size_t align) {
  Elf64_Nhdr head;
  while (end - at >= sizeof head) {
    memcpy(&head, p->bytes + at, sizeof head);
    uint64_t content = (at + sizeof head + (uint64_t)head.n_namesz + align - 1) & ~(align - 1);
    uint64_t next = (content + head.n_descsz + align - 1) & ~(align - 1);
    if (content > end || head.n_descsz > end - content) break;
    if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == sizeof "GNU" &&
        memcmp(p->bytes + at + sizeof head, "GNU", sizeof "GNU") == 0)
      return (build_id){p->bytes + content, head.n_descsz};
    if (next >= end) break;
    at = (size_t)next;
  }
  return (build_id){NULL, 0};
}

/* The page is the first one of an ELF file. */
static build_id find_build_id(const lh_first_page *p) {
  Elf64_Phdr segment;
  build_id found = {NULL, 0};
  for (unsigned i = 0; found.n == 0 && lh_program_header(p, i, &segment); i++) {
    if (segment.p_type != PT_NOTE || segment.p_offset > p->n ||
        segment.p_filesz > p->n - segment.p_offset)
      continue;
    found = find_among_notes(p, segment.p_offset, segment.p_offset + segment.p_filesz,
                             segment.p_align == 8 ? 8 : 4);
  }
  return found;
}

static bool are_same(const lh_first_page *a, const lh_first_page *b) {
  if (!lh_is_elf(a) || !lh_is_elf(b)) return false;
  build_id x = find_build_id(a), y = find_build_id(b);
  if (x.n == 0 && y.n == 0) return a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0;
  return x.n == y.n && memcmp(x.bytes, y.bytes, x.n) == 0;
}

int lh_open_mapped(const char *path) {
  return lh_open_below(path[0] == '/' ? "/" : ".", path);
}

/* Opens the file at `path`, and reads its first page. */
static int open_first_page(const char *path, lh_first_page *first) {
  struct stat status;
  int fd = lh_open_mapped(path);
  if (fd < 0) return -1;
  if (fstat(fd, &status) == 0) {
    size_t n = sizeof first->bytes;
    first->n = (uint64_t)status.st_size < n ? (size_t)status.st_size : n;
    if (lh_pread_all(fd, first->bytes, first->n, 0)) return fd;
  }
  (void)close(fd);
  return -1;
}

/* The file that was mapped from its beginning at the region; -1: it is another by now, or no ELF
** file. */
static int open_same(lh_core *core, const lh_memory *memory, const lh_memory_region *region) {
  lh_first_page in_core = {.n = sizeof in_core.bytes};
  lh_first_page on_disk = {.n = 0};
  if (region->present_bytes < in_core.n) in_core.n = (size_t)region->present_bytes;
  if (!memory->read(memory, region->start, in_core.bytes, in_core.n)) in_core.n = 0;
  if (in_core.n > 0 && !lh_is_elf(&in_core)) return -1;
  int fd = open_first_page(region->path, &on_disk);
  if (fd >= 0 && are_same(&in_core, &on_disk)) return core->files[core->n_files++] = fd;
  if (fd >= 0) (void)close(fd);
  /* Where the core lacks even the first page, only the file itself says what it is. */
  if ((in_core.n > 0 || lh_is_elf(&on_disk)) && core->n_missing++ == 0)
    core->missing = region->path;
  return -1;
}

int lh_core_open_files(lh_core *core, const lh_memory *memory, lh_error *error) {
  const lh_memory_region *first = NULL; /* of the file that was mapped last; its others follow */
  uint64_t bytes = 0;
  core->files = lh_alloc(MOST_FILES, sizeof *core->files);
  if (!core->files) return lh_fail_memory(error, "opening a core");
  for (size_t i = 0; i < memory->n; i++) {
    lh_memory_region *r = &memory->regions[i];
    if (r->path[0] == '\0') continue;
    if (r->file_offset == 0 && core->n_files < MOST_FILES) {
      r->file = open_same(core, memory, r);
      first = r;
    } else if (first && strcmp(first->path, r->path) == 0) {
      r->file = first->file;
    }
    if (r->file >= 0 && r->end - r->start > most_bytes - bytes)
      r->file = -1;
    else if (r->file >= 0)
      bytes += r->end - r->start;
  }
  return LH_OK;
}
