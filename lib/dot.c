/*
** dot.c - draws retaining paths as a DOT graph for Graphviz, with libcgraph.
**
** Each object is a box, each edge an arrow from the holder to the held object. Paths share the
** boxes of their common objects. The shapes mean:
**
**     folder, green    the start of a path: a root, with its name above the class
**     box, blue        an object on the path
**     octagon, red     the object that the user asked about
**     box, grey        the middle of a long path: "999,990 more .next"
**     dashed arrow     a weak edge: it keeps nothing alive
**
** The synthetic root has no box, since the shape marks the roots. An upvalue between a closure and
** its value has no box either: its name is on the arrow. In a snapshot of a tracked program a
** tooltip says where the object was allocated.
**
** lh_dot_merged_paths draws a box for each row of merged paths: red if objects of the set are
** there, grey for hidden rows.
**
** A path is walked twice, and at most `long_path` of its steps become boxes, so the graph stays
** small. Text from the heap has no control characters. put_escaped removes its meaning for
** HTML-like labels (of boxes) and plain labels (of arrows): escapes, entities, tags.
*/
#include <cgraph.h>

#include "name/text.h"
#include "rooms/analyses.h"
#include "rooms/report.h"

enum {
  NAME_BYTES = 64,  /* of one name in a label; a longer one loses its middle */
  LEAST_KEPT = 4,   /* the least number of steps that stay when a path is folded */
  SHOWN_CALLERS = 4 /* stack frames in a tooltip */
};

#define FONTS "Helvetica,Arial,sans-serif"

typedef struct drawing {
  const lh_snapshot *snapshot;
  Agraph_t *graph;
  size_t long_path;
  bool below; /* the paths lead down from the object that the user asked about, not to it */
  lh_error *error;
} drawing;

static int no_memory(const drawing *d) {
  return lh_fail_memory(d->error, "drawing paths");
}

/* ==== Labels ======================================================================== */

/* Replaces characters that start an escape (\\N), an entity (&amp;) or a tag in Graphviz. cgraph
** itself escapes quotes. */
static void put_escaped(lh_text *to, const char *bytes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    switch (bytes[i]) {
      case '\\': lh_text_string(to, "\\\\"); break;
      case '&': lh_text_string(to, "&amp;"); break;
      case '<': lh_text_string(to, "&lt;"); break;
      case '>': lh_text_string(to, "&gt;"); break;
      default: lh_text_add(to, bytes + i, 1);
    }
  }
}

/* Adds text from the heap. Keeps both ends of a long text, since the end often is ":line". */
static void put_heap_text(lh_text *to, const char *name) {
  size_t n = strlen(name), tail;
  if (n <= NAME_BYTES) {
    put_escaped(to, name, n);
    return;
  }
  tail = lh_text_cut(name, n - NAME_BYTES / 2);
  put_escaped(to, name, lh_text_cut(name, NAME_BYTES / 2));
  lh_text_string(to, "…");
  put_escaped(to, name + tail, n - tail);
}

/* The same for text of which `to` takes ownership. NULL: out of memory. */
static void put_owned(lh_text *to, char *name) {
  if (name)
    put_heap_text(to, name);
  else
    to->failed = true;
  lh_free(name);
}

static char *class_text(const drawing *d, lh_id id) {
  if (lh_type_of(d->snapshot, id) == LH_TYPE_STRING)
    return lh_string_text(d->snapshot, id, NAME_BYTES / 2);
  return lh_copy_text(lh_class_name_of(d->snapshot, id));
}

