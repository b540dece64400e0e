/*
** older_fingerprints.c - Computes the fingerprints of the previous release (see
** name/fingerprint.c).
*/
#include "compare.h"

bool lh_older_of_group(lh_snapshot *c, const lh_diff_group *group,
                       char older[LH_FINGERPRINT_BYTES]) {
  lh_text module = {0};
  lh_place_tree *tree = lh_places_of(c);
  lh_type type = lh_class_at(c, group->class_index)->type;
  if (!tree) return false;
  if (group->printed_class == UINT32_MAX)
    return lh_older_fingerprint(NULL, NULL, type, tree, group->printed_at, older);
  const lh_class_entry *class = &c->classes->list[group->printed_class];
  bool is_folded = lh_place_without_numbers(tree, group->printed_at) == LH_NO_PLACE;
  bool is_module = is_folded && lh_fold_module(&module, class);
  char *name = is_module ? lh_text_finish(&module) : NULL;
  bool ok = (name || !is_module) &&
            lh_older_fingerprint(class, name ? name : class->visible.name, class->visible.type,
                                 tree, group->printed_at, older);
  lh_free(name);
  return ok;
}

bool lh_older_of_grown(lh_snapshot *c, const lh_grown *grown, char older[LH_FINGERPRINT_BYTES]) {
  const lh_class_entry *class = lh_class_entry_of(c, grown->id);
  lh_place_tree *tree = lh_places_of(c);
  return tree && lh_older_fingerprint(class, class->visible.name, class->visible.type, tree,
                                      grown->at, older);
}

bool lh_older_of_growth(const lh_ladder *ladder, const lh_growth_row *row,
                        char older[LH_FINGERPRINT_BYTES]) {
  return lh_older_fingerprint(&ladder->known.list[row->printed_class].entry, row->printed_name,
                              row->type, &ladder->tree, row->printed_at, older);
}
