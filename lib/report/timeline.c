/*
** timeline.c - live bytes by the time of allocation: by interval between marks (lh_epoch), as text;
** and as a chart with layers and marks.
**
** This needs no tracking: the collector's lists are in the order of allocation. Objects without an
** age (fixed, or waiting for a finalizer) are in the first interval. The headline names the few
** intervals, or neighbours, with half of the bytes since the first mark.
*/
#include "report/report.h"

/* ==== By interval ==================================================================== */

typedef struct run {
  uint32_t first, end; /* `end`: one past the last */
  uint64_t objects, bytes;
} run;

typedef struct epochs_result {
  lh_count *intervals; /* [0]: before the first mark; [i]: between marks i - 1 and i */
  uint32_t n;          /* the last one ends at the snapshot's own mark */
  lh_count all;
  uint64_t biggest; /* bytes of the biggest row */
  run *rows;
  uint32_t n_rows;
  bool garbage;
} epochs_result;

/* NULL for the first interval. */
static const lh_mark_info *mark_at(const lh_report *report, uint32_t i) {
  return i > 0 ? lh_mark_at(report->snapshot, i - 1) : NULL;
}

static const lh_mark_info *mark_of(const lh_report *report, const void *row) {
  return mark_at(report, ((const run *)row)->first);
}

LH_CELL(begin_name, void, lh_name_of_mark(cell, mark_of(report, row)))

LH_ITS(bool, has_mark, run, it->first > 0)
LH_CELL(begin_time, void, cell->as.n = mark_of(report, row)->time_ns)

LH_CELL(begin_text, run,
        cell->as.text = it->first > 0 ? lh_mark_words(report, mark_of(report, row)) : "the start")

#define ROW run
static const lh_table interval_table = LH_TABLE_OF(
    "heap.epoch_row", "interval", "intervals",
    LH_COMPUTED("mark", NULL, LH_COLUMN_NAME, begin_name,
                "the name of the mark that begins the interval; null for the start", LH_OPTIONAL),
    LH_COMPUTED("time_ns", NULL, LH_COLUMN_COUNT, begin_time, "of that mark; null for the start",
                LH_WHERE(has_mark)),
    LH_BYTES("shallow_bytes", "shallow", bytes, "of these"),
    LH_SHARE("share", bytes, LH_WHOLE(epochs_result, all.bytes)),
    LH_COUNT("objects", "objects", objects, "how many"),
    LH_BAR(bytes, LH_WHOLE(epochs_result, biggest)),
    LH_COMPUTED(NULL, "since (UTC)", LH_COLUMN_TEXT, begin_text, NULL));
#undef ROW

#define ROW epochs_result
static const lh_table epochs_answer = LH_TABLE_OF(
    "heap.epochs", NULL, NULL, LH_COUNT("total_epochs", NULL, n, "how many intervals there are"),
    LH_FLAG("garbage", garbage, "it is about what nothing refers to any more", LH_LUA_ONLY),
    LH_ROWS("epochs", rows, n_rows, &interval_table, "the oldest first", LH_OWNED));
#undef ROW

/* ==== The headline =================================================================== */

enum { MOST_NAMED = 3 };

static uint64_t bytes_since_first_mark(const epochs_result *f) {
  return f->all.bytes - f->intervals[0].bytes;
}

/* The biggest intervals after the first one that have half of the bytes together. Returns their
** number; 0: MOST_NAMED are not enough. */
static uint32_t find_biggest(const epochs_result *f, run biggest[MOST_NAMED]) {
  uint64_t bytes = 0;
  for (uint32_t n = 0; n < MOST_NAMED; n++) {
    biggest[n] = (run){0};
    for (uint32_t i = 1; i < f->n; i++) {
      bool taken = false;
      for (uint32_t k = 0; k < n; k++) taken = taken || biggest[k].first == i;
      if (!taken && f->intervals[i].bytes > biggest[n].bytes)
        biggest[n] = (run){.first = i, .end = i + 1, .bytes = f->intervals[i].bytes};
    }
    bytes += biggest[n].bytes;
    if (2 * bytes >= bytes_since_first_mark(f)) return n + 1;
  }
  return 0;
}

/* The shortest run of intervals after the first one with half of the bytes; of equals the
** biggest. */
static run find_half(const epochs_result *f) {
  uint64_t whole = bytes_since_first_mark(f);
  run best = {.first = 1, .end = f->n, .bytes = whole}, r = {.first = 1, .end = 1};
  while (r.end < f->n) {
    r.bytes += f->intervals[r.end++].bytes;
    while (2 * (r.bytes - f->intervals[r.first].bytes) >= whole)
      r.bytes -= f->intervals[r.first++].bytes;
    if (2 * r.bytes < whole) continue;
    uint32_t length = r.end - r.first, shortest = best.end - best.first;
    if (length < shortest || (length == shortest && r.bytes > best.bytes)) best = r;
  }
  return best;
}

