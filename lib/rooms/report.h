/*
** report.h - answers to questions, as data and as text.
**
** A question, such as "modules", fills a struct: the answer. A table of columns describes the
** fields of the struct and of its rows: key, unit and meaning. All outputs (JSON, Lua, text) read
** only the columns and know no question, and a question knows no output. So a new column is one
** line, and a new question is one file in lib/report/.
**
**     const lh_question *q = lh_find_question("modules");
**     lh_report report;
**     lh_ask(&report, q, snapshot, &(lh_request){.limit = 20}, &error);
**     for (const lh_column *c = q->answer->columns; c->kind != LH_COLUMN_END; c++)
**       lh_cell_of(&report, c, report.answer, &cell) ...
**     lh_report_free(&report);
*/
#pragma once

#include <stdio.h>

#include "rooms/compare.h"
#include "rooms/usage.h"

/* ==== 1. Objects as people call them ================================================ */

/* An address as Lua prints it, 0x55d0c0a3f2e0; the address of an object. */
lh_number lh_hex_text(uint64_t n);
lh_number lh_address_text(const lh_snapshot *snapshot, lh_id id);

/* A path of this many steps or more is folded: its varying steps become `*`. */
#define LH_LONG_PATH 24u

/* Tree levels that text indents; a deeper row states its depth. */
#define LH_MOST_INDENTED 40u

/* The class of an object; the type if it has no class (luaheap's own objects). Borrowed. */
const char *lh_class_name_of(const lh_snapshot *snapshot, lh_id id);

/* "connect @app.lua:68", of a closure or a prototype. */
const char *lh_code_name_of(const lh_snapshot *snapshot, lh_id code);

/* The class of an object; of a string its beginning. Freed by lh_free. */
char *lh_what_text(const lh_snapshot *snapshot, lh_id id);

/* The steps of a path for people: a function's upvalue and its value are one step, and the middle
** of a long path is one step. Returns their number. */
typedef struct lh_step {
  const lh_edge *edge; /* the edge that names the step; the first of skipped edges */
  lh_id target;        /* LH_NO_OBJECT: the step stands for several edges */
  size_t skipped;      /* the number of edges that it stands for, else 0 */
} lh_step;

enum { LH_MOST_STEPS = LH_LONG_PATH + 1 };
size_t lh_readable_steps(const lh_path *path, lh_step steps[LH_MOST_STEPS]);

/* The shortest path to an object, folded if it is long. Freed by lh_free. LH_ENOTFOUND: nothing
** keeps the object alive. */
int lh_readable_path(lh_snapshot *snapshot, lh_id id, char **out, lh_error *error);

/* "upvalue c of function @app.lua:6 (through _G.handlers.h17)": a path, with who holds the function
** if the text begins at one. */
char *lh_whole_path_text(const lh_snapshot *snapshot, const lh_path *path, bool folded);

/* Of text; invisible without colours. */
typedef enum lh_style { LH_PLAIN, LH_BOLD, LH_FAINT, LH_ALARM } lh_style;

/* ==== 2. Columns ==================================================================== */

