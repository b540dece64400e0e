/*
** timeline.c - live bytes by the time of allocation, as a chart with layers and marks (text:
** epochs.c).
*/
#include "report/report.h"

/* The youngest mark of a bin. */
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
static void told_label_of(lh_report *report, const void *row, lh_cell *cell) {
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
    LH_COMPUTED(NULL, NULL, LH_COLUMN_TEXT, told_label_of, NULL, LH_HEADING(label_heading)));
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

static void print_sentence(lh_teller *t, lh_report *report) {
  const timeline_result *f = report->answer;
  const lh_request *r = &report->request;
  if (r->has_interval)
    lh_say(t, LH_BOLD, "%s of %s, %s in %s, was allocated %s",
           lh_share_text(f->chart.all.bytes, f->chart.aged.bytes).text,
           f->garbage ? "the garbage" : "what lives", lh_told_size(t, f->chart.all.bytes).text,
           lh_count_of(f->chart.all.objects, "object", "objects").text,
           lh_interval_words(report, r->interval));
  else
    lh_say(t, LH_BOLD, "%s, %s in %s, by when it was allocated",
           f->garbage ? "Garbage" : "What lives", lh_told_size(t, f->chart.aged.bytes).text,
           lh_count_of(f->chart.aged.objects, "object", "objects").text);
}

static void print_timeline(lh_teller *t, lh_report *report) {
  const timeline_result *f = report->answer;
  const lh_count *ageless = &f->chart.ageless;
  lh_print_finalized(t, report->snapshot);
  print_sentence(t, report);
  lh_print_rows(t, report, &layer_table, f->chart.layers, f->chart.n_layers);
  if (ageless->objects > 0)
    lh_say(t, LH_PLAIN, "\nNot on the axis: %s without an age, %s",
           lh_count_of(ageless->objects, "object", "objects").text,
           lh_told_size(t, ageless->bytes).text);
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
