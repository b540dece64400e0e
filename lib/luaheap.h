/*
** luaheap.h - takes snapshots of a heap of Lua 5.4 or 5.5, and analyses them. Includes all other
** headers.
**
**     in the program        lh_attach(L)  lh_take_snapshot(L, "a")  lh_mark(L, "level 2")
**     on any machine        lh_open("a") -> lh_analyse -> classes, paths, diff -> lh_close
**
** The two halves share only the file.
**
**     luaheap_read.h      errors; opening a snapshot; its objects, edges and allocation sites
**     luaheap_take.h      in the program that runs Lua: snapshots, marks, watchers, tracking
**     luaheap_graph.h     retained sizes, classes and names, paths, finding
**     luaheap_analyses.h  analyses of one snapshot: leaks, owners, waste; pictures
**     luaheap_compare.h   two or more snapshots: what is new, and what grows
**     luaheap_profile.h   what a tracked program allocated and freed, in order, also while it runs
**     luaheap_usage.h     sums of a profile: by site, line and type, over time; calls
**     luaheap_report.h    answers as data, and as text
**
** Conventions. A function that can fail returns 0 or a negative LH_E... code, and fills the
** caller's lh_error, which may be NULL. Any of them may return LH_EMEMORY, listed or not. The
** caller owns results through `**out` or a `*out` of arrays, and frees them by the function named
** there. A function that returns a char * returns a text for lh_free, or NULL: out of memory. All
** other results are borrowed and live as long as the snapshot. n is the number of objects, m the
** number of edges.
**
** The library never prints, exits or aborts. Its only globals are a list for a signal handler
** (lh_watch) and one for the end of the process (lh_track). Only one thread at a time may use a
** snapshot. A Lua state may be read only in the thread that runs the state. Two states in two
** threads do not affect each other.
*/
#ifndef LUAHEAP_H
#define LUAHEAP_H

#include "luaheap_analyses.h"
#include "luaheap_compare.h"
#include "luaheap_graph.h"
#include "luaheap_profile.h"
#include "luaheap_read.h"
#include "luaheap_report.h"
#include "luaheap_take.h"
#include "luaheap_usage.h"

#define LH_VERSION "0.1.0"

#endif
