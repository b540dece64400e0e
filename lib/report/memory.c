/*
** memory.c - the heap of a tracked program over time, by line.
**
** Each of the 200 moments is the peak of its interval, so no peak is lost.
*/
#include "report/usage_rows.h"

enum { MOMENTS = 200, USUAL_LINES = 8, MOST_LINES = 1000 };

/* ==== Columns ======================================================================== */

static void put_series(const lh_report *report, const uint64_t *first, lh_cell *cell) {
  cell->as.series.first = first;
  cell->as.series.stride = sizeof *first;
  cell->as.series.n = ((const lh_timeline *)report->answer)->n_moments;
}

LH_CELL(heap_of, lh_timeline, put_series(report, it->heap_bytes, cell))
LH_CELL(old_of, lh_timeline, put_series(report, it->old_bytes, cell))
LH_CELL(line_bytes_of, lh_timeline_site, put_series(report, it->bytes, cell))

LH_CELL(site_of, lh_timeline_site,
        cell->as.text = it->site.source ? lh_kept(report, lh_site_text(&it->site))
                        : it->n_others > 0
                            ? lh_words(report, "%s",
                                       lh_count_of(it->n_others, "other line", "other lines").text)
                            : "no Lua function")

LH_CELL(of_the_peak, lh_timeline_site, cell->as.n = it->peak_bytes,
        cell->whole = ((const lh_timeline *)report->answer)->peak_bytes)

#define ROW lh_timeline_site
static const lh_table line_table = LH_TABLE_OF(
    "heap.memory_line", "line", "lines",
    LH_BYTES("peak_bytes", "at the peak", peak_bytes, "that lived when the heap was biggest"),
    LH_COMPUTED(NULL, "share", LH_COLUMN_SHARE, of_the_peak, NULL),
    LH_BYTES("end_bytes", "at the end", end_bytes, "that lived at the end"),
    LH_COMPUTED("bytes", NULL, LH_COLUMN_BYTES_SERIES, line_bytes_of, "at each moment"),
    LH_COMPUTED(
        "site", "allocated at", LH_COLUMN_TEXT, site_of,
        "the line, and the function if there is one alone; or how many others it stands for"));
#undef ROW

#define ROW lh_timeline
static const lh_table memory_answer = LH_TABLE_OF(
    "heap.memory", NULL, NULL,
    LH_COUNT("interval_ns", NULL, interval_ns, "from one moment to the next"),
    LH_BYTES("peak_bytes", NULL, peak_bytes, "of the heap when it was biggest"),
    LH_COUNT("peak_ns", NULL, peak_ns, "and when that was"),
    LH_BYTES("end_bytes", NULL, end_bytes, "of the heap at the end"),
    LH_COMPUTED("heap_bytes", NULL, LH_COLUMN_BYTES_SERIES, heap_of,
                "of the heap at each moment: those of all lines, and of what was there before"),
    LH_COMPUTED("before_tracking", NULL, LH_COLUMN_BYTES_SERIES, old_of,
                "of what was there when tracking began, and is not freed yet"),
    LH_ROWS("lines", sites, n_sites, &line_table,
            "that held most at any time first; the last stands for all others"));
#undef ROW

/* ==================================================================================== */

static const lh_timeline_site *biggest_at_peak(const lh_timeline *timeline) {
  const lh_timeline_site *most = NULL;
  for (size_t i = 0; i < timeline->n_sites; i++) {
    const lh_timeline_site *line = &timeline->sites[i];
    if (line->site.source && (!most || line->peak_bytes > most->peak_bytes)) most = line;
  }
  return most;
}

static void print_memory(lh_teller *t, lh_report *report) {
  const lh_timeline *timeline = report->answer;
  const lh_timeline_site *most = biggest_at_peak(timeline);
  lh_say(t, LH_BOLD, "The heap was biggest after %s: %s", lh_duration_text(timeline->peak_ns).text,
         lh_told_size(t, timeline->peak_bytes).text);
  if (most && most->peak_bytes > 0)
    lh_say(t, LH_PLAIN, "%s of it, %s, was from %s",
           lh_share_text(most->peak_bytes, timeline->peak_bytes).text,
           lh_told_size(t, most->peak_bytes).text, lh_kept(report, lh_site_text(&most->site)));
  lh_say(t, LH_PLAIN, "At the end it had %s%s", lh_told_size(t, timeline->end_bytes).text,
         t->all ? "" : "\n");
  lh_print_rows(t, report, &line_table, timeline->sites, timeline->n_sites);
}

static int find_memory(lh_snapshot *snapshot, const lh_request *request, void *out,
                       lh_error *error) {
  size_t lines = request->has_limit && request->limit > 0 ? request->limit : USUAL_LINES;
  (void)snapshot;
  return lh_tally_timeline(lh_usage_profile(request->usages[0]), MOMENTS,
                           lines < MOST_LINES ? lines : MOST_LINES, out, error);
}

LH_FREED_BY(memory, lh_timeline, lh_timeline_free(it))

LH_QUESTION(memory, .command = "heapprof", .of = LH_OF_PROFILE, .free = free_memory);
