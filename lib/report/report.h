/*
** report.h - for the files of this folder: columns that the compiler checks, and the words that
** several questions share. Each question is a file of its name:
**
**     things.c      what objects are called
**     report.c      asking, and what stands under a column
**     tell.c        the words: lines, numbers and names in them, tables and hints
**     text.c        a report as plain text
**     facts.c       what is known of each kind of thing in a snapshot
**     allocated.c   where the objects of a row were allocated
**     growth.c      rows that ladder.c, halves.c and apart.c have in common; grown.c and
**                   class_changes.c: tables of diff.c
**     usage_rows.c  rows about what was allocated, which those about profiles have in common
*/
#ifndef LUAHEAP_REPORT_PRIVATE_H
#define LUAHEAP_REPORT_PRIVATE_H

#include "analyses/answers.h"
#include "base.h"
#include "compare/answers.h"
#include "luaheap_report.h"
#include "name/text.h"
#include "usage/answers.h"
#include "view/answers.h"

/* ==== Columns ======================================================================== */

/* A column of `ROW`, which a file defines as the struct that its columns are about. A field of
** another type than that kind of column shows does not compile. Behind the meaning may stand
** LH_OPTIONAL: there may be nothing; LH_WIDE: only where there is room, LH_NARROW: only where there
** is none; LH_LIMITED: -n says how many rows; LH_HEADING: a function of the report returns it. */
#define LH_FIELD(field, ...)                                                     \
  .offset = offsetof(ROW, field) + 0 * _Generic(((ROW *)0)->field, __VA_ARGS__), \
  .bytes = sizeof(((ROW *)0)->field)
/* clang-format off */
#define LH_COLUMN(its_key, its_heading, its_kind, ...) \
  {.key = its_key, .heading = its_heading, .kind = its_kind, .meaning = __VA_ARGS__}

#define LH_BYTES(key, heading, field, ...) \
  LH_COLUMN(key, heading, LH_COLUMN_BYTES, __VA_ARGS__, LH_FIELD(field, uint64_t: 1))
#define LH_COUNT(key, heading, field, ...) \
  LH_COLUMN(key, heading, LH_COLUMN_COUNT, __VA_ARGS__, LH_FIELD(field, uint64_t: 1, uint32_t: 1))
#define LH_SHARE(heading, field, ...) \
  LH_COLUMN(NULL, heading, LH_COLUMN_SHARE, NULL, LH_FIELD(field, uint64_t: 1), __VA_ARGS__)
#define LH_NUMBER(key, field, ...) \
  LH_COLUMN(key, NULL, LH_COLUMN_NUMBER, __VA_ARGS__, LH_FIELD(field, double: 1))
#define LH_MORE_BYTES(key, heading, field, ...) \
  LH_COLUMN(key, heading, LH_COLUMN_MORE_BYTES, __VA_ARGS__, LH_FIELD(field, double: 1))
/* Of a field that is an array: a number for each time. */
#define LH_SERIES(key, heading, kind, field, ...) \
  LH_COLUMN(key, heading, kind, __VA_ARGS__, .bytes = sizeof(((ROW *)0)->field), \
            .offset = offsetof(ROW, field) + \
                      0 * _Generic(((ROW *)0)->field[0], uint64_t: 1, int64_t: 1))
#define LH_BYTES_SERIES(key, heading, field, ...) \
  LH_SERIES(key, heading, LH_COLUMN_BYTES_SERIES, field, __VA_ARGS__)
#define LH_COUNT_SERIES(key, heading, field, ...) \
  LH_SERIES(key, heading, LH_COLUMN_COUNT_SERIES, field, __VA_ARGS__)
#define LH_BYTES_CHANGE(heading, field) \
  LH_SERIES(NULL, heading, LH_COLUMN_BYTES_CHANGE, field, NULL)
#define LH_COUNT_CHANGE(heading, field) \
  LH_SERIES(NULL, heading, LH_COLUMN_COUNT_CHANGE, field, NULL)
