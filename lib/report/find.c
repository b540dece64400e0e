/*
** find.c - the object that a text names; of several the one that retains most.
*/
#include "report/report.h"

#define ROW lh_found
static const lh_table found_table =
    LH_TABLE_OF("heap.found", NULL, NULL,
                LH_OBJECT("object", id, "of several the one that retains most", LH_ADDRESS),
                LH_COUNT("matches", NULL, matches, "how many it names"),
                LH_OF("retained_bytes", NULL, LH_COLUMN_BYTES, id, lh_cell_retained, "of the one"));
#undef ROW

static void tell_found(lh_teller *t, lh_report *report) {
  const lh_found *f = report->answer;
  lh_text text = {0};
  lh_put_object(&text, report->snapshot, f->id);
  lh_say_text(t, LH_PLAIN, &text);
  report->request.matches = f->matches;
  report->request.class_index = f->class_index;
  lh_tell_asked(t, report);
}

static int find(lh_snapshot *snapshot, const lh_request *request, void *out, lh_error *error) {
  if (!request->of) return lh_fail(error, LH_EARGUMENT, "which object?");
  return lh_find(snapshot, request->of, out, error);
}

const lh_question lh_located_question = {
    .name = "find", .command = "heappath", .answer = &found_table, .ask = find, .tell = tell_found};
