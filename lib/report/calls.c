/*
** calls.c - the call graph of allocation: functions, callers, callees, and the main stacks; and all
** stacks as a tree, for a flame graph, outermost first.
*/
#include "report/report.h"

/* Branches with at least 1/100 of all bytes are shown. */
enum { LEAST_PART = 100 };

typedef struct calls_result {
  lh_usage_calls calls;
  lh_usage_stack *branches;
  size_t n_branches;
  bool has_calls;
} calls_result;

LH_HEADING_OF(calls_heading,
              lh_profile_about(lh_usage_profile(lh_usage_of(report)))->has_calls ? "calls" : NULL)
LH_HEADING_OF(tail_calls_heading, calls_heading(report) ? "tail calls" : NULL)
LH_HEADING_OF(per_call_heading, calls_heading(report) ? "per call" : NULL)
LH_ITS(bool, has_been_called, lh_function_usage, it->calls > 0)
LH_CELL(per_call_of, lh_function_usage, cell->as.n = it->total_bytes / it->calls)

#define ROW lh_call_usage
/* clang-format off */
#define CALL_COLUMNS \
  LH_BYTES("total_bytes", NULL, total_bytes, "allocated then, also by all that was called"), \
  LH_BYTES("self_bytes", NULL, self_bytes, "and by the called one itself"), \
  LH_COUNT("calls", NULL, calls, "how many; 0 where the profile has no calls"), \
  LH_COUNT("tail_calls", NULL, tail_calls, "the tail calls among them")
/* clang-format on */
static const lh_table caller = LH_TABLE_OF(
    "heap.caller", "caller", "callers",
    LH_OF_SITE("function", NULL, LH_COLUMN_TEXT, caller, lh_cell_stack_function, "as above"),
    CALL_COLUMNS);
static const lh_table called = LH_TABLE_OF(
    "heap.called", "function", "functions",
    LH_OF_SITE("function", NULL, LH_COLUMN_TEXT, called, lh_cell_stack_function, "as above"),
    CALL_COLUMNS);
#undef ROW

#define ROW lh_function_usage
static const lh_table function = LH_TABLE_OF(
    "heap.calling", "function", "functions",
    LH_BYTES("total_bytes", "total", total_bytes,
             "that it allocated, and all that it called; of recursive calls the outermost counts"),
    LH_SHARE("share", total_bytes),
    LH_BYTES("self_bytes", "self", self_bytes, "that it allocated itself, or a C function for it"),
    LH_COUNT("self_blocks", "blocks", self_blocks, "how many new blocks these are"),
    LH_COUNT("calls", NULL, calls, "how often it was called; 0 where the profile has no calls",
             LH_HEADING(calls_heading)),
    LH_COUNT("tail_calls", NULL, tail_calls, "the tail calls among them",
             LH_HEADING(tail_calls_heading), LH_WIDE),
    LH_COMPUTED("bytes_per_call", NULL, LH_COLUMN_BYTES, per_call_of, "of the total",
                LH_HEADING(per_call_heading), LH_WHERE(has_been_called)),
    LH_COUNT("self_ns", NULL, self_ns, "the time in it alone"),
    LH_COUNT("total_ns", NULL, total_ns, "and with all that it called"),
    LH_FLAG("constant", is_constant, "all calls returned the very same values"),
    LH_ROWS("callers", callers, n_callers, &caller, "who called it"),
    LH_ROWS("called", called, n_called, &called, "what it called"),
    LH_OF_SITE("function", "function", LH_COLUMN_TEXT, stack, lh_cell_stack_function,
               "as \"@app/bus.lua:28 in Bus:on\": where it begins, and its name"));
#undef ROW

LH_ITS(uint32_t, branch_depth, lh_usage_stack, it->depth)

#define ROW lh_usage_stack
static const lh_table branch = LH_TABLE_WITH(
    (.depth = branch_depth), "heap.branch", "branch", "branches",
    LH_BYTES("total_bytes", "total", total_bytes, "that were allocated there and below"),
    LH_SHARE("share", total_bytes),
    LH_BYTES("self_bytes", "self", self_bytes, "that were allocated there"),
    LH_COUNT("depth", NULL, depth, "how many callers it has"),
    LH_OF_SITE("site", "site", LH_COLUMN_TEXT, stack, lh_cell_stack_site, "where it stood"));
