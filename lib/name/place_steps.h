/*
** place_steps.h - places as sequences of steps. Private to the library.
**
** A step is a kind and a label: ".bus", any key, "upvalue n of function f", once or repeated.
** Places are vertices of a tree whose edges are steps, so equal sequences are equal numbers. A
** snapshot has one tree for all its analyses. Comparisons of several snapshots have their own tree,
** into which places are copied by the texts of their steps.
**
** A label has marks around the parts that differ between runs, machines or builds: the directory of
** a source, a line, an address. The stable label is without these. The identity of a place is a
** hash of its parent's identity and its last stable label. 54 bytes a place, 64 a step, and the
** texts.
*/
#pragma once

#include "map.h"
#include "text.h"

/* How the text of a step joins the text before it. */
typedef enum lh_form {
  LH_FORM_BASE,   /* a new beginning: "_G", "local x in function f"; drops the text before */
  LH_FORM_BEHIND, /* ".x" */
  LH_FORM_FRONT,  /* "metatable of " */
  LH_FORM_AROUND, /* "value of ... in weak table _G.cache" */
  LH_FORM_NOTHING /* from an upvalue to its content */
} lh_form;

/* Kinds of steps besides lh_edge_kind. */
enum {
  LH_STEP_GLOBALS = 32, /* the base _G */
  LH_STEP_LOADED,       /* the base package.loaded */
  LH_STEP_TEXT,         /* a base with only a text */
  LH_STEP_ANY_KEY,      /* [*] */
  LH_STEP_ANY_LINK,     /* .*: links of several names */
  LH_STEP_REPEAT,       /* (.a.b)*: the steps of its body, once or more */
  LH_STEP_MORE          /* " ...": everything below a place of 40 steps */
};

typedef struct lh_place_step {
  uint8_t kind, form;
  bool phrase;      /* needs parentheses before a step behind it */
  bool has_any_key; /* it is any key, or its body has one */
  lh_text_id label;
  lh_text_id stable;     /* without the parts that differ in other runs */
  uint32_t n_own;        /* in front: length of its own words, "upvalue n" */
  uint32_t holder;       /* around: the place of the weak table, if known */
  uint32_t body, n_body; /* repeated: its steps, in the tree's `bodies` */
} lh_place_step;

typedef struct lh_place_vertex {
  uint32_t parent; /* of a base: itself */
  uint32_t step;
  uint32_t depth; /* steps after the base */
  uint64_t identity;
} lh_place_vertex;

/* A number for each place or step of a tree; LH_NO_NUMBER: not known yet. */
typedef struct lh_place_notes {
  uint32_t *list;
  size_t n, capacity;
} lh_place_notes;

typedef struct lh_place_tree {
  lh_strings texts;
  lh_place_step *steps;
  lh_place_vertex *list;
  uint32_t *bodies;
  size_t n_steps, step_capacity, n, capacity, n_bodies, body_capacity;
  lh_map step_of, place_of;
  lh_map around;                                         /* weak table -> the step through it */
  lh_place_notes without_numbers, steps_without_numbers; /* lh_place_without_numbers */
} lh_place_tree;

/* Functions that make a place return LH_NO_NUMBER also if the parent is that; LH_NO_PLACE: none. */
#define LH_NO_PLACE (UINT32_MAX - 1)

/* With the steps of repeated bodies counted one by one. */
enum { LH_MOST_STEPS_OF_PLACE = 256 };

void lh_place_tree_free(lh_place_tree *tree);

/* Needs lh_classify. */
lh_place_tree *lh_places_of(const lh_snapshot *snapshot);

/* fold_paths.c: where the object is, in that tree. LH_NO_NUMBER: out of memory. */
uint32_t lh_place_of_object(const lh_snapshot *snapshot, lh_id id);

/* path_text.c: the last steps of the places of a path's last n edges, last first. Needs
** lh_classify. */
bool lh_last_steps(const lh_snapshot *snapshot, const lh_edge *path, size_t n_path, uint32_t *steps,
                   size_t n);

/* Frees the texts. stable NULL: the label without the text between its marks. */
uint32_t lh_intern_step(lh_place_tree *tree, lh_place_step step, lh_text *label, lh_text *stable);

/* Repeats n steps: (.children[*])*, (metatable.__index)*. */
uint32_t lh_intern_repeat(lh_place_tree *tree, const uint32_t *body, size_t n);

uint32_t lh_any_key(lh_place_tree *tree);

static inline const char *lh_step_label(const lh_place_tree *tree, uint32_t step) {
  return tree->texts.texts[tree->steps[step].label];
}

static inline bool lh_is_starred(const lh_place_step *step) {
  return step->kind >= LH_STEP_ANY_LINK;
}

/* A base ignores `parent`. */
uint32_t lh_place_behind(lh_place_tree *tree, uint32_t parent, uint32_t step);

/* A place that is only a text, which is freed. */
uint32_t lh_place_of_text(lh_place_tree *tree, lh_text *text);

static inline const lh_place_step *lh_last_step(const lh_place_tree *tree, uint32_t place) {
  return &tree->steps[tree->list[place].step];
}

/* The place without its last step; LH_NO_PLACE: it is a base. */
static inline uint32_t lh_place_before(const lh_place_tree *tree, uint32_t place) {
  uint32_t parent = tree->list[place].parent;
  return parent == place ? LH_NO_PLACE : parent;
}

