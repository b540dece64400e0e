/*
** paths.c - why an object stays: the shortest paths by different referrers, their steps, and where
** to cut them.
**
** A function's upvalue and its value are one step. The middle of a long path is one row, named
** after its most frequent reference.
**
** The reference to clear is in a collection the last step with a varying key:
** _G.bus.listeners.tick[17] of _G.bus.listeners.tick[17].fn. Else it is the last reference; of a
** long path through a chain, such as _G.app.handler(upvalue next)*, the one to the chain. The
** code that may clear it is the functions that name the field. If too many name it, as with "data",
** the field around it is tried, and in the end the local variable: the functions that use that one.
*/
#include "name/place_steps.h"
#include "report/report.h"

/* ==== Where to cut =================================================================== */

enum { MOST_LOOKED_AT = 8, MOST_FUNCTIONS = 4, COMMON = 16, MANY_ENTRIES = 16, LONG_TEXT = 100 };

typedef struct where_to_cut {
  size_t n_steps; /* of the path, up to the cut; 0: the program can clear no reference of it */
  lh_id name;     /* a string; LH_NO_OBJECT: no code has the name */
  lh_id functions[MOST_FUNCTIONS];
  size_t n_functions; /* all of them, also beyond the array */
  lh_id collection;   /* whose entry is to go; LH_NO_OBJECT: none */
} where_to_cut;

static bool is_upvalue_with_content(const lh_path *path, size_t i) {
  return i + 1 < path->n_steps && path->steps[i].kind == LH_EDGE_UPVALUE &&
         path->steps[i + 1].kind == LH_EDGE_CONTENT;
}

static bool is_clearable(lh_edge_kind kind) {
  return kind == LH_EDGE_VALUE || kind == LH_EDGE_KEY || kind == LH_EDGE_UPVALUE ||
         kind == LH_EDGE_CONTENT || kind == LH_EDGE_LOCAL;
}

/* For each of the last steps: does its key vary, or is it a key? */
static int find_entries(const lh_snapshot *snapshot, const lh_path *path,
                        bool is_entry[MOST_LOOKED_AT], lh_error *error) {
  uint32_t steps[MOST_LOOKED_AT];
  size_t n = path->n_steps < MOST_LOOKED_AT ? path->n_steps : MOST_LOOKED_AT;
  const lh_place_tree *tree = lh_places_of(snapshot);
  if (!tree || !lh_last_steps(snapshot, path->steps, path->n_steps, steps, n))
    return lh_fail_memory(error, "telling a path");
  for (size_t i = 0; i < n; i++) {
    lh_edge_kind kind = path->steps[path->n_steps - 1 - i].kind;
    bool varies = kind == LH_EDGE_VALUE && tree->steps[steps[i]].kind == LH_STEP_ANY_KEY;
    is_entry[i] = varies || kind == LH_EDGE_KEY;
  }
  return LH_OK;
}

static int find_name(lh_snapshot *snapshot, const lh_edge *edge, where_to_cut *out,
                     lh_error *error) {
  lh_id name = edge->key.kind == LH_VALUE_OBJECT ? edge->key.as.object : LH_NO_OBJECT;
  if (name == LH_NO_OBJECT || lh_type_of(snapshot, name) != LH_TYPE_STRING) return LH_OK;
  int code = lh_find_code_references(snapshot, name, out->functions, MOST_FUNCTIONS,
                                     &out->n_functions, error);
  if (code == LH_OK && out->n_functions > 0 && out->n_functions <= COMMON) out->name = name;
  return code;
}

static void find_variable(const lh_snapshot *snapshot, const lh_edge *local, where_to_cut *out) {
  lh_id functions[COMMON + 1];
  out->n_functions = lh_find_local_users(snapshot, local, functions, COMMON + 1);
  if (out->n_functions == 0 || out->n_functions > COMMON) return;
  for (size_t i = 0; i < out->n_functions && i < MOST_FUNCTIONS; i++)
    out->functions[i] = functions[i];
  out->name = local->name;
}