typedef enum lh_column_kind {
  LH_COLUMN_END,
  LH_COLUMN_BYTES,        /* uint64_t */
  LH_COLUMN_COUNT,        /* uint64_t or uint32_t */
  LH_COLUMN_LINE,         /* uint32_t; 0: none */
  LH_COLUMN_SHARE,        /* uint64_t as a share of a whole (see lh_question); text only */
  LH_COLUMN_BYTES_SERIES, /* uint64_t at several times: 312 B -> 1.2 KB */
  LH_COLUMN_COUNT_SERIES,
  LH_COLUMN_BYTES_CHANGE, /* the same as the difference of last and first: +912 B; text only */
  LH_COLUMN_COUNT_CHANGE,
  LH_COLUMN_MORE_BYTES, /* double, negative for less: +912 B */
  LH_COLUMN_NUMBER,     /* double */
  LH_COLUMN_FLAG,       /* bool */
  LH_COLUMN_BAR,        /* uint64_t as a bar; the whole has 20 characters; text only */
  LH_COLUMN_TEXT,       /* const char *, printable: a name, a path, a word; may be NULL */
  LH_COLUMN_NAME,       /* any bytes from a program: escaped in all outputs */
  LH_COLUMN_OBJECT,     /* lh_id with its class and type; LH_NO_OBJECT, LH_ROOT: none */
  LH_COLUMN_EXAMPLE,    /* lh_id only; LH_NO_OBJECT: none */
  LH_COLUMN_ID,     /* uint32_t: an object, site or stack; in SQL unique in all open snapshots */
  LH_COLUMN_HEX,    /* uint64_t as an address: 0x55d0c0a3f2e0 */
  LH_COLUMN_TIME,   /* uint64_t: nanoseconds since 1970 */
  LH_COLUMN_VALUE,  /* lh_value as in Lua; LH_VALUE_NIL: none */
  LH_COLUMN_CLASS,  /* uint32_t: class and type under these keys; in JSON only the class if there
                       is a json_key; UINT32_MAX: none */
  LH_COLUMN_STRING, /* lh_id of a string; text has its beginning; LH_NO_OBJECT: none */
  LH_COLUMN_EDGE,   /* const lh_edge *, in text as in a path; computed */
  LH_COLUMN_TEXTS,  /* several texts; computed */
  LH_COLUMN_NAMES,  /* several names from a program or a user; computed */
  LH_COLUMN_ROWS    /* a pointer to structs, and a size_t: their number */
} lh_column_kind;

typedef struct lh_report lh_report;
typedef struct lh_printer lh_printer;
typedef struct lh_table lh_table;
typedef struct lh_cell lh_cell;

/* The analysis that a fact needs. */
typedef enum lh_needs {
  LH_NEEDS_NOTHING,
  LH_NEEDS_ANALYSIS,
  LH_NEEDS_CLASSES,
  LH_NEEDS_CLASS_SIZES /* retained size of each class: lh_top_classes */
} lh_needs;

typedef struct lh_column {
  const char *key;      /* in JSON and Lua; NULL: not there */
  const char *json_key; /* JSON only, instead of `key`; "": not in JSON; NULL: `key` */
  const char *heading;  /* in a text table; NULL: not there */
  const char *(*heading_of)(const lh_report *report); /* if it depends on the request */
  lh_column_kind kind;
  const char *meaning;           /* a phrase for man pages and annotations */
  bool optional;                 /* may be null */
  bool is_wide;                  /* in wide output only */
  bool is_narrow;                /* in narrow output only */
  bool is_unbroken;              /* text that must stay on one line */
  bool is_by_name;               /* LH_COLUMN_ROWS: not a list; the first column is the key */
  bool is_limited;               /* LH_COLUMN_ROWS: the request's `limit` holds */
  bool is_owned;                 /* LH_COLUMN_ROWS of an answer: lh_report_free frees the list */
  bool is_one;                   /* LH_COLUMN_ROWS: one row, without a list around it */
  size_t offset, bytes;          /* of the field in the struct */
  const char *(*word)(unsigned); /* LH_COLUMN_TEXT: the words of an enumeration */
  const lh_table *rows;          /* LH_COLUMN_ROWS: their table */
  size_t n_offset, n_bytes;      /* LH_COLUMN_ROWS: the field with their number */
  bool is_inline;                /* the rows or the text lie in the struct itself */
  void (*compute)(lh_report *report, const void *row, lh_cell *cell); /* computes the cell, if it
                                                                         is more than the field */
  bool (*has)(const void *row); /* false: null in this row. NULL: every row has it */
  bool is_only_there;           /* rows without it lack the key, rather than have null */
  bool is_of_site;              /* `of` takes the id of a site or stack, not of an object */
  bool has_whole;      /* LH_COLUMN_SHARE, LH_COLUMN_BAR: the whole is not that of the report, */
  size_t whole_offset; /* but this uint64_t of the answer */
  void (*of)(lh_report *report, lh_id id, lh_cell *cell); /* describes the object in the field,
                                                             an lh_id */
  /* Of facts (section 6): */
  lh_needs needs;
  unsigned of_types; /* bits of the types of objects that have it; 0: all */
  bool is_of_code;   /* a Lua function's prototype has it */
} lh_column;

