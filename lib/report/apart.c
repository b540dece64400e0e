/*
** apart.c - compares snapshots of different processes or Lua states by path, class and string
** contents. Objects are never compared by address: no object is in both.
*/
#include "report/report.h"

typedef struct apart_result {
  lh_growth_found found; /* must be first: its columns read it */
  lh_ladder *ladder;
  lh_diff *diff; /* owns the classes */
  lh_class_change *classes;
  size_t n_classes;
  lh_string_changes strings;
  void *nothing; /* new objects and grown containers are unknown */
  size_t n_nothing;
} apart_result;

static void long_beginning_of(lh_report *report, lh_id id, lh_cell *cell) {
  cell->as.text = lh_kept(report, lh_string_text(report->snapshot, id, 256));
}

static void print_string_rows(lh_printer *t, lh_report *report, const void *rows, size_t n);

#define ROW lh_string_change
static const lh_table string_table = LH_TABLE_WITH(
    (.print = print_string_rows), "heap.string_change", "string", "strings",
    LH_EXAMPLE("example", NULL, example, "one of them", LH_LUA_ONLY),
    LH_OF(NULL, NULL, LH_COLUMN_TEXT, example, long_beginning_of, "its beginning, in quotes",
          LH_JSON_ONLY("string")),
    LH_COUNT_SERIES("objects", NULL, objects, "how many in the first and in the last"),
    LH_BYTES_SERIES("bytes", NULL, bytes, "of these"),
    LH_OF(NULL, NULL, LH_COLUMN_TEXT, example, lh_cell_path, "the path of one of them",
          LH_JSON_ONLY("held_by")),
    LH_BYTES_CHANGE("bytes", bytes), LH_COUNT_CHANGE("objects", objects),
    LH_EXAMPLE(NULL, "example", example, NULL),
    LH_OF(NULL, "string", LH_COLUMN_TEXT, example, lh_cell_string, NULL),
    LH_OF(NULL, "held by", LH_COLUMN_TEXT, example, lh_cell_path, NULL));
#undef ROW

static const lh_string_changes *strings_of(const lh_report *report) {
  return report->question == &lh_strings_question
             ? report->answer
             : &((const apart_result *)report->answer)->strings;
}

static void print_string_rows(lh_printer *t, lh_report *report, const void *rows, size_t n) {
  const lh_string_changes *s = strings_of(report);
  lh_say(t, LH_BOLD, "\nStrings of %s: %s new, %s more often than in %s, %s",
         report->names[report->request.n_names - 1], lh_count_text(s->new_contents).text,
         lh_count_text(s->more_contents).text, report->names[0],
         lh_size_change(0, s->more_bytes, t->exact_bytes).text);
  lh_print_table(t, report, &string_table, rows, n, n);
}

#define ROW lh_string_changes
static const lh_table strings_answer = LH_TABLE_OF(
    "heap.strings", NULL, NULL,
    LH_COUNT("new_strings", NULL, new_contents, "how many contents the first has not at all"),
    LH_COUNT("more_strings", NULL, more_contents, "how many it has, but fewer of them"),
    LH_BYTES("more_bytes", NULL, more_bytes, "by which both are more"),
    LH_ROWS("strings", rows, n_rows, &string_table, "those with most bytes more first", LH_LIMITED,
            LH_OWNED),
    LH_COMPUTED("snapshots", NULL, LH_COLUMN_NAMES, lh_names_asked, "what they are called"));
#undef ROW

static void print_strings(lh_printer *t, lh_report *report) {
  const lh_string_changes *s = report->answer;
  print_string_rows(t, report, s->rows, s->n_rows);
}

static int find_strings(lh_snapshot *snapshot, const lh_request *r, void *out, lh_error *error) {
  return lh_compare_strings(r->snapshots[0], snapshot, out, error);
}

LH_QUESTION(strings, .command = "heapdiff", .main = "strings");

