/*
** table.c - the one SQLite module, named heapsnap, behind all tables. A table's name says what it
** shows and its schema of which snapshot: c.objects are the objects of the snapshot that was opened
** as c, temp.objects those of all (with one more column that is not hidden: the snapshot).
**
** A plan (xBestIndex) is one column whose value the query gives and which finds rows without
** looking at all, and perhaps the snapshot; SQLite checks each row again, but for an address, so
** what is found may be too much, never too little. Of several columns the one that leaves least is
** taken. Objects are also handed out in the order of their classes, so that `group by class` over
** two million of them sorts nothing: half a second instead of two.
*/
#include <stdlib.h>
#include <string.h>

#include "heapsnap.h"

typedef struct hs_table {
  sqlite3_vtab base;
  const hs_kind *kind;
  hs_shelf *shelf;
  unsigned first, end; /* snapshots; `end` 0: all there are */
} hs_table;

const hs_kind *const hs_kinds[] = {&hs_objects, &hs_edges,  &hs_entries, &hs_strings, &hs_classes,
                                   &hs_threads, &hs_frames, &hs_sites,   &hs_stacks,  &hs_modules,
                                   &hs_marks,   &hs_info,   NULL};

/* idxNum: the column that is looked up + 1 in the low byte, 0: none; and */
enum { PLAN_SNAPSHOT = 0x100, PLAN_BY_CLASS = 0x200, PLAN_DESCENDING = 0x400 };

/* {=== Tables ========================================================================= */

static const hs_kind *find_kind(const char *name) {
  for (const hs_kind *const *kind = hs_kinds; *kind != NULL; kind++)
    if (sqlite3_stricmp((*kind)->name, name) == 0) return *kind;
  return NULL;
}

/* A rowid is an id, or the row's number. */
static bool has_rowid(const hs_kind *kind) {
  return kind->key == NULL || strchr(kind->key, ',') == NULL;
}

static int declare(sqlite3 *db, const hs_table *table) {
  static const char *const types[] = {"INTEGER", "TEXT", ""};
  const hs_kind *kind = table->kind;
  sqlite3_str *text = sqlite3_str_new(db);
  sqlite3_str_appendall(text, "CREATE TABLE x(");
  for (int i = 0; i < kind->n_columns; i++) {
    const hs_column *column = &kind->columns[i];
    bool hidden = i == 0 ? table->end != 0 : column->hidden;
    sqlite3_str_appendf(text, "%s\"%w\" %s%s", i > 0 ? ", " : "", column->name, types[column->type],
                        hidden ? " HIDDEN" : "");
  }
  if (kind->key != NULL) sqlite3_str_appendf(text, ", PRIMARY KEY (%s)", kind->key);
  sqlite3_str_appendall(text, has_rowid(kind) ? ")" : ") WITHOUT ROWID");
  char *declaration = sqlite3_str_finish(text);
  int result = declaration != NULL ? sqlite3_declare_vtab(db, declaration) : SQLITE_NOMEM;
  sqlite3_free(declaration);
  return result;
}

/* argv: the module, the schema, the table, and nothing more. */
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

/* }=================================================================================== */

/* {=== Plans ========================================================================== */

/* How many rows are about to be found in a table of n. */
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

/* The rowid of a table with one key is that key. */
static int column_of(const hs_kind *kind, int column) {
  if (column >= 0 || kind->key == NULL) return column;
  for (int i = 0; i < kind->n_columns; i++)
    if (kind->columns[i].lookup == HS_ONE_ID) return i;
  return column;
}

/* Is constraint i one of equality that a cursor can use? */
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
  if (column < 0 || table->kind->columns[column].lookup != HS_BY_CLASS) return;
  if (lookup != -1 && lookup != column) return;
  info->idxNum |= PLAN_BY_CLASS | (info->aOrderBy[0].desc ? PLAN_DESCENDING : 0);
  info->orderByConsumed = 1;
}