static const char *mark_words(lh_report *report, uint32_t i) {
  bool is_time;
  const char *name = lh_kept(report, lh_mark_name(mark_at(report, i), &is_time));
  return is_time ? lh_words(report, "%s UTC", name) : name;
}

static void put_run(lh_text *out, lh_report *report, const run *r, const char *before) {
  const epochs_result *f = report->answer;
  bool ends = r->end < f->n;
  lh_text_format(out, "%s %s of it %s %s%s%s", before,
                 lh_share_text(r->bytes, bytes_since_first_mark(f)).text,
                 ends ? "between" : "since", mark_words(report, r->first), ends ? " and " : "",
                 ends ? mark_words(report, r->end) : "");
}

/* Names some intervals, or neighbours that are less than a third of all, or neither. Returns the
** intervals to look at next. */
static run put_finding(lh_text *out, lh_report *report) {
  const epochs_result *f = report->answer;
  uint32_t n_marked = f->n - 1;
  run biggest[MOST_NAMED], half;
  uint32_t n = find_biggest(f, biggest);
  for (uint32_t i = 0; i < n; i++) put_run(out, report, &biggest[i], i == 0 ? ":" : ",");
  if (n > 0) return biggest[0];
  half = find_half(f);
  if (half.end - half.first < n_marked / 3) {
    put_run(out, report, &half, ":");
    lh_text_format(out, ", in %u of %u intervals", half.end - half.first, n_marked);
    return half;
  }
  lh_text_format(out, ": at most %s of it in each of %u intervals",
                 lh_share_text(biggest[0].bytes, bytes_since_first_mark(f)).text, n_marked);
  return (run){.first = 1, .end = f->n};
}

/* A name in a command means the latest mark with it, and cannot have a zero byte. */
static bool is_latest(const lh_snapshot *snapshot, const lh_mark_info *mark) {
  if (strlen(mark->name) != mark->name_length) return false;
  for (uint32_t i = lh_mark_count(snapshot); i-- > 0;) {
    const lh_mark_info *other = lh_mark_at(snapshot, i);
    if (strcmp(other->name, mark->name) == 0) return other == mark;
  }
  return false;
}

static void print_next(lh_printer *t, const lh_report *report, const run *r) {
  const lh_mark_info *since = mark_at(report, r->first);
  const lh_mark_info *until =
      r->end < ((const epochs_result *)report->answer)->n ? mark_at(report, r->end) : NULL;
  if (!is_latest(report->snapshot, since) || (until && !is_latest(report->snapshot, until))) return;
  lh_print_next_of(t, LH_PLAIN, "What that is", LH_NEXT_SINCE, since->name,
                   until ? until->name : NULL);
}

static void print_timeline_answer(lh_printer *t, lh_report *report) {
  const epochs_result *f = report->answer;
  uint64_t bytes = bytes_since_first_mark(f);
  run r = {.first = 1, .end = f->n};
  lh_text text = {0};
  lh_text_format(&text, "%s of %s, %s, was allocated since %s, the first mark",
                 lh_share_text(bytes, f->all.bytes).text, f->garbage ? "the garbage" : "what lives",
                 lh_format_size(t, bytes).text, mark_words(report, 1));
  if (f->n > 2 && bytes > 0) r = put_finding(&text, report);
  lh_say_text(t, LH_BOLD, &text);
  if (bytes > 0 && !f->garbage) print_next(t, report, &r);
}

static void print_epochs(lh_printer *t, lh_report *report) {
  const epochs_result *f = report->answer;
  lh_print_finalized(t, report->snapshot);
  if (f->all.objects > 0 && f->n > 1) print_timeline_answer(t, report);
  if (f->n == 1)
    lh_say(t, LH_PLAIN,
           "No mark was left before this snapshot; heap.mark() by period makes a timeline");
  if (f->all.objects > 0) lh_say(t, LH_PLAIN, "%s", "");
  lh_print_rows(t, report, &interval_table, f->rows, f->all.objects > 0 ? f->n_rows : 0);
  if (f->all.objects > 0 && f->n_rows < f->n)
    lh_say(t, LH_FAINT, "%s: -n 0 shows each",
           lh_count_of(f->n, interval_table.one, interval_table.many).text);
  if (!f->garbage) lh_print_garbage(t, report, "\n");
}

