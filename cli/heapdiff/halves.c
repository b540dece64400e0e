/*
** halves.c - from before to after a change of a program: is it fixed? One or two snapshots of each;
** of two it is their growth that is compared.
*/
#include <string.h>

#include "heapdiff.h"

enum { MOST_COLUMNS = 8 };

/* By what a row grew, or has, in one half. */
static const char *amount(cli *c, const request *r, const lh_growth_row *row, int half) {
  int64_t grew = row->grew_bytes[half];
  if (r->n_before == 1) return cli_size(c, row->at[half].bytes);
  return grew < 0 ? cli_size_change(c, (uint64_t)-grew, 0) : cli_size_change(c, 0, (uint64_t)grew);
}

static const char *objects(cli *c, const request *r, const lh_growth_row *row, int half) {
  const lh_figures *at = row->at;
  if (r->n_before == 1) return cli_count(c, at[half].objects);
  return cli_count_change(c, at[2 * half].objects, at[2 * half + 1].objects);
}

/* {=== The answer ==================================================================== */

static void print_part(cli *c, const request *r, const char *before, const lh_growth_row *row,
                       const char *verb) {
  printf("%s%s%s (%s) %s: %s before, %s after%s\n", cli_style_on(c, CLI_BOLD), before, row->held_by,
         row->class_name, verb, amount(c, r, row, 0), amount(c, r, row, 1), cli_style_off(c));
}

static void print_answer(cli *c, const request *r, const lh_growth *growth) {
  bool levels = r->n_before == 1;
  lh_answer answer;
  lh_answer_of(growth, &answer);
  if (levels) {
    if (answer.no_longer != NULL) print_part(c, r, "Less: ", answer.no_longer, "has less");
  } else if (answer.no_longer != NULL) {
    print_part(c, r,
               answer.is_fixed        ? "Is it fixed? Yes: "
               : answer.still != NULL ? "Is it fixed? In part: "
                                      : "Is it fixed? No, it may have moved: ",
               answer.no_longer, "no longer grows");
    if (answer.still != NULL) print_part(c, r, "But: ", answer.still, "still grows");
  } else if (answer.still != NULL) {
    print_part(c, r, "Is it fixed? No: ", answer.still, "still grows");
  }
  if (answer.now != NULL)
    print_part(c, r, levels ? "More: " : "New: ", answer.now, levels ? "has more" : "grows now");
  if (answer.no_longer == NULL && answer.still == NULL && answer.now == NULL)
    printf("%s%s%s\n", cli_style_on(c, CLI_BOLD),
           levels ? "No difference" : "Nothing grows, before or after", cli_style_off(c));
}

/* }=================================================================================== */

/* Two pairs of one run are easily given: the second tells no more than that it was taken later. */
static void warn_of_one_run(cli *c, const request *r, const lh_growth *growth) {
  if (r->n_before == 2 && growth->same_state)
    printf("%sAll these snapshots are of one run: after is only later, not after a change%s\n",
           cli_style_on(c, CLI_ALARM), cli_style_off(c));
}

static void print_row(cli *c, const request *r, const lh_growth_row *row, cli_table *table) {
  static const char *const levels[] = {"less", "", "more"};
  bool is_now = row->verdict == LH_GROWS_NOW;
  const char *cells[MOST_COLUMNS];
  size_t n = 0;
  if (r->fingerprints && row->held_by != NULL) cells[n++] = row->fingerprint;
  cells[n++] = r->n_before == 1 ? levels[is_now ? 2 : 0] : lh_verdict_name(row->verdict);
  cells[n++] = amount(c, r, row, 0);
  cells[n++] = amount(c, r, row, 1);
  if (!cli_is_narrow(c)) {
    cells[n++] = objects(c, r, row, 0);
    cells[n++] = objects(c, r, row, 1);
  }
  cells[n++] = row->class_name;
  if (row->held_by != NULL) cells[n] = row->held_by;
  cli_table_row(table, cells, row->verdict == LH_NO_LONGER_GROWS ? CLI_PLAIN : CLI_ALARM);
}

static void print_rows(cli *c, const request *r, const lh_growth *growth, bool by_path) {
  const lh_growth_row *rows = by_path ? growth->paths : growth->classes;
  size_t n_all = by_path ? growth->n_paths : growth->n_classes, n_shown = n_rows(c, r, n_all);
  cli_column columns[MOST_COLUMNS];
  size_t n = 0;
  cli_table *table;
  if (r->fingerprints && by_path) columns[n++] = (cli_column){"fingerprint", CLI_LEFT};
  columns[n++] = (cli_column){"verdict", CLI_LEFT};
  columns[n++] = (cli_column){"before", CLI_RIGHT};
  columns[n++] = (cli_column){"after", CLI_RIGHT};
  if (!cli_is_narrow(c)) {
    columns[n++] = (cli_column){"objects", CLI_RIGHT};
    columns[n++] = (cli_column){"after", CLI_RIGHT};
  }
  columns[n++] = (cli_column){"class", CLI_WRAP};
  if (by_path) columns[n++] = (cli_column){"held by", CLI_WRAP};
  table = cli_table_new(c, columns, n);
  printf("\n%sBy %s%s\n", cli_style_on(c, CLI_BOLD), by_path ? "what holds them" : "class",
         cli_style_off(c));
  for (size_t i = 0; i < n_shown; i++) print_row(c, r, &rows[i], table);
  cli_table_print(table);
  cli_print_hidden(c, n_all - n_shown, "row", "rows");
}

/* What grows after: what still does, and what did not before. */
static void sum_after(const lh_growth *growth, uint64_t *bytes, uint64_t *n_objects) {
  *bytes = *n_objects = 0;
  for (size_t i = 0; i < growth->n_paths; i++) {
    const lh_growth_row *row = &growth->paths[i];
    if (row->verdict == LH_NO_LONGER_GROWS) continue;
    if (row->grew_bytes[1] > 0) *bytes += (uint64_t)row->grew_bytes[1];
    if (row->grew_objects[1] > 0) *n_objects += (uint64_t)row->grew_objects[1];
  }
}

int halves_report(cli *c, request *r) {
  lh_ladder *ladder = ladder_read(c, r);
  lh_growth *growth;
  lh_error error;
  known_rows known;
  uint64_t bytes, n_objects;
  int status;
  cli_check(c, lh_ladder_halves(ladder, &growth, &error), NULL, &error);
  known = leave_out_known(r, growth);
  if (c->json) {
    ladder_print_json(c, r, growth, &known);
  } else {
    print_answer(c, r, growth);
    warn_of_one_run(c, r, growth);
    known_print(c, &r->known, known.n, known.bytes, known.objects);
    print_compared(growth->same_state);
    print_rows(c, r, growth, true);
    print_rows(c, r, growth, false);
  }
  sum_after(growth, &bytes, &n_objects);
  status =
      gate(c, r, bytes, 0, n_objects, r->n_before == 1 ? "more than before" : "of growth after");
  lh_growth_free(growth);
  lh_ladder_free(ladder);
  return status;
}
