/*
** waste.c - what memory holds without need: how much of it could be given back, of which kind, at
** which places, and what to do for it. The figures are the library's (lh_find_waste).
*/
#include <string.h>

#include "heaptop.h"

/* Places of each kind, without -n. */
enum { USUAL_ROWS = 5 };

/* What is less than this part of the heap is not worth many words. */
enum { LEAST_PART = 100 };

/* The words for a kind. */
typedef struct wording {
  const char *name;   /* in the first line */
  const char *before; /* "the slots of" 312 "tables without an entry" */
  const char *one, *many;
  const char *unit, *units; /* of a count in the table, and of originals */
  const char *advice;
} wording;

static const wording wordings[LH_WASTE_KINDS] = {
    [LH_WASTE_EMPTIED] =
        {"emptied tables", "the slots of ", "table without an entry", "tables without an entry",
         "table", "tables",
         "Lua gives no slot back: drop an empty table, make a new one when needed"},
    [LH_WASTE_SLOTS] = {"empty slots", "the empty slots of ", "table with entries",
                        "tables with entries", "table", "tables",

                        "Made too big, or emptied since: for k, v in pairs(old) do new[k] = v end"},
    [LH_WASTE_SMALL_TABLES] =
        {"tables of at most one entry", "", "table of at most one entry",
         "tables of at most one entry", "table", "tables",
         "Make a table with its first entry; keep a single value without one around it"},
    [LH_WASTE_STRINGS] =
        {"equal strings", "", "copy", "copies", "string", "strings",
         "Lua shares no string of more than 40 bytes: keep one, seen[s] = seen[s] or s"},
    [LH_WASTE_CLOSURES] = {"equal functions", "", "copy", "copies", "function", "functions",
                           "Lua makes a new one at each pass: move it out of its loop or function"},
    [LH_WASTE_USER_VALUES] =
        {"empty user values", "the empty user values of ", "userdata", "userdata", "userdata",
         "userdata", "Made by lua_newuserdata: where none is set, lua_newuserdatauv(L, size, 0)"},
    [LH_WASTE_DEBUG] =
        {"debug information", "the debug information of ", "function", "functions", "function",
         "functions", "Load what luac -s or string.dump(f, true) made: errors name no lines then"},
};

static lh_waste *find(cli *c, lh_snapshot *snapshot) {
  lh_waste *waste;
  lh_error error;
  cli_check(c, lh_find_waste(snapshot, &waste, &error), NULL, &error);
  return waste;
}

/* {=== Text =========================================================================== */

static uint64_t least_bytes(const lh_snapshot *snapshot) {
  lh_reach reach;
  lh_reach_totals(snapshot, &reach);
  return reach.reachable_bytes / LEAST_PART;
}

/* Those that there are, most bytes first; returns how many. */
static size_t order_kinds(const lh_waste *waste, lh_waste_kind kinds[LH_WASTE_KINDS]) {
  size_t n = 0;
  for (lh_waste_kind kind = 0; kind < LH_WASTE_KINDS; kind++) {
    if (waste->kinds[kind].objects == 0) continue;
    size_t at = n++;
    for (; at > 0 && waste->kinds[kinds[at - 1]].bytes < waste->kinds[kind].bytes; at--)
      kinds[at] = kinds[at - 1];
    kinds[at] = kind;
  }
  return n;
}

static void print_answer(cli *c, const lh_snapshot *snapshot, const lh_waste *waste,
                         const lh_waste_kind *kinds, size_t n) {
  const lh_waste_sum *small = &waste->kinds[LH_WASTE_SMALL_TABLES];
  const char *before = ": ";
  printf("%s%s, %s of the heap, could be given back", cli_style_on(c, CLI_BOLD),
         cli_size(c, waste->bytes), share_of_heap(c, snapshot, waste->bytes));
  for (size_t i = 0; i < n; i++) {
    if (kinds[i] == LH_WASTE_SMALL_TABLES) continue;
    printf("%s%s in %s", before, cli_size(c, waste->kinds[kinds[i]].bytes),
           wordings[kinds[i]].name);
    before = ", ";
  }
  printf("%s\n", cli_style_off(c));
  if (small->objects > 0)
    printf("also: %s in %s, if they can be done without\n", cli_size(c, small->bytes),
           wordings[LH_WASTE_SMALL_TABLES].name);
}

/* How it is known that strings are equal. */
static void print_proof(cli *c, const lh_snapshot *snapshot, const lh_waste_sum *sum) {
  uint64_t limit = lh_snapshot_info(snapshot)->string_limit;
  if (sum->by_hash == 0)
    puts("    All of them are equal byte by byte");
  else
    printf("    %s of them by length and hash (%s are kept), the others by all bytes\n",
           cli_count(c, sum->by_hash), cli_count_of(c, limit, "byte", "bytes"));
}

