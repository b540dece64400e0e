/*
** answers.c - the library's answers as Lua tables (rooms/report.h): a list of rows, with other
** columns as fields, and the text of the command, which tostring returns. Answers about one
** snapshot, several, and profiles.
*/
#include "handles.h"

typedef struct shown {
  lh_report *report;
  int index;     /* of the snapshot of the objects; 0: none */
  bool is_plain; /* objects are addresses, as in JSON, because the snapshot will be closed */
  bool is_fact;  /* strings are values, not objects */
  char *text;    /* before Lua copies it */
} shown;

typedef struct asked {
  shown shown;
  lh_report report;
} asked;

static void free_asked(void *content) {
  asked *a = content;
  lh_free(a->shown.text);
  if (a->report.answer) lh_report_free(&a->report);
}

static void set_text(lua_State *L, shown *a, char *text) {
  a->text = text;
  if (!text) luaL_error(L, "not enough memory");
  lua_pushstring(L, text);
  lh_free(a->text);
  a->text = NULL;
  lua_setfield(L, -2, "text");
}

/* Sets the total for the shares of the rows. */
static void set_reachable(lua_State *L, const lh_snapshot *snapshot) {
  lh_reach reach;
  lh_reach_totals(snapshot, &reach);
  hr_set_integer(L, "reachable_bytes", reach.reachable_bytes);
}

static void set_class(lua_State *L, const lh_snapshot *snapshot, uint32_t class_index) {
  const lh_class *class = lh_class_at(snapshot, class_index);
  hr_set_string(L, "class", class->name);
  hr_set_string(L, "type", lh_type_name(class->type));
}

static void push_object(lua_State *L, const shown *a, lh_id id) {
  if (a->is_plain)
    lua_pushstring(L, lh_address_text(a->report->snapshot, id).text);
  else
    hr_push_object(L, a->index, id);
}

static void set_what(lua_State *L, const shown *a, const lh_column *column, lh_id id) {
  const lh_snapshot *snapshot = a->report->snapshot;
  push_object(L, a, id);
  lua_setfield(L, -2, a->is_plain ? lh_json_key(column) : column->key);
  hr_set_string(L, "class", lh_class_name_of(snapshot, id));
  hr_set_string(L, "type", lh_type_name(lh_type_of(snapshot, id)));
}

/* ==== Rows =========================================================================== */

static void push_row(lua_State *L, shown *a, const lh_table *table, const void *row);

