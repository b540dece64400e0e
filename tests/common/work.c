/* work.c - see work.h. */
#include "work.h"

#include <stdio.h>
#include <stdlib.h>

#if defined __clang__
#define UNCOUNTED __attribute__((no_sanitize("coverage")))
#else
#define UNCOUNTED __attribute__((no_sanitize_coverage))
#endif

uint64_t work_done;

void __sanitizer_cov_trace_pc(void);

UNCOUNTED void __sanitizer_cov_trace_pc(void) {
  work_done++;
}

/* Rows in rows are as deep as tables name others. */
static void read_row(lh_report *report, const lh_table *table, const void *row) {
  for (const lh_column *column = table->columns; column->kind != LH_COLUMN_END; column++) {
    lh_cell cell;
    lh_cell_of(report, column, row, &cell);
    if (cell.is_null || cell.is_absent || cell.kind != LH_COLUMN_ROWS) continue;
    const char *rows = cell.as.rows.list;
    size_t n = column->is_one ? 1 : cell.as.rows.n, most = report->request.limit;
    for (size_t i = 0; i < n && (most == 0 || i < most); i++)
      read_row(report, cell.as.rows.table, rows + i * cell.as.rows.table->row_bytes);
  }
}

void work_ask(const char *question, lh_snapshot *snapshot, const lh_request *request) {
  lh_report report;
  lh_error err;
  if (lh_ask(&report, lh_find_question(question), snapshot, request, &err) != LH_OK) {
    fprintf(stderr, "%s of object %u: %s\n", question, request->id, err.message);
    abort();
  }
  lh_free(lh_report_text(&report, "s"));
  read_row(&report, report.question->answer, report.answer);
  if (report.failed) abort();
  lh_report_free(&report);
}
