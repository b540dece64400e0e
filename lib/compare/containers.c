/*
** containers.c - Follows the containers of a process through the snapshots of a ladder.
**
** A container is an object that was alone at its place: a table, a function, a thread, a userdata.
** Another snapshot may reach it by another path, because a running function has it in a local
** variable. It is still one container, and what it holds is one row. So all its places get the name
** of the most permanent one: a path through no thread, else through the outermost frame of the main
** thread, else through a coroutine; among equals the earliest.
**
** An object is the same if it has the same address and is older than the mark of the snapshot that
** had it before. Without marks, its class decides instead. A path through no thread keeps its name.
** Nor does a place get the name that another object has in the same snapshot: programs exchange
** objects (current and previous).
** 70 bytes for each container in each snapshot.
*/
#include "compare.h"
#include "graph/graph.h"

static bool is_same(const lh_ladder *ladder, const lh_snapshot *snapshot, lh_id id,
                    uint32_t class_row, const lh_container *container, const uint32_t *mark_of) {
  uint32_t then = ladder->sightings[container->last].snapshot;
  if (then == ladder->n_snapshots) return false;
  if (ladder->snapshots[then].state_id != snapshot->info.state_id) return false;
  if (container->type != lh_type_of(snapshot, id)) return false;
  if (mark_of[then] == LH_NO_NUMBER) return container->class_row == class_row;
  return lh_epoch(snapshot, id) <= mark_of[then];
}

static uint32_t container_at(lh_ladder *ladder, const lh_snapshot *snapshot, lh_id id,
                             uint32_t class_row, const uint32_t *mark_of) {
  uint32_t *at = lh_map_at(&ladder->container_at, lh_address_of(snapshot, id));
  if (!at) return LH_NO_NUMBER;
  if (*at != LH_NO_NUMBER &&
      is_same(ladder, snapshot, id, class_row, &ladder->containers[*at], mark_of))
    return *at;
  if (!lh_grow(&ladder->containers, ladder->n_containers, &ladder->container_capacity,
               sizeof *ladder->containers))
    return LH_NO_NUMBER;
  ladder->containers[ladder->n_containers] =
      (lh_container){.type = lh_type_of(snapshot, id), .best = LH_NO_NUMBER, .last = LH_NO_NUMBER};
  return *at = (uint32_t)ladder->n_containers++;
}

uint32_t lh_sight_container(lh_ladder *ladder, const lh_snapshot *snapshot, lh_id id,
                            uint32_t class_row, const uint32_t *mark_of, lh_sighting sighting) {
  sighting.container = container_at(ladder, snapshot, id, class_row, mark_of);
  sighting.snapshot = (uint32_t)ladder->n_snapshots;
  if (sighting.container == LH_NO_NUMBER || sighting.place == LH_NO_NUMBER ||
      !lh_grow(&ladder->sightings, ladder->n_sightings, &ladder->sighting_capacity,
               sizeof sighting))
    return LH_NO_NUMBER;
  lh_container *container = &ladder->containers[sighting.container];
  container->class_row = class_row;
  container->last = (uint32_t)ladder->n_sightings;
  ladder->sightings[ladder->n_sightings] = sighting;
  return (uint32_t)ladder->n_sightings++;
}

static uint32_t best_place(const lh_ladder *ladder, uint32_t container) {
  return ladder->sightings[ladder->containers[container].best].place;
}

/* Looks at new sightings. *again: a container got a better name. */
static bool note_best(lh_ladder *ladder, bool *again) {
  for (size_t i = ladder->n_followed; i < ladder->n_sightings; i++) {
    const lh_sighting *s = &ladder->sightings[i];
    lh_container *container = &ladder->containers[s->container];
    const uint64_t words[2] = {s->place, s->snapshot};
    uint32_t *taken = lh_map_at_words(&ladder->is_taken, words, 2);
    if (!taken) return false;
    *taken = 1;
    if (container->best != LH_NO_NUMBER &&
        ladder->sightings[container->best].permanence <= s->permanence)
      continue;
    *again |= container->best != LH_NO_NUMBER && best_place(ladder, s->container) != s->place;
    container->best = (uint32_t)i;
  }
  return true;
}

