/*
** boxes.h - lines and functions as other tools call them, printable and on one line; and what
** heapprof --blueprint prints and heapview draws.
*/
#ifndef LUAHEAP_HEAPPROF_BOXES_H
#define LUAHEAP_HEAPPROF_BOXES_H

#include "cli.h"

/* dot needs minutes for more arrows, and nobody sees one of them. */
enum { USUAL_BOXES = 40, MOST_ARROWS = 4000 };

/* The first `limit` functions (0: all) and their calls as DOT; the graph has C functions as
** functions of their own. Returns how many arrows that are: nothing is printed of more than
** MOST_ARROWS. */
size_t print_boxes(FILE *out, const lh_usage *usage, const lh_usage_calls *graph, size_t limit);

/* "@app.lua:31"; "INTERNAL" where no Lua function allocated. Freed by lh_free. */
char *line_text(const lh_line *line);

/* "f (app.lua:7)", "main chunk (app.lua)", "string.rep [C]", "? [C]" of the host, and
** "(unattributed)". Freed by free. */
char *function_text(const lh_sites *sites, const lh_function_usage *function);

#endif
