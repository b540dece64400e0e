/* under.c - the objects that an object retains, as a tree. */
#include "report/report.h"

/* Defaults: four levels, ten rows each, rows of at least 1/100 of all. */
enum { USUAL_DEPTH = 4, USUAL_ROWS = 10, USUAL_PART = 100 };

typedef struct under_result {
  lh_id id;
  uint64_t matches;
  lh_branch *rows;
  size_t n;
} under_result;

LH_CELL(of_the_top, void,
        cell->whole = ((const under_result *)report->answer)->rows->retained_bytes)

/* .listeners: array of Listener 0x55d0c0a3f2e0 */
LH_WORDS(branch_name, "object", "list", "tree", "group", "rest")

static const char *branch_words(lh_report *report, const lh_branch *b) {
  const lh_snapshot *s = report->snapshot;
  bool is_cluster = b->kind == LH_BRANCH_LIST || b->kind == LH_BRANCH_TREE;
  bool is_one = is_cluster || b->kind == LH_BRANCH_OBJECT;
  if (b->kind == LH_BRANCH_REST)
    return lh_words(report, "... %s more", lh_count_text(b->objects).text);
  return lh_words(
      report, "%s%s%s%s%s%s%s", b->has_edge ? lh_kept(report, lh_edge_text(s, &b->edge)) : "",
      b->has_edge ? ": " : "", is_cluster ? branch_name(b->kind) : "", is_cluster ? " of " : "",
      b->objects > 1 ? lh_count_words(report, b->class_index, b->objects)
                     : lh_kept(report, lh_what_text(s, b->id)),
      is_one && b->id != LH_ROOT ? " " : "",
      is_one && b->id != LH_ROOT ? lh_address_text(s, b->id).text : "");
}
LH_CELL(under_text, lh_branch, cell->as.text = branch_words(report, it))

LH_ITS(bool, is_no_rest, lh_branch, it->kind != LH_BRANCH_REST)
LH_CELL(edge_of, lh_branch, cell->as.edge = it->has_edge ? &it->edge : NULL)
LH_ITS(uint32_t, depth_of, lh_branch, it->depth)
LH_STYLE(style_of, lh_branch, it->kind == LH_BRANCH_REST ? LH_FAINT : LH_PLAIN)

#define ROW lh_branch
static const lh_table branch = LH_TABLE_WITH(
    (.depth = depth_of, .style = style_of), "heap.branch", "row", "rows",
    LH_WORD("kind", NULL, kind, branch_name,
            "\"object\", \"list\", \"tree\", \"group\" or \"rest\""),
    LH_COUNT("depth", NULL, depth, "0 for the object itself"),
    LH_OBJECT("object", id, "null for the rest; of a group the one that retains most", LH_ADDRESS,
              LH_WHERE(is_no_rest)),
    LH_COMPUTED("edge", NULL, LH_COLUMN_EDGE, edge_of,
                "how the object of the row above refers to it, null if it does not", LH_OPTIONAL),
    LH_COUNT("objects", NULL, objects, "how many of the class"),
    LH_BYTES("retained_bytes", "retained", retained_bytes, "of all of them"),
    LH_SHARE("share", retained_bytes, .compute = of_the_top),
    LH_BYTES("shallow_bytes", "shallow", shallow_bytes, "of all of them"),
    LH_COMPUTED(NULL, "keeps alive alone", LH_COLUMN_TEXT, under_text, NULL));
#undef ROW

#define ROW under_result
static const lh_table under_answer =
    LH_TABLE_OF("heap.under", NULL, NULL,
                LH_COUNT("matches", NULL, matches,
                         "how many objects were meant; the one that retains most was taken"),
                LH_HELD_BY(NULL, id, "its path, null for the root"),
                LH_ROWS("rows", rows, n, &branch, "in the order of the tree", LH_OWNED));
#undef ROW

static void print_under(lh_printer *t, lh_report *report) {
  const under_result *f = report->answer;
  lh_say(t, LH_BOLD, "%s keeps %s alive alone, %s of the heap", lh_path_words(report, f->id),
         lh_format_size(t, f->rows->retained_bytes).text,
         lh_share_of_heap(report, f->rows->retained_bytes).text);
  if (f->matches > 1)
    lh_say(t, LH_PLAIN, "%s objects are called %s; this is the one that retains most",
           lh_count_text(f->matches).text, report->request.name);
  lh_say(t, LH_PLAIN, "%s", "");
  lh_print_rows(t, report, &branch, f->rows, f->n);
}

static int find_under(lh_snapshot *snapshot, const lh_request *request, void *out,
                      lh_error *error) {
  under_result *f = out;
  lh_under_query query = {.depth = USUAL_DEPTH, .limit = USUAL_ROWS};
  f->id = request->id;
  f->matches = request->matches;
  if (request->has_depth)
    query.depth = request->depth < UINT32_MAX ? (uint32_t)request->depth : UINT32_MAX;
  if (request->has_limit) query.limit = request->limit;
  if (request->has_least_bytes)
    query.least_bytes = request->least_bytes;
  else if (!request->has_limit)
    query.least_bytes = lh_retained_bytes(snapshot, f->id) / USUAL_PART;
  return lh_under(snapshot, f->id, &query, &f->rows, &f->n, error);
}

LH_QUESTION(under, .help = "what OBJECT (or root) keeps alive alone, as a tree",
            .argument = "OBJECT", .main = "rows");
