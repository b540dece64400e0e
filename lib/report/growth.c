/*
** growth.c - growth over any number of snapshots: a sentence, a table by path and one by class.
**
** As a ladder; as a chart by place, in which rows, `others` and `level` add up to the whole; and
** before and after a change of a program: is the leak fixed? With one snapshot each, sizes are
** compared; with two each, their growth.
*/
#include "report/report.h"
#include "thresholds.h"

/* ==== Rows =========================================================================== */

static size_t count_snapshots(const lh_report *report) {
  return ((const lh_growth_found *)report->answer)->growth.n_snapshots;
}

static void set_series(const lh_report *report, lh_cell *cell, const uint64_t *first) {
  cell->as.series.first = first;
  cell->as.series.stride = sizeof(lh_figures);
  cell->as.series.n = count_snapshots(report);
}

#define FIGURE(linkage, of_row, of_figures, figure)                           \
  linkage void of_row(lh_report *report, const void *row, lh_cell *cell) {    \
    set_series(report, cell, &((const lh_growth_row *)row)->at->figure);      \
  }                                                                           \
  static void of_figures(lh_report *report, const void *row, lh_cell *cell) { \
    set_series(report, cell, &((const lh_figures *)row)->figure);             \
  }
FIGURE(, lh_bytes_in_each, figure_bytes, bytes)
FIGURE(, lh_objects_in_each, figure_objects, objects)
FIGURE(static, entries_in_each, figure_entries, entries)
FIGURE(static, all_objects_in_each, figure_all_objects, all_objects)

void lh_last_bytes(lh_report *report, const void *row, lh_cell *cell) {
  cell->as.n = ((const lh_growth_row *)row)->at[count_snapshots(report) - 1].bytes;
}

void lh_last_objects(lh_report *report, const void *row, lh_cell *cell) {
  cell->as.n = ((const lh_growth_row *)row)->at[count_snapshots(report) - 1].objects;
}

#define FIGURES(bytes, objects, entries, all_objects)                                      \
  LH_COMPUTED("bytes", NULL, LH_COLUMN_BYTES_SERIES, bytes,                                \
              "in each snapshot, with what they retain; by class shallow"),                \
      LH_COMPUTED("objects", NULL, LH_COLUMN_COUNT_SERIES, objects, "how many, in each"),  \
      LH_COMPUTED("entries", NULL, LH_COLUMN_COUNT_SERIES, entries, "of tables, in each"), \
      LH_COMPUTED("all_objects", NULL, LH_COLUMN_COUNT_SERIES, all_objects,                \
                  "in each, with what they retain")

static const lh_column figure_columns[] = {
    FIGURES(figure_bytes, figure_objects, figure_entries, figure_all_objects), LH_END};

static const lh_table figures_table =
    LH_TABLE("heap.figures", NULL, NULL, lh_figures, figure_columns);

/* ==== Rows =========================================================================== */

const char *lh_verdict_name(lh_verdict verdict) {
  static const char *const words[] = {
      "level",      "shrinks",        "saw-tooth",       "grew once",   "grows a little",
      "levels off", "grows steadily", "no longer grows", "still grows", "grows now"};
  return LH_WORD_OF(words, verdict);
}

LH_CELL(absent_without_times, void,
        cell->is_absent = ((const lh_growth_found *)report->answer)->growth.seconds <= 0)
LH_ITS(bool, is_by_path, lh_growth_row, it->held_by != NULL)

#define ROW lh_growth_row
const lh_column lh_growth_columns[] = {
    FIGURES(lh_bytes_in_each, lh_objects_in_each, entries_in_each, all_objects_in_each),
    LH_WORD("verdict", NULL, verdict, lh_verdict_name,
            "\"grows steadily\", \"levels off\", \"grows a little\", \"grew once\", "
            "\"saw-tooth\", \"shrinks\"; or \"no longer grows\", \"still grows\", "
            "\"grows now\""),
    LH_TEXT("class", NULL, class_name,
            "of most of the objects; of most entries if only these change"),
    LH_WORD("type", NULL, type, lh_type_name, "the same"),
    LH_BYTES_SERIES("grew_bytes", NULL, grew_bytes,
                    "in the first step and after it, or before and after"),
    LH_COUNT_SERIES("grew_objects", NULL, grew_objects, "the same of all_objects"),
    LH_NUMBER("bytes_per_step", bytes_per_step, "of the second of grew_bytes"),
    LH_NUMBER("bytes_per_second", bytes_per_second, "the same; absent if the times are not known",
              LH_OPTIONAL, .compute = absent_without_times),
    LH_TEXT("held_by", NULL, held_by, "a folded path; absent by class", LH_ONLY_WHERE(is_by_path)),
    LH_INLINE_TEXT("fingerprint", NULL, fingerprint,
                   "the same in every run of the program; absent by class",
                   LH_ONLY_WHERE(is_by_path)),
    LH_COUNT("cause", NULL, cause,
             "the same number for all that is about one cause; absent by class",
             LH_ONLY_WHERE(is_by_path)),
    LH_END};
