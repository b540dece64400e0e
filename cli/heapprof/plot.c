/*
** plot.c - memory over time, by the sites that held most: on a terminal a chart of the heap and a
** line for each site; or the figures as CSV or JSON; svg.c draws them. Each moment shows the
** biggest that the heap was in its interval, so that no peak is too short to be seen.
*/
#include <inttypes.h>
#include <string.h>

#include "plot.h"

enum {
  CHART_WIDTH = 60,
  CHART_HEIGHT = 10,
  LINE_WIDTH = 20,
  MOMENTS = 200,
  LABEL_WIDTH = 10,
  USUAL_SITES = 8,
  MOST_SITES = 1000 /* of which each moment is known: the others are one row */
};

char *plot_site_text(const lh_timeline_site *site) {
  if (site->site.source != NULL) return cli_must(lh_site_text(&site->site));
  if (site->n_others == 0) return cli_must(lh_escaped("no Lua function", 15));
  lh_number n = lh_count_of(site->n_others, "other line", "other lines");
  return cli_must(lh_escaped(n.text, strlen(n.text)));
}

void plot_seconds(FILE *out, uint64_t ns) {
  uint64_t ms = ns / 1000000 + (ns % 1000000 >= 500000);
  fprintf(out, "%" PRIu64 ".%03" PRIu64, ms / 1000, ms % 1000);
}

/* {=== Terminal ====================================================================== */

/* Eighths of a character, from the bottom; without Unicode whole ones. */
static void put_block(FILE *out, const cli *c, unsigned eighths) {
  if (!c->unicode)
    putc(eighths >= 4 ? '#' : eighths > 0 ? '.' : ' ', out);
  else if (eighths == 0)
    putc(' ', out);
  else
    fprintf(out, "\xE2\x96%c", (char)(0x80 + eighths)); /* U+2581 ... U+2588 */
}

/* What of the bar stands in this row of characters, counted from the bottom. */
static unsigned eighths_in_row(uint64_t n, uint64_t most, unsigned row, unsigned rows) {
  double all = most > 0 ? (double)n / (double)most * rows * 8 : 0;
  double here = all - 8.0 * row;
  unsigned eighths = here >= 8 ? 8 : here > 0 ? (unsigned)(here + 0.5) : 0;
  return eighths == 0 && n > 0 && row == 0 ? 1 : eighths;
}

/* On the axis: what the whole height stands for, and half of it. */
static void print_axis_label(const cli *c, const lh_timeline *t, unsigned row) {
  const char *axis = c->unicode ? row == 0 ? "┼" : "┤" : "|";
  lh_number label = {""};
  if (row == CHART_HEIGHT - 1) label = lh_size_text(t->peak_bytes, false);
  if (row == CHART_HEIGHT / 2 - 1) label = lh_size_text(t->peak_bytes / 2, false);
  if (row == 0) label = lh_size_text(0, false);
  printf("%*s %s", LABEL_WIDTH, label.text, axis);
}

static void print_chart(const cli *c, const lh_timeline *t) {
  for (unsigned row = CHART_HEIGHT; row-- > 0;) {
    print_axis_label(c, t, row);
    for (size_t i = 0; i < t->n_moments; i++)
      put_block(stdout, c, eighths_in_row(t->heap_bytes[i], t->peak_bytes, row, CHART_HEIGHT));
    putchar('\n');
  }
  lh_number end = lh_duration_text(t->interval_ns * t->n_moments);
  printf("%*s 0 s %*s\n\n", LABEL_WIDTH, "", t->n_moments > 20 ? (int)t->n_moments - 3 : 1,
         end.text);
}

/* In a few characters: of each part of the time the most, as high as it is beside the most of all.
** So what is small shows, too, whether it grows. */
static char *small_chart(const cli *c, const uint64_t *bytes, size_t n) {
  char *text;
  uint64_t most = 0;
  size_t size, width = n < LINE_WIDTH ? n : LINE_WIDTH;
  FILE *out = cli_open_text(&text, &size);
  for (size_t i = 0; i < n; i++)
    if (bytes[i] > most) most = bytes[i];
  for (size_t at = 0; at < width; at++) {
    uint64_t biggest = 0;
    for (size_t i = at * n / width; i < (at + 1) * n / width; i++)
      if (bytes[i] > biggest) biggest = bytes[i];
    put_block(out, c, eighths_in_row(biggest, most, 0, 1));
  }
  cli_close_text(out);
  return text;
}

typedef struct row {
  uint64_t peak_bytes, end_bytes;
  const uint64_t *bytes;
  const char *site;
} row;

static void add_row(const cli *c, cli_table *table, const lh_timeline *t, const row *r) {
  char *chart = small_chart(c, r->bytes, t->n_moments);
  lh_number peak = lh_size_text(r->peak_bytes, c->exact_bytes);
  lh_number share = lh_share_text(r->peak_bytes, t->peak_bytes);
  lh_number last = lh_size_text(r->end_bytes, c->exact_bytes);
  cli_table_row(table, (const char *[]){peak.text, share.text, last.text, chart, r->site},
                CLI_PLAIN);
  free(chart);
}

static uint64_t all_sites(const lh_timeline *t, bool at_peak) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < t->n_sites; i++)
    bytes += at_peak ? t->sites[i].peak_bytes : t->sites[i].end_bytes;
  return bytes;
}

