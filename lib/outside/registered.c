/*
** registered.c - the names under which a mapped file registers C functions in Lua (symbols.h).
**
** luaL_setfuncs takes an array of pairs, a name and a function, that ends with a pair of nulls.
** Nearly all programs have theirs as constant data: with addresses in them it is in .data.rel.ro or
** .data, of a program that is not moved in .rodata. So all of a file's mappings but those of code
** are read from the target, as the loader has left them, and searched for such arrays: a pointer to
** an identifier in the same file, a pointer to its code (or null, as luaL_newlib has for what is no
** function), and so on to the nulls. What else looks like that, the commands of a shell for one,
** does no harm, since only what Lua has is asked for.
**
** What no program changes is taken from the file: cores lack it, and a process whose memory is read
** there has more of it from then on. Of several names of a function the first by its letters is it,
** but those of metamethods come last. One pass, some 1 GB a second.
*/
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols.h"

enum { MOST_PIECES = 64, MOST_NAME = 64 };

/* A mapping that is no code. */
typedef struct piece {
  uint64_t start, end;
  char *bytes;
} piece;

typedef struct entry {
  uint64_t function;
  const char *name; /* in a piece, ended by a zero */
} entry;

struct lh_registered {
  piece pieces[MOST_PIECES];
  unsigned n_pieces;
  uint64_t code_start, code_end; /* of all code of the file, and what is between */
  entry *list;
  size_t n, capacity;
  bool failed;
};

/* {=== Pieces ======================================================================== */

/* What is mapped from a place in the file, by its headers. The file does not have what is in memory
** of parts that the loader writes to, and may protect then. Code alone has no names, but older
** linkers put constants beside it, and both behind the headers. */
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

static void add_piece(lh_registered *registered, const lh_memory *memory, const lh_memory_region *r,
                      const lh_first_page *first, int fd, uint64_t *room) {
  uint64_t n = r->end - r->start;
  part found = part_at(first, r->file_offset);
  if (!found.has_names || registered->n_pieces == MOST_PIECES || n > *room) return;
  char *bytes = lh_alloc_zeroed((size_t)n, 1);
  if (bytes && read_piece(memory, r, found.is_written, fd, bytes)) {
    registered->pieces[registered->n_pieces++] = (piece){r->start, r->end, bytes};
    *room -= n;
  } else {
    lh_free(bytes);
  }
}

static void add_pieces(lh_registered *registered, const lh_memory *memory, const char *path,
                       const lh_first_page *first, int fd, uint64_t *room) {
  for (size_t i = 0; i < memory->n; i++) {
    const lh_memory_region *r = &memory->regions[i];
    if (strcmp(r->path, path) != 0) continue;
    if (r->access & LH_REGION_EXECUTE) {
      if (registered->code_end == 0) registered->code_start = r->start;
      registered->code_end = r->end;
    }
    if (r->access & LH_REGION_READ) add_piece(registered, memory, r, first, fd, room);
  }
}

/* }=================================================================================== */

/* {=== Arrays ======================================================================== */

/* NULL: none is there. */
static const char *identifier_at(const lh_registered *registered, uint64_t address) {
  static const char letters[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  static const char all[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  for (unsigned i = 0; i < registered->n_pieces; i++) {
    const piece *p = &registered->pieces[i];
    if (address < p->start || address >= p->end) continue;
    const char *text = p->bytes + (address - p->start);
    size_t room = (size_t)(p->end - address), most = room < MOST_NAME ? room : MOST_NAME;
    size_t n = strnlen(text, most);
    bool is_one = n > 0 && n < most && strchr(letters, text[0]) && strspn(text, all) == n;
    return is_one ? text : NULL;
  }
  return NULL;
}

static bool is_code(const lh_registered *registered, uint64_t address) {
  return address >= registered->code_start && address < registered->code_end;
}

/* Adds what an array has from `at` on; returns where it, or what was no array, ends. */
static uint64_t add_array(lh_registered *registered, const piece *p, uint64_t at) {
  size_t before = registered->n;
  for (; at + 16 <= p->end - p->start; at += 16) {
    uint64_t pair[2];
    memcpy(pair, p->bytes + at, sizeof pair);
    if (pair[0] == 0 && pair[1] == 0) return at + 16;
    bool is_function = is_code(registered, pair[1]);
    const char *name = is_function || pair[1] == 0 ? identifier_at(registered, pair[0]) : NULL;
    if (!name) break;
    if (!is_function) continue;
    if (!lh_grow(&registered->list, registered->n, &registered->capacity, sizeof(entry))) {
      registered->failed = true;
      return p->end - p->start;
    }
    registered->list[registered->n++] = (entry){pair[1], name};
  }
  registered->n = before; /* no nulls ended it */
  return at + 16;
}

static void add_arrays(lh_registered *registered, const piece *p) {
  for (uint64_t first = 0; first < 16; first += 8)
    for (uint64_t at = first; at + 16 <= p->end - p->start && !registered->failed;)
      at = add_array(registered, p, at);
}

static int compare(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->function != y->function) return x->function < y->function ? -1 : 1;
  bool x_last = strncmp(x->name, "__", 2) == 0, y_last = strncmp(y->name, "__", 2) == 0;
  return x_last != y_last ? x_last - y_last : strcmp(x->name, y->name);
}

/* }=================================================================================== */

lh_registered *lh_registered_read(const lh_memory *memory, const char *path,
                                  const lh_first_page *first, int fd, uint64_t *room) {
  lh_registered *registered = lh_alloc_zeroed(1, sizeof *registered);
  if (!registered) return NULL;
  add_pieces(registered, memory, path, first, fd, room);
  for (unsigned i = 0; i < registered->n_pieces; i++)
    add_arrays(registered, &registered->pieces[i]);
  if (registered->n > 0) qsort(registered->list, registered->n, sizeof *registered->list, compare);
  return registered;
}

const char *lh_registered_at(const lh_registered *registered, uint64_t function) {
  if (!registered) return NULL;
  const entry *list = registered->list;
  size_t at, n = registered->n;
  LH_LOWER_BOUND(at, n, list[at].function < function);
  return at < n && list[at].function == function ? list[at].name : NULL;
}

void lh_registered_free(lh_registered *registered) {
  if (!registered) return;
  for (unsigned i = 0; i < registered->n_pieces; i++) lh_free(registered->pieces[i].bytes);
  lh_free(registered->list);
  lh_free(registered);
}
