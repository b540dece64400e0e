/*
** part.c - the usage of a profile that a question is about: all of it, or what was allocated in a
** part of its time and what became of that until the end. The last part that was asked for is kept,
** since a page asks several questions about it; to count it takes one or two replays of the events.
*/
#include <string.h>

#include "parameters.h"

static int take_moment(view_asked *asked, const char *key, lh_moment *moment) {
  const char *value = view_parameter_of(asked->question, key);
  if (value == NULL) return LH_OK;
  moment->unit = LH_MOMENT_TIME;
  if (cli_read_number(value, &moment->n)) return LH_OK;
  return view_refuse(asked->error, "%s needs nanoseconds, not '%.64s'", key, value);
}

static bool is_open(const lh_usage_query *query) {
  return query->since.unit == LH_MOMENT_OPEN && query->until.unit == LH_MOMENT_OPEN;
}

static bool is_same(const lh_usage_query *a, const lh_usage_query *b) {
  return a->since.unit == b->since.unit && a->since.n == b->since.n &&
         a->until.unit == b->until.unit && a->until.n == b->until.n;
}

int view_take_part(view_asked *asked, const lh_usage **out) {
  view *v = asked->v;
  lh_usage_query query = {.to_the_end = true, .peak = true};
  int code = take_moment(asked, "made_since", &query.since);
  if (code == LH_OK) code = take_moment(asked, "made_until", &query.until);
  if (code != LH_OK) return code;
  *out = v->usage;
  if (is_open(&query)) return LH_OK;
  if (v->part == NULL || !is_same(&query, lh_usage_asked(v->part))) {
    lh_usage_free(v->part);
    v->part = NULL;
    code = lh_usage_new(&v->part, lh_usage_profile(v->usage), &query, asked->error);
  }
  *out = v->part;
  return code;
}
