/*
** referrers.c - all references to an object, those that keep nothing alive included: the answer is
** the library's (lib/report/referrers.c); here is the picture.
*/
#include "heappath.h"

/* Edges as paths of one step each, as the graph wants them. */
static void draw_edges(cli *c, const subject *s, lh_edge *edges, size_t n) {
  lh_path *paths = cli_must(malloc((n + 1) * sizeof *paths));
  lh_error error;
  for (size_t i = 0; i < n; i++) paths[i] = (lh_path){.n_steps = 1, .steps = &edges[i]};
  cli_check(c, lh_dot_paths(s->snapshot, paths, n, LONG_PICTURE, stdout, &error), NULL, &error);
  free(paths);
}

static void draw_referrers(cli *c, const request *r, const subject *s) {
  lh_edge *edges;
  size_t n;
  uint64_t total;
  lh_error error;
  cli_check(c, lh_some_referrers(s->snapshot, s->id, 0, r->asked.limit, &edges, &n, &total, &error),
            NULL, &error);
  draw_edges(c, s, edges, n);
  lh_free(edges);
}

void answer_referrers(cli *c, const request *r, const subject *s, cli_json *w) {
  lh_request asked = request_about(r, s);
  if (r->asked.has_limit || r->format != FORMAT_JSON) asked.limit = r->asked.limit;
  if (r->format == FORMAT_DOT)
    draw_referrers(c, r, s);
  else
    (void)cli_answer(c, w, "referrers", s->snapshot, r->file, &asked);
}
