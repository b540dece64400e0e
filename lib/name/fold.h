/*
** fold.h - paths as text, exact or folded. Private to the library.
**
** A path is told piece by piece. Each edge is one of: a new beginning ("_G", "upvalue bus of
** function f @app.lua:1": what came before it needs no telling), something behind (".x"),
** something in front ("metatable of "), around ("value of ... in weak table _G.cache"), or
** nothing (from an upvalue to its content).
**
** Folded, a path is a state in a tree that grows as paths are followed: (state before, piece) ->
** state. So all objects of one place end in one state, and a million of them cost a lookup for
** each step.
*/
#ifndef LUAHEAP_FOLD_H
#define LUAHEAP_FOLD_H

#include "names.h"

typedef enum lh_form {
  LH_FORM_BASE,
  LH_FORM_BEHIND,
  LH_FORM_FRONT,
  LH_FORM_AROUND,
  LH_FORM_NOTHING
} lh_form;

lh_form lh_form_of(const lh_snapshot *snapshot, const lh_edge *edge);

/* The piece that an edge adds. `phrase`: a new beginning that needs parentheses before a suffix. */
void lh_add_piece(lh_text *text, const lh_snapshot *snapshot, const lh_edge *edge, bool folded,
                  bool *phrase);

/* Text made of pieces so far, and whether it is a phrase. */
typedef struct lh_telling {
  lh_text text;
  bool phrase;
} lh_telling;

void lh_tell(lh_telling *telling, lh_form form, const char *piece, size_t n, bool phrase);

/* A text of more bytes is told without its middle: at each end five pieces are shown, or fewer if
** that is too long, too; at least one. */
enum { LH_PATH_BYTES = 2000, LH_SHOWN_AT_ENDS = 5 };

static inline size_t lh_fewer(size_t shown) {
  return shown > LH_SHOWN_AT_ENDS ? LH_SHOWN_AT_ENDS : shown / 2;
}

/* {=== Folding ======================================================================= */

typedef struct lh_fold_state {
  uint32_t parent;
  lh_text_id piece;
  uint32_t class_index; /* of the object reached, if it is specific; else UINT32_MAX */
  uint32_t depth;       /* pieces since the beginning */
  lh_id key;            /* the one string key that [*] stood for so far; LH_NO_OBJECT: many */
  uint8_t form;
  bool phrase;
  bool starred; /* piece stands for one or more */
  bool once;    /* of these: up to now it stood for one only */
} lh_fold_state;

#define LH_FOLD_START 0u

typedef struct lh_folder {
  const lh_snapshot *snapshot;
  lh_strings pieces;
  lh_map interned;
  lh_map memo;    /* of steps between table and value */
  lh_map holders; /* weak table -> the piece that tells it */
  lh_fold_state *states;
  size_t n_states, capacity;
} lh_folder;

int lh_folder_init(lh_folder *folder, const lh_snapshot *snapshot, lh_error *error);
void lh_folder_free(lh_folder *folder);

/* There will be no more steps, only texts: frees what steps need. */
void lh_folder_settle(lh_folder *folder);

/* The state behind an edge; LH_NO_NUMBER when out of memory. `any_key`: the key varies between
** objects of one place. */
uint32_t lh_fold_step(lh_folder *folder, uint32_t state, const lh_edge *edge, bool any_key);

/* The same for one who follows a single path: what varies is found out here. */
uint32_t lh_fold_edge(lh_folder *folder, uint32_t state, const lh_edge *edge);

/* With `keys` a [*] that stood for one string key only is that key, and a link that never followed
** itself has no star: so _G.users[*].mailbox tells which of a user's 50 fields it is. */
void lh_fold_text(const lh_folder *folder, uint32_t state, bool keys, lh_text *text);

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

/* The shortest paths of many objects, folded. All zero are none. */
typedef struct lh_folded_paths {
  lh_folder folder;
  uint32_t *state; /* of each object on one of them: what its own path is, folded */
  lh_id *order;    /* those objects, the root first: each behind its dominators */
  size_t n;
} lh_folded_paths;

/* Called for each of those objects, after the one before it: `edge` leads to it, and state[] says
** what its path is. False: out of memory. */
typedef bool (*lh_visit)(const lh_edge *edge, void *payload);

/* Folds the shortest paths of all `ids` (reachable, in any order), meeting each object once.
** `visit` may be NULL. False: out of memory. To be followed by lh_free_folded, whatever it returns.
** O(edges of the objects on the paths), 4 bytes an object of the snapshot and 4 more for each of
** those. */
bool lh_fold_paths(lh_folded_paths *paths, const lh_snapshot *snapshot, const lh_id *ids,
                   size_t n_ids, lh_visit visit, void *payload);
void lh_free_folded(lh_folded_paths *paths);

/* Keeps the folder alone, for texts: there will be no more steps. */
void lh_settle_folded(lh_folded_paths *paths);

/* }=================================================================================== */

#endif
