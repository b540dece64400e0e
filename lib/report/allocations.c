/*
** allocations.c - allocated, live or peak bytes by site, function, type, file or stack.
*/
#include "report/usage_rows.h"

typedef struct allocations_result {
  lh_usage_group *rows;
  size_t n;
  uint64_t whole_bytes; /* the base of shares */
} allocations_result;

static const lh_table row_table =
    LH_TABLE("heap.allocated", "row", "rows", lh_usage_group, lh_usage_columns);

#define ROW allocations_result
static const lh_table allocations_answer =
    LH_TABLE_OF("heap.allocations", NULL, NULL,
                LH_COUNT("total_allocations", NULL, n, "how many rows there are, listed or not"),
                LH_BYTES("whole_bytes", NULL, whole_bytes, "of all rows: of these shares are told"),
                LH_ROWS("allocations", rows, n, &row_table, "those with most bytes first",
                        LH_LIMITED, LH_OWNED));
#undef ROW

/* " since 500 ms and before 1.0 s", if the request has moments. */
static const char *interval_words(lh_report *report, const lh_usage *usage) {
  const lh_usage_query *query = lh_usage_asked(usage);
  const lh_usage_totals *totals = lh_usage_total(usage);
  bool since = query->since.unit != LH_MOMENT_OPEN, until = query->until.unit != LH_MOMENT_OPEN;
  return lh_words(report, "%s%s%s%s%s", since ? " since " : "",
                  since ? lh_duration_text(totals->since_ns).text : "",
                  since && until ? " and" : "", until ? " before " : "",
                  until ? lh_duration_text(totals->until_ns).text : "");
}

/* "Allocated since 500 ms, live at the end, by site: 1.2 MB". */
static void print_allocations(lh_teller *t, lh_report *report) {
  static const char *const what[] = {[LH_MOST_ALLOCATED] = "",
                                     [LH_MOST_LIVE] = ", live at the end",
                                     [LH_MOST_AT_PEAK] = ", live when the heap was biggest",
                                     [LH_MOST_SOON_DEAD] = ", dead at the first collection"};
  const allocations_result *f = report->answer;
  const lh_usage *usage = report->request.usages[0];
  bool never_freed = lh_usage_asked(usage)->to_the_end && report->request.order == LH_MOST_LIVE;
  lh_say(t, LH_BOLD, "Allocated%s%s, by %s: %s%s", interval_words(report, usage),
         never_freed ? ", never freed" : what[report->request.order],
         lh_usage_by_name(report->request.by), lh_told_size(t, f->whole_bytes).text,
         t->all ? "" : "\n");
  lh_print_table(t, report, &row_table, f->rows, f->n, f->n);
}

static int find_allocations(lh_snapshot *snapshot, const lh_request *request, void *out,
                            lh_error *error) {
  allocations_result *f = out;
  (void)snapshot;
  int code =
      lh_usage_groups(request->usages[0], request->by, request->order, &f->rows, &f->n, error);
  for (size_t i = 0; i < f->n; i++) f->whole_bytes += f->rows[i].ordered_bytes;
  return code;
}

LH_ITS(uint64_t, whole_of, allocations_result, it->whole_bytes)

LH_QUESTION(allocations, .command = "heapprof", .of = LH_OF_PROFILE, .main = "allocations",
            .whole = whole_of);
