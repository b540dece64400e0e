/*
** symbols.c - finds the names of C functions (outside.h).
**
** A file's program headers, in its first page in the target's memory, give a function's address in
** the file, which is the same in all runs. The file is found by its path, or by a link of /proc,
** and is used only if it begins with the same page, which has its build id: so no other version of
** a library gives its names.
**
** Security: the target names its files, and their owner may replace them while we open them. A
** process's file is opened below the root of the process, in its mount namespace, and lib/open.c
** opens only regular files. Of a different file we read only the first page.
*/
#include "symbols.h"

#include "core.h"
#include "open.h"

/* ==== Headers ======================================================================= */

bool lh_program_header(const lh_first_page *first, unsigned i, Elf64_Phdr *header) {
  const Elf64_Ehdr *file = &first->header;
  uint64_t at = file->e_phoff + (uint64_t)i * sizeof *header;
  if (file->e_phentsize != sizeof *header || file->e_phoff > sizeof first->bytes ||
      i >= file->e_phnum || at + sizeof *header > first->n)
    return false;
  memcpy(header, first->bytes + at, sizeof *header);
  return true;
}

bool lh_is_elf(const lh_first_page *first) {
  return first->n >= sizeof first->header && memcmp(first->bytes, ELFMAG, SELFMAG) == 0 &&
         first->bytes[EI_CLASS] == ELFCLASS64;
}

/* If the program may write to the page, only its headers are kept, which no program writes. */
static void read_first_page(const lh_memory *memory, const char *path, lh_first_page *first) {
  const lh_memory_region *region = NULL;
  for (size_t i = 0; i < memory->n && !region; i++) {
    const lh_memory_region *r = &memory->regions[i];
    if (r->file_offset == 0 && strcmp(r->path, path) == 0) region = r;
  }
  if (!region || region->end - region->start < sizeof first->bytes ||
      !memory->read(memory, region->start, first->bytes, sizeof first->bytes))
    return;
  first->n = sizeof first->bytes;
  if (!lh_is_elf(first)) first->n = 0;
  Elf64_Phdr p;
  for (unsigned i = 0; lh_program_header(first, i, &p); i++) {
    if (p.p_type != PT_LOAD || p.p_offset != 0) continue;
    uint64_t headers = first->header.e_phoff + (uint64_t)first->header.e_phnum * sizeof p;
    uint64_t n = p.p_flags & PF_W ? headers : p.p_filesz;
    if (n < first->n) first->n = (size_t)n;
  }
}

/* Converts a file offset to an address in the file. False: no code there. */
static bool find_address(const lh_first_page *first, uint64_t file_offset, uint64_t *address) {
  Elf64_Phdr p;
  for (unsigned i = 0; lh_program_header(first, i, &p); i++) {
    if (p.p_type != PT_LOAD || !(p.p_flags & PF_X) || file_offset < p.p_offset ||
        file_offset - p.p_offset >= p.p_filesz)
      continue;
    *address = file_offset - p.p_offset + p.p_vaddr;
    return true;
  }
  return false;
}

/* ==== Registered names ================================================================ */

/* luaL_setfuncs takes an array of pairs, a name and a function, that ends with two nulls. Most
** programs have it as constant data: in .data.rel.ro, .data or .rodata. So we search all mappings
** of a file except code for a pointer to an identifier in the same file, a pointer to its code (or
** null, for luaL_newlib's placeholders), and so on to the nulls. Similar arrays, such as a shell's
** commands, do no harm: only functions that Lua has are looked up.
**
** Constant data is read from the file: cores lack it, and reading it from a process would load it
** into its memory. Of several names the first in byte order is used, metamethods last. One pass,
** about 1 GB per second. */
enum { MOST_PIECES = 64, MOST_NAME = 64 };

typedef struct constants {
  uint64_t start, end;
  char *bytes;
} constants;

