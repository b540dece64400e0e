/*
** luaheap_report.h - answers as data, and the words for them.
**
** A question, such as "modules", fills a struct of luaheap_analyses.h: its answer. A table of
** columns says what stands in that struct, and in the rows that it refers to: under which key, in
** which unit, and what it means. Everything that shows an answer (JSON, Lua, the text of a
** terminal) goes by these columns and knows no question; and a question knows nothing of who shows
** it. So a new column is one line, and a new question one file of lib/report/.
**
**     const lh_question *q = lh_find_question("modules");
**     lh_report report;
**     lh_ask(&report, q, snapshot, &(lh_request){.limit = 20}, &error);
**     for (const lh_column *c = q->answer->columns; c->kind != LH_COLUMN_END; c++)
**       lh_cell_of(&report, c, report.answer, &cell) ...
**     lh_report_free(&report);
*/
#ifndef LUAHEAP_REPORT_H
#define LUAHEAP_REPORT_H

#include "luaheap_compare.h"
#include "luaheap_usage.h"
#include "luaheap_view.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ==== 1. Objects as people call them ================================================ */

/* An address as Lua prints it, 0x55d0c0a3f2e0; and that of an object. */
lh_number lh_hex_text(uint64_t n);
lh_number lh_address_text(const lh_snapshot *snapshot, lh_id id);

/* From this many steps on a path is folded: what varies in it is written as `*`. */
#define LH_LONG_PATH 24u

/* So many levels of a tree are indented; a row that is deeper says by how many. */
#define LH_MOST_INDENTED 40u

/* The class of an object; the name of its type where it has none (our own objects). Borrowed. */
const char *lh_class_name_of(const lh_snapshot *snapshot, lh_id id);

/* The class, and of a string its beginning; and "48,112 Session tables": so many of a class
** (UINT32_MAX: of several), and what it is where its name does not say. Freed by lh_free; NULL when
** out of memory. */
char *lh_what_text(const lh_snapshot *snapshot, lh_id id);
char *lh_things_text(const lh_snapshot *snapshot, uint32_t class_index, uint64_t objects);

/* A step of a path as people are told it: a function's upvalue and what is in it are one, and of a
** long path the middle is one row. Returns how many they are. */
typedef struct lh_step {
  const lh_edge *edge; /* that it is called by; the first of those that are passed over */
  lh_id target;        /* what it leads to; LH_NO_OBJECT: it stands for several */
  size_t skipped;      /* so many of the path's edges */
} lh_step;

enum { LH_MOST_STEPS = LH_LONG_PATH + 1 };
size_t lh_told_steps(const lh_path *path, lh_step steps[LH_MOST_STEPS]);

/* The shortest path to it, folded where it is long. LH_ENOTFOUND: nothing keeps it alive. Freed by
** lh_free. */
int lh_told_path(lh_snapshot *snapshot, lh_id id, char **out, lh_error *error);

/* "upvalue c of function @app.lua:6 (through _G.handlers.h17)": a path, with who holds the function
** where its text begins at one. Freed by lh_free; NULL when out of memory. */
char *lh_whole_path_text(const lh_snapshot *snapshot, const lh_path *path, bool folded);

/* In text; without colours it is not seen. */
typedef enum lh_style { LH_PLAIN, LH_BOLD, LH_FAINT, LH_ALARM } lh_style;

/* ==== 2. Columns ==================================================================== */

