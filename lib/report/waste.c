/* waste.c - memory that a program could give back: how much, of which kind, where, and how. */
#include "report/report.h"

/* Without -n: places of each kind; kinds below this part of the heap (1/100) are only counted. */
enum { USUAL_ROWS = 5, LEAST_PART = 100 };

typedef struct kind {
  lh_waste_kind kind;
  lh_waste_sum sum;
} kind;

typedef struct waste_result {
  const lh_waste *waste; /* owned by the snapshot */
  uint64_t bytes, string_table_bytes, block_bytes;
  kind kinds[LH_WASTE_KINDS]; /* most bytes first; small tables, not in the sum, last */
  uint32_t n_kinds;
} waste_result;

#define ROW lh_waste_row
#define BYTES LH_BYTES("bytes", "bytes", bytes, "that could be given back")
#define OBJECTS(heading) LH_COUNT("objects", heading, objects, "how many")
#define SLOTS                                                                       \
  LH_COUNT("slots", "slots", slots, "of tables with empty ones, all", LH_OPTIONAL), \
      LH_COUNT("used", "used", used, "of these, with a value", LH_OPTIONAL)
#define EXAMPLE LH_EXAMPLE("example", "example", example, "the one with most of them")
#define CLASS(heading) LH_CLASS(heading, class_index, "of the objects", LH_OPTIONAL)
#define HELD_BY LH_TEXT("held_by", "held by", held_by, "a path", LH_OPTIONAL)
#define ORIGINAL LH_EXAMPLE("original", NULL, original, "what the example is equal to", LH_OPTIONAL)
#define BY_HASH \
  LH_COUNT("by_hash", NULL, by_hash, "of strings: equal by length and hash", LH_OPTIONAL)
#define SOURCE \
  LH_TEXT("source", "source", held_by, "of debug information, in place of held_by", LH_OPTIONAL)

static const lh_column all_columns[] = {BYTES,   OBJECTS(NULL), SLOTS,    EXAMPLE, CLASS(NULL),
                                        HELD_BY, SOURCE,        ORIGINAL, BY_HASH, LH_END};
static const lh_column table_columns[] = {BYTES,          OBJECTS("tables"), EXAMPLE,
                                          CLASS("class"), HELD_BY,           LH_END};
static const lh_column slot_columns[] = {BYTES,          OBJECTS("tables"), SLOTS, EXAMPLE,
                                         CLASS("class"), HELD_BY,           LH_END};
static const lh_column string_columns[] = {
    BYTES,    OBJECTS("copies"),
    EXAMPLE,  LH_OF(NULL, "string", LH_COLUMN_TEXT, example, lh_cell_string, NULL),
    HELD_BY,  CLASS(NULL),
    ORIGINAL, BY_HASH,
    LH_END};
static const lh_column function_columns[] = {BYTES,   OBJECTS("copies"), EXAMPLE, CLASS("class"),
                                             HELD_BY, ORIGINAL,          LH_END};
static const lh_column userdata_columns[] = {
    BYTES, OBJECTS("userdata"), EXAMPLE, CLASS("class"), HELD_BY, LH_END};
static const lh_column debug_columns[] = {BYTES, OBJECTS("functions"), SOURCE,
                                          LH_EXAMPLE("example", "example", example, NULL), LH_END};
#undef ROW

#define SOURCES(columns) LH_TABLE("heap.waste_place", "source", "sources", lh_waste_row, columns)
#define PLACES(columns) LH_TABLE("heap.waste_place", "place", "places", lh_waste_row, columns)
static const lh_table place = PLACES(all_columns);
static const lh_table places[] = {[LH_WASTE_EMPTIED] = PLACES(slot_columns),
                                  [LH_WASTE_SLOTS] = PLACES(slot_columns),
                                  [LH_WASTE_SMALL_TABLES] = PLACES(table_columns),
                                  [LH_WASTE_STRINGS] = PLACES(string_columns),
                                  [LH_WASTE_CLOSURES] = PLACES(function_columns),
                                  [LH_WASTE_USER_VALUES] = PLACES(userdata_columns),
                                  [LH_WASTE_DEBUG] = SOURCES(debug_columns)};

LH_CELL(places_of, kind, cell->as.rows.table = &places[it->kind], cell->as.rows.list = it->sum.rows,
        cell->as.rows.n = it->sum.n_rows)

LH_WORDS(waste_name, "emptied_tables", "empty_slots", "small_tables", "equal_strings",
         "equal_functions", "user_values", "debug_information")

