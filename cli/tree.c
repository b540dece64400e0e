/*
** tree.c - the lines that join the rows of a tree, which come in preorder. A row is the last of its
** level if none of that depth follows before a row that is less deep; where it is not, the line of
** that depth goes on beside all rows below it. Lines are drawn for the upper levels only, as many
** as LH_MOST_INDENTED: a row that is deeper says by how much, so a tree takes no more than its
** rows.
*/
#include <string.h>

#include "cli.h"

void cli_tree_begin(cli_tree *tree, size_t n) {
  *tree = (cli_tree){.n = n};
  tree->depths = cli_must(calloc(n + 1, sizeof *tree->depths));
}

/* follows[i]: does another row of that depth follow row i under the same row? From the last row to
** the first, more[d] says so of the rows that were seen; a row ends what is deeper. */
static void find_lines(cli_tree *tree) {
  uint32_t deepest = 0, open = 0; /* more[] is false beyond `open` */
  for (size_t i = 0; i < tree->n; i++)
    if (tree->depths[i] > deepest) deepest = tree->depths[i];
  tree->more = cli_must(calloc((size_t)deepest + 1, sizeof *tree->more));
  tree->follows = cli_must(calloc(tree->n + 1, sizeof *tree->follows));
  for (size_t i = tree->n; i-- > 0;) {
    uint32_t depth = tree->depths[i];
    for (; open > depth; open--) tree->more[open] = false;
    tree->follows[i] = tree->more[depth];
    tree->more[depth] = true;
    open = depth;
  }
}

char *cli_tree_line(const cli *c, cli_tree *tree, size_t at, const char *text) {
  static const char *const styles[2][4] = {{"|  ", "   ", "|- ", "`- "},
                                           {"\u2502  ", "   ", "\u251C\u2500 ", "\u2514\u2500 "}};
  const char *const *lines = styles[c->unicode];
  uint32_t depth = tree->depths[at], drawn = depth < LH_MOST_INDENTED ? depth : LH_MOST_INDENTED;
  char *line = cli_must(malloc(strlen(text) + 9 * (size_t)drawn + 64)), *end = line;
  if (tree->more == NULL) find_lines(tree);
  tree->more[depth] = tree->follows[at];
  for (uint32_t d = 1; d <= drawn; d++) end = stpcpy(end, lines[(d == drawn) * 2 + !tree->more[d]]);
  if (depth > drawn) end += sprintf(end, "(%s deeper) ", lh_count_text(depth - drawn).text);
  strcpy(end, text);
  return line;
}

void cli_tree_end(cli_tree *tree) {
  free(tree->depths);
  free(tree->more);
  free(tree->follows);
}
