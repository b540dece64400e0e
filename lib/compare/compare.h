/*
** compare.h - Private declarations for the comparison of snapshots.
** Two or three snapshots of one process, or the marks in one snapshot:
**     matched.c            where a mark would be that a later snapshot lacks
**     age.c                new and equal objects
**     groups.c             new objects by place
**     shared_holders.c     holders that share new objects
**     allocation_counts.c  objects allocated at the sites of new objects
**     older.c              what is kept of the older snapshots
**     grown.c              containers
**     grown_strings.c      strings that are replaced by longer ones
**     changes.c            classes
**     strings.c            strings by content
**     diff.c               the whole diff
** Any number of snapshots, of one process or several:
**     census.c   counts by class and place, as a tree
**     containers.c  equal containers that have several paths
**     view.c     the tree by path alone, and as parts of a whole
**     ladder.c   rows by path and by class, also before and after a change
** Both: known_classes.c (equal classes), causes.c (rows with one cause).
**
** A ladder matches only containers. It folds each snapshot: each object of the dominator tree is
** replaced by its place, and equal places below one vertex are merged. Only this tree is kept,
** thousands of vertices for millions of objects, so a snapshot can be closed before the next one is
** opened. The bytes of a vertex and all below it are its retained bytes.
*/
#pragma once

#include "compare/answers.h"
#include "matched.h"
#include "name/place.h"
#include "read/snapshot.h"

/* ==== known_classes.c =============================================================== */

typedef struct lh_known_class {
  lh_class_entry entry; /* its texts are in the common set */
  lh_text_id numbers;   /* of a module, with * for numbers in its name; LH_NO_NUMBER: none */
} lh_known_class;

/* The classes of several snapshots, each once. Empty: all zero except `texts`. */
typedef struct lh_known_classes {
  lh_strings *texts; /* common set of all texts */
  lh_known_class *list;
  size_t n, capacity;
  lh_map by_identity, by_code;
  lh_map differing; /* text with * for all numbers -> with * only for those that differ */
} lh_known_classes;

/* Adds the classes of a snapshot, and stores the number of each. A function may have another name
** in another snapshot, if the code that names it was freed. False: out of memory. */
bool lh_register_classes(lh_known_classes *known, const lh_snapshot *snapshot, uint32_t *number_of);
void lh_known_classes_free(lh_known_classes *known);

/* Stores the row of each known class: its own if `exact`, else that of all classes that are equal
** in other builds. False: out of memory. */
bool lh_label_classes(const lh_known_classes *known, bool exact, uint32_t *row_of, size_t *n_rows);

/* The name of a row that a class joins: its name, or the stable one if the row has another `name`
** (NULL: none yet). */
const char *lh_name_with(const lh_known_classes *known, const lh_known_class *class,
                         const char *name);

/* ==== age.c ========================================================================= */

/* A time in snapshot c, between the snapshots a and b, if not NULL; these are counted, and tell
** revived objects from new ones. */
typedef struct lh_window {
  const lh_snapshot *a, *b, *c;
  uint32_t since; /* index of a mark in c; new objects are younger */
  uint32_t until; /* index of a mark in c; new objects are older; the number of marks: no limit */
  lh_id_range allocated[2]; /* on allgc and finobj: younger than `since`; if `a` is NULL,
                               lh_objects_in, and no marks are used */
  lh_id call[2];            /* in c: lh_find_call */
} lh_window;

/* Finds the arguments of the call heap.snapshot(name, options) that took the snapshot, if only the
** call retains them; else LH_NO_OBJECT. They are no part of the program. */
void lh_find_call(const lh_snapshot *snapshot, lh_id arguments[2]);

/* Objects on allgc or finobj outside this range are older than the mark. */
lh_id_range lh_younger_than(const lh_snapshot *snapshot, lh_list list, uint32_t mark);

/* True if object `id` of c was allocated in the window. */
bool lh_is_new(const lh_window *window, lh_id id);