#define ROW kind
static const lh_table kind_table =
    LH_TABLE_OF("heap.waste_kind", "kind of less than 1%", "kinds of less than 1%",
                LH_WORD("kind", NULL, kind, waste_name,
                        "\"emptied_tables\", \"empty_slots\", \"small_tables\", \"equal_strings\", "
                        "\"equal_functions\", \"user_values\", \"debug_information\""),
                LH_BYTES("bytes", NULL, sum.bytes, "that could be given back"),
                LH_COUNT("objects", NULL, sum.objects, "how many"),
                LH_COUNT("originals", NULL, sum.originals,
                         "how many different strings or functions the copies are equal to, else 0"),
                LH_COUNT("by_hash", NULL, sum.by_hash,
                         "of the strings, how many are equal by length and hash, else 0"),
                LH_COUNT("total_places", NULL, sum.n_rows, "how many there are"),
                LH_COMPUTED("places", NULL, LH_COLUMN_ROWS, places_of,
                            "those with most bytes first", LH_LIMITED, .rows = &place));
#undef ROW

#define ROW waste_result
static const lh_table waste_answer = LH_TABLE_OF(
    "heap.waste", NULL, NULL,
    LH_BYTES("waste_bytes", NULL, bytes,
             "what could be given back, all kinds together but small_tables, which a program may "
             "need"),
    LH_BYTES("string_table_waste_bytes", NULL, string_table_bytes,
             "what collections will take off Lua's table of short strings"),
    LH_BYTES("userdata_block_bytes", NULL, block_bytes, "the blocks of all userdata"),
    LH_INLINE_ROWS("waste", kinds, n_kinds, &kind_table,
                   "one for each kind, most bytes first, but small_tables last"));
#undef ROW

typedef struct wording {
  const char *name;   /* in the first line */
  const char *before; /* "the slots of" 312 "tables without an entry" */
  const char *one, *many;
  const char *original, *originals;
  const char *advice;
} wording;

static const wording wordings[LH_WASTE_KINDS] = {
    [LH_WASTE_EMPTIED] =
        {"emptied tables", "the slots of ", "table without an entry", "tables without an entry",
         NULL, NULL, "Lua gives no slot back: drop an empty table, make a new one when needed"},
    [LH_WASTE_SLOTS] = {"empty slots", "the empty slots of ", "table with entries",
                        "tables with entries", NULL, NULL,
                        "Made too big, or emptied since. A copy is smaller: for k, v in pairs(old) "
                        "do new[k] = v end"},
    [LH_WASTE_SMALL_TABLES] =
        {"tables of at most one entry", "", "table of at most one entry",
         "tables of at most one entry", NULL, NULL,
         "Make a table with its first entry; keep a single value without one around it"},
    [LH_WASTE_STRINGS] =
        {"equal strings", "", "copy", "copies", "string", "strings",
         "Lua shares no string of more than 40 bytes: keep one, seen[s] = seen[s] or s"},
    [LH_WASTE_CLOSURES] = {"equal functions", "", "copy", "copies", "function", "functions",
                           "Lua makes a new one at each pass: move it out of its loop or function"},
    [LH_WASTE_USER_VALUES] =
        {"empty user values", "the empty user values of ", "userdata", "userdata", NULL, NULL,
         "Made by lua_newuserdata: where none is set, lua_newuserdatauv(L, size, 0)"},
    [LH_WASTE_DEBUG] =
        {"debug information", "the debug information of ", "function", "functions", NULL, NULL,
         "Load what luac -s or string.dump(f, true) made: errors name no lines then"},
};

static void print_sum(lh_printer *t, const lh_report *report) {
  const waste_result *f = report->answer;
  const lh_waste_sum *small = &f->waste->kinds[LH_WASTE_SMALL_TABLES];
  const char *before = ": ";
  lh_text text = {0};
  lh_text_format(&text, "%s, %s of the heap, could be given back", lh_format_size(t, f->bytes).text,
                 lh_share_of_heap(report, f->bytes).text);
  for (const kind *k = f->kinds; k < f->kinds + f->n_kinds && k->sum.objects > 0; k++) {
    if (k->kind == LH_WASTE_SMALL_TABLES) continue;
    lh_text_format(&text, "%s%s in %s", before, lh_format_size(t, k->sum.bytes).text,
                   wordings[k->kind].name);
    before = ", ";
  }
  lh_say_text(t, LH_BOLD, &text);
  if (small->objects > 0)
    lh_say(t, LH_PLAIN, "also: %s, %s, in %s, if they can be done without",
           lh_format_size(t, small->bytes).text, lh_share_of_heap(report, small->bytes).text,
           wordings[LH_WASTE_SMALL_TABLES].name);
}

