/*
** census.c - Counts the objects of a snapshot by class and place, for a ladder (compare.h).
** Dominators come first in the order of folding (fold.h), so the vertex of an object is a step
** below that of its dominator. The registry, _G and package.loaded count as the root, so a global
** is a top part. 2.2 million objects: 0.5 s; 24 bytes for each vertex.
*/
#include "compare.h"
#include "graph/graph.h"

#include <string.h>

/* ==== The tree ====================================================================== */

/* Below this depth, steps become siblings: a search for a label stays short. */
enum { MAX_DEPTH = 256 };

bool lh_trie_begin(lh_trie *trie) {
  *trie = (lh_trie){.n = 0};
  if (!lh_grow(&trie->vertices, 0, &trie->capacity, sizeof *trie->vertices)) return false;
  trie->vertices[trie->n++] = (lh_vertex){.label = LH_NO_NUMBER};
  return true;
}

void lh_trie_free(lh_trie *trie) {
  lh_free(trie->vertices);
  lh_map_free(&trie->steps);
}

static uint32_t find_label_above(const lh_trie *trie, uint32_t vertex, uint32_t label) {
  for (; vertex != 0; vertex = trie->vertices[vertex].above)
    if (trie->vertices[vertex].label == label) return vertex;
  return LH_NO_NUMBER;
}

uint32_t lh_trie_step(lh_trie *trie, uint32_t vertex, uint32_t label) {
  if (trie->vertices[vertex].depth == MAX_DEPTH && trie->vertices[vertex].label != label)
    vertex = trie->vertices[vertex].above;
  uint32_t *step = lh_map_at(&trie->steps, (uint64_t)vertex << 32 | label);
  if (!step) return LH_NO_NUMBER;
  if (*step != LH_NO_NUMBER) return *step;
  uint32_t found = find_label_above(trie, vertex, label);
  if (found == LH_NO_NUMBER) {
    if (!lh_grow(&trie->vertices, trie->n, &trie->capacity, sizeof *trie->vertices))
      return LH_NO_NUMBER;
    found = (uint32_t)trie->n;
    trie->vertices[trie->n++] =
        (lh_vertex){.above = vertex, .label = label, .depth = trie->vertices[vertex].depth + 1};
  }
  *step = found;
  return found;
}

/* ==== Counting ====================================================================== */

typedef struct recent_place {
  uint32_t place, inside;
  bool shared;
} recent_place;

typedef struct census {
  lh_ladder *ladder;
  const lh_snapshot *snapshot;
  lh_snapshot_counts *counts;
  uint32_t *row_of; /* by class of the snapshot */
  lh_folds *folds;
  uint32_t *vertex;     /* by object */
  uint32_t *n_of_spot;  /* objects by spot */
  uint32_t *mark_of;    /* by earlier snapshot: its mark in this one, or LH_NO_NUMBER */
  uint32_t *inside;     /* by object: the sighting of itself or of the nearest container around it,
                           or LH_NO_NUMBER */
  uint8_t *permanence;  /* by object: lh_sighting */
  recent_place *recent; /* by spot */
  bool *in_list;        /* by spot: find_lists */
  lh_map place_of;      /* spot and shared, inside -> place */
  lh_id main_thread;
  size_t vertex_capacity;
  lh_place_copies copies, stable_copies; /* of the snapshot's places in the ladder's tree */
} census;

/* Reduces `differing` of a folded place to * for the numbers that really differ. */
static bool note_differing(lh_ladder *ladder, uint32_t folded, uint32_t exact) {
  uint32_t *differing = lh_map_first(&ladder->differing, folded, exact);
  if (!differing) return false;
  uint32_t both = lh_place_of_both(&ladder->tree, *differing, exact);
  *differing = both == LH_NO_PLACE ? folded : both;
  return both != LH_NO_NUMBER;
}

/* The nearest container whose place begins the path. */
static uint32_t container_of(const census *c, uint32_t path, uint32_t inside) {
  const lh_ladder *ladder = c->ladder;
  while (inside != LH_NO_NUMBER &&
         !lh_place_goes_on(&ladder->tree, path, ladder->sightings[inside].place))
    inside = ladder->sightings[inside].outer;
  return inside;
}

