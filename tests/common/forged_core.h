/*
** forged_core.h - core files of a few KB, made byte by byte: as the kernel and gdb's gcore make
** them, or as nobody does.
**
** A new one has the notes of a process, and no segments:
**
**     forge_core(&c);
**     forge_segment(&c, 0x10000, 0x2000, PF_R | PF_W, bytes, 0x1000);   // half is in the file
**     forge_mapping(&c, 0x400000, 0x401000, 0, "/usr/bin/lua5.4");
**     forge_core_end(&c);                                               // c.bytes, c.size
**     forge_core_file(&c, "core");
**
** What is set before forge_core_end says how it is laid out; what is changed in c.bytes after, how
** it lies.
*/
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/procfs.h>

enum {
  FORGED_SEGMENTS = 32,
  FORGED_BYTES = 1 << 16,
  FORGED_STACK = 0x7ffd0000,
  FORGED_RANDOM = 0x7ffd0238
};

typedef struct forged_core {
  bool by_gdb;         /* segments anywhere in the file; notes behind them */
  bool is_long;        /* the number of segments is in a section header */
  bool has_no_process; /* no notes of one; without others no segment for notes, either */
  Elf64_Ehdr header;
  Elf64_Phdr segments[FORGED_SEGMENTS];
  const void *contents[FORGED_SEGMENTS];
  size_t n_segments, n_mappings;
  struct elf_prstatus status;
  struct elf_prpsinfo process;
  Elf64_auxv_t vector[8];
  struct {
    uint64_t start, end, page;
    const char *path;
  } mappings[FORGED_SEGMENTS];
  uint8_t notes[FORGED_BYTES];
  size_t note_bytes;
  uint64_t notes_at, table_at; /* where they came to be */
  uint8_t bytes[FORGED_BYTES];
  size_t size;
} forged_core;

void forge_core(forged_core *c);
void forge_segment(forged_core *c, uint64_t address, uint64_t memory_bytes, uint32_t flags,
                   const void *content, size_t n);
void forge_mapping(forged_core *c, uint64_t start, uint64_t end, uint64_t page, const char *path);

/* A note besides those of a process. */
void forge_note(forged_core *c, const char *name, uint32_t type, const void *content, size_t n);
void forge_core_end(forged_core *c);
void forge_core_file(const forged_core *c, const char *path);

/* The first page of an ELF file with a build id of so many bytes, all of that value; 0: none. */
void forge_elf_page(uint8_t page[4096], uint8_t value, size_t n);

/* A page of the stack as the kernel leaves it, for FORGED_STACK: these arguments (NULL ends them),
** an environment of two, the auxiliary vector, and the random bytes A0, A1 and so on. */
void forge_stack_page(uint8_t page[4096], const char *const *arguments);
