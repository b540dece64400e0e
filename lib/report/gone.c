/*
** gone.c - what is taken as gone: what --ignore leaves out of all answers, and what --cut tries.
*/
#include <string.h>

#include "report/report.h"

/* Entries of tables count once, with their keys. */
static uint64_t count_references(const lh_without *what) {
  uint64_t n = 0;
  for (size_t i = 0; i < what->n_edges; i++) {
    const lh_edge *edge = &what->edges[i], *value = edge + 1;
    n += edge->kind != LH_EDGE_KEY || i + 1 == what->n_edges || value->kind != LH_EDGE_VALUE ||
         value->source != edge->source || value->key.kind != LH_VALUE_OBJECT ||
         value->key.as.object != edge->target;
  }
  return n;
}

void lh_references_of(lh_report *report, const void *row, lh_cell *cell) {
  (void)report;
  cell->as.n = count_references(&((const lh_gone *)row)->what);
}

char *lh_gone_text(const lh_snapshot *snapshot, const lh_gone *gone) {
  uint64_t n_references = count_references(&gone->what);
  lh_text text = {0};
  if (gone->text)
    lh_text_escaped(&text, gone->text, strlen(gone->text), false);
  else if (gone->what.n_edges > 0)
    lh_put_freed(&text, lh_edge_text(snapshot, gone->what.edges));
  else
    lh_put_object(&text, snapshot, *gone->what.objects);
  if (n_references > 1)
    lh_text_format(&text, " (%s references)", lh_count_text(n_references).text);
  else if (gone->what.n_objects > 1)
    lh_text_format(&text, " (%s objects)", lh_count_text(gone->what.n_objects).text);
  return lh_text_finish(&text);
}

/* 30 Listener in the snapshot; this is the one that retains most */
static void tell_matches(lh_teller *t, const lh_report *report) {
  const lh_request *request = &report->request;
  if (request->matches < 2) return;
  lh_say(t, LH_PLAIN, "%s %s in the snapshot; this is the one that retains most",
         lh_count_text(request->matches).text,
         request->class_index == UINT32_MAX
             ? "objects like that"
             : lh_class_at(report->snapshot, request->class_index)->name);
}

/* ignored: _G.debugger.* (12 references) */
static void tell_ignored(lh_teller *t, const lh_report *report) {
  lh_text text = {0};
  for (size_t i = 0; i < report->request.n_ignored; i++) {
    const lh_gone *gone = &report->request.ignored[i];
    if (gone->what.n_edges + gone->what.n_objects == 0) continue;
    lh_text_string(&text, text.n == 0 ? "ignored: " : ", ");
    lh_put_freed(&text, lh_gone_text(report->snapshot, gone));
  }
  if (text.n > 0) lh_say_text(t, LH_PLAIN, &text);
}

void lh_tell_asked(lh_teller *t, lh_report *report) {
  tell_matches(t, report);
  tell_ignored(t, report);
}

#define ROW lh_gone
static const lh_table gone = LH_TABLE_OF("heap.gone", "pattern", "patterns", LH_GONE_COLUMNS());
#undef ROW

#define ROW lh_request
static const lh_table answer =
    LH_TABLE_OF("heap.ignored", NULL, NULL,
                LH_ROWS("ignored", ignored, n_ignored, &gone, "one for each pattern"));
#undef ROW

/* The answer is what was asked. */
static int ask(lh_snapshot *snapshot, const lh_request *request, void *out, lh_error *error) {
  (void)snapshot, (void)error;
  *(lh_request *)out = *request;
  return LH_OK;
}

const lh_question lh_ignored_question = {
    .name = "ignored", .answer = &answer, .ask = ask, .tell = lh_tell_asked};