#undef ROW

/* Is the row of the kind that comes and goes, and small? */
static bool is_noise(const lh_growth_found *f, const lh_growth_row *row) {
  size_t last = f->growth.n_snapshots - 1;
  uint64_t least = row->at[0].bytes, most = least;
  bool ends = row->verdict == LH_LEVEL || row->verdict == LH_SHRINKS ||
              row->verdict == LH_SAW_TOOTH || row->verdict == LH_GREW_ONCE;
  for (size_t k = 1; k <= last; k++) {
    uint64_t bytes = row->at[k].bytes;
    least = bytes < least ? bytes : least;
    most = bytes > most ? bytes : most;
  }
  return ends && most - least < lh_least_group(f->growth.whole[last].bytes);
}

/* Only `-n 0` tells noise. */
static void print_rows(lh_printer *t, lh_report *report, const lh_table *table,
                       const lh_growth_row *rows, size_t n) {
  const lh_growth_found *f = report->answer;
  lh_growth_row *told = lh_alloc_zeroed(n + 1, sizeof *told);
  size_t n_told = 0;
  t->failed |= !told;
  for (size_t i = 0; told && i < n; i++)
    if (t->limit == 0 || !is_noise(f, &rows[i])) told[n_told++] = rows[i];
  if (n_told > 0 || n == 0) lh_print_table(t, report, table, told, n_told, n_told);
  if (n_told < n)
    lh_say(t, LH_FAINT, "%s no more than noise, less than a thousandth of the heap%s: %s",
           lh_count_of(n - n_told, "row is", "rows are").text, n - n_told > 1 ? " each" : "",
           t->all);
  lh_free(told);
}

static void print_growth_paths(lh_printer *t, lh_report *report, const void *rows, size_t n) {
  lh_say(t, LH_BOLD, "\nBy what holds them");
  print_rows(t, report, ((const lh_growth_found *)report->answer)->path_table, rows, n);
}

static void print_classes(lh_printer *t, lh_report *report, const void *rows, size_t n) {
  lh_say(t, LH_BOLD, "\nBy class");
  print_rows(t, report, ((const lh_growth_found *)report->answer)->class_table, rows, n);
}

static const lh_table growth_paths = LH_TABLE("heap.growth_row", "row", "rows", lh_growth_row,
                                              lh_growth_columns, .print = print_growth_paths);
static const lh_table growth_classes = LH_TABLE("heap.growth_row", "row", "rows", lh_growth_row,
                                                lh_growth_columns, .print = print_classes);

/* Text tables by path and by class. `style` marks growth. */
#define BY_PATH(...)                                                 \
  {                                                                  \
    LH_INLINE_TEXT(NULL, NULL, fingerprint, NULL, LH_UNBROKEN,       \
                   LH_HEADING(lh_fingerprint_heading)),              \
        __VA_ARGS__, LH_TEXT(NULL, "held by", held_by, NULL), LH_END \
  }
#define GROWTH_TABLE(columns, style_of) \
  LH_TABLE(NULL, "row", "rows", lh_growth_row, columns, .style = style_of)

/* Columns of an answer; `at` is the prefix of its fields. */
#define GROWTH_COLUMNS(at)                                                                       \
  LH_ROW("whole", at growth.whole, &figures_table, "all that is reachable"),                     \
      LH_ROW("level", at growth.level, &figures_table, "what of that is in no row by path"),     \
      LH_COUNT("known_paths", NULL, at known_paths, "how many were left out as known"),          \
      LH_COUNT("total_paths", NULL, at growth.n_paths, "how many there are, listed or not"),     \
      LH_ROWS("paths", at growth.paths, at growth.n_paths, &growth_paths,                        \
              "the first matters most", LH_LIMITED),                                             \
      LH_COUNT("total_classes", NULL, at growth.n_classes, "how many there are, listed or not"), \
      LH_ROWS("classes", at growth.classes, at growth.n_classes, &growth_classes,                \
              "the same by class", LH_LIMITED)