/* Is it under a fixed key? Strings there are fields of one record. */
static inline bool lh_place_is_field(const lh_place_tree *tree, uint32_t place) {
  return lh_last_step(tree, place)->kind == LH_EDGE_VALUE;
}

/* The weak table of the last step; LH_NO_PLACE: none. */
static inline uint32_t lh_place_of_holder(const lh_place_tree *tree, uint32_t place) {
  return lh_last_step(tree, place)->holder;
}

/* ==== Relations of places ============================================================ */

/* Is `place` equal to `whole`, or does it begin with the steps of that? */
bool lh_place_goes_on(const lh_place_tree *tree, uint32_t place, uint32_t whole);

/* Is `place` equal to `whole` or below it, or in a weak table that is? */
bool lh_place_is_inside(const lh_place_tree *tree, uint32_t place, uint32_t whole);

/* The table of which a place is any key or all keys; LH_NO_PLACE: none. */
uint32_t lh_place_container(const lh_place_tree *tree, uint32_t place);

/* The variable or module with which a place begins. For a place of keys, the keys of that. */
uint32_t lh_place_base(lh_place_tree *tree, uint32_t place);

/* With [*] for the one key in which two places differ. LH_NO_PLACE: they differ otherwise. */
uint32_t lh_place_in_common(lh_place_tree *tree, uint32_t place, uint32_t other);

/* ==== Copies and joined places ======================================================= */

enum {
  LH_COPY_STABLE = 1,       /* without parts that differ between runs, machines and builds */
  LH_COPY_ALL_NUMBERS = 2,  /* * for all numbers */
  LH_COPY_WITHOUT_STARS = 4 /* each repeated link once */
};

uint32_t lh_place_copy(lh_place_tree *to, const lh_place_tree *from, uint32_t place, unsigned how);

/* Copies of many places of one tree: each takes one more step than that of the place before it.
** `how`: 0 or LH_COPY_STABLE. */
typedef struct lh_place_copies {
  lh_place_tree *to;
  const lh_place_tree *from;
  unsigned how;
  lh_place_notes places, steps;
} lh_place_copies;

uint32_t lh_place_copy_of(lh_place_copies *copies, uint32_t place);
void lh_place_copies_free(lh_place_copies *copies);

/* With * for numbers in the names of globals and modules, and below them. LH_NO_PLACE: it has no
** numbers. O(1) once the place before is known. */
uint32_t lh_place_without_numbers(lh_place_tree *tree, uint32_t place);

/* With * where two places differ in numbers. LH_NO_PLACE: they differ in more. */
uint32_t lh_place_of_both(lh_place_tree *tree, uint32_t place, uint32_t other);

/* ==== place_text.c: the printer ====================================================== */

/* The text so far, and whether it needs parentheses. */
typedef struct lh_step_printer {
  lh_text text;
  bool phrase;
} lh_step_printer;

void lh_print_step(lh_step_printer *printer, lh_form form, const char *piece, size_t n,
                   bool phrase);

/* A longer text shows only five pieces at each end, or fewer, but at least one. */
enum { LH_PATH_BYTES = 2000, LH_SHOWN_AT_ENDS = 5 };

static inline size_t lh_fewer(size_t shown) {
  return shown > LH_SHOWN_AT_ENDS ? LH_SHOWN_AT_ENDS : shown / 2;
}

void lh_place_text(const lh_place_tree *tree, uint32_t place, lh_text *out);

/* The part of the text below `above`: ".hosts.localhost" of _G.app.hosts.localhost below _G.app;
** "upvalue s" of upvalue s of function f @app.lua:7 in _G.app.f below _G.app.f. All of it if
** `place` is elsewhere. */
void lh_place_text_below(const lh_place_tree *tree, uint32_t place, uint32_t above, lh_text *out);

/* ==== siblings.c: rows whose places differ in the key of one step ===================== */

typedef struct lh_sibling {
  uint32_t place;  /* where the row is */
  uint64_t kind;   /* of its objects: siblings have the same */
  uint64_t weight; /* how much it grows; 0: it has no siblings */
  uint32_t first;  /* out: index of the first of its siblings, or its own */
  uint32_t all;    /* out, of the first: `_G.shards.{eu, us and 3 more}.log`; alone: its place */
} lh_sibling;

/* Three rows or more that grow alike are siblings: each by a quarter of the greatest or more, so
** that none hides a culprit. Takes at most the first 256 rows with a weight. */
bool lh_find_siblings(lh_place_tree *tree, lh_sibling *rows, size_t n);

/* ==== stable_text.c ================================================================== */

/* This many paths that differ only in numbers become one. */
enum { LH_MANY_NUMBERS = 8 };

/* With * for each number. False: it has none, and `out` stays empty. */
bool lh_fold_digits(lh_text *out, const char *text);

/* The same for a function of loaded code: 'function [string "return *"]:1', where the line stays.
** False for other names, too. */
bool lh_fold_loaded_code(lh_text *out, const char *text);
size_t lh_digits(const char *text); /* how many digits the text begins with */

/* The name of a module ends after n bytes. plugins.shop_r12 becomes plugins.*, because a package
** with numbered modules often has several kinds. */
bool lh_fold_module_name(lh_text *out, const char *text, size_t n);

/* Two texts that differ in numbers, or in a number and a *: de_1 and de_2 become de_*. False: they
** differ otherwise, and `out` is empty. */
bool lh_fold_differing(lh_text *out, const char *text, const char *other);