/* Towards the root; stops at modules and functions, whose names say enough, and at locals. */
static int find_code(lh_snapshot *snapshot, const lh_path *path, size_t n, where_to_cut *out,
                     lh_error *error) {
  int code = LH_OK;
  for (; n > 0 && code == LH_OK && out->name == LH_NO_OBJECT; n--) {
    const lh_edge *edge = &path->steps[n - 1];
    if (edge->kind == LH_EDGE_LOCAL) find_variable(snapshot, edge, out);
    if (edge->kind != LH_EDGE_VALUE || lh_is_permanent(snapshot, edge->target)) break;
    code = find_name(snapshot, edge, out, error);
  }
  return code;
}

/* Returns the number of steps up to a chain that is most of the path: steps of a few kinds that
** repeat, up to a few others at the end. 0: there is none. */
static size_t steps_to_chain(const lh_snapshot *snapshot, const lh_path *path) {
  enum { MOST_KINDS = 4 };
  const lh_edge *steps = path->steps;
  for (size_t end = path->n_steps; end + MOST_LOOKED_AT > path->n_steps; end--)
    for (size_t n = 1; n <= MOST_KINDS; n++) {
      size_t i = end;
      while (i > n && lh_edges_alike(snapshot, &steps[i - 1], &steps[i - 1 - n])) i--;
      if (2 * (end - (i - n)) > path->n_steps) return i - n;
    }
  return 0;
}

/* Reads the table. */
static uint64_t count_entries(const lh_snapshot *snapshot, lh_id id) {
  lh_object table;
  if (lh_type_of(snapshot, id) != LH_TYPE_TABLE) return 0;
  lh_object_at(snapshot, id, &table);
  return table.as.table.array_used + table.as.table.hash_used;
}

static int find_where_to_cut(lh_snapshot *snapshot, const lh_path *path, where_to_cut *out,
                             lh_error *error) {
  size_t n = path->n_steps;
  bool is_entry = false;
  int code = LH_OK;
  *out = (where_to_cut){.name = LH_NO_OBJECT, .collection = LH_NO_OBJECT};
  if (lh_is_permanent(snapshot, path->steps[n - 1].target)) return LH_OK;
  if (n > LH_LONG_PATH) {
    n = steps_to_chain(snapshot, path);
    if (n == 0 || !is_clearable(path->steps[n - 1].kind)) return LH_OK;
    out->n_steps = n;
    return find_code(snapshot, path, n, out, error);
  }
  bool entries[MOST_LOOKED_AT];
  code = find_entries(snapshot, path, entries, error);
  for (; n > 0 && path->n_steps - n < MOST_LOOKED_AT && !is_entry && code == LH_OK; n--)
    is_entry = entries[path->n_steps - n];
  if (!is_entry) n = path->n_steps - 1;
  if (code != LH_OK || !is_clearable(path->steps[n].kind)) return code;
  out->n_steps = n + 1;
  if (is_entry) out->collection = path->steps[n].source;
  return find_code(snapshot, path, is_entry ? n : n + 1, out, error);
}

/* What holds the reference `n` of the path; of a long text without the steps in the middle:
** "_G.accounts ... 5 more steps ... .lines". A name is never cut. */
static const char *holder_words(lh_report *report, const lh_path *path, size_t n) {
  lh_path above = {n - 1, path->steps};
  const char *text = lh_kept(report, lh_path_text(report->snapshot, &above, false));
  size_t last = n - 2, first = last;
  while (first > 0 && path->steps[first - 1].kind == LH_EDGE_VALUE) first--;
  if (strlen(text) <= LONG_TEXT || path->steps[last].kind != LH_EDGE_VALUE || last < first + 2)
    return text;
  above.n_steps = first + 1;
  return lh_words(report, "%s ... %s ... %s",
                  lh_kept(report, lh_path_text(report->snapshot, &above, false)),
                  lh_count_of(last - first - 1, "more step", "more steps").text,
                  lh_kept(report, lh_edge_text(report->snapshot, &path->steps[last])));
}

