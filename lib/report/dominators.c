/*
** dominators.c - the objects whose removal would free an object, nearest first.
*/
#include "report/report.h"

typedef struct dominator {
  lh_id id; /* LH_NO_OBJECT: a row for `skipped` objects */
  uint64_t skipped;
} dominator;

typedef struct dominators_result {
  lh_id id;
  dominator *list;
  size_t n;
} dominators_result;

/* ==== Columns ======================================================================== */

LH_CELL(what_of, dominator,
        cell->as.text = it->skipped > 0
                            ? lh_words(report, "... %s more ...", lh_count_text(it->skipped).text)
                            : lh_kept(report, lh_what_text(report->snapshot, it->id)))

LH_STYLE(style_of, dominator, it->skipped > 0 ? LH_FAINT : LH_PLAIN)

#define ROW dominator
static const lh_table dominator_table =
    LH_TABLE_WITH((.style = style_of), "heap.dominator", "object", "objects",
                  LH_OBJECT("object", id, "one of them", LH_ADDRESS),
                  LH_OF("shallow_bytes", NULL, LH_COLUMN_BYTES, id, lh_cell_shallow, "its own"),
                  LH_OF("retained_bytes", "would free", LH_COLUMN_BYTES, id, lh_cell_retained,
                        "what would go if it went"),
                  LH_EXAMPLE(NULL, "address", id, NULL),
                  LH_COMPUTED(NULL, "class", LH_COLUMN_TEXT, what_of, NULL),
                  LH_OF(NULL, "path", LH_COLUMN_TEXT, id, lh_cell_path, NULL));
#undef ROW

#define ROW dominators_result
static const lh_table dominators_answer = LH_TABLE_OF(
    "heap.dominators", NULL, NULL,
    LH_COUNT("total_dominators", NULL, n, "how many there are, listed or not", LH_LUA_ONLY),
    LH_ROWS("dominators", list, n, &dominator_table, "the nearest first", LH_LIMITED, LH_OWNED));
#undef ROW

/* ==================================================================================== */

static void print_chain(lh_teller *t, lh_report *report, const dominators_result *f) {
  enum { AT_ENDS = LH_LONG_PATH / 2 };
  dominator told[LH_LONG_PATH + 1];
  size_t n = 0;
  for (size_t i = 0; i < f->n; i++) {
    if (f->n > LH_LONG_PATH && i == AT_ENDS) {
      told[n++] = (dominator){LH_NO_OBJECT, f->n - 2 * AT_ENDS};
      i = f->n - AT_ENDS;
    }
    told[n++] = f->list[i];
  }
  lh_print_rows(t, report, &dominator_table, told, n);
}

static void print_dominators(lh_teller *t, lh_report *report) {
  const dominators_result *f = report->answer;
  if (!lh_is_reachable(report->snapshot, f->id)) return;
  lh_say(t, LH_BOLD, "%s, which retains %s, %s", lh_object_words(report, f->id),
         lh_told_size(t, lh_retained_bytes(report->snapshot, f->id)).text,
         f->n == 0   ? "depends on no single object: roots or independent paths hold it"
         : f->n == 1 ? "would go too if this went:"
                     : "would go too if any of these went:");
  lh_print_asked(t, report);
  lh_print_stack(t, report->snapshot, f->id);
  if (f->n == 0) return;
  lh_say(t, LH_PLAIN, "%s", "");
  print_chain(t, report, f);
}

static int find_dominators(lh_snapshot *snapshot, const lh_request *request, void *out,
                           lh_error *error) {
  dominators_result *f = out;
  size_t capacity = 0;
  f->id = request->id;
  if (f->id == LH_ROOT || !lh_is_reachable(snapshot, f->id)) return LH_OK;
  for (lh_id id = f->id; (id = lh_immediate_dominator(snapshot, id)) != LH_ROOT;) {
    if (!lh_grow(&f->list, f->n, &capacity, sizeof *f->list))
      return lh_fail_memory(error, "following dominators");
    f->list[f->n++] = (dominator){id, 0};
  }
  return LH_OK;
}

LH_QUESTION(dominators, .command = "heappath", .main = "dominators");