typedef enum lh_column_kind {
  LH_COLUMN_END,
  LH_COLUMN_BYTES, /* uint64_t */
  LH_COLUMN_COUNT, /* uint64_t or uint32_t */
  LH_COLUMN_LINE,  /* uint32_t; 0: none */
  LH_COLUMN_SHARE, /* uint64_t, shown as its share of a whole: all reachable bytes; only in text */
  LH_COLUMN_BYTES_SERIES, /* uint64_t at several times: 312 B -> 1.2 KB */
  LH_COLUMN_COUNT_SERIES,
  LH_COLUMN_BYTES_CHANGE, /* the same, shown as what it is more at the end: +912 B; only in text */
  LH_COLUMN_COUNT_CHANGE,
  LH_COLUMN_MORE_BYTES, /* double, and less than 0 where it is fewer: +912 B */
  LH_COLUMN_NUMBER,     /* double */
  LH_COLUMN_FLAG,       /* bool */
  LH_COLUMN_BAR,    /* uint64_t, shown as a bar, whose whole is 20 characters long; only in text */
  LH_COLUMN_TEXT,   /* const char *, of printable characters: a name, a path, a word; may be NULL */
  LH_COLUMN_NAME,   /* as a program gave it, any bytes: escaped wherever it is shown */
  LH_COLUMN_OBJECT, /* lh_id, and with it its class and type; LH_NO_OBJECT, LH_ROOT: none */
  LH_COLUMN_EXAMPLE, /* lh_id alone; LH_NO_OBJECT: none */
  LH_COLUMN_ID,      /* uint32_t: the number of an object, a site or a stack; in SQL it is unique
                        among all open snapshots */
  LH_COLUMN_HEX,     /* uint64_t, shown as an address: 0x55d0c0a3f2e0 */
  LH_COLUMN_TIME,    /* uint64_t: nanoseconds since 1970 */
  LH_COLUMN_VALUE,   /* lh_value, as Lua has it; LH_VALUE_NIL: none */
  LH_COLUMN_CLASS,   /* uint32_t: class and type under these keys, in JSON the class alone where it
                        has a json_key; UINT32_MAX: none */
  LH_COLUMN_STRING,  /* lh_id of a string, in text its beginning; LH_NO_OBJECT: none */
  LH_COLUMN_EDGE,    /* const lh_edge *, in text as it is written in a path; computed */
  LH_COLUMN_TEXTS,   /* several of these; no field, but computed */
  LH_COLUMN_NAMES,   /* several names, as a program or a user gave them; computed */
  LH_COLUMN_ROWS     /* a pointer to structs, and a size_t: how many */
} lh_column_kind;

typedef struct lh_report lh_report;
typedef struct lh_teller lh_teller;
typedef struct lh_table lh_table;
typedef struct lh_cell lh_cell;

/* What a snapshot must have gone through before a fact can be read. */
typedef enum lh_needs {
  LH_NEEDS_NOTHING,
  LH_NEEDS_ANALYSIS,
  LH_NEEDS_CLASSES,
  LH_NEEDS_CLASS_SIZES /* what each class retains: lh_top_classes */
} lh_needs;

typedef struct lh_column {
  const char *key;      /* in JSON and in Lua; NULL: there it is not */
  const char *json_key; /* where that is another one, "": not in JSON; else NULL */
  const char *heading;  /* in a table of text; NULL: there it is not */
  const char *(*heading_of)(const lh_report *report); /* where that depends on what was asked */
  lh_column_kind kind;
  const char *meaning;  /* a phrase, for manual pages and annotations */
  bool optional;        /* may be null */
  bool is_wide;         /* shown only where there is room for more than what matters most */
  bool is_narrow;       /* shown only where there is not */
  bool is_unbroken;     /* of a text: it stays on one line */
  bool is_by_name;      /* LH_COLUMN_ROWS: not in order, but under what is in the first column */
  bool is_limited;      /* LH_COLUMN_ROWS: a request says how many at most */
  bool is_one;          /* LH_COLUMN_ROWS: there is one, and no list around it */
  size_t offset, bytes; /* of the field in the struct */
  const char *(*word)(unsigned); /* LH_COLUMN_TEXT: of a field that is an enumeration */
  const lh_table *rows;          /* LH_COLUMN_ROWS: what they are */
  size_t n_offset, n_bytes;      /* LH_COLUMN_ROWS: where their number stands in the struct */
  bool is_inline;                /* the rows, or the text, are in the struct itself */
  void (*compute)(lh_report *report, const void *row, lh_cell *cell); /* what it is, if more than
                                                                         the field, or none */
  bool (*has)(const void *row); /* has the row this? Others have null. NULL: each has it */
  bool is_only_there;           /* rows without it have no such key, rather than null */
  bool is_of_site;              /* `of` is given the id of a site or stack, and not of an object */
  void (*of)(lh_report *report, lh_id id, lh_cell *cell); /* what is told of the object that stands
                                                             in the field, an lh_id */
  /* Of facts (part 5): */
  lh_needs needs;
  unsigned of_types; /* only objects of these types have it, a bit each; 0: all have it */
  bool is_of_code;   /* of a function in Lua its prototype has it */
} lh_column;

/* So many columns of a table have a heading at most. */
enum { LH_MOST_HEADINGS = 16 };

