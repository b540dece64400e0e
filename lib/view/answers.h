/*
** answers.h - data for pictures of a snapshot: timeline, trees, memory map, fields.
**
** A picture has limited pieces, and one for the rest: it adds up to the byte. Results of passes
** over the heap are kept in the snapshot, since users explore heaps of forty million objects.
*/
#pragma once

#include "rooms/graph.h"

/* ==== ages.c: the timeline ======================================================== */

/* The bytes of a heap by time of allocation (lh_position_of). Bins have about as many objects each.
** The last layer has all bytes that are in no other. */
enum { LH_MOST_BINS = 1000, LH_MOST_LAYERS = 100 };

typedef struct lh_age_chart_query {
  lh_age_chart_by by;
  lh_interval interval;
  size_t bins;   /* at most, and at most one a position. 0: 200, of 8 objects or more */
  size_t layers; /* at most, without the last. 0: 8 */
  bool garbage;  /* count unreachable objects in place of live ones */
} lh_age_chart_query;

typedef struct lh_layer {
  uint32_t class_index; /* of the class, or the main class of a place; UINT32_MAX: none */
  lh_type type;         /* LH_TYPE_ROOT: several */
  const char *path;     /* of a place, owned by the snapshot; else NULL */
  uint64_t n_others;    /* of the last layer: the number of classes, types or places in it */
  lh_count all;
  lh_count *bins;
} lh_layer;

typedef struct lh_age_chart {
  lh_interval interval; /* cut to the positions of the snapshot */
  size_t n_bins;
  uint64_t *begins; /* of each bin; then `interval.until` */
  lh_count *bins;   /* sums of all layers */
  lh_layer *layers; /* biggest first; the last has all others, if any */
  size_t n_layers;
  lh_count all;
  lh_count aged, ageless; /* of the whole snapshot: objects with and without a position */
  lh_count *layer_bins;   /* private: the bins of all layers */
} lh_age_chart;

/* Without luaheap's own objects. Needs lh_classify. LH_EMEMORY. The first chart of a kind takes a
** pass over the heap; by place, as long as folding all paths. Keeps some MB at most, and by place 2
** bytes an object. Later charts are O(bins * objects / 4,096). */
int lh_find_age_chart(lh_snapshot *snapshot, const lh_age_chart_query *query, lh_age_chart *out,
                      lh_error *error);
void lh_age_chart_free(lh_age_chart *ages);

const char *lh_age_chart_by_name(lh_age_chart_by by); /* "class", "type", "place" */

/* ==== tree*.c: trees of retained bytes ============================================ */

typedef enum lh_tile_kind {
  LH_TILE_OBJECT,
  LH_TILE_LIST,   /* a linked list; `id` is its first element */
  LH_TILE_TREE,   /* a tree; `id` is its root */
  LH_TILE_GROUP,  /* a class or place; `id` is the object that retains most */
  LH_TILE_SHARED, /* of modules: all that no single module retains */
  LH_TILE_OWN,    /* the own objects of the tile above */
  LH_TILE_REST    /* below the tile above: all that is too small to show */
} lh_tile_kind;

enum { LH_TILE_KEY_BYTES = 20 };

/* A piece of a picture. The bytes of the tiles directly below, OWN and REST included, add up to
** it. */
typedef struct lh_tile {
  lh_tile_kind kind;
  uint32_t depth;              /* 0: the tile of the query */
  char key[LH_TILE_KEY_BYTES]; /* equal in all processes: "root", an address, a fingerprint;
                                  "" of OWN, REST and SHARED */
  lh_id id;                    /* LH_NO_OBJECT: none */
  uint32_t class_index;        /* UINT32_MAX: none, or several */
  const char *path;            /* of a place: folded path; of a module: its name; else NULL */
  uint32_t at, at_above;       /* private: the places of this tile and the one above */
  bool has_edge;               /* the tile above refers to `id` by `edge` */
  lh_edge edge;
  uint64_t objects;       /* in a group, list or tree; of REST: the number of tiles hidden */
  uint64_t shallow_bytes; /* of these objects; 0 of REST and SHARED */
  uint64_t bytes;         /* that they retain; with an interval: only bytes allocated in it */
  bool has_new;
  uint64_t new_bytes;    /* of `bytes`: allocated since the first snapshot or mark */
  double position;       /* mean of these objects on the axis of time; < 0: none */
  uint64_t before_bytes; /* of the same tile in the other snapshot; 0: none */
  bool opens;            /* it has tiles below, shown or not */
} lh_tile;

typedef struct lh_tiles_query {
  lh_tree_by by;
  const char *of; /* key of the top tile; NULL: "root" */
  uint32_t depth; /* levels below the top */
  size_t limit;   /* at most, without OWN and REST; 0: all */
  lh_interval interval;
  const lh_snapshot *first; /* first snapshot of a series: defines what is new. NULL: none */
  lh_snapshot *before;      /* another snapshot, classified, to compare with; NULL: none */
} lh_tiles_query;

typedef struct lh_tiles {
  lh_tile *list; /* in preorder, biggest first */
  size_t n;
  lh_tile *above; /* path from the root to the top tile; only the ends of a long one */
  size_t n_above;
  uint64_t whole_bytes;  /* of the root: all reachable bytes, or those of the interval */
  uint64_t before_bytes; /* of the root of the other snapshot */
  uint64_t n_positions;  /* length of the axis of time */
} lh_tiles;

/* LH_ENOTFOUND: no live object or group has the key. LH_EARGUMENT: it is malformed. Needs
** lh_classify. The snapshot owns the paths, and keeps at most 24 bytes an object, and 8 more each
** for `interval` and `first`. Then O(children of the objects shown). */
int lh_find_tiles(lh_snapshot *snapshot, const lh_tiles_query *query, lh_tiles *out,
                  lh_error *error);