static uint32_t make_known_place(census *c, lh_spot spot, bool shared, uint32_t inside) {
  lh_ladder *ladder = c->ladder;
  uint32_t at = c->folds->folder.states[spot.state].place;
  uint32_t class_row = c->row_of[spot.class_index];
  lh_known_place place = {.path = lh_place_copy_of(&c->copies, at),
                          .class_row = class_row,
                          .container = LH_NO_NUMBER,
                          .container_path = LH_NO_PLACE,
                          .own_name = LH_NO_PLACE,
                          .renamed = LH_NO_PLACE,
                          .shared = shared};
  if (place.path == LH_NO_NUMBER) return LH_NO_NUMBER;
  place.own_path = place.path;
  inside = container_of(c, place.path, inside);
  if (inside != LH_NO_NUMBER) place.container = ladder->sightings[inside].container;
  if (inside != LH_NO_NUMBER) place.container_path = ladder->sightings[inside].place;
  uint64_t words[3] = {(uint64_t)place.path << 1 | shared, class_row,
                       (uint64_t)place.container << 32 | place.container_path};
  uint32_t *known = lh_map_at_words(&ladder->place_by_words, words, 3);
  if (!known || *known != LH_NO_NUMBER) return known ? *known : LH_NO_NUMBER;
  place.stable_path = lh_place_copy_of(&c->stable_copies, at);
  place.numbers = lh_place_without_numbers(&ladder->tree, place.path);
  if (place.stable_path == LH_NO_NUMBER || place.numbers == LH_NO_NUMBER ||
      !lh_grow(&ladder->places, ladder->n_places, &ladder->place_capacity, sizeof place))
    return LH_NO_NUMBER;
  ladder->places[ladder->n_places] = place;
  *known = (uint32_t)ladder->n_places++;
  return *known;
}

static uint32_t known_place_of(census *c, lh_id id, bool shared) {
  uint32_t spot = c->folds->spot[id], inside = c->inside[id];
  recent_place *recent = &c->recent[spot];
  if (recent->place != LH_NO_NUMBER && recent->inside == inside && recent->shared == shared)
    return recent->place;
  const uint64_t words[2] = {(uint64_t)spot << 1 | shared, inside};
  uint32_t *known = lh_map_at_words(&c->place_of, words, 2);
  if (!known) return LH_NO_NUMBER;
  if (*known == LH_NO_NUMBER)
    *known = make_known_place(c, *lh_spot_at(c->folds, id), shared, inside);
  *recent = (recent_place){*known, inside, shared};
  return *known;
}

/* ==== Containers ==================================================================== */

/* Frames of the main thread count before all others, and outer ones before inner ones. */
static uint8_t permanence_in(const census *c, lh_id id, lh_id thread) {
  enum { MOST_FRAMES = 100, NO_FRAME = UINT8_MAX - 1 };
  lh_edge edge = lh_edge_at(c->snapshot, thread, c->snapshot->parent_edge[id]);
  if (edge.kind < LH_EDGE_LOCAL || edge.kind > LH_EDGE_ARGUMENT) return NO_FRAME;
  uint32_t frame = edge.index < MOST_FRAMES ? edge.index : MOST_FRAMES;
  return (uint8_t)(thread == c->main_thread ? 1 + frame : 2 + MOST_FRAMES + frame);
}

static uint8_t permanence_of(const census *c, lh_id id, lh_id parent) {
  bool is_thread = lh_type_of(c->snapshot, id) == LH_TYPE_THREAD;
  if (parent == LH_ROOT) return is_thread && id != c->main_thread ? UINT8_MAX : 0;
  if (lh_type_of(c->snapshot, parent) == LH_TYPE_THREAD) return permanence_in(c, id, parent);
  return c->permanence[parent];
}

static bool is_container(const census *c, lh_id id) {
  enum {
    CONTAINERS =
        1 << LH_TYPE_TABLE | 1 << LH_TYPE_USERDATA | 1 << LH_TYPE_THREAD | 1 << LH_TYPE_CLOSURE
  };
  uint32_t spot = c->folds->spot[id];
  return CONTAINERS >> (c->snapshot->kind[id] & LH_KIND_TYPE) & 1 && c->n_of_spot[spot] == 1 &&
         c->folds->spots[spot].class_index != UINT32_MAX;
}

