/*
** luaheap_view.h - a snapshot as pictures show it: data to draw from, of any part of a heap, in as
** many pieces as there is room for. What is left out of a picture is a piece of its own, so that
** each adds up to the byte.
**
** All of it is asked again and again while somebody looks around, of heaps of forty million
** objects: so what costs a pass over the heap is kept in the snapshot when it was first asked for,
** and a piece of it is then found without one.
*/
#ifndef LUAHEAP_PUBLIC_VIEW_H
#define LUAHEAP_PUBLIC_VIEW_H

#include "luaheap_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ==== 1. The timeline =============================================================== */

/* The axis itself, positions and intervals, is in luaheap_read.h. */

/* ==== 2. Trees: what retains what, by object, class, place or module ================ */

/* ==== 3. The map of addresses ======================================================= */

/* ==== 4. One object, page by page =================================================== */

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
