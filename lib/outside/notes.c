/*
** notes.c - reads a core's notes: process, signal, auxiliary vector, mapped files.
**
** It also finds the command line, and opens the mapped files that are unchanged. 10,000 threads
** make 60,000 notes, 100 MB: so only the heads are read, and the contents that we need.
*/
#include <sys/procfs.h>

#include "core.h"
#include "open.h"
#include "symbols.h"

enum {
  MOST_NOTES = 1 << 22,         /* more than any process has; their heads take seconds to read */
  MOST_MAPPED_BYTES = 64 << 20, /* of NT_FILE; the kernel writes 4 MB at most by default */
  MOST_VECTOR = 1024            /* entries of the auxiliary vector; usually 20 */
};

static uint64_t align4(uint64_t n) {
  return (n + 3) & ~(uint64_t)3;
}

/* ==== Each note ===================================================================== */

static bool add_core_thread(lh_core *core, uint64_t at, uint64_t n) {
  if (n < sizeof(struct elf_prstatus)) return true;
  if (!lh_grow(&core->threads, core->n_threads, &core->threads_capacity, sizeof *core->threads))
    return false;
  core->threads[core->n_threads++] =
      (lh_core_thread){.registers_at = at + offsetof(struct elf_prstatus, pr_reg)};
  return true;
}

/* NT_X86_XSTATE, which follows its thread's NT_PRSTATUS. */
static void add_vectors(lh_core *core, uint64_t at, uint64_t n) {
  if (core->n_threads == 0) return;
  core->threads[core->n_threads - 1].vectors_at = at;
  core->threads[core->n_threads - 1].vector_bytes = n;
}

/* NT_PRSTATUS of each thread. The first is the thread in which the process ended. */
static void read_status(lh_core *core, uint64_t at, uint64_t n) {
  struct elf_prstatus status;
  if (core->has_status || n < sizeof status || !lh_pread_all(core->fd, &status, sizeof status, at))
    return;
  core->has_status = true;
  core->signal = status.pr_cursig;
  if (core->process_id == 0) core->process_id = (uint64_t)(uint32_t)status.pr_pid;
}

/* NT_PRPSINFO. The kernel appends a blank to the command line. */
static void read_process(lh_core *core, uint64_t at, uint64_t n) {
  struct elf_prpsinfo process;
  size_t length = sizeof process.pr_psargs;
  if (n < sizeof process || !lh_pread_all(core->fd, &process, sizeof process, at)) return;
  core->process_id = (uint64_t)(uint32_t)process.pr_pid;
  memcpy(core->program, process.pr_psargs, length);
  core->program[length] = '\0';
  length = strlen(core->program);
  while (length > 0 && core->program[length - 1] == ' ') core->program[--length] = '\0';
}

static void read_vector(lh_core *core, uint64_t at, uint64_t n) {
  Elf64_auxv_t entry;
  for (uint64_t i = 0; i < MOST_VECTOR && n >= sizeof entry; i++, n -= sizeof entry) {
    if (!lh_pread_all(core->fd, &entry, sizeof entry, at + i * sizeof entry)) return;
    if (entry.a_type == AT_NULL) return;
    if (entry.a_type == AT_RANDOM) core->random_at = entry.a_un.a_val;
    if (entry.a_type == AT_PHDR) core->headers_at = entry.a_un.a_val;
    if (entry.a_type == AT_EXECFN) core->name_at = entry.a_un.a_val;
  }
}

/* The kernel appends this word to the path of a removed file, which may have been replaced. */
static void cut_deleted(char *path) {
  static const char word[] = " (deleted)";
  size_t n = strlen(path);
  if (n >= sizeof word && strcmp(path + n - (sizeof word - 1), word) == 0)
    path[n - (sizeof word - 1)] = '\0';
}

