/*
** boxes.c - prints Memory Blueprint as DOT for Graphviz. A box is a function: its height shows its
** own allocations, its width its own time. An arrow is a call: its thickness shows the bytes
** allocated through it. A yellow function always returned the same value, so its result could be
** kept. Time and yellow need a profile with calls.
**
** DOT is written without libcgraph: boxes are numbered, and in quoted names only backslash and
** quote need an escape.
*/
#include "boxes.h"

char *line_text(const lh_line *line) {
  if (line->source == NULL) return cli_must(lh_escaped("INTERNAL", 8));
  lh_site at = {.source = line->source, .line = line->line, .maker = LH_MADE_OTHERWISE};
  return cli_must(lh_site_text(&at));
}

char *function_text(const lh_sites *sites, const lh_function_usage *f) {
  static const lh_site unknown = {.maker = LH_MADE_UNKNOWN};
  const lh_site *site = &unknown;
  if (f->stack > 0) site = lh_site_of(sites, lh_stack_of(sites, f->stack)->site);
  const char *called = f->is_c ? site->c_function : site->source != NULL ? site->function : NULL;
  if (called == NULL) called = "?";
  const lh_site named = {.c_function = *called == '\0' ? "main chunk" : called};
  char *result, *name = cli_must(lh_site_text(&named)); /* shortened */
  lh_line first = {.source = site->source, .line = site->first_line};
  char *at = line_text(&first);
  if (site->source == NULL && site->maker == LH_MADE_UNKNOWN && !f->is_c)
    result = cli_format("(unattributed)");
  else if (f->is_c || site->source == NULL)
    result = cli_format("%s [C]", name);
  else
    result = cli_format("%s (%s)", name, at + (at[0] == '@'));
  lh_free(name);
  lh_free(at);
  return result;
}

enum { NAME_BYTES = 64 };

typedef struct drawing {
  FILE *out;
  const lh_usage_calls *graph;
  const lh_sites *sites;
  bool has_calls;
  size_t n_drawn; /* the first functions, sorted by total bytes */
  uint64_t most_bytes, most_ns, most_arrow;
} drawing;

static size_t choose_functions(drawing *d, size_t limit) {
  const lh_usage_calls *g = d->graph;
  size_t n_arrows = 0;
  d->n_drawn = limit > 0 && limit < g->n_functions ? limit : g->n_functions;
  for (size_t i = 0; i < d->n_drawn; i++) {
    const lh_function_usage *f = &g->functions[i];
    if (f->self_bytes > d->most_bytes) d->most_bytes = f->self_bytes;
    if (f->self_ns > d->most_ns) d->most_ns = f->self_ns;
    for (size_t k = 0; k < f->n_called; k++) {
      n_arrows += f->called[k].called_at < d->n_drawn;
      if (f->called[k].total_bytes > d->most_arrow) d->most_arrow = f->called[k].total_bytes;
    }
  }
  return n_arrows;
}

static void print_quoted(FILE *out, const char *text) {
  for (; *text != '\0'; text++) {
    if (*text == '"' || *text == '\\') putc('\\', out);
    putc(*text, out);
  }
}

static void print_name(const drawing *d, const lh_function_usage *f) {
  char *name = function_text(d->sites, f);
  size_t n = strlen(name);
  if (n > NAME_BYTES) {
    for (n = NAME_BYTES; n > 0 && ((unsigned char)name[n] & 0xC0) == 0x80; n--) continue;
    name[n] = '\0';
  }
  print_quoted(d->out, name);
  if (n >= NAME_BYTES) fprintf(d->out, "...");
  free(name);
}

/* A share n / most, scaled to `least` up to `least` + `more`, with two digits. */
static void print_scaled(FILE *out, double least, double more, uint64_t n, uint64_t most) {
  double part = most > 0 ? (double)n / (double)most : 0;
  unsigned hundredths = (unsigned)(100 * (least + more * part) + 0.5);
  fprintf(out, "%u.%02u", hundredths / 100, hundredths % 100);
}

static void print_time(FILE *out, uint64_t ns) {
  uint64_t us = ns / 1000;
  fprintf(out, "%" PRIu64 ".%03" PRIu64 " ms", us / 1000, us % 1000);
}

static void print_box(const drawing *d, uint32_t i) {
  const lh_function_usage *f = &d->graph->functions[i];
  fprintf(d->out, "  f%" PRIu32 " [label=\"", i);
  print_name(d, f);
  fprintf(d->out, "\\n%s, %s in all", lh_size_text(f->self_bytes, false).text,
          lh_size_text(f->total_bytes, false).text);
  if (d->has_calls) {
    fprintf(d->out, "\\n%s, ", lh_count_of(f->calls, "call", "calls").text);
    print_time(d->out, f->self_ns);
  }
  fprintf(d->out, "\", height=");
  print_scaled(d->out, 0.4, 2, f->self_bytes, d->most_bytes);
  fprintf(d->out, ", width=");
  print_scaled(d->out, 1, 2.5, f->self_ns, d->most_ns);
  fprintf(d->out, "%s];\n", f->is_constant ? ", fillcolor=\"#ffe066\"" : "");
}

static void print_arrow(const drawing *d, const lh_call_usage *call) {
  fprintf(d->out, "  f%" PRIu32 " -> f%" PRIu32 " [penwidth=", call->caller_at, call->called_at);
  print_scaled(d->out, 0.5, 4, call->total_bytes, d->most_arrow);
  fprintf(d->out, ", tooltip=\"%s\"%s];\n", lh_size_text(call->total_bytes, false).text,
          call->tail_calls > 0 ? ", style=dashed" : "");
}

static void print_graph(const drawing *d) {
  fputs("digraph heapprof {\n", d->out);
  fputs(
      "  graph [fontname=\"Helvetica,Arial,sans-serif\", fontsize=11, label=\"tall: it allocated "
      "much itself; wide: it took long; thick: much was allocated by way of it\\ndashed: a tail "
      "call; yellow: it returned the same each time\"];\n",
      d->out);
  fputs(
      "  node [fontname=\"Helvetica,Arial,sans-serif\", fontsize=11, shape=box, style=filled, "
      "fillcolor=\"#dbeafe\", color=\"#1d4ed8\"];\n",
      d->out);
  fputs("  edge [color=\"#6b7280\", arrowsize=0.6];\n", d->out);
  for (uint32_t i = 0; i < d->n_drawn; i++) print_box(d, i);
  for (size_t i = 0; i < d->n_drawn; i++) {
    const lh_function_usage *f = &d->graph->functions[i];
    for (size_t k = 0; k < f->n_called; k++)
      if (f->called[k].called_at < d->n_drawn) print_arrow(d, &f->called[k]);
  }
  fputs("}\n", d->out);
}

size_t print_boxes(FILE *out, const lh_usage *usage, const lh_usage_calls *graph, size_t limit) {
  const lh_profile *profile = lh_usage_profile(usage);
  drawing d = {.out = out,
               .graph = graph,
               .sites = lh_profile_sites(profile),
               .has_calls = lh_profile_about(profile)->has_calls};
  size_t n_arrows = choose_functions(&d, limit);
  if (n_arrows <= MOST_ARROWS) print_graph(&d);
  return n_arrows;
}
