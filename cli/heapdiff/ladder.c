/*
** ladder.c - what grows over many snapshots, for a person: first the answer, then a table by path
** and one by class. The snapshots are read one after another, and of each only figures are kept.
*/
#include <string.h>

#include "heapdiff.h"

/* So many figures of a row are shown whole; of more, these at each end. */
enum { MOST_SHOWN = 6, SHOWN_AT_ENDS = 2, MOST_COLUMNS = 8 };

known_rows leave_out_known(const request *r, lh_growth *growth) {
  known_rows known = {0, 0, 0};
  size_t n = 0, last = growth->n_snapshots - 1;
  for (size_t i = 0; i < growth->n_paths; i++) {
    const lh_growth_row *row = &growth->paths[i];
    if (!known_has(&r->known, row->fingerprint)) {
      growth->paths[n++] = *row;
      continue;
    }
    known.n++;
    known.bytes += row->at[last].bytes;
    known.objects += row->at[last].all_objects;
  }
  growth->n_paths = n;
  return known;
}

lh_ladder *ladder_read(cli *c, const request *r) {
  lh_ladder *ladder;
  lh_error error;
  cli_check(c, lh_ladder_new(&ladder, &error), NULL, &error);
  for (size_t i = 0; i < r->n_files; i++) {
    lh_snapshot *snapshot = cli_open_analysed(c, r->files[i]);
    if (lh_object_count(snapshot) > 200000) cli_progress(c, "counting what is in %s", r->files[i]);
    cli_check(c, lh_ladder_add(ladder, snapshot, &error), r->files[i], &error);
    cli_progress(c, NULL);
    lh_close(snapshot);
  }
  return ladder;
}

/* {=== Figures ======================================================================= */

static uint64_t bytes_of(const lh_figures *figures) {
  return figures->bytes;
}

static uint64_t objects_of(const lh_figures *figures) {
  return figures->objects;
}

static uint64_t entries_of(const lh_figures *figures) {
  return figures->entries;
}

typedef uint64_t (*figure)(const lh_figures *figures);

/* "1 -> 2 -> 4", and of many the first and the last; freed by the caller. */
static char *series(cli *c, const lh_figures *at, size_t n, figure of,
                    const char *(*print)(cli *c, uint64_t n)) {
  char *text = cli_must(malloc((MOST_SHOWN + 1) * (LH_NUMBER_BYTES + 8))), *q = text;
  for (size_t i = 0; i < n; i++) {
    if (n > MOST_SHOWN && i == SHOWN_AT_ENDS) {
      q += sprintf(q, " -> ...");
      i = n - SHOWN_AT_ENDS;
    }
    q += sprintf(q, "%s%s", i > 0 ? " -> " : "", print(c, of(&at[i])));
  }
  return text;
}

static bool is_level(const lh_figures *at, size_t n, figure of) {
  for (size_t i = 1; i < n; i++)
    if (of(&at[i]) != of(&at[0])) return false;
  return true;
}

/* How many objects there are; of containers that stay the same, how many entries. */
static char *counts(cli *c, const lh_figures *at, size_t n) {
  char *text, *all;
  if (!is_level(at, n, objects_of) || is_level(at, n, entries_of))
    return series(c, at, n, objects_of, cli_count);
  text = series(c, at, n, entries_of, cli_count);
  all = cli_must(malloc(strlen(text) + 16));
  sprintf(all, "%s entries", text);
  free(text);
  return all;
}

static const char *rate(cli *c, double bytes) {
  uint64_t n = (uint64_t)(bytes < 0 ? -bytes + 0.5 : bytes + 0.5);
  return bytes < 0 ? cli_size_change(c, n, 0) : cli_size_change(c, 0, n);
}

/* }=================================================================================== */

/* {=== Sentences ===================================================================== */

typedef struct summary {
  size_t n_steady, n_once;
  uint64_t bytes, objects; /* by which those that grow steadily grew after the first step */
} summary;

static summary summarise(const lh_growth *growth) {
  summary s = {0, 0, 0, 0};
  for (size_t i = 0; i < growth->n_paths; i++) {
    const lh_growth_row *row = &growth->paths[i];
    s.n_once += row->verdict == LH_GREW_ONCE;
    if (row->verdict != LH_GROWS_STEADILY) continue;
    s.n_steady++;
    if (row->grew_bytes[1] > 0) s.bytes += (uint64_t)row->grew_bytes[1];
    if (row->grew_objects[1] > 0) s.objects += (uint64_t)row->grew_objects[1];
  }
  return s;
}

void print_compared(bool same_state) {
  if (!same_state)
    puts(
        "The snapshots are of different Lua states, so no object of one is an object of another:\n"
        "compared by class and path.");
}