/* Returns object `id` of `later` in `earlier`, whose mark has that index in `later`; or
** LH_NO_OBJECT. An object younger than the mark is another one, even at the same address.
** *distance: the difference of ids that the last call found, which saves a search; at first 0. */
lh_id lh_find_in_earlier(const lh_snapshot *later, lh_id id, const lh_snapshot *earlier,
                         uint32_t mark, uint32_t *distance);

/* The same object in a later snapshot. The earlier one is counted, and its objects are not read. */
lh_id lh_find_in_later(const lh_snapshot *earlier, uint64_t address, lh_type type,
                       const lh_snapshot *later, uint32_t mark);

/* An object with a finalizer, which may be revived, with the address of its metatable. */
typedef struct lh_finalized {
  uint64_t address, metatable;
  lh_type type;
} lh_finalized;

/* Lists them by address. Free with lh_free. */
bool lh_list_finalized(const lh_snapshot *snapshot, lh_finalized **out, size_t *n);

/* ==================================================================================== */

/* Fails with LH_EARGUMENT: "snapshots must be given in the order of time ...". */
int lh_fail_order(lh_error *error, const char *earlier, const char *later);

/* ==== The parts of a diff: each fills its fields of *diff ============================ */

typedef struct lh_whole_diff {
  lh_diff visible;
  lh_strings paths;          /* of groups */
  lh_print *places;          /* of groups, by lh_diff_group.place */
  lh_counted_places counted; /* what their numbers count, with `places` as rows */
  uint32_t *alike;           /* by place: the place that counts it, or itself */
  size_t n_places;
  lh_strings names; /* of classes */
} lh_whole_diff;

/* groups.c: sets objects, shallow_bytes, groups; `together`: also retained_bytes. */
int lh_diff_groups(lh_snapshot *c, const uint8_t *new_ones, bool together, lh_whole_diff *diff,
                   lh_error *error);

void lh_sort_groups(lh_diff *diff);

/* A top is a new object that no other new object dominates. Each place of a top is a group. */
typedef struct lh_grouping {
  lh_snapshot *c;
  const uint8_t *new_ones; /* by object */
  lh_id *top;              /* by object: its highest new dominator or itself; LH_ROOT: none */
  uint64_t *is_top;        /* a bit an object: all edges of c are looked up in it */
  lh_id *tops;
  size_t n_tops;
  lh_id *holders; /* objects that refer to the top of another object, in ascending order */
  size_t n_holders;
  lh_places places;
  size_t n_groups;       /* equals the number of places of tops, which come first */
  lh_diff_group *groups; /* shared_holders.c changes held_by and sets also_held_by */
  uint64_t *n_tops_at;   /* by group */
  uint32_t *into;        /* by group: the group that counts it, or itself */
  uint32_t *alike;       /* by group: the group of the same objects, or itself */
} lh_grouping;

static inline bool lh_is_top(const lh_grouping *g, lh_id id) {
  return g->is_top[id / 64] >> id % 64 & 1;
}

static inline uint32_t lh_group_at(const lh_grouping *g, lh_id top) {
  return g->into[lh_place_of(&g->places, top)];
}

/* Needs g->tops. False: out of memory. O(n + m). */
bool lh_find_holders(lh_grouping *g);

/* Finds the holders of each group, and joins groups that share what they hold. Needs the places of
** the tops. False: out of memory. O(edges of the holders). */
bool lh_join_holders(lh_grouping *g);

/* Counts the steps of a place; a step with any key counts more than all others. The shortest place
** of a list names it. */
uint32_t lh_length_of_place(const lh_place_tree *tree, uint32_t place);

/* The path state of an edge's target through this edge, whichever edge names it. LH_NO_NUMBER: out
** of memory. A numeric key counts as any key, so the record is not read. */
uint32_t lh_state_behind(lh_folds *folds, lh_id id, uint32_t e);

