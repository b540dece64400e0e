/*
** tell.c - prints an answer line by line; stops when memory runs out (teller->failed).
*/
#include <stdarg.h>
#include <string.h>

#include "report/report.h"

void lh_tell_report(lh_teller *teller, lh_report *report) {
  report->question->tell(teller, report);
}

void lh_say_text(lh_teller *teller, lh_style style, lh_text *text) {
  char *line = lh_text_finish(text);
  if (line && !teller->failed) teller->line(teller, style, line);
  teller->failed |= !line;
  lh_free(line);
}

void lh_say(lh_teller *teller, lh_style style, const char *format, ...) {
  va_list arguments;
  lh_text text = {0};
  va_start(arguments, format);
  lh_text_vformat(&text, format, arguments);
  va_end(arguments);
  lh_say_text(teller, style, &text);
}

void lh_put_freed(lh_text *text, char *other) {
  text->failed |= !other;
  if (other) lh_text_string(text, other);
  lh_free(other);
}

void lh_put_path(lh_text *text, lh_snapshot *snapshot, lh_id id) {
  char *path = NULL;
  (void)lh_told_path(snapshot, id, &path, NULL);
  lh_put_freed(text, path);
}

void lh_put_object(lh_text *text, const lh_snapshot *snapshot, lh_id id) {
  lh_put_freed(text, lh_what_text(snapshot, id));
  lh_text_format(text, " %s", lh_address_text(snapshot, id).text);
}

void lh_put_through(lh_text *text, const lh_snapshot *snapshot, const lh_path *path, bool folded) {
  char *through = NULL;
  text->failed |= lh_path_through(snapshot, path, folded, &through, NULL) != LH_OK;
  if (through) lh_text_format(text, " (through %s)", through);
  lh_free(through);
}

lh_number lh_told_size(const lh_teller *teller, uint64_t bytes) {
  return lh_size_text(bytes, teller->exact_bytes);
}

void lh_put_little_share(lh_text *text, uint64_t part, uint64_t whole) {
  double share = whole > 0 ? (double)part / (double)whole : 0;
  uint64_t hundredths = (uint64_t)(share * 10000 + 0.5);
  bool is_less = part > 0 && hundredths == 0;
  lh_text_format(text, "%s%s%%", is_less ? "less than " : "",
                 lh_plain_number((double)(is_less ? 1 : hundredths) / 100).text);
}

lh_number lh_more_bytes(const lh_teller *teller, double bytes) {
  uint64_t n = (uint64_t)(bytes < 0 ? -bytes + 0.5 : bytes + 0.5);
  return bytes < 0 ? lh_size_change(n, 0, teller->exact_bytes)
                   : lh_size_change(0, n, teller->exact_bytes);
}

lh_number lh_share_of_heap(const lh_report *report, uint64_t bytes) {
  return lh_share_text(bytes, report->whole_bytes);
}

/* As heap.mark names marks by period: 2026-11-21 17:40:05. */
static char *time_name(const lh_mark_info *mark) {
  return lh_copy_text(lh_time_name(mark->time_ns).text);
}

char *lh_mark_name(const lh_mark_info *mark, bool *is_time) {
  char *time = time_name(mark);
  *is_time = !time || *mark->name == '\0' || strcmp(mark->name, time) == 0;
  if (*is_time) return time;
  lh_free(time);
  return lh_escaped(mark->name, strlen(mark->name));
}

char *lh_mark_text(const lh_mark_info *mark) {
  bool is_time;
  char *name = lh_mark_name(mark, &is_time);
  if (is_time) return name;
  lh_text text = {0};
  lh_put_freed(&text, time_name(mark));
  lh_text_string(&text, "  ");
  lh_put_freed(&text, name);
  return lh_text_finish(&text);
}

