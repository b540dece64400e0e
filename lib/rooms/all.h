/*
** all.h - all headers that the rooms of lib/ have for each other, for cli/ and for lua/.
**
**     read.h      opening a snapshot; its objects, edges and allocation sites
**     take.h      in the program that runs Lua: snapshots, marks, watchers, tracking
**     graph.h     retained sizes, classes and names, paths, finding
**     analyses.h  analyses of one snapshot: leaks, owners, waste; pictures
**     compare.h   two or more snapshots: what is new, and what grows
**     profile.h   what a tracked program allocated and freed, in order, also while it runs
**     usage.h     sums of a profile: by site, line and type, over time; calls
**     report.h    answers as data, and as text
**
** They are not installed: luaheap.h is. Its conventions hold here, too. Results that are borrowed
** live as long as the snapshot. A function that returns a char * returns a text for lh_free, or
** NULL: out of memory. n is the number of objects, m the number of edges. The only globals are a
** list for a signal handler (lh_watch) and one for the end of the process (lh_track).
*/
#pragma once

#include "rooms/analyses.h"
#include "rooms/compare.h"
#include "rooms/graph.h"
#include "rooms/profile.h"
#include "rooms/read.h"
#include "rooms/report.h"
#include "rooms/take.h"
#include "rooms/usage.h"