#define LH_FLAG(key, field, ...) \
  LH_COLUMN(key, NULL, LH_COLUMN_FLAG, __VA_ARGS__, LH_FIELD(field, bool: 1))
#define LH_TEXT(key, heading, field, ...) \
  LH_COLUMN(key, heading, LH_COLUMN_TEXT, __VA_ARGS__, .bytes = sizeof(((ROW *)0)->field), \
            .offset = offsetof(ROW, field) + \
                      0 * _Generic(&((ROW *)0)->field, const char **: 1, char **: 1))
#define LH_NAME(key, field, ...) \
  LH_COLUMN(key, NULL, LH_COLUMN_NAME, __VA_ARGS__, LH_FIELD(field, const char *: 1))
#define LH_INLINE_TEXT(key, heading, field, ...) \
  LH_COLUMN(key, heading, LH_COLUMN_TEXT, __VA_ARGS__, LH_FIELD(field, char *: 1), \
            .is_inline = true)
#define LH_WORD(key, heading, field, word_of, ...) \
  LH_COLUMN(key, heading, LH_COLUMN_TEXT, __VA_ARGS__, LH_FIELD(field, unsigned: 1), \
            .word = word_of)
#define LH_OBJECT(key, field, ...) \
  LH_COLUMN(key, NULL, LH_COLUMN_OBJECT, __VA_ARGS__, LH_FIELD(field, lh_id: 1))
#define LH_ADDRESS .json_key = "address"
#define LH_EXAMPLE(key, heading, field, ...) \
  LH_COLUMN(key, heading, LH_COLUMN_EXAMPLE, __VA_ARGS__, LH_FIELD(field, lh_id: 1))
#define LH_CLASS(heading, field, ...) \
  LH_COLUMN("class", heading, LH_COLUMN_CLASS, __VA_ARGS__, LH_FIELD(field, uint32_t: 1))
#define LH_STRING(key, field, ...) \
  LH_COLUMN(key, NULL, LH_COLUMN_STRING, __VA_ARGS__, LH_FIELD(field, lh_id: 1))
#define LH_ROWS(key, list, n, table, ...) \
  LH_COLUMN(key, NULL, LH_COLUMN_ROWS, __VA_ARGS__, .rows = table, .offset = offsetof(ROW, list), \
            .bytes = sizeof(((ROW *)0)->list), .n_offset = offsetof(ROW, n), \
            .n_bytes = sizeof(((ROW *)0)->n))
#define LH_INLINE_ROWS(key, list, n, table, ...) \
  LH_ROWS(key, list, n, table, __VA_ARGS__, .is_inline = true)
#define LH_ROW(key, field, table, ...) \
  LH_COLUMN(key, NULL, LH_COLUMN_ROWS, __VA_ARGS__, .rows = table, .is_one = true, \
            .offset = offsetof(ROW, field), .bytes = sizeof(((ROW *)0)->field))
#define LH_INLINE_ROW(key, field, table, ...) LH_ROW(key, field, table, __VA_ARGS__, \
            .is_inline = true)
/* Of an lh_gone, which is the first field of the struct: `at` is what stands before its fields. */
#define LH_GONE_COLUMNS(at) \
  LH_NAME("pattern", at text, "as it was given"), \
  LH_COMPUTED("references", NULL, LH_COLUMN_COUNT, lh_references_of, "how many it matched"), \
  LH_COUNT("objects", NULL, at what.n_objects, "how many it matched")
/* The meaning of a column that has SQL's name now, and for one release its older one, too. */
#define LH_OLDER_NAME "the older name of the same, which the next release drops"

/* Of facts. */
#define LH_LINE(key, field, ...) \
  LH_COLUMN(key, NULL, LH_COLUMN_LINE, __VA_ARGS__, LH_FIELD(field, uint32_t: 1), LH_OPTIONAL)
#define LH_HEX(key, field, ...) \
  LH_COLUMN(key, NULL, LH_COLUMN_HEX, __VA_ARGS__, LH_FIELD(field, uint64_t: 1))
