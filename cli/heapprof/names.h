/*
** names.h - lines and functions as memprof and lmprof call them, printable and on one line.
*/
#ifndef LUAHEAP_HEAPPROF_NAMES_H
#define LUAHEAP_HEAPPROF_NAMES_H

#include "cli.h"
#include "luaheap_usage.h"

/* "@app.lua:31"; "INTERNAL" where no Lua function allocated. Freed by lh_free. */
char *line_text(const lh_line *line);

/* "f (app.lua:7)", "main chunk (app.lua)", "string.rep [C]", "? [C]" of the host, and
** "(unattributed)". Freed by free. */
char *function_text(const lh_sites *sites, const lh_function_usage *function);

#endif
