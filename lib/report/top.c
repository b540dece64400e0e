/*
** top.c - the biggest classes and objects. Garbage has no path and retains nothing, so its tables
** have no such columns.
**
** By retained size, a linked list is its first element, unless the request wants all elements.
*/
#include "report/report.h"

typedef struct classes_result {
  lh_class_row *rows;
  size_t n_rows; /* within the limit of the request */
  size_t n;
  uint64_t all_bytes; /* the base of shares */
  const char *sort;
  bool garbage;
} classes_result;

LH_CELL(type_of, lh_class_row,
        cell->as.text = lh_type_name(lh_class_at(report->snapshot, it->class_index)->type))

#define ROW lh_class_row
#define CLASS LH_CLASS("class", class_index, "its name and type")
#define TYPE LH_COMPUTED(NULL, "type", LH_COLUMN_TEXT, type_of, NULL, LH_UNBROKEN)
#define CLASS_SHALLOW LH_BYTES("shallow_bytes", "shallow", shallow_bytes, "of all instances")
#define CLASS_RETAINED(heading) \
  LH_BYTES("retained_bytes", heading, retained_bytes, "that would go if all of them went")
#define CLASS_OBJECTS LH_COUNT("objects", "objects", objects, "how many")
static const lh_table class_table =
    LH_TABLE_OF("heap.class", "class", "classes", CLASS_RETAINED("retained"),
                LH_SHARE("share", retained_bytes), CLASS_SHALLOW, CLASS_OBJECTS, TYPE, CLASS);
static const lh_table garbage_classes =
    LH_TABLE_OF("heap.class", "class", "classes", LH_SHARE("share", shallow_bytes), CLASS_SHALLOW,
                CLASS_OBJECTS, TYPE, CLASS, CLASS_RETAINED(NULL));
#undef ROW

#define ROW classes_result
static const lh_table classes_answer = LH_TABLE_OF(
    "heap.classes", NULL, NULL,
    LH_COUNT("total_classes", NULL, n, "how many there are, listed or not"),
    LH_TEXT("sort", NULL, sort, "by what they are in order", LH_LUA_ONLY),
    LH_FLAG("garbage", garbage, "it is about what nothing refers to any more", LH_LUA_ONLY),
    LH_BYTES("all_bytes", NULL, all_bytes, "of these shares are told", LH_LUA_ONLY),
    LH_ROWS("classes", rows, n_rows, &class_table, "the biggest first", LH_LIMITED, LH_OWNED));
#undef ROW

static void print_classes(lh_printer *t, lh_report *report) {
  const classes_result *f = report->answer;
  const char *gap = t->all ? "" : "\n"; /* a blank line, if the heading has no colour */
  lh_say(t, LH_BOLD, "Classes%s by %s%s%s", f->garbage ? " of garbage" : "", f->sort,
         report->request.sort == LH_SORT_COUNT ? "" : " size", gap);
  lh_print_interval(t, report);
  lh_print_table(t, report, f->garbage ? &garbage_classes : &class_table, f->rows, f->n_rows, f->n);
}

static int find_classes(lh_snapshot *snapshot, const lh_request *request, void *out,
                        lh_error *error) {
  classes_result *f = out;
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

LH_QUESTION(classes, .main = "classes", LH_WHOLE(classes_result, all_bytes));

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
static const lh_table garbage_objects =
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

static void print_objects(lh_printer *t, lh_report *report) {
  const objects_result *f = report->answer;
  const char *gap = t->all ? "" : "\n"; /* a blank line, if the heading has no colour */
  size_t told = t->limit != 0 && t->limit < f->n ? t->limit : f->n;
  lh_say(t, LH_BOLD, "%s by %s size%s", f->garbage ? "Garbage" : "Objects", f->sort, gap);
  lh_print_interval(t, report);
  lh_print_rows(t, report, f->garbage ? &garbage_objects : &object_table, f->ids, told);
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

LH_QUESTION(objects, .main = "objects", LH_WHOLE(objects_result, all_bytes));