/* "the entry of _G.pages whose key begins "https://..."": for a key that has no room in a path. */
static const char *long_key_words(lh_report *report, const lh_path *path, size_t n) {
  const lh_edge *edge = &path->steps[n - 1];
  bool has_long_key = edge->kind == LH_EDGE_VALUE && edge->key.kind == LH_VALUE_OBJECT &&
                      lh_type_of(report->snapshot, edge->key.as.object) == LH_TYPE_STRING;
  if (!has_long_key) return NULL;
  return lh_words(report, "the entry of %s whose key begins %s", holder_words(report, path, n),
                  lh_kept(report, lh_string_text(report->snapshot, edge->key.as.object, 40)));
}

/* The path up to the cut; if that is long, its last reference and what holds that. */
static const char *reference_words(lh_report *report, const lh_path *path, size_t n) {
  const lh_path above = {n, path->steps};
  const char *text = lh_kept(report, lh_path_text(report->snapshot, &above, false));
  if (strlen(text) <= LONG_TEXT) return text;
  if (is_upvalue_with_content(path, n - 2)) n--;
  const char *last = lh_kept(report, lh_edge_text(report->snapshot, &path->steps[n - 1]));
  const char *by_key = strlen(last) > LONG_TEXT ? long_key_words(report, path, n) : NULL;
  return by_key ?: lh_words(report, "%s of %s", last, holder_words(report, path, n));
}

static void print_code(lh_printer *t, lh_report *report, const where_to_cut *where) {
  size_t told = where->n_functions < MOST_FUNCTIONS ? where->n_functions : MOST_FUNCTIONS;
  lh_text text = {0};
  lh_text_format(&text, "    Code that names %s",
                 lh_kept(report, lh_string_text(report->snapshot, where->name, 40)));
  for (size_t i = 0; i < told; i++)
    lh_text_format(&text, "%s%s", i == 0 ? ": " : ", ",
                   lh_code_name_of(report->snapshot, where->functions[i]));
  if (told < where->n_functions)
    lh_text_format(&text, " and %s more", lh_count_text(where->n_functions - told).text);
  lh_say_text(t, LH_PLAIN, &text);
}

/* Where the entry was allocated, unless that is told of the object itself. */
static void print_entry(lh_printer *t, lh_report *report, lh_id entry) {
  lh_allocated made = {.callers = 1, .objects = 1, .of = 1};
  if (entry == report->request.id) return;
  made.stack = lh_object_stack(report->snapshot, entry);
  const char *line = lh_allocated_line(report, &made);
  if (line) lh_say(t, LH_PLAIN, "    The entry of this path: %s", line);
}

/* In a big collection one entry is as good as another: the advice is about all of them. */
static void print_cut(lh_printer *t, lh_report *report, const lh_path *path,
                      const where_to_cut *where) {
  uint64_t n = t->thorough ? count_entries(report->snapshot, where->collection) : 0;
  if (n < MANY_ENTRIES) {
    lh_say(t, LH_PLAIN, "\nTo cut this path, clear %s%s",
           reference_words(report, path, where->n_steps),
           n > 1 ? lh_words(report, ", one of %s entries", lh_count_text(n).text) : "");
    return;
  }
  lh_say(t, LH_PLAIN, "\nTo cut this path and its like, remove entries of %s: it has %s",
         reference_words(report, path, where->n_steps - 1), lh_count_text(n).text);
  print_entry(t, report, path->steps[where->n_steps - 1].target);
}

