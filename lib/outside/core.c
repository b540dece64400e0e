/*
** core.c - opens a core file as a target: its segments are the regions of memory.
**
** The kernel leaves out pages that can be read from a mapped file again, except the first page of a
** program or library; gdb's gcore writes no segment for them. A note names the mapped files, and
** missing bytes are read from unchanged files (notes.c).
**
** The core is not trusted. Segments must lie in the file, must not overlap in memory, and have no
** more bytes together than the file, so that reading all takes a bounded time. A cut core is
** refused with the position of the first missing byte.
*/
#include "core.h"

#include <ctype.h>

#include "open.h"

enum { MOST_PATH = 4096, BIGGEST_PAGE = 65536 }; /* aarch64's, with some kernels */

/* Behind the end of a mapped file its page is zero. */
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

/* ==== Files that are not cores =================================================== */

typedef struct beginning {
  const char *bytes;
  size_t n;
  const char *told;
} beginning;

/* told: the tool that decompresses. */
static const beginning compressed[] = {
    {"\x28\xb5\x2f\xfd", 4, "zstd"}, {"\x1f\x8b", 2, "gzip"},        {"\xfd\x37zXZ", 5, "xz"},
    {"\x04\x22\x4d\x18", 4, "lz4"},  {"\x02\x21\x4c\x18", 4, "lz4"}, {"BZh", 3, "bzip2"},
};

static const beginning other_kinds[] = {
    {"ProblemType:", 12, "a report of apport: apport-unpack FILE DIR makes the core DIR/CoreDump"},
    {"MDMP", 4, "a minidump, which has stacks and no heap: a core is needed, as of gcore PID"},
    {"KDUMP", 5, "a core of a kernel: gcore PID makes one of a process"},
    {"\xcf\xfa\xed\xfe", 4, "of another system (Mach-O): a core of Linux is needed"},
    {"\x1bLua", 4, "compiled Lua: give the number of the process that runs it"},
    {"\x89LPROF", 6, "a profile: heapprof reads it"},
};

static const beginning *find_beginning(const beginning *list, size_t n_list, const uint8_t *head,
                                       size_t n) {
  for (size_t i = 0; i < n_list; i++)
    if (n >= list[i].n && memcmp(head, list[i].bytes, list[i].n) == 0) return &list[i];
  return NULL;
}

/* The name, if a shell needs no quotes for it; else FILE. */
static const char *typed(const char *name) {
  static const char harmless[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
  return *name != '-' && name[strspn(name, harmless)] == '\0' ? name : "FILE";
}

/* ASCII, or possibly UTF-8. */
static bool is_text(const uint8_t *head, size_t n) {
  size_t i = 0;
  while (i < n && (isprint(head[i]) || isspace(head[i]) || head[i] >= 0x80)) i++;
  return i == n;
}

static bool is_snapshot(const char *path) {
  lh_snapshot *snapshot;
  int code = lh_open(&snapshot, path, NULL);
  if (code == LH_OK) lh_close(snapshot);
  return code == LH_OK || code == LH_EVERSION || code == LH_EDAMAGED;
}

static int refuse_foreign(const char *name, const uint8_t *head, size_t n, lh_error *error) {
  if (n == 0)
    return lh_fail(error, LH_EFOREIGN,
                   "'%s' is empty: the disk was full, or the limit for cores was 0; type ulimit -c "
                   "unlimited before the program starts, or gcore PID while it runs",
                   name);
  const beginning *found =
      find_beginning(compressed, sizeof compressed / sizeof *compressed, head, n);
  if (found)
    return lh_fail(error, LH_EFOREIGN,
                   "'%s' is compressed: %s -dc %s >core unpacks it (one that systemd keeps: "
                   "coredumpctl dump PID -o core)",
                   name, found->told, typed(name));
  found = find_beginning(other_kinds, sizeof other_kinds / sizeof *other_kinds, head, n);
  if (found) return lh_fail(error, LH_EFOREIGN, "'%s' is %s", name, found->told);
  if (is_snapshot(name))
    return lh_fail(error, LH_EFOREIGN, "'%s' is a snapshot already: heaptop %s tells what is in it",
                   name, typed(name));
  return lh_fail(error, LH_EFOREIGN,
                 is_text(head, n)
                     ? "'%s' is a text, and no core file: give the number of the process that runs "
                       "it, or has written it"
                     : "'%s' is not a core file: give the number of a process, or what gcore PID "
                       "makes of it",
                 name);
}

#if defined __x86_64__
enum { HERE = EM_X86_64 };
#elif defined __aarch64__
enum { HERE = EM_AARCH64 };
#else
enum { HERE = EM_NONE };
#endif

static const char *machine_name(unsigned machine) {
  switch (machine) {
    case EM_X86_64: return "x86-64";
    case EM_AARCH64: return "aarch64";
    case EM_386: return "x86 (32 bit)";
    case EM_ARM: return "ARM (32 bit)";
    case EM_RISCV: return "RISC-V";
    case EM_PPC64: return "POWER";
    case EM_S390: return "S/390";
    default: return "another machine";
  }
}

static int fail_machine(const char *name, const char *of, lh_error *error) {
  return lh_fail(error, LH_EHOST,
                 "'%s' is of %s, and this luaheap of %s: take the snapshot on a machine like that",
                 name, of, machine_name(HERE));
}

static int check_core_kind(const char *name, const Elf64_Ehdr *header, lh_error *error) {
  bool is_little = header->e_ident[EI_DATA] == ELFDATA2LSB;
  if (header->e_ident[EI_CLASS] == ELFCLASS32) return fail_machine(name, "a 32-bit machine", error);
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_VERSION] != EV_CURRENT)
    return lh_fail(error, LH_EFOREIGN,
                   "'%s' is not a core file of a known kind: gcore PID makes one", name);
  if (is_little != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__))
    return fail_machine(name, "a machine of the other byte order", error);
  if (header->e_type == ET_EXEC || header->e_type == ET_DYN)
    return lh_fail(error, LH_EFOREIGN,
                   "'%s' is a program or a library, not a core: a running one is named by its "
                   "number, and one that crashes leaves a core after ulimit -c unlimited",
                   name);
  if (header->e_type != ET_CORE)
    return lh_fail(error, LH_EFOREIGN,
                   "'%s' is an ELF file, but not a core: gcore PID makes one of a process", name);
  if (header->e_machine != HERE) return fail_machine(name, machine_name(header->e_machine), error);
  return LH_OK;
}