static int plan(sqlite3_vtab *base, sqlite3_index_info *info) {
  const hs_table *table = (const hs_table *)base;
  const hs_kind *kind = table->kind;
  int best = -1, best_column = -1, of_snapshot = -1, argument = 0;
  double n = total_rows(table);
  for (int i = 0; i < info->nConstraint; i++) {
    int column = column_of(kind, info->aConstraint[i].iColumn);
    if (column < 0 || !is_usable(info, i)) continue;
    if (column == 0) of_snapshot = i;
    if (kind->columns[column].lookup <= (best == -1 ? HS_NONE : kind->columns[best_column].lookup))
      continue;
    best = i;
    best_column = column;
  }
  info->idxNum = best_column + 1;
  if (best != -1) {
    info->aConstraintUsage[best].argvIndex = ++argument;
    info->aConstraintUsage[best].omit = kind->columns[best_column].lookup == HS_ADDRESS;
    n = rows_found(kind->columns[best_column].lookup, n);
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

/* }=================================================================================== */

/* {=== Cursors ======================================================================== */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out) {
  const hs_table *table = (const hs_table *)base;
  hs_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
  if (cursor == NULL) return SQLITE_NOMEM;
  *cursor = (hs_cursor){.kind = table->kind, .shelf = table->shelf};
  *out = &cursor->base;
  return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base) {
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

/* To the next row, in this snapshot or one of the next. */
static int advance(sqlite3_vtab_cursor *base) {
  hs_cursor *cursor = (hs_cursor *)base;
  lh_error error = {0};
  for (;;) {
    int found = cursor->file != NULL ? cursor->kind->next(cursor, &error) : 0;
    if (found < 0) return fail_query(cursor, &error);
    if (found > 0) return SQLITE_OK;
    cursor->done = cursor->next_file >= cursor->end_file;
    if (cursor->done) return SQLITE_OK;
    cursor->file = cursor->shelf->files[cursor->next_file++];
    cursor->row = 0;
    cursor->decoded.id = LH_NO_OBJECT;
    if (cursor->kind->begin(cursor, &error) != LH_OK) return fail_query(cursor, &error);
  }
}

static void only_file(hs_cursor *cursor, const hs_file *file) {
  unsigned number = file != NULL ? (unsigned)(file->base / HS_ID_STEP) : UINT32_MAX;
  if (number < cursor->next_file || number >= cursor->end_file) {
    cursor->end_file = cursor->next_file; /* none */
  } else {
    cursor->next_file = number;
    cursor->end_file = number + 1;
  }
}

/* The id that SQLite would take the value for where it compares it with an integer. */
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

static int set_lookup(hs_cursor *cursor, int column, sqlite3_value *value) {
  hs_lookup lookup = cursor->kind->columns[column].lookup;
  uint32_t (*last)(const lh_snapshot *) = cursor->kind->last_id;
  int64_t id;
  cursor->lookup = column;
  if (lookup == HS_ONE_ID || lookup == HS_FEW_IDS) {
    if (last == NULL) last = lh_object_count;
    bool is_id = value_id(value, &id);
    only_file(cursor, is_id ? hs_shelf_resolve_to(cursor->shelf, id, last, &cursor->object) : NULL);
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
  cursor->lookup = -1;
  cursor->next_file = table->first;
  cursor->end_file = last_file(table);
  cursor->by_class = (plan_number & PLAN_BY_CLASS) != 0;
  cursor->descending = (plan_number & PLAN_DESCENDING) != 0;
  if (plan_number & PLAN_SNAPSHOT) {
    const char *name = (const char *)sqlite3_value_text(argv[argc - 1]);
    only_file(cursor, name != NULL ? hs_shelf_find(cursor->shelf, name) : NULL);
  }
  if (column >= 0) result = set_lookup(cursor, column, argv[0]);
  return result == SQLITE_OK ? advance(base) : result;
}

static int at_end(sqlite3_vtab_cursor *base) {
  return ((hs_cursor *)base)->done;
}

/* Only a column of a type decodes the object: of a table that takes as long as its record is. */
static int get_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number) {
  hs_cursor *cursor = (hs_cursor *)base;
  const hs_kind *kind = cursor->kind;
  const hs_column *column = &kind->columns[number];
  const lh_snapshot *snapshot = cursor->file->snapshot;
  lh_error error;
  int code = LH_OK;
  if (column->needs == HS_ANALYSED) code = hs_need_analysis(cursor->file, &error);
  if (column->needs == HS_CLASSIFIED) code = hs_need_classes(cursor->file, &error);
  if (code != LH_OK) {
    hs_result_error(context, &error);
    return SQLITE_OK;
  }
  if (column->of_type != LH_TYPE_ROOT) {
    if (lh_type_of(snapshot, cursor->id) != column->of_type || lh_is_dead(snapshot, cursor->id))
      return SQLITE_OK;
    if (cursor->decoded.id != cursor->id) lh_object_at(snapshot, cursor->id, &cursor->decoded);
  }
  if (column->compute != NULL)
    column->compute(cursor, context);
  else
    hs_result_field(context, cursor->file, column, kind->row != NULL ? kind->row(cursor) : cursor);
  return SQLITE_OK;
}

static int get_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
  const hs_cursor *cursor = (const hs_cursor *)base;
  *rowid = cursor->file->base + cursor->row;
  return SQLITE_OK;
}

bool hs_looks_up(const hs_cursor *cursor, hs_lookup lookup) {
  return cursor->lookup != -1 && cursor->kind->columns[cursor->lookup].lookup == lookup;
}

int hs_begin_objects(hs_cursor *cursor, lh_error *error) {
  (void)error;
  bool one = hs_looks_up(cursor, HS_ONE_ID) || hs_looks_up(cursor, HS_FEW_IDS);
  cursor->list = NULL;
  cursor->at = one ? cursor->object : 0;
  cursor->end = one ? cursor->object + 1 : lh_object_count(cursor->file->snapshot) + 1;
  cursor->position = 0;
  return LH_OK;
}

lh_id hs_next_object(hs_cursor *cursor) {
  while (cursor->at < cursor->end) {
    uint32_t at = cursor->descending ? --cursor->end : cursor->at++;
    lh_id id = cursor->list != NULL ? cursor->list[at] : at;
    if (!lh_is_own(cursor->file->snapshot, id)) return id;
  }
  return LH_NO_OBJECT;
}

bool hs_next_of_type(hs_cursor *cursor, lh_type type) {
  const lh_snapshot *snapshot = cursor->file->snapshot;
  do {
    cursor->id = hs_next_object(cursor);
    if (cursor->id == LH_NO_OBJECT) return false;
  } while (lh_type_of(snapshot, cursor->id) != type || lh_is_dead(snapshot, cursor->id));
  cursor->row = cursor->id;
  return true;
}

int hs_next_inside(hs_cursor *cursor, lh_type type,
                   void (*begin)(const lh_snapshot *snapshot, lh_id id, lh_edges *iterator),
                   bool (*next)(hs_cursor *cursor)) {
  for (;;) {
    if (cursor->position == 0) {
      if (!hs_next_of_type(cursor, type)) return 0;
      begin(cursor->file->snapshot, cursor->id, &cursor->iterator);
    }
    cursor->position++;
    if (next(cursor)) return 1;
    cursor->position = 0;
  }
}

/* }=================================================================================== */

/* {=== Columns of several kinds ======================================================= */

void hs_tell_snapshot(hs_cursor *cursor, sqlite3_context *context) {
  hs_result_static(context, cursor->file->schema);
}

void hs_tell_class(hs_cursor *cursor, sqlite3_context *context) {
  if (cursor->id != LH_NO_OBJECT) hs_result_class(context, cursor->file, cursor->id);
}

void hs_tell_shallow(hs_cursor *cursor, sqlite3_context *context) {
  if (cursor->id != LH_NO_OBJECT)
    hs_result_bytes(context, lh_shallow_bytes(cursor->file->snapshot, cursor->id));
}

void hs_tell_retained(hs_cursor *cursor, sqlite3_context *context) {
  if (cursor->id != LH_NO_OBJECT)
    hs_result_bytes(context, lh_retained_bytes(cursor->file->snapshot, cursor->id));
}

/* }=================================================================================== */

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