static void print_kind(cli *c, const lh_snapshot *snapshot, lh_waste_kind kind,
                       const lh_waste_sum *sum) {
  const wording *w = &wordings[kind];
  printf("\n%s%s, %s: %s%s", cli_style_on(c, CLI_BOLD), cli_size(c, sum->bytes),
         share_of_heap(c, snapshot, sum->bytes), w->before,
         cli_count_of(c, sum->objects, w->one, w->many));
  if (sum->originals > 0) printf(" of %s", cli_count_of(c, sum->originals, w->unit, w->units));
  printf("%s\n    %s\n", cli_style_off(c), w->advice);
  if (kind == LH_WASTE_STRINGS) print_proof(c, snapshot, sum);
}

/* The class, but of strings, which are all of one, their beginning. */
static char *what(const lh_snapshot *snapshot, lh_waste_kind kind, lh_id id) {
  if (kind != LH_WASTE_STRINGS) return cli_must(strdup(lh_class_name_of(snapshot, id)));
  return cli_must(lh_string_text(snapshot, id, 32));
}

/* Columns that only some kinds have are left out of the others. */
enum { MOST_COLUMNS = 7 };

static bool has_example(const cli *c, lh_waste_kind kind) {
  return kind != LH_WASTE_DEBUG && !cli_is_narrow(c);
}

static bool has_slots(lh_waste_kind kind) {
  return kind == LH_WASTE_EMPTIED || kind == LH_WASTE_SLOTS;
}

static size_t make_columns(const cli *c, lh_waste_kind kind, cli_column columns[MOST_COLUMNS]) {
  bool is_code = kind == LH_WASTE_DEBUG;
  bool are_equal = kind == LH_WASTE_STRINGS || kind == LH_WASTE_CLOSURES;
  size_t n = 0;
  columns[n++] = (cli_column){"bytes", CLI_RIGHT};
  columns[n++] = (cli_column){are_equal ? "copies" : wordings[kind].units, CLI_RIGHT};
  if (has_slots(kind)) {
    columns[n++] = (cli_column){"slots", CLI_RIGHT};
    columns[n++] = (cli_column){"used", CLI_RIGHT};
  }
  if (has_example(c, kind)) columns[n++] = (cli_column){"example", CLI_LEFT};
  if (!is_code)
    columns[n++] = (cli_column){kind == LH_WASTE_STRINGS ? "string" : "class", CLI_WRAP};
  columns[n++] = (cli_column){is_code ? "source" : "held by", CLI_WRAP};
  return n;
}

static void print_row(cli *c, const lh_snapshot *snapshot, lh_waste_kind kind,
                      const lh_waste_row *row, cli_table *table) {
  char *text = what(snapshot, kind, row->example);
  const char *cells[MOST_COLUMNS];
  size_t n = 0;
  cells[n++] = cli_size(c, row->bytes);
  cells[n++] = cli_count(c, row->objects);
  if (has_slots(kind)) {
    cells[n++] = cli_count(c, row->slots);
    cells[n++] = cli_count(c, row->used);
  }
  if (has_example(c, kind)) cells[n++] = cli_address(c, snapshot, row->example);
  if (kind != LH_WASTE_DEBUG) cells[n++] = text;
  cells[n++] = row->held_by;
  cli_table_row(table, cells, CLI_PLAIN);
  lh_free(text);
}

static size_t count_shown(const lh_waste_sum *sum, const request *r) {
  size_t limit = r->limit_given ? r->query.limit : USUAL_ROWS;
  return limit == 0 || limit > sum->n_rows ? sum->n_rows : limit;
}

static void print_rows(cli *c, const lh_snapshot *snapshot, lh_waste_kind kind,
                       const lh_waste_sum *sum, const request *r) {
  cli_column columns[MOST_COLUMNS];
  size_t n_columns = make_columns(c, kind, columns), n = count_shown(sum, r);
  cli_table *table = cli_table_new(c, columns, n_columns);
  for (size_t i = 0; i < n; i++) print_row(c, snapshot, kind, &sum->rows[i], table);
  cli_table_print(table);
  cli_print_hidden(c, sum->n_rows - n, kind == LH_WASTE_DEBUG ? "source" : "place",
                   kind == LH_WASTE_DEBUG ? "sources" : "places");
}

