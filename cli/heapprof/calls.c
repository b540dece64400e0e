/*
** calls.c - the modes that tell who called whom for what was allocated, and what could be allocated
** less; one question of the library each.
*/
#include "heapprof.h"

static int tell_question(cli *c, const request *r, const char *question) {
  lh_usage *usage = count_profile(c, r, r->files[0], false);
  cli_json w = {0};
  begin_json(c, &w, r, usage);
  answer(c, &w, r, question, &(const lh_usage *){usage}, 1);
  if (c->json) cli_json_close(&w, '}');
  free_usage(usage);
  return CLI_DONE;
}

static int tell_calls(cli *c, const request *r) {
  return tell_question(c, r, "calls");
}

static int tell_advice(cli *c, const request *r) {
  return tell_question(c, r, "advice");
}

const mode calls_mode = {.name = "calls",
                         .help = "who called whom for what was allocated",
                         .least_files = 1,
                         .most_files = 1,
                         .takes_moments = true,
                         .run = tell_calls};

const mode advice_mode = {.name = "advice",
                          .help = "what could be allocated less, and how",
                          .least_files = 1,
                          .most_files = 1,
                          .run = tell_advice};
