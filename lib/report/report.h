/*
** report.h - columns that the compiler checks, and helpers that several questions share.
**
** Private to this folder. A question NAME has NAME_answer (a table of columns), find_NAME (fills
** the answer), and print_NAME (its sentences and tables); LH_QUESTION joins them. The other files:
**
**     report.c      asks a question; the cells of its answer
**     sentences.c   names of objects; lines, numbers, tables and hints as text
**     text.c        a report as plain text
**     request.c     arguments as text, and a question asked with them
**     json.c        an answer as JSON
**     facts.c       facts about each kind of thing in a snapshot
**     diff_rows.c   tables of diff.c and apart.c
*/
#pragma once

#include "analyses/answers.h"
#include "compare/answers.h"
#include "name/text.h"
#include "rooms/report.h"
#include "usage/answers.h"
#include "view/answers.h"

/* ==== Columns ======================================================================== */

/* A column of `ROW`, the struct of a file's rows. A field of the wrong type does not compile. Flags
** may follow the meaning: LH_OPTIONAL: may be null; LH_WIDE, LH_NARROW: only if there is, or is no,
** room; LH_LIMITED: -n limits the rows; LH_OWNED: the report frees the list; LH_HEADING: a function
** returns the heading. */
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
#define LH_BAR(field, ...) \
  LH_COLUMN(NULL, "", LH_COLUMN_BAR, NULL, LH_FIELD(field, uint64_t: 1), __VA_ARGS__)
#define LH_NUMBER(key, field, ...) \
  LH_COLUMN(key, NULL, LH_COLUMN_NUMBER, __VA_ARGS__, LH_FIELD(field, double: 1))
#define LH_MORE_BYTES(key, heading, field, ...) \
  LH_COLUMN(key, heading, LH_COLUMN_MORE_BYTES, __VA_ARGS__, LH_FIELD(field, double: 1))
/* For an array field: one number for each snapshot or interval. */
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
/* The meaning of a column's older name; its new name is the one in SQL. */
#define LH_OLDER_NAME "the older name of the same, which the next release drops"

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

/* `function` fills the cell, whose kind is set and which is not null. A field may also have
** .compute, which then changes the cell that was read. */
#define LH_COMPUTED(key, heading, kind, function, ...) \
  LH_COLUMN(key, heading, kind, __VA_ARGS__, .compute = function)
/* A property of the object in a field; null if there is none. */
#define LH_OF(key, heading, kind, field, function, ...) \
  LH_COLUMN(key, heading, kind, __VA_ARGS__, LH_FIELD(field, lh_id: 1), .of = function)
/* The same for a site or stack. */
#define LH_OF_SITE(key, heading, kind, field, function, ...) \
  LH_OF(key, heading, kind, field, function, __VA_ARGS__, .is_of_site = true)
#define LH_RETAINED(heading, field, ...) \
  LH_OF("retained_bytes", heading, LH_COLUMN_BYTES, field, lh_cell_retained, __VA_ARGS__)
#define LH_HELD_BY(heading, field, ...) \
  LH_OF("held_by", heading, LH_COLUMN_TEXT, field, lh_cell_path, __VA_ARGS__, LH_OPTIONAL)
#define LH_OPTIONAL .optional = true
/* Null in all other rows; or absent there. */
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
#define LH_OWNED .is_owned = true
/* The whole of a column's shares, or of all shares of a question: a field of the answer. */
#define LH_WHOLE(type, field) .has_whole = true, \
  .whole_offset = offsetof(type, field) + 0 * _Generic(((type *)0)->field, uint64_t: 1)
#define LH_END {.kind = LH_COLUMN_END}

/* A table of structs of `type` with given columns; of ROW with these columns; and the same with
** `more` fields, in parentheses. */
#define LH_TABLE(its_name, its_one, its_many, type, ...) \
  {.name = its_name, .one = its_one, .many = its_many, .row_bytes = sizeof(type), \
   .columns = __VA_ARGS__}
#define LH_TABLE_OF(its_name, its_one, its_many, ...) \
  LH_TABLE(its_name, its_one, its_many, ROW, (const lh_column[]){__VA_ARGS__, LH_END})