void lh_tiles_free(lh_tiles *tiles);

/* ".hosts.localhost": the steps from the place above, or the whole path if it begins anew. Freed by
** lh_free; NULL: out of memory. */
char *lh_tile_steps(const lh_snapshot *snapshot, const lh_tile *tile);
const char *lh_tile_kind_name(lh_tile_kind kind); /* "object", "group", ... */
const char *lh_tree_by_name(lh_tree_by by);       /* "object", "class", "place", "module" */

/* ==== map.c: addresses ============================================================ */

/* The map shows the block at each object's address: the whole string, function, upvalue or
** userdata. A table's arrays, a prototype's code and a thread's stack are other blocks, whose
** addresses no snapshot has. Marks planted from outside are not shown. Where blocks overlap (in a
** damaged file), the one that begins last owns the bytes: no byte counts twice. */
typedef struct lh_mapped {
  uint64_t objects, shallow_bytes;
  uint64_t bytes; /* of these, on the map */
} lh_mapped;

/* A range of memory without big gaps. The gaps between regions are holes, which the map skips. */
typedef struct lh_region {
  uint64_t from, to;       /* first byte, and one past the last */
  uint64_t hole_bytes;     /* since the region before */
  uint64_t objects, bytes; /* on the map; 0 if only other snapshots have objects here */
} lh_region;

/* A square of a map: a fixed number of bytes of the concatenated regions. */
typedef struct lh_map_cell {
  uint64_t bytes[LH_TYPE_COUNT]; /* by type; [LH_TYPE_ROOT]: all types */
  uint64_t new_bytes;            /* allocated in the interval */
  uint64_t gone_bytes;           /* in `before` here, but no longer in this snapshot */
} lh_map_cell;

typedef struct lh_map_query {
  uint64_t from, to;             /* addresses; 0 and UINT64_MAX: all */
  uint32_t most_cells;           /* at least 1 */
  size_t most_objects;           /* longest list of objects */
  lh_snapshot *const *snapshots; /* maps of all of these have the same cells for the same addresses.
                                    Ignores snapshots of other states. They need no analysis */
  size_t n_snapshots;
  bool has_interval;
  lh_interval interval;
  lh_snapshot *before; /* older snapshot of this state; `interval` then begins at it. NULL: none */
} lh_map_query;

typedef struct lh_memory_map {
  lh_mapped all, types[LH_TYPE_COUNT]; /* of the whole snapshot, not only of the cells */
  lh_region *regions;                  /* by address */
  size_t n_regions;
  uint64_t from, to;   /* addresses: from the first cell to the end of the last one */
  uint64_t cell_bytes; /* a power of 2, at least 8 */
  lh_map_cell *cells;
  size_t n_cells;    /* 0: no memory in the range of the query */
  lh_map_cell sum;   /* of the cells */
  lh_id *objects;    /* the first objects in the cells, by address */
  size_t n_objects;  /* at most query.most_objects */
  uint64_t in_cells; /* number of objects in the cells */
} lh_memory_map;

/* LH_EARGUMENT, LH_EMEMORY. The first map sorts the objects, O(n), and keeps 6 bytes an object.
** Each new interval takes O(n). Any other map is O(cells log n). */
int lh_find_memory_map(lh_snapshot *snapshot, const lh_map_query *query, lh_memory_map *out,
                       lh_error *error);
void lh_memory_map_free(lh_memory_map *map);

/* Size of the block at the object's address; other objects may begin after it. */
uint64_t lh_mapped_bytes(const lh_snapshot *snapshot, lh_id id);

/* ==== fields.c: one object, page by page ========================================== */

/* A field of an object: a table entry, a variable of a function or frame, a user value, a constant,
** a metatable; references and scalars. A function's upvalue shows its value. */
typedef struct lh_object_field {
  uint64_t number; /* index in the record, from 0 */
  lh_edge edge;    /* target: LH_NO_OBJECT if the value is no object */
  lh_value value;
  lh_id upvalue; /* the upvalue that holds the value; LH_NO_OBJECT: none */
} lh_object_field;

typedef enum lh_field_order {
  LH_FIELDS_AS_THEY_ARE, /* tables: array part first */
  LH_FIELDS_BY_KEY,      /* booleans, integers, floats, strings, then objects by class */
  LH_FIELDS_BY_VALUE,    /* same order, of values */
  LH_FIELDS_BY_RETAINED,
  LH_FIELDS_BY_SHALLOW
} lh_field_order;

typedef struct lh_field_query {
  size_t from, limit; /* `limit` fields (0: all) from index `from` */
  lh_field_order order;
  bool is_descending;
  const char *filter; /* text in a field's name or value, ignoring case; NULL: all fields */
} lh_field_query;

typedef struct lh_object_fields {
  lh_object_field *list;
  size_t n;
  uint64_t total, matching; /* fields of the object; of these, fields that match the filter */
} lh_object_fields;

/* A page of the fields of an object, or of LH_ROOT. Needs lh_classify. LH_ELIMIT: sorting or
** filtering more than 2^32 fields.
**
** In record order: O(fields before the page) the first time, about 20 ns each, then O(1) a row.
** With an order or a filter: O(fields log fields) for the first page, about 0.8 us each, then O(1)
** a row.
** Keeps 0.3 bytes a field of the last queried object, and 16 more with an order or filter. */
int lh_find_object_fields(lh_snapshot *snapshot, lh_id id, const lh_field_query *query,
                          lh_object_fields *out, lh_error *error);
void lh_object_fields_free(lh_object_fields *fields);