static void print_growth(lh_printer *t, lh_report *report) {
  const lh_growth_found *f = report->answer;
  lh_print_known(t, report, f->known_paths, f->known_bytes, f->known_objects);
  lh_print_compared(t, f->growth.same_state);
  print_growth_paths(t, report, f->growth.paths, f->growth.n_paths);
  print_classes(t, report, f->growth.classes, f->growth.n_classes);
}

/* ==== Growth ========================================================================= */

static bool is_level(const lh_cell *series) {
  for (size_t i = 1; i < series->as.series.n; i++)
    if (lh_series_at(series, i) != lh_series_at(series, 0)) return false;
  return true;
}

/* The first and the last number: a narrow terminal has no room for more. */
static void bytes_at_ends(lh_report *report, const void *row, lh_cell *cell) {
  lh_bytes_in_each(report, row, cell);
  cell->as.series.stride *= cell->as.series.n - 1;
  cell->as.series.n = 2;
}

/* Objects in each snapshot; if they are level, the entries of the containers. */
static void counts_in_each(lh_report *report, const void *row, lh_cell *cell) {
  const lh_growth_row *r = row;
  lh_objects_in_each(report, row, cell);
  if (!is_level(cell)) return;
  lh_cell entries = *cell;
  entries.as.series.first = &r->at->entries;
  if (is_level(&entries)) return;
  const lh_printer plain = {0}; /* counts have one format */
  cell->kind = LH_COLUMN_TEXT;
  cell->as.text =
      lh_words(report, "%s entries", lh_kept(report, lh_cell_text(&plain, report, &entries)));
}

/* A rate over less than a second means nothing. */
LH_HEADING_OF(seconds_heading,
              ((const lh_growth_found *)report->answer)->growth.seconds >= 1 ? "a second" : NULL)

#define ROW lh_growth_row
#define LADDER_COLUMNS(bytes_heading)                                                            \
  LH_WORD(NULL, "verdict", verdict, lh_verdict_name, NULL),                                      \
      LH_MORE_BYTES(NULL, "a step", bytes_per_step, NULL, LH_WIDE),                              \
      LH_MORE_BYTES(NULL, NULL, bytes_per_second, NULL, LH_WIDE, LH_HEADING(seconds_heading)),   \
      LH_COMPUTED(NULL, bytes_heading, LH_COLUMN_BYTES_SERIES, lh_bytes_in_each, NULL, LH_WIDE), \
      LH_COMPUTED(NULL, "bytes", LH_COLUMN_BYTES_SERIES, bytes_at_ends, NULL, LH_NARROW),        \
      LH_COMPUTED(NULL, "objects", LH_COLUMN_COUNT_SERIES, counts_in_each, NULL, LH_WIDE),       \
      LH_COMPUTED(NULL, "objects", LH_COLUMN_COUNT, lh_last_objects, NULL, LH_NARROW),           \
      LH_TEXT(NULL, "class", class_name, NULL)
static const lh_column path_columns[] = BY_PATH(LADDER_COLUMNS("bytes, with what they retain"));
static const lh_column class_columns[] = {LADDER_COLUMNS("bytes"), LH_END};
#undef ROW

LH_STYLE(style_of, lh_growth_row, it->verdict == LH_GROWS_STEADILY ? LH_ALARM : LH_PLAIN)

static const lh_table path_table = GROWTH_TABLE(path_columns, style_of);
static const lh_table class_table = GROWTH_TABLE(class_columns, style_of);

LH_ITS(bool, has_times, lh_growth_found, it->growth.seconds > 0)

#define ROW lh_growth_found
static const lh_table ladder_answer = LH_TABLE_OF(
    "heap.growth", NULL, NULL,
    LH_FLAG("same_state", growth.same_state, "the snapshots are of one Lua state"),
    LH_COMPUTED("snapshots", NULL, LH_COLUMN_NAMES, lh_names_asked, "the names of the files"),
    LH_NUMBER("seconds", growth.seconds,
              "from the second snapshot (of two, the first) to the last; null if not known",
              LH_WHERE(has_times)),
    GROWTH_COLUMNS());
#undef ROW

