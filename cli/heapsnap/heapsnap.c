/*
** heapsnap.c - the entry of the extension, and its SQL functions:
**
**     heap_open(file [, name])   opens a snapshot as a schema; returns its name
**                                (a third argument, a pointer of type lh_snapshot, is an open
**                                snapshot of the host, used in place of the file)
**     heap_read_only()           from now on queries only read our tables
**     heap_for_terminal()        from now on control characters in heap strings are escaped
**     path_of(id)                the retaining path: _G.bus.listeners.tick[17]
**     class_of(id)               the class
**     id_of(object [, snapshot]) the id of an address, a path, @file:line or a class
**
** A schema is an attached empty database in memory that has only our tables, so SQLite itself
** resolves `c.objects`. Tables over all snapshots are in the schema temp, which SQLite searches
** first for a name without schema.
*/
#include <ctype.h>
#include <string.h>

#include "heapsnap.h"

SQLITE_EXTENSION_INIT1

static int run_sql(sqlite3 *db, char *sql, lh_error *error) {
  char *message = NULL;
  int result = sql != NULL ? sqlite3_exec(db, sql, NULL, NULL, &message) : SQLITE_NOMEM;
  if (result == SQLITE_NOMEM) (void)hs_no_memory(error, "opening a snapshot");
  if (result != SQLITE_OK && result != SQLITE_NOMEM) {
    *error = (lh_error){.code = LH_EARGUMENT};
    sqlite3_snprintf((int)sizeof error->message, error->message, "%s", message);
  }
  sqlite3_free(message);
  sqlite3_free(sql);
  return result == SQLITE_OK ? LH_OK : error->code;
}

/* A name stays taken after DETACH, since the snapshot stays open. */
static bool is_taken(sqlite3 *db, const hs_shelf *shelf, const char *name) {
  sqlite3_stmt *query = NULL;
  bool found = false;
  if (hs_shelf_find(shelf, name) != NULL) return true;
  if (sqlite3_prepare_v2(db, "SELECT 1 FROM pragma_database_list WHERE name = ? COLLATE NOCASE", -1,
                         &query, NULL) == SQLITE_OK) {
    sqlite3_bind_text(query, 1, name, -1, SQLITE_STATIC);
    found = sqlite3_step(query) == SQLITE_ROW;
  }
  sqlite3_finalize(query);
  return found;
}

/* A schema name from the file's base name, of letters, digits and _, a letter or _ first:
** run-1.heap gives run_1_heap, then run_1_heap_2. NULL: out of memory. */
static char *make_name(sqlite3 *db, const hs_shelf *shelf, const char *path) {
  const char *slash = strrchr(path, '/');
  char *base = sqlite3_mprintf("%s", slash != NULL ? slash + 1 : path), *name;
  if (base == NULL) return NULL;
  for (char *p = base; *p != '\0'; p++)
    if (!isalnum((unsigned char)*p) || (unsigned char)*p >= 0x80) *p = '_';
  bool plain = isalpha((unsigned char)*base) && !sqlite3_keyword_check(base, (int)strlen(base)) &&
               sqlite3_stricmp(base, "main") != 0;
  name = sqlite3_mprintf("%s%s", plain ? "" : "_", base);
  for (unsigned n = 2; name != NULL && is_taken(db, shelf, name); n++) {
    sqlite3_free(name);
    name = sqlite3_mprintf("%s%s_%u", plain ? "" : "_", base, n);
  }
  sqlite3_free(base);
  return name;
}

static int create_tables(sqlite3 *db, const char *schema, lh_error *error) {
  int code = LH_OK;
  for (const hs_kind *const *kind = hs_kinds; *kind != NULL && code == LH_OK; kind++)
    code = run_sql(db,
                   sqlite3_mprintf("CREATE VIRTUAL TABLE IF NOT EXISTS \"%w\".%s USING heapsnap",
                                   schema, (*kind)->facts->many),
                   error);
  return code;
}

static int attach(sqlite3 *db, const char *schema, lh_error *error) {
  int code = run_sql(db, sqlite3_mprintf("ATTACH ':memory:' AS \"%w\"", schema), error);
  if (code == LH_EARGUMENT && strstr(error->message, "too many") != NULL)
    sqlite3_snprintf((int)sizeof error->message, error->message,
                     "SQLite takes at most %d snapshots at a time: open fewer",
                     sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, -1));
  return code;
}

static int open_as(sqlite3 *db, hs_shelf *shelf, const char *path, lh_snapshot *open,
                   const char *schema, lh_error *error) {
  unsigned n_files = shelf->n_files;
  lh_error ignored;
  int code = attach(db, schema, error);
  if (code != LH_OK) return code;
  code = hs_shelf_add(shelf, path, open, schema, error);
  if (code == LH_OK) code = create_tables(db, schema, error);
  if (code == LH_OK) code = create_tables(db, "temp", error);
  if (code == LH_OK) return code;
  (void)run_sql(db, sqlite3_mprintf("DETACH \"%w\"", schema), &ignored);
  if (shelf->n_files > n_files) hs_shelf_remove_last(shelf);
  return code;
}

