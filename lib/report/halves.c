/*
** halves.c - compares snapshots before and after a change of a program: is the leak fixed?
**
** With one snapshot each, sizes are compared; with two each, their growth.
*/
#include "report/growth.h"

typedef struct compare_result {
  lh_growth_found found; /* must be first: its columns read it */
  lh_answer answer;
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

LH_CELL(before, void, set_amount(report, row, 0, cell))
LH_CELL(after, void, set_amount(report, row, 1, cell))
LH_CELL(objects_before, void, set_objects(report, row, 0, cell))
LH_CELL(objects_after, void, set_objects(report, row, 1, cell))

#define ROW lh_growth_row
#define HALVES                                                                      \
  LH_COMPUTED(NULL, "verdict", LH_COLUMN_TEXT, verdict_of, NULL, LH_UNBROKEN),      \
      LH_COMPUTED(NULL, "before", LH_COLUMN_MORE_BYTES, before, NULL),              \
      LH_COMPUTED(NULL, "after", LH_COLUMN_MORE_BYTES, after, NULL),                \
      LH_COMPUTED(NULL, "objects", LH_COLUMN_COUNT, objects_before, NULL, LH_WIDE), \
      LH_COMPUTED(NULL, "after", LH_COLUMN_COUNT, objects_after, NULL, LH_WIDE),    \
      LH_TEXT(NULL, "class", class_name, NULL)
static const lh_column path_columns[] = LH_GROWTH_BY_PATH(HALVES);
static const lh_column class_columns[] = {HALVES, LH_END};
#undef ROW

LH_STYLE(style_of, lh_growth_row, it->verdict == LH_NO_LONGER_GROWS ? LH_PLAIN : LH_ALARM)

static const lh_table path_table = LH_GROWTH_TABLE(path_columns, style_of);
static const lh_table class_table = LH_GROWTH_TABLE(class_columns, style_of);

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
    LH_GROWTH_COLUMNS(found.));
#undef ROW

static const char *amount_words(const lh_teller *t, const lh_growth_row *row, int half) {
  lh_cell cell = {0};
  set_amount(t->report, row, half, &cell);
  return lh_kept(t->report, lh_cell_text(t, t->report, &cell));
}

static void print_part(lh_teller *t, const char *before_it, const lh_growth_row *row,
                       const char *verb) {
  if (row)
    lh_say(t, LH_BOLD, "%s%s (%s) %s: %s before, %s after", before_it, row->held_by,
           row->class_name, verb, amount_words(t, row, 0), amount_words(t, row, 1));
}

static void print_answer(lh_teller *t, const lh_report *report) {
  const lh_answer *a = &((const compare_result *)report->answer)->answer;
  const char *fixed = a->is_fixed ? "Yes" : a->still ? "In part" : "No, it may have moved";
  print_part(t, lh_words(t->report, "Is it fixed? %s: ", fixed), a->no_longer, "no longer grows");
  print_part(t, a->no_longer ? "But: " : "Is it fixed? No: ", a->still, "still grows");
  print_part(t, "New: ", a->now, "grows now");
  if (!a->no_longer && !a->still && !a->now) lh_say(t, LH_BOLD, "Nothing grows, before or after");
}

static void print_levels(lh_teller *t, const lh_report *report) {
  const lh_answer *a = &((const compare_result *)report->answer)->answer;
  print_part(t, "Less: ", a->no_longer, "has less");
  print_part(t, "More: ", a->now, "has more");
  if (!a->no_longer && !a->still && !a->now) lh_say(t, LH_BOLD, "No difference");
}

/* Warns if all snapshots are of one run: then "after" is only later. */
static void print_compare(lh_teller *t, lh_report *report) {
  const lh_growth_found *f = report->answer;
  (is_of_levels(report) ? print_levels : print_answer)(t, report);
  if (!is_of_levels(report) && f->growth.same_state)
    lh_say(t, LH_ALARM,
           "All these snapshots are of one run: after is only later, not after a change");
  lh_print_growth(t, report);
}

static int find_compare(lh_snapshot *snapshot, const lh_request *request, void *out,
                        lh_error *error) {
  compare_result *f = out;
  (void)snapshot;
  f->found.path_table = &path_table;
  f->found.class_table = &class_table;
  int code = lh_find_growth(&f->found, request->ladder, true, request, error);
  if (code == LH_OK) lh_answer_of(&f->found.growth, &f->answer);
  return code;
}

static void excess_of(const lh_report *report, lh_excess *out) {
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
            .free = lh_free_growth, .excess = excess_of);
