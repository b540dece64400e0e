/*
** cuts.c - what --cut would give back: all cuts together; with --what-if each alone, too, and what
** only all together free; and if the object stays, what holds it still.
*/
#include <string.h>

#include "heappath.h"

typedef struct outcome {
  lh_freed *alone, together, only_together;
} outcome;

/* Of one cut that leads to one object, that is the object that people mean. */
static void choose_subject(cli *c, const request *r, subject *s) {
  const lh_without *what = &r->cuts[0].what;
  lh_id id = LH_NO_OBJECT;
  for (size_t i = 0; i < what->n_edges; i++) {
    if (what->edges[i].kind == LH_EDGE_KEY) continue;
    if (id != LH_NO_OBJECT && id != what->edges[i].target) return;
    id = what->edges[i].target;
  }
  if (r->n_cuts != 1 || id == LH_NO_OBJECT || !lh_is_reachable(s->snapshot, id)) return;
  s->id = id;
  s->found = (lh_found){id, 1, UINT32_MAX};
  s->text = describe(c, s->snapshot, id);
}

static outcome find_outcome(cli *c, const request *r, const subject *s) {
  lh_without *cuts = cli_must(malloc(r->n_cuts * sizeof *cuts));
  outcome o = {.alone = cli_must(malloc(r->n_cuts * sizeof *o.alone))};
  lh_error error;
  for (size_t i = 0; i < r->n_cuts; i++) cuts[i] = r->cuts[i].what;
  if (lh_object_count(s->snapshot) > 1000000) cli_progress(c, "cutting");
  cli_check(c,
            lh_what_if(s->snapshot, cuts, r->n_cuts, s->id, o.alone, &o.together, &o.only_together,
                       &error),
            NULL, &error);
  cli_progress(c, NULL);
  free(cuts);
  return o;
}

/* {=== Text =========================================================================== */

/* cutting _G.cache frees 1.1 MB, 1,203 objects, but not Listener 0x55d0c0a3f2e0 */
static void print_headline(cli *c, const request *r, const subject *s, const lh_freed *freed) {
  char *cut = gone_text(c, &r->cuts[0]);
  printf("%s", cli_style_on(c, CLI_BOLD));
  if (r->n_cuts == 1)
    printf("cutting %s", cut);
  else if (r->n_cuts == 2)
    printf("making both cuts");
  else
    printf("making all %s cuts", cli_count(c, r->n_cuts));
  if (freed->objects == 0)
    printf(" frees nothing");
  else
    printf(" frees %s, %s", cli_size(c, freed->bytes),
           cli_count_of(c, freed->objects, "object", "objects"));
  if (s->id != LH_NO_OBJECT && freed->objects == 0)
    printf(": %s is still alive", s->text);
  else if (s->id != LH_NO_OBJECT)
    printf(", %s %s", freed->frees_it ? "with them" : "but not", s->text);
  printf("%s\n", cli_style_off(c));
  free(cut);
}

static void row(cli *c, const subject *s, const lh_freed *freed, const char *text, cli_style style,
                cli_table *table) {
  const char *frees_it = s->id == LH_NO_OBJECT ? text : freed->frees_it ? "yes" : "no";
  const char *cells[] = {cli_size(c, freed->bytes), cli_count(c, freed->objects), frees_it, text};
  cli_table_row(table, cells, style);
}

static void print_table(cli *c, const request *r, const subject *s, const outcome *o) {
  static const cli_column columns[] = {
      {"frees", CLI_RIGHT}, {"objects", CLI_RIGHT}, {"frees it", CLI_LEFT}, {"cut", CLI_WRAP}};
  static const cli_column without_object[] = {
      {"frees", CLI_RIGHT}, {"objects", CLI_RIGHT}, {"cut", CLI_WRAP}};
  bool plain = s->id == LH_NO_OBJECT;
  cli_table *table = cli_table_new(c, plain ? without_object : columns, plain ? 3 : 4);
  putchar('\n');
  for (size_t i = 0; i < r->n_cuts; i++) {
    char *text = gone_text(c, &r->cuts[i]);
    row(c, s, &o->alone[i], text, CLI_PLAIN, table);
    free(text);
  }
  if (r->n_cuts > 1) {
    const char *cells[] = {cli_size(c, o->only_together.bytes),
                           cli_count(c, o->only_together.objects), "", "", NULL};
    row(c, s, &o->together, "all together", CLI_BOLD, table);
    cells[plain ? 2 : 3] = "what only all together free";
    if (o->only_together.objects > 0) cli_table_row(table, cells, CLI_FAINT);
  }
  cli_table_print(table);
}

static void print_what_holds(cli *c, const subject *s) {
  lh_independent found = find_independent(c, s);
  char *text = independent_text(c, s, &found);
  if (found.n == 1)
    printf("\none path still holds it:\n");
  else
    printf("\n%s still hold it:\n", text);
  print_independent(c, s, &found, 0);
  if (found.n == 1) print_junction(c, s, "\n", true);
  free(text);
  lh_independent_free(&found);
}

/* }=================================================================================== */

/* {=== JSON =========================================================================== */

static void add_freed(cli_json *w, const subject *s, const lh_freed *freed) {
  cli_json_value(w, "frees_bytes", cli_json_size(freed->bytes));
  cli_json_value(w, "frees_objects", cli_json_size(freed->objects));
  if (s->id != LH_NO_OBJECT) cli_json_value(w, "frees_it", json_boolean(freed->frees_it));
}

static void json_outcome(cli_json *w, const request *r, const subject *s, const outcome *o) {
  cli_json_open(w, "cuts", '[');
  for (size_t i = 0; i < r->n_cuts; i++) {
    cli_json_open(w, NULL, '{');
    json_gone(w, &r->cuts[i]);
    add_freed(w, s, &o->alone[i]);
    cli_json_close(w, '}');
  }
  cli_json_close(w, ']');
  cli_json_open(w, "together", '{');
  add_freed(w, s, &o->together);
  cli_json_close(w, '}');
  cli_json_open(w, "only_together", '{');
  cli_json_value(w, "frees_bytes", cli_json_size(o->only_together.bytes));
  cli_json_value(w, "frees_objects", cli_json_size(o->only_together.objects));
  cli_json_close(w, '}');
}

/* }=================================================================================== */

void answer_cuts(cli *c, const request *r, subject *s, cli_json *w) {
  bool json = r->format == FORMAT_JSON;
  if (s->id == LH_NO_OBJECT && !r->what_if) choose_subject(c, r, s);
  outcome o = find_outcome(c, r, s);
  if (json && s->id != LH_NO_OBJECT) json_subject(c, w, s);
  if (json) {
    json_ignored(w, r);
    json_outcome(w, r, s, &o);
  } else {
    print_headline(c, r, s, &o.together);
    if (s->id != LH_NO_OBJECT) print_matches(c, s);
    print_ignored(c, r);
    if (r->what_if) print_table(c, r, s, &o);
  }
  free(o.alone);
  if (s->id == LH_NO_OBJECT || o.together.frees_it) return;
  leave_out(c, r, s->snapshot, true);
  if (json) {
    lh_independent found = find_independent(c, s);
    json_independent(c, w, s, &found);
    lh_independent_free(&found);
  } else {
    print_what_holds(c, s);
  }
}
