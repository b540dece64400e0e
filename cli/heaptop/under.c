/*
** under.c - what an object keeps alive alone, as a tree, whose rows are the library's (lh_under).
*/
#include <string.h>

#include "heaptop.h"

/* Without --depth and -n: four levels of ten rows, each of them at least a hundredth of all. */
enum { USUAL_DEPTH = 4, USUAL_ROWS = 10, USUAL_PART = 100 };

typedef struct answer {
  lh_id id;
  lh_branch *rows;
  size_t n;
  uint64_t matches;
} answer;

static answer find(cli *c, lh_snapshot *snapshot, const request *r) {
  answer a = {.id = LH_ROOT, .matches = 1};
  lh_under_query query = {.depth = !r->depth_given         ? USUAL_DEPTH
                                   : r->depth > UINT32_MAX ? UINT32_MAX
                                                           : (uint32_t)r->depth,
                          .limit = r->limit_given ? r->query.limit : USUAL_ROWS};
  lh_found found;
  lh_error error;
  if (strcmp(r->under, "root") != 0) {
    cli_check(c, lh_find(snapshot, r->under, &found, &error), r->file, &error);
    a.id = found.id;
    a.matches = found.matches;
  }
  if (!lh_is_reachable(snapshot, a.id))
    cli_die(c, NULL, "nothing keeps %s alive: it is garbage, and keeps nothing alive", r->under);
  if (!r->limit_given) query.least_bytes = lh_retained_bytes(snapshot, a.id) / USUAL_PART;
  cli_check(c, lh_under(snapshot, a.id, &query, &a.rows, &a.n, &error), NULL, &error);
  return a;
}

/* {=== Text =========================================================================== */

/* .listeners: array of Listener 0x55d0c0a3f2e0 */
static char *row_text(cli *c, const lh_snapshot *snapshot, const lh_branch *row) {
  const char *prefix = row->kind == LH_BRANCH_LIST   ? "list of "
                       : row->kind == LH_BRANCH_TREE ? "tree of "
                                                     : "";
  char *edge = row->has_edge ? cli_must(lh_edge_text(snapshot, &row->edge)) : NULL;
  char *what = row->kind == LH_BRANCH_REST ? NULL
               : row->objects > 1          ? cli_things(c, snapshot, row->class_index, row->objects)
                                           : cli_what(snapshot, row->id);
  bool address = row->kind != LH_BRANCH_GROUP && row->kind != LH_BRANCH_REST && row->id != LH_ROOT;
  char *text = NULL;
  size_t size;
  FILE *out = cli_must(open_memstream(&text, &size));
  if (what == NULL)
    fprintf(out, "... %s more", cli_count(c, row->objects));
  else
    fprintf(out, "%s%s%s%s%s%s", edge != NULL ? edge : "", edge != NULL ? ": " : "", prefix, what,
            address ? " " : "", address ? cli_address(c, snapshot, row->id) : "");
  if (fclose(out) != 0) cli_must(NULL);
  lh_free(edge);
  free(what);
  return text;
}

static void print_rows(cli *c, const lh_snapshot *snapshot, const answer *a) {
  static const cli_column columns[] = {{"retained", CLI_RIGHT},
                                       {"share", CLI_RIGHT},
                                       {"shallow", CLI_RIGHT},
                                       {"keeps alive alone", CLI_WRAP}};
  cli_table *table = cli_table_new(c, columns, sizeof columns / sizeof *columns);
  cli_tree tree;
  cli_tree_begin(&tree, a->n);
  for (size_t i = 0; i < a->n; i++) tree.depths[i] = a->rows[i].depth;
  for (size_t i = 0; i < a->n; i++) {
    const lh_branch *row = &a->rows[i];
    char *text = row_text(c, snapshot, row), *line = cli_tree_line(c, &tree, i, text);
    const char *cells[] = {cli_size(c, row->retained_bytes),
                           cli_share(c, row->retained_bytes, a->rows[0].retained_bytes),
                           cli_size(c, row->shallow_bytes), line};
    cli_table_row(table, cells, row->kind == LH_BRANCH_REST ? CLI_FAINT : CLI_PLAIN);
    free(line);
    free(text);
  }
  cli_tree_end(&tree);
  cli_table_print(table);
}

static void print(cli *c, lh_snapshot *snapshot, const request *r) {
  answer a = find(c, snapshot, r);
  uint64_t bytes = a.rows[0].retained_bytes;
  char *path = a.id == LH_ROOT ? NULL : cli_held_by(c, snapshot, a.id);
  printf("%s%s keeps %s alive alone, %s of the heap%s\n", cli_style_on(c, CLI_BOLD),
         path != NULL ? path : "root", cli_size(c, bytes), share_of_heap(c, snapshot, bytes),
         cli_style_off(c));
  if (a.matches > 1)
    printf("%s objects are called %s; this is the one that retains most\n", cli_count(c, a.matches),
           r->under);
  putchar('\n');
  print_rows(c, snapshot, &a);
  lh_free(path);
  lh_free(a.rows);
}

/* }=================================================================================== */

/* {=== JSON =========================================================================== */

static json_t *row_json(cli *c, const lh_snapshot *snapshot, const lh_branch *row) {
  char *edge = row->has_edge ? cli_must(lh_edge_text(snapshot, &row->edge)) : NULL;
  bool known = row->kind != LH_BRANCH_REST && row->id != LH_ROOT;
  json_t *json = cli_must(
      json_pack("{ss sI ss? ss? ss? ss? sI sI sI}", "kind", lh_branch_kind_name(row->kind), "depth",
                (json_int_t)row->depth, "address", known ? cli_address(c, snapshot, row->id) : NULL,
                "class", known ? lh_class_name_of(snapshot, row->id) : NULL, "type",
                known ? lh_type_name(lh_type_of(snapshot, row->id)) : NULL, "edge", edge, "objects",
                (json_int_t)row->objects, "shallow_bytes", (json_int_t)row->shallow_bytes,
                "retained_bytes", (json_int_t)row->retained_bytes));
  lh_free(edge);
  return json;
}

static void print_json(cli *c, cli_json *w, lh_snapshot *snapshot, const request *r) {
  answer a = find(c, snapshot, r);
  char *path = a.id == LH_ROOT ? NULL : cli_held_by(c, snapshot, a.id);
  cli_json_value(w, "matches", cli_json_size(a.matches));
  cli_json_value(w, "held_by", path != NULL ? json_string(path) : json_null());
  cli_json_open(w, "rows", '[');
  for (size_t i = 0; i < a.n; i++) cli_json_value(w, NULL, row_json(c, snapshot, &a.rows[i]));
  cli_json_close(w, ']');
  lh_free(path);
  lh_free(a.rows);
}

/* }=================================================================================== */

const report under_report = {"under", print, print_json};
