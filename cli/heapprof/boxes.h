/* boxes.h - names of lines and functions in other tools' form, on one line; Memory Blueprint. */
#pragma once

#include "cli.h"

/* dot needs minutes for more arrows, and they hide each other. */
enum { USUAL_BOXES = 40, MOST_ARROWS = 4000 };

/* Prints the first `limit` functions (0: all) and their calls as DOT; `graph` must have C
** functions. Returns the number of arrows; beyond MOST_ARROWS it prints nothing. */
size_t print_boxes(FILE *out, const lh_usage *usage, const lh_usage_calls *graph, size_t limit);

/* "@app.lua:31"; "INTERNAL" if no Lua function allocated. Freed by lh_free. */
char *line_text(const lh_line *line);

/* "f (app.lua:7)", "main chunk (app.lua)", "string.rep [C]", "? [C]" for the host, or
** "(unattributed)". Freed by free. */
char *function_text(const lh_sites *sites, const lh_function_usage *function);
