/*
** table.c - the SQLite module heapsnap, behind all tables. A table's name says its kind, its schema
** the snapshot: c.objects are the objects of snapshot c, temp.objects those of all snapshots, with
** the snapshot as a visible column.
**
** A plan (xBestIndex) uses the one column that leaves the fewest rows, and perhaps the snapshot.
** SQLite checks each row again, except for an address, so a cursor may return too many rows, never
** too few. Objects also come sorted by class, so `group by class` over two million objects needs no
** sort: half a second, not two.
*/
#include <string.h>

#include "heapsnap.h"

enum { MOST_COLUMNS = 64 };

typedef struct hs_table {
  sqlite3_vtab base;
  const hs_kind *kind;
  hs_shelf *shelf;
  unsigned first, end; /* snapshots; `end` 0: all */
  int n_columns;
  hs_lookup lookups[MOST_COLUMNS]; /* by column */
} hs_table;

/* idxNum: in the low byte the looked-up column + 1, or 0; and flags. */
enum { PLAN_SNAPSHOT = 0x100, PLAN_BY_CLASS = 0x200, PLAN_DESCENDING = 0x400 };

/* ==== Tables ========================================================================= */

static const hs_kind *find_kind(const char *name) {
  for (const hs_kind *const *kind = hs_kinds; *kind != NULL; kind++)
    if (sqlite3_stricmp((*kind)->facts->many, name) == 0) return *kind;
  return NULL;
}

static bool has_rowid(const hs_kind *kind) {
  return kind->key == NULL || strchr(kind->key, ',') == NULL;
}

static const char *column_type(const lh_column *column) {
  switch (column->kind) {
    case LH_COLUMN_VALUE: return "";
    case LH_COLUMN_STRING:
    case LH_COLUMN_TEXT:
    case LH_COLUMN_NAME:
    case LH_COLUMN_HEX:
    case LH_COLUMN_TIME: return "TEXT";
    default: return "INTEGER";
  }
}

static hs_lookup lookup_of(const hs_kind *kind, const char *column) {
  for (size_t i = 0; kind->lookups[i].column != NULL; i++)
    if (strcmp(kind->lookups[i].column, column) == 0) return kind->lookups[i].lookup;
  return HS_NONE;
}

static int declare(sqlite3 *db, hs_table *table) {
  const hs_kind *kind = table->kind;
  const char *name;
  sqlite3_str *text = sqlite3_str_new(db);
  sqlite3_str_appendf(text, "CREATE TABLE x(\"snapshot\" TEXT%s", table->end != 0 ? " HIDDEN" : "");
  table->n_columns = 1;
  for (const lh_column *column = kind->facts->columns;
       (name = lh_json_key(column)) != NULL && table->n_columns < MOST_COLUMNS; column++) {
    sqlite3_str_appendf(text, ", \"%w\" %s%s", name, column_type(column),
                        column->is_wide ? " HIDDEN" : "");
    table->lookups[table->n_columns++] = lookup_of(kind, name);
  }
  if (kind->key != NULL) sqlite3_str_appendf(text, ", PRIMARY KEY (%s)", kind->key);
  sqlite3_str_appendall(text, has_rowid(kind) ? ")" : ") WITHOUT ROWID");
  char *declaration = sqlite3_str_finish(text);
  int result = declaration != NULL ? sqlite3_declare_vtab(db, declaration) : SQLITE_NOMEM;
  if (name != NULL) result = SQLITE_TOOBIG; /* the table of facts has more columns than this */
  sqlite3_free(declaration);
  return result;
}

/* argv: module, schema, table. */
static int connect_table(sqlite3 *db, void *shelf_pointer, int argc, const char *const *argv,
                         sqlite3_vtab **out, char **message) {
  hs_shelf *shelf = shelf_pointer;
  hs_table made = {.shelf = shelf, .kind = find_kind(argv[2])};
  if (made.kind == NULL || argc != 3) {
    *message = sqlite3_mprintf("heapsnap has no table '%s': say select heap_open('file')", argv[2]);
    return SQLITE_ERROR;
  }
  for (unsigned i = 0; i < shelf->n_files; i++)
    if (sqlite3_stricmp(shelf->files[i]->schema, argv[1]) == 0) {
      made.first = i;
      made.end = i + 1;
    }
  if (made.end == 0 && sqlite3_stricmp(argv[1], "temp") != 0) {
    *message =
        sqlite3_mprintf("no snapshot is open as '%s': say select heap_open('file')", argv[1]);
    return SQLITE_ERROR;
  }
  int result = declare(db, &made);
  hs_table *table = result == SQLITE_OK ? sqlite3_malloc64(sizeof *table) : NULL;
  if (result == SQLITE_OK && table == NULL) result = SQLITE_NOMEM;
  if (result == SQLITE_OK) {
    *table = made;
    *out = &table->base;
  }
  return result;
}

