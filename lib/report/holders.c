/*
** holders.c - what holds one object: all references to it, its independent paths, its dominators.
**
** If one path holds it, but not each cut of that path frees it: the nearest object on the path that
** several paths hold.
*/
#include "report/report.h"

/* ==== References ===================================================================== */

typedef struct referrers_result {
  lh_id id;
  uint64_t from, total;
  lh_edge *edges;
  size_t n;
} referrers_result;

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
LH_CELL(weak_of, lh_edge, cell->as.flag = it->weak && !it->ignored)
LH_CELL(alive_of, void, cell->as.flag = is_alive(report, row))

static void note_of(lh_report *report, const void *row, lh_cell *cell) {
  const lh_edge *edge = row;
  cell->as.text = edge->ignored             ? "ignored"
                  : !is_alive(report, edge) ? "garbage"
                  : edge->weak              ? "weak"
                                            : "";
}

LH_STYLE(referrer_style, lh_edge, it->weak || !is_alive(report, it) ? LH_FAINT : LH_PLAIN)

#define ROW lh_edge
static const lh_table referrer_table = LH_TABLE_WITH(
    (.style = referrer_style), "heap.referrer", "reference", "references",
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
    LH_FLAG("ignored", ignored, "is left out"),
    LH_COMPUTED("reachable", NULL, LH_COLUMN_FLAG, alive_of, "it is from what is alive"));
#undef ROW

#define ROW referrers_result
static const lh_table referrers_answer = LH_TABLE_OF(
    "heap.referrers", NULL, NULL,
    LH_COUNT("total_referrers", NULL, total, "how many references there are, listed or not"),
    LH_ROWS("referrers", edges, n, &referrer_table, "the nearest to a root first", LH_OWNED));
#undef ROW

