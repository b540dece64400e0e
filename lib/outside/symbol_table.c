/*
** symbol_table.c - reads the function symbols of an ELF file (symbols.h).
**
** Symbols are in .symtab; if it was stripped, in a file with the same build id
** (/usr/lib/debug/.build-id/ab/cdef.debug), or compressed by xz in .gnu_debugdata; those for other
** programs are in .dynsym. The data is not trusted: libdw would decompress without a limit, so we
** decompress here. The file is read, not mapped, because it may be cut meanwhile.
**
** A symbol must begin at the function's first instruction. Of several the most visible wins, then
** the first in byte order: the same in every run. Suffixes of compilers (.constprop.0) are cut off.
*/
#include <gelf.h>
#include <lzma.h>

#include "open.h"
#include "symbols.h"

typedef struct symbol {
  uint64_t address;
  const char *name; /* in a section that its Elf owns */
  uint32_t n;
  uint32_t rank; /* the lowest is best */
} symbol;

/* The file, its separate debug file, and a decompressed one. */
enum { MOST_ELFS = 3, MOST_NAME = sizeof((lh_code_name *)0)->symbol };

struct lh_symbol_table {
  symbol *list;
  size_t n, capacity;
  Elf *elfs[MOST_ELFS];
  unsigned n_elfs;
  void *unpacked;
  uint64_t *room;
};

/* ==== ELF =========================================================================== */

static uint64_t file_bytes(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
}

/* 64 bits, this machine's byte order, an ordinary number of sections: libelf allocates as many. */
static bool is_bearable(const Elf64_Ehdr *header) {
  return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == ELFCLASS64 &&
         header->e_ident[EI_DATA] ==
             (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB) &&
         header->e_shnum > 0 && header->e_phnum < PN_XNUM;
}

/* NULL: wrong length, or no room left. A second request uses up room again. */
static Elf_Data *section_data(lh_symbol_table *table, Elf_Scn *section) {
  GElf_Shdr header;
  if (!gelf_getshdr(section, &header) || header.sh_size > *table->room ||
      header.sh_type == SHT_NOBITS || header.sh_flags & SHF_COMPRESSED)
    return NULL;
  Elf_Data *data = elf_rawdata(section, NULL);
  if (!data || !data->d_buf || data->d_size != header.sh_size) return NULL;
  *table->room -= header.sh_size;
  return data;
}

/* elf_strptr would search the rest of the section for a NUL at each call. */
static bool is_text_at(const Elf_Data *texts, uint32_t at, const char *text) {
  size_t n = strlen(text) + 1;
  return at < texts->d_size && n <= texts->d_size - at &&
         memcmp((const char *)texts->d_buf + at, text, n) == 0;
}

static Elf_Scn *find_section(lh_symbol_table *table, Elf *elf, uint32_t type, const char *name) {
  size_t at = 0;
  bool is_named = name && elf_getshdrstrndx(elf, &at) == 0;
  const Elf_Data *names = is_named ? section_data(table, elf_getscn(elf, at)) : NULL;
  if (name && !names) return NULL;
  for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || header.sh_type != type) continue;
    if (!name || is_text_at(names, header.sh_name, name)) return section;
  }
  return NULL;
}

/* Takes ownership of `elf`, which may be NULL. */
static Elf *add_elf(lh_symbol_table *table, Elf *elf) {
  if (elf && elf_kind(elf) == ELF_K_ELF) return table->elfs[table->n_elfs++] = elf;
  elf_end(elf);
  return NULL;
}

static Elf *open_elf(lh_symbol_table *table, int fd) {
  Elf64_Ehdr header;
  bool is_fine = file_bytes(fd) > 0 &&
                 pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                 is_bearable(&header);
  return is_fine ? add_elf(table, elf_begin(fd, ELF_C_READ, NULL)) : NULL;
}

/* As the file says: separate debug files keep this address, while prelink moves the loaded file. */
static uint64_t first_address(Elf *elf) {
  size_t n = 0;
  if (elf_getphdrnum(elf, &n) != 0) return 0;
  for (size_t i = 0; i < n; i++) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD) return header.p_vaddr;
  }
  return 0;
}

/* ==== Symbols ======================================================================= */

