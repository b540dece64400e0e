/*
** luaheap.h - take snapshots of a Lua 5.4 heap, and analyse them.
**
** The life of a snapshot:
**
**     in the program        lh_attach(L)  lh_take_snapshot(L, "a")  lh_mark(L, "level 2")
**     on any machine        lh_open("a") -> lh_analyse -> classes, paths, diff -> lh_close
**
** The two halves share nothing but the file. There is a header for each step, and this one has them
** all:
**
**     luaheap_read.h      errors; opening a snapshot; its objects and edges
**     luaheap_sites.h     where objects were allocated, of a program that was tracked
**     luaheap_take.h      in the program that runs Lua: snapshots, marks, watchers, its own objects
**     luaheap_track.h     in the same place: where each object is allocated
**     luaheap_graph.h     retained sizes, classes and names, paths, finding
**     luaheap_analyses.h  what one snapshot can tell: what leaks, who owns what, waste; pictures
**     luaheap_compare.h   two, three and any number of snapshots: what is new, and what grows
**     luaheap_profile.h   what a tracked program allocated and freed, in order
**     luaheap_tracked.h   the same of a program that is running
**     luaheap_usage.h     what a profile tells: who allocated how much, and what became of it; its
**                         sums by line, by type and over time
**     luaheap_report.h    the answers as data, and the words for them
**
** Conventions. A function that can fail returns 0 or a negative LH_E... code and fills the caller's
** lh_error (which may be NULL). Results through `**out` or a `*out` of arrays are owned by the
** caller and freed by the function that is named there; everything else is borrowed and lives as
** long as the snapshot. The library never prints, exits, aborts or keeps globals, but for a list
** that a signal handler needs (lh_watch) and one for the end of the process (lh_track). A snapshot
** may be used by one thread at a time. A Lua state is read in the thread that runs it: one that
** another thread is running is out of bounds, whatever is done; two states in two threads are no
** concern of each other's. n stands for the number of objects, m for that of edges.
*/
#ifndef LUAHEAP_H
#define LUAHEAP_H

#include "luaheap_analyses.h"
#include "luaheap_compare.h"
#include "luaheap_graph.h"
#include "luaheap_profile.h"
#include "luaheap_read.h"
#include "luaheap_report.h"
#include "luaheap_sites.h"
#include "luaheap_take.h"
#include "luaheap_track.h"
#include "luaheap_tracked.h"
#include "luaheap_usage.h"

#define LH_VERSION "0.1.0"

#endif
