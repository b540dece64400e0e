/*
** referrers.c - all references to an object, those that keep nothing alive included.
*/
#include "heappath.h"

static void print_referrers(cli *c, const request *r, const subject *s, const lh_edge *edges,
                            size_t n) {
  static const cli_column columns[] = {{"reference", CLI_WRAP},
                                       {"from class", CLI_WRAP},
                                       {"address", CLI_LEFT},
                                       {"", CLI_LEFT},
                                       {"from", CLI_WRAP}};
  size_t n_shown = r->limit == 0 || n < r->limit ? n : r->limit;
  cli_table *table = cli_table_new(c, columns, 5);
  printf("%s%s %s to %s%s\n", cli_style_on(c, CLI_BOLD),
         lh_count_of(n, "reference", "references").text, n == 1 ? "leads" : "lead", s->text,
         cli_style_off(c));
  tell_asked(c, NULL, r, s);
  putchar('\n');
  for (size_t i = 0; i < n_shown; i++) {
    lh_id source = edges[i].source;
    bool alive = source == LH_ROOT || lh_is_reachable(s->snapshot, source);
    lh_number address = lh_address_text(s->snapshot, source);
    char *reference = cli_must(lh_edge_text(s->snapshot, &edges[i]));
    char *from = source != LH_ROOT && alive ? cli_held_by(c, s->snapshot, source) : NULL;
    const char *cells[] = {reference,
                           source == LH_ROOT ? "root" : lh_class_name_of(s->snapshot, source),
                           source == LH_ROOT ? "" : address.text,
                           edges[i].left_out ? "ignored"
                           : !alive          ? "garbage"
                           : edges[i].weak   ? "weak"
                                             : "",
                           from != NULL ? from : ""};
    cli_table_row(table, cells, edges[i].weak || !alive ? CLI_FAINT : CLI_PLAIN);
    lh_free(reference);
    lh_free(from);
  }
  cli_table_print(table);
  cli_print_hidden(c, n - n_shown, "reference", "references");
}

static void json_referrers(cli_json *w, const request *r, const subject *s, const lh_edge *edges,
                           size_t n) {
  size_t n_shown = r->limit == 0 || !r->limit_given || n < r->limit ? n : r->limit;
  cli_json_value(w, "total_referrers", cli_json_size(n));
  cli_json_open(w, "referrers", '[');
  for (size_t i = 0; i < n_shown; i++) {
    lh_id source = edges[i].source;
    json_t *row = json_of_object(s->snapshot, source);
    bool alive = source == LH_ROOT || lh_is_reachable(s->snapshot, source);
    add_edge(row, s->snapshot, &edges[i]);
    json_object_set_new(row, "weak", json_boolean(edges[i].weak && !edges[i].left_out));
    json_object_set_new(row, "ignored", json_boolean(edges[i].left_out));
    json_object_set_new(row, "reachable", json_boolean(alive));
    cli_json_value(w, NULL, row);
  }
  cli_json_close(w, ']');
}

/* Edges as paths of one step each, as the graph wants them. */
static void draw_edges(cli *c, const subject *s, lh_edge *edges, size_t n) {
  lh_path *paths = cli_must(malloc((n + 1) * sizeof *paths));
  lh_error error;
  for (size_t i = 0; i < n; i++) paths[i] = (lh_path){.n_steps = 1, .steps = &edges[i]};
  cli_check(c, lh_dot_paths(s->snapshot, paths, n, LONG_PICTURE, stdout, &error), NULL, &error);
  free(paths);
}

void answer_referrers(cli *c, const request *r, const subject *s, cli_json *w) {
  lh_edge *edges;
  size_t n;
  lh_error error;
  cli_check(c, lh_referrers(s->snapshot, s->id, &edges, &n, &error), NULL, &error);
  if (r->format == FORMAT_JSON)
    json_referrers(w, r, s, edges, n);
  else if (r->format == FORMAT_DOT)
    draw_edges(c, s, edges, r->limit == 0 || n < r->limit ? n : r->limit);
  else
    print_referrers(c, r, s, edges, n);
  lh_free(edges);
}
