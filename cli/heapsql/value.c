/*
** value.c - a value of a query's answer, as exact as JSON allows.
*/
#include <math.h>

#include "heapsql.h"

const char *heapsql_bytes(sqlite3_stmt *row, int column, size_t *n) {
  const void *bytes = sqlite3_column_type(row, column) == SQLITE_BLOB
                          ? sqlite3_column_blob(row, column)
                          : sqlite3_column_text(row, column);
  *n = (size_t)sqlite3_column_bytes(row, column);
  return bytes != NULL ? bytes : "";
}

json_t *heapsql_value(sqlite3_stmt *row, int column) {
  size_t n;
  const char *text;
  json_t *value;
  switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL: return json_null();
    case SQLITE_INTEGER: return json_integer(sqlite3_column_int64(row, column));
    case SQLITE_FLOAT:
      return isfinite(sqlite3_column_double(row, column))
                 ? json_real(sqlite3_column_double(row, column))
                 : json_null();
    default: break;
  }
  text = heapsql_bytes(row, column, &n);
  value = json_stringn(text, n);
  if (value == NULL) { /* not UTF-8 */
    char *visible = cli_must(lh_escaped(text, n));
    value = json_string(visible);
    lh_free(visible);
  }
  return value;
}
