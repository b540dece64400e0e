/*
** find.h - what the files that find objects share: find.c (addresses, places, classes), find_path.c
** (paths in Lua's language), find_phrase.c (phrases such as "upvalue bus of ...") and suggest.c
** (what was meant?). Private to the library.
**
** All work on sets of objects, because a folded path such as _G.list[*].next* or "upvalue bus of
** function on_tick @app.lua:31" names many; lh_find takes the one that retains most. In a name, a *
** stands for any text, if nothing is called so literally. lh_find_cut wants the references that the
** last step of a path or phrase follows.
*/
#ifndef LUAHEAP_FIND_H
#define LUAHEAP_FIND_H

#include "names.h"
#include "read/decode.h"

enum { LH_FIND_DEPTH = 50 }; /* of phrases in one another */

enum { LH_SEEN = 1, LH_REPEATED = 2, LH_ASKED = 4 };

typedef struct lh_set {
  lh_id *ids;
  size_t n, capacity;
} lh_set;

/* References, as lh_edges_next tells them. */
typedef struct lh_edge_list {
  lh_edge *edges;
  size_t n, capacity;
  lh_map upvalues;      /* whose contents are noted: functions share them */
  unsigned n_variables; /* of which it was asked whether they have two */
} lh_edge_list;

typedef struct lh_finder {
  lh_snapshot *snapshot;
  lh_error *error;
  uint8_t *seen; /* LH_SEEN: in the set being made, LH_REPEATED: see find_path.c, LH_ASKED: in the
                    set that references are compared with */
  const char *start;
  uint32_t class_index; /* where the whole expression was a class's name */
  int depth;
  lh_edge_list *followed; /* by the last step; NULL: not wanted */
  bool is_last;           /* this step is the last one, and they are wanted */
} lh_finder;

/* Part of an expression: [at, end). */
typedef struct lh_range {
  const char *at, *end;
} lh_range;

static inline size_t lh_range_length(lh_range range) {
  return (size_t)(range.end - range.at);
}

bool lh_range_is(lh_range range, const char *text);
/* Skips `prefix`, if the range starts with it. */
bool lh_range_skip(lh_range *range, const char *prefix);
/* Reads a hexadecimal address 0x... at the start, and skips it. */
bool lh_range_address(lh_range *range, uint64_t *address);
/* Splits at the last occurrence of `text`, or the first. */
bool lh_range_split(lh_range range, const char *text, bool last, lh_range *left, lh_range *right);

/* Is it this text, where * stands for any text? */
bool lh_range_fits(lh_range range, const char *bytes, size_t n);
bool lh_range_has_star(lh_range range);

/* Adds an object unless it is there: false when out of memory. lh_set_end follows the last. */
bool lh_set_add(lh_finder *finder, lh_set *set, lh_id id);
void lh_set_end(lh_finder *finder, const lh_set *set); /* clears the scratch */

/* Sets LH_ASKED of its members, or clears it: so many objects can be compared with many. */
void lh_set_ask(lh_finder *finder, const lh_set *set, bool on);
bool lh_is_asked(const lh_finder *finder, lh_id id);

/* Is this what a class is called? "array" are the arrays of anything, too. */
bool lh_is_class(const lh_snapshot *snapshot, uint32_t class_index, lh_range name);

/* All objects that the whole expression names. The caller frees the set and finder->seen. */
int lh_find_matches(lh_finder *finder, lh_set *set);

/* Adds the objects that a part of an expression names. LH_ENOTFOUND, LH_EARGUMENT, LH_EMEMORY. */
int lh_find_set(lh_finder *finder, lh_range range, lh_set *out);

/* "_G.bus.listeners[17]" and "(phrase).x". */
int lh_find_path(lh_finder *finder, lh_range range, lh_set *out);

/* "metatable of ...", "upvalue bus of ...". *found: whether it is such a phrase at all. */
int lh_find_phrase(lh_finder *finder, lh_range range, lh_set *out, bool *found);

/* Adds what is in front of `sources`, which `what` says without its " of ": "metatable", "user
** value 1", "key". */
int lh_find_in_front(lh_finder *finder, const lh_set *sources, lh_range what, lh_set *out);

/* Whether the references of the step that follows now are wanted: not those of a part in
** parentheses or in another phrase. */
static inline bool lh_find_is_outermost(const lh_finder *finder) {
  return finder->followed && finder->depth == 1;
}

/* With finder->is_last a reference or a table's entry that was followed is noted. False
** when out of memory. */
bool lh_follow_edge(lh_finder *finder, const lh_edge *edge);
bool lh_follow_entry(lh_finder *finder, lh_id table, lh_value key, lh_value value);

/* Fails, quoting the range where `format` has its %s. */
int lh_find_fail(lh_finder *finder, int code, const char *format, lh_range range);
int lh_find_fail_memory(lh_finder *finder);

/* LH_ENOTFOUND with this message, which is freed. */
int lh_find_fail_text(lh_finder *finder, lh_text *message);

/* ==== suggest.c ===================================================================== */

/* " (did you mean 'x', 'y'?)", from classes and the keys of a table; nothing if none is alike. */
void lh_add_suggestions(lh_text *text, const lh_snapshot *snapshot, lh_range asked, lh_id table,
                        bool classes);

/* Why no name can be found, where that is so. */
void lh_add_no_names(lh_text *text, const lh_snapshot *snapshot);

/* " (it has: x, y, 12 more)", the most alike first; where a number was asked for, or no key is a
** name, " (it has 22 integer keys, from 1 to 22)". */
void lh_add_keys(lh_text *text, const lh_snapshot *snapshot, lh_range asked, lh_id table,
                 bool number);

#endif