static void print_sentence(cli *c, const request *r, const lh_growth *growth, const summary *s,
                           const known_rows *known) {
  char *from = cli_escape(r->files[0]), *to = cli_escape(r->files[r->n_files - 1]);
  size_t last = growth->n_snapshots - 1;
  fputs(cli_style_on(c, CLI_BOLD), stdout);
  if (s->n_steady > 0) {
    printf("%s grows steadily from %s to %s: %s a step", growth->paths[0].held_by, from, to,
           rate(c, growth->paths[0].bytes_per_step));
    if (s->n_steady > 1)
      printf("; %s more %s, too", cli_count(c, s->n_steady - 1), s->n_steady > 2 ? "do" : "does");
  } else {
    printf("Nothing grows steadily from %s to %s", from, to);
    if (s->n_once > 0) printf("; %s grew once", cli_count_of(c, s->n_once, "row", "rows"));
  }
  printf("%s\n", cli_style_off(c));
  printf("In all %s -> %s in %s: %s\n", cli_size(c, growth->whole[0].bytes),
         cli_size(c, growth->whole[last].bytes), cli_count_of(c, last, "step", "steps"),
         cli_size_change(c, growth->whole[0].bytes, growth->whole[last].bytes));
  known_print(c, &r->known, known->n, known->bytes, known->objects);
  print_compared(growth->same_state);
  free(from);
  free(to);
}

/* }=================================================================================== */

/* A rate of less than a second says nothing. */
static bool shows_seconds(const lh_growth *growth) {
  return growth->seconds >= 1;
}

/* On a narrow terminal of each figure the last. */
static void print_row(cli *c, const request *r, const lh_growth *growth, const lh_growth_row *row,
                      cli_table *table) {
  char *bytes = series(c, row->at, growth->n_snapshots, bytes_of, cli_size);
  char *objects = counts(c, row->at, growth->n_snapshots);
  const char *cells[MOST_COLUMNS];
  const lh_figures *last = &row->at[growth->n_snapshots - 1];
  bool narrow = cli_is_narrow(c);
  size_t n = 0;
  if (r->fingerprints && row->held_by != NULL) cells[n++] = row->fingerprint;
  cells[n++] = lh_verdict_name(row->verdict);
  cells[n++] = rate(c, row->bytes_per_step);
  if (shows_seconds(growth) && !narrow) cells[n++] = rate(c, row->bytes_per_second);
  cells[n++] = narrow ? cli_size(c, last->bytes) : bytes;
  cells[n++] = narrow ? cli_count(c, last->objects) : objects;
  cells[n++] = row->class_name;
  if (row->held_by != NULL) cells[n] = row->held_by;
  cli_table_row(table, cells, row->verdict == LH_GROWS_STEADILY ? CLI_ALARM : CLI_PLAIN);
  free(bytes);
  free(objects);
}

static void print_rows(cli *c, const request *r, const lh_growth *growth, bool by_path) {
  const lh_growth_row *rows = by_path ? growth->paths : growth->classes;
  size_t n_all = by_path ? growth->n_paths : growth->n_classes, n = 0;
  size_t n_shown = n_rows(c, r, n_all);
  cli_column columns[MOST_COLUMNS];
  cli_table *table;
  if (r->fingerprints && by_path) columns[n++] = (cli_column){"fingerprint", CLI_LEFT};
  columns[n++] = (cli_column){"verdict", CLI_LEFT};
  columns[n++] = (cli_column){"a step", CLI_RIGHT};
  if (shows_seconds(growth) && !cli_is_narrow(c))
    columns[n++] = (cli_column){"a second", CLI_RIGHT};
  columns[n++] = (cli_column){
      by_path && !cli_is_narrow(c) ? "bytes, with what they retain" : "bytes", CLI_RIGHT};
  columns[n++] = (cli_column){"objects", CLI_RIGHT};
  columns[n++] = (cli_column){"class", CLI_WRAP};
  if (by_path) columns[n++] = (cli_column){"held by", CLI_WRAP};
  table = cli_table_new(c, columns, n);
  printf("\n%sBy %s%s\n", cli_style_on(c, CLI_BOLD), by_path ? "what holds them" : "class",
         cli_style_off(c));
  for (size_t i = 0; i < n_shown; i++) print_row(c, r, growth, &rows[i], table);
  cli_table_print(table);
  cli_print_hidden(c, n_all - n_shown, "row", "rows");
}

int ladder_report(cli *c, request *r) {
  lh_ladder *ladder = ladder_read(c, r);
  lh_growth *growth;
  lh_error error;
  known_rows known;
  summary s;
  int status;
  cli_check(c, lh_ladder_growth(ladder, &growth, &error), NULL, &error);
  known = leave_out_known(r, growth);
  s = summarise(growth);
  if (c->json) {
    ladder_print_json(c, r, growth, &known);
  } else if (r->csv) {
    ladder_print_csv(c, r, growth);
  } else {
    print_sentence(c, r, growth, &s, &known);
    print_rows(c, r, growth, true);
    print_rows(c, r, growth, false);
  }
  status = gate(c, r, s.bytes, 0, s.objects, "more after the first step, growing steadily");
  lh_growth_free(growth);
  lh_ladder_free(ladder);
  return status;
}
