/*
** tree.c - the lines that join the rows of a tree, which come in preorder. A row is the last of its
** level if none of that depth follows before a row that is less deep; where it is not, the line of
** that depth goes on beside all rows below it.
*/
#include <string.h>

#include "cli.h"

void cli_tree_begin(cli_tree *tree, size_t n) {
  *tree = (cli_tree){.n = n};
  tree->depths = cli_must(calloc(n + 1, sizeof *tree->depths));
}

/* more[d]: does another row of depth d follow under the same row? */
static void find_lines(cli_tree *tree, size_t at) {
  uint32_t depth = tree->depths[at];
  tree->more[depth] = false;
  for (size_t i = at + 1; i < tree->n && tree->depths[i] >= depth && !tree->more[depth]; i++)
    tree->more[depth] = tree->depths[i] == depth;
}

static void make_room(cli_tree *tree) {
  uint32_t deepest = 0;
  for (size_t i = 0; i < tree->n; i++)
    if (tree->depths[i] > deepest) deepest = tree->depths[i];
  tree->more = cli_must(calloc((size_t)deepest + 1, sizeof *tree->more));
}

char *cli_tree_line(const cli *c, cli_tree *tree, size_t at, const char *text) {
  static const char *const drawn[2][4] = {{"|  ", "   ", "|- ", "`- "},
                                          {"\u2502  ", "   ", "\u251C\u2500 ", "\u2514\u2500 "}};
  const char *const *lines = drawn[c->unicode];
  uint32_t depth = tree->depths[at];
  char *line = cli_must(malloc(strlen(text) + 9 * (size_t)depth + 1)), *end = line;
  if (tree->more == NULL) make_room(tree);
  find_lines(tree, at);
  for (uint32_t d = 1; d <= depth; d++) end = stpcpy(end, lines[(d == depth) * 2 + !tree->more[d]]);
  strcpy(end, text);
  return line;
}

void cli_tree_end(cli_tree *tree) {
  free(tree->depths);
  free(tree->more);
}
