/*
** fold.h - the folded paths of objects: from edges to places (place_steps.h). Private to the
** library.
**
** Each edge is a step, or nothing (from an upvalue to its content). A path is a state in a tree
** that grows as paths are followed: (state before, step, class) -> state. So all objects of one
** place end in one state, and a million of them cost a lookup for each step. A state is a place
** that knows the classes on the way; states of one walk remember which keys it met.
*/
#ifndef LUAHEAP_FOLD_H
#define LUAHEAP_FOLD_H

#include "names.h"
#include "place_steps.h"

lh_form lh_form_of(const lh_snapshot *snapshot, const lh_edge *edge);

/* The step that an edge is, the key of which is a part of it; LH_NO_NUMBER: out of memory. */
uint32_t lh_step_of_edge(lh_place_tree *tree, const lh_snapshot *snapshot, const lh_edge *edge);

/* {=== Folding ======================================================================= */

typedef struct lh_fold_state {
  uint32_t parent;
  uint32_t place;       /* as which it is told; its last step is the state's own */
  uint32_t class_index; /* of the object reached, if it is specific; else UINT32_MAX */
  lh_id key;            /* the one string key that [*] stood for so far; LH_NO_OBJECT: many */
  bool once;            /* of what is starred: up to now it stood for one only */
} lh_fold_state;

#define LH_FOLD_START 0u

typedef struct lh_folder {
  const lh_snapshot *snapshot;
  lh_place_tree *tree;
  lh_map interned;
  lh_map memo;        /* of steps between table and value */
  lh_map known_steps; /* of the other edges: kind, name, ordinal, class -> step */
  lh_map holders;     /* weak table -> the step around it */
  uint32_t any_key;   /* step */
  lh_fold_state *states;
  size_t n_states, capacity;
} lh_folder;

/* False: out of memory. */
bool lh_folder_begin(lh_folder *folder, const lh_snapshot *snapshot, lh_place_tree *tree);
void lh_folder_free(lh_folder *folder);

/* There will be no more steps, only places: frees what steps need. */
void lh_folder_settle(lh_folder *folder);

/* The state behind an edge; LH_NO_NUMBER when out of memory. `any_key`: the key varies between
** objects of one place. */
uint32_t lh_fold_step(lh_folder *folder, uint32_t state, const lh_edge *edge, bool any_key);

/* The same for one who follows a single path: what varies is found out here. */
uint32_t lh_fold_edge(lh_folder *folder, uint32_t state, const lh_edge *edge);

/* The place of a state, in which a [*] that stood for one string key only is that key, and a link
** that never followed itself has no star: so _G.users[*].mailbox tells which of a user's 50 fields
** it is. LH_NO_NUMBER: out of memory. */
uint32_t lh_place_with_keys(lh_folder *folder, uint32_t state);

/* May the keys of this table vary at all? True for maps, false for _G and modules. */
typedef enum lh_key_sense { LH_KEYS_MEAN, LH_KEYS_VARY, LH_KEYS_DEPEND } lh_key_sense;
lh_key_sense lh_key_sense_of(const lh_snapshot *snapshot, lh_id table);

/* Fewer values than this of one class never do. */
enum { LH_LEAST_ALIKE = 4 };

/* With LH_KEYS_DEPEND: do they, if `n_alike` of `n_values` keyed objects have this class? */
bool lh_keys_vary(const lh_snapshot *snapshot, uint32_t class_index, uint32_t n_alike,
                  uint32_t n_values);

/* Is this a value that tells whether keys vary: under a string, and no string? */
bool lh_is_keyed_object(const lh_snapshot *snapshot, const lh_edge *edge);

/* }=================================================================================== */

/* {=== fold_paths.c ================================================================== */

/* The paths that many objects are named by (lh_naming_parent), folded. All zero are none. */
typedef struct lh_folded_paths {
  lh_folder folder;
  uint32_t *state; /* of each object on one of them: what its own path is, folded */
  lh_id *order;    /* those objects, the root first: each behind its dominators */
  size_t n;
} lh_folded_paths;

/* Called for each of those objects, after the one before it: `edge` leads to it, and state[] says
** what its path is. False: out of memory. */
typedef bool (*lh_visit)(const lh_edge *edge, void *payload);

/* Folds the paths of all `ids` (reachable, in any order), meeting each object once, of a
** snapshot that has been classified. `visit` may be NULL. False: out of memory. To be followed by
** lh_free_folded, whatever it returns. O(edges of the objects on the paths), 4 bytes an object of
** the snapshot and 4 more for each of those. */
bool lh_fold_paths(lh_folded_paths *paths, const lh_snapshot *snapshot, const lh_id *ids,
                   size_t n_ids, lh_visit visit, void *payload);
void lh_free_folded(lh_folded_paths *paths);

/* Keeps the states alone: there will be no more steps. */
void lh_settle_folded(lh_folded_paths *paths);

/* }=================================================================================== */

#endif
