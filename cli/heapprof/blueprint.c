/*
** blueprint.c - Memory Blueprint as a DOT graph for Graphviz: a box for each function, the taller
** the more it allocated itself, and the wider the more time it took; an arrow to each that it
** called, the thicker the more was allocated by way of it. Yellow is what returned the same each
** time, wherever it was called: its result could be kept. Time and yellow need a profile that has
** calls.
**
** DOT is written here, and not by libcgraph: boxes are numbered, and a name stands in quotes, in
** which a backslash and a quote are all that has a meaning.
*/
#include <inttypes.h>
#include <string.h>

#include "modes.h"

/* dot needs minutes for more arrows, and nobody sees one of them. */
enum { USUAL_BOXES = 40, MOST_ARROWS = 4000, NAME_BYTES = 64 };

typedef struct drawing {
  const lh_usage_calls *graph;
  const lh_sites *sites;
  bool has_calls;
  size_t n_drawn; /* the first of the functions, which are in the order of their total bytes */
  uint64_t most_bytes, most_ns, most_arrow;
} drawing;

/* {=== What is drawn ================================================================= */

static void choose(cli *c, drawing *d, const request *r) {
  const lh_usage_calls *g = d->graph;
  size_t n_arrows = 0, limit = r->asked.has_limit ? r->asked.limit : USUAL_BOXES;
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
  if (n_arrows > MOST_ARROWS)
    cli_die(c, NULL,
            "%s: %zu arrows are too many for a picture, which may have %d: ask for fewer functions"
            " by -n",
            r->files[0], n_arrows, MOST_ARROWS);
}

/* }=================================================================================== */

/* {=== DOT =========================================================================== */

static void print_quoted(const char *text) {
  for (; *text != '\0'; text++) {
    if (*text == '"' || *text == '\\') putchar('\\');
    putchar(*text);
  }
}

/* Of a long name the beginning; whole characters. */
static void print_name(const drawing *d, const lh_function_usage *f) {
  char *name = function_text(d->sites, f);
  size_t n = strlen(name);
  if (n > NAME_BYTES) {
    for (n = NAME_BYTES; n > 0 && ((unsigned char)name[n] & 0xC0) == 0x80; n--) continue;
    name[n] = '\0';
  }
  print_quoted(name);
  if (n >= NAME_BYTES) printf("...");
  free(name);
}

/* A part of the greatest, as inches or points from `least` on, with two digits. */
static void print_scaled(double least, double more, uint64_t n, uint64_t most) {
  double part = most > 0 ? (double)n / (double)most : 0;
  unsigned hundredths = (unsigned)(100 * (least + more * part) + 0.5);
  printf("%u.%02u", hundredths / 100, hundredths % 100);
}

static void print_time(uint64_t ns) {
  uint64_t us = ns / 1000;
  printf("%" PRIu64 ".%03" PRIu64 " ms", us / 1000, us % 1000);
}

static void print_box(const drawing *d, uint32_t i) {
  const lh_function_usage *f = &d->graph->functions[i];
  printf("  f%" PRIu32 " [label=\"", i);
  print_name(d, f);
  printf("\\n%s, %s in all", lh_size_text(f->self_bytes, false).text,
         lh_size_text(f->total_bytes, false).text);
  if (d->has_calls) {
    printf("\\n%s, ", lh_count_of(f->calls, "call", "calls").text);
    print_time(f->self_ns);
  }
  printf("\", height=");
  print_scaled(0.4, 2, f->self_bytes, d->most_bytes);
  printf(", width=");
  print_scaled(1, 2.5, f->self_ns, d->most_ns);
  printf("%s];\n", f->is_constant ? ", fillcolor=\"#ffe066\"" : "");
}

static void print_arrow(const drawing *d, const lh_call_usage *call) {
  printf("  f%" PRIu32 " -> f%" PRIu32 " [penwidth=", call->caller_at, call->called_at);
  print_scaled(0.5, 4, call->total_bytes, d->most_arrow);
  printf(", tooltip=\"%s\"%s];\n", lh_size_text(call->total_bytes, false).text,
         call->tail_calls > 0 ? ", style=dashed" : "");
}

static void print_graph(const drawing *d) {
  puts("digraph heapprof {");
  puts(
      "  graph [fontname=\"Helvetica,Arial,sans-serif\", fontsize=11, label=\"tall: it allocated "
      "much itself; wide: it took long; thick: much was allocated by way of it\\ndashed: a tail "
      "call; yellow: it returned the same each time\"];");
  puts(
      "  node [fontname=\"Helvetica,Arial,sans-serif\", fontsize=11, shape=box, style=filled, "
      "fillcolor=\"#dbeafe\", color=\"#1d4ed8\"];");
  puts("  edge [color=\"#6b7280\", arrowsize=0.6];");
  for (uint32_t i = 0; i < d->n_drawn; i++) print_box(d, i);
  for (size_t i = 0; i < d->n_drawn; i++) {
    const lh_function_usage *f = &d->graph->functions[i];
    for (size_t k = 0; k < f->n_called; k++)
      if (f->called[k].called_at < d->n_drawn) print_arrow(d, &f->called[k]);
  }
  puts("}");
}

/* }=================================================================================== */

static int run(cli *c, const request *r) {
  lh_usage *usage = count_profile(c, r, r->files[0], false);
  const lh_profile *profile = lh_usage_profile(usage);
  lh_calls_query query = {.c_functions = true};
  lh_usage_calls graph;
  lh_error error;
  cli_check(c, lh_usage_calls_find(usage, &query, &graph, &error), r->files[0], &error);
  drawing d = {.graph = &graph,
               .sites = lh_profile_sites(profile),
               .has_calls = lh_profile_about(profile)->has_calls};
  choose(c, &d, r);
  print_graph(&d);
  lh_usage_calls_free(&graph);
  free_usage(usage);
  return CLI_DONE;
}

const mode blueprint_mode = {.name = "blueprint",
                             .help = "Memory Blueprint: functions and calls, as DOT for Graphviz",
                             .least_files = 1,
                             .most_files = 1,
                             .takes_moments = true,
                             .has_no_json = true,
                             .run = run};