typedef struct entry {
  uint64_t function;
  const char *name; /* in a piece, ends with a NUL */
} entry;

typedef struct registered {
  constants pieces[MOST_PIECES];
  unsigned n_pieces;
  uint64_t code_start, code_end; /* from the first to the last code mapping */
  entry *list;
  size_t n, capacity;
  bool failed;
} registered;

/* By the program headers. Parts that the loader writes differ from the file. Plain code has no
** names, but older linkers put constants beside it, behind the headers. */
typedef struct part {
  bool is_written, has_names;
} part;

static part part_at(const lh_first_page *first, uint64_t file_offset) {
  Elf64_Phdr p;
  part found = {false, false};
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  for (unsigned i = 0; lh_program_header(first, i, &p); i++) {
    if (p.p_type != PT_LOAD || file_offset < p.p_offset / page * page ||
        file_offset >= p.p_offset + p.p_filesz)
      continue;
    found.is_written |= (p.p_flags & PF_W) != 0;
    found.has_names |= !(p.p_flags & PF_X) || p.p_offset == 0;
  }
  return found;
}

static bool read_piece(const lh_memory *memory, const lh_memory_region *r, bool is_written, int fd,
                       char *bytes) {
  size_t n = (size_t)(r->end - r->start);
  return fd >= 0 && !is_written ? pread(fd, bytes, n, (off_t)r->file_offset) > 0
                                : memory->read(memory, r->start, bytes, n);
}

static void add_piece(registered *of, const lh_memory *memory, const lh_memory_region *r,
                      const lh_first_page *first, int fd, uint64_t *room) {
  uint64_t n = r->end - r->start;
  part found = part_at(first, r->file_offset);
  if (!found.has_names || of->n_pieces == MOST_PIECES || n > *room) return;
  char *bytes = lh_alloc_zeroed((size_t)n, 1);
  if (bytes && read_piece(memory, r, found.is_written, fd, bytes)) {
    of->pieces[of->n_pieces++] = (constants){r->start, r->end, bytes};
    *room -= n;
  } else {
    lh_free(bytes);
  }
}

static void add_pieces(registered *of, const lh_memory *memory, const char *path,
                       const lh_first_page *first, int fd, uint64_t *room) {
  for (size_t i = 0; i < memory->n; i++) {
    const lh_memory_region *r = &memory->regions[i];
    if (strcmp(r->path, path) != 0) continue;
    if (r->access & LH_REGION_EXECUTE) {
      if (of->code_end == 0) of->code_start = r->start;
      of->code_end = r->end;
    }
    if (r->access & LH_REGION_READ) add_piece(of, memory, r, first, fd, room);
  }
}