#define LH_TABLE_WITH(more, its_name, its_one, its_many, ...) \
  LH_TABLE(its_name, its_one, its_many, ROW, (const lh_column[]){__VA_ARGS__, LH_END}, LH_BARE more)
#define LH_BARE(...) __VA_ARGS__
/* clang-format on */

/* Adds the site of a stack and of at most `callers` callers to a cell of LH_COLUMN_TEXTS. */
void lh_keep_stack(lh_report *report, const lh_sites *sites, lh_stack_id stack, uint32_t callers);

/* Texts that the report keeps until the next cell is read or the next line is printed; "" when out
** of memory: the report has failed. lh_kept takes over `text`, lh_words has printf's format. A cell
** of LH_COLUMN_TEXTS has all kept texts. */
const char *lh_kept(lh_report *report, char *text);
const char *lh_words(lh_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void lh_drop_kept(lh_report *report);
void lh_name_of_mark(lh_cell *cell, const lh_mark_info *mark); /* NULL: none */

void lh_name_asked(lh_cell *cell, const char *name); /* NULL: none */
void lh_names_asked(lh_report *report, const void *row, lh_cell *cell);
const char *lh_fingerprint_heading(const lh_report *report);

/* For LH_OF. Garbage has no path and no distance. */
void lh_cell_retained(lh_report *report, lh_id id, lh_cell *cell);
void lh_cell_shallow(lh_report *report, lh_id id, lh_cell *cell);
void lh_cell_distance(lh_report *report, lh_id id, lh_cell *cell);
void lh_cell_path(lh_report *report, lh_id id, lh_cell *cell);
void lh_cell_class(lh_report *report, lh_id id, lh_cell *cell);
void lh_cell_what(lh_report *report, lh_id id, lh_cell *cell);
void lh_cell_string(lh_report *report, lh_id id, lh_cell *cell); /* its beginning, quoted */

/* ==== Functions =======================================================================
**
** In these macros `it` is the row (or the answer) as a `type`; with void only `row` is useful.
** They define: a function that fills `cell`, or makes its text; a property of a row; a row's style;
** the heading of a column. */

#define LH_CELL(name, type, ...)                                        \
  static void name(lh_report *report, const void *row, lh_cell *cell) { \
    const type *it = row;                                               \
    (void)report, (void)it, (void)cell;                                 \
    __VA_ARGS__;                                                        \
  }
#define LH_MADE_TEXT(name, type, made) LH_CELL(name, type, cell->as.text = lh_kept(report, made))
#define LH_ITS(result, name, type, expression) \
  static result name(const void *row) {        \
    const type *it = row;                      \
    return expression;                         \
  }
/* The names of an enumeration's values. */
#define LH_WORDS(name, ...)                           \
  static const char *name(unsigned value) {           \
    static const char *const words[] = {__VA_ARGS__}; \
    return LH_WORD_OF(words, value);                  \
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

/* Functions of a question `name`: find_name fills the answer by one call, free_name frees it. */
#define LH_FOUND_BY(name, type, call)                                                    \
  static int find_##name(lh_snapshot *snapshot, const lh_request *request, void *answer, \
                         lh_error *error) {                                              \
    type *it = answer;                                                                   \
    (void)snapshot, (void)request;                                                       \
    return call;                                                                         \
  }
#define LH_FREED_BY(name, type, ...)      \
  static void free_##name(void *answer) { \
    type *it = answer;                    \
    __VA_ARGS__;                          \
  }

/* The question of a file that defines name_answer (the table), find_name and print_name; and one
** with another table. */
#define LH_QUESTION(its_name, ...) LH_QUESTION_WITH(its_name, its_name##_answer, __VA_ARGS__)
#define LH_QUESTION_WITH(its_name, table, ...)                             \
  const lh_question lh_##its_name##_question = {.name = #its_name,         \
                                                .answer = &table,          \
                                                .find = find_##its_name,   \
                                                .print = print_##its_name, \
                                                __VA_ARGS__}

/* ==== Allocation sites ===============================================================
**
** For rows with an lh_allocated: a column, absent if the site is unknown, and the line below a row:
** "allocated at @app/bus.lua:31 in Bus:on (1,000 of 1,000)". */