/* From the cut on, what retains more than what holds it is held by other paths, too. */
static void print_not_freed(lh_printer *t, const lh_snapshot *snapshot, const lh_path *path,
                            size_t n) {
  if (n > 1 && is_upvalue_with_content(path, n - 2)) n--;
  for (; n <= path->n_steps; n++) {
    const lh_edge *edge = &path->steps[n - 1];
    if (lh_retained_bytes(snapshot, edge->target) <= lh_retained_bytes(snapshot, edge->source))
      continue;
    lh_say(t, LH_PLAIN, "    That alone does not free all: %s is held by other paths, too",
           lh_kept(t->report, lh_edge_text(snapshot, edge)));
    return;
  }
}

static void print_where_to_cut(lh_printer *t, lh_report *report, const lh_path *path) {
  where_to_cut where;
  if (find_where_to_cut(report->snapshot, path, &where, NULL) != LH_OK) t->failed = true;
  if (t->failed || where.n_steps == 0) return;
  print_cut(t, report, path, &where);
  if (where.name != LH_NO_OBJECT) print_code(t, report, &where);
  print_not_freed(t, report->snapshot, path, where.n_steps);
}

/* ==== Steps ========================================================================== */

size_t lh_readable_steps(const lh_path *path, lh_step steps[LH_MOST_STEPS]) {
  size_t n = path->n_steps, half = LH_LONG_PATH / 2, end = 0, told = 0;
  if (n > LH_LONG_PATH) end = n - half - is_upvalue_with_content(path, n - half - 1);
  for (size_t i = 0; i < n; i++) {
    if (i >= half && i < end) {
      steps[told++] = (lh_step){&path->steps[i], LH_NO_OBJECT, end - i};
      i = end;
    }
    const lh_edge *named = &path->steps[i];
    if (is_upvalue_with_content(path, i)) i++;
    steps[told++] = (lh_step){named, path->steps[i].target, 0};
  }
  return told;
}

/* ==== Names of steps ================================================================= */

/* The most frequent edge, if it is a majority (Boyer and Moore's vote), and its count. */
static const lh_edge *usual_edge(const lh_snapshot *snapshot, const lh_edge *edges, size_t n,
                                 size_t *n_usual) {
  const lh_edge *usual = NULL;
  size_t votes = 0;
  for (size_t i = 0; i < n; i++) {
    if (votes == 0) usual = &edges[i];
    if (lh_edges_alike(snapshot, usual, &edges[i]))
      votes++;
    else
      votes--;
  }
  *n_usual = 0;
  for (size_t i = 0; i < n; i++) *n_usual += lh_edges_alike(snapshot, usual, &edges[i]);
  return usual;
}

/* "... 999,990 more .next ..." */
static const char *skipped_words(lh_report *report, const lh_step *step) {
  size_t n = step->skipped, n_usual;
  const lh_edge *usual = usual_edge(report->snapshot, step->edge, n, &n_usual);
  bool are_all = n_usual == n, are_most = 2 * n_usual > n;
  return lh_words(report, "... %s more%s%s%s%s ...", lh_count_text(n).text,
                  are_all    ? " "
                  : are_most ? ", "
                             : "",
                  are_all || !are_most ? "" : lh_count_text(n_usual).text,
                  are_all || !are_most ? "" : " of them ",
                  are_most ? lh_kept(report, lh_edge_text(report->snapshot, usual)) : "");
}

typedef struct steps_result {
  lh_step steps[LH_MOST_STEPS];
  size_t n;
} steps_result;

LH_CELL(reference_of, lh_step,
        cell->as.text = it->skipped > 0 ? skipped_words(report, it)
                                        : lh_kept(report, lh_edge_text(report->snapshot, it->edge)))

static lh_style step_style(const lh_report *report, const void *row) {
  const lh_step *step = row;
  if (step->skipped > 0) return LH_FAINT;
  return step->target == report->request.id ? LH_BOLD : LH_PLAIN;
}

LH_ITS(bool, is_skipped, lh_step, it->skipped > 0)

