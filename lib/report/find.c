/* find.c - finds the object that a text names, and completes the beginning of a name. */
#include "report/report.h"

#define ROW lh_found
static const lh_table found_table =
    LH_TABLE_OF("heap.found", NULL, NULL,
                LH_OBJECT("object", id, "of several the one that retains most", LH_ADDRESS),
                LH_COUNT("matches", NULL, matches, "how many it names"),
                LH_OF("retained_bytes", NULL, LH_COLUMN_BYTES, id, lh_cell_retained, "of the one"));
#undef ROW

static void print_found(lh_printer *t, lh_report *report) {
  const lh_found *f = report->answer;
  lh_say(t, LH_PLAIN, "%s", lh_object_words(report, f->id));
  report->request.matches = f->matches;
  report->request.class_index = f->class_index;
  lh_print_asked(t, report);
}

static int find_expression(lh_snapshot *snapshot, const lh_request *request, void *out,
                           lh_error *error) {
  if (!request->of) return lh_fail(error, LH_EARGUMENT, "which object?");
  return lh_find(snapshot, request->of, out, error);
}

const lh_question lh_located_question = {.name = "find",
                                         .command = "heappath",
                                         .answer = &found_table,
                                         .find = find_expression,
                                         .print = print_found};

LH_CELL(kind_of, lh_completion, cell->as.text = it->id == LH_NO_OBJECT ? "class" : "object")

#define ROW lh_completion
static const lh_table completion_table =
    LH_TABLE_OF("heap.completion", "name", "names", LH_TEXT("text", "text", text, "what names it"),
                LH_COMPUTED("kind", NULL, LH_COLUMN_TEXT, kind_of, "\"object\" or \"class\""),
                LH_EXAMPLE("object", "address", id, "the object; null for a class", LH_OPTIONAL,
                           .json_key = "address"),
                LH_CLASS("class", class_index, "its class", LH_OPTIONAL),
                LH_COUNT("objects", "objects", objects, "that it names"),
                LH_BYTES("retained_bytes", "bytes", retained_bytes,
                         "of an object; of a class the shallow ones"));
#undef ROW

#define ROW lh_completions
static const lh_table search_answer = LH_TABLE_OF(
    "heap.completions", NULL, NULL,
    LH_INLINE_ROWS("names", list, n, &completion_table, "the likeliest first, at most 20"));
#undef ROW

static void print_search(lh_printer *t, lh_report *report) {
  const lh_completions *c = report->answer;
  lh_print_rows(t, report, &completion_table, c->list, c->n);
}

LH_FOUND_BY(search, lh_completions,
            lh_complete(snapshot, request->of ? request->of : "", it, error))
LH_FREED_BY(search, lh_completions, lh_completions_free(it))

LH_QUESTION(search, .main = "names", .free = free_search);
