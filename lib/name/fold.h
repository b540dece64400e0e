/*
** fold.h - the folded paths of objects: from edges to places (place_steps.h). Private to the
** library.
**
** Each edge is a step, or nothing (from an upvalue to its content). A path is a state in a tree
** that grows as paths are followed: (state before, step, class) -> state. So all objects of one
** place end in one state, and a million of them cost a lookup for each step. A state is a place
** that knows the classes on the way.
**
** The paths that all objects of a snapshot are named by are folded once (fold_paths.c): each object
** has a number then, its spot, which says its state and its class. Whoever counts objects by place
** counts them by spot.
*/
#ifndef LUAHEAP_FOLD_H
#define LUAHEAP_FOLD_H

#include "names.h"
#include "place_steps.h"

lh_form lh_form_of(const lh_snapshot *snapshot, const lh_edge *edge);

/* The step that an edge is, the key of which is a part of it; LH_NO_NUMBER: out of memory. */
uint32_t lh_step_of_edge(lh_place_tree *tree, const lh_snapshot *snapshot, const lh_edge *edge);

/* ==== Folding ======================================================================= */

typedef struct lh_fold_state {
  uint32_t parent;
  uint32_t place;       /* as which it is told; its last step is the state's own */
  uint32_t class_index; /* of the object reached, if it is specific; else UINT32_MAX */
  bool is_link;         /* its step is a link that has a star because of the class, which it may
                           have once only */
} lh_fold_state;

#define LH_FOLD_START 0u

typedef struct lh_folder {
  const lh_snapshot *snapshot;
  lh_place_tree *tree;
  lh_map interned;
  lh_map memo;        /* of steps between table and value */
  lh_map known_steps; /* of the other edges: what their texts tell -> step */
  lh_map holders;     /* weak table -> the step around it */
  uint32_t any_key;   /* step */
  lh_fold_state *states;
  size_t n_states, capacity;
} lh_folder;

/* False: out of memory. */
bool lh_folder_begin(lh_folder *folder, const lh_snapshot *snapshot, lh_place_tree *tree);
void lh_folder_free(lh_folder *folder);

/* Keeps the states alone, which makes the next steps slower. */
void lh_folder_settle(lh_folder *folder);

/* The key of an edge to a value by its number, if it is a string, else LH_NO_OBJECT. */
static inline lh_id lh_key_of_row(const lh_snapshot *s, uint32_t e) {
  lh_id key = s->label[e] & LH_LABEL_KEYED ? lh_true_target(s, e - 1) : LH_NO_OBJECT;
  return lh_is_string(s, key) ? key : LH_NO_OBJECT;
}

/* The state behind an edge; LH_NO_NUMBER when out of memory. `any_key`: the key varies between
** objects of one place. */
uint32_t lh_fold_step(lh_folder *folder, uint32_t state, const lh_edge *edge, bool any_key);

/* The same for one who follows a single path: what varies is found out here. */
uint32_t lh_fold_edge(lh_folder *folder, uint32_t state, const lh_edge *edge);

/* May the keys of this table vary at all? True for maps, false for _G and modules. */
typedef enum lh_key_sense { LH_KEYS_MEAN, LH_KEYS_VARY, LH_KEYS_DEPEND } lh_key_sense;
lh_key_sense lh_key_sense_of(const lh_snapshot *snapshot, lh_id table);

/* Fewer values than this of one class never do. */
enum { LH_LEAST_ALIKE = 4 };

/* With LH_KEYS_DEPEND: do they, if `n_alike` of `n_values` keyed objects have this class? */
bool lh_keys_vary(const lh_snapshot *snapshot, uint32_t class_index, uint32_t n_alike,
                  uint32_t n_values);

/* Does what is under a key tell whether keys vary: under a string, and no string? */
static inline bool lh_tells_of_keys(const lh_snapshot *s, lh_id key, lh_id value) {
  enum {
    TELLS = 1 << LH_TYPE_TABLE | 1 << LH_TYPE_USERDATA | 1 << LH_TYPE_THREAD | 1 << LH_TYPE_CLOSURE
  };
  return TELLS >> (s->kind[value] & LH_KIND_TYPE) & 1 && lh_is_string(s, key);
}

/* The same of a reference by its number. */
static inline bool lh_is_keyed_object(const lh_snapshot *s, uint32_t e) {
  return s->label[e] & LH_LABEL_KEYED &&
         lh_tells_of_keys(s, lh_true_target(s, e - 1), lh_true_target(s, e));
}

/* ==== fold_paths.c ================================================================== */

/* Objects of one class, the paths of which lead to one state. */
typedef struct lh_spot {
  uint32_t state;
  uint32_t class_index; /* UINT32_MAX: luaheap's own objects */
} lh_spot;

/* The paths that the objects of a snapshot are named by (lh_naming_parent), folded. They are freed
** with its classes. */
struct lh_folds {
  lh_folder folder;
  lh_spot *spots; /* the first is that of LH_ROOT, and of what is not reachable */
  size_t n_spots, capacity;
  uint32_t *spot; /* of each object */
  lh_id *order;   /* the reachable objects, the root first: each behind its dominators */
  size_t n;
};

/* Those of a snapshot that has been classified, made at the first call. Another analysis of the
** snapshot frees them, so nobody keeps them across one. NULL: out of memory. O(edges); 8 bytes an
** object are kept. */
lh_folds *lh_folds_of(const lh_snapshot *snapshot);

/* The same of the paths that lh_mark_paths marked alone; they become those of the snapshot, which
** has none yet. */
lh_folds *lh_fold_marked(const lh_snapshot *snapshot, const uint8_t *marks);

/* `n` numbers for each spot, all LH_NO_NUMBER. NULL: out of memory; freed by lh_free. */
uint32_t *lh_numbers_of_spots(const lh_folds *folds, size_t n);

static inline const lh_spot *lh_spot_at(const lh_folds *folds, lh_id id) {
  return &folds->spots[folds->spot[id]];
}

/* What the path of an object is, folded: a place of the folder's tree. */
static inline uint32_t lh_folded_place(const lh_folds *folds, lh_id id) {
  return folds->folder.states[lh_spot_at(folds, id)->state].place;
}

/* A byte for each object: 1 on the paths of `ids`, which are reachable, the root included. NULL:
** out of memory; freed by the caller. */
uint8_t *lh_mark_paths(const lh_snapshot *snapshot, const lh_id *ids, size_t n_ids);

/* What a state stood for in the paths that a question is about. */
typedef struct lh_met_state {
  lh_id key;    /* if its step is any key: the one string key; LH_ROOT: none, LH_NO_OBJECT: many */
  bool repeats; /* if it is a link: the link followed itself */
} lh_met_state;

/* All zero is none. */
typedef struct lh_met {
  lh_met_state *list; /* of each state; what has no room was not met */
  size_t n;
} lh_met;

/* Notes the edge from one state to another, by its key if that is a string, else LH_NO_OBJECT.
** False: out of memory. */
bool lh_meet_key(lh_met *met, const lh_folder *folder, uint32_t from, uint32_t to, lh_id key);

/* The same for all edges on the paths that are marked; marks NULL: on all. */
bool lh_meet_keys(lh_met *met, const lh_folds *folds, const uint8_t *marks);

/* The place of a state, in which a [*] that stood for one string key only is that key, and a link
** that never followed itself has no star: so _G.users[*].mailbox tells which of a user's 50 fields
** it is. LH_NO_NUMBER: out of memory. */
uint32_t lh_place_with_keys(lh_folder *folder, const lh_met *met, uint32_t state);

#endif
