/*
** dot.c - retaining paths as a picture: a DOT graph for Graphviz, made with libcgraph.
**
** One box an object, one arrow an edge, from the holder to what it holds. Paths that share objects
** share their boxes, so ten paths through one table become one picture. What a person sees:
**
**     folder, green    where a path begins: a root, with its name above the class
**     box, blue        an object on the way
**     octagon, red     the object that was asked about
**     box, grey        the middle of a long path: "999,990 more of .next"
**     dashed arrow     a weak edge: it keeps nothing alive
**
** The synthetic root is no box: all that it could say is said by the shape of the roots. An upvalue
** between a closure and its value is none either: its name stands on the arrow.
**
** A path of a million steps is walked twice, and at most `long_path` of its steps become boxes, so
** the graph stays small whatever the heap. Labels are built in buffers of fixed size: a name is
** shortened in its middle to LABEL_PART bytes. All that comes from the heap passes through put(),
** which leaves it without meaning for DOT: no escapes, no entities, no HTML-like label.
*/
#include <cgraph.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base.h"

enum {
  LABEL_PART = 64, /* bytes of a name in a label */
  LABEL_SIZE = 1024,
  LEAST_KEPT = 4 /* steps that folding leaves, at least */
};

typedef struct label {
  char text[LABEL_SIZE];
  size_t used;
} label;

typedef struct drawing {
  const lh_snapshot *snapshot;
  Agraph_t *graph;
  size_t long_path;
  lh_error *error;
} drawing;

/* {=== Labels ======================================================================== */

static void put_plain(label *to, const char *text) {
  size_t room = sizeof to->text - 1 - to->used;
  size_t n = strlen(text);
  if (n > room) n = room;
  memcpy(to->text + to->used, text, n);
  to->used += n;
  to->text[to->used] = '\0';
}

/* What Graphviz would read as the start of an escape (\N), of an entity (&amp;) or of an HTML-like
** label becomes the spelling of the character itself; cgraph quotes the quotes. */
static void put_bytes(label *to, const char *text, size_t n) {
  for (size_t i = 0; i < n; i++) {
    char one[2] = {text[i], '\0'};
    switch (text[i]) {
      case '\\': put_plain(to, "\\\\"); break;
      case '&': put_plain(to, "&amp;"); break;
      case '<': put_plain(to, "&lt;"); break;
      case '>': put_plain(to, "&gt;"); break;
      default: put_plain(to, one);
    }
  }
}

static bool continues_character(char c) {
  return ((unsigned char)c & 0xC0) == 0x80; /* UTF-8 */
}

/* Appends text from the heap. Of a long one the two ends stay: the end often is ":line". */
static void put(label *to, const char *text) {
  size_t n = strlen(text);
  if (n <= LABEL_PART) {
    put_bytes(to, text, n);
    return;
  }
  size_t head = LABEL_PART / 2, tail = n - LABEL_PART / 2;
  while (head > 0 && continues_character(text[head])) head--;
  while (tail < n && continues_character(text[tail])) tail++;
  put_bytes(to, text, head);
  put_plain(to, "…");
  put_bytes(to, text + tail, n - tail);
}

/* 56 B, 1.2 KB, 3.4 MB */
static void put_size(label *to, uint64_t bytes) {
  static const char *const units[] = {"KB", "MB", "GB", "TB"};
  char text[48];
  double scaled = (double)bytes / 1024;
  size_t unit = 0;
  for (; scaled >= 1023.95 && unit < 3; unit++) scaled /= 1024;
  if (bytes < 1024)
    (void)snprintf(text, sizeof text, "%u B", (unsigned)bytes);
  else
    (void)snprintf(text, sizeof text, "%.1f %s", scaled, units[unit]);
  put_plain(to, text);
}

/* 999,990 */
static void put_count(label *to, size_t n) {
  char digits[24], text[32];
  int n_digits = snprintf(digits, sizeof digits, "%zu", n);
  size_t used = 0;
  for (int i = 0; i < n_digits; i++) {
    if (i > 0 && (n_digits - i) % 3 == 0) text[used++] = ',';
    text[used++] = digits[i];
  }
  text[used] = '\0';
  put_plain(to, text);
}

/* Appends text that the library made for us, and frees it. */
static int put_owned(const drawing *d, label *to, char *text) {
  if (!text) return lh_fail_memory(d->error, "drawing paths");
  put(to, text);
  lh_free(text);
  return 0;
}

/* The class of an object; of a string, its beginning. */
static int put_class(const drawing *d, label *to, lh_id id) {
  lh_type type = lh_type_of(d->snapshot, id);
  if (type == LH_TYPE_STRING)
    return put_owned(d, to, lh_string_text(d->snapshot, id, LABEL_PART / 2));
  uint32_t index = lh_class_of(d->snapshot, id);
  put(to, index == UINT32_MAX ? lh_type_name(type) : lh_class_at(d->snapshot, index)->name);
  return 0;
}

