/*
** test_dot.c - drawn paths, parsed again with libcgraph and compared.
**
** lh_dot_paths asks the library for classes, sizes and texts. Here fakes answer, so that any bytes
** can be put into any label and a path can have any length: dot.c is compiled into this program,
** with its questions renamed. A box's label is "<b>name </b><br/><font ...>small print</font>". The
** heap of the fakes:
**
**     _G --.bus--> bus --[1]--> Listener        closure --upvalue up--> upvalue --> Listener
*/
#define lh_type_of fake_type_of
#define lh_shallow_bytes fake_shallow_bytes
#define lh_retained_bytes fake_retained_bytes
#define lh_class_name_of fake_class_name_of
#define lh_object_text fake_object_text
#define lh_string_text fake_string_text
#define lh_edge_text fake_edge_text
#define lh_object_stack fake_object_stack
#define lh_snapshot_sites fake_snapshot_sites
#define lh_allocated_text fake_allocated_text

#include "../../lib/dot.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { GLOBALS = 1, BUS, LISTENER, CLOSURE, UPVALUE, N_FAKES };

static const lh_type fake_types[N_FAKES] = {LH_TYPE_ROOT,  LH_TYPE_TABLE,   LH_TYPE_TABLE,
                                            LH_TYPE_TABLE, LH_TYPE_CLOSURE, LH_TYPE_UPVALUE};
static const char *fake_class;    /* of all objects */
static const char *fake_site;     /* NULL: none is known */
static const char *fake_edges[8]; /* by ordinal */

/* ==== The fakes ===================================================================== */

static char *fake_text(const char *text) {
  char *copy = lh_alloc(strlen(text) + 1, 1);
  return copy ? strcpy(copy, text) : NULL;
}

lh_type fake_type_of(const lh_snapshot *snapshot, lh_id id) {
  (void)snapshot;
  return id < N_FAKES ? fake_types[id] : LH_TYPE_TABLE;
}

uint64_t fake_shallow_bytes(const lh_snapshot *snapshot, lh_id id) {
  (void)snapshot;
  (void)id;
  return 56;
}

uint64_t fake_retained_bytes(const lh_snapshot *snapshot, lh_id id) {
  (void)snapshot;
  return id == GLOBALS ? 1024 * 1024 - 1 : 1536;
}

const char *fake_class_name_of(const lh_snapshot *snapshot, lh_id id) {
  (void)snapshot;
  return id == CLOSURE ? "closure" : fake_class;
}

char *fake_object_text(const lh_snapshot *snapshot, lh_id id) {
  (void)snapshot;
  (void)id;
  return fake_text("table: 0x55d0");
}

char *fake_string_text(const lh_snapshot *snapshot, lh_id id, size_t max_bytes) {
  (void)snapshot;
  (void)id;
  (void)max_bytes;
  return fake_text("\"text\"");
}

char *fake_edge_text(const lh_snapshot *snapshot, const lh_edge *edge) {
  (void)snapshot;
  return fake_text(fake_edges[edge->ordinal]);
}

/* Only the listener was tracked, if anything was. */
lh_stack_id fake_object_stack(const lh_snapshot *snapshot, lh_id id) {
  (void)snapshot;
  return fake_site && id == LISTENER ? 7 : 0;
}

const lh_sites *fake_snapshot_sites(const lh_snapshot *snapshot) {
  (void)snapshot;
  return NULL;
}

char *fake_allocated_text(const lh_sites *sites, lh_stack_id stack, uint32_t callers) {
  (void)sites;
  (void)callers;
  return stack == 7 ? fake_text(fake_site) : NULL;
}

/* ==================================================================================== */

static lh_edge edge_of(lh_id source, lh_id target, lh_edge_kind kind, uint32_t ordinal) {
  return (lh_edge){.source = source,
                   .target = target,
                   .kind = kind,
                   .ordinal = ordinal,
                   .key = {LH_VALUE_INTEGER, {.integer = ordinal}}};
}