#define ROW lh_step
static const lh_table step_table = LH_TABLE_WITH(
    (.style = step_style), "heap.step", "step", "steps",
    LH_COMPUTED("label", "reference", LH_COLUMN_TEXT, reference_of, "how it is referred to"),
    LH_OF(NULL, "class", LH_COLUMN_TEXT, target, lh_cell_what, NULL),
    LH_OBJECT("object", target, "what that leads to; null where a row stands for several",
              LH_ADDRESS, LH_OPTIONAL),
    LH_EXAMPLE(NULL, "address", target, NULL),
    LH_OF("shallow_bytes", "shallow", LH_COLUMN_BYTES, target, lh_cell_shallow, "its own",
          LH_OPTIONAL),
    LH_OF("retained_bytes", "retained", LH_COLUMN_BYTES, target, lh_cell_retained,
          "what would go if it went", LH_OPTIONAL),
    LH_COUNT("skipped", NULL, skipped, "for how many steps the row stands",
             LH_ONLY_WHERE(is_skipped)));
#undef ROW

#define ROW steps_result
static const lh_table steps_answer = LH_TABLE_OF(
    "heap.steps", NULL, NULL, LH_INLINE_ROWS("steps", steps, n, &step_table, "from the root on"));
#undef ROW

static int find_steps(lh_snapshot *snapshot, const lh_request *request, void *out,
                      lh_error *error) {
  steps_result *f = out;
  (void)snapshot, (void)error;
  f->n = lh_readable_steps(request->path, f->steps);
  return LH_OK;
}

/* A weak table keeps strings and values that are not objects, and entries with such keys. */
static const char *never_weak(const lh_snapshot *snapshot, const lh_edge *edge) {
  if (edge->kind != LH_EDGE_VALUE && edge->kind != LH_EDGE_KEY) return NULL;
  lh_weak_sides weak = lh_weak_sides_of(snapshot, edge->source);
  if (!weak.keys)
    return weak.values && edge->kind == LH_EDGE_VALUE ? "weak values, but a string is never weak"
                                                      : NULL;
  return edge->key.kind == LH_VALUE_OBJECT ? "weak keys, but a string is never weak"
                                           : "weak keys, but what is no object is never weak";
}

static void print_never_weak(lh_printer *t, const lh_snapshot *snapshot, const lh_path *path) {
  for (size_t i = 0; i < path->n_steps; i++) {
    const char *why = never_weak(snapshot, &path->steps[i]);
    if (!why) continue;
    lh_say(t, LH_PLAIN, "\n%s is in a table with %s: its entry stays",
           lh_kept(t->report, lh_edge_text(snapshot, &path->steps[i])), why);
    return;
  }
}

static void print_all_steps(lh_printer *t, lh_report *report, const lh_path *path,
                            const lh_step *steps, size_t n) {
  lh_print_rows(t, report, &step_table, steps, n);
  print_never_weak(t, report->snapshot, path);
  print_where_to_cut(t, report, path);
}

static void print_steps(lh_printer *t, lh_report *report) {
  const steps_result *f = report->answer;
  print_all_steps(t, report, report->request.path, f->steps, f->n);
}

LH_QUESTION(steps);

/* ==== Two paths ====================================================================== */

/* Two paths to an object, or to the upvalue that holds it. LH_ENOTFOUND: there are not two. */
static int find_two_paths(lh_snapshot *snapshot, lh_id id, lh_independent *out) {
  lh_id common_holder;
  int code = lh_find_independent(snapshot, id, 2, out, NULL);
  if (code != LH_OK || out->n > 1) return code;
  const lh_path *path = &out->paths[0];
  lh_id last = path->steps[path->n_steps - 1].source;
  lh_independent_free(out);
  if (lh_type_of(snapshot, last) != LH_TYPE_UPVALUE) return LH_ENOTFOUND;
  code = lh_find_common_holder(snapshot, id, 2, &common_holder, out, NULL);
  if (code != LH_OK) return code;
  if (common_holder == last) return LH_OK;
  lh_independent_free(out);
  return LH_ENOTFOUND;
}