/* What the structs of one type have in them. */
struct lh_table {
  const char *name;       /* heap.module: of the class in annotations */
  const char *one, *many; /* what a row is called */
  size_t row_bytes;
  const lh_column *columns; /* up to LH_COLUMN_END, in the order of the text */
  lh_style (*style)(const lh_report *report, const void *row); /* in text; NULL: plain */
  const char *(*below)(lh_report *report, const void *row); /* a line of text under the row; NULL:
                                                       none. It lives until a cell is asked for */
  uint32_t (*depth)(const void *row); /* of a tree in preorder, which is drawn in the last column */
  void (*tell)(lh_teller *teller, lh_report *report, const void *rows, size_t n); /* how a list of
                                                       them is told; NULL: as a table of text */
};

struct lh_cell {
  lh_column_kind kind;
  bool is_null;
  bool is_absent; /* not even a null is in JSON */
  uint64_t whole; /* LH_COLUMN_SHARE: of what */
  union {
    uint64_t n;
    double number;
    bool flag;
    const char *text;
    struct {
      const char *bytes; /* with a NUL behind them; NULL: none */
      size_t n;
    } name;
    lh_id object;
    lh_value value;
    uint32_t class_index;
    const lh_edge *edge;
    struct {
      const uint64_t *first; /* may be int64_t, of which only JSON and Lua know */
      size_t stride, n;      /* the next is so many bytes behind it */
    } series;
    struct {
      const char *const *list;
      size_t n;
    } texts; /* and names */
    struct {
      const lh_table *table;
      const void *list;
      size_t n;
    } rows;
  } as;
};

/* What stands under a column in a struct: of the answer, or of one of its rows. Texts that are made
** for it live until the next call, all else as long as the report. Where memory runs out the cell
** is null, and the report has failed. Of a fact the report is one that has a snapshot alone, and is
** freed like others. */
void lh_cell_of(lh_report *report, const lh_column *column, const void *row, lh_cell *cell);

uint64_t lh_series_at(const lh_cell *cell, size_t i);

/* The column's key in JSON, its heading in this report; NULL: there it is not. And are rows told in
** text? */
const char *lh_json_key(const lh_column *column);
const char *lh_heading_of(const lh_report *report, const lh_column *column);
bool lh_has_text(const lh_table *table);

/* The cell as people read it: empty where it is null, an object by its address. Freed by lh_free;
** NULL when out of memory. And is it told at the right of its column, as numbers are? */
char *lh_cell_text(const lh_teller *teller, const lh_report *report, const lh_cell *cell);
bool lh_is_number(lh_column_kind kind);

/* ==== 3. Questions ================================================================== */

/* A fingerprint of the release before, and what it is now. */
typedef struct lh_renewed {
  char now[LH_FINGERPRINT_BYTES], before[LH_FINGERPRINT_BYTES];
} lh_renewed;

/* What has one of these fingerprints is left out. */
typedef struct lh_known {
  const char *name; /* of the list, as the user gave it */
  char (*list)[LH_FINGERPRINT_BYTES];
  size_t n;            /* sorted */
  bool has_older;      /* some are of the release before, of ten digits alone */
  lh_renewed *renewed; /* sorted, of those that were found; freed with lh_free */
  size_t n_renewed, capacity;
} lh_known;

/* What is taken as gone. */
typedef struct lh_gone {
  const char *text; /* the pattern that it was given by; NULL: it is one edge, or one object */
  lh_without what;
} lh_gone;