static int setup(void **state) {
  (void)state;
  fake_class = "Listener";
  fake_site = NULL;
  fake_edges[0] = "_G";
  fake_edges[1] = ".bus";
  fake_edges[2] = "[1]";
  fake_edges[3] = "upvalue up";
  fake_edges[4] = "(content)";
  fake_edges[5] = ".next";
  return 0;
}

/* Draws, and parses what was drawn. */
static Agraph_t *drawn(const lh_path *paths, size_t n_paths, size_t long_path) {
  lh_error error;
  FILE *file = tmpfile();
  assert_non_null(file);
  assert_int_equal(lh_dot_paths(NULL, paths, n_paths, long_path, file, &error), 0);
  rewind(file);
  Agraph_t *graph = agread(file, NULL);
  assert_non_null(graph);
  (void)fclose(file);
  return graph;
}

static const char *of(void *object, const char *attribute) {
  const char *value = agget(object, (char *)attribute);
  return value ? value : ""; /* an empty default is not written */
}

static Agnode_t *box(Agraph_t *graph, const char *name) {
  Agnode_t *found = agnode(graph, (char *)name, 0);
  assert_non_null(found);
  return found;
}

/* The only arrow from one box to another, or one of several. */
static Agedge_t *arrow_of(Agraph_t *graph, const char *from, const char *to) {
  Agedge_t *found = agedge(graph, box(graph, from), box(graph, to), NULL, 0);
  assert_non_null(found);
  return found;
}

static void a_path_has_root_way_and_object(void **state) {
  (void)state;
  lh_edge steps[] = {edge_of(LH_ROOT, GLOBALS, LH_EDGE_ROOT, 0),
                     edge_of(GLOBALS, BUS, LH_EDGE_VALUE, 1),
                     edge_of(BUS, LISTENER, LH_EDGE_VALUE, 2)};
  lh_path path = {3, steps};
  steps[0].index = LH_ROOT_TYPE_METATABLE;
  Agraph_t *graph = drawn(&path, 1, 10);
  assert_int_equal(agnnodes(graph), 3);
  assert_int_equal(agnedges(graph), 2);
  assert_string_equal(of(graph, "rankdir"), "");
  assert_string_equal(of(box(graph, "o1"), "shape"), "folder");
  assert_string_equal(of(box(graph, "o1"), "label"),
                      "<b>_G </b><br/><font point-size=\"9\" color=\"#57606a\">Listener<br/>"
                      "table: 0x55d0<br/>56 B shallow, 1.0 MB retained</font>");
  assert_string_equal(of(box(graph, "o2"), "shape"), "box");
  assert_string_equal(of(box(graph, "o3"), "shape"), "octagon");
  assert_string_equal(
      of(box(graph, "o3"), "label"),
      "<b>Listener </b><br/><font point-size=\"9\" color=\"#57606a\">table: 0x55d0<br/>"
      "56 B shallow, 1.5 KB retained</font>");
  assert_string_equal(of(arrow_of(graph, "o1", "o2"), "label"), "  .bus");
  assert_string_equal(of(arrow_of(graph, "o2", "o3"), "label"), "  [1]");
  (void)agclose(graph);
  steps[0].index = LH_ROOT_GLOBALS; /* whose class says it, too */
  graph = drawn(&path, 1, 10);
  assert_string_equal(of(box(graph, "o1"), "label"),
                      "<b>_G </b><br/><font point-size=\"9\" color=\"#57606a\">"
                      "table: 0x55d0<br/>56 B shallow, 1.0 MB retained</font>");
  (void)agclose(graph);
}

static void an_upvalue_is_an_arrow(void **state) {
  (void)state;
  lh_edge steps[] = {edge_of(LH_ROOT, CLOSURE, LH_EDGE_ROOT, 0),
                     edge_of(CLOSURE, UPVALUE, LH_EDGE_UPVALUE, 3),
                     edge_of(UPVALUE, LISTENER, LH_EDGE_CONTENT, 4)};
  lh_path path = {3, steps};
  Agraph_t *graph = drawn(&path, 1, 10);
  assert_int_equal(agnnodes(graph), 2);
  assert_string_equal(of(arrow_of(graph, "o4", "o3"), "label"), "  upvalue up");
  (void)agclose(graph);
  path.n_steps = 2; /* asked about the upvalue itself, it is a box */
  graph = drawn(&path, 1, 10);
  assert_string_equal(of(box(graph, "o5"), "shape"), "octagon");
  (void)agclose(graph);
}

