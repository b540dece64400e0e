/*
** profile.c - facts about a profile; sizes of blocks; the heap over time, by line.
**
** Many small blocks cost time, a few big ones memory. Each of the 200 moments is the peak of its
** interval, so no peak is lost.
*/
#include "report/report.h"

/* ==== Facts ========================================================================== */

typedef struct profile_result {
  const lh_usage *usage;
  lh_profile_info info;
  lh_usage_totals totals;
} profile_result;

LH_ITS(bool, has_peak, profile_result, it->totals.peak_bytes > 0)

#define ROW profile_result
static const lh_table profile_answer = LH_TABLE_OF(
    "heap.profile", NULL, NULL, LH_NAME("program", info.program, "its command line", LH_OPTIONAL),
    LH_NAME("lua_release", info.release, "such as 5.4.6", LH_OPTIONAL),
    LH_COUNT("process_id", NULL, info.process_id, "of the program"),
    LH_COUNT("state_id", NULL, info.state_id, "the same as in snapshots of this Lua state",
             LH_LUA_ONLY),
    LH_COUNT("time_ns", NULL, info.start_unix_ns, "when tracking began: nanoseconds since 1970"),
    LH_COUNT("duration_ns", NULL, info.duration_ns, "until it ended, or the file was cut"),
    LH_COUNT("since_ns", NULL, totals.since_ns, "where what was counted begins"),
    LH_COUNT("until_ns", NULL, totals.until_ns, "and where it ends"),
    LH_COUNT("events", NULL, info.n_events, "in the file; 0: it has counts alone"),
    LH_COUNT("lost_events", NULL, info.lost_events, "that could not be written"),
    LH_FLAG("whole", info.is_whole, "the file was not cut, and nobody writes it any more"),
    LH_BYTES("sample_bytes", NULL, info.sample_bytes,
             "mean distance of samples; 0: every allocation is in it"),
    LH_COUNT("samples", NULL, totals.all.samples, "allocations that were counted"),
    LH_BYTES("allocated_bytes", NULL, totals.all.allocated_bytes, "of all blocks, made or resized"),
    LH_BYTES("error_bytes", NULL, totals.all.error_bytes,
             "of a sampled profile: how far from that the truth is, in 19 of 20 cases"),
    LH_COUNT("allocations", NULL, totals.all.allocations, "new blocks"),
    LH_COUNT("resizes", NULL, totals.all.resizes, "blocks that were resized"),
    LH_BYTES("freed_bytes", NULL, totals.all.freed_bytes, "of these, freed again"),
    LH_BYTES("live_bytes", NULL, totals.all.live_bytes, "and not freed"),
    LH_BYTES("unattributed_bytes", NULL, totals.unattributed_bytes,
             "allocated at a site that could not be found out"),
    LH_BYTES("start_bytes", NULL, info.start_bytes, "of the heap when tracking began"),
    LH_BYTES("heap_bytes", NULL, totals.heap_bytes, "of the heap at the end"),
    LH_BYTES("mean_heap_bytes", NULL, totals.mean_heap_bytes, "on average"),
    LH_BYTES("peak_bytes", NULL, totals.peak_bytes, "when it was biggest", LH_WHERE(has_peak)),
    LH_COUNT("peak_ns", NULL, totals.peak_ns, "and when that was", LH_WHERE(has_peak)),
    LH_BYTES("old_freed_bytes", NULL, totals.old_freed_bytes,
             "freed of what was there before tracking"));
#undef ROW

static void print_heap(lh_printer *t, const profile_result *f) {
  bool peak = has_peak(f), when = peak && !f->info.is_aggregate;
  lh_say(t, LH_PLAIN, "The heap had %s when tracking began%s%s%s%s%s, and %s at the end",
         lh_format_size(t, f->info.start_bytes).text, peak ? ", " : "",
         peak ? lh_format_size(t, f->totals.peak_bytes).text : "", peak ? " at its biggest" : "",
         when ? ", after " : "", when ? lh_duration_text(f->totals.peak_ns).text : "",
         lh_format_size(t, f->totals.heap_bytes).text);
}

static void print_allocated(lh_printer *t, const profile_result *f) {
  const lh_usage_group *all = &f->totals.all;
  bool estimated = all->error_bytes > 0;
  lh_say(t, LH_PLAIN, "%s%s%s%s allocated in %s: %s, %s; %s of it live",
         lh_format_size(t, all->allocated_bytes).text, estimated ? ", +- " : "",
         estimated ? lh_format_size(t, all->error_bytes).text : "", estimated ? "," : "",
         lh_duration_text(f->totals.until_ns - f->totals.since_ns).text,
         lh_count_of(all->allocations, "new block", "new blocks").text,
         lh_count_of(all->resizes, "resized", "resized").text,
         lh_format_size(t, all->live_bytes).text);
}

