/*
** place.h - the objects at places: those of one class at one place (place_steps.h). Whoever adds up
** what many objects are does it by place: a million that hang alike are one row. Private to the
** library.
**
** The spot of an object (fold.h) says its place, and spots of one class that lead to one place are
** the same. So most objects cost two looks into arrays.
*/
#ifndef LUAHEAP_PLACE_H
#define LUAHEAP_PLACE_H

#include "graph/answers.h"
#include "name/fold.h"

/* ==== place.c ======================================================================= */

typedef struct lh_place {
  uint32_t class_index; /* UINT32_MAX: it is told by its text alone */
  uint32_t state;       /* one of those that it has */
  uint32_t at;          /* the place, with keys */
  lh_text_id path;      /* its text; 0: no room was left for it */
  lh_text_id module;    /* the name of its class with * for numbers; LH_NO_NUMBER: it has none */
  bool joined;          /* it is one of many paths that only numbers tell apart, or all of them */
  bool several;         /* its objects are of several classes */
} lh_place;

typedef struct lh_places {
  lh_folds *folds;  /* of the snapshot */
  lh_met met;       /* on the paths of what was asked for */
  lh_strings texts; /* the first is "...", for those that no room is left for */
  lh_place *list;
  size_t n, capacity;
  uint32_t *of_spot; /* the place of each spot; LH_NO_NUMBER: it was not asked for */
  size_t n_spots;
  lh_map by_at; /* class, place with keys -> place */
} lh_places;

/* Finds the places of the first n_placed of `ids` (reachable, in any order). Keys are met on the
** paths of all. False: out of memory. To be followed by lh_places_free, whatever it returns. O(n),
** once the paths are folded. */
bool lh_places_make(lh_places *places, const lh_snapshot *snapshot, const lh_id *ids, size_t n_ids,
                    size_t n_placed);
void lh_places_free(lh_places *places);

static inline lh_place_tree *lh_tree_of(const lh_places *places) {
  return places->folds->folder.tree;
}

/* The place of one of those. */
static inline uint32_t lh_place_of(const lh_places *places, lh_id id) {
  return places->of_spot[places->folds->spot[id]];
}

/* Where a place is, folded: without its keys. */
static inline uint32_t lh_folded_at(const lh_places *places, const lh_place *place) {
  return places->folds->folder.states[place->state].place;
}

/* The place that is told by a text alone; LH_NO_NUMBER: out of memory. */
uint32_t lh_place_called(lh_places *places, lh_text *text);

/* The number of its path among the texts. */
static inline lh_text_id lh_path_of(const lh_places *places, lh_id id) {
  return places->list[lh_place_of(places, id)].path;
}

/* Its place with keys. */
static inline uint32_t lh_at_of(const lh_places *places, lh_id id) {
  return places->list[lh_place_of(places, id)].at;
}

/* What hangs alike is one place, whatever it is: objects of one type and path, such as records
** whose optional fields differ, or code that was generated for each of them. Keys of _G,
** package.loaded and modules mean something, so each is a path of its own; but a thousand globals
** _G.request_1 ... are one place. Where LH_MANY_NUMBERS paths or more to objects of one type differ
** in their numbers only, they are one, which is then _G.request_*: numbers that are the same in all
** of them stay. Of those that are one, the first stays. False: out of memory. */
bool lh_join_places(lh_places *places);

/* The fingerprints of each place: of its own objects, and of what hangs there whatever its class.
** Of several paths that have one text it is the least: so it does not depend on the order of the
** objects. False: out of memory. */
typedef char lh_print[LH_FINGERPRINT_BYTES];
bool lh_print_places(const lh_places *places, lh_print *own, lh_print *any);

/* Of the texts that objects are counted by: the one with most, of those with as many the first in
** the order of bytes; texts->n: none has any. */
size_t lh_most_of(const lh_strings *texts, const uint64_t *objects);

/* ==================================================================================== */

/* stable_text.c: the name of the class of a module with * for its numbers, as of the module: module
** tenant_*. False: it has none, or is of no module, and `out` stays empty. */
bool lh_fold_module(lh_text *out, const lh_class_entry *class);

/* ==== fingerprint.c ================================================================= */

/* The fingerprint of objects of a class at a place with this identity; the class has a name that is
** the same in other runs. False: out of memory. */
bool lh_fingerprint(const lh_class_entry *class, const char *stable_name, uint64_t identity,
                    lh_print fingerprint);

/* The fingerprint of a place for objects of one class, and for those of the type, whatever their
** class; and both with * for the place's numbers, "" if it has none. */
typedef struct lh_prints {
  lh_print exact, folded;
  lh_print any, any_folded;
} lh_prints;

/* False: out of memory. */
bool lh_fingerprints(const lh_folder *folder, uint32_t state, const lh_class_entry *class,
                     lh_prints *prints);

/* What the fingerprint was in the release before; class NULL: of any class of the type.
** False: out of memory. */
bool lh_older_fingerprint(const lh_class_entry *class, const char *name, lh_type type,
                          const lh_place_tree *tree, uint32_t place, lh_print print);

/* What hangs at a place: how many objects of each part of the history, and what those retain that
** none at the same place dominates. */
typedef struct lh_at_place {
  uint64_t objects[LH_SPANS];
  uint64_t bytes;
} lh_at_place;

/* The same for each of the places with these prints (`any` of lh_print_places, of this snapshot or
** of another), in one pass. span_of: lh_find_history. Needs lh_classify. LH_EMEMORY. */
int lh_count_at_places(lh_snapshot *snapshot, const lh_print *prints, size_t n,
                       const uint8_t *span_of, lh_at_place *out, lh_error *error);

/* How many objects are at one spot, and the numbers of the prints `any` and `any_folded` of its
** place, LH_NO_PRINT where it has none: all that is to be known of a snapshot to count its objects
** at any places. */
#define LH_NO_PRINT UINT64_MAX
typedef struct lh_printed {
  uint64_t any, any_folded, objects;
} lh_printed;

/* Of all spots. Needs lh_classify_for_places. Freed with lh_free. LH_EMEMORY. O(n). */
int lh_list_printed(const lh_snapshot *snapshot, lh_printed **out, size_t *n, lh_error *error);

/* Counts the objects at the places with these prints, in the first part of a history. False: out of
** memory. */
bool lh_count_printed(const lh_printed *list, size_t n_list, const lh_print *prints, size_t n,
                      lh_at_place *out);

#endif
