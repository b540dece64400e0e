/*
** sites.c - objects by allocation site, of a tracked program: heaptop --by site.
*/
#include "report/report.h"

typedef struct sites_result {
  lh_site_row *rows;
  size_t n;
  uint64_t all_bytes; /* the base of shares */
  unsigned n_spans;   /* parts of the history */
  const char *sort;
  lh_tracking tracking;
  bool by_marks; /* spans are by marks, not by the order of allocation */
  bool is_sampled, garbage;
} sites_result;

/* ==== Columns ======================================================================== */

LH_CELL(share_of, lh_site_row,
        cell->as.n = report->request.garbage ? it->shallow_bytes : it->retained_bytes)
LH_CELL(ages_of, void, cell->as.series.n = ((const sites_result *)report->answer)->n_spans)

/* Eighths of the order of allocation mean no time to the user. */
LH_HEADING_OF(ages_heading, ((const sites_result *)report->answer)->by_marks ? "ages" : NULL)
LH_ITS(bool, has_site, lh_site_row, it->site > 0)

#define ROW lh_site_row
static const lh_table row_table = LH_TABLE_OF(
    "heap.site_row", "site", "sites",
    LH_BYTES("retained_bytes", "retained", retained_bytes, "that would go if all of them went"),
    LH_COMPUTED(NULL, "share", LH_COLUMN_SHARE, share_of, NULL),
    LH_BYTES("shallow_bytes", "shallow", shallow_bytes, "of the objects that are there"),
    LH_COUNT("objects", "objects", objects, "how many are there; sampled: estimated"),
    LH_COUNT("sampled", NULL, sampled, "how many are known; sampled: fewer"),
    LH_COUNT("made_objects", "of made", counts.made_objects,
             "there since tracking began, dead or alive", LH_WHERE(has_site)),
    LH_BYTES("made_bytes", "bytes made", counts.made_bytes,
             "of these and of what was allocated for them", LH_WIDE, LH_WHERE(has_site)),
    LH_COUNT("freed_objects", NULL, counts.freed_objects, "how many of these are freed",
             LH_WHERE(has_site)),
    LH_BYTES("freed_bytes", NULL, counts.freed_bytes, "of these", LH_WHERE(has_site)),
    LH_COUNT_SERIES("ages", NULL, ages,
                    "how many were allocated before the first mark and in each interval between "
                    "marks (of more than seven in sevenths of them); without marks in eighths of "
                    "the order of allocation",
                    LH_WIDE, LH_HEADING(ages_heading), .compute = ages_of),
    LH_OF_SITE("maker", "by", LH_COLUMN_TEXT, site, lh_cell_maker,
               "what allocates there, such as \"table\"", LH_OPTIONAL, LH_UNBROKEN),
    LH_OF_SITE("site", "site", LH_COLUMN_TEXT, site, lh_cell_site_or_why,
               "where they were allocated"));
#undef ROW

#define ROW sites_result
static const lh_table sites_answer = LH_TABLE_OF(
    "heap.sites", NULL, NULL, LH_COUNT("total_sites", NULL, n, "how many there are, listed or not"),
    LH_TEXT("sort", NULL, sort, "by what they are in order", LH_LUA_ONLY),
    LH_FLAG("garbage", garbage, "it is about what nothing refers to any more", LH_LUA_ONLY),
    LH_BYTES("sample_bytes", NULL, tracking.sample_bytes,
             "mean distance of samples; 0: every allocation was recorded"),
    LH_COUNT("made", NULL, tracking.made, "objects that were made since tracking began"),
    LH_COUNT("unattributed", NULL, tracking.unattributed, "how many of them have no known site"),
    LH_ROWS("sites", rows, n, &row_table, "the biggest first, and last what is not known where",
            LH_LIMITED, LH_OWNED));
#undef ROW

/* ==================================================================================== */

static void print_tracking(lh_teller *t, const sites_result *f) {
  lh_text text = {0};
  lh_text_format(&text, "%s made since tracking began, %s",
                 lh_count_of(f->tracking.made, "object was", "objects were").text,
                 f->is_sampled ? "estimated" : "all recorded");
  if (f->is_sampled)
    lh_text_format(&text, " by samples, one in %s: objects and shallow sizes are estimates",
                   lh_told_size(t, f->tracking.sample_bytes).text);
  if (f->tracking.unattributed > 0) {
    lh_text_format(&text, "; %s of them (", lh_count_text(f->tracking.unattributed).text);
    lh_put_little_share(&text, f->tracking.unattributed, f->tracking.made);
    lh_text_string(&text, ") unattributed");
  }
  lh_say_text(t, LH_FAINT, &text);
}

static void print_sites(lh_teller *t, lh_report *report) {
  const sites_result *f = report->answer;
  const char *gap = t->all ? "" : "\n"; /* a blank line, if the heading has no colour */
  lh_say(t, LH_BOLD, "Sites%s by %s%s%s", f->garbage ? " of garbage" : "", f->sort,
         report->request.sort == LH_SORT_COUNT ? "" : " size", gap);
  lh_print_table(t, report, &row_table, f->rows, f->n, f->n);
  print_tracking(t, f);
}

static int find_sites(lh_snapshot *snapshot, const lh_request *request, void *out,
                      lh_error *error) {
  sites_result *f = out;
  lh_top_query query = {
      .sort = request->sort, .type_mask = request->type_mask, .garbage = request->garbage};
  lh_reach reach;
  lh_history history;
  int code = lh_top_sites(snapshot, &query, &f->rows, &f->n, error);
  if (!code) code = lh_find_history(snapshot, &history, error);
  if (code) return code;
  f->n_spans = history.n;
  f->by_marks = history.by_marks;
  lh_history_free(&history);
  lh_reach_totals(snapshot, &reach);
  f->all_bytes = request->garbage ? reach.garbage_bytes : reach.reachable_bytes;
  f->tracking = *lh_snapshot_tracking(snapshot);
  f->is_sampled = f->tracking.sample_bytes > 0;
  f->garbage = request->garbage;
  f->sort = lh_sort_name(request);
  return LH_OK;
}

LH_ITS(uint64_t, whole_of, sites_result, it->all_bytes)

LH_QUESTION(sites, .main = "sites", .whole = whole_of);