#define ROW lh_growth_row
static const lh_table path_table = LH_TABLE_OF(
    NULL, "path", "paths",
    LH_INLINE_TEXT(NULL, NULL, fingerprint, NULL, LH_UNBROKEN, LH_HEADING(lh_fingerprint_heading)),
    LH_COMPUTED(NULL, "bytes", LH_COLUMN_BYTES_CHANGE, lh_bytes_in_each, NULL),
    LH_COMPUTED(NULL, "now", LH_COLUMN_BYTES, lh_last_bytes, NULL),
    LH_COMPUTED(NULL, "objects", LH_COLUMN_COUNT_CHANGE, lh_objects_in_each, NULL),
    LH_COMPUTED(NULL, "now", LH_COLUMN_COUNT, lh_last_objects, NULL),
    LH_TEXT(NULL, "class", class_name, NULL), LH_TEXT(NULL, "held by", held_by, NULL));
#undef ROW

/* False: only a snapshot in between differs. */
static bool has_changed(const lh_growth_row *row, size_t last) {
  return row->at[0].bytes != row->at[last].bytes || row->at[0].objects != row->at[last].objects;
}

static int compare_growth_rows(const void *left, const void *right) {
  const lh_growth_row *a = left, *b = right;
  int64_t x = a->grew_bytes[0] + a->grew_bytes[1], y = b->grew_bytes[0] + b->grew_bytes[1];
  return LH_MORE(x, y) ?: strcmp(a->held_by, b->held_by) ?: strcmp(a->fingerprint, b->fingerprint);
}

static void print_path_changes(lh_printer *t, lh_report *report, const void *rows, size_t n) {
  const lh_growth_row *all = rows;
  size_t last = report->request.n_snapshots - 1, n_changed = 0;
  lh_growth_row *changed = lh_alloc_zeroed(n + 1, sizeof *changed);
  t->failed |= !changed;
  for (size_t i = 0; changed && i < n; i++)
    if (has_changed(&all[i], last)) changed[n_changed++] = all[i];
  if (changed) qsort(changed, n_changed, sizeof *changed, compare_growth_rows);
  lh_say(t, LH_BOLD, "\nChange of what is held, with what it retains, from %s to %s",
         report->names[0], report->names[last]);
  lh_print_table(t, report, &path_table, changed, n_changed, n_changed);
  lh_free(changed);
}

static const lh_table paths = LH_TABLE("heap.growth_row", "path", "paths", lh_growth_row,
                                       lh_growth_columns, .print = print_path_changes);

#define ROW apart_result
static const lh_table apart_answer = LH_TABLE_OF(
    "heap.apart", NULL, NULL, LH_FLAG("same_state", found.growth.same_state, "it is false"),
    LH_ROWS("groups", nothing, n_nothing, &lh_group_table, "none, since new objects are not known"),
    LH_ROWS("grown", nothing, n_nothing, &lh_grown_table, "none"),
    LH_COUNT("known_paths", NULL, found.known_paths, "how many were left out as known"),
    LH_COUNT("total_paths", NULL, found.growth.n_paths, "how many there are, listed or not"),
    LH_ROWS("paths", found.growth.paths, found.growth.n_paths, &paths, "rows as of a ladder",
            LH_LIMITED),
    LH_COUNT("total_classes", NULL, n_classes, "how many there are, listed or not"),
    LH_ROWS("classes", classes, n_classes, &lh_class_change_table, "the change of each class",
            LH_LIMITED),
    LH_COUNT("new_strings", NULL, strings.new_contents,
             "how many contents the first snapshot has not at all"),
    LH_COUNT("total_strings", NULL, strings.n_rows, "of how many contents there are more"),
    LH_ROWS("strings", strings.rows, strings.n_rows, &string_table,
            "those with most bytes more first", LH_LIMITED),
    LH_COMPUTED("snapshots", NULL, LH_COLUMN_NAMES, lh_names_asked, "what they are called",
                LH_LUA_ONLY));
#undef ROW

static bool are_of_one_process(const lh_request *r, size_t i, size_t j) {
  return lh_snapshot_info(r->snapshots[i])->process_id ==
         lh_snapshot_info(r->snapshots[j])->process_id;
}