char *lh_interval_text(const lh_snapshot *snapshot, uint32_t epoch) {
  enum { LONGEST = 64 };
  bool is_time;
  char *name = epoch == 0 ? lh_copy_text("the start")
                          : lh_mark_name(lh_mark_at(snapshot, epoch - 1), &is_time);
  if (!name || strlen(name) <= LONGEST) return name;
  lh_text text = {0};
  lh_text_add(&text, name, lh_text_cut(name, LONGEST));
  lh_text_string(&text, "...");
  lh_free(name);
  return lh_text_finish(&text);
}

void lh_tell_garbage(lh_teller *teller, const lh_report *report, const char *before) {
  lh_reach reach;
  lh_reach_totals(report->snapshot, &reach);
  if (reach.garbage_objects > 0)
    lh_say(teller, LH_PLAIN, "%sNot in it: %s of garbage, %s, waiting for the collector%s", before,
           lh_count_of(reach.garbage_objects, "object", "objects").text,
           lh_told_size(teller, reach.garbage_bytes).text, teller->all ? ": --garbage" : "");
}

void lh_tell_hidden(lh_teller *teller, const lh_table *table, uint64_t n) {
  if (n == 0 || teller->failed) return;
  if (teller->hidden)
    teller->hidden(teller, table, n);
  else
    lh_say(teller, LH_FAINT, "and %s more %s%s%s", lh_count_text(n).text,
           n == 1 ? table->one : table->many, teller->all ? ": " : "",
           teller->all ? teller->all : "");
}

void lh_tell_rows(lh_teller *teller, lh_report *report, const lh_table *table, const void *rows,
                  size_t n) {
  if (!teller->failed) teller->table(teller, report, table, rows, n);
}

void lh_tell_table(lh_teller *teller, lh_report *report, const lh_table *table, const void *rows,
                   size_t n, uint64_t total) {
  size_t told = teller->limit != 0 && n > teller->limit ? teller->limit : n;
  lh_tell_rows(teller, report, table, rows, told);
  lh_tell_hidden(teller, table, total - told);
}

void lh_tell_next_of(lh_teller *teller, lh_style style, const char *why, lh_next next,
                     const char *subject, const char *other) {
  lh_text text = {0};
  lh_text_format(&text, "%s: ", why);
  lh_put_freed(&text, teller->next(teller, why, next, subject, other));
  lh_say_text(teller, style, &text);
}

void lh_tell_next(lh_teller *teller, const lh_report *report, const char *why, lh_next next,
                  lh_id id) {
  lh_tell_next_of(teller, LH_PLAIN, why, next, lh_address_text(report->snapshot, id).text, NULL);
}

void lh_tell_known(lh_teller *teller, const lh_report *report, uint64_t groups, uint64_t bytes,
                   uint64_t objects) {
  const lh_known *known = report->request.known;
  if (!known) return;
  char *name = lh_escaped(known->name, strlen(known->name));
  teller->failed |= !name;
  if (name && groups == 0)
    lh_say(teller, LH_PLAIN, "Nothing that %s lists is among them", name);
  else if (name)
    lh_say(teller, LH_PLAIN, "Left out, since %s lists them: %s, %s, %s", name,
           lh_count_of(groups, "group", "groups").text,
           lh_count_of(objects, "object", "objects").text, lh_told_size(teller, bytes).text);
  lh_free(name);
}

/* ==== Growth ========================================================================= */

void lh_put_prospect(lh_text *text, lh_prospect prospect, const lh_bound *bound) {
  static const char *const words[] = {"was filled once:", "is bounded?", "may grow:", "grows:"};
  if (prospect == LH_BOUNDED && bound->limit > 0)
    lh_text_format(text, "is bounded at %s?", lh_count_text((uint64_t)bound->limit).text);
  else
    lh_text_string(text, words[prospect]);
}