/* Chooses the name of each place where a container was seen. */
static bool note_names(lh_ladder *ladder, size_t first) {
  for (size_t i = first; i < ladder->n_sightings; i++) {
    const lh_sighting *s = &ladder->sightings[i];
    uint32_t best = best_place(ladder, s->container);
    if (best == s->place || s->permanence == 0) continue;
    const uint64_t words[2] = {best, s->snapshot};
    bool is_taken = lh_map_get_words(&ladder->is_taken, words, 2) != LH_NO_NUMBER;
    uint32_t *name = lh_map_at(&ladder->name_of, (uint64_t)s->container << 32 | s->place);
    if (!name) return false;
    if (*name == LH_NO_NUMBER || is_taken) *name = is_taken ? s->place : best;
  }
  return true;
}

/* The place with the steps up to `from` exchanged for those up to `to`. */
static uint32_t exchange(lh_place_tree *tree, uint32_t place, uint32_t from, uint32_t to) {
  uint32_t steps[LH_MOST_STEPS_OF_PLACE];
  size_t n = 0;
  for (; place != from; place = lh_place_before(tree, place)) steps[n++] = tree->list[place].step;
  while (n > 0) to = lh_place_behind(tree, to, steps[--n]);
  return to;
}

static bool rename_place(lh_ladder *ladder, lh_known_place *place, uint32_t name) {
  lh_place_tree *tree = &ladder->tree;
  place->path = exchange(tree, place->own_path, place->container_path, name);
  place->stable_path = lh_place_copy(tree, tree, place->path, LH_COPY_STABLE);
  place->numbers = lh_place_without_numbers(tree, place->path);
  place->renamed = name;
  return place->path != LH_NO_NUMBER && place->stable_path != LH_NO_NUMBER &&
         place->numbers != LH_NO_NUMBER;
}

/* A renamed place is printed as the places that have this path themselves. */
static bool name_alike(lh_ladder *ladder) {
  lh_map name_of = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < ladder->n_places; i++) {
    lh_known_place *place = &ladder->places[i];
    if (place->renamed != LH_NO_PLACE) continue;
    place->name = place->own_name;
    uint32_t *name = lh_map_first(&name_of, place->path, place->name);
    ok = name != NULL;
    if (ok && *name != place->name) *name = place->path;
  }
  for (size_t i = 0; ok && i < ladder->n_places; i++) {
    lh_known_place *place = &ladder->places[i];
    if (place->renamed == LH_NO_PLACE) continue;
    uint32_t name = lh_map_get(&name_of, place->path);
    place->name = name == LH_NO_NUMBER ? place->path : name;
    ok = lh_tell_known_place(ladder, place);
  }
  lh_map_free(&name_of);
  return ok;
}

bool lh_follow_containers(lh_ladder *ladder) {
  bool again = false, ok = note_best(ladder, &again);
  if (again) lh_map_free(&ladder->name_of);
  ok = ok && note_names(ladder, again ? 0 : ladder->n_followed);
  if (ok) ladder->n_followed = ladder->n_sightings;
  if (!ok || (ladder->name_of.n == 0 && !again)) return ok;
  for (size_t i = 0; ok && i < ladder->n_places; i++) {
    lh_known_place *place = &ladder->places[i];
    if (place->container == LH_NO_NUMBER) continue;
    uint32_t name =
        lh_map_get(&ladder->name_of, (uint64_t)place->container << 32 | place->container_path);
    if (name == LH_NO_NUMBER || name == place->container_path) name = LH_NO_PLACE;
    if (name == place->renamed) continue;
    ok = rename_place(ladder, place, name == LH_NO_PLACE ? place->container_path : name);
    place->renamed = name;
  }
  return ok && name_alike(ladder);
}
