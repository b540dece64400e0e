/*
** limits.c - limits the time, rows and memory of a query, so that none, such as an endless
** recursion, runs forever or exhausts the machine. The limits are far above the needs of usual
** queries; options raise them.
**
** SQLite calls `look` between steps of a statement. One step may be endless, such as instr of two
** long texts, and the first use of a table is one step too. So an alarm one second after the limit
** ends the process. A text or blob may take an eighth of the memory, since it is copied on output.
*/
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "heapsql.h"

enum { USUAL_SECONDS = 600, USUAL_ROWS = 100000000, STEPS_BETWEEN_LOOKS = 10000 };

static uint64_t now(void) {
  struct timespec time;
  (void)clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

heapsql_limits heapsql_usual_limits(void) {
  long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  return (heapsql_limits){
      .seconds = USUAL_SECONDS,
      .rows = USUAL_ROWS,
      .bytes = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes / 2 : 0};
}

/* The message of the alarm. */
static char late_line[256];

static void end_late(int signal) {
  (void)signal;
  if (write(STDERR_FILENO, late_line, strlen(late_line)) < 0) _exit(CLI_FAILURE);
  _exit(CLI_FAILURE);
}

static const char late_format[] =
    "the query takes more than %s: heapsql --timeout SECONDS allows more";

static void set_alarm(const heapsql_limits *limits) {
  if (limits->seconds > 0 && limits->seconds < INT_MAX) (void)alarm((unsigned)limits->seconds + 1);
}

static int look(void *payload) {
  heapsql_limits *limits = payload;
  uint64_t seconds = (now() - limits->begun_ns) / 1000000000u;
  limits->late = limits->seconds > 0 && seconds >= limits->seconds;
  return limits->late;
}

void heapsql_limit(cli *c, sqlite3 *db, heapsql_limits *limits) {
  size_t n = (size_t)snprintf(late_line, sizeof late_line, "%s: ", c->tool->name);
  n += (size_t)snprintf(late_line + n, sizeof late_line - n, late_format,
                        lh_count_of(limits->seconds, "second", "seconds").text);
  (void)snprintf(late_line + n, sizeof late_line - n, "\n");
  (void)signal(SIGALRM, end_late);
  sqlite3_progress_handler(db, STEPS_BETWEEN_LOOKS, look, limits);
  if (limits->bytes == 0 || limits->bytes > INT64_MAX) return;
  (void)sqlite3_hard_heap_limit64((sqlite3_int64)limits->bytes);
  if (limits->bytes / 8 < INT_MAX)
    (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, (int)(limits->bytes / 8));
}

int heapsql_step(heapsql_limits *limits, sqlite3_stmt *statement) {
  if (!sqlite3_stmt_busy(statement)) {
    limits->begun_ns = now();
    limits->n_rows = 0;
    set_alarm(limits);
  }
  int code = sqlite3_step(statement);
  if (code != SQLITE_ROW) (void)alarm(0);
  if (code != SQLITE_ROW) return code;
  if (limits->rows > 0 && limits->n_rows == limits->rows) return SQLITE_FULL;
  limits->n_rows++;
  return code;
}

void heapsql_check_limits(cli *c, const heapsql_limits *limits, int code) {
  if (code == SQLITE_INTERRUPT && limits->late)
    cli_die(c, NULL, late_format, lh_count_of(limits->seconds, "second", "seconds").text);
  if (code == SQLITE_FULL)
    cli_die(c, NULL, "the query has more than %s: heapsql --max-rows N allows more",
            lh_count_of(limits->rows, "row", "rows").text);
  if (code == SQLITE_NOMEM || code == SQLITE_TOOBIG)
    cli_die(c, NULL, "the query takes more memory than %s: heapsql --max-memory SIZE allows more",
            limits->bytes > 0 ? lh_size_text(limits->bytes, c->exact_bytes).text : "there is");
}