/* The label of a box. The title is the name of the root edge `root`, or the class if `root` is
** NULL. Small print below has the class (if not in the title), the address and the sizes. */
static void put_object(const drawing *d, lh_text *to, lh_id id, const lh_edge *root) {
  char *class_name = class_text(d, id);
  char *title = root ? lh_edge_text(d->snapshot, root) : NULL;
  bool both = title && class_name && root->index > LH_ROOT_MAIN_THREAD;
  if (root && !title) to->failed = true;
  lh_text_string(to, "<b>");
  put_owned(to, title ? title : class_name);
  lh_text_string(to, " </b><br/><font point-size=\"9\" color=\"#57606a\">");
  if (both) {
    put_heap_text(to, class_name);
    lh_text_string(to, "<br/>");
  }
  if (title) lh_free(class_name);
  put_owned(to, lh_object_text(d->snapshot, id));
  lh_text_string(to, "<br/>");
  lh_text_string(to, lh_size_text(lh_shallow_bytes(d->snapshot, id), false).text);
  lh_text_string(to, " shallow, ");
  lh_text_string(to, lh_size_text(lh_retained_bytes(d->snapshot, id), false).text);
  lh_text_string(to, " retained</font>");
}

/* ==== Boxes and arrows ============================================================== */

/* cgraph copies its arguments, but does not declare them const. */
static void set(void *object, const char *name, const char *value) {
  (void)agsafeset(object, (char *)name, (char *)value, (char *)"");
}

static void set_default(Agraph_t *graph, int kind, const char *name, const char *value) {
  (void)agattr(graph, kind, (char *)name, (char *)value);
}

static void set_style(Agnode_t *box, const char *shape, const char *fill, const char *line) {
  set(box, "shape", shape);
  set(box, "fillcolor", fill);
  set(box, "color", line);
}

/* cgraph knows an HTML-like label by the function that made its string. */
static int set_html_label(const drawing *d, Agnode_t *box, lh_text *label) {
  char *made = lh_text_finish(label);
  char *html = made ? agstrdup_html(d->graph, made) : NULL;
  lh_free(made);
  if (!html) return no_memory(d);
  set(box, "label", html);
  (void)agstrfree(d->graph, html);
  return 0;
}

/* The tooltip says where the object was allocated, if that is known. */
static int set_tooltip(const drawing *d, Agnode_t *box, lh_id id) {
  lh_stack_id stack = lh_object_stack(d->snapshot, id);
  if (stack == 0) return 0;
  char *where = lh_allocated_text(lh_snapshot_sites(d->snapshot), stack, SHOWN_CALLERS);
  lh_text text = {.failed = !where};
  if (where) put_escaped(&text, where, strlen(where));
  lh_free(where);
  char *tooltip = lh_text_finish(&text);
  if (!tooltip) return no_memory(d);
  set(box, "tooltip", tooltip);
  lh_free(tooltip);
  return 0;
}

/* Returns the box of an object; the first call makes the box. `root` is the edge from the synthetic
** root to the object, or NULL. */
static int object_box(const drawing *d, lh_id id, const lh_edge *root, Agnode_t **box) {
  char name[16];
  lh_text label = {0};
  (void)snprintf(name, sizeof name, "o%" PRIu32, id);
  *box = agnode(d->graph, name, 0);
  if (*box && (!root || strcmp(agget(*box, (char *)"shape"), "folder") == 0)) return 0;
  *box = agnode(d->graph, name, 1);
  if (!*box) return no_memory(d);
  if (root) set_style(*box, "folder", "#c7ecd0", "#1a7f37");
  put_object(d, &label, id, root);
  int code = set_html_label(d, *box, &label);
  return code < 0 ? code : set_tooltip(d, *box, id);
}

/* Draws an arrow. The labels tell several arrows between two boxes apart. */
static int arrow(const drawing *d, Agnode_t *from, Agnode_t *to, const lh_edge *edge) {
  lh_text text = {0};
  lh_text_string(&text, "  "); /* distance from the arrow's line */
  put_owned(&text, lh_edge_text(d->snapshot, edge));
  char *label = lh_text_finish(&text);
  if (!label) return no_memory(d);
  bool known = agedge(d->graph, from, to, label, 0) != NULL;
  Agedge_t *line = agedge(d->graph, from, to, label, 1);
  if (line && !known) set(line, "label", label);
  if (line && edge->weak) set(line, "style", "dashed");
  lh_free(label);
  return line ? 0 : no_memory(d);
}

