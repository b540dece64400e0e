/*
** core.c - a core file as a target: its segments are the regions of memory.
**
** A segment says where its bytes were in memory, and where they are in the file. It may be longer
** in memory than in the file: the kernel leaves out pages that can be read from a file again (of a
** program or library it writes the first one only); gdb's gcore writes no segment for such at all.
** What was mapped there stands in a note, and is read from that file, if it is still the same
** (mapped.c). The kernel's segments begin at whole pages of the file, those of gcore anywhere.
**
** Nothing in the file is trusted: a segment is in the file, no two are at one address, and all have
** no more bytes together than the file, so that whoever reads all of them is done in time. A core
** that was cut, as by a limit or a full disk, is refused with the first byte that is missing.
*/
#include "core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "open.h"

enum { MOST_PATH = 4096, BIGGEST_PAGE = 65536 }; /* of aarch64 with such a kernel */

/* Reads what the core lacks from the file that was mapped. Behind its end the page is zero. */
static bool read_mapped(const lh_memory_region *region, uint64_t skip, void *out, size_t n) {
  struct stat status;
  uint64_t at = region->file_offset + skip;
  if (region->file < 0 || fstat(region->file, &status) != 0) return false;
  uint64_t size = (uint64_t)status.st_size;
  uint64_t end = (size + BIGGEST_PAGE - 1) / BIGGEST_PAGE * BIGGEST_PAGE;
  if (at > end || n > end - at) return false;
  size_t in_file = at >= size ? 0 : size - at < n ? (size_t)(size - at) : n;
  memset((char *)out + in_file, 0, n - in_file);
  return lh_pread_all(region->file, out, in_file, at);
}

/* Goes on in the next region, where two adjoin. */
static bool read_memory(const lh_memory *memory, uint64_t address, void *out, size_t n) {
  char *to = out;
  while (n > 0) {
    const lh_memory_region *region = lh_region_at(memory, address);
    if (!region) return false;
    uint64_t skip = address - region->start, rest = region->end - address;
    bool is_present = skip < region->present_bytes;
    if (is_present) rest = region->present_bytes - skip;
    size_t now = rest < n ? (size_t)rest : n;
    if (!(is_present ? lh_pread_all(memory->fd, to, now, region->core_offset + skip)
                     : read_mapped(region, skip, to, now)))
      return false;
    to += now;
    address += now;
    n -= now;
  }
  return true;
}

/* {=== Segments ====================================================================== */

int lh_core_damaged(const lh_core *core, uint64_t at, const char *what, lh_error *error) {
  return lh_fail_at(error, at, "'%s' is damaged at byte %llu: %s", core->name,
                    (unsigned long long)at, what);
}

static int fail_cut(const lh_core *core, uint64_t needed, lh_error *error) {
  return lh_fail_at(
      error, core->size,
      "'%s' was cut: of at least %llu bytes those from %llu on are missing, since the "
      "limit for cores was too low (ulimit -c unlimited; for systemd ProcessSizeMax and "
      "ExternalSizeMax in coredump.conf) or the disk was full",
      core->name, (unsigned long long)needed, (unsigned long long)core->size);
}

int lh_core_unreadable(const lh_core *core, lh_error *error) {
  return lh_fail_errno(error, errno ? errno : EIO, "cannot read '%s'", core->name);
}

static int open_file(lh_core *core, lh_error *error) {
  struct stat status;
  core->fd = lh_open_regular(core->name);
  if (core->fd < 0 && (errno == ESPIPE || errno == EISDIR))
    return lh_fail(error, LH_EIO, "cannot read '%s': it is no regular file", core->name);
  if (core->fd < 0) return lh_fail_errno(error, errno, "cannot open '%s'", core->name);
  if (fstat(core->fd, &status) != 0) return lh_core_unreadable(core, error);
  core->size = (uint64_t)status.st_size;
  return LH_OK;
}