/* allocation_counts.c: counts the objects made at the groups' sites from a to the end of the window
** (b, or else c), and how many stay. a NULL: since tracking began, and all reachable objects of c
** stay, whatever new_ones says. */
int lh_diff_allocations(const lh_window *window, const uint8_t *new_ones, lh_diff *diff,
                        lh_error *error);

/* ==== older.c: what is kept of the older snapshots of three ======================== */

/* A container that grew from a to b. */
typedef struct lh_rising {
  uint64_t address;
  lh_type type;
  uint64_t shallow_bytes[2], entries[2]; /* entries that last (lh_lasting_entries) */
  uint64_t all_entries;                  /* in b */
} lh_rising;

/* A string of b in a field of an older holder, which continues that of a, if a has one. */
typedef struct lh_rising_string {
  uint64_t holder; /* address */
  lh_type holder_type;
  uint64_t field[4];         /* words that tell a field of the holder */
  uint64_t shallow_bytes[2]; /* in a, 0 without one, and b */
  uint32_t text;             /* index of lh_counted.texts */
  lh_id in_b;                /* this and the next: while it is looked for */
  bool continues;
} lh_rising_string;

/* A string of b, which many fields may have. */
typedef struct lh_rising_text {
  char *bytes; /* the kept ones */
  uint64_t kept, length;
} lh_rising_text;

/* While strings are looked for: pairs that were compared, and the numbers of texts, by id. */
typedef struct lh_rising_search {
  lh_map compared, text_of;
} lh_rising_search;

struct lh_counted {
  lh_finalized *finalized;
  size_t n_finalized;
  lh_printed *printed; /* NULL: this and the fields below are not filled */
  size_t n_printed;
  lh_spot_numbers numbers;
  struct {
    lh_id table;
    uint64_t entries;
  } * weak; /* the lasting entries of each weak table, by id */
  size_t n_weak, weak_capacity;
  lh_rising *rising; /* of b */
  size_t n_rising, rising_capacity;
  lh_rising_string *strings; /* of b, by holder */
  size_t n_strings, string_capacity;
  lh_rising_text *texts;
  size_t n_texts, text_capacity;
  bool has_rising;
};

/* Counts the objects at each place. Needs lh_classify_for_places. The caller calls
** lh_counted_free. */
int lh_count_places(const lh_snapshot *snapshot, lh_counted *counted, lh_error *error);
void lh_counted_free(lh_counted *counted);

/* Fills snapshot->counted; lh_count_finalized fills `finalized` alone. An analysis that was made
** for that is forgotten. */
int lh_count_older(lh_snapshot *snapshot, lh_error *error);
int lh_count_finalized(lh_snapshot *snapshot, lh_error *error);
void lh_forget_counted(lh_snapshot *snapshot);

/* Fills `rising` of b. Needs the objects of both, counted, and a's mark in b. */
int lh_find_rising(lh_snapshot *a, lh_snapshot *b, lh_error *error);

/* grown.c: lh_find_grown sets `grown`, with garbage; c need not be analysed. lh_describe_grown
** needs the analysed c alone, and drops the garbage. False: out of memory. */
bool lh_find_grown(const lh_snapshot *b, const lh_snapshot *c, uint32_t b_in_c, lh_diff *diff);
bool lh_describe_grown(const lh_snapshot *c, lh_diff *diff);

/* grown_strings.c. lh_find_rising_strings adds the strings of a holder that is in a and b, and
** changed. young: the objects of b that a lacks. lh_add_grown_strings appends to `grown` those that
** are longer in c, with garbage; the array has room for *capacity. A string that several fields of
** a holder have counts once for it. False: out of memory. O(edges of the holders). */
bool lh_find_rising_strings(const lh_snapshot *a, lh_id then, const lh_snapshot *b, lh_id now,
                            lh_id_range young, lh_counted *counted, lh_rising_search *search);
bool lh_add_grown_strings(const lh_snapshot *b, const lh_snapshot *c, uint32_t b_in_c,
                          lh_diff *diff, size_t *capacity);