typedef struct summary {
  size_t n_of[LH_GROWS_STEADILY + 1]; /* rows by verdict */
  uint64_t bytes, objects;            /* growth after the first step of rows that go on growing */
} summary;

static summary summarise(const lh_growth_found *f) {
  summary s = {0};
  for (size_t i = 0; i < f->growth.n_paths; i++) {
    const lh_growth_row *row = &f->growth.paths[i];
    s.n_of[row->verdict]++;
    if (row->verdict != LH_GROWS_STEADILY && row->verdict != LH_GROWS_A_LITTLE) continue;
    if (row->grew_bytes[1] > 0) s.bytes += (uint64_t)row->grew_bytes[1];
    if (row->grew_objects[1] > 0) s.objects += (uint64_t)row->grew_objects[1];
  }
  return s;
}

static void add_rate(lh_printer *t, const lh_report *report, const lh_growth_row *row,
                     lh_text *text) {
  lh_text_format(text, "%s a step since %s", lh_more_bytes(t, row->bytes_per_step).text,
                 report->names[1]);
}

static void print_steady(lh_printer *t, const lh_report *report, size_t n_others) {
  const lh_growth_row *first = &((const lh_growth_found *)report->answer)->growth.paths[0];
  lh_text text = {0};
  lh_text_format(&text, "%s grows steadily from %s to %s: ", first->held_by, report->names[0],
                 report->names[report->request.n_names - 1]);
  add_rate(t, report, first, &text);
  if (n_others > 0)
    lh_text_format(&text, "; %s steadily, too",
                   lh_count_of(n_others, "more row grows", "more rows grow").text);
  lh_say_text(t, LH_BOLD, &text);
}

/* Did less come in each step, at last two thirds of the first or less, and not by chance? */
static bool slows_down(const lh_growth_row *row, size_t n, lh_text *increments) {
  double first = (double)row->at[1].objects - (double)row->at[0].objects, last = first;
  for (size_t k = 1; k < n; k++) {
    double more = (double)row->at[k].objects - (double)row->at[k - 1].objects;
    if (more <= 0 || (k > 1 && more >= last)) return false;
    lh_text_format(increments, k > 1 ? ", %s" : "%s", lh_count_text((uint64_t)more).text);
    last = more;
  }
  return 3 * last <= 2 * first && (first - last) * (first - last) > 4 * (first + last);
}

/* A cache in which new keys become rare takes many steps to be full. */
static void print_if_slow(lh_printer *t, const lh_report *report) {
  const lh_growth *growth = &((const lh_growth_found *)report->answer)->growth;
  const lh_growth_row *first = growth->paths;
  lh_text text = {0};
  if (growth->n_snapshots < 4 || first->verdict != LH_GROWS_STEADILY) return;
  lh_text_string(&text, "Less came in each step (");
  if (!slows_down(first, growth->n_snapshots, &text)) {
    lh_text_free(&text);
    return;
  }
  lh_text_string(&text, " objects), as in a cache that fills up: more snapshots decide");
  lh_say_text(t, LH_PLAIN, &text);
}

/* The objects of a class may change their places. */
static const lh_growth_row *steady_class(const lh_growth_found *f) {
  const lh_growth_row *first = f->growth.classes;
  bool is_steady = f->growth.n_classes > 0 && first->verdict == LH_GROWS_STEADILY;
  return is_steady && f->known_paths == 0 ? first : NULL;
}

static void print_not_steady(lh_printer *t, const lh_report *report, const summary *s) {
  const lh_growth_row *class = steady_class(report->answer);
  size_t n_off = s->n_of[LH_LEVELS_OFF], n_once = s->n_of[LH_GREW_ONCE];
  lh_text text = {0};
  lh_text_format(&text, "%s grows steadily from %s to %s", class ? "No place" : "Nothing",
                 report->names[0], report->names[report->request.n_names - 1]);
  if (class) {
    lh_text_format(&text, ", but the class %s does: ", class->class_name);
    add_rate(t, report, class, &text);
  }
  if (n_off > 0)
    lh_text_format(&text, "; %s off", lh_count_of(n_off, "row levels", "rows level").text);
  if (n_once > 0)
    lh_text_format(&text, "; %s grew once",
                   lh_count_of(n_once, growth_paths.one, growth_paths.many).text);
  lh_say_text(t, LH_BOLD, &text);
}

