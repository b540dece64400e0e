/*
** picture.c - draws the paths of an object (DOT from lib/dot.c) and Memory Blueprint as SVG, with
** Graphviz inside this process. Without a limit the graph has the independent paths, as in
** heappath; with a limit, that many of the shortest.
**
** The id of a box is its object's address, so that a page can link it. Layout time grows faster
** than the graph, so a graph has at most 20 paths, with 12 arrows each. Only the answering thread
** may use libgvc.
*/
#include <ctype.h>
#include <gvc.h>

#include "heapprof/boxes.h"
#include "heapview.h"

extern gvplugin_library_t gvplugin_core_LTX_library, gvplugin_dot_layout_LTX_library;

enum { MOST_PATHS = 20, USUAL_PATHS = 5, LONG_PICTURE = 10 };

static int refuse_drawing(view_asked *asked) {
  view_refuse(asked->error, "Graphviz cannot draw the picture");
  return asked->error->code = LH_EIO;
}

/* The name of a box is the number of its object, such as o12. */
static void name_boxes(const lh_snapshot *s, Agraph_t *graph) {
  for (Agnode_t *n = agfstnode(graph); n != NULL; n = agnxtnode(graph, n)) {
    const char *name = agnameof(n);
    char *end;
    unsigned long id = *name == 'o' ? strtoul(name + 1, &end, 10) : 0;
    if (id == 0 || *end != '\0') continue;
    (void)agsafeset(n, (char *)"id", lh_address_text(s, (lh_id)id).text, (char *)"");
  }
}

/* Graphviz with two plugins, which are linked: dot's layout, and SVG. It estimates the size of
** texts. Pango would measure them, but its threads, its fonts and an end of memory may end the
** process, and pictures would differ from machine to machine. */
static GVC_t *new_context(void) {
  GVC_t *context = gvContextPlugins(NULL, 0);
  if (context == NULL) return NULL;
  gvAddLibrary(context, &gvplugin_dot_layout_LTX_library);
  gvAddLibrary(context, &gvplugin_core_LTX_library);
  return context;
}

/* Returns SVG, freed by free; NULL: failed. One context serves all pictures and is never freed:
** Graphviz keeps a pointer to its last font. */
static char *draw(const lh_snapshot *s, const char *dot) {
  static GVC_t *context;
  char *svg = NULL;
  size_t size;
  if (context == NULL) context = new_context();
  Agraph_t *graph = context != NULL ? agmemread(dot) : NULL;
  bool is_laid_out = graph != NULL && gvLayout(context, graph, "dot") == 0;
  if (is_laid_out) {
    FILE *out = cli_open_text(&svg, &size);
    name_boxes(s, graph);
    bool is_drawn = gvRender(context, graph, "svg", out) == 0;
    cli_close_text(out);
    if (!is_drawn || size == 0) {
      free(svg);
      svg = NULL;
    }
    (void)gvFreeLayout(context, graph);
  }
  if (graph != NULL) (void)agclose(graph);
  return svg;
}

static int put_picture(view_asked *asked, lh_json *w, const lh_snapshot *s, const char *dot) {
  (void)agseterr(AGMAX); /* messages of Graphviz do not help the user of a page */
  char *svg = draw(s, dot);
  size_t n = svg != NULL ? strlen(svg) : 0;
  bool is_fine = svg != NULL && lh_utf8_bytes(svg, n, false) == n;
  if (is_fine) lh_json_text(w, "svg", svg, n);
  free(svg);
  return is_fine ? LH_OK : refuse_drawing(asked);
}

static int draw_paths(view_asked *asked, lh_json *w, const lh_path *paths, size_t n) {
  char *dot = NULL;
  size_t size;
  FILE *out = cli_open_text(&dot, &size);
  int code = lh_dot_paths(asked->snapshot, paths, n, LONG_PICTURE, out, asked->error);
  cli_close_text(out);
  lh_json_count(w, "paths", n);
  if (code == LH_OK) code = put_picture(asked, w, asked->snapshot, dot);
  free(dot);
  return code;
}

static int draw_shortest(view_asked *asked, lh_json *w, size_t k) {
  lh_path *paths;
  size_t n;
  int code = lh_shortest_paths(asked->snapshot, asked->request.id, k, &paths, &n, asked->error);
  if (code != LH_OK) return code;
  code = draw_paths(asked, w, paths, n);
  lh_paths_free(paths, n);
  lh_free(paths);
  return code;
}

int view_picture(view_asked *asked, lh_json *w) {
  const lh_request *r = &asked->request;
  lh_independent held;
  if (r->id == LH_ROOT || !lh_is_reachable(asked->snapshot, r->id))
    return view_refuse(asked->error, r->id == LH_ROOT
                                         ? "no path leads to the root"
                                         : "nothing keeps it alive, so there is nothing to draw");
  if (r->has_limit && r->limit > 0)
    return draw_shortest(asked, w, r->limit < MOST_PATHS ? r->limit : MOST_PATHS);
  int code = lh_find_independent(asked->snapshot, r->id, USUAL_PATHS, &held, asked->error);
  if (code != LH_OK) return code;
  code = held.n > 1 ? draw_paths(asked, w, held.paths, held.n) : draw_shortest(asked, w, 1);
  lh_independent_free(&held);
  return code;
}

int view_blueprint(view_asked *asked, lh_json *w) {
  const lh_usage *usage = asked->v->usage;
  const lh_request *r = &asked->request;
  lh_usage_calls graph;
  char *dot = NULL;
  size_t size;
  if (usage == NULL) return view_refuse(asked->error, "no profile was opened");
  lh_calls_query query = {.c_functions = true};
  int code = lh_usage_calls_find(usage, &query, &graph, asked->error);
  if (code != LH_OK) return code;
  FILE *out = cli_open_text(&dot, &size);
  size_t n_arrows = print_boxes(out, usage, &graph, r->has_limit ? r->limit : USUAL_BOXES);
  lh_usage_calls_free(&graph);
  cli_close_text(out);
  if (n_arrows <= MOST_ARROWS)
    code = put_picture(asked, w, NULL, dot);
  else
    code = view_refuse(asked->error, "%zu arrows are too many for a picture", n_arrows);
  free(dot);
  return code;
}