/* changes.c: sets `classes`, and gone_* if `same_state`. b may be NULL. */
int lh_diff_changes(const lh_window *window, lh_whole_diff *whole, lh_error *error);

/* ==== causes.c ====================================================================== */

typedef struct lh_caused {
  uint32_t place;
  uint64_t bytes;
  uint64_t *cause;
  size_t number; /* input order */
} lh_caused;

/* Gives rows with one cause the same number, from 1. Sorts the rows. False: out of memory. */
bool lh_number_causes(const lh_place_tree *tree, lh_caused *rows, size_t n);

/* ==== culprits.c ==================================================================== */

/* Gives the one container that has nearly all growth of a group a row of its own. Needs `at`.
** False: out of memory. */
bool lh_split_culprits(lh_snapshot *c, const uint8_t *new_ones, lh_whole_diff *whole);

/* ==== joined_siblings.c ============================================================= */

/* Stores the text of a place; without room for it, *held_by stays. False: out of memory. */
bool lh_keep_place(lh_strings *texts, const lh_place_tree *tree, uint32_t place,
                   const char **held_by);

/* Groups, and containers that grew, of three snapshots. False: out of memory. */
bool lh_join_sibling_groups(lh_snapshot *c, lh_whole_diff *whole);

/* places: of each leak. The texts go to `texts`. */
bool lh_join_sibling_leaks(lh_snapshot *snapshot, const uint32_t *places, lh_strings *texts,
                           lh_leaks *leaks);

/* weights: of each row of paths. The places and texts go to the ladder. */
bool lh_join_sibling_growth(lh_growth *growth, lh_ladder *ladder, const uint64_t *weights);

/* ==== census.c ====================================================================== */

/* A tree with numbers as edge labels. Vertex 0 is the root; a vertex comes after the one above. */
typedef struct lh_vertex {
  uint32_t above; /* the root has itself */
  uint32_t label;
  uint32_t depth;
} lh_vertex;

typedef struct lh_trie {
  lh_vertex *vertices;
  size_t n, capacity;
  lh_map steps; /* vertex, label -> vertex */
} lh_trie;

bool lh_trie_begin(lh_trie *trie);
void lh_trie_free(lh_trie *trie);

/* Returns the vertex below `vertex` with this label, or the one above with it: a label is on a path
** once. Made if new. LH_NO_NUMBER: out of memory. */
uint32_t lh_trie_step(lh_trie *trie, uint32_t vertex, uint32_t label);

/* Objects of one class at one place in several snapshots, below one container (containers.c).
** Places are of the ladder's tree. */
typedef struct lh_known_place {
  uint32_t path, stable_path; /* stable: without lines of functions and other changing texts */
  uint32_t numbers;           /* with * for numbers in names; LH_NO_PLACE: no numbers */
  uint32_t name; /* with the key in place of [*] if there is one only; LH_NO_PLACE: unknown */
  uint32_t class_row;
  uint32_t container, container_path; /* LH_NO_NUMBER: none; the place of it here */
  uint32_t own_path, own_name;        /* `path` and `name` without a better name of the container */
  uint32_t renamed; /* the better name, a place in the container's stead; LH_NO_PLACE: none */
  bool shared;      /* its holders are several objects below its dominator */
} lh_known_place;

/* An object that was alone at its place in a snapshot. */
typedef struct lh_container {
  lh_type type;
  uint32_t class_row;
  uint32_t best, last; /* sightings: with the most permanent place; the last one */
} lh_container;

typedef struct lh_sighting {
  uint32_t container, place, snapshot;
  uint32_t outer; /* the sighting of the container around it in this snapshot, or LH_NO_NUMBER */
  uint8_t permanence; /* of the path; 0 is the most permanent */
} lh_sighting;

typedef struct lh_census_count {
  uint64_t objects, bytes, entries;
} lh_census_count;

static inline void lh_add_count(lh_census_count *to, const lh_census_count *from) {
  to->objects += from->objects;
  to->bytes += from->bytes;
  to->entries += from->entries;
}

