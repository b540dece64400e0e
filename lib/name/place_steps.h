/*
** place_steps.h - places as sequences of steps: what is inside of what, what is the same place.
** Private to the library.
**
** A step is a kind and a label: ".bus", any key, "upvalue n of function f", once or repeated.
** Places are the vertices of a tree whose edges are steps, so a place is a number, and equal
** sequences are equal numbers. A snapshot has one tree for all its analyses (classes.c owns it);
** ladders and trials have their own, into which the places of each snapshot are copied by the texts
** of their steps.
**
** A label is made with marks around what another run, machine or build changes: the directory of a
** source, a line, an address. So no text is read back to find them. A step keeps its label and what
** of that is stable; the identity of a place is a hash of the stable labels, and is its own
** parent's identity with one step more. All this is private to one question of hundreds of steps
** and thousands of places: 50 bytes a place, 60 a step and its texts.
*/
#ifndef LUAHEAP_PLACE_STEPS_H
#define LUAHEAP_PLACE_STEPS_H

#include "map.h"
#include "text.h"

/* How the text of a step joins that of the steps before it. */
typedef enum lh_form {
  LH_FORM_BASE,   /* a new beginning: "_G", "local x in function f": nothing is told before it */
  LH_FORM_BEHIND, /* ".x" */
  LH_FORM_FRONT,  /* "metatable of " */
  LH_FORM_AROUND, /* "value of ... in weak table _G.cache" */
  LH_FORM_NOTHING /* from an upvalue to its content */
} lh_form;

/* The kinds of steps that are not an lh_edge_kind. */
enum {
  LH_STEP_GLOBALS = 32, /* the base _G */
  LH_STEP_LOADED,       /* the base package.loaded */
  LH_STEP_TEXT,         /* a base that is told by a text alone */
  LH_STEP_ANY_KEY,      /* [*] */
  LH_STEP_ANY_LINK,     /* .*: links of several names */
  LH_STEP_REPEAT,       /* (.a.b)*: the steps of its body, once or more */
  LH_STEP_MORE          /* " ...": all that is behind a place of 40 steps */
};

typedef struct lh_place_step {
  uint8_t kind, form;
  bool phrase;       /* a base or a step in front that needs parentheses before what is behind */
  bool has_any_key;  /* it is one, or has one in its body */
  lh_text_id label;  /* as it is told */
  lh_text_id stable; /* the same without what is another in other runs */
  uint32_t n_own;    /* in front: how many bytes of the label are its own words, "upvalue n" */
  uint32_t holder;   /* around: the place of the weak table, if it is known */
  uint32_t body, n_body; /* repeated: its steps, in order, in the tree's list of bodies */
} lh_place_step;

typedef struct lh_place_vertex {
  uint32_t parent; /* of a base: itself */
  uint32_t step;
  uint32_t depth; /* steps behind the base */
  uint64_t identity;
} lh_place_vertex;

/* All zero is an empty tree. */
typedef struct lh_place_tree {
  lh_strings texts;
  lh_place_step *steps;
  lh_place_vertex *list;
  uint32_t *bodies;
  size_t n_steps, step_capacity, n, capacity, n_bodies, body_capacity;
  lh_map step_of, place_of;
} lh_place_tree;

/* Functions that make a place return its number, LH_NO_NUMBER when out of memory (also where the
** parent is that), or LH_NO_PLACE where there is none. */
#define LH_NO_PLACE (UINT32_MAX - 1)

/* The most steps of a place, those of repeated bodies counted one by one. */
enum { LH_MOST_STEPS_OF_PLACE = 256 };

void lh_place_tree_free(lh_place_tree *tree);

/* The tree of the places of a snapshot that has been classified; NULL: out of memory. */
lh_place_tree *lh_places_of(const lh_snapshot *snapshot);

/* path_text.c: the last steps of the places that the last n edges of a path lead to, the last
** first, of a snapshot that has been classified. False: out of memory. */
bool lh_last_steps(const lh_snapshot *snapshot, const lh_edge *path, size_t n_path, uint32_t *steps,
                   size_t n);

/* The number of a step. The texts are freed: its label, and what of it is stable; NULL: that is
** what is not between the marks of the label. */
uint32_t lh_intern_step(lh_place_tree *tree, lh_place_step step, lh_text *label, lh_text *stable);

/* That of a step that stands for n others, once or more: (.children[*])*, (metatable.__index)*. */
uint32_t lh_intern_repeat(lh_place_tree *tree, const uint32_t *body, size_t n);

