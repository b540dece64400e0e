/*
** referrers.c - all references to an object, weak ones included, nearest to a root first.
*/
#include "report/report.h"

typedef struct referrers_result {
  lh_id id;
  uint64_t from, total;
  lh_edge *edges;
  size_t n;
} referrers_result;

/* ==== Columns ======================================================================== */

LH_ITS(bool, is_from_object, lh_edge, it->source != LH_ROOT)

static bool is_from_root(const void *row) {
  return !is_from_object(row);
}

LH_MADE_TEXT(label_of, void, lh_edge_text(report->snapshot, row))
LH_CELL(root_of, void, cell->as.text = "root")
LH_CELL(class_of, lh_edge,
        cell->as.text = is_from_object(row) ? lh_class_name_of(report->snapshot, it->source)
                                            : "root")

static bool is_alive(const lh_report *report, const lh_edge *edge) {
  return !is_from_object(edge) || lh_is_reachable(report->snapshot, edge->source);
}

/* Ignored references have `weak` set, too. */
LH_CELL(weak_of, lh_edge, cell->as.flag = it->weak && !it->left_out)
LH_CELL(alive_of, void, cell->as.flag = is_alive(report, row))

static void note_of(lh_report *report, const void *row, lh_cell *cell) {
  const lh_edge *edge = row;
  cell->as.text = edge->left_out            ? "ignored"
                  : !is_alive(report, edge) ? "garbage"
                  : edge->weak              ? "weak"
                                            : "";
}

LH_STYLE(style_of, lh_edge, it->weak || !is_alive(report, it) ? LH_FAINT : LH_PLAIN)

#define ROW lh_edge
static const lh_table referrer_table = LH_TABLE_WITH(
    (.style = style_of), "heap.referrer", "reference", "references",
    LH_COMPUTED("class", NULL, LH_COLUMN_TEXT, root_of, "\"root\", and no more of these",
                LH_ONLY_WHERE(is_from_root)),
    LH_OBJECT("object", source, "that refers to it", LH_ADDRESS, LH_ONLY_WHERE(is_from_object)),
    LH_OF("shallow_bytes", NULL, LH_COLUMN_BYTES, source, lh_cell_shallow, "its own",
          LH_ONLY_WHERE(is_from_object)),
    LH_OF("retained_bytes", NULL, LH_COLUMN_BYTES, source, lh_cell_retained,
          "what would go if it went", LH_ONLY_WHERE(is_from_object)),
    LH_WORD("edge", NULL, kind, lh_edge_kind_name, "how it refers, such as \"value\""),
    LH_COMPUTED("label", "reference", LH_COLUMN_TEXT, label_of, "the same as text"),
    LH_COMPUTED(NULL, "from class", LH_COLUMN_TEXT, class_of, NULL),
    LH_EXAMPLE(NULL, "address", source, NULL, LH_WHERE(is_from_object)),
    LH_COMPUTED(NULL, "", LH_COLUMN_TEXT, note_of, NULL, LH_UNBROKEN),
    LH_OF(NULL, "from", LH_COLUMN_TEXT, source, lh_cell_path, NULL),
    LH_COMPUTED("weak", NULL, LH_COLUMN_FLAG, weak_of, "keeps nothing alive"),
    LH_FLAG("ignored", left_out, "is left out"),
    LH_COMPUTED("reachable", NULL, LH_COLUMN_FLAG, alive_of, "it is from what is alive"));
#undef ROW

#define ROW referrers_result
static const lh_table referrers_answer = LH_TABLE_OF(
    "heap.referrers", NULL, NULL,
    LH_COUNT("total_referrers", NULL, total, "how many references there are, listed or not"),
    LH_ROWS("referrers", edges, n, &referrer_table, "the nearest to a root first", LH_OWNED));
#undef ROW

/* ==================================================================================== */

static void print_referrers(lh_teller *t, lh_report *report) {
  const referrers_result *f = report->answer;
  lh_say(t, LH_BOLD, "%s %s to %s",
         lh_count_of(f->total, referrer_table.one, referrer_table.many).text,
         f->total == 1 ? "leads" : "lead", lh_object_words(report, f->id));
  lh_print_asked(t, report);
  lh_print_stack(t, report->snapshot, f->id);
  lh_say(t, LH_PLAIN, "%s", "");
  lh_print_rows(t, report, &referrer_table, f->edges, f->n);
  lh_print_hidden(t, &referrer_table, f->total - f->from - f->n);
}

static int find_referrers(lh_snapshot *snapshot, const lh_request *request, void *out,
                          lh_error *error) {
  referrers_result *f = out;
  f->id = request->id;
  int code = lh_some_referrers(snapshot, f->id, request->from, request->limit, &f->edges, &f->n,
                               &f->total, error);
  f->from = request->from < f->total ? request->from : f->total;
  return code;
}

LH_QUESTION(referrers, .command = "heappath", .main = "referrers");