/* The counts of one snapshot. Vertices and classes that came later are missing. */
typedef struct lh_snapshot_counts {
  uint64_t state_id, time_ns;
  uint32_t serial;
  lh_text_id name;
  lh_census_count whole;
  lh_census_count *of_vertex, *of_class;
  size_t n_vertices, n_classes;
} lh_snapshot_counts;

struct lh_ladder {
  lh_strings texts;
  lh_known_classes known;
  lh_place_tree tree;
  lh_map differing; /* place with * for all numbers -> with * only for those that differ */
  lh_map text_of;   /* place of a row -> text */
  lh_known_place *places;
  size_t n_places, place_capacity;
  lh_map place_by_words;
  lh_container *containers;
  size_t n_containers, container_capacity;
  lh_map container_at; /* address -> the last container there */
  lh_sighting *sightings;
  size_t n_sightings, sighting_capacity, n_followed;
  lh_map is_taken; /* place, snapshot: a container is there */
  lh_map name_of;  /* container, place -> its better name, or the place itself */
  lh_map links;    /* two places at the ends of lists: objects of the first refer to the second's */
  lh_trie trie;    /* labels are places */
  lh_snapshot_counts *snapshots;
  size_t n_snapshots, snapshot_capacity;
};

/* Makes the texts of a place. False: out of memory. */
bool lh_tell_known_place(lh_ladder *ladder, const lh_known_place *place);

/* ==== containers.c ================================================================== */

/* Notes a container of the snapshot that is being added. mark_of: the mark of each snapshot of the
** ladder in this one, or LH_NO_NUMBER. Returns the sighting; LH_NO_NUMBER: out of memory. */
uint32_t lh_sight_container(lh_ladder *ladder, const lh_snapshot *snapshot, lh_id id,
                            uint32_t class_row, const uint32_t *mark_of, lh_sighting sighting);

/* Names all places by the best names of their containers. False: out of memory. */
bool lh_follow_containers(lh_ladder *ladder);

/* ==== view.c ======================================================================== */

typedef struct lh_view_row {
  uint32_t path;    /* the part that all places share */
  uint32_t name;    /* the printed place; more exact if all places agree */
  lh_type type;     /* of its objects; upvalues are beside their values */
  bool has_numbers; /* printed with * for numbers */
} lh_view_row;

/* The ladder's tree with rows as labels. */
typedef struct lh_view {
  uint32_t *row_of; /* by place */
  lh_view_row *rows;
  size_t n_rows;
  lh_trie trie;
  uint32_t *vertex_of; /* by vertex of the ladder's tree */
} lh_view;

/* Makes a row for each path and type (each stable path if there are several states), and one for
** many paths that differ in numbers only (lh_fold_numbers), or that lead to one list. `apart`: one
** for each path; shared objects are below a vertex of their own, with a label >= n_rows. False: out
** of memory. */
bool lh_view_make(const lh_ladder *ladder, bool apart, lh_view *view);
void lh_view_free(lh_view *view);

/* True for upvalues in the row of their values: it does not count them as its objects. */
bool lh_is_beside(const lh_ladder *ladder, const lh_view *view, uint32_t place);

static inline const char *lh_ladder_text(const lh_ladder *ladder, uint32_t place) {
  return ladder->texts.texts[lh_map_get(&ladder->text_of, place)];
}

/* The name of a class in a row, with * for numbers if the row has them. `is_stable`: the name for
** the fingerprint. lh_view_class_name: the printed name. */
const char *lh_view_name(const lh_ladder *ladder, const lh_view *view, uint32_t row,
                         uint32_t class_row, bool is_stable);
const char *lh_view_class_name(const lh_ladder *ladder, const lh_view *view, uint32_t row,
                               uint32_t class_row);

/* Stores the class of each row that has most objects; by_entries[row] (may be NULL): most entries.
** False: out of memory. */
bool lh_find_main_classes(const lh_ladder *ladder, const lh_view *view, const bool *by_entries,
                          uint32_t *main_class);
