/*
** fold.h - folds paths: from edges to places (place_steps.h). Private to the library.
**
** Each edge is a step, or nothing (from an upvalue to its content). A state is a place that knows
** the classes on its path; states form a tree that grows on demand: (state before, step, class) ->
** state. So a million objects of one place cost a look-up a step. The paths that name objects are
** folded once (fold_paths.c). Each object gets a number, its spot, for its state and class. Objects
** are counted by spot.
*/
#pragma once

#include "names.h"
#include "place_steps.h"

lh_form lh_form_of(const lh_snapshot *snapshot, const lh_edge *edge);

uint32_t lh_step_of_edge(lh_place_tree *tree, const lh_snapshot *snapshot, const lh_edge *edge);

/* ==== Folding ======================================================================= */

typedef struct lh_fold_state {
  uint32_t parent;
  uint32_t place;       /* its last step is the state's own step */
  uint32_t class_index; /* of the object reached; UINT32_MAX if the class is not specific */
  bool is_link;         /* its step got a star from the class, and perhaps never repeats */
} lh_fold_state;

#define LH_FOLD_START 0u

typedef struct lh_folder {
  const lh_snapshot *snapshot;
  lh_place_tree *tree;
  lh_map interned;
  lh_map memo;        /* steps from table to value */
  lh_map known_steps; /* other steps, by the parts of their texts */
  uint32_t any_key;
  lh_fold_state *states;
  size_t n_states, capacity;
} lh_folder;

bool lh_folder_begin(lh_folder *folder, const lh_snapshot *snapshot, lh_place_tree *tree);
void lh_folder_free(lh_folder *folder);

/* Frees all except the states; later steps are slower. */
void lh_folder_settle(lh_folder *folder);

/* The key of the edge `e` to a value, if it is a string, else LH_NO_OBJECT. */
static inline lh_id lh_key_of_row(const lh_snapshot *s, uint32_t e) {
  lh_id key = s->label[e] & LH_LABEL_KEYED ? lh_true_target(s, e - 1) : LH_NO_OBJECT;
  return lh_is_string(s, key) ? key : LH_NO_OBJECT;
}

/* `any_key`: the key varies between the objects of one place. */
uint32_t lh_fold_step(lh_folder *folder, uint32_t state, const lh_edge *edge, bool any_key);

/* For a single path: also finds out whether the key varies. */
uint32_t lh_fold_edge(lh_folder *folder, uint32_t state, const lh_edge *edge);

/* Do a table's keys vary between objects of one place? _G and modules: LH_KEYS_MEAN, no. */
typedef enum lh_key_sense { LH_KEYS_MEAN, LH_KEYS_VARY, LH_KEYS_DEPEND } lh_key_sense;

static inline lh_key_sense lh_key_sense_of(const lh_snapshot *snapshot, lh_id table) {
  const lh_class_entry *entry = snapshot->classes ? lh_class_entry_of(snapshot, table) : NULL;
  if (!entry || snapshot->kind[table] & LH_KIND_RUNTIME) return LH_KEYS_MEAN;
  return entry->is_map ? LH_KEYS_VARY : LH_KEYS_DEPEND;
}

/* Keys of fewer values of one class do not vary; of records, and of collections, even more. */
enum { LH_LEAST_ALIKE = 4, LH_MANY_ALIKE = 8 };

/* For LH_KEYS_DEPEND, if `n_alike` of `n_values` keyed objects have this class. */
static inline bool lh_keys_vary(const lh_snapshot *snapshot, uint32_t class_index, uint32_t n_alike,
                                uint32_t n_values) {
  if (class_index == UINT32_MAX || n_alike < LH_LEAST_ALIKE) return false;
  const lh_class_entry *entry = &snapshot->classes->list[class_index];
  if (!entry->specific) return n_alike >= LH_MANY_ALIKE && n_alike == n_values;
  return n_alike >= LH_MANY_ALIKE || entry->fields == LH_NO_NUMBER;
}

