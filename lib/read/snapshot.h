/*
** snapshot.h - an open snapshot in memory. Private to the library.
**
** In the library, a function that allocates but has no lh_error returns false, NULL or LH_NO_NUMBER
** when out of memory, unless its comment says otherwise.
**
** Flat arrays are indexed by lh_id (0 is the root, objects are 1..n). The file named above an array
** fills it; lh_close frees it. Bytes an object (1 byte is 10 MB for ten million objects):
**
**     reader     address 8, record 5, kind 1, shallow 4, key kinds 1, modes 0.1
**     addresses  rank 4, 16 for each 512 bytes of memory with objects (3 to 6)
**     rows       first_edge 4; edge 4 and label 1 for each reference
**     reach      distance 4, parent 4, the edge from the parent 4
**     dominator  idom 4, retained 8; up to 80 more until lh_analyse returns
**     classes    class 4
**   On demand:
**     steps      100 for each 256 references of objects that have more
**     folds      spot 4, order 4, for questions about places: name/fold.h
**     preorder   order 4, end 4, position 4, for most questions about retained size
**     clusters   4, for pictures, leak candidates and growth
**     limiters   8 for each table beside a limit in a closure
**     trees      of pictures: view/tree.h
**     referrers  first 4, sources 4 for each edge (8 for each weak edge)
**     map        order 4, sums 2
*/
#pragma once

#include "rooms/graph.h"
#include "sites.h"
#include "sizes.h"

/* kind[id]: lh_type in the low 4 bits, and these flags */
enum {
  LH_KIND_TYPE = 0x0F,
  LH_KIND_DEAD = 0x10,
  LH_KIND_OWN = 0x20,
  LH_KIND_RUNTIME = 0x40, /* in every program: registry, _G, modules, code (classes.c) */
  LH_KIND_IGNORED = 0x80  /* ignored has the object or an edge of it */
};

/* label[e]: lh_edge_kind in the low 5 bits, and these flags */
enum {
  LH_LABEL_KIND = 0x1F,
  LH_LABEL_KEYED = 0x20, /* LH_EDGE_VALUE: the key is the target of the edge before */
  LH_LABEL_ODD = 0x40,   /* LH_EDGE_VALUE: the key is no number, and no object with a record */
  LH_LABEL_ASIDE = 0x80  /* keeps nothing alive: edge[e] is the source, `aside` or `bent` the
                           target */
};

static inline lh_edge_kind lh_label_kind(uint8_t label) {
  return (lh_edge_kind)(label & LH_LABEL_KIND);
}

/* key_kinds[id] of a table: keys and values that are not objects, and so not in its row. 0: each
** entry is two edges of the row. */
enum {
  LH_HAS_INTEGERS = 1,
  LH_IS_SPARSE = 2,    /* integer keys are not 1, 2, 3 ... with at most as many holes as keys */
  LH_HAS_POINTERS = 4, /* light userdata, C functions, objects without a record */
  LH_HAS_OTHERS = 8,   /* floats and booleans */
  LH_HAS_SCALARS = 16, /* values that are not objects, or have no record */
  LH_HAS_WORDS = 32,   /* some of the scalars are not numbers */
  LH_IS_LIST = 64,     /* numeric keys are 1, 2, 3 ..., and their values objects in the row */
  LH_KINDS_OF_KEYS = 15,
  LH_IS_NAME = 128 /* string: whole, at most LH_DEFAULT_STRING_BYTES long, and an identifier */
};

typedef struct lh_aside {
  uint32_t edge;
  lh_id target;
} lh_aside;

/* addresses.c: 64 words of memory. */
enum { LH_LOG2_UNIT = 6 }; /* words of a unit */

typedef struct lh_unit {
  uint64_t bits; /* a bit for each word at which an object begins */
  uint32_t
      rank; /* the number of objects in the units before; the order of stretches is arbitrary */
} lh_unit;

/* A userdata with so many user values that its block is far behind its header. */
typedef struct lh_far_block {
  uint64_t pointer; /* of the block, as Lua prints it */
  lh_id id;
} lh_far_block;

typedef struct lh_stretch {
  uint64_t number;  /* from 1 on; 0: empty slot */
  uint64_t to_unit; /* word / 64 + this is the number of a word's unit */
} lh_stretch;

typedef struct lh_root {
  lh_root_kind kind;
  uint32_t index;
  lh_id target;
} lh_root;