#define LH_ALLOCATED(field, meaning)                                           \
  LH_INLINE_ROW("allocated", field, &lh_allocated_table, meaning, LH_OPTIONAL, \
                .compute = lh_absent_unless_allocated)

extern const lh_table lh_allocated_table;
void lh_absent_unless_allocated(lh_report *report, const void *row, lh_cell *cell);

/* For LH_OF_SITE, of an lh_site_id: its text (null for site 0); its text, or why it is unknown; the
** kind of allocation. */
void lh_cell_site(lh_report *report, lh_site_id site, lh_cell *cell);
void lh_cell_site_or_why(lh_report *report, lh_site_id site, lh_cell *cell);
void lh_cell_maker(lh_report *report, lh_site_id site, lh_cell *cell);
const char *lh_allocated_line(lh_report *report, const lh_allocated *allocated); /* NULL: none */

/* Does the request include the object? */
bool lh_is_asked_for(const lh_snapshot *snapshot, const lh_request *request, lh_id id);

/* "retained", "shallow" or "count"; for garbage, which retains nothing, not "retained". */
const char *lh_sort_name(const lh_request *request);

/* ==== The collector ================================================================== */

/* Columns of a ROW whose `info` comes first. */
#define LH_COLLECTOR_COLUMNS                                                                     \
  LH_COMPUTED("gc_kind", NULL, LH_COLUMN_TEXT, lh_gc_kind_of,                                    \
              "how the collector works: incremental or generational", LH_HIDDEN),                \
      LH_COMPUTED("gc_state", NULL, LH_COLUMN_TEXT, lh_gc_state_of,                              \
                  "where it stands, as in heap.stats: pause, propagate ...", LH_HIDDEN),         \
      LH_FLAG("gc_stopped", info.collector.is_stopped,                                           \
              "the program stopped it; this and the rest: of files that tell", LH_OF_COLLECTOR), \
      LH_COMPUTED("gc_debt_bytes", NULL, LH_COLUMN_BYTES, lh_gc_debt_of,                         \
                  "allocated since its next step was due; negative: left until then",            \
                  LH_OF_COLLECTOR),                                                              \
      LH_BYTES("gc_kept_bytes", NULL, info.collector.kept_bytes,                                 \
               "that it found alive in its last whole cycle; 0: not known", LH_OF_COLLECTOR),    \
      LH_COUNT("gc_pause", NULL, info.collector.pause,                                           \
               "its settings, in percent: a cycle begins when the heap is so much of that",      \
               LH_OF_COLLECTOR),                                                                 \
      LH_COUNT("gc_stepmul", NULL, info.collector.stepmul, "how fast a cycle is",                \
               LH_OF_COLLECTOR),                                                                 \
      LH_COUNT("gc_minormul", NULL, info.collector.minormul,                                     \
               "generational: growth until young objects are collected", LH_OF_COLLECTOR),       \
      LH_COUNT("gc_majormul", NULL, info.collector.majormul,                                     \
               "generational: growth until all are; minormajor in Lua 5.5", LH_OF_COLLECTOR)
#define LH_OF_COLLECTOR LH_WHERE(lh_collector_is_known), LH_HIDDEN
bool lh_collector_is_known(const void *row);
void lh_gc_kind_of(lh_report *report, const void *row, lh_cell *cell);
void lh_gc_state_of(lh_report *report, const void *row, lh_cell *cell);
void lh_gc_debt_of(lh_report *report, const void *row, lh_cell *cell);

/* Lines about a reason for much garbage, if there is one. */
void lh_print_garbage_cause(lh_printer *printer, lh_report *report, const lh_garbage_cause *cause);

/* ==== Words ========================================================================== */

