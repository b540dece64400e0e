/*
** tree_modules.c - the tree of objects with another top: modules and globals directly below the
** root, each with what it alone keeps alive, which is what it dominates. What is left of the heap
** is shared by several of them, or held by none.
**
** No module of a program dominates another one, since _G and package.loaded hold both. Where a file
** says otherwise only the one that does is told: no byte is there twice.
*/
#include "tree.h"

/* Takes those out that another one dominates. False: out of memory. */
static bool drop_inner(lh_modules *modules, lh_snapshot *snapshot) {
  const lh_tree *tree = lh_dominator_tree(snapshot);
  uint8_t *inside = lh_alloc_zeroed((size_t)snapshot->n + 1, 1); /* 1: a module; 2: below one */
  size_t n = 0;
  bool ok = inside && tree;
  for (size_t i = 0; ok && i < modules->n; i++) inside[modules->list[i].id] = 1;
  for (uint32_t i = 1; ok && i < tree->n; i++)
    if (inside[snapshot->idom[tree->order[i]]]) inside[tree->order[i]] = 2;
  for (size_t i = 0; ok && i < modules->n; i++) {
    lh_module module = modules->list[i];
    if (inside[module.id] == 1)
      modules->list[n++] = module;
    else
      lh_free((char *)module.name);
  }
  if (ok) modules->n = n;
  lh_free(inside);
  return ok;
}

int lh_trees_find_modules(lh_trees *trees, lh_snapshot *snapshot, lh_error *error) {
  lh_modules *modules = &trees->modules;
  if (trees->has_modules) return LH_OK;
  int code = lh_list_modules(snapshot, modules, error);
  if (code != LH_OK) return code;
  bool ok = drop_inner(modules, snapshot);
  for (uint32_t i = 0; ok && i < modules->n; i++) {
    uint32_t *at = lh_map_at(&trees->module_of, modules->list[i].id);
    ok = at != NULL;
    if (ok) *at = i;
  }
  trees->has_modules = ok;
  if (ok) return LH_OK;
  lh_modules_free(modules);
  lh_map_free(&trees->module_of);
  return lh_fail_memory(error, "finding modules");
}
