/*
** answers.h - a snapshot as pictures show it: data to draw from, of any part of a heap, in as many
** pieces as there is room for. What is left out of a picture is a piece of its own, so that each
** adds up to the byte.
**
** All of it is asked again and again while somebody looks around, of heaps of forty million
** objects. So what costs a pass over the heap is kept in the snapshot, and the next piece is found
** without one.
*/
#ifndef LUAHEAP_VIEW_ANSWERS_H
#define LUAHEAP_VIEW_ANSWERS_H

#include "luaheap_graph.h"

/* ==== ages.c: the timeline ======================================================== */

/* The bytes of a heap by when they were allocated. The axis, which is that of lh_position_of, is
** cut into bins of about as many objects each. In each of them layers lie one on another, the
** biggest first, and on top of them all that is in no layer of its own. */
enum { LH_MOST_BINS = 1000, LH_MOST_LAYERS = 100 };

typedef struct lh_age_chart_query {
  lh_age_chart_by by;
  lh_interval interval; /* LH_EVER: all of the axis */
  size_t bins;   /* at most; no more than there are positions. 0: 200, of 8 objects or more */
  size_t layers; /* at most, but for the last. 0: 8 */
  bool garbage;  /* of what nothing refers to, in place of what lives */
} lh_age_chart_query;

typedef struct lh_layer {
  uint32_t class_index; /* of the class, or of most of a place; UINT32_MAX: none */
  lh_type type;         /* LH_TYPE_ROOT: several */
  const char *path;     /* of a place; else NULL. Owned by the snapshot */
  uint64_t n_others;    /* of all others: how many classes, types or places that are */
  lh_count all;
  lh_count *bins;
} lh_layer;

typedef struct lh_age_chart {
  lh_interval interval; /* of positions that there are */
  size_t n_bins;
  uint64_t *begins; /* of each bin, and behind the last `interval.until` */
  lh_count *bins;   /* of all layers together */
  lh_layer *layers; /* biggest first; the last has all others, if there are any */
  size_t n_layers;
  lh_count all;
  lh_count aged, ageless; /* of the whole snapshot: what has a position, and what has none */
  lh_count *layer_bins;   /* private: of all layers */
} lh_age_chart;

/* Without luaheap's own objects. Needs lh_classify. LH_EMEMORY. The first chart of each kind takes
** a pass over the heap, and that of places as long as folding all paths; some MB at most (and 2
** bytes an object for places) are kept. Any other is O(bins * objects / 4,096). */
int lh_find_age_chart(lh_snapshot *snapshot, const lh_age_chart_query *query, lh_age_chart *out,
                      lh_error *error);
void lh_age_chart_free(lh_age_chart *ages);

/* The sum of an interval alone, as quickly: of what lives, without luaheap's own. */
int lh_count_interval(lh_snapshot *snapshot, lh_interval interval, lh_count *out, lh_error *error);

const char *lh_age_chart_by_name(lh_age_chart_by by); /* "class", "type", "place" */

/* ==== tree*.c: what retains what ================================================== */

typedef enum lh_tile_kind {
  LH_TILE_OBJECT,
  LH_TILE_LIST,   /* a linked list, whose first element is `id` */
  LH_TILE_TREE,   /* a tree, whose root is `id` */
  LH_TILE_GROUP,  /* of a class or at a place; `id` is the one that retains most */
  LH_TILE_SHARED, /* of modules: what no single one of them keeps alive */
  LH_TILE_OWN,    /* of the tile above: its objects themselves */
  LH_TILE_REST    /* of the tile above: what is too small to be shown */
} lh_tile_kind;

enum { LH_TILE_KEY_BYTES = 20 };

