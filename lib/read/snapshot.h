/*
** snapshot.h - what an open snapshot is in memory. Private to the reading half of the library.
**
** Flat arrays indexed by lh_id (0 is the root, objects are 1..n), each owned by the file that fills
** it and freed by lh_close. Bytes an object, for ten million objects 10 MB each:
**
**     reader     address 8, record 5, kind 1, hash of addresses 8, modes 0.1
**     graph      first_edge 4, edges 4 each
**     reach      distance 4, parent 4
**     dominator  idom 4, retained 8
**     classes    class 4
**     steps      edge 4, only after reports of many objects
**     held by    state 4, of those that were asked for and on the way there
**     children   first 4, child 4, only after somebody asked what something dominates
**     clusters   4, only after a picture, or somebody who asked what something keeps alive
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

/* The hash of addresses: units of 64 words (512 bytes) share a line of 16 slots. */
enum { LH_UNIT_BITS = 6, LH_LINE_SLOTS = 16 };

/* kind[id]: lh_type in the low 4 bits, and */
enum {
  LH_KIND_DEAD = 0x10,
  LH_KIND_OWN = 0x20,
  LH_KIND_EPHEMERON_KEY = 0x40,
  LH_KIND_LEFT_OUT = 0x80 /* left_out has the object, or edges of it */
};

typedef struct lh_root {
  lh_root_kind kind;
  uint32_t index;
  lh_id target;
} lh_root;

/* A collectable key (no string) of a weak-keyed table, and the object under it. */
typedef struct lh_ephemeron {
  lh_id table, key, value;
} lh_ephemeron;

/* As the edge of its key: decode.c. */
lh_edge lh_ephemeron_edge(const lh_ephemeron *ephemeron);

/* Where the names of a prototype's upvalues are. */
typedef struct lh_upvalue_names {
  uint64_t offset; /* of their list in the file */
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
typedef struct lh_children lh_children;             /* graph/children.c */
typedef struct lh_trees lh_trees;                   /* view/tree.c */
typedef struct lh_folds lh_folds;                   /* name/held_by.c */
typedef struct lh_field_list lh_field_list;         /* view/fields.c */
typedef struct lh_classes lh_classes;               /* name/classes.c */
typedef struct lh_map_order lh_map_order;           /* view/map_order.c */
typedef struct lh_age_sums lh_age_sums;             /* view/ages_chunks.c */

struct lh_snapshot {
  /* reader.c */
  const uint8_t *data; /* the file */
  size_t size;
  uint8_t *own_data; /* NULL: the caller's */
  char *name;        /* of the file, for messages */
  lh_info info;
  uint32_t n;           /* objects */
  uint64_t *address;    /* header address; [0] is 0 */
  uint32_t *record_low; /* file offset of the record: low 32 bits and the 8 above */
  uint8_t *record_high;
  uint8_t *kind;
  uint64_t *modes; /* n bits, by a hash of address: tables whose __mode is weak (record.h) */
  lh_upvalue_names *upvalue_names; /* by proto */
  size_t n_upvalue_names;
  uint32_t list_first[5]; /* first id of each lh_list; [4] is n + 1 */
  uint32_t *by_address;   /* open addressing (addresses.c): ids, 0 where empty */
  uint64_t address_slots, address_lines, address_seed;
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
  uint64_t sites_offset; /* of the section; where the program was tracked, as all below */
  lh_tracking tracking;
  lh_sites *sites;
  lh_stack_counts *stack_counts; /* by stack, from 1 on */
  bool is_outside;
  uint64_t outside_offset; /* of the section; where it was taken from outside, as all below */
  lh_outside_info outside;
  lh_matched_mark *matched; /* by age, as the section has them */
  uint32_t n_matched;
  lh_c_code *c_functions; /* by address */
  char *c_texts;

  lh_left_out *left_out; /* NULL: nothing */

  /* graph.c: strong edges between objects, and LH_ROOT's. Those of source s are
     edge[first_edge[s]] to edge[first_edge[s + 1] - 1], in the order of lh_edges */
  uint32_t *first_edge;
  lh_id *edge;
  lh_ephemeron *ephemerons; /* sorted by key, only those of reachable tables with reachable keys */
  size_t n_ephemerons;
  lh_id *weak_sources; /* tables with references that are no edges of the graph, ascending */
  size_t n_weak_sources;

  /* reach.c */
  uint32_t *distance; /* UINT32_MAX: garbage */
  lh_id *parent;      /* one step back on the shortest path */
  lh_id *named_by;    /* one back on the path that names it, LH_ROOT: `parent`; NULL: all of them */
  lh_reach reach;

  /* steps.c */
  lh_steps *steps;
  void (*free_steps)(lh_steps *steps);

  /* referrers.c */
  lh_referrer_index *referrers;
  void (*free_referrers)(lh_referrer_index *referrers);

  /* children.c */
  lh_children *children;
  void (*free_children)(lh_children *children);

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

  /* held_by.c */
  lh_folds *folds;
  void (*free_folds)(lh_folds *folds);

  /* view/ages_chunks.c */
  lh_age_sums *age_sums;
  void (*free_age_sums)(lh_age_sums *age_sums);

  /* view/fields.c: of the object that was last asked about */
  lh_field_list *fields;
  void (*free_fields)(lh_field_list *fields);

  /* view/map_order.c */
  lh_map_order *map_order;
  void (*free_map_order)(lh_map_order *map_order);
};

/* outside.c: lets a snapshot know what another of the same process has of its C functions, unless
** it knows some itself. False: out of memory. */
bool lh_lend_c_functions(const lh_snapshot *from, lh_snapshot *to);

/* epochs.c: one more mark, that the heap has not: behind it are the objects from ids[list] on. It
** gets its place among those that there are; *mark is its number then, and those of younger ones
** are one more than they were. */
int lh_add_mark(lh_snapshot *s, const lh_mark_info *info, const lh_id ids[2],
                const lh_placed *placed, uint32_t *mark, lh_error *error);

#endif
