/*
** objects.c - the biggest objects. Garbage has no path and retains nothing.
**
** By retained size, a linked list is its first element, unless the request wants all elements.
*/
#include "report/report.h"

typedef struct object {
  lh_id id;
} object;

typedef struct objects_result {
  lh_id *ids;
  size_t n, n_left_out;
  uint64_t total, all_bytes; /* all_bytes: the base of shares */
  const char *sort;
  bool garbage;
} objects_result;

#define ROW object
#define OBJECT LH_OBJECT("object", id, "itself", LH_ADDRESS)
#define RETAINED(heading) LH_RETAINED(heading, id, "what would go if it went; of garbage 0")
#define SHARE(bytes) LH_OF(NULL, "share", LH_COLUMN_SHARE, id, bytes, NULL)
#define SHALLOW LH_OF("shallow_bytes", "shallow", LH_COLUMN_BYTES, id, lh_cell_shallow, "its own")
#define ADDRESS LH_EXAMPLE(NULL, "address", id, NULL)
#define WHAT LH_OF(NULL, "class", LH_COLUMN_TEXT, id, lh_cell_what, NULL)
#define DISTANCE                                                 \
  LH_OF("distance", NULL, LH_COLUMN_COUNT, id, lh_cell_distance, \
        "references on the shortest path from a root; null for garbage", LH_OPTIONAL)
#define PATH(heading) LH_HELD_BY(heading, id, "a path; null for garbage")
static const lh_table object_table =
    LH_TABLE_OF(NULL, "object", "objects", OBJECT, RETAINED("retained"), SHARE(lh_cell_retained),
                SHALLOW, ADDRESS, WHAT, DISTANCE, PATH("path"));
static const lh_table garbage_table =
    LH_TABLE_OF(NULL, "object", "objects", OBJECT, RETAINED(NULL), SHARE(lh_cell_shallow), SHALLOW,
                ADDRESS, WHAT, DISTANCE, PATH(NULL));
#undef ROW

#define ROW objects_result
static const lh_table objects_answer = LH_TABLE_OF(
    "heap.objects", NULL, NULL,
    LH_COUNT("total_objects", NULL, total, "how many there are, listed or not"),
    LH_COUNT("left_out", NULL, n_left_out, "elements of lists, whose first is shown", LH_LUA_ONLY),
    LH_TEXT("sort", NULL, sort, "by what they are in order", LH_LUA_ONLY),
    LH_FLAG("garbage", garbage, "it is about what nothing refers to any more", LH_LUA_ONLY),
    LH_ROWS("objects", ids, n, &object_table, "the biggest first", LH_OWNED));
#undef ROW

static void print_objects(lh_teller *t, lh_report *report) {
  const objects_result *f = report->answer;
  const char *gap = t->all ? "" : "\n"; /* a blank line, if the heading has no colour */
  size_t told = t->limit != 0 && t->limit < f->n ? t->limit : f->n;
  lh_say(t, LH_BOLD, "%s by %s size%s", f->garbage ? "Garbage" : "Objects", f->sort, gap);
  lh_print_interval(t, report);
  lh_print_rows(t, report, f->garbage ? &garbage_table : &object_table, f->ids, told);
  if (f->n_left_out > 0)
    lh_say(t, LH_FAINT, "%s of lists left out, whose first is shown",
           lh_count_of(f->n_left_out, "element", "elements").text);
  lh_print_hidden(t, &object_table, f->total - told - f->n_left_out);
}

static int find_objects(lh_snapshot *snapshot, const lh_request *request, void *out,
                        lh_error *error) {
  objects_result *f = out;
  const lh_top_query query = {.sort = request->sort,
                              .limit = request->limit,
                              .type_mask = request->type_mask,
                              .garbage = request->garbage,
                              .interval = request->has_interval ? &request->interval : NULL};
  lh_request by_size = *request;
  lh_reach reach;
  lh_reach_totals(snapshot, &reach);
  f->all_bytes = request->garbage ? reach.garbage_bytes : reach.reachable_bytes;
  if (by_size.sort == LH_SORT_COUNT) by_size.sort = LH_SORT_RETAINED;
  f->sort = lh_sort_name(&by_size);
  f->garbage = request->garbage;
  return lh_rank_objects(snapshot, &query, request->whole_lists, &f->ids, &f->n, &f->n_left_out,
                         &f->total, error);
}

LH_ITS(uint64_t, whole_of, objects_result, it->all_bytes)

LH_QUESTION(objects, .main = "objects", .whole = whole_of);