/* A piece of a picture. The bytes of those directly below it add up to its own, if there are any:
** among them are its objects themselves, and one for all that is not shown. */
typedef struct lh_tile {
  lh_tile_kind kind;
  uint32_t depth;              /* 0: what was asked for */
  char key[LH_TILE_KEY_BYTES]; /* the same in any process: "root", an address, a fingerprint; "" of
                                  OWN, REST and SHARED */
  lh_id id;                    /* LH_NO_OBJECT: none */
  uint32_t class_index;        /* UINT32_MAX: none, or several */
  const char *path;            /* of a place, folded; of a module its name; else NULL */
  uint32_t at, at_above;       /* private: the numbers of a place, and of that of the tile above */
  bool has_edge;               /* the tile above refers to `id` by `edge` */
  lh_edge edge;
  uint64_t objects;       /* of a group, list or tree those in it; of REST all directly there */
  uint64_t shallow_bytes; /* of these; of REST and SHARED 0 */
  uint64_t bytes;         /* that they retain; of an interval: of what was allocated in it */
  bool has_new;
  uint64_t new_bytes;    /* of what they retain: allocated since the first snapshot or mark */
  double position;       /* of these objects on the axis of time, the mean; less than 0: none */
  uint64_t before_bytes; /* in the other snapshot, where there is such a tile */
  bool opens;            /* there is more below than is shown here */
} lh_tile;

typedef struct lh_tiles_query {
  lh_tree_by by;
  const char *of;           /* the key of the tile on top; NULL: "root" */
  uint32_t depth;           /* levels below it */
  size_t limit;             /* of tiles, OWN and REST not counted; 0: all */
  lh_interval interval;     /* LH_EVER: all of the axis */
  const lh_snapshot *first; /* the first of several, or NULL */
  lh_snapshot *before;      /* classified; another one to compare places with, or NULL */
} lh_tiles_query;

typedef struct lh_tiles {
  lh_tile *list; /* in preorder, biggest first: the biggest there are to this depth */
  size_t n;
  lh_tile *above; /* on the way to the first, the root first; of a long one the ends */
  size_t n_above;
  uint64_t whole_bytes;  /* of the root: all reachable bytes, or those of the interval */
  uint64_t before_bytes; /* the same of the other snapshot */
  uint64_t n_positions;  /* of the axis of time */
} lh_tiles;

/* LH_ENOTFOUND: there is no such key; LH_EARGUMENT: it is none. Needs lh_classify. Paths are the
** snapshot's. What takes a pass over the heap is kept: at most 24 bytes an object in all, and 8 for
** each of `interval` and `first`. After that O(children of the objects shown). */
int lh_find_tiles(lh_snapshot *snapshot, const lh_tiles_query *query, lh_tiles *out,
                  lh_error *error);
void lh_tiles_free(lh_tiles *tiles);

/* Of a place how it goes on from the one above: ".hosts.localhost"; all of it where it begins anew.
** Freed by lh_free; NULL when out of memory. */
char *lh_tile_steps(const lh_snapshot *snapshot, const lh_tile *tile);
const char *lh_tile_kind_name(lh_tile_kind kind); /* "object", "group", ... */
const char *lh_tree_by_name(lh_tree_by by);       /* "object", "class", "place", "module" */

/* ==== map.c: addresses ============================================================ */

/* Where objects lie. What is known of an object's memory is the block at its address: of a string,
** a function, an upvalue, a userdata that is all of it. The arrays of a table, the code of a
** prototype and the stack of a thread are blocks of their own, at addresses that no snapshot has,
** so they are on no map; nor are marks that were put in from outside. Where blocks overlap, as in a
** file that lies, the one that begins last has what both claim. So no byte is counted twice. */
typedef struct lh_mapped {
  uint64_t objects, shallow_bytes;
  uint64_t bytes; /* of these, on the map */
} lh_mapped;

/* Neighbours in memory. What lies between two regions is a hole, which a map passes over. */
typedef struct lh_region {
  uint64_t from, to;       /* addresses: of its first byte, and behind its last */
  uint64_t hole_bytes;     /* between it and the one before */
  uint64_t objects, bytes; /* on the map; none where only other snapshots have some */
} lh_region;

/* A square of a map: so many bytes of the regions, one region after the other. */
typedef struct lh_map_cell {
  uint64_t bytes[LH_TYPE_COUNT]; /* of each type; [LH_TYPE_ROOT]: of all */
  uint64_t new_bytes;            /* of what was allocated in the interval */
  uint64_t gone_bytes;           /* of what `before` had here, and this snapshot has no more */
} lh_map_cell;

