/*
** growth.c - rows of growth over several snapshots: columns in JSON and Lua, known rows.
*/
#include "report/growth.h"

/* ==== Figures in each snapshot ======================================================== */

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

const lh_table lh_figures_table = LH_TABLE("heap.figures", NULL, NULL, lh_figures, figure_columns);

/* ==== Rows =========================================================================== */

LH_CELL(absent_without_times, void,
        cell->is_absent = ((const lh_growth_found *)report->answer)->growth.seconds <= 0)
LH_ITS(bool, is_by_path, lh_growth_row, it->held_by != NULL)

#define ROW lh_growth_row
const lh_column lh_growth_columns[] = {
    FIGURES(lh_bytes_in_each, lh_objects_in_each, entries_in_each, all_objects_in_each),
    LH_WORD("verdict", NULL, verdict, lh_verdict_name,
            "\"grows steadily\", \"grew once\", \"saw-tooth\", \"shrinks\"; or \"no longer "
            "grows\", \"still grows\", \"grows now\""),
    LH_TEXT("class", NULL, class_name, "of most of the objects"),
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

static void print_paths(lh_teller *t, lh_report *report, const void *rows, size_t n) {
  lh_say(t, LH_BOLD, "\nBy what holds them");
  lh_print_table(t, report, ((const lh_growth_found *)report->answer)->path_table, rows, n, n);
}

static void print_classes(lh_teller *t, lh_report *report, const void *rows, size_t n) {
  lh_say(t, LH_BOLD, "\nBy class");
  lh_print_table(t, report, ((const lh_growth_found *)report->answer)->class_table, rows, n, n);
}

const lh_table lh_growth_paths = LH_TABLE("heap.growth_row", "row", "rows", lh_growth_row,
                                          lh_growth_columns, .print = print_paths);
const lh_table lh_growth_classes = LH_TABLE("heap.growth_row", "row", "rows", lh_growth_row,
                                            lh_growth_columns, .print = print_classes);

void lh_print_growth(lh_teller *t, lh_report *report) {
  const lh_growth_found *f = report->answer;
  lh_print_known(t, report, f->known_paths, f->known_bytes, f->known_objects);
  lh_print_compared(t, f->growth.same_state);
  print_paths(t, report, f->growth.paths, f->growth.n_paths);
  print_classes(t, report, f->growth.classes, f->growth.n_classes);
}

/* ==================================================================================== */

static void leave_out_known(lh_growth_found *f, const lh_request *request) {
  lh_growth *growth = &f->growth;
  size_t n = growth->n_paths;
  growth->n_paths = 0;
  for (size_t i = 0; i < n; i++) {
    const lh_growth_row *row = &growth->paths[i];
    if (!lh_is_known(request, row->fingerprint)) {
      growth->paths[growth->n_paths++] = *row;
      continue;
    }
    f->known_paths++;
    f->known_bytes += row->at[growth->n_snapshots - 1].bytes;
    f->known_objects += row->at[growth->n_snapshots - 1].all_objects;
  }
}

int lh_find_growth(lh_growth_found *f, const lh_ladder *ladder, bool by_halves,
                   const lh_request *request, lh_error *error) {
  int code = (by_halves ? lh_ladder_halves : lh_ladder_growth)(ladder, &f->all, error);
  if (code != LH_OK) return code;
  f->growth = *f->all;
  if (lh_renew_known_of_growth(request, ladder, f->all)) {
    leave_out_known(f, request);
    return LH_OK;
  }
  lh_free_growth(f);
  return lh_fail_memory(error, "looking for what is known");
}

void lh_free_growth(void *found) {
  lh_growth_found *f = found;
  lh_growth_free(f->all);
  f->all = NULL;
}
