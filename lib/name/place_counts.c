/*
** place_counts.c - counts what a row tells of, in its own snapshot and in others.
**
** A row tells of objects of its class at its place with keys; a row of several classes, of all of
** the type there, as its fingerprint does. Another snapshot may fold the same path otherwise: seven
** like values of a table have their keys, eight have [*]. So a [*] of a row stands for any key.
** Where a row has a key and a snapshot has [*] for several names, nobody knows how many are under
** that key: the row is vague there. Such places get the step [?], and the rows are looked up with
** it too. Only the last two keys of a place are exchanged: each doubles what is kept of a place.
*/
#include "graph/graph.h"
#include "place.h"

enum { MOST_KEYS = 2 };

/* A place, and its last steps that are keys, last first. */
typedef struct keyed_place {
  uint32_t at[LH_MOST_STEPS_OF_PLACE];
  size_t n, keys[MOST_KEYS], n_keys;
} keyed_place;

/* Hashes of a class or type, to be mixed with places. */
typedef struct seed {
  uint64_t own, without_numbers; /* 0: not known yet */
} seed;

typedef struct numberer {
  lh_folder *folder;
  uint32_t several; /* the step [?] */
  seed *classes;    /* made on first use */
  seed types[LH_TYPE_COUNT];
} numberer;

static uint32_t step_of_several(lh_place_tree *tree) {
  lh_place_step step = {.kind = LH_STEP_ANY_KEY, .form = LH_FORM_BEHIND, .holder = LH_NO_PLACE};
  lh_text label = {0};
  lh_text_string(&label, "[?]");
  return lh_intern_step(tree, step, &label, NULL);
}

static uint64_t hash_text(const char *text) {
  return lh_hash(text, strlen(text), 0) | 1;
}

static bool begin_numbering(numberer *m, lh_folder *folder) {
  *m = (numberer){.folder = folder, .several = step_of_several(folder->tree)};
  m->classes = lh_alloc_zeroed(lh_class_count(folder->snapshot), sizeof *m->classes);
  for (lh_type type = 0; type < LH_TYPE_COUNT; type++)
    m->types[type].own = m->types[type].without_numbers = hash_text(lh_type_name(type));
  return m->several != LH_NO_NUMBER && m->classes;
}

/* NULL: out of memory. */
static const seed *seed_of_class(numberer *m, uint32_t class_index) {
  const lh_classes *classes = m->folder->snapshot->classes;
  const lh_class_entry *class = &classes->list[class_index];
  const char *stable = classes->texts.texts[class->stable];
  seed *known = &m->classes[class_index];
  lh_print print, folded;
  if (known->own != 0) return known;
  if (!lh_fingerprint(class, stable, 0, print) || !lh_folded_fingerprint(class, stable, 0, folded))
    return NULL;
  *known = (seed){hash_text(print), hash_text(folded)};
  return known;
}

static const seed *seed_of_type(const numberer *m, uint32_t class_index) {
  return &m->types[lh_class_at(m->folder->snapshot, class_index)->type];
}

static uint64_t number_at(const numberer *m, uint64_t hash, uint32_t place) {
  return lh_hash(&hash, sizeof hash, m->folder->tree->list[place].identity);
}

static void find_keys(const lh_place_tree *tree, uint32_t place, keyed_place *w) {
  w->n_keys = 0;
  w->n = tree->list[place].depth + 1;
  for (size_t i = w->n; i-- > 0; place = lh_place_before(tree, place)) {
    uint8_t kind = lh_last_step(tree, place)->kind;
    bool is_key = i > 0 && (kind == LH_EDGE_VALUE || kind == LH_STEP_ANY_KEY);
    if (is_key && w->n_keys < MOST_KEYS) w->keys[w->n_keys++] = i;
    w->at[i] = place;
  }
}

/* The place with other steps for the keys in `mask`; for a row, a key becomes [?]; for a spot it
** becomes [*], and so does [?]. LH_NO_PLACE: one of them does not change, or is none. */
static uint32_t exchange(const numberer *m, const keyed_place *w, unsigned mask, bool is_row) {
  lh_place_tree *tree = m->folder->tree;
  size_t first = w->n;
  uint32_t steps[MOST_KEYS];
  if (mask >> w->n_keys != 0) return LH_NO_PLACE;
  for (size_t k = 0; k < w->n_keys; k++) {
    uint32_t own = tree->list[w->at[w->keys[k]]].step;
    if (!(mask >> k & 1)) continue;
    steps[k] = is_row ? m->several : m->folder->any_key;
    first = w->keys[k];
    if (own == m->folder->any_key) return LH_NO_PLACE;
  }
  uint32_t place = w->at[first - 1];
  for (size_t i = first; i < w->n; i++) {
    uint32_t step = tree->list[w->at[i]].step;
    for (size_t k = 0; k < w->n_keys; k++)
      if (w->keys[k] == i && mask >> k & 1) step = steps[k];
    place = lh_place_behind(tree, place, step);
  }
  return place;
}

