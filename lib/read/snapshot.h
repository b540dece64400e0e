/*
** snapshot.h - what an open snapshot is in memory. Private to the reading half of the library.
**
** Flat arrays indexed by lh_id (0 is the root, objects are 1..n), each owned by the file that fills
** it and freed by lh_close. Bytes an object, for ten million objects 10 MB each:
**
**     reader     address 8, record 5, kind 1, shallow 4, key kinds 1, modes 0.1
**     addresses  rank 4, 90 for each 2 KB of memory that have objects (4 to 9)
**     rows       first_edge 4, edge 4 and label 1 for each reference
**     reach      distance 4, parent 4, the edge from there 4
**     dominator  idom 4, retained 8
**     classes    class 4
**     steps      100 for each 256 references of objects that have more, after somebody asked
**     folds      spot 4, order 4, after the first question about places: name/fold.h
**     preorder   order 4, end 4, position 4, after most questions about retained bytes
**     clusters   4, after a picture, or after what is suspect, grows or keeps something alive
**     trees      of pictures: view/tree.h
**     referrers  first 4, sources 4 for each edge (8 for each that is weak), only after somebody
**                asked for referrers
**     map        order 4, sums 2, only after a map was asked for
**
** The dominators' scratch memory is gone when lh_analyse returns; its peak stays under 80.
*/
#ifndef LUAHEAP_SNAPSHOT_H
#define LUAHEAP_SNAPSHOT_H

#include "base.h"
#include "luaheap_graph.h"
#include "sites.h"

/* kind[id]: its lh_type in the low 4 bits, and */
enum {
  LH_KIND_TYPE = 0x0F,
  LH_KIND_DEAD = 0x10,
  LH_KIND_OWN = 0x20,
  LH_KIND_PLUMBING = 0x40, /* every program has it: registry, _G, modules, code (classes.c) */
  LH_KIND_LEFT_OUT = 0x80  /* left_out has the object, or edges of it */
};

/* label[e], of a reference: its lh_edge_kind in the low 5 bits, and */
enum {
  LH_LABEL_KIND = 0x1F,
  LH_LABEL_KEYED = 0x20, /* LH_EDGE_VALUE: its key is the target of the edge before it */
  LH_LABEL_ODD = 0x40,  /* LH_EDGE_VALUE: its key is neither a number nor an object that there is */
  LH_LABEL_ASIDE = 0x80 /* it keeps nothing alive: in its row stands the source, which harms no
                            algorithm, and its true target stands in `aside` or `bent` */
};

static inline lh_edge_kind lh_label_kind(uint8_t label) {
  return (lh_edge_kind)(label & LH_LABEL_KIND);
}

/* key_kinds[id], of a table: which keys it has that are no objects, and so in no row; and whether
** it has such values. Of a table with none of either each entry is two edges of its row. */
enum {
  LH_HAS_INTEGERS = 1,
  LH_IS_SPARSE = 2, /* these are not 1, 2, 3 ... with at most as many holes, as Lua keeps arrays */
  LH_HAS_POINTERS = 4, /* light userdata, C functions, and what has no record */
  LH_HAS_OTHERS = 8,   /* floats and booleans */
  LH_HAS_SCALARS = 16, /* values that are no objects, or have no record */
  LH_HAS_WORDS = 32,   /* of those some that are no numbers */
  LH_IS_LIST = 64, /* all that is under numbers are objects under 1, 2, 3 ..., in its row as such */
  LH_KINDS_OF_KEYS = 15,
  LH_IS_NAME = 128 /* of a string: it is whole, at most LH_DEFAULT_STRING_BYTES, an identifier */
};

/* Where a reference leads whose row has its source instead. */
typedef struct lh_aside {
  uint32_t edge;
  lh_id target;
} lh_aside;

/* The addresses in 2 KB of memory, which are 256 words (addresses.c). */
typedef struct lh_stretch {
  uint64_t number;  /* from 1 on; 0: none */
  uint64_t bits[4]; /* at which of its words an object begins */
  uint32_t rank[4]; /* of the first object there, in some order of stretches */
} lh_stretch;

typedef struct lh_root {
  lh_root_kind kind;
  uint32_t index;
  lh_id target;
} lh_root;

/* A collectable key (no string) of a weak-keyed table, and the object under it. */
typedef struct lh_ephemeron {
  lh_id table, key, value;
  uint32_t edge; /* of the key */
  bool is_alive; /* table and key are reachable: graph.c */
} lh_ephemeron;

