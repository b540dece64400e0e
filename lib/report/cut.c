/*
** cut.c - references that --ignore excludes from all answers, and cuts to try.
**
** A cut's answer: the bytes that each cut frees alone, that all free together, and that only all
** together free; and whether they free the object of the request.
*/
#include "report/report.h"

/* A table entry's key and value are one reference. */
static uint64_t count_references(const lh_without *what) {
  uint64_t n = 0;
  for (size_t i = 0; i < what->n_edges; i++) {
    const lh_edge *edge = &what->edges[i], *value = edge + 1;
    n += edge->kind != LH_EDGE_KEY || i + 1 == what->n_edges || value->kind != LH_EDGE_VALUE ||
         value->source != edge->source || value->key.kind != LH_VALUE_OBJECT ||
         value->key.as.object != edge->target;
  }
  return n;
}

static void references_of(lh_report *report, const void *row, lh_cell *cell) {
  (void)report;
  cell->as.n = count_references(&((const lh_removed *)row)->what);
}

/* For rows whose first field is an lh_removed; `at` is the prefix of its fields. */
#define REMOVED_COLUMNS(at)                                                                   \
  LH_NAME("pattern", at text, "as it was given"),                                             \
      LH_COMPUTED("references", NULL, LH_COLUMN_COUNT, references_of, "how many it matched"), \
      LH_COUNT("objects", NULL, at what.n_objects, "how many it matched")

/* _G.debugger.* (12 references) */
static const char *gone_words(lh_report *report, const lh_removed *removed) {
  uint64_t n = count_references(&removed->what);
  const char *what = removed->text ? lh_name_words(report, removed->text)
                     : removed->what.n_edges > 0
                         ? lh_kept(report, lh_edge_text(report->snapshot, removed->what.edges))
                         : lh_object_words(report, *removed->what.objects);
  if (n < 2 && removed->what.n_objects < 2) return what;
  return lh_words(report, "%s (%s %s)", what,
                  lh_count_text(n > 1 ? n : removed->what.n_objects).text,
                  n > 1 ? "references" : "objects");
}

/* 30 Listener in the snapshot; this is the one that retains most */
static void print_matches(lh_printer *t, const lh_report *report) {
  const lh_request *request = &report->request;
  if (request->matches < 2) return;
  lh_say(t, LH_PLAIN, "%s %s in the snapshot; this is the one that retains most",
         lh_count_text(request->matches).text,
         request->class_index == UINT32_MAX
             ? "objects like that"
             : lh_class_at(report->snapshot, request->class_index)->name);
}

/* ignored: _G.debugger.* (12 references) */
static void print_ignored_references(lh_printer *t, lh_report *report) {
  lh_text text = {0};
  for (size_t i = 0; i < report->request.n_ignored; i++) {
    const lh_removed *removed = &report->request.ignored[i];
    if (removed->what.n_edges + removed->what.n_objects == 0) continue;
    lh_text_format(&text, "%s%s", text.n == 0 ? "ignored: " : ", ", gone_words(report, removed));
  }
  if (text.n > 0) lh_say_text(t, LH_PLAIN, &text);
}

void lh_print_asked(lh_printer *t, lh_report *report) {
  print_matches(t, report);
  print_ignored_references(t, report);
}

#define ROW lh_removed
static const lh_table gone_table =
    LH_TABLE_OF("heap.gone", "pattern", "patterns", REMOVED_COLUMNS());
#undef ROW

#define ROW lh_request
static const lh_table ignored_answer =
    LH_TABLE_OF("heap.ignored", NULL, NULL,
                LH_ROWS("ignored", ignored, n_ignored, &gone_table, "one for each pattern"));
#undef ROW

static int find_ignored(lh_snapshot *snapshot, const lh_request *request, void *out,
                        lh_error *error) {
  (void)snapshot, (void)error;
  *(lh_request *)out = *request;
  return LH_OK;
}

#define print_ignored lh_print_asked
LH_QUESTION(ignored);

typedef struct trial {
  lh_removed removed; /* must be first: REMOVED_COLUMNS reads it; empty if not a single cut */
  lh_freed freed;
  const char *title; /* if not a single cut */
  lh_style style;
  bool asks; /* the request has an object */
} trial;

typedef struct cut_result {
  trial *list;
  size_t n; /* cuts; the other two rows follow in the list */
  trial together, only_together;
} cut_result;

LH_ITS(bool, asks, trial, it->asks)
LH_CELL(goes_text, trial, cell->as.text = it->freed.frees_it ? "yes" : "no")
LH_HEADING_OF(goes_heading, report->request.id == LH_NO_OBJECT ? NULL : "frees it")
LH_CELL(title_of, trial, cell->as.text = it->title ? it->title : gone_words(report, &it->removed))
LH_STYLE(style_of, trial, it->style)