static void print_growth_sentence(lh_printer *t, const lh_report *report) {
  summary s = summarise(report->answer);
  size_t n_steady = s.n_of[LH_GROWS_STEADILY];
  if (n_steady > 0)
    print_steady(t, report, n_steady - 1);
  else
    print_not_steady(t, report, &s);
}

static void print_ladder(lh_printer *t, lh_report *report) {
  const lh_growth_found *f = report->answer;
  size_t last = f->growth.n_snapshots - 1;
  uint64_t from = f->growth.whole[0].bytes, to = f->growth.whole[last].bytes;
  print_growth_sentence(t, report);
  if (f->growth.n_paths > 0) print_if_slow(t, report);
  lh_say(t, LH_PLAIN, "In all %s -> %s in %s: %s", lh_format_size(t, from).text,
         lh_format_size(t, to).text, lh_count_of(last, "step", "steps").text,
         lh_size_change(from, to, t->exact_bytes).text);
  print_growth(t, report);
}

static int find_ladder(lh_snapshot *snapshot, const lh_request *request, void *found,
                       lh_error *error) {
  lh_growth_found *f = found;
  (void)snapshot;
  f->path_table = &path_table;
  f->class_table = &class_table;
  return lh_find_growth(f, request->ladder, false, request, error);
}

static void growth_excess(const lh_report *report, lh_excess *out) {
  summary s = summarise(report->answer);
  *out = (lh_excess){.bytes = s.bytes,
                     .objects = s.objects,
                     .what = "more after the first step, growing steadily"};
}

LH_QUESTION(ladder, .command = "heapdiff",
            .help = "what grows from step to step; so with 4 snapshots or more", .of = LH_OF_LADDER,
            .main = "paths", .free = lh_free_growth, .excess = growth_excess);

/* ==== For a chart ==================================================================== */

typedef struct series_step {
  const char *name;
  double seconds;
  bool has_time;
} series_step;

typedef struct series_result {
  lh_growth_found ladder; /* must be first: print_ladder prints it */
  size_t n_listed;        /* listed rows of the ladder */
  lh_figures *others;     /* in each snapshot: sum of rows that are not listed */
  series_step *steps;
  size_t n_steps;
} series_result;

LH_ITS(bool, has_step_time, series_step, it->has_time)

#define ROW series_step
static const lh_table step_table =
    LH_TABLE_OF("heap.series_step", NULL, NULL, LH_NAME("name", name, "of the file"),
                LH_NUMBER("seconds", seconds, "since the first; null if that is not known",
                          LH_WHERE(has_step_time)));
#undef ROW

#define ROW series_result
static const lh_table series_answer = LH_TABLE_OF(
    "heap.series", NULL, NULL,
    LH_FLAG("same_state", ladder.growth.same_state, "the snapshots are of one Lua state"),
    LH_ROWS("snapshots", steps, n_steps, &step_table, "in their order", LH_OWNED),
    LH_ROW("whole", ladder.growth.whole, &figures_table, "all that is reachable"),
    LH_ROW("level", ladder.growth.level, &figures_table, "of that, what never changed"),
    LH_ROW("others", others, &figures_table, "the rows that are not listed, together"),
    LH_COUNT("total_paths", NULL, ladder.growth.n_paths, "how many rows there are, listed or not"),
    LH_ROWS("paths", ladder.growth.paths, n_listed, &growth_paths, "the first matters most"));
#undef ROW

static void add_figures(lh_figures *to, const lh_figures *row) {
  to->objects += row->objects;
  to->entries += row->entries;
  to->bytes += row->bytes;
  to->all_objects += row->all_objects;
}

static void sum_others(series_result *f) {
  for (size_t i = f->n_listed; i < f->ladder.growth.n_paths; i++)
    for (size_t k = 0; k < f->n_steps; k++)
      add_figures(&f->others[k], &f->ladder.growth.paths[i].at[k]);
}

/* No times if clocks differ between machines. */
static void name_steps(series_result *f, const lh_request *request) {
  const double *at = f->ladder.growth.at_seconds;
  bool in_order = true;
  for (size_t k = 1; k < f->n_steps; k++) in_order = in_order && at[k] >= at[k - 1];
  for (size_t k = 0; k < f->n_steps; k++)
    f->steps[k] = (series_step){.name = request->names[k], .seconds = at[k], .has_time = in_order};
}

static void free_series(void *out) {
  lh_free_growth(out);
  lh_free(((series_result *)out)->others);
}

