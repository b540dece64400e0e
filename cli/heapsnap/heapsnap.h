/*
** heapsnap.h - shared parts of the SQLite extension heapsnap.so, which shows snapshots as virtual
** tables. Rows are decoded from the file in memory when a query asks for them. Retained sizes,
** classes and indices are computed once, by the first query that needs them. It uses lib/luaheap.h,
** and SQLite through the pointers that the host hands to an extension.
**
**     heapsnap.c    the entry; SQL functions such as heap_open and path_of
**     shelf.c       the snapshots of one connection: opens, analyses, indexes, closes them
**     table.c       one SQLite module for all tables: plans and cursors
**     kinds.c       the tables and their rows; columns are facts (rooms/report.h)
**     result.c      hands values to SQLite
**     guard.c       heap_read_only
**
** An id is unique over all snapshots of a connection: object n of snapshot i (from 0) is i *
** 10,000,000,000 + n. So path_of(id) needs no snapshot, and a join never matches ids of two
** snapshots.
*/
#pragma once

#include <sqlite3ext.h>

#include "rooms/all.h"

SQLITE_EXTENSION_INIT3

/* ==== shelf.c ======================================================================== */

/* Items by key: those of key k are item[first[k]] to item[first[k + 1] - 1]. NULL: not built. */
typedef struct hs_index {
  uint32_t *first, *item;
} hs_index;

/* A cached result of lh_utf8_bytes. */
typedef struct hs_looked {
  const char *bytes;
  size_t n, whole;
} hs_looked;

typedef struct hs_file {
  lh_snapshot *snapshot;
  char *schema;     /* the name in SQL */
  int64_t base;     /* id = base + object number */
  bool borrowed;    /* the host closes the snapshot */
  lh_needs has;     /* how far it is analysed */
  lh_report report; /* for asking facts */
  lh_snapshot_fact fact;
  bool for_terminal;               /* escape control characters of heap strings */
  uint32_t *class_at;              /* classes sorted by name; keys of by_class */
  hs_index by_class, by_dominator; /* no luaheap objects */
  uint64_t *class_retained;        /* by class index */
  lh_modules modules;              /* after first use */
  lh_stack_counts *site_counts;    /* by site */
  hs_looked looked;                /* the last result */
  const char *word;                /* the last static text and its length */
  int word_bytes;
} hs_file;

typedef struct hs_shelf {
  hs_file **files;
  unsigned n_files;
  bool for_terminal;
} hs_shelf;

#define HS_ID_STEP INT64_C(10000000000)

/* Adds a snapshot under the name `schema`, which is copied: `open`, or `path` if `open` is NULL. */
int hs_shelf_add(hs_shelf *shelf, const char *path, lh_snapshot *open, const char *schema,
                 lh_error *error);
void hs_shelf_remove_last(hs_shelf *shelf);
void hs_shelf_free(void *shelf);

void hs_shelf_for_terminal(hs_shelf *shelf);

/* NULL: no snapshot has that name. Case does not matter. */
hs_file *hs_shelf_find(const hs_shelf *shelf, const char *schema);

/* The snapshot and the number, from 0 to last(snapshot), of an id. NULL: none. */
hs_file *hs_shelf_resolve(const hs_shelf *shelf, int64_t id,
                          uint32_t (*last)(const lh_snapshot *snapshot), uint32_t *number);

int hs_need(hs_file *file, lh_needs needs, lh_error *error);
int hs_no_memory(lh_error *error, const char *doing);

/* Build by_class and class_at, or by_dominator, unless they exist. */
int hs_index_classes(hs_file *file, lh_error *error);
int hs_index_dominators(hs_file *file, lh_error *error);
void hs_find_class(const hs_file *file, const char *name, uint32_t *first, uint32_t *end);

/* ==== table.c ======================================================================== */

/* How rows are found by a column's value. */
typedef enum hs_lookup {
  HS_NONE,
  HS_BY_TYPE,  /* text; scans all rows, without SQLite */
  HS_BY_CLASS, /* text */
  HS_FEW_IDS,  /* an id with few rows */
  HS_ONE_ID,
  HS_ADDRESS /* text or number, not rechecked: SQLite would find them unequal */
} hs_lookup;

typedef struct hs_cursor hs_cursor;

/* A kind of table, named facts->many. Column 0 is the snapshot; the others are the facts. */
typedef struct hs_kind {
  const lh_table *facts;
  struct {
    const char *column;
    hs_lookup lookup;
  } lookups[6];
  /* The row of facts for the column; NULL: it is cursor->thing. */
  const void *(*row)(hs_cursor *cursor, const lh_column *column);
  uint32_t (*count)(const lh_snapshot *snapshot); /* of rows, or largest id */
  lh_needs needs;                                 /* before `begin` */
  const char *key;        /* primary key: an id, also the rowid, or two columns */
  double rows_per_object; /* estimate for plans */
  /* Moves before the first row of cursor->file that fits cursor->lookup. Returns LH_OK or an error.
  ** NULL: rows are numbers from 1 to `count`. */
  int (*begin)(hs_cursor *cursor, lh_error *error);
  bool (*next)(hs_cursor *cursor); /* false: no more */
} hs_kind;

extern const hs_kind *const hs_kinds[];

/* All edges to an object; `order` lists their indices sorted by source. */
typedef struct hs_referrers {
  lh_edge *edges;
  uint32_t *order;
} hs_referrers;

void hs_referrers_free(hs_referrers *referrers);

struct hs_cursor {
  sqlite3_vtab_cursor base;
  const hs_kind *kind;
  hs_shelf *shelf;
  unsigned next_file, end_file; /* not visited yet */
  hs_file *file;                /* visited now; NULL: none yet */
  bool done;
  hs_lookup lookup; /* HS_NONE: all rows are scanned */
  lh_id object;     /* the value to look up: this or text */
  char *text;
  bool by_class, descending; /* rows sorted by class name; backwards */
  uint32_t row;              /* number in the file; part of the rowid */
  /* State of the kinds. */
  const uint32_t *list; /* ids, or NULL: all numbers */
  uint32_t at, end;     /* next index, and end */
  lh_edges iterator;
  lh_fact_row fact_row; /* the row; position 0: iterator not begun, or not known yet */
  hs_referrers referrers;
  lh_id walked; /* edges by target: iterator is n_walked edges behind the start of this source */
  uint32_t n_walked;
  lh_class_fact class;
  lh_mark_fact mark;
};

int hs_begin(hs_cursor *cursor, lh_error *error);

int hs_register_tables(sqlite3 *db, hs_shelf *shelf); /* the connection frees the shelf */

/* ==== result.c ======================================================================= */

void hs_result_id(sqlite3_context *context, const hs_file *file, lh_id id);
void hs_result_static(sqlite3_context *context, const char *text);
void hs_result_class(sqlite3_context *context, hs_file *file, lh_id id);
void hs_result_path(sqlite3_context *context, hs_file *file, lh_id id);
void hs_result_cell(sqlite3_context *context, hs_file *file, const lh_cell *cell);
void hs_result_error(sqlite3_context *context, const lh_error *error);

/* guard.c: from now on the connection only reads our tables. */
int hs_guard(sqlite3 *db);
