/*
** allocated.c - where the objects of a row were allocated, of a program that was tracked:
**
**     allocated at @app/bus.lua:31 in Bus:on, from @app/session.lua:88 in connect (1,000 of
**     1,000); 1,000 of 51,000 made there stay
*/
#include "name/site_text.h"
#include "report/report.h"

static void site_of(lh_report *report, const void *row, lh_cell *cell) {
  const lh_sites *sites = lh_snapshot_sites(report->snapshot);
  cell->as.text = lh_keep_text(report, lh_stack_text(sites, ((const lh_allocated *)row)->stack, 0));
}

/* The site, then its callers. */
static void stack_of(lh_report *report, const void *row, lh_cell *cell) {
  const lh_sites *sites = lh_snapshot_sites(report->snapshot);
  const lh_allocated *a = row;
  lh_stack_id stack = a->stack;
  (void)cell;
  for (uint32_t i = 0; stack != 0 && i <= a->callers; i++) {
    (void)lh_keep_text(report, lh_stack_text(sites, stack, 0));
    stack = lh_stack_of(sites, stack)->parent;
  }
}

static bool has_made(const void *row) {
  return ((const lh_allocated *)row)->made > 0;
}

#define ROW lh_allocated
static const lh_column columns[] = {
    LH_COMPUTED("site", NULL, LH_COLUMN_TEXT, site_of, "that most of them have"),
    LH_COMPUTED("stack", NULL, LH_COLUMN_TEXTS, stack_of,
                "the site, and its caller where nine in ten of these have one"),
    LH_COUNT("objects", NULL, objects, "how many have all of that"),
    LH_COUNT("of", NULL, of, "so many of which it is known, or would be"),
    LH_COUNT("made", NULL, made,
             "objects that were made there: between the first two snapshots, of one since tracking "
             "began",
             LH_WHERE(has_made)),
    LH_COUNT("stay", NULL, stay, "how many of these are still alive", LH_WHERE(has_made)),
    LH_END};
#undef ROW

const lh_table lh_allocated_table = LH_TABLE("heap.allocated", NULL, NULL, lh_allocated, columns);

void lh_absent_unless_allocated(lh_report *report, const void *row, lh_cell *cell) {
  (void)report, (void)row;
  cell->is_absent = ((const lh_allocated *)cell->as.rows.list)->stack == 0;
}

const char *lh_no_site_name(const lh_snapshot *snapshot) {
  return lh_snapshot_tracking(snapshot)->sample_bytes > 0 ? "not sampled" : "before tracking began";
}

const char *lh_allocated_line(lh_report *report, const lh_allocated *a) {
  const lh_sites *sites = lh_snapshot_sites(report->snapshot);
  if (a->stack == 0) return NULL;
  bool is_sampled = lh_snapshot_tracking(report->snapshot)->sample_bytes > 0;
  lh_text text = {0};
  lh_text_allocated(&text, lh_site_of_stack(sites, a->stack));
  lh_text_callers(&text, sites, a->stack, a->callers);
  lh_text_format(&text, " (%s of %s%s)", lh_count_text(a->objects).text, lh_count_text(a->of).text,
                 is_sampled ? " sampled" : "");
  if (a->made > 0)
    lh_text_format(&text, "; %s%s of %s made there %s", is_sampled ? "about " : "",
                   lh_count_text(a->stay).text, lh_count_text(a->made).text,
                   a->stay == 1 ? "stays" : "stay");
  return lh_keep_text(report, lh_text_finish(&text));
}