void lh_tell_bound(lh_teller *teller, const lh_snapshot *snapshot, const lh_bound *bound) {
  char *name = lh_string_text(snapshot, bound->name, 40);
  teller->failed |= !name;
  if (name)
    lh_say(teller, LH_PLAIN, "    %s is %s beside it", name, lh_plain_number(bound->limit).text);
  lh_free(name);
}

static uint32_t last_part(const lh_snapshot *snapshot, const lh_history *history) {
  uint32_t n = lh_mark_count(snapshot), n_parts = history->n - 1;
  return 1 + ((n_parts - 1) * n) / n_parts;
}

void lh_tell_ages(lh_teller *teller, const lh_snapshot *snapshot, const lh_history *history,
                  const uint64_t ages[LH_SPANS]) {
  unsigned n = history->n;
  uint64_t between = 0, all = ages[0];
  if (!history->by_marks || n < 3) return;
  for (unsigned i = 1; i < n; i++) all += ages[i];
  for (unsigned i = 1; i < n - 1; i++) between += ages[i];
  if (all == 0) return;
  char *first = lh_interval_text(snapshot, 1);
  char *last = lh_interval_text(snapshot, last_part(snapshot, history));
  teller->failed |= !first || !last;
  if (first && last)
    lh_say(teller, LH_PLAIN, "    %s from before %s, %s from then to %s, %s since",
           lh_count_text(ages[0]).text, first, lh_count_text(between).text, last,
           lh_count_text(ages[n - 1]).text);
  lh_free(first);
  lh_free(last);
}

/* ==================================================================================== */

/* The youngest mark at this position; NULL: none. */
static const lh_mark_info *mark_at(const lh_snapshot *snapshot, uint64_t position) {
  for (uint32_t i = lh_mark_count(snapshot); i-- > 0;)
    if (lh_mark_position(snapshot, i) == position) return lh_mark_at(snapshot, i);
  return NULL;
}

static void put_mark(lh_text *text, const lh_mark_info *mark) {
  bool is_time;
  lh_put_freed(text, lh_mark_name(mark, &is_time));
}

static void put_moment(lh_text *text, const lh_snapshot *snapshot, uint64_t position) {
  const lh_mark_info *mark = mark_at(snapshot, position);
  lh_text_format(text, mark ? "the mark " : "position %s", lh_count_text(position).text);
  if (mark) put_mark(text, mark);
}

void lh_put_interval(lh_text *text, const lh_snapshot *s, lh_interval i) {
  uint64_t n = lh_position_count(s);
  const lh_mark_info *since = mark_at(s, i.since),
                     *until = i.until < n ? mark_at(s, i.until) : NULL;
  if (since && until) {
    lh_text_string(text, "between the marks ");
    put_mark(text, since);
    lh_text_string(text, " and ");
    put_mark(text, until);
    return;
  }
  lh_text_string(text, i.until < n ? "between " : "since ");
  put_moment(text, s, i.since);
  if (i.until >= n) return;
  lh_text_string(text, " and ");
  put_moment(text, s, i.until);
}

void lh_tell_interval(lh_teller *t, const lh_report *report) {
  lh_text text = {0};
  if (!report->request.has_interval) return;
  lh_text_string(&text, "Only of what was allocated ");
  lh_put_interval(&text, report->snapshot, report->request.interval);
  lh_say_text(t, LH_PLAIN, &text);
}

void lh_tell_finalized(lh_teller *teller, const lh_snapshot *snapshot) {
  uint64_t n = lh_snapshot_info(snapshot)->finalized_objects;
  if (n > 0)
    lh_say(
        teller, LH_PLAIN,
        "Taken while the Lua state closed: the finalizers of %s had run, so what these let go is\n"
        "gone, and they look youngest.",
        lh_count_of(n, "object", "objects").text);
}

void lh_tell_compared(lh_teller *teller, bool same_state) {
  if (!same_state)
    lh_say(teller, LH_PLAIN,
           "The snapshots are of different Lua states, so no object of one is an object of another:"
           "\ncompared by class and path.");
}
