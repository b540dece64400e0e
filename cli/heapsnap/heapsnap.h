/*
** heapsnap.h - what the files of the SQLite extension heapsnap.so share. It shows snapshots as
** virtual tables: rows are decoded from the file in memory when a query asks for them, nothing is
** copied, and what has to be computed (retained bytes, classes, an index) is computed once, by the
** first query that needs it. Over lib/luaheap.h alone; SQLite is the host's, reached through the
** pointers that it hands to an extension.
**
**     heapsnap.c    the entry; the SQL functions, such as heap_open and path_of
**     shelf.c       the snapshots of one connection: opened, named, analysed, closed
**     index.c       objects by class and by dominator, edges by target: made when needed
**     table.c       one SQLite module for all tables: plans and cursors
**     result.c      what a column hands to SQLite
**     objects.c     objects and strings
**     edges.c       edges and entries
**     threads.c     threads and frames
**     sites.c       sites and stacks
**     summary.c     the short ones: classes, modules, marks, info
**     guard.c       heap_read_only: from then on queries can only ask
**
** An id in SQL is unique over all snapshots of a connection: snapshot i (from 0), object n is
** i * 10,000,000,000 + n. So an id alone says everything to path_of(id), and ids of two snapshots,
** which have nothing to do with each other, never meet in a join.
*/
#ifndef HEAPSNAP_H
#define HEAPSNAP_H

#include <sqlite3ext.h>

#include "luaheap.h"

SQLITE_EXTENSION_INIT3

/* {=== shelf.c ======================================================================== */

/* Numbers by a key, in the order of keys: those of key k are item[first[k]] to
** item[first[k + 1] - 1]. NULL: not made yet. */
typedef struct hs_index {
  uint32_t *first, *item;
} hs_index;

/* An edge: the number `position`, from 1, of those of its source. */
typedef struct hs_edge_id {
  lh_id source;
  uint32_t position;
} hs_edge_id;

/* Behind edge `position` of the source, so that those of a big object can be found quickly. */
typedef struct hs_checkpoint {
  lh_id source;
  uint32_t position;
  lh_edges iterator;
} hs_checkpoint;

/* Edges by target, like hs_index; and the checkpoints in the order of source and position. */
typedef struct hs_targets {
  uint32_t *first;
  hs_edge_id *item;
  hs_checkpoint *checkpoints;
  size_t n_checkpoints;
} hs_targets;

/* What the bytes of a string are. */
typedef struct hs_looked {
  const char *bytes;
  size_t n, whole; /* bytes of whole characters */
  bool is_text;    /* UTF-8 */
  bool shows;      /* without controls */
} hs_looked;

typedef struct hs_file {
  lh_snapshot *snapshot;
  char *schema;  /* its name in SQL */
  int64_t base;  /* added to an object's number gives its id */
  bool borrowed; /* the snapshot is the host's */
  lh_info info;
  lh_count own; /* luaheap's objects, once they are counted */
  bool analysed, named;
  lh_reach reach;     /* once it is analysed */
  bool for_terminal;  /* control characters in the heap's strings are made visible */
  uint32_t *class_at; /* classes in the order of their names; the key of by_class */
  hs_index by_class, by_dominator;
  hs_targets by_target;
  uint64_t *class_retained;     /* by class index */
  lh_modules modules;           /* once they are asked for */
  lh_stack_counts *site_counts; /* by site */
  hs_looked looked;             /* the last */
} hs_file;

typedef struct hs_shelf {
  hs_file **files;
  unsigned n_files;
  bool for_terminal;
} hs_shelf;

#define HS_ID_STEP INT64_C(10000000000)

/* Opens `path`, if it is not `open` already (else NULL), and puts it on the shelf under `schema`,
** which it copies. */
int hs_shelf_add(hs_shelf *shelf, const char *path, lh_snapshot *open, const char *schema,
                 lh_error *error);
void hs_shelf_remove_last(hs_shelf *shelf);
void hs_shelf_free(void *shelf);

void hs_shelf_for_terminal(hs_shelf *shelf);

/* The snapshot of that name, or NULL. SQLite's names have no case. */
hs_file *hs_shelf_find(const hs_shelf *shelf, const char *schema);

/* The snapshot and the object that an id stands for; NULL if there is none. And the same of what is
** no object, whose greatest number `last` tells. */
hs_file *hs_shelf_resolve(const hs_shelf *shelf, int64_t id, lh_id *object);
hs_file *hs_shelf_resolve_to(const hs_shelf *shelf, int64_t id,
                             uint32_t (*last)(const lh_snapshot *snapshot), uint32_t *number);

/* Retained bytes, distances and so on; classes, too. */
int hs_need_analysis(hs_file *file, lh_error *error);
int hs_need_classes(hs_file *file, lh_error *error);

int hs_no_memory(lh_error *error, const char *doing);

/* }=================================================================================== */

/* {=== index.c ======================================================================== */