static void print_sites(cli *c, const lh_timeline *t) {
  static const cli_column columns[] = {{"at the peak", CLI_RIGHT},
                                       {"share", CLI_RIGHT},
                                       {"at the end", CLI_RIGHT},
                                       {"each over time", CLI_LEFT},
                                       {"allocated at", CLI_WRAP}};
  cli_table *table = cli_table_new(c, columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < t->n_sites; i++) {
    const lh_timeline_site *s = &t->sites[i];
    char *name = plot_site_text(s);
    add_row(c, table, t, &(row){s->peak_bytes, s->end_bytes, s->bytes, name});
    lh_free(name);
  }
  add_row(c, table, t,
          &(row){t->peak_bytes - all_sites(t, true), t->end_bytes - all_sites(t, false),
                 t->old_bytes, "before tracking began"});
  cli_table_print(table);
}

/* The answer: how much at most, when, and who held most of it. */
static void print_answer(const cli *c, const lh_timeline *t) {
  const lh_timeline_site *most = NULL;
  for (size_t i = 0; i < t->n_sites; i++)
    if (t->sites[i].site.source != NULL &&
        (most == NULL || t->sites[i].peak_bytes > most->peak_bytes))
      most = &t->sites[i];
  printf("The heap was biggest after %s: %s", lh_duration_text(t->peak_ns).text,
         lh_size_text(t->peak_bytes, c->exact_bytes).text);
  if (most != NULL && most->peak_bytes > 0) {
    char *name = plot_site_text(most);
    printf("\n%s of it, %s, was from %s", lh_share_text(most->peak_bytes, t->peak_bytes).text,
           lh_size_text(most->peak_bytes, c->exact_bytes).text, name);
    lh_free(name);
  }
  printf("\nAt the end it had %s\n\n", lh_size_text(t->end_bytes, c->exact_bytes).text);
}

static void print_text(cli *c, const lh_timeline *t) {
  print_answer(c, t);
  print_chart(c, t);
  print_sites(c, t);
}

/* }=================================================================================== */

/* {=== Figures ======================================================================= */

/* A quote in quotes is doubled. What a spreadsheet would take for a formula begins with a letter or
** a digit here, or with the @ of a file; so a blank stands before it. */
static void print_csv_text(const char *text) {
  printf(",\"%s", *text != '\0' && strchr("=+-@", *text) != NULL ? " " : "");
  for (; *text != '\0'; text++) {
    if (*text == '"') putchar('"');
    putchar(*text);
  }
  putchar('"');
}

static void print_csv(const lh_timeline *t) {
  printf("seconds,heap_bytes,before_tracking");
  for (size_t k = 0; k < t->n_sites; k++) {
    char *name = plot_site_text(&t->sites[k]);
    print_csv_text(name);
    lh_free(name);
  }
  putchar('\n');
  for (size_t i = 0; i < t->n_moments; i++) {
    plot_seconds(stdout, i * t->interval_ns);
    printf(",%" PRIu64 ",%" PRIu64, t->heap_bytes[i], t->old_bytes[i]);
    for (size_t k = 0; k < t->n_sites; k++) printf(",%" PRIu64, t->sites[k].bytes[i]);
    putchar('\n');
  }
}

static void json_series(cli_json *w, const char *key, const uint64_t *bytes, size_t n) {
  cli_json_open(w, key, '[');
  for (size_t i = 0; i < n; i++) cli_json_value(w, NULL, cli_json_size(bytes[i]));
  cli_json_close(w, ']');
}

static void json_site(cli_json *w, const lh_timeline *t, const lh_timeline_site *s) {
  char *name = plot_site_text(s);
  cli_json_open(w, NULL, '{');
  cli_json_value(w, "site", cli_json_text(name));
  if (s->site.source == NULL) cli_json_value(w, "other_lines", cli_json_size(s->n_others));
  cli_json_value(w, "peak_bytes", cli_json_size(s->peak_bytes));
  cli_json_value(w, "end_bytes", cli_json_size(s->end_bytes));
  json_series(w, "bytes", s->bytes, t->n_moments);
  cli_json_close(w, '}');
  lh_free(name);
}

static void print_json(const lh_timeline *t) {
  cli_json w = {0};
  cli_json_open(&w, NULL, '{');
  cli_json_value(&w, "interval_ns", cli_json_size(t->interval_ns));
  cli_json_value(&w, "peak_bytes", cli_json_size(t->peak_bytes));
  cli_json_value(&w, "peak_ns", cli_json_size(t->peak_ns));
  cli_json_value(&w, "end_bytes", cli_json_size(t->end_bytes));
  json_series(&w, "heap_bytes", t->heap_bytes, t->n_moments);
  json_series(&w, "before_tracking", t->old_bytes, t->n_moments);
  cli_json_open(&w, "sites", '[');
  for (size_t i = 0; i < t->n_sites; i++)
    if (cli_has_room()) json_site(&w, t, &t->sites[i]);
  cli_json_close(&w, ']');
  cli_json_close(&w, '}');
}

/* }=================================================================================== */

static void print_plot(cli *c, const request *r, lh_profile *profile) {
  bool is_text = r->format == FORMAT_TEXT && !c->json;
  size_t shown = !r->asked.has_limit ? USUAL_SITES : r->asked.limit;
  if (shown == 0 || shown > MOST_SITES) shown = MOST_SITES;
  lh_timeline t;
  lh_error error;
  int code = lh_tally_timeline(profile, is_text ? CHART_WIDTH : MOMENTS, shown, &t, &error);
  cli_check(c, code, r->files[0], &error);
  if (c->json)
    print_json(&t);
  else if (r->format == FORMAT_SVG)
    print_svg(&t);
  else if (r->format == FORMAT_CSV)
    print_csv(&t);
  else
    print_text(c, &t);
  lh_timeline_free(&t);
}

const mode plot_mode = {.name = "plot",
                        .help = "memory over time, and who held it",
                        .n_files = 1,
                        .takes = TAKES_FORMAT,
                        .tell_profile = print_plot};