/* Those of one key come before those of several. */
static const uint8_t masks[(1 << MOST_KEYS) - 1] = {1, 2, 3};

/* ==== Rows =========================================================================== */

void lh_counted_places_free(lh_counted_places *counted) {
  LH_FREE_MAPS(&counted->row_of, &counted->is_vague);
  lh_free(counted->vague);
}

static bool add_vague(const numberer *m, lh_counted_places *counted, const seed *what,
                      uint32_t target, uint32_t row) {
  keyed_place w;
  find_keys(m->folder->tree, target, &w);
  for (size_t i = 0; i < sizeof masks; i++) {
    uint32_t place = exchange(m, &w, masks[i], true);
    if (place == LH_NO_PLACE) continue;
    if (place == LH_NO_NUMBER ||
        !lh_grow(&counted->vague, counted->n_vague, &counted->capacity, sizeof *counted->vague))
      return false;
    counted->vague[counted->n_vague].number = number_at(m, what->own, place);
    counted->vague[counted->n_vague++].row = row;
  }
  return true;
}

static bool add_spot(numberer *m, lh_places *places, lh_spot spot, uint32_t row,
                     lh_counted_places *counted) {
  lh_place_tree *tree = m->folder->tree;
  const lh_place *place = &places->list[row];
  uint32_t keyless = m->folder->states[spot.state].place;
  uint32_t at = lh_place_with_keys(m->folder, &places->seen_keys, spot.state);
  const seed *what =
      place->several ? seed_of_type(m, spot.class_index) : seed_of_class(m, spot.class_index);
  if (at == LH_NO_NUMBER || !what) return false;
  if (place->keyless) at = keyless;
  uint64_t number = number_at(m, what->own, at);
  if (place->joined) {
    uint32_t without = lh_place_without_numbers(tree, at);
    bool is_left = at != keyless && lh_place_without_numbers(tree, keyless) == LH_NO_PLACE;
    if (without == LH_NO_NUMBER) return false;
    if (is_left) at = keyless;
    number = is_left || without == LH_NO_PLACE ? number_at(m, what->own, at)
                                               : number_at(m, what->without_numbers, without);
  }
  uint32_t *known = lh_map_at(&counted->row_of, number);
  if (!known) return false;
  if (*known != LH_NO_NUMBER) return true;
  *known = row;
  return add_vague(m, counted, what, at, row);
}

bool lh_list_counted_places(lh_places *places, lh_counted_places *counted) {
  numberer m;
  bool ok = begin_numbering(&m, &places->folds->folder);
  places->seen_keys.keeps_links = true;
  for (size_t i = 0; ok && i < places->n_spots; i++) {
    uint32_t row = places->of_spot[i];
    lh_spot spot = places->folds->spots[i];
    if (row != LH_NO_NUMBER && spot.class_index != UINT32_MAX)
      ok = add_spot(&m, places, spot, row, counted);
  }
  places->seen_keys.keeps_links = false;
  lh_free(m.classes);
  return ok;
}

/* ==== Spots ========================================================================== */

void lh_spot_numbers_free(lh_spot_numbers *spots) {
  LH_FREE_ALL(spots->numbers, spots->objects, spots->first, spots->first_vague);
  *spots = (lh_spot_numbers){0};
}

static bool append_number(lh_spot_numbers *out, uint64_t number) {
  if (!lh_grow(&out->numbers, out->n, &out->capacity, sizeof *out->numbers)) return false;
  out->numbers[out->n++] = number;
  return true;
}

/* Has the place a step [?]? */
static bool is_of_several(const numberer *m, uint32_t place) {
  const lh_place_tree *tree = m->folder->tree;
  for (; place != LH_NO_PLACE; place = lh_place_before(tree, place))
    if (tree->list[place].step == m->several) return true;
  return false;
}

/* The places of a spot, most exact first, and those with [?]. */
typedef struct spot_places {
  uint32_t known[sizeof masks + 2], without_numbers[sizeof masks + 2], vague[sizeof masks + 1];
  size_t n_known, n_vague;
} spot_places;

static bool put_place(const numberer *m, spot_places *p, uint32_t place) {
  if (place == LH_NO_PLACE) return true;
  if (is_of_several(m, place)) {
    p->vague[p->n_vague++] = place;
    return true;
  }
  p->known[p->n_known] = place;
  p->without_numbers[p->n_known] = lh_place_without_numbers(m->folder->tree, place);
  return p->without_numbers[p->n_known++] != LH_NO_NUMBER;
}