/* Class, address, and sizes, a line each. */
static int put_object(const drawing *d, label *to, lh_id id) {
  int code = put_class(d, to, id);
  if (code < 0) return code;
  put_plain(to, "\\n");
  code = put_owned(d, to, lh_object_text(d->snapshot, id));
  if (code < 0) return code;
  put_plain(to, "\\n");
  put_size(to, lh_shallow_bytes(d->snapshot, id));
  put_plain(to, " shallow, ");
  put_size(to, lh_retained_bytes(d->snapshot, id));
  put_plain(to, " retained");
  return 0;
}

/* }=================================================================================== */

/* {=== Boxes and arrows ============================================================== */

/* cgraph copies what it is given, but does not say so in its types. */
static void set(void *object, const char *name, const char *value) {
  (void)agsafeset(object, (char *)name, (char *)value, (char *)"");
}

static void set_default(Agraph_t *graph, int kind, const char *name, const char *value) {
  (void)agattr(graph, kind, (char *)name, (char *)value);
}

static void set_colours(void *object, const char *shape, const char *fill, const char *line) {
  set(object, "shape", shape);
  set(object, "fillcolor", fill);
  set(object, "color", line);
}

/* The box of an object, made when it is first asked for. */
static int object_box(const drawing *d, lh_id id, Agnode_t **box) {
  char name[16];
  label text = {.used = 0};
  (void)snprintf(name, sizeof name, "o%" PRIu32, id);
  *box = agnode(d->graph, name, 0);
  if (*box) return 0;
  int code = put_object(d, &text, id);
  if (code < 0) return code;
  *box = agnode(d->graph, name, 1);
  if (!*box) return lh_fail_memory(d->error, "drawing paths");
  set(*box, "label", text.text);
  return 0;
}

/* Makes the box of a root's target say so: the first name that it gets stands above the class. */
static int root_box(const drawing *d, const lh_edge *edge, Agnode_t **box) {
  label text = {.used = 0};
  int code = object_box(d, edge->target, box);
  if (code < 0 || strcmp(agget(*box, (char *)"shape"), "folder") == 0) return code;
  code = put_owned(d, &text, lh_edge_text(d->snapshot, edge));
  if (code < 0) return code;
  put_plain(&text, "\\n");
  put_plain(&text, agget(*box, (char *)"label"));
  set(*box, "label", text.text);
  set_colours(*box, "folder", "#c7ecd0", "#1a7f37");
  return 0;
}

/* An arrow; several between two boxes are told apart by their labels. */
static int arrow(const drawing *d, Agnode_t *from, Agnode_t *to, const lh_edge *edge) {
  label text = {.used = 0};
  int code = put_owned(d, &text, lh_edge_text(d->snapshot, edge));
  if (code < 0) return code;
  if (agedge(d->graph, from, to, text.text, 0)) return 0;
  Agedge_t *line = agedge(d->graph, from, to, text.text, 1);
  if (!line) return lh_fail_memory(d->error, "drawing paths");
  set(line, "label", text.text);
  if (edge->weak) set(line, "style", "dashed");
  return 0;
}

/* }=================================================================================== */

/* {=== Paths ========================================================================= */