/* A key in a weak-keyed table that is an object but no string, and the object under it. */
typedef struct lh_ephemeron {
  lh_id table, key, value;
  uint32_t edge; /* edge of the key */
  bool is_alive; /* table and key are reachable (graph.c) */
} lh_ephemeron;

/* decode.c: the edge from the key. */
lh_edge lh_ephemeron_edge(const lh_ephemeron *ephemeron);

typedef struct lh_section {
  uint64_t offset, end;
} lh_section;

typedef struct lh_block_start {
  uint64_t offset; /* in the file */
  uint64_t word;   /* address / 8 of the object before */
  lh_id id;
} lh_block_start;

typedef struct lh_upvalue_names {
  uint64_t offset; /* of the list in the file */
  size_t first;    /* in `names` */
  uint32_t n;
  lh_id proto;
} lh_upvalue_names;

/* is_placed: the place was found by a comparison of objects. passed: younger objects that may count
** as older, on allgc and finobj. */
typedef struct lh_placed {
  bool is_placed;
  uint32_t passed[2];
} lh_placed;

/* A placed mark, as the file has it. */
typedef struct lh_matched_mark {
  uint64_t time_ns;
  uint32_t serial;
  uint32_t passed[2];
} lh_matched_mark;

/* A serial alone is not unique: marks from outside and inside are numbered independently. */
static inline bool lh_is_mark(const lh_mark_info *mark, uint32_t serial, uint64_t time_ns) {
  return mark->serial == serial && mark->time_ns == time_ns;
}

typedef struct lh_ignored lh_ignored;

/* reader.c: free the rows, or all objects: then info, marks and sites are left. lh_need_rows opens
** the file again where rows were freed. Without rows only the columns of reader.c and addresses.c
** can be read, and what decode.h says comes from records. */
void lh_drop_rows(lh_snapshot *s);
void lh_drop_objects(lh_snapshot *s);
int lh_need_rows(lh_snapshot *s, lh_error *error);

/* Data of other folders. The file that makes the data sets the function that frees it. */
typedef struct lh_steps lh_steps;                   /* graph/steps.c */
typedef struct lh_referrer_index lh_referrer_index; /* graph/referrers.c */
typedef struct lh_tree lh_tree;                     /* graph/preorder.c */
typedef struct lh_trees lh_trees;                   /* view/tree.c */
typedef struct lh_field_list lh_field_list;         /* view/fields.c */
typedef struct lh_classes lh_classes;               /* name/classes.c */
typedef struct lh_map_order lh_map_order;           /* view/map.c */
typedef struct lh_growings lh_growings;             /* analyses/growing.c */
typedef struct lh_waste lh_waste;                   /* analyses/waste.c */
typedef struct lh_age_sums lh_age_sums;             /* view/ages.c */
typedef struct lh_counted lh_counted;               /* compare/older.c */

struct lh_snapshot {
  const uint8_t *data; /* the file */
  size_t size;
  uint8_t *own_data;        /* NULL: the caller owns `data` */
  const uint8_t *in_memory; /* of lh_open_memory; NULL: `name` is a file */
  char *name;               /* of the file, for messages */
  unsigned threads;         /* at most, while it opens */
  lh_info info;
  uint32_t n;           /* objects */
  uint64_t *address;    /* header address; [0] is 0 */
  uint32_t *record_low; /* offset in the file: the low 32 bits, and the 8 bits above */
  uint8_t *record_high;
  uint8_t *kind;
  const lh_sizes *sizes;
  uint32_t *shallow; /* bytes, with external ones; UINT32_MAX: the record has the size */
  uint8_t *key_kinds;
  uint64_t *modes; /* a bit an object: its __mode is weak */
  bool has_modes;
  lh_upvalue_names *upvalue_names; /* sorted by proto */
  size_t n_upvalue_names;
  lh_id *names;           /* string objects, or LH_NO_OBJECT */
  uint32_t list_first[5]; /* first id of each lh_list; [4] is n + 1 */
  lh_stretch *stretches;  /* hash table, see addresses.c */
  uint64_t n_stretch_slots, stretch_seed;
  unsigned log2_stretch; /* words of a stretch */
  lh_unit *units;        /* the first is empty and in no stretch */
  uint64_t n_units;
  lh_id *by_rank;           /* ids by rank */
  lh_far_block *far_blocks; /* by pointer */
  size_t n_far_blocks;
  uint64_t records_end;   /* in the file */
  lh_block_start *blocks; /* with a record's start; before version 6 only the first block */
  uint32_t n_blocks;
  const uint8_t *named_roots; /* in the footer */
  uint32_t n_named_roots;
  uint64_t *keys; /* words of the frequent keys */
  uint32_t n_keys;
  lh_root *roots; /* with the objects on fixedgc and tobefnz */
  size_t n_roots;
  lh_mark_info *marks;  /* oldest first */
  lh_id (*mark_ids)[2]; /* of each mark: the object on allgc, the place on finobj */
  uint32_t n_marks;
  char *mark_names;
  lh_placed *placed; /* of each mark; NULL: none was placed by a comparison */
  char *text;        /* the strings of `info` */
  bool is_tracked;
  lh_section sites_section; /* this and the fields below: only if the program was tracked */
  lh_tracking tracking;
  lh_sites *sites;
  lh_stack_counts *stack_counts; /* by stack, from 1 on */
  lh_section collector_section;  /* only if info.collector is known */
  bool is_outside;
  lh_section outside_section; /* this and the fields below: only if taken from outside */
  lh_outside_info outside;
  lh_matched_mark *matched; /* sorted by age, as in the file */
  uint32_t n_matched;
  lh_c_code *c_functions; /* sorted by address */
  char *c_texts;

