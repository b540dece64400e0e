/*
** sentences.c - names of objects, and lines, numbers and tables in sentences. Printing stops when
** memory runs out (printer->failed).
*/
#include "report/report.h"

/* ==== Objects ======================================================================== */

/* Without printf for speed: a report has a hundred thousand addresses. */
lh_number lh_hex_text(uint64_t n) {
  lh_number number = {"0x"};
  unsigned n_digits = 1;
  while (n_digits < 16 && n >> 4 * n_digits) n_digits++;
  for (unsigned i = 0; i < n_digits; i++)
    number.text[2 + i] = "0123456789abcdef"[n >> 4 * (n_digits - 1 - i) & 15];
  return number;
}

lh_number lh_address_text(const lh_snapshot *snapshot, lh_id id) {
  return lh_hex_text(lh_pointer_of(snapshot, id));
}

const char *lh_class_name_of(const lh_snapshot *snapshot, lh_id id) {
  uint32_t class_index = lh_class_of(snapshot, id);
  return class_index == UINT32_MAX ? lh_type_name(lh_type_of(snapshot, id))
                                   : lh_class_at(snapshot, class_index)->name;
}

const char *lh_code_name_of(const lh_snapshot *snapshot, lh_id code) {
  static const char proto[] = "proto ";
  const char *name = lh_class_name_of(snapshot, code);
  bool is_proto = lh_type_of(snapshot, code) == LH_TYPE_PROTO;
  return is_proto && strlen(name) >= sizeof proto - 1 ? name + sizeof proto - 1 : name;
}

enum { SHOWN_BYTES = 32 }; /* of a string, inside a sentence */

char *lh_what_text(const lh_snapshot *snapshot, lh_id id) {
  const char *class = lh_class_name_of(snapshot, id);
  if (lh_type_of(snapshot, id) != LH_TYPE_STRING) return lh_copy_text(class);
  char *beginning = lh_string_text(snapshot, id, SHOWN_BYTES);
  lh_text text = {.failed = !beginning};
  if (beginning) lh_text_format(&text, "%s %s", class, beginning);
  lh_free(beginning);
  return lh_text_finish(&text);
}

void lh_append_count(lh_text *text, uint64_t objects, const char *name, lh_type type) {
  const char *type_name = lh_type_name(type), *plural = objects == 1 ? "" : "s";
  bool is_plain = type == LH_TYPE_ROOT || strcmp(name, type_name) == 0;
  bool has_plural = is_plain || type == LH_TYPE_TABLE || type == LH_TYPE_USERDATA;
  lh_text_count(text, objects);
  lh_text_format(text, has_plural || objects == 1 ? " %s" : " x %s", name);
  if (is_plain)
    lh_text_string(text, plural);
  else if (type == LH_TYPE_TABLE)
    lh_text_format(text, " %s%s", type_name, plural);
  else if (type == LH_TYPE_USERDATA)
    lh_text_format(text, " %s", type_name);
}

const char *lh_count_words(lh_report *report, uint32_t class_index, uint64_t objects) {
  if (class_index == UINT32_MAX)
    return lh_words(report, "%s", lh_count_of(objects, "object", "objects").text);
  const lh_class *class = lh_class_at(report->snapshot, class_index);
  lh_text text = {0};
  lh_append_count(&text, objects, class->name, class->type);
  return lh_kept(report, lh_text_finish(&text));
}

int lh_readable_path(lh_snapshot *snapshot, lh_id id, char **out, lh_error *error) {
  lh_path path;
  *out = NULL;
  if (lh_distance(snapshot, id) > LH_LONG_PATH) return lh_held_by(snapshot, id, out, error);
  int code = lh_shortest_path(snapshot, id, &path, error);
  if (code != LH_OK) return code;
  *out = lh_path_text(snapshot, &path, false);
  lh_paths_free(&path, 1);
  return *out ? LH_OK : lh_fail_memory(error, "telling a path");
}

char *lh_whole_path_text(const lh_snapshot *snapshot, const lh_path *path, bool folded) {
  lh_text text = {0};
  lh_put_freed(&text, lh_path_text(snapshot, path, folded));
  lh_put_through(&text, snapshot, path, folded);
  return lh_text_finish(&text);
}

/* ==== Cells about an object ========================================================== */

void lh_cell_retained(lh_report *report, lh_id id, lh_cell *cell) {
  cell->as.n = lh_retained_bytes(report->snapshot, id);
}