typedef struct lh_map_query {
  uint64_t from, to;             /* addresses; 0 and UINT64_MAX: all of them */
  uint32_t most_cells;           /* at least 1 */
  size_t most_objects;           /* to be listed */
  lh_snapshot *const *snapshots; /* the maps of all of them, asked for the same addresses, have the
                                    same cells. Those of other states are passed over, and they need
                                    not be analysed */
  size_t n_snapshots;
  bool has_interval;
  lh_interval interval;
  lh_snapshot *before; /* an older one of the state, with the interval since; NULL: none */
} lh_map_query;

typedef struct lh_memory_map {
  lh_mapped all, types[LH_TYPE_COUNT]; /* of the snapshot, wherever the map ends */
  lh_region *regions;                  /* in the order of their addresses */
  size_t n_regions;
  uint64_t from, to;   /* addresses that the cells show, from an end of a cell to another */
  uint64_t cell_bytes; /* a power of 2, at least 8 */
  lh_map_cell *cells;
  size_t n_cells;    /* 0: there is nothing between the addresses that were asked for */
  lh_map_cell sum;   /* of the cells */
  lh_id *objects;    /* the first of those in the cells, in the order of their addresses */
  size_t n_objects;  /* at most as many as were asked for */
  uint64_t in_cells; /* of so many */
} lh_memory_map;

/* LH_EARGUMENT, LH_EMEMORY. The first time it sorts the objects, O(n), and keeps 6 bytes for each;
** so for each interval in turn. From then on it takes O(cells log n). */
int lh_find_memory_map(lh_snapshot *snapshot, const lh_map_query *query, lh_memory_map *out,
                       lh_error *error);
void lh_memory_map_free(lh_memory_map *map);

/* Of the object's memory, so many bytes at its address are known; then others may begin. */
uint64_t lh_mapped_bytes(const lh_snapshot *snapshot, lh_id id);

/* ==== fields.c: one object, page by page ========================================== */

/* What an object has in it, references and others: an entry of a table, a variable of a function or
** of a frame, a user value, a constant, a metatable. What a function shares as an upvalue is told
** in place of the upvalue. */
typedef struct lh_object_field {
  uint64_t number; /* in the order of the record, from 0 on */
  lh_edge edge;    /* its target is LH_NO_OBJECT where the value is no object */
  lh_value value;
  lh_id upvalue; /* that the value is in; LH_NO_OBJECT: none */
} lh_object_field;

typedef enum lh_field_order {
  LH_FIELDS_AS_THEY_ARE, /* of tables the array part first */
  LH_FIELDS_BY_KEY,      /* booleans, integers, floats, strings, then objects by class */
  LH_FIELDS_BY_VALUE,    /* the same of values */
  LH_FIELDS_BY_RETAINED,
  LH_FIELDS_BY_SHALLOW
} lh_field_order;

typedef struct lh_field_query {
  size_t from, limit; /* so many (0: all) from number `from` of the order on */
  lh_field_order order;
  bool is_descending;
  const char *filter; /* a text in the name or the value of a field, whatever the case of its
                         letters; NULL: all fields */
} lh_field_query;

typedef struct lh_object_fields {
  lh_object_field *list;
  size_t n;
  uint64_t total, matching; /* fields of the object, and those that the filter leaves */
} lh_object_fields;

/* A page of the fields of an object, or of LH_ROOT. Needs lh_classify. LH_ELIMIT: there are 2^32 of
** them, and they are to be in an order.
**
** As they are O(fields in front of the page) the first time, some 20 ns each, and then O(1) a row.
** In an order, or with a filter, O(fields) for the first page, some 0.5 us each, and then for each
** some 5 ns. Keeps 0.3 bytes a field of the object that was last asked about, and 16 with an order
** or a filter. */
int lh_find_object_fields(lh_snapshot *snapshot, lh_id id, const lh_field_query *query,
                          lh_object_fields *out, lh_error *error);
void lh_object_fields_free(lh_object_fields *fields);

#endif