enum { LH_MOST_HEADINGS = 16 }; /* columns of a table that may have a heading */

/* Describes structs of one type. */
struct lh_table {
  const char *name;       /* heap.module: the class in annotations */
  const char *one, *many; /* the name of a row */
  size_t row_bytes;
  const lh_column *columns; /* up to LH_COLUMN_END, in the order of text */
  lh_style (*style)(const lh_report *report, const void *row); /* of text; NULL: plain */
  /* A line of text below the row, valid until the next cell; NULL: none. */
  const char *(*below)(lh_report *report, const void *row);
  uint32_t (*depth)(const void *row); /* of a tree in preorder, drawn in the last column */
  /* Prints a list of rows; NULL: as a text table. */
  void (*print)(lh_printer *printer, lh_report *report, const void *rows, size_t n);
};

struct lh_cell {
  lh_column_kind kind;
  bool is_null;
  bool is_absent; /* JSON has not even a null */
  uint64_t whole; /* LH_COLUMN_SHARE: the whole */
  union {
    uint64_t n;
    double number;
    bool flag;
    const char *text;
    struct {
      const char *bytes; /* followed by a NUL; NULL: none */
      size_t n;
    } name;
    lh_id object;
    lh_value value;
    uint32_t class_index;
    const lh_edge *edge;
    struct {
      const uint64_t *first; /* may be int64_t, but only in JSON and Lua */
      size_t stride, n;      /* stride: bytes from one to the next */
    } series;
    struct {
      const char *const *list;
      size_t n;
    } texts; /* also of names */
    struct {
      const lh_table *table;
      const void *list;
      size_t n;
    } rows;
  } as;
};

/* Reads a column's cell from a struct: the answer, or one of its rows. Texts that are made for the
** cell live until the next call, all else as long as the report. Out of memory: the cell is null,
** and report->failed. For a fact the report needs only a snapshot; it is freed like others. */
void lh_cell_of(lh_report *report, const lh_column *column, const void *row, lh_cell *cell);

uint64_t lh_series_at(const lh_cell *cell, size_t i);

/* lh_json_key: the key in JSON. lh_heading_of: the heading in this report. NULL: none. lh_has_text:
** does text show the rows? */
const char *lh_json_key(const lh_column *column);
const char *lh_heading_of(const lh_report *report, const lh_column *column);
bool lh_has_text(const lh_table *table);

/* lh_cell_text: the cell for people; empty if null; an object has its address. lh_is_number: is the
** kind aligned to the right? */
char *lh_cell_text(const lh_printer *printer, const lh_report *report, const lh_cell *cell);
bool lh_is_number(lh_column_kind kind);

/* ==== 3. Questions ================================================================== */

/* A fingerprint of the previous release, and the present one. */
typedef struct lh_renewed {
  char now[LH_FINGERPRINT_BYTES], before[LH_FINGERPRINT_BYTES];
} lh_renewed;

/* The groups with these fingerprints are left out. */
typedef struct lh_known {
  const char *name; /* of the list, as the user gave it */
  char (*list)[LH_FINGERPRINT_BYTES];
  size_t n;            /* fingerprints, sorted */
  bool has_older;      /* some are of the previous release: ten digits only */
  lh_renewed *renewed; /* the old fingerprints that were found, sorted; freed by lh_free */
  size_t n_renewed, capacity;
} lh_known;

/* References and objects to ignore. */
typedef struct lh_removed {
  const char *text; /* the user's pattern; NULL: one edge or one object */
  lh_without what;
} lh_removed;

