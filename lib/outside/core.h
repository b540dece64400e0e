/*
** core.h - a core file while it is opened, and what stays of it until its target is freed.
**
** It is read by hand, with <elf.h>: that takes a file header, the program headers and four kinds of
** notes, and each number in them is compared with the file's size before it is used. A library that
** knows all of ELF would be more code to trust with a hostile file, not less.
*/
#ifndef LUAHEAP_CORE_H
#define LUAHEAP_CORE_H

#include <elf.h>

#include "outside.h"

/* What of a file the process had mapped where (NT_FILE). */
typedef struct lh_core_mapping {
  uint64_t start, end, file_offset;
  const char *path;
} lh_core_mapping;

/* Where in the core a thread's registers are. */
typedef struct lh_core_thread {
  uint64_t registers_at;
  uint64_t vectors_at, vector_bytes; /* 0: there are none */
} lh_core_thread;

typedef struct lh_core {
  const char *name; /* the path that the caller gave; valid while it is opened */
  int fd;
  uint64_t size;
  Elf64_Phdr *segments; /* all program headers; freed when it is open */
  size_t n_segments;

  /* What the notes tell. */
  char *mapped;              /* the note NT_FILE: the paths are in it */
  lh_core_mapping *mappings; /* by ascending address; freed when it is open */
  size_t n_mappings;
  bool has_status;
  int signal;
  uint64_t process_id;
  char program[81];
  lh_core_thread *threads;
  size_t n_threads, threads_capacity;
  uint64_t random_at, headers_at, name_at; /* AT_RANDOM, AT_PHDR, AT_EXECFN; 0: not told */

  /* The files that were mapped and are still the same; and how many are not, the first of them. */
  int *files;
  size_t n_files, n_missing;
  const char *missing;
} lh_core;

/* The sentences on a byte that makes no sense, and on one that could not be read. */
int lh_core_damaged(const lh_core *core, uint64_t at, const char *what, lh_error *error);
int lh_core_unreadable(const lh_core *core, lh_error *error);

/* notes.c: fills in what the notes tell; what they do not stays zero. */
int lh_core_read_notes(lh_core *core, lh_error *error);

/* notes.c: opens a file at a path that a core tells (lib/open.h). */
int lh_open_mapped(const char *path);

/* notes.c: opens the files that the regions are of, and counts those that are not there. */
int lh_core_open_files(lh_core *core, const lh_memory *memory, lh_error *error);

/* notes.c: the command line, with blanks between its words; false: it is not where it should
** be. */
bool lh_core_arguments(const lh_core *core, const lh_memory *memory, char *out, size_t size);

#endif