/* As the edge of its key: decode.c. */
lh_edge lh_ephemeron_edge(const lh_ephemeron *ephemeron);

/* A part of the file behind the records. */
typedef struct lh_section {
  uint64_t offset, end;
} lh_section;

/* The first record that begins in a block of the file. */
typedef struct lh_block_start {
  uint64_t offset; /* in the file */
  uint64_t word;   /* address >> 3 of the object before it */
  lh_id id;
} lh_block_start;

/* Where the names of a prototype's upvalues are. */
typedef struct lh_upvalue_names {
  uint64_t offset; /* of their list in the file */
  size_t first;    /* in `names` */
  uint32_t n;
  lh_id proto;
} lh_upvalue_names;

/* Of a mark: whether it stands in the heap, or got its place by a comparison of objects, and then
** how many that are younger may pass as older, on allgc and finobj. */
typedef struct lh_placed {
  bool is_placed;
  uint32_t passed[2];
} lh_placed;

/* What a file says of one. */
typedef struct lh_matched_mark {
  uint64_t time_ns;
  uint32_t serial;
  uint32_t passed[2];
} lh_matched_mark;

/* Numbers alone do not tell marks apart: those from outside have them without those inside. */
static inline bool lh_is_mark(const lh_mark_info *mark, uint32_t serial, uint64_t time_ns) {
  return mark->serial == serial && mark->time_ns == time_ns;
}

typedef struct lh_left_out lh_left_out; /* left_out.c */

/* What higher floors keep with a snapshot. Who makes it says how it is freed. */
typedef struct lh_steps lh_steps;                   /* graph/steps.c */
typedef struct lh_referrer_index lh_referrer_index; /* graph/referrers.c */
typedef struct lh_tree lh_tree;                     /* graph/preorder.c */
typedef struct lh_trees lh_trees;                   /* view/tree.c */
typedef struct lh_field_list lh_field_list;         /* view/fields.c */
typedef struct lh_classes lh_classes;               /* name/classes.c */
typedef struct lh_map_order lh_map_order;           /* view/map.c */
typedef struct lh_age_sums lh_age_sums;             /* view/ages.c */

struct lh_snapshot {
  /* reader.c */
  const uint8_t *data; /* the file */
  size_t size;
  uint8_t *own_data; /* NULL: the caller's */
  char *name;        /* of the file, for messages */
  unsigned threads;  /* that open it, at most */
  lh_info info;
  uint32_t n;           /* objects */
  uint64_t *address;    /* header address; [0] is 0 */
  uint32_t *record_low; /* file offset of the record: low 32 bits and the 8 above */
  uint8_t *record_high;
  uint8_t *kind;
  uint32_t *shallow; /* bytes; UINT32_MAX: as many or more, which the record tells */
  uint8_t *key_kinds;
  uint64_t *modes; /* a bit for each object: tables whose __mode is weak */
  bool has_modes;
  lh_upvalue_names *upvalue_names; /* by proto */
  size_t n_upvalue_names;
  lh_id *names;           /* string objects, or LH_NO_OBJECT */
  uint32_t list_first[5]; /* first id of each lh_list; [4] is n + 1 */
  lh_stretch *stretches;  /* addresses.c: open addressing */
  uint64_t n_stretch_slots, stretch_seed;
  lh_id *by_rank;         /* the object that begins of this rank */
  uint64_t records_end;   /* in the file */
  lh_block_start *blocks; /* in which a record begins; before version 6 the first block alone */
  uint32_t n_blocks;
  const uint8_t *named_roots; /* in the footer */
  uint32_t n_named_roots;
  uint64_t *keys; /* words of frequent keys */
  uint32_t n_keys;
  lh_root *roots; /* those on the fixedgc and tobefnz lists included */
  size_t n_roots;
  lh_mark_info *marks;  /* oldest first */
  lh_id (*mark_ids)[2]; /* of each mark: the object on allgc, the place on finobj */
  uint32_t n_marks;
  char *mark_names;
  lh_placed *placed; /* of each mark; NULL: none was placed by a comparison */
  char *text;        /* the strings of info */
  bool is_tracked;
  lh_section sites_section; /* where the program was tracked, as all below */
  lh_tracking tracking;
  lh_sites *sites;
  lh_stack_counts *stack_counts; /* by stack, from 1 on */
  bool is_outside;
  lh_section outside_section; /* where it was taken from outside, as all below */
  lh_outside_info outside;
  lh_matched_mark *matched; /* by age, as the section has them */
  uint32_t n_matched;
  lh_c_code *c_functions; /* by address */
  char *c_texts;