/* How it is asked. */
typedef struct lh_request {
  size_t limit;     /* rows to look at, of a cell, too; 0: all */
  bool has_limit;   /* somebody said so */
  const char *name; /* of a class, or what an object was called */
  lh_sort sort;
  bool whole_lists;     /* each element of a linked list has a row */
  uint32_t type_mask;   /* of which objects: 1 << lh_type, or 0 for all types */
  bool garbage;         /* of those that nothing keeps alive instead */
  lh_id id;             /* of an object, or LH_ROOT */
  uint64_t matches;     /* how many objects `name` calls: `id` retains most of them */
  uint32_t class_index; /* of these, if that is the name of a class; else UINT32_MAX */
  bool has_least_bytes;
  uint64_t least_bytes; /* of what is told */
  bool has_depth;
  uint64_t depth; /* levels of a tree, frames of a thread */

  /* Of several snapshots: two or three, which stay open and of which the last is the one that is
  ** asked; or any number, of which only figures are kept, and none is asked. */
  lh_snapshot *const *snapshots;
  size_t n_snapshots;
  const lh_ladder *ladder;
  const char *const *names; /* of all of them, as the user gave them */
  size_t n_names;
  const char *since, *until; /* in place of snapshots: marks; NULL: none */
  uint64_t factor;           /* flags groups of a multiple of so many objects; 0: none */
  bool fingerprints;         /* are told in text, too */
  lh_known *known;           /* NULL: nothing is */
  const lh_id *ids;          /* of a set */
  size_t n_ids;
  const lh_gone *ignored, *cuts; /* what the snapshot was analysed without, what is to be tried */
  size_t n_ignored, n_cuts;
  bool each;           /* what each of the cuts frees alone is told, too */
  const lh_path *path; /* whose steps are told */

  /* Of what is drawn, or turned over page by page. */
  size_t from;          /* rows to pass over; behind them `limit` are wanted */
  lh_interval interval; /* of what was allocated in it, if has_interval */
  bool has_interval;
  const char *sorted;   /* the key of the column that rows are in the order of; "-" in front of it:
                         most first */
  const char *filter;   /* a text that a row must have somewhere */
  const char *of;       /* what a picture begins at: the key of a tile; NULL: the root */
  lh_tree_by tree;      /* of what that is a tile */
  lh_age_chart_by ages; /* what the layers of a timeline are */
  size_t bins;          /* of a timeline; 0: as many as there is room for on a page */
  lh_snapshot *before;  /* another one to compare with, classified; NULL: none. Of `snapshots` the
                          first is the one since which all is new */
  uint64_t from_address, to_address; /* of a map; 0 both: all */
  uint64_t cells;                    /* so many squares at most; 0: as many as fit a report */
  lh_snapshot *const *opened;        /* all there are, before and after the one that is asked: one
                                        map for all; NULL: no others */
  size_t n_opened;

  /* Of a profile, or of two that are compared. */
  const lh_usage *const *usages;
  size_t n_usages;
  lh_usage_by by;
  lh_usage_order order; /* by which rows are in order */
} lh_request;

/* Is what has the fingerprint left out? */
bool lh_is_known(const lh_request *request, const char *fingerprint);

/* By how much there is more than there should be, for who sets a limit to that. */
typedef struct lh_excess {
  uint64_t bytes, objects;
  uint64_t grown_bytes; /* of older containers, which are told apart */
  const char *what;     /* the bytes and objects are: "retained" */
} lh_excess;

/* What is asked. */
typedef enum lh_subject {
  LH_OF_SNAPSHOT, /* one, or one and those that it is compared with */
  LH_OF_LADDER,   /* figures of any number of snapshots */
  LH_OF_PROFILE   /* the usage of one or two */
} lh_subject;

typedef struct lh_question {
  const char *name;     /* of the option of a command, and of the method in Lua */
  const char *command;  /* that has the option; NULL: heaptop */
  const char *help;     /* one line; NULL: it is no option */
  const char *argument; /* of the option; NULL: it has none */
  const lh_table *answer;
  lh_subject of;
  const char *main; /* the key of the rows of which the answer is a list in Lua; NULL: it is none */
  int (*ask)(lh_snapshot *snapshot, const lh_request *request, void *answer, lh_error *error);
  uint64_t (*whole)(const void *answer); /* of which shares are told; NULL: all reachable bytes */
  void (*free)(void *answer);            /* NULL: it owns nothing */
  bool (*is_no)(const void *answer);     /* an honest no: nothing is alive, nothing is freed; NULL:
                                        there is none */
  void (*tell)(lh_teller *teller, lh_report *report);
  void (*excess)(const lh_report *report, lh_excess *out); /* NULL: there is none */
} lh_question;

extern const lh_question *const lh_questions[]; /* NULL behind the last */
const lh_question *lh_find_question(const char *name);

struct lh_report {
  const lh_question *question;
  lh_request request;
  lh_snapshot *snapshot;
  uint64_t whole_bytes; /* of these shares are told */
  char **names;         /* of the request, for people to read */
  void *answer;
  bool failed; /* memory ran out when something was to be told */
  char **made; /* private: the texts of the last cell */
  size_t n_made, capacity;
};

/* Asks; the snapshot must be classified, unless it is compared with others. NULL: a question about
** a ladder, or about profiles. Freed by lh_report_free. Costs what the analysis costs that the
** question needs. */
int lh_ask(lh_report *report, const lh_question *question, lh_snapshot *snapshot,
           const lh_request *request, lh_error *error);
