/*
** allocation_changes.c - compares two profiles: sites that allocate more, less, newly or no longer.
*/
#include "report/usage_rows.h"

typedef struct allocation_changes_result {
  lh_usage_change *rows;
  size_t n;
  uint64_t n_new, n_gone;
  uint64_t allocated_bytes[2], live_bytes[2];
  double more_bytes;
} allocation_changes_result;

/* ==== Columns ======================================================================== */

static unsigned side_of(const lh_usage_change *c) {
  return c->stacks[1] != 0;
}

static const lh_sites *sites_of(const lh_report *report, const lh_usage_change *c) {
  return lh_profile_sites(lh_usage_profile(report->request.usages[side_of(c)]));
}

LH_CELL(stack_of, lh_usage_change,
        lh_keep_stack(report, sites_of(report, it), it->stacks[side_of(it)], LH_MOST_CALLERS))
LH_MADE_TEXT(site_of, lh_usage_change,
             lh_stack_text(sites_of(report, it), it->stacks[side_of(it)], 0))

static double more_in(const lh_usage_change *c) {
  return (double)c->allocated_bytes[1] - (double)c->allocated_bytes[0];
}

static const char *state_in(const lh_usage_change *c) {
  return c->allocated_bytes[0] == 0   ? "new"
         : c->allocated_bytes[1] == 0 ? "gone"
         : more_in(c) > 0             ? "more"
         : more_in(c) < 0             ? "less"
                                      : "same";
}

LH_CELL(more_of, lh_usage_change, cell->as.number = more_in(it))
LH_CELL(state_of, lh_usage_change, cell->as.text = state_in(it))

#define ROW lh_usage_change
static const lh_table change_table = LH_TABLE_OF(
    "heap.allocation_change", "site", "sites",
    LH_COMPUTED("more_bytes", "more", LH_COLUMN_MORE_BYTES, more_of,
                "allocated than before; less where negative"),
    LH_BYTES_SERIES("allocated_bytes", "allocated", allocated_bytes, "in each of the two"),
    LH_COUNT_SERIES("allocations", "blocks", allocations, "new blocks in each"),
    LH_BYTES_SERIES("live_bytes", "live", live_bytes, "at the end of each"),
    LH_COMPUTED("change", "", LH_COLUMN_TEXT, state_of,
                "\"new\", \"more\", \"less\", \"same\" or \"gone\"", LH_UNBROKEN),
    LH_COMPUTED("stack", NULL, LH_COLUMN_TEXTS, stack_of,
                "the stack with most of it, the innermost first"),
    LH_COMPUTED("site", "site", LH_COLUMN_TEXT, site_of,
                "in the later profile, where it is there"));
#undef ROW

#define ROW allocation_changes_result
static const lh_table allocation_changes_answer =
    LH_TABLE_OF("heap.allocation_changes", NULL, NULL,
                LH_COMPUTED("profiles", NULL, LH_COLUMN_NAMES, lh_names_asked, "their names"),
                LH_MORE_BYTES("more_bytes", NULL, more_bytes, "allocated than before"),
                LH_BYTES_SERIES("allocated_bytes", NULL, allocated_bytes, "in each of the two"),
                LH_BYTES_SERIES("live_bytes", NULL, live_bytes, "at the end of each"),
                LH_COUNT("total_sites", NULL, n, "how many there are, listed or not"),
                LH_COUNT("new_sites", NULL, n_new, "that allocate only in the later one"),
                LH_COUNT("gone_sites", NULL, n_gone, "that allocate only in the earlier one"),
                LH_ROWS("sites", rows, n, &change_table,
                        "those with most more first, most less last", LH_LIMITED, LH_OWNED));
#undef ROW

/* ==================================================================================== */

static void print_allocation_changes(lh_teller *t, lh_report *report) {
  const allocation_changes_result *f = report->answer;
  lh_say(t, LH_BOLD, "From %s to %s: %s allocated, %s of it live at the end (before: %s)",
         report->names[0], report->names[1], lh_more_bytes(t, f->more_bytes).text,
         lh_told_size(t, f->live_bytes[1]).text, lh_told_size(t, f->live_bytes[0]).text);
  lh_say(t, LH_PLAIN, "%s, of which %s and %s%s", lh_count_of(f->n, "site", "sites").text,
         lh_count_of(f->n_new, "is new", "are new").text,
         lh_count_of(f->n_gone, "is gone", "are gone").text, t->all ? "" : "\n");
  lh_print_table(t, report, &change_table, f->rows, f->n, f->n);
}

static int find_allocation_changes(lh_snapshot *snapshot, const lh_request *request, void *out,
                                   lh_error *error) {
  allocation_changes_result *f = out;
  (void)snapshot;
  int code = lh_usage_changes(request->usages[0], request->usages[1], &f->rows, &f->n, error);
  for (size_t i = 0; i < f->n; i++) {
    const lh_usage_change *c = &f->rows[i];
    f->n_new += c->allocated_bytes[0] == 0;
    f->n_gone += c->allocated_bytes[1] == 0;
    f->more_bytes += more_in(c);
    for (unsigned k = 0; k < 2; k++) {
      f->allocated_bytes[k] += c->allocated_bytes[k];
      f->live_bytes[k] += c->live_bytes[k];
    }
  }
  return code;
}

LH_QUESTION(allocation_changes, .command = "heapprof", .of = LH_OF_PROFILE, .main = "sites");
