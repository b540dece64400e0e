/*
** roots.c - what the heap hangs on: the edges of the synthetic root.
**
** The footer names roots by address; the objects on the fixedgc and tobefnz lists are roots too.
** They are put in the order in which people like to see them, so that a breadth-first search, which
** finds an object through the first of several roots, finds it through a global rather than the
** registry.
*/
#include "reader.h"

static const uint8_t order[] = {
    LH_ROOT_GLOBALS,        LH_ROOT_LOADED,         LH_ROOT_REGISTRY,  LH_ROOT_TYPE_METATABLE,
    LH_ROOT_MAIN_THREAD,    LH_ROOT_RUNNING_THREAD, LH_ROOT_FINALIZER, LH_ROOT_METAMETHOD_NAME,
    LH_ROOT_MEMORY_MESSAGE, LH_ROOT_FIXED,          LH_ROOT_OWN};

static void add_root(lh_snapshot *s, unsigned kind, uint32_t index, lh_id target) {
  s->roots[s->n_roots++] = (lh_root){(lh_root_kind)kind, index, target};
}

static void add_named(lh_snapshot *s, unsigned wanted) {
  const uint8_t *at = s->named_roots;
  for (uint32_t i = 0; i < s->n_named_roots; i++) {
    unsigned kind = *at++;
    uint32_t index = *at++;
    uint64_t word = lh_get_uvarint(&at);
    lh_id target = kind == wanted ? lh_find_word(s, word) : LH_NO_OBJECT;
    if (target == LH_NO_OBJECT) continue;
    add_root(s, kind, index, target);
    if (kind == LH_ROOT_OWN) s->kind[target] |= LH_KIND_OWN;
  }
}

static void add_list(lh_snapshot *s, lh_list list, lh_root_kind kind) {
  uint32_t first = s->list_first[list];
  for (uint32_t id = first; id < s->list_first[list + 1]; id++)
    add_root(s, kind, id - first + 1, id);
}

int lh_collect_roots(lh_snapshot *s, lh_error *error) {
  size_t listed = s->list_first[4] - s->list_first[LH_LIST_TOBEFNZ];
  s->roots = lh_alloc(s->n_named_roots + listed, sizeof *s->roots);
  if (!s->roots) return lh_fail_memory(error, "collecting roots");
  for (size_t i = 0; i < sizeof order; i++) {
    add_named(s, order[i]);
    if (order[i] == LH_ROOT_FIXED) add_list(s, LH_LIST_FIXEDGC, LH_ROOT_FIXED);
    if (order[i] == LH_ROOT_FINALIZER) add_list(s, LH_LIST_TOBEFNZ, LH_ROOT_FINALIZER);
  }
  return 0;
}
