/*
** cuts.c - what --cut would give back (lib/report/cut.c); and if the object stays, what holds it
** still.
*/
#include "heappath.h"

/* Of one cut that leads to one object, that is the object that people mean. */
static void choose_subject(const request *r, subject *s) {
  const lh_without *what = &r->cuts[0].what;
  lh_id id = LH_NO_OBJECT;
  for (size_t i = 0; i < what->n_edges; i++) {
    if (what->edges[i].kind == LH_EDGE_KEY) continue;
    if (id != LH_NO_OBJECT && id != what->edges[i].target) return;
    id = what->edges[i].target;
  }
  if (r->asked.n_cuts != 1 || id == LH_NO_OBJECT || !lh_is_reachable(s->snapshot, id)) return;
  s->id = id;
  s->found = (lh_found){id, 1, UINT32_MAX};
  s->text = describe(s->snapshot, id);
}

static void print_what_holds(cli *c, const subject *s) {
  lh_independent found = find_independent(c, s);
  char *text = independent_text(c, s, &found);
  if (found.n == 1)
    printf("\none path still holds it:\n");
  else
    printf("\n%s still hold it:\n", text);
  print_independent(c, s, &found, 0);
  if (found.n == 1) print_junction(c, s, true);
  free(text);
  lh_independent_free(&found);
}

void answer_cuts(cli *c, const request *r, subject *s, cli_json *w) {
  if (s->id == LH_NO_OBJECT && !r->asked.each) choose_subject(r, s);
  lh_request asked = request_about(r, s);
  if (c->json && s->id != LH_NO_OBJECT) json_subject(w, s);
  if (c->json) tell_asked(c, w, r, s);
  if (lh_object_count(s->snapshot) > 1000000) cli_progress(c, "cutting");
  if (cli_answer(c, w, "cut", s->snapshot, r->file, &asked)) return;
  leave_out(c, r, s->snapshot, true);
  if (c->json) {
    lh_independent found = find_independent(c, s);
    json_independent(c, w, s, &found);
    lh_independent_free(&found);
  } else {
    print_what_holds(c, s);
  }
}