static uint32_t rank_of(const Elf64_Sym *s) {
  switch (ELF64_ST_BIND(s->st_info)) {
    case STB_GLOBAL: return 0;
    case STB_WEAK: return 1;
    default: return 2;
  }
}

/* "on_packet" for "on_packet.constprop.0" and "on_packet@@V1". Longer names are cut. */
static size_t name_length(const char *name, size_t room) {
  size_t n = strnlen(name, room < MOST_NAME ? room : MOST_NAME);
  if (n == room) return 0; /* no NUL in the section */
  size_t source = 0;
  while (source < n && name[source] != '.' && name[source] != '@') source++;
  return source > 0 ? source : n;
}

/* If a program takes the address of a library's function, an undefined symbol has a value, too. */
static bool add_symbol(lh_symbol_table *table, const Elf64_Sym *s, const Elf_Data *names,
                       uint64_t shift) {
  unsigned type = ELF64_ST_TYPE(s->st_info);
  if ((type != STT_FUNC && type != STT_GNU_IFUNC) || s->st_value == 0 ||
      s->st_name >= names->d_size)
    return true;
  const char *name = (const char *)names->d_buf + s->st_name;
  size_t n = name_length(name, names->d_size - s->st_name);
  if (n == 0) return true;
  if (!lh_grow(&table->list, table->n, &table->capacity, sizeof *table->list)) return false;
  table->list[table->n++] = (symbol){s->st_value + shift, name, (uint32_t)n, rank_of(s)};
  return true;
}

/* False: the file has no such symbols. Out of memory, the table has none rather than some. */
static bool add_symbols(lh_symbol_table *table, Elf *elf, uint32_t type, uint64_t shift) {
  GElf_Shdr header;
  Elf_Scn *section = elf ? find_section(table, elf, type, NULL) : NULL;
  if (!section || !gelf_getshdr(section, &header)) return false;
  const Elf_Data *data = section_data(table, section);
  const Elf_Data *names = section_data(table, elf_getscn(elf, header.sh_link));
  if (!data || !names) return false;
  for (size_t at = 0; at + sizeof(Elf64_Sym) <= data->d_size; at += sizeof(Elf64_Sym)) {
    Elf64_Sym s;
    memcpy(&s, (const char *)data->d_buf + at, sizeof s);
    if (add_symbol(table, &s, names, shift)) continue;
    table->n = 0;
    break;
  }
  return true;
}

static int compare_symbols(const void *a, const void *b) {
  const symbol *x = a, *y = b;
  return LH_LESS(x->address, y->address) ?: LH_LESS(x->rank, y->rank) ?:
         memcmp(x->name, y->name, x->n < y->n ? x->n : y->n) ?: LH_LESS(x->n, y->n);
}

/* ==== Symbols outside the file ====================================================== */

/* Longest build id of any tool. The file's name is the id in hexadecimal, as "ab/cdef.debug". */
enum { MOST_ID = 64 };

static int open_debug(const char *root, const uint8_t *id, size_t n) {
  char path[64 + 2 * MOST_ID], digits[2 * MOST_ID + 1];
  if (n < 2 || n > MOST_ID) return -1;
  for (size_t i = 0; i < n; i++) (void)snprintf(digits + 2 * i, 3, "%02x", id[i]);
  (void)snprintf(path, sizeof path, "usr/lib/debug/.build-id/%.2s/%s.debug", digits, digits + 2);
  return lh_open_below(root, path);
}

static const uint8_t *build_id(lh_symbol_table *table, Elf *elf, size_t *n) {
  GElf_Nhdr note;
  size_t name, content;
  Elf_Scn *section = elf ? find_section(table, elf, SHT_NOTE, ".note.gnu.build-id") : NULL;
  Elf_Data *data = section ? section_data(table, section) : NULL;
  if (!data || gelf_getnote(data, 0, &note, &name, &content) == 0) return NULL;
  *n = note.n_descsz;
  return (const uint8_t *)data->d_buf + content;
}

static bool has_build_id(lh_symbol_table *table, Elf *elf, const uint8_t *id, size_t n) {
  size_t own_n = 0;
  const uint8_t *own = build_id(table, elf, &own_n);
  return own && own_n == n && memcmp(own, id, n) == 0;
}