static bool find_container(census *c, lh_id id, lh_id parent) {
  c->permanence[id] = permanence_of(c, id, parent);
  c->inside[id] = c->inside[parent];
  if (!is_container(c, id)) return true;
  lh_spot spot = *lh_spot_at(c->folds, id);
  uint32_t at = c->folds->folder.states[spot.state].place;
  lh_sighting sighting = {.place = lh_place_copy_of(&c->copies, at),
                          .outer = c->inside[parent],
                          .permanence = c->permanence[id]};
  c->inside[id] = lh_sight_container(c->ladder, c->snapshot, id, c->row_of[spot.class_index],
                                     c->mark_of, sighting);
  return c->inside[id] != LH_NO_NUMBER;
}

static uint32_t find_mark_of(const lh_snapshot *snapshot, const lh_snapshot_counts *earlier) {
  if (earlier->state_id != snapshot->info.state_id) return LH_NO_NUMBER;
  for (uint32_t i = snapshot->n_marks; i-- > 0;)
    if (lh_is_mark(&snapshot->marks[i], earlier->serial, earlier->time_ns)) return i;
  return LH_NO_NUMBER;
}

static bool begin_containers(census *c) {
  const lh_snapshot *s = c->snapshot;
  const lh_ladder *ladder = c->ladder;
  c->n_of_spot = lh_alloc_zeroed(c->folds->n_spots, sizeof *c->n_of_spot);
  c->mark_of = lh_alloc(ladder->n_snapshots, sizeof *c->mark_of);
  c->inside = lh_alloc((size_t)s->n + 1, sizeof *c->inside);
  c->permanence = lh_alloc_zeroed((size_t)s->n + 1, sizeof *c->permanence);
  if (!c->n_of_spot || !c->mark_of || !c->inside || !c->permanence) return false;
  c->inside[LH_ROOT] = LH_NO_NUMBER;
  for (size_t i = 1; i < c->folds->n; i++) c->n_of_spot[c->folds->spot[c->folds->order[i]]]++;
  for (size_t k = 0; k < ladder->n_snapshots; k++)
    c->mark_of[k] = find_mark_of(s, &ladder->snapshots[k]);
  for (size_t i = 0; i < s->n_roots; i++)
    if (s->roots[i].kind == LH_ROOT_MAIN_THREAD) c->main_thread = s->roots[i].target;
  return true;
}

/* ==== Objects ======================================================================= */

static bool make_room_for_vertex(census *c, uint32_t vertex) {
  lh_snapshot_counts *counts = c->counts;
  while (counts->n_vertices <= vertex) {
    if (!lh_grow(&counts->of_vertex, counts->n_vertices, &c->vertex_capacity,
                 sizeof(lh_census_count)))
      return false;
    counts->of_vertex[counts->n_vertices++] = (lh_census_count){0};
  }
  return true;
}

static void add_to_count(lh_census_count *count, uint64_t bytes, uint64_t entries) {
  count->objects++;
  count->bytes += bytes;
  count->entries += entries;
}

static bool count_object(census *c, lh_id id) {
  uint64_t bytes = lh_shallow_bytes(c->snapshot, id);
  uint64_t entries = lh_lasting_entries(c->snapshot, id);
  if (!make_room_for_vertex(c, c->vertex[id])) return false;
  add_to_count(&c->counts->of_vertex[c->vertex[id]], bytes, entries);
  add_to_count(&c->counts->of_class[c->row_of[lh_class_of(c->snapshot, id)]], bytes, entries);
  add_to_count(&c->counts->whole, bytes, entries);
  return true;
}

static bool is_base(const lh_snapshot *snapshot, lh_id id) {
  const lh_classes *classes = snapshot->classes;
  return id == LH_ROOT || id == classes->registry || id == classes->globals ||
         id == classes->loaded;
}

static bool add_to_vertex(census *c, lh_id id) {
  lh_id above = c->snapshot->idom[id], parent = lh_naming_parent(c->snapshot, id);
  bool in_base = is_base(c->snapshot, above);
  c->vertex[id] = in_base ? 0 : c->vertex[above];
  if (!find_container(c, id, parent)) return false;
  if (lh_is_own(c->snapshot, id)) return true;
  bool shared = in_base ? !is_base(c->snapshot, parent) : parent != above;
  uint32_t place = known_place_of(c, id, shared);
  if (place == LH_NO_NUMBER) return false;
  c->vertex[id] = lh_trie_step(&c->ladder->trie, c->vertex[id], place);
  return c->vertex[id] != LH_NO_NUMBER && count_object(c, id);
}