/* Make by_class (and class_at), by_dominator, by_target; harmless again. */
int hs_index_classes(hs_file *file, lh_error *error);
int hs_index_dominators(hs_file *file, lh_error *error);
int hs_index_targets(hs_file *file, lh_error *error);
void hs_targets_free(hs_targets *targets);

/* The edge of an item of by_target. */
void hs_edge_at(const hs_file *file, hs_edge_id id, lh_edge *edge);

/* Where the items of by_class are that have a class of that name. */
void hs_find_class(const hs_file *file, const char *name, uint32_t *first, uint32_t *end);

/* }=================================================================================== */

/* {=== table.c ======================================================================== */

/* How a column's value finds rows without looking at all of them. */
typedef enum hs_lookup {
  HS_NONE,
  HS_BY_TYPE,  /* text; all are looked at, but not by SQLite */
  HS_BY_CLASS, /* text */
  HS_FEW_IDS,  /* an id of which there are some rows */
  HS_ONE_ID,
  HS_ADDRESS /* text or a number, which SQLite would not find equal: it does not look again */
} hs_lookup;

typedef struct hs_cursor hs_cursor;

/* How a field is told. */
typedef enum hs_form {
  HS_FORM_COUNT,
  HS_FORM_LINE, /* 0: none */
  HS_FORM_FLAG,
  HS_FORM_ID,
  HS_FORM_WORD, /* made by the library, */
  HS_FORM_NAME, /* or as the program had it; NULL: none */
  HS_FORM_HEX,
  HS_FORM_TIME, /* nanoseconds since 1970 */
  HS_FORM_VALUE,
  HS_FORM_OBJECT /* the id of the object that the value is, if it is one */
} hs_form;

typedef struct hs_column {
  const char *name;
  enum { HS_INTEGER, HS_TEXT, HS_ANY } type;
  hs_lookup lookup;
  bool hidden;     /* not in `select *` */
  lh_type of_type; /* only objects of that type have it, if it is not LH_TYPE_ROOT */
  enum { HS_AS_READ, HS_ANALYSED, HS_CLASSIFIED } needs;
  hs_form form; /* of a field of the row, */
  size_t offset, bytes;
  void (*compute)(hs_cursor *cursor, sqlite3_context *context); /* or what hands it to SQLite, which
                                                                   is NULL if that does nothing */
} hs_column;

/* Columns of `ROW`, which a file defines as what its kind's `row` returns. A field of another type
** than that kind of column tells does not compile. Behind them may stand HS_LOOKUP, HS_HIDDEN,
** HS_NEEDS, and HS_OF: only objects of that type have it. */
/* clang-format off */
#define HS_FIELD(its_name, its_type, its_form, c_type, field, ...) \
  {.name = its_name, .type = its_type, .form = its_form, \
   .offset = offsetof(ROW, field) + 0 * _Generic(((ROW *)0)->field, c_type), \
   .bytes = sizeof(((ROW *)0)->field), __VA_ARGS__}
#define HS_NUMBER uint64_t: 1, int64_t: 1, uint32_t: 1
#define HS_COUNT(name, ...) HS_FIELD(name, HS_INTEGER, HS_FORM_COUNT, HS_NUMBER, __VA_ARGS__, )
#define HS_LINE(name, ...) HS_FIELD(name, HS_INTEGER, HS_FORM_LINE, uint32_t: 1, __VA_ARGS__, )
#define HS_FLAG(name, ...) HS_FIELD(name, HS_INTEGER, HS_FORM_FLAG, bool: 1, __VA_ARGS__, )
#define HS_ID(name, ...) HS_FIELD(name, HS_INTEGER, HS_FORM_ID, lh_id: 1, __VA_ARGS__, )
#define HS_WORD(name, ...) HS_FIELD(name, HS_TEXT, HS_FORM_WORD, const char *: 1, __VA_ARGS__, )
#define HS_NAME(name, ...) HS_FIELD(name, HS_TEXT, HS_FORM_NAME, const char *: 1, __VA_ARGS__, )
#define HS_HEX(name, ...) HS_FIELD(name, HS_TEXT, HS_FORM_HEX, uint64_t: 1, __VA_ARGS__, )
#define HS_TIME(name, ...) HS_FIELD(name, HS_TEXT, HS_FORM_TIME, uint64_t: 1, __VA_ARGS__, )
#define HS_VALUE(name, ...) HS_FIELD(name, HS_ANY, HS_FORM_VALUE, lh_value: 1, __VA_ARGS__, )
#define HS_OBJECT(name, ...) HS_FIELD(name, HS_INTEGER, HS_FORM_OBJECT, lh_value: 1, __VA_ARGS__, )
#define HS_COMPUTED(its_name, its_type, ...) \
  {.name = its_name, .type = its_type, .compute = __VA_ARGS__}
#define HS_LOOKUP(how) .lookup = how
#define HS_HIDDEN .hidden = true
#define HS_OF(its_type) .of_type = its_type
#define HS_NEEDS(what) .needs = what
#define HS_SNAPSHOT HS_COMPUTED("snapshot", HS_TEXT, hs_tell_snapshot)
#define HS_COLUMNS(list) .columns = list, .n_columns = sizeof list / sizeof *list
/* clang-format on */

