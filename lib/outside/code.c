/*
** code.c - what a program executes, and reads without ever writing it: copied, and put where it
** was in a child of this process that runs on as the program (run_on.c).
**
** The mirror has what a program wrote. To run on it also needs its code and constants: what is
** mapped of the files that it executes, 2 MB for a plain interpreter, 100 MB for a big game; and
** the pages of their variables that it has not written yet, which are zero in the mirror. All of
** that is copied while the program stands still, 1 ms for 5 MB. Pages that are yet to be read from
** a file are read before, since its server may not answer: the program must not stand still for so
** long.
**
** In the child everything else that the program has mapped is there, but must not be touched:
** memory that it shares with others, files that it maps to read them, what is its kernel's. So a
** program that touches it is stopped by a fault, and never finds what is this process's own. Where
** that has something of its own among it the program does not run on.
*/
#include <string.h>
#include <sys/mman.h>

#include "memory.h"
#include "run_on.h"

static const uint64_t MOST_BYTES = (uint64_t)128 << 20, KERNELS = (uint64_t)1 << 63;

typedef struct piece {
  uint64_t start, bytes;
  int access; /* PROT_... in the child */
} piece;

struct lh_copied_code {
  piece *pieces;
  size_t n, capacity;
  char *copy; /* of all, one behind the other */
  uint64_t bytes;
};

static bool is_of_file(const lh_memory_region *r) {
  return r->path[0] == '/' && !(r->access & LH_REGION_SHARED);
}

static bool touches(const lh_memory_region *below, const lh_memory_region *above) {
  return is_of_file(below) && is_of_file(above) && below->end == above->start &&
         strcmp(below->path, above->path) == 0;
}

/* Of a program or a library are parts with other access next to it; what is mapped only to be read
** is one part. */
static bool is_of_program(const lh_memory *memory, size_t i) {
  const lh_memory_region *r = &memory->regions[i];
  if (!(r->access & LH_REGION_READ) || r->access & LH_REGION_SHARED) return false;
  if (r->start >= KERNELS) return false;
  if (r->access & LH_REGION_EXECUTE) return !(r->access & LH_REGION_WRITE) && r->path[0] != '[';
  return (i > 0 && touches(r - 1, r)) || (i + 1 < memory->n && touches(r, r + 1));
}

static int access_of(const lh_memory_region *r) {
  if (r->access & LH_REGION_WRITE) return PROT_READ | PROT_WRITE;
  return r->access & LH_REGION_EXECUTE ? PROT_READ | PROT_EXEC : PROT_READ;
}

/* False: there is too much of it, or a file is mapped to be written, and what is in those of its
** pages that were not written is not known. */
static bool list_pieces(lh_copied_code *code, const lh_memory *memory) {
  for (size_t i = 0; i < memory->n; i++) {
    const lh_memory_region *r = &memory->regions[i];
    uint64_t bytes = r->end - r->start;
    if (!is_of_program(memory, i)) {
      if (lh_region_is_mirrored(r) && is_of_file(r)) return false;
      continue;
    }
    if (bytes > MOST_BYTES - code->bytes) return false;
    if (!lh_grow(&code->pieces, code->n, &code->capacity, sizeof *code->pieces)) return false;
    code->pieces[code->n++] = (piece){r->start, bytes, access_of(r)};
    code->bytes += bytes;
  }
  return code->n > 0;
}

static bool copy_pieces(lh_copied_code *code, const lh_memory *memory) {
  enum { ACCESS = PROT_READ | PROT_WRITE, KIND = MAP_PRIVATE | MAP_ANONYMOUS };
  code->copy = mmap(NULL, code->bytes, ACCESS, KIND, -1, 0);
  if (code->copy == MAP_FAILED) return false;
  char *to = code->copy;
  bool is_read = true;
  for (size_t i = 0; i < code->n && is_read; to += code->pieces[i++].bytes)
    is_read = memory->read(memory, code->pieces[i].start, to, code->pieces[i].bytes);
  return is_read;
}

/* A byte of each page is enough. Where that cannot be had is found again by who copies. */
void lh_code_prepare(const lh_memory *memory) {
  enum { PAGE = 4096 };
  lh_copied_code code = {0};
  bool is_read = list_pieces(&code, memory);
  for (size_t i = 0; i < code.n && is_read; i++) {
    const piece *p = &code.pieces[i];
    char byte;
    for (uint64_t at = 0; at < p->bytes && is_read; at += PAGE)
      is_read = memory->read(memory, p->start + at, &byte, 1);
  }
  lh_free(code.pieces);
}

lh_copied_code *lh_code_copy(const lh_memory *memory) {
  lh_copied_code *code = lh_alloc_zeroed(1, sizeof *code);
  if (!code) return NULL;
  code->copy = MAP_FAILED;
  if (list_pieces(code, memory) && copy_pieces(code, memory)) return code;
  lh_code_free(code);
  return NULL;
}

void lh_code_free(lh_copied_code *code) {
  if (!code) return;
  if (code->copy != MAP_FAILED) (void)munmap(code->copy, code->bytes);
  lh_free(code->pieces);
  lh_free(code);
}

/* Maps what the program has mapped and the mirror has not. False: this process has something of
** its own there, or no room. Above all processes is one page of the kernel's, which is left out. */
static bool map_rest(const lh_memory *memory, const lh_mirror *mirror) {
  enum { KIND = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE };
  for (size_t i = 0; i < memory->n; i++) {
    const lh_memory_region *r = &memory->regions[i];
    if (lh_region_is_mirrored(r) && lh_mirror_has(mirror, r->start, r->end - r->start)) continue;
    if (r->start >= KERNELS) continue;
    void *mapped = mmap(lh_pointer(r->start), r->end - r->start, PROT_NONE, KIND, -1, 0);
    if (mapped != lh_pointer(r->start)) return false;
  }
  return true;
}

bool lh_code_place(const lh_copied_code *code, const lh_memory *memory, const lh_mirror *mirror) {
  const char *from = code->copy;
  lh_mirror_drop_gaps(mirror);
  if (!map_rest(memory, mirror)) return false;
  for (size_t i = 0; i < code->n; from += code->pieces[i++].bytes) {
    const piece *p = &code->pieces[i];
    if (mprotect(lh_pointer(p->start), p->bytes, PROT_READ | PROT_WRITE) < 0) return false;
    memcpy(lh_pointer(p->start), from, p->bytes);
    if (mprotect(lh_pointer(p->start), p->bytes, p->access) < 0) return false;
  }
  return true;
}
