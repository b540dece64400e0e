/*
** describe_referrers.c - who refers to the instances of a class: the references by the class of
** what they come from and by what they are called there, weak ones too.
**
** What refers to an instance at all is known by the rows; the edges of those alone are decoded.
** Keys that vary are [*]: integers and objects always, strings in maps, and where one class has
** more than MANY of them.
*/
#include "analyses.h"

#include <stdlib.h>
#include <string.h>

#include "read/decode.h"

enum { MANY = 16, LOOK_AHEAD = 8 };

/* The labels may take so many times the bytes of the file, as names of classes may; what is called
** otherwise still is "...". */
enum { MOST_LABELS = 16 };

typedef struct row {
  lh_referring visible;
  lh_text_id label;
  lh_id last; /* source */
} row;

typedef struct collecting {
  const lh_instances *of;
  lh_snapshot *snapshot;
  uint8_t *refers; /* of each object: does it refer to an instance? */
  lh_strings labels;
  lh_text_id any, slot, untold;
  lh_map by_edge;  /* what an edge says -> label */
  lh_map by_label; /* class, label, weak -> row */
  lh_map names_of; /* class -> how many rows are names; MANY + 1: too many */
  row *rows;
  size_t n, capacity;
  bool too_many, again; /* names of a class: then all is counted again */
} collecting;

static bool find_sources(collecting *c) {
  const lh_snapshot *snapshot = c->snapshot;
  c->refers = lh_alloc_zeroed((size_t)snapshot->n + 1, 1);
  if (!c->refers || !lh_mark_sources(snapshot, c->of->ids, c->of->n, c->refers)) return false;
  for (size_t i = 0; i < snapshot->n_aside; i++) /* weak: the row has the source */
    if (c->of->is_one[snapshot->aside[i].target])
      c->refers[snapshot->edge[snapshot->aside[i].edge]] = 1;
  return true;
}

/* {=== What an edge is called ========================================================= */

static bool has_name(const lh_snapshot *snapshot, const lh_edge *edge) {
  return edge->kind == LH_EDGE_VALUE && edge->key.kind == LH_VALUE_OBJECT &&
         lh_is_string(snapshot, edge->key.as.object) &&
         lh_key_sense_of(snapshot, edge->source) != LH_KEYS_VARY;
}

/* Slots of C functions that are no objects are one row, whatever the functions are called. */
static bool is_nameless_slot(const lh_edge *edge) {
  return edge->kind >= LH_EDGE_FUNCTION && edge->kind <= LH_EDGE_ARGUMENT &&
         edge->holder == LH_NO_OBJECT;
}

/* Where the label of all edges is kept that are called the same; NULL when out of memory. */
static lh_text_id *label_slot(collecting *c, const lh_edge *edge) {
  bool keyed = edge->kind == LH_EDGE_VALUE, is_root = edge->kind == LH_EDGE_ROOT;
  uint64_t name = keyed ? edge->key.as.object : edge->name, number = edge->ordinal;
  if (keyed) number = edge->source == c->snapshot->classes->loaded;
  if (is_root && edge->index != LH_ROOT_TYPE_METATABLE) number = 0;
  uint64_t words[3] = {(uint64_t)edge->kind << 32 | name, number << 32 | edge->line,
                       is_root ? edge->index : edge->holder};
  return lh_map_at_words(&c->by_edge, words, 3);
}

static lh_text_id label_of(collecting *c, const lh_edge *edge) {
  if (edge->kind == LH_EDGE_VALUE && !has_name(c->snapshot, edge)) return c->any;
  if (is_nameless_slot(edge)) return c->slot;
  if (edge->ordinal > LH_MOST_ORDINALS && edge->kind != LH_EDGE_ROOT) return c->untold;
  lh_text_id *known = label_slot(c, edge);
  if (!known || *known != LH_NO_NUMBER) return known ? *known : LH_NO_NUMBER;
  char *text = lh_edge_text(c->snapshot, edge);
  if (!text) return LH_NO_NUMBER;
  lh_text_id label = lh_strings_add(&c->labels, text, strlen(text));
  if (label == LH_NO_NUMBER && c->labels.full) label = c->untold;
  lh_free(text);
  return *known = label;
}

/* }=================================================================================== */

static row *row_at(collecting *c, uint32_t class_index, lh_text_id label, bool weak) {
  uint64_t words[2] = {(uint64_t)class_index << 32 | label, weak};
  uint32_t *known = lh_map_at_words(&c->by_label, words, 2);
  if (!known) return NULL;
  if (*known != LH_NO_NUMBER) return &c->rows[*known];
  if (!lh_grow(&c->rows, c->n, &c->capacity, sizeof *c->rows)) return NULL;
  c->rows[c->n] = (row){
      .visible = {.class_index = class_index, .weak = weak}, .label = label, .last = LH_NO_OBJECT};
  *known = (uint32_t)c->n;
  return &c->rows[c->n++];
}