/* The arguments of a question. */
typedef struct lh_request {
  size_t limit;     /* rows, and parts of a cell; 0: all */
  bool has_limit;   /* the user gave the limit */
  const char *name; /* of a class, or the expression for an object */
  lh_sort sort;
  bool whole_lists;     /* a row for each element of a linked list */
  uint32_t type_mask;   /* only these objects: 1 << lh_type; 0: all types */
  bool garbage;         /* unreachable objects instead */
  lh_id id;             /* an object, or LH_ROOT */
  uint64_t matches;     /* the number of objects that `name` matches; `id` retains most */
  uint32_t class_index; /* if `name` is a class; else UINT32_MAX */
  bool has_least_bytes;
  uint64_t least_bytes; /* of each row */
  bool has_depth;
  uint64_t depth; /* levels of a tree, frames of a thread */

  /* Several snapshots: two or three that stay open, the last of which is asked; or a ladder, which
  ** keeps only figures, and then no snapshot is asked. */
  lh_snapshot *const *snapshots;
  size_t n_snapshots;
  lh_ladder *ladder;
  const char *const *names; /* of all of them, as the user gave them */
  size_t n_names;
  const char *since, *until; /* marks instead of snapshots; NULL: none */
  uint64_t factor;           /* flags groups of a multiple of this many objects; 0: none */
  bool fingerprints;         /* text has fingerprints, too */
  lh_known *known;           /* NULL: none */
  const lh_id *ids;          /* the objects of a set */
  size_t n_ids;
  const lh_removed *ignored, *cuts; /* ignored: the snapshot was analysed without them; cuts: to be
                                    tried */
  size_t n_ignored, n_cuts;
  bool each;           /* also what each cut frees alone */
  const lh_path *path; /* the path to describe */

  /* Of pictures, and of answers in pages. */
  size_t from;          /* rows to skip before the `limit` rows */
  lh_interval interval; /* only objects allocated in it, if has_interval */
  bool has_interval;
  const char *sorted;   /* the key of the column to sort by; "-" before it: most first */
  const char *filter;   /* a text that each row must contain */
  const char *of;       /* the key of a picture's first tile; NULL: the root */
  lh_tree_by tree;      /* the tree that has the tile */
  lh_age_chart_by ages; /* the layers of a timeline */
  size_t bins;          /* of a timeline; 0: as many as fit a page */
  lh_snapshot *before;  /* a classified snapshot to compare with; NULL: none. All is new since
                           the first of `snapshots` */
  uint64_t from_address, to_address; /* of a map; both 0: all */
  uint64_t cells;                    /* squares at most; 0: as many as fit a report */
  lh_snapshot *const *opened;        /* all open snapshots, also before and after the one asked,
                                        for one map of all; NULL: no others */
  size_t n_opened;

  /* Of a profile, or two to compare. */
  const lh_usage *const *usages;
  size_t n_usages;
  lh_usage_by by;
  lh_usage_order order;
} lh_request;

/* Are groups with this fingerprint left out? */
bool lh_is_known(const lh_request *request, const char *fingerprint);

/* The excess over what should be there, for a user's limit. */
typedef struct lh_excess {
  uint64_t bytes, objects;
  uint64_t grown_bytes; /* of older containers, counted separately */
  const char *what;     /* the name of the bytes and objects: "retained" */
} lh_excess;

/* The subject of a question. */
typedef enum lh_subject {
  LH_OF_SNAPSHOT, /* one, or one and those to compare with */
  LH_OF_LADDER,   /* figures of any number of snapshots */
  LH_OF_PROFILE   /* the usage of one or two profiles */
} lh_subject;

typedef struct lh_question {
  const char *name;     /* of a command's option, and of a method in Lua */
  const char *command;  /* the command; NULL: heaptop */
  const char *help;     /* one line; NULL: not an option */
  const char *argument; /* of the option; NULL: none */
  const lh_table *answer;
  lh_subject of;
  const char *main; /* the key of the rows that are the list in Lua; NULL: the answer is no list */
  int (*find)(lh_snapshot *snapshot, const lh_request *request, void *answer, lh_error *error);
  bool has_whole;             /* the whole of shares is not all reachable bytes, */
  size_t whole_offset;        /* but this uint64_t of the answer */
  void (*free)(void *answer); /* frees what LH_OWNED columns do not, also after `find` failed;
                                            NULL: nothing */
  bool (*is_no)(const void *answer); /* an honest no: nothing is alive, nothing is freed;
                                            NULL: never */
  void (*print)(lh_printer *printer, lh_report *report);
  void (*excess)(const lh_report *report, lh_excess *out); /* NULL: none */
} lh_question;

