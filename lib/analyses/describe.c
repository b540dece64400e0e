/*
** describe.c - the instances of one class: how many and how big they are, how big one more would
** be, and when they were made. What is in them is told by describe_fields.c, and who refers to them
** by describe_referrers.c.
**
** What one instance costs is what it retains without the other instances that it dominates: of a
** linked list that is one element, though the first retains them all. From each instance the way up
** the tree of dominators gives, for each object, the bytes of the instances nearest below it. So
** all that is done for each object is to look at its class. 13 bytes an object near instances, and
** 12 an instance; a million of ten million objects: 0.6 s.
*/
#include "analyses.h"

#include <stdlib.h>
#include <string.h>

#include "name/find.h"

/* {=== Instances ====================================================================== */

/* The class with this name: array, for those of anything. */
static uint32_t class_asked_for(const lh_snapshot *snapshot, uint32_t class_index,
                                const char *name) {
  const lh_class_entry *entry = &snapshot->classes->list[class_index];
  return strcmp(entry->visible.name, name) == 0 ? class_index : entry->plain;
}

/* Which classes have this name; NULL: out of memory. *found: whether one has. */
static uint8_t *match_classes(const lh_snapshot *snapshot, const char *name, lh_description *out,
                              bool *found) {
  uint32_t n = lh_class_count(snapshot);
  uint8_t *matches = lh_alloc_zeroed((size_t)n + 1, 1);
  *found = false;
  for (uint32_t i = 0; matches && i < n; i++) {
    const lh_class *class = lh_class_at(snapshot, i);
    if (!lh_is_class(snapshot, i, (lh_range){name, name + strlen(name)})) continue;
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

/* Goes up the tree of dominators from each instance twice: first each object on the way learns how
** many are to tell it their bytes, those below it and it itself if it is an instance, and then who
** was told by all goes on. So each is passed once in each round. */
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

/* }=================================================================================== */

/* {=== Figures ======================================================================== */

/* The figure of one object; false if it has none. */
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
  lh_object_at(snapshot, id, &o);
  switch (measure) {
    case LH_MEASURE_ENTRIES: *value = lh_lasting_entries(snapshot, id); break;
    case LH_MEASURE_LENGTH: *value = o.as.string.length; break;
    case LH_MEASURE_CONTENT: *value = o.as.userdata.bytes; break;
    case LH_MEASURE_UPVALUES: *value = o.as.closure.upvalues; break;
    case LH_MEASURE_FRAMES: *value = o.as.thread.frames; break;
    default: *value = o.as.proto.instructions; break;
  }
  return true;
}

static int compare_values(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

static void add_spread(lh_description *out, lh_measure measure, uint64_t *values, size_t n) {
  lh_spread spread = {.measure = measure, .objects = n};
  bool in_order = true; /* mostly all are the same */
  if (n == 0) return;
  for (size_t i = 0; i < n; i++) {
    spread.sum += values[i];
    in_order = in_order && (i == 0 || values[i - 1] <= values[i]);
  }
  if (!in_order) qsort(values, n, sizeof *values, compare_values);
  spread.least = values[0];
  spread.median = values[(n - 1) / 2];
  spread.ninth_tenth = values[n - 1 - n / 10];
  spread.most = values[n - 1];
  out->spreads[out->n_spreads++] = spread;
}

static bool measure_instances(const lh_instances *of, lh_description *out) {
  uint64_t *values = lh_alloc(of->n, sizeof *values);
  if (!values) return false;
  for (lh_measure m = LH_MEASURE_SHALLOW; m <= LH_MEASURE_INSTRUCTIONS; m++) {
    size_t n = 0;
    for (size_t i = 0; i < of->n; i++) n += measure_of(of, of->ids[i], m, &values[n]);
    add_spread(out, m, values, n);
  }
  lh_free(values);
  return true;
}

/* Where the first string of a content is kept; NULL: out of memory. */
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

/* Strings with the same content: only long ones are there more than once. */
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

/* }=================================================================================== */

static int fail_unknown(const lh_snapshot *snapshot, const char *name, lh_error *error) {
  lh_text text = {0};
  lh_range asked = {name, name + strlen(name)};
  lh_text_string(&text, "there is no class '");
  lh_text_escaped(&text, name, strlen(name), false);
  lh_text_string(&text, "'");
  lh_add_suggestions(&text, snapshot, asked, LH_NO_OBJECT, true);
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
  if (!snapshot->trees) lh_drop_dominator_tree(snapshot); /* a picture would need it again */
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
         count_epochs(&of, out) && lh_describe_sites(&of, out) && lh_describe_fields(&of, out) &&
         lh_describe_referrers(&of, out);
  }
  lh_free(matches);
  lh_free(of.ids);
  lh_free(of.is_one);
  lh_free(of.inside);
  if (ok) return LH_OK;
  lh_description_free(out);
  return lh_fail_memory(error, "describing a class");
}

void lh_description_free(lh_description *description) {
  for (size_t i = 0; i < description->n_fields; i++) lh_free((void *)description->fields[i].name);
  for (size_t i = 0; i < description->n_referrers; i++)
    lh_free((void *)description->referrers[i].label);
  lh_free(description->fields);
  lh_free(description->referrers);
  lh_free(description->epochs);
  lh_free(description->sites);
  *description = (lh_description){0};
}