/* ==== Paths ========================================================================= */

/* One arrow: a step, or the two steps through an upvalue. */
typedef struct hop {
  const lh_edge *edge; /* the first of the steps: the label */
  lh_id target;
  size_t next; /* the step after the hop */
} hop;

static hop hop_at(const lh_path *path, size_t at) {
  const lh_edge *edge = &path->steps[at];
  bool merged = (edge->kind == LH_EDGE_UPVALUE || edge->kind == LH_EDGE_OPEN_UPVALUE) &&
                at + 1 < path->n_steps && path->steps[at + 1].kind == LH_EDGE_CONTENT;
  size_t last = merged ? at + 1 : at;
  return (hop){edge, path->steps[last].target, last + 1};
}

static size_t count_hops(const lh_path *path) {
  size_t n = 0;
  for (size_t at = 0; at < path->n_steps; at = hop_at(path, at).next) n++;
  return n;
}

/* Adds the common label of the `n` hops from step `at` on, " of .next"; else " steps". */
static void put_common(const drawing *d, lh_text *to, const lh_path *path, size_t n, size_t at) {
  const lh_edge *first = &path->steps[at];
  bool alike = true;
  for (size_t i = 1; i < n && alike; i++) {
    at = hop_at(path, at).next;
    alike = lh_edges_alike(d->snapshot, first, &path->steps[at]);
  }
  lh_text_string(to, alike ? " " : " steps");
  if (alike) put_owned(to, lh_edge_text(d->snapshot, first));
}

/* Draws the `n` hops from step *at on as one grey box between the box `from` and the box of the
** object where they end. Returns that box in *box, and moves *at behind the hops. */
static int draw_folded(const drawing *d, const lh_path *path, size_t n, size_t *at, Agnode_t *from,
                       Agnode_t **box) {
  char name[64];
  lh_text label = {0};
  lh_text_string(&label, "… ");
  lh_text_count(&label, n);
  lh_text_string(&label, " more");
  put_common(d, &label, path, n, *at);
  lh_text_string(&label, " …");
  lh_id target = LH_ROOT;
  for (size_t i = 0; i < n; i++) {
    hop h = hop_at(path, *at);
    target = h.target;
    *at = h.next;
  }
  (void)snprintf(name, sizeof name, "%s_to_o%" PRIu32, agnameof(from), target);
  Agnode_t *fold = agnode(d->graph, name, 1);
  int code = fold ? set_html_label(d, fold, &label) : no_memory(d);
  lh_text_free(&label);
  if (code == 0) code = object_box(d, target, NULL, box);
  if (code < 0) return code;
  set_style(fold, "box", "#e5e7eb", "#6b7280");
  (void)agedge(d->graph, from, fold, (char *)"", 1);
  (void)agedge(d->graph, fold, *box, (char *)"", 1);
  return 0;
}

static int draw_hop(const drawing *d, hop h, Agnode_t *from, Agnode_t **box) {
  bool from_root = h.edge->source == LH_ROOT;
  int code = object_box(d, h.target, from_root ? h.edge : NULL, box);
  return code < 0 || from_root ? code : arrow(d, from, *box, h.edge);
}

static int draw_path(const drawing *d, const lh_path *path) {
  size_t hops = count_hops(path), kept = d->long_path < LEAST_KEPT ? LEAST_KEPT : d->long_path;
  size_t head = kept / 2, folded = hops > kept + 1 ? hops - kept : 0;
  Agnode_t *box = NULL;
  int code = 0;
  if (path->n_steps > 0 && path->steps[0].source != LH_ROOT)
    code = object_box(d, path->steps[0].source, NULL, &box);
  for (size_t i = 0, at = 0; code == 0 && at < path->n_steps; i++) {
    if (folded && i == head) {
      code = draw_folded(d, path, folded, &at, box, &box);
    } else {
      hop h = hop_at(path, at);
      at = h.next;
      code = draw_hop(d, h, box, &box);
    }
  }
  if (code == 0 && box && !d->below) set_style(box, "octagon", "#ffd7d5", "#cf222e");
  return code;
}