/* ==== Rows =========================================================================== */

static void count_intervals(epochs_result *f, const lh_snapshot *snapshot,
                            const lh_request *request) {
  for (lh_id id = 1; id <= lh_object_count(snapshot); id++) {
    if (!lh_is_asked_for(snapshot, request, id)) continue;
    uint32_t epoch = lh_epoch(snapshot, id);
    uint64_t bytes = lh_shallow_bytes(snapshot, id);
    lh_count *interval = &f->intervals[epoch < f->n ? epoch : f->n - 1];
    interval->objects++;
    interval->bytes += bytes;
    f->all.objects++;
    f->all.bytes += bytes;
  }
}

/* The first interval has its own row, if there are several. The others are divided evenly. */
static uint32_t begin_of_row(const epochs_result *f, uint32_t row) {
  if (row == 0 || f->n_rows == 1) return row == 0 ? 0 : f->n;
  return 1 + (uint32_t)((uint64_t)(row - 1) * (f->n - 1) / (f->n_rows - 1));
}

static void make_row(epochs_result *f, uint32_t at) {
  run *r = &f->rows[at];
  r->first = begin_of_row(f, at);
  r->end = begin_of_row(f, at + 1);
  for (uint32_t i = r->first; i < r->end; i++) {
    r->objects += f->intervals[i].objects;
    r->bytes += f->intervals[i].bytes;
  }
  if (r->bytes > f->biggest) f->biggest = r->bytes;
}

LH_FREED_BY(epochs, epochs_result, lh_free(it->intervals))

static int find_epochs(lh_snapshot *snapshot, const lh_request *request, void *out,
                       lh_error *error) {
  epochs_result *f = out;
  f->n = lh_mark_count(snapshot) > 0 ? lh_mark_count(snapshot) : 1;
  bool all = !request->has_limit || request->limit == 0 || request->limit >= f->n;
  f->n_rows = all ? f->n : (uint32_t)request->limit;
  f->garbage = request->garbage;
  f->intervals = lh_alloc_zeroed(f->n, sizeof *f->intervals);
  f->rows = lh_alloc_zeroed(f->n_rows, sizeof *f->rows);
  if (!f->intervals || !f->rows) return lh_fail_memory(error, "making a timeline");
  count_intervals(f, snapshot, request);
  for (uint32_t i = 0; i < f->n_rows; i++) make_row(f, i);
  return LH_OK;
}

LH_QUESTION(epochs, .main = "epochs", .free = free_epochs);

/* ==== As a chart ===================================================================== */

typedef struct mark {
  const lh_mark_info *info;
  uint64_t position;
  uint64_t n; /* marks in the bin */
} mark;

typedef struct timeline_result {
  lh_age_chart chart;
  lh_age_chart_by by;
  uint64_t positions; /* of the whole axis */
  mark *marks;
  size_t n_marks;
  bool garbage;
} timeline_result;

LH_CELL(name_of, mark, lh_name_of_mark(cell, it->info))

LH_CELL(text_of_mark, mark, bool is_time;
        cell->as.text = lh_kept(report, lh_mark_name(it->info, &is_time)))
LH_CELL(time_of, mark, cell->as.n = it->info->time_ns)
LH_CELL(is_snapshot, mark, cell->as.flag = it->info->is_snapshot)

#define ROW mark
static const lh_table mark_table = LH_TABLE_OF(
    "heap.timeline_mark", "mark", "marks",
    LH_COMPUTED("name", NULL, LH_COLUMN_NAME, name_of, "as the program gave it"),
    LH_COMPUTED("text", NULL, LH_COLUMN_TEXT, text_of_mark,
                "what people call it: its name or time"),
    LH_COMPUTED("time_ns", NULL, LH_COLUMN_COUNT, time_of, "nanoseconds since 1970, UTC"),
    LH_COMPUTED("is_snapshot", NULL, LH_COLUMN_FLAG, is_snapshot, "a snapshot left it"),
    LH_COUNT("position", NULL, position, "what is there or behind it was allocated after the mark"),
    LH_COUNT("marks", NULL, n, "so many are in the bin, of which this is the youngest"));
#undef ROW

LH_ITS(bool, has_class, lh_layer, it->class_index != UINT32_MAX)
LH_ITS(bool, has_type, lh_layer, it->type != LH_TYPE_ROOT)

static bool is_others(const void *row) {
  return !has_type(row);
}

LH_ITS(bool, has_path, lh_layer, it->path != NULL)
LH_CELL(class_of, lh_layer, cell->as.text = lh_class_at(report->snapshot, it->class_index)->name)

