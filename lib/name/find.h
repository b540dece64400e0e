/*
** find.h - shared by the files that find objects. Private to the library.
**
** find.c has addresses, places and classes; find_path.c paths; find_phrase.c phrases such as
** "upvalue bus of ..."; suggest.c "did you mean". All work on sets, because a folded path such as
** _G.list[*].next* may mean many objects; lh_find takes the one with the greatest retained size. In
** a name, * stands for any text, unless a name with a real * fits.
*/
#pragma once

#include "names.h"
#include "read/decode.h"

enum { LH_FIND_DEPTH = 50 }; /* of nested phrases */

enum { LH_SEEN = 1, LH_REPEATED = 2, LH_MARKED = 4 };

typedef struct lh_set {
  lh_id *ids;
  size_t n, capacity;
} lh_set;

typedef struct lh_edge_list {
  lh_edge *edges;
  size_t n, capacity;
  lh_map upvalues;      /* whose contents are in `edges`: functions share upvalues */
  unsigned n_variables; /* looked up so far */
} lh_edge_list;

typedef struct lh_finder {
  lh_snapshot *snapshot;
  lh_error *error;
  uint8_t *seen; /* LH_SEEN: in the set being made; LH_REPEATED: find_path.c; LH_MARKED */
  const char *start;
  uint32_t class_index; /* set if the whole expression is a class's name */
  int depth;
  lh_edge_list *followed; /* by the last step; NULL: not needed */
  bool is_last;           /* `followed` is needed, and this is the last step */
} lh_finder;

/* Part of an expression: [at, end). */
typedef struct lh_range {
  const char *at, *end;
} lh_range;

static inline size_t lh_range_length(lh_range range) {
  return (size_t)(range.end - range.at);
}

bool lh_range_is(lh_range range, const char *text);
bool lh_range_skip(lh_range *range, const char *prefix);
/* Reads and skips an address 0x... at the start. */
bool lh_range_address(lh_range *range, uint64_t *address);
/* Splits at the last or the first occurrence of `text`. */
bool lh_range_split(lh_range range, const char *text, bool last, lh_range *left, lh_range *right);

bool lh_range_fits(lh_range range, const char *bytes, size_t n);
bool lh_range_has_star(lh_range range);

/* Adds an object unless it is in the set. Call lh_set_end after the last. */
bool lh_set_add(lh_finder *finder, lh_set *set, lh_id id);
int lh_set_end(lh_finder *finder, const lh_set *set, bool has_room); /* LH_EMEMORY: no room */

void lh_set_mark(lh_finder *finder, const lh_set *set, bool on);
bool lh_is_marked(const lh_finder *finder, lh_id id);

/* Is this the name of the class, or a pattern that fits it? "array" also means arrays of
** anything. */
bool lh_is_class(const lh_snapshot *snapshot, uint32_t class_index, lh_range name, bool pattern);

/* Adds the objects of a part of an expression. LH_ENOTFOUND, LH_EARGUMENT, LH_EMEMORY. */
int lh_find_set(lh_finder *finder, lh_range range, lh_set *out);

int lh_find_path(lh_finder *finder, lh_range range, lh_set *out);

/* *found: it is a phrase, such as "metatable of ..." or "upvalue bus of ...". */
int lh_find_phrase(lh_finder *finder, lh_range range, lh_set *out, bool *found);

/* Adds the parts of `sources` named `what`: "metatable", "user value 1", "key". */
int lh_find_in_front(lh_finder *finder, const lh_set *sources, lh_range what, lh_set *out);

/* Are the references of the next step needed? Not inside parentheses or another phrase. */
static inline bool lh_find_is_outermost(const lh_finder *finder) {
  return finder->followed && finder->depth == 1;
}

/* If finder->is_last, notes a followed reference or entry of a table. */
bool lh_follow_edge(lh_finder *finder, const lh_edge *edge);
bool lh_follow_entry(lh_finder *finder, lh_id table, lh_value key, lh_value value);

/* Quotes the range at the %s of `format`. */
int lh_find_fail(lh_finder *finder, int code, const char *format, lh_range range);
int lh_find_fail_memory(lh_finder *finder);

/* LH_ENOTFOUND; frees the message. */
int lh_find_fail_text(lh_finder *finder, lh_text *message);

/* ==== suggest.c ===================================================================== */

/* " (did you mean 'x', 'y'?)", from classes and the keys of a table; nothing if none is similar. */
void lh_add_suggestions(lh_text *text, const lh_snapshot *snapshot, lh_range asked, lh_id table);

void lh_add_no_names(lh_text *text, const lh_snapshot *snapshot);

/* " (it has: x, y, 12 more)", most similar first; for a number, or if no key is a name: " (it has
** 22 integer keys, from 1 to 22)". */
void lh_add_keys(lh_text *text, const lh_snapshot *snapshot, lh_range asked, lh_id table,
                 bool number);