/* Prints a line; printf's format. */
void lh_say(lh_printer *printer, lh_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void lh_say_text(lh_printer *printer, lh_style style, lh_text *text);

/* Appends a text and frees it; NULL: out of memory. */
void lh_put_freed(lh_text *text, char *other);

/* Appends " (through _G.handlers[*])" if the path begins at a function. */
void lh_put_through(lh_text *text, const lh_snapshot *snapshot, const lh_path *path, bool folded);

/* 48,112 Session tables; 30 x function fn @app.lua:10. The type follows unless the name says it, or
** it is LH_TYPE_ROOT. */
void lh_append_count(lh_text *text, uint64_t objects, const char *name, lh_type type);

/* Kept texts: Listener 0x55d0c0a3f2e0; the path of a reachable
** object, or "root"; 48,112 Session tables; a text of a program or user, escaped. */
const char *lh_object_words(lh_report *report, lh_id id);
const char *lh_path_words(lh_report *report, lh_id id);
const char *lh_count_words(lh_report *report, uint32_t class_index, uint64_t objects);
const char *lh_name_words(lh_report *report, const char *name);

/* 0.25%, to a hundredth of a percent; never 0% for a part above 0. */
void lh_put_little_share(lh_text *text, uint64_t part, uint64_t whole);

lh_number lh_format_size(const lh_printer *printer, uint64_t bytes);
lh_number lh_more_bytes(const lh_printer *printer, double bytes); /* +1.2 KB or -1.2 KB */
lh_number lh_share_of_heap(const lh_report *report, uint64_t bytes);

/* A line about garbage, which no answer counts, if there is any. */
void lh_print_garbage(lh_printer *printer, const lh_report *report, const char *before);

/* "2026-11-21 17:40:05  served 20", or the time alone if it is the name. The name of the mark that
** begins an interval, cut if long; "the start" for epoch 0. "between the mark x and position
** 1,204", "since the mark x". */
const char *lh_mark_words(lh_report *report, const lh_mark_info *mark);
const char *lh_epoch_words(lh_report *report, uint32_t epoch);
const char *lh_interval_words(lh_report *report, lh_interval interval);

/* A line if the answer is about an interval only. */
void lh_print_interval(lh_printer *printer, lh_report *report);

/* "30 Listener in the snapshot; this is the one that retains most", and ignored references. */
void lh_print_asked(lh_printer *printer, lh_report *report);

/* "and 12 more classes: -n 0 shows all"; nothing if n is 0. */
void lh_print_hidden(lh_printer *printer, const lh_table *table, uint64_t n);

/* A table of all these rows; of the first printer->limit rows and the number of hidden ones. */
void lh_print_rows(lh_printer *printer, lh_report *report, const lh_table *table, const void *rows,
                   size_t n);
void lh_print_table(lh_printer *printer, lh_report *report, const lh_table *table, const void *rows,
                    size_t n, uint64_t total);

/* "Why it stays: heappath c 0x55d0c0a3f2e0", for a shell or for Lua; of an object, of any
** subject. */
void lh_print_next(lh_printer *printer, const lh_report *report, const char *why, lh_next next,
                   lh_id id);
void lh_print_next_of(lh_printer *printer, lh_style style, const char *why, lh_next next,
                      const char *subject, const char *other);

/* The sum of known groups. And how snapshots of several states were compared. */
void lh_print_known(lh_printer *printer, lh_report *report, uint64_t groups, uint64_t bytes,
                    uint64_t objects);
void lh_print_compared(lh_printer *printer, bool same_state);

/* "grows:", "may grow:", "is bounded at 1,000?", "was filled once:". The evidence: ages, if there
** are two intervals between marks; a nearby limit; keys. A suspect in one line. */
void lh_put_prospect(lh_text *text, lh_prospect prospect, const lh_bound *bound);
void lh_print_ages(lh_printer *printer, const lh_snapshot *snapshot, const lh_history *history,
                   const uint64_t ages[LH_SPANS]);
void lh_print_bound(lh_printer *printer, const lh_snapshot *snapshot, const lh_bound *bound);
/* Why objects as young as those of a ring or a cache may grow all the same. */
void lh_print_young_holder(lh_printer *printer, const lh_snapshot *snapshot, lh_id holder);
/* " with their table": a collection's bytes are those of its tables, too. "": a linked list. */
const char *lh_with_their_tables(const lh_growing *growing);
/* Why a weak table keeps its entries. */
void lh_print_weak(lh_printer *printer, const lh_growing *growing);
void lh_print_keys(lh_printer *printer, lh_report *report, const lh_growing *growing);
void lh_print_suspect_line(lh_printer *printer, lh_report *report, const lh_suspect *suspect);

/* The row of a group names one path, and cutting it alone may not free the object. Costs three
** searches through the heap. */
void lh_print_how_held(lh_printer *printer, lh_report *report, lh_id id);

/* The allocation site of an object and its callers, if the program was tracked; before it, where
** the text of a string lies that collectgarbage("count") leaves out. */
void lh_print_origin(lh_printer *printer, const lh_snapshot *snapshot, lh_id id);

/* A warning if the snapshot was taken while its state closed: ages are then wrong. */
void lh_print_finalized(lh_printer *printer, const lh_snapshot *snapshot);

extern const lh_table lh_suspect_table;

/* ==== Comparisons ==================================================================== */

/* Sums of new objects, of grown containers and strings. */
typedef struct lh_diff_sums {
  uint64_t groups, containers; /* containers: with strings that grew */
  uint64_t strings;
  uint64_t objects, shallow_bytes, retained_bytes;
  uint64_t grown_bytes;
} lh_diff_sums;

/* In the lists of the diff known rows follow the others. */
typedef struct lh_diff_found {
  lh_diff diff;
  lh_diff *whole;     /* owns the data of `diff` */
  size_t n_snapshots; /* compared; 0: an interval in one snapshot */
  lh_diff_sums new, known;
  uint64_t may_be_newer[2], may_be_newer_bytes[2]; /* lh_diff.passed_as_old */
  char multiple[2 + LH_NUMBER_BYTES];              /* heading of the column of multiples */
  bool is_folded;                                  /* a printed row has several containers */
  lh_garbage_cause garbage;                        /* of c */
} lh_diff_found;

extern const lh_table lh_group_table, lh_grown_table;
extern const lh_table lh_class_change_table; /* also for different states */

/* How many containers are in rows with more bytes; if in none, how many there are. */
uint64_t lh_count_grown(const lh_grown *grown, size_t n);

/* Matches rows with the known fingerprints of the release before. False: out of memory. */
bool lh_renew_known_of_diff(const lh_request *request, lh_snapshot *c, const lh_diff *diff);

/* The answers of growth.c and apart.c begin with it. */
typedef struct lh_growth_found {
  lh_growth growth; /* without known paths, which are counted here: */
  uint64_t known_paths, known_bytes, known_objects;
  lh_growth *all;                           /* with known paths; owns the data of `growth` */
  const lh_table *path_table, *class_table; /* for text; apart has its own */
} lh_growth_found;

/* `by_halves`: compares the first half of the ladder with the second one. */
int lh_find_growth(lh_growth_found *found, lh_ladder *ladder, bool by_halves,
                   const lh_request *request, lh_error *error);
void lh_free_growth(void *found);

/* Columns of an lh_growth_row in JSON and Lua; its figures in each snapshot, and in the last. */
extern const lh_column lh_growth_columns[];
void lh_bytes_in_each(lh_report *report, const void *row, lh_cell *cell);
void lh_objects_in_each(lh_report *report, const void *row, lh_cell *cell);
void lh_last_bytes(lh_report *report, const void *row, lh_cell *cell);
void lh_last_objects(lh_report *report, const void *row, lh_cell *cell);

/* ==== Profiles ======================================================================= */

/* The usage of the answer; if two are compared, the later one. */
const lh_usage *lh_usage_of(const lh_report *report);

/* For LH_OF_SITE, of an lh_stack_id: its site, "@app/bus.lua:31 in Bus:on"; where that function
** begins; the kind of allocation. */
void lh_cell_stack_site(lh_report *report, lh_stack_id stack, lh_cell *cell);
void lh_cell_stack_function(lh_report *report, lh_stack_id stack, lh_cell *cell);
void lh_cell_stack_maker(lh_report *report, lh_stack_id stack, lh_cell *cell);

enum { LH_MOST_CALLERS = 64 };

/* ==== Questions ====================================================================== */

/* All questions, in the order of a command's options. */
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
