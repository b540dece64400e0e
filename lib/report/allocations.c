/*
** allocations.c - who allocated: by site, function, type, file or stack; most of what was asked for
** first, which is all that was allocated, what lives, or what lived when the heap was biggest.
*/
#include "report/usage_rows.h"

typedef struct found {
  lh_usage_told *rows;
  size_t n;
  uint64_t whole_bytes; /* of these shares are told */
} found;

static const lh_table row_table =
    LH_TABLE("heap.allocated", "row", "rows", lh_usage_told, lh_usage_columns);

#define ROW found
static const lh_column answer_columns[] = {
    LH_COUNT("total_allocations", NULL, n, "how many rows there are, listed or not"),
    LH_BYTES("whole_bytes", NULL, whole_bytes, "of all rows: of these shares are told"),
    LH_ROWS("allocations", rows, n, &row_table, "those with most bytes first", LH_LIMITED), LH_END};
#undef ROW

static const lh_table answer = LH_TABLE("heap.allocations", NULL, NULL, found, answer_columns);

/* "Live at the end, by site". */
static void tell(lh_teller *t, lh_report *report) {
  static const char *const bys[] = {"site", "function", "type", "file", "stack"};
  static const char *const what[] = {"Allocated", "Live", "Live when the heap was biggest",
                                     "Dead at the first collection"};
  const found *f = report->answer;
  lh_say(t, LH_BOLD, "%s, by %s: %s%s", what[report->request.order], bys[report->request.by],
         lh_told_size(t, f->whole_bytes).text, t->all ? "" : "\n");
  lh_tell_table(t, report, &row_table, f->rows, f->n, f->n);
}

static int ask(lh_snapshot *snapshot, const lh_request *request, void *out, lh_error *error) {
  const lh_usage *usage = request->usages[0];
  found *f = out;
  lh_usage_group *groups;
  (void)snapshot;
  int code = lh_usage_groups(usage, request->by, request->order, &groups, &f->n, error);
  if (code != LH_OK) return code;
  f->rows = lh_tell_groups(usage, groups, f->n);
  for (size_t i = 0; f->rows && i < f->n; i++) f->whole_bytes += f->rows[i].ordered_bytes;
  lh_free(groups);
  return f->rows ? LH_OK : lh_fail_memory(error, "telling who allocated");
}

static uint64_t whole_of(const void *out) {
  return ((const found *)out)->whole_bytes;
}

LH_FREED_BY(found, lh_free(it->rows))

const lh_question lh_allocations_question = {.name = "allocations",
                                             .command = "heapprof",
                                             .of = LH_OF_PROFILE,
                                             .answer = &answer,
                                             .main = "allocations",
                                             .ask = ask,
                                             .whole = whole_of,
                                             .free = let_go,
                                             .tell = tell};