  lh_left_out *left_out; /* NULL: nothing */

  /* rows.c: all references between objects, and LH_ROOT's, in the order of the records. Those of
     source s are edge[first_edge[s]] to edge[first_edge[s + 1] - 1], and behind them, of a key, an
     edge for each ephemeron */
  uint32_t *first_edge;
  lh_id *edge;
  uint8_t *label;
  bool has_lost;   /* records refer to what has none: that is in no row */
  lh_aside *aside; /* weak references, by edge */
  size_t n_aside;
  lh_aside *bent; /* those that are left out, by edge */
  size_t n_bent;
  lh_ephemeron *ephemerons; /* by key and table, which is by edge */
  size_t n_ephemerons;

  /* reach.c */
  uint32_t *distance;    /* UINT32_MAX: garbage */
  lh_id *parent;         /* one step back on the shortest path */
  lh_id *named_by;       /* one back on the path that names it, LH_ROOT: `parent`; NULL: of all */
  uint32_t *parent_edge; /* the reference from there that a person had best be told; UINT32_MAX:
                            none leads there */
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

  /* view/tree.c */
  lh_trees *trees;
  void (*free_trees)(lh_trees *trees);

  /* dominators.c */
  lh_id *idom;
  uint64_t *retained;

  /* classes.c */
  lh_classes *classes;
  void (*free_classes)(lh_classes *classes);
  void (*count_classes)(lh_snapshot *snapshot); /* anew, after another analysis */

  /* view/ages.c */
  lh_age_sums *age_sums;
  void (*free_age_sums)(lh_age_sums *age_sums);

  /* view/fields.c: of the object that was last asked about */
  lh_field_list *fields;
  void (*free_fields)(lh_field_list *fields);

  /* view/map.c */
  lh_map_order *map_order;
  void (*free_map_order)(lh_map_order *map_order);
};

/* ==== Columns that callers ask for by object ========================================== */

/* The reading half has these inline; reader.c has them for who knows the public headers alone. */
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
  return (lh_list)list;
}

/* reader.c: those of an object that has more than the column tells. */
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

/* ==================================================================================== */

/* A file may name objects that are none, so an id from a value may be LH_NO_OBJECT. */
static inline bool lh_is_string(const lh_snapshot *snapshot, lh_id id) {
  return id <= snapshot->n && lh_type_of(snapshot, id) == LH_TYPE_STRING;
}

/* The value that an object is, or that LH_NO_OBJECT stands for: what is of LH_VALUE_OBJECT has an
** id of the snapshot. */
static inline lh_value lh_object_value(lh_id id) {
  lh_value value = {.kind = id == LH_NO_OBJECT ? LH_VALUE_ABSENT : LH_VALUE_OBJECT,
                    .as.pointer = 0}; /* all bytes, for who compares them */
  value.as.object = id;
  return value;
}

/* rows.c: where an edge leads that keeps nothing alive. */
lh_id lh_target_aside(const lh_snapshot *s, uint32_t e);

/* Where an edge leads, whether it keeps its target alive or not. */
static inline lh_id lh_true_target(const lh_snapshot *s, uint32_t e) {
  return s->label[e] & LH_LABEL_ASIDE ? lh_target_aside(s, e) : s->edge[e];
}

/* rows.c: of the edge of a key, which is of kind LH_EDGE_EPHEMERON. */
const lh_ephemeron *lh_ephemeron_of(const lh_snapshot *s, uint32_t e);

/* outside.c: lets a snapshot know what another of the same process has of its C functions, unless
** it knows some itself. False: out of memory. */
bool lh_lend_c_functions(const lh_snapshot *from, lh_snapshot *to);

/* epochs.c: the objects of an epoch (lh_epoch) on allgc or finobj. */
lh_id_range lh_epoch_range(const lh_snapshot *s, lh_list list, uint32_t epoch);

/* epochs.c: one more mark, that the heap has not: behind it are the objects from ids[list] on. It
** gets its place among those that there are; *mark is its number then, and those of younger ones
** are one more than they were. */
int lh_add_mark(lh_snapshot *s, const lh_mark_info *info, const lh_id ids[2],
                const lh_placed *placed, uint32_t *mark, lh_error *error);

#endif