static bool add_separate(lh_symbol_table *table, Elf *elf, const char *const *roots) {
  size_t n = 0;
  const uint8_t *id = build_id(table, elf, &n);
  bool found = false;
  for (; id && *roots && !found; roots++) {
    int fd = open_debug(*roots, id, n);
    if (fd < 0) continue;
    Elf *debug = open_elf(table, fd);
    found = has_build_id(table, debug, id, n) &&
            add_symbols(table, debug, SHT_SYMTAB, first_address(elf) - first_address(debug));
    if (debug && !found) elf_end(table->elfs[--table->n_elfs]);
    (void)close(fd);
  }
  return found;
}

/* Decompressed size, from the index at the end. 0: bad data, or larger than `room`. */
static uint64_t unpacked_bytes(const uint8_t *packed, size_t n, uint64_t room) {
  lzma_stream_flags flags;
  lzma_index *index = NULL;
  uint64_t memory = room, bytes = 0;
  size_t at = 0;
  if (n < LZMA_STREAM_HEADER_SIZE || n % 4 != 0 ||
      lzma_stream_footer_decode(&flags, packed + n - LZMA_STREAM_HEADER_SIZE) != LZMA_OK ||
      flags.backward_size > n - LZMA_STREAM_HEADER_SIZE)
    return 0;
  const uint8_t *start = packed + n - LZMA_STREAM_HEADER_SIZE - flags.backward_size;
  if (lzma_index_buffer_decode(&index, &memory, NULL, start, &at, (size_t)flags.backward_size) ==
      LZMA_OK)
    bytes = lzma_index_uncompressed_size(index);
  lzma_index_end(index, NULL);
  return bytes <= room ? bytes : 0;
}

static Elf *unpack(lh_symbol_table *table, const Elf_Data *packed) {
  uint64_t memory = *table->room;
  size_t in = 0, out = 0, n = (size_t)unpacked_bytes(packed->d_buf, packed->d_size, memory);
  if (n < sizeof(Elf64_Ehdr)) return NULL;
  *table->room -= n;
  table->unpacked = lh_alloc(n, 1);
  if (!table->unpacked ||
      lzma_stream_buffer_decode(&memory, 0, NULL, packed->d_buf, &in, packed->d_size,
                                table->unpacked, &out, n) != LZMA_OK ||
      out != n || !is_bearable(table->unpacked))
    return NULL;
  return add_elf(table, elf_memory(table->unpacked, n));
}

static void add_packed(lh_symbol_table *table, Elf *elf) {
  Elf_Scn *section = find_section(table, elf, SHT_PROGBITS, ".gnu_debugdata");
  const Elf_Data *packed = section ? section_data(table, section) : NULL;
  Elf *inside = packed ? unpack(table, packed) : NULL;
  if (inside)
    (void)add_symbols(table, inside, SHT_SYMTAB, first_address(elf) - first_address(inside));
}

lh_symbol_table *lh_symbol_table_read(int fd, const char *const *roots, uint64_t *room) {
  lh_symbol_table *table = lh_alloc_zeroed(1, sizeof *table);
  if (!table || elf_version(EV_CURRENT) == EV_NONE) return table;
  table->room = room;
  Elf *elf = open_elf(table, fd);
  if (!elf) return table;
  if (!add_symbols(table, elf, SHT_SYMTAB, 0)) {
    (void)add_symbols(table, elf, SHT_DYNSYM, 0);
    if (!add_separate(table, elf, roots)) add_packed(table, elf);
  }
  if (table->n > 0) qsort(table->list, table->n, sizeof *table->list, compare_symbols);
  return table;
}

const char *lh_symbol_at(const lh_symbol_table *table, uint64_t address, size_t *n) {
  if (!table) return NULL;
  size_t at;
  LH_LOWER_BOUND(at, table->n, table->list[at].address < address);
  if (at == table->n || table->list[at].address != address) return NULL;
  *n = table->list[at].n;
  return table->list[at].name;
}

void lh_symbol_table_free(lh_symbol_table *table) {
  if (!table) return;
  while (table->n_elfs > 0) elf_end(table->elfs[--table->n_elfs]);
  lh_free(table->list);
  lh_free(table->unpacked);
  lh_free(table);
}
