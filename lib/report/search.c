/*
** search.c - what the beginning of a name may become: for a field in which somebody looks for an
** object, and writes one letter after the other.
*/
#include "report/report.h"

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
static const lh_table answer = LH_TABLE_OF(
    "heap.completions", NULL, NULL,
    LH_INLINE_ROWS("names", list, n, &completion_table, "the likeliest first, at most 20"));
#undef ROW

static void tell(lh_teller *t, lh_report *report) {
  const lh_completions *c = report->answer;
  lh_tell_rows(t, report, &completion_table, c->list, c->n);
}

LH_ANSWERED_BY(lh_completions, lh_complete(snapshot, request->of ? request->of : "", it, error))
LH_FREED_BY(lh_completions, lh_completions_free(it))

LH_QUESTION(search, .main = "names", .free = let_go);