/* The number of program headers: from 65,535 on it is in the first section header. */
static int count_segments(lh_core *core, const Elf64_Ehdr *header, lh_error *error) {
  Elf64_Shdr section;
  core->n_segments = header->e_phnum;
  if (header->e_phnum != PN_XNUM) return LH_OK;
  if (header->e_shoff == 0 || header->e_shentsize != sizeof section)
    return lh_core_damaged(core, offsetof(Elf64_Ehdr, e_shoff), "it does not say how many segments",
                           error);
  if (header->e_shoff > core->size || core->size - header->e_shoff < sizeof section)
    return fail_cut(core, header->e_shoff + sizeof section, error);
  if (!lh_pread_all(core->fd, &section, sizeof section, header->e_shoff))
    return lh_core_unreadable(core, error);
  core->n_segments = section.sh_info;
  return LH_OK;
}

static int read_segments(lh_core *core, const Elf64_Ehdr *header, lh_error *error) {
  int code = count_segments(core, header, error);
  if (code != LH_OK) return code;
  size_t n = core->n_segments;
  uint64_t bytes = (uint64_t)n * sizeof *core->segments;
  if (n > 0 && header->e_phentsize != sizeof *core->segments)
    return lh_core_damaged(core, offsetof(Elf64_Ehdr, e_phentsize), "segments of another size",
                           error);
  if (header->e_phoff > INT64_MAX - bytes)
    return lh_core_damaged(core, offsetof(Elf64_Ehdr, e_phoff), "no file is so long", error);
  if (header->e_phoff + bytes > core->size) return fail_cut(core, header->e_phoff + bytes, error);
  core->segments = lh_alloc(n, sizeof *core->segments);
  if (n > 0 && !core->segments) return lh_fail_memory(error, "opening a core");
  if (!lh_pread_all(core->fd, core->segments, bytes, header->e_phoff))
    return lh_core_unreadable(core, error);
  return LH_OK;
}

/* That all of them are in the file, and do not share it. */
static int check_segments(const lh_core *core, uint64_t table, lh_error *error) {
  uint64_t total = 0, needed = 0;
  for (size_t i = 0; i < core->n_segments; i++) {
    const Elf64_Phdr *s = &core->segments[i];
    uint64_t at = table + i * sizeof *s;
    if (s->p_type != PT_LOAD && s->p_type != PT_NOTE) continue;
    if (s->p_filesz > INT64_MAX || s->p_offset > INT64_MAX - s->p_filesz)
      return lh_core_damaged(core, at, "a segment behind the end of all files", error);
    if (s->p_type == PT_LOAD && (s->p_filesz > s->p_memsz || s->p_vaddr + s->p_memsz < s->p_vaddr))
      return lh_core_damaged(core, at, "a segment that no memory has", error);
    if (s->p_filesz > 0 && s->p_offset + s->p_filesz > needed) needed = s->p_offset + s->p_filesz;
    total += s->p_filesz;
    if (total > INT64_MAX)
      return lh_core_damaged(core, at, "segments that share their bytes", error);
  }
  if (needed > core->size) return fail_cut(core, needed, error);
  if (total > core->size)
    return lh_core_damaged(core, table, "segments that share their bytes", error);
  return LH_OK;
}

static int read_header(lh_core *core, Elf64_Ehdr *header, lh_error *error) {
  uint8_t head[sizeof *header] = {0};
  size_t n = core->size < sizeof head ? (size_t)core->size : sizeof head;
  if (!lh_pread_all(core->fd, head, n, 0)) return lh_core_unreadable(core, error);
  if (n < SELFMAG || memcmp(head, ELFMAG, SELFMAG) != 0)
    return lh_refuse_foreign(core->name, head, n, error);
  if (n < sizeof head) return fail_cut(core, sizeof head, error);
  memcpy(header, head, sizeof *header);
  return lh_check_core_kind(core->name, header, error);
}

/* }=================================================================================== */

/* {=== Regions ======================================================================= */

static unsigned access_of(uint32_t flags) {
  return (flags & PF_R ? LH_REGION_READ : 0u) | (flags & PF_W ? LH_REGION_WRITE : 0u) |
         (flags & PF_X ? LH_REGION_EXECUTE : 0u);
}

static int compare_starts(const void *a, const void *b) {
  const lh_memory_region *x = a, *y = b;
  return x->start < y->start ? -1 : x->start > y->start;
}