/* ==== Lists ========================================================================= */

/* Finds the spots that are reached by a repeated step, such as .next*. */
static bool find_lists(census *c) {
  const lh_folder *folder = &c->folds->folder;
  c->in_list = lh_alloc(c->folds->n_spots, sizeof *c->in_list);
  for (size_t i = 0; c->in_list && i < c->folds->n_spots; i++) {
    const lh_spot *spot = &c->folds->spots[i];
    c->in_list[i] = spot->class_index != UINT32_MAX &&
                    lh_is_starred(lh_last_step(folder->tree, folder->states[spot->state].place));
  }
  return c->in_list != NULL;
}

/* Notes which places the object refers to, if they may be of one list: neither of the two objects
** retains the other. */
static bool note_links(census *c, lh_id id) {
  const lh_snapshot *s = c->snapshot;
  lh_ladder *ladder = c->ladder;
  const uint32_t *spot = c->folds->spot;
  const lh_spot *spots = c->folds->spots;
  if (!c->in_list[spot[id]]) return true;
  for (uint32_t e = s->first_edge[id]; e < s->first_edge[id + 1]; e++) {
    lh_id target = s->edge[e];
    if (s->label[e] & LH_LABEL_ASIDE || spot[target] == spot[id] || !c->in_list[spot[target]] ||
        spots[spot[target]].class_index != spots[spot[id]].class_index ||
        s->idom[target] != s->idom[id])
      continue;
    uint64_t from = ladder->trie.vertices[c->vertex[id]].label;
    uint32_t to = ladder->trie.vertices[c->vertex[target]].label;
    if (!lh_map_first(&ladder->links, from << 32 | to, 1)) return false;
  }
  return true;
}

/* ==================================================================================== */

static bool map_classes(census *c) {
  lh_known_classes *known = &c->ladder->known;
  c->row_of = lh_alloc(lh_class_count(c->snapshot), sizeof *c->row_of);
  if (!c->row_of || !lh_register_classes(known, c->snapshot, c->row_of)) return false;
  c->counts->n_classes = known->n;
  c->counts->of_class = lh_alloc_zeroed(known->n, sizeof *c->counts->of_class);
  return c->counts->of_class != NULL;
}

static bool make_text(lh_ladder *ladder, uint32_t place) {
  lh_text text = {0};
  if (place == LH_NO_PLACE) return true;
  uint32_t *id = lh_map_at(&ladder->text_of, place);
  if (!id || *id != LH_NO_NUMBER) return id != NULL;
  lh_place_text(&ladder->tree, place, &text);
  return (*id = lh_strings_take(&ladder->texts, &text)) != LH_NO_NUMBER;
}

bool lh_tell_known_place(lh_ladder *ladder, const lh_known_place *place) {
  uint32_t numbers = place->numbers;
  return make_text(ladder, place->path) && make_text(ladder, place->stable_path) &&
         make_text(ladder, place->name) && make_text(ladder, numbers) &&
         (numbers == LH_NO_PLACE || (note_differing(ladder, numbers, place->path) &&
                                     make_text(ladder, lh_map_get(&ladder->differing, numbers))));
}

static bool name_place(lh_ladder *ladder, lh_known_place *place, uint32_t name) {
  if (name == LH_NO_NUMBER) return false;
  bool is_first = place->own_name == LH_NO_PLACE;
  place->own_name = is_first || place->own_name == name ? name : place->own_path;
  if (place->renamed != LH_NO_PLACE) return true;
  place->name = place->own_name;
  return lh_tell_known_place(ladder, place);
}

static bool name_places(census *c) {
  lh_ladder *ladder = c->ladder;
  lh_folder *folder = &c->folds->folder;
  for (size_t i = 0; i < c->place_of.n; i++) {
    uint32_t spot = (uint32_t)(c->place_of.keys[2 * i] >> 1);
    uint32_t own = lh_place_with_keys(folder, &c->folds->seen_keys, c->folds->spots[spot].state);
    if (own == LH_NO_NUMBER) return false;
    uint32_t name = lh_place_copy_of(&c->copies, own);
    if (!name_place(ladder, &ladder->places[c->place_of.values[i]], name)) return false;
  }
  return true;
}

