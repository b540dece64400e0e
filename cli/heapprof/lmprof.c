/*
** lmprof.c - lmprof's two reports, in the layout of its script: the flat profile, functions by what
** they allocated themselves, and the call graph, each function between its callers and those that
** it called. What it calls cumulative is what the house calls total.
**
** Where it differs: a function that is on the stack several times has its bytes once, where lmprof
** adds them up; each call counts, and not only those that allocated; and where the profile was
** recorded without calls (time = true), in place of them and what is per call stands a "-".
*/
#include <inttypes.h>
#include <string.h>

#include "boxes.h"
#include "heapprof.h"

enum { WIDTH = 80, HEADING_WIDTH = 63, MEMORY_WIDTH = 8, INDEX_DIGITS = 4 };

/* A longer name makes its line longer. */
enum { LEAST_CALLS = 5, LEAST_NAME = 4, MOST_NAME = 100 };

typedef struct layout {
  const lh_usage_calls *graph;
  const lh_sites *sites;
  bool has_calls;
  uint32_t *order;     /* the functions, as they are printed */
  uint32_t *positions; /* of the functions in that */
  size_t n_all, n_shown;
  unsigned self, total, self_per_call, total_per_call; /* digits of the greatest number of a column:
                                                          by that its unit is chosen */
  int calls_width, name_width;
} layout;

/* {=== Names and numbers ============================================================= */

