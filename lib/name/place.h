/*
** place.h - where objects hang: a place is a class and a folded path (fold.h). Whoever adds up what
** many objects are does it by place: a million that hang alike are one row. Private to the library.
**
** One walk folds the paths of all the objects that are asked for, which gives each a state. Class
** and state are its place, and places with one class and one text are the same. So most objects
** cost a lookup, and a text is made once for each state.
*/
#ifndef LUAHEAP_PLACE_H
#define LUAHEAP_PLACE_H

#include "name/fold.h"

/* {=== place.c ======================================================================= */

typedef struct lh_place {
  uint32_t class_index; /* UINT32_MAX: it is told by its text alone */
  uint32_t state;       /* one of those that it has */
  lh_text_id path;
  lh_text_id module; /* the name of its class with * for numbers; LH_NO_NUMBER: it has none */
  bool joined;       /* it is one of many paths that only numbers tell apart, or all of them */
  bool several;      /* its objects are of several classes */
} lh_place;

typedef struct lh_places {
  lh_folded_paths paths;
  lh_strings texts; /* the first is "...", for those that no room is left for */
  lh_place *list;
  size_t n, capacity;
  lh_map by_state; /* class, state -> place */
  lh_map by_text;  /* class, path -> place */
} lh_places;

/* Finds the places of all `ids` (reachable, in any order). False: out of memory. To be followed by
** lh_places_free, whatever it returns. O(edges of the objects on their paths). */
bool lh_places_make(lh_places *places, const lh_snapshot *snapshot, const lh_id *ids, size_t n_ids);

/* The same, but of `ids` only the first n_placed get a place; the others' paths are folded. */
bool lh_places_make_some(lh_places *places, const lh_snapshot *snapshot, const lh_id *ids,
                         size_t n_ids, size_t n_placed);
void lh_places_free(lh_places *places);

static inline uint64_t lh_state_key(const lh_places *places, lh_id id) {
  uint32_t class_index = lh_class_of(places->paths.folder.snapshot, id);
  return (uint64_t)class_index << 32 | places->paths.state[id];
}

/* The place of one of those. */
static inline uint32_t lh_place_of(const lh_places *places, lh_id id) {
  return lh_map_get(&places->by_state, lh_state_key(places, id));
}

/* The place that is told by a text alone; LH_NO_NUMBER: out of memory. */
uint32_t lh_place_called(lh_places *places, lh_text *text);

/* The number of its path among the texts. */
static inline lh_text_id lh_path_of(const lh_places *places, lh_id id) {
  return places->list[lh_place_of(places, id)].path;
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

/* The types of the objects at places: bits, by lh_type. */
unsigned lh_types_at(const lh_places *places);

/* Of the texts that objects are counted by: the one with most, of those with as many the first in
** the order of bytes; texts->n: none has any. */
size_t lh_most_of(const lh_strings *texts, const uint64_t *objects);

/* }=================================================================================== */

/* {=== stable_text.c ================================================================= */

/* The text of a class or path without what differs between runs, machines and builds: the lines of
** functions, the directories of their files, addresses. */
void lh_stable_text(lh_text *out, const char *text);

/* From so many paths on that differ in their numbers only they are one. */
enum { LH_MANY_NUMBERS = 8 };

/* Any text with * for each number in it. False: it has none, and `out` stays empty. */
bool lh_fold_digits(lh_text *out, const char *text);

/* The same of a path from _G or package.loaded: _G.request_*. */
bool lh_fold_numbers(lh_text *out, const char *path);

/* Two texts that are the same but for their numbers, or a * for one, as one: with * where these
** differ. So of _G.i18n.de_1 and _G.i18n.de_2 comes _G.i18n.de_*. False: they are not the same, and
** `out` is empty. */
bool lh_fold_differing(lh_text *out, const char *text, const char *other);

/* The same of the class of a module, which has its name: module tenant_*. */
bool lh_fold_module(lh_text *out, const lh_class_entry *class);

/* }=================================================================================== */

/* {=== fingerprint.c ================================================================= */

/* The fingerprint of objects of a class under a folded path. False: out of memory. */
bool lh_fingerprint(const lh_class_entry *class, const char *path, lh_print fingerprint);

/* The fingerprint of a folded path for objects of one class, and for those of the type, whatever
** their class; and both with * for the path's numbers, "" if it has none. */
typedef struct lh_prints {
  lh_print exact, folded;
  lh_print any, any_folded;
} lh_prints;

/* False: out of memory. */
bool lh_fingerprints(const lh_folder *folder, uint32_t state, const lh_class_entry *class,
                     lh_prints *prints);

/* What hangs at a place: how many objects of each part of the history, and what those retain that
** none at the same place dominates. */
typedef struct lh_at_place {
  uint64_t objects[LH_SPANS];
  uint64_t bytes;
} lh_at_place;

/* The same for each of the places with these prints (`any` of lh_print_places, of this snapshot or
** of another) and types, in one walk: strings, which are half of most heaps, are passed over if
** there are none at the places. span_of: lh_find_history; NULL: all are of the first part. Needs
** lh_classify. LH_EMEMORY. */
int lh_count_at_places(lh_snapshot *snapshot, const lh_print *prints, size_t n, unsigned types,
                       const uint8_t *span_of, lh_at_place *out, lh_error *error);

/* }=================================================================================== */

#endif