static bool find_places(const numberer *m, const lh_seen_keys *seen_keys, uint32_t state,
                        spot_places *p) {
  keyed_place w;
  uint32_t keyless = m->folder->states[state].place;
  uint32_t at = lh_place_with_keys(m->folder, seen_keys, state);
  p->n_known = p->n_vague = 0;
  if (at == LH_NO_NUMBER) return false;
  bool ok = put_place(m, p, at) && (keyless == at || put_place(m, p, keyless));
  find_keys(m->folder->tree, at, &w);
  for (size_t k = 0; ok && k < sizeof masks; k++) {
    uint32_t place = exchange(m, &w, masks[k], false);
    ok = place != LH_NO_NUMBER && put_place(m, p, place);
  }
  return ok;
}

static bool add_known(const numberer *m, lh_spot_numbers *out, const spot_places *p,
                      const seed *what) {
  bool ok = true;
  for (size_t k = 0; ok && k < p->n_known; k++) {
    uint32_t without = p->without_numbers[k];
    ok = append_number(out, number_at(m, what->own, p->known[k])) &&
         (without == LH_NO_PLACE ||
          append_number(out, number_at(m, what->without_numbers, without)));
  }
  return ok;
}

static bool number_spot(numberer *m, const lh_seen_keys *seen_keys, lh_spot spot, size_t i,
                        lh_spot_numbers *out) {
  spot_places p;
  const seed *class = seed_of_class(m, spot.class_index), *type = seed_of_type(m, spot.class_index);
  bool ok = class && find_places(m, seen_keys, spot.state, &p) && add_known(m, out, &p, class) &&
            add_known(m, out, &p, type);
  out->first_vague[i] = out->n;
  for (size_t k = 0; ok && k < p.n_vague; k++)
    ok = append_number(out, number_at(m, type->own, p.vague[k])) &&
         append_number(out, number_at(m, class->own, p.vague[k]));
  return ok;
}

bool lh_number_spots(const lh_snapshot *snapshot, lh_spot_numbers *out) {
  lh_folds *folds = lh_folds_of(snapshot);
  numberer m;
  if (!folds) return false;
  bool ok = begin_numbering(&m, &folds->folder);
  lh_seen_keys seen_keys = folds->seen_keys;
  seen_keys.keeps_links = true;
  seen_keys.several = m.several;
  out->n_spots = folds->n_spots;
  out->objects = lh_alloc(folds->n_spots, sizeof *out->objects);
  out->first = lh_alloc(folds->n_spots + 1, sizeof *out->first);
  out->first_vague = lh_alloc(folds->n_spots, sizeof *out->first_vague);
  ok = ok && out->objects && out->first && out->first_vague;
  for (size_t i = 0; ok && i < folds->n_spots; i++) {
    out->first[i] = out->first_vague[i] = out->n;
    out->objects[i] = folds->spots[i].objects;
    if (folds->spots[i].class_index != UINT32_MAX)
      ok = number_spot(&m, &seen_keys, folds->spots[i], i, out);
  }
  if (ok) out->first[folds->n_spots] = out->n;
  lh_free(m.classes);
  return ok;
}

/* ==== Both =========================================================================== */

bool lh_rows_of_spots(lh_counted_places *counted, const lh_spot_numbers *spots, uint32_t *row_of,
                      bool *is_vague) {
  lh_map_free(&counted->is_vague);
  for (size_t i = 0; i < spots->n_spots; i++) {
    row_of[i] = LH_NO_NUMBER;
    for (size_t k = spots->first[i]; k < spots->first_vague[i] && row_of[i] == LH_NO_NUMBER; k++)
      row_of[i] = lh_map_get(&counted->row_of, spots->numbers[k]);
    for (size_t k = spots->first_vague[i]; k < spots->first[i + 1]; k++)
      if (!lh_map_count(&counted->is_vague, spots->numbers[k])) return false;
  }
  for (size_t i = 0; i < counted->n_vague; i++)
    if (lh_map_get(&counted->is_vague, counted->vague[i].number) != LH_NO_NUMBER)
      is_vague[counted->vague[i].row] = true;
  return true;
}

/* ==== Objects of one snapshot ======================================================== */

typedef struct looker {
  numberer m;
  const lh_counted_places *counted;
  const lh_folds *folds;
  lh_seen_keys seen_keys; /* of one path */
  lh_spot_numbers found;  /* of one object */
  size_t first_vague;
  lh_id parent; /* of the last object, with its spot and row; LH_NO_OBJECT: its key tells */
  uint32_t spot, row;
  uint32_t *row_of_spot;
  bool *is_vague; /* by spot: the keys of each object's own path tell its row */
} looker;