/* The segments that have memory, by address. */
static int take_segments(const lh_core *core, lh_memory *memory, lh_error *error) {
  for (size_t i = 0; i < core->n_segments; i++) {
    const Elf64_Phdr *s = &core->segments[i];
    if (s->p_type != PT_LOAD || s->p_memsz == 0) continue;
    memory->regions[memory->n++] = (lh_memory_region){.start = s->p_vaddr,
                                                      .end = s->p_vaddr + s->p_memsz,
                                                      .path = "",
                                                      .access = access_of(s->p_flags),
                                                      .present_bytes = s->p_filesz,
                                                      .core_offset = s->p_offset,
                                                      .file = -1};
  }
  if (memory->n > 1) qsort(memory->regions, memory->n, sizeof *memory->regions, compare_starts);
  for (size_t i = 1; i < memory->n; i++)
    if (memory->regions[i].start < memory->regions[i - 1].end)
      return lh_fail(error, LH_EDAMAGED, "'%s' is damaged: two segments have address 0x%llx",
                     core->name, (unsigned long long)memory->regions[i].start);
  return LH_OK;
}

/* Mappings of files that have no segment, between the n first regions, which are those of segments;
** a mapping may lie around some of them. */
static void add_gaps(const lh_core *core, lh_memory *memory) {
  size_t n = memory->n, next = 0;
  for (size_t i = 0; i < core->n_mappings; i++) {
    const lh_core_mapping *m = &core->mappings[i];
    for (uint64_t at = m->start; at < m->end;) {
      while (next < n && memory->regions[next].end <= at) next++;
      uint64_t until =
          next < n && memory->regions[next].start < m->end ? memory->regions[next].start : m->end;
      if (at < until)
        memory->regions[memory->n++] =
            (lh_memory_region){.start = at,
                               .end = until,
                               .path = "",
                               .access = LH_REGION_READ | LH_REGION_EXECUTE,
                               .file = -1};
      at = until < m->end ? memory->regions[next].end : until;
    }
  }
  if (memory->n > n) qsort(memory->regions, memory->n, sizeof *memory->regions, compare_starts);
}

/* Tells the regions which file they are of. Both are by ascending address. */
static void name_regions(const lh_core *core, lh_memory *memory) {
  size_t k = 0;
  for (size_t i = 0; i < memory->n; i++) {
    lh_memory_region *r = &memory->regions[i];
    while (k < core->n_mappings && core->mappings[k].end <= r->start) k++;
    if (k == core->n_mappings) return;
    const lh_core_mapping *m = &core->mappings[k];
    if (r->start < m->start || r->end > m->end) continue;
    r->path = m->path;
    r->file_offset = m->file_offset + (r->start - m->start);
  }
}

static int make_regions(const lh_core *core, lh_memory *memory, lh_error *error) {
  /* Each gap ends at a segment or at the end of a mapping. */
  size_t most = 2 * core->n_segments + core->n_mappings;
  memory->regions = lh_alloc(most, sizeof *memory->regions);
  if (most > 0 && !memory->regions) return lh_fail_memory(error, "opening a core");
  int code = take_segments(core, memory, error);
  if (code != LH_OK) return code;
  for (size_t i = 0; i < memory->n; i++) {
    const lh_memory_region *r = &memory->regions[i];
    if (!lh_region_is_mirrored(r) || r->present_bytes == 0) continue;
    add_gaps(core, memory);
    name_regions(core, memory);
    return LH_OK;
  }
  return lh_fail(error, LH_EFOREIGN,
                 "'%s' has none of the process's own memory: its coredump_filter left it out (echo "
                 "0x33 >/proc/PID/coredump_filter sets it, and children inherit it)",
                 core->name);
}

/* }=================================================================================== */

/* {=== What it is a core of ========================================================== */

/* The path of the executable: of the file mapped where its program headers were, else as it was
** started. */
static char *find_executable(const lh_core *core, const lh_memory *memory) {
  char name[MOST_PATH];
  const lh_memory_region *region = core->headers_at ? lh_region_at(memory, core->headers_at) : NULL;
  if (region && region->path[0]) return lh_copy_text(region->path);
  size_t n = 0;
  while (core->name_at && n + 1 < sizeof name &&
         memory->read(memory, core->name_at + n, &name[n], 1) && name[n])
    n++;
  name[n] = '\0';
  return lh_copy_text(name);
}

