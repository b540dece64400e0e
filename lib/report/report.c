/* report.c - asks a question, and reads the cells of its answer. */
#include "report/report.h"

#define LISTED(name) &lh_##name##_question,
const lh_question *const lh_questions[] = {LH_QUESTIONS(LISTED) NULL};
#undef LISTED

const lh_question *lh_find_question(const char *name) {
  const lh_question *const *q = lh_questions;
  while (*q && strcmp((*q)->name, name) != 0) q++;
  return *q;
}

/* ==== Names of snapshots ============================================================= */

/* Names for people, names as given, two marks. */
static size_t count_names(const lh_report *report) {
  return 2 * report->request.n_names + 2;
}

static void free_names(lh_report *report) {
  for (size_t i = 0; report->names && i < count_names(report); i++) lh_free(report->names[i]);
  lh_free(report->names);
}

/* Copies the texts of the request: the caller may free them. */
static bool keep_names(lh_report *report) {
  lh_request *r = &report->request;
  size_t n = r->n_names;
  char **names = report->names = lh_alloc_zeroed(count_names(report), sizeof *report->names);
  bool made = names != NULL;
  for (size_t i = 0; made && i < n; i++) {
    names[i] = lh_escaped(r->names[i], strlen(r->names[i]));
    names[n + i] = lh_copy_text(r->names[i]);
    made = names[i] && names[n + i];
  }
  const char **marks[] = {&r->since, &r->until};
  for (size_t i = 0; made && i < 2; i++) {
    if (!*marks[i]) continue;
    *marks[i] = names[2 * n + i] = lh_copy_text(*marks[i]);
    made = *marks[i] != NULL;
  }
  if (made) r->names = (const char *const *)names + n;
  return made;
}

void lh_name_asked(lh_cell *cell, const char *name) {
  cell->as.name.bytes = name;
  cell->as.name.n = name ? strlen(name) : 0;
}

void lh_names_asked(lh_report *report, const void *row, lh_cell *cell) {
  (void)row;
  cell->as.texts.list = report->request.names;
  cell->as.texts.n = report->request.n_names;
}

void lh_drop_kept(lh_report *report) {
  while (report->n_made > 0) lh_free(report->made[--report->n_made]);
}

static void free_answer(const lh_question *question, void *answer) {
  if (!answer) return;
  if (question->free) question->free(answer);
  for (const lh_column *c = question->answer->columns; c->kind != LH_COLUMN_END; c++)
    if (c->is_owned) lh_free(*(void **)(void *)((char *)answer + c->offset));
  lh_free(answer);
}

void lh_report_free(lh_report *report) {
  lh_drop_kept(report);
  lh_free(report->made);
  free_answer(report->question, report->answer);
  free_names(report);
  *report = (lh_report){0};
}

static uint64_t whole_at(const lh_report *report, size_t offset) {
  return *(const uint64_t *)(const void *)((const char *)report->answer + offset);
}

/* Snapshots of several Lua states have no objects in common. */
static bool are_apart(const lh_request *r) {
  bool apart = false;
  for (size_t i = 1; i < r->n_snapshots; i++)
    apart |=
        lh_snapshot_info(r->snapshots[i])->state_id != lh_snapshot_info(r->snapshots[0])->state_id;
  return apart;
}

int lh_ask(lh_report *report, const lh_question *question, lh_snapshot *snapshot,
           const lh_request *request, lh_error *error) {
  lh_reach reach = {0};
  if (question == &lh_diff_question && are_apart(request)) question = &lh_apart_question;
  *report = (lh_report){.question = question, .request = *request, .snapshot = snapshot};
  report->answer = lh_alloc_zeroed(1, question->answer->row_bytes);
  bool made = report->answer && keep_names(report);
  int code = made ? question->find(snapshot, &report->request, report->answer, error)
                  : lh_fail_memory(error, "answering a question");
  if (code == LH_OK && snapshot) lh_reach_totals(snapshot, &reach);
  report->whole_bytes = reach.reachable_bytes;
  if (code == LH_OK && question->has_whole)
    report->whole_bytes = whole_at(report, question->whole_offset);
  if (code != LH_OK) lh_report_free(report);
  return code;
}

const char *lh_fingerprint_heading(const lh_report *report) {
  return report->request.fingerprints ? "fingerprint" : NULL;
}

bool lh_is_asked_for(const lh_snapshot *snapshot, const lh_request *request, lh_id id) {
  return !lh_is_own(snapshot, id) && lh_is_reachable(snapshot, id) != request->garbage &&
         (request->type_mask == 0 || (request->type_mask >> lh_type_of(snapshot, id) & 1) != 0);
}

const char *lh_sort_name(const lh_request *request) {
  static const char *const names[] = {"retained", "shallow", "count"};
  return names[request->sort == LH_SORT_RETAINED && request->garbage ? LH_SORT_SHALLOW
                                                                     : request->sort];
}

static uint64_t read_count(const char *field, size_t bytes) {
  return bytes == sizeof(uint32_t) ? *(const uint32_t *)(const void *)field
                                   : *(const uint64_t *)(const void *)field;
}