extern const lh_question *const lh_questions[]; /* ends with NULL */
const lh_question *lh_find_question(const char *name);

struct lh_report {
  const lh_question *question;
  lh_request request;
  lh_snapshot *snapshot;
  uint64_t whole_bytes; /* the whole of shares */
  char **names;         /* of the request, for people */
  void *answer;
  bool failed; /* out of memory while making text */
  char **made; /* private: the texts of the last cell */
  size_t n_made, capacity;
};

/* Asks a question; for the diff of snapshots of several Lua states, "apart". The snapshot must be
** classified, unless it is compared with others; NULL: a question about a ladder or profiles. Freed
** by lh_report_free. Costs the analysis that the question needs. */
int lh_ask(lh_report *report, const lh_question *question, lh_snapshot *snapshot,
           const lh_request *request, lh_error *error);
void lh_report_free(lh_report *report);

/* ==== 4. Words ====================================================================== */

/* The next question to suggest, and its subject. */
typedef enum lh_next {
  LH_NEXT_PATHS,  /* an address: why the object stays */
  LH_NEXT_UNDER,  /* an address: what the object keeps alive */
  LH_NEXT_SET,    /* a class: what holds its instances */
  LH_NEXT_SINCE,  /* a mark, maybe a second: what was allocated between them */
  LH_NEXT_OWNERS, /* two snapshots' names: who owns the growth */
  LH_NEXT_WASTE   /* nothing: what could be freed */
} lh_next;

/* Prints an answer. Its functions get whole lines, tables and hints in order. */
struct lh_printer {
  bool exact_bytes, unicode;
  bool thorough;   /* also answers that cost as much as an analysis */
  size_t limit;    /* rows; 0: all */
  const char *all; /* how to see the others: "-n 0 shows all"; NULL: not said */
  void (*line)(lh_printer *printer, lh_style style, const char *line);
  void (*table)(lh_printer *printer, lh_report *report, const lh_table *table, const void *rows,
                size_t n);
  /* Called after a table that hides n rows; NULL: a line says so. */
  void (*hidden)(lh_printer *printer, const lh_table *table, uint64_t n);
  /* Returns the text of a hint; freed by lh_free. why: the words before it, with blanks; NULL: it
  ** is in a sentence. */
  char *(*next)(lh_printer *printer, const char *why, lh_next next, const char *subject,
                const char *other);
  bool failed;       /* out of memory: prints nothing more */
  lh_report *report; /* private: the report that is printed */
};

/* The name of a mark, or its time if it has no name; then *is_time. */
char *lh_mark_name(const lh_mark_info *mark, bool *is_time);

void lh_print_report(lh_printer *printer, lh_report *report);

/* The report as text without colours, tables with their first 20 rows. `subject`: stands for the
** snapshot in hints for Lua. */
char *lh_report_text(lh_report *report, const char *subject);

/* The same for rows only. */
char *lh_rows_text(lh_report *report, const lh_table *table, const void *rows, size_t n);

/* ==== 5. JSON =======================================================================
**
** A writer of one document. Strings are valid UTF-8. `key` is NULL outside an object. A failed
** write shows in the FILE's error flag. */
typedef struct lh_json {
  FILE *out;
  bool is_compact;        /* for programs: no blanks and lines */
  bool is_ascii;          /* strings have \uXXXX for all beyond ASCII */
  int64_t most_bytes;     /* beyond this size is_full is set; 0: no limit. `out` can seek */
  bool (*has_room)(void); /* asked before each row of an answer; false: the row is left out */
  bool is_full;           /* rows are missing: discard the document */
  bool follows;           /* private, as are the next: an item stands before */
  unsigned depth, lines;  /* open brackets; those with a line for each item */
} lh_json;