static const char *identifier_at(const registered *of, uint64_t address) {
  static const char letters[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  static const char all[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  for (unsigned i = 0; i < of->n_pieces; i++) {
    const constants *p = &of->pieces[i];
    if (address < p->start || address >= p->end) continue;
    const char *text = p->bytes + (address - p->start);
    size_t room = (size_t)(p->end - address), most = room < MOST_NAME ? room : MOST_NAME;
    size_t n = strnlen(text, most);
    bool is_one = n > 0 && n < most && strchr(letters, text[0]) && strspn(text, all) == n;
    return is_one ? text : NULL;
  }
  return NULL;
}

static bool is_code(const registered *of, uint64_t address) {
  return address >= of->code_start && address < of->code_end;
}

/* Adds the array at `at`, if there is one. Returns where to continue. */
static uint64_t add_array(registered *of, const constants *p, uint64_t at) {
  size_t before = of->n;
  for (; at + 16 <= p->end - p->start; at += 16) {
    uint64_t pair[2];
    memcpy(pair, p->bytes + at, sizeof pair);
    if (pair[0] == 0 && pair[1] == 0) return at + 16;
    bool is_function = is_code(of, pair[1]);
    const char *name = is_function || pair[1] == 0 ? identifier_at(of, pair[0]) : NULL;
    if (!name) break;
    if (!is_function) continue;
    if (!lh_grow(&of->list, of->n, &of->capacity, sizeof(entry))) {
      of->failed = true;
      return p->end - p->start;
    }
    of->list[of->n++] = (entry){pair[1], name};
  }
  of->n = before; /* no nulls at the end */
  return at + 16;
}

static void add_arrays(registered *of, const constants *p) {
  for (uint64_t first = 0; first < 16; first += 8)
    for (uint64_t at = first; at + 16 <= p->end - p->start && !of->failed;)
      at = add_array(of, p, at);
}

static int compare_entries(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->function != y->function) return x->function < y->function ? -1 : 1;
  bool x_last = strncmp(x->name, "__", 2) == 0, y_last = strncmp(y->name, "__", 2) == 0;
  return x_last != y_last ? x_last - y_last : strcmp(x->name, y->name);
}

static registered *read_registered(const lh_memory *memory, const char *path,
                                   const lh_first_page *first, int fd, uint64_t *room) {
  registered *of = lh_alloc_zeroed(1, sizeof *of);
  if (!of) return NULL;
  add_pieces(of, memory, path, first, fd, room);
  for (unsigned i = 0; i < of->n_pieces; i++) add_arrays(of, &of->pieces[i]);
  if (of->n > 0) qsort(of->list, of->n, sizeof *of->list, compare_entries);
  return of;
}

static const char *registered_at(const registered *of, uint64_t function) {
  if (!of) return NULL;
  const entry *list = of->list;
  size_t at, n = of->n;
  LH_LOWER_BOUND(at, n, list[at].function < function);
  return at < n && list[at].function == function ? list[at].name : NULL;
}

static void free_registered(registered *of) {
  if (!of) return;
  for (unsigned i = 0; i < of->n_pieces; i++) lh_free(of->pieces[i].bytes);
  lh_free(of->list);
  lh_free(of);
}

typedef struct module {
  const char *path;    /* of its regions */
  lh_first_page first; /* the same in file and memory; n 0: no ELF file */
  lh_symbol_table *table;
  registered *registered; /* read when a symbol is first missing */
  bool has_registered;
} module;

struct lh_symbols {
  const lh_target *target;
  module **modules;
  size_t n, capacity;
  uint64_t room; /* memory left for data of files */
  lh_awaited *reading;
};

/* ==== Files ========================================================================= */

/* Returns fd if the file begins with the page in memory, else closes it: -1. fd may be -1. */
static int keep_same(const module *m, int fd) {
  uint8_t bytes[sizeof m->first.bytes];
  if (fd < 0) return -1;
  if (pread(fd, bytes, m->first.n, 0) == (ssize_t)m->first.n &&
      memcmp(bytes, m->first.bytes, m->first.n) == 0)
    return fd;
  (void)close(fd);
  return -1;
}

/* The first two are /proc links to the mapped file: for root, and for who may trace the target. */
static int open_of_process(int64_t process_id, const module *m, const lh_memory_region *region) {
  char path[96];
  int fd;
  (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/map_files/%" PRIx64 "-%" PRIx64, process_id,
                 region->start, region->end);
  if ((fd = keep_same(m, lh_open_regular(path))) >= 0) return fd;
  (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/exe", process_id);
  if ((fd = keep_same(m, lh_open_regular(path))) >= 0) return fd;
  (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/root", process_id);
  return keep_same(m, lh_open_below(path, m->path));
}

static int open_module(const lh_target *target, const module *m, const lh_memory_region *region) {
  return target->is_core ? keep_same(m, lh_open_mapped(m->path))
                         : open_of_process(target->process_id, m, region);
}

static void read_symbols(lh_symbols *symbols, module *m, const lh_memory_region *region) {
  const lh_target *target = symbols->target;
  char root[64];
  const char *roots[] = {"/", target->is_core ? NULL : root, NULL};
  (void)snprintf(root, sizeof root, "/proc/%" PRId64 "/root", target->process_id);
  int fd = open_module(target, m, region);
  if (fd < 0) return;
  m->table = lh_symbol_table_read(fd, roots, &symbols->room);
  (void)close(fd);
}

static const char *registered_name(lh_symbols *symbols, module *m, const lh_memory_region *region,
                                   uint64_t function) {
  if (!m->has_registered) {
    lh_await(symbols->reading, m->path);
    int fd = open_module(symbols->target, m, region);
    m->registered =
        read_registered(&symbols->target->memory, m->path, &m->first, fd, &symbols->room);
    m->has_registered = true;
    if (fd >= 0) (void)close(fd);
    lh_await_end(symbols->reading);
  }
  return registered_at(m->registered, function);
}

static module *module_of(lh_symbols *symbols, const lh_memory_region *region) {
  for (size_t i = 0; i < symbols->n; i++)
    if (strcmp(symbols->modules[i]->path, region->path) == 0) return symbols->modules[i];
  module *m = lh_alloc_zeroed(1, sizeof *m);
  if (!m || !lh_grow(&symbols->modules, symbols->n, &symbols->capacity, sizeof(module *))) {
    lh_free(m);
    return NULL;
  }
  symbols->modules[symbols->n++] = m;
  m->path = region->path;
  lh_await(symbols->reading, m->path);
  read_first_page(&symbols->target->memory, m->path, &m->first);
  if (m->first.n > 0) read_symbols(symbols, m, region);
  lh_await_end(symbols->reading);
  return m;
}

static void copy_library(char *out, size_t room, const char *path) {
  static const char deleted[] = " (deleted)";
  const char *name = strrchr(path, '/');
  name = name ? name + 1 : path;
  size_t n = strlen(name), end = strlen(deleted);
  if (n > end && strcmp(name + n - end, deleted) == 0) n -= end;
  if (n >= room) n = room - 1;
  memcpy(out, name, n);
  out[n] = '\0';
}

static void copy_symbol(lh_code_name *name, const char *symbol, size_t n) {
  if (n >= sizeof name->symbol) n = sizeof name->symbol - 1;
  memcpy(name->symbol, symbol, n);
  name->symbol[n] = '\0';
}

lh_symbols *lh_symbols_open(const lh_target *target, lh_awaited *reading) {
  lh_symbols *symbols = lh_alloc_zeroed(1, sizeof *symbols);
  if (symbols)
    *symbols = (lh_symbols){.target = target, .room = LH_SYMBOLS_ROOM, .reading = reading};
  return symbols;
}

bool lh_symbols_find(lh_symbols *symbols, uint64_t function, lh_code_name *name) {
  const lh_memory_region *region =
      symbols ? lh_region_at(&symbols->target->memory, function) : NULL;
  *name = (lh_code_name){.symbol = ""};
  if (!region || region->path[0] != '/') return false;
  module *m = module_of(symbols, region);
  if (!m || !find_address(&m->first, function - region->start + region->file_offset, &name->offset))
    return false;
  size_t n = 0;
  const char *symbol = lh_symbol_at(m->table, name->offset, &n);
  if (!symbol) {
    symbol = registered_name(symbols, m, region, function);
    n = symbol ? strlen(symbol) : 0;
  }
  if (symbol) copy_symbol(name, symbol, n);
  copy_library(name->library, sizeof name->library, region->path);
  return true;
}

void lh_symbols_close(lh_symbols *symbols) {
  if (!symbols) return;
  for (size_t i = 0; i < symbols->n; i++) {
    lh_symbol_table_free(symbols->modules[i]->table);
    free_registered(symbols->modules[i]->registered);
    lh_free(symbols->modules[i]);
  }
  lh_free(symbols->modules);
  lh_free(symbols);
}