static void print_proof(lh_printer *t, const lh_snapshot *snapshot, const lh_waste_sum *sum) {
  uint64_t limit = lh_snapshot_info(snapshot)->string_limit;
  if (sum->by_hash == 0)
    lh_say(t, LH_PLAIN, "    All of them are equal byte by byte");
  else
    lh_say(t, LH_PLAIN, "    %s of them by length and hash (%s are kept), the others by all bytes",
           lh_count_text(sum->by_hash).text, lh_count_of(limit, "byte", "bytes").text);
}

static void print_kind(lh_printer *t, lh_report *report, const kind *k) {
  const wording *w = &wordings[k->kind];
  const lh_waste_sum *sum = &k->sum;
  lh_text text = {0};
  lh_text_format(&text, "\n%s%s, %s: %s%s", k->kind == LH_WASTE_SMALL_TABLES ? "also " : "",
                 lh_format_size(t, sum->bytes).text, lh_share_of_heap(report, sum->bytes).text,
                 w->before, lh_count_of(sum->objects, w->one, w->many).text);
  if (sum->originals > 0)
    lh_text_format(&text, " of %s", lh_count_of(sum->originals, w->original, w->originals).text);
  lh_say_text(t, LH_BOLD, &text);
  lh_say(t, LH_PLAIN, "    %s", w->advice);
  if (k->kind == LH_WASTE_STRINGS) print_proof(t, report->snapshot, sum);
  lh_print_table(t, report, &places[k->kind], sum->rows, sum->n_rows, sum->n_rows);
}

static void print_not_counted(lh_printer *t, const lh_report *report) {
  const waste_result *f = report->answer;
  uint64_t least = report->whole_bytes / LEAST_PART;
  lh_print_garbage(t, report, "");
  if (f->string_table_bytes > least)
    lh_say(t, LH_PLAIN,
           "Not in it: %s of Lua's table of short strings, which the next collections give back",
           lh_format_size(t, f->string_table_bytes).text);
  if (f->block_bytes > least)
    lh_say(t, LH_PLAIN,
           "Not in it: the blocks of userdata, %s; how much of that is in use only their C code "
           "knows",
           lh_format_size(t, f->block_bytes).text);
}

static void print_waste(lh_printer *t, lh_report *report) {
  const waste_result *f = report->answer;
  uint64_t least = report->request.has_limit ? 0 : report->whole_bytes / LEAST_PART;
  const kind *first = NULL; /* of the printed kinds, else of all */
  uint64_t n_hidden = 0;
  if (!report->request.has_limit) t->limit = USUAL_ROWS;
  print_sum(t, report);
  for (const kind *k = f->kinds; k < f->kinds + f->n_kinds; k++) {
    if (k->sum.objects == 0) continue;
    if (!first || (first->sum.bytes < least && k->sum.bytes >= least)) first = k;
    if (k->sum.bytes >= least)
      print_kind(t, report, k);
    else
      n_hidden++;
  }
  if (first) lh_say(t, LH_PLAIN, "%s", "");
  lh_print_hidden(t, &kind_table, n_hidden);
  if (first)
    lh_print_next(t, report, "Why one of them stays", LH_NEXT_PATHS, first->sum.rows->example);
  print_not_counted(t, report);
}

static bool is_before(const kind *a, const kind *b) {
  bool is_small = a->kind == LH_WASTE_SMALL_TABLES;
  if (is_small || b->kind == LH_WASTE_SMALL_TABLES) return !is_small;
  return a->sum.bytes > b->sum.bytes;
}

static int find_waste(lh_snapshot *snapshot, const lh_request *request, void *out,
                      lh_error *error) {
  waste_result *f = out;
  (void)request;
  int code = lh_kept_waste(snapshot, &f->waste, error);
  if (code != LH_OK) return code;
  f->bytes = f->waste->bytes;
  f->string_table_bytes = f->waste->string_table_bytes;
  f->block_bytes = f->waste->block_bytes;
  for (lh_waste_kind k = 0; k < LH_WASTE_KINDS; k++) {
    const kind next = {k, f->waste->kinds[k]};
    uint32_t at = f->n_kinds++;
    for (; at > 0 && is_before(&next, &f->kinds[at - 1]); at--) f->kinds[at] = f->kinds[at - 1];
    f->kinds[at] = next;
  }
  return LH_OK;
}

LH_QUESTION(waste, .help = "what could be given back, and what to do for it", .main = "waste");
