/*
** leaks_joined.c - Joins leak candidates whose places are siblings that grow alike
** (name/siblings.c).
*/
#include "report/leaks.h"

/* Strings under several fixed keys are fields of one record. */
static bool may_join(const lh_place_tree *tree, const lh_cause *leak) {
  bool grows = leak->prospect == LH_GROWS || leak->prospect == LH_MAY_GROW;
  return grows && leak->class_index != UINT32_MAX &&
         !(leak->type == LH_TYPE_STRING && lh_place_is_field(tree, leak->at)) &&
         !leak->also_held_by && leak->bound.limit == 0;
}

/* The bytes that came after the first span; all, if nothing has an age. */
static uint64_t weight_of(const lh_cause *leak) {
  uint64_t all = 0;
  for (int i = 0; i < LH_SPANS; i++) all += leak->judged_ages[i];
  if (all == 0) return leak->bytes;
  return (uint64_t)((double)leak->bytes * (double)(all - leak->judged_ages[0]) / (double)all);
}

static void join_cause(lh_cause *to, const lh_cause *other) {
  for (int i = 0; i < LH_SPANS; i++) to->ages[i] += other->ages[i];
  for (int i = 0; i < LH_SPANS; i++) to->judged_ages[i] += other->judged_ages[i];
  to->objects += other->objects;
  to->bytes += other->bytes;
  to->tables += other->tables;
  to->has_young_holder &= other->has_young_holder;
  to->allocated.objects += other->allocated.objects;
  to->allocated.of += other->allocated.of;
  to->allocated.stay_of_class += other->allocated.stay_of_class;
  if (to->allocated.stack != other->allocated.stack) to->allocated.callers = 0;
}

static bool name_cause(lh_causes *found, const lh_place_tree *tree, lh_cause *leak,
                       uint32_t place) {
  lh_text text = {0};
  if (place == leak->at) return true;
  lh_place_text(tree, place, &text);
  lh_text_id id = text.failed ? LH_NO_NUMBER : lh_strings_add(&found->texts, text.bytes, text.n);
  lh_text_free(&text);
  if (id == LH_NO_NUMBER) return false;
  leak->at = place;
  leak->held_by = found->texts.texts[id];
  return true;
}

static bool join_rows(lh_causes *found, const lh_place_tree *tree, const lh_sibling *siblings) {
  size_t n = found->n_leaks;
  bool ok = true;
  for (size_t i = 0; i < n; i++)
    if (siblings[i].first != i) join_cause(&found->leaks[siblings[i].first], &found->leaks[i]);
  found->n_leaks = 0;
  for (size_t i = 0; ok && i < n; i++) {
    if (siblings[i].first != i) continue;
    ok = name_cause(found, tree, &found->leaks[i], siblings[i].all);
    found->leaks[found->n_leaks++] = found->leaks[i];
  }
  return ok;
}

/* 0: unknown. */
static lh_site_id site_of(const lh_snapshot *snapshot, const lh_cause *leak) {
  lh_stack_id stack = leak->allocated.stack;
  return stack == 0 ? 0 : lh_stack_of(lh_snapshot_sites(snapshot), stack)->site;
}

bool lh_join_sibling_causes(lh_causes *found, lh_snapshot *snapshot, lh_place_tree *tree) {
  lh_map kinds = {0};
  lh_sibling *siblings = lh_alloc_zeroed(found->n_leaks, sizeof *siblings);
  bool ok = siblings != NULL;
  for (size_t i = 0; ok && i < found->n_leaks; i++) {
    lh_cause *leak = &found->leaks[i];
    uint64_t words[2] = {(uint64_t)leak->class_index << 32 | site_of(snapshot, leak),
                         (uint64_t)leak->prospect << 8 | (uint64_t)leak->type};
    uint32_t kind = lh_map_number_words(&kinds, words, 2);
    ok = kind != LH_NO_NUMBER;
    leak->tables = leak->collection ? leak->collection->tables : 1;
    siblings[i] = (lh_sibling){
        .place = leak->at, .kind = kind, .weight = may_join(tree, leak) ? weight_of(leak) : 0};
  }
  ok = ok && lh_find_siblings(tree, siblings, found->n_leaks) && join_rows(found, tree, siblings);
  lh_map_free(&kinds);
  lh_free(siblings);
  return ok;
}