#define LH_TIME(key, field, ...) \
  LH_COLUMN(key, NULL, LH_COLUMN_TIME, __VA_ARGS__, LH_FIELD(field, uint64_t: 1))
#define LH_ID(key, field, ...) \
  LH_COLUMN(key, NULL, LH_COLUMN_ID, __VA_ARGS__, LH_FIELD(field, lh_id: 1))
#define LH_VALUE(key, field, ...) \
  LH_COLUMN(key, NULL, LH_COLUMN_VALUE, __VA_ARGS__, LH_FIELD(field, lh_value: 1), LH_OPTIONAL)
#define LH_OF_TYPE(type) .of_types = 1u << LH_TYPE_##type, LH_OPTIONAL
#define LH_OF_CODE .of_types = 1u << LH_TYPE_CLOSURE | 1u << LH_TYPE_PROTO, LH_OPTIONAL, \
  .is_of_code = true
#define LH_HIDDEN .is_wide = true
#define LH_NEEDS(what) .needs = LH_NEEDS_##what
#define LH_SQL_ONLY(its_key) LH_JSON_ONLY(its_key)

/* What is no field: function fills the cell, whose kind is set, and which is not null. Behind the
** meaning of a field .compute may stand, too, which then changes what was read of it. */
#define LH_COMPUTED(key, heading, kind, function, ...) \
  LH_COLUMN(key, heading, kind, __VA_ARGS__, .compute = function)
/* What is told of the object in a field: nothing where there is none. */
#define LH_OF(key, heading, kind, field, function, ...) \
  LH_COLUMN(key, heading, kind, __VA_ARGS__, LH_FIELD(field, lh_id: 1), .of = function)
/* The same of a site or stack. */
#define LH_OF_SITE(key, heading, kind, field, function, ...) \
  LH_OF(key, heading, kind, field, function, __VA_ARGS__, .is_of_site = true)
#define LH_RETAINED(heading, field, ...) \
  LH_OF("retained_bytes", heading, LH_COLUMN_BYTES, field, lh_cell_retained, __VA_ARGS__)
#define LH_HELD_BY(heading, field, ...) \
  LH_OF("held_by", heading, LH_COLUMN_TEXT, field, lh_cell_path, __VA_ARGS__, LH_OPTIONAL)
#define LH_OPTIONAL .optional = true
/* Null in the other rows; or not there at all. */
#define LH_WHERE(predicate) .optional = true, .has = predicate
#define LH_ONLY_WHERE(predicate) LH_WHERE(predicate), .is_only_there = true
#define LH_WITHOUT_TYPE .json_key = "class"
#define LH_LUA_ONLY .json_key = ""
#define LH_JSON_ONLY(its_key) .json_key = its_key
#define LH_HEADING(function) .heading_of = function
#define LH_UNBROKEN .is_unbroken = true
#define LH_WIDE .is_wide = true
#define LH_NARROW .is_narrow = true
#define LH_BY_NAME .is_by_name = true
#define LH_LIMITED .is_limited = true
#define LH_END {.kind = LH_COLUMN_END}

/* What structs of `type` have in them, by columns that several tables have; and of ROW, by these
** columns. `more`, in parentheses: further fields of the table. */
#define LH_TABLE(its_name, its_one, its_many, type, ...) \
  {.name = its_name, .one = its_one, .many = its_many, .row_bytes = sizeof(type), \
   .columns = __VA_ARGS__}
#define LH_TABLE_OF(its_name, its_one, its_many, ...) \
  LH_TABLE(its_name, its_one, its_many, ROW, (const lh_column[]){__VA_ARGS__, LH_END})
#define LH_TABLE_WITH(more, its_name, its_one, its_many, ...) \
  LH_TABLE(its_name, its_one, its_many, ROW, (const lh_column[]){__VA_ARGS__, LH_END}, LH_BARE more)
#define LH_BARE(...) __VA_ARGS__
/* clang-format on */

/* Adds the sites of a stack to a cell of LH_COLUMN_TEXTS: its own, and so many callers at most. */
void lh_keep_stack(lh_report *report, const lh_sites *sites, lh_stack_id stack, uint32_t callers);