/* A chain is folded: ".prev*". */
static const char *whole_path_words(lh_report *report, const lh_path *path) {
  bool folded = path->n_steps > LH_LONG_PATH;
  return lh_kept(report, lh_whole_path_text(report->snapshot, path, folded));
}

void lh_print_how_held(lh_printer *t, lh_report *report, lh_id id) {
  lh_snapshot *snapshot = report->snapshot;
  lh_independent two;
  if (!lh_is_reachable(snapshot, id) || lh_distance(snapshot, id) > LH_LONG_PATH) return;
  int code = find_two_paths(snapshot, id, &two);
  t->failed |= code != LH_OK && code != LH_ENOTFOUND;
  if (code != LH_OK) return;
  lh_say(t, LH_FAINT, "Of the first group, %s is held by %s, and also by %s",
         lh_address_text(snapshot, id).text, whole_path_words(report, &two.paths[0]),
         whole_path_words(report, &two.paths[1]));
  lh_independent_free(&two);
}

/* ==== Paths ========================================================================== */

typedef struct told_path {
  const lh_path *path;
  lh_step steps[LH_MOST_STEPS];
  size_t n;
  where_to_cut cut;
} told_path;

typedef struct paths_result {
  lh_id id;
  size_t wanted;
  lh_path *paths;
  told_path *told;
  size_t n;
} paths_result;

LH_MADE_TEXT(paths_text, told_path, lh_path_text(report->snapshot, it->path, false))

static void through_of(lh_report *report, const void *row, lh_cell *cell) {
  char *through = NULL;
  const lh_path *path = ((const told_path *)row)->path;
  if (lh_path_through(report->snapshot, path, false, &through, NULL) != LH_OK)
    report->failed = true;
  cell->as.text = through ? lh_kept(report, through) : NULL;
}

LH_CELL(count_steps, told_path, cell->as.n = it->path->n_steps)
LH_ITS(bool, has_cut, told_path, it->cut.n_steps > 0)
LH_ITS(bool, has_name, told_path, it->cut.name != LH_NO_OBJECT)

static void cut_of(lh_report *report, const void *row, lh_cell *cell) {
  const told_path *told = row;
  const lh_path path = {told->cut.n_steps, told->path->steps};
  cell->as.text = lh_kept(report, lh_path_text(report->snapshot, &path, false));
}

static void functions_of(lh_report *report, const void *row, lh_cell *cell) {
  const where_to_cut *cut = &((const told_path *)row)->cut;
  (void)cell;
  for (size_t i = 0; i < cut->n_functions && i < MOST_FUNCTIONS; i++)
    (void)lh_kept(report, lh_copy_text(lh_code_name_of(report->snapshot, cut->functions[i])));
}

#define ROW told_path
static const lh_table path_table = LH_TABLE_OF(
    "heap.told_path", "path", "paths",
    LH_COMPUTED("text", NULL, LH_COLUMN_TEXT, paths_text, "in Lua's language"),
    LH_COMPUTED("through", NULL, LH_COLUMN_TEXT, through_of,
                "who holds the function that the text begins at; null where it says so",
                LH_OPTIONAL),
    LH_COMPUTED("total_steps", NULL, LH_COLUMN_COUNT, count_steps, "from the root on"),
    LH_INLINE_ROWS("steps", steps, n, &step_table, "of a long path both ends"),
    LH_COMPUTED("clear", NULL, LH_COLUMN_TEXT, cut_of, "what to clear for the path to go",
                LH_WHERE(has_cut)),
    LH_STRING("name", cut.name, "the field or variable that this is in, as code names it",
              LH_WHERE(has_name)),
    LH_COMPUTED("functions", NULL, LH_COLUMN_TEXTS, functions_of, "some that name it",
                LH_WHERE(has_name)),
    LH_COUNT("total_functions", NULL, cut.n_functions, "how many do", LH_WHERE(has_name)));
