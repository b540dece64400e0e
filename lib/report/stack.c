/*
** stack.c - where one object was allocated: its site, and the stack that called it, of a program
** that was tracked. heappath tells it before the chain that keeps the object.
*/
#include "name/site_text.h"
#include "report/report.h"

/* So many are told at most: a stack that is deeper is one that a file lies about. */
enum { MOST_CALLERS = 1000 };

typedef struct found {
  lh_id id;
  lh_stack_id stack;
  bool is_tracked, is_sampled;
} found;

LH_CELL(site_of, found, cell->is_absent = !it->is_tracked;
        if (it->stack != 0)
            cell->as.text = lh_keep_text(report, lh_stack_text(lh_snapshot_sites(report->snapshot),
                                                               it->stack, 0)))
LH_CELL(stack_of, found, cell->is_absent = it->stack == 0,
        lh_keep_stack(report, lh_snapshot_sites(report->snapshot), it->stack, MOST_CALLERS))

#define ROW found
static const lh_table answer = LH_TABLE_OF(
    "heap.stack", NULL, NULL,
    LH_COMPUTED(
        "site", NULL, LH_COLUMN_TEXT, site_of,
        "where it was allocated; null where that is not known, absent where the program was not "
        "tracked",
        LH_OPTIONAL),
    LH_COMPUTED("stack", NULL, LH_COLUMN_TEXTS, stack_of,
                "the same, and then its callers; absent where they are not known", LH_OPTIONAL));
#undef ROW

/* Of a deep stack both ends. */
static void tell_callers(lh_teller *t, const lh_sites *sites, lh_stack_id stack) {
  enum { AT_ENDS = LH_LONG_PATH / 2 };
  uint32_t n = 0, i = 0;
  for (lh_stack_id at = lh_stack_of(sites, stack)->parent; at != 0;
       at = lh_stack_of(sites, at)->parent)
    n++;
  for (lh_stack_id at = lh_stack_of(sites, stack)->parent; at != 0;
       at = lh_stack_of(sites, at)->parent, i++) {
    lh_text text = {0};
    if (n > LH_LONG_PATH && i == AT_ENDS)
      lh_say(t, LH_FAINT, "  ... %s more ...", lh_count_text(n - 2 * AT_ENDS).text);
    if (n > LH_LONG_PATH && i >= AT_ENDS && i < n - AT_ENDS) continue;
    lh_text_string(&text, "  from ");
    lh_text_site(&text, lh_site_of_stack(sites, at));
    lh_say_text(t, LH_PLAIN, &text);
  }
}

static found find(const lh_snapshot *snapshot, lh_id id) {
  const lh_tracking *tracking = lh_snapshot_tracking(snapshot);
  return (found){.id = id,
                 .stack = lh_object_stack(snapshot, id),
                 .is_tracked = tracking != NULL,
                 .is_sampled = tracking && tracking->sample_bytes > 0};
}

void lh_tell_stack(lh_teller *t, const lh_snapshot *snapshot, lh_id id) {
  const found f = find(snapshot, id);
  const lh_sites *sites = lh_snapshot_sites(snapshot);
  if (!f.is_tracked) return;
  if (f.stack == 0) {
    if (!f.is_sampled) lh_say(t, LH_PLAIN, "allocated before tracking began");
    return;
  }
  lh_text text = {0};
  lh_text_allocated(&text, lh_site_of_stack(sites, f.stack));
  lh_say_text(t, LH_PLAIN, &text);
  tell_callers(t, sites, f.stack);
}

static void tell(lh_teller *t, lh_report *report) {
  lh_tell_stack(t, report->snapshot, ((const found *)report->answer)->id);
}

static int ask(lh_snapshot *snapshot, const lh_request *request, void *out, lh_error *error) {
  (void)error;
  *(found *)out = find(snapshot, request->id);
  return LH_OK;
}

LH_QUESTION(stack);