static void read_field(const lh_column *column, const char *row, lh_cell *cell) {
  const char *at = row + column->offset;
  const void *field = at;
  switch (column->kind) {
    case LH_COLUMN_BYTES:
    case LH_COLUMN_COUNT:
    case LH_COLUMN_LINE:
    case LH_COLUMN_HEX:
    case LH_COLUMN_TIME:
    case LH_COLUMN_BAR:
    case LH_COLUMN_SHARE: cell->as.n = read_count(at, column->bytes); break;
    case LH_COLUMN_BYTES_SERIES:
    case LH_COLUMN_COUNT_SERIES:
    case LH_COLUMN_BYTES_CHANGE:
    case LH_COLUMN_COUNT_CHANGE:
      cell->as.series.first = field;
      cell->as.series.stride = sizeof(uint64_t);
      cell->as.series.n = column->bytes / sizeof(uint64_t);
      break;
    case LH_COLUMN_MORE_BYTES:
    case LH_COLUMN_NUMBER: cell->as.number = *(const double *)field; break;
    case LH_COLUMN_FLAG: cell->as.flag = *(const bool *)field; break;
    case LH_COLUMN_TEXT:
      cell->as.text = column->word        ? column->word(*(const unsigned *)field)
                      : column->is_inline ? at
                                          : *(const char *const *)field;
      break;
    case LH_COLUMN_OBJECT:
    case LH_COLUMN_EXAMPLE:
    case LH_COLUMN_ID:
    case LH_COLUMN_STRING: cell->as.object = *(const lh_id *)field; break;
    case LH_COLUMN_VALUE: cell->as.value = *(const lh_value *)field; break;
    case LH_COLUMN_CLASS: cell->as.class_index = *(const uint32_t *)field; break;
    case LH_COLUMN_ROWS:
      cell->as.rows.table = column->rows;
      cell->as.rows.list = column->is_inline ? field : *(const void *const *)field;
      cell->as.rows.n =
          column->is_one ? 1 : (size_t)read_count(row + column->n_offset, column->n_bytes);
      break;
    case LH_COLUMN_NAME:
      cell->as.name.bytes = *(const char *const *)field;
      cell->as.name.n = cell->as.name.bytes ? strlen(cell->as.name.bytes) : 0;
      break;
    case LH_COLUMN_EDGE:
    case LH_COLUMN_TEXTS:
    case LH_COLUMN_NAMES:
    case LH_COLUMN_END: break;
  }
}

void lh_name_of_mark(lh_cell *cell, const lh_mark_info *mark) {
  cell->as.name.bytes = mark ? mark->name : NULL;
  cell->as.name.n = mark ? mark->name_length : 0;
}

const char *lh_kept(lh_report *report, char *text) {
  bool kept =
      text && lh_grow(&report->made, report->n_made, &report->capacity, sizeof *report->made);
  if (kept)
    report->made[report->n_made++] = text;
  else
    lh_free(text);
  report->failed |= !kept;
  return kept ? text : "";
}

const char *lh_words(lh_report *report, const char *format, ...) {
  va_list arguments;
  lh_text text = {0};
  va_start(arguments, format);
  lh_text_vformat(&text, format, arguments);
  va_end(arguments);
  return lh_kept(report, lh_text_finish(&text));
}

static bool is_nothing(const lh_cell *cell) {
  switch (cell->kind) {
    case LH_COLUMN_LINE: return cell->as.n == 0;
    case LH_COLUMN_VALUE: return cell->as.value.kind == LH_VALUE_NIL;
    case LH_COLUMN_TEXT: return !cell->as.text;
    case LH_COLUMN_NAME: return !cell->as.name.bytes;
    case LH_COLUMN_OBJECT: return cell->as.object == LH_NO_OBJECT || cell->as.object == LH_ROOT;
    case LH_COLUMN_EXAMPLE:
    case LH_COLUMN_ID:
    case LH_COLUMN_STRING: return cell->as.object == LH_NO_OBJECT;
    case LH_COLUMN_CLASS: return cell->as.class_index == UINT32_MAX;
    case LH_COLUMN_EDGE: return !cell->as.edge;
    default: return false;
  }
}

void lh_cell_of(lh_report *report, const lh_column *column, const void *row, lh_cell *cell) {
  *cell = (lh_cell){.kind = column->kind, .whole = report->whole_bytes};
  lh_drop_kept(report);
  if (column->has_whole) cell->whole = whole_at(report, column->whole_offset);
  if (column->has && !column->has(row)) {
    cell->is_null = true;
    cell->is_absent = column->is_only_there;
    return;
  }
  if (column->of) {
    const void *field = (const char *)row + column->offset;
    lh_id id = *(const lh_id *)field;
    cell->is_null = id == LH_NO_OBJECT;
    if (!cell->is_null) column->of(report, id, cell);
  } else {
    if (!column->compute || column->bytes > 0) read_field(column, row, cell);
    if (column->compute) column->compute(report, row, cell);
  }
  if (cell->kind == LH_COLUMN_TEXTS) {
    cell->as.texts.list = (const char *const *)report->made;
    cell->as.texts.n = report->n_made;
  }
  size_t limit = report->request.limit;
  if (column->is_limited && limit != 0 && cell->as.rows.n > limit) cell->as.rows.n = limit;
  cell->is_null |= cell->is_absent || is_nothing(cell);
}

