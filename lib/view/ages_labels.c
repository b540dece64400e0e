/*
** ages_labels.c - what objects are counted as on a timeline: their class, type or place. A heap
** has some hundred classes and places that matter, and may have a hundred thousand; so that sums of
** every chunk fit into little memory, only the first thousand are told apart.
*/
#include "ages.h"

#include <stdlib.h>
#include <string.h>

/* One that may get a label. */
typedef struct candidate {
  uint64_t bytes;
  uint32_t which;
} candidate;

static int compare_candidates(const void *left, const void *right) {
  const candidate *a = left, *b = right;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return (a->which > b->which) - (a->which < b->which);
}

/* Sorts them; as many as get labels come first. */
static bool begin_list(lh_labels *labels, candidate *list, uint32_t n) {
  if (n > 1) qsort(list, n, sizeof *list, compare_candidates);
  labels->n = n < LH_MOST_LABELS ? n : LH_MOST_LABELS;
  labels->n_unlabelled = n - labels->n;
  labels->list = lh_alloc(labels->n, sizeof *labels->list);
  return labels->list != NULL;
}

/* {=== Classes ======================================================================== */

static bool label_classes(lh_labels *labels, const lh_snapshot *snapshot) {
  uint32_t n = lh_class_count(snapshot), n_used = 0;
  candidate *list = lh_alloc(n, sizeof *list);
  labels->of = lh_alloc(n, sizeof *labels->of);
  bool ok = list && labels->of;
  for (uint32_t i = 0; ok && i < n; i++) {
    const lh_class *class = lh_class_at(snapshot, i);
    uint64_t bytes = class->shallow_bytes + class->garbage_bytes;
    if (bytes > 0) list[n_used++] = (candidate){bytes, i};
  }
  ok = ok && begin_list(labels, list, n_used);
  for (uint32_t i = 0; ok && i < n; i++)
    labels->of[i] = (uint16_t)(labels->n + lh_class_at(snapshot, i)->type);
  for (uint32_t i = 0; ok && i < labels->n; i++) {
    uint32_t class_index = list[i].which;
    labels->of[class_index] = (uint16_t)i;
    labels->list[i] =
        (lh_label){.class_index = class_index, .type = lh_class_at(snapshot, class_index)->type};
  }
  lh_free(list);
  return ok;
}

/* }=================================================================================== */

/* {=== Places ========================================================================= */

static bool has_place(const lh_snapshot *snapshot, lh_id id) {
  return lh_is_reachable(snapshot, id) && !lh_is_own(snapshot, id);
}

static bool find_places(lh_places *places, const lh_snapshot *snapshot) {
  size_t n = 0;
  for (lh_id id = 1; id <= snapshot->n; id++) n += has_place(snapshot, id);
  lh_id *ids = lh_alloc(n, sizeof *ids);
  if (!ids) return false;
  n = 0;
  for (lh_id id = 1; id <= snapshot->n; id++)
    if (has_place(snapshot, id)) ids[n++] = id;
  bool ok = lh_places_make(places, snapshot, ids, n) && lh_join_places(places);
  lh_free(ids);
  return ok;
}

static lh_type type_at(const lh_snapshot *snapshot, const lh_place *place) {
  return lh_class_at(snapshot, place->class_index)->type;
}

/* Numbers the places: `list` has them in the order of their bytes. False: out of memory. */
static bool name_places(lh_labels *labels, lh_places *places, const candidate *list,
                        uint16_t *label_of) {
  const lh_snapshot *snapshot = places->folds->folder.snapshot;
  for (uint32_t i = 0; i < places->n; i++)
    label_of[i] = (uint16_t)(labels->n + type_at(snapshot, &places->list[i]));
  for (uint32_t i = 0; i < labels->n; i++) {
    const lh_place *place = &places->list[list[i].which];
    const char *path = places->texts.texts[place->path];
    lh_text_id id = lh_strings_add(&labels->paths, path, strlen(path));
    if (id == LH_NO_NUMBER) return false;
    label_of[list[i].which] = (uint16_t)i;
    labels->list[i] = (lh_label){.class_index = place->several ? UINT32_MAX : place->class_index,
                                 .type = type_at(snapshot, place),
                                 .path = labels->paths.texts[id]};
  }
  return true;
}

/* Garbage is at no place: its type is all that is told of it. */
static bool label_objects(lh_labels *labels, const lh_places *places, const uint16_t *label_of) {
  const lh_snapshot *snapshot = places->folds->folder.snapshot;
  labels->of = lh_alloc((size_t)snapshot->n + 1, sizeof *labels->of);
  for (lh_id id = 1; labels->of && id <= snapshot->n; id++)
    labels->of[id] = has_place(snapshot, id)
                         ? label_of[lh_place_of(places, id)]
                         : (uint16_t)(labels->n + (uint32_t)lh_type_of(snapshot, id));
  return labels->of != NULL;
}

static bool label_places(lh_labels *labels, const lh_snapshot *snapshot) {
  lh_places places = {0};
  candidate *list = NULL;
  uint16_t *label_of = NULL;
  uint32_t n_used = 0;
  bool ok = find_places(&places, snapshot);
  if (ok) list = lh_alloc_zeroed(places.n, sizeof *list);
  if (ok) label_of = lh_alloc(places.n, sizeof *label_of);
  ok = ok && list && label_of;
  for (lh_id id = 1; ok && id <= snapshot->n; id++)
    if (has_place(snapshot, id))
      list[lh_place_of(&places, id)].bytes += lh_shallow_bytes(snapshot, id);
  for (uint32_t i = 0; ok && i < places.n; i++)
    if (list[i].bytes > 0) list[n_used++] = (candidate){list[i].bytes, i};
  ok = ok && begin_list(labels, list, n_used) && name_places(labels, &places, list, label_of) &&
       label_objects(labels, &places, label_of);
  lh_free(list);
  lh_free(label_of);
  lh_places_free(&places);
  return ok;
}

/* }=================================================================================== */

bool lh_labels_make(lh_labels *labels, const lh_snapshot *snapshot, lh_age_chart_by by) {
  *labels = (lh_labels){.by = by};
  if (by == LH_AGES_OF_CLASSES) return label_classes(labels, snapshot);
  return by != LH_AGES_OF_PLACES || label_places(labels, snapshot);
}

void lh_labels_free(lh_labels *labels) {
  lh_free(labels->list);
  lh_free(labels->of);
  lh_strings_free(&labels->paths);
}
