/*
** blueprint.c - Memory Blueprint: functions and calls, as DOT for Graphviz (boxes.c).
*/
#include "boxes.h"
#include "modes.h"

static int run(cli *c, const request *r) {
  lh_usage *usage = count_profile(c, r, r->files[0], false);
  size_t limit = r->asked.has_limit ? r->asked.limit : USUAL_BOXES;
  lh_calls_query query = {.c_functions = true};
  lh_usage_calls graph;
  lh_error error;
  cli_check(c, lh_usage_calls_find(usage, &query, &graph, &error), r->files[0], &error);
  size_t n_arrows = print_boxes(stdout, usage, &graph, limit);
  if (n_arrows > MOST_ARROWS)
    cli_die(c, NULL,
            "%s: %zu arrows are too many for a picture, which may have %d: ask for fewer functions"
            " by -n",
            r->files[0], n_arrows, MOST_ARROWS);
  lh_usage_calls_free(&graph);
  free_usage(usage);
  return CLI_DONE;
}

const mode blueprint_mode = {.name = "blueprint",
                             .help = "Memory Blueprint: functions and calls, as DOT for Graphviz",
                             .least_files = 1,
                             .most_files = 1,
                             .takes_moments = true,
                             .has_no_json = true,
                             .run = run};