static void heap_open(sqlite3_context *context, int argc, sqlite3_value **argv) {
  sqlite3 *db = sqlite3_context_db_handle(context);
  hs_shelf *shelf = sqlite3_user_data(context);
  const char *path = (const char *)sqlite3_value_text(argv[0]);
  const char *wish = argc > 1 ? (const char *)sqlite3_value_text(argv[1]) : NULL;
  lh_snapshot *open = argc > 2 ? sqlite3_value_pointer(argv[2], "lh_snapshot") : NULL;
  char *schema;
  lh_error error;
  if (path == NULL) {
    sqlite3_result_error(context, "heap_open(file): which file?", -1);
    return;
  }
  schema = wish != NULL ? sqlite3_mprintf("%s", wish) : make_name(db, shelf, path);
  if (schema == NULL) {
    sqlite3_result_error_nomem(context);
  } else if (hs_shelf_find(shelf, schema) != NULL) {
    sqlite3_result_error(context, "heap_open: a snapshot has that name already", -1);
  } else if (open_as(db, shelf, path, open, schema, &error) != LH_OK) {
    hs_result_error(context, &error);
  } else {
    sqlite3_result_text(context, schema, -1, SQLITE_TRANSIENT);
  }
  sqlite3_free(schema);
}

static void heap_read_only(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc, (void)argv;
  if (hs_guard(sqlite3_context_db_handle(context)) != SQLITE_OK)
    sqlite3_result_error(context, "this SQLite cannot be made to read only", -1);
}

static void heap_for_terminal(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc, (void)argv;
  hs_shelf_for_terminal(sqlite3_user_data(context));
}

static bool object_argument(sqlite3_context *context, sqlite3_value *value, hs_file **file,
                            lh_id *id) {
  const hs_shelf *shelf = sqlite3_user_data(context);
  if (sqlite3_value_type(value) == SQLITE_NULL) return false;
  *file = sqlite3_value_numeric_type(value) == SQLITE_INTEGER
              ? hs_shelf_resolve(shelf, sqlite3_value_int64(value), lh_object_count, id)
              : NULL;
  if (*file == NULL)
    sqlite3_result_error(context, "no object has this id: take it from a table, or from id_of", -1);
  return *file != NULL;
}

static void answer_path(sqlite3_context *context, int argc, sqlite3_value **argv) {
  hs_file *file;
  lh_id id;
  (void)argc;
  if (object_argument(context, argv[0], &file, &id)) hs_result_path(context, file, id);
}

static void class_of(sqlite3_context *context, int argc, sqlite3_value **argv) {
  hs_file *file;
  lh_id id;
  (void)argc;
  if (object_argument(context, argv[0], &file, &id)) hs_result_class(context, file, id);
}

static hs_file *choose_file(sqlite3_context *context, int argc, sqlite3_value **argv) {
  const hs_shelf *shelf = sqlite3_user_data(context);
  const char *name = argc > 1 ? (const char *)sqlite3_value_text(argv[1]) : NULL;
  hs_file *file = shelf->n_files == 1 ? shelf->files[0] : NULL;
  if (name != NULL) file = hs_shelf_find(shelf, name);
  if (file == NULL)
    sqlite3_result_error(context,
                         name != NULL ? "id_of: no snapshot is open under that name"
                                      : "id_of: in which snapshot? id_of(object, 'name')",
                         -1);
  return file;
}

/* NULL: no such object. A number is an address without quotes. */
static void answer_id(sqlite3_context *context, int argc, sqlite3_value **argv) {
  char address[32];
  bool is_number = sqlite3_value_type(argv[0]) == SQLITE_INTEGER;
  const char *expression = is_number ? address : (const char *)sqlite3_value_text(argv[0]);
  hs_file *file = choose_file(context, argc, argv);
  sqlite3_snprintf(sizeof address, address, "0x%llx", sqlite3_value_int64(argv[0]));
  lh_found found;
  lh_error error;
  int code;
  if (file == NULL || expression == NULL) return;
  code = hs_need(file, LH_NEEDS_CLASSES, &error);
  if (code == LH_OK) code = lh_find(file->snapshot, expression, &found, &error);
  if (code == LH_OK)
    hs_result_id(context, file, found.id);
  else if (code != LH_ENOTFOUND)
    hs_result_error(context, &error);
}

__attribute__((visibility("default"))) int sqlite3_heapsnap_init(sqlite3 *db, char **message,
                                                                 const sqlite3_api_routines *api);

int sqlite3_heapsnap_init(sqlite3 *db, char **message, const sqlite3_api_routines *api) {
  static const struct {
    const char *name;
    int n_arguments, flags;
    void (*function)(sqlite3_context *context, int argc, sqlite3_value **argv);
  } functions[] = {{"heap_open", 1, SQLITE_DIRECTONLY, heap_open},
                   {"heap_open", 2, SQLITE_DIRECTONLY, heap_open},
                   {"heap_open", 3, SQLITE_DIRECTONLY, heap_open},
                   {"heap_read_only", 0, SQLITE_DIRECTONLY, heap_read_only},
                   {"heap_for_terminal", 0, SQLITE_DIRECTONLY, heap_for_terminal},
                   {"path_of", 1, SQLITE_DETERMINISTIC, answer_path},
                   {"class_of", 1, SQLITE_DETERMINISTIC, class_of},
                   {"id_of", 1, SQLITE_DETERMINISTIC, answer_id},
                   {"id_of", 2, SQLITE_DETERMINISTIC, answer_id}};
  hs_shelf *shelf;
  int result;
  (void)message;
  SQLITE_EXTENSION_INIT2(api);
  shelf = sqlite3_malloc64(sizeof *shelf);
  if (shelf == NULL) return SQLITE_NOMEM;
  *shelf = (hs_shelf){0};
  result = hs_register_tables(db, shelf);
  for (size_t i = 0; i < sizeof functions / sizeof *functions && result == SQLITE_OK; i++)
    result = sqlite3_create_function_v2(db, functions[i].name, functions[i].n_arguments,
                                        SQLITE_UTF8 | functions[i].flags, shelf,
                                        functions[i].function, NULL, NULL, NULL);
  return result;
}
