/*
** allocated.c - allocation sites of a row's objects, and the stack of one object, which heappath
** prints.
**
**     allocated at @app/bus.lua:31 in Bus:on, from @app/session.lua:88 in connect;
**     1,000 of 51,000 objects made there stay
*/
#include "name/site_text.h"
#include "report/report.h"

LH_MADE_TEXT(site_of, lh_allocated,
             lh_stack_text(lh_snapshot_sites(report->snapshot), it->stack, 0))

LH_CELL(stack_of, lh_allocated,
        lh_keep_stack(report, lh_snapshot_sites(report->snapshot), it->stack, it->callers))

void lh_keep_stack(lh_report *report, const lh_sites *sites, lh_stack_id stack, uint32_t callers) {
  for (uint32_t i = 0; stack != 0 && stack <= lh_n_stacks(sites) && i <= callers; i++) {
    (void)lh_kept(report, lh_stack_text(sites, stack, 0));
    stack = lh_stack_of(sites, stack)->parent;
  }
}

LH_ITS(bool, has_made, lh_allocated, it->made > 0)

#define ROW lh_allocated
const lh_table lh_allocated_table = LH_TABLE_OF(
    "heap.allocated", NULL, NULL,
    LH_COMPUTED("site", NULL, LH_COLUMN_TEXT, site_of, "that most of them have"),
    LH_COMPUTED("stack", NULL, LH_COLUMN_TEXTS, stack_of,
                "the site, and its caller where nine in ten of these have one"),
    LH_COUNT("objects", NULL, objects, "how many have all of that"),
    LH_COUNT("of", NULL, of, "so many of which it is known, or would be"),
    LH_COUNT("made", NULL, made,
             "objects that were made there: between the first two snapshots, of one since tracking "
             "began",
             LH_WHERE(has_made)),
    LH_COUNT("stay", NULL, stay, "how many of these are still alive", LH_WHERE(has_made)));
#undef ROW

void lh_absent_unless_allocated(lh_report *report, const void *row, lh_cell *cell) {
  (void)report, (void)row;
  cell->is_absent = ((const lh_allocated *)cell->as.rows.list)->stack == 0;
}

void lh_cell_site(lh_report *report, lh_site_id id, lh_cell *cell) {
  const lh_site *site = id == 0 ? NULL : lh_site_of(lh_snapshot_sites(report->snapshot), id);
  cell->as.text = site ? lh_kept(report, lh_site_text(site)) : NULL;
}

void lh_cell_site_or_why(lh_report *report, lh_site_id id, lh_cell *cell) {
  bool is_sampled = lh_snapshot_tracking(report->snapshot)->sample_bytes > 0;
  lh_cell_site(report, id, cell);
  if (id == 0) cell->as.text = is_sampled ? "not sampled" : "before tracking began";
}

void lh_cell_maker(lh_report *report, lh_site_id id, lh_cell *cell) {
  const lh_site *site = id == 0 ? NULL : lh_site_of(lh_snapshot_sites(report->snapshot), id);
  cell->as.text = site ? lh_maker_name(site->maker) : NULL;
}

/* A site may make more objects than the row has. */
static void put_made(lh_text *text, const lh_allocated *a, bool is_sampled) {
  lh_number made = lh_count_of(a->made, "object", "objects");
  if (a->stay != a->made || is_sampled)
    lh_text_format(text, "; %s%s of %s made there %s", is_sampled ? "about " : "",
                   lh_count_text(a->stay).text, made.text, a->stay == 1 ? "stays" : "stay");
  else if (a->made == 1)
    lh_text_string(text, "; the one object made there stays");
  else
    lh_text_format(text, "; all %s made there stay", made.text);
}