/* For compute: keeps a text until the next cell is asked for, and returns it; NULL, and the report
** has failed, where memory ran out. A cell of LH_COLUMN_TEXTS has all that were kept. */
const char *lh_keep_text(lh_report *report, char *text);
void lh_name_of_mark(lh_cell *cell, const lh_mark_info *mark); /* NULL: none */

/* For columns of the names of snapshots, and of fingerprints. */
void lh_name_asked(lh_cell *cell, const char *name); /* NULL: none */
void lh_names_asked(lh_report *report, const void *row, lh_cell *cell);
const char *lh_fingerprint_heading(const lh_report *report);
void lh_references_of(lh_report *report, const void *row, lh_cell *cell); /* of an lh_gone */

/* For LH_OF. Nothing holds garbage: no path, no distance. */
void lh_cell_retained(lh_report *report, lh_id id, lh_cell *cell);
void lh_cell_shallow(lh_report *report, lh_id id, lh_cell *cell);
void lh_cell_distance(lh_report *report, lh_id id, lh_cell *cell);
void lh_cell_path(lh_report *report, lh_id id, lh_cell *cell);
void lh_cell_class(lh_report *report, lh_id id, lh_cell *cell);
void lh_cell_what(lh_report *report, lh_id id, lh_cell *cell);
void lh_cell_string(lh_report *report, lh_id id, lh_cell *cell); /* its beginning, in quotes */

/* ==== Functions =======================================================================
**
** In these the row, or the answer, is called `it`. What columns and tables need of a row of `type`
** (void: nothing but `row`): a function that fills `cell`, which may make its text; that says
** something of the row, such as whether it has that; how it looks. And the heading of a column. */

#define LH_CELL(name, type, ...)                                        \
  static void name(lh_report *report, const void *row, lh_cell *cell) { \
    const type *it = row;                                               \
    (void)report, (void)it, (void)cell;                                 \
    __VA_ARGS__;                                                        \
  }
#define LH_MADE_TEXT(name, type, made) \
  LH_CELL(name, type, cell->as.text = lh_keep_text(report, made))
#define LH_ITS(result, name, type, expression) \
  static result name(const void *row) {        \
    const type *it = row;                      \
    return expression;                         \
  }
#define LH_STYLE(name, type, its_style)                            \
  static lh_style name(const lh_report *report, const void *row) { \
    const type *it = row;                                          \
    (void)report;                                                  \
    return its_style;                                              \
  }
#define LH_HEADING_OF(name, heading)                 \
  static const char *name(const lh_report *report) { \
    return heading;                                  \
  }

/* Functions of a question: `ask` where a call of one analysis fills the answer, and `let_go`, which
** frees it by a call. */
#define LH_ANSWERED_BY(type, call)                                                               \
  static int ask(lh_snapshot *snapshot, const lh_request *request, void *out, lh_error *error) { \
    type *it = out;                                                                              \
    (void)snapshot, (void)request;                                                               \
    return call;                                                                                 \
  }
#define LH_FREED_BY(type, call)   \
  static void let_go(void *out) { \
    type *it = out;               \
    call;                         \
  }

/* The question of a file, which has its `answer`, `ask` and `tell`, and further fields. */
#define LH_QUESTION(its_name, ...)               \
  const lh_question lh_##its_name##_question = { \
      .name = #its_name, .answer = &answer, .ask = ask, .tell = tell, __VA_ARGS__}

/* ==== Where objects were allocated ===================================================
**
** A table whose rows have an lh_allocated: a column of it, absent where it is not known, and the
** same as a line below: "allocated at @app/bus.lua:31 in Bus:on (1,000 of 1,000)". */

#define LH_ALLOCATED(field, meaning)                                           \
  LH_INLINE_ROW("allocated", field, &lh_allocated_table, meaning, LH_OPTIONAL, \
                .compute = lh_absent_unless_allocated)