static int draw_rest(const drawing *d, const lh_below_rest *rest) {
  char name[32];
  lh_text label = {0};
  Agnode_t *box;
  int code = object_box(d, rest->id, NULL, &box);
  if (code < 0) return code;
  (void)snprintf(name, sizeof name, "rest_of_o%" PRIu32, rest->id);
  Agnode_t *more = agnode(d->graph, name, 1);
  if (!more) return no_memory(d);
  lh_text_string(&label, "… ");
  lh_text_count(&label, rest->references);
  lh_text_string(&label, " more …");
  set_style(more, "box", "#e5e7eb", "#6b7280");
  (void)agedge(d->graph, box, more, (char *)"", 1);
  return set_html_label(d, more, &label);
}

static int draw_below(const drawing *d, const lh_below *below) {
  Agnode_t *box;
  int code = object_box(d, below->id, NULL, &box);
  if (code == 0) set_style(box, "octagon", "#ffd7d5", "#cf222e");
  for (size_t i = 0; code == 0 && i < below->n_paths; i++) code = draw_path(d, &below->paths[i]);
  for (size_t i = 0; code == 0 && i < below->n_rests; i++) code = draw_rest(d, &below->rests[i]);
  return code;
}

/* ==== Writing ======================================================================= */

/* The output of cgraph. The first error is kept, and nothing is written after it. */
typedef struct sink {
  FILE *out;
  int os_errno;
} sink;

static int checked(sink *to, bool done) {
  if (!done) to->os_errno = errno ? errno : EIO;
  return done ? 0 : EOF;
}

static int put_string(void *channel, const char *text) {
  sink *to = channel;
  errno = 0;
  return to->os_errno ? EOF : checked(to, fputs(text, to->out) != EOF);
}

static int flush_sink(void *channel) {
  sink *to = channel;
  errno = 0;
  return to->os_errno ? EOF : checked(to, fflush(to->out) == 0);
}

static int close_graph(const drawing *d, int code, FILE *out) {
  sink to = {out, 0};
  if (code == 0) {
    (void)agwrite(d->graph, &to);
    (void)flush_sink(&to);
    if (to.os_errno) code = lh_fail_errno(d->error, to.os_errno, "writing a DOT graph");
  }
  (void)agclose(d->graph);
  return code;
}

/* Readable on a white and on a black page: mid-tones on the page, dark text in pale boxes. */
static void set_defaults(Agraph_t *graph) {
  static const struct {
    int kind;
    const char *name, *value;
  } defaults[] = {
      {AGRAPH, "charset", "UTF-8"},
      {AGRAPH, "bgcolor", "transparent"},
      {AGRAPH, "ranksep", "0.35"},
      {AGRAPH, "fontname", FONTS},
      {AGRAPH, "fontsize", "9"},
      {AGRAPH, "fontcolor", "#768390"},
      {AGNODE, "shape", "box"},
      {AGNODE, "style", "filled"},
      {AGNODE, "fillcolor", "#ddf4ff"},
      {AGNODE, "color", "#0969da"},
      {AGNODE, "fontname", FONTS},
      {AGNODE, "fontsize", "11"},
      {AGNODE, "fontcolor", "#1f2328"},
      {AGNODE, "label", ""},
      {AGEDGE, "color", "#768390"},
      {AGEDGE, "fontname", FONTS},
      {AGEDGE, "fontsize", "11"},
      {AGEDGE, "fontcolor", "#768390"},
      {AGEDGE, "style", ""},
      {AGEDGE, "label", ""},
  };
  for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
    set_default(graph, defaults[i].kind, defaults[i].name, defaults[i].value);
}

