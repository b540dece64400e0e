/*
** svg.c - memory over time as a picture: what was there before tracking at the bottom, and one area
** for each site on top of it, in the colours of Okabe and Ito, which all eyes tell apart. It needs
** no library: a few hundred numbers, and names in which & < > and quotes are written as entities.
*/
#include <inttypes.h>

#include "plot.h"

enum { WIDTH = 960, HEIGHT = 360, LEFT = 80, TOP = 40, RIGHT = 20, LEGEND_LINE = 18, BOTTOM = 40 };

static const char *const colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                      "#56b4e9", "#d55e00", "#f0e442", "#000000"};

static const char *colour_of(const lh_timeline *t, size_t i) {
  return t->sites[i].n_others > 0 ? "#9ca3af" : colours[i % (sizeof colours / sizeof *colours)];
}

static void print_xml(const char *text) {
  for (; *text != '\0'; text++) {
    switch (*text) {
      case '&': printf("&amp;"); break;
      case '<': printf("&lt;"); break;
      case '>': printf("&gt;"); break;
      case '"': printf("&quot;"); break;
      default: putchar(*text);
    }
  }
}

static unsigned x_of(const lh_timeline *t, size_t i) {
  return LEFT + (unsigned)(i * (WIDTH - LEFT - RIGHT) / (t->n_moments > 1 ? t->n_moments - 1 : 1));
}

static unsigned y_of(const lh_timeline *t, uint64_t bytes) {
  double part = t->peak_bytes > 0 ? (double)bytes / (double)t->peak_bytes : 0;
  return TOP + HEIGHT - (unsigned)(part * HEIGHT + 0.5);
}

/* From the line `below` up to what `bytes` add to it, which becomes the line below the next. Of a
** single moment a box is drawn. */
static void print_area(const lh_timeline *t, uint64_t *below, const uint64_t *bytes,
                       const char *colour, const char *name) {
  printf("<path fill=\"%s\" d=\"M", colour);
  for (size_t i = 0; i < t->n_moments; i++) printf("%u %u L", x_of(t, i), y_of(t, below[i]));
  if (t->n_moments == 1)
    printf("%d %u L%d %u L", WIDTH - RIGHT, y_of(t, below[0]), WIDTH - RIGHT,
           y_of(t, below[0] + bytes[0]));
  for (size_t i = t->n_moments; i-- > 0;) {
    below[i] += bytes[i];
    printf("%u %u%s", x_of(t, i), y_of(t, below[i]), i > 0 ? " L" : "");
  }
  printf(" Z\"><title>");
  print_xml(name);
  puts("</title></path>");
}

static void print_areas(const lh_timeline *t) {
  uint64_t *below = cli_must(calloc(t->n_moments, sizeof *below));
  print_area(t, below, t->old_bytes, "#e5e7eb", "before tracking began");
  for (size_t i = t->n_sites; i-- > 0;) {
    char *name = plot_site_text(&t->sites[i]);
    print_area(t, below, t->sites[i].bytes, colour_of(t, i), name);
    lh_free(name);
  }
  free(below);
}

static void print_axes(const lh_timeline *t) {
  enum { STEPS = 4 };
  printf("<path fill=\"none\" stroke=\"#374151\" d=\"M%d %d V%d H%d\"/>\n", LEFT, TOP, TOP + HEIGHT,
         WIDTH - RIGHT);
  for (unsigned i = 0; i <= STEPS; i++) {
    uint64_t bytes = t->peak_bytes / STEPS * i, ns = t->interval_ns / STEPS * t->n_moments * i;
    printf("<text x=\"%d\" y=\"%u\" text-anchor=\"end\">%s</text>\n", LEFT - 6, y_of(t, bytes) + 4,
           lh_size_text(bytes, false).text);
    printf("<text x=\"%u\" y=\"%d\" text-anchor=\"middle\">",
           LEFT + i * (WIDTH - LEFT - RIGHT) / STEPS, TOP + HEIGHT + 18);
    plot_seconds(stdout, ns);
    puts(" s</text>");
  }
}

static void print_legend_line(size_t line, const char *colour, const char *name, uint64_t bytes) {
  unsigned y = TOP + HEIGHT + BOTTOM + (unsigned)line * LEGEND_LINE;
  printf("<rect x=\"%d\" y=\"%u\" width=\"12\" height=\"12\" fill=\"%s\"/>", LEFT, y, colour);
  printf("<text x=\"%d\" y=\"%u\">%s at the peak: ", LEFT + 18, y + 10,
         lh_size_text(bytes, false).text);
  print_xml(name);
  puts("</text>");
}

static void print_legend(const lh_timeline *t) {
  uint64_t old_bytes = t->peak_bytes;
  for (size_t i = 0; i < t->n_sites; i++) {
    char *name = plot_site_text(&t->sites[i]);
    print_legend_line(i, colour_of(t, i), name, t->sites[i].peak_bytes);
    old_bytes -= t->sites[i].peak_bytes;
    lh_free(name);
  }
  print_legend_line(t->n_sites, "#e5e7eb", "before tracking began", old_bytes);
}

void print_svg(const lh_timeline *t) {
  size_t height = TOP + HEIGHT + BOTTOM + (t->n_sites + 2) * LEGEND_LINE;
  printf(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %zu\" width=\"%d\" "
      "height=\"%zu\" font-family=\"Helvetica,Arial,sans-serif\" font-size=\"11\" "
      "fill=\"#111827\">\n",
      WIDTH, height, WIDTH, height);
  printf("<rect width=\"%d\" height=\"%zu\" fill=\"#ffffff\"/>\n", WIDTH, height);
  printf("<text x=\"%d\" y=\"24\" font-size=\"15\">%s after ", LEFT,
         lh_size_text(t->peak_bytes, false).text);
  printf("%s, when the heap was biggest</text>\n", lh_duration_text(t->peak_ns).text);
  print_areas(t);
  print_axes(t);
  print_legend(t);
  puts("</svg>");
}