/* A kind of table. Its column 0 is HS_SNAPSHOT. */
typedef struct hs_kind {
  const char *name;
  const hs_column *columns;
  int n_columns;
  const void *(*row)(const hs_cursor *cursor);      /* where the fields are; NULL: in the cursor */
  uint32_t (*last_id)(const lh_snapshot *snapshot); /* of its rows; NULL: they are objects */
  const char *key;        /* the primary key: an id, which is the rowid too; or two columns */
  double rows_per_object; /* about; for plans */
  /* Goes in front of the first row of cursor->file that fits cursor->lookup. LH_OK or an error */
  int (*begin)(hs_cursor *cursor, lh_error *error);
  /* 1: there is another row, 0: no more, negative: an error */
  int (*next)(hs_cursor *cursor, lh_error *error);
} hs_kind;

extern const hs_kind hs_objects, hs_strings, hs_edges, hs_entries, hs_threads, hs_frames, hs_sites,
    hs_stacks, hs_classes, hs_modules, hs_marks, hs_info;

/* All kinds; NULL behind the last. */
extern const hs_kind *const hs_kinds[];

struct hs_cursor {
  sqlite3_vtab_cursor base;
  const hs_kind *kind;
  hs_shelf *shelf;
  unsigned next_file, end_file; /* to be visited yet */
  hs_file *file;                /* being visited; NULL: none yet */
  bool done;
  int lookup;   /* the column that the query gives a value for; -1: none */
  lh_id object; /* its value, or */
  char *text;
  bool by_class, descending; /* rows in the order of class names, or backwards */
  uint32_t row;              /* its number within the file, from which the rowid is made */
  /* of the kinds: where they are */
  const uint32_t *list; /* of ids, or NULL: all numbers */
  uint32_t at, end;     /* the next in it, and behind the last */
  lh_id id;             /* of the row */
  lh_object decoded;    /* its .id tells whose it is; LH_NO_OBJECT: none's */
  lh_edges iterator;
  uint32_t position; /* within the object, from 1; 0: iterator is not begun */
  lh_edge edge;
  lh_value key, value;
  lh_frame frame;
  lh_site site;
  lh_stack_counts counts;
};

int hs_register_tables(sqlite3 *db, hs_shelf *shelf); /* the shelf goes with the connection */

/* Does the query give a value for the column with this lookup? */
bool hs_looks_up(const hs_cursor *cursor, hs_lookup lookup);

/* Columns of several kinds; of the object `id` of the cursor, where it is one. */
void hs_tell_snapshot(hs_cursor *cursor, sqlite3_context *context);
void hs_tell_class(hs_cursor *cursor, sqlite3_context *context);
void hs_tell_shallow(hs_cursor *cursor, sqlite3_context *context);
void hs_tell_retained(hs_cursor *cursor, sqlite3_context *context); /* needs HS_ANALYSED */

/* A begin: all objects, or the one asked for by a column of HS_ONE_ID or HS_FEW_IDS. */
int hs_begin_objects(hs_cursor *cursor, lh_error *error);

/* The next id of the list or range, luaheap's own left out; LH_NO_OBJECT at the end. And of those
** the next of a type that is not condemned, which is the row: false at the end. */
lh_id hs_next_object(hs_cursor *cursor);
bool hs_next_of_type(hs_cursor *cursor, lh_type type);

/* A next: what is in all objects of a type, one after the other. */
int hs_next_inside(hs_cursor *cursor, lh_type type,
                   void (*begin)(const lh_snapshot *snapshot, lh_id id, lh_edges *iterator),
                   bool (*next)(hs_cursor *cursor));

/* }=================================================================================== */

/* {=== result.c ======================================================================= */

/* A text is one of lh_..._text, which is freed; NULL: out of memory. */
void hs_result_id(sqlite3_context *context, const hs_file *file, lh_id id);
void hs_result_bytes(sqlite3_context *context, uint64_t n);
void hs_result_static(sqlite3_context *context, const char *text);
void hs_result_text(sqlite3_context *context, char *text);
void hs_result_hex(sqlite3_context *context, uint64_t n);
void hs_result_string(sqlite3_context *context, hs_file *file, lh_id id);
void hs_result_value(sqlite3_context *context, hs_file *file, lh_value value);
/* Bytes as the program had them, which live as long as the snapshot; `cut`: it has no more of
** them. */
void hs_result_heap_text(sqlite3_context *context, hs_file *file, const char *bytes, size_t n,
                         bool cut);
void hs_result_class(sqlite3_context *context, hs_file *file, lh_id id);
void hs_result_path(sqlite3_context *context, hs_file *file, lh_id id, bool folded);

/* What is in the field of a row. */
void hs_result_field(sqlite3_context *context, hs_file *file, const hs_column *column,
                     const void *row);
void hs_result_error(sqlite3_context *context, const lh_error *error);

/* }=================================================================================== */

/* guard.c: from now on the connection's queries read the tables here and nothing else. */
int hs_guard(sqlite3 *db);

#endif
