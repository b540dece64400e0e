/*
** series.c - bytes by place over any number of snapshots, for a stacked chart.
**
** Rows, verdicts and words are those of ladder.c. In each snapshot the rows, `others` and `level`
** add up to the whole.
*/
#include "report/growth.h"

typedef struct step {
  const char *name;
  double seconds;
  bool has_time;
} step;

typedef struct series_result {
  lh_growth_found ladder; /* must be first: ladder.c prints it */
  size_t n_listed;        /* listed rows of the ladder */
  lh_figures *others;     /* in each snapshot: sum of rows that are not listed */
  step *steps;
  size_t n_steps;
} series_result;

/* ==== Columns ======================================================================== */

LH_ITS(bool, has_time, step, it->has_time)

#define ROW step
static const lh_table step_table =
    LH_TABLE_OF("heap.series_step", NULL, NULL, LH_NAME("name", name, "of the file"),
                LH_NUMBER("seconds", seconds, "since the first; null if that is not known",
                          LH_WHERE(has_time)));
#undef ROW

#define ROW series_result
static const lh_table series_answer = LH_TABLE_OF(
    "heap.series", NULL, NULL,
    LH_FLAG("same_state", ladder.growth.same_state, "the snapshots are of one Lua state"),
    LH_ROWS("snapshots", steps, n_steps, &step_table, "in their order", LH_OWNED),
    LH_ROW("whole", ladder.growth.whole, &lh_figures_table, "all that is reachable"),
    LH_ROW("level", ladder.growth.level, &lh_figures_table, "of that, what never changed"),
    LH_ROW("others", others, &lh_figures_table, "the rows that are not listed, together"),
    LH_COUNT("total_paths", NULL, ladder.growth.n_paths, "how many rows there are, listed or not"),
    LH_ROWS("paths", ladder.growth.paths, n_listed, &lh_growth_paths, "the first matters most"));
#undef ROW

/* ==== Asking ========================================================================= */

static void add(lh_figures *to, const lh_figures *row) {
  to->objects += row->objects;
  to->entries += row->entries;
  to->bytes += row->bytes;
  to->all_objects += row->all_objects;
}

static void sum_others(series_result *f) {
  for (size_t i = f->n_listed; i < f->ladder.growth.n_paths; i++)
    for (size_t k = 0; k < f->n_steps; k++) add(&f->others[k], &f->ladder.growth.paths[i].at[k]);
}

/* No times if clocks differ between machines. */
static void name_steps(series_result *f, const lh_request *request) {
  const double *at = f->ladder.growth.at_seconds;
  bool in_order = true;
  for (size_t k = 1; k < f->n_steps; k++) in_order = in_order && at[k] >= at[k - 1];
  for (size_t k = 0; k < f->n_steps; k++)
    f->steps[k] = (step){.name = request->names[k], .seconds = at[k], .has_time = in_order};
}

static void free_series(void *out) {
  lh_free_growth(out);
  lh_free(((series_result *)out)->others);
}

static int find_series(lh_snapshot *snapshot, const lh_request *request, void *out,
                       lh_error *error) {
  enum { USUAL_ROWS = 8 };
  series_result *f = out;
  size_t most = request->has_limit ? request->limit : USUAL_ROWS;
  int code = lh_ladder_question.find(snapshot, request, &f->ladder, error);
  if (code != LH_OK) return code;
  f->n_steps = f->ladder.growth.n_snapshots;
  f->n_listed = most > 0 && most < f->ladder.growth.n_paths ? most : f->ladder.growth.n_paths;
  f->others = lh_alloc_zeroed(f->n_steps, sizeof *f->others);
  f->steps = lh_alloc_zeroed(f->n_steps, sizeof *f->steps);
  if (!f->others || !f->steps) return lh_fail_memory(error, "stacking what grows");
  sum_others(f);
  name_steps(f, request);
  return LH_OK;
}

static void print_series(lh_teller *t, lh_report *report) {
  lh_ladder_question.print(t, report);
}

LH_QUESTION(series, .command = "heapview", .of = LH_OF_LADDER, .main = "paths",
            .free = free_series);