/* A character of several bytes takes one place. */
static int width_of(const char *text) {
  int n = 0;
  for (; *text != '\0'; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
  return n;
}

static unsigned digits_of(uint64_t n) {
  unsigned digits = 1;
  while ((n /= 10) > 0) digits++;
  return digits;
}

static void widen(unsigned *digits, uint64_t n) {
  unsigned its = digits_of(n);
  if (its > *digits) *digits = its;
}

/* n / unit with so many digits behind the point, in any locale. */
static void put_fixed(FILE *out, int width, uint64_t n, uint64_t unit, unsigned decimals) {
  static const unsigned powers[] = {1, 10, 100};
  unsigned power = powers[decimals];
  uint64_t scaled = (uint64_t)(((unsigned __int128)n * power + unit / 2) / unit);
  if (decimals == 0)
    fprintf(out, "%*" PRIu64, width, scaled);
  else
    fprintf(out, "%*" PRIu64 ".%0*" PRIu64, width - (int)decimals - 1, scaled / power,
            (int)decimals, scaled % power);
}

/* Three or four digits, in the unit of the column: "  1489 B", " 1.45 KB". */
static void put_size(FILE *out, unsigned column_digits, uint64_t bytes) {
  static const unsigned decimals[] = {1, 0, 2};
  if (column_digits <= 4) {
    fprintf(out, "%*" PRIu64 " B", MEMORY_WIDTH - 2, bytes);
    return;
  }
  unsigned unit = (column_digits - 2) / 3;
  put_fixed(out, MEMORY_WIDTH - 3, bytes, UINT64_C(1) << 10 * unit, decimals[column_digits % 3]);
  fprintf(out, " %cB", "KMGTPE"[unit - 1]);
}

static void put_per_call(FILE *out, unsigned column_digits, uint64_t bytes, uint64_t calls) {
  if (calls > 0)
    put_size(out, column_digits, bytes / calls);
  else
    fprintf(out, "%*s", MEMORY_WIDTH, "-");
}

/* Of bytes of all functions. */
static void put_percent(FILE *out, const layout *l, uint64_t bytes) {
  uint64_t all = l->graph->bytes > 0 ? l->graph->bytes : 1;
  unsigned __int128 hundred = (unsigned __int128)bytes * 10000 + all / 2;
  put_fixed(out, 6, (uint64_t)(hundred / all), 100, 2);
}

/* Calls, as they are told: of what has no calls a dash. */
static char *calls_text(const layout *l, uint64_t calls) {
  char *text;
  int n = l->has_calls ? asprintf(&text, "%" PRIu64, calls) : asprintf(&text, "-");
  return cli_must(n >= 0 ? text : NULL);
}

/* }=================================================================================== */

/* {=== Layout ======================================================================== */

static void measure(layout *l, const lh_function_usage *f) {
  char *name = function_text(l->sites, f);
  int calls = (int)digits_of(f->calls), width = width_of(name);
  free(name);
  widen(&l->self, f->self_bytes);
  widen(&l->total, f->total_bytes);
  if (f->calls > 0) widen(&l->self_per_call, f->self_bytes / f->calls);
  if (f->calls > 0) widen(&l->total_per_call, f->total_bytes / f->calls);
  if (calls > l->calls_width) l->calls_width = calls;
  if (width > l->name_width && width <= MOST_NAME) l->name_width = width;
}

static bool has_allocated(const lh_function_usage *f) {
  return f->total_bytes > 0;
}

static int compare(uint64_t one, uint64_t other) {
  return (one < other) - (one > other);
}

static int by_self_bytes(const void *a, const void *b, void *data) {
  const lh_function_usage *functions = data;
  uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
  int order = compare(functions[one].self_bytes, functions[other].self_bytes);
  if (order == 0) order = compare(functions[one].total_bytes, functions[other].total_bytes);
  return order != 0 ? order : (one > other) - (one < other);
}

/* Of the functions that allocated; others were called only. */
static void begin(layout *l, const lh_usage_calls *graph, const lh_sites *sites, size_t limit) {
  size_t n = graph->n_functions;
  l->graph = graph;
  l->sites = sites;
  l->calls_width = LEAST_CALLS;
  l->name_width = LEAST_NAME;
  l->order = cli_must(calloc(n + 1, sizeof *l->order));
  l->positions = cli_must(calloc(n + 1, sizeof *l->positions));
  for (uint32_t i = 0; i < n; i++) {
    if (!has_allocated(&graph->functions[i])) continue;
    measure(l, &graph->functions[i]);
    l->order[l->n_all++] = i;
  }
  qsort_r(l->order, l->n_all, sizeof *l->order, by_self_bytes, graph->functions);
  for (uint32_t i = 0; i < l->n_all; i++) l->positions[l->order[i]] = i;
  l->n_shown = limit > 0 && limit < l->n_all ? limit : l->n_all;
}

static void end(layout *l) {
  free(l->order);
  free(l->positions);
}

static void put_repeated(FILE *out, char character, int n) {
  for (; n > 0; n--) putc(character, out);
}

/* }=================================================================================== */

/* {=== Flat profile ================================================================== */

static void print_flat_row(const layout *l, uint32_t i) {
  const lh_function_usage *f = &l->graph->functions[i];
  char *calls = calls_text(l, f->calls), *name = function_text(l->sites, f);
  put_percent(stdout, l, f->self_bytes);
  printf("  ");
  put_size(stdout, l->self, f->self_bytes);
  printf("   ");
  put_size(stdout, l->total, f->total_bytes);
  printf("   %*s  ", l->calls_width, calls);
  put_per_call(stdout, l->self_per_call, f->self_bytes, f->calls);
  printf("    ");
  put_per_call(stdout, l->total_per_call, f->total_bytes, f->calls);
  printf("   %s\n", name);
  free(calls);
  free(name);
}

static void print_flat(const layout *l) {
  int gap = l->calls_width - 3;
  printf("   %%      self    cumulative %*s         self    cumulative\n", gap, "");
  printf("  mem     mem        mem    %*scalls   mem/call   mem/call   name\n", gap, "");
  for (size_t i = 0; i < l->n_shown; i++)
    if (cli_has_room()) print_flat_row(l, l->order[i]);
}

/* }=================================================================================== */

/* {=== Call graph ==================================================================== */

/* "   [7]". */
static void put_index(FILE *out, const layout *l, uint32_t i) {
  uint64_t position = (uint64_t)l->positions[i] + 1;
  put_repeated(out, ' ', INDEX_DIGITS - (int)digits_of(position));
  fprintf(out, "[%" PRIu64 "]", position);
}

static void put_name(FILE *out, const layout *l, uint32_t i) {
  char *name = function_text(l->sites, &l->graph->functions[i]);
  fputs(name, out);
  put_repeated(out, ' ', l->name_width - width_of(name) + 1);
  free(name);
  put_index(out, l, i);
}

/* A caller, or a function that was called, by one call of the graph: so many of all calls of the
** function that was called. */
static void print_relative(const layout *l, const lh_call_usage *call, uint32_t i) {
  const lh_function_usage *called = &l->graph->functions[call->called_at];
  char *calls = calls_text(l, call->calls), *all = calls_text(l, called->calls);
  put_repeated(stdout, ' ', 16);
  put_size(stdout, l->self, call->self_bytes);
  printf("   ");
  put_size(stdout, l->total, call->total_bytes);
  printf("    %*s/%s", l->calls_width, calls, all);
  put_repeated(stdout, ' ', l->calls_width - width_of(all) + 2);
  put_name(stdout, l, i);
  puts(call->tail_calls > 0 ? " (...tail calls...)" : "");
  free(calls);
  free(all);
}

/* All blanks between its words are dashes. */
static void print_dashed(const char *line) {
  size_t indent = strspn(line, " ");
  printf("%*s", (int)indent, "");
  for (line += indent; *line != '\0'; line++) putchar(*line == ' ' ? '-' : *line);
  putchar('\n');
}

/* recursive: the call of itself; NULL: it does not. */
static void print_function(const layout *l, uint32_t i, const lh_call_usage *recursive) {
  const lh_function_usage *f = &l->graph->functions[i];
  char *line, *calls = calls_text(l, f->calls);
  char *again = recursive != NULL ? calls_text(l, recursive->calls) : NULL;
  size_t size;
  FILE *out = cli_open_text(&line, &size);
  put_index(out, l, i);
  fputs("  ", out);
  put_percent(out, l, f->self_bytes);
  fputs("  ", out);
  put_size(out, l->self, f->self_bytes);
  fputs("   ", out);
  put_size(out, l->total, f->total_bytes);
  fprintf(out, "    %*s ", l->calls_width, calls);
  if (again != NULL) fprintf(out, "(%s)", again);
  put_repeated(out, ' ', l->calls_width - (again != NULL ? width_of(again) : -2));
  put_name(out, l, i);
  cli_close_text(out);
  print_dashed(line);
  free(line);
  free(calls);
  free(again);
}

static void print_heading(const layout *l) {
  int calls = l->calls_width - LEAST_CALLS, name = l->name_width - LEAST_NAME;
  printf("%38s%*scalled/total%*s  parents\n", "", calls, "", calls, "");
  printf(" index    %%mem    self    cumulative  %*scalled (rec)%*s  name  %*sindex\n", calls, "",
         calls, "", name, "");
  printf("%38s%*scalled/total%*s  children\n", "", calls, "", calls, "");
}

static void print_rule(int width) {
  put_repeated(stdout, '=', width);
  putchar('\n');
}

static int by_bytes(const void *a, const void *b) {
  const lh_call_usage *one = *(const lh_call_usage *const *)a;
  const lh_call_usage *other = *(const lh_call_usage *const *)b;
  int order = compare(one->self_bytes, other->self_bytes);
  if (order == 0) order = compare(one->total_bytes, other->total_bytes);
  return order != 0 ? order : (one > other) - (one < other);
}

/* Those who called function i, or whom it called. */
static void print_relatives(const layout *l, uint32_t i, const lh_call_usage *calls, size_t n) {
  const lh_call_usage **sorted = cli_must(calloc(n + 1, sizeof(lh_call_usage *)));
  size_t n_sorted = 0;
  for (size_t k = 0; k < n; k++)
    if (calls[k].caller_at != calls[k].called_at && calls[k].total_bytes > 0)
      sorted[n_sorted++] = &calls[k];
  qsort(sorted, n_sorted, sizeof(lh_call_usage *), by_bytes);
  for (size_t k = 0; k < n_sorted; k++)
    if (cli_has_room())
      print_relative(l, sorted[k],
                     sorted[k]->called_at == i ? sorted[k]->caller_at : sorted[k]->called_at);
  free(sorted);
}

static void print_block(const layout *l, uint32_t i) {
  const lh_function_usage *f = &l->graph->functions[i];
  const lh_call_usage *recursive = NULL;
  for (size_t k = 0; k < f->n_called; k++)
    if (f->called[k].called_at == i) recursive = &f->called[k];
  print_relatives(l, i, f->callers, f->n_callers);
  print_function(l, i, recursive);
  print_relatives(l, i, f->called, f->n_called);
}

static void print_graph(const layout *l) {
  int rule = HEADING_WIDTH + l->calls_width - LEAST_CALLS + l->name_width - LEAST_NAME;
  print_heading(l);
  print_rule(rule);
  for (size_t i = 0; i < l->n_shown; i++) {
    if (!cli_has_room()) continue;
    print_block(l, l->order[i]);
    print_rule(rule);
  }
}

/* }=================================================================================== */

static void print_title(const layout *l) {
  char title[128];
  int length = snprintf(title, sizeof title, "Showing %zu of %zu functions that allocated memory",
                        l->n_shown, l->n_all);
  int half = (WIDTH - 2 - length) / 2;
  putchar('\n');
  put_repeated(stdout, '=', half);
  printf(" %s ", title);
  print_rule(half + length % 2);
  print_rule(WIDTH);
  putchar('\n');
}

static void print_lmprof(cli *c, const request *r, const lh_usage *usage) {
  const lh_profile *profile = lh_usage_profile(usage);
  layout l = {.has_calls = lh_profile_about(profile)->has_calls};
  lh_calls_query query = {.c_functions = true, .growth = true};
  lh_usage_calls graph;
  lh_error error;
  cli_check(c, lh_usage_calls_find(usage, &query, &graph, &error), r->files[0], &error);
  begin(&l, &graph, lh_profile_sites(profile), r->asked.has_limit ? r->asked.limit : 0);
  print_title(&l);
  print_flat(&l);
  putchar('\n');
  print_rule(WIDTH);
  print_rule(WIDTH);
  putchar('\n');
  print_graph(&l);
  end(&l);
  lh_usage_calls_free(&graph);
}

const mode lmprof_mode = {.name = "lmprof",
                          .help = "lmprof's flat and call-graph profile",
                          .n_files = 1,
                          .has_no_json = true,
                          .tell_counts = print_lmprof};