static void label_of(lh_report *report, const void *row, lh_cell *cell) {
  const lh_layer *layer = row;
  if (is_others(row))
    cell->as.text = "all others";
  else if (layer->path)
    cell->as.text = layer->path;
  else if (has_class(row))
    class_of(report, row, cell);
  else
    cell->as.text = lh_type_name(layer->type);
}

/* A class is a link to its description. */
static void linked_label_of(lh_report *report, const void *row, lh_cell *cell) {
  const lh_layer *layer = row;
  label_of(report, row, cell);
  if (!has_class(row) || layer->path) return;
  cell->kind = LH_COLUMN_CLASS;
  cell->as.class_index = layer->class_index;
}

static void set_bins(const lh_report *report, const lh_count *bins, size_t offset, lh_cell *cell) {
  cell->as.series.first = (const void *)((const char *)bins + offset);
  cell->as.series.stride = sizeof *bins;
  cell->as.series.n = ((const timeline_result *)report->answer)->chart.n_bins;
}

LH_CELL(bytes_in_bins, lh_layer, set_bins(report, it->bins, offsetof(lh_count, bytes), cell))
LH_CELL(objects_in_bins, lh_layer, set_bins(report, it->bins, offsetof(lh_count, objects), cell))
LH_HEADING_OF(type_heading,
              ((const timeline_result *)report->answer)->by == LH_AGES_OF_TYPES ? NULL : "type")
LH_HEADING_OF(label_heading, lh_age_chart_by_name(((const timeline_result *)report->answer)->by))

#define ROW lh_layer
static const lh_table layer_table = LH_TABLE_OF(
    "heap.timeline_layer", "layer", "layers",
    LH_COMPUTED("label", NULL, LH_COLUMN_TEXT, label_of,
                "the class, type or path; or \"all others\""),
    LH_WORD("type", NULL, type, lh_type_name, "null of all others", LH_WHERE(has_type)),
    LH_COMPUTED("class", NULL, LH_COLUMN_TEXT, class_of, "null of several", LH_WHERE(has_class)),
    LH_TEXT("held_by", NULL, path, "a folded path; absent but for places", LH_ONLY_WHERE(has_path)),
    LH_COUNT("others", NULL, n_others, "of all others: how many classes, types or places",
             LH_ONLY_WHERE(is_others)),
    LH_COUNT("objects", NULL, all.objects, "how many"),
    LH_BYTES("bytes", NULL, all.bytes, "their shallow sizes"),
    LH_COMPUTED("bin_bytes", NULL, LH_COLUMN_BYTES_SERIES, bytes_in_bins, "in each bin"),
    LH_COMPUTED("bin_objects", NULL, LH_COLUMN_COUNT_SERIES, objects_in_bins, "the same"),
    LH_BYTES(NULL, "shallow", all.bytes, NULL), LH_SHARE("share", all.bytes),
    LH_COUNT(NULL, "objects", all.objects, NULL),
    LH_WORD(NULL, NULL, type, lh_type_name, NULL, LH_WHERE(has_type), LH_HEADING(type_heading)),
    LH_COMPUTED(NULL, NULL, LH_COLUMN_TEXT, linked_label_of, NULL, LH_HEADING(label_heading)));
#undef ROW

static void begins_of(lh_report *report, const void *row, lh_cell *cell) {
  const timeline_result *f = row;
  (void)report;
  cell->as.series.first = f->chart.begins;
  cell->as.series.stride = sizeof *f->chart.begins;
  cell->as.series.n = f->chart.n_bins + 1;
}

LH_CELL(bytes_of_all, timeline_result,
        set_bins(report, it->chart.bins, offsetof(lh_count, bytes), cell))
LH_CELL(objects_of_all, timeline_result,
        set_bins(report, it->chart.bins, offsetof(lh_count, objects), cell))

