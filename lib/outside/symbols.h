/*
** symbols.h - what C functions are called, by the files that a target has mapped: symbols.c finds
** the file, the address in it, and the tables by which a program registers functions in Lua;
** symbol_table.c reads its symbols.
**
** Such a file may be anything: a program's author, or its owner, may have made it to mislead or to
** harm. So all that it counts is held against its size, one that is broken is not known, and of all
** files together so much is kept as there is room for: what does not fit is not known, either.
*/
#ifndef LUAHEAP_SYMBOLS_H
#define LUAHEAP_SYMBOLS_H

#include <elf.h>

#include "outside.h"

/* What a program has of symbols and constants takes megabytes. */
#define LH_SYMBOLS_ROOM (256u << 20)

/* The first page of a mapped ELF file, as far as it is known: its headers. */
typedef struct lh_first_page {
  size_t n;
  union {
    Elf64_Ehdr header;
    uint8_t bytes[4096];
  };
} lh_first_page;

/* Of 64 bits. */
bool lh_is_elf(const lh_first_page *first);

/* The i-th program header; false: it is not in that page. */
bool lh_program_header(const lh_first_page *first, unsigned i, Elf64_Phdr *header);

/* The functions of an ELF file, by the addresses that it gives them. */
typedef struct lh_symbol_table lh_symbol_table;

/* Of an open ELF file of this machine's kind, which stays the caller's: its symbols, those of the
** separate file of debug information that belongs to it, in usr/lib/debug below one of these roots
** (NULL ends the list), or its packed ones. An empty table where there are none, or memory runs
** out. What is kept takes of *room. */
lh_symbol_table *lh_symbol_table_read(int fd, const char *const *roots, uint64_t *room);

/* The name of the function that begins at an address; NULL: none does. It is not ended by a zero
** but by *n. O(log n). */
const char *lh_symbol_at(const lh_symbol_table *table, uint64_t address, size_t *n);
void lh_symbol_table_free(lh_symbol_table *table); /* may be NULL */

#endif