uint64_t lh_series_at(const lh_cell *cell, size_t i) {
  const char *first = (const char *)cell->as.series.first;
  return *(const uint64_t *)(const void *)(first + i * cell->as.series.stride);
}

const char *lh_json_key(const lh_column *column) {
  const char *key = column->json_key ? column->json_key : column->key;
  return key && *key != '\0' ? key : NULL;
}

const char *lh_heading_of(const lh_report *report, const lh_column *column) {
  return column->heading_of ? column->heading_of(report) : column->heading;
}

bool lh_has_text(const lh_table *table) {
  const lh_column *column = table->columns;
  while (column->kind != LH_COLUMN_END && !column->heading && !column->heading_of) column++;
  return table->print || column->kind != LH_COLUMN_END;
}

bool lh_is_number(lh_column_kind kind) {
  return kind >= LH_COLUMN_BYTES && kind <= LH_COLUMN_NUMBER;
}

/* Longest series in text; a longer one shows this number at each end. */
enum { MOST_TOLD = 6, TOLD_AT_ENDS = 2 };

static void put_series(lh_text *text, const lh_printer *printer, const lh_cell *cell) {
  size_t n = cell->as.series.n;
  for (size_t i = 0; i < n; i++) {
    if (i > 0) lh_text_string(text, " -> ");
    if (n > MOST_TOLD && i == TOLD_AT_ENDS) {
      lh_text_string(text, "... -> ");
      i = n - TOLD_AT_ENDS;
    }
    uint64_t value = lh_series_at(cell, i);
    lh_text_string(text, cell->kind == LH_COLUMN_BYTES_SERIES ? lh_format_size(printer, value).text
                                                              : lh_count_text(value).text);
  }
}

static void put_change(lh_text *text, const lh_printer *printer, const lh_cell *cell) {
  uint64_t from = lh_series_at(cell, 0), to = lh_series_at(cell, cell->as.series.n - 1);
  lh_text_string(text, cell->kind == LH_COLUMN_BYTES_CHANGE
                           ? lh_size_change(from, to, printer->exact_bytes).text
                           : lh_count_change(from, to).text);
}

char *lh_cell_text(const lh_printer *printer, const lh_report *report, const lh_cell *cell) {
  lh_text text = {0};
  if (cell->is_null) return lh_copy_text("");
  switch (cell->kind) {
    case LH_COLUMN_BYTES: lh_text_string(&text, lh_format_size(printer, cell->as.n).text); break;
    case LH_COLUMN_LINE:
    case LH_COLUMN_COUNT: lh_text_count(&text, cell->as.n); break;
    case LH_COLUMN_SHARE: lh_text_string(&text, lh_share_text(cell->as.n, cell->whole).text); break;
    case LH_COLUMN_BAR:
      lh_text_string(&text, lh_bar_text(cell->as.n, cell->whole, printer->unicode).text);
      break;
    case LH_COLUMN_BYTES_SERIES:
    case LH_COLUMN_COUNT_SERIES: put_series(&text, printer, cell); break;
    case LH_COLUMN_BYTES_CHANGE:
    case LH_COLUMN_COUNT_CHANGE: put_change(&text, printer, cell); break;
    case LH_COLUMN_MORE_BYTES:
      lh_text_string(&text, lh_more_bytes(printer, cell->as.number).text);
      break;
    case LH_COLUMN_NUMBER: lh_text_string(&text, lh_plain_number(cell->as.number).text); break;
    case LH_COLUMN_FLAG: lh_text_string(&text, cell->as.flag ? "yes" : ""); break;
    case LH_COLUMN_TEXT: lh_text_string(&text, cell->as.text); break;
    case LH_COLUMN_NAME: return lh_escaped(cell->as.name.bytes, strlen(cell->as.name.bytes));
    case LH_COLUMN_CLASS:
      lh_text_string(&text, lh_class_at(report->snapshot, cell->as.class_index)->name);
      break;
    case LH_COLUMN_OBJECT:
    case LH_COLUMN_EXAMPLE:
      lh_text_string(&text, lh_address_text(report->snapshot, cell->as.object).text);
      break;
    case LH_COLUMN_STRING: return lh_string_text(report->snapshot, cell->as.object, 40);
    case LH_COLUMN_EDGE: return lh_edge_text(report->snapshot, cell->as.edge);
    case LH_COLUMN_NAMES:
    case LH_COLUMN_TEXTS: lh_text_count(&text, cell->as.texts.n); break;
    case LH_COLUMN_ROWS: lh_text_count(&text, cell->as.rows.n); break;
    case LH_COLUMN_ID:
    case LH_COLUMN_HEX:
    case LH_COLUMN_TIME:
    case LH_COLUMN_VALUE: /* facts have no text */
    case LH_COLUMN_END: break;
  }
  return lh_text_finish(&text);
}