static void push_rows(lua_State *L, shown *a, const lh_cell *cell) {
  const char *row = cell->as.rows.list;
  for (size_t i = 0; i < cell->as.rows.n; i++, row += cell->as.rows.table->row_bytes) {
    push_row(L, a, cell->as.rows.table, row);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Pushes a list, with its own text if the command prints it as a table. */
static void push_list(lua_State *L, shown *a, const lh_cell *cell) {
  const lh_table *table = cell->as.rows.table;
  if (lh_has_text(table)) {
    hr_push_list(L, "heap.rows", cell->as.rows.n);
    set_text(L, a, lh_rows_text(a->report, table, cell->as.rows.list, cell->as.rows.n));
  } else {
    lua_newtable(L);
  }
  push_rows(L, a, cell);
}

/* Pushes a table with the rows under the text of their first column. */
static void push_by_name(lua_State *L, shown *a, const lh_cell *cell) {
  const lh_table *table = cell->as.rows.table;
  const char *row = cell->as.rows.list;
  lua_newtable(L);
  for (size_t i = 0; i < cell->as.rows.n; i++, row += table->row_bytes) {
    lh_cell name;
    lh_cell_of(a->report, table->columns, row, &name);
    lua_pushstring(L, name.as.text);
    push_row(L, a, table, row);
    lua_rawset(L, -3);
  }
}

static void push_series(lua_State *L, const lh_cell *cell) {
  lua_createtable(L, (int)cell->as.series.n, 0);
  for (size_t i = 0; i < cell->as.series.n; i++) {
    lua_pushinteger(L, (lua_Integer)lh_series_at(cell, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_texts(lua_State *L, const lh_cell *cell) {
  hr_push_list(L, "heap.texts", cell->as.texts.n);
  for (size_t i = 0; i < cell->as.texts.n; i++) {
    lua_pushstring(L, cell->as.texts.list[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_list_or_one(lua_State *L, shown *a, const lh_column *column, const lh_cell *cell) {
  if (column->is_one)
    push_row(L, a, cell->as.rows.table, cell->as.rows.list);
  else
    (column->is_by_name ? push_by_name : push_list)(L, a, cell);
}

static void push_cell(lua_State *L, shown *a, const lh_column *column, const lh_cell *cell) {
  lh_id id = cell->as.object;
  switch (cell->kind) {
    case LH_COLUMN_BYTES_SERIES:
    case LH_COLUMN_COUNT_SERIES: push_series(L, cell); break;
    case LH_COLUMN_MORE_BYTES:
    case LH_COLUMN_NUMBER: lua_pushnumber(L, cell->as.number); break;
    case LH_COLUMN_FLAG: lua_pushboolean(L, cell->as.flag); break;
    case LH_COLUMN_TEXT: lua_pushstring(L, cell->as.text); break;
    case LH_COLUMN_NAME: lua_pushlstring(L, cell->as.name.bytes, cell->as.name.n); break;
    case LH_COLUMN_HEX: lua_pushstring(L, lh_hex_text(cell->as.n).text); break;
    case LH_COLUMN_VALUE: hr_push_value(L, a->index, cell->as.value); break;
    case LH_COLUMN_STRING:
      if (a->is_fact)
        hr_push_value(L, a->index, (lh_value){LH_VALUE_OBJECT, {.object = id}});
      else
        push_object(L, a, id);
      break;
    case LH_COLUMN_EXAMPLE: push_object(L, a, id); break;
    case LH_COLUMN_EDGE: hr_push_edge(L, a->index, cell->as.edge); break;
    case LH_COLUMN_NAMES:
    case LH_COLUMN_TEXTS: push_texts(L, cell); break;
    case LH_COLUMN_ROWS: push_list_or_one(L, a, column, cell); break;
    default: lua_pushinteger(L, (lua_Integer)cell->as.n); break;
  }
}

/* Sets nothing if the cell is null. */
static void set_cell(lua_State *L, shown *a, const lh_column *column, const lh_cell *cell) {
  if (cell->is_null) return;
  if (cell->kind == LH_COLUMN_OBJECT) {
    set_what(L, a, column, cell->as.object);
  } else if (cell->kind == LH_COLUMN_CLASS) {
    set_class(L, a->report->snapshot, cell->as.class_index);
  } else {
    push_cell(L, a, column, cell);
    lua_setfield(L, -2, column->key);
  }
}

static void set_row(lua_State *L, shown *a, const lh_table *table, const void *row) {
  for (const lh_column *column = table->columns; column->kind != LH_COLUMN_END; column++) {
    lh_cell cell;
    if (!column->key) continue;
    lh_cell_of(a->report, column, row, &cell);
    set_cell(L, a, column, &cell);
  }
}

static void push_row(lua_State *L, shown *a, const lh_table *table, const void *row) {
  lua_newtable(L);
  set_row(L, a, table, row);
}

/* ==== Facts ========================================================================== */

static void check_memory(lua_State *L, lh_report *report) {
  bool failed = report->failed;
  report->failed = false;
  if (failed) luaL_error(L, "not enough memory");
}

int hr_return_fact(lua_State *L, hr_snapshot *of, const lh_column *column, const void *row) {
  lh_cell cell;
  bool is_in_row = !column->of && !column->compute; /* then a closed snapshot has it, too */
  if (column->needs != LH_NEEDS_NOTHING)
    (void)hr_analysed(L, of);
  else if (!is_in_row)
    (void)hr_opened(L, of);
  of->facts.snapshot = of->snapshot;
  lh_cell_of(&of->facts, column, row, &cell);
  check_memory(L, &of->facts);
  if (cell.is_null) return 0;
  shown a = {.report = &of->facts, .is_fact = true};
  if (cell.kind >= LH_COLUMN_OBJECT) { /* it may be an object */
    (void)lua_getiuservalue(L, 1, 1);
    a.index = lua_gettop(L);
  }
  push_cell(L, &a, column, &cell);
  return 1;
}

void hr_set_facts(lua_State *L, hr_snapshot *of, lh_snapshot *snapshot, const lh_table *facts,
                  const void *row) {
  of->facts.snapshot = snapshot;
  set_row(L, &(shown){.report = &of->facts, .is_fact = true}, facts, row);
  check_memory(L, &of->facts);
}

/* Sets the fields of the top list. Returns its rows; null: the answer has none. */
static lh_cell fill(lua_State *L, asked *a) {
  const lh_question *question = a->report.question;
  lh_cell rows = {.is_null = true};
  for (const lh_column *c = question->answer->columns; c->kind != LH_COLUMN_END; c++) {
    lh_cell cell;
    if (!c->key) continue;
    lh_cell_of(&a->report, c, a->report.answer, &cell);
    if (question->main && strcmp(c->key, question->main) == 0)
      rows = cell;
    else
      set_cell(L, &a->shown, c, &cell);
  }
  if (a->report.snapshot) set_reachable(L, a->report.snapshot);
  return rows;
}

/* Pushes the owner of the answer. Raises an error, except for LH_ENOTFOUND, which is in *error. */
static asked *ask(lua_State *L, int index, const char *name, const lh_request *request,
                  lh_error *error) {
  lh_snapshot *snapshot = index != 0 ? hr_check_snapshot(L, index)->snapshot : NULL;
  asked *a = hr_hold(L, index, sizeof *a, free_asked);
  a->shown = (shown){.report = &a->report, .index = index};
  error->code = lh_ask(&a->report, lh_find_question(name), snapshot, request, error);
  if (hr_filled(L, -1, error->code) != LH_ENOTFOUND) hr_check(L, error->code, error);
  return a;
}

/* `plain_kind`: the kind of a plain answer, which has no text; NULL: not plain. */
static int answer_report(lua_State *L, int index, const char *name, const lh_request *request,
                         const char *plain_kind) {
  lh_error error;
  asked *a = ask(L, index, name, request, &error);
  int hold = lua_gettop(L);
  if (error.code == LH_ENOTFOUND) return hr_fail(L, &error);
  a->shown.is_plain = plain_kind;
  hr_push_list(L, plain_kind ? plain_kind : a->report.question->answer->name, 0);
  lh_cell rows = fill(L, a);
  if (!rows.is_null) push_rows(L, &a->shown, &rows);
  check_memory(L, &a->report);
  if (!plain_kind) set_text(L, &a->shown, lh_report_text(&a->report, "SNAPSHOT"));
  hr_release(L, hold);
  return 1;
}

const lh_id *hr_rank(lua_State *L, const lh_request *request, const char *kind, size_t *n) {
  lh_error error;
  (void)hr_analysed(L, hr_check_snapshot(L, 1));
  asked *a = ask(L, 1, "objects", request, &error);
  hr_push_list(L, kind, request->limit);
  lh_cell rows = fill(L, a);
  set_text(L, &a->shown, lh_report_text(&a->report, "SNAPSHOT"));
  *n = rows.as.rows.n;
  return rows.as.rows.list;
}

int hr_answer_plain(lua_State *L, const char *name, const char *kind, const lh_request *request) {
  (void)hr_analysed(L, hr_check_snapshot(L, 1));
  return answer_report(L, 1, name, request, kind);
}

int hr_answer(lua_State *L, const char *name, const lh_request *request) {
  (void)hr_analysed(L, hr_check_snapshot(L, 1));
  return answer_report(L, 1, name, request, NULL);
}

/* n 0 or missing: all rows. */
int hr_report(lua_State *L, const char *name) {
  lua_Integer limit = luaL_optinteger(L, 2, 0);
  luaL_argcheck(L, limit >= 0, 2, "the number of rows must be 0 (all) or more");
  return hr_answer(L, name,
                   &(lh_request){.limit = (size_t)limit, .has_limit = !lua_isnoneornil(L, 2)});
}

int hr_method_under(lua_State *L) {
  static const hl_option options[] = {
      {"depth", HL_COUNT, .field = offsetof(lh_request, depth),
       .given = offsetof(lh_request, has_depth)},
      {"n", HL_COUNT, .field = offsetof(lh_request, limit),
       .given = offsetof(lh_request, has_limit)},
      {"least_bytes", HL_COUNT, .field = offsetof(lh_request, least_bytes),
       .given = offsetof(lh_request, has_least_bytes)},
      {0}};
  hr_snapshot *of;
  lh_request request = {.id = hr_subject(L, &of), .matches = 1};
  hl_read_options(L, 3, options, &request);
  return hr_answer(L, "under", &request);
}

/* ==== Names ========================================================================== */

/* Pushes the name of the snapshot at `index`: its file's name. */
static const char *push_name(lua_State *L, int index) {
  if (lua_getiuservalue(L, index, 1) == LUA_TSTRING) return lua_tostring(L, -1);
  lua_pop(L, 1);
  return lua_pushstring(L, lh_snapshot_info(hr_check_snapshot(L, index)->snapshot)->name);
}

static const char **new_names(lua_State *L, size_t n) {
  return lua_newuserdatauv(L, (n + 1) * sizeof(const char *), 0);
}

/* ==== Two or three snapshots ========================================================= */

int hr_method_since(lua_State *L) {
  (void)hr_analysed(L, hr_check_snapshot(L, 1));
  lh_request request = {.since = luaL_checkstring(L, 2), .until = luaL_optstring(L, 3, NULL)};
  lua_settop(L, 3);
  const char *name = push_name(L, 1);
  request.names = &name;
  request.n_names = 1;
  return answer_report(L, 1, "diff", &request, NULL);
}

static void sort_by_time(lua_State *L, int n) {
  for (int i = 2; i <= n; i++) {
    for (int k = i; k > 1; k--) {
      if (!lh_is_earlier(hr_check_snapshot(L, k)->snapshot, hr_check_snapshot(L, k - 1)->snapshot))
        break;
      lua_pushvalue(L, k);
      lua_copy(L, k - 1, k);
      lua_replace(L, k - 1);
    }
  }
}

/* A middle snapshot of one state needs no analysis: only its objects and entries are compared. */
static int answer_of(lua_State *L, int n, const char *question) {
  lh_snapshot *snapshots[3] = {NULL};
  lh_request request = {.snapshots = snapshots, .n_snapshots = (size_t)n, .n_names = (size_t)n};
  for (int i = 1; i <= n; i++) (void)hr_check_snapshot(L, i);
  sort_by_time(L, n);
  for (int i = 1; i <= n; i++) (void)hr_hold(L, i, 0, NULL);
  uint64_t state = lh_snapshot_info(hr_check_snapshot(L, n)->snapshot)->state_id;
  for (int i = 1; i <= n; i++) {
    hr_snapshot *of = hr_check_snapshot(L, i);
    bool is_middle = i == 2 && n == 3 && lh_snapshot_info(of->snapshot)->state_id == state;
    snapshots[i - 1] = is_middle ? hr_opened(L, of) : hr_analysed(L, of);
  }
  const char **names = new_names(L, (size_t)n);
  for (int i = 1; i <= n; i++) names[i - 1] = push_name(L, i);
  request.names = names;
  int n_results = answer_report(L, n, question, &request, NULL);
  for (int i = 1; i <= n; i++) hr_release(L, n + i);
  return n_results;
}

/* With two snapshots: what appeared and vanished. With three: what was allocated between the two
** oldest and is alive in the youngest. */
int hr_method_diff(lua_State *L) {
  int n = lua_isnoneornil(L, 3) ? 2 : 3;
  lua_settop(L, n);
  return answer_of(L, n, "diff");
}

int hr_method_strings(lua_State *L) {
  lua_settop(L, 2);
  return answer_of(L, 2, "strings");
}

/* ==== Any number of snapshots ======================================================== */

static void free_ladder(void *content) {
  lh_ladder_free(*(lh_ladder **)content);
}

enum { LADDER = 3, NAMES = 4 }; /* stack indexes in a call */

/* Adds the snapshot or file name on the top, and pops it. Closes a snapshot that it opened. */
static int add_step(lua_State *L, lh_ladder *ladder, lh_error *error) {
  int at = lua_gettop(L), code = LH_OK;
  bool is_file = lua_type(L, at) == LUA_TSTRING;
  if (!is_file && !hr_test(L, at, hr_snapshot_kind))
    luaL_error(L, "give a list of snapshots, or of names of files");
  if (is_file) code = hr_open_file(L, at, error);
  if (code != LH_OK) return code;
  int snapshot = lua_gettop(L);
  (void)hr_hold(L, snapshot, 0, NULL);
  code = lh_ladder_add(ladder, hr_analysed(L, hr_check_snapshot(L, snapshot)), error);
  hr_release(L, -1);
  (void)push_name(L, snapshot);
  lua_rawseti(L, NAMES, (lua_Integer)lua_rawlen(L, NAMES) + 1);
  if (is_file) hr_close(hr_check_is(L, snapshot, hr_snapshot_kind));
  lua_settop(L, at - 1);
  return code;
}

/* About the snapshots of the lists at index 1 and, with n_lists 2, at index 2. */
static int answer_of_lists(lua_State *L, int n_lists, const char *question) {
  lh_error error;
  lua_settop(L, 2);
  lh_ladder **ladder = hr_hold(L, 0, sizeof(lh_ladder *), free_ladder);
  hr_check(L, hr_filled(L, LADDER, lh_ladder_new(ladder, &error)), &error);
  lua_newtable(L);
  for (int list = 1; list <= n_lists; list++) {
    luaL_checktype(L, list, LUA_TTABLE);
    for (lua_Integer i = 1; lua_geti(L, list, i) != LUA_TNIL; i++)
      if (add_step(L, *ladder, &error) != LH_OK) return hr_fail(L, &error);
  }
  lh_request request = {.ladder = *ladder, .n_names = lua_rawlen(L, NAMES)};
  const char **names = new_names(L, request.n_names);
  for (size_t i = 0; i < request.n_names; i++) {
    (void)lua_rawgeti(L, NAMES, (lua_Integer)i + 1);
    names[i] = lua_tostring(L, -1);
    lua_pop(L, 1);
  }
  request.names = names;
  int n_results = answer_report(L, 0, question, &request, NULL);
  hr_release(L, LADDER);
  return n_results;
}

int hr_method_growth(lua_State *L) {
  return answer_of_lists(L, 1, "ladder");
}

int hr_method_compare(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_Unsigned n = lua_rawlen(L, 1);
  luaL_argcheck(L, n == lua_rawlen(L, 2) && (n == 1 || n == 2), 2,
                "one snapshot before and one after, or two of each");
  return answer_of_lists(L, 2, "compare");
}

int hr_method_owners(lua_State *L) {
  return answer_of_lists(L, 1, "owners");
}

/* ==== Profiles ======================================================================= */

typedef struct counted {
  lh_profile *profiles[2];
  lh_usage *usages[2];
} counted;

static void free_counted(void *content) {
  counted *c = content;
  for (size_t i = 0; i < 2; i++) {
    lh_usage_free(c->usages[i]);
    lh_profile_close(c->profiles[i]);
  }
}

/* Reads, counts and closes the profiles whose names the request has. */
static int answer_of_profiles(lua_State *L, const char *question, lh_request *request,
                              const lh_usage_query *query) {
  lh_error error;
  int code = LH_OK;
  counted *c = hr_hold(L, 0, sizeof *c, free_counted);
  int hold = lua_gettop(L);
  for (size_t i = 0; i < request->n_names && code == LH_OK; i++) {
    code = lh_profile_open(request->names[i], &c->profiles[i], &error);
    if (code == LH_OK) code = lh_usage_new(&c->usages[i], c->profiles[i], query, &error);
  }
  if (code != LH_OK) return hr_fail(L, &error);
  request->usages = (const lh_usage *const *)c->usages;
  request->n_usages = request->n_names;
  int n_results = answer_report(L, 0, question, request, NULL);
  hr_release(L, hold);
  return n_results;
}

typedef struct profile_options {
  lh_request request;
  unsigned report;
  double since, before;
  bool has_since, has_before, never_freed;
} profile_options;

/* In seconds after the start. */
static lh_moment moment_of(bool is_given, double seconds) {
  return is_given ? (lh_moment){LH_MOMENT_TIME, (uint64_t)(seconds * 1e9)}
                  : (lh_moment){.unit = LH_MOMENT_OPEN};
}

int hr_method_profile(lua_State *L) {
#define FIELD(field) offsetof(profile_options, field)
  static const char *const reports[] = {"allocations", "findings", "calls",
                                        "advice",      "profile",  NULL};
  static const char *const bys[] = {"site", "function", "type", "file", "stack", NULL};
  static const char *const orders[] = {"allocated", "live", "peak", "soon", NULL};
  static const hl_option options[] = {
      {"report", HL_WORD, .field = FIELD(report), .words = reports},
      {"by", HL_WORD, .field = FIELD(request.by), .words = bys},
      {"order", HL_WORD, .field = FIELD(request.order), .words = orders},
      {"since", HL_SECONDS, .field = FIELD(since), .given = FIELD(has_since)},
      {"before", HL_SECONDS, .field = FIELD(before), .given = FIELD(has_before)},
      {"never_freed", HL_FLAG, .field = FIELD(never_freed)},
      {"n", HL_COUNT, .field = FIELD(request.limit)},
      {0}};
#undef FIELD
  const char *path = luaL_checkstring(L, 1);
  profile_options o = {.request = {.names = &path, .n_names = 1}};
  hl_read_options(L, 2, options, &o);
  lh_usage_query query = {.since = moment_of(o.has_since, o.since),
                          .until = moment_of(o.has_before, o.before),
                          .to_the_end = o.never_freed,
                          .peak = o.request.order == LH_MOST_AT_PEAK};
  if (query.to_the_end) o.request.order = LH_MOST_LIVE;
  return answer_of_profiles(L, reports[o.report], &o.request, &query);
}

int hr_method_compare_profiles(lua_State *L) {
  const char *paths[] = {luaL_checkstring(L, 1), luaL_checkstring(L, 2)};
  lh_request request = {.names = paths, .n_names = 2};
  return answer_of_profiles(L, "allocation_changes", &request, &(lh_usage_query){.peak = false});
}
