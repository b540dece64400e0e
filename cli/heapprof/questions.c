/*
** questions.c - the modes that ask the library and print the answer: what a profile is and what is
** to be seen in it first; the tables of all that was allocated, of what lives, of what lived when
** the heap was biggest, and of what is never freed; who called whom for it; and what could be
** allocated less.
*/
#include <inttypes.h>

#include "boxes.h"
#include "heapprof.h"

enum { FIRST_ADVICE = 3 };

static void tell_overview(cli *c, const request *r, const lh_usage *usage) {
  request few = *r;
  if (!few.asked.has_limit) few.asked.limit = FIRST_ADVICE;
  cli_json w = {0};
  begin_json(c, &w, r, usage);
  answer(c, &w, r, "findings", &usage, 1);
  if (!c->json) {
    putchar('\n');
    answer(c, &w, r, "profile", &usage, 1);
    putchar('\n');
  }
  answer(c, &w, r, "allocations", &usage, 1);
  if (!c->json) putchar('\n');
  answer(c, &w, &few, "advice", &usage, 1);
  if (c->json) cli_json_close(&w, '}');
}

const mode overview_mode = {.n_files = 1,
                            .takes_moments = true,
                            .takes_by = true,
                            .peak = true,
                            .tell_counts = tell_overview};

const mode live_mode = {.name = "live",
                        .help = "what lives at the end, or at --until",
                        .n_files = 1,
                        .takes_moments = true,
                        .takes_by = true,
                        .question = "allocations",
                        .order = LH_MOST_LIVE};

const mode peak_mode = {.name = "peak",
                        .help = "what lived when the heap was biggest",
                        .n_files = 1,
                        .takes_moments = true,
                        .takes_by = true,
                        .question = "allocations",
                        .order = LH_MOST_AT_PEAK,
                        .peak = true};

/* Garbage that waits for the collector is never freed either, and no leak. */
static void tell_unsettled(const cli *c, const request *r, const lh_usage *usage) {
  static const char *const bys[] = {"site", "function", "type", "file", "stack"};
  uint64_t until;
  bool any = lh_live_bytes(&lh_usage_total(usage)->amounts) > 0;
  if (!any || !lh_usage_is_unsettled(usage, &until)) return;
  printf("\nWhat was allocated last may be garbage that no collection has freed yet");
  if (until == 0) {
    puts(", and all of this is as new as that:\na longer interval tells what leaks");
    return;
  }
  char *file = cli_shell_word(r->files[0]);
  bool by = cli_is_given(c, "by");
  printf(". Without that:\n    heapprof --leaks%s%s%s%s --until %" PRIu64 "KB %s%s\n",
         by ? " --by " : "", by ? bys[r->asked.by] : "", r->since != NULL ? " --since " : "",
         r->since != NULL ? r->since : "", until >> 10, *file == '-' ? "-- " : "", file);
  free(file);
}

static void tell_leaks(cli *c, const request *r, const lh_usage *usage) {
  tell_question(c, r, "allocations", usage);
  if (!c->json) tell_unsettled(c, r, usage);
}

/* What was allocated in the interval has until the profile's end to be freed. */
const mode leaks_mode = {.name = "leaks",
                         .help = "what was allocated in the interval and never freed",
                         .n_files = 1,
                         .takes_moments = true,
                         .takes_by = true,
                         .tell_counts = tell_leaks,
                         .order = LH_MOST_LIVE,
                         .to_the_end = true};

const mode calls_mode = {.name = "calls",
                         .help = "who called whom for what was allocated",
                         .n_files = 1,
                         .takes_moments = true,
                         .question = "calls"};

const mode advice_mode = {.name = "advice",
                          .help = "what could be allocated less, and how",
                          .n_files = 1,
                          .question = "advice"};

/* {=== Two profiles ================================================================= */

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

/* }=================================================================================== */

/* {=== Memory Blueprint ============================================================= */

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

/* }=================================================================================== */