void lh_cell_shallow(lh_report *report, lh_id id, lh_cell *cell) {
  cell->as.n = lh_shallow_bytes(report->snapshot, id);
}

void lh_cell_distance(lh_report *report, lh_id id, lh_cell *cell) {
  cell->is_null = !lh_is_reachable(report->snapshot, id);
  cell->as.n = lh_distance(report->snapshot, id);
}

void lh_cell_path(lh_report *report, lh_id id, lh_cell *cell) {
  char *path = NULL;
  if (id == LH_ROOT || !lh_is_reachable(report->snapshot, id)) return;
  (void)lh_readable_path(report->snapshot, id, &path, NULL);
  cell->as.text = lh_kept(report, path);
}

void lh_cell_class(lh_report *report, lh_id id, lh_cell *cell) {
  cell->as.text = lh_class_name_of(report->snapshot, id);
}

void lh_cell_string(lh_report *report, lh_id id, lh_cell *cell) {
  cell->as.text = lh_kept(report, lh_string_text(report->snapshot, id, SHOWN_BYTES));
}

void lh_cell_what(lh_report *report, lh_id id, lh_cell *cell) {
  cell->as.text = lh_kept(report, lh_what_text(report->snapshot, id));
}

/* ==== Lines ========================================================================== */

void lh_print_report(lh_printer *printer, lh_report *report) {
  printer->report = report;
  report->question->print(printer, report);
}

void lh_say_text(lh_printer *printer, lh_style style, lh_text *text) {
  char *line = lh_text_finish(text);
  if (line && !printer->failed) printer->line(printer, style, line);
  printer->failed |= !line || printer->report->failed;
  lh_drop_kept(printer->report);
  lh_free(line);
}

void lh_say(lh_printer *printer, lh_style style, const char *format, ...) {
  va_list arguments;
  lh_text text = {0};
  va_start(arguments, format);
  lh_text_vformat(&text, format, arguments);
  va_end(arguments);
  lh_say_text(printer, style, &text);
}

void lh_put_freed(lh_text *text, char *other) {
  text->failed |= !other;
  if (other) lh_text_string(text, other);
  lh_free(other);
}

const char *lh_path_words(lh_report *report, lh_id id) {
  char *path = NULL;
  if (id == LH_ROOT) return "root";
  (void)lh_readable_path(report->snapshot, id, &path, NULL);
  return lh_kept(report, path);
}

const char *lh_object_words(lh_report *report, lh_id id) {
  return lh_words(report, "%s %s", lh_kept(report, lh_what_text(report->snapshot, id)),
                  lh_address_text(report->snapshot, id).text);
}

const char *lh_name_words(lh_report *report, const char *name) {
  return lh_kept(report, lh_escaped(name, strlen(name)));
}

void lh_put_through(lh_text *text, const lh_snapshot *snapshot, const lh_path *path, bool folded) {
  char *through = NULL;
  text->failed |= lh_path_through(snapshot, path, folded, &through, NULL) != LH_OK;
  if (through) lh_text_format(text, " (through %s)", through);
  lh_free(through);
}

lh_number lh_format_size(const lh_printer *printer, uint64_t bytes) {
  return lh_size_text(bytes, printer->exact_bytes);
}

void lh_put_little_share(lh_text *text, uint64_t part, uint64_t whole) {
  double share = whole > 0 ? (double)part / (double)whole : 0;
  uint64_t hundredths = (uint64_t)(share * 10000 + 0.5);
  bool is_less = part > 0 && hundredths == 0;
  lh_text_format(text, "%s%s%%", is_less ? "less than " : "",
                 lh_plain_number((double)(is_less ? 1 : hundredths) / 100).text);
}

lh_number lh_more_bytes(const lh_printer *printer, double bytes) {
  uint64_t n = (uint64_t)(bytes < 0 ? -bytes + 0.5 : bytes + 0.5);
  return bytes < 0 ? lh_size_change(n, 0, printer->exact_bytes)
                   : lh_size_change(0, n, printer->exact_bytes);
}

lh_number lh_share_of_heap(const lh_report *report, uint64_t bytes) {
  return lh_share_text(bytes, report->whole_bytes);
}

char *lh_mark_name(const lh_mark_info *mark, bool *is_time) {
  lh_number time = lh_time_name(mark->time_ns); /* as heap.mark names marks by period */
  *is_time = *mark->name == '\0' || strcmp(mark->name, time.text) == 0;
  return *is_time ? lh_copy_text(time.text) : lh_escaped(mark->name, strlen(mark->name));
}

