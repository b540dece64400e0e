/*
** sites.c - allocation sites of a tracked program: the sites of all objects (heaptop --by site),
** the objects of one site, the stack of one object, and the sites of a row's objects.
**
** A site is named by its text, "@app/bus.lua:31 in Bus:on", and by the kind of allocation if given:
** a line may make a table and a string.
*/
#include "report/report.h"

/* ==== Of a row, and of one object ==================================================== */

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

/* A site may make more objects than the row has: others of the class that hang elsewhere, a
** closure's upvalues, the tables in a table. */
static void put_classes_made(lh_text *text, const lh_allocated *a) {
  uint64_t n_other = a->stay - a->stay_of_class;
  if (n_other > 0)
    lh_text_format(text, ": %s of this class in all, %s of %s",
                   lh_count_text(a->stay_of_class).text, lh_count_text(n_other).text,
                   n_other == 1 ? "another class" : "other classes");
}

static void put_made(lh_text *text, const lh_allocated *a, bool is_sampled) {
  lh_number made = lh_count_of(a->made, "object", "objects");
  if (a->stay != a->made || is_sampled)
    lh_text_format(text, "; %s%s of %s made there %s", is_sampled ? "about " : "",
                   lh_count_text(a->stay).text, made.text, a->stay == 1 ? "stays" : "stay");
  else if (a->made == 1)
    lh_text_string(text, "; the one object made there stays");
  else
    lh_text_format(text, "; all %s made there stay", made.text);
  if (!is_sampled) put_classes_made(text, a);
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

static void print_all_callers(lh_printer *t, const lh_sites *sites, lh_stack_id stack) {
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

static stack_result find_stack_of(const lh_snapshot *snapshot, lh_id id) {
  const lh_tracking *tracking = lh_snapshot_tracking(snapshot);
  return (stack_result){.id = id,
                        .stack = lh_object_stack(snapshot, id),
                        .is_tracked = tracking != NULL,
                        .is_sampled = tracking && tracking->sample_bytes > 0};
}

static void print_text_elsewhere(lh_printer *t, const lh_snapshot *snapshot, lh_id id) {
  lh_object string;
  if (lh_type_of(snapshot, id) != LH_TYPE_STRING) return;
  lh_object_at(snapshot, id, &string);
  if (string.as.string.external_bytes > 0)
    lh_say(t, LH_PLAIN,
           "its text, %s, lies outside collectgarbage(\"count\"), and is freed with it",
           lh_format_size(t, string.as.string.external_bytes).text);
  if (string.as.string.is_fixed)
    lh_say(t, LH_PLAIN, "its text is memory that nobody frees, and counts 0 B");
}

void lh_print_origin(lh_printer *t, const lh_snapshot *snapshot, lh_id id) {
  const stack_result f = find_stack_of(snapshot, id);
  const lh_sites *sites = lh_snapshot_sites(snapshot);
  print_text_elsewhere(t, snapshot, id);
  if (!f.is_tracked) return;
  if (f.stack == 0) {
    if (!f.is_sampled) lh_say(t, LH_PLAIN, "allocated before tracking began");
    return;
  }
  lh_text text = {0};
  lh_text_allocated(&text, lh_site_of_stack(sites, f.stack));
  lh_say_text(t, LH_PLAIN, &text);
  print_all_callers(t, sites, f.stack);
}

static void print_stack(lh_printer *t, lh_report *report) {
  lh_print_origin(t, report->snapshot, ((const stack_result *)report->answer)->id);
}

static int find_stack(lh_snapshot *snapshot, const lh_request *request, void *out,
                      lh_error *error) {
  (void)error;
  *(stack_result *)out = find_stack_of(snapshot, request->id);
  return LH_OK;
}

LH_QUESTION(stack);

/* ==== All sites ====================================================================== */

typedef struct sites_result {
  lh_site_row *rows;
  size_t n;
  uint64_t all_bytes; /* the base of shares */
  unsigned n_spans;   /* parts of the history */
  const char *sort;
  lh_tracking tracking;
  bool by_marks; /* spans are by marks, not by the order of allocation */
  bool is_sampled, garbage;
} sites_result;

LH_CELL(share_of, lh_site_row,
        cell->as.n = report->request.garbage ? it->shallow_bytes : it->retained_bytes)
LH_CELL(ages_of, void, cell->as.series.n = ((const sites_result *)report->answer)->n_spans)

/* Eighths of the order of allocation mean no time to the user. */
LH_HEADING_OF(ages_heading, ((const sites_result *)report->answer)->by_marks ? "ages" : NULL)
LH_ITS(bool, has_site, lh_site_row, it->site > 0)

#define ROW lh_site_row
static const lh_table site_table = LH_TABLE_OF(
    "heap.site_row", "site", "sites",
    LH_BYTES("retained_bytes", "retained", retained_bytes, "that would go if all of them went"),
    LH_COMPUTED(NULL, "share", LH_COLUMN_SHARE, share_of, NULL),
    LH_BYTES("shallow_bytes", "shallow", shallow_bytes, "of the objects that are there"),
    LH_COUNT("objects", "objects", objects, "how many are there; sampled: estimated"),
    LH_COUNT("sampled", NULL, sampled, "how many are known; sampled: fewer"),
    LH_COUNT("made_objects", "of made", counts.made_objects,
             "there since tracking began, dead or alive", LH_WHERE(has_site)),
    LH_BYTES("made_bytes", "bytes made", counts.made_bytes,
             "of these and of what was allocated for them", LH_WIDE, LH_WHERE(has_site)),
    LH_COUNT("freed_objects", NULL, counts.freed_objects, "how many of these are freed",
             LH_WHERE(has_site)),
    LH_BYTES("freed_bytes", NULL, counts.freed_bytes, "of these", LH_WHERE(has_site)),
    LH_COUNT_SERIES("ages", NULL, ages,
                    "how many were allocated before the first mark and in each interval between "
                    "marks (of more than seven in sevenths of them); without marks in eighths of "
                    "the order of allocation",
                    LH_WIDE, LH_HEADING(ages_heading), .compute = ages_of),
    LH_OF_SITE("maker", "by", LH_COLUMN_TEXT, site, lh_cell_maker,
               "what allocates there, such as \"table\"", LH_OPTIONAL, LH_UNBROKEN),
    LH_OF_SITE("site", "site", LH_COLUMN_TEXT, site, lh_cell_site_or_why,
               "where they were allocated"));
#undef ROW

#define ROW sites_result
static const lh_table sites_answer = LH_TABLE_OF(
    "heap.sites", NULL, NULL, LH_COUNT("total_sites", NULL, n, "how many there are, listed or not"),
    LH_TEXT("sort", NULL, sort, "by what they are in order", LH_LUA_ONLY),
    LH_FLAG("garbage", garbage, "it is about what nothing refers to any more", LH_LUA_ONLY),
    LH_BYTES("sample_bytes", NULL, tracking.sample_bytes,
             "mean distance of samples; 0: every allocation was recorded"),
    LH_COUNT("made", NULL, tracking.made, "objects that were made since tracking began"),
    LH_COUNT("unattributed", NULL, tracking.unattributed, "how many of them have no known site"),
    LH_ROWS("sites", rows, n, &site_table, "the biggest first, and last what is not known where",
            LH_LIMITED, LH_OWNED));
#undef ROW

static void print_tracking(lh_printer *t, const sites_result *f) {
  lh_text text = {0};
  lh_text_format(&text, "%s made since tracking began, %s",
                 lh_count_of(f->tracking.made, "object was", "objects were").text,
                 f->is_sampled ? "estimated" : "all recorded");
  if (f->is_sampled)
    lh_text_format(&text, " by samples, one in %s: objects and shallow sizes are estimates",
                   lh_format_size(t, f->tracking.sample_bytes).text);
  if (f->tracking.unattributed > 0) {
    lh_text_format(&text, "; %s of them (", lh_count_text(f->tracking.unattributed).text);
    lh_put_little_share(&text, f->tracking.unattributed, f->tracking.made);
    lh_text_string(&text, ") unattributed");
  }
  lh_say_text(t, LH_FAINT, &text);
}

static void print_sites(lh_printer *t, lh_report *report) {
  const sites_result *f = report->answer;
  const char *gap = t->all ? "" : "\n"; /* a blank line, if the heading has no colour */
  lh_say(t, LH_BOLD, "Sites%s by %s%s%s", f->garbage ? " of garbage" : "", f->sort,
         report->request.sort == LH_SORT_COUNT ? "" : " size", gap);
  lh_print_table(t, report, &site_table, f->rows, f->n, f->n);
  print_tracking(t, f);
}

static int find_sites(lh_snapshot *snapshot, const lh_request *request, void *out,
                      lh_error *error) {
  sites_result *f = out;
  lh_top_query query = {
      .sort = request->sort, .type_mask = request->type_mask, .garbage = request->garbage};
  lh_reach reach;
  lh_history history;
  int code = lh_top_sites(snapshot, &query, &f->rows, &f->n, error);
  if (!code) code = lh_find_history(snapshot, &history, error);
  if (code) return code;
  f->n_spans = history.n;
  f->by_marks = history.by_marks;
  lh_history_free(&history);
  lh_reach_totals(snapshot, &reach);
  f->all_bytes = request->garbage ? reach.garbage_bytes : reach.reachable_bytes;
  f->tracking = *lh_snapshot_tracking(snapshot);
  f->is_sampled = f->tracking.sample_bytes > 0;
  f->garbage = request->garbage;
  f->sort = lh_sort_name(request);
  return LH_OK;
}

LH_QUESTION(sites, .main = "sites", LH_WHOLE(sites_result, all_bytes));

/* ==== Objects of a site ============================================================== */

typedef struct site_object {
  lh_id id;
} site_object;

typedef struct site_objects_result {
  const char *site;
  site_object *objects;
  size_t n, capacity;
  uint64_t bytes;
} site_objects_result;

#define ROW site_object
static const lh_table object_table = LH_TABLE_OF(
    "heap.site_object", "object", "objects", LH_OBJECT("object", id, "itself", LH_ADDRESS),
    LH_RETAINED("retained", id, "what would go if it went"),
    LH_OF("shallow_bytes", "shallow", LH_COLUMN_BYTES, id, lh_cell_shallow, "its own"),
    LH_EXAMPLE(NULL, "address", id, NULL),
    LH_OF(NULL, "class", LH_COLUMN_TEXT, id, lh_cell_what, NULL),
    LH_HELD_BY("held by", id, "a path"));
#undef ROW

#define ROW site_objects_result
static const lh_table site_objects_answer =
    LH_TABLE_OF("heap.site_objects", NULL, NULL, LH_NAME("site", site, "where they were allocated"),
                LH_COUNT("total_objects", NULL, n, "how many there are, listed or not"),
                LH_BYTES("shallow_bytes", NULL, bytes, "of all of them"),
                LH_ROWS("objects", objects, n, &object_table, "those that retain most first",
                        LH_LIMITED, LH_OWNED));
#undef ROW

static void print_site_objects(lh_printer *t, lh_report *report) {
  const site_objects_result *f = report->answer;
  lh_say(t, LH_BOLD, "%s that were allocated at %s are there: %s",
         lh_count_of(f->n, object_table.one, object_table.many).text,
         lh_name_words(report, f->site), lh_format_size(t, f->bytes).text);
  lh_print_table(t, report, &object_table, f->objects, f->n, f->n);
}

/* ==== Objects ======================================================================== */

/* The sites with this text: several if a file was loaded twice. NULL: out of memory. */
static bool *find_named(const lh_sites *sites, const char *text, const char *maker) {
  bool *are = lh_alloc_zeroed((size_t)lh_n_sites(sites) + 1, sizeof *are);
  for (lh_site_id id = 1; are && id <= lh_n_sites(sites); id++) {
    const lh_site *site = lh_site_of(sites, id);
    char *other = lh_site_text(site);
    bool failed = !other;
    if (other)
      are[id] =
          strcmp(other, text) == 0 && (!maker || strcmp(lh_maker_name(site->maker), maker) == 0);
    lh_free(other);
    if (!failed) continue;
    lh_free(are);
    are = NULL;
  }
  return are;
}

static bool is_at(const lh_snapshot *s, const bool *are, lh_id id) {
  const lh_sites *sites = lh_snapshot_sites(s);
  lh_stack_id stack = lh_object_stack(s, id);
  return stack != 0 && stack <= lh_n_stacks(sites) && are[lh_stack_of(sites, stack)->site];
}

static bool gather_objects(site_objects_result *f, const lh_snapshot *s, const lh_request *request,
                           const bool *are) {
  for (lh_id id = 1; id <= lh_object_count(s); id++) {
    if (!is_at(s, are, id) || !lh_is_asked_for(s, request, id)) continue;
    if (request->has_interval && !lh_in_interval(s, request->interval, id)) continue;
    if (!lh_grow(&f->objects, f->n, &f->capacity, sizeof *f->objects)) return false;
    f->objects[f->n++] = (site_object){id};
    f->bytes += lh_shallow_bytes(s, id);
  }
  return true;
}

static int by_retained(const void *a, const void *b, void *data) {
  const site_object *x = a, *y = b;
  uint64_t one = lh_retained_bytes(data, x->id), other = lh_retained_bytes(data, y->id);
  return LH_MORE(one, other) ?: LH_LESS(x->id, y->id);
}

static int find_site_objects(lh_snapshot *snapshot, const lh_request *request, void *out,
                             lh_error *error) {
  site_objects_result *f = out;
  const lh_sites *sites = lh_snapshot_sites(snapshot);
  f->site = request->name;
  if (!request->name) return lh_fail(error, LH_EARGUMENT, "which site?");
  if (!sites) return lh_fail(error, LH_EARGUMENT, "the program was not tracked");
  bool *are = find_named(sites, request->name, request->filter);
  bool fine = are && gather_objects(f, snapshot, request, are);
  lh_free(are);
  if (fine && f->n > 1) qsort_r(f->objects, f->n, sizeof *f->objects, by_retained, snapshot);
  return fine ? LH_OK : lh_fail_memory(error, "telling what was allocated at a site");
}

LH_QUESTION(site_objects, .main = "objects");