static void print_completeness(lh_printer *t, const profile_result *f) {
  lh_text text = {0};
  if (f->info.sample_bytes > 0)
    lh_text_format(&text, "Sampled, one block in %s: estimates from %s; ",
                   lh_format_size(t, f->info.sample_bytes).text,
                   lh_count_of(f->totals.all.samples, "sample", "samples").text);
  else
    lh_text_string(&text, f->info.lost_events > 0 ? "Not every allocation is in the file; "
                                                  : "Every allocation was recorded; ");
  if (f->totals.unattributed_bytes > 0)
    lh_put_little_share(&text, f->totals.unattributed_bytes, f->totals.all.allocated_bytes);
  lh_text_string(&text, f->totals.unattributed_bytes > 0 ? " of the bytes are unattributed"
                                                         : "all bytes are attributed");
  lh_say_text(t, LH_PLAIN, &text);
}

static void print_faults(lh_printer *t, const profile_result *f) {
  if (f->info.lost_events > 0)
    lh_say(t, LH_ALARM, "%s could not be written, as on a full disk: what lives may be too much",
           lh_count_of(f->info.lost_events, "event", "events").text);
  if (!f->info.is_whole && f->info.is_aggregate)
    lh_say(
        t, LH_ALARM,
        "These are the counts after %s: they are written every 10 seconds, and when tracking ends",
        lh_duration_text(f->info.duration_ns).text);
  else if (!f->info.is_whole)
    lh_say(t, LH_ALARM, "The file was cut, or is still being written: it is told up to %s",
           lh_duration_text(f->info.duration_ns).text);
}

/* Both texts come from the file, so they are escaped. */
static void print_program(lh_printer *t, const lh_profile_info *info) {
  lh_say(t, LH_FAINT, "%s: Lua %s, process %llu, tracked from %s",
         lh_name_words(t->report, info->program ? info->program : ""),
         lh_name_words(t->report, info->release ? info->release : "5.4"),
         (unsigned long long)info->process_id, lh_time_text(info->start_unix_ns).text);
}

static void print_profile(lh_printer *t, lh_report *report) {
  const profile_result *f = report->answer;
  print_allocated(t, f);
  print_heap(t, f);
  print_completeness(t, f);
  if (f->totals.all.freed_bytes > 0)
    lh_say(t, LH_PLAIN,
           "Death is seen when the collector frees: below %s, half of the mean heap, an age at\n"
           "death says no more than: dead at the first collection",
           lh_format_size(t, lh_first_collection_bytes(f->usage)).text);
  print_program(t, &f->info);
  print_faults(t, f);
}

static int find_profile(lh_snapshot *snapshot, const lh_request *request, void *out,
                        lh_error *error) {
  profile_result *f = out;
  (void)snapshot;
  (void)error;
  f->usage = request->usages[0];
  f->info = *lh_profile_about(lh_usage_profile(f->usage));
  f->totals = *lh_usage_total(f->usage);
  return LH_OK;
}

LH_QUESTION(profile, .command = "heapprof", .of = LH_OF_PROFILE);

/* ==== Sizes of blocks ================================================================ */

typedef struct of_size {
  uint64_t most_bytes, blocks, bytes;
} of_size;

typedef struct sizes_result {
  of_size rows[LH_SIZES];
  uint32_t n;
  uint64_t blocks, bytes, most_blocks;
} sizes_result;

#define ROW of_size
static const lh_table size_table = LH_TABLE_OF(
    "heap.size_row", "size", "sizes",
    LH_BYTES("most_bytes", "up to", most_bytes, "that a block has, and more than the row before"),
    LH_COUNT("blocks", "blocks", blocks, "made, or resized to that"),
    LH_SHARE("share", blocks, LH_WHOLE(sizes_result, blocks)),
    LH_BYTES("bytes", "bytes", bytes, "of these"),
    LH_SHARE("of bytes", bytes, LH_WHOLE(sizes_result, bytes)),
    LH_BAR(blocks, LH_WHOLE(sizes_result, most_blocks)));
#undef ROW

#define ROW sizes_result
static const lh_table sizes_answer = LH_TABLE_OF(
    "heap.sizes", NULL, NULL, LH_COUNT("blocks", NULL, blocks, "that were made or resized"),
    LH_BYTES("bytes", NULL, bytes, "of these"),
    LH_INLINE_ROWS("sizes", rows, n, &size_table, "powers of two, the smallest first"));
#undef ROW

static const of_size *middle(const sizes_result *f, bool of_bytes) {
  uint64_t sum = 0, half = of_bytes ? f->bytes - f->bytes / 2 : f->blocks - f->blocks / 2;
  uint32_t i = 0;
  while (i + 1 < f->n && (sum += of_bytes ? f->rows[i].bytes : f->rows[i].blocks) < half) i++;
  return &f->rows[i];
}

