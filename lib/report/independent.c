/*
** independent.c - the number of cuts that free an object, which is that of its independent paths.
**
** If one path holds it, but not each cut of that path frees it: the nearest object on the path that
** several paths hold.
*/
#include "report/report.h"

/* Nobody makes more cuts, so the search stops here. */
enum { MOST_INDEPENDENT = 5 };

typedef struct independent_result {
  lh_independent held;
  lh_id id, below;
  lh_id junction; /* LH_NO_OBJECT: none */
  lh_independent junction_held;
} independent_result;

/* ==== Columns ======================================================================== */

LH_MADE_TEXT(independent_text, void, lh_whole_path_text(report->snapshot, row, false))

#define ROW lh_path
static const lh_table path_table = LH_TABLE_OF(
    "heap.independent_path", "path", "paths", LH_COUNT("steps", "steps", n_steps, "how many"),
    LH_COMPUTED("text", "path", LH_COLUMN_TEXT, independent_text, "in Lua's language"));
#undef ROW

LH_ITS(bool, has_junction, independent_result, it->junction != LH_NO_OBJECT)

#define ROW independent_result
static const lh_table independent_answer =
    LH_TABLE_OF("heap.independent", NULL, NULL,
                LH_COUNT("count", NULL, held.n, "so many cuts free it, and no fewer"),
                LH_FLAG("or_more", held.is_limited, "no more were looked for"),
                LH_EXAMPLE("below", NULL, below,
                           "the object from which on they part; null: the root", LH_OPTIONAL),
                LH_ROWS("paths", held.paths, held.n, &path_table, "the shortest first"),
                LH_EXAMPLE("junction", NULL, junction,
                           "of one path: the nearest object on it that several hold", LH_OPTIONAL),
                LH_ROWS("junction_paths", junction_held.paths, junction_held.n, &path_table,
                        "those that hold that", LH_ONLY_WHERE(has_junction)));
#undef ROW

/* ==== The words ====================================================================== */

/* 2 independent paths below _G.app */
static const char *paths_words(lh_report *report, const lh_independent *held) {
  bool below = held->n > 1 && held->from != LH_ROOT;
  return lh_words(report, "%s%s independent path%s%s%s", lh_count_text(held->n).text,
                  held->is_limited ? " or more" : "", held->n == 1 ? "" : "s",
                  below ? " below " : "", below ? lh_path_words(report, held->from) : "");
}

static void print_independent(lh_teller *t, lh_report *report) {
  const independent_result *f = report->answer;
  const lh_independent *told = f->held.n < 2 ? &f->junction_held : &f->held;
  if (f->held.n == 0) return;
  if (f->held.n >= 2)
    lh_say(t, LH_BOLD, "Held by %s, so one cut does not free it:", paths_words(report, &f->held));
  else if (has_junction(f))
    lh_say(t, LH_BOLD, "Held by one path. Above %s one cut does not free it: that is held by %s:",
           lh_path_words(report, f->junction), paths_words(report, &f->junction_held));
  else
    lh_say(t, LH_BOLD, "Held by one path: each cut of it frees it");
  if (told->n > 0) lh_print_rows(t, report, &path_table, told->paths, told->n);
}

/* ==================================================================================== */

/* Ignores modules: nobody removes one from package.loaded to free its contents. */
static int find_junction(lh_snapshot *snapshot, independent_result *f, lh_error *error) {
  int code =
      lh_find_junction(snapshot, f->id, MOST_INDEPENDENT, &f->junction, &f->junction_held, error);
  if (code != LH_OK) {
    f->junction = LH_NO_OBJECT;
    f->junction_held = (lh_independent){0};
    return code == LH_ENOTFOUND ? LH_OK : code;
  }
  if (!lh_is_for_good(snapshot, f->junction)) return LH_OK;
  f->junction = LH_NO_OBJECT;
  lh_independent_free(&f->junction_held);
  f->junction_held = (lh_independent){0};
  return LH_OK;
}

static void free_independent(void *out) {
  independent_result *f = out;
  lh_independent_free(&f->held);
  lh_independent_free(&f->junction_held);
}

static int find_independent(lh_snapshot *snapshot, const lh_request *request, void *out,
                            lh_error *error) {
  independent_result *f = out;
  *f = (independent_result){.id = request->id, .below = LH_NO_OBJECT, .junction = LH_NO_OBJECT};
  if (f->id == LH_ROOT || !lh_is_reachable(snapshot, f->id)) return LH_OK;
  int code = lh_find_independent(snapshot, f->id, MOST_INDEPENDENT, &f->held, error);
  if (code != LH_OK) return code;
  if (f->held.n > 1 && f->held.from != LH_ROOT) f->below = f->held.from;
  return f->held.n == 1 ? find_junction(snapshot, f, error) : LH_OK;
}

LH_QUESTION(independent, .command = "heappath", .main = "paths", .free = free_independent);