static int find_series(lh_snapshot *snapshot, const lh_request *request, void *out,
                       lh_error *error) {
  enum { USUAL_ROWS = 8 };
  series_result *f = out;
  size_t most = request->has_limit ? request->limit : USUAL_ROWS;
  int code = lh_ladder_question.find(snapshot, request, &f->ladder, error);
  if (code != LH_OK) return code;
  f->n_steps = f->ladder.growth.n_snapshots;
  f->n_listed = most > 0 && most < f->ladder.growth.n_paths ? most : f->ladder.growth.n_paths;
  f->others = lh_alloc_zeroed(f->n_steps, sizeof *f->others);
  f->steps = lh_alloc_zeroed(f->n_steps, sizeof *f->steps);
  if (!f->others || !f->steps) return lh_fail_memory(error, "stacking what grows");
  sum_others(f);
  name_steps(f, request);
  return LH_OK;
}

static void print_series(lh_printer *t, lh_report *report) {
  lh_ladder_question.print(t, report);
}

LH_QUESTION(series, .command = "heapview", .of = LH_OF_LADDER, .main = "paths",
            .free = free_series);

/* ==== Before and after =============================================================== */

typedef struct compare_result {
  lh_growth_found found; /* must be first: its columns read it */
  lh_fix_verdict answer;
} compare_result;

static bool is_of_levels(const lh_report *report) {
  return ((const lh_growth_found *)report->answer)->growth.n_snapshots == 2;
}

LH_CELL(verdict_of, lh_growth_row,
        cell->as.text = !is_of_levels(report)         ? lh_verdict_name(it->verdict)
                        : it->verdict == LH_GROWS_NOW ? "more"
                                                      : "less")

static void set_amount(const lh_report *report, const lh_growth_row *row, int half, lh_cell *cell) {
  bool is_level = is_of_levels(report);
  cell->kind = is_level ? LH_COLUMN_BYTES : LH_COLUMN_MORE_BYTES;
  if (is_level)
    cell->as.n = row->at[half].bytes;
  else
    cell->as.number = (double)row->grew_bytes[half];
}

static void set_objects(const lh_report *report, const lh_growth_row *row, int half,
                        lh_cell *cell) {
  bool is_level = is_of_levels(report);
  cell->kind = is_level ? LH_COLUMN_COUNT : LH_COLUMN_COUNT_CHANGE;
  if (is_level) {
    cell->as.n = row->at[half].objects;
    return;
  }
  cell->as.series.first = &row->at[2 * half].objects;
  cell->as.series.stride = sizeof(lh_figures);
  cell->as.series.n = 2;
}

LH_CELL(amount_before, void, set_amount(report, row, 0, cell))
LH_CELL(amount_after, void, set_amount(report, row, 1, cell))
LH_CELL(objects_before, void, set_objects(report, row, 0, cell))
LH_CELL(objects_after, void, set_objects(report, row, 1, cell))

#define ROW lh_growth_row
#define HALVES                                                                      \
  LH_COMPUTED(NULL, "verdict", LH_COLUMN_TEXT, verdict_of, NULL, LH_UNBROKEN),      \
      LH_COMPUTED(NULL, "before", LH_COLUMN_MORE_BYTES, amount_before, NULL),       \
      LH_COMPUTED(NULL, "after", LH_COLUMN_MORE_BYTES, amount_after, NULL),         \
      LH_COMPUTED(NULL, "objects", LH_COLUMN_COUNT, objects_before, NULL, LH_WIDE), \
      LH_COMPUTED(NULL, "after", LH_COLUMN_COUNT, objects_after, NULL, LH_WIDE),    \
      LH_TEXT(NULL, "class", class_name, NULL)
static const lh_column path_halves[] = BY_PATH(HALVES);
static const lh_column class_halves[] = {HALVES, LH_END};
#undef ROW

LH_STYLE(halves_style, lh_growth_row, it->verdict == LH_NO_LONGER_GROWS ? LH_PLAIN : LH_ALARM)

static const lh_table path_halves_table = GROWTH_TABLE(path_halves, halves_style);
static const lh_table class_halves_table = GROWTH_TABLE(class_halves, halves_style);

static void set_part(lh_cell *cell, const lh_growth_row *row) {
  cell->as.text = row ? row->held_by : NULL;
}

LH_CELL(no_longer, compare_result, set_part(cell, it->answer.no_longer))
LH_CELL(still, compare_result, set_part(cell, it->answer.still))
LH_CELL(now, compare_result, set_part(cell, it->answer.now))

