/*
** held.c - how one object of the biggest group is held, where the row does not say all: by two
** paths, so that a cut of the one that it names would not free it. Three searches through the heap,
** for one group alone.
*/
#include "heapdiff.h"

/* What holds an object independently, or the variable that it is in: two paths at most. */
static bool find_ways(cli *c, lh_snapshot *snapshot, lh_id id, lh_independent *out) {
  lh_error error;
  lh_id junction;
  cli_check(c, lh_find_independent(snapshot, id, 2, out, &error), NULL, &error);
  if (out->n > 1) return true;
  const lh_path *path = &out->paths[0];
  lh_id last = path->steps[path->n_steps - 1].source;
  lh_independent_free(out);
  int code = lh_find_junction(snapshot, id, 2, &junction, out, &error);
  if (code == LH_ENOTFOUND) return false;
  cli_check(c, code, NULL, &error);
  if (junction == last && lh_type_of(snapshot, last) == LH_TYPE_UPVALUE) return true;
  lh_independent_free(out);
  return false;
}

void print_how_held(cli *c, lh_snapshot *snapshot, lh_id id) {
  lh_independent ways;
  if (!lh_is_reachable(snapshot, id) || lh_distance(snapshot, id) > LH_LONG_PATH) return;
  if (!find_ways(c, snapshot, id, &ways)) return;
  char *path = cli_path_told(snapshot, &ways.paths[0], false);
  char *other = cli_path_told(snapshot, &ways.paths[1], false);
  printf("%sOf the first group, %s is held by %s, and also by %s%s\n", cli_style_on(c, CLI_FAINT),
         cli_address(c, snapshot, id), path, other, cli_style_off(c));
  free(other);
  free(path);
  lh_independent_free(&ways);
}