/* The names of a class with too many of them are [*]. */
static row *row_of(collecting *c, const lh_edge *edge, lh_text_id label) {
  uint32_t class_index = lh_class_of(c->snapshot, edge->source);
  if (label == c->any || !has_name(c->snapshot, edge))
    return row_at(c, class_index, label, edge->weak);
  uint32_t *names = lh_map_at(&c->names_of, class_index);
  if (!names) return NULL;
  if (*names == LH_NO_NUMBER) *names = 0;
  if (*names > MANY) return row_at(c, class_index, c->any, edge->weak);
  size_t n_before = c->n;
  row *found = row_at(c, class_index, label, edge->weak);
  if (found && c->n > n_before && !c->again && ++*names > MANY) c->too_many = true;
  return found;
}

static bool add_references(collecting *c, lh_id source) {
  lh_edges it;
  lh_edge edge;
  for (lh_edges_begin(c->snapshot, source, &it); lh_edges_next(&it, &edge);) {
    if (!c->of->is_one[edge.target]) continue;
    lh_text_id label = label_of(c, &edge);
    row *found = label == LH_NO_NUMBER ? NULL : row_of(c, &edge, label);
    if (!found) return false;
    found->visible.references++;
    found->visible.sources += found->last != source;
    found->last = source;
  }
  return true;
}

static bool add_all(collecting *c) {
  const lh_snapshot *snapshot = c->snapshot;
  c->n = 0;
  lh_map_free(&c->by_label);
  for (lh_id id = 0; id <= snapshot->n; id++) {
    lh_id soon = id + LOOK_AHEAD;
    if (soon <= snapshot->n && c->refers[soon]) lh_prefetch_edges(snapshot, soon);
    if (c->refers[id] && lh_is_reachable(snapshot, id) && !lh_is_own(snapshot, id) &&
        !add_references(c, id))
      return false;
  }
  c->again = true;
  return true;
}

/* {=== The result ===================================================================== */

static int compare_referrers(const void *left, const void *right, void *payload) {
  const lh_referring *a = left, *b = right;
  const lh_snapshot *snapshot = payload;
  if (a->references != b->references) return a->references > b->references ? -1 : 1;
  if (a->class_index != b->class_index && a->class_index != UINT32_MAX &&
      b->class_index != UINT32_MAX) {
    int order = strcmp(lh_class_at(snapshot, a->class_index)->name,
                       lh_class_at(snapshot, b->class_index)->name);
    if (order) return order;
  }
  int order = strcmp(a->label, b->label);
  if (!order) order = (a->class_index > b->class_index) - (a->class_index < b->class_index);
  return order ? order : a->weak - b->weak;
}

static bool finish_referrers(collecting *c, lh_description *out) {
  out->referrers = lh_alloc(c->n, sizeof *out->referrers);
  if (!out->referrers) return false;
  for (size_t i = 0; i < c->n; i++) {
    lh_referring told = c->rows[i].visible;
    told.label = lh_copy_text(c->labels.texts[c->rows[i].label]);
    if (!told.label) return false;
    out->referrers[out->n_referrers++] = told;
  }
  if (out->n_referrers > 1)
    qsort_r(out->referrers, out->n_referrers, sizeof *out->referrers, compare_referrers,
            c->snapshot);
  return true;
}

/* }=================================================================================== */

bool lh_describe_referrers(const lh_instances *of, lh_description *out) {
  collecting c = {.of = of, .snapshot = of->snapshot};
  c.any = lh_strings_add(&c.labels, "[*]", 3);
  c.slot = lh_strings_add(&c.labels, "slot of a C function", 20);
  c.untold = lh_strings_add(&c.labels, "...", 3);
  c.labels.most_bytes = MOST_LABELS * (uint64_t)of->snapshot->size + (1u << 20);
  bool ok = c.any != LH_NO_NUMBER && c.slot != LH_NO_NUMBER && c.untold != LH_NO_NUMBER &&
            find_sources(&c) && add_all(&c) && (!c.too_many || add_all(&c)) &&
            finish_referrers(&c, out);
  lh_free(c.refers);
  lh_free(c.rows);
  lh_strings_free(&c.labels);
  lh_map_free(&c.by_edge);
  lh_map_free(&c.by_label);
  lh_map_free(&c.names_of);
  return ok;
}
