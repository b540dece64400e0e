/*
** lmprof.c - prints lmprof's two reports in the layout of its script: the flat profile, functions
** by their own bytes, and the call graph, each function between callers and called functions.
** lmprof's "cumulative" is our "total".
**
** Differences: a function that is on the stack several times counts its bytes once; lmprof adds
** them up. Every call counts, not only allocating ones. A profile recorded without calls (time =
** true) has "-" for calls and values per call.
*/
#include "boxes.h"
#include "heapprof.h"

enum { WIDTH = 80, HEADING_WIDTH = 63, MEMORY_WIDTH = 8, INDEX_DIGITS = 4 };

/* A longer name makes its line longer. */
enum { LEAST_CALLS = 5, LEAST_NAME = 4, MOST_NAME = 100 };

typedef struct layout {
  const lh_usage_calls *graph;
  const lh_sites *sites;
  bool has_calls;
  uint32_t *order;     /* functions in print order */
  uint32_t *positions; /* index of each function in `order` */
  size_t n_all, n_shown;
  unsigned self, total, self_per_call, total_per_call; /* digits of a column's maximum */
  int calls_width, name_width;
} layout;

/* ==== Names and numbers ============================================================= */

/* In characters: one of several bytes takes one column. */
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

/* Prints n / unit with `decimals` digits behind the point, in any locale. */
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

static void put_percent(FILE *out, const layout *l, uint64_t bytes) {
  uint64_t all = l->graph->bytes > 0 ? l->graph->bytes : 1;
  unsigned __int128 hundred = (unsigned __int128)bytes * 10000 + all / 2;
  put_fixed(out, 6, (uint64_t)(hundred / all), 100, 2);
}

static lh_number calls_text(const layout *l, uint64_t calls) {
  lh_number number = {"-"};
  if (l->has_calls) (void)snprintf(number.text, sizeof number.text, "%" PRIu64, calls);
  return number;
}

/* ==== Layout ======================================================================== */

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

static int compare_numbers(uint64_t one, uint64_t other) {
  return (one < other) - (one > other);
}

static int by_self_bytes(const void *a, const void *b, void *data) {
  const lh_function_usage *functions = data;
  uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
  int order = compare_numbers(functions[one].self_bytes, functions[other].self_bytes);
  if (order == 0) order = compare_numbers(functions[one].total_bytes, functions[other].total_bytes);
  return order != 0 ? order : (one > other) - (one < other);
}