static void print_referrers(lh_printer *t, lh_report *report) {
  const referrers_result *f = report->answer;
  lh_say(t, LH_BOLD, "%s %s to %s",
         lh_count_of(f->total, referrer_table.one, referrer_table.many).text,
         f->total == 1 ? "leads" : "lead", lh_object_words(report, f->id));
  lh_print_asked(t, report);
  lh_print_origin(t, report->snapshot, f->id);
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

/* ==== Independent paths, which are as many as the cuts that free it ================== */

/* Nobody makes more cuts, so the search stops here. */
enum { MOST_INDEPENDENT = 5 };

typedef struct independent_result {
  lh_independent held;
  lh_id id, below;
  lh_id junction; /* LH_NO_OBJECT: none */
  lh_independent junction_held;
} independent_result;

LH_MADE_TEXT(independent_text, void, lh_whole_path_text(report->snapshot, row, false))

#define ROW lh_path
static const lh_table path_table = LH_TABLE_OF(
    "heap.independent_path", "path", "paths", LH_COUNT("steps", "steps", n_steps, "how many"),
    LH_COMPUTED("text", "path", LH_COLUMN_TEXT, independent_text, "in Lua's language"));
#undef ROW

LH_ITS(bool, has_junction, independent_result, it->junction != LH_NO_OBJECT)

#define ROW independent_result
static const lh_table independent_answer =
    LH_TABLE_OF("heap.independent", NULL, NULL,
                LH_COUNT("count", NULL, held.n, "so many cuts free it, and no fewer"),
                LH_FLAG("or_more", held.is_limited, "no more were looked for"),
                LH_EXAMPLE("below", NULL, below,
                           "the object from which on they part; null: the root", LH_OPTIONAL),
                LH_ROWS("paths", held.paths, held.n, &path_table, "the shortest first"),
                LH_EXAMPLE("junction", NULL, junction,
                           "of one path: the nearest object on it that several hold", LH_OPTIONAL),
                LH_ROWS("junction_paths", junction_held.paths, junction_held.n, &path_table,
                        "those that hold that", LH_ONLY_WHERE(has_junction)));
#undef ROW

/* Of two or more: "2 independent paths lead". */
static const char *paths_words(lh_report *report, const lh_independent *held) {
  return lh_words(report, "%s%s independent paths lead", held->is_limited ? "at least " : "",
                  lh_count_text(held->n).text);
}

/* " below _G.app"; "" if the paths share no object. */
static const char *from_words(lh_report *report, const char *before, const lh_independent *held) {
  if (held->from == LH_ROOT) return "";
  return lh_words(report, " %s %s", before, lh_path_words(report, held->from));
}

static void print_independent(lh_printer *t, lh_report *report) {
  const independent_result *f = report->answer;
  const lh_independent *told = f->held.n < 2 ? &f->junction_held : &f->held;
  if (f->held.n == 0) return;
  if (f->held.n >= 2)
    lh_say(t, LH_BOLD,
           "One cut%s is not enough: %s%s to the object:", from_words(report, "below", &f->held),
           paths_words(report, &f->held), f->held.from == LH_ROOT ? "" : " from there");
  else if (has_junction(f))
    lh_say(t, LH_BOLD, "Held by one path. A cut above %s is not enough: %s%s to it:",
           lh_path_words(report, f->junction), paths_words(report, &f->junction_held),
           from_words(report, "from", &f->junction_held));
  else
    lh_say(t, LH_BOLD, "Held by one path: each cut of it frees it");
  if (told->n > 0) lh_print_rows(t, report, &path_table, told->paths, told->n);
}

/* Ignores modules: nobody removes one from package.loaded to free its contents. */
static int find_junction(lh_snapshot *snapshot, independent_result *f, lh_error *error) {
  int code = lh_find_common_holder(snapshot, f->id, MOST_INDEPENDENT, &f->junction,
                                   &f->junction_held, error);
  if (code != LH_OK) {
    f->junction = LH_NO_OBJECT;
    f->junction_held = (lh_independent){0};
    return code == LH_ENOTFOUND ? LH_OK : code;
  }
  if (!lh_is_permanent(snapshot, f->junction)) return LH_OK;
  f->junction = LH_NO_OBJECT;
  lh_independent_free(&f->junction_held);
  f->junction_held = (lh_independent){0};
  return LH_OK;
}

static void free_independent(void *out) {
  independent_result *f = out;
  lh_independent_free(&f->held);
  lh_independent_free(&f->junction_held);
}

static int find_independent(lh_snapshot *snapshot, const lh_request *request, void *out,
                            lh_error *error) {
  independent_result *f = out;
  *f = (independent_result){.id = request->id, .below = LH_NO_OBJECT, .junction = LH_NO_OBJECT};
  if (f->id == LH_ROOT || !lh_is_reachable(snapshot, f->id)) return LH_OK;
  int code = lh_find_independent(snapshot, f->id, MOST_INDEPENDENT, &f->held, error);
  if (code != LH_OK) return code;
  if (f->held.n > 1 && f->held.from != LH_ROOT) f->below = f->held.from;
  return f->held.n == 1 ? find_junction(snapshot, f, error) : LH_OK;
}

LH_QUESTION(independent, .command = "heappath", .main = "paths", .free = free_independent);

/* ==== Dominators, nearest first ====================================================== */

typedef struct dominator {
  lh_id id; /* LH_NO_OBJECT: a row for `skipped` objects */
  uint64_t skipped;
} dominator;

typedef struct dominators_result {
  lh_id id;
  dominator *list;
  size_t n;
} dominators_result;

LH_CELL(what_of, dominator,
        cell->as.text = it->skipped > 0
                            ? lh_words(report, "... %s more ...", lh_count_text(it->skipped).text)
                            : lh_kept(report, lh_what_text(report->snapshot, it->id)))

LH_STYLE(dominator_style, dominator, it->skipped > 0 ? LH_FAINT : LH_PLAIN)

#define ROW dominator
static const lh_table dominator_table =
    LH_TABLE_WITH((.style = dominator_style), "heap.dominator", "object", "objects",
                  LH_OBJECT("object", id, "one of them", LH_ADDRESS),
                  LH_OF("shallow_bytes", NULL, LH_COLUMN_BYTES, id, lh_cell_shallow, "its own"),
                  LH_OF("retained_bytes", "would free", LH_COLUMN_BYTES, id, lh_cell_retained,
                        "what would go if it went"),
                  LH_EXAMPLE(NULL, "address", id, NULL),
                  LH_COMPUTED(NULL, "class", LH_COLUMN_TEXT, what_of, NULL),
                  LH_OF(NULL, "path", LH_COLUMN_TEXT, id, lh_cell_path, NULL));
#undef ROW

#define ROW dominators_result
static const lh_table dominators_answer = LH_TABLE_OF(
    "heap.dominators", NULL, NULL,
    LH_COUNT("total_dominators", NULL, n, "how many there are, listed or not", LH_LUA_ONLY),
    LH_ROWS("dominators", list, n, &dominator_table, "the nearest first", LH_LIMITED, LH_OWNED));
#undef ROW

static void print_chain(lh_printer *t, lh_report *report, const dominators_result *f) {
  enum { AT_ENDS = LH_LONG_PATH / 2 };
  dominator told[LH_LONG_PATH + 1];
  size_t n = 0;
  for (size_t i = 0; i < f->n; i++) {
    if (f->n > LH_LONG_PATH && i == AT_ENDS) {
      told[n++] = (dominator){LH_NO_OBJECT, f->n - 2 * AT_ENDS};
      i = f->n - AT_ENDS;
    }
    told[n++] = f->list[i];
  }
  lh_print_rows(t, report, &dominator_table, told, n);
}

static void print_dominators(lh_printer *t, lh_report *report) {
  const dominators_result *f = report->answer;
  if (!lh_is_reachable(report->snapshot, f->id)) return;
  lh_say(t, LH_BOLD, "%s, which retains %s, %s", lh_object_words(report, f->id),
         lh_format_size(t, lh_retained_bytes(report->snapshot, f->id)).text,
         f->n == 0   ? "depends on no single object: roots or independent paths hold it"
         : f->n == 1 ? "would go too if this went:"
                     : "would go too if any of these went:");
  lh_print_asked(t, report);
  lh_print_origin(t, report->snapshot, f->id);
  if (f->n == 0) return;
  lh_say(t, LH_PLAIN, "%s", "");
  print_chain(t, report, f);
}

static int find_dominators(lh_snapshot *snapshot, const lh_request *request, void *out,
                           lh_error *error) {
  dominators_result *f = out;
  size_t capacity = 0;
  f->id = request->id;
  if (f->id == LH_ROOT || !lh_is_reachable(snapshot, f->id)) return LH_OK;
  for (lh_id id = f->id; (id = lh_immediate_dominator(snapshot, id)) != LH_ROOT;) {
    if (!lh_grow(&f->list, f->n, &capacity, sizeof *f->list))
      return lh_fail_memory(error, "following dominators");
    f->list[f->n++] = (dominator){id, 0};
  }
  return LH_OK;
}

LH_QUESTION(dominators, .command = "heappath", .main = "dominators");