/* NT_FILE: number of files, unit of offsets; start, end, offset of each; their paths with NULs. */
static int read_mappings(lh_core *core, uint64_t at, uint64_t bytes, lh_error *error) {
  enum { HEAD = 16, EACH = 24 };
  if (core->mapped) return lh_core_damaged(core, at, "two lists of mapped files", error);
  if (bytes < HEAD || bytes > MOST_MAPPED_BYTES)
    return lh_core_damaged(core, at, "a list of mapped files of this length", error);
  core->mapped = lh_alloc(bytes, 1);
  if (!core->mapped) return lh_fail_memory(error, "opening a core");
  if (!lh_pread_all(core->fd, core->mapped, bytes, at)) return lh_core_unreadable(core, error);
  const uint8_t *list = (const uint8_t *)core->mapped;
  uint64_t n = lh_load64(list), unit = lh_load64(list + 8);
  if (n > (bytes - HEAD) / EACH || unit > UINT32_MAX)
    return lh_core_damaged(core, at, "more mapped files than there is room for", error);
  core->mappings = lh_alloc(n, sizeof *core->mappings);
  if (n > 0 && !core->mappings) return lh_fail_memory(error, "opening a core");
  char *path = core->mapped + HEAD + n * EACH, *end = core->mapped + bytes;
  uint64_t before = 0; /* end of the last mapping */
  for (uint64_t i = 0; i < n; i++) {
    const uint8_t *entry = list + HEAD + i * EACH;
    uint64_t pages = lh_load64(entry + 16);
    char *path_end = memchr(path, '\0', (size_t)(end - path));
    lh_core_mapping m = {lh_load64(entry), lh_load64(entry + 8), pages * unit, path};
    if (m.start < before || m.end <= m.start || pages > INT64_MAX >> 32 || !path_end)
      return lh_core_damaged(core, at + HEAD + i * EACH, "a mapped file that cannot be", error);
    core->mappings[core->n_mappings++] = m;
    before = m.end;
    cut_deleted(path);
    path = path_end + 1;
  }
  return LH_OK;
}

static int read_note(lh_core *core, uint32_t type, uint64_t at, uint64_t n, lh_error *error) {
  switch (type) {
    case NT_PRSTATUS:
      read_status(core, at, n);
      return add_core_thread(core, at, n) ? LH_OK : lh_fail_memory(error, "opening a core");
    case NT_PRPSINFO: read_process(core, at, n); break;
    case NT_AUXV: read_vector(core, at, n); break;
    case NT_FILE: return read_mappings(core, at, n, error);
    default: break;
  }
  return LH_OK;
}

/* A segment is a sequence of notes: head, name and content, each padded to 4 bytes. */
static int read_segment(lh_core *core, const Elf64_Phdr *segment, size_t *n_notes,
                        lh_error *error) {
  uint64_t at = segment->p_offset, end = at + segment->p_filesz;
  Elf64_Nhdr head;
  while (end - at >= sizeof head) {
    char name[8] = "";
    if (!lh_pread_all(core->fd, &head, sizeof head, at)) return lh_core_unreadable(core, error);
    uint64_t content = at + sizeof head + align4(head.n_namesz);
    uint64_t next = content + align4(head.n_descsz);
    if (content > end || head.n_descsz > end - content || ++*n_notes > MOST_NOTES)
      return lh_core_damaged(core, at, "a note that is longer than all of them", error);
    if (head.n_namesz > sizeof name ||
        !lh_pread_all(core->fd, name, head.n_namesz, at + sizeof head))
      name[0] = '\0';
    int code = strncmp(name, "CORE", sizeof name) == 0
                   ? read_note(core, head.n_type, content, head.n_descsz, error)
                   : LH_OK;
    if (code != LH_OK) return code;
    if (strncmp(name, "LINUX", sizeof name) == 0 && head.n_type == NT_X86_XSTATE)
      add_vectors(core, content, head.n_descsz);
    if (next >= end) break;
    at = next;
  }
  return LH_OK;
}

int lh_core_read_notes(lh_core *core, lh_error *error) {
  size_t n_notes = 0;
  for (size_t i = 0; i < core->n_segments; i++) {
    int code = core->segments[i].p_type == PT_NOTE
                   ? read_segment(core, &core->segments[i], &n_notes, error)
                   : LH_OK;
    if (code != LH_OK) return code;
  }
  if (core->has_status) return LH_OK;
  return lh_fail(error, LH_EFOREIGN,
                 "'%s' has no notes on a process: it is a core of something else, as of a kernel; "
                 "gcore PID makes one of a process",
                 core->name);
}

/* ==== The command line ============================================================== */

/* A note has at most 80 bytes of the command line, and in gdb's cores often only the program's
** name. The kernel puts the whole line on the stack at program start; upwards:
**
**     number of arguments, pointers to them, 0, pointers to the environment, 0,
**     auxiliary vector (pairs of a type and a value), some bytes, the random bytes, texts
**
** A note says where the random bytes are. We search downwards from them for the vector's pair that
** holds their address. */
enum {
  WORD = 8,
  BETWEEN = 256,            /* at most, from the vector to the random bytes; usually 20 */
  MOST_VECTOR_BYTES = 1024, /* at most; usually 350 */
  MOST_WORDS = 1 << 16,     /* most pointers to arguments and environment */
  MOST_TYPE = 63            /* largest AT_*; pointers are greater */
};

static bool read_memory_word(const lh_memory *memory, uint64_t address, uint64_t *word) {
  return memory->read(memory, address, word, sizeof *word);
}

