/*
** class_changes.c - the change of each class between two snapshots, or among three.
*/
#include "report/diff.h"

/* Different states: appeared and freed objects are unknown. */
static bool is_of_one_state(const lh_report *report) {
  return report->question == &lh_diff_question;
}

/* Without a middle snapshot a row has two numbers. */
static void at_each(lh_report *report, const void *row, lh_cell *cell) {
  (void)row;
  if (report->request.n_snapshots > 2) return;
  cell->as.series.stride *= 2;
  cell->as.series.n = 2;
}

LH_CELL(absent_if_unknown, void, cell->is_absent = !is_of_one_state(report))
LH_HEADING_OF(appeared_heading, is_of_one_state(report) ? "appeared" : NULL)
LH_HEADING_OF(gone_heading, is_of_one_state(report) ? "gone" : NULL)

static bool has_changed(const lh_class_change *change) {
  return change->objects[0] != change->objects[2] ||
         change->shallow_bytes[0] != change->shallow_bytes[2] || change->appeared > 0 ||
         change->gone > 0;
}

static void print_class_changes(lh_teller *t, lh_report *report, const void *rows, size_t n) {
  const lh_class_change *all = rows;
  lh_class_change *changed = lh_alloc_zeroed(n + 1, sizeof *changed);
  size_t n_changed = 0;
  t->failed |= !changed;
  for (size_t i = 0; changed && i < n; i++)
    if (has_changed(&all[i])) changed[n_changed++] = all[i];
  lh_say(t, LH_BOLD, "\nChange of classes from %s to %s (%s did not change)", report->names[0],
         report->names[report->request.n_names - 1], lh_count_text(n - n_changed).text);
  lh_print_table(t, report, &lh_class_change_table, changed, n_changed, n_changed);
  lh_free(changed);
}

#define ROW lh_class_change
const lh_table lh_class_change_table = LH_TABLE_WITH(
    (.print = print_class_changes), "heap.class_change", "class", "classes",
    LH_TEXT("class", NULL, name, "its name"),
    LH_WORD("type", NULL, type, lh_type_name, "and its type"),
    LH_COUNT_SERIES("objects", NULL, objects, "in each snapshot", .compute = at_each),
    LH_BYTES_SERIES("shallow_bytes", NULL, shallow_bytes, "the same", .compute = at_each),
    LH_BYTES_CHANGE("bytes", shallow_bytes), LH_BYTES(NULL, "now", shallow_bytes[2], NULL),
    LH_COUNT_CHANGE("objects", objects), LH_COUNT(NULL, "now", objects[2], NULL),
    LH_COUNT("appeared", NULL, appeared, "objects; absent for different states", LH_OPTIONAL,
             .compute = absent_if_unknown, LH_HEADING(appeared_heading)),
    LH_COUNT("gone", NULL, gone, "objects; absent for different states", LH_OPTIONAL,
             .compute = absent_if_unknown, LH_HEADING(gone_heading)),
    LH_TEXT(NULL, "class", name, NULL));
#undef ROW