/* Adds counts if not all objects have this site, or if the profile is sampled. */
const char *lh_allocated_line(lh_report *report, const lh_allocated *a) {
  const lh_sites *sites = lh_snapshot_sites(report->snapshot);
  if (a->stack == 0) return NULL;
  bool is_sampled = lh_snapshot_tracking(report->snapshot)->sample_bytes > 0;
  lh_text text = {0};
  lh_text_allocated(&text, lh_site_of_stack(sites, a->stack));
  lh_text_callers(&text, sites, a->stack, a->callers);
  if (a->objects < a->of || is_sampled)
    lh_text_format(&text, " (%s of %s %s)", lh_count_text(a->objects).text,
                   lh_count_text(a->of).text, is_sampled ? "sampled" : "looked at");
  if (a->made > 0) put_made(&text, a, is_sampled);
  return lh_kept(report, lh_text_finish(&text));
}

/* ==== One object ===================================================================== */

/* Longest list of callers: only a damaged file has deeper stacks. */
enum { MOST_CALLERS = 1000 };

typedef struct stack_result {
  lh_id id;
  lh_stack_id stack;
  bool is_tracked, is_sampled;
} stack_result;

LH_CELL(own_site_of, stack_result, cell->is_absent = !it->is_tracked;
        if (it->stack != 0)
            cell->as.text = lh_kept(report, lh_stack_text(lh_snapshot_sites(report->snapshot),
                                                          it->stack, 0)))
LH_CELL(own_stack_of, stack_result, cell->is_absent = it->stack == 0,
        lh_keep_stack(report, lh_snapshot_sites(report->snapshot), it->stack, MOST_CALLERS))

#define ROW stack_result
static const lh_table stack_answer = LH_TABLE_OF(
    "heap.stack", NULL, NULL,
    LH_COMPUTED(
        "site", NULL, LH_COLUMN_TEXT, own_site_of,
        "where it was allocated; null where that is not known, absent where the program was not "
        "tracked",
        LH_OPTIONAL),
    LH_COMPUTED("stack", NULL, LH_COLUMN_TEXTS, own_stack_of,
                "the same, and then its callers; absent where they are not known", LH_OPTIONAL));
#undef ROW

static void print_callers(lh_teller *t, const lh_sites *sites, lh_stack_id stack) {
  enum { AT_ENDS = LH_LONG_PATH / 2 };
  uint32_t n = 0, i = 0;
  for (lh_stack_id at = stack; (at = lh_stack_of(sites, at)->parent) != 0;) n++;
  for (lh_stack_id at = stack; (at = lh_stack_of(sites, at)->parent) != 0; i++) {
    if (n > LH_LONG_PATH && i == AT_ENDS)
      lh_say(t, LH_FAINT, "  ... %s more ...", lh_count_text(n - 2 * AT_ENDS).text);
    if (n > LH_LONG_PATH && i >= AT_ENDS && i < n - AT_ENDS) continue;
    lh_say(t, LH_PLAIN, "  from %s", lh_kept(t->report, lh_stack_text(sites, at, 0)));
  }
}

static stack_result find(const lh_snapshot *snapshot, lh_id id) {
  const lh_tracking *tracking = lh_snapshot_tracking(snapshot);
  return (stack_result){.id = id,
                        .stack = lh_object_stack(snapshot, id),
                        .is_tracked = tracking != NULL,
                        .is_sampled = tracking && tracking->sample_bytes > 0};
}

void lh_print_stack(lh_teller *t, const lh_snapshot *snapshot, lh_id id) {
  const stack_result f = find(snapshot, id);
  const lh_sites *sites = lh_snapshot_sites(snapshot);
  if (!f.is_tracked) return;
  if (f.stack == 0) {
    if (!f.is_sampled) lh_say(t, LH_PLAIN, "allocated before tracking began");
    return;
  }
  lh_text text = {0};
  lh_text_allocated(&text, lh_site_of_stack(sites, f.stack));
  lh_say_text(t, LH_PLAIN, &text);
  print_callers(t, sites, f.stack);
}

static void print_stack(lh_teller *t, lh_report *report) {
  lh_print_stack(t, report->snapshot, ((const stack_result *)report->answer)->id);
}

static int find_stack(lh_snapshot *snapshot, const lh_request *request, void *out,
                      lh_error *error) {
  (void)error;
  *(stack_result *)out = find(snapshot, request->id);
  return LH_OK;
}

LH_QUESTION(stack);