#define ROW timeline_result
static const lh_table timeline_answer = LH_TABLE_OF(
    "heap.timeline", NULL, NULL,
    LH_WORD("by", NULL, by, lh_age_chart_by_name,
            "what layers are: \"class\", \"type\", \"place\""),
    LH_FLAG("garbage", garbage, "it is about what nothing refers to any more"),
    LH_COUNT("positions", NULL, positions, "on the whole axis: objects that have an age"),
    LH_COUNT("since", NULL, chart.interval.since, "the first position of the interval"),
    LH_COUNT("until", NULL, chart.interval.until, "the one behind its last"),
    LH_COUNT("objects", NULL, chart.all.objects, "in the interval, alive"),
    LH_BYTES("bytes", NULL, chart.all.bytes, "of these"),
    LH_COUNT("all_objects", NULL, chart.aged.objects, "the same of the whole axis"),
    LH_BYTES("all_bytes", NULL, chart.aged.bytes, "of these"),
    LH_COUNT("ageless_objects", NULL, chart.ageless.objects,
             "without an age: reserved words, and what waits for its finalizer"),
    LH_BYTES("ageless_bytes", NULL, chart.ageless.bytes, "of these"),
    LH_COMPUTED("bins", NULL, LH_COLUMN_COUNT_SERIES, begins_of,
                "the position at which each begins, and the end of the last"),
    LH_COMPUTED("bin_bytes", NULL, LH_COLUMN_BYTES_SERIES, bytes_of_all,
                "in each, of all layers together"),
    LH_COMPUTED("bin_objects", NULL, LH_COLUMN_COUNT_SERIES, objects_of_all, "the same"),
    LH_ROWS("layers", chart.layers, chart.n_layers, &layer_table,
            "the biggest first; all others last, if there are any"),
    LH_ROWS("marks", marks, n_marks, &mark_table, "those in the interval, the oldest first",
            LH_OWNED));
#undef ROW

static void print_timeline_sentence(lh_printer *t, lh_report *report) {
  const timeline_result *f = report->answer;
  const lh_request *r = &report->request;
  if (r->has_interval)
    lh_say(t, LH_BOLD, "%s of %s, %s in %s, was allocated %s",
           lh_share_text(f->chart.all.bytes, f->chart.aged.bytes).text,
           f->garbage ? "the garbage" : "what lives", lh_format_size(t, f->chart.all.bytes).text,
           lh_count_of(f->chart.all.objects, "object", "objects").text,
           lh_interval_words(report, r->interval));
  else
    lh_say(t, LH_BOLD, "%s, %s in %s, by when it was allocated",
           f->garbage ? "Garbage" : "What lives", lh_format_size(t, f->chart.aged.bytes).text,
           lh_count_of(f->chart.aged.objects, "object", "objects").text);
}

static void print_timeline(lh_printer *t, lh_report *report) {
  const timeline_result *f = report->answer;
  const lh_count *ageless = &f->chart.ageless;
  lh_print_finalized(t, report->snapshot);
  print_timeline_sentence(t, report);
  lh_print_rows(t, report, &layer_table, f->chart.layers, f->chart.n_layers);
  if (ageless->objects > 0)
    lh_say(t, LH_PLAIN, "\nNot on the axis: %s without an age, %s",
           lh_count_of(ageless->objects, "object", "objects").text,
           lh_format_size(t, ageless->bytes).text);
  if (!f->garbage) lh_print_garbage(t, report, "\n");
}

/* One for each bin with marks. The last bin includes its end. */
static int find_marks(timeline_result *f, const lh_snapshot *snapshot, lh_error *error) {
  const lh_age_chart *chart = &f->chart;
  size_t bin = 0, last = SIZE_MAX; /* bin of the mark; of the mark before */
  f->marks = lh_alloc(chart->n_bins, sizeof *f->marks);
  if (!f->marks) return lh_fail_memory(error, "making a timeline");
  for (uint32_t i = 0; chart->n_bins > 0 && i < lh_mark_count(snapshot); i++) {
    uint64_t position = lh_mark_position(snapshot, i);
    if (position < chart->interval.since || position > chart->interval.until) continue;
    while (bin + 1 < chart->n_bins && chart->begins[bin + 1] <= position) bin++;
    if (bin != last) f->marks[f->n_marks++].n = 0;
    mark *m = &f->marks[f->n_marks - 1];
    *m = (mark){.info = lh_mark_at(snapshot, i), .position = position, .n = m->n + 1};
    last = bin;
  }
  return LH_OK;
}

LH_FREED_BY(timeline, timeline_result, lh_age_chart_free(&it->chart))

static int find_timeline(lh_snapshot *snapshot, const lh_request *r, void *out, lh_error *error) {
  timeline_result *f = out;
  lh_age_chart_query query = {.by = r->ages,
                              .interval = LH_EVER,
                              .bins = r->bins,
                              .layers = r->limit,
                              .garbage = r->garbage};
  if (r->has_interval) query.interval = r->interval;
  int code = lh_find_age_chart(snapshot, &query, &f->chart, error);
  if (code != LH_OK) return code;
  f->by = r->ages;
  f->garbage = r->garbage;
  f->positions = lh_position_count(snapshot);
  return find_marks(f, snapshot, error);
}

LH_QUESTION(timeline, .command = "heapview", .main = "layers",
            LH_WHOLE(timeline_result, chart.all.bytes), .free = free_timeline);