static void paths_share_their_boxes(void **state) {
  (void)state;
  lh_edge direct[] = {edge_of(LH_ROOT, GLOBALS, LH_EDGE_ROOT, 0),
                      edge_of(GLOBALS, LISTENER, LH_EDGE_VALUE, 1)};
  lh_edge through_bus[] = {direct[0], edge_of(GLOBALS, BUS, LH_EDGE_VALUE, 1),
                           edge_of(BUS, LISTENER, LH_EDGE_VALUE, 2)};
  lh_edge again[] = {direct[0], through_bus[1], edge_of(BUS, LISTENER, LH_EDGE_VALUE, 5)};
  lh_path paths[] = {{2, direct}, {3, through_bus}, {3, again}};
  Agraph_t *graph = drawn(paths, 3, 10);
  assert_int_equal(agnnodes(graph), 3);
  assert_int_equal(agnedges(graph), 4); /* two from bus, told apart by their labels */
  (void)agclose(graph);
}

static void a_box_shows_where_its_object_was_allocated(void **state) {
  (void)state;
  lh_edge steps[] = {edge_of(LH_ROOT, GLOBALS, LH_EDGE_ROOT, 0),
                     edge_of(GLOBALS, LISTENER, LH_EDGE_VALUE, 1)};
  lh_path path = {2, steps};
  Agraph_t *graph = drawn(&path, 1, 10);
  assert_null(agget(box(graph, "o3"), (char *)"tooltip")); /* not tracked */
  (void)agclose(graph);
  fake_site = "allocated at @app.lua:31 in on";
  graph = drawn(&path, 1, 10);
  assert_string_equal(of(box(graph, "o3"), "tooltip"), fake_site);
  assert_string_equal(of(box(graph, "o1"), "tooltip"), "");
  (void)agclose(graph);
}

static void referrers_are_single_edges_and_weak_ones_dashed(void **state) {
  (void)state;
  lh_edge strong = edge_of(BUS, LISTENER, LH_EDGE_VALUE, 2);
  lh_edge weak = edge_of(GLOBALS, LISTENER, LH_EDGE_VALUE, 1);
  lh_edge self = edge_of(LISTENER, LISTENER, LH_EDGE_VALUE, 5);
  weak.weak = true;
  lh_path paths[] = {{1, &strong}, {1, &weak}, {1, &self}};
  Agraph_t *graph = drawn(paths, 3, 10);
  assert_int_equal(agnnodes(graph), 3);
  assert_string_equal(of(arrow_of(graph, "o2", "o3"), "style"), "");
  assert_string_equal(of(arrow_of(graph, "o1", "o3"), "style"), "dashed");
  assert_string_equal(of(arrow_of(graph, "o3", "o3"), "label"), "  .next");
  assert_string_equal(of(box(graph, "o3"), "shape"), "octagon");
  assert_string_equal(of(graph, "rankdir"), "LR");
  (void)agclose(graph);
}

static lh_edge *list_of(size_t n_steps) {
  lh_edge *steps = calloc(n_steps, sizeof *steps);
  assert_non_null(steps);
  steps[0] = edge_of(LH_ROOT, 100, LH_EDGE_ROOT, 0);
  for (size_t i = 1; i < n_steps; i++)
    steps[i] = edge_of((lh_id)(99 + i), (lh_id)(100 + i), LH_EDGE_VALUE, 5);
  return steps;
}

