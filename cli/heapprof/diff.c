/*
** diff.c - the mode that compares two profiles, site by site.
*/
#include "heapprof.h"

static int tell_diff(cli *c, const request *r) {
  lh_usage *usages[2];
  cli_json w = {0};
  for (size_t i = 0; i < 2; i++) usages[i] = count_profile(c, r, r->files[i]);
  if (c->json) cli_json_open(&w, NULL, '{');
  answer(c, &w, r, "allocation_changes", (const lh_usage *[]){usages[0], usages[1]}, 2);
  if (c->json) cli_json_close(&w, '}');
  for (size_t i = 0; i < 2; i++) free_usage(usages[i]);
  return CLI_DONE;
}

const mode diff_mode = {.name = "diff",
                        .help = "which sites allocate more in NEW than in OLD, which less",
                        .n_files = 2,
                        .takes_moments = true,
                        .run = tell_diff};
