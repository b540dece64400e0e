/*
** stacks.c - the stacks of a profile as a tree, for a flame graph, outermost first.
*/
#include "report/usage_rows.h"

/* More would be narrower than a pixel. */
enum { USUAL_STACKS = 1000 };

typedef struct stacks_result {
  const char *order;
  uint64_t whole_bytes;
  lh_usage_stack *rows;
  size_t n;
} stacks_result;

LH_ITS(bool, is_stack, lh_usage_stack, !it->is_rest)

LH_CELL(stacks_text, lh_usage_stack,
        if (it->is_rest)
            cell->as.text = lh_words(report, "%s",
                                     lh_count_of(it->stacks, "smaller", "smaller").text);
        else lh_cell_stack_site(report, it->stack, cell))

LH_ITS(uint32_t, depth_of, lh_usage_stack, it->depth)

#define ROW lh_usage_stack
static const lh_table row_table = LH_TABLE_WITH(
    (.depth = depth_of), "heap.stack_row", "stack", "stacks",
    LH_BYTES("total_bytes", "total", total_bytes, "of this stack, and of all that it called"),
    LH_SHARE("share", total_bytes),
    LH_BYTES("self_bytes", "self", self_bytes, "of this stack alone"),
    LH_COUNT("stacks", NULL, stacks, "1; of a row that stands for those without one: how many"),
    LH_FLAG("rest", is_rest, "the row stands for such stacks"),
    LH_COUNT("depth", NULL, depth, "how many callers it has"),
    LH_COUNT("stack", NULL, stack, "its number; of a rest that of its caller; 0: none"),
    LH_OF_SITE("maker", NULL, LH_COLUMN_TEXT, stack, lh_cell_stack_maker, "what allocates there",
               LH_WHERE(is_stack)),
    LH_OF_SITE("function", NULL, LH_COLUMN_TEXT, stack, lh_cell_stack_function,
               "where it begins, and its name", LH_WHERE(is_stack)),
    LH_COMPUTED("site", "site", LH_COLUMN_TEXT, stacks_text, "where it stood"));
#undef ROW

#define ROW stacks_result
static const lh_table stacks_answer = LH_TABLE_OF(
    "heap.stacks", NULL, NULL,
    LH_TEXT("order", NULL, order,
            "what the bytes are: \"allocated\", \"live\", \"peak\", "
            "\"soon_dead\""),
    LH_BYTES("whole_bytes", NULL, whole_bytes, "of all stacks"),
    LH_ROWS("rows", rows, n, &row_table,
            "each followed by what it called, most bytes first, and by a row for the rest",
            LH_OWNED));
#undef ROW

static void print_stacks(lh_teller *t, lh_report *report) {
  static const char *const what[] = {[LH_MOST_ALLOCATED] = "Allocated",
                                     [LH_MOST_LIVE] = "Live at the end",
                                     [LH_MOST_AT_PEAK] = "Live when the heap was biggest",
                                     [LH_MOST_SOON_DEAD] = "Dead at the first collection"};
  const stacks_result *f = report->answer;
  const lh_usage *usage = report->request.usages[0];
  lh_say(t, LH_BOLD, "%s, by stack: %s%s", what[report->request.order],
         lh_told_size(t, f->whole_bytes).text, t->all ? "" : "\n");
  if (!lh_profile_about(lh_usage_profile(usage))->has_stacks)
    lh_say(t, LH_PLAIN, "The profile has no stacks: heap.track{stacks = true} records them");
  lh_print_table(t, report, &row_table, f->rows, f->n, f->n);
}

static int find_stacks(lh_snapshot *snapshot, const lh_request *request, void *out,
                       lh_error *error) {
  static const char *const orders[] = {[LH_MOST_ALLOCATED] = "allocated",
                                       [LH_MOST_LIVE] = "live",
                                       [LH_MOST_AT_PEAK] = "peak",
                                       [LH_MOST_SOON_DEAD] = "soon_dead"};
  stacks_result *f = out;
  size_t limit = request->has_limit ? request->limit : USUAL_STACKS;
  (void)snapshot;
  f->order = orders[request->order];
  int code = lh_usage_stacks(request->usages[0], request->order, limit, &f->rows, &f->n, error);
  for (size_t i = 0; code == LH_OK && i < f->n; i++)
    if (f->rows[i].depth == 0) f->whole_bytes += f->rows[i].total_bytes;
  return code;
}

LH_ITS(uint64_t, whole_of, stacks_result, it->whole_bytes)

LH_QUESTION(stacks, .command = "heapprof", .of = LH_OF_PROFILE, .whole = whole_of);
