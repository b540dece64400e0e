/*
** guard.c - limits queries after heap_read_only() to reading. A query may select from our tables,
** ask SQLite about itself, and call functions that reach no file. All else is refused when the
** query is compiled: ATTACH, VACUUM INTO, CREATE, INSERT, PRAGMAs that set, the file functions and
** tables of the sqlite3 shell. A name that is not listed here is refused.
*/
#include "heapsnap.h"

static bool is_one_of(const char *name, const char *const *list) {
  for (; *list != NULL; list++)
    if (sqlite3_stricmp(name, *list) == 0) return true;
  return false;
}

static const char *const harmless_tables[] = {
    "completion",        "generate_series",      "json_each",
    "json_tree",         "pragma_database_list", "pragma_module_list",
    "pragma_table_info", "pragma_table_xinfo",   NULL};

static bool may_read(const char *table) {
  static const char *const schemas[] = {"sqlite_master", "sqlite_schema", "sqlite_temp_master",
                                        "sqlite_temp_schema", NULL};
  for (const hs_kind *const *kind = hs_kinds; *kind != NULL; kind++)
    if (sqlite3_stricmp(table, (*kind)->facts->many) == 0) return true;
  return is_one_of(table, schemas) || is_one_of(table, harmless_tables);
}

/* Functions of their arguments alone; those of other extensions or later SQLite are unknown. */
static bool may_call(const char *function) {
  static const char *const allowed[] = {
      /* scalars */
      "abs", "char", "coalesce", "concat", "concat_ws", "format", "glob", "hex", "if", "ifnull",
      "iif", "instr", "length", "like", "likelihood", "likely", "lower", "ltrim", "max", "min",
      "nullif", "octet_length", "printf", "quote", "random", "randomblob", "regexp", "regexpi",
      "replace", "round", "rtrim", "sign", "soundex", "substr", "substring", "subtype", "trim",
      "typeof", "unhex", "unicode", "unistr", "unistr_quote", "unlikely", "upper", "zeroblob",
      /* mathematics */
      "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "ceiling", "cos", "cosh",
      "degrees", "exp", "floor", "ln", "log", "log10", "log2", "mod", "pi", "pow", "power",
      "radians", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
      /* time */
      "current_date", "current_time", "current_timestamp", "date", "datetime", "julianday",
      "strftime", "time", "timediff", "unixepoch",
      /* aggregates and windows */
      "avg", "count", "cume_dist", "dense_rank", "first_value", "group_concat", "lag", "last_value",
      "lead", "median", "nth_value", "ntile", "percent_rank", "percentile", "percentile_cont",
      "percentile_disc", "rank", "row_number", "string_agg", "sum", "total",
      /* JSON */
      "->", "->>", "json", "json_array", "json_array_length", "json_error_position", "json_extract",
      "json_group_array", "json_group_object", "json_insert", "json_object", "json_patch",
      "json_pretty", "json_quote", "json_remove", "json_replace", "json_set", "json_type",
      "json_valid", "jsonb", "jsonb_array", "jsonb_extract", "jsonb_group_array",
      "jsonb_group_object", "jsonb_insert", "jsonb_object", "jsonb_patch", "jsonb_remove",
      "jsonb_replace", "jsonb_set",
      /* of the shell */
      "base64", "base85", "decimal", "decimal_add", "decimal_cmp", "decimal_mul", "decimal_sub",
      "decimal_sum", "ieee754", "ieee754_exponent", "ieee754_mantissa", "sha1", "sha3",
      "shell_add_schema", "shell_module_schema",
      /* about SQLite */
      "changes", "last_insert_rowid", "sqlite_compileoption_get", "sqlite_compileoption_used",
      "sqlite_source_id", "sqlite_version", "total_changes",
      /* ours */
      "class_of", "heap_for_terminal", "heap_read_only", "id_of", "path_of", NULL};
  return is_one_of(function, allowed);
}

/* PRAGMAs that report and cannot set; with an argument, those that describe the table it names. */
static bool may_ask(const char *pragma, const char *argument) {
  static const char *const telling[] = {
      "compile_options", "collation_list", "database_list", "function_list",
      "module_list",     "pragma_list",    "table_list",    NULL};
  static const char *const about[] = {"table_info", "table_xinfo", "table_list", NULL};
  return is_one_of(pragma, argument != NULL ? about : telling);
}

/* SQLITE_READ without a column, as for count(*), reads no contents: allowed for any table. */
static int authorize(void *unused, int action, const char *first, const char *second,
                     const char *schema, const char *trigger) {
  bool allowed = false;
  (void)unused, (void)schema, (void)trigger;
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE: allowed = true; break;
    case SQLITE_READ: allowed = *second == '\0' || may_read(first); break;
    case SQLITE_FUNCTION: allowed = may_call(second); break;
    case SQLITE_PRAGMA: allowed = may_ask(first, second); break;
  }
  return allowed ? SQLITE_OK : SQLITE_DENY;
}

/* SQLite creates some tables, such as its shell's, at first use by a CREATE TABLE, which the guard
** refuses. So each is used once here, if this SQLite has it. */
static void make_harmless_tables(sqlite3 *db) {
  for (const char *const *name = harmless_tables; *name != NULL; name++) {
    char *sql = sqlite3_mprintf("SELECT 1 FROM %s", *name);
    sqlite3_stmt *query = NULL;
    if (sql != NULL) (void)sqlite3_prepare_v2(db, sql, -1, &query, NULL);
    sqlite3_finalize(query);
    sqlite3_free(sql);
  }
}

int hs_guard(sqlite3 *db) {
  make_harmless_tables(db);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
  return sqlite3_set_authorizer(db, authorize, NULL);
}