/* ==== Many objects =================================================================== */

enum { THICKEST = 8 }; /* points */

/* Adds number and class, "50 Session"; nothing if the steps say it, as in "registry". */
static void put_count(const drawing *d, lh_text *to, const lh_merged_row *row) {
  bool several = row->class_index == UINT32_MAX;
  char *one = class_text(d, row->id);
  if (!one) to->failed = true;
  if (row->through > 1) {
    lh_text_count(to, row->through);
    lh_text_string(to, " ");
    put_heap_text(to, several ? "objects" : lh_class_at(d->snapshot, row->class_index)->name);
    lh_text_string(to, "<br/>");
  } else if (one && (row->depth != 1 || !lh_is_named_by_root(d->snapshot, row->id))) {
    put_heap_text(to, one);
    lh_text_string(to, "<br/>");
  }
  lh_free(one);
}

/* The label of a row's box: its steps. Small print has the objects at the row, how many objects of
** the set are further on, and the bytes. */
static void put_row_label(const drawing *d, lh_text *to, const lh_merged_paths *merged,
                          const lh_merged_row *row) {
  lh_text_string(to, "<b>");
  put_heap_text(to, row->steps);
  lh_text_string(to, " </b><br/><font point-size=\"9\" color=\"#57606a\">");
  if (row->id != LH_ROOT) put_count(d, to, row);
  if (row->here < row->objects) {
    lh_text_string(to, "leads to ");
    lh_text_count(to, row->objects);
    lh_text_string(to, " of ");
    lh_text_count(to, merged->objects);
    lh_text_string(to, ", ");
  }
  lh_text_string(to, lh_size_text(row->bytes, false).text);
  lh_text_string(to, " retained</font>");
}

static int row_box(const drawing *d, const lh_merged_paths *merged, size_t i, Agnode_t **box) {
  const lh_merged_row *row = &merged->rows[i];
  char name[32];
  lh_text label = {0};
  (void)snprintf(name, sizeof name, "w%zu", i);
  *box = agnode(d->graph, name, 1);
  if (!*box) return no_memory(d);
  if (row->hidden > 0) {
    lh_text_string(&label, "… ");
    lh_text_count(&label, row->hidden);
    lh_text_string(&label, " more<br/><font point-size=\"9\" color=\"#57606a\">");
    lh_text_count(&label, row->objects);
    lh_text_string(&label, row->objects == 1 ? " object, " : " objects, ");
    lh_text_string(&label, lh_size_text(row->bytes, false).text);
    lh_text_string(&label, " retained</font>");
    set_style(*box, "box", "#e5e7eb", "#6b7280");
  } else {
    put_row_label(d, &label, merged, row);
    if (row->id == LH_ROOT) set_style(*box, "folder", "#c7ecd0", "#1a7f37");
    if (row->here > 0) set_style(*box, "box", "#ffd7d5", "#cf222e");
  }
  return set_html_label(d, *box, &label);
}

/* Draws an arrow whose thickness is the row's share of all bytes. */
static int row_arrow(const drawing *d, const lh_merged_paths *merged, const lh_merged_row *row,
                     Agnode_t *from, Agnode_t *to) {
  char width[16];
  double part = merged->bytes > 0 ? (double)row->bytes / (double)merged->bytes : 0;
  unsigned tenths = (unsigned)(10 * (1 + (THICKEST - 1) * part) + 0.5);
  (void)snprintf(width, sizeof width, "%u.%u", tenths / 10, tenths % 10); /* always a point */
  Agedge_t *line = agedge(d->graph, from, to, (char *)"", 1);
  if (!line) return no_memory(d);
  set(line, "penwidth", width);
  return 0;
}