#undef ROW

LH_CELL(alive_of, paths_result, cell->as.flag = lh_is_reachable(report->snapshot, it->id))

#define ROW paths_result
static const lh_table paths_answer = LH_TABLE_OF(
    "heap.paths", NULL, NULL,
    LH_COMPUTED("reachable", NULL, LH_COLUMN_FLAG, alive_of, "something keeps it alive"),
    LH_ROWS("paths", told, n, &path_table, "the shortest first", LH_OWNED));
#undef ROW

static void print_path(lh_printer *t, lh_report *report, const paths_result *f, size_t i) {
  const told_path *told = &f->told[i];
  bool folded = told->path->n_steps > LH_LONG_PATH;
  const char *path = lh_kept(report, lh_whole_path_text(report->snapshot, told->path, folded));
  if (i == 0)
    lh_say(t, LH_BOLD, "%s is kept alive by: %s", lh_object_words(report, f->id), path);
  else
    lh_say(t, LH_BOLD, "\nand by: %s", path);
  if (i == 0) lh_print_asked(t, report);
  if (i == 0) lh_print_origin(t, report->snapshot, f->id);
  lh_say(t, LH_PLAIN, "%s", "");
  print_all_steps(t, report, told->path, told->steps, told->n);
}

static void print_paths(lh_printer *t, lh_report *report) {
  const paths_result *f = report->answer;
  if (f->n == 0)
    lh_say(t, LH_BOLD, "nothing keeps it alive: %s is garbage that was not yet collected",
           lh_object_words(report, f->id));
  for (size_t i = 0; i < f->n && !t->failed; i++) print_path(t, report, f, i);
  if (f->n > 0 && f->n < f->wanted)
    lh_say(t, LH_PLAIN,
           "\nNothing else refers to it, but what does may itself be held in several ways.");
}

static int search_paths(lh_snapshot *snapshot, paths_result *f, lh_error *error) {
  if (f->wanted > 1) return lh_shortest_paths(snapshot, f->id, f->wanted, &f->paths, &f->n, error);
  f->paths = lh_alloc(1, sizeof *f->paths);
  if (!f->paths) return lh_fail_memory(error, "following a path");
  int code = lh_shortest_path(snapshot, f->id, f->paths, error);
  f->n = code == LH_OK;
  return code;
}

static void free_paths(void *out) {
  paths_result *f = out;
  lh_paths_free(f->paths, f->n);
  lh_free(f->paths);
}

static int find_paths(lh_snapshot *snapshot, const lh_request *request, void *out,
                      lh_error *error) {
  paths_result *f = out;
  f->id = request->id;
  f->wanted = request->limit == 0 ? 1 : request->limit;
  if (f->id == LH_ROOT) return lh_fail(error, LH_EARGUMENT, "no path leads to the root");
  if (!lh_is_reachable(snapshot, f->id)) return LH_OK;
  int code = search_paths(snapshot, f, error);
  if (code == LH_OK) f->told = lh_alloc(f->n, sizeof *f->told);
  if (code == LH_OK && !f->told) code = lh_fail_memory(error, "following a path");
  for (size_t i = 0; code == LH_OK && i < f->n; i++) {
    f->told[i].path = &f->paths[i];
    f->told[i].n = lh_readable_steps(&f->paths[i], f->told[i].steps);
    code = find_where_to_cut(snapshot, &f->paths[i], &f->told[i].cut, error);
  }
  return code;
}

LH_ITS(bool, is_garbage, paths_result, it->n == 0)

LH_QUESTION(paths, .command = "heappath", .main = "paths", .free = free_paths, .is_no = is_garbage);