static bool take_census(census *c) {
  c->folds = lh_folds_of(c->snapshot);
  if (!c->folds) return false;
  c->copies = (lh_place_copies){.to = &c->ladder->tree, .from = c->folds->folder.tree};
  c->stable_copies = c->copies;
  c->stable_copies.how = LH_COPY_STABLE;
  c->vertex = lh_alloc_zeroed((size_t)c->snapshot->n + 1, sizeof *c->vertex);
  c->recent = lh_alloc(c->folds->n_spots, sizeof *c->recent);
  bool ok = c->vertex && c->recent && map_classes(c) && begin_containers(c) && find_lists(c);
  for (size_t i = 0; ok && i < c->folds->n_spots; i++) c->recent[i].place = LH_NO_NUMBER;
  for (size_t i = 1; ok && i < c->folds->n; i++) ok = add_to_vertex(c, c->folds->order[i]);
  for (size_t i = 1; ok && i < c->folds->n; i++) ok = note_links(c, c->folds->order[i]);
  ok = ok && name_places(c) && lh_follow_containers(c->ladder);
  lh_map_free(&c->place_of);
  lh_place_copies_free(&c->copies);
  lh_place_copies_free(&c->stable_copies);
  LH_FREE_ALL(c->vertex, c->recent, c->row_of, c->n_of_spot, c->mark_of, c->inside, c->permanence,
              c->in_list);
  return ok;
}

/* ==== The ladder ==================================================================== */

int lh_ladder_new(lh_ladder **out, lh_error *error) {
  *out = lh_alloc_zeroed(1, sizeof **out);
  if (*out) (*out)->known.texts = &(*out)->texts;
  if (*out && lh_trie_begin(&(*out)->trie)) return 0;
  lh_free(*out);
  *out = NULL;
  return lh_fail_memory(error, "beginning a ladder");
}

static void free_counts(lh_snapshot_counts *counts) {
  LH_FREE_ALL(counts->of_vertex, counts->of_class);
}

void lh_ladder_free(lh_ladder *ladder) {
  if (!ladder) return;
  for (size_t i = 0; i < ladder->n_snapshots; i++) free_counts(&ladder->snapshots[i]);
  lh_trie_free(&ladder->trie);
  lh_place_tree_free(&ladder->tree);
  LH_FREE_MAPS(&ladder->differing, &ladder->text_of, &ladder->place_by_words, &ladder->container_at,
               &ladder->is_taken, &ladder->name_of, &ladder->links);
  lh_known_classes_free(&ladder->known);
  lh_strings_free(&ladder->texts);
  LH_FREE_ALL(ladder->snapshots, ladder->places, ladder->containers, ladder->sightings, ladder);
}

int lh_ladder_add(lh_ladder *ladder, lh_snapshot *snapshot, lh_error *error) {
  int code = lh_analyse(snapshot, error);
  if (!code) code = lh_classify(snapshot, error);
  if (code) return code;
  lh_snapshot_counts counts = {.state_id = snapshot->info.state_id,
                               .time_ns = snapshot->info.time_ns,
                               .serial = snapshot->info.serial};
  census c = {.ladder = ladder, .snapshot = snapshot, .counts = &counts};
  const char *name = snapshot->info.name;
  counts.name = lh_strings_add(&ladder->texts, name, strlen(name));
  bool ok =
      counts.name != LH_NO_NUMBER && take_census(&c) &&
      lh_grow(&ladder->snapshots, ladder->n_snapshots, &ladder->snapshot_capacity, sizeof counts);
  if (!ok) {
    free_counts(&counts);
    return lh_fail_memory(error, "counting what is in the snapshot");
  }
  ladder->snapshots[ladder->n_snapshots++] = counts;
  return 0;
}

bool lh_ladder_same_state(const lh_ladder *ladder) {
  for (size_t i = 1; i < ladder->n_snapshots; i++)
    if (ladder->snapshots[i].state_id != ladder->snapshots[0].state_id) return false;
  return true;
}
