/*
** treemap.c - what retains what, as areas: a tree of dominators by object, class, place or module.
*/
#include "report/tiles.h"

/* As many as somebody can tell apart, and levels as can be drawn inside each other. */
enum { USUAL_TILES = 400, USUAL_DEPTH = 8 };

static int ask(lh_snapshot *snapshot, const lh_request *request, void *out, lh_error *error) {
  return lh_ask_tiles(snapshot, request, request->tree, USUAL_TILES, USUAL_DEPTH, out, error);
}

const lh_question lh_treemap_question = {.name = "treemap",
                                         .answer = &lh_told_tiles_table,
                                         .main = "rows",
                                         .ask = ask,
                                         .whole = lh_whole_of_tiles,
                                         .free = lh_free_tiles,
                                         .tell = lh_tell_tiles};