static bool find_pair(const lh_core *core, const lh_memory *memory, uint64_t *at) {
  uint64_t last = core->random_at & ~(uint64_t)(WORD - 1), type, value;
  for (*at = last; last - *at < BETWEEN + MOST_VECTOR_BYTES && *at >= WORD; *at -= WORD) {
    if (!read_memory_word(memory, *at, &type) || !read_memory_word(memory, *at + WORD, &value))
      return false;
    if (type == AT_RANDOM && value == core->random_at) return true;
  }
  return false;
}

static bool pass_vector(const lh_memory *memory, uint64_t *at) {
  uint64_t type, start = *at;
  while (start - *at < MOST_VECTOR_BYTES) {
    if (!read_memory_word(memory, *at - 2 * WORD, &type)) return false;
    if (type == 0 || type > MOST_TYPE) return true;
    *at -= 2 * WORD;
  }
  return false;
}

/* Moves *at down over pointers, from a zero word to the next zero or to the number of pointers. */
static bool pass_pointers(const lh_memory *memory, bool are_counted, uint64_t *at, uint64_t *n) {
  uint64_t word;
  if (!read_memory_word(memory, *at, &word) || word != 0) return false;
  for (*n = 0; *n < MOST_WORDS; ++*n) {
    *at -= WORD;
    if (!read_memory_word(memory, *at, &word)) return false;
    if (word == (are_counted ? *n : 0)) return true;
  }
  return false;
}

static size_t copy_text(const lh_memory *memory, uint64_t address, char *out, size_t size) {
  size_t n = 0;
  while (n < size && memory->read(memory, address + n, &out[n], 1) && out[n] != '\0') n++;
  return n;
}

bool lh_core_arguments(const lh_core *core, const lh_memory *memory, char *out, size_t size) {
  uint64_t at, n, pointer;
  size_t used = 0;
  if (!core->random_at || !find_pair(core, memory, &at) || !pass_vector(memory, &at)) return false;
  at -= WORD;
  if (!pass_pointers(memory, false, &at, &n) || !pass_pointers(memory, true, &at, &n) || n == 0)
    return false;
  for (uint64_t i = 0; i < n && used + 1 < size; i++) {
    if (!read_memory_word(memory, at + (1 + i) * WORD, &pointer)) return false;
    if (i > 0) out[used++] = ' ';
    used += copy_text(memory, pointer, out + used, size - 1 - used);
  }
  out[used] = '\0';
  return used > 0;
}

/* ==== The files that were mapped ================================================= */

/* Mapped files may have been replaced since, or the core moved to another machine. The core has
** each file's first page, with the build id, which linkers compute from the content: equal ids mean
** equal files. Files without an id are compared by their first pages. A different file is not read,
** and the user is told that the Lua release and the names of C functions are unknown.
**
** Security: the core names the paths, and may be another user's. lib/open.c opens only regular
** files and follows no link of /proc. Nothing of a different file's first page is shown. */
enum { MOST_FILES = 512 };

/* Limit for regions read from files: a core of a few KB could claim a big file a thousand times. */
static const uint64_t most_read_bytes = (uint64_t)4 << 30;

typedef struct build_id {
  const uint8_t *bytes; /* in the page */
  size_t n;             /* 0: none */
} build_id;

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

/* Opens the file mapped from its start at the region. -1: a different file now, or no ELF file. */
static int open_same(lh_core *core, const lh_memory *memory, const lh_memory_region *region) {
  lh_first_page in_core = {.n = sizeof in_core.bytes};
  lh_first_page on_disk = {.n = 0};
  if (region->present_bytes < in_core.n) in_core.n = (size_t)region->present_bytes;
  if (!memory->read(memory, region->start, in_core.bytes, in_core.n)) in_core.n = 0;
  if (in_core.n > 0 && !lh_is_elf(&in_core)) return -1;
  int fd = open_first_page(region->path, &on_disk);
  if (fd >= 0 && are_same(&in_core, &on_disk)) return core->files[core->n_files++] = fd;
  if (fd >= 0) (void)close(fd);
  /* If the core lacks even the first page, only the file can say that it is ELF. */
  if ((in_core.n > 0 || lh_is_elf(&on_disk)) && core->n_missing++ == 0)
    core->missing = region->path;
  return -1;
}

int lh_core_open_files(lh_core *core, const lh_memory *memory, lh_error *error) {
  const lh_memory_region *first = NULL; /* region of the current file */
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
    if (r->file >= 0 && r->end - r->start > most_read_bytes - bytes)
      r->file = -1;
    else if (r->file >= 0)
      bytes += r->end - r->start;
  }
  return LH_OK;
}
