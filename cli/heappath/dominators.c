/*
** dominators.c - the objects that would free the one asked for if they went.
*/
#include "heappath.h"

static void dominator_row(cli *c, const subject *s, lh_id id, cli_table *table) {
  lh_number frees = lh_size_text(lh_retained_bytes(s->snapshot, id), c->exact_bytes);
  lh_number address = lh_address_text(s->snapshot, id);
  char *what = cli_must(lh_what_text(s->snapshot, id)), *path = cli_held_by(c, s->snapshot, id);
  const char *cells[] = {frees.text, address.text, what, path};
  cli_table_row(table, cells, CLI_PLAIN);
  lh_free(what);
  lh_free(path);
}

/* The chain of immediate dominators, nearest first; the middle of a long one is folded. */
static void dominator_rows(cli *c, const subject *s, size_t n, cli_table *table) {
  size_t half = LH_LONG_PATH / 2, i = 0;
  for (lh_id id = s->id; (id = lh_immediate_dominator(s->snapshot, id)) != LH_ROOT; i++) {
    if (n <= LH_LONG_PATH || i < half || i >= n - half) {
      dominator_row(c, s, id, table);
    } else if (i == half) {
      char text[2 * LH_NUMBER_BYTES];
      const char *cells[] = {"", "", text, ""};
      snprintf(text, sizeof text, "... %s more ...", lh_count_text(n - 2 * half).text);
      cli_table_row(table, cells, CLI_FAINT);
    }
  }
}

void print_dominators(cli *c, const request *r, const subject *s) {
  static const cli_column columns[] = {
      {"would free", CLI_RIGHT}, {"address", CLI_LEFT}, {"class", CLI_WRAP}, {"path", CLI_WRAP}};
  cli_table *table;
  size_t n = 0;
  for (lh_id id = s->id; (id = lh_immediate_dominator(s->snapshot, id)) != LH_ROOT;) n++;
  printf("%s%s, which retains %s, %s%s\n", cli_style_on(c, CLI_BOLD), s->text,
         lh_size_text(lh_retained_bytes(s->snapshot, s->id), c->exact_bytes).text,
         n == 0   ? "depends on no single object: roots or independent paths hold it"
         : n == 1 ? "would go too if this went:"
                  : "would go too if any of these went:",
         cli_style_off(c));
  tell_asked(c, NULL, r, s);
  if (n == 0) return;
  putchar('\n');
  table = cli_table_new(c, columns, 4);
  dominator_rows(c, s, n, table);
  cli_table_print(table);
}

void json_dominators(cli_json *w, const subject *s) {
  lh_id id = s->id;
  cli_json_open(w, "dominators", '[');
  if (lh_is_reachable(s->snapshot, id))
    while ((id = lh_immediate_dominator(s->snapshot, id)) != LH_ROOT)
      cli_json_value(w, NULL, json_of_object(s->snapshot, id));
  cli_json_close(w, ']');
}