const char *lh_mark_words(lh_report *report, const lh_mark_info *mark) {
  bool is_time;
  const char *name = lh_kept(report, lh_mark_name(mark, &is_time));
  return is_time ? name : lh_words(report, "%s  %s", lh_time_name(mark->time_ns).text, name);
}

static const char *without_directory(const char *name) {
  const char *base = name;
  for (; *name; name++)
    if (*name == '/' && name[1]) base = name + 1;
  return base;
}

/* A snapshot's mark has the name of its file. The directory is left out, unless another mark then
** has the same name. */
static lh_mark_info short_mark(const lh_snapshot *snapshot, uint32_t index) {
  lh_mark_info mark = *lh_mark_at(snapshot, index);
  const char *base = without_directory(mark.name);
  for (uint32_t i = 0; i < lh_mark_count(snapshot); i++)
    if (i != index && strcmp(without_directory(lh_mark_at(snapshot, i)->name), base) == 0)
      return mark;
  mark.name = base;
  return mark;
}

const char *lh_epoch_words(lh_report *report, uint32_t epoch) {
  enum { LONGEST = 64 };
  bool is_time;
  if (epoch == 0) return "the start";
  lh_mark_info mark = short_mark(report->snapshot, epoch - 1);
  const char *name = lh_kept(report, lh_mark_name(&mark, &is_time));
  if (strlen(name) <= LONGEST) return name;
  return lh_words(report, "%.*s...", (int)lh_text_cut(name, LONGEST), name);
}

void lh_print_garbage(lh_printer *printer, const lh_report *report, const char *before) {
  lh_reach reach;
  lh_reach_totals(report->snapshot, &reach);
  if (reach.garbage_objects > 0)
    lh_say(printer, LH_PLAIN, "%sNot in it: %s of garbage, %s, waiting for the collector%s", before,
           lh_count_of(reach.garbage_objects, "object", "objects").text,
           lh_format_size(printer, reach.garbage_bytes).text, printer->all ? ": --garbage" : "");
}

void lh_print_hidden(lh_printer *printer, const lh_table *table, uint64_t n) {
  if (n == 0 || printer->failed) return;
  if (printer->hidden)
    printer->hidden(printer, table, n);
  else
    lh_say(printer, LH_FAINT, "and %s more %s%s%s", lh_count_text(n).text,
           n == 1 ? table->one : table->many, printer->all ? ": " : "",
           printer->all ? printer->all : "");
}

void lh_print_rows(lh_printer *printer, lh_report *report, const lh_table *table, const void *rows,
                   size_t n) {
  if (!printer->failed) printer->table(printer, report, table, rows, n);
}

void lh_print_table(lh_printer *printer, lh_report *report, const lh_table *table, const void *rows,
                    size_t n, uint64_t total) {
  size_t told = printer->limit != 0 && n > printer->limit ? printer->limit : n;
  lh_print_rows(printer, report, table, rows, told);
  lh_print_hidden(printer, table, total - told);
}

void lh_print_next_of(lh_printer *printer, lh_style style, const char *why, lh_next next,
                      const char *subject, const char *other) {
  lh_say(printer, style, "%s: %s", why,
         lh_kept(printer->report, printer->next(printer, why, next, subject, other)));
}

void lh_print_next(lh_printer *printer, const lh_report *report, const char *why, lh_next next,
                   lh_id id) {
  lh_print_next_of(printer, LH_PLAIN, why, next, lh_address_text(report->snapshot, id).text, NULL);
}

void lh_print_known(lh_printer *printer, lh_report *report, uint64_t groups, uint64_t bytes,
                    uint64_t objects) {
  const lh_known *known = report->request.known;
  if (!known) return;
  const char *name = lh_name_words(report, known->name);
  if (groups == 0)
    lh_say(printer, LH_PLAIN, "Nothing that %s lists is among them", name);
  else
    lh_say(printer, LH_PLAIN, "Left out, since %s lists them: %s, %s, %s", name,
           lh_count_of(groups, "group", "groups").text,
           lh_count_of(objects, "object", "objects").text, lh_format_size(printer, bytes).text);
}

/* ==== Growth ========================================================================= */