static void a_long_path_folds_in_the_middle(void **state) {
  (void)state;
  const size_t million = 1000000;
  lh_path path = {million, list_of(million)};
  Agraph_t *graph = drawn(&path, 1, 10);
  assert_int_equal(agnnodes(graph), 12);
  assert_string_equal(of(box(graph, "o104_to_o1000094"), "label"), "… 999,990 more .next …");
  assert_string_equal(of(box(graph, "o1000099"), "shape"), "octagon");
  (void)agclose(graph);
  path.steps[500].key.as.integer = 1;
  graph = drawn(&path, 1, 10);
  assert_string_equal(of(box(graph, "o104_to_o1000094"), "label"), "… 999,990 more steps …");
  (void)agclose(graph);
  path.n_steps = 11; /* a fold of one step would save nothing */
  graph = drawn(&path, 1, 10);
  assert_int_equal(agnnodes(graph), 11);
  assert_null(agnode(graph, "o104_to_o106", 0));
  (void)agclose(graph);
  free(path.steps);
}

/* What Graphviz shows for a label: escapes, entities and tags undone. `html`: tags are allowed. */
static void show(const char *label, bool html, char *shown) {
  static const char *const marks[] = {"\\\\", "&amp;", "&lt;", "&gt;"};
  while (*label) {
    size_t mark = 0;
    if (html && *label == '<') {
      label = strchr(label, '>') + 1;
    } else if (strchr("\\&<>", *label)) { /* nothing else may have a meaning */
      while (mark < 4 && strncmp(label, marks[mark], strlen(marks[mark])) != 0) mark++;
      assert_in_range(mark, 0, 3);
      *shown++ = "\\&<>"[mark];
      label += strlen(marks[mark]);
    } else {
      *shown++ = *label++;
    }
  }
  *shown = '\0';
}

static void check_bytes(const char *text) {
  char shown[4096], expected[4096];
  lh_edge steps[] = {edge_of(LH_ROOT, GLOBALS, LH_EDGE_ROOT, 0),
                     edge_of(GLOBALS, LISTENER, LH_EDGE_VALUE, 1)};
  lh_path path = {2, steps};
  fake_class = fake_site = fake_edges[0] = fake_edges[1] = text;
  Agraph_t *graph = drawn(&path, 1, 10);
  const char *label = of(arrow_of(graph, "o1", "o3"), "label");
  assert_false(aghtmlstr((char *)label));
  show(label, false, shown);
  (void)snprintf(expected, sizeof expected, "  %s", text);
  assert_string_equal(shown, expected);
  show(of(box(graph, "o3"), "tooltip"), false, shown);
  assert_string_equal(shown, text);
  assert_string_equal(of(box(graph, "o1"), "tooltip"), "");
  label = of(box(graph, "o1"), "label");
  assert_true(aghtmlstr((char *)label));
  show(label, true, shown);
  (void)snprintf(expected, sizeof expected, "%s table: 0x55d056 B shallow, 1.0 MB retained", text);
  assert_string_equal(shown, expected);
  (void)agclose(graph);
}

static void any_bytes_are_shown_as_they_are(void **state) {
  (void)state;
  static const char *const hostile[] = {"\\",       "\\\\",        "\"",
                                        "\\\"",     "\\N",         "\\G\\E\\T\\H\\L",
                                        "\\n",      "\\l\\r",      "<",
                                        "<b>x</b>", "<b>",         "</b>",
                                        "<!--",     "]]>",         "&lt;",
                                        "&amp;",    "&#92;N",      "&#x3c;",
                                        "&",        "% not local", "%7",
                                        "",         " ",           "-1.5",
                                        "digraph",  "a\\",         "/* */",
                                        "// x",     "#",           "\t",
                                        "\x7f",     "é😀中",        "\"];o9[label=\"",
                                        "\r"};
  for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) check_bytes(hostile[i]);
  srand(1);
  for (int round = 0; round < 500; round++) {
    char text[64];
    size_t n = 1 + (size_t)rand() % 60;
    for (size_t i = 0; i < n; i++)
      text[i] = (char)(rand() % 2 ? "\\\"<>&;{}|n"[rand() % 10] : 1 + rand() % 127);
    text[n] = '\0';
    check_bytes(text);
  }
}

