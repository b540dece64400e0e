/*
** heapsnap.h - what the files of the SQLite extension heapsnap.so share. It shows snapshots as
** virtual tables: rows are decoded from the file in memory when a query asks for them, nothing is
** copied, and what has to be computed (retained bytes, classes, an index) is computed once, by the
** first query that needs it. Over lib/luaheap.h alone; SQLite is the host's, reached through the
** pointers that it hands to an extension.
**
**     heapsnap.c    the entry; the SQL functions, such as heap_open and path_of
**     shelf.c       the snapshots of one connection: opened, analysed when needed, closed
**     index.c       objects by class and by dominator: made when needed
**     table.c       one SQLite module for all tables: plans and cursors
**     kinds.c       the tables, each with its rows; its columns are facts (luaheap_report.h)
**     result.c      what a column hands to SQLite
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

/* ==== shelf.c ======================================================================== */

/* Numbers by a key, in the order of keys: those of key k are item[first[k]] to
** item[first[k + 1] - 1]. NULL: not made yet. */
typedef struct hs_index {
  uint32_t *first, *item;
} hs_index;

/* What the bytes of a string are: lh_utf8_bytes. */
typedef struct hs_looked {
  const char *bytes;
  size_t n, whole;
} hs_looked;

typedef struct hs_file {
  lh_snapshot *snapshot;
  char *schema;     /* its name in SQL */
  int64_t base;     /* added to an object's number gives its id */
  bool borrowed;    /* the snapshot is the host's */
  lh_needs has;     /* what it went through */
  lh_report report; /* that facts are asked for with */
  lh_snapshot_fact fact;
  bool for_terminal;               /* control characters in the heap's strings are made visible */
  uint32_t *class_at;              /* classes in the order of their names; the key of by_class */
  hs_index by_class, by_dominator; /* without luaheap's own objects */
  uint64_t *class_retained;        /* by class index */
  lh_modules modules;              /* once they are asked for */
  lh_stack_counts *site_counts;    /* by site */
  hs_looked looked;                /* the last */
  const char *word;                /* the last of the library's texts that stay */
  int word_bytes;
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

/* Analyses the snapshot as far as it was not yet. */
int hs_need(hs_file *file, lh_needs needs, lh_error *error);

int hs_no_memory(lh_error *error, const char *doing);

/* ==== index.c ======================================================================== */

/* Make by_class (and class_at), by_dominator; harmless again. */
int hs_index_classes(hs_file *file, lh_error *error);
int hs_index_dominators(hs_file *file, lh_error *error);

/* Where the items of by_class are that have a class of that name. */
void hs_find_class(const hs_file *file, const char *name, uint32_t *first, uint32_t *end);

/* ==== table.c ======================================================================== */

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

/* A kind of table: its name is facts->many, its columns those that SQL has of the facts. In front
** of them is column 0, the snapshot. */
typedef struct hs_kind {
  const lh_table *facts;
  struct {
    const char *column;
    hs_lookup lookup;
  } lookups[6];
  /* What the column is a fact of; NULL: cursor->thing */
  const void *(*row)(hs_cursor *cursor, const lh_column *column);
  uint32_t (*count)(const lh_snapshot *snapshot); /* of its rows, or the greatest of their ids */
  lh_needs needs;                                 /* before it begins */
  const char *key;        /* the primary key: an id, which is the rowid too; or two columns */
  double rows_per_object; /* about; for plans */
  /* Goes in front of the first row of cursor->file that fits cursor->lookup. LH_OK or an error.
  ** NULL: the rows have numbers, from 1 to their count */
  int (*begin)(hs_cursor *cursor, lh_error *error);
  /* 1: there is another row, 0: no more, negative: an error */
  int (*next)(hs_cursor *cursor, lh_error *error);
} hs_kind;

/* All kinds; NULL behind the last. */
extern const hs_kind *const hs_kinds[];

/* All edges to an object, and their numbers in the order of their sources. */
typedef struct hs_referrers {
  lh_edge *edges;
  uint32_t *order;
} hs_referrers;

void hs_referrers_free(hs_referrers *referrers);

struct hs_cursor {
  sqlite3_vtab_cursor base;
  const hs_kind *kind;
  hs_shelf *shelf;
  unsigned next_file, end_file; /* to be visited yet */
  hs_file *file;                /* being visited; NULL: none yet */
  bool done;
  hs_lookup lookup; /* how rows are found; HS_NONE: all are looked at */
  lh_id object;     /* by this, or */
  char *text;
  bool by_class, descending; /* rows in the order of class names, or backwards */
  uint32_t row;              /* its number within the file, from which the rowid is made */
  /* of the kinds: where they are */
  const uint32_t *list; /* of ids, or NULL: all numbers */
  uint32_t at, end;     /* the next in it, and behind the last */
  lh_edges iterator;
  lh_thing thing; /* the row; its position 0: the iterator is not begun, or it is not known yet */
  hs_referrers referrers;
  lh_id walked; /* of an edge found by its target: the iterator is behind so many of this source */
  uint32_t n_walked;
  lh_class_fact class;
  lh_mark_fact mark;
};

/* Goes in front of the first row of cursor->file. */
int hs_begin(hs_cursor *cursor, lh_error *error);

int hs_register_tables(sqlite3 *db, hs_shelf *shelf); /* the shelf goes with the connection */

/* ==== result.c ======================================================================= */

void hs_result_id(sqlite3_context *context, const hs_file *file, lh_id id);
void hs_result_static(sqlite3_context *context, const char *text);
void hs_result_class(sqlite3_context *context, hs_file *file, lh_id id);
void hs_result_path(sqlite3_context *context, hs_file *file, lh_id id);

/* What stands under a column: of file->report. */
void hs_result_cell(sqlite3_context *context, hs_file *file, const lh_cell *cell);
void hs_result_error(sqlite3_context *context, const lh_error *error);

/* ==================================================================================== */

/* guard.c: from now on the connection's queries read the tables here and nothing else. */
int hs_guard(sqlite3 *db);

#endif
