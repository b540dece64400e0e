/*
** classes.c - the classes, sorted. Garbage retains nothing, so its table has no such column.
*/
#include "report/report.h"

typedef struct found {
  lh_class_row *rows;
  size_t n_rows; /* within the limit of the request */
  size_t n;
  uint64_t all_bytes; /* the base of shares */
  const char *sort;
  bool garbage;
} found;

LH_CELL(type_of, lh_class_row,
        cell->as.text = lh_type_name(lh_class_at(report->snapshot, it->class_index)->type))

#define ROW lh_class_row
#define CLASS LH_CLASS("class", class_index, "its name and type")
#define TYPE LH_COMPUTED(NULL, "type", LH_COLUMN_TEXT, type_of, NULL, LH_UNBROKEN)
#define SHALLOW LH_BYTES("shallow_bytes", "shallow", shallow_bytes, "of all instances")
#define RETAINED(heading) \
  LH_BYTES("retained_bytes", heading, retained_bytes, "that would go if all of them went")
#define OBJECTS LH_COUNT("objects", "objects", objects, "how many")
static const lh_table class_table =
    LH_TABLE_OF("heap.class", "class", "classes", RETAINED("retained"),
                LH_SHARE("share", retained_bytes), SHALLOW, OBJECTS, TYPE, CLASS);
static const lh_table garbage_table =
    LH_TABLE_OF("heap.class", "class", "classes", LH_SHARE("share", shallow_bytes), SHALLOW,
                OBJECTS, TYPE, CLASS, RETAINED(NULL));
#undef ROW

LH_FREED_BY(found, lh_free(it->rows))

#define ROW found
static const lh_table answer = LH_TABLE_OF(
    "heap.classes", NULL, NULL,
    LH_COUNT("total_classes", NULL, n, "how many there are, listed or not"),
    LH_TEXT("sort", NULL, sort, "by what they are in order", LH_LUA_ONLY),
    LH_FLAG("garbage", garbage, "it is about what nothing refers to any more", LH_LUA_ONLY),
    LH_BYTES("all_bytes", NULL, all_bytes, "of these shares are told", LH_LUA_ONLY),
    LH_ROWS("classes", rows, n_rows, &class_table, "the biggest first", LH_LIMITED));
#undef ROW

static void tell(lh_teller *t, lh_report *report) {
  const found *f = report->answer;
  const char *gap = t->all ? "" : "\n"; /* a blank line, if the heading has no colour */
  lh_say(t, LH_BOLD, "Classes%s by %s%s%s", f->garbage ? " of garbage" : "", f->sort,
         report->request.sort == LH_SORT_COUNT ? "" : " size", gap);
  lh_tell_interval(t, report);
  lh_tell_table(t, report, f->garbage ? &garbage_table : &class_table, f->rows, f->n_rows, f->n);
}

static int ask(lh_snapshot *snapshot, const lh_request *request, void *out, lh_error *error) {
  found *f = out;
  lh_top_query query = {.sort = request->sort,
                        .limit = request->limit,
                        .type_mask = request->type_mask,
                        .garbage = request->garbage,
                        .interval = request->has_interval ? &request->interval : NULL};
  lh_reach reach;
  lh_reach_totals(snapshot, &reach);
  f->all_bytes = request->garbage ? reach.garbage_bytes : reach.reachable_bytes;
  f->garbage = request->garbage;
  f->sort = lh_sort_name(request);
  return lh_rank_classes(snapshot, &query, &f->rows, &f->n_rows, &f->n, error);
}

LH_ITS(uint64_t, whole_of, found, it->all_bytes)

LH_QUESTION(classes, .main = "classes", .whole = whole_of, .free = let_go);