static int disconnect_table(sqlite3_vtab *base) {
  sqlite3_free(base);
  return SQLITE_OK;
}

static unsigned last_file(const hs_table *table) {
  return table->end != 0 ? table->end : table->shelf->n_files;
}

/* ==== Plans ========================================================================== */

static double rows_found(hs_lookup lookup, double n) {
  double least = 1;
  switch (lookup) {
    case HS_NONE: least = n; break;
    case HS_BY_TYPE: least = n / 4; break;
    case HS_BY_CLASS: least = n / 100; break;
    case HS_FEW_IDS: least = 8; break;
    case HS_ONE_ID:
    case HS_ADDRESS: return 1;
  }
  return least < n ? least : n;
}

/* The rowid of a table with one key column is that key. */
static int column_of(const hs_table *table, int column) {
  if (column >= 0 || table->kind->key == NULL) return column;
  for (int i = 0; i < table->n_columns; i++)
    if (table->lookups[i] == HS_ONE_ID) return i;
  return column;
}

/* True: constraint i is an equality that a cursor can use. */
static bool is_usable(sqlite3_index_info *info, int i) {
  return info->aConstraint[i].usable && info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ &&
         sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0;
}

static double total_rows(const hs_table *table) {
  double n = 0;
  for (unsigned i = table->first; i < last_file(table); i++)
    n += lh_object_count(table->shelf->files[i]->snapshot);
  return n * table->kind->rows_per_object + 10;
}

static void plan_order(const hs_table *table, sqlite3_index_info *info, int lookup) {
  if (info->nOrderBy != 1 || last_file(table) - table->first != 1) return;
  int column = info->aOrderBy[0].iColumn;
  if (column < 0 || table->lookups[column] != HS_BY_CLASS) return;
  if (lookup != -1 && lookup != column) return;
  info->idxNum |= PLAN_BY_CLASS | (info->aOrderBy[0].desc ? PLAN_DESCENDING : 0);
  info->orderByConsumed = 1;
}

static int plan(sqlite3_vtab *base, sqlite3_index_info *info) {
  const hs_table *table = (const hs_table *)base;
  const hs_lookup *lookups = table->lookups;
  int best = -1, best_column = -1, of_snapshot = -1, argument = 0;
  double n = total_rows(table);
  for (int i = 0; i < info->nConstraint; i++) {
    int column = column_of(table, info->aConstraint[i].iColumn);
    if (column < 0 || !is_usable(info, i)) continue;
    if (column == 0) of_snapshot = i;
    if (lookups[column] <= (best == -1 ? HS_NONE : lookups[best_column])) continue;
    best = i;
    best_column = column;
  }
  info->idxNum = best_column + 1;
  if (best != -1) {
    info->aConstraintUsage[best].argvIndex = ++argument;
    info->aConstraintUsage[best].omit = lookups[best_column] == HS_ADDRESS;
    n = rows_found(lookups[best_column], n);
  }
  if (of_snapshot != -1) {
    info->aConstraintUsage[of_snapshot].argvIndex = ++argument;
    info->idxNum |= PLAN_SNAPSHOT;
    n = n / 2 + 1;
  }
  plan_order(table, info, best_column);
  info->estimatedRows = (sqlite3_int64)n;
  info->estimatedCost = n;
  return SQLITE_OK;
}

/* ==== Cursors ======================================================================== */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out) {
  const hs_table *table = (const hs_table *)base;
  hs_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
  if (cursor == NULL) return SQLITE_NOMEM;
  *cursor = (hs_cursor){.kind = table->kind, .shelf = table->shelf};
  *out = &cursor->base;
  return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base) {
  hs_referrers_free(&((hs_cursor *)base)->referrers);
  sqlite3_free(((hs_cursor *)base)->text);
  sqlite3_free(base);
  return SQLITE_OK;
}

static int fail_query(hs_cursor *cursor, const lh_error *error) {
  sqlite3_vtab *table = cursor->base.pVtab;
  sqlite3_free(table->zErrMsg);
  table->zErrMsg = sqlite3_mprintf("%s", error->message);
  return error->code == LH_EMEMORY ? SQLITE_NOMEM : SQLITE_ERROR;
}

static int advance(sqlite3_vtab_cursor *base) {
  hs_cursor *cursor = (hs_cursor *)base;
  lh_error error;
  for (;;) {
    if (cursor->file != NULL && cursor->kind->next(cursor)) return SQLITE_OK;
    cursor->done = cursor->next_file >= cursor->end_file;
    if (cursor->done) return SQLITE_OK;
    cursor->file = cursor->shelf->files[cursor->next_file++];
    cursor->row = 0;
    cursor->fact_row.object.id = LH_NO_OBJECT;
    cursor->fact_row.code.id = LH_NO_OBJECT;
    if (hs_begin(cursor, &error) != LH_OK) return fail_query(cursor, &error);
  }
}