  lh_ignored *ignored; /* NULL: nothing is ignored */

  /* rows.c: the references of all objects and of LH_ROOT; NULL after lh_drop_rows. Source s has
     edge[first_edge[s]] to edge[first_edge[s + 1] - 1]; the last ones are one edge for each
     ephemeron with s as key. */
  uint32_t *first_edge;
  lh_id *edge;
  uint8_t *label;
  bool has_lost;   /* some references have no object; they are in no row */
  lh_aside *aside; /* weak references, sorted by edge */
  size_t n_aside;
  lh_aside *bent; /* ignored references, sorted by edge */
  size_t n_bent;
  lh_ephemeron *ephemerons; /* sorted by key and table, and so by edge */
  size_t n_ephemerons;

  /* reach.c */
  uint32_t *distance;    /* UINT32_MAX: garbage */
  lh_id *parent;         /* the object before on the shortest path */
  lh_id *named_by;       /* the same on the path that gives the name; LH_ROOT, or NULL for all:
                            `parent` */
  uint32_t *parent_edge; /* the edge from there to show to users; UINT32_MAX: no edge leads there */
  lh_reach reach;

  /* steps.c */
  lh_steps *steps;
  void (*free_steps)(lh_steps *steps);

  /* referrers.c */
  lh_referrer_index *referrers;
  void (*free_referrers)(lh_referrer_index *referrers);

  /* preorder.c */
  lh_tree *dominator_tree;
  void (*free_dominator_tree)(lh_tree *tree);

  lh_id *clusters; /* analyses/clusters.c */

  /* analyses/bound.c */
  uint64_t *limiters;
  size_t n_limiters;

  /* view/tree.c */
  lh_trees *trees;
  void (*free_trees)(lh_trees *trees);

  /* dominators.c */
  lh_id *idom;
  uint64_t *retained;

  /* classes.c */
  lh_classes *classes;
  void (*free_classes)(lh_classes *classes);
  void (*count_classes)(lh_snapshot *snapshot); /* again, after another analysis */

  /* compare/older.c */
  lh_counted *counted;
  void (*free_counted)(lh_counted *counted);

  /* view/ages.c */
  lh_age_sums *age_sums;
  void (*free_age_sums)(lh_age_sums *age_sums);

  /* view/fields.c: of the last object that was asked about */
  lh_field_list *fields;
  void (*free_fields)(lh_field_list *fields);

  /* analyses/growing.c, waste.c: answers that several questions need */
  lh_growings *growings;
  void (*free_growings)(lh_growings *growings);
  lh_waste *waste;
  void (*free_waste)(lh_waste *waste);

  /* view/map.c */
  lh_map_order *map_order;
  void (*free_map_order)(lh_map_order *map_order);
};

/* ==== Columns that callers ask for by object ========================================== */

/* Inline inside the library. reader.c emits them for callers with public headers alone. */
#ifndef LH_COLUMN
#define LH_COLUMN extern inline __attribute__((gnu_inline))
#endif

