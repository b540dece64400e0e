/*
** allocations.c - the modes that tell who allocated: what a profile is and what is to be seen in
** it first; and the tables of all that was allocated, of what lives, of what lived when the heap
** was biggest, and of what is never freed.
*/
#include "heapprof.h"

enum { FIRST_ADVICE = 3 };

static int tell_overview(cli *c, const request *r) {
  lh_usage *usage = count_profile(c, r, r->files[0], true);
  const lh_usage *asked = usage;
  request few = *r;
  if (!few.asked.has_limit) few.asked.limit = FIRST_ADVICE;
  cli_json w = {0};
  begin_json(c, &w, r, usage);
  answer(c, &w, r, "findings", &asked, 1);
  if (!c->json) {
    putchar('\n');
    answer(c, &w, r, "profile", &asked, 1);
    putchar('\n');
  }
  answer(c, &w, r, "allocations", &asked, 1);
  if (!c->json) putchar('\n');
  answer(c, &w, &few, "advice", &asked, 1);
  if (c->json) cli_json_close(&w, '}');
  free_usage(usage);
  return CLI_DONE;
}

static int tell_table(cli *c, const request *r, lh_usage_order order) {
  request asked = *r;
  asked.asked.order = order;
  lh_usage *usage = count_profile(c, &asked, r->files[0], order == LH_MOST_AT_PEAK);
  cli_json w = {0};
  begin_json(c, &w, &asked, usage);
  answer(c, &w, &asked, "allocations", &(const lh_usage *){usage}, 1);
  if (c->json) cli_json_close(&w, '}');
  free_usage(usage);
  return CLI_DONE;
}

static int tell_live(cli *c, const request *r) {
  return tell_table(c, r, LH_MOST_LIVE);
}

static int tell_peak(cli *c, const request *r) {
  return tell_table(c, r, LH_MOST_AT_PEAK);
}

/* What was allocated in the interval has until the profile's end to be freed. */
static int tell_leaks(cli *c, const request *r) {
  request asked = *r;
  asked.query.to_the_end = true;
  return tell_table(c, &asked, LH_MOST_LIVE);
}

const mode overview_mode = {.least_files = 1,
                            .most_files = 1,
                            .takes_moments = true,
                            .takes_by = true,
                            .run = tell_overview};

const mode live_mode = {.name = "live",
                        .help = "what lives at the end, or at --until",
                        .least_files = 1,
                        .most_files = 1,
                        .takes_moments = true,
                        .takes_by = true,
                        .run = tell_live};

const mode peak_mode = {.name = "peak",
                        .help = "what lived when the heap was biggest",
                        .least_files = 1,
                        .most_files = 1,
                        .takes_moments = true,
                        .takes_by = true,
                        .run = tell_peak};

const mode leaks_mode = {.name = "leaks",
                         .help = "what was allocated in the interval and never freed",
                         .least_files = 1,
                         .most_files = 1,
                         .takes_moments = true,
                         .takes_by = true,
                         .run = tell_leaks};