/* What is not known since files are gone. */
static int tell_doubt(const lh_core *core, lh_target *target, lh_error *error) {
  char text[MOST_PATH + 256], others[48] = "";
  if (core->n_missing == 0) return LH_OK;
  if (core->n_missing > 1)
    (void)snprintf(others, sizeof others, " (and %zu more files)", core->n_missing - 1);
  (void)snprintf(text, sizeof text,
                 "'%.*s'%s is not here as it was when the core was made: the release of Lua and "
                 "the names of C functions may be unknown",
                 MOST_PATH, core->missing, others);
  target->doubt = lh_copy_text(text);
  return target->doubt ? LH_OK : lh_fail_memory(error, "opening a core");
}

/* Of files the kernel tells the time of its last tick, by which the core may seem older than what
** was taken of the process just before; so at the latest. 0: not known. */
static uint64_t time_of_writing(int fd) {
  struct stat st;
  struct timespec tick;
  if (fstat(fd, &st) < 0 || clock_getres(CLOCK_REALTIME_COARSE, &tick) < 0) return 0;
  uint64_t ns = (uint64_t)(st.st_mtim.tv_nsec + tick.tv_nsec);
  return (uint64_t)(st.st_mtim.tv_sec + tick.tv_sec) * 1000000000u + ns;
}

static int describe(const lh_core *core, lh_target *target, lh_error *error) {
  char program[MOST_PATH];
  target->written_ns = time_of_writing(core->fd);
  target->process_id = (int64_t)core->process_id;
  target->own_process_id = core->process_id;
  target->signal = core->signal;
  if (!core->random_at ||
      !target->memory.read(&target->memory, core->random_at, target->random, sizeof target->random))
    memset(target->random, 0, sizeof target->random);
  bool has_all = lh_core_arguments(core, &target->memory, program, sizeof program);
  target->program = lh_copy_text(has_all ? program : core->program);
  target->executable = find_executable(core, &target->memory);
  if (!target->program || !target->executable) return lh_fail_memory(error, "opening a core");
  return tell_doubt(core, target, error);
}

static int open_core(lh_core *core, lh_target *target, lh_error *error) {
  Elf64_Ehdr header;
  int code = open_file(core, error);
  if (code == LH_OK) code = read_header(core, &header, error);
  if (code == LH_OK) code = read_segments(core, &header, error);
  if (code == LH_OK) code = check_segments(core, header.e_phoff, error);
  if (code == LH_OK) code = lh_core_read_notes(core, error);
  if (code == LH_OK) code = make_regions(core, &target->memory, error);
  if (code != LH_OK) return code;
  target->memory.fd = core->fd;
  target->memory.read = read_memory;
  code = lh_core_open_files(core, &target->memory, error);
  return code == LH_OK ? describe(core, target, error) : code;
}

int lh_core_open(const char *path, lh_target *target, lh_error *error) {
  lh_core *core = lh_alloc_zeroed(1, sizeof *core);
  if (!core) return lh_fail_memory(error, "opening a core");
  *core = (lh_core){.name = path, .fd = -1};
  target->is_core = true;
  target->core = core;
  target->memory.fd = -1;
  int code = open_core(core, target, error);
  lh_free(core->segments);
  lh_free(core->mappings);
  core->segments = NULL;
  core->mappings = NULL;
  core->name = NULL;
  return code;
}

uint64_t lh_core_lacks(const lh_target *target) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < target->memory.n; i++) {
    const lh_memory_region *r = &target->memory.regions[i];
    if (lh_region_is_mirrored(r)) bytes += r->end - r->start - r->present_bytes;
  }
  return bytes;
}

void lh_core_close(lh_target *target) {
  lh_core *core = target->core;
  if (!core) return;
  for (size_t i = 0; i < core->n_files; i++) (void)close(core->files[i]);
  if (core->fd >= 0) (void)close(core->fd);
  lh_free(core->files);
  lh_free(core->mapped);
  lh_free(core->threads);
  lh_free(target->memory.regions);
  lh_free(core);
  target->core = NULL;
  target->memory = (lh_memory){.fd = -1};
}

/* }=================================================================================== */