/* An object or array with a line for each item, or all in one line. Brackets are { or [. */
void lh_json_open(lh_json *w, const char *key, char bracket);
void lh_json_open_in_line(lh_json *w, const char *key, char bracket);
void lh_json_close(lh_json *w, char bracket);

/* lh_json_string: NULL is null. lh_json_number: so is what is not finite. A count beyond INT64_MAX
** is written as negative. */
void lh_json_text(lh_json *w, const char *key, const char *text, size_t n);
void lh_json_string(lh_json *w, const char *key, const char *text);
void lh_json_integer(lh_json *w, const char *key, int64_t n);
void lh_json_count(lh_json *w, const char *key, uint64_t n);
void lh_json_number(lh_json *w, const char *key, double number);
void lh_json_flag(lh_json *w, const char *key, bool flag);
void lh_json_null(lh_json *w, const char *key);

/* Writes an answer's values into the open object. False: out of memory. */
bool lh_json_report(lh_json *w, lh_report *report);

/* Sets a field of a request from text, as key "limit" and value "20", "sort" and "shallow". The
** keys, and their values, are in lib/report/request.c; some are for certain questions only.
** LH_EARGUMENT: no such key, or no such value. An object (key "at") is looked for in `snapshot`,
** which must be classified, and fails as lh_find does. The request keeps `value`. */
int lh_set_argument(lh_request *request, const char *question, const char *key, const char *value,
                    lh_snapshot *snapshot, lh_error *error);

/* The values that a request has before lh_set_argument. */
lh_request lh_usual_request(const char *question);

/* ==== 6. Facts ======================================================================
**
** Facts are columns of the objects, references and other parts of a snapshot; the caller fills the
** rows. The tables of heapsql, the fields of heap.reader's objects and edges, annotations and the
** man page of heapsql show these columns. A column's `key` is its name in Lua, its lh_json_key the
** name in SQL; SQL hides columns that are `is_wide`. All columns from the first without an SQL name
** on are only in Lua. A table's `name` is its class in annotations, its `many` the name in SQL. */

/* An object, a reference, an entry, a call, a site or a stack. */
typedef struct lh_fact_row {
  lh_id id;
  lh_object object; /* decoded, if its id is `id` */
  lh_object code;   /* the prototype of a Lua function or prototype */
  lh_edge edge;
  lh_value key, value; /* of an entry */
  uint32_t position;   /* from 1: of a reference or entry in its object, of a call in its thread */
  lh_frame frame;      /* the call; of a thread the current one */
  lh_site site;
  lh_stack stack;
  lh_stack_counts counts;
} lh_fact_row;

extern const lh_table lh_object_facts, lh_string_facts, lh_edge_facts, lh_entry_facts,
    lh_thread_facts, lh_frame_facts, lh_site_facts, lh_stack_facts;
extern const lh_table lh_row_facts; /* of an object, in the rows of the live calls in Lua */

/* A class with the retained size of all its instances; a mark. */
typedef struct lh_class_fact {
  lh_class of_class;
  uint64_t retained_bytes;
} lh_class_fact;

typedef struct lh_mark_fact {
  lh_mark_info mark;
  uint32_t epoch;
} lh_mark_fact;

extern const lh_table lh_class_facts, lh_mark_facts;
extern const lh_table lh_module_facts;   /* of lh_module */
extern const lh_table lh_tracking_facts; /* of lh_tracking; only in Lua */

typedef struct lh_snapshot_fact {
  lh_info info;
  lh_reach reach;
  lh_count own; /* luaheap's objects */
  lh_tracking tracking;
  bool is_tracked;
} lh_snapshot_fact;

extern const lh_table lh_snapshot_facts;

extern const lh_table *const lh_facts[]; /* in the order of the man page; ends with NULL */

/* Decodes the object fact_row->id as far as `column` needs. False: the object lacks this fact. */
bool lh_read_object(const lh_snapshot *snapshot, const lh_column *column, lh_fact_row *fact_row);