LH_COLUMN lh_type lh_type_of(const lh_snapshot *s, lh_id id) {
  return id <= s->n ? (lh_type)(s->kind[id] & LH_KIND_TYPE) : LH_TYPE_ROOT;
}

LH_COLUMN bool lh_is_own(const lh_snapshot *s, lh_id id) {
  return id <= s->n && s->kind[id] & LH_KIND_OWN;
}

LH_COLUMN bool lh_is_dead(const lh_snapshot *s, lh_id id) {
  return id <= s->n && s->kind[id] & LH_KIND_DEAD;
}

LH_COLUMN uint64_t lh_address_of(const lh_snapshot *s, lh_id id) {
  return id <= s->n ? s->address[id] : 0;
}

LH_COLUMN lh_list lh_list_of(const lh_snapshot *s, lh_id id) {
  unsigned list = LH_LIST_ALLGC;
  while (list < LH_LIST_FIXEDGC && id >= s->list_first[list + 1]) list++;
  bool is_elsewhere = list == LH_LIST_FIXEDGC && id <= s->n && s->shallow[id] == 0;
  return is_elsewhere ? LH_LIST_ELSEWHERE : (lh_list)list;
}

/* reader.c: for an object whose size is not in the column. */
uint64_t lh_shallow_of_big(const lh_snapshot *s, lh_id id);

LH_COLUMN uint64_t lh_shallow_bytes(const lh_snapshot *s, lh_id id) {
  if (id > s->n) return 0;
  return __builtin_expect(s->shallow[id] < UINT32_MAX, 1) ? s->shallow[id]
                                                          : lh_shallow_of_big(s, id);
}

LH_COLUMN uint32_t lh_distance(const lh_snapshot *s, lh_id id) {
  return id <= s->n ? s->distance[id] : UINT32_MAX;
}

LH_COLUMN bool lh_is_reachable(const lh_snapshot *s, lh_id id) {
  return lh_distance(s, id) != UINT32_MAX;
}

LH_COLUMN lh_id lh_nearest_holder(const lh_snapshot *s, lh_id id) {
  return id != LH_ROOT && lh_is_reachable(s, id) ? s->parent[id] : LH_NO_OBJECT;
}

LH_COLUMN lh_id lh_immediate_dominator(const lh_snapshot *s, lh_id id) {
  return id <= s->n ? s->idom[id] : LH_NO_OBJECT;
}

LH_COLUMN uint64_t lh_retained_bytes(const lh_snapshot *s, lh_id id) {
  return id <= s->n ? s->retained[id] : 0;
}

/* False for LH_NO_OBJECT, too: a value may refer to an object without a record. */
static inline bool lh_is_string(const lh_snapshot *snapshot, lh_id id) {
  return id <= snapshot->n && lh_type_of(snapshot, id) == LH_TYPE_STRING;
}

/* LH_NO_OBJECT gives LH_VALUE_ABSENT. */
static inline lh_value lh_object_value(lh_id id) {
  lh_value value = {.kind = id == LH_NO_OBJECT ? LH_VALUE_ABSENT : LH_VALUE_OBJECT,
                    .as.pointer = 0}; /* sets all bytes, so that memcmp works */
  value.as.object = id;
  return value;
}

/* rows.c: the true target of an edge that keeps nothing alive. */
lh_id lh_target_aside(const lh_snapshot *s, uint32_t e);

static inline lh_id lh_true_target(const lh_snapshot *s, uint32_t e) {
  return s->label[e] & LH_LABEL_ASIDE ? lh_target_aside(s, e) : s->edge[e];
}

/* rows.c: the ephemeron of an edge of kind LH_EDGE_EPHEMERON. */
const lh_ephemeron *lh_ephemeron_of(const lh_snapshot *s, uint32_t e);

/* outside.c: copies the C functions of a snapshot of the same process, unless `to` has some. */
bool lh_copy_c_functions(const lh_snapshot *from, lh_snapshot *to);

/* epochs.c: on allgc or finobj. */
lh_id_range lh_epoch_range(const lh_snapshot *s, lh_list list, uint32_t epoch);

/* epochs.c: adds a mark that the heap lacks. Objects from ids[list] on are older. *mark is its
** number; the numbers of younger marks grow by one. */
int lh_add_mark(lh_snapshot *s, const lh_mark_info *info, const lh_id ids[2],
                const lh_placed *placed, uint32_t *mark, lh_error *error);