static void begin_layout(layout *l, const lh_usage_calls *graph, const lh_sites *sites,
                         size_t limit) {
  size_t n = graph->n_functions;
  l->graph = graph;
  l->sites = sites;
  l->calls_width = LEAST_CALLS;
  l->name_width = LEAST_NAME;
  l->order = cli_must(calloc(n + 1, sizeof *l->order));
  l->positions = cli_must(calloc(n + 1, sizeof *l->positions));
  for (uint32_t i = 0; i < n; i++) {
    if (graph->functions[i].total_bytes == 0) continue;
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

static void print_rule(int width) {
  put_repeated(stdout, '=', width);
  putchar('\n');
}

/* ==== Rows ========================================================================== */

/* A letter stands for a cell (put_cell), other characters for themselves. */
static const char flat_form[] = "p  s   t   c  S    T   n", function_form[] = "i  p  s   t    c rN",
                  relative_form[] = "                s   t    c/aN";

typedef struct row {
  uint32_t function;
  uint64_t self_bytes, total_bytes, calls;
  uint64_t all_calls;             /* of a call: calls of the called function */
  const lh_call_usage *recursive; /* the function's call of itself; NULL: none */
} row;

static void put_index(FILE *out, const layout *l, uint32_t i) {
  uint64_t position = (uint64_t)l->positions[i] + 1;
  fprintf(out, "%*s[%" PRIu64 "]", INDEX_DIGITS - (int)digits_of(position), "", position);
}

static void put_cell(FILE *out, const layout *l, char cell, const row *r, const char *name) {
  int behind_calls = l->calls_width + 2;
  char again[LH_NUMBER_BYTES + 3] = "";
  if (r->recursive != NULL)
    (void)snprintf(again, sizeof again, "(%s)", calls_text(l, r->recursive->calls).text);
  switch (cell) {
    case 'p': put_percent(out, l, r->self_bytes); break;
    case 's': put_size(out, l->self, r->self_bytes); break;
    case 't': put_size(out, l->total, r->total_bytes); break;
    case 'S': put_per_call(out, l->self_per_call, r->self_bytes, r->calls); break;
    case 'T': put_per_call(out, l->total_per_call, r->total_bytes, r->calls); break;
    case 'c': fprintf(out, "%*s", l->calls_width, calls_text(l, r->calls).text); break;
    case 'a': fprintf(out, "%-*s", behind_calls, calls_text(l, r->all_calls).text); break;
    case 'r': fprintf(out, "%-*s", behind_calls, again); break;
    case 'i': put_index(out, l, r->function); break;
    case 'n': fputs(name, out); break;
    case 'N':
      fputs(name, out);
      put_repeated(out, ' ', l->name_width - width_of(name) + 1);
      put_index(out, l, r->function);
      break;
    default: putc(cell, out); break;
  }
}

static void put_layout_row(FILE *out, const layout *l, const char *form, const row *r) {
  char *name = function_text(l->sites, &l->graph->functions[r->function]);
  for (; *form != '\0'; form++) put_cell(out, l, *form, r, name);
  free(name);
}

static row layout_row_of(const layout *l, uint32_t i) {
  const lh_function_usage *f = &l->graph->functions[i];
  return (row){i, f->self_bytes, f->total_bytes, f->calls, 0, NULL};
}

static void print_flat(const layout *l) {
  int gap = l->calls_width - 3;
  printf("   %%      self    cumulative %*s         self    cumulative\n", gap, "");
  printf("  mem     mem        mem    %*scalls   mem/call   mem/call   name\n", gap, "");
  for (size_t i = 0; i < l->n_shown; i++) {
    const row r = layout_row_of(l, l->order[i]);
    if (!cli_has_room()) continue;
    put_layout_row(stdout, l, flat_form, &r);
    putchar('\n');
  }
}

/* ==== Call graph ==================================================================== */

static void print_dashed(const char *line) {
  size_t indent = strspn(line, " ");
  printf("%*s", (int)indent, "");
  for (line += indent; *line != '\0'; line++) putchar(*line == ' ' ? '-' : *line);
  putchar('\n');
}

static void print_function(const layout *l, const row *r) {
  char *line;
  size_t size;
  FILE *out = cli_open_text(&line, &size);
  put_layout_row(out, l, function_form, r);
  cli_close_text(out);
  print_dashed(line);
  free(line);
}

static void print_heading(const layout *l) {
  int calls = l->calls_width - LEAST_CALLS, name = l->name_width - LEAST_NAME;
  printf("%38s%*scalled/total%*s  parents\n", "", calls, "", calls, "");
  printf(" index    %%mem    self    cumulative  %*scalled (rec)%*s  name  %*sindex\n", calls, "",
         calls, "", name, "");
  printf("%38s%*scalled/total%*s  children\n", "", calls, "", calls, "");
}

static int by_call_bytes(const void *a, const void *b) {
  const lh_call_usage *one = *(const lh_call_usage *const *)a;
  const lh_call_usage *other = *(const lh_call_usage *const *)b;
  int order = compare_numbers(one->self_bytes, other->self_bytes);
  if (order == 0) order = compare_numbers(one->total_bytes, other->total_bytes);
  return order != 0 ? order : (one > other) - (one < other);
}

static void print_relatives(const layout *l, uint32_t i, const lh_call_usage *calls, size_t n) {
  const lh_call_usage **sorted = cli_must(calloc(n + 1, sizeof(lh_call_usage *)));
  size_t n_sorted = 0;
  for (size_t k = 0; k < n; k++)
    if (calls[k].caller_at != calls[k].called_at && calls[k].total_bytes > 0)
      sorted[n_sorted++] = &calls[k];
  qsort(sorted, n_sorted, sizeof(lh_call_usage *), by_call_bytes);
  for (size_t k = 0; k < n_sorted; k++) {
    const lh_call_usage *call = sorted[k];
    const row r = {.function = call->called_at == i ? call->caller_at : call->called_at,
                   .self_bytes = call->self_bytes,
                   .total_bytes = call->total_bytes,
                   .calls = call->calls,
                   .all_calls = l->graph->functions[call->called_at].calls};
    if (!cli_has_room()) continue;
    put_layout_row(stdout, l, relative_form, &r);
    puts(call->tail_calls > 0 ? " (...tail calls...)" : "");
  }
  free(sorted);
}

static void print_block(const layout *l, uint32_t i) {
  const lh_function_usage *f = &l->graph->functions[i];
  row r = layout_row_of(l, i);
  for (size_t k = 0; k < f->n_called; k++)
    if (f->called[k].called_at == i) r.recursive = &f->called[k];
  print_relatives(l, i, f->callers, f->n_callers);
  print_function(l, &r);
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

void print_lmprof(cli *c, const request *r, const lh_usage *usage) {
  const lh_profile *profile = lh_usage_profile(usage);
  layout l = {.has_calls = lh_profile_about(profile)->has_calls};
  lh_calls_query query = {.c_functions = true, .growth = true};
  lh_usage_calls graph;
  lh_error error;
  cli_check(c, lh_usage_calls_find(usage, &query, &graph, &error), r->files[0], &error);
  begin_layout(&l, &graph, lh_profile_sites(profile), r->asked.has_limit ? r->asked.limit : 0);
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
