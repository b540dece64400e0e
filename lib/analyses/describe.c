/*
** describe.c - Describes the instances of one class: number, sizes, ages, sites, referrers.
** The cost of an instance is what it retains without the instances that it dominates: of a linked
** list, one element. A walk up the dominator tree from each instance finds the nearest instances
** below each object. 13 bytes an object, 12 an instance; a million among ten million objects:
** 0.6 s.
*/
#include "analyses.h"
#include "name/allocated.h"
#include "name/find.h"
#include "ranking.h"
#include "read/decode.h"

#include <stdlib.h>
#include <string.h>

/* ==== Sites ========================================================================== */

static int compare_sites(const void *left, const void *right) {
  const lh_class_site *a = left, *b = right;
  return LH_MORE(a->objects, b->objects) ?: LH_LESS(a->site, b->site);
}

static size_t count_instances(const lh_instances *of, const lh_sites *sites, lh_class_site *rows) {
  size_t n = 0;
  for (size_t i = 0; i < of->n; i++) {
    lh_class_site *row = &rows[lh_site_at(sites, lh_object_stack(of->snapshot, of->ids[i]))];
    row->objects++;
    row->shallow_bytes += lh_shallow_bytes(of->snapshot, of->ids[i]);
  }
  for (lh_site_id site = 0; site <= lh_n_sites(sites); site++) {
    if (rows[site].objects == 0) continue;
    rows[n] = rows[site];
    rows[n++].site = site;
  }
  if (n > 1) qsort(rows, n, sizeof *rows, compare_sites);
  return n;
}

static bool describe_sites(const lh_instances *of, lh_description *out) {
  const lh_sites *sites = lh_snapshot_sites(of->snapshot);
  if (!sites) return true;
  out->sites = lh_alloc_zeroed((size_t)lh_n_sites(sites) + 1, sizeof *out->sites);
  if (out->sites) out->n_sites = count_instances(of, sites, out->sites);
  return out->sites != NULL;
}

/* ==== Referrers ====================================================================== */

/* Groups the references to instances by class of the referrer and label of the edge. Only edges of
** referrers are decoded. Keys that vary become [*]: integers and objects always, strings in maps,
** and the strings of a class with more than MANY different ones. */

enum { MANY = 16, LOOK_AHEAD = 8, N_RECENT = 64, EDGE_WORDS = 3 };

/* All labels together may take 16 times the bytes of the file; further labels become "...". */
enum { MOST_LABELS = 16 };

typedef struct row {
  lh_referring visible;
  lh_text_id label;
  lh_id last; /* last source */
} row;

typedef struct collecting {
  const lh_instances *of;
  lh_snapshot *snapshot;
  uint8_t *refers; /* by object: true if it refers to an instance */
  lh_strings labels;
  lh_text_id any, slot, untold;
  lh_map by_edge;  /* parts of an edge -> label */
  lh_map by_label; /* class, label, weak -> row */
  lh_map names_of; /* class -> number of rows with names; MANY + 1: too many */
  struct {
    uint64_t words[EDGE_WORDS];
    lh_text_id label; /* LH_NO_NUMBER: none */
  } recent[N_RECENT]; /* labels found last: most referrers refer alike */
  row *rows;
  uint32_t last_row; /* found last */
  size_t n, capacity;
  bool too_many, again; /* some class has too many names; the second count */
} collecting;

static bool find_sources(collecting *c) {
  const lh_snapshot *snapshot = c->snapshot;
  c->refers = lh_alloc_zeroed((size_t)snapshot->n + 1, 1);
  if (!c->refers) return false;
  lh_mark_sources(snapshot, c->of->ids, c->of->n, c->of->is_one, c->refers);
  for (size_t i = 0; i < snapshot->n_aside; i++) /* for a weak edge, the row has the source */
    if (c->of->is_one[snapshot->aside[i].target])
      c->refers[snapshot->edge[snapshot->aside[i].edge]] = 1;
  return true;
}