#define ROW compare_result
static const lh_table compare_answer = LH_TABLE_OF(
    "heap.comparison", NULL, NULL,
    LH_FLAG("same_state", found.growth.same_state, "the snapshots are of one Lua state"),
    LH_COMPUTED("snapshots", NULL, LH_COLUMN_NAMES, lh_names_asked, "the names of the files"),
    LH_FLAG("fixed", answer.is_fixed, "something no longer grows, and nothing still does"),
    LH_COMPUTED("no_longer_grows", NULL, LH_COLUMN_TEXT, no_longer,
                "the row that the answer names, by what holds it; or null", LH_OPTIONAL),
    LH_COMPUTED("still_grows", NULL, LH_COLUMN_TEXT, still, "the same", LH_OPTIONAL),
    LH_COMPUTED("grows_now", NULL, LH_COLUMN_TEXT, now, "the same", LH_OPTIONAL),
    GROWTH_COLUMNS(found.));
#undef ROW

static const char *amount_words(const lh_printer *t, const lh_growth_row *row, int half) {
  lh_cell cell = {0};
  set_amount(t->report, row, half, &cell);
  return lh_kept(t->report, lh_cell_text(t, t->report, &cell));
}

static void print_part(lh_printer *t, const char *before_it, const lh_growth_row *row,
                       const char *verb) {
  if (row)
    lh_say(t, LH_BOLD, "%s%s (%s) %s: %s before, %s after", before_it, row->held_by,
           row->class_name, verb, amount_words(t, row, 0), amount_words(t, row, 1));
}

static void print_compare_answer(lh_printer *t, const lh_report *report) {
  const lh_fix_verdict *a = &((const compare_result *)report->answer)->answer;
  const char *fixed = a->is_fixed ? "Yes" : a->still ? "In part" : "No, it may have moved";
  print_part(t, lh_words(t->report, "Is it fixed? %s: ", fixed), a->no_longer, "no longer grows");
  print_part(t, a->no_longer ? "But: " : "Is it fixed? No: ", a->still, "still grows");
  print_part(t, "New: ", a->now, "grows now");
  if (!a->no_longer && !a->still && !a->now) lh_say(t, LH_BOLD, "Nothing grows, before or after");
}

static void print_levels(lh_printer *t, const lh_report *report) {
  const lh_fix_verdict *a = &((const compare_result *)report->answer)->answer;
  print_part(t, "Less: ", a->no_longer, "has less");
  print_part(t, "More: ", a->now, "has more");
  if (!a->no_longer && !a->still && !a->now) lh_say(t, LH_BOLD, "No difference");
}

/* Warns if all snapshots are of one run: then "after" is only later. */
static void print_compare(lh_printer *t, lh_report *report) {
  const lh_growth_found *f = report->answer;
  (is_of_levels(report) ? print_levels : print_compare_answer)(t, report);
  if (!is_of_levels(report) && f->growth.same_state)
    lh_say(t, LH_ALARM,
           "All these snapshots are of one run: after is only later, not after a "
           "change");
  print_growth(t, report);
}

static int find_compare(lh_snapshot *snapshot, const lh_request *request, void *out,
                        lh_error *error) {
  compare_result *f = out;
  (void)snapshot;
  f->found.path_table = &path_halves_table;
  f->found.class_table = &class_halves_table;
  int code = lh_find_growth(&f->found, request->ladder, true, request, error);
  if (code == LH_OK) lh_judge_fix(&f->found.growth, &f->answer);
  return code;
}

static void compare_excess(const lh_report *report, lh_excess *out) {
  const lh_growth_found *f = report->answer;
  *out = (lh_excess){.what = is_of_levels(report) ? "more than before" : "of growth after"};
  for (size_t i = 0; i < f->growth.n_paths; i++) {
    const lh_growth_row *row = &f->growth.paths[i];
    if (row->verdict == LH_NO_LONGER_GROWS) continue;
    if (row->grew_bytes[1] > 0) out->bytes += (uint64_t)row->grew_bytes[1];
    if (row->grew_objects[1] > 0) out->objects += (uint64_t)row->grew_objects[1];
  }
}

LH_QUESTION(compare, .command = "heapdiff", .of = LH_OF_LADDER, .main = "paths",
            .free = lh_free_growth, .excess = compare_excess);