/* Finds the row of an object by the keys of its own path. False: out of memory. */
static bool look_up(looker *l, lh_id id) {
  const lh_snapshot *s = l->m.folder->snapshot;
  const lh_spot *spot = lh_spot_at(l->folds, id);
  if (lh_naming_parent(s, id) == l->parent && l->folds->spot[id] == l->spot) return true;
  l->parent = LH_NO_OBJECT;
  for (lh_id at = id, above; at != LH_ROOT; at = above) {
    above = lh_naming_parent(s, at);
    if (!lh_note_key(&l->seen_keys, l->m.folder, lh_spot_at(l->folds, above)->state,
                     lh_spot_at(l->folds, at)->state, s->parent_edge[at]))
      return false;
  }
  l->found.n = 0;
  if (!number_spot(&l->m, &l->seen_keys, *spot, 0, &l->found)) return false;
  for (lh_id at = id; at != LH_ROOT; at = lh_naming_parent(s, at)) {
    uint32_t state = lh_spot_at(l->folds, at)->state;
    if (state < l->seen_keys.n) l->seen_keys.list[state] = (lh_seen_key){0};
  }
  l->row = LH_NO_NUMBER;
  for (size_t k = 0; k < l->first_vague && l->row == LH_NO_NUMBER; k++)
    l->row = lh_map_get(&l->counted->row_of, l->found.numbers[k]);
  if (lh_key_of_row(s, s->parent_edge[id]) != LH_NO_OBJECT) return true;
  l->parent = lh_naming_parent(s, id);
  l->spot = l->folds->spot[id];
  return true;
}

/* Finds the rows of spots, and the spots with a place with [?] that is also one of a row. */
static bool begin_looker(looker *l, lh_counted_places *counted, const lh_spot_numbers *spots,
                         size_t n_rows) {
  lh_map vague = {0};
  bool *is_vague_row = lh_alloc_zeroed(n_rows, sizeof *is_vague_row);
  l->row_of_spot = lh_alloc(spots->n_spots, sizeof *l->row_of_spot);
  l->is_vague = lh_alloc_zeroed(spots->n_spots, sizeof *l->is_vague);
  bool ok = is_vague_row && l->row_of_spot && l->is_vague &&
            lh_rows_of_spots(counted, spots, l->row_of_spot, is_vague_row);
  for (size_t i = 0; ok && i < counted->n_vague; i++)
    ok = lh_map_count(&vague, counted->vague[i].number);
  for (size_t i = 0; ok && i < spots->n_spots; i++)
    for (size_t k = spots->first_vague[i]; k < spots->first[i + 1]; k++)
      l->is_vague[i] |= lh_map_get(&vague, spots->numbers[k]) != LH_NO_NUMBER;
  lh_map_free(&vague);
  lh_free(is_vague_row);
  return ok;
}

static bool count_all(looker *l, lh_tally *tally) {
  bool ok = true;
  for (size_t i = 1; ok && i < l->folds->n; i++) {
    lh_id id = l->folds->order[i];
    uint32_t spot = l->folds->spot[id], row = l->row_of_spot[spot];
    if (l->is_vague[spot]) {
      ok = look_up(l, id);
      row = l->row;
    }
    lh_tally_add(tally, id, row);
  }
  return ok;
}

int lh_count_in_rows(lh_counted_places *counted, const lh_snapshot *snapshot,
                     const uint8_t *span_of, lh_place_counts *rows, size_t n_rows,
                     lh_error *error) {
  lh_spot_numbers spots = {0};
  lh_tally tally = {0};
  looker l = {.counted = counted, .parent = LH_NO_OBJECT, .row = LH_NO_NUMBER};
  l.folds = lh_folds_of(snapshot);
  bool ok = lh_number_spots(snapshot, &spots) &&
            begin_numbering(&l.m, &snapshot->classes->folds->folder) &&
            begin_looker(&l, counted, &spots, n_rows) &&
            lh_tally_begin(&tally, snapshot, span_of, rows, n_rows);
  l.seen_keys = (lh_seen_keys){.keeps_links = true, .several = l.m.several};
  l.found.first_vague = &l.first_vague;
  ok = ok && count_all(&l, &tally);
  LH_FREE_ALL(tally.below, l.row_of_spot, l.is_vague, l.seen_keys.list, l.found.numbers,
              l.m.classes);
  lh_spot_numbers_free(&spots);
  return ok ? LH_OK : lh_fail_memory(error, "counting what is at a place");
}