static void print_sizes(lh_printer *t, lh_report *report) {
  const sizes_result *f = report->answer;
  if (f->n == 0) {
    lh_say(t, LH_BOLD, "Nothing was allocated");
    return;
  }
  lh_say(t, LH_BOLD,
         "Half of the blocks that were asked for have at most %s; half of the bytes are in blocks "
         "of at most %s%s",
         lh_format_size(t, middle(f, false)->most_bytes).text,
         lh_format_size(t, middle(f, true)->most_bytes).text, t->all ? "" : "\n");
  lh_print_rows(t, report, &size_table, f->rows, f->n);
}

/* Includes empty sizes between the smallest and the biggest. */
static int find_sizes(lh_snapshot *snapshot, const lh_request *request, void *out,
                      lh_error *error) {
  sizes_result *f = out;
  lh_size_tally tally;
  (void)snapshot;
  int code = lh_tally_sizes(lh_usage_profile(request->usages[0]), &tally, error);
  if (code != LH_OK) return code;
  unsigned first = 0, end = LH_SIZES;
  while (end > 0 && tally.blocks[end - 1] == 0) end--;
  while (first < end && tally.blocks[first] == 0) first++;
  for (unsigned i = first; i < end; i++) {
    uint64_t most = i < 64 ? (uint64_t)1 << i : UINT64_MAX;
    f->rows[f->n++] = (of_size){most, tally.blocks[i], tally.bytes[i]};
    f->blocks += tally.blocks[i];
    f->bytes += tally.bytes[i];
    if (tally.blocks[i] > f->most_blocks) f->most_blocks = tally.blocks[i];
  }
  return LH_OK;
}

LH_QUESTION(sizes, .command = "heapprof", .of = LH_OF_PROFILE, .main = "sizes");

/* ==== The heap over time ============================================================= */

enum { MOMENTS = 200, USUAL_LINES = 8, MOST_LINES = 1000 };

static void put_series(const lh_report *report, const uint64_t *first, lh_cell *cell) {
  cell->as.series.first = first;
  cell->as.series.stride = sizeof *first;
  cell->as.series.n = ((const lh_timeline *)report->answer)->n_moments;
}

LH_CELL(heap_of, lh_timeline, put_series(report, it->heap_bytes, cell))
LH_CELL(old_of, lh_timeline, put_series(report, it->old_bytes, cell))
LH_CELL(line_bytes_of, lh_timeline_site, put_series(report, it->bytes, cell))

LH_CELL(line_site, lh_timeline_site,
        cell->as.text = it->site.source ? lh_kept(report, lh_site_text(&it->site))
                        : it->n_others > 0
                            ? lh_words(report, "%s",
                                       lh_count_of(it->n_others, "other line", "other lines").text)
                            : "no Lua function")

#define ROW lh_timeline_site
static const lh_table line_table = LH_TABLE_OF(
    "heap.memory_line", "line", "lines",
    LH_BYTES("peak_bytes", "at the peak", peak_bytes, "that lived when the heap was biggest"),
    LH_SHARE("share", peak_bytes, LH_WHOLE(lh_timeline, peak_bytes)),
    LH_BYTES("end_bytes", "at the end", end_bytes, "that lived at the end"),
    LH_COMPUTED("bytes", NULL, LH_COLUMN_BYTES_SERIES, line_bytes_of, "at each moment"),
    LH_COMPUTED(
        "site", "allocated at", LH_COLUMN_TEXT, line_site,
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

static const lh_timeline_site *biggest_at_peak(const lh_timeline *timeline) {
  const lh_timeline_site *most = NULL;
  for (size_t i = 0; i < timeline->n_sites; i++) {
    const lh_timeline_site *line = &timeline->sites[i];
    if (line->site.source && (!most || line->peak_bytes > most->peak_bytes)) most = line;
  }
  return most;
}

static void print_memory(lh_printer *t, lh_report *report) {
  const lh_timeline *timeline = report->answer;
  const lh_timeline_site *most = biggest_at_peak(timeline);
  lh_say(t, LH_BOLD, "The heap was biggest after %s: %s", lh_duration_text(timeline->peak_ns).text,
         lh_format_size(t, timeline->peak_bytes).text);
  if (most && most->peak_bytes > 0)
    lh_say(t, LH_PLAIN, "%s of it, %s, was from %s",
           lh_share_text(most->peak_bytes, timeline->peak_bytes).text,
           lh_format_size(t, most->peak_bytes).text, lh_kept(report, lh_site_text(&most->site)));
  lh_say(t, LH_PLAIN, "At the end it had %s%s", lh_format_size(t, timeline->end_bytes).text,
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