static bool has_name(const lh_snapshot *snapshot, const lh_edge *edge) {
  return edge->kind == LH_EDGE_VALUE && edge->key.kind == LH_VALUE_OBJECT &&
         lh_is_string(snapshot, edge->key.as.object) &&
         lh_key_sense_of(snapshot, edge->source) != LH_KEYS_VARY;
}

/* Slots of C functions that are no objects share one row, whatever the function is called. */
static bool is_nameless_slot(const lh_edge *edge) {
  return edge->kind >= LH_EDGE_FUNCTION && edge->kind <= LH_EDGE_ARGUMENT &&
         edge->holder == LH_NO_OBJECT;
}

/* Equal for edges that have one label. */
static void take_edge_words(const collecting *c, const lh_edge *edge, uint64_t words[EDGE_WORDS]) {
  bool keyed = edge->kind == LH_EDGE_VALUE, is_root = edge->kind == LH_EDGE_ROOT;
  uint64_t name = keyed ? edge->key.as.object : edge->name, number = edge->ordinal;
  if (keyed) number = edge->source == c->snapshot->classes->loaded;
  if (is_root && edge->index != LH_ROOT_TYPE_METATABLE) number = 0;
  words[0] = (uint64_t)edge->kind << 32 | name;
  words[1] = number << 32 | edge->line;
  words[2] = is_root ? edge->index : edge->holder;
}

/* The label of `words`, which c->by_edge keeps. LH_NO_NUMBER: out of memory. */
static lh_text_id find_label(collecting *c, const lh_edge *edge, const uint64_t *words) {
  lh_text_id *known = lh_map_at_words(&c->by_edge, words, EDGE_WORDS);
  if (!known || *known != LH_NO_NUMBER) return known ? *known : LH_NO_NUMBER;
  char *text = lh_edge_text(c->snapshot, edge);
  if (!text) return LH_NO_NUMBER;
  lh_text_id label = lh_strings_add(&c->labels, text, strlen(text));
  if (label == LH_NO_NUMBER && c->labels.full) label = c->untold;
  lh_free(text);
  return *known = label;
}

static lh_text_id label_of(collecting *c, const lh_edge *edge) {
  uint64_t words[EDGE_WORDS];
  if (edge->kind == LH_EDGE_VALUE && !has_name(c->snapshot, edge)) return c->any;
  if (is_nameless_slot(edge)) return c->slot;
  if (edge->ordinal > LH_MOST_ORDINALS && edge->kind != LH_EDGE_ROOT) return c->untold;
  take_edge_words(c, edge, words);
  uint32_t at = (uint32_t)(words[0] ^ words[1] >> 32) % N_RECENT;
  if (c->recent[at].label != LH_NO_NUMBER && memcmp(c->recent[at].words, words, sizeof words) == 0)
    return c->recent[at].label;
  memcpy(c->recent[at].words, words, sizeof words);
  return c->recent[at].label = find_label(c, edge, words);
}

static row *row_at(collecting *c, uint32_t class_index, lh_text_id label, bool weak) {
  row *last = c->last_row < c->n ? &c->rows[c->last_row] : NULL;
  if (last && last->label == label && last->visible.class_index == class_index &&
      last->visible.weak == weak)
    return last;
  uint64_t words[2] = {(uint64_t)class_index << 32 | label, weak};
  uint32_t *known = lh_map_at_words(&c->by_label, words, 2);
  if (!known) return NULL;
  c->last_row = *known;
  if (*known != LH_NO_NUMBER) return &c->rows[*known];
  if (!lh_grow(&c->rows, c->n, &c->capacity, sizeof *c->rows)) return NULL;
  c->rows[c->n] = (row){
      .visible = {.class_index = class_index, .weak = weak}, .label = label, .last = LH_NO_OBJECT};
  c->last_row = *known = (uint32_t)c->n;
  return &c->rows[c->n++];
}

