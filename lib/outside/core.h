/*
** core.h - a core file while it is opened, and the parts kept until its target is freed.
**
** It is parsed by hand, with <elf.h>, and each number is checked against the file's size before
** use. A complete ELF library would be more code to trust with a hostile file.
*/
#pragma once

#include <elf.h>

#include "outside.h"

typedef struct lh_core_mapping {
  uint64_t start, end, file_offset;
  const char *path;
} lh_core_mapping;

typedef struct lh_core_thread {
  uint64_t registers_at;
  uint64_t vectors_at, vector_bytes; /* 0: none */
} lh_core_thread;

typedef struct lh_core {
  const char *name; /* the caller's; valid only while opening */
  int fd;
  uint64_t size;
  Elf64_Phdr *segments; /* all program headers; freed after opening */
  size_t n_segments;

  char *mapped;              /* contents of NT_FILE, with the paths */
  lh_core_mapping *mappings; /* sorted by address; freed after opening */
  size_t n_mappings;
  bool has_status;
  int signal;
  uint64_t process_id;
  char program[81];
  lh_core_thread *threads;
  size_t n_threads, threads_capacity;
  uint64_t random_at, headers_at, name_at; /* AT_RANDOM, AT_PHDR, AT_EXECFN; 0: none */

  /* Mapped files that are unchanged; the number of the others, and the path of the first one. */
  int *files;
  size_t n_files, n_missing;
  const char *missing;
} lh_core;

/* Error messages for a damaged byte, and for an unreadable one. */
int lh_core_damaged(const lh_core *core, uint64_t at, const char *what, lh_error *error);
int lh_core_unreadable(const lh_core *core, lh_error *error);

/* notes.c: fills in the fields from the notes. Missing ones stay zero. */
int lh_core_read_notes(lh_core *core, lh_error *error);

/* notes.c: opens a file at a path from a core (lib/open.h). */
int lh_open_mapped(const char *path);

/* notes.c: opens the files of the regions, and counts missing or changed files. */
int lh_core_open_files(lh_core *core, const lh_memory *memory, lh_error *error);

/* notes.c: the command line, with blanks between its words. False: not found. */
bool lh_core_arguments(const lh_core *core, const lh_memory *memory, char *out, size_t size);
