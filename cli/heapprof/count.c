/*
** count.c - runs a mode: opens a profile, counts what is in it, and asks the library about that;
** and says meanwhile what is being done if that takes longer than a person notices (a million
** events: a tenth of a second).
*/
#include <string.h>

#include "heapprof.h"

enum { SLOW_EVENTS = 2000000 };

static lh_profile *open_profile(cli *c, const char *file) {
  lh_profile *profile;
  lh_error error;
  cli_progress(c, "reading %s", file);
  cli_limit_output(file);
  int code = lh_profile_open(file, &profile, &error);
  cli_progress(c, NULL);
  cli_check(c, code, NULL, &error); /* the message names it */
  return profile;
}

lh_usage *count_profile(cli *c, const request *r, const char *file) {
  lh_profile *profile = open_profile(c, file);
  lh_usage *usage;
  lh_error error;
  uint64_t events = lh_profile_about(profile)->n_events;
  if (events > SLOW_EVENTS)
    cli_progress(c, "%s: counting %s", file, lh_count_of(events, "event", "events").text);
  int code = lh_usage_new(&usage, profile, &r->query, &error);
  if (code == LH_OK) code = lh_usage_check_interval(usage, &error);
  cli_progress(c, NULL);
  cli_check(c, code, file, &error);
  return usage;
}

void free_usage(lh_usage *usage) {
  lh_profile *profile = lh_usage_profile(usage);
  lh_usage_free(usage);
  lh_profile_close(profile);
}

/* In JSON all rows, unless -n says otherwise. */
void answer(cli *c, cli_json *w, const request *r, const char *question,
            const lh_usage *const *usages, size_t n) {
  lh_request asked = r->asked;
  if (c->json && !asked.has_limit) asked.limit = 0;
  asked.usages = usages;
  asked.n_usages = n;
  asked.names = (const char *const *)r->files;
  asked.n_names = r->n_files;
  (void)cli_answer(c, w, question, NULL, r->files[0], &asked);
}

void begin_json(cli *c, cli_json *w, const request *r, const lh_usage *usage) {
  if (!c->json) return;
  cli_json_open(w, NULL, '{');
  cli_json_open(w, "profile", '{');
  answer(c, w, r, "profile", &usage, 1);
  cli_json_close(w, '}');
}

void tell_question(cli *c, const request *r, const char *question, const lh_usage *usage) {
  cli_json w = {0};
  begin_json(c, &w, r, usage);
  answer(c, &w, r, question, &usage, 1);
  if (c->json) cli_json_close(&w, '}');
}

int run_mode(cli *c, const request *r) {
  const mode *m = r->mode;
  if (m->run != NULL) return m->run(c, r);
  if (m->tell_profile != NULL) {
    lh_profile *profile = open_profile(c, r->files[0]);
    m->tell_profile(c, r, profile);
    lh_profile_close(profile);
  } else {
    lh_usage *usage = count_profile(c, r, r->files[0]);
    if (m->question != NULL)
      tell_question(c, r, m->question, usage);
    else
      m->tell_counts(c, r, usage);
    free_usage(usage);
  }
  return CLI_DONE;
}