static row *referring_row(collecting *c, const lh_edge *edge, lh_text_id label) {
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

static bool add_reference(collecting *c, const lh_edge *edge) {
  lh_text_id label = label_of(c, edge);
  row *found = label == LH_NO_NUMBER ? NULL : referring_row(c, edge, label);
  if (!found) return false;
  found->visible.references++;
  found->visible.sources += found->last != edge->source;
  found->last = edge->source;
  return true;
}

/* Does the source's row have the labels of all edges, but for keys that are no objects? */
static bool is_in_row(const lh_snapshot *s, lh_id source) {
  lh_edge last = {.source = source};
  lh_type type = lh_type_of(s, source);
  if (s->ignored) return false;
  return type == LH_TYPE_TABLE || type == LH_TYPE_UPVALUE ||
         (type == LH_TYPE_CLOSURE &&
          lh_read_upvalue_label(s, s->first_edge[source + 1] - 1, &last));
}

/* A key that is no object has no name, so it is not read. */
static lh_edge edge_in_row(const lh_snapshot *s, lh_id source, uint32_t e) {
  uint8_t label = s->label[e];
  if (lh_label_kind(label) != LH_EDGE_VALUE || label & LH_LABEL_KEYED)
    return lh_edge_at(s, source, e);
  return (lh_edge){.source = source, .kind = LH_EDGE_VALUE, .weak = label & LH_LABEL_ASIDE};
}

static bool is_dead_ephemeron(uint8_t label) {
  return lh_label_kind(label) == LH_EDGE_EPHEMERON && label & LH_LABEL_ASIDE;
}

static bool add_row(collecting *c, lh_id source) {
  const lh_snapshot *s = c->snapshot;
  for (uint32_t e = s->first_edge[source], end = s->first_edge[source + 1]; e < end; e++) {
    if (!c->of->is_one[lh_true_target(s, e)] || is_dead_ephemeron(s->label[e])) continue;
    lh_edge edge = edge_in_row(s, source, e);
    if (!add_reference(c, &edge)) return false;
  }
  return true;
}

static bool add_references(collecting *c, lh_id source) {
  lh_edges it;
  lh_edge edge;
  if (is_in_row(c->snapshot, source)) return add_row(c, source);
  for (lh_edges_begin(c->snapshot, source, &it); lh_edges_next(&it, &edge);)
    if (c->of->is_one[edge.target] && !add_reference(c, &edge)) return false;
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

static int compare_referrers(const void *left, const void *right, void *payload) {
  const lh_referring *a = left, *b = right;
  return LH_MORE(a->references, b->references) ?:
         lh_compare_class_names(payload, a->class_index, b->class_index) ?:
         strcmp(a->label, b->label) ?: LH_LESS(a->class_index, b->class_index) ?: a->weak - b->weak;
}

/* What only finds rows again: many times the bytes of the rows. */
static void drop_keys(collecting *c) {
  LH_FREE_MAPS(&c->by_edge, &c->by_label, &c->names_of, &c->labels.by_key);
}

static bool finish_referrers(collecting *c, lh_description *out) {
  drop_keys(c);
  out->referrers = lh_alloc(c->n, sizeof *out->referrers);
  if (!out->referrers) return false;
  for (size_t i = 0; i < c->n; i++) {
    out->referrers[i] = c->rows[i].visible;
    out->referrers[i].label = c->labels.texts[c->rows[i].label];
  }
  out->n_referrers = c->n;
  out->labels = c->labels.texts;
  out->n_labels = c->labels.n;
  c->labels = (lh_strings){0};
  if (out->n_referrers > 1)
    qsort_r(out->referrers, out->n_referrers, sizeof *out->referrers, compare_referrers,
            c->snapshot);
  return true;
}

static bool describe_referrers(const lh_instances *of, lh_description *out) {
  collecting c = {.of = of, .snapshot = of->snapshot};
  for (size_t i = 0; i < N_RECENT; i++) c.recent[i].label = LH_NO_NUMBER;
  c.any = lh_strings_add(&c.labels, "[*]", 3);
  c.slot = lh_strings_add(&c.labels, "slot of a C function", 20);
  c.untold = lh_strings_add(&c.labels, "...", 3);
  c.labels.most_bytes = MOST_LABELS * (uint64_t)of->snapshot->size + (1u << 20);
  bool ok = c.any != LH_NO_NUMBER && c.slot != LH_NO_NUMBER && c.untold != LH_NO_NUMBER &&
            find_sources(&c) && add_all(&c) && (!c.too_many || add_all(&c)) &&
            finish_referrers(&c, out);
  drop_keys(&c);
  lh_strings_free(&c.labels);
  LH_FREE_ALL(c.refers, c.rows);
  return ok;
}

/* ==== Instances ====================================================================== */

static uint32_t class_asked_for(const lh_snapshot *snapshot, uint32_t class_index,
                                const char *name) {
  const lh_class_entry *entry = &snapshot->classes->list[class_index];
  return strcmp(entry->visible.name, name) == 0 ? class_index : entry->plain;
}

/* Marks and sums up the classes with this name. *found: one has objects. NULL: out of memory. */
static uint8_t *match_classes(const lh_snapshot *snapshot, const char *name, lh_description *out,
                              bool *found) {
  uint32_t n = lh_class_count(snapshot);
  uint8_t *matches = lh_alloc_zeroed((size_t)n + 1, 1);
  *found = false;
  for (uint32_t i = 0; matches && i < n; i++) {
    const lh_class *class = lh_class_at(snapshot, i);
    if (!lh_is_class(snapshot, i, (lh_range){name, name + strlen(name)}, false)) continue;
    matches[i] = 1;
    out->objects += class->objects;
    out->shallow_bytes += class->shallow_bytes;
    out->garbage_objects += class->garbage_objects;
    out->garbage_bytes += class->garbage_bytes;
    out->class_index = class_asked_for(snapshot, i, name);
    *found = *found || class->objects > 0 || class->garbage_objects > 0;
  }
  return matches;
}

static bool list_instances(lh_instances *of, const uint8_t *matches, uint64_t n) {
  const lh_snapshot *snapshot = of->snapshot;
  of->ids = lh_alloc(n, sizeof *of->ids);
  of->is_one = lh_alloc_zeroed((size_t)snapshot->n + 1, 1);
  if (!of->ids || !of->is_one) return false;
  for (lh_id id = 1; id <= snapshot->n; id++) {
    uint32_t class_index = lh_class_of(snapshot, id);
    if (class_index == UINT32_MAX || !matches[class_index] || !lh_is_reachable(snapshot, id))
      continue;
    of->is_one[id] = 1;
    of->ids[of->n++] = id;
  }
  return true;
}

/* Walks up the dominator tree from all instances twice: first to count the arrivals at each object,
** then to go on from it after the last arrival. So a round passes each object once. */
static bool find_inside(lh_instances *of) {
  const lh_snapshot *s = of->snapshot;
  uint32_t *n_waiting = lh_alloc_zeroed((size_t)s->n + 1, sizeof *n_waiting);
  of->inside = lh_alloc_zeroed((size_t)s->n + 1, sizeof *of->inside);
  bool ok = n_waiting && of->inside;
  for (size_t i = 0; ok && i < of->n; i++)
    for (lh_id id = of->ids[i]; n_waiting[id]++ == 0 && id != LH_ROOT;) id = s->idom[id];
  for (size_t i = 0; ok && i < of->n; i++)
    for (lh_id id = of->ids[i]; --n_waiting[id] == 0 && id != LH_ROOT; id = s->idom[id])
      of->inside[s->idom[id]] += lh_bytes_of_instances(of, id);
  lh_free(n_waiting);
  return ok;
}

/* ==== Figures ======================================================================== */

static bool measure_of(const lh_instances *of, lh_id id, lh_measure measure, uint64_t *value) {
  const lh_snapshot *snapshot = of->snapshot;
  static const lh_type types[] = {
      [LH_MEASURE_ENTRIES] = LH_TYPE_TABLE,    [LH_MEASURE_LENGTH] = LH_TYPE_STRING,
      [LH_MEASURE_CONTENT] = LH_TYPE_USERDATA, [LH_MEASURE_UPVALUES] = LH_TYPE_CLOSURE,
      [LH_MEASURE_FRAMES] = LH_TYPE_THREAD,    [LH_MEASURE_INSTRUCTIONS] = LH_TYPE_PROTO};
  lh_object o;
  if (measure == LH_MEASURE_SHALLOW) *value = lh_shallow_bytes(snapshot, id);
  if (measure == LH_MEASURE_RETAINED) *value = lh_retained_bytes(snapshot, id);
  if (measure == LH_MEASURE_ALONE) *value = lh_retained_bytes(snapshot, id) - of->inside[id];
  if (measure < LH_MEASURE_ENTRIES) return true;
  if (types[measure] != lh_type_of(snapshot, id) || lh_is_dead(snapshot, id)) return false;
  if (measure == LH_MEASURE_ENTRIES) {
    *value = lh_lasting_entries(snapshot, id);
    return true;
  }
  lh_object_at(snapshot, id, &o);
  switch (measure) {
    case LH_MEASURE_LENGTH: *value = o.as.string.length; break;
    case LH_MEASURE_CONTENT: *value = o.as.userdata.bytes; break;
    case LH_MEASURE_UPVALUES: *value = o.as.closure.upvalues; break;
    case LH_MEASURE_FRAMES: *value = o.as.thread.frames; break;
    default: *value = o.as.proto.instructions; break;
  }
  return true;
}

static bool add_spread(lh_description *out, lh_measure measure, uint64_t **kept, size_t n) {
  lh_spread spread = {.measure = measure, .objects = n};
  const uint64_t *values = *kept;
  bool in_order = true; /* mostly all values are equal */
  if (n == 0) return true;
  for (size_t i = 0; i < n; i++) {
    spread.sum += values[i];
    in_order = in_order && (i == 0 || values[i - 1] <= values[i]);
  }
  if (!in_order && !lh_sort_words(kept, n)) return false;
  values = *kept;
  spread.least = values[0];
  spread.median = values[(n - 1) / 2];
  spread.ninth_tenth = values[n - 1 - n / 10];
  spread.most = values[n - 1];
  out->spreads[out->n_spreads++] = spread;
  return true;
}

static bool measure_instances(const lh_instances *of, lh_description *out) {
  uint64_t *values = lh_alloc(of->n, sizeof *values);
  bool ok = values != NULL;
  for (lh_measure m = LH_MEASURE_SHALLOW; ok && m <= LH_MEASURE_INSTRUCTIONS; m++) {
    size_t n = 0;
    for (size_t i = 0; i < of->n; i++) n += measure_of(of, of->ids[i], m, &values[n]);
    ok = add_spread(out, m, &values, n);
  }
  lh_free(values);
  return ok;
}

static lh_id *first_with_content(const lh_snapshot *snapshot, lh_id id, uint64_t seed,
                                 lh_map *seen) {
  lh_content content = lh_content_of(snapshot, id, UINT64_MAX);
  for (uint64_t key = lh_hash_content(&content, seed);; key++) {
    lh_id *first = lh_map_at(seen, key);
    if (!first || *first == LH_NO_OBJECT) return first;
    lh_content other = lh_content_of(snapshot, *first, UINT64_MAX);
    if (lh_same_content(&content, &other)) return first;
  }
}

/* Only long strings can be equal: Lua interns short ones. */
static bool count_contents(const lh_instances *of, lh_description *out) {
  lh_map seen = {0};
  uint64_t seed = lh_random_seed();
  bool ok = true;
  for (size_t i = 0; ok && i < of->n; i++) {
    if (lh_type_of(of->snapshot, of->ids[i]) != LH_TYPE_STRING) continue;
    lh_id *first = first_with_content(of->snapshot, of->ids[i], seed, &seen);
    ok = first != NULL;
    if (ok && *first != LH_NO_OBJECT)
      out->repeated_bytes += lh_shallow_bytes(of->snapshot, of->ids[i]);
    else if (ok)
      *first = of->ids[i], out->contents++;
  }
  lh_map_free(&seen);
  return ok;
}

static bool count_epochs(const lh_instances *of, lh_description *out) {
  uint32_t n = lh_mark_count(of->snapshot);
  out->epochs = lh_alloc_zeroed(n, sizeof *out->epochs);
  if (!out->epochs) return false;
  out->n_epochs = n;
  for (size_t i = 0; i < of->n && n > 0; i++) {
    uint32_t epoch = lh_epoch(of->snapshot, of->ids[i]);
    out->epochs[epoch < n ? epoch : n - 1]++;
  }
  return true;
}

static void find_biggest(const lh_instances *of, const char *name, lh_description *out) {
  out->biggest = of->ids[0];
  for (size_t i = 1; i < of->n; i++)
    if (lh_retained_bytes(of->snapshot, of->ids[i]) > lh_retained_bytes(of->snapshot, out->biggest))
      out->biggest = of->ids[i];
  out->class_index = class_asked_for(of->snapshot, lh_class_of(of->snapshot, out->biggest), name);
}

static int fail_unknown(const lh_snapshot *snapshot, const char *name, lh_error *error) {
  lh_text text = {0};
  lh_range asked = {name, name + strlen(name)};
  lh_text_string(&text, "there is no class '");
  lh_text_escaped(&text, name, strlen(name), false);
  lh_text_string(&text, "'");
  lh_add_suggestions(&text, snapshot, asked, LH_NO_OBJECT);
  char *message = lh_text_finish(&text);
  if (!message) return lh_fail_memory(error, "looking for a class");
  int code = lh_fail(error, LH_ENOTFOUND, "%s", message);
  lh_free(message);
  return code;
}

int lh_describe_class(lh_snapshot *snapshot, const char *name, lh_description *out,
                      lh_error *error) {
  *out = (lh_description){.class_index = UINT32_MAX, .biggest = LH_NO_OBJECT};
  if (!snapshot->retained || !snapshot->classes)
    return lh_fail(error, LH_EARGUMENT, "the snapshot has not been classified");
  lh_instances of = {.snapshot = snapshot};
  bool found, ok;
  if (!snapshot->trees) lh_drop_dominator_tree(snapshot); /* a picture would need the tree again */
  uint8_t *matches = match_classes(snapshot, name, out, &found);
  if (matches && !found) {
    lh_free(matches);
    return fail_unknown(snapshot, name, error);
  }
  ok = matches && list_instances(&of, matches, out->objects);
  if (ok && of.n > 0) {
    find_biggest(&of, name, out);
    ok = lh_retained_together(snapshot, of.ids, of.n, &out->retained_bytes, NULL, error) == LH_OK &&
         find_inside(&of) && measure_instances(&of, out) && count_contents(&of, out) &&
         count_epochs(&of, out) && describe_sites(&of, out) && lh_describe_fields(&of, out) &&
         describe_referrers(&of, out);
  }
  LH_FREE_ALL(matches, of.ids, of.is_one, of.inside);
  if (ok) return LH_OK;
  lh_description_free(out);
  return lh_fail_memory(error, "describing a class");
}

void lh_description_free(lh_description *description) {
  for (size_t i = 0; i < description->n_fields; i++) lh_free((void *)description->fields[i].name);
  for (size_t i = 0; i < description->n_labels; i++) lh_free(description->labels[i]);
  LH_FREE_ALL(description->fields, description->referrers, description->labels, description->epochs,
              description->sites);
  *description = (lh_description){0};
}
