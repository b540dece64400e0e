/*
** modes.h - reports of a profile as other tools print them, for eyes and scripts that know those:
**
**     memprof.c          LuaJIT's memprof (luajit-parse-memprof)
**     lmprof.c           lmprof's flat and call-graph profile
**     luamemprofiler.c   luamemprofiler's final report
**     blueprint.c        Memory Blueprint, as DOT
**     plot.c, svg.c      memory over time, by site
**     live*.c            a running program, by type and site, looked at again and again
**
** What is counted is the library's (luaheap_tally.h, luaheap_usage.h).
*/
#ifndef LUAHEAP_HEAPPROF_MODES_H
#define LUAHEAP_HEAPPROF_MODES_H

#include "heapprof.h"
#include "luaheap_tally.h"
#include "names.h"

/* The profile that was asked for is opened, and closed again. */
typedef void print_profile(cli *c, lh_profile *profile, const request *r);
int print_by(cli *c, const request *r, print_profile *print);

#endif
