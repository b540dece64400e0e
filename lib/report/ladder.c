/*
** ladder.c - growth over any number of snapshots: a sentence, a table by path and one by class.
*/
#include "report/growth.h"

/* ==== Columns ======================================================================== */

static bool is_level(const lh_cell *series) {
  for (size_t i = 1; i < series->as.series.n; i++)
    if (lh_series_at(series, i) != lh_series_at(series, 0)) return false;
  return true;
}

/* Objects in each snapshot; if they are level, the entries of the containers. */
static void counts_in_each(lh_report *report, const void *row, lh_cell *cell) {
  const lh_growth_row *r = row;
  lh_objects_in_each(report, row, cell);
  if (!is_level(cell)) return;
  lh_cell entries = *cell;
  entries.as.series.first = &r->at->entries;
  if (is_level(&entries)) return;
  const lh_teller plain = {0}; /* counts have one format */
  cell->kind = LH_COLUMN_TEXT;
  cell->as.text =
      lh_words(report, "%s entries", lh_kept(report, lh_cell_text(&plain, report, &entries)));
}

/* A rate over less than a second means nothing. */
LH_HEADING_OF(seconds_heading,
              ((const lh_growth_found *)report->answer)->growth.seconds >= 1 ? "a second" : NULL)

#define ROW lh_growth_row
#define BY(bytes_heading)                                                                        \
  LH_WORD(NULL, "verdict", verdict, lh_verdict_name, NULL),                                      \
      LH_MORE_BYTES(NULL, "a step", bytes_per_step, NULL),                                       \
      LH_MORE_BYTES(NULL, NULL, bytes_per_second, NULL, LH_WIDE, LH_HEADING(seconds_heading)),   \
      LH_COMPUTED(NULL, bytes_heading, LH_COLUMN_BYTES_SERIES, lh_bytes_in_each, NULL, LH_WIDE), \
      LH_COMPUTED(NULL, "bytes", LH_COLUMN_BYTES, lh_last_bytes, NULL, LH_NARROW),               \
      LH_COMPUTED(NULL, "objects", LH_COLUMN_COUNT_SERIES, counts_in_each, NULL, LH_WIDE),       \
      LH_COMPUTED(NULL, "objects", LH_COLUMN_COUNT, lh_last_objects, NULL, LH_NARROW),           \
      LH_TEXT(NULL, "class", class_name, NULL)
static const lh_column path_columns[] = LH_GROWTH_BY_PATH(BY("bytes, with what they retain"));
static const lh_column class_columns[] = {BY("bytes"), LH_END};
#undef ROW

LH_STYLE(style_of, lh_growth_row, it->verdict == LH_GROWS_STEADILY ? LH_ALARM : LH_PLAIN)

static const lh_table path_table = LH_GROWTH_TABLE(path_columns, style_of);
static const lh_table class_table = LH_GROWTH_TABLE(class_columns, style_of);

LH_ITS(bool, has_times, lh_growth_found, it->growth.seconds > 0)

#define ROW lh_growth_found
static const lh_table ladder_answer = LH_TABLE_OF(
    "heap.growth", NULL, NULL,
    LH_FLAG("same_state", growth.same_state, "the snapshots are of one Lua state"),
    LH_COMPUTED("snapshots", NULL, LH_COLUMN_NAMES, lh_names_asked, "the names of the files"),
    LH_NUMBER("seconds", growth.seconds,
              "from the second snapshot (of two, the first) to the last; null if not known",
              LH_WHERE(has_times)),
    LH_GROWTH_COLUMNS());
#undef ROW

/* ==== The words ====================================================================== */

typedef struct summary {
  size_t n_steady, n_once;
  uint64_t bytes, objects; /* growth of steady rows after the first step */
} summary;

static summary summarise(const lh_growth_found *f) {
  summary s = {0, 0, 0, 0};
  for (size_t i = 0; i < f->growth.n_paths; i++) {
    const lh_growth_row *row = &f->growth.paths[i];
    s.n_once += row->verdict == LH_GREW_ONCE;
    if (row->verdict != LH_GROWS_STEADILY) continue;
    s.n_steady++;
    if (row->grew_bytes[1] > 0) s.bytes += (uint64_t)row->grew_bytes[1];
    if (row->grew_objects[1] > 0) s.objects += (uint64_t)row->grew_objects[1];
  }
  return s;
}

static void print_sentence(lh_teller *t, const lh_report *report) {
  const lh_growth_found *f = report->answer;
  const char *from = report->names[0], *to = report->names[report->request.n_names - 1];
  summary s = summarise(f);
  lh_text text = {0};
  if (s.n_steady > 0)
    lh_text_format(&text, "%s grows steadily from %s to %s: %s a step since %s",
                   f->growth.paths[0].held_by, from, to,
                   lh_more_bytes(t, f->growth.paths[0].bytes_per_step).text, report->names[1]);
  else
    lh_text_format(&text, "Nothing grows steadily from %s to %s", from, to);
  if (s.n_steady > 1)
    lh_text_format(&text, "; %s more %s, too", lh_count_text(s.n_steady - 1).text,
                   s.n_steady > 2 ? "do" : "does");
  if (s.n_steady == 0 && s.n_once > 0)
    lh_text_format(&text, "; %s grew once",
                   lh_count_of(s.n_once, lh_growth_paths.one, lh_growth_paths.many).text);
  lh_say_text(t, LH_BOLD, &text);
}

static void print_ladder(lh_teller *t, lh_report *report) {
  const lh_growth_found *f = report->answer;
  size_t last = f->growth.n_snapshots - 1;
  uint64_t from = f->growth.whole[0].bytes, to = f->growth.whole[last].bytes;
  print_sentence(t, report);
  lh_say(t, LH_PLAIN, "In all %s -> %s in %s: %s", lh_told_size(t, from).text,
         lh_told_size(t, to).text, lh_count_of(last, "step", "steps").text,
         lh_size_change(from, to, t->exact_bytes).text);
  lh_print_growth(t, report);
}

/* ==================================================================================== */

static int find_ladder(lh_snapshot *snapshot, const lh_request *request, void *found,
                       lh_error *error) {
  lh_growth_found *f = found;
  (void)snapshot;
  f->path_table = &path_table;
  f->class_table = &class_table;
  return lh_find_growth(f, request->ladder, false, request, error);
}

static void excess_of(const lh_report *report, lh_excess *out) {
  summary s = summarise(report->answer);
  *out = (lh_excess){.bytes = s.bytes,
                     .objects = s.objects,
                     .what = "more after the first step, growing steadily"};
}

LH_QUESTION(ladder, .command = "heapdiff",
            .help = "what grows from step to step; so with 4 snapshots or more", .of = LH_OF_LADDER,
            .main = "paths", .free = lh_free_growth, .excess = excess_of);
