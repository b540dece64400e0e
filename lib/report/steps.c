/*
** steps.c - the steps of a path. A function's upvalue and its value are one step.
**
** The middle of a long path is one row, named after its most frequent reference.
*/
#include "report/report.h"

/* ==== Choosing steps ================================================================== */

static bool is_upvalue_with_content(const lh_path *path, size_t i) {
  return i + 1 < path->n_steps && path->steps[i].kind == LH_EDGE_UPVALUE &&
         path->steps[i + 1].kind == LH_EDGE_CONTENT;
}

size_t lh_told_steps(const lh_path *path, lh_step steps[LH_MOST_STEPS]) {
  size_t n = path->n_steps, half = LH_LONG_PATH / 2, end = 0, told = 0;
  if (n > LH_LONG_PATH) end = n - half - is_upvalue_with_content(path, n - half - 1);
  for (size_t i = 0; i < n; i++) {
    if (i >= half && i < end) {
      steps[told++] = (lh_step){&path->steps[i], LH_NO_OBJECT, end - i};
      i = end;
    }
    const lh_edge *named = &path->steps[i];
    if (is_upvalue_with_content(path, i)) i++;
    steps[told++] = (lh_step){named, path->steps[i].target, 0};
  }
  return told;
}

/* ==== Names of steps ================================================================= */

/* The most frequent edge, if it is a majority (Boyer and Moore's vote), and its count. */
static const lh_edge *usual_edge(const lh_snapshot *snapshot, const lh_edge *edges, size_t n,
                                 size_t *n_usual) {
  const lh_edge *usual = NULL;
  size_t votes = 0;
  for (size_t i = 0; i < n; i++) {
    if (votes == 0) usual = &edges[i];
    if (lh_edges_alike(snapshot, usual, &edges[i]))
      votes++;
    else
      votes--;
  }
  *n_usual = 0;
  for (size_t i = 0; i < n; i++) *n_usual += lh_edges_alike(snapshot, usual, &edges[i]);
  return usual;
}

/* "... 999,990 more of .next ..." */
static const char *skipped_words(lh_report *report, const lh_step *step) {
  size_t n = step->skipped, n_usual;
  const lh_edge *usual = usual_edge(report->snapshot, step->edge, n, &n_usual);
  bool are_all = n_usual == n, are_most = 2 * n_usual > n;
  return lh_words(report, "... %s more%s%s%s%s ...", lh_count_text(n).text,
                  are_all    ? " of "
                  : are_most ? ", "
                             : "",
                  are_all || !are_most ? "" : lh_count_text(n_usual).text,
                  are_all || !are_most ? "" : " of them ",
                  are_most ? lh_kept(report, lh_edge_text(report->snapshot, usual)) : "");
}

/* ==================================================================================== */

typedef struct steps_result {
  lh_step steps[LH_MOST_STEPS];
  size_t n;
} steps_result;

LH_CELL(reference_of, lh_step,
        cell->as.text = it->skipped > 0 ? skipped_words(report, it)
                                        : lh_kept(report, lh_edge_text(report->snapshot, it->edge)))

static lh_style style_of(const lh_report *report, const void *row) {
  const lh_step *step = row;
  if (step->skipped > 0) return LH_FAINT;
  return step->target == report->request.id ? LH_BOLD : LH_PLAIN;
}

LH_ITS(bool, is_skipped, lh_step, it->skipped > 0)

#define ROW lh_step
const lh_table lh_step_table = LH_TABLE_WITH(
    (.style = style_of), "heap.step", "step", "steps",
    LH_COMPUTED("label", "reference", LH_COLUMN_TEXT, reference_of, "how it is referred to"),
    LH_OF(NULL, "class", LH_COLUMN_TEXT, target, lh_cell_what, NULL),
    LH_OBJECT("object", target, "what that leads to; null where a row stands for several",
              LH_ADDRESS, LH_OPTIONAL),
    LH_EXAMPLE(NULL, "address", target, NULL),
    LH_OF("shallow_bytes", "shallow", LH_COLUMN_BYTES, target, lh_cell_shallow, "its own",
          LH_OPTIONAL),
    LH_OF("retained_bytes", "retained", LH_COLUMN_BYTES, target, lh_cell_retained,
          "what would go if it went", LH_OPTIONAL),
    LH_COUNT("skipped", NULL, skipped, "for how many steps the row stands",
             LH_ONLY_WHERE(is_skipped)));
#undef ROW

#define ROW steps_result
static const lh_table steps_answer =
    LH_TABLE_OF("heap.steps", NULL, NULL,
                LH_INLINE_ROWS("steps", steps, n, &lh_step_table, "from the root on"));
#undef ROW

static int find_steps(lh_snapshot *snapshot, const lh_request *request, void *out,
                      lh_error *error) {
  steps_result *f = out;
  (void)snapshot, (void)error;
  f->n = lh_told_steps(request->path, f->steps);
  return LH_OK;
}

/* ==== The words ====================================================================== */

/* A weak table keeps strings and values that are not objects, and entries with such keys. */
static const char *never_weak(const lh_snapshot *snapshot, const lh_edge *edge) {
  if (edge->kind != LH_EDGE_VALUE && edge->kind != LH_EDGE_KEY) return NULL;
  lh_weak_sides weak = lh_weak_sides_of(snapshot, edge->source);
  if (!weak.keys)
    return weak.values && edge->kind == LH_EDGE_VALUE ? "weak values, but a string is never weak"
                                                      : NULL;
  return edge->key.kind == LH_VALUE_OBJECT ? "weak keys, but a string is never weak"
                                           : "weak keys, but what is no object is never weak";
}

static void print_never_weak(lh_teller *t, const lh_snapshot *snapshot, const lh_path *path) {
  for (size_t i = 0; i < path->n_steps; i++) {
    const char *why = never_weak(snapshot, &path->steps[i]);
    if (!why) continue;
    lh_say(t, LH_PLAIN, "\n%s is in a table with %s: its entry stays",
           lh_kept(t->report, lh_edge_text(snapshot, &path->steps[i])), why);
    return;
  }
}

/* Explains a row that retains more than the row above it. */
static void print_more(lh_teller *t, const lh_snapshot *snapshot, const lh_step *steps, size_t n) {
  for (size_t i = 1; i < n; i++) {
    if (steps[i - 1].skipped > 0 || steps[i].skipped > 0 ||
        lh_retained_bytes(snapshot, steps[i].target) <=
            lh_retained_bytes(snapshot, steps[i - 1].target))
      continue;
    lh_say(t, LH_PLAIN,
           "\nWhere a row retains more than the one above it other paths lead to it, too: it would "
           "stay\nwithout that one");
    return;
  }
}

void lh_print_steps(lh_teller *t, lh_report *report, const lh_path *path, const lh_step *steps,
                    size_t n) {
  lh_print_rows(t, report, &lh_step_table, steps, n);
  print_more(t, report->snapshot, steps, n);
  print_never_weak(t, report->snapshot, path);
  lh_print_where_to_cut(t, report, path);
}

static void print_steps(lh_teller *t, lh_report *report) {
  const steps_result *f = report->answer;
  lh_print_steps(t, report, report->request.path, f->steps, f->n);
}

/* ==================================================================================== */

LH_QUESTION(steps);