/* What looks like waste, but is none, or is not known to be. */
static void print_not_counted(cli *c, const lh_snapshot *snapshot, const lh_waste *waste) {
  uint64_t least = least_bytes(snapshot);
  lh_reach reach;
  lh_reach_totals(snapshot, &reach);
  if (reach.garbage_objects > 0)
    printf("Not in it: %s of garbage, %s, waiting for the collector: --garbage\n",
           cli_count_of(c, reach.garbage_objects, "object", "objects"),
           cli_size(c, reach.garbage_bytes));
  if (waste->string_table_bytes > least)
    printf("Not in it: %s of Lua's table of short strings, which the next collections give back\n",
           cli_size(c, waste->string_table_bytes));
  if (waste->block_bytes > least)
    printf(
        "Not in it: the blocks of userdata, %s; how much of that is in use only their C code "
        "knows\n",
        cli_size(c, waste->block_bytes));
}

/* Kinds of less than LEAST_PART are in the first lines only, unless -n asks for more. */
static void print(cli *c, lh_snapshot *snapshot, const request *r) {
  lh_waste *waste = find(c, snapshot);
  lh_waste_kind kinds[LH_WASTE_KINDS];
  uint64_t least = r->limit_given ? 0 : least_bytes(snapshot);
  size_t n = order_kinds(waste, kinds), i;
  print_answer(c, snapshot, waste, kinds, n);
  for (i = 0; i < n && waste->kinds[kinds[i]].bytes >= least; i++) {
    print_kind(c, snapshot, kinds[i], &waste->kinds[kinds[i]]);
    print_rows(c, snapshot, kinds[i], &waste->kinds[kinds[i]], r);
  }
  if (n > 0) putchar('\n');
  cli_print_hidden(c, n - i, "kind of less than 1%", "kinds of less than 1%");
  if (n > 0) {
    char *word = cli_shell_word(r->file);
    printf("Why one of them stays: heappath %s %s\n", word,
           cli_address(c, snapshot, waste->kinds[kinds[0]].rows[0].example));
    free(word);
  }
  print_not_counted(c, snapshot, waste);
  lh_waste_free(waste);
}

/* }=================================================================================== */

/* {=== JSON =========================================================================== */

static json_t *row_json(cli *c, const lh_snapshot *snapshot, lh_waste_kind kind,
                        const lh_waste_row *row) {
  json_t *json =
      cli_must(json_pack("{sI sI ss ss}", "bytes", (json_int_t)row->bytes, "objects",
                         (json_int_t)row->objects, kind == LH_WASTE_DEBUG ? "source" : "held_by",
                         row->held_by, "example", cli_address(c, snapshot, row->example)));
  if (kind != LH_WASTE_DEBUG)
    json_object_set_new(json, "class", json_string(lh_class_name_of(snapshot, row->example)));
  if (has_slots(kind)) {
    json_object_set_new(json, "slots", cli_json_size(row->slots));
    json_object_set_new(json, "used", cli_json_size(row->used));
  }
  if (row->original != LH_NO_OBJECT)
    json_object_set_new(json, "original", json_string(cli_address(c, snapshot, row->original)));
  if (kind == LH_WASTE_STRINGS) json_object_set_new(json, "by_hash", cli_json_size(row->by_hash));
  return json;
}

static void print_kind_json(cli *c, cli_json *w, const lh_snapshot *snapshot, lh_waste_kind kind,
                            const lh_waste_sum *sum, const request *r) {
  size_t n = r->limit_given ? count_shown(sum, r) : sum->n_rows;
  cli_json_open(w, NULL, '{');
  cli_json_value(w, "kind", json_string(lh_waste_kind_name(kind)));
  cli_json_value(w, "bytes", cli_json_size(sum->bytes));
  cli_json_value(w, "objects", cli_json_size(sum->objects));
  cli_json_value(w, "originals", cli_json_size(sum->originals));
  cli_json_value(w, "by_hash", cli_json_size(sum->by_hash));
  cli_json_value(w, "total_places", cli_json_size(sum->n_rows));
  cli_json_open(w, "places", '[');
  for (size_t i = 0; i < n; i++)
    cli_json_value(w, NULL, row_json(c, snapshot, kind, &sum->rows[i]));
  cli_json_close(w, ']');
  cli_json_close(w, '}');
}

static void print_json(cli *c, cli_json *w, lh_snapshot *snapshot, const request *r) {
  lh_waste *waste = find(c, snapshot);
  cli_json_value(w, "waste_bytes", cli_json_size(waste->bytes));
  cli_json_value(w, "string_table_waste_bytes", cli_json_size(waste->string_table_bytes));
  cli_json_value(w, "userdata_block_bytes", cli_json_size(waste->block_bytes));
  cli_json_open(w, "waste", '[');
  for (lh_waste_kind kind = 0; kind < LH_WASTE_KINDS; kind++)
    print_kind_json(c, w, snapshot, kind, &waste->kinds[kind], r);
  cli_json_close(w, ']');
  lh_waste_free(waste);
}

/* }=================================================================================== */

const report waste_report = {"waste", print, print_json};