static void only_file(hs_cursor *cursor, const hs_file *file) {
  unsigned number = file != NULL ? (unsigned)(file->base / HS_ID_STEP) : UINT32_MAX;
  if (number < cursor->next_file || number >= cursor->end_file) {
    cursor->end_file = cursor->next_file; /* no snapshot */
  } else {
    cursor->next_file = number;
    cursor->end_file = number + 1;
  }
}

/* The id that SQLite would find equal to the value. */
static bool value_id(sqlite3_value *value, int64_t *id) {
  switch (sqlite3_value_numeric_type(value)) {
    case SQLITE_INTEGER: *id = sqlite3_value_int64(value); return true;
    case SQLITE_FLOAT: {
      double number = sqlite3_value_double(value);
      if (number < 0 || number > 1e15 || number != (double)(int64_t)number) return false;
      *id = (int64_t)number;
      return true;
    }
    default: return false;
  }
}

static int set_lookup(hs_cursor *cursor, hs_lookup lookup, sqlite3_value *value) {
  int64_t id;
  cursor->lookup = lookup;
  if (lookup == HS_ONE_ID || lookup == HS_FEW_IDS) {
    bool is_id = value_id(value, &id);
    only_file(
        cursor,
        is_id ? hs_shelf_resolve(cursor->shelf, id, cursor->kind->count, &cursor->object) : NULL);
    return SQLITE_OK;
  }
  if (sqlite3_value_type(value) == SQLITE_NULL) {
    only_file(cursor, NULL);
    return SQLITE_OK;
  }
  cursor->text = sqlite3_mprintf("%s", sqlite3_value_text(value));
  return cursor->text != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

static int filter(sqlite3_vtab_cursor *base, int plan_number, const char *unused, int argc,
                  sqlite3_value **argv) {
  hs_cursor *cursor = (hs_cursor *)base;
  const hs_table *table = (const hs_table *)base->pVtab;
  int column = (plan_number & 0xFF) - 1, result = SQLITE_OK;
  (void)unused;
  sqlite3_free(cursor->text);
  cursor->text = NULL;
  cursor->file = NULL;
  cursor->lookup = HS_NONE;
  cursor->next_file = table->first;
  cursor->end_file = last_file(table);
  cursor->by_class = (plan_number & PLAN_BY_CLASS) != 0;
  cursor->descending = (plan_number & PLAN_DESCENDING) != 0;
  if (plan_number & PLAN_SNAPSHOT) {
    const char *name = (const char *)sqlite3_value_text(argv[argc - 1]);
    only_file(cursor, name != NULL ? hs_shelf_find(cursor->shelf, name) : NULL);
  }
  if (column >= 0) result = set_lookup(cursor, table->lookups[column], argv[0]);
  return result == SQLITE_OK ? advance(base) : result;
}

static int at_end(sqlite3_vtab_cursor *base) {
  return ((hs_cursor *)base)->done;
}

/* Only columns of some object types decode the object; for a table this takes O(its record). */
static int get_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number) {
  hs_cursor *cursor = (hs_cursor *)base;
  hs_file *file = cursor->file;
  const hs_kind *kind = cursor->kind;
  const lh_column *column = &kind->facts->columns[number - 1];
  lh_cell cell;
  lh_error error;
  if (number == 0) {
    hs_result_static(context, file->schema);
  } else if (column->needs > file->has && hs_need(file, column->needs, &error) != LH_OK) {
    hs_result_error(context, &error);
  } else if (column->of_types == 0 || lh_read_object(file->snapshot, column, &cursor->fact_row)) {
    lh_cell_of(&file->report, column,
               kind->row != NULL ? kind->row(cursor, column) : &cursor->fact_row, &cell);
    if (cell.kind <= LH_COLUMN_COUNT && !cell.is_null)
      sqlite3_result_int64(context, (sqlite3_int64)cell.as.n);
    else
      hs_result_cell(context, file, &cell);
  }
  return SQLITE_OK;
}

static int get_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
  const hs_cursor *cursor = (const hs_cursor *)base;
  *rowid = cursor->file->base + cursor->row;
  return SQLITE_OK;
}

int hs_register_tables(sqlite3 *db, hs_shelf *shelf) {
  static const sqlite3_module module = {
      .iVersion = 1,
      .xCreate = connect_table,
      .xConnect = connect_table,
      .xBestIndex = plan,
      .xDisconnect = disconnect_table,
      .xDestroy = disconnect_table,
      .xOpen = open_cursor,
      .xClose = close_cursor,
      .xFilter = filter,
      .xNext = advance,
      .xEof = at_end,
      .xColumn = get_column,
      .xRowid = get_rowid,
  };
  return sqlite3_create_module_v2(db, "heapsnap", &module, shelf, hs_shelf_free);
}
