/*
** luaheap_all.h - all headers that the rooms of lib/ have for each other, for cli/ and for lua/.
**
**     luaheap_read.h      opening a snapshot; its objects, edges and allocation sites
**     luaheap_take.h      in the program that runs Lua: snapshots, marks, watchers, tracking
**     luaheap_graph.h     retained sizes, classes and names, paths, finding
**     luaheap_analyses.h  analyses of one snapshot: leaks, owners, waste; pictures
**     luaheap_compare.h   two or more snapshots: what is new, and what grows
**     luaheap_profile.h   what a tracked program allocated and freed, in order, also while it runs
**     luaheap_usage.h     sums of a profile: by site, line and type, over time; calls
**     luaheap_report.h    answers as data, and as text
**
** They are not installed: luaheap.h is. Its conventions hold here, too. Results that are borrowed
** live as long as the snapshot. A function that returns a char * returns a text for lh_free, or
** NULL: out of memory. n is the number of objects, m the number of edges. The only globals are a
** list for a signal handler (lh_watch) and one for the end of the process (lh_track).
*/
#ifndef LUAHEAP_ALL_H
#define LUAHEAP_ALL_H

#include "luaheap_analyses.h"
#include "luaheap_compare.h"
#include "luaheap_graph.h"
#include "luaheap_profile.h"
#include "luaheap_read.h"
#include "luaheap_report.h"
#include "luaheap_take.h"
#include "luaheap_usage.h"

#endif
