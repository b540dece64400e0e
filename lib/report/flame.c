/*
** flame.c - what retains what, as a flame graph of references: from the root along folded paths, as
** wide as what hangs there retains; and how wide it was before.
*/
#include "report/tiles.h"

/* A frame is a line of text, so narrower ones are fewer, but paths are longer than trees of areas
** are deep. */
enum { USUAL_TILES = 600, USUAL_DEPTH = 60 };

static int ask(lh_snapshot *snapshot, const lh_request *request, void *out, lh_error *error) {
  return lh_ask_tiles(snapshot, request, LH_TREE_OF_PLACES, USUAL_TILES, USUAL_DEPTH, out, error);
}

const lh_question lh_flame_question = {.name = "flame",
                                       .answer = &lh_told_tiles_table,
                                       .main = "rows",
                                       .ask = ask,
                                       .whole = lh_whole_of_tiles,
                                       .free = lh_free_tiles,
                                       .tell = lh_tell_tiles};