/* Graphviz itself must have nothing to say about a name in both kinds of labels. */
static void graphviz_accepts_any_name(void **state) {
  (void)state;
  static const char *const names[] = {"",      " ",   "<b>", "</font>", "&bogus;", "\\",
                                      "\\N\\", "\"x", "]]>", "<!--",    "😀"};
  lh_edge steps[] = {edge_of(LH_ROOT, GLOBALS, LH_EDGE_ROOT, 0),
                     edge_of(GLOBALS, LISTENER, LH_EDGE_VALUE, 1)};
  lh_path path = {2, steps};
  if (system("dot -V 2>/dev/null") != 0) skip();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    fake_class = fake_site = fake_edges[0] = fake_edges[1] = names[i];
    FILE *dot = popen("test -z \"$(dot -Tsvg 2>&1 >/dev/null | tee -a /dev/stderr)\"", "w");
    assert_non_null(dot);
    assert_int_equal(lh_dot_paths(NULL, &path, 1, 10, dot, NULL), 0);
    assert_int_equal(pclose(dot), 0);
  }
}

static void a_long_name_keeps_its_ends(void **state) {
  (void)state;
  char name[10001], shown[4096];
  memset(name, '\\', sizeof name - 1);
  memcpy(name + sizeof name - 8, "lua:31", 7);
  memcpy(name, "function ", 9);
  memcpy(name + 30, "é😀中", 9); /* cut in the middle of a character */
  lh_edge step = edge_of(LH_ROOT, GLOBALS, LH_EDGE_ROOT, 0);
  lh_path path = {1, &step};
  fake_class = fake_edges[0] = name;
  Agraph_t *graph = drawn(&path, 1, 10);
  show(of(box(graph, "o1"), "label"), true, shown);
  assert_non_null(strstr(shown, "…"));
  assert_non_null(strstr(shown, "lua:31"));
  assert_in_range(strlen(shown), 100, 200);
  (void)agclose(graph);
}

static void a_full_disk_is_an_error(void **state) {
  (void)state;
  lh_error error = {0};
  lh_path path = {1000, list_of(1000)};
  for (size_t long_path = 4; long_path <= 1000; long_path *= 10) { /* at the end, and on the way */
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(lh_dot_paths(NULL, &path, 1, long_path, full, &error), LH_EIO);
    assert_int_equal(error.code, LH_EIO);
    assert_int_equal(error.os_errno, ENOSPC);
    assert_non_null(strstr(error.message, "DOT"));
    (void)fclose(full);
  }
  free(path.steps);
}

static void no_memory_is_an_error(void **state) {
  (void)state;
  lh_path path = {20, list_of(20)};
  int code = LH_EMEMORY;
  for (uint64_t n = 1; code != 0; n++) {
    FILE *file = tmpfile();
    lh_error error = {0};
    (void)lh_test_fail_allocation(n);
    code = lh_dot_paths(NULL, &path, 1, 4, file, &error);
    (void)lh_test_fail_allocation(0);
    assert_true(code == 0 || (code == LH_EMEMORY && ftell(file) == 0));
    (void)fclose(file);
    assert_in_range(n, 1, 200);
  }
  free(path.steps);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_path_has_root_way_and_object, setup),
      cmocka_unit_test_setup(an_upvalue_is_an_arrow, setup),
      cmocka_unit_test_setup(paths_share_their_boxes, setup),
      cmocka_unit_test_setup(a_box_shows_where_its_object_was_allocated, setup),
      cmocka_unit_test_setup(referrers_are_single_edges_and_weak_ones_dashed, setup),
      cmocka_unit_test_setup(a_long_path_folds_in_the_middle, setup),
      cmocka_unit_test_setup(any_bytes_are_shown_as_they_are, setup),
      cmocka_unit_test_setup(graphviz_accepts_any_name, setup),
      cmocka_unit_test_setup(a_long_name_keeps_its_ends, setup),
      cmocka_unit_test_setup(a_full_disk_is_an_error, setup),
      cmocka_unit_test_setup(no_memory_is_an_error, setup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