#undef ROW

#define ROW calls_result
static const lh_table calls_answer = LH_TABLE_OF(
    "heap.calls", NULL, NULL, LH_BYTES("bytes", NULL, calls.bytes, "all that was allocated"),
    LH_FLAG("has_calls", has_calls, "calls and times are known"),
    LH_COUNT("total_functions", NULL, calls.n_functions, "how many there are, listed or not"),
    LH_ROWS("functions", calls.functions, calls.n_functions, &function,
            "those with most bytes in total first", LH_LIMITED),
    LH_ROWS("branches", branches, n_branches, &branch,
            "the stacks as a tree, each followed by what it called: those with 1 % of all bytes",
            LH_OWNED));
#undef ROW

static void print_calls(lh_printer *t, lh_report *report) {
  const calls_result *f = report->answer;
  const char *gap = t->all ? "" : "\n";
  lh_say(t, LH_BOLD, "Functions, with all that they called%s", gap);
  lh_print_table(t, report, &function, f->calls.functions, f->calls.n_functions,
                 f->calls.n_functions);
  if (!lh_profile_about(lh_usage_profile(lh_usage_of(report)))->has_stacks) {
    lh_say(t, LH_PLAIN, "\nThe profile has no stacks: heap.track{stacks = true} records them");
    return;
  }
  lh_say(t, LH_BOLD, "\nStacks with at least 1%% of all bytes%s", gap);
  lh_print_table(t, report, &branch, f->branches, f->n_branches, f->n_branches);
}

static int find_branches(calls_result *f, const lh_usage *usage, lh_error *error) {
  lh_usage_stack *all;
  size_t n;
  int code = lh_usage_stacks(usage, LH_MOST_ALLOCATED, 0, &all, &n, error);
  f->branches = all;
  for (size_t i = 0; code == LH_OK && i < n; i++)
    if (all[i].stack != 0 && all[i].total_bytes >= f->calls.bytes / LEAST_PART)
      all[f->n_branches++] = all[i];
  return code;
}

LH_FREED_BY(calls, calls_result, lh_usage_calls_free(&it->calls))

static int find_calls(lh_snapshot *snapshot, const lh_request *request, void *out,
                      lh_error *error) {
  const lh_usage *usage = request->usages[0];
  calls_result *f = out;
  (void)snapshot;
  f->has_calls = lh_profile_about(lh_usage_profile(usage))->has_calls;
  int code = lh_usage_calls_find(usage, &(lh_calls_query){0}, &f->calls, error);
  return code == LH_OK ? find_branches(f, usage, error) : code;
}

LH_QUESTION(calls, .command = "heapprof", .of = LH_OF_PROFILE, LH_WHOLE(calls_result, calls.bytes),
            .free = free_calls);

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

LH_ITS(uint32_t, stack_depth, lh_usage_stack, it->depth)

#define ROW lh_usage_stack
static const lh_table stack_table = LH_TABLE_WITH(
    (.depth = stack_depth), "heap.stack_row", "stack", "stacks",
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
    LH_ROWS("rows", rows, n, &stack_table,
            "each followed by what it called, most bytes first, and by a row for the rest",
            LH_OWNED));
#undef ROW

static void print_stacks(lh_printer *t, lh_report *report) {
  static const char *const what[] = {[LH_MOST_ALLOCATED] = "Allocated",
                                     [LH_MOST_LIVE] = "Live at the end",
                                     [LH_MOST_AT_PEAK] = "Live when the heap was biggest",
                                     [LH_MOST_SOON_DEAD] = "Dead at the first collection"};
  const stacks_result *f = report->answer;
  const lh_usage *usage = report->request.usages[0];
  lh_say(t, LH_BOLD, "%s, by stack: %s%s", what[report->request.order],
         lh_format_size(t, f->whole_bytes).text, t->all ? "" : "\n");
  if (!lh_profile_about(lh_usage_profile(usage))->has_stacks)
    lh_say(t, LH_PLAIN, "The profile has no stacks: heap.track{stacks = true} records them");
  lh_print_table(t, report, &stack_table, f->rows, f->n, f->n);
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

LH_QUESTION(stacks, .command = "heapprof", .of = LH_OF_PROFILE,
            LH_WHOLE(stacks_result, whole_bytes));
