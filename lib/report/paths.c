/*
** paths.c - why an object stays: the shortest paths by different referrers, with their steps.
*/
#include "report/report.h"

typedef struct told_path {
  const lh_path *path;
  lh_step steps[LH_MOST_STEPS];
  size_t n;
  lh_where_to_cut cut;
} told_path;

typedef struct paths_result {
  lh_id id;
  size_t wanted;
  lh_path *paths;
  told_path *told;
  size_t n;
} paths_result;

/* ==== Columns ======================================================================== */

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
  const lh_where_to_cut *cut = &((const told_path *)row)->cut;
  (void)cell;
  for (size_t i = 0; i < cut->n_functions && i < LH_MOST_NAMING; i++)
    (void)lh_kept(report, lh_copy_text(lh_naming_text(report, cut->functions[i])));
}

#define ROW told_path
static const lh_table path_table = LH_TABLE_OF(
    "heap.told_path", "path", "paths",
    LH_COMPUTED("text", NULL, LH_COLUMN_TEXT, paths_text, "in Lua's language"),
    LH_COMPUTED("through", NULL, LH_COLUMN_TEXT, through_of,
                "who holds the function that the text begins at; null where it says so",
                LH_OPTIONAL),
    LH_COMPUTED("total_steps", NULL, LH_COLUMN_COUNT, count_steps, "from the root on"),
    LH_INLINE_ROWS("steps", steps, n, &lh_step_table, "of a long path both ends"),
    LH_COMPUTED("clear", NULL, LH_COLUMN_TEXT, cut_of, "what to clear for the path to go",
                LH_WHERE(has_cut)),
    LH_STRING("name", cut.name, "the field that this is in, as code names it", LH_WHERE(has_name)),
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

/* ==== The words ====================================================================== */

static void print_path(lh_teller *t, lh_report *report, const paths_result *f, size_t i) {
  const told_path *told = &f->told[i];
  bool folded = told->path->n_steps > LH_LONG_PATH;
  const char *path = lh_kept(report, lh_whole_path_text(report->snapshot, told->path, folded));
  if (i == 0)
    lh_say(t, LH_BOLD, "%s is kept alive by: %s", lh_object_words(report, f->id), path);
  else
    lh_say(t, LH_BOLD, "\nand by: %s", path);
  if (i == 0) lh_print_asked(t, report);
  if (i == 0) lh_print_stack(t, report->snapshot, f->id);
  lh_say(t, LH_PLAIN, "%s", "");
  lh_print_steps(t, report, told->path, told->steps, told->n);
}

static void print_paths(lh_teller *t, lh_report *report) {
  const paths_result *f = report->answer;
  if (f->n == 0)
    lh_say(t, LH_BOLD, "nothing keeps it alive: %s is garbage that was not yet collected",
           lh_object_words(report, f->id));
  for (size_t i = 0; i < f->n && !t->failed; i++) print_path(t, report, f, i);
  if (f->n > 0 && f->n < f->wanted)
    lh_say(t, LH_PLAIN,
           "\nNothing else refers to it, but what does may itself be held in several ways.");
}

/* ==================================================================================== */

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
    f->told[i].n = lh_told_steps(&f->paths[i], f->told[i].steps);
    code = lh_find_where_to_cut(snapshot, &f->paths[i], &f->told[i].cut, error);
  }
  return code;
}

LH_ITS(bool, is_garbage, paths_result, it->n == 0)

LH_QUESTION(paths, .command = "heappath", .main = "paths", .free = free_paths, .is_no = is_garbage);