void lh_put_prospect(lh_text *text, lh_prospect prospect, const lh_bound *bound) {
  static const char *const words[] = {"was filled once:", "is bounded?", "may grow:", "grows:"};
  if (prospect == LH_BOUNDED && bound->limit > 0 && !bound->is_far)
    lh_text_format(text, "is bounded at %s?", lh_count_text((uint64_t)bound->limit).text);
  else
    lh_text_string(text, words[prospect]);
}

void lh_print_bound(lh_printer *printer, const lh_snapshot *snapshot, const lh_bound *bound) {
  lh_say(printer, LH_PLAIN, "    %s is %s beside it%s",
         lh_kept(printer->report, lh_string_text(snapshot, bound->name, 40)),
         lh_plain_number(bound->limit).text, bound->is_far ? ": it may still be filling" : "");
}

void lh_print_young_holder(lh_printer *printer, const lh_snapshot *snapshot, lh_id holder) {
  lh_say(printer, LH_PLAIN, "    %s",
         lh_epoch(snapshot, holder) == 0
             ? "what holds them is in every program: its age says nothing"
             : "what holds them is no older: it is new, or the program replaces it");
}

static uint32_t last_part(const lh_snapshot *snapshot, const lh_history *history) {
  uint32_t n = lh_mark_count(snapshot), n_parts = history->n - 1;
  return 1 + ((n_parts - 1) * n) / n_parts;
}

void lh_print_ages(lh_printer *printer, const lh_snapshot *snapshot, const lh_history *history,
                   const uint64_t ages[LH_SPANS]) {
  unsigned n = history->n;
  uint64_t all = ages[0];
  lh_text text = {0};
  if (!history->by_marks || n < 3) return;
  for (unsigned i = 1; i < n; i++) all += ages[i];
  if (all == 0) return;
  const char *first = lh_epoch_words(printer->report, 1);
  const char *last = lh_epoch_words(printer->report, last_part(snapshot, history));
  lh_text_format(&text, "    %s older than %s, %s", lh_count_text(ages[0]).text, first,
                 lh_count_text(ages[1]).text);
  for (unsigned i = 2; i < n - 1; i++) lh_text_format(&text, " + %s", lh_count_text(ages[i]).text);
  lh_text_format(&text, " between %s and %s, %s since", first, last,
                 lh_count_text(ages[n - 1]).text);
  lh_say_text(printer, LH_PLAIN, &text);
}

/* The youngest mark at this position; NULL: none. */
static const lh_mark_info *mark_at(const lh_snapshot *snapshot, uint64_t position) {
  for (uint32_t i = lh_mark_count(snapshot); i-- > 0;)
    if (lh_mark_position(snapshot, i) == position) return lh_mark_at(snapshot, i);
  return NULL;
}

static const char *moment_words(lh_report *report, uint64_t position, bool says_mark) {
  const lh_mark_info *mark = mark_at(report->snapshot, position);
  bool is_time;
  if (!mark) return lh_words(report, "position %s", lh_count_text(position).text);
  return lh_words(report, "%s%s", says_mark ? "the mark " : "",
                  lh_kept(report, lh_mark_name(mark, &is_time)));
}

const char *lh_interval_words(lh_report *report, lh_interval i) {
  const lh_snapshot *s = report->snapshot;
  bool ends = i.until < lh_position_count(s);
  bool are_marks = ends && mark_at(s, i.since) && mark_at(s, i.until);
  const char *since = moment_words(report, i.since, !are_marks);
  if (!ends) return lh_words(report, "since %s", since);
  return lh_words(report, "between %s%s and %s", are_marks ? "the marks " : "", since,
                  moment_words(report, i.until, !are_marks));
}

void lh_print_interval(lh_printer *t, lh_report *report) {
  if (report->request.has_interval)
    lh_say(t, LH_PLAIN, "Only of what was allocated %s",
           lh_interval_words(report, report->request.interval));
}

void lh_print_finalized(lh_printer *printer, const lh_snapshot *snapshot) {
  uint64_t n = lh_snapshot_info(snapshot)->finalized_objects;
  if (n > 0)
    lh_say(
        printer, LH_PLAIN,
        "Taken while the Lua state closed: the finalizers of %s had run, so what these let go is\n"
        "gone, and they look youngest.",
        lh_count_of(n, "object", "objects").text);
}

void lh_print_compared(lh_printer *printer, bool same_state) {
  if (!same_state)
    lh_say(printer, LH_PLAIN,
           "The snapshots are of different Lua states, so no object of one is an object of another:"
           "\ncompared by class and path.");
}
