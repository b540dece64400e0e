/*
** plot.h - what plot.c and svg.c share: how a site and a time are told.
*/
#ifndef LUAHEAP_HEAPPROF_PLOT_H
#define LUAHEAP_HEAPPROF_PLOT_H

#include "heapprof.h"
#include "luaheap_usage.h"

/* "@app.lua:31 in f", "12 other lines", "no Lua function". Freed by lh_free. */
char *plot_site_text(const lh_timeline_site *site);

/* 4.200, in any locale. */
void plot_seconds(FILE *out, uint64_t ns);

void print_svg(const lh_timeline *timeline);

#endif