/* ==== Segments ====================================================================== */

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

/* From 65,535 program headers on, their number is in the first section header. */
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

/* All segments must be in the file, and must not share its bytes. */
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
    return refuse_foreign(core->name, head, n, error);
  if (n < sizeof head) return fail_cut(core, sizeof head, error);
  memcpy(header, head, sizeof *header);
  return check_core_kind(core->name, header, error);
}

/* ==== Regions ======================================================================= */

static unsigned access_of(uint32_t flags) {
  return (flags & PF_R ? LH_REGION_READ : 0u) | (flags & PF_W ? LH_REGION_WRITE : 0u) |
         (flags & PF_X ? LH_REGION_EXECUTE : 0u);
}

static int compare_starts(const void *a, const void *b) {
  const lh_memory_region *x = a, *y = b;
  return x->start < y->start ? -1 : x->start > y->start;
}

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

/* Adds regions for mapped files without a segment. Segments may lie within a mapping. */
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

/* Regions and mappings are both sorted by address. */
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

/* ==== The process of the core ======================================================= */

/* The file mapped at the program headers, else the path that started the program. */
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

static int describe_missing(const lh_core *core, lh_target *target, lh_error *error) {
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

/* File times are those of the kernel's last tick: a core may seem older than a snapshot taken just
** before. So we add one tick. 0: unknown. */
static uint64_t time_of_writing(int fd) {
  struct stat st;
  struct timespec tick;
  if (fstat(fd, &st) < 0 || clock_getres(CLOCK_REALTIME_COARSE, &tick) < 0) return 0;
  uint64_t ns = (uint64_t)(st.st_mtim.tv_nsec + tick.tv_nsec);
  return (uint64_t)(st.st_mtim.tv_sec + tick.tv_sec) * 1000000000u + ns;
}

static int describe_core(const lh_core *core, lh_target *target, lh_error *error) {
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
  return describe_missing(core, target, error);
}

static int open_core(lh_core *core, lh_target *target, lh_error *error) {
  Elf64_Ehdr header = {0};
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
  return code == LH_OK ? describe_core(core, target, error) : code;
}

int lh_open_core(const char *path, lh_target **out, lh_error *error) {
  lh_target *target = *out = lh_alloc_zeroed(1, sizeof *target);
  lh_core *core = lh_alloc_zeroed(1, sizeof *core);
  int code = target && core ? LH_OK : lh_fail_memory(error, "opening a core");
  if (target) *target = (lh_target){.is_core = true, .core = core, .memory.fd = -1};
  if (core) *core = (lh_core){.name = path, .fd = -1};
  if (code == LH_OK) {
    code = open_core(core, target, error);
    LH_FREE_ALL(core->segments, core->mappings);
    core->segments = NULL;
    core->mappings = NULL;
    core->name = NULL;
  } else if (!target) {
    lh_free(core);
  }
  if (code == LH_OK) return code;
  lh_target_free(target);
  *out = NULL;
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
  LH_FREE_ALL(core->files, core->mapped, core->threads, target->memory.regions, core);
  target->core = NULL;
  target->memory = (lh_memory){.fd = -1};
}