/* Does an entry count in lh_keys_vary? The key must be a string, the value an object but no
** string. */
static inline bool lh_counts_for_keys(const lh_snapshot *s, lh_id key, lh_id value) {
  enum {
    TELLS = 1 << LH_TYPE_TABLE | 1 << LH_TYPE_USERDATA | 1 << LH_TYPE_THREAD | 1 << LH_TYPE_CLOSURE
  };
  return TELLS >> (s->kind[value] & LH_KIND_TYPE) & 1 &&
         (s->kind[key] & LH_KIND_TYPE) == LH_TYPE_STRING;
}

/* The same for an edge by its number. */
static inline bool lh_is_keyed_object(const lh_snapshot *s, uint32_t e) {
  if (!(s->label[e] & LH_LABEL_KEYED)) return false;
  bool is_aside = (s->label[e] | s->label[e - 1]) & LH_LABEL_ASIDE;
  return __builtin_expect(is_aside, 0)
             ? lh_counts_for_keys(s, lh_true_target(s, e - 1), lh_true_target(s, e))
             : lh_counts_for_keys(s, s->edge[e - 1], s->edge[e]);
}

/* ==== fold_paths.c ================================================================== */

typedef struct lh_spot {
  uint32_t state;
  uint32_t class_index; /* UINT32_MAX: luaheap's own objects */
  uint32_t objects;     /* folded to it */
  bool is_open;         /* lh_is_open of the state */
} lh_spot;

/* What a state stood for on the paths of a question. */
typedef struct lh_seen_key {
  lh_id key;     /* any key: the only string key; LH_ROOT: none, LH_NO_OBJECT: several */
  bool repeats;  /* for a link: it followed itself */
  bool is_named; /* any key: some keys were strings */
} lh_seen_key;

/* All zero is empty. */
typedef struct lh_seen_keys {
  lh_seen_key *list; /* of each state; missing states were not met */
  size_t n;
  bool keeps_links; /* all links keep their stars */
  uint32_t several; /* the step told for several string keys; 0: [*], as for numbers */
} lh_seen_keys;

/* The folded paths that name all objects (lh_naming_parent). Freed with the classes. */
struct lh_folds {
  lh_folder folder;
  lh_spot *spots; /* the first is for LH_ROOT and unreachable objects */
  size_t n_spots, capacity;
  uint32_t *spot; /* of each object */
  lh_id *order;   /* reachable objects, the root first, each behind its dominators */
  size_t n;
  lh_seen_keys seen_keys; /* on all folded paths */
};

/* Needs classes. Made on the first call, freed by another analysis. O(edges); 8 bytes an object. */
lh_folds *lh_folds_of(const lh_snapshot *snapshot);

/* Folds only the paths in `marks` (lh_mark_paths). The snapshot keeps them as its folds. */
lh_folds *lh_fold_marked(const lh_snapshot *snapshot, const uint8_t *marks);

/* `n` numbers for each spot, all LH_NO_NUMBER. Free with lh_free. */
uint32_t *lh_numbers_of_spots(const lh_folds *folds, size_t n);

static inline const lh_spot *lh_spot_at(const lh_folds *folds, lh_id id) {
  return &folds->spots[folds->spot[id]];
}

static inline uint32_t lh_folded_place(const lh_folds *folds, lh_id id) {
  return folds->folder.states[lh_spot_at(folds, id)->state].place;
}

/* A byte for each object: 1 on the paths of `ids`, which must be reachable. The caller frees it. */
uint8_t *lh_mark_paths(const lh_snapshot *snapshot, const lh_id *ids, size_t n_ids);

/* Is a state's last step any key, or a link that may never repeat? Only paths tell what such a step
** stands for. */
bool lh_is_open(const lh_folder *folder, uint32_t state);

bool lh_note_key(lh_seen_keys *seen_keys, const lh_folder *folder, uint32_t from, uint32_t to,
                 uint32_t e);

/* For all edges on the paths of these objects, which must be reachable. */
bool lh_note_keys(lh_seen_keys *seen_keys, const lh_folds *folds, const lh_id *ids, size_t n_ids);

/* A [*] that stood for one string key becomes that key, and a link that never repeated loses its
** star. So _G.users[*].mailbox says which of a user's 50 fields it is. */
uint32_t lh_place_with_keys(lh_folder *folder, const lh_seen_keys *seen_keys, uint32_t state);