/* One arrow to be: a step, or the two steps through an upvalue. */
typedef struct hop {
  const lh_edge *edge; /* the first of them: it has the label */
  lh_id target;
  size_t next; /* the step after it */
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

/* The label that `n` hops from step *at on have in common, owned by the caller, or NULL: none. Moves
** *at behind them, and sets *target to where they end. */
static int common_label(const drawing *d, const lh_path *path, size_t n, size_t *at, lh_id *target,
                        char **common) {
  bool alike = true;
  *common = NULL;
  for (size_t i = 0; i < n; i++) {
    hop h = hop_at(path, *at);
    *at = h.next;
    *target = h.target;
    if (!alike) continue;
    char *text = lh_edge_text(d->snapshot, h.edge);
    if (!text) {
      lh_free(*common);
      return lh_fail_memory(d->error, "drawing paths");
    }
    if (!*common) {
      *common = text;
      continue;
    }
    alike = strcmp(text, *common) == 0;
    lh_free(text);
  }
  if (!alike) {
    lh_free(*common);
    *common = NULL;
  }
  return 0;
}

/* Draws `n` hops, from step *at on, as one grey box between the box `from` and that of the object where
** they end, which becomes *box. */
static int draw_folded(const drawing *d, const lh_path *path, size_t n, size_t *at, Agnode_t *from,
                       Agnode_t **box) {
  char name[64], *common;
  label text = {.used = 0};
  lh_id target = LH_ROOT;
  int code = common_label(d, path, n, at, &target, &common);
  if (code < 0) return code;
  put_plain(&text, "… ");
  put_count(&text, n);
  put_plain(&text, common ? " more of " : " more steps");
  if (common) put(&text, common);
  put_plain(&text, " …");
  lh_free(common);
  code = object_box(d, target, box);
  if (code < 0) return code;
  (void)snprintf(name, sizeof name, "%s_to_o%" PRIu32, agnameof(from), target);
  Agnode_t *fold = agnode(d->graph, name, 1);
  if (!fold || !agedge(d->graph, from, fold, (char *)"", 1) ||
      !agedge(d->graph, fold, *box, (char *)"", 1))
    return lh_fail_memory(d->error, "drawing paths");
  set(fold, "label", text.text);
  set_colours(fold, "box", "#e5e7eb", "#6b7280");
  return 0;
}

static int draw_hop(const drawing *d, hop h, Agnode_t *from, Agnode_t **box) {
  if (h.edge->source == LH_ROOT) return root_box(d, h.edge, box);
  int code = object_box(d, h.target, box);
  if (code < 0) return code;
  return arrow(d, from, *box, h.edge);
}

static int draw_path(const drawing *d, const lh_path *path) {
  size_t hops = count_hops(path), kept = d->long_path < LEAST_KEPT ? LEAST_KEPT : d->long_path;
  size_t head = kept / 2, folded = hops > kept + 1 ? hops - kept : 0;
  Agnode_t *box = NULL;
  int code = 0;
  if (path->n_steps > 0 && path->steps[0].source != LH_ROOT)
    code = object_box(d, path->steps[0].source, &box);
  for (size_t i = 0, at = 0; code == 0 && at < path->n_steps; i++) {
    if (folded && i == head) {
      code = draw_folded(d, path, folded, &at, box, &box);
    } else {
      hop h = hop_at(path, at);
      at = h.next;
      code = draw_hop(d, h, box, &box);
    }
  }
  if (code == 0 && box) set_colours(box, "octagon", "#ffd7d5", "#cf222e");
  return code;
}

/* }=================================================================================== */

/* {=== Writing ======================================================================= */

/* Where cgraph writes to; the first error is kept, and nothing is written after it. */
typedef struct sink {
  FILE *out;
  int os_errno;
} sink;

static int put_string(void *channel, const char *text) {
  sink *to = channel;
  if (to->os_errno) return EOF;
  errno = 0;
  if (fputs(text, to->out) != EOF) return 0;
  to->os_errno = errno ? errno : EIO;
  return EOF;
}

static int flush_sink(void *channel) {
  sink *to = channel;
  if (to->os_errno) return EOF;
  errno = 0;
  if (fflush(to->out) == 0) return 0;
  to->os_errno = errno ? errno : EIO;
  return EOF;
}

static int write_graph(const drawing *d, FILE *out) {
  sink to = {out, 0};
  (void)agwrite(d->graph, &to);
  (void)flush_sink(&to);
  return to.os_errno ? lh_fail_errno(d->error, to.os_errno, "writing a DOT graph") : 0;
}

/* }=================================================================================== */

/* Mid-tones for all that stands on the page itself, dark text on pale boxes: readable on white and
** on black. No wrapping of lines: cgraph would break them between two backslashes. */
static void set_defaults(Agraph_t *graph) {
  set_default(graph, AGRAPH, "linelength", "0");
  set_default(graph, AGRAPH, "charset", "UTF-8");
  set_default(graph, AGRAPH, "bgcolor", "transparent");
  set_default(graph, AGRAPH, "ranksep", "0.35");
  set_default(graph, AGNODE, "shape", "box");
  set_default(graph, AGNODE, "style", "filled");
  set_default(graph, AGNODE, "fillcolor", "#ddf4ff");
  set_default(graph, AGNODE, "color", "#0969da");
  set_default(graph, AGNODE, "fontname", "Helvetica,Arial,sans-serif");
  set_default(graph, AGNODE, "fontsize", "11");
  set_default(graph, AGNODE, "fontcolor", "#1f2328");
  set_default(graph, AGNODE, "label", "");
  set_default(graph, AGEDGE, "color", "#768390");
  set_default(graph, AGEDGE, "fontname", "Helvetica,Arial,sans-serif");
  set_default(graph, AGEDGE, "fontsize", "11");
  set_default(graph, AGEDGE, "fontcolor", "#768390");
  set_default(graph, AGEDGE, "style", "");
  set_default(graph, AGEDGE, "label", "");
}

int lh_dot_paths(const lh_snapshot *snapshot, const lh_path *paths, size_t n_paths,
                 size_t long_path, FILE *out, lh_error *error) {
  Agiodisc_t to_sink = {.putstr = put_string, .flush = flush_sink};
  Agdisc_t disciplines = {.id = &AgIdDisc, .io = &to_sink};
  drawing d = {.snapshot = snapshot, .long_path = long_path, .error = error};
  d.graph = agopen((char *)"heappath", Agdirected, &disciplines);
  if (!d.graph) return lh_fail_memory(error, "drawing paths");
  set_defaults(d.graph);
  int code = 0;
  for (size_t i = 0; code == 0 && i < n_paths; i++) code = draw_path(&d, &paths[i]);
  if (code == 0) code = write_graph(&d, out);
  (void)agclose(d.graph);
  return code;
}
