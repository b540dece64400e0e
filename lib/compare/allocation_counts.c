/*
** allocation_counts.c - Counts the objects made at the sites of groups, and how many stay.
** The recorder counts what each stack makes, and a snapshot has these counts: a difference tells
** what was made in between. Stacks are numbered anew by each recorder, so sites are compared by
** content. Only the sites of groups (with their caller, if told) are counted: one pass over the
** stacks of each snapshot, one over c.
*/
#include "compare.h"
#include "name/allocated.h"

#define ANY UINT32_MAX

typedef struct tally {
  uint64_t made, made_before;
  double stay;
} tally;

typedef struct counting {
  lh_site_numbers sites; /* of all snapshots */
  lh_map pairs;          /* site number, caller's number or ANY -> index of the tally */
  lh_map of_class;       /* index of the tally, class in c -> how many of its objects stay */
  tally *tallies;
  uint32_t *number_c; /* by site of c */
} counting;

/* [0] is no site. NULL: out of memory. */
static uint32_t *number_sites(counting *k, const lh_sites *sites) {
  uint32_t *numbers = lh_number_sites(&k->sites, sites, LH_ALIKE_SITE);
  if (numbers) numbers[0] = LH_NO_NUMBER;
  return numbers;
}

static uint64_t pair_of(uint32_t site, uint32_t caller) {
  return (uint64_t)site << 32 | caller;
}

/* The tallies of a stack for its site, and with its caller; NULL: none. */
static void tallies_of(const counting *k, const lh_sites *sites, const uint32_t *numbers,
                       lh_stack_id stack, tally *out[2]) {
  uint32_t site = numbers[lh_site_at(sites, stack)], caller = numbers[lh_caller_at(sites, stack)];
  const uint32_t callers[2] = {ANY, caller};
  for (int i = 0; i < 2; i++) {
    bool is_one = site != LH_NO_NUMBER && (i == 0 || caller != LH_NO_NUMBER);
    uint32_t index = is_one ? lh_map_get(&k->pairs, pair_of(site, callers[i])) : LH_NO_NUMBER;
    out[i] = index == LH_NO_NUMBER ? NULL : &k->tallies[index];
  }
}

static uint64_t pair_of_group(const counting *k, const lh_sites *sites, const lh_allocated *a) {
  uint32_t caller = a->callers > 0 ? k->number_c[lh_caller_at(sites, a->stack)] : ANY;
  return pair_of(k->number_c[lh_site_at(sites, a->stack)], caller);
}

static bool list_pairs(counting *k, const lh_sites *sites, const lh_diff *diff) {
  k->tallies = lh_alloc_zeroed(diff->n_groups, sizeof *k->tallies);
  bool ok = k->tallies != NULL;
  for (size_t i = 0; ok && i < diff->n_groups; i++) {
    const lh_allocated *a = &diff->groups[i].allocated;
    if (a->stack) ok = lh_map_number(&k->pairs, pair_of_group(k, sites, a)) != LH_NO_NUMBER;
  }
  return ok;
}

/* Adds the counts of a snapshot's stacks. False: out of memory. */
static bool add_made(counting *k, const lh_snapshot *snapshot, bool is_before) {
  const lh_sites *sites = lh_snapshot_sites(snapshot);
  uint32_t *numbers = sites ? number_sites(k, sites) : NULL;
  if (sites && !numbers) return false;
  for (lh_stack_id stack = 1; sites && stack <= lh_n_stacks(sites); stack++) {
    tally *to[2];
    uint64_t made = lh_stack_counts_of(snapshot, stack).made_objects;
    tallies_of(k, sites, numbers, stack, to);
    for (int i = 0; i < 2; i++)
      if (to[i]) *(is_before ? &to[i]->made_before : &to[i]->made) += made;
  }
  lh_free(numbers);
  return true;
}

/* Adds a staying object of c to a tally. False: out of memory. */
static bool add_to(counting *k, const lh_snapshot *c, lh_id id, tally *to) {
  uint64_t index = (uint64_t)(to - k->tallies);
  to->stay += lh_object_weight(c, id);
  return lh_map_count(&k->of_class, index << 32 | lh_class_of(c, id));
}

static bool add_staying(counting *k, const lh_window *w, const uint8_t *new_ones) {
  const lh_snapshot *c = w->c;
  const lh_sites *sites = lh_snapshot_sites(c);
  bool ok = true;
  for (lh_id id = 1; ok && id <= c->n; id++) {
    bool stays = w->a ? new_ones[id] : lh_is_reachable(c, id) && !lh_is_own(c, id);
    lh_stack_id stack = stays ? lh_object_stack(c, id) : 0;
    tally *to[2];
    if (stack == 0) continue;
    tallies_of(k, sites, k->number_c, stack, to);
    for (int i = 0; ok && i < 2; i++) ok = !to[i] || add_to(k, c, id, to[i]);
  }
  return ok;
}

/* All, if the group is of several classes. */
static uint64_t staying_of_class(const counting *k, uint32_t index, const lh_diff_group *group) {
  uint64_t key = (uint64_t)index << 32 | group->class_index;
  uint32_t n = lh_map_get(&k->of_class, key);
  return n == LH_NO_NUMBER || group->printed_class == UINT32_MAX ? group->allocated.stay : n;
}

static void fill_in(const counting *k, const lh_sites *sites, lh_diff *diff) {
  for (size_t i = 0; i < diff->n_groups; i++) {
    lh_allocated *a = &diff->groups[i].allocated;
    if (a->stack == 0) continue;
    uint32_t index = lh_map_get(&k->pairs, pair_of_group(k, sites, a));
    const tally *t = &k->tallies[index];
    a->made = t->made > t->made_before ? t->made - t->made_before : 0;
    a->stay = (uint64_t)(t->stay + 0.5);
    a->stay_of_class = staying_of_class(k, index, &diff->groups[i]);
  }
}

int lh_diff_allocations(const lh_window *w, const uint8_t *new_ones, lh_diff *diff,
                        lh_error *error) {
  const lh_sites *sites = lh_snapshot_sites(w->c);
  counting k = {0};
  if (!sites || diff->n_groups == 0) return LH_OK;
  k.number_c = number_sites(&k, sites);
  bool ok = k.number_c && list_pairs(&k, sites, diff) && add_made(&k, w->b ? w->b : w->c, false) &&
            (!w->a || add_made(&k, w->a, true));
  ok = ok && add_staying(&k, w, new_ones);
  if (ok) fill_in(&k, sites, diff);
  lh_site_numbers_free(&k.sites);
  LH_FREE_MAPS(&k.pairs, &k.of_class);
  LH_FREE_ALL(k.tallies, k.number_c);
  return ok ? LH_OK : lh_fail_memory(error, "counting what was made");
}