#define ROW trial
#define FREED                                                                                     \
  LH_BYTES("frees_bytes", "frees", freed.bytes, "of what would be freed"),                        \
      LH_COUNT("frees_objects", "objects", freed.objects, "how many these are"),                  \
      LH_FLAG("frees_it", freed.frees_it, "the object that is asked for, too; only where one is", \
              LH_ONLY_WHERE(asks))
static const lh_table freed = LH_TABLE_OF("heap.freed", NULL, NULL, FREED);
static const lh_table cut = LH_TABLE_WITH(
    (.style = style_of), "heap.cut_row", "cut", "cuts", REMOVED_COLUMNS(removed.), FREED,
    LH_COMPUTED(NULL, NULL, LH_COLUMN_TEXT, goes_text, NULL, LH_HEADING(goes_heading),
                LH_WHERE(asks), LH_UNBROKEN),
    LH_COMPUTED(NULL, "cut", LH_COLUMN_TEXT, title_of, NULL));
#undef ROW

#define ROW cut_result
static const lh_table cut_answer =
    LH_TABLE_OF("heap.what_if", NULL, NULL,
                LH_ROWS("cuts", list, n, &cut, "what each of them frees alone", LH_OWNED),
                LH_INLINE_ROW("together", together, &freed, "what all cuts free together"),
                LH_INLINE_ROW("only_together", only_together, &freed,
                              "what of that no single one of them frees"));
#undef ROW

/* cutting _G.cache frees 1.1 MB, 1,203 objects, but not Listener 0x55d0c0a3f2e0 */
static void print_cut_sentence(lh_printer *t, lh_report *report, const cut_result *f) {
  const lh_freed *all = &f->together.freed;
  const char *cuts = f->n == 1
                         ? lh_words(report, "cutting %s", gone_words(report, &f->list[0].removed))
                     : f->n == 2 ? "making both cuts"
                                 : lh_words(report, "making all %s cuts", lh_count_text(f->n).text);
  const char *what = f->together.asks ? lh_object_words(report, report->request.id) : "";
  if (all->objects == 0)
    lh_say(t, LH_BOLD, "%s frees nothing%s%s%s", cuts, *what ? ": " : "", what,
           *what ? " is still alive" : "");
  else
    lh_say(t, LH_BOLD, "%s frees %s, %s%s%s", cuts, lh_format_size(t, all->bytes).text,
           lh_count_of(all->objects, "object", "objects").text,
           !*what          ? ""
           : all->frees_it ? ", with them "
                           : ", but not ",
           what);
}

static void print_cut(lh_printer *t, lh_report *report) {
  const cut_result *f = report->answer;
  size_t n = f->n == 1 ? 1 : f->n + 1 + (f->only_together.freed.objects > 0);
  print_cut_sentence(t, report, f);
  lh_print_asked(t, report);
  if (!report->request.each) return;
  lh_say(t, LH_PLAIN, "%s", "");
  lh_print_rows(t, report, &cut, f->list, n);
}

static int find_cut(lh_snapshot *snapshot, const lh_request *request, void *out, lh_error *error) {
  cut_result *f = out;
  size_t n = f->n = request->n_cuts;
  bool asks = request->id != LH_NO_OBJECT;
  lh_without *cuts = lh_alloc_zeroed(n, sizeof *cuts);
  lh_freed *alone = lh_alloc_zeroed(n, sizeof *alone);
  f->list = lh_alloc_zeroed(n + 2, sizeof *f->list);
  f->together = (trial){.title = "all together", .style = LH_BOLD, .asks = asks};
  f->only_together = (trial){.title = "what only all together free", .style = LH_FAINT};
  int code = cuts && alone && f->list ? LH_OK : lh_fail_memory(error, "making cuts");
  for (size_t i = 0; code == LH_OK && i < n; i++) cuts[i] = request->cuts[i].what;
  if (code == LH_OK)
    code = lh_what_if(snapshot, cuts, n, request->id, alone, &f->together.freed,
                      &f->only_together.freed, error);
  for (size_t i = 0; code == LH_OK && i < n; i++)
    f->list[i] = (trial){.removed = request->cuts[i], .freed = alone[i], .asks = asks};
  if (code == LH_OK) f->list[n] = f->together;
  if (code == LH_OK) f->list[n + 1] = f->only_together;
  lh_free(alone);
  lh_free(cuts);
  return code;
}

static bool is_no(const void *out) {
  const trial *all = &((const cut_result *)out)->together;
  return all->asks && !all->freed.frees_it;
}

LH_QUESTION(cut, .main = "cuts", .is_no = is_no);