void lh_report_free(lh_report *report);

/* ==== 4. Words ====================================================================== */

/* What to ask next, and of what. */
typedef enum lh_next {
  LH_NEXT_PATHS,  /* an address: why it stays */
  LH_NEXT_UNDER,  /* an address: what it keeps alive */
  LH_NEXT_SET,    /* a class: what holds its instances */
  LH_NEXT_SINCE,  /* a mark, and maybe another: what was allocated from the one to the other */
  LH_NEXT_OWNERS, /* the names of two snapshots: who owns the growth */
  LH_NEXT_WASTE   /* nothing: what could be given back */
} lh_next;

/* Who takes the words of an answer, and puts them where they belong: on a terminal, into a text. It
** is given whole lines, tables and hints in their order. */
struct lh_teller {
  bool exact_bytes, unicode;
  bool thorough;   /* what takes as long as an analysis is told, too */
  size_t limit;    /* rows to tell; 0: all */
  const char *all; /* how to see the others: "-n 0 shows all"; NULL: that goes without saying */
  void (*line)(lh_teller *teller, lh_style style, const char *line);
  void (*table)(lh_teller *teller, lh_report *report, const lh_table *table, const void *rows,
                size_t n);
  void (*hidden)(lh_teller *teller, const lh_table *table, uint64_t n); /* so many more rows there
                                                       are, behind a table; NULL: a line says so */
  char *(*next)(lh_teller *teller, const char *why, lh_next next, const char *subject,
                const char *other); /* how that is asked; freed by lh_free. why: the words in front
                                       of it, with blanks; NULL: it is in a sentence */
  bool failed;                      /* out of memory: what follows is not told any more */
};

/* What calls the mark: its name or, if it has none of its own, its time; then *is_time. Freed by
** lh_free; NULL when out of memory. */
char *lh_mark_name(const lh_mark_info *mark, bool *is_time);

/* Tells a report by its question's words. */
void lh_tell_report(lh_teller *teller, lh_report *report);

/* The report as text without colours, tables with their first 20 rows. Freed by lh_free; NULL when
** out of memory. `subject`: what stands for the snapshot in hints for Lua. */
char *lh_report_text(lh_report *report, const char *subject);

/* The same of rows alone. */
char *lh_rows_text(lh_report *report, const lh_table *table, const void *rows, size_t n);

/* ==== 5. Facts ======================================================================
**
** What is known of each kind of thing in a snapshot: a table of columns, whose rows the caller
** fills. heapsql's tables, the fields of heap.reader's objects and edges, annotations and the manual
** page of heapsql are views of them. A column's `key` is its name in Lua, its lh_json_key that in
** SQL, where columns that are `is_wide` are hidden; what only Lua has comes last. The `name` of a
** table is its class in annotations, and `many` its name in SQL. */

/* An object, a reference, an entry, a call, a site or a stack. */
typedef struct lh_thing {
  lh_id id;
  lh_object object; /* decoded, if its id is `id` */
  lh_object code;   /* of a function in Lua, and of a prototype */
  lh_edge edge;
  lh_value key, value; /* of an entry */
  uint32_t position; /* of a reference or an entry in its object, of a call in its thread: from 1 */
  lh_frame frame;    /* a call; of a thread the one where it stands */
  lh_site site;
  lh_stack stack;
  lh_stack_counts counts;
} lh_thing;

extern const lh_table lh_object_facts, lh_string_facts, lh_edge_facts, lh_entry_facts,
    lh_thread_facts, lh_frame_facts, lh_site_facts, lh_stack_facts;
extern const lh_table lh_row_facts; /* of an object, in the rows of the live calls in Lua */

/* A class, with what all of its instances retain together; a module or global variable; a mark. */
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
extern const lh_table lh_tracking_facts; /* of lh_tracking: in Lua alone */

/* The snapshot itself. */
typedef struct lh_snapshot_fact {
  lh_info info;
  lh_reach reach;
  lh_count own; /* luaheap's objects */
  lh_tracking tracking;
  bool is_tracked;
} lh_snapshot_fact;

extern const lh_table lh_snapshot_facts;

extern const lh_table *const lh_facts[]; /* all of these, in the order of the manual page; NULL */

/* Decodes what a column with `of_types` needs of the object thing->id. False: it has no such fact. */
bool lh_read_object(const lh_snapshot *snapshot, const lh_column *column, lh_thing *thing);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