static int draw_merged(const drawing *d, const lh_merged_paths *merged) {
  int code = 0;
  Agnode_t **above = lh_alloc(merged->n_rows, sizeof(Agnode_t *)); /* the last box of each depth */
  if (!above) return no_memory(d);
  for (size_t i = 0; code == 0 && i < merged->n_rows; i++) {
    const lh_merged_row *row = &merged->rows[i];
    code = row_box(d, merged, i, &above[row->depth]);
    if (code == 0 && row->depth > 0)
      code = row_arrow(d, merged, row, above[row->depth - 1], above[row->depth]);
  }
  lh_free(above);
  return code;
}

/* dot needs minutes for more arrows, and nobody can read such a picture. */
enum { MOST_ARROWS = 4000 };

static int open_graph(drawing *d, size_t n_arrows, Agiodisc_t *io, Agdisc_t *disciplines,
                      const char *legend) {
  if (n_arrows > MOST_ARROWS)
    return lh_fail(d->error, LH_ELIMIT,
                   "%zu arrows are too many for a picture, which may have %d: ask for fewer, or "
                   "for text",
                   n_arrows, MOST_ARROWS);
  *io = (Agiodisc_t){.putstr = put_string, .flush = flush_sink};
  *disciplines = (Agdisc_t){.id = &AgIdDisc, .io = io};
  d->graph = agopen((char *)"heappath", Agdirected, disciplines);
  if (!d->graph) return no_memory(d);
  set_defaults(d->graph);
  set_default(d->graph, AGRAPH, "label", legend);
  return 0;
}

int lh_dot_merged_paths(const lh_snapshot *snapshot, const lh_merged_paths *merged, FILE *out,
                        lh_error *error) {
  Agiodisc_t io;
  Agdisc_t disciplines;
  drawing d = {.snapshot = snapshot, .error = error};
  int code = open_graph(&d, merged->n_rows, &io, &disciplines,
                        "red: objects of the set; blue: what leads to them; thick: many bytes");
  if (code < 0) return code;
  set(d.graph, "rankdir", "LR"); /* a level may have many boxes, and boxes are wide */
  set_default(d.graph, AGEDGE, "penwidth", "1");
  set_default(d.graph, AGEDGE, "arrowsize", "0.5");
  code = draw_merged(&d, merged);
  return close_graph(&d, code, out);
}

int lh_dot_below(const lh_snapshot *snapshot, const lh_below *below, FILE *out, lh_error *error) {
  Agiodisc_t io;
  Agdisc_t disciplines;
  drawing d = {.snapshot = snapshot, .below = true, .error = error};
  int code =
      open_graph(&d, below->n_paths, &io, &disciplines, "an arrow keeps alive what it points to");
  if (code < 0) return code;
  set(d.graph, "rankdir", "LR");
  code = draw_below(&d, below);
  return close_graph(&d, code, out);
}

int lh_dot_paths(const lh_snapshot *snapshot, const lh_path *paths, size_t n_paths,
                 size_t long_path, FILE *out, lh_error *error) {
  Agiodisc_t io;
  Agdisc_t disciplines;
  drawing d = {.snapshot = snapshot, .long_path = long_path, .error = error};
  size_t n_arrows = 0;
  for (size_t i = 0; i < n_paths; i++)
    n_arrows += paths[i].n_steps < long_path ? paths[i].n_steps : long_path;
  int code =
      open_graph(&d, n_arrows, &io, &disciplines,
                 "an arrow keeps alive what it points to (dashed: weak, keeps nothing alive)");
  if (code < 0) return code;
  bool flat = true; /* only direct referrers: a column, since a row would be too wide */
  for (size_t i = 0; code == 0 && i < n_paths; i++) {
    flat = flat && paths[i].n_steps == 1;
    code = draw_path(&d, &paths[i]);
  }
  if (flat) set(d.graph, "rankdir", "LR");
  return close_graph(&d, code, out);
}