extern const lh_table lh_allocated_table;
void lh_absent_unless_allocated(lh_report *report, const void *row, lh_cell *cell);

/* For LH_OF_SITE, of a field that is an lh_site_id: its text, null of site 0, or why that is not
** known; and what allocates there. */
void lh_cell_site(lh_report *report, lh_site_id site, lh_cell *cell);
void lh_cell_site_or_why(lh_report *report, lh_site_id site, lh_cell *cell);
void lh_cell_maker(lh_report *report, lh_site_id site, lh_cell *cell);
const char *lh_allocated_line(lh_report *report, const lh_allocated *allocated); /* NULL: none */

/* ==================================================================================== */

/* Is the object of those that are asked for? */
bool lh_is_asked_for(const lh_snapshot *snapshot, const lh_request *request, lh_id id);

/* By what they are in order: "retained", "shallow", which it is for garbage, or "count". */
const char *lh_sort_name(const lh_request *request);

/* ==== Words ========================================================================== */

/* Tells one line; printf's format. And a text that was put together, which is empty then. */
void lh_say(lh_teller *teller, lh_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void lh_say_text(lh_teller *teller, lh_style style, lh_text *text);

/* Adds a text, which is freed, NULL being one for which memory ran out; and the path of an object
** that is reachable. */
void lh_put_freed(lh_text *text, char *other);
void lh_put_path(lh_text *text, lh_snapshot *snapshot, lh_id id);

/* " (through _G.handlers[*])", of a path that begins at a function; else nothing. */
void lh_put_through(lh_text *text, const lh_snapshot *snapshot, const lh_path *path, bool folded);

/* Listener 0x55d0c0a3f2e0 */
void lh_put_object(lh_text *text, const lh_snapshot *snapshot, lh_id id);

/* 48,112 Session tables: so many of a class and what they are, where its name does not say;
** LH_TYPE_ROOT: the name does. */
void lh_put_things(lh_text *text, uint64_t objects, const char *name, lh_type type);

/* _G.debugger.* (12 references). Freed by lh_free; NULL when out of memory. */
char *lh_gone_text(const lh_snapshot *snapshot, const lh_gone *gone);

/* 0.25%, to a hundredth of a percent; never 0% of what is there. */
void lh_put_little_share(lh_text *text, uint64_t part, uint64_t whole);

lh_number lh_told_size(const lh_teller *teller, uint64_t bytes);
lh_number lh_more_bytes(const lh_teller *teller, double bytes); /* +1.2 KB; -1.2 KB */
lh_number lh_share_of_heap(const lh_report *report, uint64_t bytes);

/* Garbage, which no answer counts: a line, if there is any. */
void lh_tell_garbage(lh_teller *teller, const lh_report *report, const char *before);

/* "2026-11-21 17:40:05  served 20", or the time alone where that is the name. And what begins an
** interval between marks, for a sentence, so no more than the beginning of a long name; of epoch 0
** "the start". Freed by lh_free. */
char *lh_mark_text(const lh_mark_info *mark);
char *lh_interval_text(const lh_snapshot *snapshot, uint32_t epoch);

/* "between the mark x and position 1,204", "since the mark x": an interval, in words of marks as
** far as it begins and ends at these. */
void lh_put_interval(lh_text *text, const lh_snapshot *snapshot, lh_interval interval);

/* That an answer is about an interval alone, if so. */
void lh_tell_interval(lh_teller *teller, const lh_report *report);

/* "30 Listener in the snapshot; this is the one that retains most", and what is ignored: a line
** each, if there is anything to be said. */
void lh_tell_asked(lh_teller *teller, lh_report *report);

/* "and 12 more classes: -n 0 shows all", if there are any. */
void lh_tell_hidden(lh_teller *teller, const lh_table *table, uint64_t n);

/* A table of these rows; and of the first, as many as the teller wants, and how many more there
** are. */
void lh_tell_rows(lh_teller *teller, lh_report *report, const lh_table *table, const void *rows,
                  size_t n);
void lh_tell_table(lh_teller *teller, lh_report *report, const lh_table *table, const void *rows,
                   size_t n, uint64_t total);

/* "Why it stays: heappath c 0x55d0c0a3f2e0", in the language of who asked; of an object, and of
** what a text says. */
void lh_tell_next(lh_teller *teller, const lh_report *report, const char *why, lh_next next,
                  lh_id id);
void lh_tell_next_of(lh_teller *teller, lh_style style, const char *why, lh_next next,
                     const char *subject, const char *other);

/* What was left out, if anything may be: so many groups. And how snapshots of several states were
** compared. */
void lh_tell_known(lh_teller *teller, const lh_report *report, uint64_t groups, uint64_t bytes,
                   uint64_t objects);
void lh_tell_compared(lh_teller *teller, bool same_state);

/* "grows:", "may grow:", "is bounded at 1,000?", "was filled once:". Then what that is by: how many
** are of which part of the history, if there are two intervals between marks, and a limit in sight;
** and what the keys of a collection are. A suspect in one line. */
void lh_put_prospect(lh_text *text, lh_prospect prospect, const lh_bound *bound);
void lh_tell_ages(lh_teller *teller, const lh_snapshot *snapshot, const lh_history *history,
                  const uint64_t ages[LH_SPANS]);
void lh_tell_bound(lh_teller *teller, const lh_snapshot *snapshot, const lh_bound *bound);
void lh_tell_keys(lh_teller *teller, lh_report *report, const lh_growing *growing);
void lh_tell_suspect_line(lh_teller *teller, const lh_report *report, const lh_suspect *suspect);

/* The steps of a path, as lh_told_steps has them, and that a weak table on the way holds its entry
** all the same, if one does. */
void lh_tell_steps(lh_teller *teller, lh_report *report, const lh_path *path, const lh_step *steps,
                   size_t n);

/* Where to cut a path (where_to_cut.c): the entry or variable to be cleared there, and code that
** names what it is in. Not found where there is no reference that a program could clear. */
enum { LH_MOST_NAMING = 4 };

typedef struct lh_where_to_cut {
  size_t n_steps; /* of the path up to there; 0: not found */
  lh_id name;     /* a string; LH_NO_OBJECT: no code names it */
  lh_id functions[LH_MOST_NAMING];
  size_t n_functions; /* how many there are */
} lh_where_to_cut;

int lh_find_where_to_cut(lh_snapshot *snapshot, const lh_path *path, lh_where_to_cut *out,
                         lh_error *error);
const char *lh_naming_text(lh_report *report, lh_id function); /* "connect @app.lua:68" */
void lh_tell_where_to_cut(lh_teller *teller, lh_report *report, const lh_path *path);

/* Where an object was allocated, and who called that, of a program that was tracked. */
void lh_tell_stack(lh_teller *teller, const lh_snapshot *snapshot, lh_id id);

/* That ages are not right in a snapshot that was taken while its state closed, if so. */
void lh_tell_finalized(lh_teller *teller, const lh_snapshot *snapshot);

/* ==================================================================================== */

extern const lh_table lh_suspect_table, lh_step_table;

/* All questions, in the order in which a command lists its options. */
/* clang-format off */
#define LH_QUESTIONS(X) \
  X(leaks) X(suspects) X(under) X(modules) X(threads) X(class) X(waste) X(growing) X(epochs) \
  X(sites) X(stack) X(classes) X(info) X(objects) X(set) X(cut) X(ignored) X(steps) X(diff) \
  X(interval) X(timeline) X(apart) X(strings) X(ladder) X(series) X(compare) X(owners) X(profile) \
  X(findings) X(allocations) X(calls) X(advice) X(allocation_changes) X(stacks) X(memory) \
  X(sizes) X(map) X(site_objects) X(object) X(fields) X(referrers) X(dominators) X(paths) \
  X(independent) X(located) X(search) X(treemap) X(flame)
/* clang-format on */

#define LH_DECLARED(name) extern const lh_question lh_##name##_question;
LH_QUESTIONS(LH_DECLARED)
#undef LH_DECLARED

#endif