/* Of three snapshots, two of which are of one state, the other one; else 3. */
static size_t find_other_one(const lh_request *r) {
  for (size_t i = 0; r->n_snapshots == 3 && i < 3; i++)
    if (lh_is_same_state(r->snapshots[(i + 1) % 3], r->snapshots[(i + 2) % 3])) return i;
  return 3;
}

static void print_why_apart(lh_printer *t, lh_report *report) {
  const lh_request *r = &report->request;
  size_t other = find_other_one(r), last = r->n_snapshots - 1;
  if (other == 3) {
    lh_say(t, LH_PLAIN,
           "The snapshots are of different %s, so no object of one is an object of another:",
           are_of_one_process(r, 0, last) ? "Lua states" : "processes");
  } else {
    size_t first = other == 0, second = other == 2 ? 1 : 2;
    lh_say(t, LH_PLAIN, "%s is of another %s than %s and %s, so no object of it is one of theirs:",
           report->names[other], are_of_one_process(r, other, first) ? "Lua state" : "process",
           report->names[first], report->names[second]);
  }
  lh_say(t, LH_PLAIN, "compared by path, by class, and strings by content.");
}

static void print_apart_sentence(lh_printer *t, lh_report *report) {
  const lh_growth_found *f = report->answer;
  const lh_request *r = &report->request;
  const lh_figures *first = &f->growth.whole[0], *last = &f->growth.whole[r->n_snapshots - 1];
  lh_say(t, LH_BOLD, "From %s to %s: %s objects, %s", report->names[0],
         report->names[r->n_snapshots - 1], lh_count_change(first->objects, last->objects).text,
         lh_size_change(first->bytes, last->bytes, t->exact_bytes).text);
  lh_print_known(t, report, f->known_paths, f->known_bytes, f->known_objects);
  print_why_apart(t, report);
  if (r->n_snapshots > 2 && t->all)
    lh_say(t, LH_PLAIN, "The figures of %s are in --json.", report->names[1]);
}

static void print_apart(lh_printer *t, lh_report *report) {
  const apart_result *f = report->answer;
  print_apart_sentence(t, report);
  print_path_changes(t, report, f->found.growth.paths, f->found.growth.n_paths);
  if (f->n_classes > 0) lh_class_change_table.print(t, report, f->classes, f->n_classes);
  print_string_rows(t, report, f->strings.rows, f->strings.n_rows);
}

static void free_apart(void *out) {
  apart_result *f = out;
  lh_free(f->strings.rows);
  lh_free_growth(&f->found);
  lh_ladder_free(f->ladder);
  lh_diff_free(f->diff);
}

static int find_apart(lh_snapshot *snapshot, const lh_request *r, void *out, lh_error *error) {
  apart_result *f = out;
  int code = lh_diff_snapshots(r->snapshots[0], r->n_snapshots > 2 ? r->snapshots[1] : NULL,
                               snapshot, &f->diff, error);
  if (code == LH_OK) code = lh_ladder_new(&f->ladder, error);
  for (size_t i = 0; code == LH_OK && i < r->n_snapshots; i++)
    code = lh_ladder_add(f->ladder, r->snapshots[i], error);
  if (code == LH_OK) code = lh_find_growth(&f->found, f->ladder, false, r, error);
  if (code == LH_OK) code = lh_compare_strings(r->snapshots[0], snapshot, &f->strings, error);
  if (code != LH_OK) return code;
  f->classes = f->diff->classes;
  f->n_classes = f->diff->n_classes;
  return LH_OK;
}

static void apart_excess(const lh_report *report, lh_excess *out) {
  const lh_growth_found *f = report->answer;
  int64_t bytes = 0, objects = 0;
  for (size_t i = 0; i < f->growth.n_paths; i++) {
    bytes += f->growth.paths[i].grew_bytes[0] + f->growth.paths[i].grew_bytes[1];
    objects += f->growth.paths[i].grew_objects[0] + f->growth.paths[i].grew_objects[1];
  }
  *out = (lh_excess){.bytes = bytes > 0 ? (uint64_t)bytes : 0,
                     .objects = objects > 0 ? (uint64_t)objects : 0,
                     .what = "more"};
}

LH_QUESTION(apart, .command = "heapdiff", .main = "groups", .free = free_apart,
            .excess = apart_excess);
