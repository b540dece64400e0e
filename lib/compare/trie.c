/*
** trie.c - a tree whose edges are labelled with numbers (see compare.h).
*/
#include "compare.h"

/* A longer way is not looked through for a label that comes again, nor made longer: what would be
** below its last vertex is beside it. */
enum { MAX_DEPTH = 256 };

bool lh_trie_begin(lh_trie *trie) {
  *trie = (lh_trie){.n = 0};
  if (!lh_grow(&trie->vertices, 0, &trie->capacity, sizeof *trie->vertices)) return false;
  trie->vertices[trie->n++] = (lh_vertex){.label = LH_NO_NUMBER};
  return true;
}

void lh_trie_free(lh_trie *trie) {
  lh_free(trie->vertices);
  lh_map_free(&trie->steps);
}

static uint32_t find_label_above(const lh_trie *trie, uint32_t vertex, uint32_t label) {
  for (; vertex != 0; vertex = trie->vertices[vertex].above)
    if (trie->vertices[vertex].label == label) return vertex;
  return LH_NO_NUMBER;
}

uint32_t lh_trie_step(lh_trie *trie, uint32_t vertex, uint32_t label) {
  if (trie->vertices[vertex].depth == MAX_DEPTH && trie->vertices[vertex].label != label)
    vertex = trie->vertices[vertex].above;
  uint32_t *step = lh_map_at(&trie->steps, (uint64_t)vertex << 32 | label);
  if (!step) return LH_NO_NUMBER;
  if (*step != LH_NO_NUMBER) return *step;
  uint32_t found = find_label_above(trie, vertex, label);
  if (found == LH_NO_NUMBER) {
    if (!lh_grow(&trie->vertices, trie->n, &trie->capacity, sizeof *trie->vertices))
      return LH_NO_NUMBER;
    found = (uint32_t)trie->n;
    trie->vertices[trie->n++] =
        (lh_vertex){.above = vertex, .label = label, .depth = trie->vertices[vertex].depth + 1};
  }
  *step = found;
  return found;
}
