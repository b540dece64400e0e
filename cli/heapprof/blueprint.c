/*
** blueprint.c - Memory Blueprint: functions and calls, as DOT for Graphviz (boxes.c).
*/
#include "boxes.h"
#include "heapprof.h"

static void print_blueprint(cli *c, const request *r, const lh_usage *usage) {
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
}

const mode blueprint_mode = {.name = "blueprint",
                             .help = "Memory Blueprint: functions and calls, as DOT for Graphviz",
                             .n_files = 1,
                             .takes_moments = true,
                             .has_no_json = true,
                             .tell_counts = print_blueprint};