/* That of any key. */
uint32_t lh_any_key(lh_place_tree *tree);

static inline const char *lh_step_label(const lh_place_tree *tree, uint32_t step) {
  return tree->texts.texts[tree->steps[step].label];
}

/* Does it stand for any number of steps? */
static inline bool lh_is_starred(const lh_place_step *step) {
  return step->kind >= LH_STEP_ANY_LINK;
}

/* The place behind a step from `parent`; a base has none. */
uint32_t lh_place_behind(lh_place_tree *tree, uint32_t parent, uint32_t step);

/* A place that is told by a text alone, which is freed. */
uint32_t lh_place_of_text(lh_place_tree *tree, lh_text *text);

static inline const lh_place_step *lh_last_step(const lh_place_tree *tree, uint32_t place) {
  return &tree->steps[tree->list[place].step];
}

/* The place before the last step of this one; LH_NO_PLACE: it is a base. */
static inline uint32_t lh_place_before(const lh_place_tree *tree, uint32_t place) {
  uint32_t parent = tree->list[place].parent;
  return parent == place ? LH_NO_PLACE : parent;
}

/* The weak table that a place is in by its last step; LH_NO_PLACE: it is in none. */
static inline uint32_t lh_place_of_holder(const lh_place_tree *tree, uint32_t place) {
  return lh_last_step(tree, place)->holder;
}

/* ==== What is where ================================================================== */

/* Is `place` the place `whole`, or does it go on from there, or is it in a weak table that does? */
bool lh_place_is_inside(const lh_place_tree *tree, uint32_t place, uint32_t whole);

/* The table of which a place is any key or all the keys; LH_NO_PLACE: it is neither. */
uint32_t lh_place_container(const lh_place_tree *tree, uint32_t place);

/* The variable, module or the like with which a place begins; of keys these of it. */
uint32_t lh_place_base(lh_place_tree *tree, uint32_t place);

/* What two places have in common that differ in one key: with [*] for that. LH_NO_PLACE: they
** differ otherwise. */
uint32_t lh_place_in_common(lh_place_tree *tree, uint32_t place, uint32_t other);

/* ==== Places that are the same but for something ===================================== */

enum {
  LH_COPY_STABLE = 1,      /* without what another run, machine or build changes */
  LH_COPY_NUMBERS = 2,     /* * for numbers in the names of globals and modules, and behind these */
  LH_COPY_ALL_NUMBERS = 4, /* * for all numbers */
  LH_COPY_WITHOUT_STARS = 8 /* each repeated link once */
};

/* The place in another tree, or the same. */
uint32_t lh_place_copy(lh_place_tree *to, const lh_place_tree *from, uint32_t place, unsigned how);

/* The place with * for numbers (LH_COPY_NUMBERS); LH_NO_PLACE: there are none. */
uint32_t lh_place_without_numbers(lh_place_tree *tree, uint32_t place);

/* Two places that are the same but for their numbers, or a * for one, as one: with * where these
** differ. LH_NO_PLACE: they are not the same. */
uint32_t lh_place_of_both(lh_place_tree *tree, uint32_t place, uint32_t other);

/* ==== place_text.c: the printer ====================================================== */

/* Text made of steps so far, and whether it is a phrase. */
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

void lh_place_text(const lh_place_tree *tree, uint32_t place, lh_text *out);

/* What the text of a place adds to that of `above`: ".hosts.localhost" of _G.app.hosts.localhost
** below _G.app, "upvalue s" of upvalue s of function f @app.lua:7 in _G.app.f below _G.app.f. All
** of it where the place does not go on from there. */
void lh_place_text_below(const lh_place_tree *tree, uint32_t place, uint32_t above, lh_text *out);

/* ==== stable_text.c ================================================================== */

/* From so many paths on that differ in their numbers only they are one. */
enum { LH_MANY_NUMBERS = 8 };

/* Any text with * for each number in it. False: it has none, and `out` stays empty. */
bool lh_fold_digits(lh_text *out, const char *text);

/* The same of a text in which the name of a module ends behind n bytes: plugins.shop_r12 becomes
** plugins.*, since a package that gets modules with numbers gets such of several kinds. */
bool lh_fold_module_name(lh_text *out, const char *text, size_t n);

/* Two texts that are the same but for their numbers, or a * for one, as one: with * where these
** differ. So of de_1 and de_2 comes de_*. False: they are not the same, and `out` is empty. */
bool lh_fold_differing(lh_text *out, const char *text, const char *other);

#endif
