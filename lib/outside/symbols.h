/*
** symbols.h - finds the names of C functions in the files that a target has mapped.
**
** symbols.c finds the file, the address in it, and the tables of functions registered in Lua;
** symbol_table.c reads its symbols. A file may be made to mislead or to harm: each number is
** checked against its size, and a broken file gives no names.
*/
#pragma once

#include <elf.h>

#include "outside.h"

/* Bounds the memory for all files; names beyond it are unknown. A program's take megabytes. */
#define LH_SYMBOLS_ROOM (256u << 20)

/* The readable part of a mapped ELF file's first page, with its headers. */
typedef struct lh_first_page {
  size_t n;
  union {
    Elf64_Ehdr header;
    uint8_t bytes[4096];
  };
} lh_first_page;

bool lh_is_elf(const lh_first_page *first);

/* Program header i; false: not in this page. */
bool lh_program_header(const lh_first_page *first, unsigned i, Elf64_Phdr *header);

typedef struct lh_symbol_table lh_symbol_table;

/* Reads a file's symbols: its own, those of its separate debug file in usr/lib/debug below one of
** `roots` (ends with NULL), or its compressed ones. The caller keeps `fd`. Empty or NULL: none, or
** out of memory. Subtracts the memory used from *room. */
lh_symbol_table *lh_symbol_table_read(int fd, const char *const *roots, uint64_t *room);

/* The function that begins at an address: *n bytes, no NUL at the end. NULL: none. O(log n). */
const char *lh_symbol_at(const lh_symbol_table *table, uint64_t address, size_t *n);
void lh_symbol_table_free(lh_symbol_table *table); /* may be NULL */
